"""SVRF, STORC, SVFW, SPIDER and Goldfarb's methods: what they promise beyond what every method does."""

from copy import deepcopy
from itertools import combinations

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.methods.sliding import objective_smoothness
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases
from tests.methods.recorder import Recorder
from tests.reference import active_sets, textbook

pytestmark = pytest.mark.usefixtures("interpreted")

NONE = np.empty(0, dtype=np.int64)
WEIGHTS = [None, np.array([1.0, 2.0, 0.5, 0.0, 3.0])]


def solver_of(problem, method, batch_size, steps=0):
    solver = StepwiseSolver(problem, method, batch_size, np.random.default_rng(0), problem.default_start())
    solver.advance(steps)
    return solver


# --- expectations, over all batches -----------------------------------------------------------------------------


def mean_estimate(solver, t, b=2):
    """The exact expectation of ``r`` in step ``t`` over all batches of two rows, and the largest deviation from it."""
    found = []
    for batch in combinations(range(solver.problem.n), b):
        state, gradient = deepcopy(solver.parts[0]), deepcopy(solver.gradient)
        state.refresh(solver.problem.samples, solver.iterate, gradient, np.array(batch), NONE, t)
        found.append(gradient.r)
    mean = np.mean(found, axis=0)
    return mean, np.abs(found - mean).max()


@pytest.mark.parametrize("weights", WEIGHTS, ids=["even", "weighted"])
@pytest.mark.parametrize(
    "estimate",
    [fw.methods.Svrf(), fw.methods.Svfw(epoch=8), fw.methods.Storc(), fw.methods.GrowingBatch()],
    ids=cases.name_of,
)
def test_direction_is_unbiased(estimate, weights):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=5, d=3, sample_weight=weights)
    solver = solver_of(problem, fw.methods.Method(estimate), 1, steps=5)
    mean, deviation = mean_estimate(solver, 6)
    np.testing.assert_allclose(mean, problem.gradient(solver.point()), rtol=1e-12, atol=1e-14)
    assert deviation > 1e-3


@pytest.mark.parametrize("weights", WEIGHTS, ids=["even", "weighted"])
def test_spider_changes_as_the_gradient_does_on_average(weights):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=5, d=3, sample_weight=weights)
    solver = solver_of(problem, fw.methods.METHODS["spider"], 1, steps=5)
    r, before = solver.gradient.r.copy(), problem.gradient(solver.point())
    kept, found = solver.parts[0].kept, []
    samples, earlier = problem.samples, deepcopy(solver.iterate)
    solver.iterate.v[:] *= 0.7  # a step, of any kind
    for batch in combinations(range(5), 2):
        state, gradient = deepcopy(solver.parts[0]), deepcopy(solver.gradient)
        state.follow(samples, earlier, None, gradient, NONE, np.array(batch), 5)
        assert kept.shape == state.kept.shape
        state.refresh(samples, solver.iterate, gradient, np.array(batch), NONE, 6)
        found.append(gradient.r - r)
    change = problem.gradient(solver.point()) - before
    np.testing.assert_allclose(np.mean(found, axis=0), change, rtol=1e-12, atol=1e-14)
    assert np.abs(found - change).max() > 1e-3


@pytest.mark.parametrize(
    "estimate", [fw.methods.Svrf(), fw.methods.Svfw(epoch=8), fw.methods.Storc()], ids=cases.name_of
)
def test_at_its_snapshot_an_estimate_has_no_error(estimate):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(4.0), n=5, d=3)
    solver = solver_of(problem, fw.methods.Method(estimate), 1, steps=5)
    found = problem.evaluate(solver.point())
    solver._renew(found.alpha, found.gradient)
    mean, deviation = mean_estimate(solver, 6)
    np.testing.assert_allclose(mean, found.gradient, rtol=1e-13, atol=1e-15)
    assert deviation < 1e-15


# --- batches of all rows ----------------------------------------------------------------------------------------

EXACT = {
    "svrf": (fw.methods.Svrf(), fw.methods.Toward(), fw.methods.OpenLoop()),
    "svfw": (fw.methods.Svfw(), fw.methods.Toward(), fw.methods.ConstantStep(0.1)),
    "spider": (fw.methods.Spider(), fw.methods.Toward(), fw.methods.OpenLoop(2.0, 1.0)),
    "goldfarb-away": (fw.methods.GrowingBatch(), fw.methods.Away(), fw.methods.NormStep()),
    "goldfarb-pairwise": (fw.methods.GrowingBatch(), fw.methods.Pairwise(), fw.methods.NormStep()),
    "sliding": (fw.methods.GrowingBatch(), fw.methods.Sliding(), fw.methods.EpochStep()),
}


@pytest.mark.parametrize("constraint", [fw.L1Ball(4.0), fw.L2Ball(2.0), fw.Box(-0.5, 1.0)], ids=cases.name_of)
@pytest.mark.parametrize("name", EXACT)
def test_batches_of_all_rows_are_the_full_gradient(name, constraint):
    estimate, direction, step = EXACT[name]
    problem = cases.problem(fw.Logistic(), constraint, n=20, d=7, sample_weight=np.linspace(0.5, 2.0, 20))
    own, full = (
        solver_of(problem, fw.methods.Method(which, direction, step), 20, steps=40)
        for which in (estimate, fw.methods.FullGradient())
    )
    np.testing.assert_allclose(own.point(), full.point(), rtol=0.0, atol=1e-10)


# --- pseudo-code ------------------------------------------------------------------------------------------------


def storc(problem, derivative, lmo, batches, snapshots, L, D):
    """Hazan and Luo's STORC: momentum, snapshots, and Frank-Wolfe on a quadratic model."""
    X, y, w = problem.X, problem.y, problem.default_start()
    path, asked, lengths = [w], [], np.diff([*snapshots, snapshots[-1] + 23])

    def gradient(w, rows):
        return X[rows].T @ derivative(X[rows] @ w, y[rows]) / len(rows)

    for t, batch in enumerate(batches, start=1):
        if t in snapshots:
            v, x, k, N = w, w, 0, lengths[snapshots.index(t)]
        k += 1
        gamma, beta, wanted = 2.0 / (k + 1.0), 3.0 * L / k, 2.0 * L * D**2 / (N * k)
        z = (1.0 - gamma) * w + gamma * x
        r = gradient(z, batch) - gradient(v, batch) + gradient(v, range(len(y)))
        u, asked = x, [*asked, 0]
        while N > 1:
            q = r + beta * (u - x)
            s, asked[-1] = lmo(q), asked[-1] + 1
            if q @ (u - s) <= wanted:
                break
            u = u + min(1.0, q @ (u - s) / (beta * np.sum((s - u) ** 2))) * (s - u)
        x = lmo(r) if N == 1 else u
        w = (1.0 - gamma) * w + gamma * x
        path.append(w)
    return np.array(path), np.array(asked)


@pytest.mark.parametrize("batch_size", [1, 20])
@pytest.mark.parametrize("name", ["L1Ball", "Box"])
def test_storc_is_the_textbook_one(name, batch_size):
    constraint, lmo = {
        "L1Ball": (fw.L1Ball(4.0), textbook.l1_ball(4.0)),
        "Box": (fw.Box(-1.0, 1.5), textbook.box(-1.0, 1.5)),
    }[name]
    problem = cases.problem(fw.Logistic(), constraint, n=20, d=7, density=1.0)
    L, D = 0.25 * np.linalg.norm(problem.X, 2) ** 2 / 20, 0.3
    method = fw.methods.METHODS["storc"]._replace(
        direction=fw.methods.Sliding(diameter=D)
    )  # a small one: models are solved better
    run = Recorder(problem, method, batch_size, seed=5).run(45)
    assert run.snapshots == [1, 2, 8, 16, 28, 44]  # one step, then ceil(2^(e/2 + 2))
    expected, asked = storc(problem, textbook.logistic, lmo, run.batches, run.snapshots, L, D)
    np.testing.assert_allclose(run.path, expected, rtol=0.0, atol=1e-9)
    assert asked.max() > 4  # the models are no mere steps to a vertex


@pytest.mark.parametrize("kind", ["dense", "outputs", "weighted"])
def test_smoothness_is_that_of_the_objective(kind, monkeypatch):
    X, y = cases.vector_table(fw.MultitaskSquared(), n=30, d=6)
    weight = np.linspace(0.0, 2.0, 30) if kind == "weighted" else None
    loss, y = (fw.MultitaskSquared(), y) if kind == "outputs" else (fw.Squared(), y[:, 0])
    problem = fw.Problem(X, y, loss, fw.L1Ball(1.0), sample_weight=weight)
    p = problem.samples.weights
    expected = np.linalg.eigvalsh(X.T @ (p[:, None] * X))[-1]
    for small in (32, 0):  # formed, and by Lanczos' method
        monkeypatch.setattr("frankwolfe.methods.sliding.SMALL", small)
        assert objective_smoothness(problem.samples, problem.size) == pytest.approx(expected, rel=1e-3)


def goldfarb(step, problem, lmo, batches, start):
    """Away or pairwise steps along batches' gradients, with the curvature bounded by the columns' norms."""
    X, y = problem.X, problem.y
    norms, weights, path = np.sqrt(np.mean(X**2, axis=0)), {start: 1.0}, [np.array(start)]
    for batch in batches:
        w = path[-1]
        r = X[batch].T @ textbook.logistic(X[batch] @ w, y[batch]) / len(batch)
        s, a = lmo(r), max(weights, key=lambda atom: r @ atom)
        weights = step(weights, r, np.array(s), np.array(a), w, norms)
        path.append(active_sets._combination(weights))
    return np.array(path)


def _length(r, to, away, norms, most):
    fall, size = r @ (away - to), norms @ (np.abs(to) + np.abs(away))
    return min(most, fall / (0.25 * size**2)) if fall > 0.0 else 0.0


def _pairwise(weights, r, s, a, w, norms):
    gamma = _length(r, s, a, norms, weights[tuple(a)])
    moved = dict(weights)
    moved[tuple(a)] -= gamma
    moved[tuple(s)] = moved.get(tuple(s), 0.0) + gamma
    return active_sets._kept(moved)


def _away(weights, r, s, a, w, norms):
    share = weights[tuple(a)]
    if r @ (w - s) >= r @ (a - w) or share >= 1.0:
        return _mixed(weights, s, _length(r, s, w, norms, 1.0))
    return _mixed(weights, a, -_length(r, w, a, norms, share / (1.0 - share)))


def _mixed(weights, atom, gamma):
    moved = {other: (1.0 - gamma) * weight for other, weight in weights.items()}
    moved[tuple(atom)] = moved.get(tuple(atom), 0.0) + gamma
    return active_sets._kept(moved)


@pytest.mark.parametrize("name", ["goldfarb-away", "goldfarb-pairwise"])
def test_goldfarb_is_the_textbook_one(name):
    problem = cases.problem(fw.Logistic(), fw.Simplex(3.0), n=30, d=6, density=1.0)
    atoms = [tuple(3.0 * row) for row in np.eye(6)]
    start = tuple(problem.default_start())
    method = fw.methods.METHODS[name]._replace(estimate=fw.methods.GrowingBatch(1.2))
    run = Recorder(problem, method, 2, seed=1).run(40)
    assert [len(batch) for batch in run.batches[:6]] == [3, 3, 4, 5, 5, 6]  # ceil(2 * 1.2^t)
    assert len(run.batches[-1]) == 30
    step = _away if name == "goldfarb-away" else _pairwise
    expected = goldfarb(step, problem, active_sets.best_of(atoms), run.batches, start)
    np.testing.assert_allclose(run.path, expected, rtol=0.0, atol=1e-10)


# --- runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [fw.Sigmoid(), fw.Cauchy()], ids=cases.name_of)
@pytest.mark.parametrize("method", ["svfw", "spider"])
def test_gap_vanishes_where_the_loss_is_not_convex(method, loss):
    problem = cases.problem(loss, fw.L2Ball(1.0), n=60, d=6)
    result = fw.minimize(problem, method, tol=0.0, max_passes=400, random_state=0)
    assert result.trace.gap.min() <= 1e-3 * problem.gap(problem.default_start())


@pytest.mark.parametrize("method", ["svrf", "storc", "svfw", "spider", "goldfarb-away", "goldfarb-pairwise"])
def test_a_run_from_a_result_goes_on_and_from_other_data_begins_with_a_snapshot(method):
    problem = cases.problem(n=40, d=6)
    first = fw.minimize(problem, method, batch_size=2, tol=0.0, max_passes=20, random_state=0)
    onward = fw.minimize(problem, method, batch_size=2, tol=0.0, max_passes=40, random_state=1, x0=first)
    assert onward.state["steps"] == first.nit + onward.nit
    assert onward.gap <= first.gap
    other = cases.problem(n=30, d=6, seed=1)
    solver = StepwiseSolver(
        other.own(), fw.methods.METHODS[method], 2, np.random.default_rng(0), first.x, first.state, float("inf")
    )
    solver.advance(1)
    if fw.methods.METHODS[method].estimate.state.next_snapshot is not None:
        np.testing.assert_allclose(solver.gradient.dense(), other.gradient(first.x), rtol=1e-12)
        assert solver.rows_read >= other.n


def test_the_intercept_is_optimised_after_every_pass_of_growing_batches():
    X, y = cases.table(fw.Logistic(), n=40, d=6)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.5), intercept=True)
    solver = solver_of(problem, fw.methods.METHODS["goldfarb-away"]._replace(estimate=fw.methods.GrowingBatch(1.5)), 2)
    at = []
    for _ in range(14):
        at.append(solver.passes.next_intercept)
        solver.advance(1)
    # batches of 3, 5, 7, 11, 16 rows make a pass, 23 and 35 do; then every step does
    assert sorted(set(at)) == [0, 5, 7, 8, 9, 10, 11, 12, 13]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fw.methods.Svfw(epoch=2.5), "Svfw: epoch must be a whole number of steps, got 2.5"),
        (lambda: fw.methods.Svfw(epoch=0), "Svfw: epoch must be positive"),
        (lambda: fw.methods.GrowingBatch(1.0), "GrowingBatch: growth must be above 1, got 1: batches would not grow"),
        (lambda: fw.methods.Storc(-1.0), "Storc: growth must not be negative, got -1: batches would shrink"),
        (lambda: fw.methods.Sliding(smoothness=0.0), "Sliding: smoothness must be positive"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
