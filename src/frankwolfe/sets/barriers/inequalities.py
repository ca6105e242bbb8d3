"""Barriers of polytopes: minus the logarithms of what each inequality leaves."""

import numpy as np

from frankwolfe.sets.barriers.auxiliary import eliminate_dense, eliminate_grouped
from frankwolfe.sets.barriers.barrier import Barrier, Expansion


class IntervalBarrier(Barrier):
    """Of a box: ``-log(1 - x^2)`` for every coordinate, ``w = half x``.

    Parameters
    ----------
    half : array of shape (d,)
        Half the widths of the box around zero.
    """

    quick_up_to = 200

    def __init__(self, half: np.ndarray):
        self.half = half
        self.nu = 2.0 * len(half)

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.zeros(len(self.half))

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        room = (1.0 - y) * (1.0 + y)
        return float(-np.log(room).sum()) if room.min() > 0.0 and np.abs(y).max() < 1.0 else np.inf

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return self.half * y

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        room = (1.0 - y) * (1.0 + y)
        return Expansion(2.0 * y / room, 2.0 * (1.0 + y * y) / room**2, self.half, lambda e: e)


class OrthantBarrier(Barrier):
    """Of all ``w = moves u`` with ``u > 0`` and ``equations u = equations start``: ``-sum log u``.

    Local coordinates are relative changes of ``u``: whatever is close to zero then is of ordinary size.
    """

    def __init__(self, moves: np.ndarray, equations: np.ndarray, start: np.ndarray):
        self.moves, self.equations, self.middle = moves, equations, start
        self.nu = float(len(start))

    def start(self) -> np.ndarray:
        """Return the centre."""
        return self.middle

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        return float(-np.log(y).sum()) if y.min() > 0.0 else np.inf

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return self.moves * y if self.moves.ndim == 1 else self.moves @ y

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        ones = np.ones(len(y))
        return Expansion(-ones, ones, _scaled(self.moves, y), lambda e: y * e, self.equations * y)

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny weights to zero; by relative changes, which keep zeros, the others are put back on the equations."""
        kept = super().point_without_tiny(w, least)
        if self.moves.ndim == 2:
            return kept  # the weights do not tell the variables
        y = kept / self.moves
        missing = self.equations @ (self.middle - y)
        return kept * (1.0 + np.linalg.lstsq(self.equations * y, missing, rcond=None)[0])


def _scaled(moves: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a matrix times a diagonal one; where both are diagonal, so is the product."""
    return moves * y


def simplex_barrier(moves: np.ndarray, points: int) -> OrthantBarrier:
    """Return the barrier of the hull of the columns of ``moves`` (a vector stands for a diagonal matrix)."""
    return OrthantBarrier(moves, np.ones((1, points)), np.full(points, 1.0 / points))


class SlackBarrier(Barrier):
    """Of all ``w = moves x`` with ``A x < b``, where ``b > 0``: ``-sum log(b - A x)``."""

    def __init__(self, A: np.ndarray, b: np.ndarray, moves: np.ndarray):
        self.A, self.b, self.moves = A, b, moves
        self.nu = float(len(b))

    def start(self) -> np.ndarray:
        """Return zero, which is inside."""
        return np.zeros(self.A.shape[1])

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        room = self.b - self.A @ y
        return float(-np.log(room).sum()) if room.min() > 0.0 else np.inf

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return self.moves * y if self.moves.ndim == 1 else self.moves @ y

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        weighted = self.A / (self.b - self.A @ y)[:, None]
        return Expansion(weighted.sum(axis=0), weighted.T @ weighted, self.moves, lambda e: e)


class LargestBarrier(Barrier):
    """Of all ``v`` with ``sum_g max |v_g| <= budget``: auxiliary ``t_g`` above all sizes in a group.

    Parameters
    ----------
    groups : array of int of shape (d,)
        The group of each entry, all of them from 0 on.
    moves : array of shape (d,)
        Factors from ``v`` to weights.
    budget : float
        Bound on the sum.
    capped : bool
        Whether every ``t_g`` is also at most one.
    """

    def __init__(self, groups: np.ndarray, moves: np.ndarray, budget: float = 1.0, capped: bool = False):
        self.groups, self.moves, self.budget, self.capped = groups, moves, budget, capped
        self.count = int(groups.max()) + 1
        self.nu = 2.0 * len(groups) + 1.0 + (self.count if capped else 0.0)
        self.within = np.zeros((len(groups), self.count))
        self.within[np.arange(len(groups)), groups] = 1.0

    def start(self) -> np.ndarray:
        """Return the centre."""
        level = self.budget / (self.count + 1.0 + (self.budget if self.capped else 0.0))
        return np.concatenate([np.zeros(len(self.groups)), np.full(self.count, level)])

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        v, t = y[: len(self.groups)], y[len(self.groups) :]
        each, left = t[self.groups], self.budget - t.sum()
        room = (each - v) * (each + v)
        if not (t.min() > 0.0 and left > 0.0 and (np.abs(v) < each).all() and room.min() > 0.0):
            return np.inf
        if self.capped and not t.max() < 1.0:
            return np.inf
        return float(-np.log(room).sum() - np.log(left) - (np.log(1.0 - t).sum() if self.capped else 0.0))

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return self.moves * y[: len(self.groups)]

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``v`` and relative changes of ``t``."""
        v, t = y[: len(self.groups)], y[len(self.groups) :]
        each, left = t[self.groups], self.budget - t.sum()
        room = (each - v) * (each + v)
        other = t / (1.0 - t) if self.capped else np.zeros(self.count)
        # in units of each room: nothing overflows, and the Schur complement of a group is a sum of positive terms
        share, tilt = each * each / room, v * each / room
        curve, coupling = 2.0 * (each * each + v * v) / room**2, -4.0 * tilt * each / room
        inner = np.bincount(self.groups, curve * each**2, self.count) + other**2
        slope = np.bincount(self.groups, -2.0 * share, self.count) + t / left + other
        spread = self.within * (coupling / np.sqrt(inner)[self.groups])[:, None]
        reduced = eliminate_grouped(
            self.groups,
            2.0 * v / room,
            np.diag(curve) - spread @ spread.T,
            slope,
            coupling,
            inner,
            np.zeros((len(v), 1)),
            (t / left)[:, None],
        )

        def whole(e: np.ndarray) -> np.ndarray:
            return np.concatenate([e, t * reduced.recover(e)])

        return Expansion(reduced.gradient, reduced.hessian, self.moves, whole, rest=reduced.rest)


class OrderedBarrier(Barrier):
    """Of all ``w`` with ``sum_i weights_i |w|_(i) <= 1``, the largest first.

    The sum is the largest over all ways to hand out the weights, an assignment problem. Its dual bounds it: numbers
    ``a_i`` and ``b_j`` with ``a_i + b_j >= weights_i |w_j|`` whose sum is at most one. As only their sums matter, the
    last ``a_i`` is zero.
    """

    def __init__(self, weights: np.ndarray):
        self.prices, self.size = weights, len(weights)
        self.nu = 2.0 * self.size**2 + 1.0

    def start(self) -> np.ndarray:
        """Return the centre."""
        d = self.size
        return np.concatenate([np.zeros(d), np.full(2 * d - 1, 0.25 / d)])

    def _rooms(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return what is left of ``a_i + b_j``, above and below, and of the budget."""
        d = self.size
        w, a, b = y[:d], np.append(y[d : 2 * d - 1], 0.0), y[2 * d - 1 :]
        total, part = a[:, None] + b, self.prices[:, None] * w
        return total - part, total + part, 1.0 - a.sum() - b.sum()

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        above, below, left = self._rooms(y)
        if not (left > 0.0 and above.min() > 0.0 and below.min() > 0.0):
            return np.inf
        return float(-np.log(above).sum() - np.log(below).sum() - np.log(left))

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return y[: self.size]

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        d, each = self.size, self.prices[:, None]
        above, below, left = self._rooms(y)
        curve, tilt = 1.0 / above**2 + 1.0 / below**2, each * (1.0 / below**2 - 1.0 / above**2)
        pull = 1.0 / above + 1.0 / below
        slope = 1.0 / left - np.concatenate([pull.sum(axis=1)[:-1], pull.sum(axis=0)])
        cross = np.hstack([tilt.T[:, :-1], np.diag(tilt.sum(axis=0))])
        inner = np.block([[np.diag(curve.sum(axis=1)[:-1]), curve[:-1]], [curve[:-1].T, np.diag(curve.sum(axis=0))]])
        outer = (each * (1.0 / above - 1.0 / below)).sum(axis=0)
        bound = np.full((len(slope), 1), 1.0 / left)
        reduced = eliminate_dense(outer, (each**2 * curve).sum(axis=0), slope, cross, inner, np.zeros((d, 1)), bound)

        def whole(e: np.ndarray) -> np.ndarray:
            return np.concatenate([e, reduced.recover(e)])

        return Expansion(reduced.gradient, reduced.hessian, np.ones(d), whole, rest=reduced.rest)
