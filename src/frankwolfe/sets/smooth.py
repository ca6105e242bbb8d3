"""Balls without corners: l2, lp and ellipsoids."""

from math import sqrt
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Matrix
from frankwolfe.compile.part import finite
from frankwolfe.linalg.matrices import row_norms
from frankwolfe.sets.atoms import Full, normalise, oppose
from frankwolfe.sets.barriers import EllipsoidBarrier, PowerBarrier
from frankwolfe.sets.base import ball, constraint_set, from_reaches, reaches, tracker, unknown_columns
from frankwolfe.sets.checks import matrix, number_or_vector, numbers, one_for_each, rounding, same_length, vector
from frankwolfe.sets.coordinate import Budget
from frankwolfe.sets.sorted import KSupportBall


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

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        oppose(r, self.radius, tracker.room)
        return Full(tracker.room)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return self.radius * _norm(direction, 2.0)

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(np.linalg.norm(np.divide(w, self.radius)) <= 1.0 + tolerance)

    def sparse_hulls(self, k):
        """Return the hull of the points with at most ``k`` non-zeros: the k-support ball."""
        return [(KSupportBall(k, self.radius), None)]

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        return EllipsoidBarrier(np.full(size, self.radius))

    def image_diameters(self, X: Matrix):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 an upper bound."""
        found = from_reaches(X, 2.0 * self.radius * row_norms(X, 2), 2.0 * self.radius)
        return {**found, 2: (found[2][0], True)}


@ball
class LpBall(NamedTuple):
    """All ``w`` with ``(sum_j |w_j|^p)^(1/p) <= radius``.

    Parameters
    ----------
    p : float
        Larger than 1 and finite; for 1 and infinity use `L1Ball` and `LinfBall`.
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.LpBall(2.0, 5.0).vertex([3.0, -4.0]).round(12)
    array([-3.,  4.])
    """

    p: float
    radius: float

    def _checked(self):
        if isinstance(self.p, Real) and not isinstance(self.p, bool) and self.p in (1, np.inf):
            better = "L1Ball" if self.p == 1 else "LinfBall"
            raise ValueError(f"LpBall: p must be larger than 1 and finite, got {self.p:g}: use {better}(radius)")
        p = finite("LpBall", "p", self.p)
        if p <= 1.0:
            raise ValueError(f"LpBall: p must be larger than 1, got {p:g}: for smaller p the ball is not convex")
        return self._replace(p=p)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: ``|s_j|`` is proportional to ``|r_j|^(1/(p-1))`` (Hölder)."""
        room, power, total = tracker.room, 1.0 / (self.p - 1.0), 0.0
        if not normalise(r, room):  # every point is a minimiser: return one on the boundary
            room[0] = self.radius
            return Full(room)
        for j in range(len(r)):
            room[j] = abs(room[j]) ** power
            total += room[j] ** self.p
        stretch = self.radius / total ** (1.0 / self.p)
        for j in range(len(r)):
            room[j] *= -stretch if r[j] > 0.0 else stretch
        return Full(room)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return self.radius * _norm(direction, self.p / (self.p - 1.0))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(_norm(w, self.p) <= self.radius * (1.0 + tolerance))

    def sparse_hulls(self, k):
        """Return three sets: the l2 and the l1 norm of points with ``k`` non-zeros are bounded by their l_p norm."""
        two, one = k ** max(0.0, 0.5 - 1.0 / self.p), k ** (1.0 - 1.0 / self.p)
        within = Budget(-self.radius, self.radius, one * self.radius)
        return [(self, None), (KSupportBall(k, two * self.radius), None), (within, None)]

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        return PowerBarrier(self.p, size).scaled(self.radius)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius * (1.0 if self.p <= 2.0 else d ** (0.5 - 1.0 / self.p))


def _norm(values: Any, p: float) -> float:
    """Return the l_p norm, scaled by the largest entry so that no power overflows."""
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    largest = float(sizes.max())
    return largest * float(((sizes / largest) ** p).sum()) ** (1.0 / p) if largest > 0.0 else largest


@tracker
class EllipsoidTracker(NamedTuple):
    """The matrix of an ellipsoid (or one row, its diagonal), its centre, and memory for a direction and a vertex."""

    spread: np.ndarray
    centre: np.ndarray
    course: np.ndarray
    room: np.ndarray


@constraint_set
class Ellipsoid(NamedTuple):
    """All ``w`` with ``(w - centre)' S^-1 (w - centre) <= radius^2``.

    Parameters
    ----------
    shape : array of shape (d,) or (d, d)
        The lengths of the half-axes, positive: ``S = diag(shape^2)``; or ``S`` itself, symmetric and positive definite,
        such as a covariance matrix.
    radius : float
        Positive: a factor of the half-axes.
    centre : float or array of shape (d,)
        Zero by default.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.Ellipsoid([3.0, 1.0]).vertex([1.0, 0.0])
    array([-3.,  0.])
    >>> fw.sets.Ellipsoid([[9.0, 0.0], [0.0, 1.0]], centre=[1.0, 1.0]).vertex([1.0, 0.0])
    array([-2.,  1.])
    """

    shape: Any
    radius: float = 1.0
    centre: Any = 0.0

    def _checked(self):
        given = numbers("Ellipsoid", "shape", self.shape, "a vector or a matrix")
        shape = _axes(given) if given.ndim == 1 else _spread(given)
        centre = number_or_vector("Ellipsoid", "centre", self.centre)
        if np.ndim(centre) and len(centre) != len(shape):
            raise ValueError(f"Ellipsoid: centre has {len(centre)} entries and shape has {len(shape)}")
        return self._replace(shape=shape, centre=centre)

    def for_size(self, d):
        """Return the set, or raise ValueError if it does not have ``d`` coordinates."""
        same_length("Ellipsoid", "shape", len(self.shape), d)
        return self

    def for_columns(self, columns):
        """Return the ellipsoid of some entries where all others are zero, if it is one around zero."""
        if np.any(self.centre):
            raise unknown_columns(self)
        if self.shape.ndim == 1:
            return self._replace(shape=self.shape[columns], centre=0.0)
        inverse = np.linalg.inv(self.shape)[np.ix_(columns, columns)]
        shape = np.linalg.inv(inverse)
        return self._replace(shape=0.5 * (shape + shape.T), centre=0.0)

    def sparse_hulls(self, k):
        """Return the hull of the points with ``k`` non-zeros, if the axes are those of the weights around zero."""
        if self.shape.ndim == 1 and not np.any(self.centre):
            return [(KSupportBall(k, self.radius), self.shape)]
        return [(self, None)]

    def _centre(self) -> np.ndarray:
        return one_for_each("Ellipsoid", "centre", self.centre, len(self.shape))

    def tracker(self, d):
        """Return the matrix, the centre, and memory for a direction and a vertex."""
        spread = self.shape[np.newaxis] ** 2 if self.shape.ndim == 1 else self.shape
        return EllipsoidTracker(spread, self._centre(), np.zeros(d), np.zeros(d))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: the centre minus ``radius S r / sqrt(r' S r)``."""
        spread, centre, course, room = tracker.spread, tracker.centre, tracker.course, tracker.room
        if not normalise(r, course):  # every point is a minimiser: return one on the boundary
            course[0] = 1.0
        square = 0.0
        for j in range(len(r)):
            total = 0.0
            if len(spread) == 1:
                total = spread[0, j] * course[j]
            else:
                for k in range(len(r)):
                    total += spread[j, k] * course[k]
            room[j] = total
            square += total * course[j]
        stretch = self.radius / sqrt(square)
        for j in range(len(r)):
            room[j] = centre[j] - stretch * room[j]
        return Full(room)

    def radius_price(self, direction):
        """Return by how much the support function rises per unit of the radius: the centre does not move."""
        return self._length(np.asarray(direction, dtype=np.float64))

    def _length(self, direction: np.ndarray) -> float:
        """Return ``sqrt(direction' S direction)``."""
        largest = float(np.abs(direction).max())
        if not largest > 0.0:
            return largest
        scaled = direction / largest
        if self.shape.ndim == 1:
            return largest * float(np.linalg.norm(self.shape * scaled))
        return largest * float(np.sqrt(max(0.0, scaled @ self.shape @ scaled)))

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        return float(direction @ self._centre()) + self.radius * self._length(direction)

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius and the rounding of the centre."""
        offset = (np.asarray(w, dtype=np.float64) - self._centre()) / self.radius
        blur = np.sqrt(len(offset)) * float(np.max(rounding(self._centre()))) / self.radius
        if not np.isfinite(offset).all():
            return False
        if self.shape.ndim == 1:
            return bool(np.linalg.norm(offset / self.shape) <= 1.0 + tolerance + blur / self.shape.min())
        root = np.linalg.cholesky(self.shape)
        shortest = np.sqrt(max(np.linalg.eigvalsh(self.shape)[0], 0.0))
        most = 1.0 + tolerance + (blur / shortest if blur > 0.0 and shortest > 0.0 else 0.0)
        return bool(np.linalg.norm(np.linalg.solve(root, offset)) <= most)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        root = self.shape if self.shape.ndim == 1 else np.linalg.cholesky(self.shape)
        return EllipsoidBarrier(self.radius * root).translated(self._centre())

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        longest = self.shape.max() if self.shape.ndim == 1 else np.sqrt(np.linalg.eigvalsh(self.shape)[-1])
        return 2.0 * self.radius * float(longest)

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 and 2 upper bounds."""
        return from_reaches(X, reaches(self._replace(centre=0.0), X), self.diameter(X.shape[1]))


def _axes(shape: Any) -> np.ndarray:
    """Return checked lengths of half-axes."""
    axes = vector("Ellipsoid", "shape", shape)
    if (axes <= 0.0).any():
        j = int(np.argmin(axes))
        raise ValueError(
            f"Ellipsoid: shape: the lengths of the half-axes must be positive, got {axes[j]:g} at entry {j}"
        )
    return axes


def _spread(shape: Any) -> np.ndarray:
    """Return a checked symmetric positive definite matrix."""
    spread = matrix("Ellipsoid", "shape", shape)
    if spread.shape[0] != spread.shape[1]:
        raise ValueError(f"Ellipsoid: shape must be a vector or a square matrix, got shape {spread.shape}")
    apart = np.abs(spread - spread.T)
    if apart.max() > 1e-12 * np.abs(spread).max():
        i, j = (int(k) for k in np.unravel_index(np.argmax(apart), apart.shape))
        raise ValueError(
            f"Ellipsoid: shape: it must be symmetric, but entry ({i}, {j}) is {spread[i, j]:g} and ({j}, {i}) is "
            f"{spread[j, i]:g}"
        )
    least = float(np.linalg.eigvalsh(spread)[0])
    if least <= 1e-14 * np.abs(spread).max():
        raise ValueError(f"Ellipsoid: shape: it must be positive definite, but its least eigenvalue is {least:g}")
    return 0.5 * (spread + spread.T)
