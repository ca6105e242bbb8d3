"""Data in the format of SVMlight and LIBSVM: ``target index:value index:value ...``, a line for each row.

scikit-learn's loader reads it, at the speed of compiled code. It does not say where it failed: if it does,
the lines are gone through once more, slowly, for the first bad one.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from frankwolfe.files.streams import opened


def read_svmlight(path: Path, first: int | None = None) -> tuple[Any, np.ndarray, int]:
    """Read rows and targets.

    Parameters
    ----------
    path : Path
        The file, perhaps compressed.
    first : int, optional
        Index of the first column, 0 or 1. By default 0 if that index occurs, else 1.

    Returns
    -------
    X : CSR array
        As many columns as the largest index asks for.
    y : array
        The targets.
    first : int
        Index of the first column.
    """
    try:
        from sklearn.datasets import load_svmlight_file
    except ImportError:
        raise ImportError("svmlight files need scikit-learn: pip install 'frankwolfe[cli]'") from None
    with opened(path) as stream:
        try:
            X, y = load_svmlight_file(stream, zero_based=True)
        except ValueError as error:
            raise ValueError(_first_mistake(path) or f"{path}: {error}") from None
    if X.shape[0] == 0:
        raise ValueError(f"{path} holds no rows")
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError(_first_mistake(path) or f"{path} holds NaN or infinity")
    return _based(path, X, first, y)


def _based(path: Path, X: Any, first: int | None, y: np.ndarray) -> tuple[Any, np.ndarray, int]:
    """Return the rows with the first column's index taken off all indices."""
    from scipy import sparse

    lowest = int(X.indices.min()) if X.nnz else 1
    first = min(lowest, 1) if first is None else first
    if lowest < first:
        raise ValueError(f"{path} has a column 0, but columns were counted from {first} when the model was fitted")
    shape = (X.shape[0], max(1, X.shape[1] - first))
    return sparse.csr_array((X.data, X.indices - first, X.indptr), shape=shape), y, first


def _first_mistake(path: Path) -> str | None:
    """Say which line is the first that cannot be read, and why."""
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            tokens = line.split(b"#")[0].split()
            mistake = _mistake(tokens) if tokens else None
            if mistake:
                return f"{path}, line {number}: {mistake}"
    return None


def _mistake(tokens: list[bytes]) -> str | None:
    """Say what is wrong with a line."""
    target, *pairs = [token.decode("utf-8", "replace") for token in tokens]
    if not _is_number(target):
        return f"the target {target!r} is not a finite number"
    before = -1
    for pair in pairs:
        index, colon, value = pair.partition(":")
        if index == "qid":
            continue
        if not (colon and index.isdecimal()):
            return f"{pair!r} is not of the form index:value"
        if not _is_number(value):
            return f"the value in {pair!r} is not a finite number"
        if int(index) <= before:
            return f"index {index} comes after {before}: indices must increase"
        before = int(index)
    return None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
