"""The writer of shards: takes blocks of rows, checks them, and cuts them into shards of about one size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_vector
from frankwolfe.data.store.manifest import Manifest, Part
from frankwolfe.io.store.shard_writer import ShardWriter, padded
from frankwolfe.io.store.stored_targets import Targets

SHARD = 2**24
"""Bytes of a shard where nobody says: large enough for a disk, small enough for many to fit into memory."""


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
        self._out = ShardWriter(folder, len(before.shards) if before is not None else 0)
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
        """Have what is pending written as a shard."""
        if self._pending:
            self._out.shard(self._pending, self._width, self._index)
            self._pending, self._pending_bytes = [], 0

    # --- the end --------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Write what is left, and what goes with the rows."""
        self._flush()
        self._out.wait()
        if not self._out.shards:
            raise ValueError("there are no rows to write")
        name = f"part-{0 if self.before is None else len(self.before.parts)}"
        targets, weights = self._targets.numbers(), self._weights.numbers()
        write, out = self._out.file, self._out
        self._part = Part(
            out.shards,
            write(f"{name}-counts.bin", padded(out.counts, self._width)),
            write(f"{name}-squares.bin", padded(out.squares, self._width)),
            None if targets is None else write(f"{name}-targets.bin", targets),
            None if weights is None else write(f"{name}-weights.bin", weights),
        )
        out.close()

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
        self._out.undo()


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
