"""Sets of matrices and the corrective method over them: against decompositions, convex programs and themselves."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

import frankwolfe as fw
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import add_row
from frankwolfe.linalg import singular
from frankwolfe.linalg.singular import leading_triplets, widened
from frankwolfe.objective.objective import Objective
from frankwolfe.rows import as_rows
from frankwolfe.sets.atoms import dense
from frankwolfe.sets.spectral import CallbackTracker, Gram
from frankwolfe.solvers.corrective.low_rank import project_to_trace_ball
from tests import cases
from tests.sets.test_base import ask

SHAPES = [(1, 1), (6, 4), (4, 6), (5, 5), (40, 3)]
LONG = [(140, 131), (131, 140), (131, 131)]
"""Shapes of which no side is short enough for the Gram matrix to be kept."""


def directions(p, q, number, seed=0):
    """Matrices that are random, of rank one, tied, zero, sparse, tiny, huge and uneven."""
    rng = np.random.default_rng([seed, p, q])
    kinds = [
        lambda: rng.normal(size=(p, q)),
        lambda: np.outer(rng.normal(size=p), rng.normal(size=q)),
        lambda: np.eye(p, q),
        lambda: np.zeros((p, q)),
        lambda: np.where(rng.random((p, q)) < 0.1, rng.normal(size=(p, q)), 0.0),
        lambda: 1e-200 * rng.normal(size=(p, q)),
        lambda: 1e150 * rng.normal(size=(p, q)),
        lambda: rng.normal(size=(p, q)) * 10.0 ** rng.uniform(-3.0, 3.0, size=(1, q)),
    ]
    for k in range(number):
        yield kinds[k % len(kinds)]()


# --- leading triplets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES + LONG, ids=str)
@pytest.mark.parametrize("stored", ["array", "sparse", "operator"])
def test_triplets_are_those_of_a_full_decomposition(shape, stored):
    for matrix in directions(*shape, 8):
        size = np.abs(matrix).max() or 1.0
        if stored == "operator" and not 1e-100 < size < 1e100:
            continue  # whose entries cannot be seen, and so not scaled
        made = {"array": np.asarray, "sparse": sparse.csr_array, "operator": aslinearoperator}[stored](matrix)
        count = min(3, *shape)
        found = leading_triplets(made, count)
        true = np.linalg.svd(matrix / size, compute_uv=False)[:count]
        np.testing.assert_allclose(found.values / size, true, rtol=1e-9, atol=1e-9)
        assert true[0] * (1.0 - 1e-14) <= found.bound / size <= true[0] * (1.0 + 1e-6)
        for vectors in (found.left, found.right):
            np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-10)
        back = found.left.T @ (matrix / size) @ found.right
        np.testing.assert_allclose(back, np.diag(true), atol=1e-8 * max(true[0], 1e-300))


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 200),
    q=st.integers(130, 150),
    decay=st.floats(0.0, 2.0),
    tolerance=st.sampled_from([1e-6, 1e-2, 0.1]),
    scale=st.sampled_from([1e-250, 1e-8, 1.0, 1e8, 1e150]),
)
def test_the_bound_is_one(seed, p, q, decay, tolerance, scale):
    rng = np.random.default_rng(seed)
    k = min(p, q)
    left, right = (np.linalg.qr(rng.normal(size=(side, k)))[0] for side in (p, q))
    sizes = np.arange(1.0, k + 1.0) ** -decay
    found = leading_triplets(scale * (left * sizes) @ right.T, 1, tolerance)
    # values this close cannot be told apart by their residuals, and any may be found; a proof takes the Gram matrix
    least = sizes[-1] if sizes[-1] > 1.0 - 1e-7 else 1.0
    assert found.bound >= scale * least * (1.0 - 1e-11)
    assert found.values[0] <= scale * (1.0 + 1e-12)
    assert found.bound <= scale * (1.0 + tolerance + 1e-9)


def test_clustered_values_are_bounded_closely_and_soon():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(side, 200)))[0] for side in (300, 250))
    matrix = (left * np.concatenate([1.0 - 1e-7 * np.arange(50), np.linspace(0.9, 0.1, 150)])) @ right.T
    calls = []
    counted = aslinearoperator(matrix)
    product = counted._matmat
    counted._matmat = lambda block: calls.append(block.shape[1]) or product(block)
    found = leading_triplets(counted, 8, 1e-4)
    assert 1.0 <= found.bound <= 1.0 + 1.1e-4
    assert sum(calls) < 1000  # one vector at a time, to all digits, takes many thousands


def test_equal_values_are_found_though_lapack_may_find_none():
    rng = np.random.default_rng(0)
    for side in range(2, 130, 4):
        turn = np.linalg.qr(rng.normal(size=(side, side)))[0]
        assert leading_triplets(turn, 1).values == pytest.approx([1.0])
        s = fw.Spectrahedron(1.0).vertex((turn @ turn.T).ravel())
        assert fw.Spectrahedron(1.0).contains(s)


def test_a_start_that_is_a_lesser_singular_vector_misleads_nobody():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(side, 200)))[0] for side in (300, 250))
    matrix = (left * np.concatenate([1.0 - 1e-5 * np.arange(50), np.linspace(0.9, 0.1, 150)])) @ right.T
    for start in (right[:, 40], right[:, 40:48]):
        assert leading_triplets(matrix, 1, 0.1, start).bound >= 1.0


def test_a_proof_is_exact_where_affordable(monkeypatch):
    matrix = sparse.random_array((400, 300), density=0.05, rng=np.random.default_rng(0), format="csr")
    largest = np.linalg.norm(matrix.toarray(), 2)
    assert (1.0 + 1e-9) * largest < leading_triplets(matrix, 1, 0.1).bound <= 1.1 * largest
    assert leading_triplets(matrix, 1, 0.1, proof=True).bound == pytest.approx(largest, rel=1e-12)
    monkeypatch.setattr(singular, "WORK", 1e5)
    assert (1.0 + 1e-9) * largest < leading_triplets(matrix, 1, 0.1, proof=True).bound <= 1.1 * largest


def test_what_is_not_finite_gives_no_bound():
    for bad in (np.nan, np.inf):
        for shape in ((3, 2), (200, 200)):
            matrix = np.ones(shape)
            matrix[1, 1] = bad
            assert not np.isfinite(leading_triplets(matrix).bound)


def test_widening_keeps_what_was_there_and_drops_what_is_not_new():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(9, 3)))[0]
    wider = widened(basis, basis @ rng.normal(size=(3, 4)), np.zeros((9, 2)), rng.normal(size=(9, 2)))
    assert wider.shape == (9, 5)
    np.testing.assert_array_equal(wider[:, :3], basis)
    np.testing.assert_allclose(wider.T @ wider, np.eye(5), atol=1e-12)
    full = widened(wider, rng.normal(size=(9, 9)))
    assert full.shape == (9, 9)
    np.testing.assert_allclose(full.T @ full, np.eye(9), atol=1e-10)


# --- the sets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES + LONG, ids=str)
@pytest.mark.parametrize("mode", ["compiled", "python"])
def test_vertices_of_the_trace_ball_are_feasible_and_the_best(shape, mode):
    ball = fw.TraceBall(1.5, shape)
    tracker = ball.tracker(shape[0] * shape[1])
    assert isinstance(tracker, Gram if min(shape) <= singular.SHORT else CallbackTracker)
    for matrix in directions(*shape, 40 if max(shape) < 100 else 8, seed=1):
        r, size = matrix.ravel(), np.abs(matrix).max() or 1.0
        if mode == "compiled":
            s = dense(ask(ball, tracker, r), len(r))
        else:
            with fw.python_mode():
                s = ball.vertex(r)
        best = 1.5 * np.linalg.norm(matrix / size, 2)
        assert ball.contains(s, 1e-12)
        # the oracle of long sides is as exact as its number of calls asks for, 0.1 / t: enough for the theory
        loose = 0.05 if isinstance(tracker, CallbackTracker) else 1e-12
        assert -best * (1.0 + 1e-12) <= (r / size) @ s <= -best * (1.0 - loose)
        assert ball.support(r) / size == pytest.approx(best, rel=2e-3 if isinstance(tracker, CallbackTracker) else 1e-9)
        assert best * (1.0 - 1e-12) <= ball.support(r) / size
        assert ball.proven_support(r) / size == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("side", [1, 2, 7, 30])
def test_vertices_of_the_spectrahedron_are_feasible_and_the_best(side):
    constraint = fw.Spectrahedron(1.5)
    for matrix in directions(side, side, 40, seed=2):
        r, size = matrix.ravel(), np.abs(matrix).max() or 1.0
        s = constraint.vertex(r)
        low, high = np.linalg.eigvalsh(0.5 * (matrix + matrix.T) / size)[[0, -1]]
        assert constraint.contains(s, 1e-12)
        assert (r / size) @ s == pytest.approx(1.5 * low, rel=1e-9, abs=1e-9)
        assert constraint.support(r) / size == pytest.approx(1.5 * high, rel=1e-9, abs=1e-9)


def test_the_accuracy_of_the_called_back_oracle_follows_the_number_of_calls():
    rng = np.random.default_rng(0)
    tracker = CallbackTracker.krylov(160 * 150, lambda r: r.reshape(160, 150), (160, 150))
    for call in range(1, 30):
        matrix = rng.normal(size=(160, 150))
        tracker.recount(matrix.ravel())
        level = tracker.left @ matrix @ tracker.right
        assert level >= np.linalg.norm(matrix, 2) * (1.0 - 0.1 / (call + 1.0))


@pytest.mark.parametrize("layout", ["dense64", "csr64"])
@pytest.mark.parametrize("mode", ["compiled", "python"])
def test_the_kept_gram_matrix_is_that_of_the_gradient(layout, mode):
    X = cases.LAYOUTS[layout](cases.table(fw.Squared(), n=30, d=25)[0])
    rows, rng = as_rows(X, 4), np.random.default_rng(0)
    tracker, r = Gram.over(25, 4), np.zeros(100)
    tracker.rebuild(r)
    tracker.recount(r)
    for step in range(200):
        c = rng.normal(size=4) * (step % 5 > 0)  # a change of nothing, too
        if mode == "compiled":
            change(tracker, rows, step % 30, c, r)
        else:
            with fw.python_mode():
                change(tracker, rows, step % 30, c, r)
        if step % 7 == 0:
            tracker.recount(r)
            matrix = r.reshape(25, 4)
            np.testing.assert_allclose(tracker.gram, matrix.T @ matrix, rtol=1e-10, atol=1e-10)
            level = tracker.left @ matrix @ tracker.right
            assert level == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-9)
    assert tracker.age[0] >= 0  # it was kept, not taken anew each time


@kernel
def change(tracker, rows, i, c, r):
    """Add ``c`` times a row to ``r``."""
    add_row(tracker, rows, i, c, r)


def test_membership():
    rng = np.random.default_rng(0)
    ball = fw.TraceBall(2.0, (3, 2))
    assert ball.contains(ball.vertex(rng.normal(size=6)))
    assert not ball.contains(1.001 * ball.vertex(rng.normal(size=6)))
    assert not ball.contains(np.full(6, np.nan))
    assert ball.diameter(6) == 4.0
    spectrahedron = fw.Spectrahedron(2.0)
    assert spectrahedron.contains(np.eye(2).ravel())
    assert not spectrahedron.contains(np.array([1.0, 0.5, -0.5, 1.0]))  # not symmetric
    assert not spectrahedron.contains(np.array([1.0, 1.1, 1.1, 1.0]))  # not semidefinite
    assert not spectrahedron.contains(np.eye(3).ravel())  # another trace
    assert not spectrahedron.contains(np.full(4, np.nan))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: fw.TraceBall(0.0), ValueError, "radius"),
        (lambda: fw.TraceBall(1.0, (2, 0)), ValueError, "two positive ints"),
        (lambda: fw.TraceBall(1.0, 6), ValueError, "two positive ints"),
        (lambda: fw.TraceBall(1.0, (2, 2.5)), ValueError, "two positive ints"),
        (lambda: fw.Problem(np.eye(6), np.zeros(6), "squared", fw.TraceBall(1.0)), ValueError, "say which matrix"),
        (lambda: fw.Problem(np.eye(6), np.zeros(6), "squared", fw.TraceBall(1.0, (2, 2))), ValueError, "6 weights"),
        (lambda: fw.Problem(np.eye(6), np.zeros(6), "squared", fw.Spectrahedron(1.0)), ValueError, "6 is no square"),
        (
            lambda: fw.Problem(np.eye(3), [0, 1, 2], "multinomial", fw.TraceBall(1.0, (2, 3))),
            ValueError,
            "the weights are 3 x 3",
        ),
    ],
)
def test_bad_arguments_are_explained(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_projection_onto_the_trace_ball_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for _ in range(20):
        S = rng.normal(size=(4, 3))
        there = project_to_trace_ball(S, 1.5)
        assert np.linalg.svd(there, compute_uv=False).sum() <= 1.5 * (1.0 + 1e-12)
        rest = S - there  # the normal cone: no point of the ball lies further along what is left
        assert np.vdot(rest, there) == pytest.approx(1.5 * np.linalg.norm(rest, 2), rel=1e-9)
    np.testing.assert_array_equal(project_to_trace_ball(S, 100.0), S)


# --- methods ------------------------------------------------------------------------------------------------------


def problem_of(loss, radius=2.0, sample_weight=None, layout="dense64", **shape):
    X, y = cases.vector_table(loss, **shape)
    return fw.Problem(cases.LAYOUTS[layout](X), y, loss, fw.TraceBall(radius), sample_weight=sample_weight)


def optimum(problem):
    """Least objective, by an interior-point solver."""
    W, X = cp.Variable(problem.shape), problem.X
    Z = X @ W
    if problem.loss.targets == "classes":
        chosen = np.eye(problem.outputs)[problem.y.astype(int)]
        losses = cp.log_sum_exp(Z, axis=1) - cp.sum(cp.multiply(chosen, Z), axis=1)
    else:
        losses = cp.sum(cp.square(Z - problem.y), axis=1) / 2
    program = cp.Problem(cp.Minimize(problem.samples.weights @ losses), [cp.normNuc(W) <= problem.constraint.radius])
    return program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


LOSSES = pytest.mark.parametrize("loss", cases.VECTOR_LOSSES, ids=cases.name_of)


@LOSSES
@pytest.mark.parametrize("radius", [0.3, 3.0, 30.0])
def test_methods_agree_with_a_convex_program(loss, radius):
    weights = np.random.default_rng(0).uniform(0.0, 2.0, size=40)
    problem = problem_of(loss, radius, weights, n=40, d=8)
    best, scale = optimum(problem), problem.zero_value
    found = fw.minimize(problem, "corrective", tol=1e-7, max_passes=1000)
    assert found.success
    assert abs(found.fun - best) <= 1e-6 * scale
    if radius > 10.0:
        return  # the optimum is inside, or nearly: plain steps zigzag, and say so by their gaps
    method, passes = ("fw", 2000) if loss.targets == "classes" else ("sfw", 4000)
    found = fw.minimize(problem, method, tol=0, max_passes=passes, random_state=0)
    assert -1e-9 * scale <= found.fun - best <= 1e-3 * scale
    trace = found.trace
    assert np.all(trace.fun - trace.gap <= best + 1e-9 * scale)
    assert len(trace.gap) > 10


@LOSSES
@pytest.mark.parametrize("layout", ["dense64", "csr64", "csr32"])
def test_default_arguments_certify(loss, layout):
    problem = problem_of(loss, 3.0, layout=layout, n=200, d=30)
    result = fw.minimize(problem)
    assert result.success
    assert result.method == "auto: corrective"
    assert result.gap == pytest.approx(problem.gap(result.x), abs=1e-12 * problem.zero_value)
    assert result.rank <= 3
    assert problem.constraint.contains(result.x.ravel())


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("loss", "budget"), [(fw.Multinomial(), 5), (fw.Multinomial(), 20), (fw.MultitaskSquared(), 6.5)], ids=cases.name_of
)
def test_a_budget_of_passes_ends_a_run_and_is_kept(loss, budget):
    result = fw.minimize(problem_of(loss, 3.0), "corrective", tol=1e-15, max_passes=budget)
    assert result.passes <= budget
    assert result.status in (fw.Status.MAX_PASSES, fw.Status.STALLED, fw.Status.CONVERGED)


def test_every_evaluation_of_all_derivatives_is_charged(monkeypatch):
    counted = []
    for name in ("point", "at"):  # without an intercept neither calls the other
        real = getattr(Objective, name)
        monkeypatch.setattr(Objective, name, lambda self, *args, real=real: counted.append(self) or real(self, *args))
    problem = problem_of(fw.Multinomial(), 3.0)
    result = fw.minimize(problem, "corrective", tol=1e-9)
    whole = [each for each in counted if len(each.samples.weights) == problem.n]  # what warms up takes a few rows
    assert result.passes == len(whole) - 1  # beside the objective of the zero model


@pytest.mark.usefixtures("interpreted")
def test_a_vector_problem_may_be_taken_for_a_matrix():
    # one output, and the weights are a matrix laid out flat
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    problem = fw.Problem(X, X @ rng.normal(size=12), "squared", fw.TraceBall(1.0, (4, 3)))
    W = cp.Variable(12)
    program = cp.Problem(
        cp.Minimize(cp.sum_squares(X @ W - problem.y) / 120), [cp.normNuc(cp.reshape(W, (4, 3), order="C")) <= 1.0]
    )
    best = program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    for method in ("corrective", "fw", "pairwise"):
        found = fw.minimize(problem, method, tol=1e-4, max_passes=10_000)
        assert found.success
        assert found.fun == pytest.approx(best, abs=1e-4 * problem.zero_value)


@pytest.mark.usefixtures("interpreted")
def test_spectrahedron_against_a_convex_program():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 9))
    problem = fw.Problem(X, rng.normal(size=40), "squared", fw.Spectrahedron(0.5))
    W = cp.Variable((3, 3), PSD=True)
    loss = cp.sum_squares(X @ cp.reshape(W, (9,), order="C") - problem.y) / 80
    best = cp.Problem(cp.Minimize(loss), [cp.trace(W) == 0.5]).solve(solver=cp.CLARABEL)
    found = fw.minimize(problem, "fw", step="line-search", tol=1e-3, max_passes=500)
    assert found.success
    assert best - 1e-7 <= found.fun <= best + 1e-3 * problem.zero_value


@pytest.mark.parametrize(
    ("loss", "method"),
    [
        (fw.Multinomial(), "fw"),
        (fw.MultitaskSquared(), "sfw"),
        (fw.Multinomial(), "corrective"),
        (fw.MultitaskSquared(), "corrective"),
    ],
    ids=cases.name_of,
)
def test_interpreted_and_compiled_agree(loss, method):
    problem = problem_of(loss, 2.0, n=25, d=6)
    compiled = fw.minimize(problem, method, tol=0, max_passes=6, random_state=0)
    with fw.python_mode():
        plain = fw.minimize(problem, method, tol=0, max_passes=6, random_state=0)
    np.testing.assert_allclose(plain.x, compiled.x, atol=1e-9)
    assert plain.gap == pytest.approx(compiled.gap, abs=1e-9)


@pytest.mark.parametrize("method", ["sfw", "corrective"])
def test_the_same_seed_gives_the_same_bits(method):
    problem = problem_of(fw.MultitaskSquared())
    one, other = (fw.minimize(problem, method, tol=0, max_passes=8, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.x, other.x)
    assert one.gap == other.gap


def test_a_run_goes_on_from_a_result_and_from_an_array():
    problem = problem_of(fw.Multinomial())
    first = fw.minimize(problem, "corrective", tol=1e-2)
    second = fw.minimize(problem, "corrective", tol=1e-8, x0=first)
    assert second.success
    assert second.fun <= first.fun
    again = fw.minimize(problem, "corrective", tol=1e-8, x0=second.x)
    assert again.nit == 0
    with pytest.raises(ValueError, match="x0 is not in the constraint set"):
        fw.minimize(problem, x0=100.0 * second.x)


@pytest.mark.parametrize("size", [1e-150, 1e-40, 1e40])
def test_data_of_any_size_is_certified_or_said_not_to_be(size):
    X, Y = cases.vector_table(fw.MultitaskSquared())
    problem = fw.Problem(X, size * Y, "multitask-squared", fw.TraceBall(2.0 * size))
    result = fw.minimize(problem, tol=1e-6)
    assert np.isfinite(result.fun)
    if size > 1e-100:  # below that the objective itself is nothing
        assert result.success


def test_nothing_to_do_at_zero():
    problem = fw.Problem(np.eye(3), np.zeros((3, 2)), "multitask-squared", fw.TraceBall(1.0))
    result = fw.minimize(problem)
    assert result.success
    assert result.rank == 0


@pytest.mark.usefixtures("interpreted")
def test_free_intercepts_go_with_the_trace_ball():
    X, y = cases.vector_table(fw.Multinomial(), n=80)
    problem = fw.Problem(X, y, "multinomial", fw.TraceBall(2.0), intercept=True)
    result = fw.minimize(problem, tol=1e-7)
    assert result.success
    other = fw.minimize(problem, "fw", tol=1e-2, max_passes=100)
    assert result.fun - result.gap <= other.fun <= result.fun + other.gap


def test_a_start_of_full_rank():
    problem = problem_of(fw.MultitaskSquared(), 2.0, n=30, d=3)
    assert fw.minimize(problem, tol=1e-8, x0=0.5 * np.eye(3)).success


@pytest.mark.usefixtures("interpreted")
def test_the_gap_is_that_of_the_sum_where_a_shift_all_but_cancels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 4)), rng.normal(size=12)
    far = fw.sets.Translated(fw.TraceBall(3e6, (1, 4)), [5e5, 1e6, -8e5, 1e5])
    result = fw.minimize(fw.Problem(X, y, "squared", far), tol=0.0, max_passes=30)
    z = X @ result.x - y
    assert np.abs(result.x).max() < 10.0  # of numbers a million times as large
    assert result.fun == pytest.approx(0.5 * np.mean(z * z), rel=1e-14)


def test_shifts_are_rounded_where_a_set_has_no_width():
    flat = fw.sets.Translated(fw.Box([0.0, -1.0], [0.0, 1.0]), [0.1, 0.3])
    corners = flat.vertex([1.0, 1.0]), flat.vertex([1.0, -1.0])
    assert all(flat.contains(share * corners[0] + (1.0 - share) * corners[1]) for share in np.linspace(0.0, 1.0, 50))
    assert not flat.contains([0.1 + 1e-9, 0.3])


@pytest.mark.usefixtures("interpreted")
def test_a_gram_matrix_that_rounding_has_made_negative_is_taken_anew():
    tracker, r = Gram.over(3, 2), np.array([0.0, 1e-9, 0.0, 3e-9, 0.0, 0.0])
    tracker.rebuild(r)
    tracker.recount(r)
    tracker.gram[:] = [[-1e-30, 0.0], [0.0, 0.0]]
    tracker.recount(r)
    assert np.trace(tracker.gram) == pytest.approx(1e-17)
    np.testing.assert_allclose(np.abs(tracker.right), [0.0, 1.0], atol=1e-12)
