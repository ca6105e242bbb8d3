"""Linear conditions that hold exactly: optima, bounds, feasibility, prices, contradictions, and places of rows."""

import time

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.solvers import corrective
from frankwolfe.solvers.corrective.conditions import ModelVertices, best_multipliers
from frankwolfe.solvers.corrective.feasible_point import rounding_of
from frankwolfe.solvers.corrective.quadratic_program import Program, minimise
from tests import cases
from tests.fuzz import conditions as random_conditions
from tests.fuzz.conditions import optimum
from tests.programs import described

pytestmark = pytest.mark.usefixtures("interpreted")


def certified(problem, tol=1e-8, **options):
    """The result of ``auto``; it is certified, feasible, and its bound holds in exact enough arithmetic."""
    result = fw.minimize(problem, tol=tol, max_passes=500, **options)
    assert result.method == "auto: corrective"
    assert result.success, result
    random_conditions.check(problem, result)
    return result


# --- optima -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(24))
def test_random_problems_agree_with_a_solver_of_convex_programs(number):
    problem = random_conditions.problem(number)
    result, best = certified(problem, 1e-6 if random_conditions.is_smooth_set(problem) else 1e-8), optimum(problem)
    assert best is None or abs(result.fun - best) <= 2e-6 * problem.zero_value


# at (5, 377) to (6, 323) more conditions are tight than there are columns, and they agree up to rounding only; in the
# last two the set fixes the product of a row
SLICE = [*((0, k) for k in range(11)), (5, 377), (6, 180), (6, 323), (47, 14687), (47, 18503)]


@pytest.mark.parametrize(("seed", "number"), SLICE)
def test_a_slice_of_the_fuzz(seed, number):
    case = random_conditions.make(seed, number)
    assert not case.examine().failures, case


@pytest.mark.parametrize(
    "constraint",
    [fw.L2Ball(2.0), fw.GroupBall(np.arange(30) // 3, 3.0), fw.KSupportBall(5, 2.0), fw.MonotoneBox(-1.0, 1.0)],
    ids=["l2", "groups", "k-support", "monotone"],
)
def test_long_chains_over_curved_sets_take_few_passes(constraint):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30))
    y = X @ rng.normal(size=30) + rng.normal(size=200)
    A = np.diff(np.eye(30), axis=0)[:26] * (-1.0 if isinstance(constraint, fw.MonotoneBox) else 1.0)
    problem = fw.Problem(X, y, "squared", constraint, side=fw.LinearBounds(A, -0.01, None))
    result = certified(problem)
    assert result.passes <= 15
    assert result.fun == pytest.approx(optimum(problem), rel=1e-6)
    assert result.prices["side"].max() > 0.0
    assert (result.prices["side"][A @ result.x > 1e-3] == 0.0).all()


def test_inequalities_that_leave_no_room_are_equations():
    rng = np.random.default_rng(0)
    X, row = rng.normal(size=(40, 6)), rng.normal(size=(2, 6))
    y = X @ rng.normal(size=6)
    A, upper = np.vstack([row, -row.sum(axis=0)]), [0.1, 0.2, -0.3]
    one = certified(fw.Problem(X, y, "squared", fw.L2Ball(1.0), side=fw.LinearBounds(A, None, upper)))
    two = certified(fw.Problem(X, y, "squared", fw.L2Ball(1.0), side=fw.LinearBounds(row, [0.1, 0.2], [0.1, 0.2])))
    assert one.fun == pytest.approx(two.fun, rel=1e-8)
    assert one.passes <= 15


@pytest.mark.parametrize("most_weights", [0, corrective.MOST_WEIGHTS], ids=["vertices", "interior"])
@pytest.mark.parametrize("ends", [(0.0, 0.0), (5e-17, 5e-17), (-0.07, 5e-17)])
def test_a_product_that_the_set_fixes_is_its_bound_up_to_rounding(ends, most_weights, monkeypatch):
    monkeypatch.setattr(corrective, "MOST_WEIGHTS", most_weights)
    problem = random_conditions.problem([2, 235, 3], ("spectrahedron",), most=51)
    A = np.array([[0.0, -1.0, 1.0, 0.0], [0.0, 0.0, -1.0, 1.0]])  # a symmetric matrix: the first product is zero
    side = fw.LinearBounds(A, [ends[0], -np.inf], [ends[1], 0.53])
    problem = fw.Problem(problem.X, problem.y, problem.loss, problem.constraint, side=side)
    result = fw.minimize(problem, tol=1e-7)
    assert result.success
    assert result.violation <= 1e-14
    assert result.fun == pytest.approx(optimum(problem), rel=1e-6)


@pytest.mark.parametrize("number", range(24))
def test_budgets_with_bounds_agree_with_a_solver_of_convex_programs(number):
    problem = random_conditions.problem(number, sets=tuple(random_conditions.BUDGETS))
    result, best = certified(problem), optimum(problem)
    low, high = problem.constraint.structure().ends() or (-np.inf, np.inf)
    assert (result.x >= low).all()
    assert (result.x <= high).all()
    assert best is None or abs(result.fun - best) <= 2e-6 * problem.zero_value


@pytest.mark.parametrize("seed", [1, 4, 5, 20])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_start_at_a_vertex_without_room_is_left(seed, intercept):
    """All weights are at a bound or held by the equation: only new multipliers show which column should join."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y = X @ rng.normal(size=2) * 2.0 + 0.1 * rng.normal(size=30) + 2.0
    side = fw.LinearBounds(np.ones((1, 2)), 0.5, 0.5)
    certified(fw.Problem(X, y, "squared", fw.Box(-0.5, 0.5), intercept=intercept, side=side))


def test_weights_that_sum_to_one_under_a_cap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 400))
    y = X[:, :3].mean(axis=1) + 0.1 * rng.normal(size=300)
    sums = fw.Problem(
        X, y, "squared", fw.Box(0.0, np.full(400, 0.1)), side=fw.LinearBounds(np.ones((1, 400)), 1.0, 1.0)
    )
    caps = fw.Problem(X, y, "squared", fw.Simplex(1.0), side=fw.LinearBounds(sparse.eye_array(400), upper=0.1))
    one, other = certified(sums, 1e-9), certified(caps, 1e-9)
    assert one.fun == pytest.approx(other.fun, rel=1e-8)
    assert abs(one.x.sum() - 1.0) <= 1e-15
    assert one.x.min() >= 0.0
    assert one.x.max() <= 0.1
    assert other.x.max() <= 0.1


def test_the_units_of_rows_columns_and_targets_do_not_matter():
    problem = random_conditions.problem(3, sets=("l1",), losses=("squared",))
    X, y, side = np.asarray(problem.X), np.asarray(problem.y), problem.side
    first = certified(problem)
    units = 10.0 ** np.random.default_rng(0).uniform(-10.0, 10.0, size=(side.m, 1))
    for of_columns, of_targets in ((1.0, 1.0), (1e6, 1.0), (1.0, 1e-6), (1e-7, 1e5)):
        of_weights = of_targets / of_columns
        rows = fw.LinearBounds(
            side.A * units, side.lower * units[:, 0] * of_weights, side.upper * units[:, 0] * of_weights
        )
        ball, weight = fw.L1Ball(problem.constraint.radius * of_weights), problem.samples.weights
        other = fw.Problem(X * of_columns, y * of_targets, "squared", ball, weight, problem.intercept, side=rows)
        found = certified(other)
        assert found.fun == pytest.approx(first.fun * of_targets**2, rel=1e-6)


@pytest.mark.parametrize("outputs", ["multinomial", "multitask"])
def test_several_outputs(outputs):
    loss = fw.Multinomial(3) if outputs == "multinomial" else fw.MultitaskSquared(3)
    X, y = cases.vector_table(loss, n=60, d=6, density=1.0)
    A = np.random.default_rng(3).normal(size=(3, 18))
    side = fw.LinearBounds(A, [-0.1, -np.inf, 0.05], [0.1, -0.1, 0.05])
    problem = fw.Problem(X, y, loss, fw.L1Ball(3.0), intercept=True, side=side)
    assert certified(problem).x.shape == (6, 3)


def test_an_optimum_of_zero_is_certified():
    X = np.random.default_rng(0).normal(size=(20, 6))
    w = np.array([0.5, -0.3, 0.0, 0.0, 0.0, 0.1])
    side = fw.LinearBounds([[1.0, 1.0, 0.0, 0.0, 0.0, 1.0]], 0.3, 0.3)
    result = certified(fw.Problem(X, X @ w, "squared", fw.L1Ball(2.0), side=side), 1e-9)
    assert result.fun <= 1e-9


def test_rows_that_repeat_depend_on_each_other_or_are_zero():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(50, 8)), rng.normal(size=8)
    row, other = rng.normal(size=(2, 8))
    A = np.array([row, row, 1e6 * row, other, row + other, np.zeros(8), -row])
    sums = A @ (0.1 * w)
    lower, upper = np.where(np.arange(7) == 6, -np.inf, sums), sums + np.array([0, 0, 0, 0, 0, 1, 0])
    result = certified(fw.Problem(X, X @ w, "squared", fw.L1Ball(3.0), side=fw.LinearBounds(A, lower, upper)))
    assert np.isfinite(result.prices["side"]).all()
    assert result.prices["side"][5] == 0.0


@pytest.mark.parametrize(("size", "value"), [(4.6, 0.64), (770.0, 1.3e6)])
def test_a_quadratic_program_whose_typical_sizes_are_not_those_of_its_answer(size, value):
    # where the first row is tight, the third variable is a ten thousandth of the second
    rows = np.array([[0.0, 2.10928783e-03, -1.82070611e01], [1.0, 1.0, 1.0]])
    H = np.array([[293.6331, -1.149, -30.6665], [-1.149, 293.6331, -12.1725], [-30.6665, -12.1725, 293.6331]]) * 1e-4
    slope = np.array([-1.87156134e-01, -1.06535741e-01, -1.68587505e03])
    bounds = np.array([0.0, -np.inf]), np.array([np.inf, 770.0]), np.zeros(3), np.full(3, 770.0)
    answer = minimise(Program(H, slope, np.zeros(3), rows, *bounds), np.full(3, size), value)
    system = np.block([[H, rows[:1].T], [rows[:1], np.zeros((1, 1))]])
    np.testing.assert_allclose(answer.x, np.linalg.solve(system, np.append(-slope, 0.0))[:3], rtol=1e-9)


def test_a_quadratic_program_whose_only_feasible_point_is_at_its_bounds():
    ones, none = np.ones(2), np.full(2, np.inf)
    program = Program(np.eye(2), ones, 0.0 * ones, ones[None, :], 0.0 * ones[:1], 0.0 * ones[:1], 0.0 * ones, none)
    np.testing.assert_array_equal(minimise(program, ones, 1.0).x, 0.0)


# --- prices -------------------------------------------------------------------------------------------------------


WIDE = np.array([0.2, 0.5, 0.1, 0.3, 1.0])
PRICED = {
    "l1": lambda move: fw.L1Ball(1.5 + move("radius")),
    "nonnegative": lambda move: fw.NonNegativeL1Ball(1.5 + move("radius")),
    "l2": lambda move: fw.L2Ball(0.8 + move("radius")),
    "groups": lambda move: fw.GroupBall(np.array([0, 0, 1, 1, 2]), 0.9 + move("radius")),
    "simplex": lambda move: fw.Simplex(1.2 + move("radius")),
    "caps": lambda move: fw.CappedSimplex(WIDE + move("upper"), 1.2 + move("radius")),
    "box": lambda move: fw.Box(-WIDE - move("lower"), 0.5 * WIDE + move("upper")),
    "budget": lambda move: fw.Budget(-WIDE - move("lower"), 0.5 * WIDE + move("upper"), 0.9 + move("radius")),
}
"""Sets whose parameters move a little to the loose side."""


@pytest.mark.parametrize("name", PRICED)
def test_prices_are_the_slopes_of_the_optimum(name):
    rng, h = np.random.default_rng(5), 2e-4
    loss = "logistic" if list(PRICED).index(name) % 2 else "squared"
    X, A = rng.normal(size=(60, 5)), rng.normal(size=(3, 5))
    y = X @ [1.0, -1.0, 0.5, -0.1, 0.6] + 0.5 * rng.normal(size=60)
    y = np.where(y > 0.0, 1.0, -1.0) if loss == "logistic" else y
    at = A @ np.mean([PRICED[name](lambda what: 0.0).vertex(r) for r in (-X.T @ y, *rng.normal(size=(9, 5)))], axis=0)

    def fit(moved="", k=0, by=0.0):
        def move(what):
            return by * np.eye(5)[k] * (what == moved) if what in ("lower", "upper") else by * (what == moved)

        first, second, third = (by * (moved == "side" and k == row) for row in range(3))
        side = fw.LinearBounds(
            A, [-np.inf, at[1] - second, at[2] + third], [at[0] + first, at[1] + 0.1 + second, at[2] + third]
        )
        return fw.minimize(fw.Problem(X, y, loss, PRICED[name](move), side=side, intercept=True), tol=1e-10)

    result, unique = fit(), 0
    for what, prices in result.prices.items():
        if what == "lower" and name in ("simplex", "nonnegative", "caps"):
            continue  # these bounds do not move
        for k, price in enumerate(np.atleast_1d(prices)):
            loss_of, gain = (fit(what, k, -h).fun - result.fun) / h, (result.fun - fit(what, k, h).fun) / h
            if loss_of + gain < 0.0 and (what, k) in (("side", 2), ("radius", 0)):
                loss_of, gain = -gain, -loss_of  # an equation moves in the direction that helps
            assert gain - 1e-6 <= price <= loss_of + 1e-6
            if loss_of - gain <= 0.02 * loss_of + 1e-6:  # the optimum has one slope, so there is one price
                assert price == pytest.approx(0.5 * (loss_of + gain), rel=1e-3, abs=1e-6)
                unique += price > 1e-3
    assert unique >= 1


def test_every_convex_problem_has_the_price_of_its_radius():
    X, y = cases.table(fw.Logistic(), n=80, d=8, density=1.0)
    for method in ("auto", "pairwise", "sfw"):
        first, larger = (
            fw.minimize(fw.Problem(X, y, "logistic", fw.L1Ball(radius)), method, tol=1e-5, max_passes=3000)
            for radius in (1.0, 1.01)
        )
        assert first.prices["radius"] == pytest.approx((first.fun - larger.fun) / 0.01, rel=0.05)
        assert "side" not in first.prices
    assert fw.minimize(fw.Problem(X, y, "logistic", fw.L1Ball(1e4)), tol=1e-9).prices["radius"] <= 1e-8
    assert "radius" not in fw.minimize(fw.Problem(X, y, "logistic", fw.Box(-1.0, 0.5))).prices
    assert fw.minimize(fw.Problem(X, y, "sigmoid", fw.L1Ball(1.0))).prices == {}


# --- contradictions -------------------------------------------------------------------------------------------------


X, Y = np.eye(4), np.array([1.0, -1.0, 1.0, 0.5])


def contradictory(A, lower, upper, constraint=None, names=None):
    constraint = fw.L1Ball(1.0) if constraint is None else constraint
    return fw.Problem(X, Y, "squared", constraint, side=fw.LinearBounds(A, lower, upper, names))


@pytest.mark.parametrize("constraint", [fw.L1Ball(1.0), fw.Box(-1.0, 1.0), fw.L2Ball(1.0), fw.Simplex(1.0)])
def test_a_smallest_contradiction_is_named(constraint):
    A = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    problem = contradictory(A, [0.5, 0.1, -2.0, -2.0], [2.0, 2.0, 0.2, 0.2], constraint, list("abcd"))
    with pytest.raises(ValueError, match=r"satisfy row 0 \('a'\), row 2 \('c'\) and row 3 \('d'\) together: leave one"):
        fw.minimize(problem)


@pytest.mark.parametrize("miss", [1e-3, 1e-9, 1e-12])
def test_tiny_contradictions_are_found(miss):
    A = [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match="satisfy row 0 and row 1 together"):
        fw.minimize(contradictory(A, [0.3, 0.3 + miss], [0.3, 0.3 + miss]))


def test_a_single_row_that_cannot_hold_is_named():
    with pytest.raises(ValueError, match=r"satisfy row 0 \('sum'\): its product with them is between -1 and 1"):
        fw.minimize(contradictory([[1.0, 1.0, 0.0, 0.0]], 2.0, 3.0, names=["sum"]))


def test_names_are_checked():
    with pytest.raises(ValueError, match="there are 2 names, but A has 1 rows"):
        fw.LinearBounds([[1.0]], 0.0, names=["a", "b"])
    with pytest.raises(TypeError, match="names must be a list of strings"):
        fw.LinearBounds([[1.0]], 0.0, names="a")


# --- runs ---------------------------------------------------------------------------------------------------------


def fairness(loss="logistic", constraint=None, **options):
    X, y = cases.table(fw.Logistic(), n=200, d=12, density=1.0)
    A = np.random.default_rng(1).normal(size=(4, 12))
    side = fw.LinearBounds(A, [-0.01, -np.inf, 0.1, -0.02], [0.01, 0.0, 0.1, 0.02])
    return fw.Problem(X, y, loss, fw.L1Ball(3.0) if constraint is None else constraint, side=side, **options)


def test_warm_starts_and_feasible_starts():
    problem = fairness()
    first = certified(problem, 1e-9)
    again = fw.minimize(problem, tol=1e-9, x0=first)
    assert (again.nit, again.success) == (0, True)
    np.testing.assert_array_equal(again.x, first.x)
    for x0 in (first.x, np.eye(12)[0], 0.5 * first.x):
        assert certified(problem, 1e-9, x0=x0).fun == pytest.approx(first.fun, rel=1e-8)


def test_an_interrupted_run_returns_a_feasible_point():
    problem = fairness()

    def stop(state):
        if state.nit >= 1:
            raise KeyboardInterrupt

    result = fw.minimize(problem, tol=1e-14, callback=stop)
    assert result.status == "interrupted"
    random_conditions.check(problem, result)


@pytest.mark.parametrize("how", ["time", "interrupt"])
def test_a_long_round_ends_at_the_time_limit_and_by_an_interrupt(how, monkeypatch):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(100, 30)), np.diff(np.eye(30), axis=0)
    problem = fw.Problem(X, X[:, 0] + rng.normal(size=100), "squared", fw.L2Ball(2.0), side=fw.LinearBounds(A, 0.0))
    monkeypatch.setattr(corrective, "interior_of", lambda problem: None)  # vertex after vertex
    add, calls = ModelVertices.add, []

    def counted(atoms, priced):
        calls.append(1)
        if how == "interrupt" and len(calls) == 30:
            raise KeyboardInterrupt
        time.sleep(0.005 if how == "time" else 0.0)
        return add(atoms, priced)

    monkeypatch.setattr(ModelVertices, "add", counted)
    result = fw.minimize(problem, tol=1e-10, max_seconds=0.1 if how == "time" else None)
    assert result.status == ("max-seconds" if how == "time" else "interrupted")
    assert result.seconds < 2.0
    random_conditions.check(problem, result)
    assert result.fun == pytest.approx(problem.value(result.x), rel=1e-12)


@pytest.mark.parametrize("constraint", [None, fw.Box(-1.0, 1.0), fw.L2Ball(1.0)], ids=["l1", "box", "l2"])
def test_a_resumed_run_is_the_run(constraint, tmp_path):
    problem = fairness(constraint=constraint, intercept=True)
    whole = fw.minimize(problem, tol=1e-9)
    fw.minimize(problem, tol=1e-9, checkpoint=tmp_path / "run", max_passes=max(1.0, whole.passes // 2))
    resumed = fw.resume(tmp_path / "run", problem, max_passes=100)
    assert resumed.x.tobytes() == whole.x.tobytes()
    assert (resumed.fun, resumed.gap, resumed.nit) == (whole.fun, whole.gap, whole.nit)


def test_threads_leave_the_bits_alone():
    found = [fw.minimize(fairness(), tol=1e-8, n_threads=n) for n in (1, 2)]
    assert found[0].x.tobytes() == found[1].x.tobytes()


def test_rows_on_disk_give_the_same_answer(tmp_path):
    problem = fairness(intercept=True)
    fw.write_rows(tmp_path / "rows", problem.X, problem.y, shard=2000)
    store = fw.open_rows(tmp_path / "rows", memory=8000)
    other = fw.Problem(store, None, "logistic", problem.constraint, intercept=True, side=problem.side)
    first, second = certified(problem, 1e-9), fw.minimize(other, tol=1e-9)
    assert second.success
    assert second.violation <= 1e-15
    assert second.fun == pytest.approx(first.fun, rel=1e-9)
    np.testing.assert_allclose(second.x, first.x, atol=1e-6)


def test_a_path_of_radii_with_conditions():
    from frankwolfe.path import follow

    problem = fairness()
    results = list(follow(problem, [1.0, 2.0, 4.0], tol=1e-8))
    assert all(found.success for found in results)
    assert results[0].fun > results[1].fun > results[2].fun


@pytest.mark.parametrize("constraint", [fw.L1Ball(2.0), fw.Box(-1.0, 1.0), fw.L2Ball(1.0)], ids=["l1", "box", "l2"])
def test_a_weight_that_must_be_zero_is_zero(constraint):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(30, 6)), rng.normal(size=6)
    A = np.vstack([np.eye(6)[0], rng.normal(size=(2, 6))])
    side = fw.LinearBounds(A, [0.0, 0.1, -np.inf], [0.0, 0.1, -0.1])
    result = certified(fw.Problem(X, X @ w, "squared", constraint, side=side), 1e-6)
    assert result.x[0] == 0.0


def test_boxes_of_any_size_have_a_feasible_point():
    rng = np.random.default_rng(0)
    X, A, inside = rng.normal(size=(20, 6)), rng.normal(size=(4, 6)), rng.uniform(-0.5, 0.5, size=6)
    for size in (1e-15, 1.0, 1e15):
        side = fw.LinearBounds(A, size * (A @ inside), size * (A @ inside))
        problem = fw.Problem(X / size, X[:, 0], "squared", fw.Box(-size, size), side=side)
        assert certified(problem, 1e-6).fun == pytest.approx(certified(problem, 1e-8).fun, rel=1e-5)


@pytest.mark.parametrize("seed", [23, 26, 48])
def test_weights_at_a_bound_away_from_zero_stay_within_it_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 8))
    upper = np.where(rng.random(8) < 0.5, -rng.random(8), 1.0)
    rows, near = rng.normal(size=(3, 8)), np.minimum(upper, 0.0)
    side = fw.LinearBounds(rows, rows @ near - 0.05, rows @ near + 0.1)
    constraint = fw.Budget(-np.inf, upper, np.abs(near).sum() + 0.1)
    with fw.python_mode():
        found = fw.minimize(fw.Problem(X, np.sign(rng.normal(size=30)), "logistic", constraint, side=side), tol=1e-8)
    assert found.success
    assert (found.x <= upper).all()


@pytest.mark.parametrize("seed", [28, 97, 189, 220])
def test_multipliers_are_found_where_equations_fix_the_weights(seed):
    rng, d = np.random.default_rng(seed), 10
    w = 0.3 * rng.normal(size=d)
    lower = np.where(rng.random(d) < 0.3, w, np.where(rng.random(d) < 0.4, -np.inf, np.minimum(w, 0.0) - 0.3))
    upper = np.where(rng.random(d) < 0.15, w, np.where(rng.random(d) < 0.5, np.inf, np.maximum(w, 0.0) + 0.3))
    A = rng.normal(size=(49, d)) * (rng.random((49, d)) < 0.4)
    low = A @ w - rng.random(49) * (rng.random(49) < 0.5)
    high = A @ w + rng.random(49) * (rng.random(49) < 0.5)
    low[:13] = high[:13] = A[:13] @ w
    constraint = fw.Budget(lower, np.maximum(lower, upper), 1.1 * np.abs(w).sum() + 0.01)
    X, y = rng.normal(size=(18, d)), np.where(rng.random(18) < 0.5, -1.0, 1.0)
    problem = fw.Problem(X, y, "logistic", constraint, intercept=True, side=fw.LinearBounds(A, low, high))
    found = fw.minimize(problem, tol=1e-7)
    assert found.success
    assert np.allclose(found.x, w, atol=1e-9)


def test_quadratic_programs_that_are_not_solved_still_keep_their_rows():
    case = random_conditions.make(84, 2987).problem
    found = fw.minimize(case, tol=3e-7, max_passes=500)
    assert (np.abs(case.side.excess(found.x)) <= rounding_of(case.side, found.x)).all()
    assert found.success


@pytest.mark.parametrize(
    "constraint",
    [
        fw.L1Ball(1.5),
        fw.Simplex(1.5),
        fw.sets.NonNegativeL1Ball(1.5),
        fw.Box(-0.5, 0.7),
        fw.Budget(-0.4, 0.9, 1.5),
        fw.CappedSimplex(0.6, 1.5),
        fw.sets.Translated(fw.L1Ball(1.5), np.full(6, 0.1)),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
def test_best_multipliers_close_the_gap_of_the_linear_program(constraint):
    rng = np.random.default_rng(3)
    w0, A, r = constraint.vertex(np.ones(6)), rng.normal(size=(3, 6)), rng.normal(size=6)
    w0 = 0.5 * (w0 + constraint.vertex(-np.arange(6.0)))
    side = fw.LinearBounds(A, [-np.inf, A[1] @ w0, A[2] @ w0 - 0.1], [A[0] @ w0 + 0.1, A[1] @ w0, np.inf])
    problem = fw.Problem(np.eye(6), np.ones(6), "squared", constraint, side=side)
    multipliers = best_multipliers(problem, problem.side, r)
    bound = -problem.constraint.support(-(r + A.T @ multipliers)) - problem.side.support(multipliers)
    w = cp.Variable(6)
    rows = [A[0] @ w <= A[0] @ w0 + 0.1, A[1] @ w == A[1] @ w0, A[2] @ w >= A[2] @ w0 - 0.1]
    best = cp.Problem(cp.Minimize(r @ w), described(problem.constraint, w) + rows).solve(solver=cp.CLARABEL)
    assert bound == pytest.approx(best, abs=1e-7)
