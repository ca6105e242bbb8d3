"""Runs from where another ended, from a seed, and with a callback: what they hand over, and that the bits repeat."""

import dataclasses
from copy import deepcopy

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.running.driver import State
from tests import cases
from tests.running.exact import check_exact

interpreted = pytest.mark.usefixtures("interpreted")
every_method = pytest.mark.parametrize("method", cases.LOOP)
every_stochastic = pytest.mark.parametrize("method", cases.STOCHASTIC)
every_set = pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)


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
    assert [run.passes for run in resumed] == [run.passes for run in scratch] or method in cases.PLANNED


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
@pytest.mark.parametrize(
    ("before", "method"),
    [
        (HANDING_OVER[(k + turn) % len(HANDING_OVER)], method)
        for k, method in enumerate(cases.LOOP)
        for turn in (0, 2, 5)
    ],
)
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
    assert method in cases.PLANNED or not np.array_equal(one.x, other.x)  # five passes may be all exact gradients


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
    if method not in cases.PLANNED:  # snapshots may be decided by the toss of a coin
        twin.random((given_seed.nit * (1 + estimate.two_batches) + estimate.reads_upcoming) * batch_size)
        assert generator.random() == twin.random()


@interpreted
def test_rng_is_another_name_of_random_state():
    problem, seeds = cases.problem(), (4, [4, 2], np.int64(4), np.random.SeedSequence(4), np.random.PCG64(4))
    given = {"tol": 0, "max_passes": 3}
    for seed in (*seeds, np.random.default_rng(4)):
        one, other = (
            fw.minimize(problem, "sfw", **{name: deepcopy(seed)}, **given) for name in ("rng", "random_state")
        )
        np.testing.assert_array_equal(one.x, other.x)
    X, y = problem.X, problem.y
    one, other = (
        fw.radius_path(X, y, radii=[0.5, 1.0], method="sfw", max_passes=3, **{name: 4})
        for name in ("rng", "random_state")
    )
    assert (one.coefs != other.coefs).nnz == 0


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
    seconds, steps = 0.02, 0
    while steps == 0:  # on a busy machine a run may be over before its first step
        result = fw.minimize(problem, "fw", tol=0, max_passes=None, max_seconds=seconds, trace=0)
        seconds, steps = 2.0 * seconds, result.nit
    r = result.state["gradient"]
    assert result.gap_estimate == pytest.approx(r @ result.x + problem.constraint.support(-r), rel=1e-10)
