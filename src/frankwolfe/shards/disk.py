"""Rows that are read shard by shard: for passes over all rows, and as groups for stochastic methods."""

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cached_property, partial, reduce
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.arrays import as_targets, as_weights
from frankwolfe.arguments.types import Loss, RowNumbers, TargetValues
from frankwolfe.rows import Samples, block_entries
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Centred, Dense
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.shards.local import DataBlock, Local, Shards, SplitRows, Threads, Total, moved
from frankwolfe.shards.sources import IN_MEMORY, DataSource, LoadedData, Refusal
from frankwolfe.store.sharded import LIMIT, ShardedRows


class StoredRows(SplitRows):
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

    def through(self, layer: Callable[..., Any], **given: Any) -> "StoredRows":
        """Return the rows with one more transformation, applied last."""
        return StoredRows(self.store, (*self.layers, partial(layer, **given)))

    def centred(self, weights: np.ndarray) -> "StoredRows":
        """Return dense rows minus their weighted mean, which takes one pass. Return sparse rows unchanged."""
        if self.is_sparse:
            return self
        # means = first + sum_i weights[i] (x_i - first), so that the mean of a constant column is exact
        first = self.store.head(1)[0].astype(np.float64)
        apart = self.through(_centred, means=first)
        return self.through(_centred, means=first + apart.add_all(weights, len(first)))

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

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.store.nnz * max(1, self.outputs)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return uninitialised arrays for an iterate and a gradient."""
        return self.head.vectors(d)

    # --- reading --------------------------------------------------------------------------------------------------

    def block(self, part: slice) -> Any:
        """Return consecutive rows, which must be among the first ones (`head`): for the compilation of kernels."""
        return self.head.block(part)

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
        if np.any(w):
            return super().dot_all(w)
        return np.zeros((self.store.shape[0], *((self.outputs,) if self.outputs else w.shape[1:])))

    def column_norms(self, weights: np.ndarray, size: int) -> np.ndarray:
        """Return the weighted column norms ``sqrt(sum_i weights[i] * X[i, j]**2)``.

        If all weights are equal and columns are not centred, the sums of squares in the store are used: no reads.
        """
        plain = self.head.rows if self.outputs else self.head
        if np.ptp(weights) == 0.0 and isinstance(plain, CSR | Dense):
            return np.repeat(np.sqrt(self.store.squares * weights[0]), max(1, self.outputs))
        return super().column_norms(weights, size)

    def in_turn(self) -> Generator[tuple[slice, Any]]:
        """Yield the slice of each shard among all rows, and its rows, whose memory is reused for later shards.

        A thread reads ahead. A room is memory for one shard: there are no more shards in memory than rooms.
        """
        store = self.store
        # one shard is in use, and two are read ahead
        count = min(3, len(store.shards), store.memory // max(store.largest_shard, 1))
        thread = ThreadPoolExecutor(1, thread_name_prefix="frankwolfe-read")
        with store.rooms(count) as rooms:
            try:
                ahead = deque(thread.submit(self.group, [number], room) for number, room in enumerate(rooms))
                for number, part in enumerate(store.slices):
                    yield part, ahead.popleft().result()
                    if number + count < len(store.shards):  # this shard is done with: its room is free
                        ahead.append(thread.submit(self.group, [number + count], rooms[number % count]))
            finally:
                thread.shutdown(cancel_futures=True)  # waits for the shard that is being read


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

    def each(self, function: Callable[[DataBlock], tuple]) -> tuple:
        """Call a function for each block of rows and return the sum of its results, added in block order.

        The results must not share memory with the rows, whose buffers are reused.
        """
        rows, targets, weights, loss = self.samples
        entries, total = block_entries(rows.stored(), self.size), Total()
        with closing(rows.in_turn()) as shards:
            for part, some in shards:
                samples = Samples(some, targets[part], weights[part], loss)
                blocks = [DataBlock(moved(own, part.start), samples.block(own)) for own in some.cut(entries)]
                self.executor.run(function, blocks, total)
        return total.sums


class ShardSource(DataSource):
    """Rows that this process can read shard by shard: `ShardedRows`, for instance a row store."""

    X: ShardedRows
    name, in_memory, is_checked = "a row store", "X.matrix() and X.y", True
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

    def load(self, y: TargetValues, sample_weight: RowNumbers, loss: Loss, centre: bool) -> LoadedData:
        """Check targets and weights, which are those of the store if none are given. Load the rows if they fit."""
        store, names = self.X, self.X.feature_names
        y = stored_targets(store, loss) if y is None else y
        sample_weight = store.sample_weight if sample_weight is None else sample_weight
        if store.fits:
            return self.loaded(store.matrix(), y, sample_weight, loss, centre, names)
        n = store.shape[0]
        targets, weights = as_targets(y, n, loss), as_weights(sample_weight, n)
        loss = loss.for_targets(targets)
        rows = StoredRows(store).centred(weights) if centre else StoredRows(store)
        rows = rows.through(MultiOutput, outputs=loss.outputs) if loss.outputs else rows
        return LoadedData(self, Samples(rows, targets, weights, loss), names)

    def with_offset(self, y: TargetValues, offset: Any, loss: Loss) -> Any:
        """Return the targets, by default those of the store, and offsets as complex numbers."""
        return super().with_offset(stored_targets(self.X, loss) if y is None else y, offset, loss)

    def samples_for_run(self, samples: Samples) -> Samples:
        """Return the samples with a separate count of reads."""
        return samples._replace(rows=samples.rows.for_run())

    def shards(self, samples: Samples, size: int, executor: Threads | None = None) -> Shards:
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


def stored_targets(store: ShardedRows, loss: Loss) -> np.ndarray:
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
        return [self._store.slices[number] for number in group]

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
