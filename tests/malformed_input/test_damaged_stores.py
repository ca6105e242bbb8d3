"""Row stores that are damaged, foreign, newer or gone: a message that names the file, and never a wrong number."""

import json

import numpy as np
import pytest

import frankwolfe as fw
from frankwolfe.store.format import _checksum


@pytest.fixture
def store(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.5)
    from scipy import sparse

    with fw.python_mode():
        yield fw.write_rows(tmp_path / "rows", sparse.csr_array(X), X[:, 0], np.ones(60), shard=400)


def opened(store, **how):
    """Open the store, and read all of it."""
    again = fw.open_rows(store.path, **how)
    again.matrix()
    return again.y, again.sample_weight, again.counts, again.squares


def names(store):
    return sorted(path.name for path in store.path.iterdir())


def test_every_file_that_is_changed_cut_off_or_gone_is_named(store):
    assert len(names(store)) > 10
    for name in names(store):
        path = store.path / name
        content = path.read_bytes()
        for damaged in (content[:-1], content + b"\0", content[:3] + bytes([content[3] ^ 1]) + content[4:], b""):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=name):
                opened(store)
        path.unlink()
        with pytest.raises((ValueError, FileNotFoundError), match=name):
            opened(store)
        path.write_bytes(content)
    opened(store)


def rewritten(store, **changes):
    content = json.loads((store.path / "manifest.json").read_text())
    content |= changes
    content.pop("crc32")
    (store.path / "manifest.json").write_text(json.dumps({**content, "crc32": _checksum(content)}))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": 1}, "version 1 of the format"),
        ({"format": "other"}, "not the manifest of a row store"),
        ({"layout": "columns"}, "not a manifest that this library has written"),
        ({"more": 1}, "not a manifest that this library has written"),
        ({"parts": []}, "holds no rows"),
    ],
)
def test_manifests_of_another_kind(store, changes, told):
    rewritten(store, **changes)
    with pytest.raises(ValueError, match=told):
        fw.open_rows(store.path)


def test_a_manifest_names_no_file_elsewhere(store, tmp_path):
    (tmp_path / "secret.bin").write_bytes(bytes(8))
    content = json.loads((store.path / "manifest.json").read_text())
    content["parts"][0]["number"] = "0/../../secret"
    rewritten(store, parts=content["parts"])
    with pytest.raises(ValueError, match="not a manifest that this library has written"):
        fw.open_rows(store.path)


def test_folders_that_are_no_store(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        fw.open_rows(tmp_path / "nothing")
    with pytest.raises(ValueError, match="not a row store"):
        fw.open_rows(tmp_path)
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is a file, not a row store"):
        fw.open_rows(tmp_path / "data.csv")
    with pytest.raises(ValueError, match=r"memory must be a number of bytes or a text such as '1.5GB'"):
        fw.open_rows(tmp_path, memory="much")


def test_memory_that_holds_no_two_shards(store):
    with pytest.raises(ValueError, match="memory=500 bytes is too little"):
        fw.open_rows(store.path, memory=500)


def test_a_shard_that_vanishes_during_a_run(store):
    problem = fw.Problem(fw.open_rows(store.path, memory=1000), loss="squared", constraint=fw.L1Ball(1.0))
    for method in ("sfw", "corrective"):

        def vanish(state):
            (store.path / "000003-values.bin").rename(store.path / "away") if state.nit == 0 else None

        with pytest.raises(FileNotFoundError, match=r"000003-values\.bin is gone"):
            fw.minimize(problem, method, tol=0.0, max_passes=20, callback=vanish, trace=1)
        (store.path / "away").rename(store.path / "000003-values.bin")
    assert fw.minimize(problem, "corrective").success
