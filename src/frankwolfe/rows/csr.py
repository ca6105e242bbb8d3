"""Rows of a sparse matrix in compressed-row form."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.compile.kernels import kernel, worth_compiling
from frankwolfe.compile.part import defaults_from
from frankwolfe.compile.verbs import hint
from frankwolfe.linalg.argmax import track, track_groups
from frankwolfe.rows.multi_output import OneOutput

ONE, TWO = np.uint64(1), np.uint64(2)

UNSIGNED: dict[np.dtype, type] = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}
"""Unsigned types. For unsigned indices, compiled code omits the check for negative indices."""

SIGNED: dict[np.dtype, type] = {np.dtype(np.uint32): np.int32, np.dtype(np.uint64): np.int64}


@defaults_from(OneOutput)
class CSR(NamedTuple):
    """Rows of a sparse matrix in compressed-row form, with sorted, unsigned column indices."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> "CSR":
        """Return the rows of a matrix, which is not copied."""
        return cls(matrix.data, matrix.indices.view(UNSIGNED[matrix.indices.dtype]), matrix.indptr)

    @property
    def is_sparse(self) -> bool:
        """Whether the layout stores the non-zero entries only."""
        return True

    def row_dot(self, i, v):
        """Return the inner product of row ``i`` with ``v``."""
        data, indices, z = self.data, self.indices, 0.0
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[i + 1])):
            z += data[k] * v[indices[k]]
        return z

    def row_add(self, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        data, indices = self.data, self.indices
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[i + 1])):
            r[indices[k]] += c * data[k]

    def row_size(self, i):
        """Return the number of stored entries of row ``i``."""
        return self.indptr[i + 1] - self.indptr[i]

    def row_item(self, i, at):
        """Return column and value of a stored entry."""
        k = self.indptr[i] + at
        return np.int64(self.indices[k]), self.data[k]

    def fetch_row(self, i):
        """Prefetch the stored columns and values of row ``i``, a cache line at a time."""
        data, indices = self.data, self.indices
        start, stop = self.indptr[i], self.indptr[i + 1]
        for k in range(start, stop, 16):
            hint(indices, k)
        for k in range(start, stop, 8):
            hint(data, k)

    def row_entry(self, i, j):
        """Return entry ``j`` of row ``i``, by bisection."""
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

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``c`` times row ``i`` to ``r`` and update the bounds of a lazy argmax."""
        data, indices = self.data, self.indices
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[i + 1])):
            j = indices[k]
            x = r[j] + c * data[k]
            r[j] = x
            track(bounds, starts, flip, j, x)

    def row_add_grouped(self, i, c, r, groups):
        """Add ``c`` times row ``i`` to ``r`` and update the keys of a tracker over groups."""
        data, indices, homes, ends, keys = self.data, self.indices, groups.homes, groups.home_ends, groups.keys
        shares, flat, bounds, starts = groups.shares, groups.flat, groups.tree.bounds, groups.tree.starts
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[i + 1])):
            j = indices[k]
            before = abs(r[j])
            r[j] += c * data[k]
            track_groups(keys, shares, flat, bounds, starts, homes, ends, j, before, abs(r[j]))

    def column_norms(self, weights: np.ndarray, d: int) -> np.ndarray:
        """Return the weighted column norms ``sqrt(sum_i weights_i x_ij^2)``."""
        return np.sqrt(self.weighted_squares(weights, d))

    def weighted_squares(self, weights: np.ndarray, d: int, compiled: bool | None = None) -> np.ndarray:
        """Return ``sum_i weights_i x_ij^2`` for all columns ``j``."""
        if not self._compiled(compiled):
            return self._replace(data=np.square(self.data, dtype=np.float64)).matrix(d).T @ weights
        squares = np.zeros(d)
        add_weighted_squares(*self, weights, squares)
        return squares

    def _compiled(self, compiled: bool | None = None) -> bool:
        """Return whether passes use kernels rather than SciPy: ``compiled``, or by the size of the data."""
        return worth_compiling(len(self.data), is_sparse=True) if compiled is None else compiled

    def stored(self) -> int:
        """Return the number of stored entries."""
        return int(self.indptr[-1] - self.indptr[0])

    def cut(self, entries: int) -> list[slice]:
        """Return slices of the rows with about ``entries`` stored entries, and at least one row, each."""
        starts = self.indptr
        n, stored = len(starts) - 1, int(starts[-1] - starts[0])
        count = max(1, -(-stored // max(entries, 1)))
        goals = starts[0] + np.linspace(0, stored, count + 1)[1:-1]
        ends = np.unique(np.concatenate([[0], np.searchsorted(starts, goals), [n]])).astype(int).tolist()
        return [slice(first, last) for first, last in pairwise(ends)] or [slice(0, n)]

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return memory for an iterate and a gradient, interleaved: a row accesses both at the same few positions."""
        pairs = np.empty((d, 2))
        return pairs[:, 0], pairs[:, 1]

    def some_rows(self, chosen: np.ndarray) -> "CSR":
        """Return a copy of the rows with the indices ``chosen``."""
        sizes = np.diff(self.indptr)[chosen]
        starts = np.concatenate([np.zeros(1, self.indptr.dtype), np.cumsum(sizes, dtype=self.indptr.dtype)])
        places = np.repeat(self.indptr[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return CSR(self.data[places], self.indices[places], starts)

    def block(self, part: slice) -> "CSR":
        """Return a slice of the rows. Entries are not copied, and ``indptr`` refers to the arrays of all rows."""
        return CSR(self.data, self.indices, self.indptr[part.start : part.stop + 1])

    def dot_all(self, w: np.ndarray, compiled: bool | None = None) -> np.ndarray:
        """Return the inner products of all rows with ``w``, or with its columns."""
        if w.ndim > 1 or not self._compiled(compiled):
            return self.matrix(len(w)) @ w
        z = np.empty(len(self.indptr) - 1)
        multiply(*self, w, z)
        return z

    def add_all(self, alpha: np.ndarray, d: int, compiled: bool | None = None) -> np.ndarray:
        """Return ``X' alpha``, the sum of all rows, each times its entry of ``alpha``."""
        if alpha.ndim > 1 or not self._compiled(compiled):
            return self.matrix(d).T @ alpha
        r = np.zeros(d)
        combine(*self, alpha, r)
        return r

    def pressed(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the submatrix of the columns with ``place >= 0``, as data, column indices ``place`` and row starts."""
        if not self._compiled():
            first, last = self.indptr[0], self.indptr[-1]
            kept = first + np.flatnonzero(place[self.indices[first:last]] >= 0)
            columns = place[self.indices[kept]].view(np.uint32)
            return self.data[kept].astype(np.float64), columns, np.searchsorted(kept, self.indptr)
        most = self.stored()  # allocate for all entries: pages never written to take no memory
        starts = np.zeros(len(self.indptr), np.int64)
        data, columns = np.empty(most + 1), np.empty(most + 1, np.int32)
        press(*self, place, data, columns, starts)
        stored = int(starts[-1])
        data.resize(stored, refcheck=False)  # in place: releases unused memory
        columns.resize(stored, refcheck=False)
        return data, columns.view(np.uint32), starts

    def matrix(self, d: int) -> sparse.csr_array:
        """Return the rows as a SciPy array with ``d`` columns."""
        whole = slice(self.indptr[0], self.indptr[-1])
        starts = self.indptr - self.indptr[0]
        columns: np.ndarray = self.indices[whole].view(SIGNED[self.indices.dtype])
        return sparse.csr_array((self.data[whole], columns, starts), shape=(len(starts) - 1, d))


@kernel
def multiply(data, indices, indptr, w, z):
    """Fill ``z`` with the inner products of all rows with ``w``."""
    for i in range(len(z)):
        even, odd, k, stop = 0.0, 0.0, np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        while k + ONE < stop:  # two at a time: LLVM compiles a plain loop to vector gathers, which are slower
            even += data[k] * w[indices[k]]
            odd += data[k + ONE] * w[indices[k + ONE]]
            k += TWO
        z[i] = even + odd if k == stop else even + odd + data[k] * w[indices[k]]


@kernel
def combine(data, indices, indptr, alpha, r):
    """Add all rows, each times its entry of ``alpha``, to ``r``."""
    for i in range(len(alpha)):
        c, k, stop = alpha[i], np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        while k + ONE < stop:  # two at a time takes a seventh less time
            r[indices[k]] += c * data[k]
            r[indices[k + ONE]] += c * data[k + ONE]
            k += TWO
        if k < stop:
            r[indices[k]] += c * data[k]


@kernel
def add_weighted_squares(data, indices, indptr, weights, squares):
    """Add ``weights_i x_ij^2``, over all rows ``i``, to ``squares_j``."""
    for i in range(len(weights)):
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x = np.float64(data[k])
            squares[indices[k]] += weights[i] * x * x


@kernel
def press(data, indices, indptr, place, to_data, to_columns, starts):
    """Copy the entries of the columns with ``place >= 0``.

    The loop writes every entry, and the next entry overwrites it unless its place is valid. This avoids a branch that
    the processor could not predict. The output arrays need memory for one more entry.
    """
    at = np.uint64(0)
    for i in range(len(indptr) - 1):
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = place[indices[k]]
            to_data[at] = data[k]
            to_columns[at] = j
            at += np.uint64(j >= 0)
        starts[i + 1] = at
