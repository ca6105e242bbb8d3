"""The columns that carry the model: a compact copy of them, made once a round, that the inner solver works on.

What the fully corrective method minimises over are combinations of few atoms, and all it needs of an atom is its
predictions: a column of ``X`` where vertices are single coordinates, ``X s`` otherwise. Columns are parts like any
other, so that one solver serves sparse and dense ones.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compiled import kernel
from frankwolfe.rows import CSR
from frankwolfe.verbs import routine, verb


@verb
def column_dot(columns, j, v):
    """Inner product of column ``j`` with ``v``."""
    return columns.column_dot(j, v)


@verb
def column_add(columns, j, c, v):
    """Add ``c`` times column ``j`` to ``v``, in place."""
    return columns.column_add(j, c, v)


@verb
def column_add_bent(columns, j, c, bends, v):
    """Add ``c`` times column ``j``, each entry times its sample's curvature, to ``v``, in place."""
    return columns.column_add_bent(j, c, bends, v)


@verb
def column_square(columns, j, bends):
    """Sum of the squares of column ``j``, each times its sample's curvature."""
    return columns.column_square(j, bends)


class SparseColumns(NamedTuple):
    """Columns by their stored entries, and the same entries row by row where a Gram matrix is wanted."""

    data: np.ndarray
    samples: np.ndarray
    starts: np.ndarray
    row_data: np.ndarray
    row_columns: np.ndarray
    row_starts: np.ndarray

    def column_dot(self, j, v):
        """Inner product of column ``j`` with ``v``."""
        data, samples, total = self.data, self.samples, 0.0
        for k in range(self.starts[j], self.starts[j + 1]):
            total += data[k] * v[samples[k]]
        return total

    def column_add(self, j, c, v):
        """Add ``c`` times column ``j`` to ``v``."""
        data, samples = self.data, self.samples
        for k in range(self.starts[j], self.starts[j + 1]):
            v[samples[k]] += c * data[k]

    def column_add_bent(self, j, c, bends, v):
        """Add ``c`` times column ``j``, weighted by the curvatures, to ``v``."""
        data, samples = self.data, self.samples
        for k in range(self.starts[j], self.starts[j + 1]):
            i = samples[k]
            v[i] += c * data[k] * bends[i]

    def column_square(self, j, bends):
        """Sum of the weighted squares of column ``j``."""
        data, samples, total = self.data, self.samples, 0.0
        for k in range(self.starts[j], self.starts[j + 1]):
            x = np.float64(data[k])
            total += x * x * bends[samples[k]]
        return total

    def gram(self, bends: np.ndarray) -> np.ndarray:
        """Return ``X_A' D X_A``, accumulated row by row: a row only meets the pairs of its own entries."""
        H = np.zeros((len(self.starts) - 1, len(self.starts) - 1))
        add_pairs(self.row_data, self.row_columns, self.row_starts, bends, H)
        return H


class DenseColumns(NamedTuple):
    """Columns laid out one after the other."""

    values: np.ndarray

    def column_dot(self, j, v):
        """Inner product of column ``j`` with ``v``."""
        values, total = self.values, 0.0
        for i in range(len(v)):
            total += values[j, i] * v[i]
        return total

    def column_add(self, j, c, v):
        """Add ``c`` times column ``j`` to ``v``."""
        values = self.values
        for i in range(len(v)):
            v[i] += c * values[j, i]

    def column_add_bent(self, j, c, bends, v):
        """Add ``c`` times column ``j``, weighted by the curvatures, to ``v``."""
        values = self.values
        for i in range(len(v)):
            v[i] += c * values[j, i] * bends[i]

    def column_square(self, j, bends):
        """Sum of the weighted squares of column ``j``."""
        values, total = self.values, 0.0
        for i in range(len(bends)):
            x = np.float64(values[j, i])
            total += x * x * bends[i]
        return total

    def gram(self, bends: np.ndarray) -> np.ndarray:
        """Return ``X_A' D X_A``."""
        return (self.values * bends) @ self.values.T


@routine
def predict_active(columns, u, z):
    """Fill ``z`` with the predictions of the combination ``u`` of the columns."""
    z[:] = 0.0
    for j in range(len(u)):
        if u[j] != 0.0:
            column_add(columns, j, u[j], z)


@kernel
def predict(columns, u, z):
    """Fill ``z`` with the predictions of the combination ``u`` of the columns."""
    predict_active(columns, u, z)


@kernel
def project(columns, v, slopes):
    """Fill ``slopes`` with the inner products of all columns with ``v``."""
    for j in range(len(slopes)):
        slopes[j] = column_dot(columns, j, v)


@kernel
def squares(columns, bends, sizes):
    """Fill ``sizes`` with the weighted squares of all columns."""
    for j in range(len(sizes)):
        sizes[j] = column_square(columns, j, bends)


@kernel
def count(indices, counts):
    """Count how often each column occurs among the stored entries."""
    for k in range(len(indices)):
        counts[indices[k]] += 1


@kernel
def gather(rows, place, free, columns):
    """Copy the entries of the columns that have a ``place``, in one pass over the rows.

    ``free`` holds where the next entry of each column goes. A row's entries are first pressed together without a
    branch, which the processor could not foresee, into the row by row copies, or into room for one row.
    """
    data, indices, indptr = rows.data, rows.indices, rows.indptr
    to_data, to_samples = columns.data, columns.samples
    row_data, row_columns, row_starts = columns.row_data, columns.row_columns, columns.row_starts
    both, start = len(row_starts) > 1, 0
    for i in range(len(indptr) - 1):
        stop = start
        for k in range(indptr[i], indptr[i + 1]):
            j = place[indices[k]]
            row_data[stop] = data[k]
            row_columns[stop] = j
            stop += j >= 0
        for k in range(start, stop):
            j = row_columns[k]
            at = free[j]
            to_data[at] = row_data[k]
            to_samples[at] = i
            free[j] = at + 1
        if both:
            start = stop
            row_starts[i + 1] = stop


@kernel
def add_pairs(row_data, row_columns, row_starts, bends, H):
    """Accumulate the weighted Gram matrix of the columns from their row by row copies."""
    for i in range(len(bends)):
        for k in range(row_starts[i], row_starts[i + 1]):
            j, x = row_columns[k], bends[i] * row_data[k]
            for other in range(row_starts[i], k + 1):
                H[j, row_columns[other]] += x * row_data[other]
    for j in range(len(H)):  # a row's columns come in any order: what lies above the diagonal belongs below
        for other in range(j):
            total = H[j, other] + H[other, j]
            H[j, other] = total
            H[other, j] = total


def active_columns(rows: Any, active: np.ndarray, counts: np.ndarray, with_rows: bool) -> Any:
    """Copy the columns ``active`` of the data; ``counts`` says how many entries each column of the data has."""
    if not isinstance(rows, CSR):
        return DenseColumns(np.ascontiguousarray(rows.values.T[active]))
    n, sizes = len(rows.indptr) - 1, counts[active]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    stored = int(starts[-1])
    room = 1 + (stored if with_rows else int(np.diff(rows.indptr).max()))
    columns = SparseColumns(
        np.empty(stored, rows.data.dtype),
        np.empty(stored, np.uint32),  # unsigned: no test for counting from the end
        starts,
        np.empty(room, rows.data.dtype),
        np.empty(room, np.int32),
        np.zeros(n + 1 if with_rows else 1, np.int64),
    )
    place = np.full(len(counts), -1, np.int32)
    place[active] = np.arange(len(active))
    gather(rows, place, starts[:-1].copy(), columns)
    return columns


def column_counts(rows: Any, d: int) -> np.ndarray:
    """Count the stored entries of every column."""
    counts = np.full(d, 0 if isinstance(rows, CSR) else len(rows.values))
    if isinstance(rows, CSR):
        count(rows.indices, counts)
    return counts
