"""Files of flat mappings: what was written comes back to the last bit, or one ValueError names the file."""

import io
import json

import numpy as np
import pytest

from frankwolfe.store.files import is_flat, read_flat, write_flat

VALUES = {
    "solver.alpha": np.array([0.1, -np.inf, np.nan, 5e-324]),
    "solver.deck": np.arange(5)[::-1],
    "solver.columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "solver.view": np.arange(24.0).reshape(4, 6)[::2, 1:4],
    "solver.none": np.empty((3, 0)),
    "solver.steps": 2**60 + 1,
    "gap": np.float64(0.1) / 3.0,
    "bound": -np.inf,
    "error": np.nan,
    "wanted": True,
    "name": "a 'name' with \u00e9",
}


@pytest.fixture
def path(tmp_path):
    write_flat(tmp_path / "file", "diary", 3, VALUES)
    return tmp_path / "file"


def same(one, other):
    return sorted(one) == sorted(other) and all(
        np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in one
    )


def test_values_come_back_to_the_last_bit(path):
    found = read_flat(path, "diary", 3)
    assert same(found, VALUES)
    assert found["solver.columns"].flags.f_contiguous
    assert (type(found["wanted"]), type(found["solver.steps"])) == (bool, int)


def refused(path, words=""):
    with pytest.raises(ValueError, match="cannot be read as a diary") as caught:
        read_flat(path, "diary", 3)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_flipped_bits_are_refused_or_change_nothing(path):
    content, refusals = path.read_bytes(), 0
    places = range(0, len(content), 5)
    for at in places:
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :])
        try:
            assert same(read_flat(path, "diary", 3), VALUES)  # a date, or another field that nobody reads
        except ValueError as error:
            refusals += str(path) in str(error)
    assert refusals > 0.7 * len(places)


def test_what_is_cut_off_is_refused(path):
    content = path.read_bytes()
    for length in (*range(0, len(content), 97), len(content) - 1):
        path.write_bytes(content[:length])
        refused(path)


def test_other_kinds_and_versions_are_refused(path, tmp_path):
    with pytest.raises(ValueError, match=r"file cannot be read as a checkpoint: it is a diary"):
        read_flat(path, "checkpoint", 3)
    with pytest.raises(ValueError, match=r"its layout has version 3, written by frankwolfe .*; .* reads version 2"):
        read_flat(path, "diary", 2)
    assert is_flat(path, "diary")
    assert not is_flat(path, "checkpoint")
    for content in (b"", b"1,2\n3,4\n", b"PK\x03\x04"):
        path.write_bytes(content)
        refused(path)
        assert not is_flat(path, "diary")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_flat(tmp_path / "gone", "diary", 3)


def by_hand(path, save=np.savez, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    path.write_bytes(stream.getvalue())


def test_files_made_by_hand_are_refused(path):
    about = {"kind": "diary", "version": 3, "frankwolfe": "0", "values": {}, "arrays": ["x"]}
    text, x = np.array(json.dumps(about)), np.zeros(3)
    by_hand(path, about=text, x=x)
    assert list(read_flat(path, "diary", 3)) == ["x"]
    by_hand(path, about=text)
    refused(path, "list of arrays and the arrays differ in x")
    by_hand(path, about=text, x=x, y=x)
    refused(path, "differ in y")
    by_hand(path, x=x)
    refused(path, "'about' is missing")
    by_hand(path, np.savez_compressed, about=text, x=x)  # a small file could hold a very large array
    refused(path, "compressed")
    by_hand(path, about=text, x=np.array([{}], dtype=object))  # pickled: code
    refused(path)


def test_what_was_there_stays_if_writing_fails(path, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("frankwolfe.store.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_flat(path, "diary", 3, {"x": np.zeros(3)})
    assert same(read_flat(path, "diary", 3), VALUES)
    assert [file.name for file in path.parent.iterdir()] == ["file"]
