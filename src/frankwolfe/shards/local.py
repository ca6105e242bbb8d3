"""Rows on this machine, cut into blocks on which threads work.

Blocks are cut by size (`frankwolfe.rows.samples`), and sums are taken in block order: their bits do not depend on the
number of threads. The function for a block fills its part of an array, or returns a tuple of numbers and arrays to be
added up. Kernels and NumPy release the interpreter's lock, so threads work at the same time.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import compiling, worth_compiling
from frankwolfe.linalg.threads import default_threads
from frankwolfe.losses.loss_arrays import LossArrays
from frankwolfe.rows import samples as cutting
from frankwolfe.rows.multi_output import FactoredMatrices, FactoredOutputs
from frankwolfe.rows.samples import Samples, block_entries, even_parts
from frankwolfe.shards.disk import GroupPlan, Place, Reading, StoredRows
from frankwolfe.shards.interface import Task


class ChunkedRows:
    """Pieces of rows, one after the other, as an `Objective` takes them. Blocks never go across pieces.

    Parameters
    ----------
    chunks : sequence
        Rows of one layout each: `Dense`, `CSR`, `Centred`, or `MultiOutput` of them.
    sizes : sequence of int
        How many rows each of them has.
    """

    def __init__(self, chunks: Sequence[Any], sizes: Sequence[int]):
        self.chunks = chunks
        self.offsets: list[int] = np.cumsum([0, *sizes]).tolist()

    @property
    def outputs(self) -> int:
        """Number of entries of a prediction; 0 where it is a number."""
        return self.chunks[0].outputs

    @property
    def is_sparse(self) -> bool:
        """Whether only some entries are stored."""
        return self.chunks[0].is_sparse

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return sum(chunk.stored() for chunk in self.chunks)

    def cut(self, entries: int) -> list[slice]:
        """Cut each piece into blocks of about so many entries."""
        return [
            slice(first + part.start, first + part.stop)
            for first, chunk in zip(self.offsets, self.chunks, strict=False)
            for part in chunk.cut(entries)
        ]

    def block(self, part: slice) -> Any:
        """Return some rows that follow each other in one piece."""
        number = int(np.searchsorted(self.offsets, part.start, side="right")) - 1
        first = self.offsets[number]
        return self.chunks[number].block(slice(part.start - first, part.stop - first))

    def _in_turn(self) -> Iterator[tuple[slice, Any]]:
        """Yield all pieces, and where their rows are among all."""
        for number, chunk in enumerate(self.chunks):
            yield slice(self.offsets[number], self.offsets[number + 1]), chunk

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Inner products of all rows with ``w``."""
        return np.concatenate([chunk.dot_all(w) for chunk in self.chunks])

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Sum of all rows, each times its entry of ``alpha``."""
        return sum(chunk.add_all(alpha[part], d) for part, chunk in self._in_turn())

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> FactoredOutputs | FactoredMatrices:
        """Return the data restricted to weight matrices ``left S right'``."""
        if not self.outputs:
            return FactoredMatrices(self, left, right)
        return FactoredOutputs(np.concatenate([chunk.rows.dot_all(left) for chunk in self.chunks]), right)


class DataBlock(NamedTuple):
    """Rows that follow each other: which they are, and the samples."""

    part: slice
    samples: Samples


class Local:
    """Rows on this machine, in memory or in a store, as tasks see them.

    Parameters
    ----------
    samples : Samples
        Rows, targets, weights, and the loss without an intercept.
    size : int
        Number of weights.
    executor : Serial or Threads, optional
        Works on the blocks. By default as many threads as there are cores.
    number : int
        Which of several it is, on a cluster: random draws depend on it.
    """

    calls_are_costly = False

    def __init__(self, samples: Samples, size: int, executor: "Serial | Threads | None" = None, number: int = 0):
        self.samples, self.size, self.number = samples, size, number
        self.executor = executor_for() if executor is None else executor

    @property
    def losses(self) -> LossArrays:
        """The loss for many samples at once, by kernels if the data is large."""
        rows = self.samples.rows
        return LossArrays(self.samples.loss, worth_compiling(rows.stored(), rows.is_sparse))

    def run(
        self, task: Task, *args: Any, keep: int = 0, also: tuple = (), lineage: tuple | None = None
    ) -> tuple[Any, ...]:
        """Return what a task returns: there is one shard, so nothing is added up."""
        return task(self, *args, *also)

    def keep(self, task: Task, *args: Any) -> Any:
        """Return what a task returns."""
        return task(self, *args)

    @property
    def groups(self) -> int:
        """In how many groups rows can be joined in memory."""
        rows = self.samples.rows
        return max(2, GroupPlan.of(rows.store).groups) if isinstance(rows, StoredRows) else 1

    @property
    def reads(self) -> float | None:
        """How often all rows have been read from disk; None where they are in memory."""
        return self.samples.rows.reads if isinstance(self.samples.rows, StoredRows) else None

    @cached_property
    def blocks(self) -> list[DataBlock]:
        """The rows in memory, cut by size."""
        rows = self.samples.rows
        parts = rows.cut(block_entries(rows.stored(), self.size))
        return [DataBlock(part, self.samples.block(part)) for part in parts]

    @cached_property
    def places(self) -> list[Place]:
        """The rows of a store, cut by size."""
        rows = self.samples.rows
        return rows.places(block_entries(rows.stored(), self.size))

    def each(self, function: Callable[[DataBlock], tuple]) -> tuple:
        """Call a function for each block of rows; return the sums of what it returns, in block order.

        Nothing that looks at the rows of a block may be kept: rows of a store are read into buffers that are reused.
        """
        rows, targets, weights, loss = self.samples
        if not isinstance(rows, StoredRows):
            return self.executor.run(function, self.blocks)
        with Reading(rows, self.places) as read:

            def on_disk(place: Place) -> tuple:
                with read.rows(place) as some:
                    samples = Samples(some, targets[place.part], weights[place.part], loss)
                    return function(DataBlock(place.part, samples))

            return self.executor.run(on_disk, self.places)

    @cached_property
    def parts(self) -> list[slice]:
        """The samples, cut by their number: for work that reads predictions and no rows."""
        return even_parts(len(self.samples.weights), max((1, *self.samples.shape[1:])), cutting.LEAST)

    def over(self, function: Callable[[slice], tuple]) -> tuple:
        """Call a function for each part of the samples; return the sums of what it returns."""
        return self.executor.run(function, self.parts)


# --- who works on blocks ----------------------------------------------------------------------------------------------


class Serial:
    """One block after the other, in the calling thread."""

    workers = 1

    def run(self, task: Callable[[Any], tuple], blocks: Sequence[Any]) -> tuple:
        """Return the sums of what the task returns for each block, added in block order."""
        if len(blocks) == 1:
            return task(blocks[0])
        total = _Total()
        for number, block in enumerate(blocks):
            total.take(number, task(block))
        return total.sums


class Threads:
    """Several threads, each of which takes the next block when it is done with one.

    Parameters
    ----------
    workers : int
        How many; the thread that asks is one of them.
    """

    def __init__(self, workers: int):
        self.workers = workers

    def run(self, task: Callable[[Any], tuple], blocks: Sequence[Any]) -> tuple:
        """Return the sums of what the task returns for each block, added in block order."""
        workers = min(self.workers, len(blocks))
        if workers < 2 or not compiling():
            return Serial().run(task, blocks)
        total, lock, waiting = _Total(), Lock(), iter(range(len(blocks)))
        stopped: list[bool] = []

        def work() -> None:
            while not stopped:
                with lock:
                    number = next(waiting, None)
                if number is None:
                    return
                found = task(blocks[number])
                with lock:
                    total.take(number, found)

        others = [_pool(workers - 1).submit(copy_context().run, work) for _ in range(workers - 1)]
        try:
            work()
        finally:  # also after Ctrl-C: nobody may still write into the arrays
            stopped.append(True)
            wait(others)
        for other in others:
            other.result()  # raises what went wrong there
        return total.sums


class _Total:
    """Sums that grow in block order: what comes too early waits."""

    def __init__(self) -> None:
        self.sums: tuple = ()
        self._turn = 0
        self._early: dict[int, tuple] = {}

    def take(self, number: int, found: tuple) -> None:
        """Add the answer of a block, as soon as those of all blocks before it have been added."""
        self._early[number] = found
        while self._turn in self._early:
            self._add(self._early.pop(self._turn))
            self._turn += 1

    def _add(self, found: tuple) -> None:
        if not self.sums:
            self.sums = found
            return
        self.sums = tuple(_sum(mine, other) for mine, other in zip(self.sums, found, strict=True))


def _sum(mine: Any, other: Any) -> Any:
    """Return a sum; an array is added to in place."""
    mine += other
    return mine


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Return threads that wait for work, the same for all runs of the process."""
    return ThreadPoolExecutor(workers, thread_name_prefix="frankwolfe")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a forked process


def executor_for(n_threads: int | None = None) -> Serial | Threads:
    """Return an executor with so many threads; None stands for `default_threads`."""
    workers = default_threads() if n_threads is None else n_threads
    return Serial() if workers == 1 else Threads(workers)
