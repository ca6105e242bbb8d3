"""Row layouts for several outputs, where the weights are a matrix ``W``, and data restricted to low-rank weights.

``W`` has a row for each column of the data and a column for each output. It is stored flat, row after row: entry
``(j, c)`` is at ``j * outputs + c``. Sets, trackers and active sets treat it as a vector; only the rows use the shape.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.arguments.types import Rows
from frankwolfe.compile.verbs import fetch_row, row_dot, row_entry, row_item, row_size
from frankwolfe.linalg.argmax import track, track_groups


class MultiOutput(NamedTuple):
    """Rows of any layout, for weight matrices of ``outputs`` columns."""

    rows: Rows
    outputs: int

    @property
    def is_sparse(self) -> bool:
        """Whether the layout stores the non-zero entries only."""
        return self.rows.is_sparse

    def row_dot(self, i, v):
        """Return ``W' x_i``, for the weights ``v``."""
        rows, outputs = self.rows, np.uint64(self.outputs)  # unsigned: no check for negative indices
        z = np.zeros(outputs)
        for at in range(row_size(rows, i)):
            j, x = row_item(rows, i, at)
            first = np.uint64(j) * outputs
            for c in range(outputs):
                z[c] += x * v[first + c]
        return z

    def row_add(self, i, c, r):
        """Add ``x_i c'`` to ``r``."""
        rows, outputs = self.rows, np.uint64(self.outputs)
        for at in range(row_size(rows, i)):
            j, x = row_item(rows, i, at)
            first = np.uint64(j) * outputs
            for k in range(outputs):
                r[first + k] += x * c[k]

    def fetch_row(self, i):
        """Prefetch the stored entries of row ``i``."""
        fetch_row(self.rows, i)

    def row_size(self, i):
        """Return the number of stored entries of row ``i``, counted once for each output."""
        return self.outputs * row_size(self.rows, i)

    def row_entry(self, i, j):
        """Return the prediction of row ``i`` for the ``j``-th unit vector of flat weights."""
        rows, outputs = self.rows, self.outputs
        z = np.zeros(outputs)
        z[j % outputs] = row_entry(rows, i, j // outputs)
        return z

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``x_i c'`` to ``r`` and update the bounds of a lazy argmax."""
        rows, outputs = self.rows, self.outputs
        for at in range(row_size(rows, i)):
            j, x = row_item(rows, i, at)
            for k in range(outputs):
                here = j * outputs + k
                entry = r[here] + x * c[k]
                r[here] = entry
                track(bounds, starts, flip, here, entry)

    def row_add_grouped(self, i, c, r, groups):
        """Add ``x_i c'`` to ``r`` and update the keys of a tracker over groups."""
        rows, outputs, homes, ends, keys = self.rows, self.outputs, groups.homes, groups.home_ends, groups.keys
        shares, flat, bounds, starts = groups.shares, groups.flat, groups.tree.bounds, groups.tree.starts
        for at in range(row_size(rows, i)):
            j, x = row_item(rows, i, at)
            for k in range(outputs):
                here = j * outputs + k
                before = abs(r[here])
                r[here] += x * c[k]
                track_groups(keys, shares, flat, bounds, starts, homes, ends, here, before, abs(r[here]))

    def row_sandwich(self, i, left, right):
        """Return ``(x_i' left) right``."""
        return row_dot(self.rows, i, left) * right

    def mean_prediction(self, w: np.ndarray) -> np.ndarray:
        """Return the vector that centring subtracts from all predictions, one number for each output."""
        return self.rows.mean_prediction(w.reshape(-1, self.outputs)) * np.ones(self.outputs)

    def column_norms(self, weights: np.ndarray, size: int) -> np.ndarray:
        """Return the weighted column norms ``sqrt(sum_i weights_i x_ij^2)``, repeated for each output."""
        return np.repeat(self.rows.column_norms(weights, size // self.outputs), self.outputs)

    def vectors(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return memory for an iterate and a gradient, each contiguous: a row of data accesses whole rows of both."""
        return np.empty(size), np.empty(size)

    def dot_all(self, w: np.ndarray) -> np.ndarray:
        """Return the predictions of all rows."""
        return np.ascontiguousarray(self.rows.dot_all(w.reshape(-1, self.outputs)))

    def add_all(self, alpha: np.ndarray, size: int) -> np.ndarray:
        """Return ``X' alpha``, flat."""
        return np.ascontiguousarray(self.rows.add_all(alpha, size // self.outputs)).ravel()

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.outputs * self.rows.stored()

    def cut(self, entries: int) -> list[slice]:
        """Return slices of the rows with about ``entries`` entries each, each entry counted once for each output."""
        return self.rows.cut(max(1, entries // self.outputs))

    def some_rows(self, chosen: np.ndarray) -> "MultiOutput":
        """Return a copy of the rows with the indices ``chosen``."""
        return MultiOutput(self.rows.some_rows(chosen), self.outputs)

    def block(self, part: slice) -> "MultiOutput":
        """Return a slice of the rows."""
        return MultiOutput(self.rows.block(part), self.outputs)

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> "FactoredOutputs":
        """Return the data restricted to weight matrices ``left S right'``."""
        return FactoredOutputs(np.ascontiguousarray(self.rows.dot_all(left)), right)


# --- data restricted to weight matrices of low rank: predictions and gradients as functions of a small matrix S ------


class FactoredOutputs(NamedTuple):
    """Rows of several outputs, restricted to weights ``left S right'``: ``images`` is ``X left``, of few columns."""

    images: np.ndarray
    right: np.ndarray

    def predict(self, S: np.ndarray) -> np.ndarray:
        """Return the predictions of ``left S right'``."""
        return self.images @ (S @ self.right.T)

    def pull(self, alpha: np.ndarray) -> np.ndarray:
        """Return the gradient in ``S``, given the derivatives ``alpha`` in the predictions."""
        return (self.images.T @ alpha) @ self.right


class FactoredMatrices(NamedTuple):
    """Rows that are matrices stored flat, of one output, restricted to weights ``left S right'``."""

    rows: Rows
    left: np.ndarray
    right: np.ndarray

    def predict(self, S: np.ndarray) -> np.ndarray:
        """Return the predictions of ``left S right'``."""
        return np.asarray(self.rows.dot_all((self.left @ S @ self.right.T).ravel()), dtype=np.float64)

    def pull(self, alpha: np.ndarray) -> np.ndarray:
        """Return the gradient in ``S``, given the derivatives ``alpha`` in the predictions."""
        gradient = self.rows.add_all(alpha, len(self.left) * len(self.right))
        return self.left.T @ gradient.reshape(len(self.left), len(self.right)) @ self.right


class OneOutput:
    """Methods of row layouts whose predictions are numbers."""

    outputs = 0
    """Number of entries of a prediction; 0 if it is a number."""

    def row_sandwich(self, i, left, right):
        """Return the prediction of row ``i``, a matrix stored flat, for the weight matrix ``left right'``."""
        columns, total = len(right), 0.0
        for at in range(row_size(self, i)):
            j, x = row_item(self, i, at)
            total += x * left[j // columns] * right[j % columns]
        return total

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> FactoredMatrices:
        """Return the data restricted to weight matrices ``left S right'``."""
        return FactoredMatrices(self, left, right)

    def mean_prediction(self, w: np.ndarray) -> float:
        """Return zero: these rows are not centred."""
        return 0.0
