"""Objects in the memory of workers: parts of the data, and results that each part stores under a handle.

The lineage of a result is the task that computes it and its arguments (`Call`), which may include handles to other
results. A part that lacks a result computes it from the lineage. So results of a lost worker are computed again
wherever its part of the data is loaded next.
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
from frankwolfe.shards.local import ChunkedRows, Local, Threads

_numbers = count()


class Recipe(Protocol):
    """A function of a part of the data, which computes the value of a handle."""

    def make(self, part: Any) -> Any:
        """Compute the value for the rows of a part."""


class Missing(Exception):
    """A part does not have the value of a handle, and the handle was sent without its recipe."""


class Sent:
    """The recipes that were sent to the parts, and the values that parts may delete.

    Attributes
    ----------
    keys : set of str
        Keys of the handles whose recipes were sent to all parts.
    dropped : list of str
        Keys of deleted handles, whose values the parts still store.
    """

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.dropped: list[str] = []

    @contextmanager
    def taken(self) -> Iterator[list[str]]:
        """Provide the keys of deleted handles for a call. If the call fails, the next call gets them too."""
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
    """A task with its arguments. Each part replaces handles in the arguments, also within tuples, by its own values.

    Attributes
    ----------
    posed : Handle
        Handle to the `Local` of a part, the first argument of every task.
    task : function
        Function of a `Local` and the arguments.
    args : tuple
        The further arguments.
    """

    posed: "Handle"
    task: Task
    args: tuple

    def make(self, part: Any) -> Any:
        """Run the task on the rows of a part."""
        return self.task(part.get(self.posed), *_with_values(part, self.args))


def _with_values(part: Any, value: Any) -> Any:
    """Replace all handles in an argument by the values that a part stores for them."""
    if isinstance(value, Handle):
        return part.get(value)
    return tuple(_with_values(part, one) for one in value) if type(value) is tuple else value


class Handle(Kept):
    """The client's reference to a value that every part stores, e.g. a vector with one entry for each row.

    Parameters
    ----------
    recipe : Recipe
        Function by which a part computes the value. None if the part already has it.
    sent : Sent, optional
        Record of sent recipes, which is notified when the handle is deleted.
    shape : tuple of int
        Shape of the value over all rows, if it is a vector or a table.
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
        return _worker_handle, (self.key, None if known else self.recipe)

    def __del__(self) -> None:
        if self._sent is not None:
            self._sent.dropped.append(self.key)


def _worker_handle(key: str, recipe: Recipe | None) -> Handle:
    """Return the worker's copy of a handle, under the same key."""
    handle = Handle(recipe)
    handle.key = key
    return handle


@contextmanager
def packing(sent: Sent) -> Iterator[None]:
    """Within the context, pickle handles without recipes that were sent before, and record new recipes as sent."""
    token = _packing.set(sent)
    try:
        yield
    finally:
        _packing.reset(token)


class _Packer(cloudpickle.Pickler):
    """Pickler that stores sparse vectors by their non-zero entries, because weights are sent with every call."""

    def reducer_override(self, value: Any) -> Any:
        """Reduce a vector with fewer than half non-zero entries to these entries."""
        if type(value) is np.ndarray and value.ndim == 1 and value.dtype == np.float64:
            support = np.flatnonzero(value)
            if 2 * len(support) < len(value):
                return from_entries, (len(value), support, value[support])
        return super().reducer_override(value)


def from_entries(size: int, support: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a dense vector, given its non-zero entries."""
    found = np.zeros(size)
    found[support] = values
    return found


def pack(value: Any) -> bytes:
    """Pickle a value, for `cloudpickle.loads`."""
    _Packer(file := io.BytesIO()).dump(value)
    return file.getvalue()


worker_threads: ContextVar[int] = ContextVar("worker_threads")
"""Number of threads of the worker, set during direct calls, where Dask's `get_worker` does not work."""


class Chunk(NamedTuple):
    """A validated chunk of rows: matrix, targets, weights before normalisation, and a fingerprint of all three."""

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
    """The rows of one worker, with stored values. These can be computed again, and are not copied with the part.

    Parameters
    ----------
    number : int
        Index of the part.
    numbers : list of int
        Indices of its chunks in the data set.
    chunks : list of Chunk
        The chunks that have rows, in order.

    Attributes
    ----------
    lock : RLock
        Held by the call that uses the part. A call that was given up may still run when it is repeated.
    """

    def __init__(self, number: int, numbers: list[int], chunks: list[Chunk]):
        self.number, self.numbers, self.chunks = number, numbers, chunks
        self._kept: dict[str, Any] = {}
        self.lock = RLock()

    def __reduce__(self) -> tuple:
        return Part, (self.number, self.numbers, self.chunks)

    def __sizeof__(self) -> int:
        """Return the approximate size in memory, which Dask uses to measure workers."""
        return sum(chunk.bytes for chunk in self.chunks)

    @cached_property
    def digest(self) -> str:
        """Hash of the fingerprints of all chunks."""
        return blake2b("".join(chunk.fingerprint for chunk in self.chunks).encode(), digest_size=16).hexdigest()

    def get(self, handle: Handle) -> Any:
        """Return the value of a handle, computed by its recipe if not stored. Raise `Missing` if there is no recipe."""
        with self.lock:
            if handle.key not in self._kept:
                if handle.recipe is None:
                    raise Missing(handle.key)
                self._kept[handle.key] = handle.recipe.make(self)
            return self._kept[handle.key]

    def keep(self, handle: Handle, value: Any) -> None:
        """Store the value of a handle that a task has computed."""
        with self.lock:
            self._kept[handle.key] = value

    @staticmethod
    def threads() -> int | None:
        """Return the number of threads of the worker."""
        return threads_here()

    def forget(self, keys: list[str]) -> None:
        """Delete the values stored under some keys."""
        with self.lock:
            for key in keys:
                self._kept.pop(key, None)


class Posed(NamedTuple):
    """Recipe of the `Local` of a part, on which tasks run.

    Attributes
    ----------
    loss : loss
        Loss without an intercept, which tasks receive as an argument.
    outputs : int
        Number of outputs of a prediction; 0 if predictions are scalars.
    size : int
        Number of coefficients.
    total : float
        Sum of the sample weights over all parts.
    means : array or None
        Column means, which are subtracted from dense rows.
    """

    loss: Any
    outputs: int
    size: int
    total: float
    means: np.ndarray | None

    def make(self, part: Part) -> Local:
        """Return the rows of a part. Their sample weights are divided by the total of all parts."""
        chunks = part.chunks
        rows = ChunkedRows([self._rows(chunk) for chunk in chunks], [len(chunk.weights) for chunk in chunks])
        targets = np.concatenate([chunk.targets for chunk in chunks])
        weights = np.concatenate([chunk.weights for chunk in chunks]) / self.total
        samples = Samples(rows, targets, weights, as_loss(self.loss))  # adds defaults to a user-defined loss
        return Local(samples, self.size, Threads(threads_here()), part.number)

    def _rows(self, chunk: Chunk) -> Any:
        rows: Any = as_rows(chunk.matrix)
        if self.means is not None:
            rows = Centred(rows.values, self.means)
        return MultiOutput(rows, self.outputs) if self.outputs else rows


def threads_here() -> int | None:
    """Return the number of threads of this worker, or None outside of a worker."""
    from dask.distributed import get_worker

    if worker_threads in copy_context():
        return worker_threads.get()
    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return None
