"""Row stores as dask arrays: what workers read is what was written, and what they cannot read has a name."""

import shutil

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.store.reader import MOST_CHUNKS

da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(300, 5))
SPARSE = sparse.random_array((300, 40), density=0.2, rng=RNG, format="csr").astype(np.float32)
Y, WEIGHTS = DENSE[:, 0] + 0.1 * RNG.normal(size=300), RNG.uniform(1.0, 2.0, 300)


@pytest.fixture(params=["dense", "sparse"])
def store(request, tmp_path):
    """A store of two parts, each of several shards."""
    X = DENSE if request.param == "dense" else SPARSE
    fw.write_rows(tmp_path / "rows", X[:120], Y[:120], WEIGHTS[:120], shard=2000)
    return fw.write_rows(tmp_path / "rows", X[120:], Y[120:], WEIGHTS[120:], shard=2000, append=True)


@pytest.mark.parametrize("shards", [None, 1, 3, 1000])
def test_chunks_hold_what_the_store_holds(store, shards):
    X, y, weights = store.to_dask(shards)
    assert X.shape == store.shape
    assert X.dtype == store.dtype
    assert sparse.issparse(X._meta) == store.is_sparse
    assert X.chunks[0] == y.chunks[0] == weights.chunks[0]
    assert X.numblocks[0] == {None: len(store.shards), 1: len(store.shards), 1000: 2}.get(shards, X.numblocks[0])
    blocks = [block.compute(scheduler="synchronous") for block in X.blocks]
    assert [len(block.toarray() if store.is_sparse else block) for block in blocks] == list(X.chunks[0])
    whole = sparse.vstack(blocks).toarray() if store.is_sparse else np.concatenate(blocks)
    expected = store.matrix()
    assert np.array_equal(whole, expected.toarray() if store.is_sparse else expected)
    assert np.array_equal(y.compute(scheduler="synchronous"), Y)
    assert np.array_equal(weights.compute(scheduler="synchronous"), WEIGHTS)


def test_the_same_store_has_the_same_names_and_another_has_others(store, tmp_path):
    assert store.to_dask()[0].name == fw.open_rows(store.path).to_dask()[0].name
    assert store.to_dask()[0].name != store.to_dask(2)[0].name
    other = shutil.copytree(store.path, tmp_path / "other")
    assert store.to_dask()[0].name != fw.open_rows(other).to_dask()[0].name


def test_what_a_store_does_not_have_is_none_and_outputs_are_columns(tmp_path):
    rows = fw.write_rows(tmp_path / "bare", DENSE, shard=2000)
    assert rows.to_dask()[1:] == (None, None)
    targets = np.column_stack([Y, 2.0 * Y])
    rows = fw.write_rows(tmp_path / "tasks", DENSE, targets, shard=2000)
    assert np.array_equal(rows.to_dask()[1].compute(scheduler="synchronous"), targets)


def test_classes_are_numbers(tmp_path):
    words = np.where(Y > 0.0, "yes", "no")
    rows = fw.write_rows(tmp_path / "words", DENSE, words, shard=2000)
    y = rows.to_dask()[1].compute(scheduler="synchronous")
    assert np.array_equal(rows.classes[y.astype(int)], words)


@pytest.mark.parametrize("shards", [0, -1, 1.5, True, "2"])
def test_numbers_of_shards_that_make_no_sense(store, shards):
    with pytest.raises(ValueError, match="shards must be a positive int"):
        store.to_dask(shards)


def test_a_store_of_many_shards_has_fewer_chunks(tmp_path):
    rows = fw.write_rows(tmp_path / "many", np.ones((2 * MOST_CHUNKS + 1, 1)), shard=8)
    assert len(rows.shards) > 2 * MOST_CHUNKS
    assert rows.to_dask()[0].numblocks[0] <= MOST_CHUNKS


def test_the_answer_is_that_of_the_rows_in_memory(client, store):
    X, y, weights = store.to_dask(2)
    there = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(0.5), sample_weight=weights)
    here = fw.Problem(store, loss="squared", constraint=fw.L1Ball(0.5))
    found, expected = fw.minimize(there, tol=1e-8), fw.minimize(here, tol=1e-8)
    assert found.success
    assert found.fun == pytest.approx(expected.fun, rel=1e-7)
    assert found.advice == expected.advice


def test_a_store_that_workers_cannot_read_names_file_and_worker(client, store):
    X, y, _ = store.to_dask(2)
    shutil.move(store.path, store.path.with_name("elsewhere"))
    with pytest.raises(
        fw.exceptions.ClusterError, match=r"worker tcp://\S+ on .* cannot read .*\.bin: there is no such folder"
    ):
        fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(0.5))


def test_a_file_that_is_gone_or_damaged_is_named(store):
    X, y, _ = store.to_dask(2)
    values = sorted(store.path.glob("*-values.bin"))
    values[-1].unlink()
    with pytest.raises(OSError, match=f"{values[-1].name} is gone"):
        X.blocks[-1].compute(scheduler="synchronous")
    content = bytearray(values[0].read_bytes())
    content[5] ^= 1
    values[0].write_bytes(content)
    with pytest.raises(ValueError, match=f"{values[0].name} is damaged"):
        X.blocks[0].compute(scheduler="synchronous")
    targets = next(store.path.glob("part-0-targets.bin"))
    targets.write_bytes(targets.read_bytes()[:-8])
    with pytest.raises(ValueError, match=f"{targets.name} has .* bytes"):
        y.compute(scheduler="synchronous")


# --- advice, from some rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "radius", "words"), [(1e4, 0.1, "differ in size"), (1.0, 1e-3, "by only")])
def test_advice_comes_from_some_rows_of_every_part(client, scale, radius, words):
    X = DENSE * [1.0, scale, 1.0, 1.0, 1.0]
    there = fw.Problem(da.from_array(X, chunks=(100, 5)), Y, loss="squared", constraint=fw.L1Ball(radius))
    here = fw.Problem(X, Y, loss="squared", constraint=fw.L1Ball(radius))
    found, expected = fw.minimize(there), fw.minimize(here)
    assert found.advice == expected.advice
    assert words in found.advice[0]
