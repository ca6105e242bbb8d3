"""Columns of active atoms, one by one: what is read where one atom at a time is moved.

The matrix ``A`` of the predictions of all atoms is in `frankwolfe.engines.corrective.row_blocks`, row by row; there,
short vectors stay close.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import verb
from frankwolfe.engines.corrective.hessian_model import Hessian
from frankwolfe.rows.csr import ONE, TWO
from frankwolfe.rows.dense import dot_row


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
        k, stop = np.uint64(self.starts[j]), np.uint64(self.starts[j + 1])
        while k + ONE < stop:  # two at a time: a plain loop is compiled to vector fetches, four times slower
            even += data[k] * v[samples[k]]
            odd += data[k + ONE] * v[samples[k + ONE]]
            k += TWO
        return even + odd if k == stop else even + odd + data[k] * v[samples[k]]

    def column_add_bent(self, j, c, curvatures, v):
        """Add ``c`` times column ``j``, weighted by the curvatures, to ``v``."""
        data, samples = self.data, self.samples
        for k in range(np.uint64(self.starts[j]), np.uint64(self.starts[j + 1])):
            i = samples[k]
            v[i] += c * data[k] * curvatures[i]


class DenseColumns(NamedTuple):
    """Columns laid out one after the other; also the matrix of them."""

    values: np.ndarray

    def column_dot(self, j, v):
        """Inner product of column ``j`` with ``v``."""
        return dot_row(self.values, j, v)

    def column_add_bent(self, j, c, curvatures, v):
        """Add ``c`` times column ``j``, weighted by the curvatures, to ``v``."""
        values = self.values
        for i in range(len(v)):
            v[i] += c * values[j, i] * curvatures[i]

    def hessian(self) -> Hessian:
        """Return the Hessian of its atoms, to be kept from one step to the next."""
        return Hessian(self)

    def chosen(self, kept: np.ndarray) -> list[np.ndarray]:
        """Return some of the columns."""
        return [self.values[kept]]

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
        values, curved = self.values, np.flatnonzero(curvatures)
        if len(chosen) < len(values):
            values = values[chosen]
        if curvatures.ndim == 3:  # a matrix for each sample
            bent = np.einsum("jic,icd->jid", values.reshape(len(values), *curvatures.shape[:2]), curvatures)
            return bent.reshape(values.shape) @ values.T
        if 2 * len(curved) <= len(curvatures):
            values, curvatures = values[:, curved], curvatures[curved]
        return (values * curvatures) @ values.T
