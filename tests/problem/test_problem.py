"""`Problem`: objective, gradient and gap against plain NumPy, whatever form the data comes in."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import frankwolfe as fw
from tests import cases
from tests.reference.losses import losses

interpreted = pytest.mark.usefixtures("interpreted")


def objective(loss, X, y, w, weights=None):
    """Weighted mean loss, straight from the formula."""
    return float(np.average(losses(loss, X @ w, y), weights=weights))


def slopes(loss, X, y, w, weights=None, h=1e-5):
    """Gradient of the objective by central differences."""
    ahead = np.array([objective(loss, X, y, w + e, weights) for e in h * np.eye(len(w))])
    behind = np.array([objective(loss, X, y, w - e, weights) for e in h * np.eye(len(w))])
    return (ahead - behind) / (2 * h)


def corners(constraint, d, gradient):
    """All vertices of a set, one a row; for the l2 ball the only one that can matter."""
    if isinstance(constraint, fw.L2Ball):
        return -constraint.radius * gradient[None] / np.linalg.norm(gradient)
    if isinstance(constraint, fw.Box):
        return np.array(list(product([constraint.lower, constraint.upper], repeat=d)))
    if isinstance(constraint, fw.MonotoneBox):
        return np.where(np.tri(d + 1, d, -1) > 0.0, constraint.lower, constraint.upper)
    hot = constraint.radius * np.eye(d)
    if isinstance(constraint, fw.L1Ball):
        return np.vstack([hot, -hot])
    return hot if isinstance(constraint, fw.Simplex) else np.vstack([hot, np.zeros((1, d))])


def feasible(constraint, d, generator, atoms=4):
    """Draw a random mean of vertices."""
    vertices = np.array([constraint.vertex(generator.normal(size=d)) for _ in range(atoms)])
    return generator.dirichlet(np.ones(atoms)) @ vertices


# --- values ---------------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("loss", cases.LOSSES, ids=cases.name_of)
def test_value_and_gradient_follow_the_formula(loss, weighted):
    generator = np.random.default_rng(1)
    X, y = cases.table(loss)
    weights = generator.random(len(y)) if weighted else None
    problem = fw.Problem(X, y, loss, fw.L1Ball(1.5), sample_weight=weights)
    for size in (0.0, 0.3, 0.5 if loss.log_link else 3.0):  # zero, the curved part, the flat or straight part
        w = size * generator.normal(size=X.shape[1])
        found = problem.evaluate(w)
        assert found.value == pytest.approx(objective(loss, X, y, w, weights), rel=1e-12)
        np.testing.assert_allclose(found.gradient, slopes(loss, X, y, w, weights), rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(X.T @ found.alpha, found.gradient, rtol=1e-12, atol=1e-14)
        assert problem.value(w) == found.value
        assert problem.gap(w) == found.gap
        np.testing.assert_array_equal(problem.gradient(w), found.gradient)


@pytest.mark.parametrize("layout", ["dense64", "csr32"])
def test_compiled_values_are_the_interpreted_ones(layout):
    problem = cases.problem(layout=layout)
    w = np.random.default_rng(2).normal(size=problem.d)
    compiled = problem.evaluate(w)
    with fw.python_mode():
        interpreted = problem.evaluate(w)
    for one, other in zip(compiled, interpreted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


@interpreted
@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
def test_gap_is_the_largest_over_all_vertices(constraint):
    generator = np.random.default_rng(3)
    for loss in (fw.Logistic(), fw.Tukey(2.0)):
        problem = cases.problem(loss, constraint, d=5)
        for w in (feasible(constraint, 5, generator), 5.0 + generator.random(5)):  # inside, and far outside
            gradient = problem.gradient(w)
            expected = max((gradient @ (w - s)) for s in corners(constraint, 5, gradient))
            assert problem.gap(w) == pytest.approx(expected, rel=1e-10, abs=1e-14)


@given(st.sampled_from(cases.SETS), st.integers(0, 2**32 - 1))
def test_gap_is_an_upper_bound_on_the_suboptimality(constraint, seed):
    generator = np.random.default_rng(seed)
    d = 4
    best = feasible(constraint, d, generator)
    X = generator.normal(size=(6, d))
    with fw.python_mode():
        problem = fw.Problem(X, X @ best, "squared", constraint)  # optimum 0, at best
        w = feasible(constraint, d, generator)
        found = problem.evaluate(w)
        assert found.gap >= 0.0
        assert found.gap >= found.value * (1.0 - 1e-12)
        assert problem.value(best) == pytest.approx(0.0, abs=1e-25)
        assert problem.gap(best) == pytest.approx(0.0, abs=1e-12)


@interpreted
def test_gap_of_a_feasible_point_is_never_negative_by_rounding():
    loss, ball = fw.Squared(), fw.L1Ball(1.0)
    X = np.random.default_rng(0).normal(size=(30, 3))
    problem = fw.Problem(X, 1e3 * X[:, 0], loss, ball)  # the optimum is a vertex: the gap there is all rounding
    gap = problem.gap([1.0, 0.0, 0.0])
    assert 0.0 <= gap < 1e-9
    assert problem.gap([2.0, 0.0, 0.0]) < -100.0  # outside the set the number is shown as it is


@interpreted
@pytest.mark.parametrize("loss", cases.LOSSES, ids=cases.name_of)
def test_zero_value_is_the_objective_of_the_zero_model(loss):
    X, y = cases.table(loss)
    problem = fw.Problem(X, y, loss, fw.Simplex())  # the scale does not depend on zero being feasible
    assert problem.zero_value == pytest.approx(objective(loss, X, y, np.zeros(X.shape[1])), rel=1e-12)
    assert problem.zero_value > 0.0


# --- forms of X -----------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("layout", cases.LAYOUTS)
@pytest.mark.parametrize("loss", [fw.Logistic(), fw.Huber(0.7)], ids=cases.name_of)
def test_layouts_agree(layout, loss):
    reference, problem = cases.problem(loss), cases.problem(loss, layout=layout)
    w = feasible(reference.constraint, reference.d, np.random.default_rng(4))
    for one, other in zip(reference.evaluate(w), problem.evaluate(w), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-15)
    assert problem.X.dtype == (np.float32 if "32" in layout.partition("-")[0] else np.float64)
    if "csr" in layout:
        assert problem.X.indices.dtype == (np.int64 if layout.endswith("int64") else np.int32)


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_data_in_a_native_layout_is_not_copied(layout):
    X, y = cases.table(fw.Logistic())
    X = cases.LAYOUTS[layout](X)
    problem = fw.Problem(X, y, "logistic", fw.L1Ball(1.0))
    stored = problem.samples.rows
    if sparse.issparse(X):
        assert np.shares_memory(stored.data, X.data)
        assert np.shares_memory(stored.indices, X.indices)
        assert np.shares_memory(stored.indptr, X.indptr)
    else:
        assert np.shares_memory(stored.values, X)
        assert np.shares_memory(problem.X, X)
    assert not np.shares_memory(problem.y, y)


def _same_as_dense(given_X, X, y, given_y=None):
    """Check that a form of the data means the same as the plain array."""
    w = np.linspace(-0.4, 0.5, X.shape[1])
    reference = fw.Problem(X, y, "squared", fw.L1Ball(9.0)).evaluate(w)
    problem = fw.Problem(given_X, y if given_y is None else given_y, "squared", fw.L1Ball(9.0))
    for one, other in zip(reference, problem.evaluate(w), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-15)
    return problem


@interpreted
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse_formats(form, kind):
    X, y = cases.table(fw.Squared(), n=10, d=4)
    given_X = getattr(sparse, f"{form}_{kind}")(X)
    problem = _same_as_dense(given_X, X, y)
    assert problem.X.format == "csr"
    assert given_X.format == form
    np.testing.assert_array_equal(given_X.toarray(), X)


@interpreted
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_unsorted_and_repeated_entries_are_summed_on_a_copy(kind):
    data = np.array([3.0, 1.0, 2.0, 5.0, -1.0])
    indices, indptr = np.array([2, 0, 2, 1, 1], dtype=np.int32), np.array([0, 3, 5], dtype=np.int32)
    X = kind((data.copy(), indices.copy(), indptr.copy()), shape=(2, 3))
    problem = _same_as_dense(X, np.array([[1.0, 0.0, 5.0], [0.0, 4.0, 0.0]]), np.array([1.0, -2.0]))
    # looking up an entry bisects, so the columns must come sorted
    np.testing.assert_array_equal(problem.X.indices, [0, 2, 1])
    assert problem.samples.rows.row_entry(0, 2) == 5.0
    for mine, original in ((X.data, data), (X.indices, indices), (X.indptr, indptr)):
        np.testing.assert_array_equal(mine, original)


@interpreted
def test_sparse_integers_and_a_repeated_coo_entry():
    X = sparse.coo_array((np.array([1, 2, 4]), (np.array([0, 0, 1]), np.array([1, 1, 0]))), shape=(2, 2))
    problem = _same_as_dense(X, np.array([[0.0, 3.0], [4.0, 0.0]]), np.array([1.0, 2.0]))
    assert problem.X.dtype == np.float64


WHOLE = np.array([[1, 0, 3], [0, 2, 1], [1, 1, 0], [0, 0, 2]])
TARGETS = np.array([1.0, 2.0, -1.0, 0.0])


def _old_matrix():
    """Return what NumPy itself would rather nobody made; whether it says so depends on what was imported first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(WHOLE)


CONVERTED = {
    "fortran": np.asfortranarray(WHOLE, dtype=np.float64),
    "strided": np.repeat(WHOLE.astype(np.float64), 2, axis=1)[:, ::2],
    "read-only": np.frombuffer(WHOLE.astype(np.float64).tobytes()).reshape(WHOLE.shape),
    "int64": WHOLE,
    "uint8": WHOLE.astype(np.uint8),
    "float16": WHOLE.astype(np.float16),
    "list": WHOLE.tolist(),
    "list of arrays": list(WHOLE.astype(np.float32)),
    "np.matrix": _old_matrix(),
    "pandas float": pd.DataFrame(WHOLE.astype(np.float64)),
    "pandas int": pd.DataFrame(WHOLE, columns=list("abc")),
    "pandas mixed": pd.DataFrame({"a": WHOLE[:, 0] > 0, "b": WHOLE[:, 1], "c": WHOLE[:, 2] * 1.0}),
    "pandas Int64": pd.DataFrame(WHOLE).astype("Int64"),
    "pandas Float64": pd.DataFrame(WHOLE).astype("Float64"),
    "pandas nullable mix": pd.DataFrame(WHOLE).astype({0: "Int64", 1: "Float64", 2: "float64"}),
    "pandas Sparse": pd.DataFrame(WHOLE.astype(np.float64)).astype(pd.SparseDtype("float64", 0.0)),
    "polars int": pl.DataFrame(WHOLE, schema=list("abc")),
    "polars float": pl.DataFrame(WHOLE.astype(np.float64), schema=list("abc")),
    "polars mixed": pl.DataFrame({"a": WHOLE[:, 0] > 0, "b": WHOLE[:, 1], "c": WHOLE[:, 2] * 1.0}),
}


def test_a_frames_names_are_kept_and_numbers_are_none():
    y = np.arange(float(len(WHOLE)))
    for data, names in [
        (pd.DataFrame(WHOLE, columns=list("abc")), ["a", "b", "c"]),
        (pl.DataFrame(WHOLE, schema=list("abc")), ["a", "b", "c"]),
        (pd.DataFrame(WHOLE), None),
        (WHOLE, None),
    ]:
        problem = fw.Problem(data, y, "squared", fw.L1Ball(1.0))
        assert problem.feature_names == names
        assert problem.over(fw.L2Ball(1.0)).feature_names == names


@interpreted
@pytest.mark.parametrize("form", CONVERTED)
def test_other_forms_are_converted(form):
    problem = _same_as_dense(CONVERTED[form], WHOLE.astype(np.float64), TARGETS)
    assert problem.X.flags.c_contiguous
    assert problem.X.dtype == (np.float32 if form == "list of arrays" else np.float64)


@interpreted
def test_bools_are_zeros_and_ones():
    _same_as_dense(WHOLE > 0, (WHOLE > 0).astype(np.float64), TARGETS)
    _same_as_dense(sparse.csr_array(WHOLE > 0), (WHOLE > 0).astype(np.float64), TARGETS)


@interpreted
@pytest.mark.parametrize(
    "y",
    [
        TARGETS.tolist(),
        TARGETS.astype(np.float32),
        TARGETS.astype(np.int8),
        pd.Series(TARGETS, index=[9, 3, 5, 7]),  # an index is not an order
        pd.Series(TARGETS).astype("Int64"),
        pl.Series(TARGETS),
        pl.Series(TARGETS.astype(int)),
        TARGETS.astype(object),
    ],
    ids=["list", "float32", "int8", "pandas", "pandas Int64", "polars", "polars int", "objects"],
)
def test_forms_of_y(y):
    problem = _same_as_dense(WHOLE.astype(np.float64), WHOLE.astype(np.float64), TARGETS, given_y=y)
    assert problem.y.dtype == np.float64
    np.testing.assert_array_equal(problem.y, TARGETS)


# --- weights --------------------------------------------------------------------------------------------------


@interpreted
@pytest.mark.parametrize("layout", ["dense64", "csr64"])
@pytest.mark.parametrize("loss", cases.LOSSES, ids=cases.name_of)
def test_a_weight_is_a_number_of_repeats(loss, layout):
    X, y = cases.table(loss, n=12, d=4)
    counts = np.arange(12) % 4  # some rows not at all
    w = np.linspace(-0.4, 0.5, 4)
    weighted = fw.Problem(cases.LAYOUTS[layout](X), y, loss, fw.L1Ball(1.0), sample_weight=counts)
    repeated = fw.Problem(np.repeat(X, counts, axis=0), np.repeat(y, counts), loss, fw.L1Ball(1.0))
    for one, other in zip(weighted.evaluate(w)[:3], repeated.evaluate(w)[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
    assert weighted.zero_value == pytest.approx(repeated.zero_value, rel=1e-12)


@interpreted
def test_only_the_proportions_of_weights_matter():
    weights = np.random.default_rng(6).random(40)
    w = np.linspace(-0.1, 0.1, 12)
    one, seven = (cases.problem(sample_weight=factor * weights).evaluate(w) for factor in (1.0, 7.0))
    equal, ones = (cases.problem(sample_weight=given_weights).evaluate(w) for given_weights in (None, np.ones(40)))
    for left, right in (*zip(one, seven, strict=True), *zip(equal, ones, strict=True)):
        np.testing.assert_allclose(left, right, rtol=1e-13, atol=1e-16)
    assert abs(one.value - equal.value) > 1e-6


# --- the object -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "words"),
    [("dense64", ("40 x 12", "dense", "float64")), ("csr32", ("40 x 12", "stored values", "float32"))],
)
def test_repr_says_what_it_is_made_of(layout, words):
    shown = repr(cases.problem(fw.Huber(0.7), fw.LinfBall(1.0), layout))
    assert [word for word in (*words, "Huber", "Box") if word not in shown] == []


@interpreted
@pytest.mark.parametrize("name", ["n", "d", "zero_value", "X", "y", "loss", "constraint"])
def test_attributes_are_read_only(name):
    problem = cases.problem()
    before = getattr(problem, name)
    with pytest.raises(AttributeError):
        setattr(problem, name, 1)
    assert getattr(problem, name) is before or getattr(problem, name) == before
    assert (problem.n, problem.d) == (40, 12)


def test_losses_by_name_and_by_instance_are_the_same():
    X, y = cases.table(fw.SquaredHinge())
    for name, loss in {"squared-hinge": fw.SquaredHinge(), "huber": fw.Huber(), "logistic": fw.Logistic()}.items():
        assert fw.Problem(X, y, name, fw.L1Ball(1.0)).loss == loss
    assert fw.Problem(X, y, constraint=fw.L1Ball(1.0)).loss == fw.Logistic()


@interpreted
def test_evaluating_leaves_the_point_alone():
    problem = cases.problem()
    w = np.full(problem.d, 0.1)
    problem.evaluate(w).gradient[:] = 0.0
    np.testing.assert_array_equal(w, np.full(problem.d, 0.1))
    assert np.any(problem.gradient(w) != 0.0)
    assert problem.value(w.tolist()) == problem.value(w)


@pytest.mark.parametrize("constraint", cases.SETS, ids=cases.name_of)
def test_a_run_starts_at_zero_where_zero_is_feasible(constraint):
    problem = cases.problem(constraint=constraint)
    start = problem.default_start()
    assert problem.constraint.contains(start)
    assert np.any(start != 0.0) == isinstance(constraint, fw.Simplex)


@pytest.mark.parametrize("units", [20, 100, 300])
def test_a_gap_that_the_last_digits_of_a_point_make_negative_is_zero(units):
    # a set of one point: iterates are beside it by the rounding of all steps, on either side
    point = np.array([[56721.1]])
    problem = fw.Problem([[1.0], [-0.5]], [-1.0, 1.0], "logistic", fw.ConvexHull(point))
    slope = problem.gradient(point[0])
    beside = point[0] - units * np.sign(slope) * np.spacing(point[0])
    assert problem.gap_for(problem.gradient(beside), beside) < 0.0
    assert problem.gap(beside) == 0.0
    assert problem.gap(0.9 * point[0]) < 0.0  # no rounding: the point is outside
