"""Self-concordant barriers of the sets.

A barrier ``B`` of a set is smooth and convex inside it and grows without bound toward its boundary. The minimisers of
``F + mu B`` are the *central path*: there ``grad F = -mu grad B``, and for a self-concordant barrier of parameter
``nu`` the Frank-Wolfe gap is at most ``nu mu`` (Nesterov and Nemirovski 1994). Newton's method therefore minimises over
a set whose barrier is known by solving a few linear systems, whatever the scales of the data.

The variables ``y`` of a barrier are chosen to make it simple: the weights themselves, weights of points, or auxiliary
variables. The weights are an affine function of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag


class Expansion(NamedTuple):
    """A barrier to second order at a point, auxiliary variables eliminated, in local coordinates ``e``.

    Attributes
    ----------
    gradient : array of shape (k,)
        First derivative in ``e``.
    hessian : array of shape (k, k), or (k,) for a diagonal one
        Second derivative in ``e``.
    moves : array of shape (d,) or (d, k)
        The matrix from ``e`` to moves of the weights; a vector stands for a diagonal matrix.
    recover : function
        From ``e`` to the move of all variables ``y``.
    equations : array of shape (m, k), optional
        Moves must keep ``equations @ e = 0``.
    rest : float
        Squared Newton decrement of the auxiliary variables alone.
    """

    gradient: np.ndarray
    hessian: np.ndarray
    moves: np.ndarray
    recover: Callable[[np.ndarray], np.ndarray]
    equations: np.ndarray | None = None
    rest: float = 0.0


class Barrier(ABC):
    """A self-concordant barrier of a set, as it was made for a number of weights.

    Attributes
    ----------
    nu : float
        Its parameter.
    quick_up_to : int
        Up to how many weights minimising over the set by its barrier is as quick as by its vertices even where that is
        easy, as measured.
    """

    nu: float
    quick_up_to: int = 64
    factor: float = 1.0
    shift: Any = 0.0

    @abstractmethod
    def start(self) -> np.ndarray:
        """Return variables strictly inside, near the middle."""

    @abstractmethod
    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""

    @abstractmethod
    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights that variables stand for, before the set is scaled and translated."""

    @abstractmethod
    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order, before the set is scaled and translated."""

    def weights(self, y: np.ndarray) -> np.ndarray:
        """Return the weights that variables stand for."""
        return self.factor * self.point(y) + self.shift

    def at(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        found = self.expand(y)
        return found if self.factor == 1.0 else found._replace(moves=self.factor * found.moves)

    def without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Return weights of the set with those (of matrices, the singular values) of size at most ``least`` at zero.

        Where the set has equations the others make up for it, if they can.
        """
        if np.any(self.shift):
            return np.where(np.abs(w) > least, w, 0.0)
        return self.factor * self.point_without_tiny(w / self.factor, least / abs(self.factor))

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Do what `without_tiny` says, before the set is scaled."""
        return np.where(np.abs(w) > least, w, 0.0)

    def scaled(self, factor: float) -> "Barrier":
        """Return the barrier of the set times a factor."""
        other = copy(self)
        other.factor, other.shift = factor * self.factor, factor * self.shift
        return other

    def translated(self, shift: Any) -> "Barrier":
        """Return the barrier of the set moved by a vector."""
        other = copy(self)
        other.shift = self.shift + shift
        return other


class Reduced(NamedTuple):
    """What is left of the quadratic.

    Attributes
    ----------
    gradient, hessian : arrays of shape (k,) and (k, k)
        In ``e``.
    recover : function
        From ``e`` to the best ``t``.
    rest : float
        Twice what the best ``t`` gains where ``e`` is zero.
    """

    gradient: np.ndarray
    hessian: np.ndarray
    recover: Callable[[np.ndarray], np.ndarray]
    rest: float


def eliminate(
    gradient: np.ndarray,
    hessian: np.ndarray,
    slope: np.ndarray,
    solve: Callable[[np.ndarray], np.ndarray],
    couple: Callable[[np.ndarray], np.ndarray],
    pull: Callable[[np.ndarray], np.ndarray],
    a: np.ndarray,
    b: np.ndarray,
) -> Reduced:
    """Eliminate ``t``.

    Parameters
    ----------
    gradient, slope : arrays of shape (k,) and (m,)
        First derivatives in ``e`` and ``t``.
    hessian : array of shape (k, k) or (k,)
        Second derivative in ``e`` once ``t`` is eliminated, without the columns ``(a, b)``.
    solve : function
        Solve with the second derivative in ``t``.
    couple, pull : functions
        The second derivative in ``e`` and ``t`` times an array over ``t``; its transpose times one over ``e``.
    a, b : arrays of shape (k, r) and (m, r)
        The columns kept apart.
    """
    solved, still = solve(b), solve(slope)
    inverse = np.linalg.inv(np.eye(b.shape[1]) + b.T @ solved)
    held = inverse @ (b.T @ still)
    lean = a - couple(solved)
    total = lean @ inverse @ lean.T
    if hessian.ndim == 1:
        np.einsum("jj->j", total)[:] += hessian
    else:
        total += hessian

    def recover(e: np.ndarray) -> np.ndarray:
        alone = still + solve(pull(e))
        return -(alone + solved @ (inverse @ (a.T @ e - b.T @ alone)))

    rest = float(slope @ still - (b.T @ still) @ held)
    return Reduced(gradient - couple(still - solved @ held) - a @ held, total, recover, rest)


def eliminate_grouped(
    groups: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
    slope: np.ndarray,
    coupling: np.ndarray,
    inner: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
) -> Reduced:
    """Eliminate ``t`` where entry ``i`` of ``e`` meets ``t[groups[i]]`` only, and ``inner`` is diagonal."""
    count = len(inner)

    def couple(t: np.ndarray) -> np.ndarray:
        return coupling[:, None] * t[groups] if t.ndim == 2 else coupling * t[groups]

    def solve(right: np.ndarray) -> np.ndarray:
        return right / inner[:, None] if right.ndim == 2 else right / inner

    return eliminate(gradient, hessian, slope, solve, couple, lambda e: np.bincount(groups, coupling * e, count), a, b)


def eliminate_dense(
    gradient: np.ndarray,
    hessian: np.ndarray,
    slope: np.ndarray,
    cross: np.ndarray,
    inner: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
) -> Reduced:
    """Eliminate ``t`` where nothing is known of ``cross`` and ``inner``; ``hessian`` is that before ``t`` follows."""
    scale = 1.0 / np.sqrt(np.einsum("jj->j", inner))
    root = _root(inner * scale * scale[:, None])

    def solve(right: np.ndarray) -> np.ndarray:
        scaled = right * (scale[:, None] if right.ndim == 2 else scale)
        found = np.linalg.solve(root.T, np.linalg.solve(root, scaled))
        return found * (scale[:, None] if right.ndim == 2 else scale)

    inside = np.linalg.solve(root, cross.T * scale[:, None])
    left = (np.diag(hessian) if hessian.ndim == 1 else hessian) - inside.T @ inside
    return eliminate(gradient, left, slope, solve, lambda t: cross @ t, lambda e: cross.T @ e, a, b)


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a matrix with unit diagonal, a little of which is added where it must be."""
    for ridge in (0.0, 1e-15, 1e-13, 1e-11, 1e-8):
        try:
            return np.linalg.cholesky(matrix + ridge * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            continue
    return np.eye(len(matrix))


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


def symmetric_basis(side: int) -> np.ndarray:
    """Return an orthonormal basis of the symmetric matrices, of shape (count, side, side)."""
    first, second = np.triu_indices(side)
    basis = np.zeros((len(first), side, side))
    size = np.where(first == second, 1.0, np.sqrt(0.5))
    basis[np.arange(len(first)), first, second] = size
    basis[np.arange(len(first)), second, first] = size
    return basis


def _cholesky(P: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor of a matrix, None if it is not positive definite."""
    try:
        return np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        return None


class TraceBarrier(Barrier):
    """Of the matrices whose singular values sum to at most one: ``-log(2 - tr P - tr W P^-1 W') - log det P``.

    For the best ``P``, the root of ``W' W``, both traces are the trace norm. ``P`` has the shorter side of ``W``.
    """

    def __init__(self, rows: int, columns: int):
        flat = np.arange(rows * columns).reshape(rows, columns)
        self.order = (flat if rows >= columns else flat.T).ravel()  # of the entries, with columns the shorter side
        self.long, self.short = max(rows, columns), min(rows, columns)
        self.basis = symmetric_basis(self.short)
        self.nu = self.short + 1.0

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.concatenate([np.zeros(len(self.order)), 2.0 / (self.short + 1.0) * np.eye(self.short).ravel()])

    def _parts(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``W`` with columns the shorter side, and ``P``."""
        W = y[: len(self.order)][self.order].reshape(self.long, self.short)
        return W, y[len(self.order) :].reshape(self.short, self.short)

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        W, P = self._parts(y)
        L = _cholesky(P)
        if L is None:
            return np.inf
        V = np.linalg.solve(L, W.T)
        room = 2.0 - np.trace(P) - (V * V).sum()
        return float(-np.log(room) - 2.0 * np.log(np.diagonal(L)).sum()) if room > 0.0 else np.inf

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return y[: len(self.order)]

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny singular values to zero."""
        W = w[self.order].reshape(self.long, self.short)
        left, sizes, right = np.linalg.svd(W, full_matrices=False)
        kept = sizes > least
        return ((left[:, kept] * sizes[kept]) @ right[kept]).ravel()[np.argsort(self.order)]

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``W``, and ``E`` for moves ``L E L'`` of ``P``."""
        W, P = self._parts(y)
        L = np.linalg.cholesky(P)
        inverse = np.linalg.inv(L)
        V = W @ inverse.T
        room = 2.0 - np.trace(P) - (V * V).sum()
        squares = V.T @ V
        fall = (-2.0 * V @ inverse).ravel()
        drop = np.tensordot(self.basis, squares - L.T @ L, 2)
        hessian = np.kron(np.eye(self.long), (2.0 / room) * (inverse.T @ inverse))
        cross = ((-2.0 / room) * (V @ self.basis @ inverse)).reshape(len(drop), -1).T
        inner = (2.0 / room) * np.tensordot(self.basis @ squares, self.basis, ([1, 2], [1, 2]))
        inner = 0.5 * (inner + inner.T)
        np.einsum("jj->j", inner)[:] += 1.0
        slope = -drop / room - np.trace(self.basis, axis1=1, axis2=2)
        reduced = eliminate_dense(
            -fall / room, hessian, slope, cross, inner, (fall / room)[:, None], (drop / room)[:, None]
        )
        back = np.argsort(self.order)

        def whole(e: np.ndarray) -> np.ndarray:
            E = np.tensordot(reduced.recover(e[self.order]), self.basis, 1)
            return np.concatenate([e, (L @ E @ L.T).ravel()])

        return Expansion(
            reduced.gradient[back], reduced.hessian[np.ix_(back, back)], np.ones(len(back)), whole, rest=reduced.rest
        )


class SpectrahedronBarrier(Barrier):
    """Of the positive semidefinite matrices of trace one: ``-log det W``, where ``W`` moves by ``L E L'``."""

    quick_up_to = 400

    def __init__(self, side: int):
        self.side, self.basis = side, symmetric_basis(side)
        self.nu = float(side)

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.eye(self.side).ravel() / self.side

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        L = _cholesky(y.reshape(self.side, self.side))
        return np.inf if L is None else float(-2.0 * np.log(np.diagonal(L)).sum())

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return y

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny eigenvalues to zero, and scale the others to trace one."""
        sizes, vectors = np.linalg.eigh(w.reshape(self.side, self.side))
        root = vectors[:, sizes > least] * np.sqrt(sizes[sizes > least])
        found = root @ root.T  # symmetric to the last bit
        return (found / np.trace(found)).ravel() if root.size else w

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        L = np.linalg.cholesky(y.reshape(self.side, self.side))
        traces = np.trace(self.basis, axis1=1, axis2=2)
        moves = (L @ self.basis @ L.T).reshape(len(self.basis), -1).T
        equations = np.tensordot(self.basis, L.T @ L, 2)[None, :]

        def recover(e: np.ndarray) -> np.ndarray:
            return (L @ np.tensordot(e, self.basis, 1) @ L.T).ravel()

        return Expansion(-traces, np.ones(len(traces)), moves, recover, equations)


DISGUISED = 1e-7
"""An inequality of unit length that leaves less room than this, relative to the largest bound, is an equation."""


def polytope_barrier(A: Any, b: Any, E: Any, e: Any, size: int) -> Barrier | None:
    """Return the barrier of all ``w`` with ``A w <= b`` and ``E w = e``; None if that is a single point.

    Inequalities that no point satisfies strictly are equations in disguise. What is left is minimised over in
    coordinates of the subspace that all equations leave.
    """
    A, b = _as_system(A, b, size)
    E, e = _as_system(E, e, size)
    norms = np.linalg.norm(A, axis=1)
    A, b = A[norms > 0.0] / norms[norms > 0.0, None], b[norms > 0.0] / norms[norms > 0.0]
    unit = max(float(np.abs(b).max(initial=0.0)), float(np.abs(e).max(initial=0.0)))
    if not unit > 0.0:
        return None  # a bounded cone: zero alone
    loose = _loose(A, b / unit, E, e / unit)
    if not loose.any():
        return None
    fixed, level = np.vstack([E, A[~loose]]), np.concatenate([e, b[~loose]])
    basis = _null_space(fixed, size)
    inside = unit * _deepest(A, b / unit, E, e / unit, loose)
    inside -= np.linalg.lstsq(fixed, fixed @ inside - level, rcond=None)[0] if len(fixed) else 0.0
    room = (b - A @ inside)[loose]
    if basis.shape[1] == 0 or not room.min() > 0.0:
        return None
    return SlackBarrier(A[loose] @ basis, room, basis).translated(inside)


def _as_system(M: Any, bound: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix, which may be sparse or missing, and its right-hand side as arrays."""
    if M is None:
        return np.zeros((0, size)), np.zeros(0)
    return (M.toarray() if sparse.issparse(M) else np.asarray(M)), bound


def _null_space(M: np.ndarray, size: int) -> np.ndarray:
    """Return an orthonormal basis of what a matrix maps to zero."""
    if len(M) == 0:
        return np.eye(size)
    _, sizes, right = np.linalg.svd(M)
    rank = int((sizes > 1e-12 * max(sizes[0], 1e-300)).sum())
    return right[rank:].T


def _loose(A: np.ndarray, b: np.ndarray, E: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Which inequalities have room somewhere in the polytope: a convex set, so somewhere all of them have it at once.

    The polytope is blown up until every such room is one: ``A w + s <= b t`` and ``E w = e t`` with ``t >= 1``.
    """
    m, d = A.shape
    bounds = [(None, None)] * d + [(0.0, 1.0)] * m + [(1.0, 1.0 / DISGUISED)]
    costs = np.r_[np.zeros(d), -np.ones(m), 0.0]
    above = np.hstack([A, np.eye(m), -b[:, None]])
    equal = np.hstack([E, np.zeros((len(E), m)), -e[:, None]])
    return _solved(costs, above, np.zeros(m), equal, np.zeros(len(e)), bounds)[d : d + m] > 0.5


def _deepest(A: np.ndarray, b: np.ndarray, E: np.ndarray, e: np.ndarray, loose: np.ndarray) -> np.ndarray:
    """Return the centre of the largest ball within the inequalities that have room."""
    d = A.shape[1]
    bounds = [(None, None)] * d + [(0.0, None)]
    costs = np.r_[np.zeros(d), -1.0]
    return _solved(costs, np.column_stack([A, loose]), b, np.hstack([E, np.zeros((len(E), 1))]), e, bounds)[:d]


def _solved(c: np.ndarray, A: np.ndarray, b: np.ndarray, E: np.ndarray, e: np.ndarray, bounds: Any) -> np.ndarray:
    """Solve a linear program that is known to have a solution."""
    from scipy.optimize import linprog  # heavy, and only wanted here

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(c, A_ub=A, b_ub=b, A_eq=E, b_eq=e, bounds=bounds, method="highs-ds", options=tight)
    if found.status != 0:
        raise RuntimeError(f"Polytope: the linear program for its interior could not be solved. HiGHS: {found.message}")
    return found.x


class ProductBarrier(Barrier):
    """Barriers of sets side by side."""

    def __init__(self, parts: list[Barrier]):
        self.parts = parts
        self.nu = sum(part.nu for part in parts)
        self.quick_up_to = min(part.quick_up_to for part in parts)
        self.ends = np.cumsum([len(part.start()) for part in parts])[:-1]

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.concatenate([part.start() for part in self.parts])

    def _split(self, y: np.ndarray) -> list[tuple[Barrier, np.ndarray]]:
        return list(zip(self.parts, np.split(y, self.ends), strict=True))

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        return float(sum(part.value(piece) for part, piece in self._split(y)))

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return np.concatenate([part.weights(piece) for part, piece in self._split(y)])

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny weights to zero, each set in its way."""
        ends = np.cumsum([len(part.weights(part.start())) for part in self.parts])[:-1]
        pieces = zip(self.parts, np.split(w, ends), strict=True)
        return np.concatenate([part.without_tiny(piece, least) for part, piece in pieces])

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order: blocks on a diagonal."""
        found = [part.at(piece) for part, piece in self._split(y)]
        ends = np.cumsum([len(each.gradient) for each in found])[:-1]
        diagonal = all(each.moves.ndim == 1 for each in found)
        moves = [each.moves if diagonal or each.moves.ndim == 2 else np.diag(each.moves) for each in found]
        rows = [np.zeros((0, len(each.gradient))) if each.equations is None else each.equations for each in found]

        def recover(e: np.ndarray) -> np.ndarray:
            return np.concatenate([each.recover(piece) for each, piece in zip(found, np.split(e, ends), strict=True)])

        return Expansion(
            np.concatenate([each.gradient for each in found]),
            block_diag(*(each.hessian if each.hessian.ndim == 2 else np.diag(each.hessian) for each in found)),
            np.concatenate(moves) if diagonal else block_diag(*moves),
            recover,
            block_diag(*rows) if sum(map(len, rows)) else None,
            sum(each.rest for each in found),
        )
