"""The file format of a row store: the manifest that lists the files, and functions that read and verify them."""

import json
import os
import re
import sys
import zlib
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from frankwolfe.store.files import open_regular, reason

FORMAT, VERSION = "frankwolfe rows", 2
"""Name and version of the format in a manifest. Other versions are refused."""

NAME = "manifest.json"

OF_A_SHARD = ("values", "columns", "starts")
"""Files of a shard: the entries row by row; if rows are sparse, the column of each entry and each row's first entry."""

OF_A_PART = ("counts", "squares", "targets", "weights")
"""Files of a part: the number of stored entries of each column, the sum of their squares, targets and weights."""

OWN_NAME = re.compile(rf"(\d{{6,19}}-({'|'.join(OF_A_SHARD)})|part-\d{{1,19}}-({'|'.join(OF_A_PART)}))\.bin")
"""Names of these files."""

LARGEST = 2**30
"""Largest size of a manifest in bytes."""


@dataclass(frozen=True)
class File:
    """A file of a store: its name in the folder, its size, and the CRC-32 of its bytes."""

    name: str
    bytes: int
    crc32: int


@dataclass(frozen=True)
class Shard:
    """Consecutive rows that are stored in the same files: the unit of reading.

    Attributes
    ----------
    number, rows, entries : int
        Number of the shard in the names of its files, number of rows, and of stored entries.
    crc32 : list of int
        Checksums of its files, in the order of `OF_A_SHARD`.
    """

    number: int
    rows: int
    entries: int
    crc32: list[int]


@dataclass(frozen=True)
class WrittenPart:
    """The shards and files that one call of `write_rows` has written.

    Attributes
    ----------
    number, columns : int
        Number of the part in the names of its files, and number of columns.
    shards : list of Shard
        The rows.
    crc32 : dict of int
        Checksums of the files that it has, of `OF_A_PART`.
    """

    number: int
    columns: int
    shards: list[Shard]
    crc32: dict[str, int]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(shard.rows for shard in self.shards)


@dataclass(frozen=True)
class Manifest:
    """Description of the content of a store.

    Attributes
    ----------
    layout : str
        ``"csr"`` or ``"dense"``.
    columns : int
        Number of columns.
    values : str
        Type of the entries: ``"float32"`` or ``"float64"``. Indices are of type int32.
    outputs : int
        Number of columns of the targets; 0 if targets are a vector.
    names : list of str or None
        Names of the columns.
    classes : list or None
        Names of the classes, if the targets are class indices.
    first_column : int
        Index of the first column in the source: 0, or 1 in most svmlight files.
    parts : list of WrittenPart
        The rows, in the order in which they were written.
    """

    layout: str
    columns: int
    values: str
    outputs: int = 0
    names: list[str] | None = None
    classes: list[Any] | None = None
    first_column: int = 0
    parts: list[WrittenPart] = field(default_factory=list)

    @property
    def shards(self) -> list[Shard]:
        """All shards, in the order of the rows."""
        return list(chain.from_iterable(part.shards for part in self.parts))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(part.rows for part in self.parts)

    def shard_files(self, shard: Shard) -> list[File]:
        """Return the files of a shard."""
        sizes = shard.entries * np.dtype(self.values).itemsize, 4 * shard.entries, 4 * (shard.rows + 1)
        names = [f"{shard.number:06}-{name}.bin" for name in OF_A_SHARD]
        return [File(*facts) for facts in zip(names, sizes, shard.crc32, strict=False)]

    def part_file(self, part: WrittenPart, name: str) -> File:
        """Return a file of a part."""
        count = {"targets": part.rows * max(1, self.outputs), "weights": part.rows}.get(name, part.columns)
        return File(f"part-{part.number}-{name}.bin", 8 * count, part.crc32[name])

    def files(self) -> list[File]:
        """Return all files."""
        rows = chain.from_iterable(map(self.shard_files, self.shards))
        return [*rows, *(self.part_file(part, name) for part in self.parts for name in part.crc32)]

    def text(self) -> str:
        """Return the manifest as JSON, with a checksum of its content."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps({**content, "crc32": _checksum(content)}, indent=1)


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def read_manifest(folder: Path) -> Manifest:
    """Read and validate the manifest of a store. Raise FileNotFoundError or ValueError if that fails."""
    path = folder / NAME
    if not folder.exists():
        raise FileNotFoundError(f"{folder} does not exist")
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a row store: fw.write_rows(store, {str(folder)!r}) makes one of it")
    if not path.is_file():
        raise ValueError(f"{folder} is not a row store: it has no {NAME}. fw.write_rows makes one")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path} is larger than the manifest of any row store")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError, MemoryError):  # the last two if the JSON is nested very deeply
        raise ValueError(f"{path} is damaged, or not whole: it is not JSON") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not the manifest of a row store")
    if content.get("version") != VERSION:
        raise ValueError(
            f"{path} has version {content.get('version')!r} of the format; this version of frankwolfe reads {VERSION}: "
            "write the store anew, or install the version that wrote it"
        )
    if content.pop("crc32", None) != _checksum(content):
        raise ValueError(f"{path} is damaged: its checksum does not fit its content")
    try:
        return _built(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is not a manifest that this library has written: {reason(error)}") from None


def _built(content: dict[str, Any]) -> Manifest:
    """Return the manifest from JSON data, after checking types and counts."""
    known = {name: value for name, value in content.items() if name not in ("format", "version", "parts")}
    parts = [
        WrittenPart(**{**part, "shards": [Shard(**shard) for shard in part["shards"]]}) for part in content["parts"]
    ]
    found = Manifest(**known, parts=parts)
    _require(found.layout in ("csr", "dense"), f"its layout is {found.layout!r}")
    _require(found.values in ("float32", "float64"), f"its values are {found.values!r}")
    _require_counts(found.columns, found.outputs, found.first_column)
    names, classes = found.names, found.classes
    if names is not None:
        _require(isinstance(names, list) and all(isinstance(name, str) for name in names), "its names are no texts")
        _require(len(names) == found.columns, f"it has {len(names)} names for {found.columns} columns")
    if classes is not None:
        _require(isinstance(classes, list) and len(classes) > 0, "its classes are no list")
        _require({type(name) for name in classes} in ({str}, {bool}), "its classes are no words or truth values")
        _require(sorted({*classes}) == classes, "its classes are not in ascending order")
        _require(found.outputs == 0, f"it has {found.outputs} outputs, and classes")
    for part in parts:
        _require_counts(part.number, part.columns, *part.crc32.values())
        fits = part.columns == found.columns if part is parts[-1] else part.columns <= found.columns
        _require(fits, f"a part has {part.columns} columns, of {found.columns}")
        _require({"counts", "squares"} <= {*part.crc32} <= {*OF_A_PART}, "a part has other files")
        _require(part.crc32.keys() == parts[0].crc32.keys(), "some of its rows have targets or weights, and others not")
        for shard in part.shards:
            _require_counts(shard.number, shard.rows, shard.entries, *shard.crc32)
            _require(len(shard.crc32) == (3 if found.layout == "csr" else 1), "a shard has another layout")
            whole = found.layout == "csr" or shard.entries == shard.rows * found.columns
            _require(shard.rows > 0 and whole, f"a shard has {shard.rows} rows and {shard.entries} entries")
    return found


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _require_counts(*values: Any) -> None:
    """Raise ValueError unless all values are ints between 0 and 2**62."""
    for value in values:
        _require(type(value) is int and 0 <= value < 2**62, f"{value!r} is no count")


Stamp = tuple[int, int]
"""Modification time and inode of a file. They change when the file is written or replaced."""

NEVER_READ: Stamp = (-1, -1)
"""Stamp of a file that was not read before."""


def _opened(folder: Path, file: File) -> BinaryIO:
    """Open a file of a store. Raise an error if it is gone, or if its size is not the one in the manifest."""
    path = folder / file.name
    try:
        stream = open_regular(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is gone: the row store is not whole any more. Write it anew") from None
    found = os.fstat(stream.fileno()).st_size
    if found != file.bytes:
        stream.close()
        raise ValueError(
            f"{path} has {found:,} bytes, and the manifest says {file.bytes:,}: it was cut off or replaced. Copy the "
            "store again, or write it anew"
        )
    return stream


def require_size(folder: Path, file: File) -> None:
    """Raise ValueError unless a file has the size in the manifest. Callers check this before they allocate memory."""
    _opened(folder, file).close()


def _require_sum(path: Path, content: bytes | memoryview, file: File) -> None:
    """Raise ValueError unless bytes have the checksum in the manifest."""
    if zlib.crc32(content) != file.crc32:
        raise ValueError(f"{path} is damaged: its checksum does not fit its content. Write the store anew")


def read_file(folder: Path, file: File, into: np.ndarray, verified: Stamp | None = NEVER_READ) -> Stamp:
    """Read a file into an array, verify its checksum, and return its stamp.

    The checksum is not computed if the stamp equals ``verified``, or if ``verified`` is None.

    Raise ValueError if the file has the wrong size or checksum, and FileNotFoundError if it does not exist.
    """
    path, room = folder / file.name, memoryview(into.view(np.uint8))
    with _opened(folder, file) as stream:
        status = os.fstat(stream.fileno())
        got = stream.readinto(room)  # type: ignore[attr-defined]
    if got < len(room):
        raise ValueError(f"{path} ended after {got:,} of {len(room):,} bytes: it was changed while it was read")
    stamp = status.st_mtime_ns, status.st_ino
    if verified not in (stamp, None):
        _require_sum(path, room, file)
    if sys.byteorder == "big":
        into.byteswap(inplace=True)
    return stamp


def read_array(folder: Path, file: File, kind: np.dtype, part: slice | None = None) -> np.ndarray:
    """Return all numbers of a file, after verifying its checksum; or those of a ``part``, without verifying it."""
    with _opened(folder, file) as stream:
        if part is None:
            content = stream.read()
            _require_sum(folder / file.name, content, file)
        else:
            stream.seek(part.start * kind.itemsize)
            content = stream.read((part.stop - part.start) * kind.itemsize)
    return np.frombuffer(content, kind.newbyteorder("<")).astype(kind)


def require_indices(path: Path, columns: np.ndarray, width: int, starts: np.ndarray) -> None:
    """Raise ValueError unless CSR indices are valid: row starts never decrease, and columns ascend within each row.

    Compiled code uses the indices without bounds checks.
    """
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] != len(columns):
        raise ValueError(f"{path} is damaged: its rows do not begin one after the other. Write the store anew")
    if len(columns) == 0:
        return
    unsigned = columns.view(f"u{columns.itemsize}")  # negative columns become very large, so one bound is enough
    ascending = unsigned[1:] > unsigned[:-1]
    firsts = starts[1:-1]
    ascending[firsts[(firsts > 0) & (firsts < len(columns))] - 1] = True
    if unsigned.max() >= width or not ascending.all():
        raise ValueError(
            f"{path} is damaged: the columns of its rows are not ascending numbers below {width:,}. Write it anew"
        )
