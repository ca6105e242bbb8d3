"""The running gradient estimate ``r``, how estimates change it, and the residuals of its table of derivatives."""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.part import ROWS
from frankwolfe.compile.verbs import add_row, derivative, fetch_row, magnitude, prediction, rebuild, residual, routine

TABLE_CHANGE, ROWS_READ, FAILED, ALL_ROWS = 0, 1, 2, 3
"""Places in a gradient's counters: the sum of the sizes of all changes so far, which turns non-finite with the first
change that is; the rows that the current step reads; a flag, not zero once an oracle outside of compiled code, or an
exact pass, has failed; the number of all rows, of which a step may see some only. The loop stops on the first and on
the third, before it moves."""

AHEAD = 4
"""A row is prefetched so many rows before it is read. One row ahead is too late where rows are read in random order."""


class Gradient(NamedTuple):
    """The estimate's running state: the gradient is ``scale[0] * r``.

    Attributes
    ----------
    r : array of shape (d,)
        The estimate up to a positive factor, which changes no oracle's answer.
    scale : array of shape (1,)
        That factor.
    counters : array of shape (8,)
        `TABLE_CHANGE`, `ROWS_READ`, `FAILED` and `ALL_ROWS`, and the sums from which `mean_residual` estimates
        the residuals of the table. They share one array: each more would cost a step its time.
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
    # Fold the factor into r long before it could underflow.
    if scale < 1e-100:
        r = gradient.r
        for j in range(len(r)):
            r[j] *= scale
        rebuild(gradient.tracker, r)
        scale = 1.0
    gradient.scale[0] = scale
    return scale


@routine
def add_linear(gradient, linear, part):
    """Add ``part`` of the linear term's coefficients to ``r``; do nothing if the objective has no linear term."""
    r = gradient.r
    for j in range(len(linear)):
        r[j] += part * linear[j]
    if len(linear) > 0:
        rebuild(gradient.tracker, r)


@routine
def count_rows(gradient, number):
    """Charge the step for rows that it reads beside its batch; a negative number for those that it leaves unread."""
    gradient.counters[ROWS_READ] += number


@routine
def pick(rows, batch, k):
    """Return row number ``k`` of the batch, and prefetch a later one; the loop prefetches the first of a batch.

    (The range has one entry or none. A condition would do, but compiled code would then count references to the row's
    arrays.)
    """
    for at in range(k + AHEAD, min(k + AHEAD + 1, len(batch))):
        fetch_row(rows, batch[at])
    return batch[k]


# --- corrections for one step, and gradients of batches ---------------------------------------------------------------


class Correction(NamedTuple):
    """What was added to ``r`` for the current step only, and is subtracted after it.

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
        """Forget it: ``r`` has been recomputed."""
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
    """Add ``change`` times row ``i`` to the estimate when `take_back` is called: the current step does not see it."""
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


class ExactTable:
    """Methods of states whose table ``alpha`` stands for the derivatives at the iterate."""

    alpha: np.ndarray

    def renew(self, alpha):
        """Replace the table by the derivatives of all samples at the iterate."""
        self.alpha[:] = alpha


@routine
def correct_by_batch(samples, iterate, gradient, alpha, surplus, batch):
    """For this step, add the mean gradient of a batch at the iterate less that of its derivatives ``alpha``."""
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    share = len(targets) / len(batch)
    for k in range(len(batch)):
        i = pick(rows, batch, k)
        fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
        amend_once(gradient, surplus, rows, i, 0.0, share * (fresh - alpha[i]))


@routine
def add_gradient(samples, iterate, gradient, batch, part):
    """Add ``part`` times the mean gradient of a batch at the iterate to ``r``."""
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    share = part * gradient.counters[ALL_ROWS] / len(batch)
    for k in range(len(batch)):
        i = pick(rows, batch, k)
        amend(gradient, rows, i, share * (weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])))


@routine
def add_change(samples, iterate, gradient, batch, kept, part, before):
    """Add ``part`` times a batch's mean gradient less ``before`` times that of its derivatives ``kept``.

    `look_ahead` has written these before the iterate moved.
    """
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    share = part * gradient.counters[ALL_ROWS] / len(batch)
    for k in range(len(batch)):
        i = pick(rows, batch, k)
        fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
        amend(gradient, rows, i, share * (fresh - before * kept[k]))


@routine
def look_ahead(samples, iterate, gradient, upcoming, kept):
    """Write the weighted derivatives of the next step's batch, at the iterate before it moves, into ``kept``."""
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    for k in range(len(upcoming)):
        i = pick(rows, upcoming, k)
        kept[k] = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
    count_rows(gradient, len(upcoming))


# --- residuals of the table -------------------------------------------------------------------------------------------
#
# The estimated gap plus the mean Fenchel-Young residual of the table bounds the distance to the optimum
# (`frankwolfe.solvers.dual_bound`). A batch is a random sample of the rows, so its residuals before it is refreshed
# estimate that mean. One row in sixteen is enough, and hardly costs a step any time.
#
# Rows that were never visited have by far the largest residuals. Few are left after some passes, and their slopes are
# zero. So they are left out of the samples, and their residuals are added up when the mean is needed.

EVERY = 16
"""One row in so many is sampled. One in four would make a step some 15% dearer."""


SUM, SQUARES, NUMBER, FADING, COUNTERS = 4, 5, 6, 7, 8
"""Places in a gradient's counters, after its own: fading sums of residuals, of their squares, of ones, and how they
fade. The last is the number of counters."""


def fading(n: int) -> float:
    """Return what a sum of samples is multiplied by before the next is added: data of ``n`` rows."""
    # The mean looks back on a tenth of a pass, and on 128 samples at least.
    return 1.0 - 1.0 / max(128, n / (10.0 * EVERY))


@routine
def sample_residuals(samples, iterate, counters, table, batch, first, t):
    """Add the residuals of the batch's row number ``first`` and every 16th after it to the sums in the counters.

    Each is counted ``t^2`` times: residuals fall as ``1 / t^2``, since the table's error falls as ``1 / t``.
    """
    rows, targets, weights, loss, keep = samples.rows, samples.targets, samples.weights, samples.loss, counters[FADING]
    scale = counters[ALL_ROWS] * (1.0 * t) * (1.0 * t)
    for k in range(first, len(batch), EVERY):
        i, found = batch[k], 0.0
        if magnitude(table[i]) > 0.0:
            found = scale * weights[i] * residual(loss, prediction(iterate, rows, i), targets[i], table[i] / weights[i])
        if isfinite(found):
            counters[SUM] = keep * counters[SUM] + found
            counters[SQUARES] = keep * counters[SQUARES] + found * found
            counters[NUMBER] = keep * counters[NUMBER] + 1.0


@kernel
def residuals_of(samples, iterate, table, chosen):
    """Return the weighted sum of the residuals of some rows."""
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    total = 0.0
    for k in range(len(chosen)):
        i = chosen[k]
        if weights[i] > 0.0:
            total += weights[i] * residual(loss, prediction(iterate, rows, i), targets[i], table[i] / weights[i])
    return total


def never_visited(table: np.ndarray) -> np.ndarray:
    """Return the numbers of the rows whose entries in a table are still zero."""
    return np.flatnonzero(~table.any(axis=1) if table.ndim == 2 else table == 0.0)


def unvisited(table: np.ndarray) -> int:
    """Return how many entries of a table are still zero: those of rows that were never visited."""
    return len(never_visited(table)) if table.ndim == 2 else len(table) - int(np.count_nonzero(table))


def mean_residual(
    samples: Any, iterate: Any, counters: np.ndarray, table: np.ndarray, t: int, elsewhere: int = 0
) -> tuple[float, float]:
    """Return an estimate of the table's mean residual after ``t`` steps, and its standard error; NaN before any.

    Where samples and table are those of some rows only, ``elsewhere`` of the others were never visited either.
    """
    if counters[NUMBER] < 2.0:
        return float("nan"), float("nan")
    mean = counters[SUM] / counters[NUMBER]
    error = np.sqrt(max(counters[SQUARES] / counters[NUMBER] - mean * mean, 0.0) / counters[NUMBER])
    left = never_visited(table)
    if len(left):
        # Sample the unvisited rows: at most one in 64 of all rows.
        chosen = left[:: 1 + len(left) // (1 + len(table) // 64)].copy()  # contiguous, as warm_up compiles it
        rest = residuals_of(samples, iterate, table, chosen) * (len(left) + elsewhere) / len(chosen)
    else:
        rest = float("nan") if elsewhere else 0.0
    return float(mean / t**2 + rest), float(error / t**2)
