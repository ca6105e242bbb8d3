"""The table of stochastic Frank-Wolfe on a cluster: every part keeps the derivatives of its own rows.

A table is the one thing that parts keep which does not follow from a point: it remembers the steps before. So it has a
version, the number of the last step that changed it. A part that was lost, or that a step was done twice on, has
another version than the client expects, and says so. The client then makes the table exact at the iterate, by a pass.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.losses import has_dual
from frankwolfe.objective.sums import evaluate_losses, sum_residuals
from frankwolfe.shards.local import Local


class Table:
    """The derivatives of a part's rows, and the step that changed them last."""

    def __init__(self, alpha: np.ndarray, version: int):
        self.alpha, self.version = alpha, version


def table_at(local: Local, alpha: np.ndarray, version: int) -> Table:
    """Return a table that is exact: the derivatives at a point."""
    return Table(alpha.reshape(local.samples.shape).copy(), version)


def table_slopes(local: Local, table: Table) -> np.ndarray:
    """Return a copy of the slopes in a table: what they are now."""
    return table.alpha.copy()


class Stale(NamedTuple):
    """What a part answers whose table is not the one that was expected."""


class Change(NamedTuple):
    """What a batch changes in ``r``, by its entries; the sizes of the table's changes, and its residuals.

    The residuals are those of the rows as they were in the table, summed up: what the table was wrong by.
    """

    places: np.ndarray
    values: np.ndarray
    size: float
    residuals: float


def refresh(local: Local, table: Table, version: int, w: np.ndarray, rows: dict[int, int], seed: int) -> tuple:
    """Remember the derivatives of some rows, drawn at random, at the iterate.

    Returns a list of one `Change`: what that changes in ``r``; or of `Stale`.

    Parameters
    ----------
    local : Local
        The rows.
    table : Table
        Their derivatives, changed in place.
    version : int
        Of the table, before this step.
    w : array
        The iterate.
    rows : dict
        How many rows each part draws, by its number.
    seed : int
        Of this step.
    """
    if table.version != version:
        return ([Stale()],)
    samples, n = local.samples, len(local.samples.weights)
    chosen = np.sort(np.random.default_rng([seed, local.number]).permutation(n)[: rows[local.number]])
    total, size, residuals = np.zeros(local.size), 0.0, 0.0
    for block in local.blocks:
        here = chosen[np.searchsorted(chosen, block.part.start) : np.searchsorted(chosen, block.part.stop)]
        if len(here):
            rows_here = block.samples.rows.some_rows(here - block.part.start)
            change, wrong = _renewed(samples, rows_here, here, table.alpha, w)
            size, residuals = size + float(np.abs(change).sum()), residuals + wrong
            total += rows_here.add_all(change, local.size)
    table.version = version + 1
    places = np.flatnonzero(total)
    return ([Change(places, total[places], size, residuals)],)


def _renewed(samples: Any, rows: Any, here: np.ndarray, alpha: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Put the derivatives of some rows into the table; return what has changed, and the residuals before."""
    z, targets, weights, loss = rows.dot_all(w), samples.targets[here], samples.weights[here], samples.loss
    fresh, losses = np.empty(z.shape), np.empty(len(z))
    evaluate_losses(targets, weights, loss, z, losses, fresh)
    before = alpha[here]
    residuals = float(sum_residuals(targets, weights, loss, z, before)) if has_dual(loss) else np.nan
    alpha[here] = fresh
    return fresh - before, residuals
