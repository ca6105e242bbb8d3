"""Handles: names for what parts of the data keep on the workers, with the recipes to make it again.

A recipe is a small named tuple with a method ``make(part)``. It holds what a vector depends on, weights for instance,
and handles to whatever else it is made of. A part that is asked for something it does not have makes it by the recipe:
what a worker has lost with its memory is made again wherever the part of the data now is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, Protocol

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


class Handle:
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
        self.key = f"{type(recipe).__name__}-{next(_numbers)}"
        self.recipe, self.shape, self._sent = recipe, shape, sent

    def __reduce__(self) -> tuple:
        sent = _packing.get()
        known = sent is not None and self.key in sent.keys
        if sent is not None:
            sent.keys.add(self.key)
        return _unpacked, (self.key, None if known else self.recipe)

    def __del__(self) -> None:
        if self._sent is not None:
            self._sent.dropped.append(self.key)

    # as a vector it is asked for these; the order of its entries is the parts' business

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def reshape(self, *shape: Any) -> "Handle":
        """Return itself: parts know the shape."""
        return self

    def ravel(self) -> "Handle":
        """Return itself: parts know the shape."""
        return self

    def copy(self) -> "Handle":
        """Return itself: it never changes."""
        return self


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
