"""Index arrays of sparse matrices that do not fit the shape: rejected by name, never followed."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.arguments.arrays import checked_sparse

N, D = 6, 4


def sound(kind="csr", index_type=np.int32):
    X = np.random.default_rng(0).normal(size=(N, D))
    X[np.random.default_rng(1).random((N, D)) < 0.4] = 0.0
    matrix = sparse.csr_array(X).asformat(kind)
    if kind == "coo":
        matrix.coords = tuple(index.astype(index_type) for index in matrix.coords)
    else:
        matrix.indices, matrix.indptr = matrix.indices.astype(index_type), matrix.indptr.astype(index_type)
    return matrix


def damaged(kind, place, value, index_type=np.int32):
    """Return a matrix with one number of an index array changed; SciPy does not look."""
    matrix = sound(kind, index_type)
    name, at = place
    array = matrix.coords[name] if kind == "coo" else getattr(matrix, name)
    array[at] = value
    return matrix


CASES = {
    "beyond": ("csr", ("indices", 5), D),
    "far": ("csr", ("indices", -1), 2_000_000_000),
    "negative": ("csr", ("indices", 0), -1),
    "by-column": ("csc", ("indices", 3), N),
    "blocks": ("bsr", ("indices", 0), D),
    "pointer-falls": ("csr", ("indptr", 2), 1),
    "pointer-negative": ("csr", ("indptr", 1), -3),
    "pointer-start": ("csr", ("indptr", 0), 1),
    "pointer-end": ("csr", ("indptr", -1), 500),
    "entry-row": ("coo", (0, 2), N),
    "entry-column": ("coo", (1, 2), -1),
}
MESSAGE = "its index arrays do not fit its shape"
EVERY_CASE = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@EVERY_CASE
def test_a_problem_names_what_is_wrong(case, index_type):
    kind, place, value = case
    with pytest.raises(ValueError, match=f"X: {MESSAGE}"):
        fw.Problem(damaged(kind, place, value, index_type), np.ones(N), "squared", fw.L1Ball(1.0))


@EVERY_CASE
def test_estimators_and_models_refuse_the_same(case):
    kind, place, value = case
    X, y = sound().toarray(), np.arange(N) % 2
    bad = damaged(kind, place, value)
    regressor = fw.FrankWolfeRegressor().fit(X, y.astype(float))
    classifier = fw.FrankWolfeClassifier().fit(X, y)
    problem = fw.Problem(X, 2.0 * y - 1.0, constraint=fw.L1Ball(1.0))
    model = fw.FittedModel.of(problem, fw.minimize(problem))
    questions = [
        lambda: fw.FrankWolfeRegressor().fit(bad, y.astype(float)),
        lambda: regressor.predict(bad),
        lambda: classifier.predict_proba(bad),
        lambda: model.predict(bad),
        lambda: model.decision(bad),
    ]
    for ask in questions:
        with pytest.raises(ValueError, match=MESSAGE):
            ask()


@EVERY_CASE
def test_sets_and_completion_refuse_the_same(case):
    kind, place, value = case
    bad = damaged(kind, place, value)
    questions = [
        lambda: fw.Polytope(bad, np.ones(N)),
        lambda: fw.ConvexHull(bad),
        lambda: fw.completion_problem(bad, constraint=fw.TraceBall(1.0)),
        lambda: fw.MatrixCompletion().fit(bad),
    ]
    for ask in questions:
        with pytest.raises(ValueError, match=MESSAGE):
            ask()


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sound_matrices_pass_as_they_are(kind, index_type):
    matrix = sound(kind, index_type) if kind in ("csr", "csc", "bsr", "coo") else sound().asformat(kind)
    assert checked_sparse("X", matrix) is matrix
    np.testing.assert_array_equal(
        fw.Problem(matrix, np.ones(N), "squared", fw.L1Ball(1.0)).X.toarray(), matrix.toarray()
    )


def test_room_that_is_not_used_is_not_looked_at():
    whole = sound()
    spare = sparse.csr_array((N, D))
    spare.data, spare.indptr = np.append(whole.data, [np.pi, np.pi]), whole.indptr
    spare.indices = np.append(whole.indices, [900, -7]).astype(np.int32)
    assert checked_sparse("X", spare) is spare
    empty = sparse.csr_array((N, D))
    assert checked_sparse("X", empty) is empty


def test_columns_of_no_width():
    bad = sparse.csr_array((np.ones(1), np.array([0]), np.array([0, 1])), shape=(1, 0))
    with pytest.raises(ValueError, match=MESSAGE):
        fw.Problem(bad, [1.0], "squared", fw.L1Ball(1.0))
