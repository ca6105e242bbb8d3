"""A problem on a cluster has the answer that it has in memory."""

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from tests.cluster.tables import COLUMNS, ROWS, chunked, table
from tests.frozen import problems, record

da = pytest.importorskip("dask.array", reason="dask is not installed")

X, Y = table()
FAR, FAR_Y = table(shift=100.0)
THIN = sparse.csr_array(X * (np.random.default_rng(1).random(X.shape) < 0.4))
CLASSES = np.arange(ROWS) % 3
TABLE = np.column_stack([X[:, 0] - X[:, 1], X[:, 2], X[:, 3]])
HULL = fw.ConvexHull(np.random.default_rng(2).normal(size=(14, COLUMNS)))
SHIFT = np.linspace(-0.2, 0.2, COLUMNS)
SIDE = fw.LinearBounds(np.random.default_rng(3).normal(size=(3, COLUMNS)), [-0.1, -np.inf, 0.05], [0.1, -0.05, 0.05])

CASES = {
    "dense": (X, Y, "logistic", fw.L1Ball(1.5), {}),
    "sparse": (THIN, Y, "logistic", fw.L1Ball(1.5), {}),
    "weighted": (X, Y, "logistic", fw.Simplex(1.0), {"sample_weight": np.linspace(0.0, 2.0, ROWS)}),
    "multinomial": (X, CLASSES, "multinomial", fw.L1Ball(3.0), {}),
    "multinomial-intercept": (X, CLASSES, "multinomial", fw.L1Ball(3.0), {"intercept": True}),
    "intercept": (FAR, FAR_Y, "logistic", fw.L1Ball(1.5), {"intercept": True}),
    "low-rank": (X, TABLE, "multitask-squared", fw.TraceBall(1.0), {}),
    "low-rank-intercept": (FAR, TABLE, "multitask-squared", fw.TraceBall(1.0), {"intercept": True}),
    "curved": (X, Y, "logistic", fw.L2Ball(0.5), {}),
    "curved-intercept": (FAR, FAR_Y, "logistic", fw.L2Ball(0.5), {"intercept": True}),
    "vertices": (X, Y, "logistic", HULL, {"intercept": True}),
    "vertices-plain": (X, Y, "logistic", HULL, {}),
    "single-intercept": (FAR.astype(np.float32), FAR_Y, "logistic", fw.L1Ball(1.5), {"intercept": True}),
    "translated": (X, Y, "squared", fw.sets.Translated(fw.L1Ball(0.5), SHIFT), {}),
    "conditions": (X, Y, "logistic", fw.L1Ball(1.5), {"intercept": True, "side": SIDE}),
    "linear": (X, Y, "logistic", fw.L1Ball(1.5), {"linear": 0.1 * SHIFT}),
    "linear-conditions": (X, Y, "logistic", fw.L1Ball(1.5), {"intercept": True, "side": SIDE, "linear": 0.1 * SHIFT}),
    "linear-vertices": (X, Y, "logistic", HULL, {"intercept": True, "linear": 0.1 * SHIFT}),
    "linear-low-rank": (X, TABLE, "multitask-squared", fw.TraceBall(1.0), {"linear": 0.1 * np.outer(SHIFT, [1, 0, 2])}),
    "offset": (X, Y, "logistic", fw.L1Ball(1.5), {"intercept": True, "offset": np.linspace(-1.0, 1.0, ROWS)}),
    "single": (X.astype(np.float32), Y, "logistic", fw.L1Ball(1.5), {}),
}


def both(name, chunk=25):
    """Return a problem on the cluster, and in memory."""
    X, y, loss, constraint, given = CASES[name]
    local = fw.Problem(X, y, loss, constraint, **given)
    far = {key: chunked(value, chunk) if key in ("sample_weight", "offset") else value for key, value in given.items()}
    return fw.Problem(chunked(X, chunk), chunked(y, chunk), loss, constraint, **far), local


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_that_in_memory(client, name):
    problem, local = both(name)
    expected = fw.minimize(local, tol=1e-11)
    for method in ("corrective", "auto"):
        found = fw.minimize(problem, method, tol=1e-11)
        assert found.success, found.message
        assert found.fun == pytest.approx(expected.fun, rel=1e-10, abs=1e-10)
        if not name.startswith("multinomial"):  # where only differences between outputs matter
            np.testing.assert_allclose(found.x, expected.x, atol=2e-5)
        assert abs(problem.gap(found.x) - local.gap(np.asarray(found.x))) < 1e-10
        assert found.gap >= local.value(found.x) - expected.fun - 1e-10


@pytest.mark.parametrize("chunk", [ROWS, 7])
def test_any_number_of_chunks(client, chunk):
    problem, local = both("dense", chunk)
    assert fw.minimize(problem, tol=1e-11).fun == pytest.approx(fw.minimize(local, tol=1e-11).fun, abs=1e-11)


def test_chunks_of_unknown_size_some_empty(client):
    def kept(block):
        return block[block[:, 0] > 50.0] if block[0, 0] == 0.0 else block

    numbered = np.column_stack([np.arange(ROWS) * 1.0, X, Y])
    rows = chunked(numbered, 30).map_blocks(kept, dtype=float, chunks=((np.nan,) * 3, (COLUMNS + 2,)))
    problem = fw.Problem(rows[:, 1:-1], rows[:, -1], "logistic", fw.L1Ball(1.5))
    local = fw.Problem(X[30:], Y[30:], "logistic", fw.L1Ball(1.5))
    assert problem.n == 60
    assert fw.minimize(problem, tol=1e-11).fun == pytest.approx(fw.minimize(local, tol=1e-11).fun, abs=1e-11)


def test_data_frames(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(COLUMNS)]).assign(y=Y)
    far = dd.from_pandas(frame, npartitions=3)
    problem = fw.Problem(far.drop(columns="y"), far["y"], "logistic", fw.L1Ball(1.5))
    local = both("dense")[1]
    assert fw.minimize(problem, tol=1e-11).fun == pytest.approx(fw.minimize(local, tol=1e-11).fun, abs=1e-11)


def test_persisted_collections(client):
    problem = fw.Problem(chunked(X).persist(), chunked(Y).persist(), "logistic", fw.L1Ball(1.5))
    assert problem.objective.shards.cluster.loader._persisted  # and held, for nobody else does
    local = both("dense")[1]
    assert fw.minimize(problem, tol=1e-11).fun == pytest.approx(fw.minimize(local, tol=1e-11).fun, abs=1e-11)


def test_targets_and_weights_in_memory(client):
    weights = np.linspace(0.0, 2.0, ROWS)
    problem = fw.Problem(chunked(X), Y, "logistic", fw.L1Ball(1.5), sample_weight=weights)
    local = fw.Problem(X, Y, "logistic", fw.L1Ball(1.5), sample_weight=weights)
    assert fw.minimize(problem, tol=1e-11).fun == pytest.approx(fw.minimize(local, tol=1e-11).fun, abs=1e-11)


def test_without_a_client_one_is_made(monkeypatch):
    from frankwolfe.cluster import loading

    def nobody():
        raise ValueError("no clients found")

    monkeypatch.setattr(loading, "default_client", nobody)
    problem, local = both("dense")
    assert problem.objective.shards.cluster.client.cluster.name
    assert fw.minimize(problem, tol=1e-11).fun == pytest.approx(fw.minimize(local, tol=1e-11).fun, abs=1e-11)


def test_a_warm_start_goes_on_from_the_intercept_of_the_model(client):
    problem, local = (
        fw.Problem(*(cut(part) for part in (FAR, FAR_Y)), "sigmoid", fw.L1Ball(1.5), intercept=True)
        for cut in (chunked, np.asarray)
    )
    w = np.linspace(-0.2, 0.2, COLUMNS)
    for task in (problem, local):
        task.expect(w, 0.7)
    np.testing.assert_allclose(problem.guess.shift, local.guess.shift, rtol=1e-10)
    np.testing.assert_allclose(problem.guess.mean, local.guess.mean, atol=1e-14)  # columns are centred


def test_answers_are_the_recorded_ones(client):
    recorded = record.recorded()
    cases = [case for case in problems.of_clusters() if case.name in recorded]
    assert len(cases) > 8
    found = {case.name: record.differences(case, record.answer(case), recorded[case.name]) for case in cases}
    assert {name: differences for name, differences in found.items() if differences} == {}
