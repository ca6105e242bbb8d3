"""Checks of the arrays that a user passes: every message says what was wrong, what was expected, and what to do.

Nothing is changed silently: integers and half precision become float64, other sparse formats become CSR, other memory
orders become C order; input whose conversion would lose digits or rows is rejected.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import Loss, RowNumbers, TableLike, TargetValues

FLOATS = (np.float64, np.float32)


def as_matrix(X: TableLike) -> Any:
    """Return ``X`` as a C-ordered array or a CSR array of float64 or float32, finite, not empty."""
    matrix = _as_csr(X) if sparse.issparse(X) else as_dense(X)
    n, d = matrix.shape
    if n == 0 or d == 0:
        raise ValueError(f"X is empty: it has {n} rows and {d} columns")
    values = matrix.data if sparse.issparse(matrix) else matrix
    if not all_finite(values):
        bad = int(np.count_nonzero(~np.isfinite(values)))
        raise ValueError(f"X holds {bad} NaN or infinite value{'s' * (bad > 1)}: drop or impute them first")
    return matrix


def all_finite(values: Any) -> bool:
    """Whether no float is NaN or infinite.

    A finite sum proves it without extra memory, in a third of the time. Only where it overflows is each entry checked.

    Examples
    --------
    >>> all_finite(np.array([1e308, 1e308])), all_finite(np.array([np.inf, -np.inf]))
    (True, False)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def as_dense(X: TableLike, objects: bool = False) -> np.ndarray:
    """Return an array, a nested list or a data frame as a C-ordered float array.

    With ``objects`` it may be an array of Python numbers, and of None, which becomes NaN.
    """
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array: fill it first, e.g. X.filled(0.0)")
    try:
        array = np.asarray(numeric_frame(X))
    except ValueError as error:
        raise ValueError("X must be a rectangle of numbers: its rows differ in length") from error
    if array.ndim != 2:
        hint = ": reshape a single feature with X.reshape(-1, 1)" if array.ndim == 1 else ""
        raise ValueError(f"X must have two dimensions (rows, columns), got shape {array.shape}{hint}")
    if objects and array.dtype == object and not any(isinstance(value, str | bytes) for value in array.flat):
        with suppress(TypeError, ValueError):  # an error is raised below
            array = array.astype(np.float64)
    return np.ascontiguousarray(array, dtype=_float_type("X", array.dtype))


def numeric_frame(X: TableLike) -> Any:
    """Return a pandas or polars frame as an array, naming the columns that are not numbers; others as they are."""
    if not hasattr(X, "to_numpy"):
        return X
    dtypes = getattr(X, "dtypes", None)
    names = list(getattr(X, "columns", []))
    if dtypes is not None and names:
        words = [
            str(name)
            for name, dtype in zip(names, list(dtypes), strict=True)
            if not re.match(r"(u?int\d|float|bool|sparse)", str(dtype).lower())
        ]
        if words:
            raise TypeError(f"X: column{'s' * (len(words) > 1)} {', '.join(words[:5])} not numeric: encode them first")
    array = X.to_numpy()
    if array.dtype == object:  # nullable columns of pandas: what is missing becomes NaN, and is refused as such
        array = X.to_numpy(dtype=np.float64, na_value=np.nan)
    return array


def column_names(X: TableLike) -> list[str] | None:
    """Return the names of a data frame's columns; None where there are none, or numbers in their place."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def refuse_dates(X: TableLike) -> None:
    """Raise TypeError if a pandas frame holds dates or spans of time."""
    kinds = X.dtypes.items() if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2 else ()
    dates = [str(name) for name, kind in kinds if getattr(kind, "kind", "") in ("m", "M")]
    if dates:
        raise TypeError(f"X: column{'s' * (len(dates) > 1)} {', '.join(dates[:5])} not numeric: encode dates first")


def _as_csr(X: TableLike) -> sparse.csr_array:
    """Return any SciPy sparse matrix as CSR with sorted columns and no repeats; the caller's is left alone."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got shape {X.shape}")
    csr = _in_order(X) if X.format == "csr" else None
    if csr is None:
        csr = sparse.csr_array(checked_sparse("X", X))
    kind = _float_type("X", csr.dtype)
    if csr.dtype != kind:
        csr = csr.astype(kind)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _float_type(name: str, dtype: np.dtype) -> type:
    """Return the float type to work in for data of this type, or refuse it."""
    if dtype.type in FLOATS:
        return dtype.type  # in the machine's own byte order
    if dtype.kind in "iub" or dtype == np.float16:
        return np.float64
    if dtype.kind == "c":
        raise TypeError(f"{name} is complex: split it into real and imaginary columns")
    raise TypeError(f"{name} must hold numbers, got dtype {dtype}")


def as_vector(name: str, values: Any, size: int, what: str) -> np.ndarray:
    """Return ``values`` as a finite float64 vector with one entry for each of ``size`` things called ``what``."""
    array = _plain_vector(name, values)
    _float_type(name, array.dtype)
    if array.size != size:
        raise ValueError(f"{name} has {array.size} entries, but there are {size} {what}")
    array = array.astype(np.float64)
    if not all_finite(array):
        at = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name} holds NaN or infinity (first at entry {at})")
    return array


def _plain_vector(name: str, values: Any) -> np.ndarray:
    """Return a list, an array or a column of a frame as a vector; objects that are all numbers become numbers."""
    if sparse.issparse(values):
        raise TypeError(f"{name} must be a dense vector, got a sparse matrix: use {name}.toarray().ravel()")
    if np.ma.isMaskedArray(values):
        raise TypeError(f"{name} is a masked array: fill it first")
    try:
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    except ValueError as error:
        raise ValueError(f"{name} must be a vector: its entries differ in length") from error
    if array.ndim != 1:
        hint = f": flatten it with {name}.ravel()" if array.ndim == 2 and 1 in array.shape else ""
        raise ValueError(f"{name} must be a vector, got shape {array.shape}{hint}")
    words = [entry for entry in array if isinstance(entry, str | bytes)] if array.dtype.kind in "OUS" else []
    if words:
        raise TypeError(f"{name} must hold numbers, got strings such as {str(words[0])!r}")
    if array.dtype == object:
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must hold numbers, got objects such as {array[0]!r}") from None
    return array


def as_offset(offset: Any, exposure: Any, loss: Loss, n: int) -> np.ndarray | None:
    """Return ``offset + log(exposure)`` as a checked vector; None if neither is given.

    An exposure is only for losses with a log link: the mean is then ``exposure * exp(prediction)``.
    """
    found = None if offset is None else as_vector("offset", offset, n, "rows in X")
    if exposure is None:
        return found
    check_exposure(loss)
    exposure = as_vector("exposure", exposure, n, "rows in X")
    if (exposure <= 0.0).any():
        at = int(np.argmax(exposure <= 0.0))
        raise ValueError(f"exposure must be positive, got {exposure[at]:g} at entry {at}: leave such rows out")
    return np.log(exposure) if found is None else found + np.log(exposure)


def check_exposure(loss: Loss) -> None:
    """Raise ValueError if a loss has no log link, which an exposure needs."""
    if not loss.log_link:
        raise ValueError(
            "exposure goes with the losses 'poisson', 'gamma' and 'tweedie', whose predictions are logarithms, not "
            f"with {type(loss).__name__}: pass offset, which is added to predictions"
        )


TARGETS = {
    "labels": "the labels -1 and +1, e.g. np.where(y == 'yes', 1, -1)",
    "classes": "class numbers 0, 1, ..., e.g. from np.unique(y, return_inverse=True)",
}
"""What losses for classification take, and how to get it from words."""


RANGES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "nonnegative": ("numbers of zero or more", lambda y: y < 0.0),
    "positive": ("positive numbers", lambda y: y <= 0.0),
    "classes": ("class numbers 0, 1, ...", lambda y: (y < 0.0) | (y != np.floor(y)) | (y >= 2.0**31)),
}
"""Kinds of targets: what they are, and which numbers are refused."""


def as_targets(y: TargetValues, n: int, loss: Loss) -> np.ndarray:
    """Return the targets as floats, checked against what the loss takes; with offsets as complex numbers."""
    if loss.with_offset:  # complex numbers: targets and offsets
        offset = np.imag(y)
        return as_targets(np.real(y), n, loss.base) + 1j * as_vector("offset", offset, n, "rows in X")
    kind, name = loss.targets, type(loss).__name__
    if kind == "rows":
        return _as_target_rows(y, n, name)
    try:
        targets = as_vector("y", y, n, "rows in X")
    except TypeError as error:
        if kind not in TARGETS:
            raise
        raise TypeError(f"{error}; {name} takes {TARGETS[kind]}") from None
    if kind == "labels" and not (np.abs(targets) == 1.0).all():
        labels = np.unique(targets)
        shown = ", ".join(f"{label:g}" for label in labels[:5]) + (", ..." if labels.size > 5 else "")
        hint = ": turn 0/1 into labels with 2 * y - 1" if set(labels) <= {0.0, 1.0} else ""
        raise ValueError(f"y must hold the labels -1 and +1 for {name}, got {shown}{hint}")
    if kind in RANGES:
        what, refused = RANGES[kind]
        bad = np.flatnonzero(refused(targets))
        if bad.size:
            raise ValueError(f"y must hold {what} for {name}, got {targets[bad[0]]:g} at entry {bad[0]}")
    return targets


def _as_target_rows(y: TargetValues, n: int, name: str) -> np.ndarray:
    """Return a matrix of targets, a row for each sample."""
    if sparse.issparse(y):
        raise TypeError(f"y must be a dense matrix for {name}: use y.toarray()")
    array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if array.ndim != 2 or array.shape[1] == 0:
        hint = ": for one output use Squared" if array.ndim == 1 else ""
        raise ValueError(f"y must be a matrix with one column for each output of {name}, got shape {array.shape}{hint}")
    _float_type("y", array.dtype)
    if len(array) != n:
        raise ValueError(f"y has {len(array)} rows, but there are {n} rows in X")
    if not np.isfinite(array).all():
        raise ValueError(f"y holds NaN or infinity (first in row {int(np.argwhere(~np.isfinite(array))[0, 0])})")
    return np.ascontiguousarray(array, dtype=np.float64)


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, or what pandas has instead."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def check_labels(name: str, labels: Any) -> None:
    """Raise an error that says what to do unless labels of classes are all there, and can be sorted.

    Examples
    --------
    >>> check_labels("y", ["a", None])
    Traceback (most recent call last):
    ...
    ValueError: y has no label in 1 of 2 rows (the first is row 1): remove those rows, or name their class
    """
    # a list of strings and NaN would become an array of strings, one of them "nan"
    array = np.array(labels, dtype=object) if isinstance(labels, list | tuple) else np.asarray(labels)
    if array.dtype != object or array.ndim != 1:
        return
    missing = [row for row, label in enumerate(array.flat) if is_missing(label)]
    if missing:
        raise ValueError(
            f"{name} has no label in {len(missing):,} of {array.size:,} rows (the first is row {missing[0]}): remove "
            "those rows, or name their class"
        )
    try:
        np.unique(array)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in array.flat})
        raise TypeError(
            f"{name} holds labels of the types {', '.join(kinds)}, which cannot be sorted: make all of them strings, "
            "for instance by [str(label) for label in y]"
        ) from None


def as_raw_weights(sample_weight: RowNumbers, n: int) -> np.ndarray:
    """Return weights as they are given, checked: ones when none are."""
    if sample_weight is None:
        return np.ones(n)
    weights = as_vector("sample_weight", sample_weight, n, "rows in X")
    if (weights < 0.0).any():
        raise ValueError(f"sample_weight must not be negative, got {weights.min():g}")
    return weights


def as_weights(sample_weight: RowNumbers, n: int) -> np.ndarray:
    """Return weights that sum to one: equal ones when none are given."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    weights = as_raw_weights(sample_weight, n)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if np.isinf(total):  # only proportions matter
        weights = weights / weights.max()
        total = weights.sum()
    if not total > 0.0:
        raise ValueError("sample_weight must have a positive sum, and all weights are zero")
    return weights / total


def checked_sparse(name: str, X: TableLike) -> Any:
    """Return a sparse matrix whose index arrays fit its shape; anything that is not sparse as it is.

    SciPy takes index arrays as they come, and neither its own products nor compiled kernels check them again: a column
    number out of range would read, or write, memory that is not the matrix's.
    """
    if not sparse.issparse(X) or X.ndim != 2:
        return X
    try:
        if X.format == "coo":
            sparse.coo_array((X.data, X.coords), shape=X.shape)  # checks when it is made
        elif X.format in ("csr", "csc", "bsr") and _in_order(X) is None:
            copy(X).check_format(full_check=True)  # of a shallow copy, whose index arrays it may cast or shorten
    except ValueError as error:
        raise ValueError(f"{name}: its index arrays do not fit its shape {X.shape}: {error}") from None
    return X


def _in_order(X: TableLike) -> sparse.csr_array | None:
    """Return a CSR or CSC matrix as a CSR array (of the transpose, for CSC) if its rows are sorted and fit its shape.

    This takes one pass over the column numbers less than SciPy's own check.
    """
    if X.format not in ("csr", "csc") or X.indices.size == 0 or (np.diff(X.indptr) < 0).any():
        return None
    shape = X.shape if X.format == "csr" else X.shape[::-1]
    try:  # a new array, since SciPy remembers for ``X`` what was true before somebody edited its indices
        fresh = sparse.csr_array((X.data, X.indices, X.indptr), shape=shape)
    except ValueError:
        return None  # `checked_sparse` says why
    if not fresh.has_canonical_format:
        return None
    unsigned = X.indices.view(np.uint32 if X.indices.itemsize == 4 else np.uint64)  # negative numbers become large
    return fresh if unsigned.max() < fresh.shape[1] else None
