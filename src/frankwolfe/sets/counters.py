"""Counts that several runs add up, each in an array of its own: compiled code of two threads must not share one."""

from collections.abc import Sequence
from threading import RLock
from typing import Any
from weakref import finalize

import numpy as np

from frankwolfe.compile.opaque import Opaque


class Ledger:
    """The arrays that are counted in now, and the sums of those that are gone.

    Parameters
    ----------
    past : sequence of int
        What has been counted before.
    """

    def __init__(self, past: Sequence[int]):
        self._lock = RLock()  # may be taken again by a `_close` that the garbage collector calls
        self._past = np.array(past, dtype=np.int64)
        self._open: dict[int, np.ndarray] = {}

    def open(self, counts: "Counts", numbers: np.ndarray) -> None:
        """Count the numbers in, as long as ``counts``, which looks at them, lives; then keep their sums."""
        self._open[id(numbers)] = numbers
        finalize(counts, self._close, numbers)

    def _close(self, numbers: np.ndarray) -> None:
        with self._lock:
            self._past += numbers
            del self._open[id(numbers)]

    def totals(self) -> np.ndarray:
        """Return all counts so far."""
        with self._lock:
            return sum(list(self._open.values()), self._past.copy())

    def reset(self) -> None:
        """Count from zero again."""
        with self._lock:
            for numbers in [self._past, *self._open.values()]:
                numbers[:] = 0


class Counts(Opaque):
    """Numbers that one run counts in; the object it holds is the `Ledger` of all of them.

    Examples
    --------
    >>> counts = Counts.starting([0, 0])
    >>> counts[0] += 1
    >>> for_a_run = counts.another()
    >>> for_a_run[0] += 2
    >>> counts.totals.tolist()
    [3, 0]
    """

    @classmethod
    def starting(cls, past: Sequence[int]) -> "Counts":
        """Return numbers of a ledger of their own, in which so much has been counted already."""
        return cls._of(Ledger(past), len(past))

    @classmethod
    def _of(cls, ledger: Ledger, size: int) -> "Counts":
        numbers = np.zeros(size, dtype=np.int64)
        counts = numbers.view(cls)
        counts.value = ledger
        ledger.open(counts, numbers)
        return counts

    def another(self) -> "Counts":
        """Return numbers for another run, in the same ledger."""
        return self._of(self.value, len(self))

    @property
    def totals(self) -> np.ndarray:
        """What all runs together have counted."""
        return self.value.totals()

    def comparable(self) -> Any:
        """Return None: what has been counted makes no set differ from another."""
        return None

    def __repr__(self) -> str:
        return repr(self.totals.tolist())

    def __reduce__(self):
        return Counts.starting, (self.totals.tolist(),)

    def __copy__(self):
        return Counts.starting(self.totals.tolist())

    def __deepcopy__(self, memo):
        return Counts.starting(self.totals.tolist())
