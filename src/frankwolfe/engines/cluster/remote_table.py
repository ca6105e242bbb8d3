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
from frankwolfe.objective.sums import evaluate_losses


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
    """What a batch changes in ``r``, by the entries that it changes, and the sum of the table's changes."""

    places: np.ndarray
    values: np.ndarray
    size: float


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
    total, size, w = np.zeros(objective.size), 0.0, weights.dense()
    for block in objective.blocks:
        here = chosen[np.searchsorted(chosen, block.part.start) : np.searchsorted(chosen, block.part.stop)]
        if len(here):
            change = _renewed(samples, block.samples.rows.some_rows(here - block.part.start), here, mine.alpha, w)
            size += float(np.abs(change[1]).sum())
            total += change[0].add_all(change[1], objective.size)
    mine.version = version + 1
    places = np.flatnonzero(total)
    return Change(places, total[places], size)


def _renewed(samples: Any, rows: Any, here: np.ndarray, alpha: np.ndarray, w: np.ndarray) -> tuple[Any, np.ndarray]:
    """Put the derivatives of some rows into the table; return the rows, and what has changed."""
    z = rows.dot_all(w)
    fresh, losses = np.empty(z.shape), np.empty(len(z))
    evaluate_losses(samples.targets[here], samples.weights[here], samples.loss, z, losses, fresh)
    change = fresh - alpha[here]
    alpha[here] = fresh
    return rows, change
