"""The columns of the active atoms: a compact copy, made once a round, that the quadratic models work on.

What the fully corrective method minimises over are combinations ``u`` of few atoms, and all it needs of an atom is its
predictions: a column of ``X`` where vertices are single coordinates, ``X s`` otherwise. Together they are a matrix
``A``, and ``D`` is the diagonal matrix of the losses' curvatures. Products with ``A`` go row by row where it is
sparse, because then the short vectors stay close; what moves one atom at a time reads columns.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import verb
from frankwolfe.data.multi_output import MultiOutput
from frankwolfe.data.rows import CSR


@verb
def column_dot(columns, j, v):
    """Inner product of column ``j`` with ``v``."""
    return columns.column_dot(j, v)


@verb
def column_add_bent(columns, j, c, curvatures, v):
    """Add ``c`` times column ``j``, each entry times its sample's curvature, to ``v``, in place."""
    return columns.column_add_bent(j, c, curvatures, v)


class SparseColumns(NamedTuple):
    """Columns by their stored entries."""

    data: np.ndarray
    samples: np.ndarray
    starts: np.ndarray

    def column_dot(self, j, v):
        """Inner product of column ``j`` with ``v``."""
        data, samples, even, odd = self.data, self.samples, 0.0, 0.0
        k, stop = self.starts[j], self.starts[j + 1]
        while k + 1 < stop:  # two at a time: a plain loop is compiled to vector fetches, which take four times as long
            even += data[k] * v[samples[k]]
            odd += data[k + 1] * v[samples[k + 1]]
            k += 2
        return even + odd if k == stop else even + odd + data[k] * v[samples[k]]

    def column_add_bent(self, j, c, curvatures, v):
        """Add ``c`` times column ``j``, weighted by the curvatures, to ``v``."""
        data, samples = self.data, self.samples
        for k in range(self.starts[j], self.starts[j + 1]):
            i = samples[k]
            v[i] += c * data[k] * curvatures[i]


class DenseColumns(NamedTuple):
    """Columns laid out one after the other; also the matrix of them."""

    values: np.ndarray

    def column_dot(self, j, v):
        """Inner product of column ``j`` with ``v``."""
        values, total = self.values, 0.0
        for i in range(len(v)):
            total += values[j, i] * v[i]
        return total

    def column_add_bent(self, j, c, curvatures, v):
        """Add ``c`` times column ``j``, weighted by the curvatures, to ``v``."""
        values = self.values
        for i in range(len(v)):
            v[i] += c * values[j, i] * curvatures[i]

    def by_columns(self) -> "DenseColumns":
        """Return what `column_dot` and `column_add_bent` work on."""
        return self

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u``."""
        return u @ self.values

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return ``A' v``."""
        return self.values @ v

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return the diagonal of ``A' D A``."""
        return np.einsum("ji,ji,i->j", self.values, self.values, curvatures)

    def gram(self, curvatures: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return ``A' D A`` for some of the columns, from the samples that have a curvature."""
        values, bent = self.values, np.flatnonzero(curvatures)
        if len(chosen) < len(values):
            values = values[chosen]
        if curvatures.ndim == 3:  # a matrix for each sample
            bent = np.einsum("jic,icd->jid", values.reshape(len(values), *curvatures.shape[:2]), curvatures)
            return bent.reshape(values.shape) @ values.T
        if 2 * len(bent) <= len(curvatures):
            values, curvatures = values[:, bent], curvatures[bent]
        return (values * curvatures) @ values.T


class SparseRows:
    """The matrix of sparse columns, stored row by row, sorted within a row.

    Parameters
    ----------
    data, columns, starts : array
        Stored entries, their columns, and where each row begins.
    width : int
        Number of columns.
    """

    def __init__(self, data: np.ndarray, columns: np.ndarray, starts: np.ndarray, width: int):
        self.entries = data, columns.view(np.uint32), starts.astype(np.int64)
        self._matrix = sparse.csr_array((data, columns, starts), shape=(len(starts) - 1, width))
        self._transposed = self._matrix.T

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return len(self.entries[0])

    def by_columns(self) -> SparseColumns:
        """Return a copy, column by column."""
        copied = self._matrix.tocsc()
        samples = copied.indices.astype(np.int32, copy=False).view(np.uint32)
        return SparseColumns(copied.data, samples, copied.indptr.astype(np.int64))

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u``."""
        return self._matrix @ u

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return ``A' v``."""
        return self._transposed @ v

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return the diagonal of ``A' D A``."""
        sizes = np.zeros(self._matrix.shape[1])
        add_squares(*self.entries, curvatures, sizes)
        return sizes

    def gram(self, curvatures: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return ``A' D A`` for some of the columns, in ascending order."""
        place = np.full(self._matrix.shape[1], -1, np.int32)
        place[chosen] = np.arange(len(chosen))
        H = np.zeros((len(chosen), len(chosen)))
        add = add_pairs if curvatures.ndim == 1 else add_coupled_pairs
        add(*self.entries, curvatures, place, H)
        return H


def active_matrix(rows: Any, active: np.ndarray, d: int) -> SparseRows | DenseColumns:
    """Return a copy of the columns ``active`` (in order), of ``d`` columns in all, as a matrix."""
    if isinstance(rows, MultiOutput):
        return _active_outputs(rows, active)
    rows = unsigned(rows)
    if not isinstance(rows, CSR):
        return DenseColumns(rows.columns(active))
    place = np.full(d, -1, np.int32)
    place[active] = np.arange(len(active))
    most = len(rows.data)  # room for all entries: what is not written to is not memory yet
    starts = np.zeros(len(rows.indptr), np.int32 if most < 2**31 else np.int64)
    data, columns = np.empty(most + 1), np.empty(most + 1, np.int32)
    press(rows, place, data, columns, starts)
    stored = int(starts[-1])
    data.resize(stored, refcheck=False)  # in place: gives back what was not needed
    columns.resize(stored, refcheck=False)
    return SparseRows(data, columns, starts, len(active))


def _active_outputs(rows: MultiOutput, active: np.ndarray) -> SparseRows:
    """Return the same where there are several outputs: a row for each of them, and a column meets one of them."""
    features, place = np.unique(active // rows.outputs, return_inverse=True)
    if isinstance(rows.rows, CSR):
        width = max(rows.rows.indices.max(initial=0), features.max(initial=0)) + 1  # the last columns may be empty
        kept = sparse.csc_array(rows.rows._matrix(width)[:, features])[:, place]
    else:
        kept = sparse.csc_array(rows.rows.columns(features).T)[:, place]
    samples = kept.indices * rows.outputs + np.repeat(active % rows.outputs, np.diff(kept.indptr))
    shape = (kept.shape[0] * rows.outputs, len(active))
    spread = sparse.csc_array((kept.data.astype(np.float64), samples, kept.indptr), shape=shape).tocsr()
    return SparseRows(spread.data, spread.indices.astype(np.int32), spread.indptr, len(active))


def unsigned(rows: Any) -> Any:
    """Return the same rows with unsigned column numbers: compiled code then need not test for counting from the end."""
    narrow = isinstance(rows, CSR) and rows.indices.dtype == np.int32
    return rows._replace(indices=rows.indices.view(np.uint32)) if narrow else rows


@kernel
def press(rows, place, to_data, to_columns, starts):
    """Copy the entries of the columns that have a ``place``.

    Every entry is written and the next one overwrites it unless it was wanted: a branch could not be foreseen. Hence
    the room for one entry more.
    """
    data, indices, indptr, at = rows.data, rows.indices, rows.indptr, 0
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = place[indices[k]]
            to_data[at] = data[k]
            to_columns[at] = j
            at += j >= 0
        starts[i + 1] = at


@kernel
def add_squares(data, columns, starts, curvatures, sizes):
    """Add the squares of all entries, each times its sample's curvature, to their columns' ``sizes``."""
    for i in range(len(curvatures)):
        for k in range(starts[i], starts[i + 1]):
            sizes[columns[k]] += curvatures[i] * data[k] * data[k]


@kernel
def add_pairs(data, columns, starts, curvatures, place, H):
    """Add the Hessian of the columns that have a ``place``, in order; a row only meets pairs of its own entries."""
    places, entries = np.empty(len(place) + 1, np.int64), np.empty(len(place) + 1)
    for i in range(len(curvatures)):
        if curvatures[i] == 0.0:
            continue
        count = 0
        for k in range(starts[i], starts[i + 1]):  # without a branch, as in `press`
            j = place[columns[k]]
            places[count] = j
            entries[count] = data[k]
            count += j >= 0
        for k in range(count):
            j, x = places[k], curvatures[i] * entries[k]
            for other in range(k + 1):
                H[j, places[other]] += x * entries[other]
    for j in range(len(H)):
        for other in range(j):
            H[other, j] = H[j, other]


@kernel
def add_coupled_pairs(data, columns, starts, curvatures, place, H):
    """Add the same where a sample has several rows, one for each output, and a matrix of curvatures between them."""
    most, outputs = 0, curvatures.shape[1]
    for i in range(len(curvatures)):
        most = max(most, starts[(i + 1) * outputs] - starts[i * outputs])
    places, homes, entries = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64), np.empty(most + 1)
    for i in range(len(curvatures)):
        count = 0
        for c in range(outputs):
            for k in range(starts[i * outputs + c], starts[i * outputs + c + 1]):
                j = place[columns[k]]
                places[count] = j
                homes[count] = c
                entries[count] = data[k]
                count += j >= 0
        for k in range(count):
            j, c, x = places[k], homes[k], entries[k]
            for other in range(k + 1):
                H[j, places[other]] += x * curvatures[i, c, homes[other]] * entries[other]
    for j in range(
        len(H)
    ):  # entries come output by output, not in ascending order: each pair was added once, somewhere
        for other in range(j):
            total = H[j, other] + H[other, j]
            H[j, other] = total
            H[other, j] = total
