"""Blocks of rows from matrices, frames and iterators: what a store is written from."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.sparse_indices import checked_sparse
from frankwolfe.io.store.block_arrays import as_array
from frankwolfe.io.store.row_writer import RowBlock

ROWS = 2**16
"""Rows that are taken from a matrix at a time, at most; fewer where they are long."""

ENTRIES = 2**22
"""Entries of a dense matrix that are taken at a time, about."""


def is_stream(source: Any) -> bool:
    """Whether a source yields blocks, rather than being one: an iterator, or a list of matrices or tuples of them."""
    if isinstance(source, list | tuple):
        first = source[0] if source else None
        return _is_matrix(first) or (isinstance(first, tuple) and len(first) > 0 and _is_matrix(first[0]))
    return hasattr(source, "__next__")


def _is_matrix(X: Any) -> bool:
    return sparse.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2) or hasattr(X, "columns")


def from_stream(source: Any) -> Iterator[RowBlock]:
    """Yield the blocks of an iterator: ``X``, ``(X, y)`` or ``(X, y, sample_weight)`` each."""
    for number, block in enumerate(source):
        if isinstance(block, tuple):
            if not 1 <= len(block) <= 3:
                raise ValueError(
                    f"block {number} is a tuple of {len(block)}: expected X, (X, y) or (X, y, sample_weight)"
                )
            yield RowBlock(*block)
        else:
            yield RowBlock(block)


def from_matrix(X: Any, y: Any = None, weights: Any = None) -> Iterator[RowBlock]:
    """Yield the rows of a matrix or a frame, some at a time."""
    if sparse.issparse(X):
        X = sparse.csr_array(checked_sparse("X", X))
    elif isinstance(X, list | tuple):
        X = np.array(X, dtype=np.float64) if len({np.shape(row) for row in X}) == 1 else np.array(X)
    if np.ndim(X) != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got shape {np.shape(X)}")
    y, weights = (None if values is None else as_array(values) for values in (y, weights))
    n, d = X.shape
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and len(values) != n:
            raise ValueError(f"{name} has {len(values)} entries, but there are {n} rows in X")
    step = ROWS if sparse.issparse(X) else max(1, min(ROWS, ENTRIES // max(d, 1)))
    for first in range(0, n, step):
        part = slice(first, first + step)
        yield RowBlock(X[part], None if y is None else y[part], None if weights is None else weights[part])


def peeked(source: Any) -> tuple[RowBlock, Iterator[RowBlock]]:
    """Return the first block of an iterator, and an iterator over all of them."""
    blocks = from_stream(source)
    first = next(blocks, None)
    if first is None:
        raise ValueError("there are no rows to write: the iterator yields no block")
    return first, chain([first], blocks)
