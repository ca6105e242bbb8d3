"""Rows of dense data less the means of their columns: what an intercept makes of them, without a copy.

With a free intercept, weights ``w`` and weighted column means ``m``, the predictions ``Xw + b`` are
``(X - 1 m') w + b'`` with ``b' = b + m'w``. In that form nothing depends on where the columns have their means: no
large numbers cancel, and ``b'`` hardly moves as ``w`` does. Entries are centred as they are read.
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
"""Entries that are centred at a time, where all rows are read: they stay in cache until they are used."""


def centred(rows: Any, weights: np.ndarray) -> Any:
    """Return dense rows less their weighted mean; sparse rows, which would be dense then, as they are."""
    if isinstance(rows, MultiOutput):
        return rows._replace(rows=centred(rows.rows, weights))
    return Centred.of(rows.values, weights) if isinstance(rows, Dense) else rows


@relaxed  # as `frankwolfe.rows.dense.dot_row`; differences are taken before they are multiplied and added
def dot_centred_row(values, means, i, v):
    """Return the inner product of row ``i`` of a matrix, less ``means``, with ``v``."""
    total = 0.0
    for j in range(values.shape[1]):
        total += (values[i, j] - means[j]) * v[j]
    return total


@lent(AllEntries)
class Centred(NamedTuple):
    """Rows of a C-ordered matrix, less ``means``."""

    values: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray) -> "Centred":
        """Return the rows less their weighted mean; a constant column becomes zero, exactly."""
        first = values[0].astype(np.float64)
        return cls(values, first + cls(values, first).add_all(weights, len(first)))

    def mean_prediction(self, w: np.ndarray) -> Any:
        """Return what centring subtracts from all predictions: ``means' w``."""
        return self.means @ w

    def row_dot(self, i, v):
        """Inner product of row ``i`` with ``v``."""
        return dot_centred_row(self.values, self.means, i, v)

    def row_add(self, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        values, means = self.values, self.means
        for j in range(values.shape[1]):
            r[j] += c * (values[i, j] - means[j])

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r``, tracked by a lazy argmax."""
        values, means = self.values, self.means
        for j in range(values.shape[1]):  # as in `row_add`, which is not called: for short rows that takes too long
            r[j] += c * (values[i, j] - means[j])
        for j in range(values.shape[1]):  # on its own: the sum above is vectorised
            track(bounds, starts, flip, j, r[j])

    def row_item(self, i, at):
        """Column and value."""
        return at, self.values[i, at] - self.means[at]

    def row_entry(self, i, j):
        """Entry ``j`` of row ``i``."""
        return self.values[i, j] - self.means[j]

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the centred rows, a block that fits in cache at a time, and which they are; the next overwrites it."""
        n, d = self.values.shape
        size = max(16, BLOCK // max(d, 1))
        for begin in range(0, n, size):
            block = slice(begin, min(begin + size, n))
            yield block, np.subtract(self.values[block], self.means, out=scratch("centred", block.stop - begin, d))

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Euclidean norms of the columns, row ``i`` counted ``weights[i]`` times."""
        return np.sqrt(sum(weights[block] @ rows**2 for block, rows in self._blocks()))

    def some_columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return some columns, row by row."""
        return np.ascontiguousarray(self.values.take(chosen, axis=1) - self.means[chosen])

    def look_at_columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return the same, to be looked at before the next: the memory is used again."""
        found = scratch("columns", len(self.values), len(chosen))
        return np.subtract(self.values.take(chosen, axis=1), self.means[chosen], out=found)

    def some_rows(self, chosen: np.ndarray) -> "Centred":
        """Return a copy of some rows."""
        return Centred(self.values[chosen], self.means)

    def block(self, part: slice) -> "Centred":
        """Return some rows that follow each other."""
        return Centred(self.values[part], self.means)

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Inner products of all rows with ``w``."""
        with np.errstate(over="ignore", invalid="ignore"):  # as sparse rows do: what overflows shows in the objective
            return np.concatenate([rows @ w for _, rows in self._blocks()])

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Sum of all rows, each times its entry of ``alpha``."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.zeros((d, *alpha.shape[1:]))
            for block, rows in self._blocks():
                total += rows.T @ alpha[block]
            return total
