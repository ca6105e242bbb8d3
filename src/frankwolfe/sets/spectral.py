"""Sets of matrices described by singular values or eigenvalues. Their vertices have rank one.

A matrix is stored flat, row after row. Two trackers find the leading singular vectors of ``r``: `Gram` keeps the Gram
matrix of the shorter side up to date, and `CallbackTracker` calls an iterative method outside of compiled code.
"""

from collections.abc import Callable
from math import isfinite, isqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import defaults_from
from frankwolfe.compile.verbs import accept, contract, recount, routine, row_add, row_dot, row_sandwich, twofold
from frankwolfe.linalg.singular import SHORT, Triplets, leading_eigen, leading_triplets
from frankwolfe.rows.observed_entries import EntryAtom, Factors, ObservedEntries
from frankwolfe.sets.atoms import oppose
from frankwolfe.sets.barriers import SpectrahedronBarrier, TraceBarrier
from frankwolfe.sets.base import Structure, TraceNorm, ball, constraint_set, from_diameter, tracker, unknown_columns
from frankwolfe.sets.callbacks import Messenger, call_oracle

SMALL, LARGE = 1e-100, 1e100
"""Squares of numbers between these neither underflow nor overflow."""


class RankOne(NamedTuple):
    """The atom ``amount * left right'``, flat."""

    left: np.ndarray
    right: np.ndarray
    amount: float

    def prediction(self, rows, i):
        """Return the inner product of row ``i`` with the atom."""
        return self.amount * row_sandwich(rows, i, self.left, self.right)

    def inner(self, r):
        """Return the inner product of the atom with ``r``."""
        image = np.empty(len(self.left))
        map_right(r, self.right, image)
        return self.amount * contract(image, self.left)

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        accept(iterate, self.left, self.right, c * self.amount)


@routine
def map_right(r, right, left):
    """Fill ``left`` with the matrix ``r`` times ``right``; a plain loop, since threads would cost more."""
    columns = np.uint64(len(right))
    for j in range(len(left)):
        first, total = np.uint64(j) * columns, 0.0
        for k in range(columns):
            total += r[first + k] * right[k]
        left[j] = total


@routine
def map_left(r, left, right):
    """Fill ``right`` with the transpose of the matrix ``r`` times ``left``."""
    columns = np.uint64(len(right))
    right[:] = 0.0
    for j in range(len(left)):
        first, part = np.uint64(j) * columns, left[j]
        for k in range(columns):
            right[k] += part * r[first + k]


@routine
def largest(vector):
    """Return the largest absolute value in a vector; NaN if one is NaN. Compiles faster than NumPy's functions."""
    size = 0.0
    for k in range(len(vector)):
        if not abs(vector[k]) <= size:
            size = abs(vector[k])
            if size != size:
                break
    return size


@routine
def trace(matrix):
    """Return the sum of the diagonal of a matrix."""
    total = 0.0
    for k in range(len(matrix)):
        total += matrix[k, k]
    return total


@tracker
class Gram(NamedTuple):
    """Tracker that updates the Gram matrix of ``r`` over its shorter side.

    If the columns are the outputs, adding ``x c'`` to ``r`` changes ``r'r`` by ``c (r'x)' + (r'x) c' + |x|^2 c c'``,
    which costs no more than the row itself. After as many updates as ``r`` has rows the matrix is recomputed, to limit
    the accumulation of rounding errors.

    Attributes
    ----------
    gram : array of shape (short, short)
    left, right : arrays
        The singular vectors found last.
    age : array of shape (1,)
        Updates since the Gram matrix was computed; negative if it must be recomputed.
    """

    gram: np.ndarray
    left: np.ndarray
    right: np.ndarray
    age: np.ndarray

    @classmethod
    def over(cls, rows: int, columns: int) -> "Gram":
        """Return the tracker of a matrix of that shape."""
        short = min(rows, columns)
        return cls(np.zeros((short, short)), np.zeros(rows), np.zeros(columns), np.array([-1]))

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r``, and update the Gram matrix if that is cheap."""
        _add_row(self, rows, i, r, c)

    def rebuild(self, r):
        """Mark the Gram matrix as outdated."""
        self.age[0] = -1

    def recount(self, r):
        """Find the leading singular vectors of ``r``."""
        gram, left, right, age = self.gram, self.left, self.right, self.age
        tall = len(left) >= len(right)
        if age[0] < 0 or age[0] >= len(left) or not SMALL**2 < trace(gram) < LARGE**2:
            size = largest(r)
            ordinary = not (size > 0.0 and isfinite(size)) or SMALL < size < LARGE
            matrix = np.ascontiguousarray(r).reshape((len(left), len(right)))
            if not ordinary:
                matrix = matrix / size
            side = matrix if tall else np.ascontiguousarray(matrix.T)  # one product: numba compiles each for 0.4 s
            gram[:] = np.dot(side.T, side)
            age[0] = 0 if ordinary else -1  # the Gram matrix of a scaled matrix must not be updated
        if not isfinite(trace(gram)):  # r is not finite, and the exact gap will report it
            left[:], right[:] = 0.0, 0.0
            return
        short, long = (right, left) if tall else (left, right)
        short[:] = np.linalg.eigh(gram)[1][:, -1]
        if tall:
            map_right(r, right, left)
        else:
            map_left(r, left, right)
        oppose(long, -1.0, long)  # scaled to length one, by which its direction stays


def _add_outer(tracker, rows, i, r, c):
    gram, age = tracker.gram, tracker.age
    if age[0] < 0 or len(tracker.right) > len(tracker.left):
        age[0] = -1
        row_add(rows, i, c, r)
        return
    before = row_dot(rows, i, r)
    row_add(rows, i, c, r)
    square = contract(row_dot(rows, i, r) - before, c) / max(contract(c, c), 1e-300)
    for k in range(len(c)):
        for other in range(len(c)):
            gram[k, other] += c[k] * before[other] + before[k] * c[other] + square * c[k] * c[other]
    age[0] += 1


@twofold(_add_outer)
def _add_row(tracker, rows, i, r, c):
    """Add ``c`` times row ``i`` to ``r``; with several outputs update the Gram matrix, with one mark it as outdated."""
    tracker.age[0] = -1
    row_add(rows, i, c, r)


@tracker
class CallbackTracker(NamedTuple):
    """Tracker that finds singular vectors, or eigenvectors, by a callback.

    Attributes
    ----------
    messenger : Messenger
        Messenger to the code that computes the vectors.
    left, right : arrays
        The vectors found last: views of the messenger's memory.
    memory : array
        State of the callback from one call to the next, part of checkpoints.
    """

    messenger: Messenger
    left: np.ndarray
    right: np.ndarray
    memory: np.ndarray

    @classmethod
    def over(
        cls, size: int, shape: tuple[int, int], answer: Callable[[np.ndarray], np.ndarray], memory: np.ndarray
    ) -> "CallbackTracker":
        """Return a tracker for ``size`` numbers; ``answer`` returns the left vector followed by the right one."""
        messenger = Messenger.over(size, answer, sum(shape))
        return cls(messenger, messenger.room[: shape[0]], messenger.room[shape[0] :], memory)

    @classmethod
    def krylov(cls, size: int, matrix_of: Callable[[np.ndarray], Any], shape: tuple[int, int]) -> "CallbackTracker":
        """Return a tracker for the leading singular vectors of a matrix of that shape, which is a function of ``r``.

        The search starts at the vectors found last. Its accuracy follows the theory of Frank-Wolfe with an inexact
        oracle: the error may decrease as 1/t (Jaggi 2013). The residual bounds it.
        """
        memory = np.zeros(1 + min(shape))  # the number of calls, and the vector of the shorter side found last

        def answer(r: np.ndarray) -> np.ndarray:
            calls, last = memory[0] + 1.0, memory[1:].copy() if memory[0] > 0.0 else None
            found = leading_triplets(matrix_of(r), 1, 0.1 / (calls + 1.0), last)
            left, right = found.left[:, 0], found.right[:, 0]
            memory[0], memory[1:] = calls, right if shape[0] >= shape[1] else left
            return np.concatenate([left, right])

        return cls.over(size, shape, answer, memory)

    def recount(self, r):
        """Compute the vectors by the callback."""
        call_oracle(self.messenger, r)


class TraceNormMethods:
    """Methods that the two trace-norm balls share."""

    radius: float
    matrix: Callable[[Any], Any]

    def structure(self):
        """Return the trace norm as a `Structure`."""
        return Structure(TraceNorm(self.radius, self.matrix, self.triplets))

    def triplets(self, r: np.ndarray, count: int = 1, **how: Any) -> Triplets:
        """Return leading singular triplets of ``r``; see `frankwolfe.linalg.singular.leading_triplets`."""
        return leading_triplets(self.matrix(r), count, **how)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set, or slightly more: see `Triplets.bound`."""
        return self.radius * self.triplets(direction, tolerance=1e-3).bound

    def proven_support(self, direction):
        """Return an upper bound on the support function, proven if affordable: see `leading_triplets`."""
        return self.radius * self.triplets(direction, tolerance=1e-5, proof=True).bound

    def attains_support(self):
        """Return False: singular vectors of large matrices are computed only to the accuracy that a step needs."""
        return False


@ball
@defaults_from(TraceNormMethods)
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
        return self._replace(shape=checked_shape("TraceBall", self.shape))

    def shaped(self, rows, columns):
        """Return the ball for matrices of that shape."""
        if self.shape not in (None, (rows, columns)):
            raise ValueError(
                f"TraceBall: shape is {self.shape}, but the weights are {rows} x {columns} (columns in X, outputs)"
            )
        return self._replace(shape=(rows, columns))

    def for_columns(self, columns):
        """Return the ball of some rows of the matrix where all others are zero."""
        width = self.shape[1]
        rows = np.unique(columns // width)
        if len(rows) * width != len(columns):
            raise unknown_columns(self)
        return self._replace(shape=(len(rows), width))

    def for_size(self, size):
        """Return the set, or raise ValueError if the matrix does not have ``size`` entries."""
        if self.shape is None:
            raise ValueError(
                "TraceBall: with a loss of one output the weights are a vector; say which matrix they are, "
                "e.g. TraceBall(radius, shape=(rows, columns)), or use a loss of several outputs"
            )
        if self.shape[0] * self.shape[1] != size:
            raise ValueError(f"TraceBall: a {self.shape[0]} x {self.shape[1]} matrix, but there are {size} weights")
        return self

    def tracker(self, size):
        """Return the Gram matrix of the shorter side if it is short, else a callback for singular vectors."""
        if min(self.shape) <= SHORT:
            return Gram.over(*self.shape)
        return CallbackTracker.krylov(size, self.matrix, self.shape)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        recount(tracker, r)
        return RankOne(tracker.left, tracker.right, -self.radius)

    def matrix(self, r):
        """Return a flat vector as a matrix."""
        return np.reshape(r, self.shape)

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        matrix = self.matrix(w)
        if not np.isfinite(matrix).all():
            return False
        return bool(np.linalg.svd(matrix, compute_uv=False).sum() <= self.radius * (1.0 + tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        return TraceBarrier(*self.shape).scaled(self.radius)

    def image_diameters(self, X):
        """Return upper bounds on ``D_p`` for p = 1, 2, inf, from the diameter: exact ones would take an SVD a row."""
        return from_diameter(2.0 * self.radius, X)


@constraint_set
@defaults_from(TraceNormMethods)
class SampledTraceBall(NamedTuple):
    """All matrices of trace norm at most ``radius``, of which only some entries matter: for matrix completion.

    A direction ``r`` has one number for each of those entries and represents the sparse matrix that holds them. Points
    are `Factors`.

    Attributes
    ----------
    radius : float
    columns : int
        Number of columns of the matrix.
    entries : ObservedEntries
        The entries that matter.
    """

    radius: float
    columns: int
    entries: ObservedEntries

    def tracker(self, size):
        """Return a callback for singular vectors."""
        return CallbackTracker.krylov(size, self.matrix, (len(self.entries.starts) - 1, self.columns))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        recount(tracker, r)
        return EntryAtom(tracker.left, tracker.right, -self.radius, self.entries)

    def matrix(self, r: np.ndarray) -> Any:
        """Return the sparse matrix that ``r`` represents."""
        return self.entries.matrix(r, self.columns)

    def contains(self, w: Factors, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(w.singular_values.sum() <= self.radius * (1.0 + tolerance))

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact."""
        length, n = 2.0 * self.radius, len(self.entries.rows)
        return {1: (length * float(np.sqrt(n)), n == 1), 2: (length, False), np.inf: (length, True)}


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
    >>> fw.sets.Spectrahedron(2.0).vertex([3.0, 0.0, 0.0, 1.0]).reshape(2, 2)
    array([[0., 0.],
           [0., 2.]])
    """

    trace: float = 1.0

    def shaped(self, rows, columns):
        """Return the set, or raise ValueError if the weights are not a square matrix."""
        if rows != columns:
            raise ValueError(
                f"Spectrahedron: matrices are square, but the weights are {rows} x {columns} (columns in X, outputs)"
            )
        return self

    def for_size(self, size):
        """Return the set, or raise ValueError if ``size`` is not a square number."""
        _side(size)
        return self

    def tracker(self, size):
        """Return a callback for the eigenvector of the smallest eigenvalue."""
        side = _side(size)
        return CallbackTracker.over(size, (side, side), lambda r: np.tile(_eigen(-r)[1], 2), np.zeros(0))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        recount(tracker, r)
        return RankOne(tracker.left, tracker.right, self.trace)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return self.trace * _eigen(direction)[0]

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the trace."""
        matrix, slack = np.reshape(w, (_side(np.size(w)),) * 2), self.trace * tolerance
        if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > slack:
            return False
        off = abs(np.trace(matrix) - self.trace)
        return bool(off <= slack * len(matrix) and np.linalg.eigvalsh(matrix)[0] >= -slack)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        return SpectrahedronBarrier(_side(size)).scaled(self.trace)

    def diameter(self, size):
        """Return the Euclidean diameter."""
        return self.trace * np.sqrt(2.0) if size > 1 else 0.0

    def image_diameters(self, X):
        """Return upper bounds on ``D_p`` for p = 1, 2, inf, from the diameter."""
        return from_diameter(self.diameter(X.shape[1]), X)


def _side(size: int) -> int:
    """Return the side of a square matrix with ``size`` entries."""
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
    """Return the shape of a matrix, or raise ValueError if it is not two positive ints."""
    if shape is None:
        return None
    sides = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(sides) != 2 or not all(isinstance(side, int | np.integer) and side > 0 for side in sides):
        raise ValueError(f"{name}: shape must be two positive ints (rows, columns), got {shape!r}")
    return int(sides[0]), int(sides[1])
