"""Facts about parts of the data, as they were loaded: functions that a `Cluster` runs on all parts."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.cluster.parts import Part
from frankwolfe.rows.centred import Centred


def first_row(part: Part) -> np.ndarray:
    """Return the first row of a part, dense."""
    values: np.ndarray = part.chunks[0].matrix[0]
    return values.astype(np.float64)


def sum_less(part: Part, first: np.ndarray) -> tuple:
    """Return the weighted sum of all rows of dense chunks, less another row, and the sum of the weights."""
    found = np.zeros(len(first))
    for chunk in part.chunks:
        found += Centred(chunk.matrix, first).add_all(chunk.weights, len(first))
    return found, sum(float(chunk.weights.sum()) for chunk in part.chunks)


def some_rows(part: Part, every: int) -> Any:
    """Return one row in so many of a part, copied: an array or a CSR array."""
    found = [chunk.matrix[::every] for chunk in part.chunks]
    if isinstance(found[0], np.ndarray):
        return np.concatenate(found)
    return sparse.vstack(found, format="csr")


def facts(part: Part) -> dict[str, Any]:
    """Return what is to be known of a part before anything is done with it."""
    chunks = part.chunks
    return {
        "rows": sum(len(chunk.weights) for chunk in chunks),
        "weight": float(sum(chunk.weights.sum() for chunk in chunks)),
        "largest_weight": max((float(chunk.weights.max()) for chunk in chunks), default=0.0),
        "largest_target": max((float(chunk.targets.max()) for chunk in chunks), default=0.0),
        "target_columns": {chunk.targets.shape[1] if chunk.targets.ndim > 1 else 0 for chunk in chunks},
        "entries": sum(stored_entries(chunk.matrix) for chunk in chunks),
        "layouts": {isinstance(chunk.matrix, np.ndarray) for chunk in chunks},
        "types": {str(chunk.matrix.dtype) for chunk in chunks},
        "fingerprints": [chunk.fingerprint for chunk in chunks],
        "digest": part.digest,
        "bytes": sum(chunk.bytes for chunk in chunks),
    }


def stored_entries(matrix: Any) -> int:
    """Return the number of stored entries."""
    return int(matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz)
