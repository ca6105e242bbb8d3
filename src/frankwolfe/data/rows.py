"""How a row ``x_i`` is stored. Kernels reach the data only through these verbs, so one kernel serves all layouts.

float32 data stays float32 in memory; sums are taken in float64.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.compile.part import lent
from frankwolfe.compile.verbs import hint, routine, row_add, row_item, row_size
from frankwolfe.data.multi_output import MultiOutput
from frankwolfe.trackers.argmax import track, track_group

BLOCK = 2**18
"""Entries of sparse rows that are worked on at a time where something is computed from all of them."""


class AllEntries:
    """What rows have in common that keep all their entries, in order, in an array ``values``."""

    values: np.ndarray

    def row_size(self, i):
        """Return the number of columns."""
        return self.values.shape[1]

    def fetch_row(self, i):
        """Do nothing: the processor fetches memory that is read in order by itself."""

    def row_sandwich(self, i, left, right):
        """Prediction of row ``i`` for the weight matrix ``left right'``."""
        return sandwich_flat(self, i, left, right)

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> "SeenFlat":
        """Return the data as matrices ``left S right'`` see it."""
        return SeenFlat(self, left, right)

    def row_add_grouped(self, i, c, r, groups):
        """Add ``c`` times row ``i`` to ``r``; every group has changed, and is looked at when a leader is asked for."""
        row_add(self, i, c, r)
        groups.stale[0] = 1

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for an iterate and a gradient: each in one piece, as vector instructions want it."""
        return np.empty(d), np.empty(d)


@lent(AllEntries)
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

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return some columns, one after the other."""
        return np.ascontiguousarray(self.values.T[chosen], dtype=np.float64)

    def head(self, rows: int) -> "Dense":
        """Return the first few rows."""
        return Dense(self.values[:rows])

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Inner products of all rows with ``w``."""
        with np.errstate(over="ignore", invalid="ignore"):  # as sparse rows do: what overflows shows in the objective
            return self.values @ w

    def add_all(self, alpha: np.ndarray, d: int) -> np.ndarray:
        """Sum of all rows, each times its entry of ``alpha``."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.values.T @ alpha


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

    def row_size(self, i):
        """Return the number of stored entries of row ``i``."""
        return self.indptr[i + 1] - self.indptr[i]

    def row_item(self, i, at):
        """Column and value of a stored entry."""
        k = self.indptr[i] + at
        return self.indices[k], self.data[k]

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

    def row_sandwich(self, i, left, right):
        """Prediction of row ``i`` for the weight matrix ``left right'``."""
        return sandwich_flat(self, i, left, right)

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> "SeenFlat":
        """Return the data as matrices ``left S right'`` see it."""
        return SeenFlat(self, left, right)

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r``, tracked by a lazy argmax."""
        data, indices = self.data, self.indices
        for k in range(self.indptr[i], self.indptr[i + 1]):
            j = indices[k]
            x = r[j] + c * data[k]
            r[j] = x
            track(bounds, starts, flip, j, x)

    def row_add_grouped(self, i, c, r, groups):
        """Add ``c`` times row ``i`` to ``r``, tracked by a tracker over groups."""
        data, indices, homes, ends, keys = self.data, self.indices, groups.homes, groups.home_ends, groups.keys
        shares, flat, bounds, starts = groups.shares, groups.flat, groups.tree.bounds, groups.tree.starts
        for k in range(self.indptr[i], self.indptr[i + 1]):
            j = indices[k]
            before = abs(r[j])
            r[j] += c * data[k]
            after = abs(r[j])
            if len(ends) == 0:  # one group for every entry: one look less into memory
                track_group(keys, shares, flat, bounds, starts, homes[j], before, after)
            else:
                for home in range(ends[j], ends[j + 1]):
                    track_group(keys, shares, flat, bounds, starts, homes[home], before, after)

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Euclidean norms of the columns, row ``i`` counted ``weights[i]`` times."""
        squares = np.zeros(d)
        for first, last in self._blocks(max(d, BLOCK)):  # all at once, they would take as much memory as the data
            part = slice(self.indptr[first], self.indptr[last])
            each = self.data[part].astype(np.float64)
            each *= each
            each *= np.repeat(weights[first:last], np.diff(self.indptr[first : last + 1]))
            squares += np.bincount(self.indices[part], each, minlength=d)
        return np.sqrt(squares)

    def _blocks(self, entries: int) -> Iterator[tuple[int, int]]:
        """Yield first rows of blocks and those after their last, each with about so many entries or one row."""
        first, n = 0, len(self.indptr) - 1
        while first < n:
            last = int(np.searchsorted(self.indptr, self.indptr[first] + entries, side="right")) - 1
            last = min(max(last, first + 1), n)
            yield first, last
            first = last

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


@routine
def sandwich_flat(rows, i, left, right):
    """Prediction of a row for ``left right'``, where the row itself is a matrix laid out flat."""
    columns, total = len(right), 0.0
    for at in range(row_size(rows, i)):
        j, x = row_item(rows, i, at)
        total += x * left[j // columns] * right[j % columns]
    return total


class SeenFlat(NamedTuple):
    """The data, whose rows are matrices laid out flat, as weight matrices ``left S right'`` see it."""

    rows: Any
    left: np.ndarray
    right: np.ndarray

    def predict(self, S: np.ndarray) -> np.ndarray:
        """Predictions of ``left S right'``."""
        return np.asarray(self.rows.dot_all((self.left @ S @ self.right.T).ravel()), dtype=np.float64)

    def pull(self, alpha: np.ndarray) -> np.ndarray:
        """Gradient in ``S``, given the derivatives."""
        gradient = self.rows.add_all(alpha, len(self.left) * len(self.right))
        return self.left.T @ gradient.reshape(len(self.left), len(self.right)) @ self.right


class Samples(NamedTuple):
    """Everything a kernel needs to know of the data: rows, targets, weights that sum to one, and the loss."""

    rows: Any
    targets: np.ndarray
    weights: np.ndarray
    loss: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: a number a sample, or a row for several outputs."""
        outputs = getattr(self.rows, "outputs", 0)
        return (len(self.weights), outputs) if outputs else (len(self.weights),)

    def table(self) -> np.ndarray:
        """Zeros, one for each prediction."""
        return np.zeros(self.shape)

    def head(self, rows: int) -> "Samples":
        """Return the first few rows, in arrays of the same types."""
        return Samples(self.rows.head(rows), self.targets[:rows], self.weights[:rows], self.loss)


def as_rows(matrix: Any, outputs: int = 0) -> Any:
    """Row accessor for a checked matrix (see `frankwolfe.arguments.arrays.as_matrix`), without copying it."""
    rows = Dense(matrix) if isinstance(matrix, np.ndarray) else CSR(matrix.data, matrix.indices, matrix.indptr)
    return MultiOutput(rows, outputs) if outputs else rows
