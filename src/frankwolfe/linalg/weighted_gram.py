"""Squares of tall matrices, row by row weighted: what Hessians of dense data are made of."""

import numpy as np


def weighted_gram(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``rows' diag(weights) rows``.

    A product of a matrix with its own transpose takes half the work of another product of the same shape. So rows are
    multiplied by the roots of their weights, where no weight is negative.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_gram(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([3.0, 1.0]))
    array([[4., 2.],
           [2., 4.]])
    """
    if weights.min(initial=0.0) < 0.0:
        return (rows.T * weights) @ rows
    half = rows * np.sqrt(weights)[:, None]
    return half.T @ half
