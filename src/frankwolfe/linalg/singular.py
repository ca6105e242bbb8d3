"""Leading singular triplets of a matrix: from its Gram matrix if one side is short, else from block Krylov spaces."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

SHORT = 128
"""Largest shorter side for which the Gram matrix is always formed."""

GUARD = 2
"""Random vectors in a block of a Krylov space in addition to those that are requested."""

NEW_PART = 1e-7
"""Fraction of a vector that must lie outside a subspace for the vector to extend it."""

WORK = 2e10
"""Maximum number of operations, about ten seconds, of a full decomposition that proves a bound."""

ROUNDING = 1e-12
"""A vector shorter than this fraction of the longest is rounding error and has no meaningful direction."""


class Triplets(NamedTuple):
    """The largest singular values, in decreasing order, with their vectors.

    Attributes
    ----------
    left : array of shape (p, count)
    values : array of shape (count,)
    right : array of shape (q, count)
    bound : float
        Upper bound on all singular values. From the Gram matrix it is proven, with an allowance for rounding. From a
        Krylov space it is the largest sum of a Ritz value and its residual, over the requested values and `GUARD` more.
        Such a bound holds with high probability but is not proven.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    bound: float


def rank_of(values: np.ndarray) -> int:
    """Return the number of singular values that are more than 1e-8 of the largest."""
    return int(np.count_nonzero(values > 1e-8 * values.max(initial=0.0)))


def leading_triplets(
    matrix: Any, count: int = 1, tolerance: float = 0.0, start: np.ndarray | None = None, proof: bool = False
) -> Triplets:
    """Return the ``count`` largest singular values of a matrix and their vectors.

    Parameters
    ----------
    matrix : array, sparse array or LinearOperator of shape (p, q)
    count : int
        At most the shorter side.
    tolerance : float
        Largest relative excess of the bound over the largest value; 0 requests full accuracy. The Gram matrix always
        gives it.
    start : array, optional
        Initial guess: a vector as long as the shorter side, or several as columns.
    proof : bool
        Whether to prove the bound, if the Gram matrix takes at most a few seconds.

    Examples
    --------
    >>> leading_triplets(np.diag([1.0, 3.0, 2.0]), 2).values
    array([3., 2.])
    """
    p, q = matrix.shape
    if p < q:
        left, values, right, bound = leading_triplets(matrix.T, count, tolerance, start, proof)
        return Triplets(right, values, left, bound)
    count, size = min(count, q), _size(matrix)
    if size == 0.0 or not np.isfinite(size):  # any vectors will do
        return Triplets(np.eye(p, count), np.full(count, size), np.eye(q, count), size)
    if not 1e-100 < size < 1e100:  # squares would underflow or overflow
        left, values, right, bound = leading_triplets(matrix / size, count, tolerance, start, proof)
        return Triplets(left, size * values, right, size * bound)
    exact = q <= SHORT or 3 * count >= q or (proof and q <= 2048 and float(p + q) * q * q <= WORK)
    right, reach = (_by_gram(matrix, count), 0.0) if exact else _by_krylov(matrix, count, tolerance, start)
    # An SVD of the product gives values accurate to the rounding of the data; the Gram matrix has squared it.
    left, values, turned = np.linalg.svd(np.asarray(matrix @ right), full_matrices=False)
    right = right @ turned.T
    slack = 8.0 * np.finfo(float).eps * q * values[0]
    return Triplets(left, values, right, max(float(values[0]), reach) + slack)


def widened(basis: np.ndarray, *blocks: np.ndarray) -> np.ndarray:
    """Return orthonormal columns: those of ``basis``, then those that the blocks add to their span.

    Examples
    --------
    >>> np.abs(widened(np.eye(3, 1), np.array([[2.0, 1.0], [0.0, 3.0], [0.0, 0.0]])))
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """
    for block in blocks:
        sizes = np.linalg.norm(block, axis=0)
        seen = sizes > ROUNDING * sizes.max(initial=0.0)
        rest = block[:, seen] / sizes[seen]
        for _ in range(2):  # "twice is enough": the first pass may leave a short vector with few correct digits
            rest = rest - basis @ (basis.T @ rest)
            sizes = np.linalg.norm(rest, axis=0)
            rest = rest[:, sizes > NEW_PART] / sizes[sizes > NEW_PART]
        left, sizes, _ = np.linalg.svd(rest, full_matrices=False) if rest.shape[1] else (rest, np.zeros(0), None)
        added = left[:, sizes > NEW_PART]
        basis = np.hstack([basis, added[:, : len(basis) - basis.shape[1]]])
    return basis


def _size(matrix: Any) -> float:
    """Return the largest absolute entry, NaN if any entry is NaN; 1 for a linear operator."""
    if isinstance(matrix, LinearOperator):
        return 1.0
    entries = matrix.data if sparse.issparse(matrix) else matrix
    return float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))


def _by_gram(matrix: Any, count: int) -> np.ndarray:
    """Return right singular vectors from the Gram matrix of the columns."""
    q = matrix.shape[1]
    if isinstance(matrix, LinearOperator):
        matrix = matrix @ np.eye(q)
    elif sparse.issparse(matrix) and matrix.nnz > 0.01 * matrix.shape[0] * q:
        matrix = matrix.toarray()  # faster, and a few times as large as the Gram matrix
    gram = matrix.T @ matrix
    gram = gram.toarray() if sparse.issparse(gram) else gram
    return leading_eigen(gram, count)[1]


def leading_eigen(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of a symmetric matrix, in decreasing order, and their vectors.

    Examples
    --------
    >>> leading_eigen(np.diag([1.0, 3.0, 2.0]), 2)[0]
    array([3., 2.])
    """
    side = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(side - count, side - 1))
    if len(values) < count:  # LAPACK's subset search may fail if all eigenvalues are equal
        values, vectors = (found[..., -count:] for found in np.linalg.eigh(matrix))
    return values[::-1], vectors[:, ::-1]


def _by_krylov(matrix: Any, count: int, tolerance: float, start: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Return right singular vectors and an estimate of an upper bound on all singular values.

    The vectors come from spaces ``span(B, A'A B, (A'A)^2 B, ...)`` with random vectors in ``B``.
    Musco and Musco (2015): the value found is within ``1 - e`` of the largest after about ``log(q) / sqrt(e)`` blocks,
    with high probability, however close the leading values are. A space of at most six blocks, or 256 columns, is
    restarted from its best vectors.
    """
    q = matrix.shape[1]
    begun = np.zeros((q, 0)) if start is None else np.reshape(start, (q, -1))
    chance = np.random.default_rng(0).normal(size=(q, max(count - begun.shape[1], 0) + GUARD))
    block = np.hstack([begun, chance])
    depth = max(2, min(6, 256 // block.shape[1]))
    found = np.zeros((q, 0))
    for _ in range(50):
        basis, known = widened(found, block), found.shape[1]
        images = np.asarray(matrix @ basis)
        for _ in range(depth - 1):
            wider = widened(basis, np.asarray(matrix.T @ images[:, known:]))
            known = basis.shape[1]
            if wider.shape[1] == known:
                break  # the space is invariant
            images = np.hstack([images, np.asarray(matrix @ wider[:, known:])])
            basis = wider
        kept = min(count + GUARD, basis.shape[1])
        turns = eigh(images.T @ images)[1][:, ::-1]
        found, ends = basis @ turns[:, :kept], images @ turns[:, :kept]
        values = np.linalg.norm(ends, axis=0)
        rests = np.asarray(matrix.T @ ends) - found * values**2  # the residuals times the values
        # Include the random vectors: a start that is a non-leading singular vector has no residual itself.
        residuals = np.linalg.norm(rests, axis=0) / np.maximum(values, 1e-300)
        reach = float(np.max(values + residuals))
        if reach <= values[0] * (1.0 + max(tolerance, 1e-13)):
            break
        block = rests
    return found[:, :count], reach
