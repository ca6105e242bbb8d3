"""Rows of a dense matrix."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import lent
from frankwolfe.compile.verbs import relaxed, row_add
from frankwolfe.linalg.argmax import track
from frankwolfe.linalg.threads import scratch
from frankwolfe.rows.multi_output import OneOutput
from frankwolfe.rows.samples import even_parts


@relaxed  # 53 ns instead of 236 for 300 columns: benchmarks/relaxed_sums.py
def dot_row(values, i, v):
    """Return the inner product of row ``i`` of a matrix with ``v``."""
    total = 0.0
    for j in range(values.shape[1]):
        total += values[i, j] * v[j]
    return total


class AllEntries(OneOutput):
    """Members of layouts that store all entries in an array ``values``."""

    values: np.ndarray

    is_sparse = False
    """Whether only some entries are stored."""

    def row_size(self, i):
        """Return the number of columns."""
        return self.values.shape[1]

    def fetch_row(self, i):
        """Do nothing: the processor fetches memory that is read in order by itself."""

    def row_add_grouped(self, i, c, r, groups):
        """Add ``c`` times row ``i`` to ``r``; every group has changed, and is looked at when a leader is asked for."""
        row_add(self, i, c, r)
        groups.stale[0] = 1

    def stored(self) -> int:
        """Return the number of entries."""
        return self.values.size

    def cut(self, entries: int) -> list[slice]:
        """Cut the rows into blocks of about so many entries."""
        return even_parts(len(self.values), self.values.shape[1], entries)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for an iterate and a gradient: each in one piece, as vector instructions want it."""
        return np.empty(d), np.empty(d)


@lent(AllEntries)
class Dense(NamedTuple):
    """Rows of a C-ordered matrix."""

    values: np.ndarray

    def row_dot(self, i, v):
        """Inner product of row ``i`` with ``v``."""
        return dot_row(self.values, i, v)

    def row_add(self, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        values = self.values
        for j in range(values.shape[1]):
            r[j] += c * values[i, j]

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r``, tracked by a lazy argmax."""
        values = self.values
        for j in range(values.shape[1]):  # as in `row_add`, which is not called: for short rows that takes too long
            r[j] += c * values[i, j]
        for j in range(values.shape[1]):  # on its own: the sum above is vectorised
            track(bounds, starts, flip, j, r[j])

    def row_item(self, i, at):
        """Column and value."""
        return at, self.values[i, at]

    def row_entry(self, i, j):
        """Entry ``j`` of row ``i``."""
        return np.float64(self.values[i, j])

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Euclidean norms of the columns, row ``i`` counted ``weights[i]`` times."""
        return np.sqrt(np.einsum("i,ij,ij->j", weights, self.values, self.values, dtype=np.float64))

    def some_columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return some columns, in ascending order, row by row; a copy unless they are all."""
        # `take` needs a quarter of the time of an index
        values = self.values if len(chosen) == self.values.shape[1] else self.values.take(chosen, axis=1)
        return np.ascontiguousarray(values, dtype=np.float64)

    def look_at_columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return the same, to be looked at before the next: the memory is used again."""
        if len(chosen) == self.values.shape[1]:
            return self._doubles()
        found = scratch("columns", len(self.values), len(chosen))
        if self.values.dtype == np.float64:
            return self.values.take(chosen, axis=1, out=found, mode="clip")  # else it goes by way of another copy
        found[:] = self.values.take(chosen, axis=1)
        return found

    def some_rows(self, chosen: np.ndarray) -> "Dense":
        """Return a copy of some rows."""
        return Dense(self.values[chosen])

    def block(self, part: slice) -> "Dense":
        """Return some rows that follow each other."""
        return Dense(self.values[part])

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Inner products of all rows with ``w``."""
        with np.errstate(over="ignore", invalid="ignore"):  # as sparse rows do: what overflows shows in the objective
            return self._doubles() @ w

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Sum of all rows, each times its entry of ``alpha``."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._doubles().T @ alpha

    def _doubles(self) -> np.ndarray:
        """Return the values in double precision; a copy of others is overwritten by the next."""
        if self.values.dtype == np.float64:
            return self.values
        found = scratch("doubles", *self.values.shape)
        found[:] = self.values
        return found
