"""Active-set directions: against a dictionary of atoms, on real data, and at every batch size."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frankwolfe as fw
from frankwolfe.methods import directions as dictionary
from frankwolfe.methods.base import Setting
from frankwolfe.methods.directions import (
    ActiveSet,
    Dictionary,
    Transfer,
    change_coordinate,
    clear_coordinate,
    extreme,
    find_atom,
    make_room,
    set_direction,
    slack,
)
from frankwolfe.sets.atoms import Full, Hot, Iterate
from frankwolfe.solvers.stepwise import StepwiseSolver
from tests import cases
from tests.own_parts import CappedSimplex, HullOf, WeightedL1Ball
from tests.reference import active_sets, textbook
from tests.reference.optimum import certified_optimum

DETERMINISTIC = ("away", "pairwise", "blended-pairwise")
STOCHASTIC = ("stochastic-pairwise", "stochastic-away")
HULLS = [constraint for constraint in cases.SETS if constraint.structure().coordinates is not None]


def vertices(constraint, d):
    """Every atom of the set, as tuples: the vertices, and zero where it is one of the atoms."""
    radius, signed, filled = constraint.structure().coordinates
    found = [tuple(radius * row) for row in np.eye(d)]
    if signed:
        found += [tuple(-radius * row) for row in np.eye(d)]
    return found + [tuple(np.zeros(d))] * filled


def corners_of_a_box(lower, upper, d):
    """Every vertex of a box whose coordinates have the same bounds."""
    return [tuple(map(float, corner)) for corner in itertools.product((lower, upper), repeat=d)]


D = 6
PRICE = np.linspace(1.0, 2.0, D)
SPREAD_OUT = np.random.default_rng(5).normal(size=(9, D))
STORED = {  # sets that only a dictionary can take apart, and their oracles in the textbook's terms
    "L2Ball": (fw.L2Ball(1.2), active_sets.euclidean_ball(1.2)),
    "CappedSimplex": (CappedSimplex(0.3), active_sets.capped_simplex(0.3)),
    "WeightedL1Ball": (
        WeightedL1Ball(2.0, PRICE),
        active_sets.best_of([tuple(row) for row in np.vstack([np.diag(2.0 / PRICE), np.diag(-2.0 / PRICE)])]),
    ),
    "polytope": (HullOf(SPREAD_OUT), active_sets.best_of([tuple(row) for row in SPREAD_OUT])),
    "box": (
        HullOf(np.array(corners_of_a_box(-0.5, 1.0, D))),
        active_sets.best_of(corners_of_a_box(-0.5, 1.0, D)),
    ),
}
CASES = {type(c).__name__: (c, active_sets.best_of(vertices(c, D))) for c in HULLS} | STORED


# --- against the textbook -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", DETERMINISTIC)
def test_iterates_are_those_of_the_textbook(method, name):
    constraint, lmo = CASES[name]
    problem = cases.problem(fw.Logistic(), constraint, n=30, d=D, density=1.0)
    start = tuple(problem.default_start())
    steps, seen = 25, []  # on the l2 ball rounding decides from step 30 on: the iterates have all but arrived
    composed = fw.methods.METHODS[method]._replace(step=fw.methods.ShortStep())
    fw.minimize(problem, composed, tol=0, max_passes=steps, trace=100, callback=lambda state: seen.append(state.x))
    step = getattr(active_sets, method.replace("-", "_"))
    described = textbook.logistic, problem.loss.smoothness()
    expected = active_sets.run(step, problem.X, problem.y, described, lmo, start, steps)
    np.testing.assert_allclose(seen, expected, rtol=0.0, atol=1e-10)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("constraint", [*HULLS, fw.Box(-0.5, 1.0), fw.L2Ball(1.2)], ids=cases.name_of)
@pytest.mark.parametrize("method", DETERMINISTIC)
def test_deterministic_methods_reach_the_certified_optimum(method, constraint):
    problem = cases.problem(fw.Logistic(), constraint, n=40, d=10)
    reference = certified_optimum(problem, tolerance=1e-11)
    result = fw.minimize(problem, method, tol=1e-8, max_passes=3000)
    assert result.success
    assert result.fun == pytest.approx(reference.value, abs=1e-8 * problem.zero_value)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("constraint", [fw.Simplex(2.0), fw.L2Ball(2.0)], ids=cases.name_of)
@pytest.mark.parametrize(
    "direction", [fw.methods.Pairwise(), fw.methods.Away(), fw.methods.BlendedPairwise()], ids=cases.name_of
)
def test_no_step_rule_leads_out_of_the_set(direction, constraint):
    problem = cases.problem(fw.Logistic(), constraint)
    method = fw.methods.Method(
        fw.methods.FullGradient(), direction, fw.methods.OpenLoop(), name="open-loop steps on exchanges"
    )
    seen = []
    fw.minimize(problem, method, tol=0, max_passes=40, trace=100, callback=lambda state: seen.append(state.x))
    assert all(problem.constraint.contains(w) for w in seen)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("L2Ball", method) for method in DETERMINISTIC + STOCHASTIC),
        ("WeightedL1Ball", "away"),
    ],
)
def test_stored_atoms_compiled_as_interpreted(name, method):
    problem = cases.problem(fw.Logistic(), STORED[name][0], n=30, d=D, density=1.0)
    composed = fw.methods.METHODS[method]
    if composed.reads_all_rows:  # an exact step leaves both its atoms equally good, and rounding decides between them
        composed = composed._replace(step=fw.methods.ShortStep())
    found = fw.minimize(problem, composed, batch_size=3, tol=0, max_passes=20, random_state=0)
    with fw.python_mode():
        expected = fw.minimize(problem, composed, batch_size=3, tol=0, max_passes=20, random_state=0)
    np.testing.assert_allclose(found.x, expected.x, rtol=0.0, atol=1e-11)


# --- bookkeeping ----------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-1.0, -0.5, 0.25, 0.5, 1.0, 0.0])), max_size=40))
def test_active_set_is_the_support(changes):
    w = np.array([0.5, 0.0, -0.25, 0.0, 0.0])
    active, iterate, ball = ActiveSet.of(w), Iterate.at(w), fw.L1Ball(100.0)
    for j, change in changes:
        if change == 0.0:
            clear_coordinate(active, iterate, j)
        else:
            change_coordinate(active, iterate, j, change)
        members = sorted(active.members[: active.number[0]])
        assert members == list(np.flatnonzero(iterate.v))
        assert all(active.members[active.place[j]] == j for j in members)
        assert active.size[0] == pytest.approx(np.abs(iterate.v).sum())
        assert slack(ball.hull(), active, iterate) == pytest.approx(1.0 - np.abs(iterate.v).sum() / 100.0)


def test_extreme_atoms_are_on_the_iterates_side_and_include_zero():
    w = np.array([0.5, -0.25, 0.0])
    active, iterate, r = ActiveSet.of(w), Iterate.at(w), np.array([1.0, 3.0, -9.0])
    ball = fw.L1Ball(2.0)
    assert extreme(ball.hull(), active, iterate, r, 1.0) == (0, 2.0)
    assert extreme(ball.hull(), active, iterate, r, -1.0) == (1, -2.0)
    against = -np.abs(r) * np.sign(w + (w == 0))
    assert extreme(ball.hull(), active, iterate, against, 1.0).amount == 0.0  # zero is the worst
    full = Iterate.at(w * 2.0 / 0.75)
    assert extreme(ball.hull(), ActiveSet.of(full.v), full, against, 1.0).amount != 0.0


# --- stored atoms ---------------------------------------------------------------------------------------------


def stored_atoms(points, weights, capacity=None):
    """A dictionary that holds the points with the weights, and the iterate that they make up."""
    points, weights = np.array(points, dtype=float), np.array(weights, dtype=float)
    samples = cases.problem(n=40, d=points.shape[1]).samples
    held = Dictionary.of(Setting(samples, 1, points[0], None), capacity)
    held.points[: len(points)], held.weights[: len(points)], held.number[0] = points, weights, len(points)
    return held, Iterate.at(weights @ points)


def atoms_of(held):
    """The points in use and their weights."""
    return held.points[: held.number[0]], held.weights[: held.number[0]]


@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.sampled_from(["pair", "toward", "away"]), st.floats(0.0, 1.0)), max_size=30
    ),
    st.integers(2, 6),
)
def test_weights_points_and_iterate_stay_together(moves, capacity):
    corners = np.random.default_rng(1).normal(size=(8, 3))
    held, iterate = stored_atoms(corners[:1], [1.0], capacity)
    for corner, kind, part in moves:
        to, away = find_atom(held, Full(corners[corner])), held.number[0] - 1
        share = held.weights[away]
        if kind == "away" and share > 0.9:  # the others together promise more than so heavy an atom
            continue
        parts = {"pair": (1.0, 1.0, 0.0), "toward": (1.0, 0.0, -1.0), "away": (0.0, 1.0, 1.0)}[kind]
        most = {"pair": share, "toward": 1.0, "away": share / max(1.0 - share, 0.1)}[kind]
        set_direction(held, iterate, to, away, *parts)
        goal = iterate.dense() + part * most * held.heading
        Transfer(held, to, away, *parts, most).apply(iterate, part * most)
        points, weights = atoms_of(held)
        assert 1 <= len(weights) <= capacity
        assert (weights >= -1e-15).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(iterate.dense(), weights @ points, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(iterate.dense(), goal, rtol=0.0, atol=1e-11)
        assert HullOf(corners).contains(iterate.dense())


def test_a_vertex_that_is_stored_is_found_again():
    held, _ = stored_atoms([[3.0, 0.1], [1.0, 2.0]], [0.5, 0.5])
    assert find_atom(held, Full(np.array([1.0, 2.0 + 1e-15]))) == 1
    assert find_atom(held, Full(np.array([3.0, 0.1 + 1e-12]))) == 2
    assert find_atom(held, Hot(1, 5.0)) == 2
    np.testing.assert_array_equal(held.points[2], [0.0, 5.0])
    assert held.number[0] == 2  # only a step lets it in


def test_the_two_lightest_atoms_make_room():
    points = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    held, iterate = stored_atoms(points, [0.4, 0.1, 0.2, 0.3], capacity=3)
    make_room(held)
    points, weights = atoms_of(held)
    assert sorted(weights) == pytest.approx([0.3, 0.3, 0.4])
    np.testing.assert_allclose(weights @ points, iterate.dense(), rtol=0.0, atol=1e-15)
    assert np.isclose(points, [-2.0 / 3.0, 1.0 / 3.0]).all(axis=1).any()


@pytest.mark.parametrize("method", DETERMINISTIC)
def test_few_rows_slow_a_run_down_but_do_not_mislead_it(method, monkeypatch):
    problem = cases.problem(fw.Logistic(), fw.L2Ball(10.0), n=60, d=15, density=1.0)
    monkeypatch.setattr(dictionary, "BUDGET", 0)
    monkeypatch.setattr(dictionary, "FEWEST", 2)
    solver = StepwiseSolver(problem, fw.methods.METHODS[method], 1, np.random.default_rng(0), problem.default_start())
    held, before = solver.parts[1].dictionary, problem.zero_value
    for _ in range(40):
        solver.advance(5)
        points, weights = atoms_of(held)
        found = problem.evaluate(solver.point())
        assert len(weights) <= 2
        assert weights.sum() == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(solver.point(), weights @ points, rtol=0.0, atol=1e-12)
        assert found.value <= before + 1e-14
        before = found.value
    assert found.gap < 0.05 * problem.gap(problem.default_start())


def test_an_atom_whose_weight_has_vanished_does_not_hold_a_run_up():
    held, iterate = stored_atoms([[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]], [0.5, 0.5, 0.0])
    set_direction(held, iterate, 0, 2, 1.0, 1.0, 0.0)
    Transfer(held, 0, 2, 1.0, 1.0, 0.0, held.weights[2]).apply(iterate, 0.0)
    np.testing.assert_array_equal(atoms_of(held)[0], [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(iterate.dense(), [0.5, 0.5])


@pytest.mark.parametrize("d", [2, 20, 1000, 2**17, 2**21])
def test_there_is_room_for_the_atoms_of_any_point_or_for_64_megabytes_of_them(d):
    room = len(Dictionary.of(Setting(cases.problem(n=40, d=5).samples, 1, np.zeros(d), None)).weights) - 1
    enough = min(40, d) + 1  # Caratheodory, of points or of their predictions
    assert room >= min(enough, 2**26 // (8 * d))
    assert room * 8 * d <= 2**26 or room == 16


@pytest.mark.parametrize("method", STOCHASTIC)
@pytest.mark.parametrize("constraint", [fw.L1Ball(1.5), fw.Box(-0.5, 1.0), fw.L2Ball(1.2)], ids=cases.name_of)
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


@pytest.mark.parametrize("method", DETERMINISTIC)
def test_deterministic_methods_on_breast_cancer(method):
    reach_the_optimum(method, *LOGISTIC_OPTIMA[0][:1], fw.Logistic(), fw.L1Ball(5.0), LOGISTIC_OPTIMA[0][2], 1e-8)


def test_pairwise_on_text():  # the others, and w8a, take longer than a test should: benchmarks/active_sets.py
    reach_the_optimum("pairwise", LOGISTIC_OPTIMA[1][0], fw.Logistic(), fw.L1Ball(100.0), LOGISTIC_OPTIMA[1][2], 1e-5)


HOUSING = [row for row in cases.REFERENCE_OPTIMA if row[0] == "california_housing"]


@pytest.mark.parametrize("kind", [fw.L1Ball, fw.Box])
def test_columns_five_orders_of_magnitude_apart(kind):
    reach_the_optimum("away", *next(row for row in HOUSING if isinstance(row[2], kind)), 1e-8)


def reach_the_optimum(method, name, loss, constraint, optimum, tolerance):
    """Check that a run ends within the tolerance of the known optimum, by a bound that is not above it."""
    problem = fw.Problem(*cases.data(name), loss, constraint)
    result = fw.minimize(problem, method, tol=tolerance, max_passes=10_000, random_state=0, trace=0)
    assert result.success
    assert result.gap <= tolerance * problem.zero_value
    assert result.lower_bound <= optimum + 1e-12
    assert abs(result.fun - optimum) <= max(tolerance, 1e-12) * problem.zero_value + 1e-12


@pytest.mark.parametrize(("name", "radius", "optimum"), LOGISTIC_OPTIMA)
def test_stochastic_pairwise_on_real_data(name, radius, optimum):
    X, y = cases.data(name)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(radius))
    result = fw.minimize(problem, "stochastic-pairwise", tol=0, max_passes=60, random_state=0, trace=0)
    assert abs(result.fun - optimum) <= 1e-8 * problem.zero_value


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", DETERMINISTIC + STOCHASTIC)
def test_a_slack_constraint_leaves_weight_on_zero(method):
    X, y = cases.table(fw.Squared(), n=60, d=4, density=1.0)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    problem = fw.Problem(X, y, "squared", fw.L1Ball(10.0 * np.abs(best).sum()))
    result = fw.minimize(problem, method, tol=1e-6, max_passes=5000, random_state=0)
    assert result.success
    np.testing.assert_allclose(result.x, best, atol=1e-2)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", ["away", "stochastic-away"])
@pytest.mark.parametrize("missing", [0.0, 1e-16, 1e-12])
def test_the_only_atom_is_not_left(method, missing):
    """Its weight may be less than one by rounding: a step away from it would lead to zero, which is not in the set."""
    rng = np.random.default_rng(0)
    problem = fw.Problem(rng.normal(size=(8, 1)), np.sign(rng.normal(size=8)), "sigmoid", fw.Simplex(0.63))
    start = np.array([0.63 * (1.0 - missing)])
    result = fw.minimize(problem, method, x0=start, tol=0.0, max_passes=20, batch_size=1, random_state=0)
    assert problem.constraint.contains(result.x)
