"""Blocks of rows of the active columns: copied, dense or sparse, or taken from dense rows as they are needed."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.engines.corrective.sparse_gram import add_coupled_pairs, add_pairs
from frankwolfe.linalg.matrices import weighted_gram
from frankwolfe.rows.csr import add_weighted_squares, combine, multiply


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
    """Some rows of a matrix of sparse columns: which samples they are of, and the stored entries, row by row."""

    part: slice
    data: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    width: int

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return len(self.data)

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u`` for these rows."""
        z = np.empty(len(self.starts) - 1)
        multiply(*self[1:4], u, z)
        return z

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return the part of ``A' v`` that these rows add."""
        total = np.zeros(self.width)
        combine(*self[1:4], v, total)
        return total

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return what these rows add to the diagonal of ``A' D A``."""
        sizes = np.zeros(self.width)
        add_weighted_squares(*self[1:4], curvatures, sizes)
        return sizes

    def add_gram(self, curvatures: np.ndarray, chosen: np.ndarray, H: np.ndarray) -> None:
        """Add what these rows have of the lower half of ``A' D A``, for some of the columns in ascending order."""
        place = np.full(self.width, -1, np.int32)
        place[chosen] = np.arange(len(chosen))
        add = add_pairs if curvatures.ndim == 1 else add_coupled_pairs
        add(*self[1:4], curvatures, place, H)

    @classmethod
    def joined(cls, blocks: "list[SparseBlock]") -> "SparseBlock":
        """Return blocks that follow each other as one."""
        if len(blocks) == 1:
            return blocks[0]
        sizes = np.concatenate([np.diff(block.starts) for block in blocks])
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        data = np.concatenate([block.data for block in blocks])
        columns = np.concatenate([block.columns for block in blocks])
        return cls(slice(blocks[0].part.start, blocks[-1].part.stop), data, columns, starts, blocks[0].width)
