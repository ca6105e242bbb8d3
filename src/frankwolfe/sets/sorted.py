"""Sets described by sorted entries: k-support balls, ordered weighted l1 balls, and monotone vectors."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.compile.part import finite
from frankwolfe.sets.atoms import Block, Full, normalise, oppose
from frankwolfe.sets.barriers import BudgetBarrier, OrderedBarrier, SupportBarrier, simplex_barrier
from frankwolfe.sets.base import ball, constraint_set, from_reaches, of_columns, reaches, tracker
from frankwolfe.sets.checks import one_of, rounding, same_length, vector


@tracker
class Selection(NamedTuple):
    """Scratch memory for oracles that select the largest entries of ``r``."""

    sizes: np.ndarray
    at: np.ndarray
    values: np.ndarray

    @classmethod
    def over(cls, d: int, most: int) -> "Selection":
        """Return memory for ``d`` sizes and a `Block` of up to ``most`` entries."""
        return cls(np.zeros(d), np.zeros(most, dtype=np.int64), np.zeros(most))

    def index_ranges(self):
        """Return the ranges of index arrays, which a restored tracker is checked against."""
        return {"at": (0, len(self.sizes))}


@ball
class KSupportBall(NamedTuple):
    """The hull of all vectors with at most ``k`` non-zeros and norm at most ``radius``.

    With the l2 norm this is the ball of the k-support norm, between the l1 ball (``k = 1``) and the l2 ball
    (``k = d``): sparse, but correlated features share their weight. With the l-infinity norm it is the k-sparse
    polytope: all ``w`` with ``|w_j| <= radius`` and ``||w||_1 <= k radius``.

    Parameters
    ----------
    k : int
        Non-zeros of a vertex, at least 1 and at most the number of columns.
    radius : float
        Positive.
    norm : 2 or inf
        Norm of the vertices.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.KSupportBall(2, 5.0).vertex([3.0, 1.0, -4.0])
    array([-3.,  0.,  4.])
    >>> fw.sets.KSupportBall(2, 5.0, norm=float("inf")).vertex([3.0, 1.0, -4.0])
    array([-5.,  0.,  5.])
    """

    k: int
    radius: float
    norm: float = 2.0

    def _checked(self):
        return self._replace(norm=one_of("KSupportBall", "norm", self.norm, (2.0, np.inf)))

    def for_size(self, d):
        """Return the set, or raise ValueError if ``k`` is larger than ``d``."""
        if self.k > d:
            raise ValueError(f"KSupportBall: k must be at most the number of columns, {d}; got {self.k}")
        return self

    def for_columns(self, columns):
        """Return the ball of some entries where all others are zero."""
        return self._replace(k=min(self.k, len(columns)))

    def sparse_hulls(self, k):
        """Return the ball of the smaller ``k``: its norm is the same for points with so few non-zeros."""
        return [(self._replace(k=min(self.k, k)), None)]

    def tracker(self, d):
        """Return scratch memory for a vertex."""
        return Selection.over(d, self.k)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: on the ``k`` largest ``|r_j|``, ties broken by position."""
        k, at, values, sizes = self.k, tracker.at, tracker.values, np.abs(r)
        least = np.partition(sizes, len(r) - k)[len(r) - k]
        # Entries above the k-th largest are taken first; ``ties`` counts how many equal to it are still needed.
        found, ties = 0, k - np.sum(sizes > least)
        for j in range(len(r)):
            above = sizes[j] > least
            if found < k and (above or (ties > 0 and not sizes[j] < least)):
                ties -= 0 if above else 1
                at[found], values[found] = j, r[j]
                found += 1
        if self.norm == 2.0:
            oppose(values, self.radius, values)
        else:
            for place in range(k):
                values[place] = -self.radius if values[place] > 0.0 else self.radius
        return Block(at, values)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        sizes = np.abs(np.asarray(direction, dtype=np.float64))
        top = np.partition(sizes, len(sizes) - self.k)[len(sizes) - self.k :]
        largest = float(top.max())
        if np.isinf(self.norm) or not largest > 0.0:
            return self.radius * float(top.sum())
        return self.radius * largest * float(np.linalg.norm(top / largest))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        sizes = np.sort(np.abs(np.divide(w, self.radius)))[::-1]
        if np.isinf(self.norm):
            return bool(sizes[0] <= 1.0 + tolerance and sizes.sum() <= self.k * (1.0 + tolerance))
        return bool(_k_support_norm(sizes, self.k) <= 1.0 + tolerance)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        if np.isinf(self.norm):
            return BudgetBarrier(np.ones(size), np.ones(size), float(self.k)).scaled(self.radius)
        return SupportBarrier(self.k, size).scaled(self.radius)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius * (float(np.sqrt(self.k)) if np.isinf(self.norm) else 1.0)


def _k_support_norm(sizes: np.ndarray, k: int) -> float:
    """Return the k-support norm from sizes in decreasing order (Argyriou, Foygel and Srebro 2012).

    Its square is the least ``sum_i sizes_i^2 / theta_i`` with ``0 <= theta_i <= 1`` that sum to ``k``: one for the
    first few, proportional to the sizes for the rest. All possible numbers of ones are tried.
    """
    first = np.arange(k)
    heads = np.concatenate([[0.0], np.cumsum(sizes**2)])[:k]
    tails = np.cumsum(sizes[::-1])[::-1][:k]
    squares = heads + tails**2 / (k - first)
    return float(np.sqrt(squares[sizes[:k] * (k - first) <= tails * (1.0 + 1e-12)].min(initial=np.inf)))


@ball
class OWLBall(NamedTuple):
    """The ordered weighted l1 ball: all ``w`` with ``sum_i weights_i |w|_(i) <= radius``, the largest ``|w_j|`` first.

    Equal weights give the l1 ball, ``(1, 0, ..., 0)`` the l-infinity ball, linearly decreasing weights OSCAR, which
    gives correlated features the same weight, and quantiles SLOPE.

    Parameters
    ----------
    weights : array of shape (d,)
        Not negative, not increasing, the first one positive.
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.OWLBall([2.0, 1.0, 1.0], 6.0).vertex([3.0, 2.5, -1.0])
    array([-2., -2.,  0.])
    """

    weights: Any
    radius: float

    def _checked(self):
        weights = vector("OWLBall", "weights", self.weights)
        if weights.min() < 0.0 or weights[0] <= 0.0:
            raise ValueError(f"OWLBall: weights must not be negative, and the first positive; got {weights.min():g}")
        rises = np.flatnonzero(np.diff(weights) > 0.0)
        if rises.size:
            i = int(rises[0])
            raise ValueError(
                f"OWLBall: weights must not increase, but entry {i} is {weights[i]:g} and entry {i + 1} is "
                f"{weights[i + 1]:g}: sort them, the largest first"
            )
        return self._replace(weights=weights)

    def for_size(self, d):
        """Return the set, or raise ValueError if it does not have ``d`` coordinates."""
        same_length("OWLBall", "weights", len(self.weights), d)
        return self

    def for_columns(self, columns):
        """Return the ball of some entries where all others are zero: the smallest weights belong to those."""
        return self._replace(weights=self.weights[: len(columns)])

    def tracker(self, d):
        """Return scratch memory for a vertex."""
        return Selection.over(d, d)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: equal sizes on the largest ``|r_j|``, as many as is best."""
        weights, sizes, at, values = self.weights, tracker.sizes, tracker.at, tracker.values
        normalise(r, sizes)
        for j in range(len(r)):
            sizes[j] = -abs(sizes[j])
        order = np.argsort(sizes, kind="mergesort")
        best, count, price, gain, cost = -1.0, 0, 0.0, 0.0, 0.0
        for place in range(len(r)):
            gain -= sizes[order[place]]
            cost += weights[place]
            if gain > best * cost:
                best, count, price = gain / cost, place + 1, cost
        amount = self.radius / price
        for place in range(count):
            j = order[place]
            at[place], values[place] = j, (-amount if r[j] > 0.0 else amount)
        return Block(at[:count], values[:count])

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        sizes = np.sort(np.abs(np.asarray(direction, dtype=np.float64)))[::-1]
        return self.radius * float(np.max(np.cumsum(sizes) / np.cumsum(self.weights)))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        sizes = np.sort(np.abs(w))[::-1]
        return bool(self.weights @ sizes <= self.radius * (1.0 + tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        return OrderedBarrier(self.weights).scaled(self.radius)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius * float(np.max(np.sqrt(np.arange(1, d + 1)) / np.cumsum(self.weights)))


@constraint_set
class MonotoneBox(NamedTuple):
    """All ``w`` in ascending order, between ``lower`` and ``upper``. Vertices: one step from ``lower`` to ``upper``.

    Parameters
    ----------
    lower, upper : float
        Finite bounds.
    increasing : bool
        False for ``upper >= w_1 >= ... >= w_d >= lower``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.MonotoneBox(0.0, 1.0).vertex([1.0, -3.0, 1.0])
    array([0., 1., 1.])
    """

    lower: float
    upper: float
    increasing: bool = True

    def _checked(self):
        lower, upper = finite("MonotoneBox", "lower", self.lower), finite("MonotoneBox", "upper", self.upper)
        if lower > upper:
            raise ValueError(f"MonotoneBox: lower must not exceed upper, but lower = {lower:g} > upper = {upper:g}")
        if not isinstance(self.increasing, bool | np.bool_):
            raise TypeError(f"MonotoneBox: increasing must be True or False, got {self.increasing!r}")
        return self._replace(lower=lower, upper=upper, increasing=bool(self.increasing))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: ``upper`` on the end of ``r`` with the least sum."""
        room, d = tracker.room, len(r)
        total, least, raised = 0.0, 0.0, 0
        for count in range(1, d + 1):
            total += r[d - count] if self.increasing else r[count - 1]
            if total < least:
                least, raised = total, count
        for j in range(d):
            high = j >= d - raised if self.increasing else j < raised
            room[j] = self.upper if high else self.lower
        return Full(room)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        ends = np.cumsum(direction[::-1] if self.increasing else direction)
        return self.lower * float(ends[-1]) + (self.upper - self.lower) * max(0.0, float(ends.max()))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to rounding and ``tolerance`` times the width."""
        w = np.asarray(w, dtype=np.float64)
        slack = tolerance * (self.upper - self.lower) + rounding(self.lower, self.upper)
        steps = np.diff(w) if self.increasing else -np.diff(w)
        return bool(np.all(steps >= -slack) and w.min() >= self.lower - slack and w.max() <= self.upper + slack)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        steps = np.tri(size, size + 1) if self.increasing else np.tri(size, size + 1)[::-1]
        return simplex_barrier((self.upper - self.lower) * steps, size + 1).translated(self.lower)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return (self.upper - self.lower) * float(np.sqrt(d))

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest two vertices."""
        if X.shape[0] * X.shape[1] > 1e8:  # too many images to compare
            return from_reaches(X, reaches(self, X), self.diameter(X.shape[1]))
        dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        ends = np.cumsum(dense[:, ::-1] if self.increasing else dense, axis=1)
        return of_columns(self.upper - self.lower, ends, with_zero=True)
