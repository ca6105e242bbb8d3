"""Norm balls around zero: l1 and l2 (the l-infinity ball is a box, see `frankwolfe.sets.polytopes`).

Every set gives its ``oracle`` (compiled; returns an atom) and the ``tracker`` that the oracle leans on; and, for
whole vectors, ``vertex``, ``support``, ``contains``, ``diameter`` and ``image_diameters``.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import leader
from frankwolfe.linalg.matrix_norms import column_norms, row_norms, spectral_norm
from frankwolfe.sets.atoms import Full, Hot, Workspace, vertex_of
from frankwolfe.sets.barriers.balls import EllipsoidBarrier
from frankwolfe.sets.barriers.perspective import GroupBarrier
from frankwolfe.sets.base import ball
from frankwolfe.sets.coordinate_hull import Hull
from frankwolfe.sets.rescaling import oppose
from frankwolfe.trackers.argmax import LazyArgmax


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


@ball
class L2Ball(NamedTuple):
    """All ``w`` with Euclidean norm at most ``radius``.

    Parameters
    ----------
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.L2Ball(5.0).vertex([3.0, -4.0])
    array([-3.,  4.])
    """

    radius: float

    def _checked(self):
        return self._replace(radius=positive("L2Ball", "radius", self.radius))

    def tracker(self, d):
        """Room for a vertex."""
        return Workspace.over(d)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        oppose(r, self.radius, tracker.room)
        return Full(tracker.room)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        largest = float(np.abs(direction).max())
        return self.radius * largest * float(np.linalg.norm(np.divide(direction, largest))) if largest > 0.0 else 0.0

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(np.linalg.norm(np.divide(w, self.radius)) <= 1.0 + tolerance)

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return EllipsoidBarrier(np.full(size, self.radius))

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius

    def image_diameters(self, X: Any):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 the better of two upper bounds."""
        rows = row_norms(X, 2)
        two = 2.0 * self.radius * spectral_norm(X)
        one = min(sqrt(X.shape[0]) * two, 2.0 * self.radius * float(rows.sum()))
        return {
            1: (one, X.shape[0] == 1),
            2: (two, True),
            np.inf: (2.0 * self.radius * float(rows.max()), True),
        }
