"""Sets that are simple in coordinates: the l1 ball, simplexes and boxes."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import leader
from frankwolfe.linalg.argmax import LazyArgmax
from frankwolfe.linalg.matrices import column_norms, spectral_norm, weighted_row_sums
from frankwolfe.sets.atoms import Full, Hot, Workspace
from frankwolfe.sets.barriers import GroupBarrier, IntervalBarrier, simplex_barrier
from frankwolfe.sets.base import Bounds, Hull, Structure, ball, constraint_set, no_radius, of_columns, vertex_of
from frankwolfe.sets.checks import number_or_vector, one_for_each, rounding, vector


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

    def _checked(self):
        return self._replace(radius=positive("L1Ball", "radius", self.radius))

    def tracker(self, d):
        """Return the lazy argmax of ``|r|``."""
        return LazyArgmax.over(d, flip=1.0)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        j = leader(tracker, r)
        return Hot(j, -self.radius if r[j] > 0.0 else self.radius)

    def hull(self):
        """Say what the atoms are: both signs, and zero."""
        return Hull(self.radius, True, True)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.radius * np.abs(direction).max()

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(np.abs(w).sum() <= self.radius * (1.0 + tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return GroupBarrier(np.arange(size), np.full(size, self.radius))

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: a vertex and its opposite are farthest apart."""
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

    def _checked(self):
        return self._replace(radius=positive("Simplex", "radius", self.radius))

    def tracker(self, d):
        """Return the lazy argmin of ``r``."""
        return LazyArgmax.over(d, flip=-1.0)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        return Hot(leader(tracker, r), self.radius)

    def hull(self):
        """Say what the atoms are: one sign only."""
        return Hull(self.radius, False, False)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.radius * float(np.max(direction))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        slack = self.radius * tolerance
        return bool(np.min(w) >= -slack and abs(np.sum(w) - self.radius) <= slack)

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return simplex_barrier(np.full(size, self.radius), size)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return self.radius * np.sqrt(2.0) if d > 1 else 0.0

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest two columns."""
        return of_columns(self.radius, X, with_zero=False)


@ball
class NonNegativeL1Ball(NamedTuple):
    """All ``w >= 0`` whose entries sum to at most ``radius``: the simplex filled in down to zero.

    Parameters
    ----------
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.NonNegativeL1Ball(2.0).vertex([3.0, 1.0])
    array([0., 0.])
    """

    radius: float

    def _checked(self):
        return self._replace(radius=positive("NonNegativeL1Ball", "radius", self.radius))

    def tracker(self, d):
        """Return the lazy argmin of ``r``."""
        return LazyArgmax.over(d, flip=-1.0)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``: zero itself where ``r`` has no negative entry."""
        j = leader(tracker, r)
        return Hot(j, self.radius if r[j] < 0.0 else 0.0)

    def hull(self):
        """Say what the atoms are: one sign, and zero."""
        return Hull(self.radius, False, True)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.radius * max(0.0, float(np.max(direction)))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        slack = self.radius * tolerance
        return bool(np.min(w) >= -slack and np.sum(w) <= self.radius + slack)

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return simplex_barrier(self.radius * np.eye(size, size + 1), size + 1)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return self.radius * (np.sqrt(2.0) if d > 1 else 1.0)

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest of the columns and zero."""
        return of_columns(self.radius, X, with_zero=True)


@constraint_set
class Box(NamedTuple):
    """All ``w`` with ``lower <= w <= upper``, entry by entry.

    Parameters
    ----------
    lower, upper : float or array of shape (d,)
        Finite bounds (the set must be bounded); a number holds for every coordinate.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Box(0.0, [1.0, 2.0]).vertex([1.0, -1.0])
    array([0., 2.])
    """

    lower: Any
    upper: Any

    def _checked(self):
        lower, upper = bounds("Box", self.lower, self.upper)
        return self._replace(lower=lower, upper=upper)

    @classmethod
    def signed(cls, signs, bound):
        """Return the box of all ``w`` with ``|w_j| <= bound_j`` and signs as told: 1, -1, or 0 for either.

        Parameters
        ----------
        signs : array of shape (d,)
            1 where ``w_j >= 0`` is wanted, -1 where ``w_j <= 0`` is, 0 where both will do.
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
        """Return the box with one lower and one upper bound for each of ``d`` coordinates."""
        return Box._make(one_for_each("Box", name, bound, d) for name, bound in self._asdict().items())

    def structure(self):
        """Say how the points are made up: a range for each coordinate."""
        return Structure(Bounds(self.lower, self.upper))

    def own_radius(self):
        """Return the largest size of an entry where the box is an l-infinity ball, else None."""
        radius = float(np.max(self.upper))
        even = radius > 0.0 and np.all(self.upper == radius) and np.all(self.lower == -radius)
        return radius if even else None

    def is_ball(self):
        """Whether the box is an l-infinity ball around zero."""
        return self.own_radius() is not None

    def with_radius(self, radius):
        """Return the l-infinity ball of another radius."""
        if self.own_radius() is None:
            raise no_radius(self, ", for it is not as large in every direction")
        return LinfBall(radius)

    def tracker(self, d):
        """Room for a vertex."""
        return Workspace.over(d)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        lower, upper, room = self.lower, self.upper, tracker.room
        for j in range(len(r)):
            room[j] = lower[j] if r[j] > 0.0 else upper[j]
        return Full(room)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction)
        return float(np.sum(direction * np.where(direction > 0.0, self.upper, self.lower)))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the width of each coordinate, and its rounding."""
        slack = tolerance * np.subtract(self.upper, self.lower) + rounding(self.lower, self.upper)
        return bool(np.all(w >= self.lower - slack) and np.all(w <= self.upper + slack))

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        lower, upper = (one_for_each("Box", name, bound, size) for name, bound in self._asdict().items())
        return IntervalBarrier(0.5 * (upper - lower)).translated(0.5 * (upper + lower))

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return float(np.linalg.norm(np.broadcast_to(np.subtract(self.upper, self.lower), d)))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact.

        Row ``i`` reaches ``sum_j |X_ij| (upper_j - lower_j)``, alone. For p = inf that is all there is to it; for
        p = 1 and 2 the rows may pull different ways, and the answers are upper bounds.
        """
        width = np.broadcast_to(np.subtract(self.upper, self.lower), X.shape[1])
        reach = weighted_row_sums(X, width)
        two = min(float(np.linalg.norm(reach)), spectral_norm(X) * float(np.linalg.norm(width)))
        single = X.shape[0] == 1 or X.shape[1] == 1  # one row, or one column: nothing can pull another way
        return {1: (float(reach.sum()), single), 2: (two, single), np.inf: (float(reach.max()), True)}


def LinfBall(radius: float) -> Box:
    """All ``w`` with every ``|w_j| <= radius``: the box from ``-radius`` to ``radius``.

    Parameters
    ----------
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.LinfBall(2.0)
    Box(lower=-2.0, upper=2.0)
    """
    radius = positive("LinfBall", "radius", radius)
    return Box(-radius, radius)


def bounds(part: str, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return lower and upper bounds as numbers or vectors, or say what is wrong with them."""
    why = "; the set must be bounded"
    lower, upper = (number_or_vector(part, name, bound, why) for name, bound in (("lower", lower), ("upper", upper)))
    if np.ndim(lower) and np.ndim(upper) and len(lower) != len(upper):
        raise ValueError(f"{part}: lower has {len(lower)} entries and upper has {len(upper)}")
    above = np.flatnonzero(np.greater(lower, upper))
    if above.size:
        j = int(above[0])
        low, high = (found[j] for found in np.broadcast_arrays(np.atleast_1d(lower), upper))
        raise ValueError(f"{part}: lower must not exceed upper, but at entry {j} lower = {low:g} > upper = {high:g}")
    return lower, upper
