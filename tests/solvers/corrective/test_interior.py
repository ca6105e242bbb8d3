"""The corrective method on sets with a barrier: certified whatever the scales, and the optimum of another solver."""

import warnings

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.compile.kernels import Kernel, compile_above
from frankwolfe.sets.base import for_shape
from frankwolfe.solvers.corrective import solver_for
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.hessian import FullHessian, loss_curvatures, objective_hessian
from frankwolfe.solvers.corrective.interior import InteriorSolver, QuadraticModel, _Followers, with_small_common_parts
from frankwolfe.solvers.corrective.low_rank import LowRankSolver
from tests import cases
from tests.programs import optimum

SCALES = np.geomspace(1e-3, 1e3, 9)[[4, 0, 7, 2, 8, 5, 1, 6, 3]]

CURVED = {
    name: make
    for name, make in cases.SIZED_SETS.items()
    if "called-back" not in name and name != "Cached" and for_shape(make(9), 9).barrier(9) is not None
}


def ill_scaled(name, loss=None):
    """Return a problem whose columns differ in scale by six orders of magnitude."""
    loss = fw.Squared() if loss is None else loss
    X, y = cases.table(loss, n=60, d=9, density=1.0)
    return fw.Problem(X * SCALES, y, loss, CURVED[name](9))


def test_a_kind_of_problem_is_warmed_up_once(monkeypatch):
    problem, called, run = cases.problem(fw.Logistic(), fw.L2Ball(2.0), n=60, d=9), set(), Kernel.__call__
    monkeypatch.setattr("frankwolfe.solvers.corrective.rounds._warm", set())
    monkeypatch.setattr(Kernel, "__call__", lambda self, *args: called.add(self.__name__) or run(self, *args))
    solver = InteriorSolver(problem, problem.default_start())
    with compile_above(0):
        solver.warm_up()
    before = set(called)
    assert solver.rows_read == 0
    with compile_above(0):
        solver.advance(4)
    assert called == before != set()
    called.clear()
    with compile_above(0):
        InteriorSolver(problem, problem.default_start()).warm_up()
    assert not called


@pytest.mark.parametrize("name", CURVED)
def test_columns_of_any_scale_are_certified_in_few_passes(name):
    problem = ill_scaled(name)
    result = fw.minimize(problem, tol=1e-8, max_passes=60)
    assert result.success
    assert problem.constraint.contains(result.x)
    assert problem.gap(result.x) <= 1.01 * result.tolerance


@pytest.mark.parametrize("name", ["LpBall-4", "KSupportBall", "Ellipsoid-matrix", "GroupBall", "TraceBall"])
@pytest.mark.parametrize("loss", [fw.Logistic(), fw.Squared()], ids=cases.name_of)
def test_the_optimum_is_that_of_an_interior_point_solver(name, loss):
    problem = fw.Problem(*cases.table(loss, n=60, d=9, density=1.0), loss, CURVED[name](9))
    result = fw.minimize(problem, tol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy's own
        best = optimum(problem)
    assert result.success
    assert result.fun == pytest.approx(best, abs=1e-7 * problem.zero_value)


@pytest.mark.parametrize("radius", [0.1, 10.0, 1e3])
def test_a_ball_of_any_radius(radius):
    X, y = cases.table(fw.Squared(), n=60, d=9, density=1.0)
    problem = fw.Problem(X * SCALES, y, "squared", fw.L2Ball(radius))
    result = fw.minimize(problem, tol=1e-8, max_passes=20)
    assert result.success
    H, c = problem.X.T @ problem.X / 60, problem.X.T @ y / 60  # the secular equation, by bisection
    sizes, axes = np.linalg.eigh(H)
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm((axes.T @ c) / (sizes + middle)) > radius else (low, middle)
    best = axes @ ((axes.T @ c) / (sizes + high))
    assert result.fun == pytest.approx(problem.value(best), abs=1e-8 * problem.zero_value)


@pytest.mark.parametrize("loss", [fw.Multinomial(), fw.MultitaskSquared()], ids=cases.name_of)
@pytest.mark.parametrize("constraint", [fw.TraceBall(3.0), fw.L2Ball(3.0)], ids=cases.name_of)
@pytest.mark.parametrize("intercept", [False, True])
def test_several_outputs_of_raw_data(loss, constraint, intercept):
    X, y = cases.vector_table(loss, n=60, d=9, density=1.0)
    problem = fw.Problem(X * SCALES, y, loss, constraint, intercept=intercept)
    result = fw.minimize(problem, tol=1e-7, max_passes=200)
    assert result.success
    assert constraint._replace(shape=(9, 3)).contains(result.x) if hasattr(constraint, "shape") else True


def noisy_classes(classes):
    """Return a table with classes that no weights tell apart, from 0 on; of two, -1 and 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9))
    y = np.argmax(X @ rng.normal(size=(9, classes)) + rng.gumbel(size=(60, classes)), axis=1)
    return X, y if classes > 2 else 2.0 * y - 1.0


@pytest.mark.parametrize(("shift", "scales"), [(100.0, 1.0), (0.0, SCALES)], ids=["shifted", "scaled"])
def test_outputs_that_may_move_together_keep_their_digits_in_a_large_box(shift, scales):
    X, y = noisy_classes(4)
    problem = fw.Problem((X + shift) * scales, y, fw.Multinomial(4), fw.Box(-500.0, 1000.0))
    assert fw.minimize(problem, tol=1e-8, max_passes=30).success


def test_what_keeps_common_parts_small_costs_no_more_than_it_may():
    X, y = noisy_classes(3)
    problem = fw.Problem(X, y, fw.Multinomial(3), fw.Box(-5.0, 10.0))
    W = np.random.default_rng(1).normal(size=27) + 4.0
    at = problem.objective.point(problem.objective.predict(W))
    model = QuadraticModel(
        W, problem.gradient(W).ravel(), objective_hessian(problem, at, loss_curvatures(problem, at, 0.0, 0.0))
    )
    leaning, common = with_small_common_parts(model, problem, at, 1e-3, 1.0), np.repeat(W.reshape(9, 3).mean(axis=1), 3)
    added = leaning.curvature.H - model.curvature.H
    assert 0.0 < 0.5 * W @ added @ W <= 1.01e-4
    np.testing.assert_allclose(leaning.gradient(-common), model.gradient(-common), atol=1e-15)
    np.testing.assert_allclose(leaning.slope - model.slope, added @ W, atol=1e-15)
    pull = with_small_common_parts(model, problem, at, 1e-3, 1e-6).slope - model.slope
    assert problem.gap_for(pull, W) == pytest.approx(1e-7)


@pytest.mark.parametrize("radius", [1e4, 1e5])
def test_a_slope_far_steeper_than_the_objective_is_high(radius):
    X, y = noisy_classes(2)
    problem = fw.Problem(X * SCALES, y, "logistic", fw.MonotoneBox(-radius, radius))
    assert fw.minimize(problem, tol=1e-8, max_passes=30).success


@pytest.mark.parametrize("outputs", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("layout", ["dense64", "csr32"])
def test_the_hessian_is_that_of_the_objective(outputs, intercept, layout):
    loss = fw.Multinomial() if outputs else fw.Logistic()
    X, y = (cases.vector_table if outputs else cases.table)(loss, n=30, d=5)
    problem = fw.Problem(cases.LAYOUTS[layout](X), y, loss, fw.L2Ball(2.0), intercept=intercept)
    w = 0.3 * np.random.default_rng(0).normal(size=problem.size)
    own = problem.own()
    z = own.objective.predict(w)
    at = own.objective.point(z)
    H = objective_hessian(own, at, loss_curvatures(own, at, 0.0, 0.0))
    step = 1e-5
    for j in range(problem.size):
        move = step * np.eye(problem.size)[j]
        ahead, back = (np.ravel(problem.gradient(w + sign * move)) for sign in (1.0, -1.0))
        np.testing.assert_allclose(H.times(np.eye(problem.size)[j]), (ahead - back) / (2.0 * step), atol=1e-7)
    np.testing.assert_allclose(H.pulled(np.ones(problem.size)), H.pulled(np.eye(problem.size)), atol=1e-14)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("layout", ["dense64", "csr32"])
def test_rows_without_curvature_are_left_out_of_the_hessian(layout, intercept):
    rng = np.random.default_rng(0)
    X, y = cases.table(fw.Logistic(), n=60, d=9)
    problem = fw.Problem(cases.LAYOUTS[layout](X), y, "logistic", fw.L2Ball(2.0), intercept=intercept).own()
    at = problem.objective.point(problem.objective.zeros())
    curvatures = np.where(rng.random(60) < 0.25, rng.random(60), 0.0)
    rows, D = X - (curvatures @ X / curvatures.sum() if intercept else 0.0), curvatures[:, None]
    H = objective_hessian(problem, at, curvatures)
    np.testing.assert_allclose(H.H, rows.T @ (D * rows), atol=1e-6)
    for found in (H.root, H.without_rows().root):
        np.testing.assert_allclose(found.T @ found, H.H, atol=1e-12)


def test_more_columns_than_rows():
    X, y = cases.table(fw.Logistic(), n=12, d=30)
    problem = fw.Problem(X, y, "logistic", fw.L2Ball(3.0), intercept=True)
    assert fw.minimize(problem, tol=1e-9).success


def test_losses_that_are_not_convex_come_to_a_stationary_point():
    X, y = cases.table(fw.Cauchy(), n=60, d=9)
    problem = fw.Problem(X, y, fw.Cauchy(0.8), fw.L2Ball(3.0))
    result = fw.minimize(problem, tol=1e-8)
    assert result.success
    assert result.fun < problem.zero_value


def test_a_start_elsewhere_gives_the_same_answer():
    problem = ill_scaled("GroupBall", fw.Logistic())
    result = fw.minimize(problem, tol=1e-9)
    vertex = problem.constraint.vertex(np.ones(9))
    again = fw.minimize(problem, tol=1e-9, x0=vertex)
    assert again.success
    assert again.fun == pytest.approx(result.fun, abs=2e-9 * problem.zero_value)
    assert fw.minimize(problem, tol=1e-9, x0=result).success


def test_groups_without_weight_are_exactly_zero():
    X, _ = cases.table(fw.Squared(), n=60, d=9, density=1.0)
    problem = fw.Problem(X, X[:, 0] - X[:, 1], "squared", fw.GroupBall(np.arange(9) // 3, 0.5))
    result = fw.minimize(problem, tol=1e-6)
    assert result.success
    assert np.count_nonzero(result.x[3:]) == 0
    assert problem.gap(result.x) <= 1.01 * result.tolerance


def test_a_matrix_of_low_rank_is_one():
    X, _ = cases.table(fw.Squared(), n=60, d=9, density=1.0)
    problem = fw.Problem(X, np.outer(X[:, 0] - X[:, 1], [1.0, -2.0, 0.5]), fw.MultitaskSquared(), fw.TraceBall(1.0))
    result = fw.minimize(problem, tol=1e-6)
    assert result.success
    assert result.rank == 1


def test_the_same_bits_every_time():
    problem = ill_scaled("TraceBall", fw.Logistic())
    first, second = (fw.minimize(problem, tol=1e-8).x for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_solver_depends_on_size_and_data():
    X, y = np.random.default_rng(0).normal(size=(20, 100)), np.arange(20) % 2 * 2 - 1
    uneven, shifted, wide = X * np.geomspace(1e-3, 1e3, 100), X + 100.0, np.tile(X, 7)

    def chosen(X, constraint, **options):
        return solver_for(fw.Problem(X, y, "logistic", constraint, **options))

    ball = fw.L2Ball(1.0)
    assert {chosen(X[:, :60], ball), chosen(uneven, ball), chosen(shifted, ball)} == {InteriorSolver}
    assert chosen(X, ball) is CorrectiveSolver
    assert chosen(shifted, ball, intercept=True) is CorrectiveSolver  # which takes the shift away
    assert chosen(uneven, fw.L1Ball(1.0)) is CorrectiveSolver
    assert chosen(wide * np.geomspace(1e-3, 1e3, 700), ball) is CorrectiveSolver
    assert chosen(X, fw.TraceBall(1.0, (10, 10))) is LowRankSolver
    assert chosen(uneven, fw.TraceBall(1.0, (10, 10))) is InteriorSolver
    assert chosen(X, fw.Spectrahedron(1.0)) is InteriorSolver


WITH_EQUATIONS = {
    "Simplex": fw.Simplex(2.0),
    "Spectrahedron": fw.Spectrahedron(0.5),
    "Birkhoff": fw.Birkhoff(3),
    "Product": fw.Product([fw.Simplex(2.0), fw.Spectrahedron(0.5)], [5, 4]),
}


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("name", WITH_EQUATIONS)
def test_an_answer_without_its_tiny_weights_is_outside_by_no_more_than_rounding(name, tol):
    X, y = cases.table(fw.Squared(), n=60, d=9, density=1.0)
    with fw.python_mode():
        problem = fw.Problem(X * SCALES**2, y, fw.Squared(), WITH_EQUATIONS[name])
        result = fw.minimize(problem, "corrective", tol=tol, max_passes=60)
    assert result.success
    assert problem.constraint.contains(result.x, 1e-13)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_a_path_that_goes_closer_to_the_boundary_than_numbers_can_say_ends_before(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(20), rng.normal(size=20)])
    with fw.python_mode():
        problem = fw.Problem(X, rng.integers(0, 3, 20), fw.Multinomial(), fw.KSupportBall(3, 0.25))
        result = fw.minimize(problem, "corrective", tol=0.0, max_passes=100)
    assert result.status is fw.Status.STALLED
    assert result.gap <= 1e-15 * problem.zero_value


def test_what_all_vertices_share_does_not_drown_their_differences():
    rng = np.random.default_rng(17)
    X = rng.normal(size=(3, 10)) * 10.0 ** rng.uniform(-6.0, 6.0, 10)
    with fw.python_mode():
        constraint = fw.MonotoneBox(-0.25, 0.0, increasing=False)
        problem = fw.Problem(X, [1.0, -1.0, 1.0], "modified-huber", constraint, intercept=True)
        result = fw.minimize(problem, "corrective", tol=1e-8, max_passes=30)
    assert result.success


@pytest.mark.parametrize("seed", range(3))
def test_weights_that_are_as_good_as_zero_are_not_pressed_further(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=20), np.full(20, -1.7)])  # with an intercept the second column is nothing
    with fw.python_mode():
        problem = fw.Problem(X, rng.integers(0, 3, 20), fw.Multinomial(), fw.TraceBall(0.9), intercept=True)
        result = fw.minimize(problem, "corrective", tol=1e-8, max_passes=30)
    assert result.success


@pytest.mark.parametrize("seed", [0, 8, 10, 12])
def test_rounds_do_not_go_in_circles_where_gaps_jump(seed):
    rng = np.random.default_rng(seed)
    X, lower = rng.normal(size=(20, 8)), 1e6 * rng.normal(size=8)
    with fw.python_mode():
        box = fw.Box(lower, lower + 1e6 * rng.random(8))
        problem = fw.Problem(X, np.zeros(20), fw.Huber(0.7), box, intercept=True)
        result = fw.minimize(problem, "corrective", tol=1e-8, max_passes=500)
    assert result.gap <= 1e-9 * result.fun


@pytest.mark.parametrize("seed", [1, 3])
def test_a_run_that_starts_near_the_optimum_gets_closer(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 1))
    with fw.python_mode():
        problem = fw.Problem(X, X @ rng.normal(size=(1, 4)), fw.MultitaskSquared(), fw.LpBall(3.0, 1e-3))
        near = fw.minimize(problem, "corrective", tol=1e-6)
        assert fw.minimize(problem, "corrective", x0=near, tol=1e-12, max_passes=100).success


@pytest.mark.parametrize("seed", [75, 103, 134])
def test_a_model_that_leads_nowhere_is_followed_by_one_that_aims_lower(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3))
    X[:, 2] = -1.7
    with fw.python_mode():
        problem = fw.Problem(X, -np.ones(8), "squared-hinge", fw.ConvexHull(20.0 * rng.normal(size=(10, 3))))
        assert fw.minimize(problem, "corrective", tol=1e-6, max_passes=50).success


@pytest.mark.parametrize(("scales", "read"), [(np.ones(4), 0), (np.geomspace(1e-3, 1e3, 4), 0), (None, 1)])
def test_the_rows_are_factorised_only_where_their_squares_have_lost_digits(scales, read):
    rng, blocks = np.random.default_rng(0), []
    rows = rng.normal(size=(50, 4))
    rows = np.column_stack([rows[:, :3], rows[:, 2] + 1e-7 * rows[:, 3]]) if scales is None else rows * scales

    def again():
        blocks.append(rows)
        yield rows[:20]
        yield rows[20:]

    root = FullHessian(rows.T @ rows, again).root
    assert len(blocks) == read
    sizes = np.linalg.norm(rows, axis=0)
    np.testing.assert_allclose(
        root.T @ root / np.outer(sizes, sizes), rows.T @ rows / np.outer(sizes, sizes), atol=1e-14
    )
    if read:  # the smallest direction, of which the square keeps nothing
        least = np.linalg.svd(rows, compute_uv=False)[-1]
        assert np.linalg.svd(root, compute_uv=False)[-1] == pytest.approx(least, rel=1e-6)


def test_models_that_lead_nowhere_are_solved_further_however_large_the_gap_is():
    """The gap is a million times what the objective can fall: a tenth of its part is still far too much to leave."""
    rng = np.random.default_rng(298)
    scales = np.geomspace(1e-3, 1e3, 7)
    X = rng.normal(size=(30, 7)) * scales[rng.permutation(7)] + 100.0 * rng.normal(size=7) * scales[rng.permutation(7)]
    y = np.where(rng.random(30) < 0.7, 1.0, -1.0)
    ball = fw.GroupBall(np.array([3, 2, 0, 1, 2, 3, 0]), 75.0, np.inf)
    assert fw.minimize(fw.Problem(100.0 * X, y, "modified-huber", ball), tol=1e-3, max_passes=50).success


@pytest.mark.usefixtures("interpreted")
def test_a_gap_at_the_end_of_the_floating_point_numbers_is_no_division_by_zero():
    """All labels are the same, so that the best intercept is at infinity and losses fall to 1e-120 and less."""
    X = np.array([[0.04], [6e-4], [470.0], [680.0], [0.27]])
    problem = fw.Problem(X, np.ones(5), "logistic", fw.TraceBall(1.94, shape=(1, 1)), intercept=True)
    start = fw.minimize(problem, "momentum", max_passes=1, random_state=0).x
    assert fw.minimize(problem, tol=1e-10, max_passes=60, x0=start).success


def test_equations_that_depend_on_each_other_by_rounding_move_nothing():
    followers = _Followers.of(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]))
    assert np.isnan(followers.T).all()
    assert np.isfinite(_Followers.of(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])).T).all()
