"""An online estimate of how stale the table is: residuals of rows that a step is about to refresh.

The mean Fenchel-Young residual of the table is what the estimated gap lacks to be a bound on the distance to the
optimum (`frankwolfe.engines.dual_bound`). A batch is a fair sample of the rows, so its residuals before it is refreshed
are a fair sample of all of them. One row in sixteen is enough, and costs a step next to nothing.

Rows that were never visited have by far the largest residuals. They are few after some passes, and known: their slopes
are zero. So they are left out of the samples and added up when somebody asks.
"""

from math import isfinite
from typing import Any

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.twofold import magnitude
from frankwolfe.compile.verbs import prediction, residual, routine
from frankwolfe.methods.gradient import ALL_ROWS

EVERY = 16
"""One row in so many is sampled. One in four would make a step some 15% dearer."""

LEAST_WINDOW = 128
"""Fewest samples that the fading mean looks back on; more where they are from a tenth of a pass."""

UNVISITED = 64
"""Of the rows that were never visited, one in so many of all rows is looked at, at most."""

SUM, SQUARES, NUMBER, FADING, COUNTERS = 4, 5, 6, 7, 8
"""Places in a gradient's counters, after its own: fading sums of residuals, of their squares, of ones, and how they
fade. The last is the number of counters."""


def fading(n: int) -> float:
    """Return what a sum of samples is multiplied by before the next is added: data of ``n`` rows."""
    return 1.0 - 1.0 / max(LEAST_WINDOW, n / (10.0 * EVERY))


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
        chosen = left[:: 1 + len(left) // (1 + len(table) // UNVISITED)]
        rest = residuals_of(samples, iterate, table, chosen) * (len(left) + elsewhere) / len(chosen)
    else:
        rest = float("nan") if elsewhere else 0.0
    return float(mean / t**2 + rest), float(error / t**2)
