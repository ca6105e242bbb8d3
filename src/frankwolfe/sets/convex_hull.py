"""Hulls of points at hand: given ones, and steps from a lower to an upper bound."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.sparse_indices import checked_sparse
from frankwolfe.compile.part import finite
from frankwolfe.sets.atoms import Full, Workspace, vertex_of
from frankwolfe.sets.barriers.inequalities import simplex_barrier
from frankwolfe.sets.base import constraint_set
from frankwolfe.sets.checks import matrix, rounding, same_length
from frankwolfe.sets.image_diameters import from_reaches, of_columns, reaches

MOST_IMAGES = 1e8
"""Entries of the images of all vertices beyond which a bound is given instead of looking at them."""


@constraint_set
class ConvexHull(NamedTuple):
    """The hull of given points. Vertices: those of the points that are no mixture of others.

    Parameters
    ----------
    points : array of shape (m, d)
        One point in a row.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.ConvexHull([[0.0, 0.0], [2.0, 1.0], [1.0, 3.0]]).vertex([-1.0, 0.0])
    array([2., 1.])
    """

    points: Any

    def _checked(self):
        points = checked_sparse("ConvexHull: points", self.points)
        points = points.toarray() if sparse.issparse(points) else points
        return self._replace(points=matrix("ConvexHull", "points", points))

    def for_size(self, d):
        """Return the set itself, if it has ``d`` coordinates."""
        same_length("ConvexHull", "a point", self.points.shape[1], d)
        return self

    def tracker(self, d):
        """Nothing to keep."""
        return Workspace.over(0)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``: the best of the points, the first of equals."""
        points, best, least = self.points, 0, np.inf
        for k in range(len(points)):
            value = 0.0
            for j in range(len(r)):
                value += points[k, j] * r[j]
            if value < least:
                best, least = k, value
        return Full(points[best])

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return float((self.points @ np.asarray(direction, dtype=np.float64)).max())

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times its half width: least squares over the weights."""
        from scipy.optimize import nnls  # heavy, and only wanted here

        w = np.asarray(w, dtype=np.float64)
        if not np.isfinite(w).all():
            return False
        middle = self.points.mean(axis=0)
        width = float(np.abs(self.points - middle).max())
        scale = width or 1.0
        atoms = np.vstack([((self.points - middle) / scale).T, np.ones(len(self.points))])
        _, distance = nnls(atoms, np.append((w - middle) / scale, 1.0), maxiter=100 * atoms.shape[1])
        return bool(distance * scale <= tolerance * width + np.sqrt(len(w)) * float(np.max(rounding(self.points))))

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return simplex_barrier(self.points.T, len(self.points))

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions; with too many points to compare all, an upper bound."""
        return of_columns(1.0, self.points.T, with_zero=False)[2][0]

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest two images of the points."""
        return of_columns(1.0, np.asarray(X @ self.points.T), with_zero=False)


@constraint_set
class MonotoneBox(NamedTuple):
    """All ``w`` with ``lower <= w_1 <= w_2 <= ... <= w_d <= upper``. Vertices: one step from ``lower`` to ``upper``.

    Parameters
    ----------
    lower, upper : float
        Finite bounds.
    increasing : bool
        False for ``upper >= w_1 >= ... >= w_d >= lower``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.MonotoneBox(0.0, 1.0).vertex([1.0, -3.0, 1.0])
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

    def tracker(self, d):
        """Room for a vertex."""
        return Workspace.over(d)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``: the end of ``r`` with the least sum is raised, the shortest of equals."""
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

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        ends = np.cumsum(direction[::-1] if self.increasing else direction)
        return self.lower * float(ends[-1]) + (self.upper - self.lower) * max(0.0, float(ends.max()))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the width, and rounding."""
        w = np.asarray(w, dtype=np.float64)
        slack = tolerance * (self.upper - self.lower) + rounding(self.lower, self.upper)
        steps = np.diff(w) if self.increasing else -np.diff(w)
        return bool(np.all(steps >= -slack) and w.min() >= self.lower - slack and w.max() <= self.upper + slack)

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        steps = np.tri(size, size + 1) if self.increasing else np.tri(size, size + 1)[::-1]
        return simplex_barrier((self.upper - self.lower) * steps, size + 1).translated(self.lower)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return (self.upper - self.lower) * float(np.sqrt(d))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest two images of the vertices."""
        if X.shape[0] * X.shape[1] > MOST_IMAGES:
            return from_reaches(X, reaches(self, X), self.diameter(X.shape[1]))
        dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        ends = np.cumsum(dense[:, ::-1] if self.increasing else dense, axis=1)
        return of_columns(self.upper - self.lower, ends, with_zero=True)
