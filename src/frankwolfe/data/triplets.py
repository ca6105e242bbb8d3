"""Entries of a matrix as users hand them in: checked, and put in order."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.sparse_indices import checked_sparse
from frankwolfe.data.observed_entries import ObservedEntries


def as_triplets(rows: Any, columns: Any, values: Any, shape: tuple[int, int] | None) -> tuple:
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
    """Return the entries in order of row and column, in numbers as narrow as will do, and that order."""
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
