"""How a row ``x_i`` is stored. Kernels reach the data only through these verbs, so one kernel serves all layouts.

float32 data stays float32 in memory; sums are taken in float64.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.sets.argmax import watch
from frankwolfe.verbs import hint


class Dense(NamedTuple):
    """Rows of a C-ordered matrix."""

    values: np.ndarray

    def row_dot(self, i, v):
        """Inner product of row ``i`` with ``v``."""
        values, z = self.values, 0.0
        for j in range(values.shape[1]):
            z += values[i, j] * v[j]
        return z

    def row_add(self, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        values = self.values
        for j in range(values.shape[1]):
            r[j] += c * values[i, j]

    def fetch_row(self, i):
        """Leave it to the processor, which sees through memory read in order."""

    def row_entry(self, i, j):
        """Entry ``j`` of row ``i``."""
        return np.float64(self.values[i, j])

    def row_add_watched(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r``, watched by a lazy argmax."""
        values = self.values
        for j in range(values.shape[1]):
            r[j] += c * values[i, j]
        for j in range(values.shape[1]):  # on its own: the sum above is vectorised
            watch(bounds, starts, flip, j, r[j])

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Euclidean norms of the columns, row ``i`` counted ``weights[i]`` times."""
        return np.sqrt(np.einsum("i,ij,ij->j", weights, self.values, self.values, dtype=np.float64))

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for an iterate and a gradient: each in one piece, as vector instructions want it."""
        return np.empty(d), np.empty(d)

    def head(self, rows: int) -> "Dense":
        """Return the first few rows."""
        return Dense(self.values[:rows])

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Inner products of all rows with ``w``."""
        return self.values @ w

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Sum of all rows, each times its entry of ``alpha``."""
        return alpha @ self.values


class CSR(NamedTuple):
    """Rows of a sparse matrix in compressed-row form, column numbers sorted within a row."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    def row_dot(self, i, v):
        """Inner product of row ``i`` with ``v``."""
        data, indices, z = self.data, self.indices, 0.0
        for k in range(self.indptr[i], self.indptr[i + 1]):
            z += data[k] * v[indices[k]]
        return z

    def row_add(self, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        data, indices = self.data, self.indices
        for k in range(self.indptr[i], self.indptr[i + 1]):
            r[indices[k]] += c * data[k]

    def fetch_row(self, i):
        """Ask for the stored columns and values of row ``i``, a cache line at a time."""
        data, indices = self.data, self.indices
        start, stop = self.indptr[i], self.indptr[i + 1]
        for k in range(start, stop, 16):
            hint(indices, k)
        for k in range(start, stop, 8):
            hint(data, k)

    def row_entry(self, i, j):
        """Entry ``j`` of row ``i``, by bisection."""
        indices = self.indices
        low, high = self.indptr[i], self.indptr[i + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < j:
                low = middle + 1
            else:
                high = middle
        if low < self.indptr[i + 1] and indices[low] == j:
            return np.float64(self.data[low])
        return 0.0

    def row_add_watched(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r``, watched by a lazy argmax."""
        data, indices = self.data, self.indices
        for k in range(self.indptr[i], self.indptr[i + 1]):
            j = indices[k]
            x = r[j] + c * data[k]
            r[j] = x
            watch(bounds, starts, flip, j, x)

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Euclidean norms of the columns, row ``i`` counted ``weights[i]`` times."""
        each = np.repeat(weights, np.diff(self.indptr)) * self.data.astype(np.float64) ** 2
        return np.sqrt(np.bincount(self.indices, each, minlength=d))

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for an iterate and a gradient, interleaved: a row meets both at the same few places."""
        pairs = np.empty((d, 2))
        return pairs[:, 0], pairs[:, 1]

    def head(self, rows: int) -> "CSR":
        """Return the first few rows, in arrays of the same types."""
        starts = self.indptr[: rows + 1]
        return CSR(self.data[: starts[-1]], self.indices[: starts[-1]], starts)

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Inner products of all rows with ``w``."""
        return self._matrix(len(w)) @ w

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Sum of all rows, each times its entry of ``alpha``."""
        return self._matrix(d).T @ alpha

    def _matrix(self, d: int) -> sparse.csr_array:
        return sparse.csr_array(tuple(self), shape=(len(self.indptr) - 1, d))


class Samples(NamedTuple):
    """Everything a kernel needs to know of the data: rows, targets, weights that sum to one, and the loss."""

    rows: Any
    targets: np.ndarray
    weights: np.ndarray
    loss: Any

    def head(self, rows: int) -> "Samples":
        """Return the first few rows, in arrays of the same types."""
        return Samples(self.rows.head(rows), self.targets[:rows], self.weights[:rows], self.loss)


def as_rows(matrix: Any) -> Dense | CSR:
    """Row accessor for a checked matrix (see `frankwolfe.inputs.as_matrix`), without copying it."""
    if isinstance(matrix, np.ndarray):
        return Dense(matrix)
    return CSR(matrix.data, matrix.indices, matrix.indptr)
