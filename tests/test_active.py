"""Active-set directions: against a dictionary of atoms, on degenerate data, and at every batch size."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frankwolfe as fw
from frankwolfe.active import ActiveSet, clear, extreme, put, slack
from frankwolfe.experiments.reference import certified_optimum
from frankwolfe.iterate import Iterate
from tests import cases
from tests.reference import active_sets, textbook

DETERMINISTIC = ("away", "pairwise", "blended-pairwise")
STOCHASTIC = ("stochastic-pairwise", "stochastic-away")
HULLS = [constraint for constraint in cases.SETS if hasattr(constraint, "hull")]


def vertices(constraint, d):
    """Every atom of the set, as tuples: the vertices, and zero where it is one of the atoms."""
    radius, signed, filled = constraint.hull()
    found = [tuple(radius * row) for row in np.eye(d)]
    if signed:
        found += [tuple(-radius * row) for row in np.eye(d)]
    return found + [tuple(np.zeros(d))] * filled


# --- against the textbook -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("constraint", HULLS, ids=cases.name_of)
@pytest.mark.parametrize("method", DETERMINISTIC)
def test_iterates_are_those_of_a_dictionary_of_atoms(method, constraint):
    problem = cases.problem(fw.Logistic(), constraint, n=30, d=6, density=1.0)
    start = tuple(problem.default_start())
    steps, seen = 30, []
    composed = fw.METHODS[method]._replace(step=fw.ShortStep())
    fw.minimize(problem, composed, tol=0, max_passes=steps, trace=100, callback=lambda state: seen.append(state.x))
    step, atoms = getattr(active_sets, method.replace("-", "_")), vertices(constraint, problem.d)
    described = textbook.logistic, problem.loss.smoothness()
    expected = active_sets.run(step, problem.X, problem.y, described, atoms, start, steps)
    np.testing.assert_allclose(seen, expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("constraint", [*HULLS, fw.Box(-0.5, 1.0)], ids=cases.name_of)
@pytest.mark.parametrize("method", DETERMINISTIC)
def test_deterministic_methods_reach_the_certified_optimum(method, constraint):
    problem = cases.problem(fw.Logistic(), constraint, n=80, d=15)
    reference = certified_optimum(problem, tolerance=1e-11)
    result = fw.minimize(problem, method, tol=1e-8, max_passes=3000)
    assert result.success
    assert result.fun == pytest.approx(reference.value, abs=1e-8 * problem.zero_value)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("direction", [fw.Pairwise(), fw.Away(), fw.BlendedPairwise()], ids=cases.name_of)
def test_no_step_rule_leads_out_of_the_set(direction):
    problem = cases.problem(fw.Logistic(), fw.Simplex(2.0))
    method = fw.Method(fw.FullGradient(), direction, fw.OpenLoop(), name="open-loop steps on exchanges")
    seen = []
    fw.minimize(problem, method, tol=0, max_passes=40, trace=100, callback=lambda state: seen.append(state.x))
    assert all(problem.constraint.contains(w) for w in seen)


# --- bookkeeping ----------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-1.0, -0.5, 0.25, 0.5, 1.0, 0.0])), max_size=40))
def test_active_set_is_the_support(changes):
    w = np.array([0.5, 0.0, -0.25, 0.0, 0.0])
    active, iterate, ball = ActiveSet.of(w), Iterate.at(w), fw.L1Ball(100.0)
    for j, change in changes:
        if change == 0.0:
            clear(active, iterate, j)
        else:
            put(active, iterate, j, change)
        members = sorted(active.members[: active.number[0]])
        assert members == list(np.flatnonzero(iterate.v))
        assert all(active.members[active.place[j]] == j for j in members)
        assert active.size[0] == pytest.approx(np.abs(iterate.v).sum())
        assert slack(ball, active, iterate) == pytest.approx(1.0 - np.abs(iterate.v).sum() / 100.0)


def test_extreme_atoms_are_on_the_iterates_side_and_include_zero():
    w = np.array([0.5, -0.25, 0.0])
    active, iterate, r = ActiveSet.of(w), Iterate.at(w), np.array([1.0, 3.0, -9.0])
    ball = fw.L1Ball(2.0)
    assert extreme(ball, active, iterate, r, 1.0) == (0, 2.0)
    assert extreme(ball, active, iterate, r, -1.0) == (1, -2.0)
    assert extreme(ball, active, iterate, -np.abs(r) * np.sign(w + (w == 0)), 1.0).amount == 0.0  # zero is the worst
    full = Iterate.at(w * 2.0 / 0.75)
    assert extreme(ball, ActiveSet.of(full.v), full, -np.abs(r) * np.sign(w + (w == 0)), 1.0).amount != 0.0


@pytest.mark.parametrize("method", DETERMINISTIC + STOCHASTIC)
def test_sets_that_cannot_be_taken_apart_are_refused_with_advice(method):
    with pytest.raises(ValueError, match=r"vertices are single coordinates .* use 'sfw' or 'fw' there"):
        fw.minimize(cases.problem(constraint=fw.L2Ball(1.0)), method)


@pytest.mark.parametrize("method", STOCHASTIC)
@pytest.mark.parametrize("constraint", [*HULLS, fw.Box(-0.5, 1.0)], ids=cases.name_of)
def test_stochastic_methods_reach_the_certified_optimum(method, constraint):
    problem = cases.problem(fw.Logistic(), constraint, n=80, d=15)
    reference = certified_optimum(problem, tolerance=1e-11)
    result = fw.minimize(problem, method, batch_size=2, tol=1e-7, max_passes=2000, random_state=0)
    assert result.success
    assert result.fun == pytest.approx(reference.value, abs=1e-7 * problem.zero_value)


@pytest.mark.usefixtures("interpreted")
def test_a_box_is_slid_along_its_best_coordinate():
    problem = cases.problem(fw.Squared(), fw.Box(-0.2, 0.3), n=30, d=6, density=1.0)
    seen = []
    fw.minimize(problem, "pairwise", tol=0, max_passes=40, trace=100, callback=lambda state: seen.append(state.x))
    for before, after in itertools.pairwise(seen):
        gradient = problem.gradient(before)
        held = np.maximum(gradient * (before + 0.2), gradient * (before - 0.3))  # each segment's share of the gap
        moved = np.flatnonzero(after != before)
        assert len(moved) <= 1
        assert all(held[j] >= held.max() - 1e-12 for j in moved)
    assert problem.gap(seen[-1]) < 1e-3 * problem.zero_value


# --- stochastic steps at a constant batch size ----------------------------------------------------------------


@pytest.mark.parametrize("method", STOCHASTIC)
@pytest.mark.parametrize("batch_size", [1, 3, 20, 100, 200])
def test_every_batch_size_converges_linearly(method, batch_size):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(3.0), n=200, d=12)
    optimum = certified_optimum(problem, tolerance=1e-12).value
    steps = 40_000 if batch_size < 20 else 6_000
    trace = fw.minimize(
        problem, method, batch_size=batch_size, tol=0, max_passes=steps * batch_size / 200, random_state=0, trace=60
    ).trace
    error = np.maximum((trace.fun - optimum) / problem.zero_value, 1e-14)
    assert error[-1] < 1e-10
    # linear: the logarithm falls along a line in the number of steps, down to where rounding takes over
    falling = (error < 1e-2) & (error > 1e-9)
    fitted = np.polyfit(trace.nit[falling], np.log(error[falling]), 1)
    assert fitted[0] < 0.0
    assert np.corrcoef(trace.nit[falling], np.log(error[falling]))[0, 1] < -0.9


LOGISTIC_OPTIMA = [
    (name, constraint.radius, optimum)
    for name, loss, constraint, optimum in cases.REFERENCE_OPTIMA
    if loss == fw.Logistic() and constraint != fw.L1Ball(1000.0)  # which takes more passes than a test should
]


@pytest.mark.parametrize(("name", "radius", "optimum"), LOGISTIC_OPTIMA)
def test_stochastic_pairwise_on_real_data(name, radius, optimum):
    X, y = cases.data(name)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(radius))
    result = fw.minimize(problem, "stochastic-pairwise", tol=0, max_passes=60, random_state=0, trace=0)
    assert abs(result.fun - optimum) <= 1e-8 * problem.zero_value


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("method", DETERMINISTIC + STOCHASTIC)
def test_awkward_data_ends_certified_or_honest(method, scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8))
    X[:, 0] *= scale
    X[:, 3] = X[:, 2]  # a duplicated column
    X[:, 5] = 0.0  # an empty one
    y = np.where(X[:, 1] > 0.0, 1.0, -1.0)  # separable
    for radius in (1.0, 1e3):
        problem = fw.Problem(X, y, "logistic", fw.L1Ball(radius))
        result = fw.minimize(problem, method, tol=1e-6, max_passes=400, random_state=0)
        assert problem.constraint.contains(result.x)
        assert result.success == (problem.gap(result.x) <= 1e-6 * problem.zero_value)
        assert result.fun <= problem.zero_value


@pytest.mark.parametrize("method", DETERMINISTIC + STOCHASTIC)
def test_a_slack_constraint_leaves_weight_on_zero(method):
    X, y = cases.table(fw.Squared(), n=60, d=4, density=1.0)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    problem = fw.Problem(X, y, "squared", fw.L1Ball(10.0 * np.abs(best).sum()))
    result = fw.minimize(problem, method, tol=1e-6, max_passes=5000, random_state=0)
    assert result.success
    np.testing.assert_allclose(result.x, best, atol=1e-2)
