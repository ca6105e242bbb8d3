"""Rows that are read shard by shard: for passes over all rows, and as groups for stochastic methods."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial, reduce
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.arrays import as_targets, as_weights
from frankwolfe.rows.centred import Centred
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense
from frankwolfe.rows.multi_output import FactoredMatrices, FactoredOutputs, MultiOutput
from frankwolfe.rows.samples import Samples, block_entries
from frankwolfe.shards.interface import Shards
from frankwolfe.shards.local import DataBlock, Local, Serial, Threads
from frankwolfe.shards.sources import IN_MEMORY, DataSource, LoadedData, Refusal
from frankwolfe.store.sharded import LIMIT, Room, ShardedRows

MOST_ROOMS = 4
"""Largest number of shards in memory during a pass: two in use, and two that are read ahead."""


class Place(NamedTuple):
    """Position of a block: its slice among all rows, the index of its shard, and its slice within the shard."""

    part: slice
    shard: int
    within: slice


class Reading:
    """Context manager that reads the shards of some blocks in order, ahead of the threads that process the blocks.

    A room is memory for one shard. The reading thread waits for a free room, so no more shards are in memory than there
    are rooms. Blocks are processed in the order of the shards, so a room is always released eventually.

    Parameters
    ----------
    rows : StoredRows
        The rows to read.
    places : list of Place
        The blocks, in order. A shard's room is free again once all of its blocks have been processed.
    """

    def __init__(self, rows: "StoredRows", places: list[Place]):
        self._from, store = rows, rows.store
        numbers, uses = np.unique([place.shard for place in places], return_counts=True)
        self._left = dict(zip(numbers.tolist(), uses.tolist(), strict=True))
        self._all = store.lend_rooms(min(MOST_ROOMS, len(numbers), store.memory // max(store.largest_shard, 1)))
        self._free: SimpleQueue[Room | None] = SimpleQueue()
        for room in self._all:
            self._free.put(room)
        self._lock = Lock()
        self._rooms: dict[int, Room] = {}
        self._stopped = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="frankwolfe-read")
        self._rows: dict[int, Future] = {number: self._pool.submit(self._read, number) for number in self._left}

    def _read(self, number: int) -> Any:
        """Wait for a free room and read a shard into it. Runs in the reading thread."""
        room = self._free.get()
        if room is None or self._stopped:
            return None
        self._rooms[number] = room
        return self._from.group([number], room)

    @contextmanager
    def rows(self, place: Place) -> Iterator[Any]:
        """Provide the rows of a block. They must not be used afterwards: their memory is reused."""
        yield self._rows[place.shard].result().block(place.within)
        with self._lock:
            self._left[place.shard] -= 1
            if self._left[place.shard] == 0:
                del self._rows[place.shard]
                self._free.put(self._rooms.pop(place.shard))

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped = True
        for future in list(self._rows.values()):
            future.cancel()
        self._free.put(None)  # ends a read that waits for a room
        self._pool.shutdown(wait=True)
        self._from.store.return_rooms(self._all)


class StoredRows:
    """Rows of a store that are not in memory, with the interface of a row layout.

    Transformations, such as centring or several outputs, are applied to each shard after it is read. Methods read the
    data, except those in the section on metadata below.

    Parameters
    ----------
    store : ShardedRows
        The store.
    layers : tuple of functions
        Transformations of the rows of a shard to another layout, applied in order.
    """

    def __init__(self, store: ShardedRows, layers: tuple[Callable[[Any], Any], ...] = ()):
        self.store, self.layers = store, layers
        self.rows_read = 0
        self._lock = Lock()

    def through(self, layer: Callable[[Any], Any], first: bool = False) -> "StoredRows":
        """Return the rows with one more transformation, applied last, or first if ``first``."""
        return StoredRows(self.store, (layer, *self.layers) if first else (*self.layers, layer))

    def centred(self, weights: np.ndarray) -> "StoredRows":
        """Return dense rows minus their weighted mean, which takes one pass. Return sparse rows unchanged."""
        if self.is_sparse:
            return self
        # means = first + sum_i weights[i] (x_i - first), so that the mean of a constant column is exact
        first = self.store.head(1)[0].astype(np.float64)
        apart = StoredRows(self.store, (partial(_centred, means=first),))
        return self.through(partial(_centred, means=first + apart.add_all(weights, len(first))), first=True)

    def mean_prediction(self, w: np.ndarray) -> Any:
        """Return the product of the column means and ``w``, which centring subtracts from every prediction."""
        return self.head.mean_prediction(w)

    def for_run(self) -> "StoredRows":
        """Return the same rows with a separate count of reads."""
        return StoredRows(self.store, self.layers)

    @property
    def reads(self) -> float:
        """Number of rows read so far, divided by the number of rows."""
        return self.rows_read / self.store.shape[0]

    # --- metadata, without a pass over the data -------------------------------------------------------------------

    @cached_property
    def head(self) -> Any:
        """The first rows of the store, at most 8."""
        return self._in_layout(self.store.first_rows(8))

    @property
    def outputs(self) -> int:
        """Number of outputs of a prediction; 0 if predictions are scalars."""
        return self.head.outputs

    @property
    def is_sparse(self) -> bool:
        """Whether rows are sparse."""
        return self.store.is_sparse

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.store.nnz * max(1, self.outputs)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return uninitialised arrays for an iterate and a gradient."""
        return self.head.vectors(d)

    def places(self, entries: int) -> list[Place]:
        """Split all shards into blocks of about ``entries`` stored entries, each counted once for each output."""
        found, entries = [], max(1, entries // max(1, self.outputs))
        for number, shard in enumerate(self.store.shards):
            first = int(self.store.offsets[number])
            count = max(1, min(len(shard.cuts), -(-shard.entries // max(entries, 1))))
            chosen = np.linspace(0, len(shard.cuts), count + 1).round().astype(int)[1:] - 1
            for begin, end in pairwise([0, *(shard.cuts[k] for k in chosen)]):
                found.append(Place(slice(first + begin, first + end), number, slice(begin, end)))
        return found

    # --- reading --------------------------------------------------------------------------------------------------

    def block(self, part: slice) -> Any:
        """Return consecutive rows in new memory. The first rows, see `head`, are not read again."""
        if part.stop <= min(8, self.store.shards[0].rows):
            return self.head.block(slice(part.start, part.stop))
        numbers = range(
            int(np.searchsorted(self.store.offsets, part.start, side="right")) - 1,
            int(np.searchsorted(self.store.offsets, part.stop)),
        )
        first = int(self.store.offsets[numbers.start])
        return self.group(numbers).block(slice(part.start - first, part.stop - first))

    def group(self, numbers: Any, room: Any = None) -> Any:
        """Return the rows of some shards, concatenated. Read them into ``room``, if given."""
        rows = self.store.read(numbers, room)
        with self._lock:
            self.rows_read += sum(self.store.shards[number].rows for number in numbers)
        return self._in_layout(rows)

    def _in_layout(self, rows: Any) -> Any:
        return reduce(lambda found, layer: layer(found), self.layers, rows)

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows with ``w``. Nothing is read if ``w`` is zero."""
        outputs = (self.outputs,) if self.outputs else ()
        z = np.zeros((self.store.shape[0], *(outputs or w.shape[1:])))
        if np.any(w):
            for place, rows in self.in_turn():
                z[place.part] = rows.dot_all(w)
        return z

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Return the weighted column norms ``sqrt(sum_i weights[i] * X[i, j]**2)``.

        If all weights are equal and columns are not centred, the sums of squares in the store are used: no reads.
        """
        plain = self.head.rows if self.outputs else self.head
        if np.ptp(weights) == 0.0 and isinstance(plain, CSR | Dense):
            return np.repeat(np.sqrt(self.store.squares * weights[0]), max(1, self.outputs))
        squares = np.zeros(d)
        for place, rows in self.in_turn():
            squares += rows.column_norms(weights[place.part], d) ** 2
        return np.sqrt(squares)

    def add_all(self, alpha: np.ndarray, size: int) -> np.ndarray:
        """Return ``X' alpha``: the sum of all rows, each multiplied by its entry of ``alpha``."""
        total = np.zeros(size)
        for place, rows in self.in_turn():
            total += rows.add_all(alpha[place.part], size)
        return total

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> FactoredOutputs | FactoredMatrices:
        """Return the data restricted to weight matrices ``left S right'``: in memory if there are several outputs."""
        if not self.outputs:
            return FactoredMatrices(self, left, right)
        images = np.empty((self.store.shape[0], left.shape[1]))
        for place, rows in self.in_turn():
            images[place.part] = rows.rows.dot_all(left)
        return FactoredOutputs(images, right)

    def in_turn(self, entries: int | None = None) -> Iterator[tuple[Place, Any]]:
        """Yield all blocks of about ``entries`` entries, by default whole shards, with rows whose memory is reused."""
        places = self.places(entries or self.stored())
        with Reading(self, places) as reading:
            for place in places:
                with reading.rows(place) as rows:
                    yield place, rows


def _centred(rows: Dense, means: np.ndarray) -> Centred:
    """Return dense rows minus ``means``."""
    return Centred(rows.values, means)


class DiskShards(Local):
    """Rows that do not fit into memory, with the interface of `Local`: each pass reads all shards."""

    @property
    def groups(self) -> int:
        """Number of groups of rows that are loaded into memory in turn."""
        return max(2, GroupPlan.of(self.samples.rows.store).groups)

    @property
    def reads(self) -> float | None:
        """Number of reads of all rows from disk."""
        return self.samples.rows.reads

    @cached_property
    def places(self) -> list[Place]:
        """The positions of blocks of about equal size."""
        rows = self.samples.rows
        return rows.places(block_entries(rows.stored(), self.size))

    def each(self, function: Callable[[DataBlock], tuple]) -> tuple:
        """Call a function for each block of rows and return the sum of its results, added in block order.

        The results must not share memory with the rows, whose buffers are reused.
        """
        rows, targets, weights, loss = self.samples
        with Reading(rows, self.places) as read:

            def on_disk(place: Place) -> tuple:
                with read.rows(place) as some:
                    samples = Samples(some, targets[place.part], weights[place.part], loss)
                    return function(DataBlock(place.part, samples))

            return self.executor.run(on_disk, self.places)


class ShardSource(DataSource):
    """Rows that this process can read shard by shard: `ShardedRows`, for instance a row store."""

    X: ShardedRows
    name, is_checked = "a row store", True
    refusals = (
        Refusal(
            IN_MEMORY,
            lambda facts: True,
            "{source.X.name} does not fit into memory",
            "use 'auto', 'sfw' or 'fw', or {source.X.more_memory}",
        ),
    )

    least_batch = 10
    """A pass is faster than with batches of one row, and makes as much progress (docs/stores.md)."""

    @property
    def most_batch(self) -> float:
        """The rows of the smallest group."""
        return GroupPlan.of(self.X).fewest_rows

    def require_memory(self, who: str, instead: str = "") -> None:
        """Raise TypeError."""
        more = f", or {instead}" if instead else ""
        raise TypeError(f"{who} needs rows in memory, but X is {self.name}: pass X.matrix() and X.y{more}")

    def load(self, y: Any, sample_weight: Any, loss: Any, centre: bool) -> LoadedData:
        """Check targets and weights, which are those of the store if none are given. Load the rows if they fit."""
        store, names = self.X, self.X.feature_names
        y = stored_targets(store, loss) if y is None else y
        sample_weight = store.sample_weight if sample_weight is None else sample_weight
        if store.fits:
            return self.loaded(store.matrix(), y, sample_weight, loss, centre, names)
        n = store.shape[0]
        targets, weights = as_targets(y, n, loss), as_weights(sample_weight, n)
        loss = loss.for_targets(targets)
        rows = StoredRows(store)
        rows = rows.through(partial(MultiOutput, outputs=loss.outputs)) if loss.outputs else rows
        return LoadedData(self, Samples(rows.centred(weights) if centre else rows, targets, weights, loss), names)

    def samples_for_run(self, samples: Samples) -> Samples:
        """Return the samples with a separate count of reads."""
        return samples._replace(rows=samples.rows.for_run())

    def shards(self, samples: Samples, size: int, executor: Serial | Threads | None = None) -> Shards:
        """Return what runs tasks on the rows."""
        return DiskShards(samples, size, executor)

    def head(self, count: int) -> Any:
        """Return the first rows, at most ``count``, as an array or a CSR array."""
        return self.X.head(count)

    some_rows = head  # evenly spread ones would be a pass over the data

    def matrix(self) -> Any:
        """Raise ValueError."""
        raise ValueError(f"this needs all rows in memory, and they are in {self.X.name}, which does not fit")

    def products(self, weights: np.ndarray) -> np.ndarray:
        """Return the products of all rows with the columns of a matrix, by one pass."""
        return StoredRows(self.X).dot_all(np.ascontiguousarray(weights))

    def identity(self, samples: Samples) -> dict[str, Any]:
        """Return what distinguishes the data from others."""
        return {**super().identity(samples), "data": self.X.identity}


def stored_targets(store: ShardedRows, loss: Any) -> np.ndarray:
    """Return the targets of a store as a loss takes them: of two classes the first is -1 and the second +1."""
    if store.y is None:
        raise ValueError(f"{store.name} holds no targets: pass y, or write them with fw.write_rows")
    if store.classes is None:
        try:
            return as_targets(store.y, store.shape[0], loss)
        except ValueError as error:
            raise ValueError(f"the targets in {store.name} do not go with this loss: {error}") from None
    if loss.targets == "classes":
        return store.y
    count, kind = len(store.classes), type(loss).__name__
    if loss.targets != "labels":
        raise ValueError(f"{store.name} holds {count} classes for targets, and {kind} takes numbers: pass y")
    if count != 2:
        raise ValueError(f"{store.name} holds {count} classes for targets, and {kind} takes two: use 'multinomial'")
    return 2.0 * store.y - 1.0


class GroupPlan(NamedTuple):
    """Number of groups of shards, and bounds on their sizes.

    One group is in use while the next one is read, so each may take half of the memory.

    Attributes
    ----------
    groups : int
        Number of groups.
    most_rows, most_entries : int
        Upper bounds on the rows and on the stored entries of a group.
    fewest_rows : int
        Lower bound on the rows of a group.
    """

    groups: int
    most_rows: int
    most_entries: int
    fewest_rows: int

    @classmethod
    def of(cls, store: ShardedRows) -> "GroupPlan":
        """Plan groups that fit into the memory of a store. Their numbers of shards differ by at most one."""
        count, most = len(store.shards), max(shard.entries for shard in store.shards)
        together = max(1, min(count, (store.memory // 2) // store.largest_shard, LIMIT // max(most, 1)))
        groups = -(-count // together)
        rows = np.sort([shard.rows for shard in store.shards])
        entries = np.sort([shard.entries for shard in store.shards])
        large, small = -(-count // groups), count // groups
        return cls(groups, int(rows[-large:].sum()), int(entries[-large:].sum()), int(rows[:small].sum()))


class ShuffledGroups:
    """Groups of shards, in a new random order for each pass.

    Parameters
    ----------
    store : ShardedRows
        The store.
    generator : numpy.random.Generator
        Generator of the orders, used for nothing else: the order of the next pass can be drawn at any time.
    """

    def __init__(self, store: ShardedRows, generator: np.random.Generator):
        self._store, self._generator = store, generator
        self.plan = GroupPlan.of(store)
        self._orders: list[np.ndarray] = []  # of this pass and the next
        self._at = 0  # group of this pass

    @property
    def shards(self) -> int:
        """Number of shards."""
        return len(self._store.shards)

    def group(self, ahead: int = 0) -> np.ndarray:
        """Return the shards of the current group, or of the group ``ahead`` positions after it."""
        passes, at = divmod(self._at + ahead, self.plan.groups)
        while len(self._orders) <= passes:
            self._orders.append(self._generator.permutation(len(self._store.shards)))
        return np.array_split(self._orders[passes], self.plan.groups)[at]

    def steps(self, batch_size: int) -> int:
        """Return the number of batches for the current group: its share, by rows, of the batches of a pass."""
        self.group()
        groups = np.array_split(self._orders[0], self.plan.groups)
        before = sum(self._rows(group) for group in groups[: self._at])
        return (before + self._rows(groups[self._at])) // batch_size - before // batch_size

    def _rows(self, group: np.ndarray) -> int:
        return sum(self._store.shards[number].rows for number in group)

    def go_on(self) -> None:
        """Advance to the next group."""
        self._at += 1
        if self._at == self.plan.groups:
            self._at = 0
            self._orders.pop(0)

    def parts(self, group: np.ndarray) -> list[slice]:
        """Return the slices of the rows of some shards among all rows."""
        offsets = self._store.offsets
        return [slice(int(offsets[number]), int(offsets[number + 1])) for number in group]

    def state(self) -> dict[str, Any]:
        """Return the orders, the position of the current group, and the state of the generator."""
        return {
            "orders": np.array(self._orders).reshape(len(self._orders), len(self._store.shards)),
            "group": self._at,
            "generator": self._generator.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the position from a saved state."""
        self._orders, self._at = list(np.array(state["orders"])), int(state["group"])
        self._generator.bit_generator.state = state["generator"]
