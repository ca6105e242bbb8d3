"""Budgets that grow until they do not matter: non-negative least squares and its relatives."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

import frankwolfe as fw
from frankwolfe.without_budget import minimize_without_budget, unit_columns
from tests.fuzz import nonnegative


def solved(A, b, tol=1e-10):
    """Return the weights of non-negative least squares, and the result over columns of norm one."""
    Z, scales = unit_columns(A, centre=False)
    problem = fw.Problem(Z, b, "squared", fw.NonNegativeL1Ball(1.0))
    found = minimize_without_budget(problem, tol=tol, max_passes=3000, trace=0)
    return found.x / scales, found


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("kind", nonnegative.KINDS, ids=lambda kind: kind.__name__)
def test_non_negative_least_squares_is_as_good_as_scipys(kind):
    count = len(nonnegative.KINDS)
    for number in range(nonnegative.KINDS.index(kind), 4 * count, count):
        wrong, _ = nonnegative.examine(number)
        assert wrong is None, f"python -m tests.fuzz.nonnegative --first {number} --cases 1: {wrong}"


def test_single_precision_and_more_columns_than_rows():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 60)).astype(np.float32)
    b = (A @ np.maximum(rng.normal(size=60), 0.0)).astype(np.float32)  # can be fitted exactly
    _, found = solved(A, b, tol=1e-9)
    assert found.success
    assert "no objective is below zero" in found.message


def test_the_message_says_what_is_certified():
    rng = np.random.default_rng(1)
    A, b = np.abs(rng.normal(size=(30, 4))), rng.normal(size=30) + 1.0
    x, found = solved(A, b)
    total = np.abs(found.x).sum()
    budget = float(found.message.split("sum to at most ")[1].split(",")[0])
    assert budget >= 10.0 * total * 0.99
    np.testing.assert_allclose(x, nnls(A, b)[0], atol=1e-5)


def test_a_separable_problem_without_a_minimum_ends():
    X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    found = minimize_without_budget(fw.Problem(X, y, "logistic", fw.L1Ball(1.0)), tol=1e-3)
    assert found.success
    assert found.fun <= 1e-3 * np.log(2.0)


def test_zero_is_the_answer_where_all_slopes_point_outward():
    x, found = solved(np.ones((3, 2)), -np.ones(3))
    assert found.success
    assert (x == 0.0).all()
    x, found = solved(np.zeros((3, 2)), np.ones(3))
    assert found.success
    assert (x == 0.0).all()


@pytest.mark.parametrize("centre", [False, True])
def test_unit_columns_are_the_same_dense_and_sparse(centre):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 6)) * [1e-200, 1e-5, 1.0, 1e9, 1e200, 0.0]
    Z, scales = unit_columns(X, centre)
    S, others = unit_columns(sparse.csr_array(X), centre)
    np.testing.assert_allclose(S.toarray(), Z, rtol=1e-12)
    np.testing.assert_allclose(others, scales, rtol=1e-12)
    spread = (Z - Z.mean(axis=0) if centre else Z)[:, :5]
    np.testing.assert_allclose(np.linalg.norm(spread, axis=0), 1.0)
    np.testing.assert_allclose(Z * scales, X, rtol=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_of_solutions_of_any_size_a_small_one_is_returned(tied):
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(90, 2)), np.eye(3)[np.arange(90) % 3]])
    y = X @ [1.0, -2.0, 0.3, 0.6, -0.2] + 5.0 + 0.1 * rng.normal(size=90)
    side = fw.LinearBounds([[1.0, 1.0, 0.0, 0.0, 0.0]], -1.0, -1.0) if tied else None
    problem = fw.Problem(X, y, "squared", fw.L1Ball(1.0), intercept=True, side=side)
    found = minimize_without_budget(problem, least=1.0 if tied else 0.0, tol=1e-9)
    assert found.success
    assert np.abs(found.x).sum() < 8.0  # the columns of the categories sum to one, and so does the intercept's
    far = fw.minimize(problem.over(fw.L1Ball(1000.0)), tol=1e-12)
    assert far.lower_bound <= found.fun <= far.fun + found.tolerance
    assert found.lower_bound <= far.fun
