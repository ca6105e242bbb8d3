"""Vertices of rank one, ``amount * u v'``, and the trackers that find the leading singular vectors of ``r``."""

from collections.abc import Callable
from math import isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.twofold import contract, twofold
from frankwolfe.compile.verbs import accept, routine, row_add, row_dot, row_sandwich
from frankwolfe.linalg.singular import leading_triplets
from frankwolfe.sets.callbacks import Messenger, consult
from frankwolfe.trackers.tracker_defaults import tracker

SMALL, LARGE = 1e-100, 1e100
"""Sizes of entries whose squares are safe from underflow and overflow."""

CLOSE = 1e-3
"""Relative residual of the largest singular value in estimates of a gap."""

CLOSER = 1e-5
"""The same in certificates, where they have to do without a proof."""


class RankOne(NamedTuple):
    """The matrix ``amount * left right'``, flat; both arrays are the tracker's, and its next answer overwrites them."""

    left: np.ndarray
    right: np.ndarray
    amount: float

    def prediction(self, rows, i):
        """Inner product of row ``i`` with the atom."""
        return self.amount * row_sandwich(rows, i, self.left, self.right)

    def inner(self, r):
        """Inner product of the atom with ``r``."""
        image = np.empty(len(self.left))
        map_right(r, self.right, image)
        return self.amount * contract(image, self.left)

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        accept(iterate, self.left, self.right, c * self.amount)

    def dense(self, size: int) -> np.ndarray:
        """Return the atom as a new flat array."""
        return self.amount * np.outer(self.left, self.right).ravel()


@routine
def map_right(r, right, left):
    """Fill ``left`` with the matrix ``r`` times ``right``; a plain loop, for threads cost more here than they give."""
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
def normalise(vector):
    """Scale a vector to length one; where it is zero, any direction is as good."""
    size = np.abs(vector).max()
    if size > 0.0:
        vector /= size  # first, for its square may be nothing
        vector /= sqrt(contract(vector, vector))
    else:
        vector[:] = 0.0
        vector[0] = 1.0


@tracker
class Gram(NamedTuple):
    """Tracker that keeps the Gram matrix of ``r`` over its shorter side.

    Where the columns are the outputs, adding ``x c'`` to ``r`` changes ``r'r`` by ``c (r'x)' + (r'x) c' + |x|^2 c c'``,
    which costs no more than the row itself. After as many changes as ``r`` has rows it is taken anew, against rounding.

    Attributes
    ----------
    gram : array of shape (short, short)
    left, right : arrays
        The vectors found last.
    age : array of shape (1,)
        Changes since the Gram matrix was taken; negative if it has to be.
    """

    gram: np.ndarray
    left: np.ndarray
    right: np.ndarray
    age: np.ndarray

    @classmethod
    def over(cls, rows: int, columns: int) -> "Gram":
        """Tracker for a matrix of that shape."""
        short = min(rows, columns)
        return cls(np.zeros((short, short)), np.zeros(rows), np.zeros(columns), np.array([-1]))

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r`` and keep the Gram matrix up to date, if that is cheap."""
        _add_row(self, rows, i, r, c)

    def rebuild(self, r):
        """Note that the Gram matrix has to be taken anew."""
        self.age[0] = -1

    def recount(self, r):
        """Find the leading singular vectors of ``r``."""
        gram, left, right, age = self.gram, self.left, self.right, self.age
        tall = len(left) >= len(right)
        if age[0] < 0 or age[0] >= len(left) or not SMALL**2 < np.trace(gram) < LARGE**2:
            size = np.abs(r).max()
            ordinary = not (size > 0.0 and isfinite(size)) or SMALL < size < LARGE
            matrix = np.ascontiguousarray(r).reshape((len(left), len(right)))
            if not ordinary:
                matrix = matrix / size
            gram[:] = np.dot(matrix.T, matrix) if tall else np.dot(matrix, matrix.T)
            age[0] = 0 if ordinary else -1  # of a scaled matrix: good for this once
        if not isfinite(np.trace(gram)):  # of no use, and the exact gap will say so
            left[:], right[:] = 0.0, 0.0
        elif tall:
            right[:] = np.linalg.eigh(gram)[1][:, -1]
            map_right(r, right, left)
            normalise(left)
        else:
            left[:] = np.linalg.eigh(gram)[1][:, -1]
            map_left(r, left, right)
            normalise(right)


@tracker
class Asked(NamedTuple):
    """Tracker that has singular vectors, or eigenvectors, found outside compiled code.

    Attributes
    ----------
    messenger : Messenger
        To the code that finds them.
    left, right : arrays
        The vectors found last: parts of the messenger's room.
    memory : array
        What the code remembers from one call to the next, empty if nothing.
    """

    messenger: Messenger
    left: np.ndarray
    right: np.ndarray
    memory: np.ndarray

    @classmethod
    def over(
        cls,
        size: int,
        rows: int,
        columns: int,
        answer: Callable[[np.ndarray], np.ndarray],
        memory: np.ndarray | None = None,
    ) -> "Asked":
        """Tracker for an ``r`` of so many numbers; ``answer`` returns the left vector and then the right one.

        ``memory`` is what ``answer`` remembers, if it does.
        """
        messenger = Messenger.over(size, answer, rows + columns)
        memory = np.zeros(0) if memory is None else memory
        return cls(messenger, messenger.room[:rows], messenger.room[rows:], memory)

    @classmethod
    def krylov(cls, size: int, matrix_of: Callable[[np.ndarray], Any], shape: tuple[int, int]) -> "Asked":
        """Tracker that has the leading singular vectors of the matrix that ``r`` stands for found by `KrylovAnswer`."""
        answer = KrylovAnswer(matrix_of, shape)
        return cls.over(size, *shape, answer, answer.memory)

    def connected(self, failed):
        """Return the tracker with another flag."""
        return self._replace(messenger=self.messenger.connected(failed))

    def recount(self, r):
        """Ask."""
        consult(self.messenger, r)


class KrylovAnswer:
    """A function from ``r`` to its leading singular vectors that starts where it last arrived.

    Its accuracy follows the theory of Frank-Wolfe with an inexact oracle: the error may fall as 1/t (Jaggi 2013). The
    residual bounds it.

    Parameters
    ----------
    matrix_of : callable
        From ``r`` to the matrix that it stands for.
    shape : tuple of two ints
        Of that matrix.
    """

    def __init__(self, matrix_of: Callable[[np.ndarray], Any], shape: tuple[int, int]):
        self.matrix_of, self.shape = matrix_of, shape
        self.memory = np.zeros(1 + min(shape))  # the number of calls, and the vector of the shorter side found last

    def __call__(self, r: np.ndarray) -> np.ndarray:
        """Return the left vector and then the right one."""
        calls, last = self.memory[0] + 1.0, self.memory[1:].copy() if self.memory[0] > 0.0 else None
        found = leading_triplets(self.matrix_of(r), 1, 0.1 / (calls + 1.0), last)
        left, right = found.left[:, 0], found.right[:, 0]
        self.memory[0], self.memory[1:] = calls, right if self.shape[0] >= self.shape[1] else left
        return np.concatenate([left, right])


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
    """Add ``c`` times row ``i`` to ``r``; the Gram matrix follows where predictions are the matrix's columns."""
    tracker.age[0] = -1
    row_add(rows, i, c, r)
