"""Barriers of smooth balls: Euclidean, ellipsoids, lp."""

import numpy as np

from frankwolfe.sets.barriers.barrier import Barrier, Expansion


class EllipsoidBarrier(Barrier):
    """``-log(1 - ||root^-1 w||^2)``: of all ``w = root v`` with ``||v|| <= 1``.

    Parameters
    ----------
    root : array of shape (d,) or (d, d)
        Half-axes, or a square root of the matrix ``S`` of ``w' S^-1 w <= 1``.
    """

    nu = 1.0

    def __init__(self, root: np.ndarray):
        self.root = root

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.zeros(len(self.root))

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        room = 1.0 - y @ y
        return -np.log(room) if room > 0.0 else np.inf

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return self.root * y if self.root.ndim == 1 else self.root @ y

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        room = 1.0 - y @ y
        slope = (2.0 / room) * y
        hessian = np.outer(slope, slope)
        np.einsum("jj->j", hessian)[:] += 2.0 / room
        return Expansion(slope, hessian, self.root, lambda e: e)


class PowerBarrier(Barrier):
    """Of the unit ball of an lp norm: auxiliary ``t_i > |w_i|^p`` that sum to less than one.

    Each pair has the barrier ``-log(t^(2/p) - w^2) - (1 - 1/p) log t`` of a power cone (Chares 2009).
    """

    def __init__(self, p: float, size: int):
        self.power, self.size = 1.0 / p, size
        self.nu = 3.0 * size + 1.0

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.concatenate([np.zeros(self.size), np.full(self.size, 0.5 / self.size)])

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        w, t = y[: self.size], y[self.size :]
        left = 1.0 - t.sum()
        if not (left > 0.0 and t.min() > 0.0):
            return np.inf
        room = t ** (2.0 * self.power) - w * w
        if not room.min() > 0.0:
            return np.inf
        return float(-np.log(room).sum() - (1.0 - self.power) * np.log(t).sum() - np.log(left))

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return y[: self.size]

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order.

        The second derivatives of a pair are all sums of positive terms here: as differences they would lose their
        digits toward the boundary.
        """
        w, t, a = y[: self.size], y[self.size :], self.power
        left, level, square = 1.0 - t.sum(), t ** (2.0 * a), w * w
        room, rise = level - square, 2.0 * a * t ** (2.0 * a - 1.0)
        slope_w = 2.0 * w / room
        slope_t = -rise / room - (1.0 - a) / t + 1.0 / left
        curve_t = (rise / t * (level + (2.0 * a - 1.0) * square)) / room**2 + (1.0 - a) / t**2
        cross = -2.0 * w * rise / room**2
        both = 2.0 * rise / t * (level - (2.0 * a - 1.0) * square) / room**3
        both += (2.0 / room + 4.0 * square / room**2) * (1.0 - a) / t**2
        # t is eliminated: a diagonal matrix and the rank-one term of the budget
        share, total = cross / curve_t, left * left + (1.0 / curve_t).sum()
        hessian = np.outer(share, share) / total
        np.einsum("jj->j", hessian)[:] += both / curve_t
        still = slope_t / curve_t
        gradient = slope_w - cross * still + share * (still.sum() / total)

        def recover(e: np.ndarray) -> np.ndarray:
            alone = still + share * e
            return np.concatenate([e, -alone + (alone.sum() / total) / curve_t])

        rest = float(slope_t @ still - still.sum() ** 2 / total)
        return Expansion(gradient, hessian, np.ones(self.size), recover, rest=rest)
