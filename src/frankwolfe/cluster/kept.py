"""Objects in the memory of workers: parts of the data, and results that each part stores under a handle.

The lineage of a result is the task that computes it and its arguments (`Call`), which may include handles to other
results. A part that lacks a result computes it from the lineage. So results of a lost worker are computed again
wherever its part of the data is loaded next.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from dask.distributed import get_worker
from scipy import sparse

from frankwolfe.arguments.types import Loss
from frankwolfe.losses import as_loss
from frankwolfe.rows import Samples, as_rows
from frankwolfe.rows.dense import Centred
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.shards.local import ChunkedRows, Kept, Local, Task, Threads
from frankwolfe.shards.sources import digest

_numbers = count()


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


class Call(NamedTuple):
    """A task with its arguments. Each part replaces handles in the arguments, also within tuples, by its own values.

    Attributes
    ----------
    task : function
        Function of a `Local`, or of a `Part`, and the arguments.
    args : tuple
        The further arguments.
    posed : Handle or None
        Handle to the `Local` of a part, the first argument of the task. By default that is the part itself.
    """

    task: Task
    args: tuple
    posed: "Handle | None" = None

    @property
    def name(self) -> str:
        """Name of the task, for keys and for the dashboard."""
        return self.task.__name__


class Handle(Kept):
    """The client's reference to a value that every part stores, e.g. a vector with one entry for each row.

    Parameters
    ----------
    recipe : Call or None
        How a part computes the value. None if the part already has it.
    sent : Sent, optional
        Record of sent recipes, which is notified when the handle is deleted.
    shape : tuple of int
        Shape of the value over all rows, if it is a vector or a table.
    key : str, optional
        Name of the value. By default a new one.
    """

    def __init__(
        self, recipe: Call | None, sent: Sent | None = None, shape: tuple[int, ...] = (), key: str | None = None
    ):
        self.recipe, self.shape, self._sent = recipe, shape, sent
        if recipe is not None:
            self.task, self.args = recipe.task, recipe.args
        self.key = f"{recipe and recipe.name}-{next(_numbers)}" if key is None else key

    def __del__(self) -> None:
        if self._sent is not None:
            self._sent.dropped.append(self.key)


class _Packer(cloudpickle.Pickler):
    """Pickler of calls.

    It stores sparse vectors by their non-zero entries, because weights are sent with every call. Of handles whose keys
    are ``known`` it leaves out the recipe; it adds the keys of the others.
    """

    def __init__(self, file: io.BytesIO, known: set[str]):
        super().__init__(file)
        self.known = known

    def reducer_override(self, value: Any) -> Any:
        """Reduce handles, and vectors with fewer than half non-zero entries."""
        if isinstance(value, Handle):
            recipe = None if value.key in self.known else value.recipe
            self.known.add(value.key)
            return Handle, (recipe, None, (), value.key)
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


def pack(value: Any, known: set[str]) -> bytes:
    """Pickle a value, for `cloudpickle.loads`, without the recipes of the handles with ``known`` keys."""
    _Packer(file := io.BytesIO(), known).dump(value)
    return file.getvalue()


worker_threads: ContextVar[int | None] = ContextVar("worker_threads", default=None)
"""Number of threads of the worker, set during direct calls, where Dask's `get_worker` does not work."""


def threads_here() -> int | None:
    """Return the number of threads of this worker, or None outside of a worker."""
    if worker_threads.get() is not None:
        return worker_threads.get()
    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return None


class Chunk(NamedTuple):
    """A validated chunk of rows: matrix, targets, weights before normalisation, and a fingerprint of all three."""

    matrix: Any
    targets: np.ndarray
    weights: np.ndarray
    fingerprint: str

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return sum(array.nbytes for array in (*arrays_of(self.matrix), self.targets, self.weights))


def arrays_of(matrix: Any) -> list[np.ndarray]:
    """Return the arrays of a matrix. The first one has the stored entries."""
    return [matrix.data, matrix.indices, matrix.indptr] if sparse.issparse(matrix) else [matrix]


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
    lock : Lock
        Held by the call that uses the part. A call that was given up may still run when it is repeated.
    """

    def __init__(self, number: int, numbers: list[int], chunks: list[Chunk]):
        self.number, self.numbers, self.chunks = number, numbers, chunks
        self._kept: dict[str, Any] = {}
        self.lock = Lock()

    def __reduce__(self) -> tuple:
        return Part, (self.number, self.numbers, self.chunks)

    def __sizeof__(self) -> int:
        """Return the approximate size in memory, which Dask uses to measure workers."""
        return sum(chunk.bytes for chunk in self.chunks)

    @cached_property
    def digest(self) -> str:
        """Hash of the fingerprints of all chunks."""
        return digest(tuple(chunk.fingerprint for chunk in self.chunks))

    def done(self, call: Call, kept: Sequence[Handle] = ()) -> Any:
        """Run a call. Store the first results under the handles ``kept``, and return the others."""
        local = self if call.posed is None else self.get(call.posed)
        found = call.task(local, *self._with_values(call.args))
        if not kept:
            return found
        self._kept |= {handle.key: value for handle, value in zip(kept, found, strict=False)}
        return found[len(kept) :]

    def get(self, handle: Handle) -> Any:
        """Return the value of a handle, computed by its recipe if not stored. Raise `Missing` if there is no recipe."""
        if handle.key not in self._kept:
            if handle.recipe is None:
                raise Missing(handle.key)
            self._kept[handle.key] = self.done(handle.recipe)
        return self._kept[handle.key]

    def _with_values(self, value: Any) -> Any:
        """Replace all handles in an argument by the values that are stored for them."""
        if isinstance(value, Handle):
            return self.get(value)
        return tuple(self._with_values(one) for one in value) if type(value) is tuple else value

    def forget(self, keys: list[str]) -> None:
        """Delete the values stored under some keys."""
        for key in keys:
            self._kept.pop(key, None)


def local_rows(part: Part, loss: Loss, outputs: int, size: int, total: float, means: np.ndarray | None) -> Local:
    """Return the `Local` of a part, on which tasks run: its rows, with the sample weights divided by their ``total``.

    Parameters
    ----------
    part : Part
        The rows.
    loss : loss
        Loss without an intercept, which tasks receive as an argument.
    outputs, size : int
        Number of outputs of a prediction, 0 if predictions are scalars, and number of coefficients.
    total : float
        Sum of the sample weights over all parts.
    means : array or None
        Column means, which are subtracted from dense rows.
    """
    chunks = part.chunks
    rows = [as_rows(chunk.matrix) if means is None else Centred(chunk.matrix, means) for chunk in chunks]
    rows = [MultiOutput(some, outputs) for some in rows] if outputs else rows
    targets = np.concatenate([chunk.targets for chunk in chunks])
    weights = np.concatenate([chunk.weights for chunk in chunks]) / total
    whole = ChunkedRows(rows, [len(chunk.weights) for chunk in chunks])
    samples = Samples(whole, targets, weights, as_loss(loss))  # adds defaults to a user-defined loss
    return Local(samples, size, Threads(threads_here()), part.number)
