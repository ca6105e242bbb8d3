"""Norms of data matrices, sums over long vectors, weighted Gram matrices, and the elimination of an intercept."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import Matrix
from frankwolfe.linalg.threads import ROOM, scratch

PAIR_BUDGET = 2e9
"""Maximum number of multiplications for comparing all pairs of columns. Beyond it, a bound is returned."""


def _dense_vector(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64).ravel()


def _norms(X: Matrix, p: float, axis: int) -> np.ndarray:
    size = abs(X)
    if p == 1:
        return _dense_vector(size.sum(axis=axis, dtype=np.float64))
    if p == 2:
        size = size.astype(np.float64)  # squares of float32 numbers underflow or overflow too soon
        squares = size.multiply(size) if sparse.issparse(X) else size * size
        return np.sqrt(_dense_vector(squares.sum(axis=axis, dtype=np.float64)))
    return _dense_vector(size.max(axis=axis))


def column_norms(X: Matrix, p: float) -> np.ndarray:
    """Return the l_p norm of every column, for p = 1, 2 or inf.

    Examples
    --------
    >>> column_norms(np.array([[3.0, 0.0], [4.0, -1.0]]), 2)
    array([5., 1.])
    """
    return _norms(X, p, axis=0)


def row_norms(X: Matrix, p: float) -> np.ndarray:
    """Return the l_p norm of every row, for p = 1, 2 or inf."""
    return _norms(X, p, axis=1)


def weighted_row_sums(X: Matrix, width: np.ndarray) -> np.ndarray:
    """Return ``sum_j |X_ij| width_j`` for every row ``i``."""
    return _dense_vector(abs(X) @ width)


def row_ranges(X: Matrix, with_zero: bool = False) -> np.ndarray:
    """Return the largest minus the smallest entry of every row; ``with_zero`` adds an entry of zero to each row."""
    high, low = _dense_vector(X.max(axis=1)), _dense_vector(X.min(axis=1))
    if with_zero:
        high, low = np.maximum(high, 0.0), np.minimum(low, 0.0)
    return high - low


def spectral_norm(X: Matrix) -> float:
    """Return the largest singular value."""
    if not (X.count_nonzero() if sparse.issparse(X) else X.any()):
        return 0.0
    if min(X.shape) <= 2 or (not sparse.issparse(X) and max(X.shape) <= 512):
        dense = X.toarray() if sparse.issparse(X) else X
        return float(np.linalg.norm(dense, 2))
    from scipy.sparse.linalg import svds  # slow to import

    start = np.random.default_rng(0).normal(size=min(X.shape))  # fixed: the same matrix gives the same digits
    return float(svds(X.astype(np.float64), k=1, v0=start, return_singular_vectors=False)[0])


def farthest_columns(X: Matrix, p: float) -> tuple[float, bool]:
    """Return the largest l_p distance of two columns (p = 1 or 2), and whether it is exact.

    With too many pairs to compare, it is an upper bound: the sum of the two largest norms.
    """
    n, d = X.shape
    if d == 1:
        return 0.0, True
    if n * d * d <= PAIR_BUDGET:
        from scipy.spatial.distance import pdist  # slow to import

        transposed = (X.toarray() if sparse.issparse(X) else X).T
        return float(pdist(transposed, "cityblock" if p == 1 else "euclidean").max()), True
    return float(np.sort(column_norms(X, p))[-2:].sum()), False


PIECE = 2**13
"""Entries summed at a time, so that temporaries stay in cache."""


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


def weighted_gram(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``rows' diag(weights) rows``.

    The product of a matrix with its own transpose takes half the work of a general product. Rows are therefore
    multiplied by the square roots of their weights, if no weight is negative, a block of rows at a time.

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


# --- the intercept eliminated from second derivatives: a Schur complement ----------------------------------------
#
# A quadratic model of the objective in the weights w and the intercept b has the second derivative H_i of each weighted
# loss: a number, or a matrix with several outputs. If the predictions change by v, the best change of the intercept is
#
#     c(v) = -(sum_i H_i)^+ sum_i H_i v_i
#
# which leaves a model in the predictions alone, with the second derivative v -> H_i (v_i + c(v)). A Newton step on it
# moves weights and intercept together, whatever the means of the columns.


def products_without_rounding(rows: Any, columns: np.ndarray) -> np.ndarray:
    """Return ``rows @ columns`` as a dense array, with zeros where all terms cancel up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> products_without_rounding(np.array([[0.1, 0.2, -0.3], [0.1, 0.2, 0.0]]), np.ones((3, 1))).round(6)
    array([[0. ],
           [0.3]])
    """
    found = np.asarray(rows @ columns)
    return np.where(np.abs(found) <= 1e-13 * (abs(rows) @ np.abs(columns)), 0.0, found)


FLAT = 1e-13
"""Eigenvalues below this fraction of the largest are zero: a multinomial loss ignores a shift of all outputs."""


def pseudo_inverse(total: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse of a symmetric positive semidefinite matrix.

    Examples
    --------
    >>> pseudo_inverse(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    if not np.isfinite(total).all():
        return np.zeros_like(total)  # the curvatures have overflowed
    sizes, axes = np.linalg.eigh(total)
    kept = sizes > max(FLAT * sizes[-1], 1e-300)
    return (axes[:, kept] / sizes[kept]) @ axes[:, kept].T


def eliminated(H: np.ndarray, cross: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the Hessian in the weights after eliminating the intercept: ``H - cross' total^+ cross``.

    The difference loses digits if the means of columns are large. If rows are available, form ``H`` from centred
    columns instead (see `frankwolfe.rows.dense.Centred`).

    Parameters
    ----------
    H : array of shape (m, m)
        Second derivative in the weights.
    cross : array of shape (outputs, m)
        Second derivative in intercept and weights: ``sum_i H_i A_i``, ``A_i`` the row (or rows) of sample ``i``.
    total : array of shape (outputs, outputs)
        Second derivative in the intercept: ``sum_i H_i``.

    Examples
    --------
    >>> A = np.array([[1.0], [3.0]])  # two samples, one column, unit curvatures: the column less its mean is -1, 1
    >>> eliminated(A.T @ A, A.sum(axis=0)[None, :], np.array([[2.0]]))
    array([[2.]])
    """
    return H - cross.T @ pseudo_inverse(total) @ cross


def evenly_spread(n: int, most: int) -> np.ndarray:
    """Return the indices of at most ``most`` of ``n`` rows, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
