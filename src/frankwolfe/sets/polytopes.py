"""Polytopes: the simplex, its filled version, and boxes."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.matrices import (
    column_norms,
    farthest_columns,
    row_ranges,
    spectral_norm,
    weighted_row_sums,
)
from frankwolfe.parts import finite, part, positive
from frankwolfe.sets.argmax import LazyArgmax
from frankwolfe.sets.atoms import Full, Hot, Workspace, vertex_of
from frankwolfe.sets.hull import Hull
from frankwolfe.verbs import leader


@part
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

    def scout(self, d):
        """Return the lazy argmin of ``r``."""
        return LazyArgmax.over(d, flip=-1.0)

    def oracle(self, scout, r):
        """Atom that minimises ``<r, s>``."""
        return Hot(leader(scout, r), self.radius)

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

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return self.radius * np.sqrt(2.0) if d > 1 else 0.0

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest two columns."""
        return _scaled_diameters(self.radius, X, with_zero=False)


@part
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

    def scout(self, d):
        """Return the lazy argmin of ``r``."""
        return LazyArgmax.over(d, flip=-1.0)

    def oracle(self, scout, r):
        """Atom that minimises ``<r, s>``: zero itself where ``r`` has no negative entry."""
        j = leader(scout, r)
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

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return self.radius * (np.sqrt(2.0) if d > 1 else 1.0)

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest of the columns and zero."""
        return _scaled_diameters(self.radius, X, with_zero=True)


@part
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
        lower, upper = (_bound(name, bound) for name, bound in zip(self._fields, self, strict=True))
        if np.ndim(lower) and np.ndim(upper) and len(lower) != len(upper):
            raise ValueError(f"Box: lower has {len(lower)} entries and upper has {len(upper)}")
        above = np.flatnonzero(np.greater(lower, upper))
        if above.size:
            j = int(above[0])
            low, high = (bounds[j] for bounds in np.broadcast_arrays(np.atleast_1d(lower), upper))
            raise ValueError(f"Box: lower must not exceed upper, but at entry {j} lower = {low:g} > upper = {high:g}")
        return self._replace(lower=lower, upper=upper)

    def fitted(self, d):
        """Return the box with one lower and one upper bound for each of ``d`` coordinates."""
        for name, bound in zip(self._fields, self, strict=True):
            if np.ndim(bound) and len(bound) != d:
                raise ValueError(f"Box: {name} has {len(bound)} entries, but there are {d} columns")
        return self._replace(
            **{
                name: np.array(np.broadcast_to(bound, d), dtype=np.float64)
                for name, bound in zip(self._fields, self, strict=True)
            }
        )

    def scout(self, d):
        """Room for a vertex."""
        return Workspace.over(d)

    def oracle(self, scout, r):
        """Atom that minimises ``<r, s>``."""
        lower, upper, room = self.lower, self.upper, scout.room
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
        """Whether ``w`` is in the set, up to ``tolerance`` times the larger bound of each coordinate."""
        slack = tolerance * np.maximum(np.abs(self.lower), np.abs(self.upper))
        return bool(np.all(w >= self.lower - slack) and np.all(w <= self.upper + slack))

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


def _scaled_diameters(radius: float, X: Any, with_zero: bool) -> dict[float, tuple[float, bool]]:
    """Return ``D_p`` of the hull of ``radius`` times the columns of ``X``, and zero on request.

    No row can differ by more than its range, which bounds every ``D_p`` and is ``D_inf`` itself.
    """
    ranges = row_ranges(X, with_zero)
    found: dict[float, tuple[float, bool]] = {np.inf: (float(ranges.max()), True)}
    for p in (1, 2):
        distance, exact = farthest_columns(X, p)
        if with_zero:
            distance = max(distance, float(column_norms(X, p).max()))
        found[p] = (distance if exact else min(distance, float(np.linalg.norm(ranges, p))), exact)
    return {p: (radius * distance, exact) for p, (distance, exact) in found.items()}


def _bound(name: str, bound: Any) -> Any:
    """Return a bound as a float or as a vector of finite numbers, or say what is wrong with it."""
    if np.ndim(bound) == 0:
        return finite("Box", name, bound.item() if isinstance(bound, np.ndarray) else bound)
    try:
        vector = np.array(bound, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Box: {name} must be a number or a vector of numbers") from error
    if vector.ndim != 1:
        raise ValueError(f"Box: {name} must be a number or a vector, got shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise ValueError(f"Box: {name} holds NaN or infinity; the set must be bounded")
    return vector
