"""Budgets within bounds, and capped simplices: against linear programs, a convex solver, and simpler sets."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog

import frankwolfe as fw
from frankwolfe.sets.base import Bounds, Hull, Knapsack, for_shape
from frankwolfe.solvers.corrective import solver_for
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.interior import InteriorSolver
from frankwolfe.solvers.corrective.working_set import WorkingSetSolver
from tests import cases
from tests.programs import optimum
from tests.reference import sets as known

INF = np.inf
SEEDS = pytest.mark.parametrize("seed", range(40))


def random_budget(rng, d):
    return known.Budget.random(rng, d).make()


def random_simplex(rng, d):
    return known.CappedSimplex.random(rng, d).make()


def smallest(constraint, c):
    """Smallest ``<c, w>`` over a set by a linear program, the weights in units of the radius."""
    d, unit = len(c), constraint.radius
    if isinstance(constraint, fw.CappedSimplex):
        bounds = [(0.0, cap / unit) for cap in np.broadcast_to(constraint.cap, d)]
        found = linprog(c, A_eq=np.ones((1, d)), b_eq=[1.0], bounds=bounds)
    else:  # sizes t with -t <= w <= t
        bounds = np.transpose([np.broadcast_to(b, d) / unit for b in (constraint.lower, constraint.upper)])
        eye, row = np.eye(d), np.r_[np.zeros(d), np.ones(d)]
        A = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), row])
        bounds = [*map(tuple, bounds), *[(0.0, None)] * d]
        found = linprog(np.r_[c, np.zeros(d)], A_ub=A, b_ub=np.r_[np.zeros(2 * d), 1.0], bounds=bounds)
    return unit * found.fun if found.status == 0 else None


@SEEDS
@pytest.mark.parametrize("make", [random_budget, random_simplex], ids=["Budget", "CappedSimplex"])
@pytest.mark.usefixtures("interpreted")
def test_vertices_are_those_of_a_linear_program(make, seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 9))
    constraint = make(rng, d)
    for c in (rng.normal(size=d), rng.choice([-1.0, 0.0, 1.0], d), 10.0 ** rng.uniform(-6.0, 6.0, d)):
        s = constraint.vertex(c)
        assert constraint.contains(s, 1e-13)
        assert constraint.support(-c) == pytest.approx(-(c @ s), rel=1e-12, abs=1e-14 * constraint.radius)
        best = smallest(constraint, c / np.abs(c).max() if c.any() else c)
        if best is not None:  # a program of a single point may be infeasible by rounding
            size = np.abs(c).max() or 1.0
            assert c @ s / size == pytest.approx(best, abs=1e-6 * constraint.radius)


@pytest.mark.parametrize("name", ["Budget", "Budget-signed", "CappedSimplex"])
@pytest.mark.parametrize("loss", [fw.Logistic(), fw.Squared()], ids=cases.name_of)
@pytest.mark.parametrize("d", [9, 250])
@pytest.mark.usefixtures("interpreted")
def test_certified_answers_agree_with_a_convex_solver(name, loss, d):
    problem = cases.problem(loss, cases.SIZED_SETS[name](d), n=60, d=d)
    if name == "Budget-signed" and d > 200:
        problem = problem.over(fw.Budget(*problem.constraint[:2], 10.0))
    assert (solver_for(problem) is WorkingSetSolver) == (d > 200)
    result = fw.minimize(problem, tol=1e-8)
    assert result.success
    assert result.passes <= 100.0
    assert problem.constraint.contains(result.x, 1e-13)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy's own
        best = optimum(problem)
    assert result.fun == pytest.approx(best, abs=1e-6 * problem.zero_value)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_portfolio_of_two_thousand_assets_takes_few_passes(scale):
    rng = np.random.default_rng(0)
    returns = 0.01 * (rng.normal(size=(300, 8)) @ rng.normal(size=(8, 2000)) + rng.normal(size=(300, 2000)))
    capped = fw.CappedSimplex(0.1 * scale, scale)
    problem = fw.Problem((returns + 0.001) / scale, np.full(300, 0.01), "squared", capped)
    result = fw.minimize(problem, tol=1e-6)
    assert result.success
    assert result.passes < 40.0
    assert capped.contains(result.x, 1e-12)
    assert np.count_nonzero(result.x) < 400


def test_working_sets_are_for_many_weights_in_memory(tmp_path):
    X, y = cases.table(fw.Squared(), n=20, d=250)
    problem = fw.Problem(X, y, "squared", fw.CappedSimplex(0.1))
    assert solver_for(problem) is WorkingSetSolver
    assert solver_for(problem.over(fw.sets.Counted(fw.sets.Scaled(fw.CappedSimplex(0.1), 2.0)))) is WorkingSetSolver
    assert solver_for(problem.over(fw.sets.Translated(fw.CappedSimplex(0.1), 1.0))) is not WorkingSetSolver
    fw.write_rows(tmp_path / "rows", X, y, shard=2)
    on_disk = fw.Problem(fw.open_rows(tmp_path / "rows", memory=10_000), None, "squared", fw.CappedSimplex(0.1))
    assert solver_for(on_disk) is CorrectiveSolver
    small = fw.Problem(X[:, :50], y, "squared", fw.CappedSimplex(0.1))
    assert solver_for(small) is InteriorSolver


# --- where one of the conditions does not bind --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "shape", "same"),
    [
        (fw.Budget(-INF, INF, 2.0), Hull(2.0, True, True), fw.L1Ball(2.0)),
        (fw.Budget(-5.0, 2.0, 2.0), Hull(2.0, True, True), fw.L1Ball(2.0)),
        (fw.Budget(0.0, INF, 2.0), Hull(2.0, False, True), fw.NonNegativeL1Ball(2.0)),
        (fw.Budget(-1.0, 0.5, 9.0), Bounds, fw.Box(-1.0, 0.5)),
        (fw.Budget(0.25, INF, 3.0), Hull(2.0, False, True), fw.sets.Translated(fw.NonNegativeL1Ball(2.0), 0.25)),
        (fw.CappedSimplex(INF, 2.0), Hull(2.0, False, False), fw.Simplex(2.0)),
        (fw.CappedSimplex(3.0, 2.0), Hull(2.0, False, False), fw.Simplex(2.0)),
        (fw.Budget(-1.0, 0.5, 2.0), Knapsack, fw.Polytope),
    ],
    ids=str,
)
@pytest.mark.usefixtures("interpreted")
def test_conditions_that_do_not_bind_leave_a_simpler_set(constraint, shape, same):
    ready = for_shape(constraint, 4)
    found = ready.structure().shape
    assert isinstance(found, shape) if isinstance(shape, type) else found == shape
    if shape is Knapsack:
        return
    X, y = cases.table(fw.Squared(), n=30, d=4)
    one, other = (fw.minimize(fw.Problem(X, y, "squared", each), tol=1e-9) for each in (constraint, same))
    assert one.success
    assert one.fun == pytest.approx(other.fun, abs=1e-8 * abs(other.fun))
    for c in np.random.default_rng(0).normal(size=(10, 4)):
        np.testing.assert_allclose(constraint.vertex(c), same.vertex(c), atol=1e-12)
    for method in ("pairwise", "away", "blended-pairwise"):
        assert fw.minimize(fw.Problem(X, y, "squared", constraint), method, tol=1e-3, max_passes=300).success
    assert constraint.diameter(4) == pytest.approx(for_shape(same, 4).diameter(4))


@pytest.mark.parametrize(
    ("constraint", "point"),
    [
        (fw.CappedSimplex(0.1, 1.0), np.full(10, 0.1)),
        (fw.CappedSimplex([0.3, 0.0, 0.7, *[0.0] * 7], 1.0), [0.3, 0.0, 0.7, *[0.0] * 7]),
        (fw.Budget(0.1, 5.0, 1.0), np.full(10, 0.1)),
        (fw.Budget(-7.0, [-0.1] * 10, 1.0), np.full(10, -0.1)),
        (fw.Budget(0.25, 0.25, 9.0), np.full(10, 0.25)),
        (fw.Budget(0.0, 0.0, 1.0), np.zeros(10)),
    ],
    ids=str,
)
@pytest.mark.usefixtures("interpreted")
def test_a_set_of_one_point(constraint, point):
    X, y = cases.table(fw.Squared(), n=30, d=10)
    problem = fw.Problem(X, y, "squared", constraint)
    assert constraint.diameter(10) == 0.0
    for method in ("auto", "sfw", "away"):
        result = fw.minimize(problem, method, tol=1e-6, max_passes=20)
        np.testing.assert_allclose(result.x, point, rtol=1e-12, atol=0.0)
        assert result.gap <= 1e-10
    assert constraint.contains(point, 0.0)
    assert not constraint.contains(np.add(point, 1e-6))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("unit", [1e-12, 1e-4, 1e4, 1e12])
@pytest.mark.parametrize("name", ["Budget", "Budget-signed", "CappedSimplex"])
def test_units_change_nothing(name, unit):
    X, y = cases.table(fw.Squared(), n=30, d=9)
    plain = cases.SIZED_SETS[name](9)
    scaled = type(plain)(*(unit * np.asarray(field) if np.ndim(field) else unit * field for field in plain))
    one = fw.minimize(fw.Problem(X, y, "squared", plain), tol=1e-8)
    other = fw.minimize(fw.Problem(X / unit, y, "squared", scaled), tol=1e-8)
    assert one.success
    assert other.success
    assert other.fun == pytest.approx(one.fun, abs=1e-7 * one.tolerance / 1e-8)
    assert scaled.contains(other.x, 1e-12)


@SEEDS
@pytest.mark.usefixtures("interpreted")
def test_bounds_hold_to_rounding_and_forbidden_weights_stay_zero(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 12))
    X, y = rng.normal(size=(20, d)), rng.normal(size=20)
    for constraint in (random_budget(rng, d), random_simplex(rng, d)):
        problem = fw.Problem(X / constraint.radius, y, "squared", constraint)
        for method in ("auto", "sfw", "pairwise"):
            x = fw.minimize(problem, method, tol=1e-7, max_passes=30, random_state=0).x
            assert known.violation(known.definition(constraint), x) <= 1e-12
            lower, upper = (0.0, constraint.cap) if hasattr(constraint, "cap") else constraint[:2]
            fixed = np.broadcast_to((np.asarray(lower) == 0.0) & (np.asarray(upper) == 0.0), d)
            assert not x[fixed].any()


@pytest.mark.usefixtures("interpreted")
def test_a_path_of_radii_goes_as_far_as_the_caps_allow():
    X, y = cases.table(fw.Squared(), n=30, d=10)
    path = fw.radius_path(
        X, y, loss="squared", constraint=fw.Budget(-0.2, 0.3, 1.0), radii=[0.1, 0.5, 1.0, 5.0], tol=1e-6
    )
    assert path.success.all()
    assert (np.diff(path.funs) <= 1e-12).all()
    for constraint, low, high in [(fw.Budget(0.1, 2.0, 3.0), 1.0, 20.0), (fw.CappedSimplex(0.2, 1.0), 0.0, 2.0)]:
        for made, factor in ((constraint, 1.0), (fw.sets.Scaled(constraint, 2.0), 2.0)):
            grid = fw.radius_path(X, y, loss="squared", constraint=made, n_radii=4, tol=1e-4).radii
            assert len(grid) == 4
            assert factor * low * (1.0 - 1e-12) <= grid[0] < grid[-1] <= factor * high * (1.0 + 1e-12)
    with pytest.raises(ValueError, match=r"the caps of 10 weights sum to 2, less than radius = 2\.5; raise cap"):
        fw.radius_path(X, y, loss="squared", constraint=fw.CappedSimplex(0.2, 1.0), radii=[1.0, 2.5])


@SEEDS
def test_the_price_of_a_radius_is_the_slope_of_the_support_function(seed):
    rng = np.random.default_rng(seed)
    c = rng.normal(size=6)
    for made in (fw.Budget(-0.3, [0.2, 0.5, 1.0, 0.1, 0.4, np.inf], 1.0), fw.CappedSimplex(0.45, 1.3), fw.L1Ball(2.0)):
        for constraint in (made, fw.sets.Scaled(made, 3.0), fw.sets.Translated(made, 0.5)):
            radius = constraint.own_radius()
            rise = constraint.with_radius(radius * (1.0 + 1e-6)).support(c) - constraint.support(c)
            assert constraint.radius_price(c) == pytest.approx(rise / (1e-6 * radius), rel=1e-6, abs=1e-6)
