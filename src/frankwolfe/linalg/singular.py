"""Leading singular triplets of a matrix: by its Gram matrix where one side is short, else by block Krylov spaces."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

SHORT = 128
"""Longest side for which the Gram matrix is always formed."""

EXACT = 2048
"""Longest side for which the Gram matrix is formed where a proof is asked for ..."""

WORK = 2e10
"""... unless that takes more multiplications than this: some seconds."""

GUARD = 2
"""Random vectors in a block beside those that are asked for."""

DEPTH = 6
"""Most blocks in a Krylov space; after that it is started anew from the best vectors in it."""

WIDEST = 256
"""Most columns of a Krylov space, unless two blocks have more: it is as long as the sides of the matrix."""

STARTS = 50
"""Most Krylov spaces."""

DIGITS = 1e-13
"""Residuals below this part of the largest value are rounding."""

NEW_PART = 1e-7
"""Part of a vector that must lie outside a subspace for the vector to widen it."""

ROUNDING = 1e-12
"""A vector shorter than this part of the longest beside it is rounding, and points anywhere."""

ORDINARY = 1e-100, 1e100
"""Sizes of entries whose squares are safe."""


class Triplets(NamedTuple):
    """The largest singular values, in falling order, with their vectors.

    Attributes
    ----------
    left : array of shape (p, count)
    values : array of shape (count,)
    right : array of shape (q, count)
    bound : float
        No singular value is larger. From the Gram matrix that is so up to rounding, for which there is an allowance.
        From a Krylov space it is the largest sum of a value found and its residual, over those asked for and a few that
        come from random vectors: each has a singular value that close to it, and that none is larger is very likely but
        not proven.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    bound: float


def rank_of(values: np.ndarray) -> int:
    """Return how many singular values are more than 1e-8 of the largest."""
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
        By how much the bound may exceed the largest value, relative to it; 0 asks for all digits. The Gram matrix gives
        them anyway.
    start : array, optional
        Where to look first: a vector as long as the shorter side, or several as columns.
    proof : bool
        Whether the bound should be one for certain: where the shorter side is at most `EXACT` and the work at most
        `WORK`, it is.

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
    if size == 0.0 or not np.isfinite(size):  # nothing there, or nothing to be found: any vectors will do
        return Triplets(np.eye(p, count), np.full(count, size), np.eye(q, count), size)
    if not ORDINARY[0] < size < ORDINARY[1]:
        left, values, right, bound = leading_triplets(matrix / size, count, tolerance, start, proof)
        return Triplets(left, size * values, right, size * bound)
    exact = q <= SHORT or 3 * count >= q or (proof and q <= EXACT and float(p + q) * q * q <= WORK)
    right, reach = (_by_gram(matrix, count), 0.0) if exact else _by_krylov(matrix, count, tolerance, start)
    # the other side, and with it the values, to the accuracy of the data rather than of its square
    left, values, turned = np.linalg.svd(np.asarray(matrix @ right), full_matrices=False)
    right = right @ turned.T
    slack = 8.0 * np.finfo(float).eps * q * values[0]
    return Triplets(left, values, right, max(float(values[0]), reach) + slack)


def widened(basis: np.ndarray, *blocks: np.ndarray) -> np.ndarray:
    """Return orthonormal columns: those of ``basis`` first, then what the blocks add to them.

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
        for _ in range(2):  # once more: after the first time little may be left of a vector, and that little is rough
            rest = rest - basis @ (basis.T @ rest)
            sizes = np.linalg.norm(rest, axis=0)
            rest = rest[:, sizes > NEW_PART] / sizes[sizes > NEW_PART]
        left, sizes, _ = np.linalg.svd(rest, full_matrices=False) if rest.shape[1] else (rest, np.zeros(0), None)
        added = left[:, sizes > NEW_PART]
        basis = np.hstack([basis, added[:, : len(basis) - basis.shape[1]]])
    return basis


def _size(matrix: Any) -> float:
    """Return the largest entry in absolute value, NaN if one is; 1 if they cannot be seen."""
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
        matrix = matrix.toarray()  # as large as the shorter side's Gram matrix would be a few times over, and faster
    gram = matrix.T @ matrix
    gram = gram.toarray() if sparse.issparse(gram) else gram
    return leading_eigen(gram, count)[1]


def leading_eigen(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of a symmetric matrix, in falling order, and their vectors.

    Examples
    --------
    >>> leading_eigen(np.diag([1.0, 3.0, 2.0]), 2)[0]
    array([3., 2.])
    """
    side = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(side - count, side - 1))
    if len(values) < count:  # LAPACK's search for some of the values may find none where all are equal
        values, vectors = (found[..., -count:] for found in np.linalg.eigh(matrix))
    return values[::-1], vectors[:, ::-1]


def _by_krylov(matrix: Any, count: int, tolerance: float, start: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Return right singular vectors, and how far singular values may reach.

    They come from spaces ``span(B, A'A B, (A'A)^2 B, ...)`` with random vectors in ``B``.
    Musco and Musco (2015): the value found is within ``1 - e`` of the largest after about ``log(q) / sqrt(e)`` blocks,
    with high probability and however close to each other the leading values are.
    """
    q = matrix.shape[1]
    begun = np.zeros((q, 0)) if start is None else np.reshape(start, (q, -1))
    chance = np.random.default_rng(0).normal(size=(q, max(count - begun.shape[1], 0) + GUARD))
    block = np.hstack([begun, chance])
    depth = max(2, min(DEPTH, WIDEST // block.shape[1]))
    found = np.zeros((q, 0))
    for _ in range(STARTS):
        basis, known = widened(found, block), found.shape[1]
        images = np.asarray(matrix @ basis)
        for _ in range(depth - 1):
            wider = widened(basis, np.asarray(matrix.T @ images[:, known:]))
            known = basis.shape[1]
            if wider.shape[1] == known:
                break  # the space is closed: everything in reach has been found
            images = np.hstack([images, np.asarray(matrix @ wider[:, known:])])
            basis = wider
        kept = min(count + GUARD, basis.shape[1])
        turns = eigh(images.T @ images)[1][:, ::-1]
        found, ends = basis @ turns[:, :kept], images @ turns[:, :kept]
        values = np.linalg.norm(ends, axis=0)
        rests = np.asarray(matrix.T @ ends) - found * values**2  # the residuals, times the values
        # all of them, the random ones too: a start that is a singular vector, but not the first, has no residual
        residuals = np.linalg.norm(rests, axis=0) / np.maximum(values, 1e-300)
        reach = float(np.max(values + residuals))
        if reach <= values[0] * (1.0 + max(tolerance, DIGITS)):
            break
        block = rests
    return found[:, :count], reach
