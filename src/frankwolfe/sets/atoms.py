"""Atoms: the vertices an oracle returns, typed by what they cost to use."""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import coordinate, deposit, inner, prediction, routine, row_dot, row_entry
from frankwolfe.sets.base import tracker


class Hot(NamedTuple):
    """One non-zero coordinate: every use costs O(1), or one look into a row."""

    at: int
    amount: float

    def prediction(self, rows, i):
        """Inner product of row ``i`` with the atom."""
        return self.amount * row_entry(rows, i, self.at)

    def inner(self, r):
        """Inner product of the atom with ``r``."""
        return self.amount * r[self.at]

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        iterate.v[self.at] += c * self.amount / iterate.scale[0]

    def coordinate(self):
        """Return the atom itself."""
        return self

    def dense(self, d: int) -> np.ndarray:
        """Return the atom as a new array."""
        s = np.zeros(d)
        s[self.at] = self.amount
        return s


class Full(NamedTuple):
    """A vertex with no zeros to exploit, in an array that the next oracle call overwrites."""

    values: np.ndarray

    def prediction(self, rows, i):
        """Inner product of row ``i`` with the atom."""
        return row_dot(rows, i, self.values)

    def inner(self, r):
        """Inner product of the atom with ``r``."""
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
        """Return the same as one coordinate; it must not have more."""
        values, at = self.values, 0
        for j in range(len(values)):
            if values[j] != 0.0:
                at = j
        return Hot(at, values[at])

    def dense(self, d: int) -> np.ndarray:
        """Return the atom as a new array."""
        return self.values.copy()


class Block(NamedTuple):
    """A few non-zero coordinates: every use costs O(their number), or as many looks into a row.

    Both arrays are the tracker's, and the next oracle call overwrites them.
    """

    at: np.ndarray
    values: np.ndarray

    def prediction(self, rows, i):
        """Inner product of row ``i`` with the atom."""
        at, values = self.at, self.values
        total = values[0] * row_entry(rows, i, at[0])
        for k in range(1, len(at)):
            total += values[k] * row_entry(rows, i, at[k])
        return total

    def inner(self, r):
        """Inner product of the atom with ``r``."""
        at, values, total = self.at, self.values, 0.0
        for k in range(len(at)):
            total += values[k] * r[at[k]]
        return total

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        at, values, v, share = self.at, self.values, iterate.v, c / iterate.scale[0]
        for k in range(len(at)):
            v[at[k]] += share * values[k]

    def dense(self, d: int) -> np.ndarray:
        """Return the atom as a new array."""
        s = np.zeros(d)
        s[self.at] = self.values
        return s


class Stretched(NamedTuple):
    """Another atom times a factor."""

    atom: Any
    factor: float

    def prediction(self, rows, i):
        """Inner product of row ``i`` with the atom."""
        return self.factor * prediction(self.atom, rows, i)

    def inner(self, r):
        """Inner product of the atom with ``r``."""
        return self.factor * inner(self.atom, r)

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        deposit(self.atom, iterate, c * self.factor)

    def coordinate(self):
        """Return the same as one coordinate."""
        atom = coordinate(self.atom)
        return Hot(atom.at, self.factor * atom.amount)

    def dense(self, d: int) -> np.ndarray:
        """Return the atom as a new array."""
        return self.factor * self.atom.dense(d)


class Shifted(NamedTuple):
    """Another atom plus a fixed vector."""

    atom: Any
    shift: np.ndarray

    def prediction(self, rows, i):
        """Inner product of row ``i`` with the atom."""
        return prediction(self.atom, rows, i) + row_dot(rows, i, self.shift)

    def inner(self, r):
        """Inner product of the atom with ``r``."""
        return inner(self.atom, r) + inner(Full(self.shift), r)

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        deposit(self.atom, iterate, c)
        deposit(Full(self.shift), iterate, c)

    def dense(self, d: int) -> np.ndarray:
        """Return the atom as a new array."""
        return self.atom.dense(d) + self.shift


@tracker
class Workspace(NamedTuple):
    """Tracker of the sets whose oracle reads all of ``r``: nothing to keep track of, room for a `Full` atom."""

    room: np.ndarray

    @classmethod
    def over(cls, d: int) -> "Workspace":
        """Room for a vertex of ``d`` entries."""
        return cls(np.zeros(d))


@routine
def normalise(r, room):
    """Fill ``room`` with ``r`` divided by its largest size, which becomes 1; say whether it has a non-zero at all."""
    largest = 0.0
    for j in range(len(r)):
        largest = max(largest, abs(r[j]))
    if largest == 0.0:
        room[:] = 0.0
        return False
    lift = 1e200 if largest < 1e-200 else 1.0  # subnormal entries are lifted first, or 1 / largest would overflow
    largest *= lift
    for j in range(len(r)):
        room[j] = lift * r[j] / largest
    return True


@routine
def oppose(r, size, room):
    """Fill ``room`` with the vector of Euclidean norm ``size`` that points against ``r``."""
    if not normalise(r, room):  # every direction is as good: take one
        room[0] = size
        return
    squares = 0.0
    for j in range(len(room)):
        squares += room[j] * room[j]
    stretch = -size / sqrt(squares)
    for j in range(len(room)):
        room[j] *= stretch
