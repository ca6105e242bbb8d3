"""A part of the data on a worker: some rows with their targets and weights, and what is kept of the point there."""

from contextvars import ContextVar, copy_context
from functools import cached_property
from hashlib import blake2b
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.cluster.handles import Handle, Missing
from frankwolfe.rows.centred import Centred
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.rows.samples import Samples, as_rows
from frankwolfe.shards.chunked_rows import ChunkedRows
from frankwolfe.shards.local import Local, executor_for

worker_threads: ContextVar[int] = ContextVar("worker_threads")
"""How many threads the worker has, where it does something that is no task."""


class Chunk(NamedTuple):
    """Some rows that have been checked: a matrix, targets, weights as they were given, and a fingerprint."""

    matrix: Any
    targets: np.ndarray
    weights: np.ndarray
    fingerprint: str

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return matrix_bytes(self.matrix) + self.targets.nbytes + self.weights.nbytes


def matrix_bytes(matrix: Any) -> int:
    """Return the size of a matrix in memory."""
    if not sparse.issparse(matrix):
        return int(matrix.nbytes)
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


class Part:
    """Rows on one worker. What is kept of them can always be made again, and is left behind when a part is copied.

    Parameters
    ----------
    number : int
        Which part it is.
    numbers : list of int
        Which chunks of the data it has.
    chunks : list of Chunk
        Those of them that have rows, in order.

    Attributes
    ----------
    lock : RLock
        Held by the call that works on it: one that was given up may still be at work when it is made again.
    """

    def __init__(self, number: int, numbers: list[int], chunks: list[Chunk]):
        self.number, self.numbers, self.chunks = number, numbers, chunks
        self._kept: dict[str, Any] = {}
        self.lock = RLock()

    def __reduce__(self) -> tuple:
        return Part, (self.number, self.numbers, self.chunks)

    def __sizeof__(self) -> int:
        """Return about the size in memory, as Dask counts it."""
        return sum(chunk.bytes for chunk in self.chunks)

    @cached_property
    def digest(self) -> str:
        """What tells its rows from others."""
        return blake2b("".join(chunk.fingerprint for chunk in self.chunks).encode(), digest_size=16).hexdigest()

    def get(self, handle: Handle) -> Any:
        """Return what a handle names: what is kept, or else made by its recipe."""
        with self.lock:
            if handle.key not in self._kept:
                if handle.recipe is None:
                    raise Missing(handle.key)
                self._kept[handle.key] = handle.recipe.make(self)
            return self._kept[handle.key]

    def keep(self, handle: Handle, value: Any) -> None:
        """Keep what a handle names, where it has been made in another way."""
        with self.lock:
            self._kept[handle.key] = value

    @staticmethod
    def threads() -> int | None:
        """Return how many threads the worker has for its tasks."""
        return threads_here()

    def forget(self, keys: list[str]) -> None:
        """Let go of what is no longer needed."""
        with self.lock:
            for key in keys:
                self._kept.pop(key, None)


class Posed(NamedTuple):
    """Recipe of a part's rows as tasks see them.

    Attributes
    ----------
    loss : loss
        Without an intercept: parts are told which one to add.
    outputs : int
        Number of entries of a prediction; 0 where it is a number.
    size : int
        Number of weights.
    total : float
        Sum of the weights of all rows of all parts.
    means : array or None
        What is taken off the columns of dense rows.
    """

    loss: Any
    outputs: int
    size: int
    total: float
    means: np.ndarray | None

    def make(self, part: Part) -> Local:
        """Return the rows of a part, with their share of all weights."""
        chunks = part.chunks
        rows = ChunkedRows([self._rows(chunk) for chunk in chunks], [len(chunk.weights) for chunk in chunks])
        targets = np.concatenate([chunk.targets for chunk in chunks])
        weights = np.concatenate([chunk.weights for chunk in chunks]) / self.total
        samples = Samples(rows, targets, weights, self.loss)
        return Local(samples, self.size, executor_for(threads_here()), part.number)

    def _rows(self, chunk: Chunk) -> Any:
        rows: Any = as_rows(chunk.matrix)
        if self.means is not None:
            rows = Centred(rows.values, self.means)
        return MultiOutput(rows, self.outputs) if self.outputs else rows


def threads_here() -> int | None:
    """Return how many threads a worker has for its tasks; None where this is no worker."""
    from dask.distributed import get_worker

    if worker_threads in copy_context():
        return worker_threads.get()
    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return None
