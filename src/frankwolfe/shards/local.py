"""Executors: who works on the blocks of the data. Answers are added in block order, so their bits do not depend on it.

A task takes a block and returns a tuple of numbers and arrays to be added up, or an empty one where it fills arrays of
its own. Kernels and NumPy let other threads work meanwhile.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from threading import Lock
from typing import Any

from frankwolfe.compile.kernels import compiling
from frankwolfe.linalg.threads import default_threads

Task = Callable[[Any], tuple]


class Serial:
    """One block after the other, in the thread that asks."""

    workers = 1

    def run(self, task: Task, blocks: Sequence[Any]) -> tuple:
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

    def run(self, task: Task, blocks: Sequence[Any]) -> tuple:
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
