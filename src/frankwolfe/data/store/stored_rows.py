"""Rows of a store as work on all rows sees them: blocks that are read when their turn comes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, reduce
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.data.csr import CSR
from frankwolfe.data.dense import Dense
from frankwolfe.data.flat_matrices import SeenFlat
from frankwolfe.data.multi_output import Seen
from frankwolfe.data.store.read_ahead import Reading, reading
from frankwolfe.data.store.row_store import RowStore


class Place(NamedTuple):
    """Where a block of rows is: among all rows, and in which shard."""

    part: slice
    shard: int
    within: slice


class StoredRows:
    """Rows of a store that are not in memory, as an `Objective` takes them.

    What is done to rows of other layouts, to centre them or to predict several outputs, is done to each shard as it is
    read. Everything here reads the data, unless it says that it does not.

    Parameters
    ----------
    store : RowStore
        The rows.
    layers : tuple of functions
        From the rows of a shard to rows in another layout, applied in turn.
    """

    def __init__(self, store: RowStore, layers: tuple[Callable[[Any], Any], ...] = ()):
        self.store, self.layers = store, layers
        self.rows_read = 0
        self._lock = Lock()

    def through(self, layer: Callable[[Any], Any], first: bool = False) -> "StoredRows":
        """Return the rows in another layout: after all that is done to them, or before it."""
        return StoredRows(self.store, (layer, *self.layers) if first else (*self.layers, layer))

    def for_run(self) -> "StoredRows":
        """Return the same rows with a count of reads of their own."""
        return StoredRows(self.store, self.layers)

    @property
    def reads(self) -> float:
        """How often all rows have been read."""
        return self.rows_read / self.store.shape[0]

    def count(self, shard: int) -> None:
        """Take note that a shard has been read."""
        with self._lock:
            self.rows_read += self.store.shards[shard].rows

    def dressed(self, rows: Any) -> Any:
        """Return the rows of a shard in the layout that is wanted."""
        return reduce(lambda found, layer: layer(found), self.layers, rows)

    # --- what is known without reading ----------------------------------------------------------------------------

    @cached_property
    def head(self) -> Any:
        """A few rows, from the beginning."""
        return self.dressed(self.store.first_rows(8))

    @property
    def outputs(self) -> int:
        """Number of entries of a prediction; 0 where it is a number."""
        return self.head.outputs

    @property
    def is_sparse(self) -> bool:
        """Whether only some entries are stored."""
        return self.store.is_sparse

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.store.nnz * max(1, self.outputs)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for an iterate and a gradient."""
        return self.head.vectors(d)

    def places(self, entries: int) -> list[Place]:
        """Cut all shards into blocks of about so many entries, each counted once for each output."""
        found, entries = [], max(1, entries // max(1, self.outputs))
        for number, shard in enumerate(self.store.shards):
            first = int(self.store.offsets[number])
            count = max(1, min(len(shard.cuts), -(-shard.entries // max(entries, 1))))
            chosen = np.linspace(0, len(shard.cuts), count + 1).round().astype(int)[1:] - 1
            for begin, end in pairwise([0, *(shard.cuts[k] for k in chosen)]):
                found.append(Place(slice(first + begin, first + end), number, slice(begin, end)))
        return found

    # --- reading --------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self, places: list[Place]) -> "Iterator[StoredBlocks]":
        """Read the shards of some blocks, in order, while the block runs."""
        numbers, uses = np.unique([place.shard for place in places], return_counts=True)
        with reading(self.store, numbers.tolist(), uses.tolist(), self.count) as stream:
            yield StoredBlocks(self, stream)

    def block(self, part: slice) -> Any:
        """Return some rows that follow each other, in memory of their own; the first few are at hand."""
        if part.stop <= self.head_rows:
            return self.head.block(slice(part.start, part.stop))
        numbers = range(
            int(np.searchsorted(self.store.offsets, part.start, side="right")) - 1,
            int(np.searchsorted(self.store.offsets, part.stop)),
        )
        for number in numbers:
            self.count(number)
        first = int(self.store.offsets[numbers.start])
        rows = self.dressed(self.store.read(numbers))
        return rows.block(slice(part.start - first, part.stop - first))

    @property
    def head_rows(self) -> int:
        """Number of rows in `head`."""
        return min(8, self.store.shards[0].rows)

    def group(self, numbers: Any, room: Any = None) -> Any:
        """Return the rows of some shards, one shard after the other."""
        for number in numbers:
            self.count(int(number))
        return self.dressed(self.store.read(numbers, room))

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Inner products of all rows with ``w``; where that is zero nothing is read."""
        outputs = (self.outputs,) if self.outputs else ()
        z = np.zeros((self.store.shape[0], *(outputs or w.shape[1:])))
        if np.any(w):
            for place, rows in self.in_turn():
                z[place.part] = rows.dot_all(w)
        return z

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Euclidean norms of the columns, row ``i`` counted ``weights[i]`` times.

        If all weights are equal, and nothing was taken off the columns, they were summed up when the rows were written.
        """
        plain = self.head.rows if self.outputs else self.head
        if np.ptp(weights) == 0.0 and isinstance(plain, CSR | Dense):
            return np.repeat(np.sqrt(self.store.squares * weights[0]), max(1, self.outputs))
        squares = np.zeros(d)
        for place, rows in self.in_turn():
            squares += rows.column_norms(weights[place.part], d) ** 2
        return np.sqrt(squares)

    def add_all(self, alpha: np.ndarray, size: int) -> np.ndarray:
        """Sum of all rows, each times its entry of ``alpha``."""
        total = np.zeros(size)
        for place, rows in self.in_turn():
            total += rows.add_all(alpha[place.part], size)
        return total

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> Seen | SeenFlat:
        """Return the data as matrices ``left S right'`` see it: with several outputs ``X left``, in memory."""
        if not self.outputs:
            return SeenFlat(self, left, right)
        images = np.empty((self.store.shape[0], left.shape[1]))
        for place, rows in self.in_turn():
            images[place.part] = rows.rows.dot_all(left)
        return Seen(images, right)

    def in_turn(self, entries: int | None = None) -> Iterator[tuple[Place, Any]]:
        """Yield all blocks, of about so many entries or whole shards, with their rows; nothing of them may be kept."""
        places = self.places(entries or self.stored())
        with self.reading(places) as blocks:
            for place in places:
                with blocks.rows(place) as rows:
                    yield place, rows


class StoredBlocks:
    """Blocks of rows while they are read."""

    def __init__(self, rows: StoredRows, stream: Reading):
        self._rows, self._stream = rows, stream

    @contextmanager
    def rows(self, place: Place) -> Iterator[Any]:
        """Have the rows of a block while the block runs."""
        with self._stream.shard(place.shard) as rows:
            yield self._rows.dressed(rows).block(place.within)
