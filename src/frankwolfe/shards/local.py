"""Rows on this machine, cut into blocks on which threads work.

Blocks are cut by size (`frankwolfe.rows.blocks`), and sums are taken in block order: their bits do not depend on the
number of threads. The function for a block fills its part of an array, or returns a tuple of numbers and arrays to be
added up. Kernels and NumPy release the interpreter's lock, so threads work at the same time.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, cached_property
from threading import Lock
from typing import Any, NamedTuple

from frankwolfe.compile.kernels import compiling, worth_compiling
from frankwolfe.linalg.threads import default_threads
from frankwolfe.losses.loss_arrays import LossArrays
from frankwolfe.rows import blocks
from frankwolfe.rows.blocks import block_entries, even_parts
from frankwolfe.rows.samples import Samples
from frankwolfe.shards.disk import GroupPlan, Place, StoredRows
from frankwolfe.shards.interface import Task


class Block(NamedTuple):
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
    def blocks(self) -> list[Block]:
        """The rows in memory, cut by size."""
        rows = self.samples.rows
        parts = rows.cut(block_entries(rows.stored(), self.size))
        return [Block(part, self.samples.block(part)) for part in parts]

    @cached_property
    def places(self) -> list[Place]:
        """The rows of a store, cut by size."""
        rows = self.samples.rows
        return rows.places(block_entries(rows.stored(), self.size))

    def each(self, function: Callable[[Block], tuple]) -> tuple:
        """Call a function for each block of rows; return the sums of what it returns, in block order.

        Nothing that looks at the rows of a block may be kept: rows of a store are read into buffers that are reused.
        """
        rows, targets, weights, loss = self.samples
        if not isinstance(rows, StoredRows):
            return self.executor.run(function, self.blocks)
        with rows.reading(self.places) as read:

            def on_disk(place: Place) -> tuple:
                with read.rows(place) as some:
                    samples = Samples(some, targets[place.part], weights[place.part], loss)
                    return function(Block(place.part, samples))

            return self.executor.run(on_disk, self.places)

    @cached_property
    def parts(self) -> list[slice]:
        """The samples, cut by their number: for work that reads predictions and no rows."""
        return even_parts(len(self.samples.weights), max((1, *self.samples.shape[1:])), blocks.LEAST)

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
