"""Sets with coordinate-wise oracles: the l1 ball, the simplex, boxes, and budgets within bounds."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import ConstraintSet
from frankwolfe.compile.part import defaults_from, positive
from frankwolfe.compile.verbs import leader, routine
from frankwolfe.linalg.argmax import LazyArgmax
from frankwolfe.linalg.matrices import column_norms, weighted_row_sums
from frankwolfe.sets.atoms import Full, Hot
from frankwolfe.sets.barriers import BudgetBarrier, GroupBarrier, IntervalBarrier, simplex_barrier
from frankwolfe.sets.base import (
    EXHAUSTED,
    Bounds,
    Defaults,
    Hull,
    Knapsack,
    Structure,
    ball,
    constraint_set,
    from_reaches,
    no_radius,
    of_columns,
    set_with,
    tracker,
)
from frankwolfe.sets.checks import number_or_vector, one_for_each, ordered, rounding, vector

# --- vertices with one non-zero coordinate ---------------------------------------------------------------------------


class HullMethods:
    """Methods of the sets whose vertices are ``radius`` on one coordinate, from their `Hull`."""

    radius: float
    hull: Any

    def tracker(self, d):
        """Return the lazy argmax of ``|r|``, or the lazy argmin of ``r`` if vertices have one sign."""
        return LazyArgmax.over(d, flip=1.0 if self.hull().signed else -1.0)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        _, signed, filled = self.hull()
        best = float(np.max(np.abs(direction) if signed else direction))
        return self.radius * (max(0.0, best) if filled else best)

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        (radius, signed, filled), slack = self.hull(), self.radius * tolerance
        if not signed and not np.min(w) >= -slack:
            return False
        total = np.sum(np.abs(w) if signed else w)
        return bool(total <= radius + slack and (filled or total >= radius - slack))

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        radius, signed, filled = self.hull()
        if signed:
            return GroupBarrier(np.arange(size), np.full(size, radius))
        if filled:
            return simplex_barrier(radius * np.eye(size, size + 1), size + 1)
        return simplex_barrier(np.full(size, radius), size)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        radius, signed, filled = self.hull()
        if signed:
            return 2.0 * radius
        return radius * (np.sqrt(2.0) if d > 1 else float(filled))

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact: the distance of the farthest two images."""
        radius, signed, filled = self.hull()
        if signed:  # a vertex and its negative are farthest apart
            return {p: (2.0 * radius * float(column_norms(X, p).max()), True) for p in (1, 2, np.inf)}
        return of_columns(radius, X, with_zero=filled)


@ball
@defaults_from(HullMethods)
class L1Ball(NamedTuple):
    """All ``w`` with ``sum_j |w_j| <= radius``. Vertices: plus or minus ``radius`` on one coordinate.

    Parameters
    ----------
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.L1Ball(2.0).vertex([1.0, -3.0, 0.5])
    array([0., 2., 0.])
    """

    radius: float

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        j = leader(tracker, r)
        return Hot(j, -self.radius if r[j] > 0.0 else self.radius)

    def hull(self):
        """Return the atoms: both signs, and zero."""
        return Hull(self.radius, signed=True, filled=True)


@constraint_set
@defaults_from(HullMethods)
class Simplex(NamedTuple):
    """All ``w >= 0`` whose entries sum to ``radius``. Vertices: ``radius`` on one coordinate.

    Parameters
    ----------
    radius : float
        Positive; 1 gives weights that sum to one.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Simplex().vertex([3.0, 1.0, 2.0])
    array([0., 1., 0.])
    """

    radius: float = 1.0

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        return Hot(leader(tracker, r), self.radius)

    def hull(self):
        """Return the atoms: one sign."""
        return Hull(self.radius, signed=False, filled=False)

    def for_columns(self, columns):
        """Return the simplex itself: that of fewer entries has the same radius."""
        return self


@ball
@defaults_from(HullMethods)
class NonNegativeL1Ball(NamedTuple):
    """All ``w >= 0`` whose entries sum to at most ``radius``: the hull of the simplex and zero.

    Parameters
    ----------
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.NonNegativeL1Ball(2.0).vertex([3.0, 1.0])
    array([0., 0.])
    """

    radius: float

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: zero if ``r`` has no negative entry."""
        j = leader(tracker, r)
        return Hot(j, self.radius if r[j] < 0.0 else 0.0)

    def hull(self):
        """Return the atoms: one sign, and zero."""
        return Hull(self.radius, signed=False, filled=True)


# --- bounds on each weight ------------------------------------------------------------------------------------------


@constraint_set
class Box(NamedTuple):
    """All ``w`` with ``lower <= w <= upper``, entry by entry.

    Parameters
    ----------
    lower, upper : float or array of shape (d,)
        Finite bounds (the set must be bounded); a number applies to every coordinate.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Box(0.0, [1.0, 2.0]).vertex([1.0, -1.0])
    array([0., 2.])
    """

    lower: Any
    upper: Any

    def _checked(self):
        why = "; the set must be bounded"
        lower, upper = (number_or_vector("Box", name, bound, why) for name, bound in self._asdict().items())
        ordered("Box", lower, upper)
        return self._replace(lower=lower, upper=upper)

    @classmethod
    def signed(cls, signs, bound):
        """Return the box of all ``w`` with ``|w_j| <= bound_j`` and prescribed signs.

        Parameters
        ----------
        signs : array of shape (d,)
            1 for ``w_j >= 0``, -1 for ``w_j <= 0``, 0 for either sign.
        bound : float or array of shape (d,)
            Not negative.

        Examples
        --------
        >>> import frankwolfe as fw
        >>> fw.Box.signed([1, -1, 0], 2.0)
        Box(lower=array([ 0., -2., -2.]), upper=array([2., 0., 2.]))
        """
        signs = vector("Box", "signs", signs)
        odd = np.flatnonzero(~np.isin(signs, (-1.0, 0.0, 1.0)))
        if odd.size:
            raise ValueError(f"Box: signs must be -1, 0 or 1, got {signs[odd[0]]:g} at entry {odd[0]}")
        bound = one_for_each("Box", "bound", number_or_vector("Box", "bound", bound), len(signs))
        if (bound < 0.0).any():
            raise ValueError(f"Box: bound must not be negative, got {bound.min():g}")
        return cls(np.where(signs > 0.0, 0.0, -bound), np.where(signs < 0.0, 0.0, bound))

    def for_size(self, d):
        """Return the box with bounds as arrays of ``d`` entries."""
        return Box._make(one_for_each("Box", name, bound, d) for name, bound in self._asdict().items())

    def for_columns(self, columns):
        """Return the box of some entries where all others are zero; None if they cannot be."""
        if not zero_elsewhere(self.lower, self.upper, columns):
            return None
        return Box._make(bound[columns] for bound in self)

    def sparse_hulls(self, k):
        """Return budgets that contain every point with at most ``k`` non-zeros."""
        return sparse_budgets(self.lower, self.upper, np.inf, k)

    def structure(self):
        """Return the bounds as a `Structure`."""
        return Structure(Bounds(self.lower, self.upper))

    def own_radius(self):
        """Return the radius if the box is an l-infinity ball around zero, else None."""
        radius = float(np.max(self.upper))
        even = radius > 0.0 and np.all(self.upper == radius) and np.all(self.lower == -radius)
        return radius if even else None

    def is_ball(self):
        """Return whether the box is an l-infinity ball around zero."""
        return self.own_radius() is not None

    def with_radius(self, radius):
        """Return the l-infinity ball of another radius."""
        if self.own_radius() is None:
            raise no_radius(self, ", for it is not as large in every direction")
        return LinfBall(radius)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        lower, upper, room = self.lower, self.upper, tracker.room
        for j in range(len(r)):
            room[j] = lower[j] if r[j] > 0.0 else upper[j]
        return Full(room)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction)
        return float(np.sum(direction * np.where(direction > 0.0, self.upper, self.lower)))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to rounding and ``tolerance`` times the width of each coordinate."""
        slack = tolerance * np.subtract(self.upper, self.lower) + rounding(self.lower, self.upper)
        return bool(np.all(w >= self.lower - slack) and np.all(w <= self.upper + slack))

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        lower, upper = self.for_size(size)
        return IntervalBarrier(0.5 * (upper - lower)).translated(0.5 * (upper + lower))

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return float(np.linalg.norm(np.broadcast_to(np.subtract(self.upper, self.lower), d)))

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact.

        The prediction of row ``i`` has the range ``sum_j |X_ij| (upper_j - lower_j)``. The largest range is ``D_inf``.
        For p = 1 and 2 rows may attain their ranges at different points, so the results are upper bounds.
        """
        width = np.broadcast_to(np.subtract(self.upper, self.lower), X.shape[1])
        return from_reaches(X, weighted_row_sums(X, width), float(np.linalg.norm(width)))


def LinfBall(radius: float) -> Box:
    """Return the ball of all ``w`` with every ``|w_j| <= radius``: the box from ``-radius`` to ``radius``.

    Parameters
    ----------
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.LinfBall(2.0)
    Box(lower=-2.0, upper=2.0)
    """
    radius = positive("LinfBall", "radius", radius)
    return Box(-radius, radius)


# --- bounds on each weight, and a budget that their absolute values share --------------------------------------------
#
# The oracles solve a fractional knapsack: they allocate the budget to the entries of ``r`` that gain most, each up to
# its bound, until it is exhausted.


@tracker
class BudgetTracker(NamedTuple):
    """The bounds and the budget around the weights nearest to zero, and scratch memory.

    Attributes
    ----------
    near, lower, upper : arrays of shape (d,)
        The point that uses none of the budget, and how far each weight may move from there.
    budget : float
        Bound on the sum of the moves.
    least : float
        Only larger gains are worth the budget: zero, or minus infinity if all of it must be used.
    most : int
        Number of moves that always exhaust the budget.
    keys, room : arrays of shape (d,)
        Memory for the gains of the moves, and for a vertex.
    """

    near: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    budget: float
    least: float
    most: int
    keys: np.ndarray
    room: np.ndarray

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


def allocated(keys: np.ndarray, caps: np.ndarray, budget: float) -> np.ndarray:
    """Return how much of a budget each entry gets: in decreasing order of the keys, each entry up to its cap."""
    order = np.argsort(-keys, kind="stable")
    amounts = caps[order]
    before = np.concatenate([[0.0], np.cumsum(amounts)[:-1]])
    found = np.empty(len(keys))
    found[order] = np.clip(budget - before, 0.0, amounts)
    return found


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


def room_of(constraint: ConstraintSet, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the weights nearest to zero, the range of each weight, and the rest of the budget.

    A set that the weights nearest to zero exhaust up to rounding is that single point.
    """
    lower, upper = np.broadcast_to(constraint.lower, d), np.broadcast_to(constraint.upper, d)
    near = np.minimum(np.maximum(lower, 0.0), upper)
    least = float(np.abs(near).sum())
    if least > constraint.radius * (1.0 + EXHAUSTED):
        raise ValueError(
            f"Budget: the set is empty: absolute values of {d} weights within lower and upper sum to at least "
            f"{least:g}, more than radius = {constraint.radius:g}; raise radius, or loosen the bounds"
        )
    rest = constraint.radius - least
    rest = rest if rest > EXHAUSTED * constraint.radius else 0.0
    lower, upper = np.maximum(lower, near - rest), np.minimum(upper, near + rest)
    if constraint.exhausted and (most := float(upper.sum())) < constraint.radius * (1.0 - EXHAUSTED):
        raise ValueError(
            f"CappedSimplex: the set is empty: the caps of {d} weights sum to {most:g}, less than radius = "
            f"{constraint.radius:g}; raise cap, or lower radius"
        )
    return near, lower, upper, rest


class BudgetMethods(Defaults):
    """Methods of sets with bounds ``lower`` and ``upper`` on each weight and a radius for their absolute values."""

    exhausted = False
    """Whether the absolute values sum to the radius. Then the lower bounds are zero."""

    lower: Any
    upper: Any
    radius: float

    def _gains(self, direction: np.ndarray, low: Any, high: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return what a unit of the budget gains at each weight along a direction, and how many each can use."""
        down = (direction < 0.0) & (not self.exhausted)
        return np.where(down, -direction, direction), np.where(down, low, high)

    def tracker(self, d):
        """Return the bounds around the weights nearest to zero, and memory for a vertex."""
        near, lower, upper, budget = room_of(self, d)
        sides = np.stack([near - lower, upper - near])
        shortest = np.sort(np.where(sides > 0.0, sides, np.inf).min(axis=0))
        most = min(int(np.searchsorted(np.cumsum(shortest), budget)) + 1, d)
        least = -np.inf if self.exhausted else 0.0
        return BudgetTracker(near, lower, upper, budget, least, most, np.zeros(d), np.zeros(d))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: the largest gains get the budget, each up to its bound."""
        near, lower, upper, left, least = tracker.near, tracker.lower, tracker.upper, tracker.budget, tracker.least
        keys, room = tracker.keys, tracker.room
        for j in range(len(r)):
            room[j] = near[j]
            down = r[j] > 0.0 and least == 0.0
            keys[j] = abs(r[j]) if down else -r[j]
            if (lower[j] if down else upper[j]) == near[j]:
                keys[j] = least
        for j in leading(keys, tracker.most):
            down = r[j] > 0.0 and least == 0.0
            bound = lower[j] if down else upper[j]
            length = abs(bound - near[j])
            if not (left > 0.0 and keys[j] > least):
                break
            room[j] = bound if length <= left else (near[j] - left if down else near[j] + left)
            left -= length
        return Full(room)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        near, lower, upper, rest = room_of(self, len(direction))
        gains, caps = self._gains(direction, near - lower, upper - near)
        return float(direction @ near + gains @ allocated(gains, caps, rest))

    def radius_price(self, direction):
        """Return by how much the support function rises per unit of the radius: the gain of the next unit."""
        direction = np.asarray(direction, dtype=np.float64)
        near, _, _, rest = room_of(self, len(direction))
        gains, caps = self._gains(direction, near - self.lower, self.upper - near)
        if not self.exhausted:
            gains, caps = np.append(gains, 0.0), np.append(caps, np.inf)  # a unit that is not used gains nothing
        order = np.argsort(-gains, kind="stable")
        place = int(np.searchsorted(np.cumsum(caps[order]), rest, side="right"))
        return float(gains[order[min(place, len(order) - 1)]])

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        near, lower, upper, _ = room_of(self, np.size(w))
        radius = min(self.radius, upper.sum()) if self.exhausted else max(self.radius, np.abs(near).sum())
        slack = tolerance * radius
        total = np.sum(w) if self.exhausted else np.abs(w).sum()
        within = np.all(w >= lower - slack) and np.all(w <= upper + slack) and total <= radius + slack
        return bool(within and (not self.exhausted or total >= radius - slack))

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights, None if the set is a single point."""
        near, lower, upper, rest = room_of(self, size)
        if not (upper > lower).any() or (self.exhausted and upper.sum() <= self.radius * (1.0 + EXHAUSTED)):
            return None
        unit = float(
            np.ldexp(1.0, int(np.frexp(rest)[1]))
        )  # logarithms of rooms have no units; a power of two is exact
        rooms = (near - lower) / unit, (upper - near) / unit
        return BudgetBarrier(*rooms, rest / unit, self.exhausted).scaled(unit).translated(near)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions, or an upper bound."""
        _, lower, upper, rest = room_of(self, d)
        width = upper - lower
        most = min(rest, max(0.0, float(width.sum()) - rest)) if self.exhausted else rest  # what can change sides
        return float(np.linalg.norm(allocated(width, width, 2.0 * most)))


class CappedMethods(BudgetMethods):
    """Methods of sets whose weights, from zero to a ``cap``, sum to the radius."""

    exhausted = True
    lower = 0.0
    cap: Any

    @property
    def upper(self):
        """The caps."""
        return self.cap


@set_with(BudgetMethods)
class Budget(NamedTuple):
    """All ``w`` with ``lower <= w <= upper``, entry by entry, and ``sum_j |w_j| <= radius``.

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
        found = self._replace(lower=lower, upper=upper)
        room_of(found, max(np.size(lower), np.size(upper)))  # raises if the set is empty
        return found

    def for_size(self, d):
        """Return the set with bounds as arrays of ``d`` entries, or raise ValueError if it is empty."""
        lower, upper = (one_for_each("Budget", name, getattr(self, name), d) for name in ("lower", "upper"))
        found = self._replace(lower=lower, upper=upper)
        room_of(found, d)
        return found

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
        return float(np.abs(room_of(self, d)[0]).sum()), np.inf

    def structure(self):
        """Return the bounds and the radius as a `Structure`: a `Hull` or `Bounds` if only one of them binds."""
        if np.ndim(self.lower) == 0 or np.ndim(self.upper) == 0:
            return Structure()  # of an unknown number of weights
        near, lower, upper, rest = room_of(self, len(self.lower))
        below, above = near - lower, upper - near
        if np.maximum(below, above).sum() <= rest:
            return Structure(Bounds(lower, upper))
        shift = near if near.any() else None
        for signed in (False, True):
            if rest > 0.0 and (above == rest).all() and (below == (rest if signed else 0.0)).all():
                return Structure(Hull(rest, signed, filled=True), shift)
        return Structure(Knapsack(lower, upper, self.radius, exhausted=False))


@set_with(CappedMethods)
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
        found = self._replace(cap=cap)
        if np.ndim(cap):
            room_of(found, len(cap))  # raises if the set is empty
        return found

    def for_size(self, d):
        """Return the set with a cap for each of ``d`` weights, or raise ValueError if it is empty."""
        found = self._replace(cap=one_for_each("CappedSimplex", "cap", self.cap, d))
        room_of(found, d)
        return found

    def for_columns(self, columns):
        """Return the set of some entries where all others are zero; None if their caps leave no point."""
        caps = self.cap[columns]
        return self._replace(cap=caps) if caps.sum() >= self.radius * (1.0 - EXHAUSTED) else None

    def radius_range(self, d):
        """Return the smallest and the largest radius with which the set is not empty."""
        return 0.0, float(np.broadcast_to(self.cap, d).sum())

    def structure(self):
        """Return the caps and the radius as a `Structure`: a `Hull` if the caps do not bind."""
        if np.ndim(self.cap) == 0:
            return Structure()  # of an unknown number of weights
        if np.min(self.cap) >= self.radius:
            return Structure(Hull(self.radius, signed=False, filled=False))
        return Structure(
            Knapsack(np.zeros(len(self.cap)), room_of(self, len(self.cap))[2], self.radius, exhausted=True)
        )
