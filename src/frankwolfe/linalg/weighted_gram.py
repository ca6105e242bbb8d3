"""Squares of tall matrices, row by row weighted: what Hessians of dense data are made of."""

import numpy as np

from frankwolfe.linalg.scratch import ROOM, scratch


def weighted_gram(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``rows' diag(weights) rows``.

    A product of a matrix with its own transpose takes half the work of another product of the same shape. So rows are
    multiplied by the roots of their weights, where no weight is negative; some at a time.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_gram(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([3.0, 1.0]))
    array([[4., 2.],
           [2., 4.]])
    """
    if weights.min(initial=0.0) < 0.0:
        return (rows.T * weights) @ rows
    (n, width), roots = rows.shape, np.sqrt(weights)[:, None]
    step = max(1, ROOM // max(width, 1))
    room, total = scratch("half", min(n, step), width), np.zeros((0, 0))
    for first in range(0, max(n, 1), step):
        last = min(first + step, n)
        half = np.multiply(rows[first:last], roots[first:last], out=room[: last - first])
        total = total + half.T @ half if first else half.T @ half
    return total
