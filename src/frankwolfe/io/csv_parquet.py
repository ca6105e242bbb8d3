"""Data in columns with names: CSV and Parquet, through polars, one package that reads both.

polars is fast and does not say which line it stumbled over. If it does stumble, the standard library's reader goes
through the file once more for the line.

A row is a row, whatever its cells hold: one whose cells are all empty is a row of missing values. A blank line of a CSV
file, without even a separator, is no row, whether data are read to fit or to predict.
"""

import csv
import io
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.names import nearest
from frankwolfe.io.streams import PEEK, SEPARATORS, is_compressed, opened
from frankwolfe.io.tables import MISSING_WORDS, Table, as_words, is_number, shortened

BLOCK = 64
"""How many columns are put into the matrix at a time."""

SHOWN = 5
"""How many columns a message names."""

MANY = 20
"""A column may have so many categories, however few rows there are. Beyond that, two rows each on average."""

DATE = (
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}([-/.]\d{1,2}[-/.]|[- ][[:alpha:]]{3,9}\.?[- ,]+)\d{2,4})"
    r"([T ]+\d{1,2}:\d{2}.*)?$"
)
"""What a date looks like: 2024-03-01, 1/3/24, 1 Mar 2024, with a time or without."""

EXACT = 2.0**53
"""Up to this size float64 holds every integer."""

ADVICE = "Fill them with --missing mean, remove the rows, or leave columns out with --ignore"
"""What to do about missing values."""


class Columns:
    """The columns of a file.

    Parameters
    ----------
    path : Path
        The file, perhaps compressed.
    kind : str
        ``"csv"`` or ``"parquet"``.
    words : collection of str
        Columns to read as text, even if they look like numbers: ``007`` is not 7.
    rows : slice, optional
        Rows of a Parquet file to read. By default all of them, and there must be some.
    """

    def __init__(self, path: Path, kind: str, words: Collection[str] = (), rows: slice | None = None):
        try:
            import polars
        except ImportError:
            raise ImportError("CSV and Parquet files need polars: pip install 'frankwolfe[cli]'") from None
        self._polars = polars
        self.path, self._part = path, rows
        self._separator = separator_of(path) if kind == "csv" else None
        try:
            self._frame = self._read_parquet() if kind == "parquet" else read_csv(path, str(self._separator), words)
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
            raise ValueError(self._explained(error)) from None
        self._rows = self._row_numbers()
        if not self.size and (rows is None or rows.start == 0):
            raise ValueError(f"{path} holds no rows")

    def _read_parquet(self) -> Any:
        if self._part is not None and not is_compressed(self.path):
            first, size = self._part.start, self._part.stop - self._part.start
            return self._polars.scan_parquet(self.path, glob=False).slice(first, size).collect()
        with opened(self.path) as stream:
            return self._polars.read_parquet(stream)

    def _explained(self, error: BaseException) -> str:
        if self._separator is None:
            return f"{self.path} is not a whole Parquet file"
        return first_mistake(self.path, self._separator) or f"{self.path}: {str(error).splitlines()[0]}"

    def _row_numbers(self) -> np.ndarray | None:
        """Return which rows of the frame are no blank lines; None if all are."""
        if self._separator is None or not self._frame.width:
            return None
        empty = self._frame.select(self._polars.all_horizontal(self._polars.all().is_null())).to_series().to_numpy()
        if not empty.any():
            return None
        filled = [bool(fields) for _, fields in records(self.path, self._separator)][1:]  # the header is one too
        kept = ~empty | np.array([*filled, *[False] * (len(empty) - len(filled))], dtype=bool)
        return np.flatnonzero(kept)

    def _picked(self, values: Any) -> Any:
        """Return the entries of the rows."""
        return values if self._rows is None else values[self._rows]

    @property
    def size(self) -> int:
        """Number of rows."""
        return self._frame.height if self._rows is None else len(self._rows)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self._frame.columns

    def is_whole(self, name: str) -> bool:
        """Whether there is a column of that name, and no value of it is missing."""
        return name in self.names and not sort_cells(self.column(name)).missing.any()

    def column(self, name: str) -> Any:
        """Return a column, as polars has it."""
        self.require([name])
        return self._picked(self._frame[name])

    def require(self, names: Iterable[str], purpose: str = "column") -> None:
        """Raise ValueError unless there are columns of all these names."""
        for name in names:
            if name not in self.names:
                hint = nearest(name, self.names)
                raise ValueError(f"{self.path} has no {purpose} {name!r}{hint or '.'} {self.listed()}")

    def listed(self) -> str:
        """Say which columns there are."""
        return f"It has {', '.join(repr(name) for name in self.names[:8])}{', ...' if len(self.names) > 8 else '.'}"

    def values(self, name: str) -> np.ndarray:
        """Return a column of targets: numbers or truth values if it is that, else words; no value may be missing."""
        column = self.column(name)
        cells = sort_cells(column)
        if cells.missing.any():
            raise ValueError(self._missing_targets(name, cells.missing))
        if column.dtype == self._polars.Boolean:
            return column.to_numpy()
        if not cells.words.any():
            if not np.isfinite(cells.numbers).all():
                self._refuse_cell(name, int(np.argmin(np.isfinite(cells.numbers))))
            self._refuse_rounded(name, column, as_numbers(column))
            return cells.numbers
        if column.dtype.is_nested():
            self._refuse_words([name])
        words = column.cast(self._polars.String)
        if words.str.contains("\x00", literal=True).any():
            self._refuse_cell(name, int(words.str.contains("\x00", literal=True).arg_max() or 0), "text")
        return words.to_numpy().astype(str)

    def _missing_targets(self, name: str, missing: np.ndarray) -> str:
        return (
            f"{self._found(name, int(np.argmax(missing)))}. The target is missing in {self._share(missing)}: nothing "
            "can be learned from those, so remove them. If it is the name of a class, write it in another way"
        )

    def text_names(self, names: Sequence[str]) -> list[str]:
        """Return those columns that hold text and not a single number."""
        text = (self._polars.String, self._polars.Categorical, self._polars.Enum)
        return [
            name
            for name in names
            if self._frame[name].dtype in text and _holds_no_numbers(sort_cells(self.column(name)))
        ]

    def category_names(self, names: Sequence[str]) -> list[str]:
        """Return those columns that hold text, or refuse to take dates and nearly unique cells for categories."""
        found = self.text_names(names)
        doubts = {name: doubt for name in found if (doubt := _doubt(self.column(name)))}
        if doubts:
            told = ", ".join(f"{name!r} ({doubt})" for name, doubt in list(doubts.items())[:SHOWN])
            first = next(iter(doubts))
            raise ValueError(
                f"{self.path}: --categorical without a name does not take all columns of text for categories: {told}. "
                f"Leave {'it' if len(doubts) == 1 else 'each of them'} out with --ignore {first!r}, or insist with "
                f"--categorical {first!r}"
            )
        return found

    def matrix(self, names: Sequence[str], advice: str | None = ADVICE) -> np.ndarray:
        """Return columns of numbers as a matrix, or say which are none, and where values are missing."""
        return self.table(names, (), advice).numbers

    def table(self, names: Sequence[str], words: Collection[str] = (), advice: str | None = ADVICE) -> Table:
        """Return columns of numbers and columns of words.

        Parameters
        ----------
        names : sequence of str
            The columns, in their order.
        words : collection of str
            Those that hold words.
        advice : str or None
            What to do about missing values, for the message that refuses them. None: they are no mistake.

        Returns
        -------
        Table
        """
        self.require(names)
        words = set(words)
        numeric = [name for name in names if name not in words]
        found = np.empty((self.size, len(numeric)))
        for start in range(0, len(numeric), BLOCK):
            block = [self._numbers(name) for name in numeric[start : start + BLOCK]]
            found[:, start : start + BLOCK] = self._polars.DataFrame(block).to_numpy()  # null becomes NaN
        doubtful = [name for j, name in enumerate(numeric) if not np.isfinite(found[:, j]).all()]
        checked = words.union(doubtful)
        cells = {name: sort_cells(self.column(name)) for name in names if name in checked}
        self._check_cells({name: cells[name] for name in doubtful})
        gaps = {name: sorted_cells.missing for name, sorted_cells in cells.items() if sorted_cells.missing.any()}
        if gaps and advice is not None:
            raise ValueError(self._missing_features(gaps, advice))
        places = {place: name for place, name in enumerate(names) if name in words}
        return Table(found, {place: self._words(name, cells[name].missing) for place, name in places.items()})

    def _numbers(self, name: str) -> Any:
        """Return a column as polars' float64, null where a cell is no number."""
        column = self.column(name)
        numbers = as_numbers(column)
        self._refuse_rounded(name, column, numbers)
        return numbers

    def _refuse_rounded(self, name: str, column: Any, numbers: Any) -> None:
        """Raise ValueError if a column holds an integer that float64 would round to another one: an id, perhaps."""
        if max(abs(numbers.min() or 0.0), abs(numbers.max() or 0.0)) < EXACT:
            return
        if column.dtype.is_float():
            if self._separator is None:
                return  # the file holds floats
            column = self._picked(read_text(self.path, self._separator, self.names.index(name)))
        cells = column.cast(self._polars.String).str.strip_chars()
        large = numbers.is_finite() & (numbers.abs() >= EXACT) & cells.str.contains(r"^[+-]?\d+$")
        for row in np.flatnonzero(large.fill_null(False).to_numpy()).tolist():
            if int(cells[row]) != int(numbers[row]):
                raise ValueError(
                    f"{self.path}, {self.place(row)}: column {name!r} holds {shortened(cells[row])}, an integer "
                    f"beyond 2^53, which float64 rounds to {int(numbers[row])}. If it is an identifier, leave it out "
                    "with --ignore or take it as a category; if it is a quantity, write it with a decimal point"
                )

    def _words(self, name: str, missing: np.ndarray) -> np.ndarray:
        """Return the words of a column; None where one is missing."""
        column = self.column(name)
        if column.dtype.is_nested():
            raise ValueError(f"{self.path}: column {name!r} holds {column.dtype}, which are no categories")
        found = as_words(column.to_list())
        found[missing] = None
        return found

    def _check_cells(self, cells: dict[str, Any]) -> None:
        """Say which columns hold no numbers, or which cell holds none."""
        words = [name for name, sorted_cells in cells.items() if _holds_no_numbers(sorted_cells)]
        if words:
            self._refuse_words(words)
        for name, sorted_cells in cells.items():
            bad = ~np.isfinite(sorted_cells.numbers) & ~sorted_cells.missing
            if bad.any():
                self._refuse_cell(name, int(np.argmax(bad)))

    def _missing_features(self, gaps: dict[str, np.ndarray], advice: str) -> str:
        """Say how many values each column lacks, and what to do."""
        counts = [f"{name!r} {int(missing.sum()):,}" for name, missing in gaps.items()]
        shown = ", ".join(counts[:SHOWN]) + f" and {len(counts) - SHOWN} more columns" * (len(counts) > SHOWN)
        first = min(gaps, key=lambda name: int(np.argmax(gaps[name])))
        return (
            f"{self._found(first, int(np.argmax(gaps[first])))}. Values are missing in "
            f"{self._share(np.logical_or.reduce(list(gaps.values())))}; by column: {shown}. {advice}"
        )

    def _share(self, rows: np.ndarray) -> str:
        return f"{int(rows.sum()):,} of {self.size:,} rows"

    def _found(self, name: str, row: int) -> str:
        """Say where a cell is and what it holds."""
        cell = self.column(name)[row]
        holds = "is empty" if cell is None else f"holds {shortened(repr(cell))}"
        finite = ", which is not a finite number" if isinstance(cell, float) else ""
        return f"{self.path}, {self.place(row)}: column {name!r} {holds}{finite}"

    def _refuse_cell(self, name: str, row: int, wanted: str = "a finite number") -> None:
        found = self._found(name, row)
        raise ValueError(found if found.endswith(wanted) else f"{found}, which is not {wanted}")

    def _refuse_words(self, names: list[str]) -> None:
        shown = ", ".join(repr(name) for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        holds, them = ("s", "it") if len(names) == 1 else ("", "them")
        raise ValueError(
            f"{self.path}: column{'' if holds else 's'} {shown} hold{holds} no numbers "
            f"(the first cell is {shortened(repr(self.column(names[0])[0]))}): take {them} as categories with "
            f"--categorical, or leave {them} out with --ignore"
        )

    def place(self, row: int) -> str:
        """Say where a row is: the line of a CSV file, or the number of the row."""
        if self._separator is None:
            return f"row {row + 1 + (0 if self._part is None else self._part.start)}"
        number = row if self._rows is None else int(self._rows[row])
        return f"line {line_of_record(self.path, self._separator, number + 1)}"  # the header is a record too


def _doubt(column: Any) -> str:
    """Say why a column of text is hardly one of categories: it holds dates, or few cells are alike; else nothing."""
    present = column.drop_nulls().cast(str).str.strip_chars()
    different = present.unique()
    if different.str.contains(DATE).all():
        return f"{len(different):,} date{'s' * (len(different) > 1)}"
    if len(different) > max(MANY, 0.5 * len(present)):
        return f"{len(different):,} different cells in {len(present):,} rows"
    return ""


def _holds_no_numbers(cells: Any) -> bool:
    return bool(np.isnan(cells.numbers).all() and cells.words.any())


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


LONGEST_FIELD = 2**31 - 1
"""Characters that a field may have: the standard library's reader gives up at 131,072 unless told otherwise."""


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the standard library's reader take fields of any length, inside the block."""
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the last line, and the fields, of every record: the header first, blank lines without fields.

    Blank lines before the header are left out.
    """
    with opened(path) as stream, _long_fields():
        # bytes that are not UTF-8 become lone surrogates, which no valid text contains
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, delimiter=separator)
        numbered = ((reader.line_num, fields) for fields in reader)
        try:
            yield from dropwhile(lambda record: not record[1], numbered)
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from None


def header(path: Path, separator: str) -> list[str]:
    """Return the names of the columns; raise ValueError if they are not UTF-8 text."""
    names = next(records(path, separator))[1]
    for number, name in enumerate(names, start=1):
        if _is_undecoded(name):
            latin = name.encode("utf-8", "surrogateescape").decode("latin-1")
            raise ValueError(
                f"{path}: the header is not UTF-8 text: column {number} would be {latin!r} in Latin-1. Save the file "
                "as UTF-8"
            )
    return names


def _is_undecoded(text: str) -> bool:
    """Whether a text contains bytes that are not UTF-8."""
    return any("\udc80" <= character <= "\udcff" for character in text)


def line_of_record(path: Path, separator: str, number: int) -> int:
    """Return the line in which a record ends; the header is record 0."""
    return next(islice(records(path, separator), number, None))[0]


def first_mistake(path: Path, separator: str) -> str | None:
    """Say which line of a CSV file does not fit, or None if all do."""
    found = records(path, separator)
    last, names = next(found)
    width, marked = len(names), None
    for line, fields in found:
        if len(fields) > width:
            return f"{path}, line {line}: {len(fields)} fields, but the header has {width}"
        if any(map(_is_undecoded, fields)):
            return f"{path}, line {line}: not UTF-8 text: save the file as UTF-8"
        if line > last + 1 and fields and fields[-1].endswith("\n") and len(fields) < width + 1:
            return f"{path}, line {last + 1}: a quotation mark is opened there and never closed"
        if marked is None and any('"' in field for field in fields):
            marked = line
        last = line
    if marked is None:
        return None
    return f"{path}, line {marked}: a quotation mark within a field: double it, and put the field in quotation marks"


def separator_of(path: Path) -> str:
    """Return what stands between the fields."""
    with opened(path) as stream:
        line = stream.read(PEEK).decode("utf-8-sig", "replace").lstrip().splitlines()[0]
    return max(SEPARATORS, key=line.count)
