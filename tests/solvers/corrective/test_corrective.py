"""The fully corrective method: certified optima on all parts, honest answers on awkward data."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

import frankwolfe as fw
from frankwolfe.compile.kernels import Kernel, compile_above
from frankwolfe.objective.objective import Objective
from frankwolfe.rows import Samples, as_rows
from frankwolfe.rows.dense import Centred
from frankwolfe.running.driver import TableError
from frankwolfe.sets.base import Hull
from frankwolfe.shards.local import ChunkedRows
from frankwolfe.solvers.corrective.active_atoms import (
    HESSIAN_LIMITS,
    ActiveMatrix,
    Coordinates,
    HessianLimits,
    copied_columns,
    joined_images,
)
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.hessian import coupled_curvatures
from frankwolfe.solvers.corrective.quadratic_models import STALE_CURVATURE, Hessian, _face_move, by_columns
from tests import cases, own_parts
from tests.fuzz.exact import Recomputed
from tests.reference import sets as known
from tests.reference.optimum import certified_optimum

HULLS = [constraint for constraint in cases.SETS if constraint.structure().coordinates is not None]
CONVEX = [loss for loss in cases.LOSSES if loss.convex]
NONE = HessianLimits(0, 0, 0)


def solver_of(problem, start=None, limits=HESSIAN_LIMITS):
    return CorrectiveSolver(problem, problem.default_start() if start is None else start, limits=limits)


def solve(problem, tolerance=1e-9, rounds=60, **options):
    """Make rounds until the exact gap is within ``tolerance * F(0)``; return the solver and all evaluations."""
    solver = solver_of(problem, **options)
    found = [solver.evidence().exact]
    while found[-1].gap > tolerance * problem.zero_value and len(found) <= rounds:
        assert solver.advance(1) == 1
        found.append(solver.evidence().exact)
    return solver, found


@pytest.mark.parametrize(
    ("table", "loss", "constraint", "optimum"),
    [
        pytest.param(*row, id=f"{row[0]}-{type(row[2]).__name__}-{max(np.abs(row[2])):g}")
        for row in cases.REFERENCE_OPTIMA
    ],
)
def test_reference_optima(table, loss, constraint, optimum):
    X, y = cases.data(table)
    problem = fw.Problem(X, y, loss, constraint)
    # on the l2 ball the predictions of vertices cancel: rounding leaves about 2e-10
    tolerance = 1e-9 if isinstance(constraint, fw.L2Ball) else 1e-10
    solver, found = solve(problem, tolerance, rounds=300)
    assert problem.gap(solver.point()) <= tolerance * problem.zero_value
    assert found[-1].value == pytest.approx(optimum, abs=2.0 * tolerance * problem.zero_value + 1e-12)
    assert problem.constraint.contains(solver.point())


def test_many_atoms_on_text():
    X, y = cases.data("rcv1_subset")
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(5000.0))
    solver, found = solve(problem, tolerance=1e-6, rounds=20)
    assert found[-1].gap <= 1e-6 * problem.zero_value
    assert len(found) <= 15
    assert np.count_nonzero(solver.point()) < 2500


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
@pytest.mark.parametrize("loss", cases.LOSSES, ids=cases.name_of)
@pytest.mark.usefixtures("interpreted")
def test_every_loss_on_every_set(loss, constraint):
    problem = cases.problem(loss, constraint, n=20, d=5)
    tolerance = 1e-7 if loss.convex else 1e-4
    solver, found = solve(problem, tolerance=tolerance, rounds=80)
    assert found[-1].gap <= tolerance * problem.zero_value
    assert problem.constraint.contains(solver.point())
    fresh = problem.evaluate(solver.point())
    assert fresh.value == pytest.approx(found[-1].value, rel=1e-12)
    assert fresh.gradient == pytest.approx(found[-1].gradient, abs=1e-12)
    assert fresh.gap == pytest.approx(found[-1].gap, abs=1e-11)


@pytest.mark.parametrize("limits", [HESSIAN_LIMITS, NONE], ids=["hessian", "columns"])
@pytest.mark.parametrize("constraint", HULLS, ids=cases.name_of)
def test_both_models_find_the_optimum(constraint, limits):
    problem = cases.problem(fw.Logistic(), constraint, n=60, d=30, layout="csr64")
    best = certified_optimum(problem, 1e-10)
    solver, found = solve(problem, tolerance=1e-9, limits=limits)
    assert found[-1].gap <= 1e-9 * problem.zero_value
    assert solver.evidence().exact.value <= best.value + 2e-9


@pytest.mark.parametrize("limits", [HESSIAN_LIMITS, NONE], ids=["hessian", "columns"])
@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_layouts_agree_and_python_agrees_with_compiled(layout, limits):
    problem = cases.problem(fw.Logistic(), fw.L1Ball(3.0), layout=layout, n=25, d=8)
    dense = cases.problem(fw.Logistic(), fw.L1Ball(3.0), n=25, d=8)
    compiled = solver_of(problem, limits=limits)
    compiled.advance(6)
    with fw.python_mode():
        written = solver_of(problem, limits=limits)
        written.advance(6)
        plain = solver_of(dense, limits=limits)
        plain.advance(6)
    assert compiled.point() == pytest.approx(written.point(), abs=1e-7)
    assert compiled.point() == pytest.approx(plain.point(), abs=1e-7)
    assert compiled.evidence().exact.value < 0.9 * problem.zero_value


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
def test_objective_never_rises(constraint):
    problem = cases.problem(fw.SquaredHinge(), constraint, n=50, d=15)
    _, found = solve(problem, tolerance=0.0, rounds=12)
    values = np.array([evaluation.value for evaluation in found])
    assert (np.diff(values) <= 1e-13 * problem.zero_value).all()
    assert values[-1] < values[0]


@pytest.mark.parametrize("constraint", [fw.L1Ball(1.5), fw.L2Ball(1.2)], ids=cases.name_of)
def test_weights_stand_for_repeated_rows(constraint):
    X, y = cases.table(fw.Logistic(), n=20, d=6)
    times = np.arange(20) % 3
    weighted = fw.Problem(X, y, "logistic", constraint, sample_weight=times)
    repeated = fw.Problem(np.repeat(X, times, axis=0), np.repeat(y, times), "logistic", constraint)
    one, _ = solve(weighted)
    other, _ = solve(repeated)
    assert one.point() == pytest.approx(other.point(), abs=1e-5)
    assert one.evidence().exact.value == pytest.approx(other.evidence().exact.value, abs=2e-9)


def _scaled(X):
    return X * np.logspace(-6, 6, X.shape[1])


AWKWARD = {
    "scaled": _scaled,
    "duplicated": lambda X: np.hstack([X, X, X[:, :2]]),
    "zero columns": lambda X: np.hstack([np.zeros((len(X), 3)), X, np.zeros((len(X), 2))]),
    "all zero": np.zeros_like,
    "wide": lambda X: np.hstack([np.roll(X, k, axis=0) for k in range(30)]),
    "one column": lambda X: X[:, :1],
}


@pytest.mark.parametrize("limits", [HESSIAN_LIMITS, NONE], ids=["hessian", "columns"])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_columns(name, radius, limits):
    X, y = cases.table(fw.Squared(), n=40, d=8)
    problem = fw.Problem(sparse.csr_array(AWKWARD[name](X)), y, "squared", fw.L1Ball(radius))
    solver, found = solve(problem, rounds=40, limits=limits)
    assert problem.constraint.contains(solver.point())
    exact = problem.evaluate(solver.point())
    rounding = np.finfo(float).eps * radius * float(np.abs(problem.X).max())  # of slopes, times how far vertices are
    assert found[-1].gap == pytest.approx(exact.gap, rel=1e-6, abs=1e-9 * problem.zero_value + rounding)
    if limits.usual or name != "scaled":  # without a Hessian, scales twelve orders apart are left with an honest gap
        assert found[-1].gap <= 1e-7 * problem.zero_value


def sparse_signal():
    """Columns, some of which a noisy signal depends on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9))
    return X, X @ (rng.normal(size=9) * (rng.random(9) < 0.6)) + 0.5 * rng.normal(size=60)


HARD_COLUMNS = {
    "scaled": lambda X: X * np.logspace(-3, 3, X.shape[1]),
    "shifted": lambda X: X + 100.0,
    "collinear": lambda X: np.hstack([X[:, :6], X[:, :3] * [1.0, 2.0, -1.0]]),
}


@pytest.mark.parametrize(
    ("name", "loss", "constraint"),
    [
        ("scaled", "logistic", fw.L1Ball(1e3)),
        ("scaled", "logistic", fw.NonNegativeL1Ball(1e3)),
        ("scaled", "logistic", fw.Simplex(1e4)),
        ("scaled", "logistic", fw.L1Ball(1e4)),
        ("scaled", "huber", fw.Simplex(10.0)),
        ("scaled", "huber", fw.NonNegativeL1Ball(1e5)),
        ("shifted", "squared", fw.L1Ball(1e4)),
        ("shifted", "huber", fw.L1Ball(1e5)),
        ("shifted", "logistic", fw.L1Ball(1e5)),
        ("collinear", "logistic", fw.Simplex(1e4)),
    ],
    ids=str,
)
@pytest.mark.usefixtures("interpreted")
def test_hard_columns_and_large_radii_are_certified(name, loss, constraint):
    X, signal = sparse_signal()
    y = np.where(signal > 0.0, 1.0, -1.0) if loss == "logistic" else signal
    problem = fw.Problem(HARD_COLUMNS[name](X), y, loss, constraint)
    result = fw.minimize(problem, tol=1e-8, max_passes=150, trace=0)
    assert result.success, result.message
    assert problem.constraint.contains(result.x)


def one_hot_table(rows=8124, columns=22):
    """Categories coded by ones, so that the columns of each add up to the same; labels from a rule."""
    rng = np.random.default_rng(0)
    common, blocks = rng.integers(0, 6, size=rows), []
    for _ in range(columns):
        kinds = int(rng.integers(2, 10))
        own = rng.choice(kinds, size=rows, p=rng.dirichlet(np.full(kinds, 0.6)))
        blocks.append(np.eye(kinds)[np.where(rng.random(rows) < 0.5, common % kinds, own)])
    score = 2.0 * blocks[4][:, 0] + blocks[0][:, 0] + 0.5 * blocks[8][:, 1] - blocks[19][:, 0]
    return sparse.csr_array(np.hstack(blocks)), np.where(score > 0.0, 1.0, -1.0)


@pytest.mark.parametrize("radius", [5.0, 1000.0])
def test_one_hot_columns_are_certified_to_the_last_digits(radius):
    X, y = one_hot_table()
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(radius))
    result = fw.minimize(problem, tol=1e-11, max_passes=100, trace=0)
    assert result.success, result.message


@pytest.mark.usefixtures("interpreted")
def test_a_run_that_stalls_returns_the_point_of_least_gap():
    """Objectives of the last points are equal but for rounding, gaps are not."""
    X, y = sparse_signal()
    problem = fw.Problem(HARD_COLUMNS["scaled"](X) + 100.0, y, "huber", fw.L1Ball(1e4))
    gaps = []
    result = fw.minimize(problem, tol=0.0, max_passes=150, callback=lambda state: gaps.append(state.gap_estimate))
    assert not result.success
    assert result.gap <= min(gaps) * (1.0 + 1e-6)  # which the last exact pass rounds in its own way


def test_the_last_digits_where_sums_over_many_rows_have_lost_them():
    X, y = cases.data("w8a")
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(5.0))
    result = fw.minimize(problem, tol=1e-11, max_passes=15, trace=0)
    assert result.success, result.message
    assert problem.gap(result.x) <= 1e-11 * problem.zero_value


@pytest.mark.parametrize("hull", [Hull(3.0, True, True), Hull(3.0, False, False), Hull(3.0, False, True)], ids=str)
def test_gap_and_slope_on_a_face_keep_their_digits(hull):
    """Near an optimum slopes on a face are a level and differences far below its rounding unit times the radius."""
    u = np.array([0.5, 1.5, 1.0])
    slope, moved = -(2.0 + np.array([0.0, 1e-13, 0.0])), u + np.array([0.0, 2e-13, -1e-13])
    exact = [Fraction(number) for number in slope]
    best = min(exact)
    gap = sum((one - best) * Fraction(weight) for one, weight in zip(exact, u, strict=True))
    assert hull.gap(slope, u) == pytest.approx(float(gap), rel=1e-9)
    level = sum(one * Fraction(weight) for one, weight in zip(exact, u, strict=True)) / 3
    along = sum((one - level) * (Fraction(b) - Fraction(a)) for one, a, b in zip(exact, u, moved, strict=True))
    assert hull.along(slope, u, moved) == pytest.approx(float(along), rel=1e-2)
    assert hull.along(slope, 0.5 * u, moved) == slope @ (moved - 0.5 * u)


@pytest.mark.parametrize("spent", [True, False])
def test_a_face_is_solved_to_the_last_digits_though_columns_are_ill_scaled(spent):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 7)) * np.logspace(-6, 6, 7)
    if spent:
        A[:, 3] = 0.0  # an atom at zero, as a start at zero is
    face, signs = np.arange(1, 7), np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    slope = A[:, 1:].T @ rng.normal(size=40)
    move = _face_move(A.T @ A, face, slope, signs, spent)
    rest = slope + A[:, 1:].T @ (A[:, 1:] @ move)
    if spent:
        assert abs(signs @ move) <= 1e-15 * np.abs(move).sum()
        rest -= signs * (signs @ rest) / len(signs)
    assert np.abs(rest).max() <= 1e-9 * np.abs(slope).max()


def test_slack_constraint_leaves_weight_on_zero():
    X, y = cases.table(fw.Squared(), n=60, d=6)
    problem = fw.Problem(X, y, "squared", fw.L1Ball(1e4))
    for limits in (HESSIAN_LIMITS, NONE):
        solver, found = solve(problem, tolerance=1e-12, limits=limits)
        assert np.abs(solver.point()).sum() < 1e3
        assert solver.point() == pytest.approx(np.linalg.lstsq(X, y, rcond=None)[0], abs=1e-6)
        assert found[-1].gap <= 1e-9 * problem.zero_value


def test_separable_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5))
    problem = fw.Problem(X, np.sign(X[:, 0]), "logistic", fw.L1Ball(200.0))
    _, found = solve(problem)
    assert found[-1].gap <= 1e-9 * problem.zero_value
    assert found[-1].value < 0.1


def test_starts_anywhere_and_goes_on():
    problem = cases.problem(fw.Logistic(), fw.Simplex(2.0))
    start = np.full(problem.d, 2.0 / problem.d)
    solver, found = solve(problem, start=start)
    assert found[0].value == pytest.approx(problem.value(start), rel=1e-12)
    again = CorrectiveSolver(problem, solver.point(), solver.state())
    assert again.steps == solver.steps > 0
    assert again.evidence().exact.gap == pytest.approx(found[-1].gap, abs=1e-12)


@pytest.mark.usefixtures("interpreted")
def test_parts_of_ones_own():
    problem = cases.problem(own_parts.LogCosh(), own_parts.CappedSimplex(0.3), n=30, d=6)
    solver, found = solve(problem, tolerance=1e-6, rounds=100)
    assert found[-1].gap <= 1e-6 * problem.zero_value
    assert problem.constraint.contains(solver.point())


@pytest.mark.parametrize("method", ["corrective", "pairwise"])
def test_sets_of_ones_own_made_of_coordinates(method):
    """A set that says what its atoms are is served by coordinates, as the package's own are."""
    own = cases.problem(fw.Logistic(), own_parts.Mixture(2.0), n=40, d=120)
    ours = cases.problem(fw.Logistic(), fw.Simplex(2.0), n=40, d=120)
    found, expected = (fw.minimize(problem, method, tol=1e-8, max_passes=500) for problem in (own, ours))
    assert found.success
    assert found.nit == expected.nit
    assert found.x == pytest.approx(expected.x, abs=1e-6)
    if method == "corrective":
        assert isinstance(solver_of(own).atoms, Coordinates)


@pytest.mark.usefixtures("interpreted")
def test_face_of_a_solver():
    problem = cases.problem(n=20, d=5)
    solver = solver_of(problem)
    solver.warm_up()
    assert (solver.steps, solver.rows_read, solver.batch_size) == (0, 0, 0)
    assert solver.evidence().exact is solver.evidence().exact
    assert solver.rows_read == problem.n
    assert solver.evidence().gap_estimate == solver.evidence().exact.gap
    assert solver.evidence().table_change is None
    assert np.isnan(TableError(solver).estimate(None))
    assert solver.finished() is None
    assert solver.advance(2) == 2
    assert solver.steps == 2
    assert solver.rows_read >= 2 * problem.n
    assert solver.state()["gradient"] == pytest.approx(problem.gradient(solver.point()))


@pytest.mark.usefixtures("interpreted")
def test_what_is_not_finite_is_not_stepped_on():
    problem = fw.Problem([[1e200, 1.0], [1.0, 2.0]], [1e200, 0.0], "squared", fw.L1Ball(1.0))
    solver = solver_of(problem)
    assert solver.advance(3) == 0
    assert not np.isfinite(solver.evidence().exact.value)


# --- through minimize -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
def test_minimize_certifies_by_name(constraint):
    problem = cases.problem(fw.Logistic(), constraint)
    result = fw.minimize(problem, "corrective", tol=1e-8, max_passes=2000)
    assert result.success
    assert result.gap == pytest.approx(problem.gap(result.x), abs=1e-12)
    assert result.checks == 0  # its gaps cost nothing beyond the passes it makes anyway
    assert result.passes > 0.0
    assert (np.diff(result.trace.fun) <= 1e-12).all()


def test_minimize_ends_where_rounding_does():
    X, y = cases.table(fw.Logistic())
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.5))
    result = fw.minimize(problem, "corrective", tol=1e-300, max_passes=10_000)
    assert result.status in (fw.Status.STALLED, fw.Status.CONVERGED)
    assert result.passes < 1000
    pulls = -y * expit(-y * (X @ result.x)) / len(y)  # the gap from its definition
    assert abs(pulls @ (X @ result.x) + 1.5 * np.abs(X.T @ pulls).max()) < 1e-15


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 5.5, 8])
@pytest.mark.parametrize("constraint", [fw.L1Ball(50.0), fw.L2Ball(1e3)], ids=cases.name_of)
def test_minimize_stays_within_its_budget(constraint, budget):
    problem = cases.problem(fw.Logistic(), constraint, n=60, d=30)
    result = fw.minimize(problem, "corrective", tol=0, max_passes=budget)
    assert result.status is fw.Status.MAX_PASSES
    # points on the way are evaluated again when a round ends
    kept_for_the_end = 1 if constraint.structure().coordinates is None else 0
    assert int(budget) - kept_for_the_end <= result.passes <= budget
    assert result.gap == pytest.approx(problem.gap(result.x), abs=1e-12)


@pytest.fixture
def kernels_at_any_size():
    """Use kernels for data of any size."""
    with compile_above(0):
        yield


@pytest.mark.parametrize("layout", ["csr32", "dense64"])
@pytest.mark.usefixtures("kernels_at_any_size")
def test_warm_up_leaves_nothing_to_compile(layout, monkeypatch):
    """What is called for the first time on the data has been called on a few rows of it before."""
    problem = cases.problem(fw.Logistic(), fw.L1Ball(30.0), n=200, d=300, layout=layout)
    called, run = set(), Kernel.__call__
    monkeypatch.setattr(Kernel, "__call__", lambda self, *args: called.add(self.__name__) or run(self, *args))
    for limits in (HessianLimits(300, 300, 300), NONE):  # each loads the code of its own kind of model
        monkeypatch.setattr("frankwolfe.solvers.corrective.rounds._warm", set())
        solver = solver_of(problem, limits=limits)
        solver.warm_up()
        assert ("cycle" in called) == (limits is NONE)
        before = set(called)
        assert solver.rows_read == 0
        solver.advance(8)
        assert called == before
    assert "cycle" in called
    called.clear()
    solver.warm_up()
    assert not called  # once is enough


def test_the_hessian_of_many_atoms_is_left_out_where_one_more_step_by_columns_should_do():
    solver = solver_of(cases.problem(fw.Logistic(), fw.L1Ball(30.0)))
    solver.scale, solver.target, solver.left, solver.atoms.stable = 1.0, 1e-6, 0.05, True
    gaps = [1e-3, 5e-5, 5e-6]  # far; near; within the tolerance after a step that leaves a tenth
    assert [solver._for_last_digits(gap) for gap in gaps] == [False, True, True]
    solver.by_columns = True
    assert [solver._for_last_digits(gap) for gap in gaps] == [False, True, False]
    solver.left = 0.5  # columns make slow progress
    assert solver._for_last_digits(5e-6)


# --- the pieces -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_matrix_of_active_columns(layout):
    problem = cases.problem(layout=layout, n=30, d=12)
    active = np.array([1, 4, 5, 11])
    A = np.asarray(problem.X.todense() if sparse.issparse(problem.X) else problem.X, dtype=np.float64)[:, active]
    matrix, rng = copied_columns(problem.objective.shards, active), np.random.default_rng(0)
    u, v, curvatures = rng.normal(size=4), rng.normal(size=30), rng.random(30) * (rng.random(30) > 0.2)
    assert matrix.predict(u) == pytest.approx(A @ u, rel=1e-12)
    assert matrix.project(v) == pytest.approx(A.T @ v, rel=1e-12, abs=1e-14)
    assert matrix.squares(curvatures) == pytest.approx((A * A).T @ curvatures, rel=1e-12)
    for curves in (curvatures, np.where(np.arange(30) < 3, curvatures, 0.0)):
        for chosen in ([0, 1, 2, 3], [1, 3], [2]):
            B = A[:, chosen]
            assert matrix.gram(curves, np.array(chosen)) == pytest.approx(
                B.T @ (curves[:, None] * B), rel=1e-12, abs=1e-14
            )
    columns, bent = by_columns(matrix), np.zeros(30)
    for j in range(4):
        assert columns.column_dot(j, v) == pytest.approx(A[:, j] @ v, rel=1e-12, abs=1e-14)
        columns.column_add_bent(j, u[j], curvatures, bent)
    assert bent == pytest.approx(curvatures * (A @ u), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("kind", ["dense", "single", "centred"])
def test_matrix_of_active_columns_of_rows_in_pieces(kind, monkeypatch):
    monkeypatch.setattr("frankwolfe.solvers.corrective.active_atoms.JOINED_ENTRIES", 40)  # several blocks a piece
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6)).astype(np.float32 if kind == "single" else np.float64)
    means = X.mean(axis=0) if kind == "centred" else np.zeros(6)
    pieces = [Centred(some, means) if kind == "centred" else as_rows(some) for some in (X[:11], X[11:])]
    samples = Samples(ChunkedRows(pieces, [11, 19]), np.ones(30), np.full(30, 1 / 30), fw.Squared())
    u, v, curvatures = rng.normal(size=6), rng.normal(size=30), rng.random(30)
    for active in (np.array([1, 4, 5]), np.arange(6)):
        A, matrix = (X - means).astype(np.float64)[:, active], copied_columns(Objective(samples, 6).shards, active)
        np.testing.assert_allclose(matrix.predict(u[: len(active)]), A @ u[: len(active)], rtol=1e-12)
        np.testing.assert_allclose(matrix.project(v), A.T @ v, rtol=1e-12)
        np.testing.assert_allclose(matrix.squares(curvatures), (A * A).T @ curvatures, rtol=1e-12)
        for chosen in (np.arange(len(active)), np.array([0, 2])):
            expected = A[:, chosen].T @ (curvatures[:, None] * A[:, chosen])
            np.testing.assert_allclose(matrix.gram(curvatures, chosen), expected, rtol=1e-11)


def test_hessian_is_renewed_where_curvatures_have_changed():
    columns, rng = np.random.default_rng(0).normal(size=(5, 40)), np.random.default_rng(1)
    problem = fw.Problem(columns.T, np.ones(40), "squared", fw.L1Ball(1.0))
    everyone, curvatures = np.arange(5), rng.random(40)
    hessian = Hessian(ActiveMatrix.of_columns(problem.objective, everyone))
    first = hessian.at(curvatures, everyone).copy()
    assert first == pytest.approx(columns * curvatures @ columns.T)
    assert hessian.at(curvatures * (1.0 + 0.5 * STALE_CURVATURE), everyone) == pytest.approx(first, rel=0, abs=0)
    changed = np.where(np.arange(40) < 10, 3.0 * curvatures, curvatures * (1.0 + 0.5 * STALE_CURVATURE))
    kept = np.where(np.arange(40) < 10, 3.0 * curvatures, curvatures)
    assert hessian.at(changed, everyone) == pytest.approx(columns * kept @ columns.T, rel=1e-12)


def test_hessian_follows_the_atoms_that_are_chosen():
    columns, curvatures = np.random.default_rng(0).normal(size=(5, 40)), np.random.default_rng(1).random(40)
    problem = fw.Problem(columns.T, np.ones(40), "squared", fw.L1Ball(1.0))
    hessian = Hessian(ActiveMatrix.of_columns(problem.objective, np.arange(5)))
    for chosen in ([0, 2, 3], [2, 3], [0, 1, 3, 4], [4], [0, 1, 2, 3, 4]):
        expected = columns[chosen] * curvatures @ columns[chosen].T
        assert hessian.at(curvatures, np.array(chosen)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("layout", ["dense64", "csr64"])
@pytest.mark.parametrize("care", [0.0, 1.0])
@pytest.mark.usefixtures("interpreted")
def test_the_hessian_of_coupled_outputs_is_the_true_one(layout, care):
    X, y = cases.vector_table(fw.Multinomial(), n=20, d=6)
    problem = fw.Problem(cases.LAYOUTS[layout](X), y, "multinomial", fw.L1Ball(3.0), sample_weight=np.arange(1.0, 21.0))
    w, chosen = np.random.default_rng(0).normal(size=problem.size), np.array([0, 2, 3, 7, 11, 12, 17])
    at = problem.objective.point(problem.objective.predict(w))
    curvatures = coupled_curvatures(problem, at, care, 1e-12)
    H = Hessian(ActiveMatrix.of_columns(problem.objective, np.arange(problem.size))).at(curvatures, chosen)
    h, unit = 1e-6, np.eye(problem.size)
    true = [(problem.gradient(w + h * unit[j]) - problem.gradient(w - h * unit[j]))[chosen] / (2.0 * h) for j in chosen]
    above = H - np.array(true)
    if care == 0.0:
        np.testing.assert_allclose(above, 0.0, atol=1e-8)
    else:  # along its slope no loss is flatter than the parabola down to zero
        assert np.linalg.eigvalsh(above).min() >= -1e-8
        slopes, losses = at.alpha.reshape(20, 3) / problem.samples.weights[:, None], at.losses
        along = np.einsum("ic,icd,id->i", slopes, curvatures, slopes) / (slopes**2).sum(axis=1)
        assert (along >= (1.0 - 1e-9) * problem.samples.weights * 0.5 * (slopes**2).sum(axis=1) / losses).all()
    vertices = joined_images(problem.objective.shards, np.asarray(problem.design.todense()).T[chosen])
    np.testing.assert_allclose(vertices.gram(curvatures, np.arange(len(chosen))), H, atol=1e-12)


@pytest.mark.parametrize("constraint", [fw.L1Ball(10.0), fw.Simplex(1e3), fw.NonNegativeL1Ball(10.0)], ids=str)
@pytest.mark.parametrize("name", ["scaled", "shifted", "weighted"])
@pytest.mark.usefixtures("interpreted")
def test_several_classes_on_raw_data_are_certified(name, constraint):
    X, y = cases.vector_table(fw.Multinomial(), n=40, d=6)
    weights = np.where(y == 0, 1e7, 1.0) if name == "weighted" else None
    problem = fw.Problem(HARD_COLUMNS.get(name, lambda X: X)(X), y, "multinomial", constraint, sample_weight=weights)
    result = fw.minimize(problem, tol=1e-8, max_passes=100, trace=0)
    assert result.success, result.message


@pytest.mark.usefixtures("interpreted")
def test_atoms_that_end_moves_do_not_come_back_before_the_face_is_solved():
    """Exchanges between pairs brought the same atom back each time, with a weight that ended the next move at once."""
    X, signal = sparse_signal()
    y = np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3]))
    problem = fw.Problem(HARD_COLUMNS["scaled"](X), y, "multinomial", fw.Simplex(1e3))
    result = fw.minimize(problem, tol=1e-8, max_passes=60, trace=0)
    assert result.success, result.message


def test_columns_are_copied_before_they_are_needed():
    """Sparse columns that promise half as much lie ready: most of a path's radii need no new copy."""
    X, y = cases.data("rcv1_subset")
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(20.0))
    solver = solver_of(problem)
    copies, models = [None], 0
    for radius in np.geomspace(20.0, 200.0, 10):
        assert solver.move_to(problem.over(fw.L1Ball(radius)))
        while solver.evidence().exact.gap > 1e-6:
            solver.advance(1)
            if copies[-1] is not solver.atoms.matrix:
                copies.append(solver.atoms.matrix)
            models += 1
            chosen = solver.atoms.choose(solver.atoms.slope(solver.evidence().exact.gradient))
            assert set(np.flatnonzero(solver.atoms.u)) <= set(chosen)
            assert len(chosen) < len(solver.atoms.u)
    assert len(copies) <= 6
    assert models >= 20


def test_last_digits_where_atoms_are_many():
    """The optimum of many atoms on crowded rows is certified to the last digits, not left where cycling ends."""
    X, y = cases.data("rcv1_subset")
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(5000.0))
    result = fw.minimize(problem, tol=1e-10, max_passes=60)
    assert result.success
    assert result.nonzeros > HESSIAN_LIMITS.usual


@pytest.mark.parametrize("size", [1e-200, 1e120, 1e200])
def test_minimize_survives_numbers_whose_squares_do_not(size):
    X, y = cases.table(fw.Squared(), n=30, d=6)
    problem = fw.Problem(size * X, y, "squared", fw.L1Ball(3.0))
    result = fw.minimize(problem, "corrective", max_passes=50)
    assert problem.constraint.contains(result.x)
    assert result.fun <= problem.zero_value * (1.0 + 1e-12)
    Z, y = (size * X).astype(np.longdouble), y.astype(np.longdouble)  # whose squares are numbers
    pulls = (Z @ result.x - y) / len(y)
    gap = pulls @ (Z @ result.x) + 3.0 * np.abs(Z.T @ pulls).max()
    assert result.success == (gap <= 1e-4 * (y @ y) / (2 * len(y)))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("seed", [12, 14, 28])
def test_the_gap_belongs_to_the_point_that_is_returned(seed):
    # vertices of size one whose combination is tiny where columns are large: letting go of one moves the point
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 6)) * 10.0 ** rng.uniform(-6, 3, 6)
    y = 1e-3 * rng.normal(size=12)
    hull = known.ConvexHull(rng.normal(size=(20, 6)))
    result = fw.minimize(fw.Problem(X, y, "squared", hull.make()), "corrective", tol=0.0, max_passes=200)
    given = {"X": X, "y": y, "loss": fw.Squared(), "constraint": hull, "size": 6, "intercept": False}
    problem = SimpleNamespace(**given, sample_weight=None, offset=None, linear=None)
    exact = Recomputed(problem).at(result.x, 0.0)
    assert abs(result.gap - exact.gap) <= 4.0 * exact.gap_error


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_columns_of_a_simplex_join_where_every_one_of_them_raises_the_objective(seed):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(np.abs(rng.normal(size=(8, 2))))
    with fw.python_mode():
        problem = fw.Problem(X, -np.ones(8), "squared", fw.Simplex(3.0))
        assert fw.minimize(problem, "corrective", tol=1e-6, max_passes=50).success


def test_empty_columns_at_the_end_of_sparse_data_may_join():
    X = sparse.csr_array(np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.5, 0.0, 0.0]]))
    with fw.python_mode():
        problem = fw.Problem(X, [0, 1, 2], fw.Multinomial(), fw.Simplex(2.0))
        assert fw.minimize(problem, "corrective", tol=1e-6, max_passes=50).success


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("seed", range(5))
def test_predictions_that_become_much_smaller_on_a_way_are_made_anew(seed):
    # from 0.19 times -545 to about nothing: sums on the way would keep the rounding of what was large
    rng = np.random.default_rng(seed)
    X = np.append(rng.normal(size=7) * 10.0 ** rng.uniform(-3.0, 1.0, 7), -545.0)[:, None]
    problem = fw.Problem(X, 0.1 * rng.normal(size=8), fw.Huber(0.7), fw.L1Ball(0.2))
    result = fw.minimize(problem, "corrective", x0=[0.19], tol=1e-4, max_passes=5)
    assert result.fun == pytest.approx(problem.value(result.x), rel=4e-15)
