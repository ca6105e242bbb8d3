"""The writer of shards: takes blocks of rows, checks them, and cuts them into shards of about one size."""

import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_vector
from frankwolfe.data.blocks import LEAST, even_parts, parts_by_size
from frankwolfe.data.store.manifest import File, Manifest, Part, Shard
from frankwolfe.io.store.stored_targets import Targets

SHARD = 2**24
"""Bytes of a shard where nobody says: large enough for a disk, small enough for many to fit into memory."""


def filling(stream: BinaryIO) -> BinaryIO:
    """Return what a file's content is written to: the file itself, but where a test lets the disk be full."""
    return stream


class RowBlock(NamedTuple):
    """Some rows, with their targets and weights where there are any."""

    X: Any
    y: Any = None
    weights: Any = None


class Wanted(NamedTuple):
    """What a user asks of a store.

    Attributes
    ----------
    dtype : dtype or None
        Type of the values; None for that of the first block.
    shard : int
        Bytes of a shard.
    names : sequence of str or None
        Names of the columns.
    columns : int or None
        How many there are, where blocks need not show it.
    first_column : int
        What the source calls the first one.
    """

    dtype: Any = None
    shard: int = SHARD
    names: Sequence[str] | None = None
    columns: int | None = None
    first_column: int = 0


class Writer:
    """Writes shards of about one size, whatever the blocks are like.

    Parameters
    ----------
    folder : Path
        Where to.
    wanted : Wanted
        What is asked for.
    before : Manifest, optional
        Of the store that is added to: what is there says what can be added.
    """

    def __init__(self, folder: Path, wanted: Wanted, before: Manifest | None = None):
        self.folder, self.wanted, self.before = folder, wanted, before
        self.rows = 0  # taken so far
        self._dtype = None if wanted.dtype is None else np.dtype(wanted.dtype)
        self._layout: str | None = None
        self._index: np.dtype = np.dtype(np.int32)
        self._width = wanted.columns or 0
        if before is not None:
            self._continue(before)
        self._targets, self._weights = Targets(before), _Weights(before)
        self._pending: list[Any] = []
        self._pending_bytes = 0
        self._shards: list[Shard] = []
        self._first = len(before.shards) if before is not None else 0
        self._counts: np.ndarray = np.zeros(self._width, np.int64)
        self._squares: np.ndarray = np.zeros(self._width)
        self._files: list[Path] = []
        self._part: Part | None = None

    def _continue(self, before: Manifest) -> None:
        wanted = self.wanted
        if self._dtype is not None and self._dtype != before.values:
            raise ValueError(f"the store holds {before.values}: {self._dtype} cannot be added to it")
        if wanted.names is not None and before.names is not None and list(wanted.names) != before.names:
            raise ValueError("the names of the columns differ from those in the store")
        if wanted.first_column != before.first_column:
            raise ValueError(
                f"columns are counted from {wanted.first_column} here, and from {before.first_column} in the store"
            )
        self._dtype, self._layout = np.dtype(before.values), before.layout
        self._index, self._width = np.dtype(before.indices), before.columns

    # --- rows -----------------------------------------------------------------------------------------------------

    def take(self, block: RowBlock) -> None:
        """Take over a block; shards that are full are written."""
        if _is_empty(block.X):
            return
        try:
            matrix = as_matrix(block.X)
            n = matrix.shape[0]
            matrix = self._fitting(matrix)
            self._targets.take(block.y, n)
            self._weights.take(block.weights, n)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{error} (in the block of rows that begins with row {self.rows})") from None
        self.rows += n
        size, at = _row_bytes(matrix), 0
        while at < n:
            room = max(1, int(self._room(matrix, at, size)))
            piece = matrix[at : at + room]
            self._pending.append(piece)
            self._pending_bytes += _bytes(piece)
            at += room
            if self._pending_bytes >= self.wanted.shard:
                self._flush()

    def _room(self, matrix: Any, at: int, size: float) -> float:
        """Return how many rows, from a place on, fill up the shard."""
        left = self.wanted.shard - self._pending_bytes
        if isinstance(matrix, np.ndarray):
            return -(-left // size)
        upto = matrix.indptr[at] + left / (matrix.data.itemsize + matrix.indices.itemsize)
        return float(np.searchsorted(matrix.indptr[at:], upto)) or 1.0

    def _fitting(self, matrix: Any) -> Any:
        """Return a block in the types of the store, or say why it does not fit."""
        layout = "dense" if isinstance(matrix, np.ndarray) else "csr"
        self._layout = self._layout or layout
        if layout != self._layout:
            raise ValueError(f"the block is {_called(layout)}, and the rows before it are {_called(self._layout)}")
        d = matrix.shape[1]
        self._check_width(d)
        self._width = max(self._width, d)
        self._dtype = self._dtype or matrix.dtype
        if self.wanted.dtype is None and matrix.dtype.itemsize > self._dtype.itemsize:
            raise ValueError(
                "the block is float64, and the rows before it are float32: say dtype='float32' or 'float64'"
            )
        if matrix.dtype != self._dtype:
            with np.errstate(over="ignore"):
                matrix = matrix.astype(self._dtype)
            values = matrix if layout == "dense" else matrix.data
            if not np.isfinite(values).all():
                raise ValueError(f"some values are too large for {self._dtype}")
        if layout == "csr":
            self._index = np.dtype(np.int64) if self._width > 2**31 - 1 else self._index
            if matrix.indices.dtype != self._index:
                matrix = _with_index(matrix, self._index)
        return matrix

    def _check_width(self, d: int) -> None:
        fixed = self._layout == "dense" or self.wanted.columns is not None or self.wanted.names is not None
        if self._width and d != self._width and (fixed or d > 2**31 - 1 >= self._width):
            raise ValueError(f"the block has {d:,} columns, and {self._width:,} are expected")

    def _flush(self) -> None:
        """Write what is pending as a shard."""
        if not self._pending:
            return
        pieces, self._pending, self._pending_bytes = self._pending, [], 0
        number = self._first + len(self._shards)
        if self._layout == "dense":
            values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            self._count(
                values.shape[1],
                np.full(values.shape[1], len(values)),
                np.einsum("ij,ij->j", values, values, dtype=np.float64),
            )
            cuts = [part.stop for part in even_parts(len(values), values.shape[1], LEAST)]
            self._shards.append(Shard(len(values), values.size, cuts, self._write(f"{number:06}-values.bin", values)))
            return
        starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(piece.indptr) for piece in pieces]))])
        values = np.concatenate([piece.data for piece in pieces])
        columns = np.concatenate([piece.indices for piece in pieces])
        self._count(
            self._width,
            np.bincount(columns, minlength=self._width),
            np.bincount(columns, np.square(values, dtype=np.float64), minlength=self._width),
        )
        self._shards.append(
            Shard(
                len(starts) - 1,
                len(values),
                [part.stop for part in parts_by_size(starts, LEAST)],
                self._write(f"{number:06}-values.bin", values),
                self._write(f"{number:06}-columns.bin", columns),
                self._write(f"{number:06}-starts.bin", starts.astype(self._index)),
            )
        )

    def _count(self, width: int, counts: np.ndarray, squares: np.ndarray) -> None:
        """Add what a shard has in each column."""
        if len(self._counts) < width:
            self._counts, self._squares = (np.pad(old, (0, width - len(old))) for old in (self._counts, self._squares))
        self._counts += counts
        self._squares += squares

    # --- files ----------------------------------------------------------------------------------------------------

    def _write(self, name: str, values: np.ndarray) -> File:
        """Write numbers to a file, little-endian."""
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        path, content = self.folder / name, memoryview(values).cast("B") if values.size else memoryview(b"")
        self._files.append(path)
        with path.open("wb") as stream:
            filling(stream).write(content)
        return File(name, len(content), zlib.crc32(content))

    def finish(self) -> None:
        """Write what is left, and what goes with the rows."""
        self._flush()
        if not self._shards:
            raise ValueError("there are no rows to write")
        name = f"part-{0 if self.before is None else len(self.before.parts)}"
        targets, weights = self._targets.numbers(), self._weights.numbers()
        counts, squares = (np.pad(old, (0, self._width - len(old))) for old in (self._counts, self._squares))
        self._part = Part(
            self._shards,
            self._write(f"{name}-counts.bin", counts),
            self._write(f"{name}-squares.bin", squares),
            None if targets is None else self._write(f"{name}-targets.bin", targets),
            None if weights is None else self._write(f"{name}-weights.bin", weights),
        )

    def manifest(self, before: list[Part]) -> Manifest:
        """Return what the store holds, with what was there before."""
        assert self._part is not None
        assert self._layout is not None
        assert self._dtype is not None
        names = self.wanted.names if self.before is None else self.before.names
        return Manifest(
            self._layout,
            self._width,
            self._dtype.name,
            self._index.name,
            self._targets.outputs,
            None if names is None else [str(name) for name in names],
            self._targets.classes,
            self.wanted.first_column,
            [*before, self._part],
        )

    def undo(self) -> None:
        """Remove all files that were written."""
        for path in self._files:
            with suppress(OSError):
                path.unlink(missing_ok=True)


class _Weights:
    """Weights of rows, as they come: all blocks have them, or none has."""

    def __init__(self, before: Manifest | None):
        self._known = None if before is None else before.parts[0].weights is not None
        self._found: list[np.ndarray] = []

    def take(self, weights: Any, n: int) -> None:
        if self._known is not None and self._known != (weights is not None):
            raise ValueError(
                f"sample_weight is {'missing' if self._known else 'new'}: all rows have weights, or none has"
            )
        self._known = weights is not None
        if weights is None:
            return
        found = as_vector("sample_weight", weights, n, "rows in X")
        if (found < 0.0).any():
            raise ValueError(f"sample_weight must not be negative, got {found.min():g}")
        self._found.append(found)

    def numbers(self) -> np.ndarray | None:
        return np.concatenate(self._found) if self._found else None


def _is_empty(X: Any) -> bool:
    return np.shape(X)[:1] == (0,)


def _bytes(matrix: Any) -> int:
    if isinstance(matrix, np.ndarray):
        return matrix.nbytes
    return matrix.data.nbytes + matrix.indices.nbytes


def _row_bytes(matrix: Any) -> float:
    return matrix.shape[1] * matrix.itemsize if isinstance(matrix, np.ndarray) else 0.0


def _with_index(matrix: Any, kind: np.dtype) -> sparse.csr_array:
    starts = matrix.indptr if len(matrix.data) > 2**31 - 1 else matrix.indptr.astype(kind)
    return sparse.csr_array((matrix.data, matrix.indices.astype(kind), starts), shape=matrix.shape)


def _called(layout: str) -> str:
    return "dense" if layout == "dense" else "sparse"
