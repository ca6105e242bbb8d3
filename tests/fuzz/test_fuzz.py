"""A short slice of ``make fuzz``, and that its checks notice what they are for."""

import dataclasses
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest

import frankwolfe as fw
from tests import cases
from tests.fuzz import bands
from tests.fuzz.bands import BandCase
from tests.fuzz.cases import make
from tests.fuzz.checks import CHECKS, ROOM
from tests.fuzz.exact import Recomputed
from tests.fuzz.examine import Outcome, examine, run_twice
from tests.fuzz.rational import mean_of_halved_squares, solved
from tests.fuzz.runner import ROOT, Worker, describe
from tests.programs import described, k_support_in_short
from tests.reference import sets as known

SLICE = 80
"""Cases of seed 0 that are run here; those that would be compiled are only interpreted."""

PLAIN = {"side": None, "optimum": None, "base": None, "units": (1.0, 1.0)}
"""Parts of a case that most do without."""


@pytest.mark.parametrize("first", range(0, SLICE, 20))
def test_a_slice(first):
    for number in range(first, first + 20):
        case = dataclasses.replace(make(0, number), compiled=False)
        failures = examine(case).failures
        assert not failures, describe(0, {"number": number, "told": str(case), "failures": failures})


def test_a_slice_of_bands_and_a_mistake_that_they_notice(monkeypatch):
    compared = 0
    for number in range(60):
        case = bands.make(0, number)
        outcome = case.examine()
        assert not outcome.failures, describe(0, {"number": number, "told": str(case), "failures": outcome.failures})
        compared += "bands: optimum compared" in outcome.facts
    assert compared > 50
    for number, factor in ((7, 0.9), (7, 1.1)):
        case = bands.make(1, number)
        true = BandCase.optimum(case)
        monkeypatch.setattr(BandCase, "optimum", lambda case, found=factor * true: found)
        assert case.examine().failures
        monkeypatch.undo()


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", "pinball", "hinge"])
def test_offsets_and_linear_terms_occur_with_every_loss_of_outcomes(loss):
    found = [case for case in (make(0, number) for number in range(1500)) if case.names["loss"] == loss]
    for kind in ("offset", "linear", "intercept"):
        assert sum(case.names[kind] == "yes" for case in found) >= 5
    assert any(case.sample_weight is not None for case in found)


def test_a_case_is_made_from_its_seed_and_number_alone():
    one, same, other = make(3, 17), make(3, 17), make(3, 18)
    assert str(one) == str(same) != str(other)
    np.testing.assert_array_equal(np.asarray(one.y), np.asarray(same.y))


@pytest.mark.parametrize("norm", [2.0, np.inf])
def test_the_short_description_of_a_k_support_ball_is_that_of_its_pieces(norm):
    ball, rng = fw.KSupportBall(2, 1.7, norm=norm), np.random.default_rng(0)
    for direction in rng.normal(size=(5, 4)):
        least = []
        for describe_ball in (described, k_support_in_short):
            w = cp.Variable(4)
            least.append(cp.Problem(cp.Minimize(direction @ w), describe_ball(ball, w)).solve(solver=cp.CLARABEL))
        assert least[0] == pytest.approx(least[1], rel=1e-6)


def test_an_objective_of_small_rows_is_rounded_as_their_means_are():
    rng = np.random.default_rng(1)
    w, X = np.array([2.5e-4, 3e-4]), rng.normal(size=(4, 2)) * np.array([[1e3], [1e-3], [1e-3], [1e-3]])
    y = X @ w + np.array([1.1e-6 / 1.3, 3e-6, -1e-6, 2e-6])  # the intercept fits the large row, and no other
    weights = np.array([1.0, 0.0, 0.5, 0.8])
    given = {"X": X, "y": y, "loss": fw.Squared(), "constraint": known.L2Ball(1.0), "sample_weight": weights}
    case = dataclasses.replace(make(0, 0), **given, **PLAIN, intercept=True)
    with fw.python_mode():
        found = case.problem().evaluate(w)
    exact = Recomputed(case).at(w, found.intercept)
    assert abs(found.value - exact.fun) <= ROOM * exact.fun_error


@pytest.fixture(scope="module")
def good():
    """A run of which every check is content: certified, with a trace, an intercept and a step rule that never rises."""
    X, y = cases.table(fw.Squared(), n=12, d=5)
    options = {"tol": 1e-3, "max_passes": 20.0, "batch_size": None, "random_state": 0, "step": "line-search"}
    case = dataclasses.replace(
        make(0, 0),
        **{"X": X, "y": y, "loss": fw.Squared(), "constraint": known.L2Ball(0.5), "sample_weight": None},
        **{"intercept": True, "method": "fw", "options": options, "start": "default", "compiled": False},
        **PLAIN,
    )
    with fw.python_mode():
        found = run_twice(case, Outcome())
    assert not [said for check in CHECKS.values() for said in check(found)]
    assert found.result.success
    assert found.result.nit >= 2
    return found


class Falsified:
    """A result with some of its answers changed."""

    def __init__(self, result, **answers):
        self.__dict__.update(answers)
        self._result = result

    def __getattr__(self, name):
        return getattr(self._result, name)


FALSE = {
    "finite": lambda run: {"gap_estimate": np.nan},
    "feasible": lambda run: {"x": run.result.x + 2.0 * float(run.recomputed.reach.max())},
    "objective": lambda run: {"fun": run.result.fun * (1.0 + 1e-11)},
    "gap": lambda run: {"fw_gap": float(run.exact.gap) + 1e-11 * run.result.fun},
    "lower_bound": lambda run: {"lower_bound": run.result.fun * (1.0 + 1e-9)},
    "tolerance": lambda run: {"tolerance": run.result.tolerance * 2.0},
    "success": lambda run: {"status": fw.Status.MAX_PASSES, "success": False},
    "stalls": lambda run: {"status": fw.Status.NON_FINITE},
    "budget": lambda run: {"passes": 30.0},
    "same_bits": lambda run: {"fun": np.nextafter(run.result.fun, np.inf)},
}


@pytest.mark.parametrize("name", FALSE)
def test_a_check_notices_a_false_answer(good, name):
    false = dataclasses.replace(good, result=Falsified(good.result, **FALSE[name](good)))
    assert list(CHECKS[name](false))


def test_a_check_notices_a_slope_in_the_intercept(good):
    exact = good.recomputed.at(good.result.x, good.result.intercept + 1e-6)
    assert list(CHECKS["intercept"](dataclasses.replace(good, exact=exact)))


def test_a_check_notices_what_is_wrong_in_a_trace(good):
    class Bent(dict):
        __getattr__ = dict.__getitem__

    columns = {name: good.result.trace[name].copy() for name in ("nit", "passes", "fun", "gap")}
    assert not list(CHECKS["trace"](dataclasses.replace(good, result=Falsified(good.result, trace=Bent(columns)))))
    for name, at, value in (("gap", 0, -1e-9), ("nit", 1, 0), ("fun", 1, columns["fun"].min() - columns["gap"][1] - 1)):
        wrong = {**columns, name: columns[name].copy()}
        wrong[name][at] = value
        assert list(CHECKS["trace"](dataclasses.replace(good, result=Falsified(good.result, trace=Bent(wrong)))))
    rising = Falsified(good.result, trace=Bent({**columns, "fun": np.sort(columns["fun"])}))
    plain = dataclasses.replace(good.case, intercept=False)
    assert list(CHECKS["monotone"](dataclasses.replace(good, case=plain, result=rising)))


def test_a_check_notices_a_lost_certificate(good):
    lost = Falsified(good.result, success=False)
    assert list(CHECKS["kept"](dataclasses.replace(good, start=good.result, result=lost)))


def first_case(wanted, check):
    """Return the run of the first case of seed 0 of some kind, of which a check is content."""
    case = next(case for case in (make(0, number) for number in range(1000)) if not case.compiled and wanted(case))
    with fw.python_mode():
        found = run_twice(case, Outcome())
        assert not list(CHECKS[check](found))
    return found


def test_a_check_notices_a_broken_side_constraint():
    found = first_case(lambda case: case.side is not None, "side")
    assert list(CHECKS["side"](dataclasses.replace(found, result=Falsified(found.result, violation=0.3))))
    broken = np.full(found.result.x.shape, 1e6)
    claim = {"x": broken, "violation": 0.0, "gap": 0.0, "status": fw.Status.CONVERGED, "success": True}
    false = Falsified(found.result, **claim, message="within")
    assert [said for said in CHECKS["success"](dataclasses.replace(found, result=false)) if "violation" in said]


def test_a_check_notices_other_answers_in_other_units():
    found = first_case(lambda case: case.base is not None and not case.constraint_has_spectrum, "units")
    false = Falsified(found.result, x=np.nextafter(found.result.x, np.inf))
    with fw.python_mode():
        assert list(CHECKS["units"](dataclasses.replace(found, result=false)))


def test_a_check_notices_what_an_exact_optimum_contradicts():
    found = first_case(lambda case: case.optimum is not None, "known_optimum")
    above = float(found.case.optimum) * (1.0 + 1e-6) + 1e-6 * found.problem.zero_value
    false = Falsified(found.result, lower_bound=above)
    assert list(CHECKS["known_optimum"](dataclasses.replace(found, result=false)))


def test_a_check_notices_slopes_that_prove_too_much(good, monkeypatch):
    with fw.python_mode():
        assert not list(CHECKS["edges"](good))
        monkeypatch.setattr(fw.Problem, "dual_value", lambda problem, alpha: good.result.fun * (1.0 + 1e-9))
        assert list(CHECKS["edges"](good))


@pytest.mark.parametrize("seed", range(8))
def test_a_solution_in_fractions_has_no_frank_wolfe_gap(seed):
    rng = np.random.default_rng(seed)
    found = solved(rng, int(rng.integers(1, 9)))
    assert known.violation(found.constraint, found.w) == 0.0
    gradient = found.X.T @ (found.X @ found.w - found.y)
    sizes = np.abs(found.X).T @ (np.abs(found.X) @ np.abs(found.w) + np.abs(found.y))
    gap = gradient @ found.w + found.constraint.support(-gradient)
    assert abs(gap) <= 1e-14 * len(found.X) * sizes @ np.abs(found.w)
    assert found.least <= mean_of_halved_squares(found.X, found.y, 0.5 * found.w)


def test_a_worker_that_dies_is_replaced_and_its_case_has_failed():
    worker = Worker(seed=0, first=3, cases=4, stride=2, until=float("inf"))
    worker.process.kill()
    worker.process.wait()
    worker.begun = 3
    found, more = worker.news()
    assert more
    assert [(case["number"], case["failures"][0][0]) for case in found] == [(3, "crash")]
    worker.end()


def test_the_command_runs_cases_and_counts_them():
    command = [sys.executable, "-m", "tests.fuzz", "--seed", "0", "--cases", "4", "--workers", "2"]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert any(line.startswith("4 cases in ") for line in finished.stdout.splitlines())  # progress may be told before
    assert "failures by check: none" in finished.stdout
