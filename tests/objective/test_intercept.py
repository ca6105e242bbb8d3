"""The free intercept: optimal at every point, for every method, and the certificate with it."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar
from scipy.special import softmax

import frankwolfe as fw
from frankwolfe.objective import tasks
from frankwolfe.objective.intercept import InterceptSearch, Sums, bracketed_root, trust_region
from frankwolfe.objective.point import Guess
from frankwolfe.objective.tasks import slope_and_curvature
from tests import cases

CONVEX = [loss for loss in cases.LOSSES if loss.convex]


def far_from_centred(loss, outputs=0, n=60, d=6):
    """Data whose features and targets have means far from zero."""
    X, y = cases.vector_table(loss, outputs, n=n, d=d) if outputs else cases.table(loss, n=n, d=d)
    X = X + 2.0
    if not outputs and loss.targets == "real":
        y = y + 7.0
    return X, y


def started_at(problem, shift):
    """A point whose predictions are zero and whose intercept is where a search starts."""
    zero = problem.objective.point(problem.samples.table())
    return zero._replace(shift=np.array(shift), curve=None)


def problem_of(loss, outputs=0, constraint=None):
    X, y = far_from_centred(loss, outputs)
    return fw.Problem(X, y, loss, fw.L1Ball(1.0) if constraint is None else constraint, intercept=True)


@pytest.mark.parametrize("loss", CONVEX, ids=cases.name_of)
def test_the_intercept_is_the_best_one_at_any_point(loss):
    problem = problem_of(loss)
    w = np.random.default_rng(0).normal(size=problem.d)
    found = problem.evaluate(w)

    def objective(b):
        return np.mean([loss.value(z + b, y) for z, y in zip(problem.X @ w, problem.y, strict=True)])

    best = minimize_scalar(objective, bracket=(-1.0, 1.0), tol=1e-12)
    assert found.value == pytest.approx(best.fun, rel=1e-9)
    assert found.value == pytest.approx(objective(found.intercept), rel=1e-12)
    assert found.alpha.sum() == pytest.approx(0.0, abs=1e-10 * np.abs(found.alpha).sum())


@pytest.mark.parametrize("loss", cases.VECTOR_LOSSES, ids=cases.name_of)
def test_several_outputs_have_an_intercept_each(loss):
    problem = problem_of(loss, outputs=3)
    found = problem.evaluate(np.random.default_rng(0).normal(size=problem.shape))
    assert found.intercept.shape == (3,)
    np.testing.assert_allclose(found.alpha.sum(axis=0), 0.0, atol=1e-7 * np.abs(found.alpha).sum())


@given(shift=st.floats(-1e6, 1e6), start=st.floats(-1e3, 1e3))
@settings(max_examples=50)
def test_the_best_shift_is_found_from_anywhere(shift, start):
    rng = np.random.default_rng(0)
    problem = fw.Problem(np.ones((20, 1)), rng.normal(size=20) + shift, "huber", fw.L1Ball(1.0), intercept=True)
    found = problem.objective.point(np.zeros(20), started_at(problem, [start]))
    pulls = [fw.Huber().derivative(found.shift[0], y) for y in problem.y]
    assert found.stationary
    assert abs(np.sum(pulls)) <= 1e-14 * (np.abs(pulls).sum() + 20.0 * abs(shift))


def test_a_multinomial_shift_is_found_from_far_out_where_the_loss_is_flat():
    problem = problem_of(fw.Multinomial(), outputs=3)
    z, shares = np.zeros((problem.n, 3)), np.bincount(problem.y.astype(int)) / problem.n
    for start in ([-40.0, 10.0, 30.0], [4000.0, -1e4, 0.0], [1e6, 1e6, -1e6]):
        found = problem.objective.point(z, started_at(problem, start))
        assert found.stationary
        np.testing.assert_allclose(softmax(found.shift), shares, atol=1e-9)


def test_a_multinomial_shift_is_not_taken_for_the_best_where_a_light_sample_still_pulls():
    # the heavy samples are right far beyond any doubt, and the last one wrong: all that is left is its tiny weight
    weight, y = [1.0, 3e-3, 8e-12], [0, 0, 1]
    problem = fw.Problem(np.ones((3, 1)), y, "multinomial", fw.L1Ball(1.0), sample_weight=weight, intercept=True)
    z = np.array([[7.0, 0.0], [-2200.0, 2100.0], [-2700.0, 2700.0]])
    found = problem.objective.point(z, problem.zero_model)
    assert found.stationary
    assert found.value < 1e-20


@pytest.mark.parametrize("seed", range(6))
def test_a_multinomial_shift_is_found_where_predictions_are_in_the_millions(seed):
    # there the loss is max_c (z_c + b_c) - (z_y + b_y) to all digits: a linear program
    rng, n, classes = np.random.default_rng(seed), 9, 4
    y = np.arange(n) % classes
    problem = fw.Problem(np.ones((n, 1)), y, "multinomial", fw.L1Ball(1.0), intercept=True)
    z = 1e8 * np.outer(rng.normal(size=n), rng.normal(size=classes)) + 1e4 * rng.normal(size=(n, classes))
    found = problem.objective.point(z, problem.zero_model)
    above = np.hstack([np.tile(np.eye(classes), (n, 1)), -np.repeat(np.eye(n), classes, axis=0)])
    costs = np.concatenate([-np.bincount(y) / n, np.full(n, 1.0 / n)])
    best = linprog(costs, above, -z.ravel() / 1e8, bounds=(None, None), method="highs")
    assert found.stationary
    assert found.value == pytest.approx(1e8 * best.fun - z[np.arange(n), y].mean(), rel=1e-6, abs=1.0)


def with_explicit_column(problem, kind):
    """Solve the problem with cvxpy, the intercept a variable of its own; return its optimal value."""
    w, b = cp.Variable(problem.d), cp.Variable()
    z = problem.X @ w + b
    losses = {
        "squared": lambda: 0.5 * cp.sum_squares(z - problem.y),
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(problem.y, z))),
        "huber": lambda: 0.5 * cp.sum(cp.huber(z - problem.y, 0.7)),
    }
    goal = cp.Problem(cp.Minimize(losses[kind]() / problem.n), [cp.norm1(w) <= 1.0])
    goal.solve(solver=cp.CLARABEL)
    return goal.value, w.value, float(b.value)


@pytest.mark.parametrize("loss", [fw.Squared(), fw.Logistic(), fw.Huber(0.7)], ids=cases.name_of)
def test_the_optimum_is_that_of_an_explicit_free_column(loss):
    problem = problem_of(loss)
    value, w, b = with_explicit_column(problem, type(loss).__name__.lower())
    result = fw.minimize(problem, tol=1e-9)
    assert result.success
    assert result.fun == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(result.x, w, atol=1e-3)
    assert result.intercept == pytest.approx(b, abs=5e-3)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", [*fw.methods.METHODS], ids=str)
def test_every_method_returns_the_best_intercept_and_a_gap_that_bounds_the_error(method):
    problem = problem_of(fw.Logistic())
    best = fw.minimize(problem, tol=1e-10)
    result = fw.minimize(problem, method, tol=1e-3, max_passes=400, random_state=0)
    found = problem.evaluate(result.x)
    assert (result.fun, result.intercept) == pytest.approx((found.value, found.intercept), rel=1e-7)
    assert found.alpha.sum() == pytest.approx(0.0, abs=1e-9)
    assert result.fun - best.fun <= result.gap + 1e-12
    assert result.fun - best.fun <= 0.02 * problem.zero_value
    assert (result.trace.fun - best.fun <= result.trace.gap + 1e-12).all()


@pytest.mark.parametrize("loss", cases.VECTOR_LOSSES, ids=cases.name_of)
@pytest.mark.parametrize("constraint", [fw.L1Ball(1.0), fw.TraceBall(1.0), fw.L2Ball(1.0)], ids=cases.name_of)
def test_shifting_targets_shifts_the_intercept_alone(loss, constraint):
    problem = problem_of(loss, outputs=3, constraint=constraint)
    result = fw.minimize(problem, tol=1e-8, max_passes=1000)
    assert result.success
    if loss.targets == "rows":
        moved = fw.Problem(problem.X, problem.y + [10.0, 0.0, -5.0], loss, constraint, intercept=True)
        again = fw.minimize(moved, tol=1e-8, max_passes=1000)
        np.testing.assert_allclose(again.x, result.x, atol=1e-3)
        np.testing.assert_allclose(again.intercept - result.intercept, [10.0, 0.0, -5.0], atol=1e-2)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", ["fw", "sfw", "corrective"])
@pytest.mark.parametrize("budget", [1, 3, 5.5])
def test_settling_is_charged_to_the_budget(method, budget):
    result = fw.minimize(problem_of(fw.Logistic()), method, tol=0, max_passes=budget, random_state=0)
    assert 0.0 < result.passes <= budget


# the compiled loop sees no more of an intercept than a loss that is shifted
@pytest.mark.parametrize("method", ["auto", "fw", "sfw"])
def test_compiled_and_interpreted_agree(method):
    problem = problem_of(fw.Logistic())
    options = {"tol": 1e-8, "max_passes": 20, "random_state": 0}
    compiled = fw.minimize(problem, method, **options)
    with fw.python_mode():
        interpreted = fw.minimize(problem, method, **options)
    assert compiled.fun == pytest.approx(interpreted.fun, rel=1e-12)
    assert compiled.intercept == pytest.approx(interpreted.intercept, rel=1e-5)


def test_a_run_leaves_the_problem_as_it_was():
    problem = problem_of(fw.Squared())
    fw.minimize(problem)
    assert problem.samples.loss.shift[0] == 0.0
    assert problem.loss == fw.Squared()
    assert problem.intercept


def test_without_an_intercept_there_is_none():
    X, y = far_from_centred(fw.Squared())
    problem = fw.Problem(X, y, "squared", fw.L1Ball(1.0))
    assert not problem.intercept
    assert fw.minimize(problem).intercept == 0.0


def test_the_zero_model_has_its_intercept_too():
    problem = problem_of(fw.Squared())
    assert problem.zero_value == pytest.approx(0.5 * np.var(problem.y))


def test_many_rows_need_no_more_rounds_than_few(monkeypatch):
    # the roundings of a plain sum over the rows hid where the slope is zero, and the search went on
    rounds, n = [], 200_000

    def counted(targets, *args, **shift):
        rounds.append(len(targets) / n)  # rows, in blocks
        return slope_and_curvature(targets, *args, **shift)

    monkeypatch.setattr(tasks, "slope_and_curvature", counted)
    y = np.where(np.arange(n) % 13 < 6, -1.0, 1.0)
    problem = fw.Problem(np.zeros((n, 1)), y, loss="logistic", constraint=fw.L1Ball(1.0), intercept=True)
    share = float(np.mean(y > 0))
    assert problem.zero_value == pytest.approx(-share * np.log(share) - (1 - share) * np.log1p(-share), rel=1e-13)
    assert sum(rounds) <= 6.01
    rounds.clear()
    assert fw.minimize(problem, trace=0).success
    assert sum(rounds) <= 4.01  # the run starts from what the problem knows


@pytest.mark.parametrize("resolution", [0.0, 1e-16])
def test_a_search_that_finds_nothing_lower_ends_where_it_began(resolution):
    # the slope jumps at zero, where numbers have no last digit: steps could shrink for ever
    looked = []

    def sums(b):
        looked.append(b)
        return Sums(float(np.abs(b).sum()), np.where(b == 0.0, 1.0, np.sign(b)), 0.0)

    found, _ = trust_region(sums, lambda b: np.eye(1), np.zeros(1), most=2000, resolution=resolution)
    assert found.tolist() == [0.0]
    assert len(looked) < (60 if resolution else 2002)


class FarFromMost:
    """A parabola about zero, of samples the largest of which has next to no weight."""

    base_loss, outputs, samples = fw.Tukey(2.0), 0, SimpleNamespace(shape=(12,))
    calls_are_costly = False

    @property
    def shards(self):
        return self

    def extras_for(self, z, segment):
        return None, ()

    def run(self, task, z, shift=0.0, *args, **how):
        if task is tasks.prediction_facts:
            return np.zeros(1), 1e-12, [1e-9], [1.0]
        if task is tasks.intercept_blur:
            return (abs(shift),)
        return None, None, np.array([1.01 * shift]), abs(shift), 1e-3 + 0.505 * shift**2, *[0.0] * 5


def test_a_search_that_ends_at_its_resolution_is_level():
    search = InterceptSearch(FarFromMost(), None)
    found, _ = search.best(Guess(np.array([1e-3]), np.zeros(1), np.eye(1)))
    assert abs(found[0]) < 1e-31
    assert search.is_level(found)


def test_the_root_of_a_function_that_jumps_is_next_to_the_jump():
    found = bracketed_root(lambda b: (1.0 if b > -7.25 else -6.0, 0.0, 1e-16), start=6.0, smoothness=1.0)
    assert found == pytest.approx(-7.25, abs=1e-14)
