"""Budgets with a bound on each weight: l1 budgets within a box, and portfolios with a cap on each position.

Both oracles solve a fractional knapsack: they spend the budget on the entries of ``r`` that gain most, each up to its
bound, until it is exhausted.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import routine
from frankwolfe.sets.atoms import Full
from frankwolfe.sets.barriers import BudgetBarrier
from frankwolfe.sets.base import SPENT, Bounds, Hull, Knapsack, Structure, constraint_set, tracker
from frankwolfe.sets.checks import number_or_vector, one_for_each, ordered


@tracker
class Spending(NamedTuple):
    """What an oracle may spend, and scratch memory.

    Attributes
    ----------
    near, lower, upper : arrays of shape (d,)
        The point at which nothing is spent, and how far each weight may move from there.
    budget : float
        Bound on the sum of the moves.
    most : int
        Number of moves that always exhaust the budget.
    keys, room : arrays of shape (d,)
        Memory for the gains of the moves, and for a vertex.
    """

    near: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    budget: float
    most: int
    keys: np.ndarray
    room: np.ndarray

    @classmethod
    def over(cls, near: np.ndarray, lower: np.ndarray, upper: np.ndarray, budget: float) -> "Spending":
        """Return the tracker for these bounds and that budget."""
        sides = np.stack([near - lower, upper - near])
        shortest = np.sort(np.where(sides > 0.0, sides, np.inf).min(axis=0))
        most = int(np.searchsorted(np.cumsum(shortest), budget)) + 1
        return cls(near, lower, upper, budget, min(most, len(near)), np.zeros(len(near)), np.zeros(len(near)))

    def index_ranges(self) -> dict[str, Any]:
        """Return the valid ranges of the integer arrays: there are none."""
        return {}


@routine
def leading(keys, count):
    """Return the positions of at least ``count`` largest keys, the largest first, ties in order of position."""
    at = np.arange(len(keys))
    if count < len(keys):
        at = np.flatnonzero(keys >= np.partition(keys, len(keys) - count)[len(keys) - count])
    return at[np.argsort(-keys[at], kind="mergesort")]


def spent(keys: np.ndarray, caps: np.ndarray, budget: float) -> np.ndarray:
    """Return how much of a budget each entry gets: in decreasing order of the keys, each entry up to its cap."""
    order = np.argsort(-keys, kind="stable")
    amounts = caps[order]
    before = np.concatenate([[0.0], np.cumsum(amounts)[:-1]])
    found = np.empty(len(keys))
    found[order] = np.clip(budget - before, 0.0, amounts)
    return found


def last_gain(keys: np.ndarray, caps: np.ndarray, budget: float) -> float:
    """Return the key of the entry that gets the next unit of the budget."""
    order = np.argsort(-keys, kind="stable")
    place = int(np.searchsorted(np.cumsum(caps[order]), budget, side="right"))
    return float(keys[order[min(place, len(order) - 1)]])


def zero_elsewhere(lower: np.ndarray, upper: np.ndarray, columns: np.ndarray) -> bool:
    """Return whether all entries but ``columns`` may be zero within bounds."""
    return not ((np.delete(lower, columns) > 0.0).any() or (np.delete(upper, columns) < 0.0).any())


def sparse_budgets(lower: np.ndarray, upper: np.ndarray, radius: float, k: int) -> list[tuple[Any, Any]]:
    """Return sets that contain all vectors with at most ``k`` non-zeros within bounds, and within an l1 radius.

    With ``M_j = max(|lower_j|, |upper_j|)`` the sizes of such a vector sum to at most the ``k`` largest ``M_j``, and
    its entries divided by ``M_j`` to at most ``k``. If all ``M_j`` are equal, the two are the same.
    """
    most = np.minimum(np.maximum(np.abs(lower), np.abs(upper)), radius)
    largest = np.sort(most)[-k:]
    if not largest[-1] > 0.0:
        return [(Budget(lower, upper, radius if radius < np.inf else 1.0), None)]
    found: list[tuple[Any, Any]] = [(Budget(lower, upper, min(radius, float(largest.sum()))), None)]
    if most.min() < most.max():
        units = np.where(most > 0.0, most, 1.0)
        low, high = np.maximum(lower, -most), np.minimum(upper, most)
        found.append((Budget(low / units, high / units, float(k)), units))
    return found


@constraint_set
class Budget(NamedTuple):
    """All ``w`` with ``lower <= w <= upper``, entry by entry, and ``|w_1| + ... + |w_d| <= radius``.

    Parameters
    ----------
    lower, upper : float or array of shape (d,)
        Bounds on the weights. A number applies to every coordinate. They may be infinite: the radius bounds the set.
    radius : float
        Positive, and large enough: where zero is not between the bounds, the weight nearest to zero already uses some
        of it.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Budget(-1.0, 2.0, 4.0).vertex([1.0, -3.0, -2.0])
    array([0., 2., 2.])
    >>> fw.Budget([1.0, -1.0, -1.0], float("inf"), 4.0).vertex([1.0, -3.0, -2.0])
    array([1., 3., 0.])
    """

    lower: Any
    upper: Any
    radius: float

    def _checked(self):
        lower, upper = (
            number_or_vector("Budget", name, bound, infinite=True)
            for name, bound in (("lower", self.lower), ("upper", self.upper))
        )
        ordered("Budget", lower, upper)
        found = self._replace(lower=lower, upper=upper, radius=positive("Budget", "radius", self.radius))
        found._spending(max(np.size(lower), np.size(upper)))  # raises if the set is empty
        return found

    def _spending(self, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the weights nearest to zero, the range of each weight, and the rest of the budget.

        A set that the bounds nearest to zero exhaust up to rounding is that single point.
        """
        lower, upper = np.broadcast_to(self.lower, d), np.broadcast_to(self.upper, d)
        near = np.minimum(np.maximum(lower, 0.0), upper)
        least = float(np.abs(near).sum())
        if least > self.radius * (1.0 + SPENT):
            raise ValueError(
                f"Budget: the set is empty: absolute values of {d} weights within lower and upper sum to at least "
                f"{least:g}, more than radius = {self.radius:g}; raise radius, or loosen the bounds"
            )
        rest = self.radius - least
        rest = rest if rest > SPENT * self.radius else 0.0
        return near, np.maximum(lower, near - rest), np.minimum(upper, near + rest), rest

    def for_size(self, d):
        """Return the set with bounds as arrays of ``d`` entries, or raise ValueError if it is empty."""
        lower, upper = (one_for_each("Budget", name, getattr(self, name), d) for name in ("lower", "upper"))
        found = self._replace(lower=lower, upper=upper)
        found._spending(d)
        return found

    def radius_price(self, direction):
        """Return by how much the support function rises per unit of the radius: the gain of the next unit."""
        direction = np.asarray(direction, dtype=np.float64)
        near, _, _, rest = self._spending(len(direction))
        caps = np.abs(np.where(direction > 0.0, self.upper, self.lower) - near)
        return last_gain(np.append(np.abs(direction), 0.0), np.append(caps, np.inf), rest)  # a rest gains nothing

    def for_columns(self, columns):
        """Return the set of some entries where all others are zero; None if they cannot be."""
        if not zero_elsewhere(self.lower, self.upper, columns):
            return None
        return self._replace(lower=self.lower[columns], upper=self.upper[columns])

    def sparse_hulls(self, k):
        """Return budgets that contain every point with at most ``k`` non-zeros."""
        return sparse_budgets(self.lower, self.upper, self.radius, k)

    def radius_range(self, d):
        """Return the smallest and the largest radius with which the set is not empty."""
        return float(np.abs(self._spending(d)[0]).sum()), np.inf

    def structure(self):
        """Return the bounds and the radius as a `Structure`: a `Hull` or `Bounds` if only one of them binds."""
        if np.ndim(self.lower) == 0 or np.ndim(self.upper) == 0:
            return Structure()  # of an unknown number of weights
        near, lower, upper, rest = self._spending(len(self.lower))
        below, above = near - lower, upper - near
        if np.maximum(below, above).sum() <= rest:
            return Structure(Bounds(lower, upper))
        shift = near if near.any() else None
        for signed in (False, True):
            if rest > 0.0 and (above == rest).all() and (below == (rest if signed else 0.0)).all():
                return Structure(Hull(rest, signed, filled=True), shift)
        return Structure(Knapsack(lower, upper, self.radius, exhausted=False))

    def hull(self):
        """Return the `Hull` if vertices have one non-zero coordinate, None otherwise."""
        return self.structure().coordinates

    def tracker(self, d):
        """Return the bounds around the weights nearest to zero, and memory for a vertex."""
        return Spending.over(*self._spending(d))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: the largest ``|r_j|`` get the budget, each up to its bound."""
        near, lower, upper, left = tracker.near, tracker.lower, tracker.upper, tracker.budget
        keys, room = tracker.keys, tracker.room
        for j in range(len(r)):
            room[j] = near[j]
            bound = lower[j] if r[j] > 0.0 else upper[j]
            keys[j] = abs(r[j]) if bound != near[j] else 0.0
        for j in leading(keys, tracker.most):
            bound = lower[j] if r[j] > 0.0 else upper[j]
            length = abs(bound - near[j])
            if not (left > 0.0 and keys[j] > 0.0):
                break
            room[j] = bound if length <= left else (near[j] - left if r[j] > 0.0 else near[j] + left)
            left -= length
        return Full(room)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        near, lower, upper, rest = self._spending(len(direction))
        caps = np.where(direction > 0.0, upper - near, near - lower)
        return float(direction @ near + np.abs(direction) @ spent(np.abs(direction), caps, rest))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        near, lower, upper, _ = self._spending(np.size(w))
        radius = max(self.radius, np.abs(near).sum())
        slack = tolerance * radius
        within = np.all(w >= lower - slack) and np.all(w <= upper + slack)
        return bool(within and np.abs(w).sum() <= radius + slack)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights, None if the set is a single point."""
        near, lower, upper, rest = self._spending(size)
        if not (upper > lower).any():
            return None
        return BudgetBarrier(near - lower, upper - near, rest).translated(near)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions, or an upper bound."""
        _, lower, upper, rest = self._spending(d)
        width = upper - lower
        return float(np.linalg.norm(spent(width, width, 2.0 * rest)))


@constraint_set
class CappedSimplex(NamedTuple):
    """All ``w`` with ``0 <= w <= cap`` whose entries sum to ``radius``: portfolios with a cap on each position.

    Parameters
    ----------
    cap : float or array of shape (d,)
        Largest value of a weight. A number applies to every coordinate. The caps must sum to at least ``radius``.
    radius : float
        Positive; 1 gives weights that sum to one.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.CappedSimplex(0.4).vertex([3.0, 1.0, 2.0, 4.0])
    array([0.2, 0.4, 0.4, 0. ])
    """

    cap: Any
    radius: float = 1.0

    def _checked(self):
        cap = number_or_vector("CappedSimplex", "cap", self.cap, infinite=True)
        if np.min(cap) < 0.0:
            raise ValueError(f"CappedSimplex: cap must not be negative, got {np.min(cap):g}")
        found = self._replace(cap=cap, radius=positive("CappedSimplex", "radius", self.radius))
        if np.ndim(cap):
            found._caps(len(cap))  # raises if the set is empty
        return found

    def _caps(self, d: int) -> np.ndarray:
        """Return the largest value of each weight. If they sum to the radius up to rounding, the set is that point."""
        caps = np.minimum(np.broadcast_to(self.cap, d), self.radius)
        total = float(caps.sum())
        if total < self.radius * (1.0 - SPENT):
            raise ValueError(
                f"CappedSimplex: the set is empty: the caps of {d} weights sum to {total:g}, less than radius = "
                f"{self.radius:g}; raise cap, or lower radius"
            )
        return caps

    def for_size(self, d):
        """Return the set with a cap for each of ``d`` weights, or raise ValueError if it is empty."""
        found = self._replace(cap=one_for_each("CappedSimplex", "cap", self.cap, d))
        found._caps(d)
        return found

    def radius_price(self, direction):
        """Return by how much the support function rises per unit of the radius: the gain of the next unit."""
        direction = np.asarray(direction, dtype=np.float64)
        return last_gain(direction, np.broadcast_to(self.cap, len(direction)), self.radius)

    def for_columns(self, columns):
        """Return the set of some entries where all others are zero; None if their caps leave no point."""
        caps = self.cap[columns]
        return self._replace(cap=caps) if caps.sum() >= self.radius * (1.0 - SPENT) else None

    def radius_range(self, d):
        """Return the smallest and the largest radius with which the set is not empty."""
        return 0.0, float(np.broadcast_to(self.cap, d).sum())

    def structure(self):
        """Return the caps and the radius as a `Structure`: a `Hull` if the caps do not bind."""
        if np.ndim(self.cap) == 0:
            return Structure()  # of an unknown number of weights
        if np.min(self.cap) >= self.radius:
            return Structure(Hull(self.radius, signed=False, filled=False))
        return Structure(Knapsack(np.zeros(len(self.cap)), self._caps(len(self.cap)), self.radius, exhausted=True))

    def hull(self):
        """Return the `Hull` if vertices have one non-zero coordinate, None otherwise."""
        return self.structure().coordinates

    def tracker(self, d):
        """Return the caps, and memory for a vertex."""
        return Spending.over(np.zeros(d), np.zeros(d), self._caps(d), self.radius)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: the smallest ``r_j`` get the budget, each up to its cap."""
        caps, left, keys, room = tracker.upper, tracker.budget, tracker.keys, tracker.room
        for j in range(len(r)):
            room[j] = 0.0
            keys[j] = -r[j] if caps[j] > 0.0 else -np.inf
        for j in leading(keys, tracker.most):
            room[j] = min(caps[j], left)
            left -= room[j]
            if not left > 0.0:
                break
        return Full(room)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        return float(direction @ spent(direction, self._caps(len(direction)), self.radius))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        caps, slack = self._caps(np.size(w)), tolerance * self.radius
        within = np.min(w) >= -slack and np.all(w <= caps + slack)
        return bool(within and abs(np.sum(w) - min(self.radius, caps.sum())) <= slack)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights, None if the set is a single point."""
        caps = self._caps(size)
        if caps.sum() <= self.radius * (1.0 + SPENT):
            return None
        return BudgetBarrier(np.zeros(size), caps, self.radius, exhausted=True)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions, or an upper bound."""
        caps = self._caps(d)
        most = min(self.radius, max(0.0, float(caps.sum()) - self.radius))  # sum of the entries that are larger
        return float(np.linalg.norm(spent(caps, caps, 2.0 * most)))
