"""What the cells of a column are: numbers, words, or nothing at all. polars sorts them, all at once."""

from typing import Any, NamedTuple

import numpy as np

MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "?")
"""Ways to write that a value is missing, in lower case. Not ``none``: that is a class as often as not."""


class Cells(NamedTuple):
    """The cells of a column, sorted.

    Attributes
    ----------
    numbers : array of shape (n,)
        The numbers as float64, infinite ones among them; NaN elsewhere.
    missing : array of bool of shape (n,)
        Which are empty, or written as missing.
    """

    numbers: np.ndarray
    missing: np.ndarray

    @property
    def words(self) -> np.ndarray:
        """Which cells are neither missing nor numbers."""
        return np.isnan(self.numbers) & ~self.missing


def as_numbers(column: Any) -> Any:
    """Return a polars column as one of float64, null where a cell is no number.

    Examples
    --------
    >>> import polars
    >>> as_numbers(polars.Series([" 1", "2e3", "NA", None])).to_list()
    [1.0, 2000.0, None, None]
    """
    import polars

    if column.dtype == polars.Float64:
        return column
    if column.dtype == polars.String:
        return column.str.strip_chars().cast(polars.Float64, strict=False)
    if column.dtype.is_numeric() or column.dtype == polars.Boolean:
        return column.cast(polars.Float64)
    return polars.Series(column.name, [None], dtype=polars.Float64).new_from_index(0, len(column))


def sort_cells(column: Any) -> Cells:
    """Sort the cells of a polars column into numbers, missing ones and words.

    Parameters
    ----------
    column : polars.Series
        Of any type.

    Returns
    -------
    Cells

    Examples
    --------
    >>> import polars
    >>> cells = sort_cells(polars.Series(["1", "NA", "x", None]))
    >>> cells.missing.tolist(), cells.words.tolist()
    ([False, True, False, True], [False, False, True, False])
    """
    import polars

    numbers = as_numbers(column)
    missing = column.is_null()
    if column.dtype == polars.String:
        missing |= column.str.strip_chars().str.to_lowercase().is_in(MISSING_WORDS).fill_null(False)
    elif column.dtype.is_float():
        missing |= column.is_nan().fill_null(False)
    return Cells(numbers.fill_null(np.nan).to_numpy(), missing.to_numpy())
