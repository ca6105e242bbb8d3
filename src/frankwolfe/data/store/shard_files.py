"""Plain files of a store, read into memory that is there already, and checked as they are."""

import os
import sys
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from frankwolfe.data.store.manifest import File
from frankwolfe.storage.regular_files import open_regular

LITTLE_ENDIAN = sys.byteorder == "little"

Stamp = tuple[int, int]
"""When a file was last changed, and its number in the file system: another one after it was written or replaced."""

NEVER_READ: Stamp = (-1, -1)
"""Of a file that is read for the first time."""


def read_file(folder: Path, file: File, into: np.ndarray, verified: Stamp | None = NEVER_READ) -> Stamp:
    """Fill an array with the bytes of a file, compare them with the checksum, and return what tells it from others.

    The checksum of a file that is as it was when it was ``verified`` is not computed again; None: not at all.

    A file that is too short, too long or changed is a ValueError that names it; one that is gone a FileNotFoundError.
    """
    path, room = folder / file.name, memoryview(into).cast("B") if into.size else memoryview(bytearray())
    with _opened(path) as stream:
        status = os.fstat(stream.fileno())
        _check_size(path, file, status.st_size)
        at = 0
        while at < len(room):
            got = stream.readinto(room[at:])  # type: ignore[attr-defined]
            if not got:
                raise ValueError(f"{path} ended after {at:,} of {file.bytes:,} bytes: it was changed while it was read")
            at += got
    stamp = status.st_mtime_ns, status.st_ino
    if verified not in (stamp, None) and zlib.crc32(room) != file.crc32:
        raise ValueError(f"{path} is damaged: its checksum does not fit its content. Write the store anew")
    if not LITTLE_ENDIAN:
        into.byteswap(inplace=True)
    return stamp


def require_indices(path: Path, columns: np.ndarray, width: int, starts: np.ndarray, entries: int) -> None:
    """Raise ValueError unless rows begin one after the other, with columns in order: compiled code goes by them.

    ``columns`` and ``starts`` may be those of the first rows alone; ``entries`` are those of all.
    """
    rises = starts[1:] >= starts[:-1]
    if starts[0] != 0 or not rises.all() or starts[-1] > entries or len(columns) != starts[-1]:
        raise ValueError(f"{path} is damaged: its rows do not begin one after the other. Write the store anew")
    if len(columns) == 0:
        return
    unsigned = columns.view(f"u{columns.itemsize}")  # a negative column is a very large one
    ascending = unsigned[1:] > unsigned[:-1]
    firsts = starts[1:-1]
    ascending[firsts[(firsts > 0) & (firsts < len(columns))] - 1] = True
    if unsigned.max() >= width or not ascending.all():
        raise ValueError(
            f"{path} is damaged: the columns of its rows are not ascending numbers below {width:,}. Write it anew"
        )


def read_first(folder: Path, file: File, count: int, kind: np.dtype) -> np.ndarray:
    """Return the first few numbers of a file, which are not compared with its checksum."""
    path = folder / file.name
    with _opened(path) as stream:
        _check_size(path, file, os.fstat(stream.fileno()).st_size)
        found = np.frombuffer(stream.read(count * kind.itemsize), kind.newbyteorder("<"))
    return found.astype(kind)


def read_slice(folder: Path, file: File, first: int, count: int, kind: np.dtype) -> np.ndarray:
    """Return some numbers of a file, from its middle, which are not compared with its checksum."""
    path, size = folder / file.name, count * kind.itemsize
    with _opened(path) as stream:
        _check_size(path, file, os.fstat(stream.fileno()).st_size)
        stream.seek(first * kind.itemsize)
        content = b""
        while len(content) < size and (more := stream.read(size - len(content))):
            content += more
    if len(content) < size:
        raise ValueError(f"{path} ended after {len(content):,} of {size:,} bytes: it was changed while it was read")
    return np.frombuffer(content, kind.newbyteorder("<")).astype(kind)


def read_array(folder: Path, file: File, kind: np.dtype) -> np.ndarray:
    """Return the numbers in a file, which is verified."""
    path = folder / file.name
    if file.bytes % kind.itemsize:
        raise ValueError(f"{path} does not hold numbers of type {kind}")
    require_size(folder, file)
    found = np.empty(file.bytes // kind.itemsize, kind)
    read_file(folder, file, found)
    return found


def require_size(folder: Path, file: File) -> None:
    """Raise ValueError unless a file has the size that the manifest says: before memory is made for it."""
    path = folder / file.name
    with _opened(path) as stream:
        _check_size(path, file, os.fstat(stream.fileno()).st_size)


def _opened(path: Path) -> BinaryIO:
    try:
        return open_regular(path, buffering=0)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is gone: the row store is not whole any more. Write it anew") from None


def _check_size(path: Path, file: File, found: int) -> None:
    if found != file.bytes:
        raise ValueError(
            f"{path} has {found:,} bytes, and the manifest says {file.bytes:,}: it was cut off or replaced. Copy the "
            "store again, or write it anew"
        )
