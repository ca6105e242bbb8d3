"""What an intercept must not spoil: certificates, the number of passes, and the same bits for the same seed."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_digits, load_wine

import frankwolfe as fw
from frankwolfe.rows.dense import Centred

N, D, CLASSES = 24, 4, 3


def classes_far_from_zero(seed, offset, sparsely=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) + offset * rng.choice([-1.0, 1.0], size=D)
    y = rng.integers(CLASSES, size=N)
    y[:CLASSES] = np.arange(CLASSES)
    return sparse.csr_array(X) if sparsely else X, y


def least_over_intercepts(X, y, W):
    """Minimise the multinomial objective in the intercept alone, with scipy."""
    z = np.asarray(X @ W)
    z = z - z.mean(axis=0)
    hot = np.eye(z.shape[1])[y]

    def objective(b):
        return np.mean(logsumexp(z + b, axis=1) - ((z + b) * hot).sum(axis=1))

    def slope(b):
        return (softmax(z + b, axis=1) - hot).mean(axis=0)

    return minimize(objective, np.zeros(z.shape[1]), jac=slope, method="BFGS", options={"gtol": 1e-9}).fun


def test_two_rows_a_thousand_away_are_not_certified_before_their_intercept_is_found():
    hull = fw.ConvexHull([[1.0, -1.0]])
    problem = fw.Problem([[1000.0], [1000.0]], [0, 1], loss="multinomial", constraint=hull, intercept=True)
    result = fw.minimize(problem)
    assert result.success
    assert result.fun == pytest.approx(np.log(2.0), rel=1e-12)


@pytest.mark.parametrize("sparsely", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("constraint", [fw.L1Ball(2.0), fw.TraceBall(2.0)], ids=["l1", "trace"])
def test_success_is_never_above_the_least_over_all_intercepts(constraint, sparsely):
    for seed in range(30):
        X, y = classes_far_from_zero(seed, 10.0 ** (4.0 * seed / 29.0), sparsely)
        problem = fw.Problem(X, y, "multinomial", constraint, intercept=True)
        result = fw.minimize(problem, tol=1e-6, max_passes=300)
        least = least_over_intercepts(X, y, result.x)
        assert result.success, (seed, result)
        assert result.fun == pytest.approx(least, abs=1e-8), seed
        assert problem.evaluate(result.x).value == pytest.approx(least, abs=1e-8), seed


@pytest.mark.parametrize(
    ("loss", "constraint"),
    [
        ("multinomial", fw.TraceBall(2.0)),
        ("multinomial", fw.L1Ball(2.0)),
        (fw.MultitaskSquared(), fw.TraceBall(2.0)),
        ("logistic", fw.L1Ball(2.0)),
        ("squared", fw.L2Ball(1.0)),
    ],
    ids=["classes-trace", "classes-l1", "tasks-trace", "labels-l1", "real-l2"],
)
def test_shifted_columns_change_neither_the_answer_nor_the_passes(loss, constraint):
    rng = np.random.default_rng(0)
    X, classes = classes_far_from_zero(1, 0.0)
    targets = {"multinomial": classes, "logistic": 2 * (classes > 0) - 1, "squared": X[:, 0] + rng.normal(size=N)}
    y = targets[loss] if isinstance(loss, str) else X[:, :2] + rng.normal(size=(N, 2))
    base = fw.minimize(fw.Problem(X, y, loss, constraint, intercept=True), tol=1e-9)
    assert base.success
    for shift in (1.0, 100.0, 1e4):
        moved = fw.minimize(fw.Problem(X + shift, y, loss, constraint, intercept=True), tol=1e-9)
        assert moved.success
        assert abs(moved.passes - base.passes) <= 2
        assert moved.fun == pytest.approx(base.fun, rel=1e-8)
        np.testing.assert_allclose(moved.x, base.x, atol=1e-8)
        np.testing.assert_allclose(moved.intercept, base.intercept - shift * moved.x.sum(axis=0), atol=1e-7)


def test_sparse_columns_far_from_zero_take_no_more_passes_either():
    X, y = classes_far_from_zero(2, 0.0)
    labels = 2 * (y > 0) - 1
    base = fw.minimize(fw.Problem(sparse.csr_array(X), labels, "logistic", fw.L1Ball(2.0), intercept=True), tol=1e-6)
    for shift in (1.0, 100.0, 1e4):
        problem = fw.Problem(sparse.csr_array(X + shift), labels, "logistic", fw.L1Ball(2.0), intercept=True)
        moved = fw.minimize(problem, tol=1e-6)
        assert moved.success
        assert abs(moved.passes - base.passes) <= 2
        assert moved.fun == pytest.approx(base.fun, rel=1e-8)


def test_an_intercept_costs_at_most_twice_the_passes():
    images, digits = load_digits(return_X_y=True)
    wine, kinds = load_wine(return_X_y=True)
    for X, y, radius in ((images[:200] / 16.0, digits[:200], 20.0), (wine, kinds, 0.1)):
        passes = {}
        for intercept in (False, True):
            problem = fw.Problem(X, y, "multinomial", fw.TraceBall(radius), intercept=intercept)
            result = fw.minimize(problem, max_passes=500)
            assert result.success or not intercept
            passes[intercept] = result.passes
        assert passes[True] <= 2 * passes[False]


@pytest.mark.parametrize("method", ["auto", "sfw", "fw"])
def test_an_intercept_that_fits_alone_is_certified_at_the_level_of_rounding(method):
    X, _ = classes_far_from_zero(3, 1.0)
    problem = fw.Problem(X, np.full(N, 5.3), "squared", fw.L1Ball(1.0), intercept=True)
    assert problem.zero_value <= 1e-28
    assert 0.0 < problem.tolerance(1e-4) <= 1e-12
    result = fw.minimize(problem, method, x0=np.zeros(D), max_passes=20, random_state=0)
    assert result.gap <= result.tolerance or method != "auto"
    assert fw.minimize(problem, "auto").success


@pytest.mark.parametrize(("loss", "y"), [("logistic", np.ones(N)), (fw.Multinomial(3), np.zeros(N))])
def test_targets_of_one_class_end_with_a_loss_that_is_rounding(loss, y):
    X, _ = classes_far_from_zero(4, 10.0)
    result = fw.minimize(fw.Problem(X, y, loss, fw.L1Ball(1.0), intercept=True), max_passes=50)
    assert result.success
    assert np.isfinite(result.intercept).all()
    assert result.fun <= 1e-13


class Absolute(NamedTuple):
    """A loss whose derivative jumps: no intercept makes its slope zero."""

    convex = True
    targets = "real"

    def value(self, z, y):
        return abs(z - y)

    def derivative(self, z, y):
        return float(np.sign(z - y))

    def curvature(self, z, y):
        return 0.0

    def smoothness(self):
        return 1.0


@pytest.mark.parametrize("method", ["auto", "fw", "sfw"])
def test_without_a_level_intercept_nothing_is_certified(method):
    with fw.python_mode():
        problem = fw.Problem([[1.0], [2.0]], [0.0, 1.0], Absolute(), fw.L1Ball(0.1), [1.0, 2.0], intercept=True)
        assert problem.gap([0.0]) == np.inf
        result = fw.minimize(problem, method, tol=0.5, max_passes=5, random_state=0)
    assert not result.success
    assert result.gap == np.inf


@pytest.mark.parametrize("seed", [11, 13, 24, 25, 26, 35])
def test_a_level_intercept_is_found_where_objectives_differ_by_rounding_only(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=6)
    with fw.python_mode():
        problem = fw.Problem(np.ones((6, 1)), y, fw.Cauchy(0.8), fw.L2Ball(1.0), intercept=True)
        almost = y - y.mean() + 1e-9 * rng.normal(size=6)
        assert problem.objective.point(almost, problem.zero_model).stationary


def test_the_intercept_of_a_result_is_where_the_next_run_starts():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 5)) * (rng.random((20, 5)) < 0.3)
    y = 1000 * X @ rng.normal(size=5) * (rng.random(20) < 0.7)
    with fw.python_mode():
        problem = fw.Problem(X, y, fw.Cauchy(0.8), fw.NonNegativeL1Ball(2e4), intercept=True)
        found = fw.minimize(problem, "corrective", tol=1e-6, max_passes=100)
        assert found.success
        assert abs(problem.value(found.x) - found.fun) > 0.1  # from elsewhere another stationary intercept is found
        again = fw.minimize(problem, "fw", x0=found, tol=1e-6, max_passes=5)
    assert again.success
    assert again.fun == pytest.approx(found.fun, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_centred_as_they_are_read(dtype):
    rng = np.random.default_rng(5)
    X = (rng.normal(size=(50, 3)) + 1e3).astype(dtype)
    X[:, 1] = 0.1  # constant
    weights = rng.dirichlet(np.ones(50))
    rows, centred = Centred.of(X, weights), X - np.average(X, axis=0, weights=weights)
    assert not rows.dot_all(np.array([0.0, 1.0, 0.0])).any()
    w, alpha = rng.normal(size=3), rng.normal(size=50)
    np.testing.assert_allclose(rows.dot_all(w), centred.astype(float) @ w, atol=1e-3 if dtype == np.float32 else 1e-11)
    np.testing.assert_allclose([rows.row_dot(i, w) for i in range(50)], rows.dot_all(w), atol=1e-12)
    r = np.zeros(3)
    for i in range(50):
        rows.row_add(i, alpha[i], r)
    np.testing.assert_allclose(r, rows.add_all(alpha, 3), atol=1e-11)
    np.testing.assert_allclose(rows.some_columns(np.array([0, 2])), rows.dot_all(np.eye(3))[:, [0, 2]], atol=1e-12)
    np.testing.assert_allclose(rows.column_norms(weights, 3), np.sqrt(weights @ rows.dot_all(np.eye(3)) ** 2))


TWICE = """
import numpy as np
import frankwolfe as fw
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 6)) + 2.0
y = np.sign(X[:, 0] - 2.0 + rng.normal(size=60))
for method in ("auto", "fw", "sfw"):
    seen = []
    for watched in ({}, {}, {"trace": 0}, {"trace": 3}, {"callback": lambda state: None}):
        problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.0), intercept=True)
        result = fw.minimize(problem, method, tol=1e-3, max_passes=30, random_state=0, **watched)
        seen.append((result.x.tobytes(), result.intercept, result.fun, result.gap, result.nit, result.passes))
    assert len(set(seen)) == 1, (method, [one[1:] for one in seen])
for constraint in (fw.L1Ball(2.0), fw.TraceBall(2.0)):
    found = [fw.minimize(fw.Problem(X, y > 0, "multinomial", constraint, intercept=True)) for _ in range(2)]
    assert found[0].x.tobytes() == found[1].x.tobytes()
    assert found[0].intercept.tobytes() == found[1].intercept.tobytes()
"""


def test_the_first_run_of_a_process_and_a_tracked_one_give_the_same_bits():
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", TWICE], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
