"""A place for rows of one's own: with ``read_shard`` alone it runs all that a row store does, with the same answers."""

from zipfile import ZipFile

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.estimators.regressor import FrankWolfeRegressor
from frankwolfe.store.sharded import ShardedRows, ShardSize
from tests.own_parts import ZippedRows

N, D, SHARD = 1000, 12, 100


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, X @ rng.normal(size=D) + rng.normal(size=N)


@pytest.fixture
def zipped(tmp_path):
    """A function that opens the same rows with so many bytes of memory."""
    X, y = table()
    with ZipFile(tmp_path / "rows.zip", "w") as archive:
        for number, first in enumerate(range(0, N, SHARD)):
            with archive.open(f"rows-{number:03}.npy", "w") as stream:
                np.save(stream, X[first : first + SHARD])
        with archive.open("y.npy", "w") as stream:
            np.save(stream, y)
    return lambda memory=3 * SHARD * D * 8: ZippedRows(tmp_path / "rows.zip", memory)


class SparseBlocks(ShardedRows):
    """Sparse rows, in blocks of one size."""

    def __init__(self, X, memory, **wrong):
        self.X = X
        blocks = [X[first : first + SHARD] for first in range(0, N, SHARD)]
        shards = [ShardSize.of(SHARD, D, np.float64, wrong.get("entries", block.nnz)) for block in blocks]
        super().__init__("blocks", D, np.float64, shards, memory, is_sparse=True)

    def read_shard(self, number):
        return self.X[number * SHARD : (number + 1) * SHARD]


@pytest.mark.parametrize(("method", "tol", "passes"), [("auto", 1e-6, 100.0), ("sfw", 1e-3, 200.0), ("fw", 0.0, 20.0)])
def test_methods_run_on_it_and_certify(zipped, method, tol, passes):
    X, y = table()
    problem = fw.Problem(zipped(), loss="squared", constraint=fw.L1Ball(2.0))
    result = fw.minimize(problem, method, tol=tol, max_passes=passes, random_state=0)
    assert result.reads > 0
    assert result.success == (tol > 0.0)
    inside = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(2.0))
    assert inside.value(result.x) == pytest.approx(result.fun, rel=1e-12)
    assert inside.gap(result.x) == pytest.approx(problem.gap(result.x), rel=1e-6, abs=1e-12)


def test_the_bits_are_those_of_a_row_store_with_the_same_shards(zipped, tmp_path):
    X, y = table()
    own = zipped()
    store = fw.write_rows(tmp_path / "rows", X, y, shard=own.largest_shard, memory=own.memory)
    assert [shard.rows for shard in store.shards] == [shard.rows for shard in own.shards]
    for method in ("auto", "sfw", "fw"):
        mine, other = (
            fw.minimize(
                fw.Problem(rows, loss="squared", constraint=fw.L1Ball(2.0), intercept=True),
                method,
                tol=1e-4,
                max_passes=30,
                random_state=0,
            )
            for rows in (own, store)
        )
        assert (mine.nit, mine.reads) == (other.nit, other.reads)
        assert (mine.x == other.x).all()


def test_sparse_rows(zipped):
    X, y = table()
    X = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    rows = SparseBlocks(X, X.data.nbytes // 2)
    assert rows.nnz == X.nnz
    np.testing.assert_array_equal(rows.counts, np.diff(X.tocsc().indptr))
    np.testing.assert_allclose(rows.squares, X.power(2).sum(axis=0), rtol=1e-12)
    assert (rows.matrix() != X).nnz == 0
    ours, inside = (fw.Problem(x, y, loss="squared", constraint=fw.L1Ball(2.0)) for x in (rows, X))
    results = [fw.minimize(problem, tol=1e-8) for problem in (ours, inside)]
    assert all(result.success for result in results)
    assert results[0].fun == pytest.approx(results[1].fun, rel=1e-7)


def test_rows_that_fit_are_loaded_once(zipped):
    _, y = table()
    problem = fw.Problem(zipped(10**9), loss="squared", constraint=fw.L1Ball(2.0))
    assert isinstance(problem.X, np.ndarray)
    assert (problem.y == y).all()
    assert fw.minimize(problem).reads is None


def test_a_resumed_run_has_the_same_bits(zipped, tmp_path):
    def problem():
        return fw.Problem(zipped(), loss="squared", constraint=fw.L1Ball(2.0))

    given = {"method": "sfw", "tol": 0.0, "random_state": 0}
    fw.minimize(problem(), max_passes=5, checkpoint=tmp_path / "run", **given)
    resumed = fw.resume(tmp_path / "run", problem(), max_passes=9)
    assert (resumed.x == fw.minimize(problem(), max_passes=9, **given).x).all()
    _, y = table()
    with pytest.raises(ValueError, match="targets"):
        fw.resume(tmp_path / "run", fw.Problem(zipped(), y + 1.0, loss="squared", constraint=fw.L1Ball(2.0)))


def test_an_estimator_takes_targets_from_it(zipped):
    X, y = table()
    ours, inside = (FrankWolfeRegressor(radius=2.0, tol=1e-8).fit(*data).coef_ for data in ((zipped(), None), (X, y)))
    np.testing.assert_allclose(ours, inside, atol=1e-4)
    model = FrankWolfeRegressor(radius=2.0).fit(X, y)
    np.testing.assert_allclose(model.predict(zipped()), model.predict(X), rtol=1e-12)


def test_refusals_name_it(zipped):
    X, _ = table()
    path = zipped().name
    with pytest.raises(ValueError, match=f"needs all rows in memory, but {path} does not fit into memory: use 'auto'"):
        fw.minimize(fw.Problem(zipped(), loss="squared", constraint=fw.L1Ball(2.0)), "saga")
    with pytest.raises(ValueError, match=f"memory=100 bytes is too little for {path}: .* make smaller shards"):
        zipped(100)
    rows = SparseBlocks(sparse.csr_array(X), 10**5, entries=3)
    with pytest.raises(ValueError, match=r"shard 0 of blocks has shape \(100, 12\) and 1,200 entries; expected .* 3"):
        rows.matrix()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="shard 0 of blocks: X holds 1 NaN"):
        SparseBlocks(sparse.csr_array(X), 10**5).matrix()
