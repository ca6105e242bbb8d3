"""Step rules that depend on the run: its budget, its epochs."""

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases

pytestmark = pytest.mark.usefixtures("interpreted")


def solver_for(estimate, budget, intercept=False, step=None):
    X, y = cases.table(fw.Logistic(), n=40, d=6)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.5), intercept=intercept)
    method = fw.methods.Method(estimate, step=fw.methods.ConstantStep(scale=3.0) if step is None else step)
    return StepwiseSolver(problem, method, 4, np.random.default_rng(0), problem.default_start(), None, budget)


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("budget", [40 * 3, 40 * 17.3, 40 * 700])
@pytest.mark.parametrize(
    "estimate", [fw.methods.FullGradient(), fw.methods.Saga(), fw.methods.Svrf()], ids=cases.name_of
)
def test_a_constant_step_knows_how_many_steps_the_budget_allows(estimate, budget, intercept):
    solver = solver_for(estimate, budget, intercept)
    gamma = solver.parts[2].length(None, None, None, None, 1)
    solver.begin(budget, 0.0)
    while solver.finished() is None:
        solver.advance(1000)
    spared = 10 * intercept  # steps that a pass pays for: at zero, the intercept costs none
    assert min(1.0, 3.0 / solver.steps**0.5) <= gamma <= min(1.0, 3.0 / max(1, solver.steps - spared) ** 0.5)


def test_costs_of_the_distant_future_are_those_of_the_planned_steps(monkeypatch):
    whole, budget = solver_for(fw.methods.Svrf(), 4e5).parts[2].gamma[0], 4e5
    monkeypatch.setattr("frankwolfe.solvers.exact_passes.PLANNED_STEPS", 64)
    monkeypatch.setattr("frankwolfe.solvers.exact_passes.MOST_PLANNED", 1024)
    assert solver_for(fw.methods.Svrf(), budget).parts[2].gamma[0] == pytest.approx(whole, rel=0.05)


def test_without_a_budget_a_constant_step_is_that_of_a_hundred_passes():
    assert solver_for(fw.methods.Saga(), np.inf).parts[2].gamma[0] == 3.0 / 1000**0.5


def test_a_run_that_goes_on_from_its_state_keeps_its_step():
    solver = solver_for(fw.methods.Saga(), 4000.0)
    again = StepwiseSolver.from_state(
        solver.problem,
        solver.state(),
        fw.methods.Method(fw.methods.Saga(), step=fw.methods.ConstantStep()),
        4,
        np.random.default_rng(0),
    )
    assert again.parts[2].gamma[0] == solver.parts[2].gamma[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gamma": 1.5}, "ConstantStep: gamma must be at most 1, got 1.5: it would overshoot the vertex"),
        ({"gamma": 0.0}, "ConstantStep: gamma must be positive"),
        ({"scale": -1.0}, "ConstantStep: scale must be positive"),
    ],
)
def test_what_is_no_constant_step_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fw.methods.ConstantStep(**arguments)


@pytest.mark.parametrize("rule", [fw.methods.OpenLoop, fw.methods.EpochStep])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3.0, 1.0), "numerator must be at most 1 . offset = 2, got 3: the first step would overshoot the vertex"),
        ((0.0, 1.0), "numerator must be positive"),
        ((1.0, np.nan), "offset must be finite, got nan"),
        (("a", 1.0), "numerator must be a number"),
    ],
)
def test_steps_that_overshoot_or_are_no_numbers_are_refused(rule, arguments, message):
    with pytest.raises((ValueError, TypeError), match=f"{rule.__name__}: {message}"):
        rule(*arguments)


@pytest.mark.parametrize("rule", [fw.methods.OpenLoop, fw.methods.EpochStep])
def test_the_numbers_of_a_step_rule_become_floats(rule):
    assert [type(number) for number in rule(np.int64(2), 1)] == [float, float]


def test_a_line_search_from_where_a_loss_has_no_curvature_left():
    # the slope over the curvature, 1e-321, is no number: warnings are errors here
    data = {"X": [[1.0], [1.0]], "y": [1, -1], "loss": "logistic", "sample_weight": [1.0, 1e-3]}
    problem = fw.Problem(**data, constraint=fw.L1Ball(740.0))
    result = fw.minimize(problem, "fw", step="line-search", x0=[-740.0], tol=1e-6, max_passes=50)
    assert result.success
    assert result.x[0] == pytest.approx(np.log(1e3), rel=1e-6)


def test_backtracking_without_a_bound_on_the_curvature_along_a_line_that_changes_no_prediction():
    problem = fw.Problem([[1.0, 0.0], [2.0, 0.0]], [1.0, 3.0], "poisson", fw.L1Ball(2.0), linear=[0.0, -50.0])
    result = fw.minimize(problem, "fw", step="backtracking", x0=[0.0, 1.0], tol=1e-9, max_passes=20)
    assert result.success
    np.testing.assert_array_equal(result.x, [0.0, 2.0])
