"""The running gradient estimate, which the oracle is asked with, and how estimates change it."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.twofold import magnitude
from frankwolfe.compile.verbs import add_row, fetch_row, rebuild, routine

TABLE_CHANGE, ROWS_READ, FAILED, ALL_ROWS = 0, 1, 2, 3
"""Places in a gradient's counters: the sum of the sizes of all changes so far, which turns non-finite with the first
change that is; the rows that the step at hand reads; a flag, not zero once an oracle outside of compiled code, or an
exact pass, has failed; the number of all rows, of which a step may see some only. The loop stops on the first and on
the third, before it moves."""

AHEAD = 4
"""A row is asked for so many rows before it is read. One before is too late where rows come from memory in no order."""

SMALLEST_SCALE = 1e-100
"""Below this the factor of an estimate is folded into ``r``: long before it could underflow."""


class Gradient(NamedTuple):
    """The estimate's running state: the gradient is ``scale[0] * r``.

    Attributes
    ----------
    r : array of shape (d,)
        The estimate up to a positive factor, which no oracle minds.
    scale : array of shape (1,)
        That factor.
    counters : array of shape (8,)
        `TABLE_CHANGE`, `ROWS_READ`, `FAILED` and `ALL_ROWS`, and what is known of the residuals of the table
        (`frankwolfe.methods.residual_samples`). (One array: each more would cost a step its time.)
    tracker : LazyArgmax or Workspace
        What the set keeps about ``r``.
    """

    r: np.ndarray
    scale: np.ndarray
    counters: np.ndarray
    tracker: Any

    def dense(self) -> np.ndarray:
        """Return the gradient estimate as a new array."""
        return self.r * self.scale[0]


@routine
def amend(gradient, rows, i, change):
    """Add ``change`` times row ``i`` to the estimate."""
    add_row(gradient.tracker, rows, i, change, gradient.r)
    gradient.counters[TABLE_CHANGE] += magnitude(change)


@routine
def fade(gradient, factor):
    """Multiply the whole estimate by a factor, at no cost: return ``scale``, where such factors are kept apart."""
    scale = gradient.scale[0] * factor
    if scale < SMALLEST_SCALE:
        r = gradient.r
        for j in range(len(r)):
            r[j] *= scale
        rebuild(gradient.tracker, r)
        scale = 1.0
    gradient.scale[0] = scale
    return scale


@routine
def count_rows(gradient, number):
    """Charge the step for rows that it reads beside its batch; a negative number for those that it leaves unread."""
    gradient.counters[ROWS_READ] += number


@routine
def pick(rows, batch, k):
    """Return row number ``k`` of the batch, and ask for one that comes later; the loop asks for the first of a batch.

    (A range of one or none, where a condition would do: compiled, a condition around the loops that ask makes each row
    count references to its arrays.)
    """
    for at in range(k + AHEAD, min(k + AHEAD + 1, len(batch))):
        fetch_row(rows, batch[at])
    return batch[k]
