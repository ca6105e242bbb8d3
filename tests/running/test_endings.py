"""Every way in which a run can end, and what its result says then."""

import os
import signal
import threading
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases
from tests.running.exact import check_exact

interpreted = pytest.mark.usefixtures("interpreted")
every_method = pytest.mark.parametrize("method", cases.LOOP)
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
    assert result.passes == 4.0 if method in cases.STEADY else 2.5 < result.passes <= 4.0
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
    result = fw.minimize(problem, "sfw", tol=0, max_passes=None, max_seconds=0.1, random_state=0)
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
        result = fw.minimize(problem, **arguments, max_passes=None, max_seconds=60.0, callback=begin)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)

    assert result.status is fw.Status.INTERRUPTED
    assert result.nit > 0
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
