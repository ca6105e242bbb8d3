"""Several outputs: rows that predict a short array, one number for each column of a weight matrix ``W``.

``W`` has a row for each column of the data and a column for each output, and is kept flat, row after row: entry
``(j, c)`` at ``j * outputs + c``. A set, a scout or an active set sees a vector like any other; only the rows know.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.sets.argmax import watch
from frankwolfe.verbs import fetch_row, row_entry, row_item, row_size


class Several(NamedTuple):
    """Rows of the data, whatever their layout, met with weight matrices of ``outputs`` columns."""

    rows: Any
    outputs: int

    def row_dot(self, i, v):
        """Return ``W' x_i``, for the weights ``v``."""
        rows, outputs = self.rows, self.outputs
        z = np.zeros(outputs)
        for at in range(row_size(rows, i)):
            j, x = row_item(rows, i, at)
            weights = v[j * outputs : (j + 1) * outputs]
            for c in range(outputs):
                z[c] += x * weights[c]
        return z

    def row_add(self, i, c, r):
        """Add ``x_i c'`` to ``r``."""
        rows, outputs = self.rows, self.outputs
        for at in range(row_size(rows, i)):
            j, x = row_item(rows, i, at)
            weights = r[j * outputs : (j + 1) * outputs]
            for k in range(outputs):
                weights[k] += x * c[k]

    def fetch_row(self, i):
        """Ask for what is stored of row ``i``."""
        fetch_row(self.rows, i)

    def row_size(self, i):
        """Return the number of stored entries of row ``i``, counted once for each output."""
        return self.outputs * row_size(self.rows, i)

    def row_entry(self, i, j):
        """Return what a one at place ``j`` of the weights adds to the prediction."""
        rows, outputs = self.rows, self.outputs
        z = np.zeros(outputs)
        z[j % outputs] = row_entry(rows, i, j // outputs)
        return z

    def row_add_watched(self, i, c, r, bounds, starts, flip):
        """Add ``x_i c'`` to ``r``, watched by a lazy argmax."""
        rows, outputs = self.rows, self.outputs
        for at in range(row_size(rows, i)):
            j, x = row_item(rows, i, at)
            for k in range(outputs):
                here = j * outputs + k
                entry = r[here] + x * c[k]
                r[here] = entry
                watch(bounds, starts, flip, here, entry)

    def column_norms(self, weights: np.ndarray, size: int) -> np.ndarray:
        """Euclidean norms of the columns, row ``i`` counted ``weights[i]`` times, for each entry of ``W``."""
        return np.repeat(self.rows.column_norms(weights, size // self.outputs), self.outputs)

    def vectors(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for an iterate and a gradient: each in one piece, since a row meets whole rows of both."""
        return np.empty(size), np.empty(size)

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Predictions of all rows."""
        return np.ascontiguousarray(self.rows.dot_all(w.reshape(-1, self.outputs)))

    def add_all(self, alpha: np.ndarray, size: int) -> np.ndarray:
        """Return ``X' alpha``, flat."""
        return np.ascontiguousarray(self.rows.add_all(alpha, size // self.outputs)).ravel()
