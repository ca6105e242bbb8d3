"""What workers keep: parts of the data, named results with their lineage, and how calls are answered.

The lineage of a result is the task that computes it and its arguments (`Call`), handles to other results among them.
A part that lacks a result computes it from the lineage. So what a worker has lost is computed again wherever its part
of the data is loaded next.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cached_property
from hashlib import blake2b
from itertools import count
from threading import RLock
from typing import Any, NamedTuple, Protocol

import cloudpickle
import numpy as np
from scipy import sparse

from frankwolfe.losses import as_loss
from frankwolfe.rows import as_rows
from frankwolfe.rows.centred import Centred
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.rows.samples import Samples
from frankwolfe.shards.interface import Kept, Task
from frankwolfe.shards.local import ChunkedRows, Local, executor_for

_numbers = count()


class Recipe(Protocol):
    """How something is made from a part of the data."""

    def make(self, part: Any) -> Any:
        """Return it, for the rows of a part."""


class Missing(Exception):
    """A part does not have what a handle names, and was not told how to make it."""


class Sent:
    """Which recipes parts have been sent, and what they may forget.

    Attributes
    ----------
    keys : set of str
        Handles whose recipes all parts have been sent.
    dropped : list of str
        Handles that nobody holds any more.
    """

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.dropped: list[str] = []

    @contextmanager
    def taken(self) -> Iterator[list[str]]:
        """Give what may be forgotten to a call; what goes wrong with it leaves that to the next one."""
        forget = self.dropped.copy()
        del self.dropped[: len(forget)]
        try:
            yield forget
        except BaseException:
            self.dropped += forget
            raise
        self.keys.difference_update(forget)


_packing: ContextVar[Sent | None] = ContextVar("_packing", default=None)


class Call(NamedTuple):
    """A task with its arguments. Handles among them, or in tuples among them, stand for what parts keep.

    Attributes
    ----------
    posed : Handle
        The rows of a part as tasks see them, a `Local`.
    task : function
        Of a `Local` and the arguments.
    args : tuple
        The arguments.
    """

    posed: "Handle"
    task: Task
    args: tuple

    def make(self, part: Any) -> Any:
        """Return what the task returns for the rows of a part."""
        return self.task(part.get(self.posed), *_own(part, self.args))


def _own(part: Any, value: Any) -> Any:
    """Return arguments as they are for one part."""
    if isinstance(value, Handle):
        return part.get(value)
    return tuple(_own(part, one) for one in value) if type(value) is tuple else value


class Handle(Kept):
    """Name of something that every part of the data keeps: as a vector, one entry for each row there.

    Parameters
    ----------
    recipe : Recipe
        How a part makes it.
    sent : Sent, optional
        Where to say that it is no longer needed.
    shape : tuple of int
        Its shape over all rows, where it is a vector or a table.
    """

    def __init__(self, recipe: Recipe | None, sent: Sent | None = None, shape: tuple[int, ...] = ()):
        name = recipe.task.__name__ if isinstance(recipe, Call) else type(recipe).__name__
        self.key = f"{name}-{next(_numbers)}"
        self.recipe, self.shape, self._sent = recipe, shape, sent
        if isinstance(recipe, Call):
            self.task, self.args = recipe.task, recipe.args

    def __reduce__(self) -> tuple:
        sent = _packing.get()
        known = sent is not None and self.key in sent.keys
        if sent is not None:
            sent.keys.add(self.key)
        return _unpacked, (self.key, None if known else self.recipe)

    def __del__(self) -> None:
        if self._sent is not None:
            self._sent.dropped.append(self.key)


def _unpacked(key: str, recipe: Recipe | None) -> Handle:
    """Return a handle as parts see it."""
    handle = Handle(recipe)
    handle.key = key
    return handle


@contextmanager
def packing(sent: Sent) -> Iterator[None]:
    """Pickle handles without the recipes that have been sent already; others count as sent afterwards."""
    token = _packing.set(sent)
    try:
        yield
    finally:
        _packing.reset(token)


class _Packer(cloudpickle.Pickler):
    """Pickles vectors that are mostly zero by their entries: weights travel with every call."""

    def reducer_override(self, value: Any) -> Any:
        """Return how to pickle a value."""
        if type(value) is np.ndarray and value.ndim == 1 and value.dtype == np.float64:
            support = np.flatnonzero(value)
            if 2 * len(support) < len(value):
                return from_entries, (len(value), support, value[support])
        return super().reducer_override(value)


def from_entries(size: int, support: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a vector from the entries that are not zero."""
    found = np.zeros(size)
    found[support] = values
    return found


def pack(value: Any) -> bytes:
    """Return a value as bytes, for `cloudpickle.loads`."""
    _Packer(file := io.BytesIO()).dump(value)
    return file.getvalue()


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
        samples = Samples(rows, targets, weights, as_loss(self.loss))  # a user's class gets its defaults here, too
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
