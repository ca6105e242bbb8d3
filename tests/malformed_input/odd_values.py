"""Malformed values for every kind of argument, made from a seed, and what may become of a call that gets one."""

import copy
import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

NAN, INF = float("nan"), float("inf")


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self):
        return "Odd()"


NUMBERS = {
    "nan": NAN,
    "inf": INF,
    "minus-inf": -INF,
    "negative": -1.0,
    "zero": 0.0,
    "text": "5",
    "word": "many",
    "bytes": b"5",
    "none": None,
    "list": [1.0, 2.0],
    "empty": [],
    "array": np.array([1.0, 2.0]),
    "one-array": np.array([2.0]),
    "complex": 1.0 + 1.0j,
    "true": True,
    "numpy-true": np.True_,
    "object": Odd(),
    "class": float,
    "function": len,
    "dict": {"radius": 1.0},
    "set": {1.0},
    "huge-int": 10**400,
    "numpy-nan": np.float64("nan"),
    "numpy-inf32": np.float32("inf"),
    "date": np.datetime64("2020-01-01"),
    "delta": datetime.timedelta(1),
    "sparse": sparse.csr_array([[1.0]]),
    "fraction": Fraction(3, 2),
    "decimal": Decimal("1.5"),
    "float32": np.float32(1.5),
    "int": 2,
    "numpy-int": np.int64(2),
    "tiny": 1e-300,
    "large": 1e300,
}
"""Values for an argument that is a number: some of them are right."""


def spoilt(array: np.ndarray, rng: np.random.Generator, entry: Any) -> np.ndarray:
    """Return a copy in which one entry, anywhere, is another."""
    kind = object if not isinstance(entry, float) else np.float64
    changed = np.array(array, dtype=kind)
    changed.flat[rng.integers(changed.size)] = entry
    return changed


def matrices(X: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Return things that are no table of numbers, and some that are, made of one that is."""
    n, d = X.shape
    columns = [f"c{j}" for j in range(d)]
    bad_sparse = sparse.csr_array(X.copy())
    bad_sparse.data[rng.integers(bad_sparse.nnz)] = NAN
    outside = sparse.csr_array(X.copy())
    outside.indices = outside.indices.copy()
    outside.indices[rng.integers(outside.nnz)] = d + 5
    behind = sparse.csr_array(X.copy())
    behind.indices = behind.indices.copy()
    behind.indices[rng.integers(behind.nnz)] = -1
    locked = X.copy()
    locked.flags.writeable = False
    return {
        **{f"entry-{entry}": spoilt(X, rng, entry) for entry in (NAN, INF, -INF)},
        **{f"object-{entry!r:.6}": spoilt(X, rng, entry) for entry in ("a", None, Odd(), [1.0], 1j)},
        "ragged": [[1.0] * d] * (n - 1) + [[1.0] * (d - 1)],
        "nested": [[[1.0]] * d] * n,
        "vector": X[:, 0],
        "row": X[0],
        "cube": X[:, :, None],
        "scalar": 3.0,
        "none": None,
        "text": "X.csv",
        "dict": {"a": [1.0]},
        "no-rows": X[:0],
        "no-columns": X[:, :0],
        "fewer-rows": X[:-1],
        "complex": X * 1j,
        "dates": np.full((n, d), np.datetime64("2020-01-01")),
        "strings": X.astype(str),
        "structured": np.zeros(n, dtype=[("a", float), ("b", int)]),
        "masked": np.ma.masked_greater(X, 0.5),
        "sparse-nan": bad_sparse,
        "sparse-inf": sparse.coo_array(spoilt(X, rng, INF)),
        "sparse-complex": sparse.csc_array(X * 1j),
        "sparse-outside": outside,
        "sparse-negative": behind,
        "sparse-empty": sparse.csr_array((0, d)),
        "sparse-vector": sparse.coo_array(X[:, 0]),
        "frame-words": pd.DataFrame({**dict.fromkeys(columns[:-1], 1.0), columns[-1]: ["a"] * n}),
        "frame-missing": pd.DataFrame(spoilt(X, rng, NAN), columns=columns),
        "frame-dates": pd.DataFrame({c: pd.date_range("2020-01-01", periods=n) for c in columns}),
        "polars-words": pl.DataFrame({c: ["a"] * n for c in columns}),
        "polars-missing": pl.DataFrame({c: [None, *[1.0] * (n - 1)] for c in columns}),
        "generator": (row for row in X.tolist()),
        # right, in unusual clothes
        "locked": locked,
        "fortran": np.asfortranarray(X),
        "backwards": X[::-1][::-1],
        "strided": np.repeat(X, 2, axis=0)[::2],
        "float32": X.astype(np.float32),
        "float16": X.astype(np.float16),
        "big-endian": X.astype(">f8"),
        "integers": np.rint(4.0 * X).astype(np.int16),
        "booleans": X > 0.0,
        "lists": X.tolist(),
        "tuples": tuple(map(tuple, X.tolist())),
        "csc": sparse.csc_matrix(X),
        "coo": sparse.coo_array(X),
        "lil": sparse.lil_array(X),
        "dia": sparse.dia_array(X),
        "frame": pd.DataFrame(X, columns=columns),
        "polars": pl.DataFrame(X, schema=columns),
        "nullable": pd.DataFrame(X, columns=columns).astype("Float64"),
    }


def vectors(y: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Return things that are no vector of numbers, and some that are, made of one that is."""
    locked = y.copy()
    locked.flags.writeable = False
    return {
        **{f"entry-{entry}": spoilt(y, rng, entry) for entry in (NAN, INF, -INF)},
        **{f"object-{entry!r:.6}": spoilt(y, rng, entry) for entry in ("a", None, Odd(), [1.0], 1j)},
        "short": y[:-1],
        "long": np.append(y, y[0]),
        "column": y[:, None],
        "row": y[None, :],
        "matrix": np.outer(y, y),
        "scalar": 1.0,
        "none": None,
        "empty": [],
        "text": "yes",
        "words": ["yes", "no"] * (len(y) // 2) + ["yes"] * (len(y) % 2),
        "digits": y.astype(str),
        "complex": y * 1j,
        "dates": np.full(len(y), np.datetime64("2020-01-01")),
        "masked": np.ma.masked_less(y, 0.0),
        "sparse": sparse.csr_array(y[:, None]),
        "ragged": [[1.0], *y[1:].tolist()],
        "dict": dict(enumerate(y)),
        "missing": pd.Series(pd.array([None, *y[1:]], dtype="Float64")),
        "polars-missing": pl.Series("y", [None, *y[1:].tolist()]),
        "generator": (value for value in y.tolist()),
        # right, in unusual clothes
        "locked": locked,
        "strided": np.repeat(y, 2)[::2],
        "list": y.tolist(),
        "tuple": tuple(y.tolist()),
        "float32": y.astype(np.float32),
        "big-endian": y.astype(">f8"),
        "objects": y.astype(object),
        "series": pd.Series(y, index=rng.permutation(len(y))),
        "polars": pl.Series("y", y),
    }


class Site(NamedTuple):
    """A call with good arguments, and malformed values for them.

    ``right`` raises unless what was returned is right for the arguments; ``named`` are words of which one must be in
    the message, where the name of the argument itself is not.
    """

    name: str
    call: Callable[..., Any]
    good: dict[str, Any]
    values: dict[str, dict[str, Any]]
    right: Callable[[Any, dict[str, Any]], None]
    named: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def same(before: Any, after: Any) -> bool:
    """Whether a value is as it was: arrays by their bytes."""
    if isinstance(before, np.ma.MaskedArray):
        return np.ma.allequal(before, after) and np.array_equal(before.mask, after.mask)
    if isinstance(before, np.ndarray):
        if before.dtype == object:
            return all(a is b or type(a) is type(b) for a, b in zip(before.flat, after.flat, strict=True))
        return before.dtype == after.dtype and before.shape == after.shape and before.tobytes() == after.tobytes()
    if isinstance(before, pd.DataFrame | pd.Series | pl.DataFrame | pl.Series):
        return before.equals(after)
    return True


def kept(value: Any) -> Any:
    """Return a copy to compare with later, of what can be copied."""
    if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
        return copy.copy(value) if not isinstance(value, pl.DataFrame | pl.Series) else value.clone()
    if sparse.issparse(value) and value.shape[0]:
        return value.copy()
    return value


def untouched(before: Any, after: Any) -> bool:
    """Whether a value that may be broken is as it was; of a sparse matrix, the arrays."""
    if sparse.issparse(before):
        fields = [name for name in ("data", "indices", "indptr") if hasattr(before, name)]
        return all(same(getattr(before, name), getattr(after, name)) for name in fields)
    return same(before, after)


def verdict(site: Site, argument: str, kind: str) -> str | None:
    """Make a call with one malformed argument; return what is wrong with what becomes of it, or None."""
    value = site.values[argument][kind]
    given = {**site.good, argument: value}
    before = {name: kept(each) for name, each in given.items()}
    where = f"{site.name}({argument}={kind})"
    try:
        outcome = site.call(**given)
    except (ValueError, TypeError) as error:
        words = (argument, *site.named.get(argument, ()))
        if not any(word in str(error) for word in words):
            return f"{where}: {type(error).__name__} does not name {argument}: {error}"
    except Exception as error:
        return f"{where}: {type(error).__name__}: {error}"
    else:
        try:
            site.right(outcome, given)
        except Exception as error:
            return f"{where}: accepted, and {type(error).__name__}: {str(error).strip()[:200]}"
    for name, each in given.items():
        if not untouched(before[name], each):
            return f"{where}: {name} was changed"
    return None
