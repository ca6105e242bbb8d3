"""Weights that are a matrix ``W``: rows that predict one number for each of its columns, and matrices of low rank.

``W`` has a row for each column of the data and a column for each output, and is kept flat, row after row: entry
``(j, c)`` at ``j * outputs + c``. A set, a tracker or an active set sees a vector like any other; only the rows know.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import fetch_row, row_dot, row_entry, row_item, row_size
from frankwolfe.linalg.argmax import track, track_groups


class MultiOutput(NamedTuple):
    """Rows of the data, whatever their layout, met with weight matrices of ``outputs`` columns."""

    rows: Any
    outputs: int

    @property
    def is_sparse(self) -> bool:
        """Whether only some entries are stored."""
        return self.rows.is_sparse

    def row_dot(self, i, v):
        """Return ``W' x_i``, for the weights ``v``."""
        rows, outputs = self.rows, np.uint64(self.outputs)  # unsigned: no test for counting from the end
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

    def row_add_tracked(self, i, c, r, bounds, starts, flip):
        """Add ``x_i c'`` to ``r``, tracked by a lazy argmax."""
        rows, outputs = self.rows, self.outputs
        for at in range(row_size(rows, i)):
            j, x = row_item(rows, i, at)
            for k in range(outputs):
                here = j * outputs + k
                entry = r[here] + x * c[k]
                r[here] = entry
                track(bounds, starts, flip, here, entry)

    def row_add_grouped(self, i, c, r, groups):
        """Add ``x_i c'`` to ``r``, tracked by a tracker over groups."""
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
        """Return what centring subtracts from all predictions, one number for each output."""
        return self.rows.mean_prediction(w.reshape(-1, self.outputs)) * np.ones(self.outputs)

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

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.outputs * self.rows.stored()

    def cut(self, entries: int) -> list[slice]:
        """Cut the rows into blocks of about so many entries, each counted once for each output."""
        return self.rows.cut(max(1, entries // self.outputs))

    def some_rows(self, chosen: np.ndarray) -> "MultiOutput":
        """Return a copy of some rows."""
        return MultiOutput(self.rows.some_rows(chosen), self.outputs)

    def block(self, part: slice) -> "MultiOutput":
        """Return some rows that follow each other."""
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
        """Return the gradient in ``S``, given the derivatives."""
        return (self.images.T @ alpha) @ self.right


class FactoredMatrices(NamedTuple):
    """Rows that are matrices stored flat, of one output, restricted to weights ``left S right'``."""

    rows: Any
    left: np.ndarray
    right: np.ndarray

    def predict(self, S: np.ndarray) -> np.ndarray:
        """Return the predictions of ``left S right'``."""
        return np.asarray(self.rows.dot_all((self.left @ S @ self.right.T).ravel()), dtype=np.float64)

    def pull(self, alpha: np.ndarray) -> np.ndarray:
        """Return the gradient in ``S``, given the derivatives."""
        gradient = self.rows.add_all(alpha, len(self.left) * len(self.right))
        return self.left.T @ gradient.reshape(len(self.left), len(self.right)) @ self.right


class OneOutput:
    """Members of row layouts whose predictions are numbers."""

    outputs = 0
    """Number of entries of a prediction; 0 where it is a number."""

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
        """Return what centring subtracts from all predictions: nothing."""
        return 0.0
