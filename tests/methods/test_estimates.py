"""What defines each constant-batch gradient estimate: its expectation, where its error vanishes, its schedules."""

from copy import deepcopy
from itertools import combinations

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.sets.atoms import Iterate
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases
from tests.methods.recorder import Recorder
from tests.reference import textbook

pytestmark = pytest.mark.usefixtures("interpreted")

NOTHING = np.empty(0, dtype=np.int64)
N, B, STEPS = 7, 3, 11

ERROR_KEPT = {
    "saga": (fw.methods.Saga(), 0.0),
    "sagafw": (fw.methods.SagaTwoBatches(), 0.0),
    "l-svrg": (fw.methods.LooplessSvrg(0.1), 0.0),
    "sarah": (fw.methods.Sarah(0.1), 1.0),
    "saga-sarah": (fw.methods.SagaSarah(), 1.0 - B / (2.0 * N)),
    "saga-sarah, pull": (fw.methods.SagaSarah(0.3), 0.7),
    "one-sample": (fw.methods.OneSample(), 1.0 - 1.0 / (STEPS + 1.0)),
    "one-sample, slow": (fw.methods.OneSample(power=2.0 / 3.0), 1.0 - (STEPS + 1.0) ** (-2.0 / 3.0)),
}
"""Estimates ``r_t`` of ``G(w_t)``, and ``c`` in ``E[r_t - G(w_t)] = c (r_{t-1} - G(w_{t-1}))``, given the past."""


def weighted(sample_weight):
    return cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=N, d=4, sample_weight=sample_weight)


def several_outputs():
    return fw.Problem(*cases.vector_table(fw.Multinomial(), n=N, d=4), "multinomial", fw.L1Ball(4.0))


PROBLEMS = {
    "even": lambda: weighted(None),
    "weighted": lambda: weighted([1.0, 2.0, 0.5, 0.0, 3.0, 1.0, 1.0]),
    "outputs": several_outputs,
}


def refreshed(solver, batch, before=None):
    """Return the ``r`` that the oracle would be asked with, had the next batch been this one.

    ``before`` is the iterate of the step before, where the estimate has looked at the batch already.
    """
    state, gradient, samples = deepcopy(solver.parts[0]), deepcopy(solver.gradient), solver.problem.samples
    batch, t = np.array(batch), solver.steps + 1
    if before is not None:
        state.follow(samples, Iterate.at(before), None, gradient, NOTHING, batch, t - 1)
    state.refresh(samples, solver.iterate, gradient, batch, NOTHING, t)
    return gradient.dense()


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", ERROR_KEPT)
def test_expected_error_is_a_known_part_of_the_last_one(name, problem):
    # the exact expectation, over all batches, after a few steps: at an iterate that no table was made at
    (estimate, kept), problem = ERROR_KEPT[name], PROBLEMS[problem]()
    run = Recorder(problem, fw.methods.Method(estimate), B, seed=2).run(STEPS)
    solver, before = run.solver, run.path[-2]
    assert solver.evidence().exact is None  # r is not exact by chance
    exact, exact_before = (problem.gradient(problem.shaped(w)).ravel() for w in run.path[:-3:-1])
    second = (0, 3, 5) if estimate.two_batches else ()  # the oracle is not shown what the second changes
    batches = [(*batch, *second) for batch in combinations(range(N), B)]
    found = np.array([refreshed(solver, batch, before) for batch in batches])
    expected = exact + kept * (solver.gradient.dense() - exact_before)
    np.testing.assert_allclose(found.mean(axis=0), expected, rtol=1e-12, atol=1e-14)
    assert np.abs(found - expected).max(axis=1).min() > 1e-4  # which no single batch attains


def test_the_second_batch_is_independent_of_the_first_and_shown_to_later_steps_only():
    problem = weighted(None)
    run = Recorder(problem, fw.methods.METHODS["sagafw"], B, seed=1).run(400)
    halves = np.array(run.batches).reshape(-1, 2, B)
    assert all(len(set(half)) == B for step in halves for half in step)
    together = [len(set(S) & set(J)) for S, J in halves]
    assert np.mean(together) == pytest.approx(B * B / N, rel=0.1)  # the mean of independent ones
    one, other = (refreshed(run.solver, (0, 1, 2, *J)) for J in ((0, 3, 5), (1, 2, 6)))
    np.testing.assert_array_equal(one, other)
    alpha = run.solver.parts[0].alpha.copy()
    run.run(1)
    changed = np.flatnonzero(run.solver.parts[0].alpha != alpha)
    assert set(changed) <= set(run.batches[-1][B:])
    np.testing.assert_allclose(run.solver.gradient.r, problem.X.T @ run.solver.parts[0].alpha, rtol=1e-10)


@pytest.mark.parametrize("name", ["saga", "sagafw", "l-svrg", "sarah", "saga-sarah"])
def test_at_a_point_that_does_not_move_the_error_is_zero(name):
    problem = weighted([1.0, 2.0, 0.5, 0.0, 3.0, 1.0, 1.0])
    solver = Recorder(problem, fw.methods.METHODS[name], B, seed=1).run(STEPS).solver
    w = solver.point()
    found = problem.evaluate(w)
    solver._renew(found.alpha, found.gradient)
    if "exact" in solver.parts[0]._fields:  # the same point again: the batch is looked at, and changes nothing
        solver.parts[0].exact[0] = 0.0
    for batch in combinations(range(N), B):
        rows = (*batch, *batch) if name == "sagafw" else batch
        np.testing.assert_allclose(refreshed(solver, rows, w), found.gradient, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("name", ["saga", "sagafw", "l-svrg", "sarah", "saga-sarah", "one-sample"])
def test_with_all_rows_in_a_batch_it_is_frank_wolfe(name):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=20, d=7)
    method = fw.methods.METHODS[name]
    own, full = (
        StepwiseSolver(problem, which, 20, np.random.default_rng(0), problem.default_start())
        for which in (method, method._replace(estimate=fw.methods.FullGradient()))
    )
    for solver in (own, full):
        solver.advance(40)
    np.testing.assert_allclose(own.point(), full.point(), rtol=0.0, atol=1e-12)


# --- losses that are not convex -----------------------------------------------------------------------------------

SIGMOID = {"sfw": 150, "saga": 300, "l-svrg": 500, "sarah": 1000, "saga-sarah": 1200, "sagafw": 3000}
CAUCHY = {"sfw": 60, "saga": 80, "l-svrg": 60, "sarah": 60, "saga-sarah": 100, "sagafw": 300, "one-sample": 6000}
"""Passes within which a thousandth is reached, over an l1 ball and over a Euclidean one.

One-sample, with its schedules for such losses, is proven to fall as ``T^(-1/3)``: over the l1 ball a thousandth would
take a billion steps.
"""


@pytest.mark.parametrize(
    ("loss", "name", "passes"),
    [("sigmoid", *run) for run in SIGMOID.items()] + [("cauchy", *run) for run in CAUCHY.items()],
)
def test_the_gap_of_a_loss_that_is_not_convex_falls_to_a_thousandth(loss, name, passes):
    given = (fw.Sigmoid(), fw.L1Ball(4.0)) if loss == "sigmoid" else (fw.Cauchy(1.0), fw.L2Ball(0.5))
    problem, method = cases.problem(*given, n=20, d=6), fw.methods.METHODS[name]
    if name == "one-sample":
        method = fw.methods.Method(fw.methods.OneSample(power=2.0 / 3.0), step=fw.methods.ConstantStep(power=2.0 / 3.0))
    gap = fw.minimize(problem, method, batch_size=4, tol=0.0, max_passes=passes, random_state=0).trace.fw_gap
    assert gap.min() <= 1e-3 * gap[0]


# --- coins --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("estimate", [fw.methods.Sarah(0.1), fw.methods.LooplessSvrg(0.1)], ids=cases.name_of)
def test_exact_gradients_come_with_their_probability(estimate, intercept):
    X, y = cases.table(fw.Logistic(), n=40, d=4)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.5), intercept=intercept)
    steps = 4000
    run = Recorder(problem, fw.methods.Method(estimate), 2).run(steps)
    assert run.snapshots[0] == 1
    # what the intercept makes exact counts as a snapshot that was not due: the coin forgets nothing, and is as fair
    mean, deviation = 0.1 * steps, (0.09 * steps) ** 0.5
    assert abs(len(set(run.snapshots)) - mean) < 4.0 * deviation


def test_by_default_one_exact_gradient_is_expected_a_pass():
    problem = cases.problem(n=40, d=4)
    run = Recorder(problem, fw.methods.METHODS["l-svrg"], 4).run(2000)
    assert run.solver.rows_read / 40 == pytest.approx(2 * 200, rel=0.1)


@pytest.mark.parametrize("estimate", [fw.methods.Sarah(0.05), fw.methods.LooplessSvrg(0.05)], ids=cases.name_of)
def test_a_constant_step_foresees_the_exact_gradients_that_chance_will_take(estimate):
    problem, passes = cases.problem(n=40, d=4), 300.0
    method = fw.methods.Method(estimate, step=fw.methods.ConstantStep())
    result = fw.minimize(problem, method, batch_size=2, tol=0.0, max_passes=passes, random_state=0)
    solver = StepwiseSolver(
        problem, method, 2, np.random.default_rng(0), problem.default_start(), None, passes * problem.n
    )
    assert solver.parts[2].gamma[0] == pytest.approx(result.nit**-0.5, rel=0.05)


# --- schedules ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimate", "step", "reference", "rho", "gamma"),
    [
        (
            fw.methods.Momentum(4.0, 8.0),
            fw.methods.OpenLoop(2.0, 7.0),
            textbook.momentum,
            lambda t: 4.0 / (t + 8.0) ** (2.0 / 3.0),
            lambda t: 2.0 / (t + 7.0),
        ),
        (
            fw.methods.OneSample(power=2.0 / 3.0),
            fw.methods.ConstantStep(0.05),
            textbook.one_sample,
            lambda t: t ** (-2.0 / 3.0),
            lambda t: 0.05,
        ),
        (  # whatever its weight later, the first batch is all there is to begin with
            fw.methods.OneSample(1.0, 3.0),
            fw.methods.OpenLoop(),
            textbook.one_sample,
            lambda t: 1.0 if t == 1 else 1.0 / (t + 3.0),
            lambda t: 2.0 / (t + 2.0),
        ),
    ],
    ids=["momentum", "one-sample", "one-sample, late"],
)
def test_schedules_are_settings(estimate, step, reference, rho, gamma):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=20, d=7, density=1.0)
    run = Recorder(problem, fw.methods.Method(estimate, step=step), 3, seed=5).run(60)
    data = problem.X, problem.y, textbook.logistic, textbook.l1_ball(4.0), run.batches, problem.default_start()
    np.testing.assert_allclose(run.path, reference(*data, rho=rho, gamma=gamma), rtol=0.0, atol=1e-10)


def test_a_constant_step_may_fall_with_another_power_of_the_number_of_steps():
    problem = cases.problem(n=40, d=4)
    method = fw.methods.Method(
        fw.methods.OneSample(power=2.0 / 3.0), step=fw.methods.ConstantStep(scale=0.5, power=2.0 / 3.0)
    )
    solver = StepwiseSolver(problem, method, 2, np.random.default_rng(0), problem.default_start(), None, 40.0 * 100.0)
    assert solver.parts[2].gamma[0] == pytest.approx(0.5 * 1000.0 ** (-2.0 / 3.0))


def test_an_average_goes_on_where_it_was_and_begins_anew_after_another_method():
    problem = cases.problem(n=40, d=4)
    options = {"batch_size": 2, "tol": 0.0, "max_passes": 10, "random_state": 0}
    first = fw.minimize(problem, "one-sample", **options)
    onward = fw.minimize(problem, "one-sample", x0=first, **options)
    assert onward.state["estimate.begun"] == [0]
    other = fw.minimize(problem, "one-sample", x0=fw.minimize(problem, "sfw", **options), **options)
    assert other.state["estimate.begun"] == [other.state["steps"] - other.nit]
    assert other.state["estimate.begun"] > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fw.methods.Sarah(0.0), "Sarah: probability must be positive, got 0"),
        (lambda: fw.methods.LooplessSvrg(1.5), "LooplessSvrg: probability must be at most 1, got 1.5"),
        (lambda: fw.methods.SagaSarah(2.0), "SagaSarah: pull must be at most 1, got 2"),
        (
            lambda: fw.methods.Momentum(4.0),
            r"Momentum: numerator must be at most \(1 \+ offset\)\^power = 1.5874, got 4",
        ),
        (lambda: fw.methods.Momentum(power=1.5), "Momentum: power must be at most 1, got 1.5"),
        (lambda: fw.methods.OneSample(offset=-0.5), "OneSample: numerator must be at most"),
        (lambda: fw.methods.OneSample(numerator=-1.0), "OneSample: numerator must be positive, got -1"),
        (lambda: fw.methods.ConstantStep(power=2.0), "ConstantStep: power must be at most 1, got 2"),
    ],
)
def test_what_is_no_schedule_or_probability_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
