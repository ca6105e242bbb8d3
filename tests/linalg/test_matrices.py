"""Weighted Gram matrices, and the intercept eliminated from second derivatives."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import frankwolfe as fw
from frankwolfe.linalg.matrices import EliminatedIntercept, eliminated, weighted_gram

N, OUTPUTS = 7, 3


def blocks_of_a_multinomial(rng):
    """Second derivatives, one matrix a sample, each flat along what is added to all outputs."""
    p = rng.dirichlet(np.ones(OUTPUTS), size=N)
    return np.array([np.diag(row) - np.outer(row, row) for row in p])


@pytest.mark.parametrize("flat", [False, True])
def test_what_is_left_is_the_least_over_all_intercepts(flat):
    rng = np.random.default_rng(0)
    blocks = blocks_of_a_multinomial(rng) + (0.0 if flat else np.eye(OUTPUTS))
    curved = EliminatedIntercept(lambda v: np.einsum("icd,id->ic", blocks, v), (N, OUTPUTS))
    change = rng.normal(size=(N, OUTPUTS))

    def model(shift):
        v = change + shift
        return np.einsum("ic,icd,id->", v, blocks, v)

    best = curved.follow(change)
    np.testing.assert_allclose(approx_fprime(best, model, 1e-6), 0.0, atol=1e-5)
    assert np.vdot(change, curved(change)) == pytest.approx(model(best), rel=1e-12)
    np.testing.assert_allclose(curved(change).sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(curved(change + np.arange(3.0)), curved(change), atol=1e-12)


@pytest.mark.parametrize("shape", [(N,), (N, OUTPUTS)])
def test_diagonal_curvatures_are_the_same_as_blocks(shape):
    rng = np.random.default_rng(1)
    curvatures, change = rng.random(shape), rng.normal(size=shape)
    means = (curvatures * change).sum(axis=0) / curvatures.sum(axis=0)
    curved = EliminatedIntercept.diagonal(curvatures.ravel(), shape)
    np.testing.assert_allclose(curved(change), curvatures * (change - means), atol=1e-14)
    np.testing.assert_allclose(curved(change.ravel()), (curvatures * (change - means)).ravel(), atol=1e-14)


def test_a_formed_hessian_agrees_with_the_map():
    rng = np.random.default_rng(2)
    A, curvatures = rng.normal(size=(N, 4)), rng.random(N)
    H, cross = (A.T * curvatures) @ A, (curvatures @ A)[None, :]
    curved = EliminatedIntercept.diagonal(curvatures, (N,))
    expected = np.column_stack([A.T @ curved(A[:, j]) for j in range(4)])
    np.testing.assert_allclose(eliminated(H, cross, np.array([[curvatures.sum()]])), expected, atol=1e-14)


def test_it_is_the_second_derivative_of_the_objective_with_the_best_intercept():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 4)), np.sign(rng.normal(size=20))
    problem = fw.Problem(X, y, "logistic", fw.L2Ball(10.0), intercept=True)
    w, step = rng.normal(size=4), 1e-5
    found = problem.evaluate(w)
    curvatures = np.array([fw.Logistic().curvature(z, t) for z, t in zip(X @ w + found.intercept, y, strict=True)]) / 20
    curved = EliminatedIntercept.diagonal(curvatures, (20,))
    for direction in np.eye(4):
        ahead, back = (problem.gradient(w + sign * step * direction) for sign in (1.0, -1.0))
        np.testing.assert_allclose(X.T @ curved(X @ direction), (ahead - back) / (2.0 * step), atol=1e-8)


def test_curvatures_that_are_all_zero_leave_the_intercept_alone():
    curved = EliminatedIntercept.diagonal(np.zeros(N), (N,))
    assert not curved.follow(np.ones(N)).any()
    assert not curved(np.ones(N)).any()


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
