"""Rows of a dense matrix."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Rows
from frankwolfe.compile.part import defaults_from
from frankwolfe.compile.verbs import relaxed, row_add
from frankwolfe.linalg.argmax import track
from frankwolfe.linalg.threads import scratch
from frankwolfe.rows.multi_output import MultiOutput, OneOutput


def even_parts(n: int, width: int, entries: int) -> list[slice]:
    """Return slices of ``n`` rows of ``width`` entries, equal in size, with at most about ``entries`` entries each."""
    count = max(1, -(-n * width // max(entries, 1)))
    if count == 1:
        return [slice(0, n)]
    ends = np.linspace(0, n, min(count, max(n, 1)) + 1).round().astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


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
    _replace: Any

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

    def some_rows(self, chosen: Any) -> Any:
        """Return a slice of the rows, or a copy of those with the indices ``chosen``."""
        return self._replace(values=self.values[chosen])

    block = some_rows

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r`` and update the bounds of a lazy argmax."""
        row_add(self, i, c, r)
        for j in range(self.values.shape[1]):  # a second loop, so that the first is vectorised
            track(bounds, starts, flip, j, r[j])

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return memory for an iterate and a gradient, each contiguous, for vector instructions."""
        return np.empty(d), np.empty(d)


@defaults_from(AllEntries)
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


# --- rows minus the weighted column means, without a copy of the data -------------------------------------------------


BLOCK = 2**16
"""Number of entries that a pass over all rows centres at a time, so that they stay in cache."""


def centred(rows: Rows, weights: np.ndarray) -> Any:
    """Return dense rows minus their weighted mean. Sparse rows, which would become dense, are returned unchanged."""
    if isinstance(rows, MultiOutput):
        return rows._replace(rows=centred(rows.rows, weights))
    return Centred.of(rows.values, weights) if isinstance(rows, Dense) else rows


@relaxed  # as `frankwolfe.rows.dense.dot_row`; only the sum is reordered, not the differences
def dot_centred_row(values, means, i, v):
    """Return the inner product of row ``i`` of a matrix, minus ``means``, with ``v``."""
    total = 0.0
    for j in range(values.shape[1]):
        total += (values[i, j] - means[j]) * v[j]
    return total


@defaults_from(AllEntries)
class Centred(NamedTuple):
    """Rows of a C-ordered matrix, minus ``means``."""

    values: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray) -> "Centred":
        """Return the rows minus their weighted mean; a constant column becomes exactly zero."""
        first = values[0].astype(np.float64)
        return cls(values, first + cls(values, first).add_all(weights, len(first)))

    def mean_prediction(self, w: np.ndarray) -> Any:
        """Return ``means' w``, which centring subtracts from all predictions."""
        return self.means @ w

    def row_dot(self, i, v):
        """Return the inner product of row ``i`` with ``v``."""
        return dot_centred_row(self.values, self.means, i, v)

    def row_add(self, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        values, means = self.values, self.means
        for j in range(values.shape[1]):
            r[j] += c * (values[i, j] - means[j])

    def row_item(self, i, at):
        """Return column and value of an entry."""
        return at, self.values[i, at] - self.means[at]

    def row_entry(self, i, j):
        """Return entry ``j`` of row ``i``."""
        return self.values[i, j] - self.means[j]

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices and their centred rows, in blocks that fit in cache. The next block overwrites the memory."""
        n, d = self.values.shape
        size = max(16, BLOCK // max(d, 1))
        for begin in range(0, n, size):
            block = slice(begin, min(begin + size, n))
            yield block, np.subtract(self.values[block], self.means, out=scratch("centred", block.stop - begin, d))

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Return the weighted column norms ``sqrt(sum_i weights_i x_ij^2)``."""
        return np.sqrt(sum(weights[block] @ rows**2 for block, rows in self._blocks()))

    def some_columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return the columns with the indices ``chosen``, as a C-ordered array."""
        return np.ascontiguousarray(self.values.take(chosen, axis=1) - self.means[chosen])

    def look_at_columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return the same as `some_columns`, in scratch memory that the next call overwrites."""
        found = scratch("columns", len(self.values), len(chosen))
        return np.subtract(self.values.take(chosen, axis=1), self.means[chosen], out=found)

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows with ``w``."""
        with np.errstate(over="ignore", invalid="ignore"):  # as for sparse rows: overflow shows in the objective
            return np.concatenate([rows @ w for _, rows in self._blocks()])

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Return ``X' alpha``, the sum of all rows, each times its entry of ``alpha``."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.zeros((d, *alpha.shape[1:]))
            for block, rows in self._blocks():
                total += rows.T @ alpha[block]
            return total
