"""What a run is charged: passes, batches, certificates, and time."""

import time
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frankwolfe as fw
from frankwolfe.compile import kernels
from frankwolfe.running.certifier import SHARE, CertificateSchedule
from tests import cases

interpreted = pytest.mark.usefixtures("interpreted")
every_method = pytest.mark.parametrize("method", cases.LOOP)


@given(
    st.sampled_from(cases.STEADY),
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
    rows = cases.rows_of_a_step(method, n, drawn)
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
    if method in cases.STEADY:
        assert result.nit * cases.rows_of_a_step(method, 200, result.batch_size) == 400


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
def test_time_in_callbacks_and_traces_is_not_the_methods(monkeypatch):
    later = [0.0]
    monkeypatch.setattr(kernels, "perf_counter", lambda: time.perf_counter() + later[0])

    def dawdle(state):
        if state.nit == 1:
            later[0] = 1e6

    result = fw.minimize(cases.problem(), "fw", tol=0, max_passes=3, callback=dawdle)
    assert result.nit == 3
    assert 0.0 < result.seconds < 1e6


@interpreted
@every_method
def test_certificates_cost_a_tenth_of_the_passes(method):
    result = fw.minimize(cases.problem(), method, tol=1e-12, max_passes=60, random_state=0)
    if not result.success:  # active-set methods get there; for a snapshot that is due there may not be enough left
        assert result.passes == pytest.approx(60.0) if method in cases.STEADY else 57.0 < result.passes <= 60.0
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
