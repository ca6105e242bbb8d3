"""Tables: the columns that a model reads from arrays and data frames, with numbers, words and missing values."""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_dense, checked_sparse, column_names
from frankwolfe.arguments.names import nearest
from frankwolfe.arguments.types import TableLike

SHOWN = 5
"""Number of names that a message lists."""


MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "?")
"""Words for a missing value, in lower case. ``none`` is not among them because it may be a class."""


class Table(NamedTuple):
    """Columns of numbers and columns of words.

    Attributes
    ----------
    numbers : array or CSR array of shape (n, p)
        Columns of numbers; NaN where a value is missing.
    words : dict of arrays of shape (n,)
        Columns of words, by their position among all columns; None where a value is missing.
    """

    numbers: Any
    words: dict[int, np.ndarray]

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.numbers.shape[0]

    @property
    def number_places(self) -> list[int]:
        """Positions of the columns of numbers among all columns."""
        return [place for place in range(self.numbers.shape[1] + len(self.words)) if place not in self.words]

    def rows(self, which: np.ndarray) -> "Table":
        """Return some of the rows."""
        return Table(self.numbers[which], {place: words[which] for place, words in self.words.items()})

    def whole_rows(self) -> np.ndarray:
        """Return the indices of the rows without missing values."""
        return np.setdiff1d(np.arange(self.n), np.concatenate([[], *self.gaps().values()]))

    def gaps(self) -> dict[int, np.ndarray]:
        """Return the rows with missing values of each column that has any, by the position of the column."""
        found = {}
        if _holds_nan(self.numbers):
            rows, columns = (self.numbers != self.numbers).nonzero()  # only NaN differs from itself
            places = np.array(self.number_places, dtype=np.int64)[columns]
            found = {int(place): np.sort(rows[places == place]) for place in np.unique(places)}
        for place, words in self.words.items():
            empty = np.flatnonzero([word is None for word in words])
            if empty.size:
                found[place] = empty
        return dict(sorted(found.items()))

    def refuse_gaps(self, names: Sequence[str] | None) -> None:
        """Raise ValueError if values are missing, with the number and the first rows of each column."""
        gaps = self.gaps()
        if not gaps:
            return
        counts = [f"{_called(place, names)} {rows.size:,} ({_rows(rows)})" for place, rows in gaps.items()]
        count = sum(rows.size for rows in gaps.values())
        more = f" and {len(counts) - SHOWN} more columns" * (len(counts) > SHOWN)
        raise ValueError(
            f"X holds {count:,} missing value{'s' * (count > 1)}, by column: {', '.join(counts[:SHOWN])}{more}; fill "
            "them in first, or let a model do so that was fitted with --missing mean"
        )


def _holds_nan(numbers: Any) -> bool:
    """Return whether there is a NaN. A finite sum proves that there is none, without a temporary array."""
    values = numbers.data if sparse.issparse(numbers) else numbers
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(values.sum())) and bool(np.isnan(values).any())


def _called(place: int, names: Sequence[str] | None) -> str:
    return str(place) if names is None else repr(names[place])


def _rows(rows: np.ndarray) -> str:
    shown = ", ".join(str(row) for row in rows[:3].tolist())
    return f"row{'s' * (rows.size > 1)} {shown}{', ...' if rows.size > 3 else ''}"


def as_table(X: TableLike, names: Sequence[str] | None, number: int, words: Collection[int] = ()) -> Table:
    """Return the columns that a model reads: by name if they have names, else by position.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, number)
        The columns of a data frame are selected by name. They may be in any order, and there may be further columns.
    names : sequence of str or None
        Names of the columns.
    number : int
        Number of columns.
    words : collection of int
        Positions of the columns that hold words.

    Returns
    -------
    Table

    Examples
    --------
    >>> import pandas as pd
    >>> as_table(pd.DataFrame({"b": [2.0], "c": [0.0], "a": [1.0]}), ["a", "b"], 2).numbers
    array([[1., 2.]])
    """
    if sparse.issparse(X):
        return Table(_checked(_sparse(X, words), number), {})
    if column_names(X) is not None and names is not None:
        X = _selected(X, names)
    if not words:
        return Table(_checked(_floats(X), number), {})
    if not hasattr(X, "columns"):
        X = _checked(np.asarray(X, dtype=object), number)
        columns = {place: X[:, place].tolist() for place in words}
        kept = [place for place in range(number) if place not in columns]
        return Table(_floats(X[:, kept]), {place: as_words(values) for place, values in columns.items()})
    labels = list(_checked(X, number).columns)
    found = {place: as_words(X[labels[place]].to_list()) for place in words}
    kept = [label for place, label in enumerate(labels) if place not in found]
    return Table(_floats(X[kept]) if kept else np.empty((len(X), 0)), found)


def _sparse(X: TableLike, words: Collection[int]) -> sparse.csr_array:
    if words:
        raise TypeError("X is a sparse matrix, but the model reads columns of words: pass a data frame")
    return sparse.csr_array(checked_sparse("X", X), dtype=np.float64)


def _floats(X: TableLike) -> np.ndarray:
    """Return numbers as float64 in C order, or raise an error.

    Products round differently in other layouts, and equal rows should have equal scores.
    """
    array = as_dense(X, objects=True).astype(np.float64, copy=False)
    if np.isinf(array).any():
        raise ValueError(f"X holds infinity (first in row {int(np.argwhere(np.isinf(array))[0, 0])})")
    return array


def _checked(X: TableLike, number: int) -> Any:
    if len(X.shape) != 2 or X.shape[1] != number:
        raise ValueError(f"X must have {number} columns, as the model has; got shape {tuple(X.shape)}")
    return X


def _selected(frame: Any, names: Sequence[str]) -> Any:
    """Return the columns of a frame that have these names, in this order."""
    there = column_names(frame) or []
    counts = Counter(there)
    missing = [name for name in names if not counts[name]]
    if missing:
        hints = [nearest(name, there).removeprefix("; ") for name in missing[:SHOWN]]
        shown = [repr(name) + (f" ({hint})" if hint else "") for name, hint in zip(missing, hints, strict=False)]
        raise ValueError(
            f"X lacks {len(missing)} of the {len(names)} columns of the model: "
            f"{', '.join(shown)}{', ...' if len(missing) > SHOWN else ''}. It has {listed(there)}"
        )
    twice = [name for name in names if counts[name] > 1]
    if twice:
        raise ValueError(f"X has {counts[twice[0]]} columns {twice[0]!r}: rename all but one")
    return frame if there == list(names) else frame[list(names)]


def as_words(values: Sequence[Any]) -> np.ndarray:
    """Return cells as strings, and None for missing values. Integers are written without a decimal point.

    Examples
    --------
    >>> as_words(["a", 7.0, 7, None, float("nan"), True]).tolist()
    ['a', '7', '7', None, None, 'true']
    """
    known: dict[Any, str | None] = {}
    found = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        if not isinstance(value, Hashable):
            raise TypeError(f"a {type(value).__name__} cannot be a category: categories are words or numbers")
        key = (type(value), value)
        if key not in known:
            known[key] = _word(value)
        found[row] = known[key]
    return found


def _word(value: Any) -> str | None:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value)
    return None if value is None or text.strip().lower() in MISSING_WORDS else text


def is_number(text: str) -> bool:
    """Return whether a text is a number, finite or not."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def listed(names: Sequence[str], quote: bool = True) -> str:
    """Return the first few names, separated by commas."""
    shown = [repr(name) if quote else name for name in names[:SHOWN]]
    return ", ".join(shown) + (", ..." if len(names) > SHOWN else "")


def shortened(text: str, most: int = 60) -> str:
    """Return a text, or its beginning if it is long."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
