"""Blocks of rows of the active columns: copied, dense or sparse, or taken from dense rows as they are needed."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.engines.corrective.sparse_gram import add_coupled_pairs, add_pairs
from frankwolfe.linalg.matrices import weighted_gram
from frankwolfe.rows.csr import CSR


class DenseBlock(NamedTuple):
    """Some rows of a matrix of dense columns: which samples they are of, and the entries, row by row."""

    part: slice
    values: np.ndarray

    @property
    def stored(self) -> int:
        """Number of entries."""
        return self.values.size

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u`` for these rows."""
        return self.values @ u

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return the part of ``A' v`` that these rows add."""
        return v @ self.values

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return what these rows add to the diagonal of ``A' D A``."""
        return np.einsum("ij,ij,i->j", self.values, self.values, curvatures)

    def add_gram(self, curvatures: np.ndarray, chosen: np.ndarray, H: np.ndarray) -> None:
        """Add what these rows have of ``A' D A`` for some of the columns."""
        values, curved = self.values, np.flatnonzero(curvatures)
        if 2 * len(curved) <= len(curvatures):
            values, curvatures = values[curved], curvatures[curved]
        values = values if len(chosen) == values.shape[1] else values[:, chosen]
        H += weighted_gram(values, curvatures)

    @classmethod
    def joined(cls, blocks: "list[DenseBlock]") -> "DenseBlock":
        """Return blocks that follow each other as one."""
        if len(blocks) == 1:
            return blocks[0]
        part = slice(blocks[0].part.start, blocks[-1].part.stop)
        return cls(part, np.concatenate([block.values for block in blocks]))


class RowsBlock(NamedTuple):
    """Some dense rows that are as they came, and which of their columns are active: these are taken when needed.

    It takes no memory, and no longer than a copy does if each is looked at once or twice, as on a cluster: there points
    are evaluated at all weights.
    """

    part: slice
    rows: Any
    active: np.ndarray

    @property
    def stored(self) -> int:
        """Number of entries."""
        return (self.part.stop - self.part.start) * len(self.active)

    def _columns(self) -> DenseBlock:
        """Return the columns, in memory that is used again."""
        return DenseBlock(self.part, self.rows.look_at_columns(self.active))

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u`` for these rows."""
        return self._columns().predict(u)

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return the part of ``A' v`` that these rows add."""
        return self._columns().project(v)

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return what these rows add to the diagonal of ``A' D A``."""
        return self._columns().squares(curvatures)

    def add_gram(self, curvatures: np.ndarray, chosen: np.ndarray, H: np.ndarray) -> None:
        """Add what these rows have of ``A' D A`` for some of the columns."""
        self._replace(active=self.active[chosen])._columns().add_gram(curvatures, np.arange(len(chosen)), H)


class SparseBlock(NamedTuple):
    """Some rows of a matrix of sparse columns: which samples they are of, and the stored entries, row by row.

    ``compiled`` says whether kernels work on them, or SciPy.
    """

    part: slice
    rows: CSR
    width: int
    compiled: bool

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return len(self.rows.data)

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u`` for these rows."""
        return self.rows.dot_all(u, self.compiled)

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return the part of ``A' v`` that these rows add."""
        return self.rows.add_all(v, self.width, self.compiled)

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return what these rows add to the diagonal of ``A' D A``."""
        return self.rows.weighted_squares(curvatures, self.width, self.compiled)

    def add_gram(self, curvatures: np.ndarray, chosen: np.ndarray, H: np.ndarray) -> None:
        """Add what these rows have of ``A' D A``, at least its lower half, for some of the columns in ascending order.

        ``curvatures`` has an entry per row, or a matrix per sample whose rows are those of its outputs.
        """
        if self.compiled:
            place = np.full(self.width, -1, np.int32)
            place[chosen] = np.arange(len(chosen))
            add = add_pairs if curvatures.ndim == 1 else add_coupled_pairs
            add(*self.rows, curvatures, place, H)
            return
        A = self.rows.matrix(self.width)[:, chosen]
        if curvatures.ndim == 1:
            H += sparse_gram(A, A, curvatures)
            return
        outputs = curvatures.shape[1]
        parts = [A[c::outputs] for c in range(outputs)]  # a column has entries for one output only
        homes = [np.unique(part.indices) for part in parts]
        parts = [part[:, home] for part, home in zip(parts, homes, strict=True)]
        for c, left in enumerate(parts):
            for d, right in enumerate(parts):
                H[np.ix_(homes[c], homes[d])] += sparse_gram(left, right, curvatures[:, c, d])

    @classmethod
    def joined(cls, blocks: "list[SparseBlock]") -> "SparseBlock":
        """Return blocks that follow each other as one."""
        if len(blocks) == 1:
            return blocks[0]
        rows = [block.rows for block in blocks]
        starts = np.cumsum(np.concatenate([[0], *(np.diff(row.indptr) for row in rows)]), dtype=np.int64)
        data = np.concatenate([row.data for row in rows])
        columns = np.concatenate([row.indices for row in rows])
        return blocks[0]._replace(
            part=slice(blocks[0].part.start, blocks[-1].part.stop), rows=CSR(data, columns, starts)
        )


def sparse_gram(A: sparse.csr_array, B: sparse.csr_array, curvatures: np.ndarray) -> np.ndarray:
    """Return ``A' D B`` for a diagonal ``D``: by BLAS if about one entry in seven is stored, which is as fast then."""
    curved = np.flatnonzero(curvatures)
    if 2 * len(curved) <= len(curvatures):
        A, B, curvatures = A[curved], B[curved], curvatures[curved]
    if 7 * A.nnz > A.shape[0] * A.shape[1]:
        return A.toarray().T @ (B.toarray() * curvatures[:, None])
    bent = sparse.csr_array((B.data * np.repeat(curvatures, np.diff(B.indptr)), B.indices, B.indptr), shape=B.shape)
    return (A.T @ bent).toarray()
