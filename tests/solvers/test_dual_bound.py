"""Bounds from the dual: residuals against a supremum taken numerically, and weak duality against solvers' optima."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import frankwolfe as fw
from frankwolfe.running.certifier import PointCertificate
from frankwolfe.solvers.corrective.hessian import loss_curvatures
from frankwolfe.solvers.dual_bound import LowerBound, bound_at, dual_gap, slopes_after
from tests import cases
from tests.reference.losses import TARGETS

WITH_RESIDUAL = [loss for loss in cases.LOSSES if loss.has_residual]


def conjugate(loss, y, a):
    """The supremum of ``a z - f(z)``, by a search on a grid and near its best point."""
    grid = np.linspace(-60.0, 60.0, 4001)
    values = [a * z - loss.value(float(z), y) for z in grid]
    best = grid[int(np.argmax(values))]
    found = minimize_scalar(
        lambda z: loss.value(z, y) - a * z, bounds=(best - 0.1, best + 0.1), method="bounded", options={"xatol": 1e-12}
    )
    return max(*values, -found.fun)


@pytest.mark.parametrize("loss", WITH_RESIDUAL, ids=cases.name_of)
def test_a_residual_is_loss_and_conjugate_less_their_product(loss):
    for y in TARGETS[loss.targets]:
        for at in (-3.0, -0.7, 0.2, 0.9, 2.5):
            a = loss.derivative(at, y)  # in the domain of the conjugate, but for a loss's own ends
            for z in (-4.0, -1.2, 0.0, 0.9, 3.0):
                expected = loss.value(z, y) + conjugate(loss, y, a) - a * z
                assert loss.residual(z, y, a) == pytest.approx(expected, abs=1e-9)
            assert loss.residual(at, y, a) == pytest.approx(0.0, abs=1e-29)


@pytest.mark.parametrize("loss", WITH_RESIDUAL, ids=cases.name_of)
def test_outside_the_domain_a_residual_is_infinite_and_close_to_the_slope_it_keeps_its_digits(loss):
    if not isinstance(loss, (fw.Squared, fw.Poisson, fw.losses.Tweedie)):
        assert loss.residual(0.3, 1.0, 1e5) == np.inf
    z, y, step = 0.25, 1.0, 1e-9
    curvature = loss.curvature(z, y)
    found = loss.residual(z, y, loss.derivative(z, y) + curvature * step)
    assert found == pytest.approx(0.5 * curvature * step**2, rel=1e-5)


def test_the_residual_of_several_classes_is_a_relative_entropy():
    loss, z = fw.Multinomial(3), np.array([0.3, -1.0, 2.0])
    p = np.exp(z) / np.exp(z).sum()
    q = np.array([0.2, 0.5, 0.3])
    slopes = q - np.array([0.0, 1.0, 0.0])
    assert loss.residual(z, 1.0, slopes) == pytest.approx(float((q * np.log(q / p)).sum()), rel=1e-12)
    assert loss.residual(z, 1.0, slopes + 0.1) == np.inf  # they do not sum to zero
    assert loss.residual(z, 1.0, np.array([0.5, -0.2, -0.3])) == np.inf  # a negative probability
    certain = np.array([0.0, 800.0, 0.0])
    assert loss.residual(certain, 1.0, np.zeros(3)) == 0.0
    tasks = fw.MultitaskSquared(2)
    assert tasks.residual(np.array([1.0, 2.0]), np.zeros(2), np.array([1.0, 0.0])) == 2.0


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared", "multinomial"])
def test_no_slopes_put_the_bound_above_the_optimum(loss, intercept):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(25, 4))
    y = rng.integers(0, 3, 25) if loss == "multinomial" else np.sign(rng.normal(size=25))
    problem = fw.Problem(X, y, loss, fw.L1Ball(2.0), intercept=intercept)
    best = fw.minimize(problem, tol=1e-10)
    assert best.success
    w = np.zeros(problem.size)
    at = problem.objective.point(problem.samples.table())
    curvatures = loss_curvatures(problem, at, 0.0, 0.0)
    gaps = []
    for scale in (0.0, 0.1, 0.5, 1.0):
        alpha = slopes_after(problem, at, curvatures, scale * (best.x.ravel() - w))
        gaps.append(dual_gap(problem, at, w, alpha))
        assert at.value - gaps[-1] <= best.fun + 1e-12
    assert gaps[0] == pytest.approx(problem.gap(w), rel=1e-12)  # with the slopes at the point it is the gap there
    assert min(gaps) < 0.8 * gaps[0]  # others prove more
    if intercept:
        assert dual_gap(problem, at, w, at.alpha.reshape(problem.samples.shape) + 0.01) == np.inf


@pytest.mark.parametrize("bounds", [(-0.5e4, 1e4), (-1e4, 1e4)])
def test_where_the_last_digit_of_the_weights_hides_the_gap_the_dual_certifies(bounds):
    # columns of mean 100 and a radius of 1e4: the last bit of a weight changes the gap by several tolerances
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9))
    y = X @ rng.normal(size=9) + rng.normal(size=60)
    X += 100.0
    problem = fw.Problem(X, y, "squared", fw.Box(*bounds))
    result = fw.minimize(problem, tol=2e-10)
    assert result.success
    assert result.gap <= result.tolerance < problem.gap(result.x)
    assert "distance to a lower bound" in result.message
    w = cp.Variable(9)
    program = cp.Problem(cp.Minimize(cp.sum_squares(X @ w - y) / 120.0), [w >= bounds[0], w <= bounds[1]])
    program.solve(solver=cp.CLARABEL)
    assert result.fun - result.gap <= program.value + 1e-12
    assert result.fun - program.value <= result.gap + 1e-10 * problem.zero_value


def test_a_loss_of_ones_own_without_a_residual_goes_without_the_bound():
    from tests.own_parts import LogCosh

    problem = fw.Problem(np.eye(3), [1.0, 2.0, 3.0], LogCosh(), fw.Box(-1.0, 1.0))
    at = problem.objective.point(problem.samples.table())
    assert dual_gap(problem, at, np.zeros(3), at.alpha) == np.inf


def test_where_the_losses_all_but_vanish_that_is_a_proof():
    # separable classes and a large ball: the gap is the tiny objective times margins of millions
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9))
    y = np.where(X @ rng.normal(size=9) > 0.0, 1.0, -1.0)
    problem = fw.Problem(1e3 * X, y, "logistic", fw.L1Ball(1e4))
    result = fw.minimize(problem, tol=1e-8, max_passes=100)
    assert result.success
    assert 0.0 <= result.fun <= result.gap <= result.tolerance


def test_a_result_that_the_dual_certified_is_certified_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9))
    y = X @ rng.normal(size=9) + rng.normal(size=60)
    problem = fw.Problem(X + 100.0, y, "squared", fw.Box(-1e4, 1e4))
    result = fw.minimize(problem, tol=2e-10)
    assert result.gap <= result.tolerance < problem.gap(result.x)
    for method in ("auto", "fw"):
        again = fw.minimize(problem, method, tol=2e-9, x0=result, max_passes=3)
        assert again.success
        np.testing.assert_array_equal(again.x, result.x)


@pytest.mark.parametrize("constraint", [fw.Simplex(1e4), fw.L1Ball(1e4), fw.NonNegativeL1Ball(1e4)])
def test_on_a_face_of_coordinates_too(constraint):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9))
    classes = np.argmax(X @ rng.normal(size=(9, 4)) + rng.gumbel(size=(60, 4)), axis=1)
    problem = fw.Problem(X + 100.0, classes, fw.Multinomial(4), constraint)
    result = fw.minimize(problem, tol=1e-8, max_passes=1e4)
    assert result.success


@pytest.mark.parametrize("outputs", [False, True])
def test_slopes_from_a_problem_with_other_weights_prove_what_those_of_weighted_rows_prove(outputs):
    X, y = np.eye(3), np.array([1.0, 2.0, 3.0])
    y, loss = (np.column_stack([y, y]), "multitask-squared") if outputs else (y, "squared")
    problem = fw.Problem(X, y, loss, fw.L2Ball(1.0), sample_weight=[1.0, 1.0, 0.0])
    alpha = np.zeros(problem.samples.shape)
    bound = bound_at(problem, np.zeros(problem.size), alpha)[0]
    assert np.isfinite(bound)
    alpha[2] = 0.1  # moved to zero, the only slope of a row without weight
    assert bound_at(problem, np.zeros(problem.size), alpha)[0] == bound


def test_a_bound_that_rounding_has_lifted_above_the_objective_makes_no_negative_gap():
    problem = fw.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared", fw.L2Ball(1.0))
    bound, found = LowerBound(problem), PointCertificate(*problem.evaluate(np.zeros(3))[::2][:2])
    assert found.above(bound) == found
    bound.offer(found.value + 1e-9, None)
    assert found.above(bound).gap == 0.0
    assert found.above(bound).by_bound


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_set_of_a_single_point_is_certified(loss):
    problem = fw.Problem([[1.0], [2.0], [-1.0]], [1.0, -1.0, 2.0], loss, fw.Birkhoff(1))
    result = fw.minimize(problem, "corrective", tol=1e-6)
    assert result.success
    assert result.x == [1.0]


def test_the_dual_value_is_the_same_compiled():
    problem = cases.problem(fw.Huber(0.7), n=30)
    alpha = problem.evaluate(np.zeros(12)).alpha
    compiled = problem.dual_value(0.9 * alpha)
    with fw.python_mode():
        assert problem.dual_value(0.9 * alpha) == pytest.approx(compiled, rel=1e-12)
