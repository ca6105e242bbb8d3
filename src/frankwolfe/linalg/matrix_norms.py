"""Norms and ranges of a whole data matrix, dense or sparse: what the theory's constants are made of."""

from typing import Any

import numpy as np
from scipy import sparse

PAIR_BUDGET = 2e9
"""Multiplications that comparing all pairs of columns may take before a bound is given instead."""


def _dense_vector(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64).ravel()


def _norms(X: Any, p: float, axis: int) -> np.ndarray:
    size = abs(X)
    if p == 1:
        return _dense_vector(size.sum(axis=axis, dtype=np.float64))
    if p == 2:
        size = size.astype(np.float64)  # squares of float32 numbers vanish or overflow too soon
        squares = size.multiply(size) if sparse.issparse(X) else size * size
        return np.sqrt(_dense_vector(squares.sum(axis=axis, dtype=np.float64)))
    return _dense_vector(size.max(axis=axis))


def column_norms(X: Any, p: float) -> np.ndarray:
    """l_p norm of every column, for p = 1, 2 or inf.

    Examples
    --------
    >>> column_norms(np.array([[3.0, 0.0], [4.0, -1.0]]), 2)
    array([5., 1.])
    """
    return _norms(X, p, axis=0)


def row_norms(X: Any, p: float) -> np.ndarray:
    """l_p norm of every row, for p = 1, 2 or inf."""
    return _norms(X, p, axis=1)


def weighted_row_sums(X: Any, width: np.ndarray) -> np.ndarray:
    """Return ``sum_j |X_ij| width_j`` for every row ``i``."""
    return _dense_vector(abs(X) @ width)


def row_ranges(X: Any, with_zero: bool = False) -> np.ndarray:
    """Largest minus smallest entry of every row, zero counted as an entry on request."""
    high, low = _dense_vector(X.max(axis=1)), _dense_vector(X.min(axis=1))
    if with_zero:
        high, low = np.maximum(high, 0.0), np.minimum(low, 0.0)
    return high - low


def spectral_norm(X: Any) -> float:
    """Largest singular value."""
    if not (X.count_nonzero() if sparse.issparse(X) else X.any()):
        return 0.0
    if min(X.shape) <= 2 or (not sparse.issparse(X) and max(X.shape) <= 512):
        dense = X.toarray() if sparse.issparse(X) else X
        return float(np.linalg.norm(dense, 2))
    from scipy.sparse.linalg import svds  # heavy, and only wanted here

    start = np.random.default_rng(0).normal(size=min(X.shape))  # fixed: the same matrix gives the same digits
    return float(svds(X.astype(np.float64), k=1, v0=start, return_singular_vectors=False)[0])


def farthest_columns(X: Any, p: float) -> tuple[float, bool]:
    """l_p distance of the two columns farthest apart (p = 1 or 2), and whether it is exact.

    With too many pairs to compare, the sum of the two largest norms: an upper bound.
    """
    n, d = X.shape
    if d == 1:
        return 0.0, True
    if n * d * d <= PAIR_BUDGET:
        from scipy.spatial.distance import pdist  # heavy, and only wanted here

        transposed = (X.toarray() if sparse.issparse(X) else X).T
        return float(pdist(transposed, "cityblock" if p == 1 else "euclidean").max()), True
    return float(np.sort(column_norms(X, p))[-2:].sum()), False
