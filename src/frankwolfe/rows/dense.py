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
    """Methods of layouts that store all entries in an array ``values``."""

    values: np.ndarray

    is_sparse = False
    """Whether the layout stores the non-zero entries only."""

    def row_size(self, i):
        """Return the number of columns."""
        return self.values.shape[1]

    def fetch_row(self, i):
        """Do nothing: the processor prefetches sequential memory by itself."""

    def row_add_grouped(self, i, c, r, groups):
        """Add ``c`` times row ``i`` to ``r`` and mark the tracker as stale, since all groups have changed."""
        row_add(self, i, c, r)
        groups.stale[0] = 1

    def stored(self) -> int:
        """Return the number of entries."""
        return self.values.size

    def cut(self, entries: int) -> list[slice]:
        """Return slices of the rows with about ``entries`` entries each."""
        return even_parts(len(self.values), self.values.shape[1], entries)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return memory for an iterate and a gradient, each contiguous, for vector instructions."""
        return np.empty(d), np.empty(d)


@lent(AllEntries)
class Dense(NamedTuple):
    """Rows of a C-ordered matrix."""

    values: np.ndarray

    def row_dot(self, i, v):
        """Return the inner product of row ``i`` with ``v``."""
        return dot_row(self.values, i, v)

    def row_add(self, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        values = self.values
        for j in range(values.shape[1]):
            r[j] += c * values[i, j]

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r`` and update the bounds of a lazy argmax."""
        values = self.values
        for j in range(values.shape[1]):  # a copy of `row_add`: for short rows a call takes too long
            r[j] += c * values[i, j]
        for j in range(values.shape[1]):  # a second loop, so that the first is vectorised
            track(bounds, starts, flip, j, r[j])

    def row_item(self, i, at):
        """Return column and value of an entry."""
        return at, self.values[i, at]

    def row_entry(self, i, j):
        """Return entry ``j`` of row ``i``."""
        return np.float64(self.values[i, j])

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Return the weighted column norms ``sqrt(sum_i weights_i x_ij^2)``."""
        return np.sqrt(np.einsum("i,ij,ij->j", weights, self.values, self.values, dtype=np.float64))

    def some_columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return the columns ``chosen``, in ascending order, as a C-ordered array; a copy unless all are chosen."""
        # `take` needs a quarter of the time of indexing
        values = self.values if len(chosen) == self.values.shape[1] else self.values.take(chosen, axis=1)
        return np.ascontiguousarray(values, dtype=np.float64)

    def look_at_columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return the same as `some_columns`, in scratch memory that the next call overwrites."""
        if len(chosen) == self.values.shape[1]:
            return self._doubles()
        found = scratch("columns", len(self.values), len(chosen))
        if self.values.dtype == np.float64:
            return self.values.take(chosen, axis=1, out=found, mode="clip")  # mode="clip" avoids a second copy
        found[:] = self.values.take(chosen, axis=1)
        return found

    def some_rows(self, chosen: np.ndarray) -> "Dense":
        """Return a copy of the rows with the indices ``chosen``."""
        return Dense(self.values[chosen])

    def block(self, part: slice) -> "Dense":
        """Return a slice of the rows."""
        return Dense(self.values[part])

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows with ``w``."""
        with np.errstate(over="ignore", invalid="ignore"):  # as for sparse rows: overflow shows in the objective
            return self._doubles() @ w

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Return ``X' alpha``, the sum of all rows, each times its entry of ``alpha``."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._doubles().T @ alpha

    def _doubles(self) -> np.ndarray:
        """Return the values as float64. A converted copy is in scratch memory that the next call overwrites."""
        if self.values.dtype == np.float64:
            return self.values
        found = scratch("doubles", *self.values.shape)
        found[:] = self.values
        return found
