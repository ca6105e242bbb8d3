"""Self-concordant barriers of constraint sets.

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
from scipy.linalg import block_diag, qr

from frankwolfe.linalg.matrices import products_without_rounding

Map = Callable[[np.ndarray], np.ndarray]


class Expansion(NamedTuple):
    """A barrier to second order at a point, auxiliary variables eliminated, in local coordinates ``e``.

    Attributes
    ----------
    gradient : array of shape (k,)
        First derivative in ``e``.
    hessian : array of shape (k, k), or (k,) for a diagonal one
        Second derivative in ``e``.
    moves : array of shape (d,) or (d, k)
        The matrix from ``e`` to changes of the weights; a vector represents a diagonal matrix.
    recover : function
        From ``e`` to the change of all variables ``y``.
    equations : array of shape (m, k), optional
        Moves must satisfy ``equations @ e = 0``.
    rest : float
        Squared Newton decrement of the auxiliary variables alone.
    root : function, optional
        Returns a matrix with ``root' root = hessian`` that has more digits than the sum.
    """

    gradient: np.ndarray
    hessian: np.ndarray
    moves: np.ndarray
    recover: Map
    equations: np.ndarray | None = None
    rest: float = 0.0
    root: Callable[[], np.ndarray] | None = None

    def own_root(self) -> np.ndarray:
        """Return a matrix with ``root' root = hessian``."""
        if self.root is not None:
            return self.root()
        if self.hessian.ndim == 1:
            return np.diag(np.sqrt(self.hessian))
        sizes, axes = np.linalg.eigh(self.hessian)
        return np.sqrt(np.maximum(sizes, 0.0))[:, None] * axes.T


class Barrier(ABC):
    """A self-concordant barrier of a set, made for a number of weights.

    A subclass sets ``nu``, ``moves`` and ``middle`` and defines `value` and `expand`.

    Attributes
    ----------
    nu : float
        The parameter of self-concordance.
    moves : array of shape (d,) or (d, k)
        The matrix from the first ``k`` variables to the weights; a vector represents a diagonal matrix.
    middle : array
        Variables strictly inside, near the centre.
    quick_up_to : int
        Number of weights up to which the barrier method is, as measured, as fast as vertex methods on easy problems.
    """

    nu: float
    moves: np.ndarray
    middle: np.ndarray
    quick_up_to: int = 64
    factor: float = 1.0
    shift: Any = 0.0

    @abstractmethod
    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""

    @abstractmethod
    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order, before the set is scaled and translated."""

    def start(self) -> np.ndarray:
        """Return variables strictly inside, near the centre."""
        return self.middle

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights, before the set is scaled and translated."""
        v = y[: self.moves.shape[-1]]
        return self.moves * v if self.moves.ndim == 1 else self.moves @ v

    def weights(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return self.factor * self.point(y) + self.shift

    def at(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        found = self.expand(y)
        return found if self.factor == 1.0 else found._replace(moves=self.factor * found.moves)

    def without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Return a point of the set with entries (of matrices, singular values) of size at most ``least`` set to zero.

        Where the set has equations, the other entries change to satisfy them, if they can.
        """
        if np.any(self.shift):
            return np.where(np.abs(w) > least, w, 0.0)
        return self.factor * self.point_without_tiny(w / self.factor, least / abs(self.factor))

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Return the same as `without_tiny`, before the set is scaled."""
        return np.where(np.abs(w) > least, w, 0.0)

    def scaled(self, factor: float) -> "Barrier":
        """Return the barrier of the set times a factor."""
        other = copy(self)
        other.factor, other.shift = factor * self.factor, factor * self.shift
        return other

    def translated(self, shift: Any) -> "Barrier":
        """Return the barrier of the set translated by a vector."""
        other = copy(self)
        other.shift = self.shift + shift
        return other


class ProductBarrier(Barrier):
    """The barrier of a product of sets: the sum of their barriers."""

    def __init__(self, parts: list[Barrier]):
        self.parts = parts
        self.nu = sum(part.nu for part in parts)
        self.quick_up_to = min(part.quick_up_to for part in parts)
        self.middle = np.concatenate([part.start() for part in parts])
        self.ends = np.cumsum([len(part.start()) for part in parts])[:-1]

    def _split(self, y: np.ndarray) -> list[tuple[Barrier, np.ndarray]]:
        return list(zip(self.parts, np.split(y, self.ends), strict=True))

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        return float(sum(part.value(piece) for part, piece in self._split(y)))

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return np.concatenate([part.weights(piece) for part, piece in self._split(y)])

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny weights to zero, in each set by its own method."""
        ends = np.cumsum([len(part.weights(part.start())) for part in self.parts])[:-1]
        pieces = zip(self.parts, np.split(w, ends), strict=True)
        return np.concatenate([part.without_tiny(piece, least) for part, piece in pieces])

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order, block by block."""
        found = [part.at(piece) for part, piece in self._split(y)]
        ends = np.cumsum([len(each.gradient) for each in found])[:-1]
        diagonal = all(each.moves.ndim == 1 for each in found)
        rows = [np.zeros((0, len(each.gradient))) if each.equations is None else each.equations for each in found]

        def recover(e: np.ndarray) -> np.ndarray:
            return np.concatenate([each.recover(piece) for each, piece in zip(found, np.split(e, ends), strict=True)])

        return Expansion(
            np.concatenate([each.gradient for each in found]),
            block_diag(*(_square(each.hessian) for each in found)),
            np.concatenate([each.moves for each in found])
            if diagonal
            else block_diag(*(_square(each.moves) for each in found)),
            recover,
            block_diag(*rows) if sum(map(len, rows)) else None,
            sum(each.rest for each in found),
        )


class ConditionedBarrier(Barrier):
    """A set's barrier and ``-sum log(bounds - rows w)``, for the points of the set with ``equations w = ends``.

    The variables are those of the set and the slacks of the inequalities. These are updated along with the weights:
    computed from them, small ones would lose digits.

    Parameters
    ----------
    inner : Barrier
        Barrier of the set.
    rows, bounds : arrays of shape (m, d) and (m,)
        Inequalities ``rows w < bounds``.
    equations, ends : arrays of shape (q, d) and (q,)
        Equations. They may depend on each other, and on those of the set.
    middle : array
        Variables of the set strictly inside that satisfy the equations.
    """

    def __init__(self, inner: Barrier, rows: Any, bounds: Any, equations: Any, ends: Any, middle: np.ndarray):
        self.inner, self.rows, self.own = inner, rows, len(middle)
        self.nu, self.quick_up_to = inner.nu + len(bounds), inner.quick_up_to
        found = inner.at(middle)
        images = _images_without_rounding(equations, found.moves)
        sizes = np.linalg.norm(images, axis=1)
        sizes[sizes == 0.0] = 1.0
        equations, ends = equations / sizes[:, None], ends / sizes  # in no units, like the equations of the set
        chosen = _independent(images / sizes[:, None], found.equations)
        self.equations, self.ends = equations[chosen], ends[chosen]
        middle = self._on_equations(middle, equations, ends)
        self.middle = np.concatenate([middle, bounds - rows @ inner.weights(middle)])

    def _on_equations(self, y: np.ndarray, equations: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return variables of the set near ``y`` whose weights satisfy the equations to rounding."""
        for _ in range(3 if len(ends) else 0):
            found, missing = self.inner.at(y), ends - equations @ self.inner.weights(y)
            own = np.zeros((0, len(found.gradient))) if found.equations is None else found.equations
            images, still = np.vstack([own, _images(equations, found.moves)]), found.recover(np.zeros(own.shape[1]))
            move = np.linalg.lstsq(images, np.append(np.zeros(len(own)), missing), rcond=1e-12)[0]
            y = y + found.recover(move) - still
        return y

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        inside = self.inner.value(y[: self.own])
        return inside + (_logs(y[self.own :]) if len(self.rows) else 0.0)

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return self.inner.weights(y[: self.own])

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny weights to zero and multiply the others by factors such that the equations hold."""
        kept = self.inner.without_tiny(w, least)
        missing = self.ends - self.equations @ kept
        return kept * (1.0 + np.linalg.lstsq(self.equations * kept, missing, rcond=None)[0]) if missing.any() else kept

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order. Auxiliary variables of the set do not enter the conditions."""
        found, slacks = self.inner.at(y[: self.own]), y[self.own :]
        images = _images(self.rows, found.moves)
        weighted, equations = images / slacks[:, None], _images(self.equations, found.moves)
        if found.equations is not None:
            equations = np.vstack([found.equations, equations])
        return found._replace(
            gradient=found.gradient + weighted.sum(axis=0),
            hessian=_square(found.hessian) + weighted.T @ weighted,
            recover=lambda e: np.concatenate([found.recover(e), -images @ e]),
            equations=equations if len(equations) else None,
            root=lambda: np.vstack([found.own_root(), weighted]),
        )


def _independent(rows: np.ndarray, others: np.ndarray | None) -> np.ndarray:
    """Return the numbers of as many rows of length one as do not depend on each other and on other rows."""
    if others is not None:
        basis = np.linalg.qr(others.T)[0]
        rows = rows - (rows @ basis) @ basis.T
    pivots, order = qr(rows.T, mode="r", pivoting=True, check_finite=False) if len(rows) else (rows, np.zeros(0, int))
    return np.sort(order[: np.count_nonzero(np.abs(np.diagonal(pivots)) > 1e-9)])


def strictly_inside(
    inner: Barrier, rows: np.ndarray, bounds: np.ndarray, equations: np.ndarray, ends: np.ndarray
) -> tuple[ConditionedBarrier, np.ndarray]:
    """Return the barrier of a homotopy toward a point that satisfies conditions strictly.

    Its weights are those of the set and a number ``t``. It stands for the conditions relaxed by ``t`` times what they
    lack at the centre of the set, where ``t = 1``; inequalities are relaxed a little further. A point strictly inside
    the set and the conditions exists if and only if ``t`` can be negative.

    Returns
    -------
    barrier : ConditionedBarrier
        Its ``middle`` is the centre of the set, and ``t = 1``.
    room : array
        By how much ``t = 1`` relaxes the inequalities.
    """
    y = inner.start()
    w, found = inner.weights(y), inner.at(y)
    units = _images_without_rounding(rows, found.moves) / np.sqrt(np.diagonal(_square(found.hessian)))
    sizes = np.linalg.norm(units, axis=1)
    sizes = np.where(sizes > 0.0, sizes, np.abs(rows) @ np.abs(w) + np.abs(bounds))  # the set may fix a product
    room = np.maximum(rows @ w - bounds, 0.0) + np.where(sizes > 0.0, sizes, 1.0)
    relaxed = ProductBarrier([inner, IntervalBarrier(np.array([2.0]))])
    lacking = (equations @ w - ends)[:, None]
    both = np.hstack([rows, -room[:, None]]), bounds, np.hstack([equations, -lacking]), ends
    return ConditionedBarrier(relaxed, *both, np.append(y, 0.5)), room


def _images(rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return ``rows moves``, where a vector ``moves`` stands for a diagonal matrix."""
    return rows * moves if moves.ndim == 1 else rows @ moves


def _images_without_rounding(rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return ``rows moves``, zero where the set fixes a product, as that of a symmetric matrix with a skew one."""
    return rows * moves if moves.ndim == 1 else products_without_rounding(rows, moves)


def _square(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix; a vector represents a diagonal matrix."""
    return np.diag(matrix) if matrix.ndim == 1 else matrix


def _add_to_diagonal(matrix: np.ndarray, numbers: Any) -> None:
    np.einsum("jj->j", matrix)[:] += numbers


def _logs(*rooms: Any) -> float:
    """Return minus the sum of the logarithms of all numbers, infinite unless all are positive."""
    if not all(room.min() > 0.0 for room in rooms):  # the method: np.min would take twice as long as the rest
        return np.inf
    return float(-sum(np.log(room).sum() for room in rooms))


# --- auxiliary variables --------------------


def eliminate(
    moves: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
    slope: np.ndarray,
    cross: np.ndarray,
    inner: np.ndarray,
    b: np.ndarray,
    a: np.ndarray | None = None,
    units: Any = 1.0,
    reduced: bool = False,
) -> Expansion:
    """Return a quadratic in ``e`` and ``t``, minimised over the auxiliary variables ``t``, as a quadratic in ``e``.

    Near the boundary of a set the logarithm of a common bound (a budget) adds a huge rank-one term, which the auxiliary
    variables compensate almost entirely. In a plain Schur complement all digits would cancel. The term is therefore
    passed separately, as columns ``(a, b)`` that represent ``(a'e + b't)^2 / 2`` each.

    Parameters
    ----------
    moves : array
        The matrix from ``e`` to weights.
    gradient, slope : arrays of shape (k,) and (m,)
        First derivatives in ``e`` and ``t``.
    hessian, cross, inner : arrays of shape (k, k), (k, m) and (m, m)
        Second derivatives in ``e``, in both, and in ``t``, without the columns ``(a, b)``. Vectors are diagonals.
    b, a : arrays of shape (m, r) and (k, r)
        The separate columns; ``a`` is zero by default.
    units : array of shape (m,)
        Factors from ``t`` to changes of the auxiliary variables in ``y``.
    reduced : bool
        Whether ``hessian`` is already the Schur complement, a diagonal that the caller computes without cancellation.
    """
    a = np.zeros((len(gradient), b.shape[1])) if a is None else a
    scale = 1.0 / np.sqrt(inner if inner.ndim == 1 else np.diagonal(inner))
    root = None if inner.ndim == 1 else _ridged_root(inner * scale * scale[:, None])

    def inverse_inner(right: np.ndarray) -> np.ndarray:
        if root is None:
            return (right.T * (scale * scale)).T
        return (scale * np.linalg.solve(root.T, np.linalg.solve(root, (right.T * scale).T)).T).T

    solved, still = inverse_inner(b), inverse_inner(slope)
    inverse = b.T @ solved
    _add_to_diagonal(inverse, 1.0)
    inverse = 1.0 / inverse if len(inverse) == 1 else np.linalg.inv(inverse)
    held = inverse @ (b.T @ still)
    lean = a - cross @ solved
    total = lean @ inverse @ lean.T
    if not reduced:
        inside = cross.T * scale[:, None]
        inside = inside if root is None else np.linalg.solve(root, inside)
        total -= inside.T @ inside
    if hessian.ndim == 1:
        _add_to_diagonal(total, hessian)
    else:
        total += hessian

    def recover(e: np.ndarray) -> np.ndarray:
        alone = still + inverse_inner(cross.T @ e)
        return np.concatenate([e, -units * (alone + solved @ (inverse @ (a.T @ e - b.T @ alone)))])

    rest = float(slope @ still - (b.T @ still) @ held)
    return Expansion(gradient - cross @ (still - solved @ held) - a @ held, total, moves, recover, rest=rest)


def _ridged_root(matrix: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a matrix with unit diagonal, plus as small a ridge as is needed."""
    for ridge in (0.0, 1e-15, 1e-13, 1e-11, 1e-8):
        root = _root(matrix + ridge * np.eye(len(matrix)))
        if root is not None:
            return root
    return np.eye(len(matrix))


def _root(matrix: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor of a matrix, None if it is not positive definite."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None


# --- smooth balls --------------------


class EllipsoidBarrier(Barrier):
    """``-log(1 - ||v||^2)`` for the ellipsoid of all ``w = root v`` with ``||v|| <= 1``.

    Parameters
    ----------
    root : array of shape (d,) or (d, d)
        Half-axes, or a square root of the matrix ``S`` of ``w' S^-1 w <= 1``.
    """

    nu = 1.0

    def __init__(self, root: np.ndarray):
        self.moves, self.middle = root, np.zeros(len(root))

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        return _logs(1.0 - y @ y)

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        room = 1.0 - y @ y
        slope = (2.0 / room) * y
        hessian = np.outer(slope, slope)
        _add_to_diagonal(hessian, 2.0 / room)
        return Expansion(slope, hessian, self.moves, lambda e: e)


class PowerBarrier(Barrier):
    """The barrier of the unit ball of an lp norm: auxiliary ``t_i > |w_i|^p`` that sum to less than one.

    Each pair has the barrier ``-log(t^(2/p) - w^2) - (1 - 1/p) log t`` of a power cone (Chares 2009).
    """

    def __init__(self, p: float, size: int):
        self.power, self.size, self.moves = 1.0 / p, size, np.ones(size)
        self.nu = 3.0 * size + 1.0
        self.middle = np.concatenate([np.zeros(size), np.full(size, 0.5 / size)])

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        w, t = y[: self.size], y[self.size :]
        if not t.min() > 0.0:
            return np.inf
        return _logs(t ** (2.0 * self.power) - w * w, 1.0 - t.sum()) - (1.0 - self.power) * np.log(t).sum()

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order.

        The second derivatives of a pair are written as sums of positive terms: as differences they would lose their
        digits toward the boundary.
        """
        w, t, a = y[: self.size], y[self.size :], self.power
        left, level, square = 1.0 - t.sum(), t ** (2.0 * a), w * w
        room, rise = level - square, 2.0 * a * t ** (2.0 * a - 1.0)
        slope = -rise / room - (1.0 - a) / t + 1.0 / left
        curve = (rise / t * (level + (2.0 * a - 1.0) * square)) / (room * room) + (1.0 - a) / (t * t)
        both = 2.0 * rise / t * (level - (2.0 * a - 1.0) * square) / room**3
        both += (2.0 / room + 4.0 * square / (room * room)) * (1.0 - a) / (t * t)
        cross, budget = np.diag(-2.0 * w * rise / (room * room)), np.full((self.size, 1), 1.0 / left)
        return eliminate(self.moves, 2.0 * w / room, both / curve, slope, cross, curve, budget, reduced=True)


# --- polytopes: logarithms of slacks --------------------


class IntervalBarrier(Barrier):
    """``-sum log(1 - x^2)`` for a box around zero, ``w = half x``.

    Parameters
    ----------
    half : array of shape (d,)
        Half the widths of the box.
    """

    quick_up_to = 200

    def __init__(self, half: np.ndarray):
        self.moves, self.middle = half, np.zeros(len(half))
        self.nu = 2.0 * len(half)

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        return _logs((1.0 - y) * (1.0 + y)) if np.abs(y).max() < 1.0 else np.inf

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        room = (1.0 - y) * (1.0 + y)
        return Expansion(2.0 * y / room, 2.0 * (1.0 + y * y) / (room * room), self.moves, lambda e: e)


class OrthantBarrier(Barrier):
    """``-sum log u`` for all ``w = moves u`` with ``u > 0`` and ``equations u = equations middle``.

    Local coordinates are relative changes of ``u``, so that entries close to zero are of ordinary size.
    """

    def __init__(self, moves: np.ndarray, equations: np.ndarray, middle: np.ndarray):
        self.moves, self.equations, self.middle = moves, equations, middle
        self.nu = float(len(middle))

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        return _logs(y)

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        ones = np.ones(len(y))
        return Expansion(-ones, ones, self.moves * y, lambda e: y * e, self.equations * y)

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny weights to zero and multiply the others by factors such that the equations hold."""
        kept = super().point_without_tiny(w, least)
        if self.moves.ndim == 2:
            return kept  # the weights do not determine the variables
        y = kept / self.moves
        missing = self.equations @ (self.middle - y)
        return kept * (1.0 + np.linalg.lstsq(self.equations * y, missing, rcond=None)[0])


def simplex_barrier(moves: np.ndarray, points: int) -> OrthantBarrier:
    """Return the barrier of the hull of the columns of ``moves`` (a vector represents a diagonal matrix)."""
    return OrthantBarrier(moves, np.ones((1, points)), np.full(points, 1.0 / points))


class SlackBarrier(Barrier):
    """``-sum log(1 - a'x / b)`` over the rows ``a`` of ``A``, for all ``w = moves x`` with ``A x < b``; ``b > 0``.

    The variables are ``x`` in units of the largest ``b``, so that those of a product of sets have sizes that compare.
    """

    def __init__(self, A: np.ndarray, b: np.ndarray, moves: np.ndarray):
        unit = b.max()
        self.rows, self.moves, self.middle = A * unit / b[:, None], moves * unit, np.zeros(A.shape[1])
        self.nu = float(len(b))

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        return _logs(1.0 - self.rows @ y)

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        weighted = self.rows / (1.0 - self.rows @ y)[:, None]
        return Expansion(weighted.sum(axis=0), weighted.T @ weighted, self.moves, lambda e: e)


class BudgetBarrier(Barrier):
    """The barrier of all ``v`` with ``-below <= v <= above`` and ``sum_j |v_j| <= budget``, or ``sum_j v_j = budget``.

    Where both signs are possible, auxiliary ``t_j > |v_j|`` enter the sum. Weights without room stay at zero.

    Parameters
    ----------
    below, above : arrays of shape (d,)
        Room below and above zero, not negative.
    budget : float
        Bound on the sum.
    exhausted : bool
        Whether the sum equals the budget. Then ``below`` is zero.
    """

    quick_up_to = 200

    def __init__(self, below: np.ndarray, above: np.ndarray, budget: float, exhausted: bool = False):
        self.free = below + above > 0.0
        self.moves = self.free.astype(np.float64)
        self.below, self.above = np.where(self.free, below, 1.0), np.where(self.free, above, 1.0)
        self.budget, self.exhausted, self.size = budget, exhausted, len(below)
        self.both = np.flatnonzero(self.free & (below > 0.0) & (above > 0.0))
        self.signs = np.where(self.free, np.sign(above - below), 0.0)  # of the others
        self.signs[self.both] = 0.0
        self.nu = 2.0 * (self.size + len(self.both)) + 1.0
        if exhausted:
            self.middle = above * (budget / above.sum())
        else:
            level = budget / (np.count_nonzero(self.free) + 1.0)
            start = self.signs * np.minimum(level, 0.5 * np.maximum(self.below, self.above))
            self.middle = np.concatenate([start, np.full(len(self.both), level)])

    def _left(self, y: np.ndarray) -> float:
        """Return the part of the budget that is not used."""
        return float(self.budget - self.signs @ y[: self.size] - y[self.size :].sum())

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        v, t = y[: self.size], y[self.size :]
        each = v[self.both]
        rooms = [v + self.below, self.above - v]
        if not self.exhausted:
            rooms += [t - each, t + each, np.array([self._left(y)])]
        return _logs(*(room for room in rooms if len(room)))

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``v``, in units of its room, and ``log t``."""
        v, t = y[: self.size], y[self.size :]
        low, high = 1.0 / (v + self.below), 1.0 / (self.above - v)
        gradient, hessian = high - low, low**2 + high**2
        if self.exhausted:  # units of the room: the elimination of the equation picks a variable with much of it
            units = 1.0 / np.sqrt(hessian)
            ones, row = np.ones(self.size), (units * self.free)[None, :]
            return Expansion(gradient * units, ones, self.moves * units, lambda e: units * e, row)
        left, each = self._left(y), v[self.both]
        room = (t - each) * (t + each)
        gradient += self.signs / left
        gradient[self.both] += 2.0 * each / room
        hessian[self.both] += 2.0 / (t * t + each * each)  # the auxiliary variables are eliminated
        inner = 2.0 * t * t * (t * t + each * each) / (room * room)
        cross = np.zeros((self.size, len(t)))
        cross[self.both, np.arange(len(t))] = -4.0 * t * each / room * t / room
        a, b = (self.signs / left)[:, None], (t / left)[:, None]
        slope = t / left - 2.0 * t * t / room
        return eliminate(self.moves, gradient, hessian, slope, cross, inner, b, a, t, reduced=True)

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny weights to zero; if the budget must be exhausted, others that are not at a bound make up for it."""
        kept = super().point_without_tiny(w, least)
        if not self.exhausted:
            return kept
        kept = np.where(self.above - kept > least, kept, self.above * self.free)
        room = np.minimum(kept, self.above - kept) * self.free
        missing = self.budget - kept.sum()
        return kept + room * (missing / room.sum()) if abs(missing) < room.sum() else w


class LargestBarrier(Barrier):
    """The barrier of all ``v`` with ``sum_g max |v_g| <= 1``: auxiliary ``t_g`` exceed all sizes in a group.

    Parameters
    ----------
    groups : array of int of shape (d,)
        The group of each entry, numbered from 0.
    moves : array of shape (d,)
        Factors from ``v`` to weights.
    """

    def __init__(self, groups: np.ndarray, moves: np.ndarray):
        self.groups, self.moves = groups, moves
        self.count = count = int(groups.max()) + 1
        self.nu = 2.0 * len(groups) + 1.0
        self.within = np.eye(count)[groups]
        self.middle = np.concatenate([np.zeros(len(groups)), np.full(count, 1.0 / (count + 1.0))])

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        v, t = y[: len(self.groups)], y[len(self.groups) :]
        each = t[self.groups]
        if not (t.min() > 0.0 and (np.abs(v) < each).all()):
            return np.inf
        return _logs((each - v) * (each + v), 1.0 - t.sum())

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``v`` and relative changes of ``t``."""
        v, t = y[: len(self.groups)], y[len(self.groups) :]
        each, left = t[self.groups], 1.0 - t.sum()
        room = (each - v) * (each + v)
        # The coupling divides factor by factor, so that no product overflows.
        curve, coupling = 2.0 * (each * each + v * v) / (room * room), -4.0 * (v * each / room) * each / room
        inner = np.bincount(self.groups, curve * each**2, self.count)
        slope = np.bincount(self.groups, -2.0 * each * each / room, self.count) + t / left
        cross = self.within * coupling[:, None]
        return eliminate(self.moves, 2.0 * v / room, curve, slope, cross, inner, (t / left)[:, None], units=t)


class OrderedBarrier(Barrier):
    """The barrier of all ``w`` with ``sum_i weights_i |w|_(i) <= 1``, the largest first.

    The sum is the maximum over all assignments of weights to entries. The dual of this assignment problem bounds it:
    numbers ``a_i`` and ``b_j`` with ``a_i + b_j >= weights_i |w_j|`` whose sum is at most one. Since a constant may be
    moved from the ``a_i`` to the ``b_j``, the last ``a_i`` is fixed at zero.
    """

    def __init__(self, weights: np.ndarray):
        self.prices, self.size = weights, len(weights)
        self.nu = 2.0 * self.size**2 + 1.0
        self.moves = np.ones(self.size)
        self.middle = np.concatenate([np.zeros(self.size), np.full(2 * self.size - 1, 0.25 / self.size)])

    def _rooms(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the slacks of ``a_i + b_j``, above and below, and of the budget."""
        d = self.size
        w, a, b = y[:d], np.append(y[d : 2 * d - 1], 0.0), y[2 * d - 1 :]
        total, part = a[:, None] + b, self.prices[:, None] * w
        return total - part, total + part, 1.0 - a.sum() - b.sum()

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        return _logs(*self._rooms(y))

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        each = self.prices[:, None]
        above, below, left = self._rooms(y)
        curve, tilt = 1.0 / above**2 + 1.0 / below**2, each * (1.0 / below**2 - 1.0 / above**2)
        pull = 1.0 / above + 1.0 / below
        slope = 1.0 / left - np.concatenate([pull.sum(axis=1)[:-1], pull.sum(axis=0)])
        cross = np.hstack([tilt.T[:, :-1], np.diag(tilt.sum(axis=0))])
        inner = np.block([[np.diag(curve.sum(axis=1)[:-1]), curve[:-1]], [curve[:-1].T, np.diag(curve.sum(axis=0))]])
        outer = (each * (1.0 / above - 1.0 / below)).sum(axis=0)
        bound = np.full((len(slope), 1), 1.0 / left)
        hessian = (each**2 * curve).sum(axis=0)
        return eliminate(self.moves, outer, hessian, slope, cross, inner, bound)


# --- sums of norms --------------------
#
# A norm is ||v|| = min over p > 0 of (||v||^2 / p + p) / 2, so a bound on a sum of norms is a bound on a sum of squares
# over auxiliary p. The logarithms of its slack and of all p form a self-concordant barrier (Nesterov and Nemirovski
# 1994, section 5.4).


class GroupBarrier(Barrier):
    """``-log(2 - sum_g (||v_g||^2 / p_g + p_g)) - sum_g log p_g`` for all ``v`` with ``sum_g ||v_g|| <= 1``.

    Parameters
    ----------
    groups : array of int of shape (k,)
        The group of each entry of ``v``, numbered from 0.
    moves : array of shape (d,) or (d, k)
        The matrix from ``v`` to weights.
    """

    def __init__(self, groups: np.ndarray, moves: np.ndarray):
        self.groups, self.moves = groups, moves
        self.count = count = int(groups.max()) + 1
        self.nu = count + 1.0
        self.within = np.eye(count)[groups]
        self.middle = np.concatenate([np.zeros(len(groups)), np.full(count, 2.0 / (count + 1.0))])

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        v, p = y[: len(self.groups)], y[len(self.groups) :]
        return _logs(p, 2.0 - p.sum() - (v * v / p[self.groups]).sum()) if p.min() > 0.0 else np.inf

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``v`` and relative changes of ``p``."""
        v, p = y[: len(self.groups)], y[len(self.groups) :]
        each, lean = p[self.groups], v / p[self.groups]
        squares = np.bincount(self.groups, v * lean, self.count)
        room = 2.0 - p.sum() - squares.sum()
        fall, drop = -2.0 * lean / room, (squares - p) / room  # derivatives of log(room) in v and in log p
        inner, cross = 2.0 * squares / room + 1.0, self.within * fall[:, None]
        hessian, columns = 2.0 / (each * room), (drop[:, None], fall[:, None])
        return eliminate(self.moves, -fall, hessian, -drop - 1.0, cross, inner, *columns, units=p)


class SupportBarrier(Barrier):
    """The unit ball of the k-support norm: ``sum_i w_i^2 / p_i <= 1`` for some ``p`` in ``[0, 1]`` of sum ``k``.

    See Argyriou, Foygel and Srebro (2012).
    """

    quick_up_to = 200

    def __init__(self, k: int, size: int):
        self.k, self.size, self.moves = k, size, np.ones(size)
        self.nu = 2.0 * size + 2.0
        self.middle = np.concatenate([np.zeros(size), np.full(size, k / (k + size))])

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        w, p = y[: self.size], y[self.size :]
        return _logs(1.0 - (w * w / p).sum(), p, 1.0 - p, self.k - p.sum()) if p.min() > 0.0 else np.inf

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``w`` and relative changes of ``p``."""
        w, p = y[: self.size], y[self.size :]
        lean, other, left = w / p, p / (1.0 - p), self.k - p.sum()
        squares = w * lean
        room = 1.0 - squares.sum()
        fall, extra = -2.0 * lean / room, 1.0 + other**2
        inner = 2.0 * squares / room + extra
        slope, hessian = -squares / room - 1.0 + other + p / left, 2.0 * extra / (p * room * inner)
        b, a = np.column_stack([squares / room, p / left]), np.column_stack([fall, np.zeros(self.size)])
        return eliminate(self.moves, -fall, hessian, slope, np.diag(fall), inner, b, a, p, reduced=True)


# --- matrices: changes of a positive definite P = L L' are written L E L' --------------------


def symmetric_basis(side: int) -> np.ndarray:
    """Return an orthonormal basis of the symmetric matrices, of shape (count, side, side)."""
    first, second = np.triu_indices(side)
    basis = np.zeros((len(first), side, side))
    size = np.where(first == second, 1.0, np.sqrt(0.5))
    basis[np.arange(len(first)), first, second] = size
    basis[np.arange(len(first)), second, first] = size
    return basis


class TraceBarrier(Barrier):
    """``-log(2 - tr P - tr W P^-1 W') - log det P`` for matrices whose singular values sum to at most one.

    At the optimal ``P``, the square root of ``W' W``, both traces equal the trace norm. ``P`` is a square matrix whose
    side is the shorter side of ``W``.
    """

    def __init__(self, rows: int, columns: int):
        flat = np.arange(rows * columns).reshape(rows, columns)
        self.order = (flat if rows >= columns else flat.T).ravel()  # of the entries, with columns the shorter side
        self.long, self.short = max(rows, columns), min(rows, columns)
        self.basis = symmetric_basis(self.short)
        self.nu = self.short + 1.0
        self.moves = np.ones(rows * columns)
        self.middle = np.concatenate([np.zeros(rows * columns), 2.0 / self.nu * np.eye(self.short).ravel()])

    def _parts(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``W``, with columns the shorter side, and ``P``."""
        W = y[: len(self.order)][self.order].reshape(self.long, self.short)
        return W, y[len(self.order) :].reshape(self.short, self.short)

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        W, P = self._parts(y)
        L = _root(P)
        if L is None:
            return np.inf
        V = np.linalg.solve(L, W.T)
        return _logs(2.0 - np.trace(P) - (V * V).sum()) - 2.0 * float(np.log(np.diagonal(L)).sum())

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
        fall = (-2.0 * V @ inverse).ravel() / room
        drop = np.tensordot(self.basis, squares - L.T @ L, 2) / room
        hessian = np.kron(np.eye(self.long), (2.0 / room) * (inverse.T @ inverse))
        cross = ((-2.0 / room) * (V @ self.basis @ inverse)).reshape(len(drop), -1).T
        inner = (2.0 / room) * np.tensordot(self.basis @ squares, self.basis, ([1, 2], [1, 2]))
        inner = 0.5 * (inner + inner.T)
        _add_to_diagonal(inner, 1.0)
        slope = -drop - np.trace(self.basis, axis1=1, axis2=2)
        found = eliminate(self.moves, -fall, hessian, slope, cross, inner, drop[:, None], fall[:, None])
        back = np.argsort(self.order)

        def recover(e: np.ndarray) -> np.ndarray:
            E = np.tensordot(found.recover(e[self.order])[len(e) :], self.basis, 1)
            return np.concatenate([e, (L @ E @ L.T).ravel()])

        hessian = found.hessian[np.ix_(back, back)]
        return found._replace(gradient=found.gradient[back], hessian=hessian, recover=recover)


class SpectrahedronBarrier(Barrier):
    """``-log det W`` for the positive semidefinite matrices of trace one, where ``W`` moves by ``L E L'``."""

    quick_up_to = 400

    def __init__(self, side: int):
        self.side, self.basis, self.moves = side, symmetric_basis(side), np.ones(side * side)
        self.nu, self.middle = float(side), np.eye(side).ravel() / side

    def value(self, y: np.ndarray) -> float:
        """Return the value of the barrier, infinite outside."""
        L = _root(y.reshape(self.side, self.side))
        return np.inf if L is None else float(-2.0 * np.log(np.diagonal(L)).sum())

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
