"""Tasks on rows in memory (`Local`); `DiskShards` and `cluster.remote_data` have the same interface (`Shards`).

Code that reads rows, or that needs an entry for each row, is written as *tasks*, plain functions of a `Local`:

    def task(local, *args)

- ``shards.run(task, *args)`` runs a task that returns a tuple, and returns the sums of its entries over all shards.
  With ``keep=k`` the first ``k`` entries stay with the rows, and references to them are returned in their place.
- ``shards.keep(task, *args)`` returns a reference to a result that stays with the rows. A cluster computes the result
  when a task needs it.

References are arguments of later tasks. On each shard the task receives the piece of the result that belongs to the
rows of the shard. On this machine there is one shard, and the reference is the result itself: an array with an entry
for each row. On a cluster it is a `Kept`. (A store calls its files of some megabytes shards, too: those are pieces of
the one shard of this machine.) Three rules make results independent of where rows are and of lost workers:

- A task depends on its arguments only.
- A kept result never changes. It shares no memory with the rows: rows of a store are read into buffers that are reused.
- A task returns new arrays or numbers. Lists are concatenated instead of summed.

Rows on this machine are split into blocks that threads process in parallel. The blocks depend on the size of the data
only (`frankwolfe.rows`), and sums are added in block order. So the results do not depend on the number of
threads, not even in rounding. The function for a block fills its part of an array, or returns a tuple of numbers and
arrays to sum. Kernels and NumPy release the interpreter lock, so that threads run in parallel.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, cached_property
from itertools import pairwise, starmap
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np

import frankwolfe.rows as cutting
from frankwolfe.compile.kernels import compiling, worth_compiling
from frankwolfe.linalg.threads import default_threads
from frankwolfe.losses.base import LossArrays
from frankwolfe.rows import Samples, block_entries
from frankwolfe.rows.dense import even_parts
from frankwolfe.rows.multi_output import FactoredMatrices, FactoredOutputs

Task = Callable[..., Any]


class Shards(Protocol):
    """Interface of the shards of a data set: run tasks on all rows, and keep results with the rows."""

    calls_are_costly: bool
    """Whether each `run` is a network round trip. Solvers then make fewer calls: each call returns more results, and
    quadratic models are used for longer."""

    @property
    def groups(self) -> int:
        """Number of groups of rows that the compiled loop loads into memory in turn.

        One if all rows are in memory, zero if rows are in other processes.
        """

    @property
    def reads(self) -> float | None:
        """Number of times that all rows have been read from disk; None if passes read no disk."""

    @property
    def executor(self) -> Any:
        """The executor that runs the work on blocks of rows in this process; None if rows are in others."""

    def run(
        self, task: Task, *args: Any, keep: int = 0, also: tuple = (), lineage: tuple | None = None
    ) -> tuple[Any, ...]:
        """Run a task on all shards. Return references to the first ``keep`` results, then the sums of the others.

        ``also`` are further arguments, on which kept results do not depend. ``lineage`` is another task, with its
        arguments, that computes the only kept result: for tasks whose arguments depend on many earlier calls. It is
        sent only if a shard has lost the result.
        """
        ...

    def keep(self, task: Task, *args: Any) -> Any:
        """Return a reference to the result of a task, which stays with the rows."""
        ...


class Kept:
    """Reference to a result that stays with the rows of a cluster: the task that computes it, and its arguments.

    It has the shape of the result over all rows. Only workers have its entries, so reshaping returns the same object.
    """

    shape: tuple[int, ...] = ()
    task: Task | None = None
    args: tuple = ()

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def reshape(self, *shape: Any) -> "Kept":
        """Return itself: it never changes."""
        return self

    ravel = copy = reshape


def entry(local: Any, found: tuple, k: int) -> Any:
    """Return one of the results of another task."""
    return found[k]


# --- rows on this machine ---------------------------------------------------------------------------------------------


class SplitRows:
    """Rows in consecutive pieces that are used in turn: in memory (`ChunkedRows`) or on disk (`StoredRows`)."""

    head: Any
    """Some of the first rows."""

    @property
    def outputs(self) -> int:
        """Number of outputs of a prediction; 0 if predictions are scalars."""
        return self.head.outputs

    @property
    def is_sparse(self) -> bool:
        """Whether rows are sparse."""
        return self.head.is_sparse

    def in_turn(self) -> Iterator[tuple[slice, Any]]:
        """Yield the slice of each piece among all rows, and its rows, whose memory may be reused for later pieces."""
        raise NotImplementedError

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows with ``w``."""
        return np.concatenate([rows.dot_all(w) for _, rows in self.in_turn()])

    def add_all(self, alpha: np.ndarray, size: int) -> np.ndarray:
        """Return ``X' alpha``: the sum of all rows, each multiplied by its entry of ``alpha``."""
        return sum((rows.add_all(alpha[part], size) for part, rows in self.in_turn()), np.zeros(size))

    def column_norms(self, weights: np.ndarray, size: int) -> np.ndarray:
        """Return the weighted column norms ``sqrt(sum_i weights[i] * X[i, j]**2)``."""
        return np.sqrt(sum(rows.column_norms(weights[part], size) ** 2 for part, rows in self.in_turn()))

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> FactoredOutputs | FactoredMatrices:
        """Return the data restricted to weight matrices ``left S right'``: in memory if there are several outputs."""
        if not self.outputs:
            return FactoredMatrices(self, left, right)
        return FactoredOutputs(np.concatenate([rows.rows.dot_all(left) for _, rows in self.in_turn()]), right)


class ChunkedRows(SplitRows):
    """Rows in several consecutive chunks, with the interface of a row layout. A block never spans two chunks.

    Parameters
    ----------
    chunks : sequence
        Rows of one layout each: `Dense`, `CSR`, `Centred`, or `MultiOutput` of them.
    sizes : sequence of int
        Number of rows of each chunk.
    """

    def __init__(self, chunks: Sequence[Any], sizes: Sequence[int]):
        self.chunks, self.head = chunks, chunks[0]
        self.offsets: list[int] = np.cumsum([0, *sizes]).tolist()

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return sum(chunk.stored() for chunk in self.chunks)

    def cut(self, entries: int) -> list[slice]:
        """Split each chunk into blocks of about ``entries`` stored entries."""
        return [moved(part, whole.start) for whole, chunk in self.in_turn() for part in chunk.cut(entries)]

    def block(self, part: slice) -> Any:
        """Return the consecutive rows of a slice, which must lie within one chunk."""
        number = int(np.searchsorted(self.offsets, part.start, side="right")) - 1
        return self.chunks[number].block(moved(part, -self.offsets[number]))

    def in_turn(self) -> Iterator[tuple[slice, Any]]:
        """Yield each chunk with the slice of its rows among all rows."""
        return zip(starmap(slice, pairwise(self.offsets)), self.chunks, strict=True)


def moved(part: slice, by: int) -> slice:
    """Return a slice moved by some rows."""
    return slice(part.start + by, part.stop + by)


class DataBlock(NamedTuple):
    """A block of consecutive rows: their slice among all rows, and the samples."""

    part: slice
    samples: Samples


class Local:
    """Rows in memory: the first argument of every task. `frankwolfe.shards.disk.DiskShards` is for rows that are not.

    Parameters
    ----------
    samples : Samples
        Rows, targets, sample weights, and the loss without an intercept.
    size : int
        Number of coefficients.
    executor : Threads, optional
        Threads that process the blocks. By default as many as there are cores.
    number : int
        Index of the part on a cluster. Random draws depend on it.
    """

    calls_are_costly = False

    def __init__(self, samples: Samples, size: int, executor: "Threads | None" = None, number: int = 0):
        self.samples, self.size, self.number = samples, size, number
        self.executor = executor or Threads()

    @property
    def groups(self) -> int:
        """Number of groups of rows that are loaded into memory in turn."""
        return 1

    @property
    def reads(self) -> float | None:
        """Number of reads of all rows from disk; None if rows are in memory."""
        return None

    @property
    def losses(self) -> LossArrays:
        """The vectorised loss, compiled if the data is large."""
        rows = self.samples.rows
        return LossArrays(self.samples.loss, worth_compiling(rows.stored(), rows.is_sparse))

    def run(
        self, task: Task, *args: Any, keep: int = 0, also: tuple = (), lineage: tuple | None = None
    ) -> tuple[Any, ...]:
        """Run a task and return its results. There is one shard, so there is nothing to sum."""
        return task(self, *args, *also)

    def keep(self, task: Task, *args: Any) -> Any:
        """Run a task and return its result."""
        return task(self, *args)

    @cached_property
    def blocks(self) -> list[DataBlock]:
        """The rows in memory, split into blocks of about equal size."""
        rows = self.samples.rows
        parts = rows.cut(block_entries(rows.stored(), self.size))
        return [DataBlock(part, self.samples.block(part)) for part in parts]

    def each(self, function: Callable[[DataBlock], tuple]) -> tuple:
        """Call a function for each block of rows and return the sum of its results, added in block order.

        The results must not share memory with the rows: rows of a store are read into buffers that are reused.
        """
        return self.executor.run(function, self.blocks)

    @cached_property
    def parts(self) -> list[slice]:
        """Slices of equally many samples, for functions that use predictions and no rows."""
        return even_parts(len(self.samples.weights), max((1, *self.samples.shape[1:])), cutting.LEAST)

    def over(self, function: Callable[[slice], tuple]) -> tuple:
        """Call a function for each slice of the samples and return the sum of its results."""
        return self.executor.run(function, self.parts)


# --- threads ----------------------------------------------------------------------------------------------------------


class Threads:
    """Process blocks by several threads. Each thread takes the next block when it has finished one.

    Parameters
    ----------
    workers : int, optional
        Number of threads, including the calling thread. By default `default_threads`.
    """

    def __init__(self, workers: int | None = None):
        self.workers = default_threads() if workers is None else workers

    def run(self, task: Callable[[Any], tuple], blocks: Sequence[Any], total: "Total | None" = None) -> tuple:
        """Run the task on each block and return the sum of the results, added in block order, and to a ``total``."""
        total, workers = total or Total(), min(self.workers, len(blocks))
        if workers < 2 or not compiling():
            for block in blocks:
                total.take(total.turn, task(block))
            return total.sums
        lock, waiting = Lock(), iter(enumerate(blocks, total.turn))
        stopped: list[bool] = []

        def work() -> None:
            while not stopped:
                with lock:
                    number, block = next(waiting, (None, None))
                if number is None:
                    return
                found = task(block)
                with lock:
                    total.take(number, found)

        others = [_pool(workers - 1).submit(copy_context().run, work) for _ in range(workers - 1)]
        try:
            work()
        finally:  # also after Ctrl-C: no thread may write into the arrays after this call
            stopped.append(True)
            wait(others)
        for other in others:
            other.result()  # raises the error of the thread, if any
        return total.sums


class Total:
    """Sum of results in block order. Results that arrive early are stored until their turn."""

    def __init__(self) -> None:
        self.sums: tuple = ()
        self.turn = 0
        self._early: dict[int, tuple] = {}

    def take(self, number: int, found: tuple) -> None:
        """Add the result of a block once the results of all earlier blocks have been added."""
        self._early[number] = found
        while self.turn in self._early:
            found = self._early.pop(self.turn)
            self.sums = tuple(map(_sum, self.sums, found)) if self.turn else found
            self.turn += 1


def _sum(mine: Any, other: Any) -> Any:
    """Return a sum. An array is updated in place."""
    mine += other
    return mine


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Return a thread pool, which all runs of the process share."""
    return ThreadPoolExecutor(workers, thread_name_prefix="frankwolfe")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has no copies of the threads
