"""`ShardedRows`: rows that are read shard by shard, because all of them may not fit into memory.

`frankwolfe.store.reader.RowStore` is one. Another place for rows needs a subclass that reads a shard (`read_shard`):
`Problem` and estimators accept it as ``X``, and all methods for data larger than memory run on it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix
from frankwolfe.arguments.types import RowNumbers, TargetValues
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense

FEWEST_SHARDS = 2
"""Number of shards that must fit into memory: one in use, and one that is read ahead."""

INDEX = np.dtype(np.int32)
"""Type of the indices of sparse rows."""

LIMIT = 2**31 - 1
"""Largest number of columns, and of entries that can be in memory together, since indices have 32 bits."""


class ShardSize(NamedTuple):
    """What is known of a shard before it is read.

    Attributes
    ----------
    rows, entries, bytes : int
        Number of rows, number of stored entries, and their size in memory.
    """

    rows: int
    entries: int
    bytes: int

    @classmethod
    def of(cls, rows: int, columns: int, dtype: Any, entries: int | None = None) -> "ShardSize":
        """Return the facts about a dense shard, or with ``entries`` about a sparse one, with indices of 32 bits."""
        value = np.dtype(dtype).itemsize
        size = rows * columns * value if entries is None else entries * (value + 4) + 4 * (rows + 1)
        stored = rows * columns if entries is None else entries
        return cls(rows, stored, size)


class Room:
    """Buffers into which rows are read.

    Parameters
    ----------
    source : ShardedRows
        The rows, which determine the types.
    rows, entries : int
        Capacity: numbers of rows and of stored entries.
    """

    def __init__(self, source: "ShardedRows", rows: int, entries: int):
        self.is_sparse, self.width = source.is_sparse, source.shape[1]
        self.values = np.empty(entries, source.dtype)
        self.columns = np.empty(entries if self.is_sparse else 0, INDEX)
        self.starts = np.empty(rows + 1 if self.is_sparse else 0, INDEX)

    def rows(self, rows: int, entries: int) -> CSR | Dense:
        """Return the rows in the buffers, without a copy."""
        if not self.is_sparse:
            return Dense(self.values[:entries].reshape(rows, self.width))
        columns = self.columns[:entries]
        return CSR(self.values[:entries], columns.view(np.uint32), self.starts[: rows + 1])


class ShardedRows:
    """Rows in shards, of which only some may be in memory at a time. Subclasses define `read_shard`.

    If all rows fit into ``memory`` they are loaded once; else they are read again in every pass.

    Parameters
    ----------
    name : str
        What messages call the rows, for instance their path.
    columns : int
        Number of columns.
    dtype : dtype
        Type of the values: float64 or float32.
    shards : sequence of ShardSize
        The shards, in the order of the rows.
    memory : int
        Bytes of memory for rows, and as many again for copies of columns.
    is_sparse : bool
        Whether rows are sparse.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and columns.
    slices : list of slice
        The slice of the rows of each shard among all rows.
    nnz, bytes, largest_shard : int
        Number of stored entries, size of all rows in memory, and of the largest shard, in bytes.
    fits : bool
        Whether all rows fit into memory.
    """

    feature_names: list[str] | None = None
    """Names of the columns, or None."""

    classes: np.ndarray | None = None
    """Names of the classes, if the targets are indices of classes."""

    y: TargetValues = None
    """The targets, or None if they are passed to `Problem`."""

    sample_weight: RowNumbers = None
    """The sample weights, or None."""

    def __init__(
        self,
        name: str,
        columns: int,
        dtype: Any,
        shards: Sequence[ShardSize],
        memory: int,
        is_sparse: bool = False,
    ):
        self.name, self.dtype, self.memory = name, np.dtype(dtype), memory
        self.is_sparse = is_sparse
        self.shards = list(shards)
        if not self.shards:
            raise ValueError(f"{name} holds no rows")
        ends = list(accumulate(shard.rows for shard in self.shards))
        self.slices = [slice(end - shard.rows, end) for end, shard in zip(ends, self.shards, strict=True)]
        self.shape = ends[-1], int(columns)
        self.nnz, self.bytes = (sum(getattr(shard, name) for shard in self.shards) for name in ("entries", "bytes"))
        self.largest_shard = max(shard.bytes for shard in self.shards)
        self.fits = self.bytes <= memory and self.nnz <= LIMIT
        self._lock = Lock()
        self._rooms: list[Room] = []  # free buffers of earlier reads
        needed = FEWEST_SHARDS * self.largest_shard
        if not self.fits and needed > memory:
            raise ValueError(
                f"memory={memory:,} bytes is too little for {name}: its largest shard has {self.largest_shard:,}, and "
                f"{FEWEST_SHARDS} must fit. Allow for {needed:,}, or {self.smaller_shards}"
            )

    smaller_shards = "make smaller shards"
    """How to make smaller shards, for messages."""

    @property
    def more_memory(self) -> str:
        """How to keep all rows in memory, for messages."""
        return "pass all rows as an array"

    # --- what a subclass defines ----------------------------------------------------------------------------------

    def read_shard(self, number: int) -> Any:
        """Return the rows of a shard as an array or a SciPy sparse matrix. Threads may call it at the same time."""
        raise NotImplementedError(f"{type(self).__name__} does not define read_shard")

    @property
    def identity(self) -> Any:
        """What distinguishes these rows from others: text, numbers, arrays, or a tuple of them. Checkpoints store it.

        By default the name, the shape and the first rows.
        """
        return self.name, self.shape, self.head(8)

    # --- metadata -------------------------------------------------------------------------------------------------

    @property
    def counts(self) -> np.ndarray:
        """Number of stored entries of each column."""
        return self._column_statistics[0]

    @property
    def squares(self) -> np.ndarray:
        """Sum of the squares of each column's entries."""
        return self._column_statistics[1]

    @cached_property
    def _column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of entries and sum of squares of each column, by one pass over all rows."""
        n, d = self.shape
        counts, squares = np.zeros(d, np.int64), np.zeros(d)
        for number, shard in enumerate(self.shards):
            rows = self.read([number])
            counts += np.bincount(rows.indices.view(INDEX), minlength=d) if isinstance(rows, CSR) else 0
            squares += rows.column_norms(np.ones(shard.rows), d) ** 2
        return (counts if self.is_sparse else np.full(d, n)), squares

    # --- reading --------------------------------------------------------------------------------------------------

    def read(self, numbers: Any, room: Room | None = None) -> CSR | Dense:
        """Read some shards and return their rows, concatenated. Allocate memory unless ``room`` provides buffers."""
        chosen = [self.shards[number] for number in numbers]
        rows, entries = sum(shard.rows for shard in chosen), sum(shard.entries for shard in chosen)
        room = room or Room(self, rows, entries)
        row = entry = 0
        for number, shard in zip(numbers, chosen, strict=True):
            last = entry + shard.entries
            starts = room.starts[row : row + shard.rows + 1]
            self.read_into(int(number), room.values[entry:last], room.columns[entry:last], starts)
            if self.is_sparse and entry:
                starts += entry
            row, entry = row + shard.rows, last
        return room.rows(rows, entries)

    def read_into(self, number: int, values: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> None:
        """Read a shard into buffers. By default copy what `read_shard` returns, after validating it."""
        shard = self.shards[number]
        try:
            matrix = as_matrix(self.read_shard(number))
        except (ValueError, TypeError) as error:
            raise type(error)(f"shard {number} of {self.name}: {error}") from None
        expected, stored = (shard.rows, self.shape[1]), matrix.nnz if sparse.issparse(matrix) else matrix.size
        if matrix.shape != expected or stored != shard.entries or sparse.issparse(matrix) != self.is_sparse:
            raise ValueError(
                f"shard {number} of {self.name} has shape {matrix.shape} and {stored:,} entries; expected are "
                f"{expected} and {shard.entries:,}, {'sparse' if self.is_sparse else 'dense'}"
            )
        if self.is_sparse:
            values[:], columns[:], starts[:] = matrix.data, matrix.indices, matrix.indptr
        else:
            values[:] = matrix.reshape(-1)

    @contextmanager
    def rooms(self, count: int) -> Iterator[list[Room]]:
        """Provide buffers for ``count`` shards, each as large as the largest. Later calls use them again."""
        with self._lock:
            found = [self._rooms.pop() for _ in range(min(count, len(self._rooms)))]
        rows, entries = (max(getattr(shard, name) for shard in self.shards) for name in ("rows", "entries"))
        found += [Room(self, rows, entries) for _ in range(count - len(found))]
        yield found
        with self._lock:
            self._rooms += found

    def first_rows(self, count: int) -> CSR | Dense:
        """Return the first ``count`` rows, or those of the first shard if it has fewer."""
        rows: Any = self.read([0])
        return rows.block(slice(0, min(count, self.shards[0].rows)))

    def head(self, count: int) -> Any:
        """Return the first rows, at most ``count``, as an array or a SciPy CSR array."""
        return self._as_matrix(self.first_rows(count))

    def matrix(self) -> Any:
        """Read all rows into an array or a SciPy CSR array."""
        return self._as_matrix(self.read(range(len(self.shards))))

    def _as_matrix(self, rows: CSR | Dense) -> Any:
        if isinstance(rows, Dense):
            return rows.values
        matrix = rows.matrix(self.shape[1])
        matrix.has_canonical_format = True
        return matrix
