"""The table of stochastic Frank-Wolfe on a cluster: every part keeps the derivatives of its own rows.

A table is the one thing that parts keep which does not follow from a point: it remembers the steps before. So it has a
version, the number of the last step that changed it. A part that was lost, or that a step was done twice on, has
another version than the client expects, and says so. The client then makes the table exact at the iterate, by a pass.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.cluster.handles import Handle
from frankwolfe.cluster.parts import Part
from frankwolfe.cluster.recipes import DenseWeights, SparseWeights
from frankwolfe.losses import has_dual
from frankwolfe.objective.sums import evaluate_losses, sum_residuals


class Table:
    """The derivatives of a part's rows, and the step that changed them last."""

    def __init__(self, alpha: np.ndarray, version: int):
        self.alpha, self.version = alpha, version


class TableAt(NamedTuple):
    """Recipe of a table that is exact: the derivatives at a point."""

    posed: Handle
    point: Handle
    version: int

    def make(self, part: Part) -> Table:
        """Return it."""
        shape = part.get(self.posed).samples.shape
        return Table(part.get(self.point).alpha.reshape(shape).copy(), self.version)


class EmptyTable(NamedTuple):
    """Recipe of the table that a run starts with: zeros."""

    posed: Handle
    version: int

    def make(self, part: Part) -> Table:
        """Return it."""
        return Table(np.zeros(part.get(self.posed).samples.shape), self.version)


class TableSlopes(NamedTuple):
    """Recipe of the slopes in a table: what they are now."""

    table: Handle

    def make(self, part: Part) -> np.ndarray:
        """Return a copy."""
        return part.get(self.table).alpha.copy()


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


def refresh(
    part: Part,
    posed: Handle,
    table: Handle,
    version: int,
    weights: SparseWeights | DenseWeights,
    rows: dict[int, int],
    seed: int,
) -> Change | Stale:
    """Remember the derivatives of some rows, drawn at random, at the iterate; return what that changes in ``r``.

    Parameters
    ----------
    part : Part
        The rows.
    posed, table : Handle
        The part's objective and table.
    version : int
        Of the table, before this step.
    weights : SparseWeights or DenseWeights
        The iterate.
    rows : dict
        How many rows each part draws, by its number.
    seed : int
        Of this step.
    """
    objective, mine = part.get(posed), part.get(table)
    if mine.version != version:
        return Stale()
    samples, n = objective.samples, len(objective.samples.weights)
    chosen = np.sort(np.random.default_rng([seed, part.number]).permutation(n)[: rows[part.number]])
    total, size, residuals, w = np.zeros(objective.size), 0.0, 0.0, weights.dense()
    for block in objective.blocks:
        here = chosen[np.searchsorted(chosen, block.part.start) : np.searchsorted(chosen, block.part.stop)]
        if len(here):
            rows_here = block.samples.rows.some_rows(here - block.part.start)
            change, wrong = _renewed(samples, rows_here, here, mine.alpha, w)
            size, residuals = size + float(np.abs(change).sum()), residuals + wrong
            total += rows_here.add_all(change, objective.size)
    mine.version = version + 1
    places = np.flatnonzero(total)
    return Change(places, total[places], size, residuals)


def _renewed(samples: Any, rows: Any, here: np.ndarray, alpha: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Put the derivatives of some rows into the table; return what has changed, and the residuals before."""
    z, targets, weights, loss = rows.dot_all(w), samples.targets[here], samples.weights[here], samples.loss
    fresh, losses = np.empty(z.shape), np.empty(len(z))
    evaluate_losses(targets, weights, loss, z, losses, fresh)
    before = alpha[here]
    residuals = float(sum_residuals(targets, weights, loss, z, before)) if has_dual(loss) else np.nan
    alpha[here] = fresh
    return fresh - before, residuals
