"""A linear term in the objective, against targets that are moved by it, and against a solver of convex programs.

For the squared loss, ``(z - y)^2 / 2 + b z`` is ``(z - (y - b))^2 / 2`` and a constant. So with ``c = X' (p b)`` the
problem with the linear term ``<c, w>`` and the one with targets ``y - b`` have the same minimisers and gaps.
"""

import cvxpy as cp
import numpy as np
import pytest

import frankwolfe as fw
from tests import cases

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(0)
N, D = 60, 9
X, Y, P = RNG.normal(size=(N, D)), RNG.normal(size=N), RNG.uniform(0.5, 2.0, N)
P /= P.sum()
B = RNG.normal(size=N)
B -= P @ B  # so that the intercept does not see it
CONSTANT = float(P @ (0.5 * Y**2 - 0.5 * (Y - B) ** 2))

FOLLOWS_THE_GRADIENT = [
    method for method in cases.METHODS if method.reads_all_rows and isinstance(method.direction, fw.methods.Toward)
] + [fw.methods.METHODS[name] for name in ("away", "sarah", "l-svrg", "svrf", "storc", "svfw", "spider")]
"""Methods whose first gradient is exact: nothing but constants tells the two problems apart."""


def twins(constraint, X=X, intercept=False, **more):
    """The problem with the linear term, and the one with the targets moved."""
    linear = fw.Problem(X, Y, "squared", constraint, P, intercept, linear=np.asarray(X).T @ (P * B), **more)
    return linear, fw.Problem(X, Y - B, "squared", constraint, P, intercept, **more)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", cases.ALL_SETS)
def test_over_every_set_it_moves_the_targets(name, intercept):
    problem, moved = twins(cases.ALL_SETS[name](D), intercept=intercept)
    w = 0.1 * RNG.normal(size=D)
    found, expected = problem.evaluate(w), moved.evaluate(w)
    assert found.value == pytest.approx(expected.value + CONSTANT)
    np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-12)
    assert found.gap == pytest.approx(expected.gap)
    assert problem.dual_value(found.alpha) == pytest.approx(found.value - found.gap, abs=1e-9)
    assert problem.zero_value == fw.Problem(X, Y, "squared", problem.constraint, P, intercept).zero_value
    one, other = fw.minimize(problem, tol=1e-9), fw.minimize(moved, tol=1e-9)
    assert one.success
    assert one.fun - one.gap <= other.fun + CONSTANT + 1e-12
    assert one.fun == pytest.approx(other.fun + CONSTANT, abs=2e-9)


@pytest.mark.parametrize("method", FOLLOWS_THE_GRADIENT, ids=cases.name_of)
def test_steps_are_those_with_the_targets_moved(method):
    for intercept in (False, True):
        found, expected = (
            fw.minimize(problem, method, tol=0.0, max_passes=8, batch_size=5, random_state=0)
            for problem in twins(fw.L1Ball(1.5), intercept=intercept)
        )
        np.testing.assert_allclose(found.x, expected.x, atol=1e-9)
        assert found.fun == pytest.approx(expected.fun + CONSTANT, abs=1e-9)
        assert found.gap == pytest.approx(expected.gap, abs=1e-9)


@pytest.mark.parametrize("method", [method for method in cases.LOOP if method in cases.STOCHASTIC])
def test_every_stochastic_method_comes_to_the_same_optimum(method):
    problem, moved = twins(fw.L1Ball(1.5))
    best = fw.minimize(moved, tol=1e-10).fun + CONSTANT
    found = fw.minimize(problem, method, tol=1e-6, max_passes=60, batch_size=10, random_state=0)
    assert found.fun - found.gap <= best + 1e-12
    assert found.fun <= best + 0.05


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber"])
def test_beside_conditions_it_is_what_a_solver_says(loss, intercept):
    rng = np.random.default_rng(1)
    y = {"logistic": np.sign(Y), "poisson": np.round(np.exp(Y)), "huber": Y}[loss]
    c, offset = 0.2 * rng.normal(size=D), 0.3 * rng.normal(size=N)
    side = fw.LinearBounds(np.ones((1, D)), 0.1, 0.2)
    problem = fw.Problem(X, y, loss, fw.L1Ball(1.0), P, intercept, side, offset, c)
    found = fw.minimize(problem, tol=1e-9)
    w, b = cp.Variable(D), cp.Variable() if intercept else 0.0
    z = X @ w + b + offset
    losses = {
        "logistic": lambda: cp.logistic(-cp.multiply(y, z)),
        "poisson": lambda: cp.exp(z) - cp.multiply(y, z) + np.where(y > 0, y * np.log(np.maximum(y, 1)) - y, 0),
        "huber": lambda: cp.huber(z - y, 1.0) / 2,
    }
    program = cp.Problem(
        cp.Minimize(P @ losses[loss]() + c @ w), [cp.norm1(w) <= 1, cp.sum(w) >= 0.1, cp.sum(w) <= 0.2]
    )
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    assert found.success
    assert found.fun == pytest.approx(program.value, abs=1e-6)
    assert found.fun - found.gap <= program.value + 1e-8


def test_in_a_store_it_is_the_same(tmp_path):
    big, y = np.tile(X, (40, 1)), np.tile(Y, 40)
    store = fw.write_rows(tmp_path / "rows", big, y, shard=1000)
    c = 0.3 * RNG.normal(size=D)
    here = fw.minimize(fw.Problem(big, y, "squared", fw.L1Ball(1.0), linear=c), tol=1e-8)
    for method in ("auto", "corrective", "fw", "sfw"):
        rows = fw.open_rows(store.path, memory=2 * store.largest_shard)
        problem = fw.Problem(rows, loss="squared", constraint=fw.L1Ball(1.0), linear=c)
        there = fw.minimize(problem, method, tol=1e-8 if method in ("auto", "corrective") else 1e-2, random_state=0)
        assert there.success
        assert there.fun - there.gap <= here.fun + 1e-12
        assert there.fun <= here.fun + there.gap + 1e-12


@pytest.mark.parametrize("method", ["sfw", "momentum", "fw", "auto"])
def test_a_run_goes_on_with_it_and_is_refused_without(tmp_path, method):
    problem, how = twins(fw.L1Ball(1.5))[0], {"tol": 0.0, "random_state": 0}
    whole = fw.minimize(problem, method, max_passes=12, **how)
    fw.minimize(problem, method, max_passes=5, checkpoint=tmp_path / "run", **how)
    resumed = fw.resume(tmp_path / "run", problem, max_passes=12)
    assert resumed.fun == whole.fun
    np.testing.assert_array_equal(resumed.x, whole.x)
    with pytest.raises(ValueError, match="linear term"):
        fw.resume(tmp_path / "run", fw.Problem(X, Y, "squared", fw.L1Ball(1.5), P), max_passes=12)


def test_a_matrix_of_weights_has_a_matrix_of_coefficients():
    targets, c = np.column_stack([Y, -Y + B]), 0.2 * RNG.normal(size=(D, 2))
    for constraint in (fw.TraceBall(1.0), fw.L1Ball(1.0), fw.GroupBall(np.arange(2 * D) // 2, 1.0)):
        problem = fw.Problem(X, targets, "multitask-squared", constraint, P, True, linear=c)
        found = fw.minimize(problem, tol=1e-9)
        for _ in range(20):  # no feasible point is better than the bound
            w = problem.constraint.vertex(RNG.normal(size=2 * D)) * RNG.random()
            assert problem.value(w) >= found.fun - found.gap - 1e-12
        assert found.success
        step = 1e-6 * RNG.normal(size=(D, 2))
        rise = problem.value(found.x + step) - problem.value(found.x - step)
        assert rise == pytest.approx(2.0 * float(np.vdot(problem.gradient(found.x), step)), rel=1e-4)


def test_a_certificate_of_it_is_verified_with_offsets():
    problem = fw.Problem(X, np.sign(Y), "logistic", fw.L1Ball(1.0), P, True, offset=B, linear=0.1 * RNG.normal(size=D))
    claim = fw.certificate(problem, fw.minimize(problem, tol=1e-8))
    assert claim.gap < 1e-7
    assert fw.verify(claim, X, np.sign(Y), P, offset=B).proven
    assert not fw.verify(claim, X, np.sign(Y), P).proven


@pytest.mark.parametrize(
    ("linear", "message"),
    [
        (np.ones(3), "linear has 3 entries, but there are 9 columns in X"),
        (np.full(D, np.inf), "linear holds NaN or infinity"),
    ],
)
def test_what_is_no_linear_term_is_refused(linear, message):
    with pytest.raises(ValueError, match=message):
        fw.Problem(X, Y, "squared", fw.L1Ball(1.0), linear=linear)


def test_a_linear_term_far_larger_than_the_losses_sets_the_scale():
    X, c = np.array([[0.0, -1.0, 1.0], [0.0, -1.0, 0.0]]), np.array([6.0, -9.0, -1.0])
    weights = [6e5, 6e-6]
    problem = fw.Problem(X, [1.0, 2.0], "poisson", fw.OWLBall(np.array([1.0, 0.5, 0.2]), 0.5), weights, linear=c)
    with fw.python_mode():
        assert fw.minimize(problem, tol=1e-6, max_passes=200).gap <= 1e-9
