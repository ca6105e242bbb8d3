"""Memory that a thread keeps for what it works on at the moment.

To get memory anew for every block of rows takes longer than the work on it, where memory that is let go of is given
back to the system at once. It is so on workers of Dask, which start with `MALLOC_TRIM_THRESHOLD_` set.
"""

from threading import local

import numpy as np

ROOM = 2**18
"""Numbers that are kept room for, at the most: 2 MB for each purpose and thread."""


class _Kept(local):
    """What each thread keeps, by purpose."""

    def __init__(self) -> None:
        self.numbers: dict[str, np.ndarray] = {}


_kept = _Kept()


def scratch(purpose: str, n: int, width: int) -> np.ndarray:
    """Return an array of floats, not filled in. The thread that asks for the same purpose again gets the same memory.

    Larger ones than `ROOM` are new.

    Examples
    --------
    >>> first = scratch("example", 2, 3)
    >>> first.shape, np.shares_memory(first, scratch("example", 4, 1))
    ((2, 3), True)
    """
    if n * width > ROOM:
        return np.empty((n, width))
    numbers = _kept.numbers.get(purpose)
    if numbers is None or len(numbers) < n * width:
        # what grows once will grow again
        numbers = _kept.numbers[purpose] = np.empty(n * width if numbers is None else ROOM)
    return numbers[: n * width].reshape(n, width)
