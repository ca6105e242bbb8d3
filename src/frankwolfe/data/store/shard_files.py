"""Plain files of a store, read into memory that is there already, and checked as they are."""

import os
import sys
import zlib
from pathlib import Path

import numpy as np

from frankwolfe.data.store.manifest import File

LITTLE_ENDIAN = sys.byteorder == "little"


def read_file(folder: Path, file: File, into: np.ndarray, verify: bool) -> None:
    """Fill an array with the bytes of a file; ``verify`` compares them with the checksum.

    A file that is too short, too long or changed is a ValueError that names it; one that is gone a FileNotFoundError.
    """
    path, room = folder / file.name, memoryview(into).cast("B")
    assert len(room) == file.bytes
    with _opened(path) as stream:
        _check_size(path, file, os.fstat(stream.fileno()).st_size)
        at = 0
        while at < len(room):
            got = stream.readinto(room[at:])
            if not got:
                raise ValueError(f"{path} ended after {at:,} of {file.bytes:,} bytes: it was changed while it was read")
            at += got
    if verify and zlib.crc32(room) != file.crc32:
        raise ValueError(f"{path} is damaged: its checksum does not fit its content. Write the store anew")
    if not LITTLE_ENDIAN:
        into.byteswap(inplace=True)


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
    found = np.empty(file.bytes // kind.itemsize, kind)
    read_file(folder, file, found, verify=True)
    return found


def _opened(path: Path):
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is gone: the row store is not whole any more. Write it anew") from None


def _check_size(path: Path, file: File, found: int) -> None:
    if found != file.bytes:
        raise ValueError(
            f"{path} has {found:,} bytes, and the manifest says {file.bytes:,}: it was cut off or replaced. Copy the "
            "store again, or write it anew"
        )
