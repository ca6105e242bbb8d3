"""Rows that are matrices laid out flat, as weight matrices ``left S right'`` of low rank see them."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import routine, row_item, row_size


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
