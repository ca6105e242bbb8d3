"""Atoms: the vertices that an oracle returns, in types that differ in the cost of their operations.

An atom has three compiled methods: ``prediction(rows, i)`` is its inner product with row ``i``, ``inner(r)`` with a
dense vector, and ``deposit(iterate, c)`` adds ``c`` times the atom to the iterate. Its arrays belong to the tracker:
the next oracle call overwrites them.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import coordinate, deposit, inner, prediction, routine, row_dot, row_entry

SMALLEST_SCALE = 1e-100
"""Scale below which the iterate is rescaled (``v`` times the scale, scale 1), well before underflow."""


class Iterate(NamedTuple):
    """A point ``w = scale[0] * v`` of the set."""

    v: np.ndarray
    scale: np.ndarray

    @classmethod
    def at(cls, w: np.ndarray) -> "Iterate":
        """Return an iterate that starts at ``w``."""
        return cls(np.array(w, dtype=np.float64), np.ones(1))

    def prediction(self, rows, i):
        """Return the inner product of row ``i`` with ``w``."""
        return self.scale[0] * row_dot(rows, i, self.v)

    def inner(self, r):
        """Return the inner product of ``w`` with ``r``."""
        v, total = self.v, 0.0
        for j in range(len(v)):
            total += v[j] * r[j]
        return self.scale[0] * total

    def shrink(self, c):
        """Multiply ``w`` by ``c``."""
        scale = self.scale[0] * c
        if scale < SMALLEST_SCALE:
            v = self.v
            for j in range(len(v)):
                v[j] *= scale
            scale = 1.0
        self.scale[0] = scale

    def accept(self, left, right, c):
        """Add ``c left right'`` to ``w``, a matrix laid out flat."""
        v, share, columns = self.v, c / self.scale[0], np.uint64(len(right))
        for j in range(len(left)):
            first, part = np.uint64(j) * columns, share * left[j]
            for k in range(columns):
                v[first + k] += part * right[k]

    def dense(self) -> np.ndarray:
        """Return ``w`` as a new array."""
        return self.v * self.scale[0]


class Hot(NamedTuple):
    """A vertex with one non-zero coordinate. Every use costs O(1), or the lookup of one entry of a row."""

    at: int
    amount: float

    def prediction(self, rows, i):
        """Return the inner product of row ``i`` with the atom."""
        return self.amount * row_entry(rows, i, self.at)

    def inner(self, r):
        """Return the inner product of the atom with ``r``."""
        return self.amount * r[self.at]

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        iterate.v[self.at] += c / iterate.scale[0] * self.amount  # rounded as in a `Full` atom

    def coordinate(self):
        """Return the atom itself."""
        return self


class Full(NamedTuple):
    """A dense vertex."""

    values: np.ndarray

    def prediction(self, rows, i):
        """Return the inner product of row ``i`` with the atom."""
        return row_dot(rows, i, self.values)

    def inner(self, r):
        """Return the inner product of the atom with ``r``."""
        values, total = self.values, 0.0
        for j in range(len(values)):
            total += values[j] * r[j]
        return total

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        values, v, share = self.values, iterate.v, c / iterate.scale[0]
        for j in range(len(values)):
            v[j] += share * values[j]

    def coordinate(self):
        """Return the atom as a `Hot`. It must have at most one non-zero entry."""
        values, at = self.values, 0
        for j in range(len(values)):
            if values[j] != 0.0:
                at = j
        return Hot(at, values[at])


class Block(NamedTuple):
    """A vertex with few non-zero coordinates. Every use costs O(their number), or as many lookups in a row."""

    at: np.ndarray
    values: np.ndarray

    def prediction(self, rows, i):
        """Return the inner product of row ``i`` with the atom."""
        at, values = self.at, self.values
        total = values[0] * row_entry(rows, i, at[0])
        for k in range(1, len(at)):
            total += values[k] * row_entry(rows, i, at[k])
        return total

    def inner(self, r):
        """Return the inner product of the atom with ``r``."""
        at, values, total = self.at, self.values, 0.0
        for k in range(len(at)):
            total += values[k] * r[at[k]]
        return total

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        at, values, v, share = self.at, self.values, iterate.v, c / iterate.scale[0]
        for k in range(len(at)):
            v[at[k]] += share * values[k]


class Stretched(NamedTuple):
    """Another atom times a factor."""

    atom: Any
    factor: float

    def prediction(self, rows, i):
        """Return the inner product of row ``i`` with the atom."""
        return self.factor * prediction(self.atom, rows, i)

    def inner(self, r):
        """Return the inner product of the atom with ``r``."""
        return self.factor * inner(self.atom, r)

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        deposit(self.atom, iterate, c * self.factor)

    def coordinate(self):
        """Return the atom as a `Hot`."""
        atom = coordinate(self.atom)
        return Hot(atom.at, self.factor * atom.amount)


class Shifted(NamedTuple):
    """Another atom plus a fixed vector."""

    atom: Any
    shift: np.ndarray

    def prediction(self, rows, i):
        """Return the inner product of row ``i`` with the atom."""
        return prediction(self.atom, rows, i) + row_dot(rows, i, self.shift)

    def inner(self, r):
        """Return the inner product of the atom with ``r``."""
        return inner(self.atom, r) + inner(Full(self.shift), r)

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        deposit(self.atom, iterate, c)
        deposit(Full(self.shift), iterate, c)


def dense(atom: Any, d: int) -> np.ndarray:
    """Return an atom as a new array of ``d`` entries.

    Examples
    --------
    >>> dense(Hot(1, 2.0), 3)
    array([0., 2., 0.])
    """
    s = np.zeros(d)
    deposit(atom, Iterate(s, np.ones(1)), 1.0)
    return s


@routine
def normalise(r, room):
    """Fill ``room`` with ``r`` divided by its largest absolute entry; return False if ``r`` is zero.

    Squares and powers of the entries then neither overflow nor underflow.
    """
    largest = 0.0
    for j in range(len(r)):
        largest = max(largest, abs(r[j]))
    if largest == 0.0:
        room[:] = 0.0
        return False
    lift = 1e200 if largest < 1e-200 else 1.0  # scale up subnormal entries first, because 1 / largest would overflow
    largest *= lift
    for j in range(len(r)):
        room[j] = lift * r[j] / largest
    return True


@routine
def oppose(r, size, room):
    """Fill ``room`` with the vector of Euclidean norm ``size`` in the direction ``-r``, any direction if ``r`` is 0."""
    if not normalise(r, room):
        room[0] = size
        return
    squares = 0.0
    for j in range(len(room)):
        squares += room[j] * room[j]
    stretch = -size / sqrt(squares)
    for j in range(len(room)):
        room[j] *= stretch
