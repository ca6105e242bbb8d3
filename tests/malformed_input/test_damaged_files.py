"""Files that are damaged, cut off, malformed, or no data at all: one error that names the file, whatever they hold."""

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


MALFORMED = {
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
    "a bad cell": ("a,b,y\n1,2,0\n3,oops,1\n4,5,1\n", r"line 3: column 'b' holds 'oops', which is not a finite number"),
    "after blank and broken lines": ('a,b,y\n1,2,"x\ny"\n\n3,oops,1\n', r"line 5: column 'b' holds 'oops'"),
    "an empty cell": ("a,b,y\n1,2,0\n3,,1\n", r"line 3: column 'b' is empty"),
    "a short row": ("a,b,y\n1,2,0\n3\n", r"line 3: column 'y' is empty"),
    "a long row": ("a,b,y\n1,2,0\n1,2,0,9\n", r"line 3: 4 fields, but the header has 3"),
    "infinity": ("a,b,y\n1,inf,0\n3,2,1\n", r"line 2: column 'b' holds inf, which is not a finite number"),
    "words": ("a,city,y\n1,Rome,0\n3,Oslo,1\n", r"column 'city' holds no numbers \(the first cell is 'Rome'\)"),
    "more words": (
        "c,city,y\nx,Rome,0\ny,Oslo,1\n",
        r"columns 'c', 'city' hold no numbers .* take them as categories .*--ignore",
    ),
    "decimal commas": (
        "a;b;y\n1,5;2;0\n2,5;1;1\n",
        r"column 'a' holds no numbers \(the first cell is '1,5'\): if these are numbers, write them like 1234\.5",
    ),
    "per cent": ("a,b,y\n1.5 %,2,0\n2 %,1,1\n", r"the first cell is '1\.5 %'\): if these are numbers, write them"),
    "dates": ("a,b,y\n2024-03-01,2,0\n2024-04-01,1,1\n", "replace dates by numbers, such as days"),
    "a column without a name": (",b,y\n0,2,0\n1,1,1\n", "column 1 has no name.*leave it out with --ignore ''"),
    "no target cell": ("a,b,y\n1,2,0\n3,4,\n", r"line 3: column 'y' is empty"),
    "no header": ("1,2,3\n4,5,6\n", "the first line is numbers; a CSV file needs a header line"),
    "a name twice": ("a,a,y\n1,2,3\n", "the header names column 'a' twice"),
    "no rows": ("a,b,y\n", "holds no rows"),
    "nothing": ("", "is empty"),
    "another column": ("a,b,target\n1,2,3\n", r"has no target column 'y'. It has 'a', 'b', 'target'"),
    "nothing to learn from": ("y,b\n1,2\n", "no column left to learn from"),
    "a format of one's own": ("<xml>\n", "not in a format that can be read: .*Its first line is '<xml>'"),
    "Latin-1 names": (
        "a,\xe9t\xe9,y\n1,2,3\n".encode("latin-1"),
        "not UTF-8 text: column 2 would be '\xe9t\xe9' in Latin-1",
    ),
    "an integer that float64 rounds": (
        "a,b,y\n1,2,0\n\n3,9007199254740993,1\n",
        r"line 4: column 'b' holds 9007199254740993, an integer beyond 2\^53, which float64 rounds to 9007199254740992",
    ),
    "one among words": (f"a,b,y\n1,2,0\n3,NA,1\n4,{-(2**53) - 1},1\n", "line 4: column 'b' holds -9007199254740993"),
    "one in the target": ("a,y\n1,12345678901234567\n2,5\n", "line 2: column 'y' holds 12345678901234567"),
    "a long one": (f"a,y\n1,0\n{10**40 + 1},5\n", "line 3: column 'a' holds 1000"),
    "half a Parquet file": (b"PAR1 and no more", "is not a whole Parquet file"),
    "UTF-16 with a mark": ("a,b,y\n1,2,3\n".encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
    "half a gzip file": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "is damaged"),
    "svmlight for columns": ("1 1:2\n", "is an svmlight file: its columns have no names, so 'y' cannot be one"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_wrong_with_a_file_is_named_and_placed(name, tmp_path):
    content, words = MALFORMED[name]
    ignore = ["b"] if name == "nothing to learn from" else []
    with pytest.raises(ValueError, match=words):
        read_data(write(tmp_path / "data", content), ["y"], ignore=ignore)


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
