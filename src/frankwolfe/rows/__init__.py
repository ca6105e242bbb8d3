"""Row layouts, which read one row or all rows at a time, and the samples of a problem.

Kernels read rows only through verbs (`frankwolfe.compile.verbs`), so the same kernel source serves all layouts. float32
data stays float32 in memory; sums are computed in float64.

The samples are divided into blocks of bounded size. The blocks depend on the size of the data, not on the number of
threads, so sums over blocks in a fixed order are bitwise the same for any number of threads. Small data is one block.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Loss, Rows
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense
from frankwolfe.rows.multi_output import MultiOutput


def as_rows(matrix: Any, outputs: int = 0) -> Any:
    """Return the rows of a checked matrix (see `frankwolfe.arguments.arrays.as_matrix`) without copying it."""
    rows = Dense(matrix) if isinstance(matrix, np.ndarray) else CSR.of(matrix)
    return MultiOutput(rows, outputs) if outputs else rows


SMALL = 2**17
"""Number of entries up to which data is one block: starting threads would take longer than the work."""

LEAST, MOST = 2**16, 2**22
"""Minimum and maximum number of entries of a block."""

PER_COLUMN = 4
"""Entries of a block for each weight, within these bounds, because each block computes a gradient of its own."""


class Samples(NamedTuple):
    """The data of a problem: rows, targets, weights that sum to one, and the loss."""

    rows: Rows
    targets: np.ndarray
    weights: np.ndarray
    loss: Loss

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: ``(n,)``, or ``(n, outputs)`` for several outputs."""
        return (len(self.weights), self.rows.outputs) if self.rows.outputs else (len(self.weights),)

    def table(self) -> np.ndarray:
        """Return zeros, one for each prediction."""
        return np.zeros(self.shape)

    def block(self, part: slice) -> "Samples":
        """Return a slice of the samples."""
        return Samples(self.rows.block(part), self.targets[part], self.weights[part], self.loss)


def block_entries(stored: int, size: int) -> int:
    """Return the number of entries of a block, for data of ``stored`` entries and gradients of ``size`` numbers."""
    return stored if stored <= SMALL else min(max(LEAST, PER_COLUMN * size), MOST)
