"""Matrix completion: observed entries as rows of data, and low-rank matrices as factors. No full matrix is formed.

Row ``i`` of the data is the unit vector of observed entry ``i``. The gradient is then the sparse matrix with the values
``alpha_i`` at these entries, and is stored as the vector ``alpha``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import checked_sparse
from frankwolfe.arguments.types import Rows, Weights
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import accept, compress, row_sandwich


@kernel
def predict_entries(rows, columns, left, right, z):
    """Fill ``z`` with the entries of ``left right'`` at the given rows and columns."""
    for i in range(len(z)):
        row, column, total = left[rows[i]], right[columns[i]], 0.0
        for k in range(len(row)):
            total += row[k] * column[k]
        z[i] = total


@dataclass(frozen=True, eq=False)
class Factors:
    """The low-rank matrix ``left @ right.T``, stored as its factors.

    Attributes
    ----------
    left : array of shape (p, rank)
    right : array of shape (q, rank)

    Examples
    --------
    >>> W = Factors(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0], [5.0]]))
    >>> W.shape, W.rank, W.at([0, 1], [2, 0])
    ((2, 3), 1, array([5., 6.]))
    """

    left: np.ndarray
    right: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.left), len(self.right)

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.left) * len(self.right)

    @property
    def rank(self) -> int:
        """Number of columns of the factors."""
        return self.left.shape[1]

    @property
    def nbytes(self) -> int:
        """Memory of the factors."""
        return self.left.nbytes + self.right.nbytes

    def at(self, rows: Rows, columns: Any) -> np.ndarray:
        """Return the entries at these rows and columns."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        z = np.empty(len(rows))
        predict_entries(rows, columns, np.ascontiguousarray(self.left), np.ascontiguousarray(self.right), z)
        return z

    def dense(self) -> np.ndarray:
        """Return the whole matrix."""
        return self.left @ self.right.T

    def decomposed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the singular value decomposition: left vectors, non-zero values, right vectors."""
        if self.rank == 0:
            return self.left, np.zeros(0), self.right
        (one, triangle), (other, second) = np.linalg.qr(self.left), np.linalg.qr(self.right)
        left, sizes, right = np.linalg.svd(triangle @ second.T, full_matrices=False)
        kept = sizes > 1e-14 * max(sizes[0], 1e-300)
        return one @ left[:, kept], sizes[kept], other @ right.T[:, kept]

    @property
    def singular_values(self) -> np.ndarray:
        """Singular values, in decreasing order."""
        return self.decomposed()[1]


def named_weights(name: str, w: Weights) -> dict[str, np.ndarray]:
    """Return weights, an array or `Factors`, as a dictionary of arrays by name.

    Examples
    --------
    >>> sorted(named_weights("w", Factors(np.ones((2, 1)), np.ones((3, 1)))))
    ['w.left', 'w.right']
    """
    return {f"{name}.left": w.left, f"{name}.right": w.right} if isinstance(w, Factors) else {name: w}


def weights_named(name: str, arrays: Mapping[str, Any]) -> Any:
    """Return the weights that `named_weights` has stored under a name."""
    return arrays[name] if name in arrays else Factors(arrays[f"{name}.left"], arrays[f"{name}.right"])


class ObservedEntries(NamedTuple):
    """Positions of the observed entries, sorted by row and column.

    Attributes
    ----------
    rows, columns : arrays of int
        Row and column of each entry.
    starts : array of int
        Where the entries of each row of the matrix start.
    """

    rows: np.ndarray
    columns: np.ndarray
    starts: np.ndarray

    @property
    def is_sparse(self) -> bool:
        """Whether the layout stores the non-zero entries only."""
        return True

    @property
    def outputs(self) -> int:
        """Number of entries of a prediction; 0: it is a number."""
        return 0

    def row_add(self, i, c, r):
        """Add ``c`` to entry ``i`` of ``r``."""
        r[i] += c

    def row_sandwich(self, i, left, right):
        """Return entry ``i`` of ``left right'``."""
        return left[self.rows[i]] * right[self.columns[i]]

    def fetch_row(self, i):
        """Do nothing: an entry is only two numbers."""

    def matrix(self, values: np.ndarray, columns: int) -> sparse.csr_array:
        """Return the sparse matrix with these values at the entries."""
        return sparse.csr_array((values, self.columns, self.starts), shape=(len(self.starts) - 1, columns))

    def dot_all(self, w: Factors) -> np.ndarray:
        """Return the observed entries of a matrix."""
        return w.at(self.rows, self.columns)

    def add_all(self, alpha: np.ndarray, size: int) -> np.ndarray:
        """Return the gradient: ``alpha`` itself."""
        return alpha.copy()

    def stored(self) -> int:
        """Return the number of entries."""
        return len(self.rows)

    def cut(self, entries: int) -> list[slice]:
        """Return all entries as one block: the gradient is not a sum over blocks, but has a number for each entry."""
        return [slice(0, len(self.rows))]

    def block(self, part: slice) -> "ObservedEntries":
        """Return a slice of the entries."""
        starts = np.clip(self.starts, part.start, part.stop) - part.start
        return ObservedEntries(self.rows[part], self.columns[part], starts)

    def some_rows(self, chosen: np.ndarray) -> "ObservedEntries":
        """Return a copy of the entries with the ascending indices ``chosen``."""
        return ObservedEntries(self.rows[chosen], self.columns[chosen], np.searchsorted(chosen, self.starts))

    def sandwich(self, left: np.ndarray, right: np.ndarray) -> "FactoredEntries":
        """Return the entries restricted to matrices ``left S right'``."""
        return FactoredEntries(self, left, right)


class FactoredEntries(NamedTuple):
    """Observed entries, restricted to matrices ``left S right'``."""

    entries: ObservedEntries
    left: np.ndarray
    right: np.ndarray

    def predict(self, S: np.ndarray) -> np.ndarray:
        """Return the observed entries of ``left S right'``."""
        return Factors(self.left @ S, self.right).at(self.entries.rows, self.entries.columns)

    def pull(self, alpha: np.ndarray) -> np.ndarray:
        """Return the gradient in ``S``, given the derivatives ``alpha`` in the predictions."""
        return self.left.T @ (self.entries.matrix(alpha, len(self.right)) @ self.right)


class EntryAtom(NamedTuple):
    """The atom ``amount * left right'``, evaluated at the observed entries."""

    left: np.ndarray
    right: np.ndarray
    amount: float
    entries: ObservedEntries

    def prediction(self, rows, i):
        """Return entry ``i`` of the atom."""
        return self.amount * row_sandwich(rows, i, self.left, self.right)

    def inner(self, r):
        """Return the inner product of the atom with the sparse matrix ``r``."""
        total = 0.0
        for i in range(len(r)):
            total += r[i] * row_sandwich(self.entries, i, self.left, self.right)
        return self.amount * total

    def deposit(self, iterate, c):
        """Add ``c`` times the atom to the iterate."""
        accept(iterate, self.left, self.right, c * self.amount)


class Factored(NamedTuple):
    """The iterate ``scale[0] * left right'``, with the first ``number[0]`` columns of both factors in use."""

    left: np.ndarray
    right: np.ndarray
    number: np.ndarray
    scale: np.ndarray
    entries: ObservedEntries

    @classmethod
    def at(cls, w: Factors, entries: ObservedEntries) -> "Factored":
        """Return an iterate that starts at ``w``."""
        p, q = w.shape
        # at most 2^27 bytes, but 32 columns: when all are in use, the smallest singular values are dropped
        room = max(32, min(2 * min(p, q), 2**24 // (p + q)), 2 * w.rank)
        left, right = np.zeros((p, room)), np.zeros((q, room))
        left[:, : w.rank], right[:, : w.rank] = w.left, w.right
        return cls(left, right, np.array([w.rank]), np.ones(1), entries)

    def require_sound(self, iterate: Any) -> None:
        """Raise ValueError unless both factors have the same width and ``number`` is at most that width."""
        columns = self.left.shape[1]
        if self.right.shape[1] != columns or not 0 <= self.number[0] <= columns:
            raise ValueError("its factors have not as many columns as are in use")

    def prediction(self, rows, i):
        """Return entry ``i`` of the iterate."""
        left, right, total = self.left[rows.rows[i]], self.right[rows.columns[i]], 0.0
        for k in range(self.number[0]):
            total += left[k] * right[k]
        return self.scale[0] * total

    def inner(self, r):
        """Return the inner product of the iterate with the sparse matrix ``r``."""
        rows, columns, left, right, total = self.entries.rows, self.entries.columns, self.left, self.right, 0.0
        for i in range(len(r)):
            one, other, entry = left[rows[i]], right[columns[i]], 0.0
            for k in range(self.number[0]):
                entry += one[k] * other[k]
            total += r[i] * entry
        return self.scale[0] * total

    def shrink(self, c):
        """Multiply the iterate by ``c``; a factor of zero frees all columns."""
        scale = self.scale[0] * c
        if scale < 1e-100:
            if scale == 0.0:
                self.number[0] = 0
            self.left[:, : self.number[0]] *= scale
            scale = 1.0
        self.scale[0] = scale

    def accept(self, left, right, c):
        """Add ``c left right'`` as a new column of both factors."""
        if self.number[0] == self.left.shape[1]:
            compress(self)
        at, share = self.number[0], c / self.scale[0]
        self.left[:, at] = share * left
        self.right[:, at] = right
        self.number[0] = at + 1

    def compress(self):
        """Replace the iterate by a truncated SVD whose rank is at most half the number of columns."""
        left, right, m = self.left, self.right, self.number[0]
        one, triangle = np.linalg.qr(left[:, :m].copy())
        other, second = np.linalg.qr(right[:, :m].copy())
        turn, sizes, turned = np.linalg.svd(np.dot(np.ascontiguousarray(triangle), np.ascontiguousarray(second.T)))
        kept = 0
        while kept < min(len(sizes), left.shape[1] // 2) and sizes[kept] > 1e-14 * sizes[0]:
            kept += 1
        roots = np.sqrt(sizes[:kept])
        left[:, :kept] = np.dot(np.ascontiguousarray(one), np.ascontiguousarray(turn[:, :kept])) * roots
        right[:, :kept] = np.dot(np.ascontiguousarray(other), np.ascontiguousarray(turned[:kept].T)) * roots
        self.number[0] = kept

    def dense(self) -> Factors:
        """Return the iterate as new `Factors` from its singular value decomposition."""
        m = self.number[0]
        left, sizes, right = Factors(self.scale[0] * self.left[:, :m], self.right[:, :m]).decomposed()
        return Factors(left * sizes, right)


def as_triplets(rows: Rows, columns: Any, values: Any, shape: tuple[int, int] | None) -> tuple:
    """Return rows, columns, values and the shape, from triplets or from a sparse matrix."""
    if sparse.issparse(rows):
        if columns is not None or values is not None:
            raise TypeError("pass a sparse matrix alone, or rows, columns and values")
        matrix = checked_sparse("the matrix", rows).tocoo()
        if shape not in (None, matrix.shape):
            raise ValueError(f"shape is {shape}, but the matrix has shape {matrix.shape}")
        (rows, columns), values, shape = matrix.coords, matrix.data, matrix.shape
    elif columns is None or values is None:
        raise TypeError("pass rows, columns and values, or a sparse matrix")
    if np.size(values) == 0:
        raise ValueError("there are no entries")
    rows = as_places("rows", rows, shape and shape[0])
    columns = as_places("columns", columns, shape and shape[1])
    if not len(rows) == len(columns) == np.size(values):
        raise ValueError(
            f"{len(rows)} rows, {len(columns)} columns and {np.size(values)} values: there must be as many"
        )
    return rows, columns, values, shape or (int(rows.max()) + 1, int(columns.max()) + 1)


def as_places(name: str, index: Any, side: int | None) -> np.ndarray:
    """Return row or column numbers, checked against the side of the matrix."""
    try:
        array = np.asarray(index)
    except ValueError:
        raise TypeError(f"{name} must be a vector of ints: its entries differ in length") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"{name} must be a vector of ints, got {array.dtype} of shape {array.shape}")
    if array.size and (array.min() < 0 or (side is not None and array.max() >= side)):
        at = int(np.flatnonzero((array < 0) | (array >= (np.inf if side is None else side)))[0])
        limit = "" if side is None else f", but the matrix has {side}"
        raise ValueError(f"{name} must be numbers from 0{limit}; entry {at} is {array[at]}")
    return array


def in_order(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> tuple[ObservedEntries, np.ndarray]:
    """Return the entries sorted by row and column, in the narrowest sufficient int type, and the permutation."""
    kind = np.int32 if max(*shape, len(rows)) < 2**31 else np.int64
    rows, columns = rows.astype(kind, copy=False), columns.astype(kind, copy=False)
    order = np.lexsort((columns, rows)).astype(kind)
    counts = np.bincount(rows, minlength=shape[0])
    entries = ObservedEntries(rows[order], columns[order], np.concatenate([[0], np.cumsum(counts)]).astype(kind))
    _refuse_repeats(entries)
    return entries, order


def _refuse_repeats(entries: ObservedEntries) -> None:
    """Raise ValueError if an entry is given twice."""
    same = (np.diff(entries.rows) == 0) & (np.diff(entries.columns) == 0)
    if same.any():
        at, many = int(np.flatnonzero(same)[0]), int(same.sum())
        raise ValueError(
            f"{many} {'entry is' if many == 1 else 'entries are'} given more than once, the first at row "
            f"{entries.rows[at]}, column {entries.columns[at]}: average them first, or keep the latest"
        )
