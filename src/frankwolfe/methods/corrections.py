"""Corrections of the gradient estimate that hold for one step only."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import ROWS
from frankwolfe.compile.twofold import magnitude
from frankwolfe.compile.verbs import add_row, routine
from frankwolfe.methods.gradient import TABLE_CHANGE, amend


class Correction(NamedTuple):
    """What was added to ``r`` for the step at hand, and is to be taken back after it.

    Step rules then see the same ``r`` as the oracle did. All of it costs no more than the batch's rows.

    Attributes
    ----------
    rows : array of int
        The rows that were added, in its first ``number[0]`` places.
    amounts : array
        How much of each.
    number : array of shape (1,)
        How many there are.
    """

    rows: np.ndarray
    amounts: np.ndarray
    number: np.ndarray

    @classmethod
    def of(cls, samples: Any, room: int) -> "Correction":
        """Return an empty correction with room for so many rows."""
        return cls(np.zeros(room, dtype=np.int64), np.zeros((room, *samples.shape[1:])), np.zeros(1, dtype=np.int64))

    def index_ranges(self) -> dict[str, Any]:
        """Return what the index arrays of a restored correction must be like."""
        return {"rows": (0, ROWS), "number": (0, len(self.rows) + 1)}

    def clear(self) -> None:
        """Forget it: ``r`` has been made anew."""
        self.number[0] = 0


@routine
def amend_once(gradient, correction, rows, i, lasting, passing):
    """Add ``lasting + passing`` times row ``i`` to the estimate; the second part only until `take_back`."""
    amend(gradient, rows, i, lasting + passing)
    at = correction.number[0]
    correction.rows[at] = i
    correction.amounts[at] = passing
    correction.number[0] = at + 1


@routine
def amend_later(gradient, correction, i, change):
    """Add ``change`` times row ``i`` to the estimate when `take_back` is called: the step at hand does not see it."""
    at = correction.number[0]
    correction.rows[at] = i
    correction.amounts[at] = -change
    correction.number[0] = at + 1
    gradient.counters[TABLE_CHANGE] += magnitude(change)


@routine
def take_back(gradient, correction, rows):
    """Take all that was added for the last step back out of the estimate."""
    members, amounts, tracker, r = correction.rows, correction.amounts, gradient.tracker, gradient.r
    for k in range(correction.number[0]):
        add_row(tracker, rows, members[k], -amounts[k], r)
    correction.number[0] = 0
