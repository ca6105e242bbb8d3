"""Rows of dense data minus the weighted column means, without a copy of the data.

With an intercept ``b`` and weighted column means ``m``, the predictions ``X w + b`` equal ``(X - 1 m') w + b'`` with
``b' = b + m'w``. The centred form does not depend on the means of the columns: it avoids cancellation, and ``b'``
hardly changes with ``w``. Entries are centred when they are read.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import lent
from frankwolfe.compile.verbs import relaxed
from frankwolfe.linalg.argmax import track
from frankwolfe.linalg.threads import scratch
from frankwolfe.rows.dense import AllEntries, Dense
from frankwolfe.rows.multi_output import MultiOutput

BLOCK = 2**16
"""Number of entries that a pass over all rows centres at a time, so that they stay in cache."""


def centred(rows: Any, weights: np.ndarray) -> Any:
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


@lent(AllEntries)
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

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r`` and update the bounds of a lazy argmax."""
        values, means = self.values, self.means
        for j in range(values.shape[1]):  # a copy of `row_add`: for short rows a call takes too long
            r[j] += c * (values[i, j] - means[j])
        for j in range(values.shape[1]):  # a second loop, so that the first is vectorised
            track(bounds, starts, flip, j, r[j])

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

    def some_rows(self, chosen: np.ndarray) -> "Centred":
        """Return a copy of the rows with the indices ``chosen``."""
        return Centred(self.values[chosen], self.means)

    def block(self, part: slice) -> "Centred":
        """Return a slice of the rows."""
        return Centred(self.values[part], self.means)

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
