"""Shards written by a thread of its own, one after the other, while the rows of the next one are read and checked."""

import zlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from frankwolfe.data.blocks import LEAST, even_parts, parts_by_size
from frankwolfe.data.store.manifest import File, Shard


def filling(stream: BinaryIO) -> BinaryIO:
    """Return what a file's content is written to: the file itself, but where a test lets the disk be full."""
    return stream


class ShardWriter:
    """Writes files of a store.

    Parameters
    ----------
    folder : Path
        Where to.
    first : int
        Number of the first shard.

    Attributes
    ----------
    shards : list of Shard
        What was written.
    counts, squares : array
        Stored entries of each column in all of them, and sums of their squares.
    """

    def __init__(self, folder: Path, first: int):
        self.folder, self.shards = folder, list[Shard]()
        self.counts, self.squares = np.zeros(0, np.int64), np.zeros(0)
        self._next = first
        self._files: list[Path] = []
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="frankwolfe-write")
        self._busy: Future | None = None

    def shard(self, pieces: Sequence[Any], width: int, index: np.dtype) -> None:
        """Begin to write matrices, one below the other, as a shard; wait for the one before, and raise its errors."""
        self.wait()
        write = self._dense if isinstance(pieces[0], np.ndarray) else self._sparse
        self._busy = self._pool.submit(write, self._next, list(pieces), width, index)
        self._next += 1

    def wait(self) -> None:
        """Wait until everything is written; raise what went wrong."""
        if self._busy is not None:
            busy, self._busy = self._busy, None
            busy.result()

    def file(self, name: str, values: np.ndarray) -> File:
        """Write numbers to a file, little-endian."""
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        path, content = self.folder / name, memoryview(values).cast("B") if values.size else memoryview(b"")
        self._files.append(path)
        with path.open("wb") as stream:
            filling(stream).write(content)
        return File(name, len(content), zlib.crc32(content))

    def close(self) -> None:
        """Let the thread end, when it has written what it was given."""
        self._pool.shutdown()

    def undo(self) -> None:
        """Remove all files that were written."""
        self.close()
        for path in self._files:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _dense(self, number: int, pieces: list[np.ndarray], width: int, index: np.dtype) -> None:
        values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        self._count(np.full(width, len(values)), np.einsum("ij,ij->j", values, values, dtype=np.float64))
        cuts = [part.stop for part in even_parts(len(values), width, LEAST)]
        self.shards.append(Shard(len(values), values.size, cuts, self.file(f"{number:06}-values.bin", values)))

    def _sparse(self, number: int, pieces: list[Any], width: int, index: np.dtype) -> None:
        starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(piece.indptr) for piece in pieces]))])
        values = np.concatenate([piece.data for piece in pieces])
        columns = np.concatenate([piece.indices for piece in pieces])
        places = columns.astype(np.intp, copy=False)
        squares = np.bincount(places, np.square(values, dtype=np.float64), minlength=width)
        self._count(np.bincount(places, minlength=width), squares)
        self.shards.append(
            Shard(
                len(starts) - 1,
                len(values),
                [part.stop for part in parts_by_size(starts, LEAST)],
                self.file(f"{number:06}-values.bin", values),
                self.file(f"{number:06}-columns.bin", columns),
                self.file(f"{number:06}-starts.bin", starts.astype(index)),
            )
        )

    def _count(self, counts: np.ndarray, squares: np.ndarray) -> None:
        """Add what a shard has in each column."""
        self.counts, self.squares = (padded(old, len(counts)) for old in (self.counts, self.squares))
        self.counts += counts
        self.squares += squares


def padded(values: np.ndarray, width: int) -> np.ndarray:
    """Return as many numbers as there are columns: zeros for those that were not there yet."""
    return np.pad(values, (0, max(0, width - len(values))))
