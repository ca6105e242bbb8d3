"""Files that are damaged, cut off, or no data at all: one error that names the file, whatever they hold."""

import bz2
import gzip
import lzma
import os
from contextlib import suppress

import numpy as np
import pytest

from frankwolfe.io.read import read_data
from tests.tables import frame, numbers, svmlight, write

X, SIGNAL = numbers()
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
CONTENTS = {"csv": frame(X, y=SIGNAL).write_csv().encode(), "svm": svmlight(X, SIGNAL).encode()}


def told(path, target=("y",)):
    """Read a file that cannot be read, and return the message, which has one line and names the file."""
    with pytest.raises((ValueError, OSError)) as found:
        read_data(path, target)
    assert path.name in str(found.value)
    assert len(str(found.value)) < 1000
    return str(found.value)


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("kind", CONTENTS)
def test_compressed_files_are_whole_or_refused(kind, packing, tmp_path):
    target = ["y"] if kind == "csv" else []
    packed = PACKERS[packing](CONTENTS[kind])
    whole = read_data(write(tmp_path / "whole", packed), target)
    assert whole.X.shape == X.shape
    for cut in np.linspace(8, len(packed) - 1, 12).astype(int):
        assert "damaged, or not whole" in told(write(tmp_path / "cut", packed[:cut]), target)
    rng = np.random.default_rng(0)
    for at in rng.integers(20, len(packed) - 12, 12):
        spoiled = bytearray(packed)
        spoiled[at] ^= 1 << rng.integers(8)
        told(write(tmp_path / "spoiled", bytes(spoiled)), target)


NO_DATA = {
    "a model": (b"PK\x03\x04 and so on", "is a zip archive, such as a model"),
    "NUL bytes": (b"a,b,y\n1,2,\x00\n", "holds NUL bytes"),
    "zstd": (b"\x28\xb5\x2f\xfd and so on", "zstd|damaged"),
    "only remarks": (b"# one\n# two\n", "holds no rows: only remarks"),
    "only spaces": (b"  \n\n \t\n", "is empty"),
    "UTF-16": ("a,b,y\n1,2,3\n".encode("utf-16-be"), "NUL bytes|UTF-16"),
    "an open quotation mark": (b'a,b,y\n1,2,3\n1,"2,3\n4,5,6\n', "line 3: a quotation mark is opened there"),
    "one far away": (b"a,y\n" + b"1,2.5\n" * 1200 + b'1,"2\n3,4\n', "line 1202: a quotation mark is opened there"),
    "a quotation mark in a word": (b'a,y\n1,x"y\n2,z\n', "line 2: a quotation mark within a field"),
    "old line ends": (b"a,b,y\r1,2,3\r4,5,6\r", "carriage return"),
    "a long word": (b"a,b,y\n1," + b"x" * 200_000 + b",3\n4,5,6\n", r"line 2: column 'b' holds 'xxx.*characters\)"),
    "a long word in a long row": (b"a,b,y\n1,2,3\n1," + b"x" * 200_000 + b",3,4\n", "line 3: 4 fields"),
    "a huge exponent": (b"a,b,y\n1,1e999,3\n4,5,6\n", r"line 2: column 'b' holds .*not a finite number"),
    "Latin-1": ("a,b,y\n1,2,3\n1,2,caf\xe9\n".encode("latin-1"), "line 3: not UTF-8 text"),
    "mixed separators": (b"a,b,y\n1;2;3\n4,5,6\n", "line 2: column 'y' is empty"),
    "a NUL far away": (b"a,b,y\n" + b"1,2,x\n" * 20_000 + b"1,2,x\x00\n", "is not text"),
}


@pytest.mark.parametrize("name", NO_DATA)
def test_what_is_no_data_is_named(name, tmp_path):
    content, words = NO_DATA[name]
    with pytest.raises(ValueError, match=words):
        read_data(write(tmp_path / "data", content), ["y"])


def test_integers_of_any_length_are_numbers(tmp_path):
    integers = [2**63, 2**127, -(10**20), 2**900, 3]
    path = write(tmp_path / "data", "a,y\n" + "".join(f"{number},1\n" for number in integers))
    assert read_data(path, ["y"]).X[:, 0].tolist() == [float(number) for number in integers]


def test_names_with_marks_are_read(tmp_path):
    path = write(tmp_path / "data", '"a ""b""",y\n1,2\n3,4\n')
    assert read_data(path, ["y"]).features.names == ['a "b"']


def test_what_can_be_read_only_once_is_refused(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert "write the data to a file first" in told(path)


@pytest.mark.parametrize("seed", range(60))
def test_random_damage_never_ends_in_another_error(seed, tmp_path):
    """Whatever bytes are changed, cut out or doubled: numbers, or one of the two errors that are promised."""
    rng = np.random.default_rng(seed)
    kind = ("csv", "svm")[seed % 2]
    content = bytearray(CONTENTS[kind])
    for _ in range(rng.integers(1, 6)):
        at, size = rng.integers(len(content)), rng.integers(1, 30)
        change = rng.integers(4)
        if change == 0:
            content[at : at + size] = rng.bytes(size)
        elif change == 1:
            del content[at : at + size]
        elif change == 2:
            content[at:at] = content[at : at + size]
        else:
            content[at:at] = b",;\t:# \"'\r\n\x00-+eE.\xff"[(k := rng.integers(17)) : k + 1] * size
    with suppress(ValueError):
        found = read_data(write(tmp_path / "data", bytes(content)), ["y"] if kind == "csv" else [])
        values = found.X if isinstance(found.X, np.ndarray) else found.X.data
        assert np.isfinite(values).all()
        assert found.X.shape[0] == len(found.targets)
