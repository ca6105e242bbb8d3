"""Leading singular triplets of a matrix: by its Gram matrix where one side is short, else by Lanczos' method."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, aslinearoperator, eigsh

SHORT = 128
"""Longest side for which the Gram matrix is formed."""


class Triplets(NamedTuple):
    """The largest singular values, in falling order, with their vectors.

    Attributes
    ----------
    left : array of shape (p, count)
    values : array of shape (count,)
    right : array of shape (q, count)
    bound : float
        No singular value is larger. For Lanczos' method this is the largest value found plus its residual: some
        singular value lies that close to the one found, and that it is the largest is what the method looks for.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    bound: float


def leading_triplets(matrix: Any, count: int = 1, tolerance: float = 0.0, start: np.ndarray | None = None) -> Triplets:
    """Return the ``count`` largest singular values of a matrix and their vectors.

    Parameters
    ----------
    matrix : array, sparse matrix or LinearOperator of shape (p, q)
    count : int
        At most the shorter side.
    tolerance : float
        Relative accuracy that is enough; 0 asks for all digits. The Gram matrix gives them anyway.
    start : array, optional
        Where Lanczos' method starts: a vector as long as the shorter side.

    Examples
    --------
    >>> leading_triplets(np.diag([1.0, 3.0, 2.0]), 2).values
    array([3., 2.])
    """
    p, q = matrix.shape
    if p < q:
        left, values, right, bound = leading_triplets(matrix.T, count, tolerance, start)
        return Triplets(right, values, left, bound)
    count = min(count, q)
    exact = q <= SHORT or 3 * count >= q
    right = _by_gram(matrix, count) if exact else _by_lanczos(matrix, count, tolerance, start)
    # the other side, and with it the values, to the accuracy of the data rather than of its square
    images = np.asarray(matrix @ right)
    left, values, turned = np.linalg.svd(images, full_matrices=False)
    right = right @ turned.T
    slack = 8.0 * np.finfo(float).eps * q * values[0]
    if not exact and values[0] > 0.0:
        slack += float(np.linalg.norm(matrix.T @ left[:, 0] - values[0] * right[:, 0]))
    return Triplets(left, values, right, float(values[0]) + slack)


def _by_gram(matrix: Any, count: int) -> np.ndarray:
    """Return right singular vectors from the Gram matrix of the columns."""
    q = matrix.shape[1]
    operator = isinstance(matrix, LinearOperator)
    tall = matrix @ np.eye(q) if operator else matrix
    gram = tall.T @ tall
    gram = gram.toarray() if hasattr(gram, "toarray") else np.asarray(gram)
    return eigh(gram, subset_by_index=(q - count, q - 1))[1][:, ::-1]


def _by_lanczos(matrix: Any, count: int, tolerance: float, start: np.ndarray | None) -> np.ndarray:
    """Return right singular vectors as eigenvectors of ``A' A``."""
    operator = aslinearoperator(matrix)
    square = LinearOperator((matrix.shape[1],) * 2, lambda v: operator.rmatvec(operator.matvec(v)), dtype=np.float64)
    if start is None or not np.any(square @ start):
        start = np.random.default_rng(0).normal(size=matrix.shape[1])
    if not np.any(square @ start):
        return np.eye(matrix.shape[1], count)  # nothing there: any vectors will do
    try:
        return eigsh(square, k=count, v0=start, tol=tolerance, ncv=max(2 * count + 1, 20))[1][:, ::-1]
    except ArpackNoConvergence as error:
        found = error.eigenvectors
        if found.shape[1] == 0:
            return np.linalg.qr(start[:, None])[0]
        return found[:, ::-1]
