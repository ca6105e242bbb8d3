"""Certificates by the table: what is proven holds, a mended table proves too, and nothing proven is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frankwolfe as fw
from frankwolfe.display import Progress
from frankwolfe.running.certifier import TABLE_SHARE, CertificateSchedule, RecentMean, bound_by_conjugates
from frankwolfe.running.driver import Driver, Limits
from frankwolfe.solvers.corrective.interior import InteriorSolver
from frankwolfe.solvers.dual_bound import balanced
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases

interpreted = pytest.mark.usefixtures("interpreted")

TABLES = [
    name
    for name, method in fw.methods.METHODS.items()
    if method.solver == "loop" and method.estimate.state.alpha is not None and method.estimate.state.side is None
]
STOCHASTIC = [name for name in TABLES if not isinstance(fw.methods.METHODS[name].estimate, fw.methods.FullGradient)]


def convex_losses(name):
    """Return the convex losses that a method can have."""
    return [loss for loss in cases.LOSSES if loss.convex and cases.takes(fw.methods.METHODS[name], loss)]


def solver_of(problem, method, steps):
    """Return a solver that has made some steps."""
    solver = StepwiseSolver(problem, fw.methods.METHODS[method], 4, np.random.default_rng(0), problem.default_start())
    solver.begin(np.inf, 0.0)
    solver.advance(steps)
    return solver


def with_intercept(loss, outputs=False, **more):
    X, y = cases.vector_table(loss) if outputs else cases.table(loss)
    return fw.Problem(X + 0.3, y, loss, fw.L1Ball(2.0), intercept=True, **more)


# --- what the table proves ---------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("method", TABLES)
def test_the_identity_holds_for_the_table_of_every_method(method):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(3.0), sample_weight=np.arange(40) % 4)
    solver = solver_of(problem, method, 60)
    w, alpha = solver.point(), solver.evidence().slopes
    at = problem.objective.point(problem.objective.predict(w))
    bound = solver.evidence().gap_estimate + problem.objective.residuals(at, alpha)
    assert at.value - problem.dual_value(alpha) == pytest.approx(bound, rel=1e-10)
    assert problem.dual_value(alpha) <= fw.minimize(problem, tol=1e-11).fun


@interpreted
@pytest.mark.parametrize("method", [name for name in TABLES if name not in STOCHASTIC])
def test_a_step_that_has_read_all_rows_knows_its_dual_value(method):
    problem = cases.problem(fw.Huber(0.7), fw.L1Ball(3.0))
    solver = solver_of(problem, method, 5)
    known = solver.evidence()
    assert bound_by_conjugates(problem, known, -np.inf) == pytest.approx(problem.dual_value(known.slopes), rel=1e-12)
    assert bound_by_conjugates(problem, known, np.inf) == -np.inf


@interpreted
@pytest.mark.parametrize(
    ("method", "loss"),
    [(method, convex_losses(method)[k % 5 - turn]) for k, method in enumerate(STOCHASTIC) for turn in (0, 3)],
    ids=cases.name_of,
)
def test_what_a_run_says_of_the_optimum_is_true(method, loss):
    problem = cases.problem(loss, fw.L1Ball(3.0))
    best = fw.minimize(problem, tol=1e-11)
    assert best.success
    for tol, passes in ((0.2, 100), (1e-2, 100), (0.0, 7)):
        result = fw.minimize(problem, method, tol=tol, max_passes=passes, random_state=1, batch_size=2)
        assert result.lower_bound <= best.fun
        assert result.fun - best.fun <= result.gap
        assert not result.gap > result.fw_gap
        trace = result.trace
        assert (trace.fun - trace.gap <= best.fun + 1e-14).all()
        assert trace.gap[-1] <= result.gap or tol != 0.0  # all traced points are looked at
        assert (trace.gap <= trace.fw_gap).all()
        assert (np.diff(trace.fun - trace.gap) >= -1e-14).all()  # the best bound so far


@interpreted
def test_a_loss_that_is_not_convex_has_the_frank_wolfe_gap():
    problem = cases.problem(fw.Sigmoid(), fw.L1Ball(3.0))
    result = fw.minimize(problem, "sfw", tol=1e-2, max_passes=50, random_state=0)
    assert result.gap == result.fw_gap == pytest.approx(problem.gap(result.x), rel=1e-12)
    assert result.lower_bound == -np.inf
    np.testing.assert_array_equal(result.trace.gap, result.trace.fw_gap)


def test_the_table_certifies_long_before_the_frank_wolfe_gap_does():
    X, y = cases.data("breast_cancer")
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(5.0))
    result = fw.minimize(problem, "sfw", tol=1e-3, random_state=0)
    assert result.success
    assert result.passes < 40.0  # it takes over a hundred by the Frank-Wolfe gap
    assert problem.gap(result.x) > 2.0 * result.tolerance
    assert result.fun - 0.13903871821195155 <= result.gap
    assert "distance to a lower bound" in result.message
    late = result.trace.passes > 5.0
    near = np.abs(result.trace.bound_estimate / result.trace.gap - 1.0)[late]
    assert np.median(near) < 0.2


# --- an intercept ------------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize(
    ("loss", "outputs"),
    [
        (fw.Logistic(), False),
        (fw.Squared(), False),
        (fw.Huber(0.7), False),
        (fw.ModifiedHuber(), False),
        (fw.Multinomial(), True),
        (fw.MultitaskSquared(), True),
    ],
    ids=str,
)
def test_a_table_that_does_not_sum_to_zero_is_mended(loss, outputs):
    problem = with_intercept(loss, outputs, sample_weight=1.0 + np.arange(40) % 3)
    best = fw.minimize(problem, tol=1e-11)
    rng, w = np.random.default_rng(0), 0.5 * best.x.ravel()
    at = problem.objective.point(problem.objective.predict(w), problem.zero_model)
    for noise in (1e-6, 1e-2, 0.3):
        z = at.shifted().reshape(problem.samples.shape) + noise * rng.normal(size=problem.samples.shape)
        rows = [problem.loss.derivative(z[i], problem.y[i]) for i in range(problem.n)]
        alpha = (problem.samples.weights * np.array(rows).T).T
        assert problem.dual_value(alpha) == -np.inf
        slopes = balanced(problem, at, alpha)
        assert slopes is not None
        assert -np.inf < problem.dual_value(slopes) <= best.fun
        bound = problem.gap_for(problem.objective.gradient(slopes), w) + problem.objective.residuals(at, slopes)
        assert at.value - problem.dual_value(slopes) == pytest.approx(bound, rel=1e-9)


@interpreted
def test_without_an_intercept_nothing_is_mended():
    problem = cases.problem()
    at = problem.objective.point(problem.samples.table())
    alpha = np.full(40, 0.01)
    assert balanced(problem, at, alpha) is alpha
    assert balanced(problem, at, np.full(40, np.nan)) is None


@interpreted
@pytest.mark.parametrize("method", STOCHASTIC)
def test_with_an_intercept_what_a_run_says_is_true(method):
    problem = with_intercept(fw.Logistic())
    best = fw.minimize(problem, tol=1e-11)
    result = fw.minimize(problem, method, tol=2e-2, max_passes=200, random_state=0)
    assert result.lower_bound <= best.fun <= result.fun


# --- nothing is lost ---------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("method", ["sfw", "fw", "lu-freund", "auto"])
@pytest.mark.parametrize("first", ["sfw", "stochastic-pairwise", "fw"])
def test_what_a_table_has_certified_is_certified_again(first, method):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(3.0))
    result = fw.minimize(problem, first, tol=0.03, max_passes=300, random_state=0)
    assert result.success
    again = fw.minimize(problem, method, tol=0.03, max_passes=1, x0=result, random_state=1)
    assert again.success
    assert again.fun <= result.fun + 1e-15
    if problem.gap(result.x) > result.tolerance:
        assert "slopes" in result.state
        assert problem.dual_value(result.state["slopes"]) == pytest.approx(result.lower_bound, rel=1e-12)


# --- when to check -----------------------------------------------------------------------------------------------


@given(
    st.floats(1e-8, 1.0),
    st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 2.0)), min_size=1, max_size=60),
)
def test_a_schedule_by_table_keeps_to_its_share_but_for_a_few_triggers(tolerance, looks):
    schedule, passes, triggers = CertificateSchedule(tolerance, by_table=True), 0.0, 0
    for further, estimate in looks:
        passes += further
        if schedule.due(passes, 0.0, estimate):
            triggers += estimate <= tolerance
            schedule.note(passes, np.nan, 0.0, 0.5)
    assert schedule.passes <= TABLE_SHARE * passes + 0.5 * min(triggers, 1.0 + np.log(max(passes, 1.0)) / np.log(1.25))


def test_an_untriggered_check_does_not_delay_the_first_trigger():
    schedule = CertificateSchedule(1e-3, by_table=True)
    assert schedule.due(10.0, 0.0, 1.0)
    schedule.note(10.0, np.nan, 0.0, 0.5)
    assert not schedule.due(10.2, 0.0, 1.0)
    assert schedule.due(10.2, 0.0, 1e-4)
    schedule.note(10.2, np.nan, 0.0, 0.5)
    assert not schedule.due(10.5, 0.0, 1e-4)
    assert schedule.due(13.0, 0.0, 1e-4)


# --- a better point than the iterate -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", [fw.methods.OpenLoop(), fw.methods.OpenLoop(1.0, 1.0), fw.methods.OpenLoop(3.0, 2.5)], ids=str
)
@pytest.mark.parametrize(("first", "last"), [(0, 7), (5, 6), (10**6, 10**6 + 1000)])
def test_what_is_left_of_an_iterate_is_the_product_of_its_steps(rule, first, last):
    steps = np.array([rule.length(None, None, None, None, t) for t in range(first + 1, last + 1)])
    product = np.prod(1.0 - steps)
    assert product * (1.0 - 1e-6) <= rule.part_left(first, last) <= product


def ill_scaled():
    """A problem whose first vertices are far off: one column is much larger than the others, as in raw tables."""
    X, y = cases.table(fw.Squared(), n=80, d=6, seed=3, density=1.0)
    X[:, 0] *= 30.0
    return fw.Problem(X, y, "squared", fw.L1Ball(1.0))


@interpreted
@pytest.mark.parametrize("method", ["sfw", "mokhtari"])
def test_the_mean_of_recent_vertices_is_in_the_set_and_the_best_point_of_its_line_is_found(method):
    problem = ill_scaled()
    solver = solver_of(problem, method, 300)
    recent, objective = RecentMean(solver), problem.objective
    before, recent.part_left = solver.point(), solver.evidence().part_left
    recent.note(objective.point(objective.predict(before)), before)
    solver.advance(300)
    w = solver.point()
    at = objective.point(objective.predict(w))
    recent.part_left = solver.evidence().part_left
    left = recent.part_left(300)
    mean = (w - left * before) / (1.0 - left)
    assert problem.constraint.contains(mean, 1e-12)
    found, better = recent.best(at, w)
    on_the_line = [problem.value(before + share * (mean - before)) for share in np.linspace(0.0, 1.0, 401)]
    assert problem.value(better) == found.value <= min(on_the_line) + 1e-9 * problem.zero_value
    assert recent.predicted_decrease(at) == pytest.approx(
        at.value - found.value, rel=1e-6
    )  # a squared loss is a parabola


@interpreted
def test_a_better_point_than_the_iterate_certifies_a_run_earlier(monkeypatch):
    problem = ill_scaled()
    how = {"tol": 1e-2, "max_passes": 2000, "random_state": 0}
    result = fw.minimize(problem, "sfw", **how)
    check = problem.evaluate(result.x)
    assert result.success
    assert problem.constraint.contains(result.x)
    assert result.fun == check.value
    assert result.lower_bound <= fw.minimize(problem, tol=1e-11).fun
    monkeypatch.setattr(RecentMean, "predicted_decrease", lambda self, at, wanted: 0.0)
    assert result.passes < 0.8 * fw.minimize(problem, "sfw", **how).passes


@interpreted
@pytest.mark.parametrize("method", ["l-svrg", "sarah"])  # a coin decides
def test_snapshots_certify_at_the_same_steps_whatever_is_traced(method):
    """To optimise an intercept changes when the next one is due: the run must stop there, too."""
    problem = with_intercept(fw.Huber(0.7))
    for seed in (4, 28, 37):
        given = {"tol": 1e-9, "max_passes": 12, "batch_size": 1, "random_state": seed}
        one, other = (fw.minimize(problem, method, trace=trace, **given) for trace in (0, 25))
        assert (one.fun, one.gap, one.lower_bound) == (other.fun, other.gap, other.lower_bound)


@interpreted
def test_the_exact_gap_of_an_earlier_best_point_counts():
    """All losses vanish there: its Frank-Wolfe gap is zero, and no bound by a table says so."""
    problem = fw.Problem([[1.0, 0.2], [-0.5, -1.0], [2.0, 1.0]], [1, -1, 1], "squared-hinge", fw.L1Ball(40.0))
    given = {"tol": 1e-9, "max_passes": 12, "batch_size": 1}
    runs = [fw.minimize(problem, "sagafw", random_state=seed, **given) for seed in range(6)]
    assert any(run.fun == 0.0 for run in runs)
    assert all(run.success for run in runs if run.fun == 0.0)


@interpreted
@pytest.mark.parametrize("kind", ["interior", "fw"])
def test_solver_and_certifier_share_one_lower_bound(kind):
    """Bounds are kept as they are proven, also in a run that makes no certificate before its end."""
    problem = cases.problem(fw.Logistic(), fw.L2Ball(1.2)).own()
    best = fw.minimize(problem, tol=1e-9).fun
    start = problem.default_start()
    solver = (
        InteriorSolver(problem, start)
        if kind == "interior"
        else StepwiseSolver(problem, fw.methods.METHODS["fw"], 4, np.random.default_rng(0), start)
    )
    driver = Driver(solver, Limits(0.0, 12.0, np.inf), None, Progress(False, kind, 12.0), trace=0)
    driver.drive()
    assert driver.certifier.best is None
    assert -np.inf < driver.certifier.bound.value <= best
