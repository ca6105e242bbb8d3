"""The writer of a store: validates blocks of rows, splits them into shards and writes these in a thread."""

import zlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_vector
from frankwolfe.rows.samples import LEAST, even_parts, parts_by_size
from frankwolfe.store.format import File, Manifest, Shard, WrittenPart
from frankwolfe.store.sources import RowBlock, as_array


def filling(stream: BinaryIO) -> BinaryIO:
    """Return the stream. Tests replace this function to simulate a full disk."""
    return stream


class ShardWriter:
    """Writes the files of a store, and computes column statistics.

    Parameters
    ----------
    folder : Path
        Folder of the files.
    first : int
        Number of the first shard.

    Attributes
    ----------
    shards : list of Shard
        The shards written so far.
    counts, squares : array
        Number of stored entries of each column in these shards, and sum of their squares.
    """

    def __init__(self, folder: Path, first: int):
        self.folder, self.shards = folder, list[Shard]()
        self.counts, self.squares = np.zeros(0, np.int64), np.zeros(0)
        self._next = first
        self._files: list[Path] = []
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="frankwolfe-write")
        self._busy: Future | None = None

    def shard(self, pieces: Sequence[Any], width: int, index: np.dtype) -> None:
        """Start to write stacked matrices as a shard. First wait for the previous shard and raise its error, if any."""
        self.wait()
        write = self._dense if isinstance(pieces[0], np.ndarray) else self._sparse
        self._busy = self._pool.submit(write, self._next, list(pieces), width, index)
        self._next += 1

    def wait(self) -> None:
        """Wait until all shards are written. Raise the error of the writing thread, if any."""
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
        """Wait for pending writes and end the thread."""
        self._pool.shutdown()

    def undo(self) -> None:
        """Remove all files that were written."""
        self.close()
        for path in self._files:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _dense(self, number: int, pieces: list[np.ndarray], width: int, index: np.dtype) -> None:
        """Write dense rows as a shard."""
        values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        self._count(np.full(width, len(values)), np.einsum("ij,ij->j", values, values, dtype=np.float64))
        cuts = [part.stop for part in even_parts(len(values), width, LEAST)]
        self.shards.append(Shard(len(values), values.size, cuts, self.file(f"{number:06}-values.bin", values)))

    def _sparse(self, number: int, pieces: list[Any], width: int, index: np.dtype) -> None:
        """Write sparse rows as a shard."""
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
        """Add the column statistics of a shard."""
        self.counts, self.squares = (padded(old, len(counts)) for old in (self.counts, self.squares))
        self.counts += counts
        self.squares += squares


def padded(values: np.ndarray, width: int) -> np.ndarray:
    """Pad column statistics with zeros to ``width`` columns."""
    return np.pad(values, (0, max(0, width - len(values))))


class Targets:
    """Collects the targets of all blocks as float64 numbers.

    Strings and booleans are classes. They are numbered in ascending order after the last block.

    Parameters
    ----------
    before : Manifest, optional
        Manifest of the store to append to. New targets must have the same kind and the same classes.
    """

    def __init__(self, before: Manifest | None = None):
        self._before = before
        self._kind: str | None = None
        self.outputs = 0
        self._found: list[np.ndarray] = []
        self._codes: dict[Any, int] = {}
        if before is not None:
            self.outputs = before.outputs
            self._kind = self._kind_before(before)
            self._codes = {name: code for code, name in enumerate(before.classes or [])}

    @staticmethod
    def _kind_before(before: Manifest) -> str:
        if before.parts[0].targets is None:
            return "none"
        return "classes" if before.classes is not None else "rows of numbers" if before.outputs else "numbers"

    def take(self, y: Any, n: int) -> None:
        """Validate and add the targets of ``n`` rows."""
        values = None if y is None else as_array(y)
        kind = _kind_of(values)
        if self._kind is not None and kind != self._kind:
            raise ValueError(f"the targets are {kind}, and those of the rows before are {self._kind}")
        self._kind = kind
        if values is None:
            return
        if len(values) != n:
            raise ValueError(f"y has {len(values)} entries, but there are {n} rows in X")
        if kind == "classes":
            self._found.append(self._coded(values))
            return
        outputs = values.shape[1] if values.ndim == 2 else 0
        if (self._found or self._before is not None) and outputs != self.outputs:
            raise ValueError(f"y has {outputs} columns, and those of the rows before have {self.outputs}")
        self.outputs = outputs
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"y holds NaN or infinity (first in row {int(np.argwhere(~np.isfinite(numbers))[0, 0])})")
        self._found.append(numbers)

    def _coded(self, values: np.ndarray) -> np.ndarray:
        """Return provisional codes of classes. `numbers` replaces them by indices in ascending order."""
        names, codes = np.unique(values.astype(str) if values.dtype.kind != "b" else values, return_inverse=True)
        own = []
        for name in names.tolist():
            if self._before is not None and name not in self._codes:
                raise ValueError(f"y holds {name!r}, which is none of the classes in the store")
            own.append(self._codes.setdefault(name, len(self._codes)))
        return np.array(own)[codes].astype(np.float64)

    @property
    def classes(self) -> list[Any] | None:
        """Names of the classes in ascending order, or None."""
        return sorted(self._codes) if self._kind == "classes" else None

    def numbers(self) -> np.ndarray | None:
        """Return all targets as numbers, or None. Classes become indices of `classes`."""
        if not self._found:
            return None
        found = np.concatenate(self._found)
        if self._kind != "classes":
            return found
        place = {name: number for number, name in enumerate(sorted(self._codes))}
        return np.array([float(place[name]) for name in self._codes])[found.astype(np.int64)]


def _kind_of(values: np.ndarray | None) -> str:
    """Return the kind of targets: ``"none"``, ``"classes"``, ``"numbers"`` or ``"rows of numbers"``."""
    if values is None:
        return "none"
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(f"y must be a vector, or a matrix with a row for each row of X; got shape {values.shape}")
    if values.dtype == object and all(isinstance(entry, str) for entry in values.ravel()[:1]):
        mixed = [entry for entry in values.ravel() if not isinstance(entry, str)]
        if mixed:
            raise ValueError(f"y holds words and other things, such as {mixed[0]!r}")
        return "classes"
    if values.dtype.kind in "Ub":
        if values.ndim == 2:
            raise ValueError("y must be a vector where it holds classes")
        return "classes"
    if values.dtype.kind not in "fiu" and values.dtype != object:
        raise TypeError(f"y must hold numbers or words, got dtype {values.dtype}")
    return "numbers" if values.ndim == 1 else "rows of numbers"


SHARD = 2**24
"""Default size of a shard in bytes: large enough for fast reads, small enough for many to fit into memory."""


class Wanted(NamedTuple):
    """Settings of a new store.

    Attributes
    ----------
    dtype : dtype or None
        Type of the values; None for the type of the first block.
    shard : int
        Size of a shard in bytes.
    names : sequence of str or None
        Names of the columns.
    columns : int or None
        Number of columns. None if it is that of the widest block.
    first_column : int
        Index of the first column in the source.
    """

    dtype: Any = None
    shard: int = SHARD
    names: Sequence[str] | None = None
    columns: int | None = None
    first_column: int = 0


class Writer:
    """Writes blocks of any size as shards of about equal size.

    Parameters
    ----------
    folder : Path
        Folder of the files.
    wanted : Wanted
        Settings of the store.
    before : Manifest, optional
        Manifest of the store to append to. New rows must match its layout and types.
    """

    def __init__(self, folder: Path, wanted: Wanted, before: Manifest | None = None):
        self.folder, self.wanted, self.before = folder, wanted, before
        self.rows = 0  # number of rows so far
        self._dtype = None if wanted.dtype is None else np.dtype(wanted.dtype)
        self._layout: str | None = None
        self._index: np.dtype = np.dtype(np.int32)
        self._width = wanted.columns or 0
        if before is not None:
            self._match_store(before)
        self._targets, self._weights = Targets(before), _Weights(before)
        self._pending: list[Any] = []
        self._pending_bytes = 0
        self._out = ShardWriter(folder, len(before.shards) if before is not None else 0)
        self._part: WrittenPart | None = None

    def _match_store(self, before: Manifest) -> None:
        """Adopt layout and types of the store to append to. Raise ValueError if the settings differ from them."""
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
        """Validate and add a block. Write each shard that is full."""
        if _is_empty(block.X):
            return
        try:
            matrix = as_matrix(block.X)
            n = matrix.shape[0]
            matrix = self._converted(matrix)
            self._targets.take(block.y, n)
            self._weights.take(block.weights, n)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{error} (in the block of rows that begins with row {self.rows})") from None
        self.rows += n
        size, at = _row_bytes(matrix), 0
        while at < n:
            room = max(1, int(self._rows_to_fill(matrix, at, size)))
            piece = matrix[at : at + room]
            self._pending.append(piece)
            self._pending_bytes += _bytes(piece)
            at += room
            if self._pending_bytes >= self.wanted.shard:
                self._flush()

    def _rows_to_fill(self, matrix: Any, at: int, size: float) -> float:
        """Return the number of rows of the matrix, from row ``at`` on, that fill the current shard."""
        left = self.wanted.shard - self._pending_bytes
        if isinstance(matrix, np.ndarray):
            return -(-left // size)
        upto = matrix.indptr[at] + left / (matrix.data.itemsize + matrix.indices.itemsize)
        return float(np.searchsorted(matrix.indptr[at:], upto)) or 1.0

    def _converted(self, matrix: Any) -> Any:
        """Convert a block to the types of the store. Raise ValueError if it does not match the store."""
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
        """Start to write the pending rows as a shard."""
        if self._pending:
            self._out.shard(self._pending, self._width, self._index)
            self._pending, self._pending_bytes = [], 0

    # --- the end --------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Write the last shard, the column statistics, the targets and the weights."""
        self._flush()
        self._out.wait()
        if not self._out.shards:
            raise ValueError("there are no rows to write")
        name = f"part-{0 if self.before is None else len(self.before.parts)}"
        targets, weights = self._targets.numbers(), self._weights.numbers()
        write, out = self._out.file, self._out
        self._part = WrittenPart(
            out.shards,
            write(f"{name}-counts.bin", padded(out.counts, self._width)),
            write(f"{name}-squares.bin", padded(out.squares, self._width)),
            None if targets is None else write(f"{name}-targets.bin", targets),
            None if weights is None else write(f"{name}-weights.bin", weights),
        )
        out.close()

    def manifest(self, before: list[WrittenPart]) -> Manifest:
        """Return the manifest of the store: the earlier parts ``before``, and the new part."""
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
    """Collects the sample weights of all blocks. Either all blocks have weights or none has."""

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
