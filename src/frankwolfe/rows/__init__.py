"""Row layouts: how the rows of the data are stored and read, one row or all rows at a time.

Kernels read rows only through verbs (`frankwolfe.compile.verbs`), so the same kernel source serves all layouts. float32
data stays float32 in memory; sums are computed in float64.
"""

from typing import Any

import numpy as np

from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense
from frankwolfe.rows.multi_output import MultiOutput


def as_rows(matrix: Any, outputs: int = 0) -> Any:
    """Return the rows of a checked matrix (see `frankwolfe.arguments.arrays.as_matrix`) without copying it."""
    rows = Dense(matrix) if isinstance(matrix, np.ndarray) else CSR.of(matrix)
    return MultiOutput(rows, outputs) if outputs else rows
