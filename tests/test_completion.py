"""Matrix completion: against the same problem posed with rows of data, least squares, and bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import lstsq

import frankwolfe as fw
from frankwolfe.completion import Offsets
from frankwolfe.rows.observed_entries import Factored, Factors, ObservedEntries

SHAPE = (12, 9)


def triplets(shape=SHAPE, rank=2, density=0.6, seed=0, noise=0.1):
    """Random entries of a noisy matrix of low rank, in no order."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1])) + 1.0
    rows, columns = np.nonzero(rng.random(shape) < density)
    order = rng.permutation(len(rows))
    rows, columns = rows[order], columns[order]
    return rows, columns, matrix[rows, columns] + noise * rng.normal(size=len(rows))


def posed(radius=6.0, loss="squared", shape=SHAPE, **options):
    rows, columns, values = triplets(shape)
    if fw.losses.as_loss(loss).targets == "labels":
        values = np.where(values > 0.0, 1.0, -1.0)
    return fw.completion_problem(rows, columns, values, shape, constraint=fw.TraceBall(radius), loss=loss, **options)


def as_rows_of_data(problem, radius):
    """The same problem with a row of data, a single one, for each entry."""
    places = problem.entries.rows.astype(int) * problem.shape[1] + problem.entries.columns
    X = np.eye(problem.shape[0] * problem.shape[1])[places]
    weights = problem.samples.weights
    return fw.Problem(X, problem.y, problem.loss, fw.TraceBall(radius, problem.shape), sample_weight=weights)


# --- the same problem, posed twice --------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "squared-hinge"])
@pytest.mark.parametrize("radius", [0.5, 6.0])
def test_the_optimum_is_that_of_one_hot_rows(loss, radius):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(triplets()[0]))
    problem = posed(radius, loss, sample_weight=weights)
    other = as_rows_of_data(problem, radius)
    found, same = (fw.minimize(each, tol=1e-8, max_passes=2000) for each in (problem, other))
    assert found.success
    assert same.success
    assert problem.zero_value == pytest.approx(other.zero_value, rel=1e-12)
    assert found.fun == pytest.approx(same.fun, abs=2e-8 * problem.zero_value)
    evaluated = other.evaluate(found.x.dense().ravel())
    assert evaluated.value == pytest.approx(found.fun, rel=1e-10)
    assert evaluated.gap == pytest.approx(found.gap, abs=1e-10 * problem.zero_value)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", ["fw", "sfw", "momentum", "mokhtari"])  # lu-freund's first vertex is anybody's guess
def test_steps_go_where_those_on_one_hot_rows_go(method):
    problem = posed()
    other = as_rows_of_data(problem, 6.0)
    options = {"tol": 0, "max_passes": 5, "random_state": 0, "batch_size": 5}
    found, same = (fw.minimize(each, method, **options) for each in (problem, other))
    np.testing.assert_allclose(found.x.dense().ravel(), same.x, atol=1e-8)
    assert found.gap == pytest.approx(same.gap, rel=1e-6)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("step", ["open-loop", "log-adaptive", "short", "line-search", "secant", "backtracking"])
def test_every_step_rule_certifies(step):
    problem = posed()
    best = fw.minimize(problem, tol=1e-8)
    found = fw.minimize(problem, "fw", step=step, tol=2e-2, max_passes=2000)
    assert found.success
    assert best.fun - best.gap <= found.fun <= best.fun + found.gap
    trace = found.trace
    assert np.all(trace.fun - trace.gap <= best.fun + 1e-12)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", [fw.Cauchy(0.5), fw.Tukey(2.0), fw.Sigmoid()], ids=["cauchy", "tukey", "sigmoid"])
@pytest.mark.parametrize("method", ["corrective", "fw", "sfw"])
def test_losses_that_are_not_convex_are_brought_to_stationarity(loss, method):
    problem = posed(loss=loss)
    result = fw.minimize(problem, method, tol=1e-2, max_passes=2000, random_state=0)
    assert result.success
    assert not result.convex
    assert result.gap == pytest.approx(problem.gap(result.x), abs=1e-10)
    assert problem.constraint.contains(result.x)


def test_robust_losses_shrug_off_what_squares_do_not():
    rows, columns, values = triplets((60, 40), noise=0.0)
    rng = np.random.default_rng(0)
    spoilt = values + 20.0 * (rng.random(len(values)) < 0.05)
    errors = {}
    for loss in ("squared", fw.Cauchy(0.5)):
        problem = fw.completion_problem(
            rows, columns, spoilt, (60, 40), constraint=fw.TraceBall(90.0), loss=loss, offsets=False
        )
        x = fw.minimize(problem, tol=1e-3).x
        errors[str(loss)] = np.median(np.abs(problem.predict(x, rows, columns) - values))
    squared, robust = errors.values()
    assert robust < 0.5 * squared


# --- both ways to run ---------------------------------------------------------------------------------------------


# every stochastic estimate that goes with entries; step rules see predictions, which are numbers as elsewhere
@pytest.mark.parametrize(
    ("method", "step"),
    [("corrective", None), ("sfw", "short"), ("momentum", "line-search"), ("mokhtari", "backtracking")],
)
def test_interpreted_and_compiled_agree(method, step):
    problem = posed()
    options = {"step": step, "tol": 0, "max_passes": 5, "random_state": 0}
    compiled = fw.minimize(problem, method, **options)
    with fw.python_mode():
        plain = fw.minimize(problem, method, **options)
    np.testing.assert_allclose(plain.x.dense(), compiled.x.dense(), atol=1e-8)


@pytest.mark.parametrize(("method", "step"), [("sfw", "short"), ("corrective", None)])  # compiled above
def test_the_same_seed_gives_the_same_bits(method, step):
    one, other = (fw.minimize(posed(), method, step=step, tol=0, max_passes=8, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.x.left, other.x.left)
    np.testing.assert_array_equal(one.x.right, other.x.right)
    assert one.gap == other.gap


def test_sides_too_long_for_a_gram_matrix():
    problem = posed(100.0, shape=(150, 140))
    result = fw.minimize(problem, tol=1e-5)
    assert result.success
    gradient = problem.entries.matrix(result.state["gradient"], 140).toarray()
    exact = np.vdot(gradient, result.x.dense()) + 100.0 * np.linalg.norm(gradient, 2)
    assert problem.gap(result.x) == pytest.approx(exact, rel=1e-6, abs=1e-10)
    rough = fw.minimize(problem, "sfw", tol=3e-2, max_passes=300, batch_size=0.2, random_state=0)
    assert rough.success
    assert rough.fun >= result.fun - result.gap


# --- the iterate --------------------------------------------------------------------------------------------------


def test_compressing_keeps_the_matrix():
    problem, rng = posed(), np.random.default_rng(0)
    iterate = Factored.at(problem.zero(), problem.entries)
    assert iterate.left.shape[1] >= 18
    matrix = np.zeros(SHAPE)
    for _ in range(5 * iterate.left.shape[1]):  # full many times over
        left, right, c = rng.normal(size=12), rng.normal(size=9), rng.uniform(0.1, 0.9)
        iterate.shrink(1.0 - c)
        iterate.accept(left, right, c)
        matrix = (1.0 - c) * matrix + c * np.outer(left, right)
        np.testing.assert_allclose(iterate.dense().dense(), matrix, atol=1e-10)
    at = problem.entries
    assert iterate.prediction(at, 3) == pytest.approx(matrix[at.rows[3], at.columns[3]], rel=1e-9)
    r = rng.normal(size=problem.n)
    assert iterate.inner(r) == pytest.approx(r @ matrix[at.rows, at.columns], rel=1e-9)
    iterate.shrink(0.0)
    assert iterate.dense().rank == 0
    iterate.shrink(1e-150)
    iterate.accept(left, right, 1.0)
    np.testing.assert_allclose(iterate.dense().dense(), np.outer(left, right))


def test_factors_tell_their_shape_entries_and_values():
    rng = np.random.default_rng(0)
    W = Factors(rng.normal(size=(7, 3)), rng.normal(size=(5, 3)))
    assert (W.shape, W.size, W.rank, W.nbytes) == ((7, 5), 35, 3, 36 * 8)
    np.testing.assert_allclose(W.singular_values, np.linalg.svd(W.dense(), compute_uv=False)[:3])
    np.testing.assert_allclose(W.at([6, 0], [4, 1]), W.dense()[[6, 0], [4, 1]])
    left, sizes, right = W.decomposed()
    np.testing.assert_allclose((left * sizes) @ right.T, W.dense())


def test_factors_at_takes_views_and_lists():
    W = Factors(np.arange(6.0).reshape(3, 2)[:, ::-1], np.ones((4, 2)))
    np.testing.assert_allclose(W.at([0, 2], np.array([1, 3], dtype=np.int32)), W.dense()[[0, 2], [1, 3]])


# --- starts -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("method", ["corrective", "fw", "sfw"])
def test_a_run_goes_on_from_a_result(method):
    problem = posed()
    first = fw.minimize(problem, method, tol=0.1, max_passes=200, random_state=0)
    second = fw.minimize(problem, method, tol=2e-2, max_passes=2000, x0=first, random_state=0)
    assert second.success
    assert second.fun <= first.fun * (1.0 + 1e-12)
    assert fw.minimize(problem, x0=second, tol=2e-2).nit == 0


def test_a_start_may_be_a_matrix_or_factors():
    problem = posed()
    good = fw.minimize(problem, tol=1e-6)
    for start in (good.x, good.x.dense(), good.x.dense().tolist()):
        again = fw.minimize(problem, tol=2e-6, x0=start)
        assert again.nit == 0
        assert again.fun == pytest.approx(good.fun, rel=1e-9)
    for bad, message in (
        (np.zeros((3, 3)), "shape"),
        (Factors(np.zeros((3, 1)), np.zeros((9, 1))), "shape"),
        (np.full(SHAPE, np.nan), "NaN"),
        (Factors(np.full((12, 1), np.inf), np.zeros((9, 1))), "NaN or infinity"),
        (100.0 * good.x.dense(), "x0 is not in the constraint set"),
    ):
        with pytest.raises(ValueError, match=message):
            fw.minimize(problem, x0=bad)


# --- data ---------------------------------------------------------------------------------------------------------


def test_offsets_are_those_of_damped_least_squares():
    rows, columns, values = triplets()
    problem = fw.completion_problem(rows, columns, values, SHAPE, constraint=fw.TraceBall(1.0), damping=3.0)
    design = np.hstack([np.eye(12)[rows], np.eye(9)[columns]])
    damped = np.vstack([design, np.sqrt(3.0) * np.eye(21)])
    best = lstsq(damped, np.concatenate([values - values.mean(), np.zeros(21)]))[0]
    found = problem.offsets
    np.testing.assert_allclose(np.concatenate([found.rows, found.columns]), best, atol=1e-7)
    assert found.mean == pytest.approx(values.mean())
    at = problem.entries
    whole = sparse.csr_array((values, (rows, columns)), SHAPE).toarray()[at.rows, at.columns]
    np.testing.assert_allclose(problem.y, whole - found.at(at.rows, at.columns))


def test_offsets_heed_sample_weights():
    rows, columns, values = triplets()
    twice = np.where(np.arange(len(rows)) < 10, 2.0, 1.0)
    weighted = fw.completion_problem(
        rows, columns, values, SHAPE, constraint=fw.TraceBall(1.0), sample_weight=twice
    ).offsets
    design = np.hstack([np.eye(12)[rows], np.eye(9)[columns]])
    mean = np.average(values, weights=twice)
    root = np.sqrt(twice / twice.mean())
    damped = np.vstack([root[:, None] * design, np.sqrt(5.0) * np.eye(21)])
    best = lstsq(damped, np.concatenate([root * (values - mean), np.zeros(21)]))[0]
    assert weighted.mean == pytest.approx(mean)
    np.testing.assert_allclose(np.concatenate([weighted.rows, weighted.columns]), best, atol=1e-7)


def test_offsets_of_ones_own_and_none():
    rows, columns, values = triplets()
    ball = fw.TraceBall(1.0)
    plain = fw.completion_problem(rows, columns, values, SHAPE, constraint=ball, offsets=False)
    np.testing.assert_allclose(np.sort(plain.y), np.sort(values))
    own = Offsets(1.0, np.zeros(12), np.zeros(9))
    shifted = fw.completion_problem(rows, columns, values, SHAPE, constraint=ball, offsets=own)
    np.testing.assert_allclose(shifted.y, plain.y - 1.0)


def test_a_sparse_matrix_is_its_stored_values_zeros_included():
    rows, columns, values = triplets()
    values[3] = 0.0
    ball = fw.TraceBall(3.0)
    matrix = sparse.coo_array((values, (rows, columns)), SHAPE)
    one = fw.completion_problem(rows, columns, values, SHAPE, constraint=ball)
    for stored in (matrix, matrix.tocsr(), matrix.tocsc(), sparse.csr_matrix(matrix)):
        other = fw.completion_problem(stored, constraint=ball)
        assert other.n == one.n == len(values)
        assert other.shape == SHAPE
        np.testing.assert_array_equal(one.y, other.y)


def test_the_order_of_entries_does_not_matter():
    rows, columns, values = triplets()
    order = np.random.default_rng(5).permutation(len(rows))
    weights = np.arange(1.0, len(rows) + 1.0)
    ball = fw.TraceBall(3.0)
    one = fw.completion_problem(rows, columns, values, constraint=ball, sample_weight=weights)
    other = fw.completion_problem(
        rows[order], columns[order], values[order], constraint=ball, sample_weight=weights[order]
    )
    np.testing.assert_array_equal(one.samples.weights, other.samples.weights)
    np.testing.assert_allclose(one.y, other.y, atol=1e-12)


def test_entries_of_weight_zero_are_as_if_left_out():
    rows, columns, values = triplets()
    weights = np.where(np.arange(len(rows)) % 3 == 0, 0.0, 1.0)
    ball, kept = fw.TraceBall(5.0), weights > 0.0
    one = fw.completion_problem(rows, columns, values, SHAPE, constraint=ball, sample_weight=weights)
    other = fw.completion_problem(rows[kept], columns[kept], values[kept], SHAPE, constraint=ball)
    found, same = (fw.minimize(each, tol=1e-8) for each in (one, other))
    assert found.fun == pytest.approx(same.fun, abs=1e-7)


def test_nothing_of_full_size_is_formed():
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(10**5, size=2000), rng.integers(10**5, size=2000)
    problem = fw.completion_problem(rows, columns, rng.normal(size=2000), constraint=fw.TraceBall(10.0))
    result = fw.minimize(problem, tol=0.5, max_passes=10)
    assert np.isfinite(result.gap)
    assert result.x.nbytes < 10**8  # the matrix itself has 8e10


# --- predictions --------------------------------------------------------------------------------------------------


def test_what_was_never_observed_is_predicted_by_offsets():
    rows, columns, values = triplets()
    problem = fw.completion_problem(rows, columns, values, (14, 10), constraint=fw.TraceBall(6.0))
    x = fw.minimize(problem).x
    offsets = problem.offsets
    assert problem.predict(x, [13], [9]) == pytest.approx([offsets.mean])
    assert problem.predict(x, [13], [2]) == pytest.approx([offsets.mean + offsets.columns[2]])
    with pytest.raises(ValueError, match=r"rows must be numbers from 0, but the matrix has 14; entry 1 is 14"):
        problem.predict(x, [0, 14], [0, 0])
    with pytest.raises(ValueError, match=r"columns .* entry 0 is -1"):
        problem.predict(x, [0], [-1])
    with pytest.raises(TypeError, match="vector of ints"):
        problem.predict(x, [0.0], [0])
    with pytest.raises(ValueError, match="2 rows and 1 columns"):
        problem.predict(x, [0, 1], [0])


# --- bad input ----------------------------------------------------------------------------------------------------

BALL = {"constraint": fw.TraceBall(1.0)}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: fw.completion_problem([0], [0], [1.0]), TypeError, r"constraint must be a fw.TraceBall"),
        (lambda: fw.completion_problem([0], [0], [1.0], constraint=fw.L1Ball(1.0)), TypeError, "got L1Ball"),
        (lambda: fw.completion_problem([0], [0], [np.nan], **BALL), ValueError, "NaN"),
        (lambda: fw.completion_problem([0, 1], [0, 1], [1.0, np.inf], **BALL), ValueError, "infinity"),
        (lambda: fw.completion_problem([0, 0], [1, 1], [1.0, 2.0], **BALL), ValueError, "row 0, column 1: average"),
        (lambda: fw.completion_problem([0, 2], [0, 0], [1.0, 2.0], (2, 2), **BALL), ValueError, "entry 1 is 2"),
        (lambda: fw.completion_problem([0, -1], [0, 0], [1.0, 2.0], **BALL), ValueError, "entry 1 is -1"),
        (lambda: fw.completion_problem([0.0], [0], [1.0], **BALL), TypeError, "rows must be a vector of ints"),
        (lambda: fw.completion_problem([0], [[0]], [1.0], **BALL), TypeError, "columns must be a vector of ints"),
        (lambda: fw.completion_problem([True], [0], [1.0], **BALL), TypeError, "rows must be a vector of ints"),
        (lambda: fw.completion_problem([0, 1], [0], [1.0], **BALL), ValueError, "there must be as many"),
        (lambda: fw.completion_problem([0], [0], **BALL), TypeError, "rows, columns and values"),
        (lambda: fw.completion_problem([], [], [], **BALL), ValueError, "there are no entries"),
        (lambda: fw.completion_problem(sparse.csr_array((3, 3)), **BALL), ValueError, "there are no entries"),
        (lambda: fw.completion_problem(sparse.eye_array(3), [0], **BALL), TypeError, "a sparse matrix alone"),
        (lambda: fw.completion_problem(sparse.eye_array(3), shape=(4, 4), **BALL), ValueError, r"shape \(3, 3\)"),
        (lambda: fw.completion_problem([0], [0], [1.0], (1,), **BALL), ValueError, "two positive ints"),
        (lambda: fw.completion_problem([0], [0], [1.0], loss="multinomial", **BALL), ValueError, "of one output"),
        (lambda: fw.completion_problem([0], [0], [1.0], damping=-1.0, **BALL), ValueError, "damping"),
        (
            lambda: fw.completion_problem([0], [0], [1.0], loss="logistic", offsets=True, **BALL),
            ValueError,
            "offsets=False",
        ),
        (
            lambda: fw.completion_problem([0], [0], [1.0], (2, 2), constraint=fw.TraceBall(1.0, (3, 3))),
            ValueError,
            r"shape \(3, 3\), but the shape is \(2, 2\)",
        ),
        (
            lambda: fw.completion_problem([0], [0], [1.0], offsets=Offsets(0.0, np.zeros(3), np.zeros(1)), **BALL),
            ValueError,
            "offsets are for",
        ),
        (lambda: fw.completion_problem([0], [0], [1.0], offsets="yes", **BALL), TypeError, "offsets must be"),
    ],
)
def test_bad_input_is_explained(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("method", ["away", "pairwise", "blended-pairwise", "stochastic-pairwise", "stochastic-away"])
def test_methods_that_store_whole_atoms_are_refused(method):
    with pytest.raises(ValueError, match=f"'{method}' needs atoms .* 12 x 9 entries: use 'auto'"):
        fw.minimize(posed(), method)


def test_entries_are_kept_in_narrow_numbers():
    entries = posed().entries
    assert isinstance(entries, ObservedEntries)
    assert {array.dtype for array in entries} == {np.dtype(np.int32)}
