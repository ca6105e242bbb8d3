"""A run from its arguments to its result: every way it can end, what it is charged, what it leaves behind."""

import dataclasses
import os
import pickle
import signal
import sys
import threading
import time
from itertools import pairwise
from math import ceil, isfinite, nan
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frankwolfe as fw
from frankwolfe.problem import Problem
from frankwolfe.result import COLUMNS
from frankwolfe.running.certifier import SHARE, CertificateSchedule
from frankwolfe.running.observer import State
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases

interpreted = pytest.mark.usefixtures("interpreted")
LOOP = [name for name, method in fw.methods.METHODS.items() if method.solver == "loop"]
every_method = pytest.mark.parametrize("method", LOOP)

STOCHASTIC = [name for name, method in fw.methods.METHODS.items() if not method.reads_all_rows]
every_stochastic = pytest.mark.parametrize("method", STOCHASTIC)
PLANNED = [  # what a step costs depends on its number, or on chance
    name
    for name, method in fw.methods.METHODS.items()
    if method.estimate.state.next_snapshot is not None or method.estimate.state.batch_sizes is not None
]
STEADY = [name for name in LOOP if name not in PLANNED]
every_set = pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)


class Cliff(NamedTuple):
    """Squared error that is not a number for predictions beyond an edge."""

    edge: float

    @property
    def convex(self):
        return True

    @property
    def targets(self):
        return "real"

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y) if z <= self.edge else nan

    def derivative(self, z, y):
        return z - y if z <= self.edge else nan

    def curvature(self, z, y):
        return 1.0

    def smoothness(self):
        return 1.0


def cliff(edge):
    """Make a problem whose optimum lies over the edge for row 3, and only for row 3."""
    X = np.full((8, 2), 0.1)
    X[3] = [10.0, 0.0]
    return fw.Problem(X, 2.0 * X[:, 0], Cliff(edge), fw.L1Ball(1.0))


def check_exact(result, problem, rounding=0.0):
    """What a result says of its point must be what the problem says of it."""
    assert problem.constraint.contains(result.x)
    assert result.fun == pytest.approx(problem.value(result.x), rel=0.0, abs=rounding)
    exact = problem.gap(result.x)
    assert np.isnan(result.fw_gap) or result.fw_gap == pytest.approx(exact, rel=0.0, abs=rounding)
    if problem.loss.convex:  # a lower bound may prove more than the Frank-Wolfe gap, and never less
        assert not result.gap > result.fw_gap
        assert result.lower_bound == result.fun - result.gap
        assert result.lower_bound <= fw.minimize(problem, tol=1e-10).fun + 1e-14
    else:
        assert result.gap == pytest.approx(exact, rel=0.0, abs=rounding)
        assert result.lower_bound == -np.inf


# --- how a run ends -------------------------------------------------------------------------------------------


@interpreted
@every_set
@pytest.mark.parametrize("method", ["fw", "sfw", "lu-freund"])
def test_converged_means_an_exact_gap_within_tolerance(method, constraint):
    problem = cases.problem(constraint=constraint)
    result = fw.minimize(problem, method, tol=0.1, max_passes=300, random_state=0)
    assert result.status is fw.Status.CONVERGED
    assert result.success
    check_exact(result, problem)
    assert result.gap <= 0.1 * problem.zero_value
    assert result.tolerance == 0.1 * problem.zero_value
    assert result.passes < 300
    assert "within the tolerance" in result.message
    assert f"{result.gap:.3g}" in result.message


def test_the_default_arguments_work():
    problem = cases.problem()
    result = fw.minimize(problem)
    assert result.method == "auto: corrective"
    assert result.success
    assert result.passes <= 100.0
    check_exact(result, problem, rounding=1e-15)  # the same sums, in another order
    assert result.fun < problem.zero_value


@interpreted
@every_method
def test_tol_zero_runs_the_budget_out_and_still_certifies(method):
    problem = cases.problem()
    result = fw.minimize(problem, method, tol=0, max_passes=4, random_state=0, batch_size=5)
    assert result.status is fw.Status.MAX_PASSES
    assert not result.success
    assert result.passes == 4.0 if method in STEADY else 2.5 < result.passes <= 4.0
    assert result.tolerance == 0.0
    assert result.checks == 1
    check_exact(result, problem)
    assert result.gap > 0.0
    assert "budget of 4 passes" in result.message
    assert f"{result.gap:.3g}" in result.message


@interpreted
def test_an_optimal_start_is_certified_without_a_step():
    X = np.random.default_rng(0).normal(size=(20, 3))
    best = np.array([0.2, -0.1, 0.3])
    problem = fw.Problem(X, X @ best, "squared", fw.L1Ball(1.0))
    result = fw.minimize(problem, max_passes=0, x0=best)
    assert (result.nit, result.passes, result.status) == (0, 0.0, fw.Status.CONVERGED)
    np.testing.assert_array_equal(result.x, best)


@interpreted
def test_a_zero_model_without_error_can_be_certified():
    X, _ = cases.table(fw.Squared())
    problem = fw.Problem(X, np.zeros(len(X)), "squared", fw.L1Ball(1.0))  # F(0) = 0, so the tolerance is 0 too
    result = fw.minimize(problem, "fw", step="line-search", max_passes=20)
    assert (result.status, result.gap, result.tolerance) == (fw.Status.CONVERGED, 0.0, 0.0)


@interpreted
def test_max_seconds_ends_a_run_without_other_limit():
    problem = cases.problem()
    begun = time.perf_counter()
    result = fw.minimize(problem, "sfw", tol=0, max_passes=None, max_seconds=0.1, random_state=0)
    assert time.perf_counter() - begun < 5.0
    assert result.status is fw.Status.MAX_SECONDS
    assert not result.success
    assert result.seconds >= 0.1
    assert result.nit > 0
    assert "budget of 0.1 seconds" in result.message
    check_exact(result, problem)


@interpreted
def test_no_seconds_at_all_leaves_the_start():
    result = fw.minimize(cases.problem(), tol=0, max_seconds=0.0)
    assert (result.status, result.nit) == (fw.Status.MAX_SECONDS, 0)
    assert not result.x.any()


@interpreted
@pytest.mark.parametrize("answer", [True, np.True_], ids=["bool", "numpy bool"])
def test_a_callback_can_stop_the_run(answer):
    problem = cases.problem()
    result = fw.minimize(problem, "fw", tol=0, callback=lambda state: answer if state.nit >= 3 else None)
    assert result.status is fw.Status.CALLBACK
    assert not result.success
    assert result.nit == 3
    assert "callback" in result.message
    check_exact(result, problem)


@interpreted
def test_an_interrupt_in_a_callback_returns_what_there_is():
    def interrupt(state):
        if state.nit >= 4:
            raise KeyboardInterrupt

    problem = cases.problem()
    result = fw.minimize(problem, "fw", tol=0, callback=interrupt)
    assert result.status is fw.Status.INTERRUPTED
    assert not result.success
    assert result.nit == 4
    assert "nterrupted" in result.message
    check_exact(result, problem)
    assert result.fun < problem.zero_value


@interpreted
def test_an_interrupt_while_compiling_returns_the_start(monkeypatch):
    def interrupt(solver):
        raise KeyboardInterrupt

    monkeypatch.setattr(StepwiseSolver, "warm_up", interrupt)
    problem = cases.problem()
    result = fw.minimize(problem, "sfw")
    assert (result.status, result.nit) == (fw.Status.INTERRUPTED, 0)
    check_exact(result, problem)


def test_ctrl_c_returns_the_point_reached_and_counts_its_steps():
    problem = cases.problem(n=20_000, d=30)
    arguments = {"method": "sfw", "tol": 0, "batch_size": 1, "random_state": 7, "trace": 0}
    fw.minimize(problem, **arguments, max_passes=0.1)  # compile first: the signal must meet the loop
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

    def begin(state):
        if state.nit == 0:
            timer.start()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = fw.minimize(problem, **arguments, max_passes=None, max_seconds=20.0, callback=begin)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)

    assert result.status is fw.Status.INTERRUPTED
    assert result.nit > 0
    assert result.seconds < 10.0
    check_exact(result, problem, rounding=1e-13)  # the same sums, in another order
    assert result.fun < problem.zero_value
    # the counters belong to the point: as many steps, made anew, lead there
    again = fw.minimize(problem, **arguments, max_passes=result.passes)
    assert again.nit == result.nit
    np.testing.assert_array_equal(again.x, result.x)


@interpreted
@pytest.mark.parametrize("method", ["fw", "sfw", "mokhtari"])
def test_a_loss_that_is_not_a_number_stops_the_run_and_names_the_row(method):
    problem = cliff(edge=5.0)
    result = fw.minimize(problem, method, tol=0, max_passes=20, batch_size=1, random_state=0)
    assert result.status is fw.Status.NON_FINITE
    assert not result.success
    assert 0 < result.nit < 20 * problem.n
    assert f"Step {result.nit + 1} " in result.message
    assert "row 3 " in result.message
    assert "Cliff" in result.message
    assert np.isfinite(result.x).all()
    assert problem.constraint.contains(result.x)


@interpreted
def test_a_run_that_turns_non_finite_returns_the_best_certified_point():
    problem = cliff(edge=4.0)
    slow = fw.methods.Method(fw.methods.FullGradient(), fw.methods.Toward(), fw.methods.OpenLoop(0.2, 2.0))
    result = fw.minimize(problem, slow, tol=1e-9, max_passes=1000)
    assert result.status is fw.Status.NON_FINITE
    assert result.checks >= 2  # one while all was well, one at the end
    assert isfinite(result.fun)
    check_exact(result, problem)


@pytest.mark.parametrize("method", ["fw", "sfw"])
def test_numbers_too_large_for_the_loss_end_in_a_status_and_not_in_a_warning(method):
    X, y = cases.table(fw.Squared())
    problem = fw.Problem(1e200 * X, y, "squared", fw.L1Ball(1.0))
    result = fw.minimize(problem, method, batch_size=1, max_passes=5, random_state=0)
    assert result.status is fw.Status.NON_FINITE
    assert not result.success
    assert "not finite" in result.message
    assert "Rescale" in result.message
    assert np.isfinite(result.x).all()
    assert problem.constraint.contains(result.x)


# --- what it is charged ---------------------------------------------------------------------------------------


def rows_of_a_step(method, n, drawn):
    """Rows that a step reads, where that is the same for all: some read every row, or as many more than are drawn."""
    return fw.methods.METHODS[method]._replace(step=fw.methods.OpenLoop()).evaluations(n, drawn)


@given(
    st.sampled_from(STEADY),
    st.integers(1, 20),
    st.data(),
    st.floats(0.0, 4.0) | st.sampled_from([0.1, 0.3, 1 / 3, 0.7, 1.1]),
)
def test_passes_are_gradient_evaluations_over_n_and_stay_in_budget(method, n, data, max_passes):
    batch_size = data.draw(st.integers(1, n) | st.floats(0.01, 0.99))
    with fw.python_mode():
        problem = cases.problem(n=n, d=2)
        result = fw.minimize(problem, method, tol=0, batch_size=batch_size, max_passes=max_passes, random_state=0)
    drawn = batch_size if isinstance(batch_size, int) else max(1, int(batch_size * n))
    rows = rows_of_a_step(method, n, drawn)
    assert result.passes == result.nit * rows / n
    assert result.passes <= max_passes + 1e-9
    assert result.passes + rows / n > max_passes - 1e-9  # and no step that fits is left out
    assert result.trace.passes[-1] == result.passes


@interpreted
def test_auto_spends_a_small_budget_on_stochastic_steps():
    for constraint in (fw.L1Ball(1.5), fw.L2Ball(1.0)):
        result = fw.minimize(cases.problem(constraint=constraint), max_passes=2, random_state=0)
        assert result.method == "auto: sfw"
        assert result.passes <= 2.0
    assert fw.minimize(cases.problem(), step="short", max_passes=3).method == "fw, short"


def test_corrective_takes_no_step_rule():
    with pytest.raises(ValueError, match="step goes with a method that makes steps"):
        fw.minimize(cases.problem(), "corrective", step="short")


ROWS_OF_A_STEP = {
    "sfw": 1,
    **dict.fromkeys(("mokhtari", "momentum", "lu-freund", "shcgm"), 2),  # one in a hundred
    **dict.fromkeys(("saga", "sagafw", "sarah", "saga-sarah", "l-svrg", "one-sample"), 2),
    **dict.fromkeys(("stochastic-pairwise", "stochastic-away"), 10),
    **{"svrf": 96, "storc": 1, "svfw": 36, "spider": 16, "goldfarb-away": 2, "goldfarb-pairwise": 2},  # units
}
"""Of 200, by default; the other methods read them all."""


@interpreted
@every_method
def test_batch_size_of_the_result_is_the_rows_of_a_step(method):
    result = fw.minimize(cases.problem(n=200), method, tol=0, max_passes=2, random_state=0)
    assert result.batch_size == ROWS_OF_A_STEP.get(method, 200)
    if method in STEADY:
        assert result.nit * rows_of_a_step(method, 200, result.batch_size) == 400


@interpreted
@every_method
@pytest.mark.parametrize("n", [1, 3, 9])
@pytest.mark.parametrize("constraint", [fw.L1Ball(1.5), fw.L2Ball(1.5)], ids=cases.name_of)
def test_the_default_batch_is_never_more_than_there_are_rows(method, n, constraint):
    problem = cases.problem(fw.Squared(), constraint, n=n, d=4)
    result = fw.minimize(problem, method, tol=0, max_passes=6, random_state=0)
    assert 1 <= result.batch_size <= n
    assert result.nit > 0
    assert problem.constraint.contains(result.x)


@interpreted
@pytest.mark.parametrize("step", ["short", "line-search", "backtracking"])
def test_a_step_rule_that_reads_all_rows_is_charged_for_them(step):
    result = fw.minimize(cases.problem(), "sfw", step=step, tol=0, max_passes=3, random_state=0)
    assert (result.nit, result.passes) == (3, 3.0)
    assert result.method == f"sfw, {step}"


@interpreted
def test_time_in_callbacks_and_traces_is_not_the_methods():
    def dawdle(state):
        if state.nit == 1:
            time.sleep(0.3)

    result = fw.minimize(cases.problem(), "fw", tol=0, max_passes=3, callback=dawdle)
    assert result.nit == 3
    assert 0.0 < result.seconds < 0.3


@interpreted
@every_method
def test_certificates_cost_a_tenth_of_the_passes(method):
    result = fw.minimize(cases.problem(), method, tol=1e-12, max_passes=60, random_state=0)
    if not result.success:  # active-set methods get there; for a snapshot that is due there may not be enough left
        assert result.passes == pytest.approx(60.0) if method in STEADY else 57.0 < result.passes <= 60.0
    assert 1 < result.checks <= SHARE * result.passes + 1


@given(
    st.floats(1e-8, 1.0),
    st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 2.0), st.floats(0.0, 2.0)), min_size=1, max_size=60),
)
def test_a_schedule_keeps_to_its_share_and_misses_no_first_trigger(tolerance, looks):
    schedule, passes, last = CertificateSchedule(tolerance), 0.0, 0.0
    for further, estimate, gap in looks:
        passes += further
        due = schedule.due(passes, estimate)
        assert not (due and passes <= last)  # never twice at one place
        if schedule.taken == 0 and estimate <= tolerance:
            assert due == (passes >= 1.0)  # before, most of the table is still empty
        if due:
            schedule.note(passes, gap, estimate)
            last = passes
        assert schedule.taken <= max(1, SHARE * passes)


def test_a_schedule_allows_for_the_estimates_optimism():
    schedule = CertificateSchedule(1e-2, optimism=10.0)
    assert not schedule.due(2.0, 5e-3)
    assert schedule.due(3.0, 1e-3)
    schedule.note(3.0, gap=4e-2, gap_estimate=1e-3)  # it was forty times too low
    assert not schedule.due(4.4, 1e-3)
    assert schedule.due(22.0, 2e-4)


@pytest.mark.parametrize("method", ["sfw", "stochastic-pairwise"])
def test_the_first_certificate_is_not_wasted_on_an_empty_table(method):
    problem = cases.problem(n=400, d=10)
    result = fw.minimize(problem, method, batch_size=2, tol=0.05, random_state=0)
    assert result.success
    assert result.checks <= 2
    assert result.passes <= 22.0


def test_a_schedule_looks_even_where_nothing_triggers():
    schedule = CertificateSchedule(1e-3)
    taken_at = []
    for passes in range(1, 200):
        if schedule.due(passes, 1.0):
            schedule.note(passes, 0.5, 1.0)
            taken_at.append(passes)
    assert taken_at[0] == 10
    assert all(later <= ceil(1.5 * earlier) + 10 for earlier, later in pairwise(taken_at))
    assert taken_at[-1] > 100


def test_a_schedule_without_tolerance_is_never_due():
    assert not any(CertificateSchedule(None).due(passes, 0.0) for passes in range(1000))


def test_an_estimate_found_too_low_triggers_later():
    schedule = CertificateSchedule(1e-3)
    schedule.note(100.0, gap=1e-2, gap_estimate=1e-3)  # ten times too low
    assert not schedule.due(101.0, 5e-4)
    assert schedule.due(101.0, 1e-4)


# --- the trace ------------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("points", [1, 10, 25])
def test_the_trace_lies_on_a_geometric_grid(points):
    result = fw.minimize(cases.problem(), "sfw", tol=0, max_passes=30, random_state=0, trace=points)
    nit = result.trace.nit
    assert (nit[0], nit[-1]) == (0, 1200)
    assert (np.diff(nit) > 0).all()
    late = nit[nit >= 100][:-1]
    np.testing.assert_allclose(late[1:] / late[:-1], 10.0 ** (1.0 / points), rtol=0.01)
    in_a_decade = np.count_nonzero((nit >= 100) & (nit < 1000))
    assert abs(in_a_decade - points) <= 1 + points // 10


@interpreted
@every_method
def test_the_columns_of_a_trace(method):
    problem = cases.problem()
    result = fw.minimize(problem, method, tol=0, max_passes=6, random_state=0, batch_size=4)
    trace = result.trace
    assert tuple(trace) == COLUMNS
    assert COLUMNS[:6] == ("nit", "passes", "seconds", "fun", "gap", "gap_estimate")
    assert len({len(trace[column]) for column in COLUMNS}) == 1
    for column, values in trace.items():
        np.testing.assert_array_equal(getattr(trace, column), values)
    assert (np.diff(trace.seconds) >= 0.0).all()
    if method in STEADY:
        np.testing.assert_array_equal(trace.passes, trace.nit * rows_of_a_step(method, problem.n, 4) / problem.n)
    assert (np.diff(trace.passes) >= 0.0).all()  # the step after a snapshot may cost nothing more
    assert trace.fun[0] == problem.zero_value
    for column in ("nit", "passes", "fun", "gap_estimate"):
        assert trace[column][-1] == getattr(result, column)
    assert trace.gap[-1] <= result.gap  # what traced points prove counts too; the run had no need to look at them
    assert trace.seconds[-1] <= result.seconds
    with pytest.raises(KeyError, match="the columns are nit"):
        trace["loss"]
    with pytest.raises(AttributeError, match="loss"):
        trace.loss  # noqa: B018


@interpreted
@pytest.mark.parametrize("shape", [{"d": 12}, {"d": 60}], ids=["kept whole", "kept sparse"])
def test_a_trace_is_worked_out_when_it_is_read(shape, monkeypatch):
    problem, points, calls = cases.problem(**shape), {}, []
    evaluate = Problem.evaluate
    monkeypatch.setattr(Problem, "evaluate", lambda self, w: calls.append(1) or evaluate(self, w))
    result = fw.minimize(
        problem,
        "fw",
        tol=0,
        max_passes=8,
        callback=lambda state: points.setdefault(state.nit, state.x) is None,
    )
    before = len(calls)
    assert before < 3
    nits = result.trace.nit.tolist()
    assert len(nits) > 5
    assert len(calls) == before
    fun = result.trace.fun
    assert len(calls) > before
    worked = len(calls)
    gap = result.trace.fw_gap
    assert (result.trace.gap <= gap).all()
    assert len(calls) == worked  # only once
    np.testing.assert_array_equal(fun, [problem.value(points[nit]) for nit in nits])
    np.testing.assert_array_equal(gap, [problem.gap(points[nit]) for nit in nits])


@interpreted
@every_method
def test_what_is_traced_has_no_part_in_when_a_run_ends(method):
    problem = cases.problem()
    arguments = {"tol": 0.05, "max_passes": 60, "batch_size": 2, "random_state": 0}
    runs = [fw.minimize(problem, method, trace=trace, **arguments) for trace in (0, 1, 10, 40)]
    assert runs[0].nit > 0
    for run in runs[1:]:
        assert (run.nit, run.checks, run.status) == (runs[0].nit, runs[0].checks, runs[0].status)
        np.testing.assert_array_equal(run.x, runs[0].x)


@interpreted
@pytest.mark.parametrize("method", ["fw", "sfw", "corrective"])
def test_a_trace_of_zero_keeps_no_iterates_and_what_the_run_knows(method):
    problem, how = cases.problem(), {"tol": 0, "max_passes": 8, "batch_size": 5, "random_state": 0}
    result = fw.minimize(problem, method, trace=0, **how)
    trace, traced = result.trace, fw.minimize(problem, method, **how).trace
    assert not trace._pending
    assert trace.nit.tolist() == sorted(set(trace.nit.tolist()))  # the last point is there once
    assert trace.nit[-1] == result.nit
    assert len(trace.nit) > 2
    assert trace.fun[-1] == pytest.approx(result.fun)
    both, here, there = np.intersect1d(trace.nit, traced.nit, return_indices=True)
    assert len(both) > 2
    np.testing.assert_array_equal(trace.gap_estimate[here], traced.gap_estimate[there])
    for column in ("fun", "fw_gap"):  # exact, or not there
        known = np.isfinite(trace[column][here])
        np.testing.assert_allclose(trace[column][here][known], traced[column][there][known], rtol=1e-12)


@interpreted
@every_method
def test_a_result_is_pickled_without_the_data(method):
    problem = cases.problem(n=60, d=150, density=1.0)
    result = fw.minimize(problem, method, tol=0, max_passes=3, random_state=0, batch_size=5)
    stored = pickle.dumps(result)
    assert problem.X[7].tobytes() not in stored
    assert len(stored) < problem.X.nbytes / 2
    copy = pickle.loads(stored)
    np.testing.assert_array_equal(copy.x, result.x)
    assert (copy.status, copy.success, copy.gap, copy.message) == (
        result.status,
        result.success,
        result.gap,
        result.message,
    )
    for column in COLUMNS:
        np.testing.assert_array_equal(copy.trace[column], result.trace[column])
    # what is pickled can be continued from, to the same bits
    onward = [fw.minimize(problem, method, tol=0, max_passes=1, random_state=1, x0=start) for start in (result, copy)]
    np.testing.assert_array_equal(onward[0].x, onward[1].x)


# --- callbacks ------------------------------------------------------------------------------------------------


@interpreted
@every_set
def test_a_callback_sees_feasible_points_and_can_evaluate_them(constraint):
    problem, seen = cases.problem(constraint=constraint), []

    def look(state):
        assert isinstance(state, State)
        assert problem.constraint.contains(state.x)
        found = state.evaluate()
        assert found.value == problem.value(state.x)
        state.x[:] = 1e6  # a copy: the run must not mind
        seen.append((state.nit, state.passes, state.seconds, state.gap_estimate, found.gap))

    result = fw.minimize(problem, "sfw", tol=0, max_passes=3, batch_size=2, random_state=0, callback=look)
    plain = fw.minimize(problem, "sfw", tol=0, max_passes=3, batch_size=2, random_state=0)
    np.testing.assert_array_equal(result.x, plain.x)
    nit, passes, seconds, estimate, gap = np.array(seen).T
    assert (nit[0], nit[-1]) == (0, result.nit)
    np.testing.assert_array_equal(passes, nit * 2 / problem.n)
    assert (np.diff(seconds) >= 0.0).all()
    assert estimate[-1] == result.gap_estimate
    assert gap[-1] == result.fw_gap >= result.gap


# --- going on -------------------------------------------------------------------------------------------------


@interpreted
def test_a_run_starts_where_it_is_told():
    problem = cases.problem()
    x0 = np.zeros(problem.d)
    x0[:2] = [0.5, -1.0]
    result = fw.minimize(problem, x0=x0, max_passes=0, tol=0)
    np.testing.assert_array_equal(result.x, x0)
    fw.minimize(problem, x0=x0, max_passes=2, tol=0)
    np.testing.assert_array_equal(x0[:3], [0.5, -1.0, 0.0])


@interpreted
@pytest.mark.parametrize("method", ["sfw", "mokhtari", "lu-freund"])
def test_a_result_hands_over_its_table_and_its_step_count(method):
    problem = cases.problem()
    first = fw.minimize(problem, method, tol=0, max_passes=10, batch_size=2, random_state=0)
    table = first.state["estimate.alpha"].copy()
    resumed = fw.minimize(problem, method, tol=0, max_passes=0, batch_size=2, x0=first)
    np.testing.assert_array_equal(resumed.state["estimate.alpha"], table)
    np.testing.assert_allclose(resumed.state["gradient"], problem.X.T @ table, rtol=1e-10, atol=1e-14)
    onward = fw.minimize(problem, method, tol=0, max_passes=10, batch_size=2, random_state=1, x0=first)
    assert (onward.nit, onward.trace.nit[0]) == (200, 0)  # counted from its own start
    assert onward.state["steps"] == first.state["steps"] + 200 == 400
    np.testing.assert_array_equal(first.state["estimate.alpha"], table)  # the first result is left alone


@interpreted
@every_method
def test_going_on_is_better_than_starting_over(method):
    problem = cases.problem()
    passes = 30 if method == "shcgm" else 8  # its steps are long for a while, and its estimate forgets
    arguments = {"tol": 0, "max_passes": passes, "batch_size": 2}
    first = fw.minimize(problem, method, random_state=0, **arguments)
    resumed, scratch = (
        [fw.minimize(problem, method, random_state=seed, x0=x0, **arguments) for seed in (1, 2, 3)]
        for x0 in (first, None)
    )
    assert sum(run.fun for run in resumed) < sum(run.fun for run in scratch)
    assert [run.passes for run in resumed] == [run.passes for run in scratch] or method in PLANNED


@interpreted
@pytest.mark.parametrize(("method", "batch_size"), [("fw", None), ("sfw", 1), ("momentum", 1), ("lu-freund", 1)])
def test_two_halves_make_a_whole(method, batch_size):
    problem, generator = cases.problem(), np.random.default_rng(0)
    arguments = {"tol": 0, "batch_size": batch_size}
    half = fw.minimize(problem, method, max_passes=5, random_state=generator, **arguments)
    resumed = fw.minimize(problem, method, max_passes=5, random_state=generator, x0=half, **arguments)
    whole = fw.minimize(problem, method, max_passes=10, random_state=0, **arguments)
    np.testing.assert_allclose(resumed.x, whole.x, rtol=1e-9, atol=1e-12)


HANDING_OVER = ("fw", "pairwise", "sfw", "momentum", "lu-freund", "saga", "saga-sarah", "l-svrg", "one-sample")
"""Methods that keep different things in their results."""


@interpreted
@every_method
@pytest.mark.parametrize("before", HANDING_OVER)
def test_a_result_of_any_method_starts_any_other(before, method):
    problem = cases.problem()
    first = fw.minimize(problem, before, tol=0, max_passes=8, batch_size=2, random_state=0)
    result = fw.minimize(problem, method, tol=0, max_passes=4, batch_size=2, random_state=1, x0=first)
    check_exact(result, problem)
    assert result.state["steps"] == first.state["steps"] + result.nit
    # the steps are late, hence short: what was reached is not thrown away. (Goldfarb's go by the curvature, and by the
    # gradient of a batch that has not grown yet)
    assert method.startswith("goldfarb") or result.fun < first.fun + 0.25 * (problem.zero_value - first.fun)


@interpreted
@every_method
@pytest.mark.parametrize("before", ["sfw", "momentum"])
def test_of_a_result_on_other_rows_the_point_and_the_step_count_are_used(before, method):
    first = fw.minimize(cases.problem(n=40), before, tol=0, max_passes=5, batch_size=2, random_state=0)
    problem = cases.problem(n=50, seed=3)
    arguments = {"tol": 0, "max_passes": 2, "batch_size": 5, "random_state": 1}
    from_result = fw.minimize(problem, method, x0=first, **arguments)
    # what was remembered of other rows must not matter: spoil it, and nothing changes
    spoilt = {**first.state, "gradient": np.full(problem.d, 1e6)}
    again = fw.minimize(problem, method, x0=dataclasses.replace(first, state=spoilt), **arguments)
    np.testing.assert_array_equal(from_result.x, again.x)
    assert from_result.state["steps"] == first.state["steps"] + from_result.nit


@interpreted
@every_method
def test_what_a_result_has_certified_is_kept_by_whatever_goes_on_from_it(method):
    problem = cases.problem()
    first = fw.minimize(problem, "corrective", tol=1e-6, max_passes=100)
    assert first.success
    onward = fw.minimize(problem, method, tol=1e-6, max_passes=2, batch_size=2, random_state=0, x0=first)
    assert (onward.success, onward.nit) == (True, 0)
    np.testing.assert_array_equal(onward.x, first.x)
    # of another problem the old gap says nothing: it only asks for a certificate
    other = cases.problem(seed=5)
    checked = fw.minimize(other, method, tol=1e-6, max_passes=2, batch_size=2, random_state=0, x0=first)
    check_exact(checked, other)
    assert checked.nit > 0


@interpreted
@every_method
def test_a_run_that_misses_its_tolerance_returns_no_worse_point_than_it_was_given(method):
    problem = cases.problem()
    first = fw.minimize(problem, "corrective", tol=1e-4, max_passes=100)
    onward = fw.minimize(problem, method, tol=1e-15, max_passes=1, batch_size=2, random_state=0, x0=first)
    assert onward.fun <= first.fun * (1.0 + 1e-15)


@interpreted
def test_a_result_outside_a_smaller_set_is_refused():
    first = fw.minimize(cases.problem(constraint=fw.L1Ball(2.0)), "fw", tol=0, max_passes=5)
    assert np.abs(first.x).sum() > 1.0
    with pytest.raises(ValueError, match=r"x0 is not in the constraint set L1Ball\(radius=1\)"):
        fw.minimize(cases.problem(constraint=fw.L1Ball(1.0)), "fw", x0=first)
    larger = fw.minimize(cases.problem(constraint=fw.L1Ball(3.0)), "fw", tol=0, max_passes=5, x0=first)
    assert larger.nit == 5


# --- seeds ----------------------------------------------------------------------------------------------------


@interpreted
@every_stochastic
@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_seed_decides_every_bit(method, batch_size):
    problem = cases.problem()
    arguments = {"tol": 0, "max_passes": 5, "batch_size": batch_size}
    one, same, other = (fw.minimize(problem, method, random_state=seed, **arguments) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.x, same.x)
    assert (one.fun, one.gap, one.gap_estimate) == (same.fun, same.gap, same.gap_estimate)
    np.testing.assert_array_equal(one.trace.fun, same.trace.fun)
    assert method in PLANNED or not np.array_equal(one.x, other.x)  # five passes may be all exact gradients


@interpreted
@every_stochastic
@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_generator_is_advanced_by_what_was_drawn(method, batch_size):
    problem, generator, twin = cases.problem(), np.random.default_rng(4), np.random.default_rng(4)
    arguments = {"tol": 0, "max_passes": 3, "batch_size": batch_size}
    given_generator = fw.minimize(problem, method, random_state=generator, **arguments)
    given_seed = fw.minimize(problem, method, random_state=4, **arguments)
    np.testing.assert_array_equal(given_generator.x, given_seed.x)
    estimate = fw.methods.METHODS[method].estimate
    if method not in PLANNED:  # snapshots may be decided by the toss of a coin
        twin.random((given_seed.nit * (1 + estimate.two_batches) + estimate.reads_upcoming) * batch_size)
        assert generator.random() == twin.random()


def test_compiled_runs_repeat_to_the_bit():
    problem = cases.problem()
    runs = [fw.minimize(problem, "sfw", tol=0, max_passes=20, random_state=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert not np.array_equal(runs[0].x, runs[2].x)


@interpreted
@every_method
@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_clock_does_not_change_the_steps_up_to_its_stop(method, batch_size):
    problem = cases.problem()
    arguments = {"tol": 0, "batch_size": batch_size, "random_state": 0}
    if type(fw.methods.METHODS[method].step) is fw.methods.ConstantStep:  # otherwise chosen for the number of passes
        arguments["step"] = fw.methods.ConstantStep(0.1)
    seconds, steps = 0.03, 0
    while steps == 0:  # on a busy machine a run may be over before its first step
        timed = fw.minimize(problem, method, max_passes=None, max_seconds=seconds, **arguments)
        seconds, steps = 2.0 * seconds, timed.nit
    counted = fw.minimize(problem, method, max_passes=timed.passes, **arguments)
    assert counted.nit == timed.nit
    np.testing.assert_array_equal(counted.x, timed.x)


@interpreted
def test_the_estimated_gap_belongs_to_the_end_of_the_run():
    problem = cases.problem(n=1000, d=60)
    # a step takes about as long as the clock allows, so the run stops between two looks at the estimate
    result = fw.minimize(problem, "fw", tol=0, max_passes=None, max_seconds=0.02, trace=0)
    assert result.nit > 0
    r = result.state["gradient"]
    assert result.gap_estimate == pytest.approx(r @ result.x + problem.constraint.support(-r), rel=1e-10)


# --- what is shown --------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("limits", [{"max_passes": 5}, {"max_passes": None, "max_seconds": 0.05}, {"max_passes": 0}])
def test_progress_goes_to_stderr_and_only_on_request(limits, capsys):
    pytest.importorskip("tqdm")
    problem = cases.problem()
    shown = fw.minimize(problem, "sfw", tol=0, random_state=0, progress=True, **limits)
    out, err = capsys.readouterr()
    assert out == ""
    assert "sfw" in err
    assert f"{shown.passes:.1f}" in err
    assert "passes" in err
    assert "estimated gap" in err
    silent = fw.minimize(problem, "sfw", tol=0, random_state=0, **limits)
    assert capsys.readouterr() == ("", "")
    if "max_seconds" not in limits:
        np.testing.assert_array_equal(shown.x, silent.x)


@interpreted
def test_progress_without_tqdm_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"frankwolfe\[progress\]"):
        fw.minimize(cases.problem(), progress=True)
    assert fw.minimize(cases.problem(), "fw", tol=0, max_passes=1).nit == 1


@interpreted
def test_the_repr_tells_how_it_ended():
    problem = cases.problem()
    stopped = fw.minimize(problem, "fw", tol=0, max_passes=4)
    done = fw.minimize(problem, "fw", tol=0.2, max_passes=100)
    assert "max-passes (not certified" in repr(stopped)
    assert "converged (success)" in repr(done)
    for result in (stopped, done):
        assert f"gap: {result.gap:.3g} (proven" in repr(result)
        assert f"{result.nonzeros} not zero" in repr(result)
        assert result.message in repr(result)
    assert f"{len(stopped.trace.nit)} points" in repr(stopped.trace)


@interpreted
@pytest.mark.parametrize("loss", [fw.Logistic(), fw.Sigmoid()], ids=cases.name_of)
def test_a_plot_has_labels_and_the_curves_of_the_trace(loss):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = fw.minimize(cases.problem(loss), "sfw", tol=1e-3, max_passes=5, random_state=0)
    axes = result.plot()
    try:
        assert "passes" in axes.get_xlabel()
        assert "objective" in axes.get_ylabel()
        assert axes.get_title().count("sfw") == 1
        assert str(result.status) in axes.get_title()
        curves = {line.get_label(): line for line in axes.get_lines()}
        np.testing.assert_array_equal(curves["exact gap"].get_ydata(), result.trace.fw_gap[1:])
        np.testing.assert_array_equal(curves["estimated gap"].get_ydata(), result.trace.gap_estimate[1:])
        # a bound on the optimum is only claimed where there is one
        assert any("certified bound" in label for label in curves) == loss.convex
        axes.figure.canvas.draw()
        assert result.plot(ax=axes) is axes
    finally:
        plt.close(axes.figure)


@interpreted
def test_a_line_search_from_where_a_loss_has_no_curvature_left():
    # the slope over the curvature, 1e-321, is no number: warnings are errors here
    data = {"X": [[1.0], [1.0]], "y": [1, -1], "loss": "logistic", "sample_weight": [1.0, 1e-3]}
    problem = fw.Problem(**data, constraint=fw.L1Ball(740.0))
    result = fw.minimize(problem, "fw", step="line-search", x0=[-740.0], tol=1e-6, max_passes=50)
    assert result.success
    assert result.x[0] == pytest.approx(np.log(1e3), rel=1e-6)
