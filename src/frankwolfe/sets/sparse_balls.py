"""Balls of sorted norms: few coordinates at a time, or fewer the more they cost."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import routine
from frankwolfe.sets.atoms import Block, vertex_of
from frankwolfe.sets.barriers.inequalities import LargestBarrier, OrderedBarrier
from frankwolfe.sets.barriers.perspective import SupportBarrier
from frankwolfe.sets.base import ball
from frankwolfe.sets.checks import one_of, same_length, vector, whole
from frankwolfe.sets.image_diameters import image_diameters
from frankwolfe.sets.rescaling import normalise, oppose
from frankwolfe.trackers.tracker_defaults import tracker


@tracker
class Selection(NamedTuple):
    """Tracker of the sets whose oracle picks the largest entries of ``r``: room for their sizes and for a `Block`."""

    sizes: np.ndarray
    at: np.ndarray
    values: np.ndarray

    @classmethod
    def over(cls, d: int, most: int) -> "Selection":
        """Room for ``d`` sizes and for blocks of up to ``most`` entries."""
        return cls(np.zeros(d), np.zeros(most, dtype=np.int64), np.zeros(most))

    def index_ranges(self):
        """Return what the index arrays of a restored tracker must be like."""
        return {"at": (0, len(self.sizes))}


@routine
def ranked(values, rank):
    """Return the entry that sorting would put at place ``rank``; ``values`` is shuffled (Hoare's quickselect)."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot, i, j = values[rank], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < rank:
            low = i
        if rank < i:
            high = j
    return values[rank]


@ball
class KSupportBall(NamedTuple):
    """The hull of all vectors with at most ``k`` non-zeros and norm at most ``radius``.

    With the l2 norm this is the ball of the k-support norm, between the l1 ball (``k = 1``) and the l2 one (``k = d``):
    as sparse as it is told, but correlated features share their weight. With the l-infinity norm it is the k-sparse
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
    >>> fw.KSupportBall(2, 5.0).vertex([3.0, 1.0, -4.0])
    array([-3.,  0.,  4.])
    >>> fw.KSupportBall(2, 5.0, norm=float("inf")).vertex([3.0, 1.0, -4.0])
    array([-5.,  0.,  5.])
    """

    k: int
    radius: float
    norm: float = 2.0

    def _checked(self):
        return self._replace(
            k=whole("KSupportBall", "k", self.k),
            radius=positive("KSupportBall", "radius", self.radius),
            norm=one_of("KSupportBall", "norm", self.norm, (2.0, np.inf)),
        )

    def for_size(self, d):
        """Return the set itself, if ``k`` is at most ``d``."""
        if self.k > d:
            raise ValueError(f"KSupportBall: k must be at most the number of columns, {d}; got {self.k}")
        return self

    def tracker(self, d):
        """Room for a vertex."""
        return Selection.over(d, self.k)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``: on the ``k`` largest ``|r_j|``, the first of equals."""
        k, sizes, at, values = self.k, tracker.sizes, tracker.at, tracker.values
        for j in range(len(r)):
            sizes[j] = abs(r[j])
        least = ranked(sizes, len(r) - k)
        for j in range(len(r)):
            sizes[j] = abs(r[j])
        found, ties = 0, k
        for j in range(len(r)):
            ties -= 1 if sizes[j] > least else 0
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

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        sizes = np.abs(np.asarray(direction, dtype=np.float64))
        top = np.partition(sizes, len(sizes) - self.k)[len(sizes) - self.k :]
        largest = float(top.max())
        if np.isinf(self.norm) or not largest > 0.0:
            return self.radius * float(top.sum())
        return self.radius * largest * float(np.linalg.norm(top / largest))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        sizes = np.sort(np.abs(np.divide(w, self.radius)))[::-1]
        if np.isinf(self.norm):
            return bool(sizes[0] <= 1.0 + tolerance and sizes.sum() <= self.k * (1.0 + tolerance))
        return bool(_k_support_norm(sizes, self.k) <= 1.0 + tolerance)

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        if np.isinf(self.norm):
            capped = LargestBarrier(np.arange(size), np.ones(size), float(self.k), capped=True)
            return capped.scaled(self.radius)
        return SupportBarrier(self.k, size).scaled(self.radius)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius * (float(np.sqrt(self.k)) if np.isinf(self.norm) else 1.0)

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 and 2 upper bounds."""
        return image_diameters(self, X)


def _k_support_norm(sizes: np.ndarray, k: int) -> float:
    """k-support norm from sorted sizes, the largest first (Argyriou, Foygel and Srebro 2012).

    Its square is the least ``sum_i sizes_i^2 / theta_i`` with ``0 <= theta_i <= 1`` that sum to ``k``: one for the
    first few, in proportion to the sizes for the rest. Which few is found by trying.
    """
    first = np.arange(k)
    heads = np.concatenate([[0.0], np.cumsum(sizes**2)])[:k]
    tails = np.cumsum(sizes[::-1])[::-1][:k]
    squares = heads + tails**2 / (k - first)
    return float(np.sqrt(squares[sizes[:k] * (k - first) <= tails * (1.0 + 1e-12)].min(initial=np.inf)))


@ball
class OWLBall(NamedTuple):
    """The ordered weighted l1 ball: all ``w`` with ``sum_i weights_i |w|_(i) <= radius``, the largest ``|w_j|`` first.

    Equal weights give the l1 ball, ``(1, 0, ..., 0)`` the l-infinity ball, weights that fall by equal steps OSCAR,
    which gives correlated features the same weight, and quantiles SLOPE.

    Parameters
    ----------
    weights : array of shape (d,)
        Not negative, not increasing, the first one positive.
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.OWLBall([2.0, 1.0, 1.0], 6.0).vertex([3.0, 2.5, -1.0])
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
        return self._replace(weights=weights, radius=positive("OWLBall", "radius", self.radius))

    def for_size(self, d):
        """Return the set itself, if it has ``d`` coordinates."""
        same_length("OWLBall", "weights", len(self.weights), d)
        return self

    def tracker(self, d):
        """Room for a vertex."""
        return Selection.over(d, d)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``: equal sizes on the first so many of the largest ``|r_j|``."""
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

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        sizes = np.sort(np.abs(np.asarray(direction, dtype=np.float64)))[::-1]
        return self.radius * float(np.max(np.cumsum(sizes) / np.cumsum(self.weights)))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        sizes = np.sort(np.abs(w))[::-1]
        return bool(self.weights @ sizes <= self.radius * (1.0 + tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return OrderedBarrier(self.weights).scaled(self.radius)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius * float(np.max(np.sqrt(np.arange(1, d + 1)) / np.cumsum(self.weights)))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 and 2 upper bounds."""
        return image_diameters(self, X)
