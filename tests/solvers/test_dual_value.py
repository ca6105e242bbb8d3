"""The dual value of a table: the identity behind the certificate, and what it proves."""

import numpy as np
import pytest

import frankwolfe as fw
from tests import cases

pytestmark = pytest.mark.usefixtures("interpreted")

CONVEX = [loss for loss in cases.LOSSES if loss.convex]


def slopes(problem, seed=0):
    """Derivatives at unlike points, one for each sample: a stale table, which the loss can have."""
    rng, samples = np.random.default_rng(seed), problem.samples
    z = rng.normal(scale=2.0, size=samples.shape)
    rows = [problem.loss.derivative(z[i], samples.targets[i]) for i in range(problem.n)]
    return (samples.weights * np.array(rows).T).T


def point(problem, seed=0):
    """Return a point inside the set."""
    rng = np.random.default_rng(seed)
    corners = [problem.constraint.vertex(rng.normal(size=problem.size)) for _ in range(4)]
    return np.array(corners).T @ rng.dirichlet(np.ones(4))


def assert_identity(problem):
    """F(w) - D(alpha) is the estimated gap and the mean residual, all from the definitions."""
    for seed in range(3):
        w, alpha = point(problem, seed), slopes(problem, seed)
        r = (np.asarray(problem.X.todense() if hasattr(problem.X, "todense") else problem.X, float).T @ alpha).ravel()
        z = problem.objective.predict(w)
        left = 0.0
        for i in range(problem.n):
            if p := problem.samples.weights[i]:
                left += p * problem.loss.residual(z[i], problem.y[i], alpha[i] / p)
        estimate = r @ w + problem.constraint.support(-r)
        value, dual = problem.value(w), problem.dual_value(alpha)
        assert value - dual == pytest.approx(estimate + left, rel=1e-10, abs=1e-10 * abs(value))
        assert left >= 0.0
        assert estimate >= 0.0
    exact = problem.evaluate(w)
    assert problem.dual_value(exact.alpha) == pytest.approx(exact.value - exact.gap, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("loss", CONVEX, ids=cases.name_of)
@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
def test_the_identity_for_every_loss_and_set(loss, constraint):
    assert_identity(cases.problem(loss, constraint, sample_weight=np.arange(40) % 4))


@pytest.mark.parametrize("layout", cases.LAYOUTS)
@pytest.mark.parametrize("loss", CONVEX, ids=cases.name_of)
def test_the_identity_for_every_layout(loss, layout):
    assert_identity(cases.problem(loss, layout=layout))


@pytest.mark.parametrize("name", cases.SIZED_SETS)
def test_the_identity_for_sets_of_a_size(name):
    assert_identity(cases.problem(fw.Logistic(), cases.SIZED_SETS[name](9), d=9))


@pytest.mark.parametrize("loss", cases.VECTOR_LOSSES, ids=cases.name_of)
@pytest.mark.parametrize("constraint", [fw.L1Ball(2.0), fw.TraceBall(1.5), fw.L2Ball(1.0)], ids=cases.name_of)
def test_the_identity_for_several_outputs(loss, constraint):
    X, y = cases.vector_table(loss)
    assert_identity(fw.Problem(X, y, loss, constraint))


@pytest.mark.parametrize("loss", CONVEX, ids=cases.name_of)
def test_no_table_puts_the_bound_above_the_optimum(loss):
    problem = cases.problem(loss, fw.L1Ball(1.5))
    best = fw.minimize(problem, tol=1e-11)
    assert best.success
    for seed in range(20):
        assert problem.dual_value(slopes(problem, seed)) <= best.fun
    assert problem.dual_value(problem.evaluate(best.x).alpha) == pytest.approx(best.fun, abs=2.0 * best.tolerance)


def test_with_an_intercept_only_slopes_that_sum_to_zero_prove_anything():
    X, y = cases.table(fw.Logistic())
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.5), intercept=True)
    best = fw.minimize(problem, tol=1e-11)
    exact = problem.evaluate(best.x)
    assert problem.dual_value(exact.alpha) == pytest.approx(best.fun, abs=2.0 * best.tolerance)
    for seed in range(5):
        alpha = slopes(problem, seed)
        assert problem.dual_value(alpha) == -np.inf
        alpha[y > 0] *= -alpha[y < 0].sum() / alpha[y > 0].sum()
        alpha[0] -= alpha.sum()
        assert problem.dual_value(alpha) <= best.fun


def test_where_nothing_is_proven_it_says_so():
    from tests.own_parts import LogCosh

    problem = cases.problem(fw.Logistic())
    assert problem.dual_value(np.full(40, np.nan)) == -np.inf
    assert cases.problem(fw.Sigmoid()).dual_value(np.zeros(40)) == -np.inf
    assert fw.Problem(np.eye(3), [1.0, 2.0, 3.0], LogCosh(), fw.Box(-1.0, 1.0)).dual_value(np.zeros(3)) == -np.inf
    with pytest.raises(ValueError, match="one slope a prediction"):
        problem.dual_value(np.zeros(39))


def test_slopes_that_no_loss_has_are_moved_to_the_nearest_that_it_has():
    problem = cases.problem(fw.Logistic(), fw.L1Ball(1.5))
    least = fw.minimize(problem, tol=1e-11).fun
    for y, lowest, highest in zip(problem.y, -1.0 * (problem.y > 0.0), 1.0 * (problem.y < 0.0), strict=True):
        assert problem.loss.nearest_slope(-5.0, y) == lowest
        assert problem.loss.nearest_slope(5.0, y) == highest
    for outside in (-5.0, 5.0):
        nearest = np.array([problem.loss.nearest_slope(outside, y) for y in problem.y]) * problem.samples.weights
        assert -np.inf < problem.dual_value(np.full(40, outside)) == problem.dual_value(nearest) <= least


def huber_at_one_point(delta):
    """Three equal rows over a set of one point, where the loss is linear."""
    return fw.Problem(np.ones((3, 1)), np.full(3, -2.0), fw.Huber(delta), fw.Simplex(1.0)), np.full(3, delta / 3.0)


BEYOND = {
    "huber, 1e-9": (*huber_at_one_point(1e-9), 0.9e-14 / 3.0),
    "huber, 1e-12": (*huber_at_one_point(1e-12), 0.9e-14 / 3.0),
    "pinball, 1e-15": (fw.Problem([[1.0]], [0.0], fw.Pinball(1e-15), fw.Box(-3.0, -1.0)), [-1e-15], -1.1e-14),
}
"""Problems whose slopes are small, the slopes that prove their optimum, and how far others are beyond the domain."""


@pytest.mark.parametrize("name", BEYOND)
def test_the_edge_of_a_domain_is_in_the_units_of_the_loss(name):
    problem, edge, beyond = BEYOND[name]
    least = problem.value(-np.ones(1) if isinstance(problem.loss, fw.Pinball) else np.ones(1))
    assert problem.dual_value(edge) == pytest.approx(least, rel=1e-12)
    assert problem.dual_value(np.add(edge, beyond)) == pytest.approx(least, rel=1e-12)  # moved to the edge


def test_a_row_without_weight_has_no_slope():
    problem = fw.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", fw.L2Ball(1.0), sample_weight=[1.0, 1.0, 0.0])
    assert np.isfinite(problem.dual_value(np.zeros(3)))
    assert problem.dual_value(np.array([0.0, 0.0, 0.1])) == problem.dual_value(np.zeros(3))  # nearest to 0.1 is 0
