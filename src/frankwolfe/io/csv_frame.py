"""A CSV file as a frame of polars: columns of numbers as float64, truth values, and text for all the rest."""

import warnings
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from frankwolfe.io.records import header
from frankwolfe.io.streams import is_compressed, opened
from frankwolfe.io.targets import is_number

SAMPLE = 1000
"""Rows that the types of columns are guessed from. Where a later cell does not fit, all rows are looked at."""

SHOWN = 5
"""How many columns a message names."""


def read_csv(path: Path, separator: str, as_text: Collection[str] = ()) -> Any:
    """Read a CSV file with a header line.

    A column is numbers if every cell is. This is guessed from the first rows, since looking at all of them takes polars
    several times as long as reading. A column in which a later cell is no number is read as text, which keeps it all.

    Parameters
    ----------
    path : Path
        The file, perhaps compressed.
    separator : str
        What stands between fields.
    as_text : collection of str
        Columns to read as text, even if they look like numbers.

    Returns
    -------
    polars.DataFrame
    """
    import polars

    names = _checked_header(path, separator)
    read = _reader(path, separator)
    text = dict.fromkeys(as_text, polars.String)
    frame = _read_guessing(read, text)
    if frame is None:
        try:
            frame = read(schema_overrides=text, infer_schema_length=None)
        except polars.exceptions.ComputeError:  # integers too long for any type, for instance
            frame = read(infer_schema=False)
    if frame.width != len(names):
        raise ValueError(
            f"{path}: the header can be read in two ways, {names[:SHOWN]} or {frame.columns[:SHOWN]}: do lines end "
            "with a carriage return alone?"
        )
    frame.columns = names  # without doubled quotation marks, which polars leaves in
    return frame


def read_text(path: Path, separator: str, place: int) -> Any:
    """Return the column at a place as text, as it is in the file."""
    return _reader(path, separator)(columns=[place], infer_schema=False).to_series()


def _reader(path: Path, separator: str) -> Callable[..., Any]:
    """Return what reads the file with the options it is given."""
    import polars

    if not is_compressed(path):
        return partial(polars.read_csv, path, separator=separator, glob=False)
    with opened(path) as stream:
        return partial(polars.read_csv, stream.read(), separator=separator)


def _read_guessing(read: Callable[..., Any], text: dict[str, Any]) -> Any:
    """Read with types that are guessed from the first rows; None where there is nothing to guess from, or it fails."""
    import polars

    try:
        sample = read(n_rows=SAMPLE, infer_schema_length=SAMPLE)
        if any(column.null_count() == len(column) for column in sample):
            return None
        types = {column.name: polars.Float64 if column.dtype.is_numeric() else column.dtype for column in sample} | text
        try:
            return read(schema_overrides=types)
        except polars.exceptions.ComputeError:  # some cell is no number, for instance
            return read(schema_overrides=types | _doubtful(read, types))
    except polars.exceptions.ComputeError:
        return None


def _doubtful(read: Callable[..., Any], types: dict[str, Any]) -> dict[str, Any]:
    """Return text as the type of the columns of numbers in which a cell is empty, or none."""
    import polars

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong with the file shows when it is read for good
        found = read(schema_overrides=types, ignore_errors=True)  # what does not fit becomes a null
    return {column.name: polars.String for column in found if column.dtype == polars.Float64 and column.null_count()}


def _checked_header(path: Path, separator: str) -> list[str]:
    names = header(path, separator)
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ValueError(f"{path}: the header names column {twice[0]!r} twice")
    if all(is_number(name) for name in names):
        raise ValueError(f"{path}: the first line is numbers; a CSV file needs a header line with column names")
    return names
