"""Handles: names for what parts of the data keep on the workers, with their lineage.

The lineage of a result is the task that computes it and its arguments (`Call`), handles to other results among them.
A part that lacks a result computes it from the lineage. So what a worker has lost is computed again wherever its part
of the data is loaded next.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, NamedTuple, Protocol

import cloudpickle
import numpy as np

from frankwolfe.shards.interface import Kept, Task

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
