"""Row stores: what is written is what is read, from every kind of source, and a store is whole or not there."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import frankwolfe as fw
from frankwolfe.store import write_rows as file_sources
from frankwolfe.store import writer as shard_writer

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(300, 7))
SPARSE = sparse.csr_array(sparse.random_array((400, 30), density=0.1, rng=1).toarray().round(9))


@pytest.fixture(autouse=True)
def interpreted():
    with fw.python_mode():
        yield


def same(store, X, y=None, weights=None):
    assert store.shape == X.shape
    found = store.matrix()
    assert type(found) is (sparse.csr_array if sparse.issparse(X) else np.ndarray)
    difference = found - X
    assert np.abs(difference.toarray() if sparse.issparse(X) else difference).max() == 0.0
    for mine, other in ((store.y, y), (store.sample_weight, weights)):
        assert (mine is None) == (other is None)
        assert other is None or np.array_equal(mine, other)


@pytest.mark.parametrize(
    "X",
    [DENSE, SPARSE, DENSE.astype(np.float32), SPARSE.astype(np.float32)],
    ids=lambda X: f"{type(X).__name__}-{X.dtype}",
)
@pytest.mark.parametrize("shard", [500, "1kB", "1GB"])
def test_matrices_come_back_as_they_were(tmp_path, X, shard):
    y, weights = RNG.normal(size=X.shape[0]), RNG.random(X.shape[0])
    store = fw.write_rows(tmp_path / "rows", X, y, weights, shard=shard)
    same(store, X, y, weights)
    assert store.dtype == X.dtype
    assert (len(store.shards) == 1) == (shard == "1GB")
    assert sum(shard.rows for shard in store.shards) == X.shape[0]
    head = store.head(3)
    assert np.abs((head - X[:3]).toarray() if sparse.issparse(X) else head - X[:3]).max() == 0.0
    columns = abs(sparse.csr_array(X)).power(2).sum(axis=0)
    np.testing.assert_allclose(store.squares, columns, rtol=1e-6)
    if sparse.issparse(X):
        assert np.array_equal(store.counts, np.bincount(X.indices, minlength=X.shape[1]))


def test_shards_do_not_depend_on_the_blocks_that_rows_come_in(tmp_path):
    y = np.arange(400.0)
    whole = fw.write_rows(tmp_path / "whole", SPARSE, y, shard=700)
    cuts = np.sort(RNG.choice(400, 17, replace=False))
    blocks = ((SPARSE[rows], y[rows]) for rows in np.split(np.arange(400), cuts))
    pieces = fw.write_rows(tmp_path / "pieces", blocks, shard=700)
    assert pieces.manifest == whole.manifest  # checksums among it


def test_rows_are_appended(tmp_path):
    fw.write_rows(tmp_path / "rows", SPARSE[:100], np.arange(100.0), shard=700)
    before = fw.open_rows(tmp_path / "rows")
    after = fw.write_rows(tmp_path / "rows", SPARSE[100:], np.arange(100.0, 400.0), shard=900, append=True)
    same(after, SPARSE, np.arange(400.0))
    assert np.array_equal(after.counts, np.bincount(SPARSE.indices, minlength=30))
    same(before, SPARSE[:100], np.arange(100.0))  # a reader goes on with what there was
    for X, y, told in (
        (DENSE, np.zeros(300), "dense"),
        (SPARSE, None, "targets are none"),
        (SPARSE, ["a"] * 400, "targets are classes"),
    ):
        with pytest.raises(ValueError, match=told):
            fw.write_rows(tmp_path / "rows", X, y, append=True)
    same(fw.open_rows(tmp_path / "rows"), SPARSE, np.arange(400.0))
    assert not list(tmp_path.glob(".*"))


def test_classes_are_kept_by_name(tmp_path):
    words = np.where(DENSE[:, 0] > 1.0, "often", np.where(DENSE[:, 0] > 0.0, "never", "at times"))
    blocks = ((DENSE[k : k + 50], words[k : k + 50]) for k in range(0, 300, 50))
    store = fw.write_rows(tmp_path / "rows", blocks)
    assert store.classes.tolist() == ["at times", "never", "often"]
    assert np.array_equal(store.classes[store.y.astype(int)], words)
    problem = fw.Problem(store, loss="multinomial", constraint=fw.L1Ball(1.0))
    assert problem.outputs == 3
    with pytest.raises(ValueError, match="3 classes"):
        fw.Problem(store, constraint=fw.L1Ball(1.0))
    two = fw.write_rows(tmp_path / "two", DENSE, DENSE[:, 0] > 0.0)
    assert np.array_equal(fw.Problem(two, constraint=fw.L1Ball(1.0)).y, np.where(DENSE[:, 0] > 0.0, 1.0, -1.0))


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_svmlight(tmp_path, first):
    from sklearn.datasets import dump_svmlight_file

    y = RNG.normal(size=400).round(9)
    source = tmp_path / "data.svm"
    dump_svmlight_file(SPARSE, y, str(source), zero_based=first == 0)
    store = fw.write_rows(tmp_path / "rows", source, shard=900)
    same(store, SPARSE, y)
    assert store.manifest.first_column == (first if SPARSE[:, [0]].nnz else 1)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_in_pieces(tmp_path, monkeypatch, kind):
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(file_sources, "PIECE", 3000)
    monkeypatch.setattr(file_sources, "RECORDS", 64)
    kinds = np.where(DENSE[:, 0] > 0.0, 'say "yes",\nor', "no")
    frame = polars.DataFrame(
        {"kind": kinds, "w": np.abs(DENSE[:, 1]), "skip": kinds, "a": DENSE[:, 2], "b": DENSE[:, 3]}
    )
    source = tmp_path / f"data.{kind}"
    frame.write_csv(source) if kind == "csv" else frame.write_parquet(source, row_group_size=50)
    store = fw.write_rows(tmp_path / "rows", source, target="kind", weights="w", ignore="skip", shard=700)
    same(store, DENSE[:, 2:4], (DENSE[:, 0] > 0.0).astype(float), np.abs(DENSE[:, 1]))
    assert (store.feature_names, store.classes.tolist()) == (["a", "b"], ["no", 'say "yes",\nor'])
    frame[250, "a"] = None
    frame.write_csv(source) if kind == "csv" else frame.write_parquet(source)
    line = 252 + int(2 * (DENSE[:250, 0] > 0.0).sum() + (DENSE[250, 0] > 0.0) * 2)
    place = f"line {line}" if kind == "csv" else "row 251"
    with pytest.raises(ValueError, match=f"data.{kind}, {place}: column 'a' is empty"):
        fw.write_rows(tmp_path / "gaps", source, target="kind", weights="w", ignore="skip")


def test_frames_keep_their_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DENSE, columns=list("abcdefg"))
    store = fw.write_rows(tmp_path / "rows", frame, pandas.Series(DENSE[:, 0]))
    same(store, DENSE, DENSE[:, 0])
    assert fw.Problem(store, loss="squared", constraint=fw.L1Ball(1.0)).feature_names == list("abcdefg")


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        (lambda: [DENSE, np.where(DENSE > 2.0, np.nan, DENSE)], "row 300"),
        (lambda: [DENSE, DENSE[:, :3]], "3 columns, and 7 are expected"),
        (lambda: [DENSE, SPARSE], "the block is sparse"),
        (lambda: [DENSE.astype(np.float32), DENSE], "float64, and the rows before it are float32"),
        (lambda: [(DENSE, np.zeros(299))], "y has 299 entries"),
        (lambda: [(DENSE, np.zeros(300), -np.ones(300))], "must not be negative"),
        (lambda: [(DENSE, np.zeros(300)), DENSE], "targets are none, and those of the rows before are numbers"),
        (
            lambda: [(DENSE, DENSE[:, 0] > 0.0), (DENSE, ["yes"] * 300)],
            "targets are classes, and those of the rows before are truth values",
        ),
        (lambda: iter(()), "yields no block"),
        (lambda: iter([DENSE[:0]]), "no rows to write"),
    ],
)
def test_mistakes_are_told_and_leave_nothing_behind(tmp_path, blocks, told):
    with pytest.raises(ValueError, match=told):
        fw.write_rows(tmp_path / "rows", blocks())
    assert not list(tmp_path.iterdir())


def test_float32_is_asked_for(tmp_path):
    store = fw.write_rows(tmp_path / "rows", DENSE, dtype="float32")
    assert np.array_equal(store.matrix(), DENSE.astype(np.float32))
    with pytest.raises(ValueError, match="too large for float32"):
        fw.write_rows(tmp_path / "large", 1e300 * DENSE, dtype="float32")


def test_what_exists_is_not_overwritten(tmp_path):
    fw.write_rows(tmp_path / "rows", DENSE)
    with pytest.raises(FileExistsError, match="append=True"):
        fw.write_rows(tmp_path / "rows", SPARSE)
    same(fw.open_rows(tmp_path / "rows"), DENSE)
    with pytest.raises(FileNotFoundError, match="make the folder first"):
        fw.write_rows(tmp_path / "no" / "rows", DENSE)


def test_a_full_disk(tmp_path, monkeypatch):
    class Full:
        def __init__(self, stream):
            self.stream = stream

        def write(self, content):
            if self.stream.name.endswith("000002-values.bin"):
                self.stream.write(content[:10])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.stream.name)
            return self.stream.write(content)

    monkeypatch.setattr(shard_writer, "filling", Full)
    with pytest.raises(OSError, match=r"No space left on device after 300 rows.*has been removed") as told:
        fw.write_rows(tmp_path / "rows", DENSE, shard=3000)
    assert told.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    fw.write_rows(tmp_path / "rows", DENSE[:50], shard=3000)
    monkeypatch.setattr(shard_writer, "filling", Full)
    with fw.python_mode(), pytest.raises(OSError, match="No space left"):
        fw.write_rows(tmp_path / "rows", DENSE[50:], shard=3000, append=True)
    monkeypatch.undo()
    same(fw.open_rows(tmp_path / "rows"), DENSE[:50])
    assert len(list((tmp_path / "rows").iterdir())) == 4  # a shard, two numbers for each column, the manifest


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        fw.write_rows(tmp_path / "rows", DENSE)


HOLD = """
import sys, frankwolfe as fw, numpy as np
def blocks():
    yield np.ones((5, 2))
    print("writing", flush=True)
    sys.stdin.readline()
    yield np.ones((5, 2))
fw.write_rows(sys.argv[1], blocks(), append=len(sys.argv) > 2)
"""


@pytest.mark.parametrize("append", [False, True])
def test_two_writers(tmp_path, append):
    """The second is told at once; one that was killed leaves no lock, and no store."""
    path = tmp_path / "rows"
    if append:
        fw.write_rows(path, np.zeros((3, 2)))
    command = [sys.executable, "-c", HOLD, str(path), *["append"] * append]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "writing\n"
        with pytest.raises(OSError, match="another process is writing"):
            fw.write_rows(path, DENSE, append=append)
        other.kill()
    if append:
        same(fw.open_rows(path), np.zeros((3, 2)))  # readers saw nothing of it
    else:
        with pytest.raises(FileNotFoundError):
            fw.open_rows(path)
    assert fw.write_rows(path, np.ones((4, 2)), append=append).shape == (4 + 3 * append, 2)
    assert [file.name for file in tmp_path.iterdir()] == ["rows"]  # nothing is left of the one that was killed


def test_what_a_killed_writer_has_appended_is_removed(tmp_path):
    path = tmp_path / "rows"
    fw.write_rows(path, np.zeros((3, 2)), np.ones(3))
    for name in ("000001-values.bin", "000007-columns.bin", "part-1-weights.bin", "notes.bin"):
        (path / name).write_bytes(b"left over")
    fw.write_rows(path, np.ones((4, 2)), np.ones(4), append=True)
    same(fw.open_rows(path), np.repeat([[0.0] * 2, [1.0] * 2], [3, 4], axis=0), np.ones(7))
    assert {"000007-columns.bin", "part-1-weights.bin", "notes.bin"} & {*os.listdir(path)} == {"notes.bin"}
