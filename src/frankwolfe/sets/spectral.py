"""Sets of matrices known by their singular values or eigenvalues. Their vertices have rank one.

A matrix is kept flat, row after row, as everywhere in the package.
"""

from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import recount
from frankwolfe.linalg.singular import SHORT, Triplets, leading_eigen, leading_triplets
from frankwolfe.sets.atoms import vertex_of
from frankwolfe.sets.barriers.matrices import SpectrahedronBarrier, TraceBarrier
from frankwolfe.sets.base import ball, constraint_set
from frankwolfe.sets.rank_one import CLOSE, CLOSER, Asked, Gram, RankOne
from frankwolfe.sets.structure import Structure, TraceNorm


@ball
class TraceBall(NamedTuple):
    """All matrices whose singular values sum to at most ``radius``: the ball of the trace (nuclear) norm.

    Parameters
    ----------
    radius : float
        Positive.
    shape : tuple of two ints, optional
        Rows and columns of the matrix. With a loss of several outputs it follows from the data: one row for each
        column of ``X``, one column for each output.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.TraceBall(2.0, (2, 2)).vertex([3.0, 0.0, 0.0, 1.0]).reshape(2, 2).round(6) + 0.0
    array([[-2.,  0.],
           [ 0.,  0.]])
    """

    radius: float
    shape: Any = None

    def _checked(self):
        return self._replace(
            radius=positive("TraceBall", "radius", self.radius), shape=checked_shape("TraceBall", self.shape)
        )

    def shaped(self, rows, columns):
        """Return the ball for matrices of that shape."""
        if self.shape not in (None, (rows, columns)):
            raise ValueError(
                f"TraceBall: shape is {self.shape}, but the weights are {rows} x {columns} (columns in X, outputs)"
            )
        return self._replace(shape=(rows, columns))

    def for_size(self, size):
        """Check that the matrix has as many entries as there are weights."""
        if self.shape is None:
            raise ValueError(
                "TraceBall: with a loss of one output the weights are a vector; say which matrix they are, "
                "e.g. TraceBall(radius, shape=(rows, columns)), or use a loss of several outputs"
            )
        if self.shape[0] * self.shape[1] != size:
            raise ValueError(f"TraceBall: a {self.shape[0]} x {self.shape[1]} matrix, but there are {size} weights")
        return self

    def tracker(self, size):
        """Return the Gram matrix of the shorter side, or a way to ask for the leading singular vectors."""
        if min(self.shape) <= SHORT:
            return Gram.over(*self.shape)
        return Asked.krylov(size, self.matrix, self.shape)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        recount(tracker, r)
        return RankOne(tracker.left, tracker.right, -self.radius)

    def matrix(self, r):
        """Return a flat vector as the matrix it stands for."""
        return np.reshape(r, self.shape)

    def structure(self):
        """Say how the points are made up: singular values with a bounded sum."""
        return Structure(TraceNorm(self.radius, self.matrix, self.triplets))

    def triplets(self, r: np.ndarray, count: int = 1, **how: Any) -> Triplets:
        """Return leading singular triplets of ``r``; see `frankwolfe.linalg.singular.leading_triplets`."""
        return leading_triplets(self.matrix(r), count, **how)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set, or slightly more: see `frankwolfe.linalg.singular.Triplets`."""
        return self.radius * self.triplets(direction, tolerance=CLOSE).bound

    def attains_support(self):
        """Say no: singular vectors of large matrices are found about as closely as a step needs them."""
        return False

    def proven_support(self, direction):
        """Return the same, proven where that is affordable: see `frankwolfe.linalg.singular.leading_triplets`."""
        return self.radius * self.triplets(direction, tolerance=CLOSER, proof=True).bound

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        matrix = self.matrix(w)
        if not np.isfinite(matrix).all():
            return False
        return bool(np.linalg.svd(matrix, compute_uv=False).sum() <= self.radius * (1.0 + tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return TraceBarrier(*self.shape).scaled(self.radius)

    def diameter(self, size):
        """Euclidean diameter."""
        return 2.0 * self.radius


@constraint_set
class Spectrahedron(NamedTuple):
    """All symmetric positive semidefinite matrices whose trace is ``trace``. Vertices: ``trace * v v'``, ``|v| = 1``.

    Parameters
    ----------
    trace : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Spectrahedron(2.0).vertex([3.0, 0.0, 0.0, 1.0]).reshape(2, 2)
    array([[0., 0.],
           [0., 2.]])
    """

    trace: float = 1.0

    def _checked(self):
        return self._replace(trace=positive("Spectrahedron", "trace", self.trace))

    def shaped(self, rows, columns):
        """Return the set itself, if the weights are a square matrix."""
        if rows != columns:
            raise ValueError(
                f"Spectrahedron: matrices are square, but the weights are {rows} x {columns} (columns in X, outputs)"
            )
        return self

    def for_size(self, size):
        """Check that the weights are as many as a square matrix has entries."""
        _side(size)
        return self

    def tracker(self, size):
        """Return a way to ask for the lowest eigenvector."""
        side = _side(size)
        return Asked.over(size, side, side, lambda r: np.tile(_eigen(-r)[1], 2))

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        recount(tracker, r)
        return RankOne(tracker.left, tracker.right, self.trace)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.trace * _eigen(direction)[0]

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the trace."""
        matrix, slack = np.reshape(w, (_side(np.size(w)),) * 2), self.trace * tolerance
        if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > slack:
            return False
        off = abs(np.trace(matrix) - self.trace)
        return bool(off <= slack * len(matrix) and np.linalg.eigvalsh(matrix)[0] >= -slack)

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return SpectrahedronBarrier(_side(size)).scaled(self.trace)

    def diameter(self, size):
        """Euclidean diameter."""
        return self.trace * np.sqrt(2.0) if size > 1 else 0.0


def _side(size: int) -> int:
    """Return the side of a square matrix with so many entries."""
    side = isqrt(int(size))
    if side * side != size:
        raise ValueError(f"Spectrahedron: the weights must be a square matrix laid out flat, and {size} is no square")
    return side


def _eigen(r: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the largest eigenvalue, and its vector, of the symmetric part of a square matrix laid out flat."""
    matrix = np.reshape(np.asarray(r, dtype=np.float64), (_side(np.size(r)),) * 2)
    if not np.isfinite(matrix).all():
        return np.nan, np.eye(len(matrix))[0]
    values, vectors = leading_eigen(0.5 * (matrix + matrix.T), 1)
    return float(values[0]), vectors[:, 0]


def checked_shape(name: str, shape: Any) -> tuple[int, int] | None:
    """Return the shape of a matrix, or say what is wrong with it."""
    if shape is None:
        return None
    sides = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(sides) != 2 or not all(isinstance(side, int | np.integer) and side > 0 for side in sides):
        raise ValueError(f"{name}: shape must be two positive ints (rows, columns), got {shape!r}")
    return int(sides[0]), int(sides[1])
