"""Barriers of sums of norms: group balls, latent group balls, k-support balls, l1 balls.

A norm is ``||v|| = min over p > 0 of (||v||^2 / p + p) / 2``, so a bound on a sum of norms is one on a sum of squares
over auxiliary ``p``; the logarithm of what is left of such a bound, and those of all ``p``, make a self-concordant
barrier (Nesterov and Nemirovski 1994, section 5.4).
"""

import numpy as np

from frankwolfe.sets.barriers.auxiliary import eliminate_grouped
from frankwolfe.sets.barriers.barrier import Barrier, Expansion


class GroupBarrier(Barrier):
    """Of all ``v`` with ``sum_g ||v_g|| <= 1``: ``-log(2 - sum_g (||v_g||^2 / p_g + p_g)) - sum_g log p_g``.

    Parameters
    ----------
    groups : array of int of shape (k,)
        The group of each entry of ``v``, all of them from 0 on.
    moves : array of shape (d,) or (d, k)
        The matrix from ``v`` to weights.
    """

    def __init__(self, groups: np.ndarray, moves: np.ndarray):
        self.groups, self.moves = groups, moves
        self.count = int(groups.max()) + 1
        self.nu = self.count + 1.0
        self.within = np.zeros((len(groups), self.count))
        self.within[np.arange(len(groups)), groups] = 1.0

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.concatenate([np.zeros(len(self.groups)), np.full(self.count, 2.0 / (self.count + 1.0))])

    def _parts(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return y[: len(self.groups)], y[len(self.groups) :]

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        v, p = self._parts(y)
        if not p.min() > 0.0:
            return np.inf
        room = 2.0 - p.sum() - (v * v / p[self.groups]).sum()
        return float(-np.log(room) - np.log(p).sum()) if room > 0.0 else np.inf

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        v, _ = self._parts(y)
        return self.moves * v if self.moves.ndim == 1 else self.moves @ v

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``v`` and relative changes of ``p``."""
        v, p = self._parts(y)
        each, lean = p[self.groups], v / p[self.groups]
        squares = np.bincount(self.groups, v * lean, self.count)
        room = 2.0 - p.sum() - squares.sum()
        fall, drop = -2.0 * lean, squares - p  # how the room changes with v, and with log p
        inner = 2.0 * squares / room + 1.0
        hessian = np.diag(2.0 / (each * room)) - self._along(lean / (room * np.sqrt(inner))[self.groups])
        left = eliminate_grouped(
            self.groups,
            -fall / room,
            hessian,
            -drop / room - 1.0,
            fall / room,
            inner,
            (fall / room)[:, None],
            (drop / room)[:, None],
        )

        def whole(e: np.ndarray) -> np.ndarray:
            return np.concatenate([e, p * left.recover(e)])

        return Expansion(left.gradient, left.hessian, self.moves, whole, rest=left.rest)

    def _along(self, fall: np.ndarray) -> np.ndarray:
        """Return the blocks ``4 f f'`` of all groups."""
        spread = self.within * (2.0 * fall)[:, None]
        return spread @ spread.T


class SupportBarrier(Barrier):
    """Of the unit ball of the k-support norm: ``sum_i w_i^2 / p_i <= 1`` for some ``p`` in ``[0, 1]`` of sum ``k``.

    See Argyriou, Foygel and Srebro (2012).
    """

    quick_up_to = 200

    def __init__(self, k: int, size: int):
        self.k, self.size = k, size
        self.nu = 2.0 * size + 2.0

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.concatenate([np.zeros(self.size), np.full(self.size, self.k / (self.k + self.size))])

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        w, p = y[: self.size], y[self.size :]
        left = self.k - p.sum()
        if not (p.min() > 0.0 and p.max() < 1.0 and left > 0.0):
            return np.inf
        room = 1.0 - (w * w / p).sum()
        return float(-np.log(room) - np.log(p * (1.0 - p)).sum() - np.log(left)) if room > 0.0 else np.inf

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return y[: self.size]

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``w`` and relative changes of ``p``."""
        w, p = y[: self.size], y[self.size :]
        lean, other, left = w / p, p / (1.0 - p), self.k - p.sum()
        squares = w * lean
        room = 1.0 - squares.sum()
        fall, extra = -2.0 * lean / room, 1.0 + other**2
        inner = 2.0 * squares / room + extra
        zero = np.zeros(self.size)
        reduced = eliminate_grouped(
            np.arange(self.size),
            -fall,
            2.0 * extra / (p * room * inner),
            -squares / room - 1.0 + other + p / left,
            fall,
            inner,
            np.column_stack([fall, zero]),
            np.column_stack([squares / room, p / left]),
        )

        def whole(e: np.ndarray) -> np.ndarray:
            return np.concatenate([e, p * reduced.recover(e)])

        return Expansion(reduced.gradient, reduced.hessian, np.ones(self.size), whole, rest=reduced.rest)
