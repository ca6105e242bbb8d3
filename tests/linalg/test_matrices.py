"""Weighted Gram matrices, and the intercept eliminated from second derivatives."""

import numpy as np
import pytest
from scipy.optimize import minimize

import frankwolfe as fw
from frankwolfe.linalg.matrices import eliminated, weighted_gram

N, OUTPUTS = 7, 3


def blocks_of_a_multinomial(rng):
    """Second derivatives, one matrix a sample, each flat along what is added to all outputs."""
    p = rng.dirichlet(np.ones(OUTPUTS), size=N)
    return np.array([np.diag(row) - np.outer(row, row) for row in p])


@pytest.mark.parametrize("flat", [False, True])
def test_what_is_left_is_the_least_over_all_intercepts(flat):
    rng = np.random.default_rng(0)
    blocks = blocks_of_a_multinomial(rng) + (0.0 if flat else np.eye(OUTPUTS))
    A = rng.normal(size=(N, OUTPUTS, 4))
    H = np.einsum("icj,icd,idk->jk", A, blocks, A)
    found = eliminated(H, np.einsum("icd,idk->ck", blocks, A), blocks.sum(axis=0))
    for u in rng.normal(size=(3, 4)):
        least = minimize(
            lambda shift, v=A @ u: np.einsum("ic,icd,id->", v + shift, blocks, v + shift), np.zeros(OUTPUTS)
        )
        assert u @ found @ u == pytest.approx(least.fun, rel=1e-6)


def test_it_is_the_second_derivative_of_the_objective_with_the_best_intercept():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 4)), np.sign(rng.normal(size=20))
    problem = fw.Problem(X, y, "logistic", fw.L2Ball(10.0), intercept=True)
    w, step = rng.normal(size=4), 1e-5
    found = problem.evaluate(w)
    curvatures = np.array([fw.Logistic().curvature(z, t) for z, t in zip(X @ w + found.intercept, y, strict=True)]) / 20
    H = eliminated((X.T * curvatures) @ X, (curvatures @ X)[None, :], np.array([[curvatures.sum()]]))
    for direction in np.eye(4):
        ahead, back = (problem.gradient(w + sign * step * direction) for sign in (1.0, -1.0))
        np.testing.assert_allclose(H @ direction, (ahead - back) / (2.0 * step), atol=1e-8)


def test_curvatures_that_are_all_zero_leave_the_intercept_alone():
    assert not eliminated(np.zeros((2, 2)), np.zeros((1, 2)), np.zeros((1, 1))).any()


@pytest.mark.parametrize("least", [0.0, -1.0])
def test_it_is_the_sum_over_the_rows_whatever_the_signs_of_the_weights(least):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(40, 5)), rng.uniform(least, 1.0, 40)
    expected = sum(weight * np.outer(row, row) for row, weight in zip(rows, weights, strict=True))
    np.testing.assert_allclose(weighted_gram(rows, weights), expected, rtol=1e-12, atol=1e-12)


def test_many_rows_are_multiplied_some_at_a_time(monkeypatch):
    monkeypatch.setattr("frankwolfe.linalg.matrices.ROOM", 30)
    rng = np.random.default_rng(1)
    rows, weights = rng.normal(size=(40, 5)), rng.random(40)
    np.testing.assert_allclose(weighted_gram(rows, weights), rows.T * weights @ rows, rtol=1e-12)
    assert weighted_gram(rows[:0], weights[:0]).tolist() == np.zeros((5, 5)).tolist()
