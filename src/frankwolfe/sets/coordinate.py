"""Sets with coordinate-wise oracles: the l1 ball, the simplex, the non-negative l1 ball, and boxes."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import leader
from frankwolfe.linalg.argmax import LazyArgmax
from frankwolfe.linalg.matrices import column_norms, spectral_norm, weighted_row_sums
from frankwolfe.sets.atoms import Full, Hot
from frankwolfe.sets.barriers import GroupBarrier, IntervalBarrier, simplex_barrier
from frankwolfe.sets.base import Bounds, Hull, Structure, ball, constraint_set, no_radius, of_columns
from frankwolfe.sets.budgets import sparse_budgets, zero_elsewhere
from frankwolfe.sets.checks import number_or_vector, one_for_each, ordered, rounding, vector


@ball
class L1Ball(NamedTuple):
    """All ``w`` with ``|w_1| + ... + |w_d| <= radius``. Vertices: plus or minus ``radius`` on one coordinate.

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

    def tracker(self, d):
        """Return the lazy argmax of ``|r|``."""
        return LazyArgmax.over(d, flip=1.0)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        j = leader(tracker, r)
        return Hot(j, -self.radius if r[j] > 0.0 else self.radius)

    def hull(self):
        """Return the atoms: both signs, and zero."""
        return Hull(self.radius, signed=True, filled=True)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return self.radius * np.abs(direction).max()

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(np.abs(w).sum() <= self.radius * (1.0 + tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        return GroupBarrier(np.arange(size), np.full(size, self.radius))

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, all exact: a vertex and its negative are farthest apart."""
        return {p: (2.0 * self.radius * float(column_norms(X, p).max()), True) for p in (1, 2, np.inf)}


@constraint_set
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

    def tracker(self, d):
        """Return the lazy argmin of ``r``."""
        return LazyArgmax.over(d, flip=-1.0)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        return Hot(leader(tracker, r), self.radius)

    def hull(self):
        """Return the atoms: one sign."""
        return Hull(self.radius, signed=False, filled=False)

    def for_columns(self, columns):
        """Return the simplex itself: that of fewer entries has the same radius."""
        return self

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return self.radius * float(np.max(direction))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        slack = self.radius * tolerance
        return bool(np.min(w) >= -slack and abs(np.sum(w) - self.radius) <= slack)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        return simplex_barrier(np.full(size, self.radius), size)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return self.radius * np.sqrt(2.0) if d > 1 else 0.0

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact: the distance of the farthest two columns."""
        return of_columns(self.radius, X, with_zero=False)


@ball
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

    def tracker(self, d):
        """Return the lazy argmin of ``r``."""
        return LazyArgmax.over(d, flip=-1.0)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: zero if ``r`` has no negative entry."""
        j = leader(tracker, r)
        return Hot(j, self.radius if r[j] < 0.0 else 0.0)

    def hull(self):
        """Return the atoms: one sign, and zero."""
        return Hull(self.radius, signed=False, filled=True)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return self.radius * max(0.0, float(np.max(direction)))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        slack = self.radius * tolerance
        return bool(np.min(w) >= -slack and np.sum(w) <= self.radius + slack)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        return simplex_barrier(self.radius * np.eye(size, size + 1), size + 1)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return self.radius * (np.sqrt(2.0) if d > 1 else 1.0)

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest two of the columns and zero."""
        return of_columns(self.radius, X, with_zero=True)


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
        reach = weighted_row_sums(X, width)
        two = min(float(np.linalg.norm(reach)), spectral_norm(X) * float(np.linalg.norm(width)))
        single = X.shape[0] == 1 or X.shape[1] == 1  # then all rows attain their ranges at the same points
        return {1: (float(reach.sum()), single), 2: (two, single), np.inf: (float(reach.max()), True)}


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
