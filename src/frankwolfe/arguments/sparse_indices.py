"""Sparse matrices whose index arrays hold what their shape says."""

from typing import Any

import numpy as np
from scipy import sparse


def checked_sparse(name: str, X: Any) -> Any:
    """Return a sparse matrix whose index arrays hold what its shape says; anything that is not sparse as it is.

    SciPy takes index arrays as they come, and neither its own products nor compiled kernels look again: a column
    number out of range would read, or write, memory that is not the matrix's.

    Examples
    --------
    >>> matrix = sparse.csr_array(([1.0, 2.0], [0, 7], [0, 1, 2]), shape=(2, 3))
    >>> checked_sparse("X", matrix)
    Traceback (most recent call last):
    ...
    ValueError: X: row 1 has column index 7, but there are 3 columns, counted from 0
    """
    if not sparse.issparse(X) or X.ndim != 2:
        return X
    if X.format == "coo":
        for line, size, index in zip(("row", "column"), X.shape, X.coords, strict=True):
            at = _first_outside(index, size)
            if at is not None:
                raise ValueError(f"{name}: entry {at} has {line} index {index[at]}, but there are {size} {line}s")
    elif X.format in ("csr", "csc", "bsr"):
        _check_compressed(name, X)
    else:
        checked_sparse(name, X.tocsr())  # of lists, a dictionary or diagonals: nothing there is followed blindly
    return X


def _check_compressed(name: str, X: Any) -> None:
    """Raise ValueError unless the pointers and indices of a compressed matrix are sound."""
    by_column = X.format == "csc"
    line, across = ("column", "row") if by_column else ("row", "column")
    lines, size = X.shape[::-1] if by_column else X.shape
    if X.format == "bsr":
        line, across = "block row", "block column"
        lines, size = lines // X.blocksize[0], size // X.blocksize[1]
    pointers, indices, stored = X.indptr, X.indices, len(X.data)
    if len(pointers) != lines + 1 or pointers[0] != 0:
        raise ValueError(f"{name}: indptr must start with 0 and have {lines + 1} entries, one more than {line}s")
    falls = np.flatnonzero(np.diff(pointers) < 0)
    if falls.size:
        at = int(falls[0])
        raise ValueError(
            f"{name}: indptr must not decrease, but {line} {at} starts at {pointers[at]} and ends at {pointers[at + 1]}"
        )
    if pointers[-1] > min(len(indices), stored):
        raise ValueError(
            f"{name}: indptr ends at {pointers[-1]}, but there are {len(indices)} indices and {stored} values"
        )
    wrong = _first_outside(indices[: pointers[-1]], size)
    if wrong is not None:
        at = int(np.searchsorted(pointers, wrong, side="right")) - 1
        raise ValueError(
            f"{name}: {line} {at} has {across} index {indices[wrong]}, but there are {size} {across}s, counted from 0"
        )


def _first_outside(index: np.ndarray, size: int) -> int | None:
    """Return where the first index that is negative, or not less than ``size``, stands; None if all are within."""
    if index.size == 0:
        return None
    unsigned = index.view(f"u{index.dtype.itemsize}") if index.dtype.kind == "i" else index  # negative: huge
    return None if unsigned.max() < size else int(np.argmax(unsigned >= size))
