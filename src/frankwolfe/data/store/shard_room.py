"""Memory that shards of a row store are read into."""

from typing import TYPE_CHECKING

import numpy as np

from frankwolfe.data.csr import CSR, UNSIGNED
from frankwolfe.data.dense import Dense

if TYPE_CHECKING:
    from frankwolfe.data.store.row_store import RowStore


class Room:
    """Memory for rows, to read into.

    Parameters
    ----------
    store : RowStore
        Whose rows.
    rows, entries : int
        How many there may be.
    """

    def __init__(self, store: "RowStore", rows: int, entries: int):
        manifest, self._sparse = store.manifest, store.is_sparse
        kind = np.dtype(manifest.indices)
        self.width = manifest.columns
        self.values = np.empty(entries, store.dtype)
        self.columns = np.empty(entries if self._sparse else 0, kind)
        self.starts = np.empty(rows + 1 if self._sparse else 0, kind)

    def rows(self, rows: int, entries: int) -> CSR | Dense:
        """Return what was read, not copied."""
        if not self._sparse:
            return Dense(self.values[:entries].reshape(rows, self.width))
        columns = self.columns[:entries]
        return CSR(self.values[:entries], columns.view(UNSIGNED[columns.dtype]), self.starts[: rows + 1])
