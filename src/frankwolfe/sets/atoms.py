"""Atoms: the vertices an oracle returns, typed by what they cost to use."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.verbs import row_add, row_dot, row_entry


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

    def dense(self, d: int) -> np.ndarray:
        """Return the atom as a new array."""
        return self.values.copy()


class Workspace(NamedTuple):
    """Scout of the sets whose oracle reads all of ``r``: nothing to keep track of, room for a `Full` atom."""

    room: np.ndarray

    @classmethod
    def over(cls, d: int) -> "Workspace":
        """Room for a vertex of ``d`` entries."""
        return cls(np.zeros(d))

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        row_add(rows, i, c, r)

    def rebuild(self, r):
        """Do nothing: the oracle looks at everything anyway."""


def fitted(constraint: Any, d: int, outputs: int = 0) -> Any:
    """Return the set made fit for the weights of ``d`` columns and so many outputs, if it depends on their number.

    A set that is about matrices is told both, through ``shaped``; others are told the number of weights.
    """
    if outputs and hasattr(constraint, "shaped"):
        constraint = constraint.shaped(d, outputs)
    fit = getattr(constraint, "fitted", None)
    return constraint if fit is None else fit(d * max(1, outputs))


def vertex_of(constraint: Any, r: Any) -> np.ndarray:
    """Vertex of the set that minimises ``<r, s>``, as an array.

    Parameters
    ----------
    r : array of shape (d,)
        The direction; finite.

    Returns
    -------
    array of shape (d,)
    """
    r = np.asarray(r, dtype=np.float64)
    if r.ndim != 1 or r.size == 0:
        raise ValueError(f"r must be a vector with at least one entry, got shape {r.shape}")
    if not np.isfinite(r).all():
        raise ValueError("r holds NaN or infinity")
    ready = fitted(constraint, r.size)
    scout = ready.scout(r.size)
    scout.rebuild(r)
    return ready.oracle(scout, r).dense(r.size)
