"""Checks of the arguments of sets. Every message names the set and the argument, and states what was expected."""

from collections.abc import Sequence, Sized
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import checked_sparse
from frankwolfe.compile.part import finite, is_part


def numbers(part: str, name: str, values: Any, shape: str) -> np.ndarray:
    """Return ``values`` as a new array of floats, or raise TypeError if they are not numbers.

    NumPy alone would convert dates to nanoseconds and strings of digits to numbers, and fill masked entries.
    """
    if sparse.issparse(values) or np.ma.isMaskedArray(values):
        raise TypeError(f"{part}: {name} must be {shape} of numbers, got {type(values).__name__}")
    try:
        found = np.asarray(values)
        words = found.dtype == object and any(isinstance(entry, str | bytes) for entry in found.flat)
        found = found.astype(np.float64) if found.dtype == object and not words else found
    except (TypeError, ValueError):
        raise TypeError(f"{part}: {name} must be {shape} of numbers, got {_shown(values)}") from None
    if found.dtype.kind not in "fiub":
        raise TypeError(f"{part}: {name} must be {shape} of numbers, got {_shown(values)}")
    return np.array(found, dtype=np.float64, order="C")


def _shown(values: Any) -> str:
    """Return a short representation of a value."""
    text = repr(values)
    return text if len(text) <= 60 else f"{text[:56]} ..."


def vector(part: str, name: str, values: Any, why: str = "") -> np.ndarray:
    """Return ``values`` as a new vector of finite numbers; ``why`` completes the error message."""
    found = numbers(part, name, values, "a vector")
    if found.ndim != 1 or found.size == 0:
        raise ValueError(f"{part}: {name} must be a vector with at least one entry, got shape {found.shape}")
    return _finite(part, name, found, why)


def number_or_vector(part: str, name: str, values: Any, why: str = "", infinite: bool = False) -> Any:
    """Return ``values`` as a float or as a vector of numbers, finite ones unless ``infinite``."""
    if not isinstance(values, np.ndarray) and (isinstance(values, str) or not isinstance(values, Sized)):
        if infinite and isinstance(values, Real) and abs(values) == np.inf:
            return float(values)
        return finite(part, name, values)
    found = numbers(part, name, values, "a number or a vector")
    if found.ndim == 0 and found.dtype != bool:
        return number_or_vector(part, name, found.item(), why, infinite)
    if found.ndim != 1 or found.size == 0:
        raise ValueError(
            f"{part}: {name} must be a number or a vector with at least one entry, got shape {found.shape}"
        )
    if infinite and np.isnan(found).any():
        raise ValueError(f"{part}: {name} holds NaN")
    return found if infinite else _finite(part, name, found, why)


def ordered(part: str, lower: Any, upper: Any) -> None:
    """Raise ValueError unless bounds are numbers or of equal length, and none of ``lower`` is above ``upper``."""
    if np.ndim(lower) and np.ndim(upper) and len(lower) != len(upper):
        raise ValueError(f"{part}: lower has {len(lower)} entries and upper has {len(upper)}")
    above = np.flatnonzero(np.greater(lower, upper))
    if above.size:
        j = int(above[0])
        low, high = (found[j] for found in np.broadcast_arrays(np.atleast_1d(lower), upper))
        raise ValueError(f"{part}: lower must not exceed upper, but at entry {j} lower = {low:g} > upper = {high:g}")


def matrix(part: str, name: str, values: Any) -> Any:
    """Return ``values`` as a new matrix of finite numbers: a C-ordered array, or of a sparse matrix a CSR array."""
    is_sparse = sparse.issparse(values)
    if is_sparse and values.dtype.kind not in "fiub":
        raise TypeError(f"{part}: {name} must hold numbers, got dtype {values.dtype}")
    if is_sparse:
        found: Any = sparse.csr_array(checked_sparse(f"{part}: {name}", values), dtype=np.float64, copy=True)
    else:
        found = numbers(part, name, values, "a matrix, with rows of equal length,")
    if found.ndim != 2 or 0 in found.shape:
        raise ValueError(f"{part}: {name} must be a matrix with at least one row and column, got shape {found.shape}")
    if is_sparse:
        found.sum_duplicates()
    _finite(part, name, found.data if is_sparse else found)
    return found


def _finite(part: str, name: str, found: np.ndarray, why: str = "") -> np.ndarray:
    if not np.isfinite(found).all():
        raise ValueError(f"{part}: {name} holds NaN or infinity{why}")
    return found


def sequence(part: str, name: str, values: Any) -> tuple:
    """Return ``values``, a list or a tuple, as a tuple."""
    if not isinstance(values, list | tuple | range | np.ndarray) or is_part(values):
        raise TypeError(f"{part}: {name} must be a list, got {type(values).__name__}")
    return tuple(values)


def whole(part: str, name: str, number: Any, least: int = 1) -> int:
    """Return ``number`` as an int that is at least ``least``."""
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise TypeError(f"{part}: {name} must be an int, got {type(number).__name__}")
    if int(number) < least:
        raise ValueError(f"{part}: {name} must be at least {least}, got {number}")
    if int(number) >= 2**31:
        raise ValueError(f"{part}: {name} must be below 2^31")
    return int(number)


def one_for_each(part: str, name: str, values: Any, d: int) -> np.ndarray:
    """Return a checked number or vector as a new vector for ``d`` columns."""
    if np.ndim(values) and len(values) != d:
        raise ValueError(f"{part}: {name} has {len(values)} entries, but there are {d} columns")
    return np.array(np.broadcast_to(values, d), dtype=np.float64)


def same_length(part: str, name: str, size: int, d: int) -> None:
    """Raise ValueError unless ``size``, the number of entries of ``name``, is the number of columns."""
    if size != d:
        raise ValueError(f"{part}: {name} has {size} entries, but there are {d} columns")


def one_of(part: str, name: str, value: Any, choices: Sequence) -> Any:
    """Return the choice that ``value`` equals."""
    for choice in choices:
        if isinstance(value, Real | str) and not isinstance(value, bool) and value == choice:
            return choice
    known = " or ".join(f"{choice:g}" if isinstance(choice, float) else repr(choice) for choice in choices)
    raise ValueError(f"{part}: {name} must be {known}, got {value!r}")


def rounding(*numbers: Any) -> Any:
    """Return a bound on the rounding error of points with coordinates of these sizes, after a few operations.

    Examples
    --------
    >>> bool(rounding(-2.0, 1.0) < 1e-14)
    True
    """
    return 16.0 * np.finfo(np.float64).eps * np.max(np.abs(np.broadcast_arrays(*numbers)), axis=0)
