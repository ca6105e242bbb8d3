"""Sums over long vectors, a piece that stays in cache at a time: arrays in between would take longer than the sums."""

import numpy as np

PIECE = 2**13
"""Numbers in a piece."""


def sum_of_sizes(one: np.ndarray, other: np.ndarray) -> float:
    """Return ``sum_i |a_i b_i|``.

    Examples
    --------
    >>> sum_of_sizes(np.array([1.0, -2.0]), np.array([3.0, 1.0]))
    5.0
    """
    return float(sum(np.abs(one[k : k + PIECE] * other[k : k + PIECE]).sum() for k in range(0, len(one), PIECE)))


def dot_difference(one: np.ndarray, there: np.ndarray, here: np.ndarray) -> float:
    """Return ``<a, b - c>``.

    Examples
    --------
    >>> dot_difference(np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    2.0
    """
    pieces = (slice(k, k + PIECE) for k in range(0, len(one), PIECE))
    return float(sum(one[some] @ (there[some] - here[some]) for some in pieces))
