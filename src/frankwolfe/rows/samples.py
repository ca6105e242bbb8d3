"""How a row ``x_i`` is stored. Kernels reach the data only through these verbs, so one kernel serves all layouts.

float32 data stays float32 in memory; sums are taken in float64.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense
from frankwolfe.rows.multi_output import MultiOutput


class Samples(NamedTuple):
    """Everything a kernel needs to know of the data: rows, targets, weights that sum to one, and the loss."""

    rows: Any
    targets: np.ndarray
    weights: np.ndarray
    loss: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: a number a sample, or a row for several outputs."""
        return (len(self.weights), self.rows.outputs) if self.rows.outputs else (len(self.weights),)

    def table(self) -> np.ndarray:
        """Zeros, one for each prediction."""
        return np.zeros(self.shape)

    def block(self, part: slice) -> "Samples":
        """Return some rows that follow each other, in arrays of the same types."""
        return Samples(self.rows.block(part), self.targets[part], self.weights[part], self.loss)


def as_rows(matrix: Any, outputs: int = 0) -> Any:
    """Return the rows of a checked matrix (see `frankwolfe.arguments.arrays.as_matrix`) without copying it."""
    rows = Dense(matrix) if isinstance(matrix, np.ndarray) else CSR.of(matrix)
    return MultiOutput(rows, outputs) if outputs else rows
