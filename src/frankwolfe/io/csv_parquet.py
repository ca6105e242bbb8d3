"""Read columns with names from CSV and Parquet files, by polars.

polars is fast, but does not say which line of a CSV file is wrong. If something is, the csv module reads the file once
more to find the line. A row whose cells are all empty is a row of missing values. A blank line of a CSV file, without
even a separator, is no row.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

import numpy as np

from frankwolfe.arguments.names import nearest
from frankwolfe.io.streams import PEEK, SEPARATORS, is_compressed, opened
from frankwolfe.io.tables import MISSING_WORDS, SHOWN, Table, as_words, is_number, listed, shortened

SAMPLE = 1000
"""Rows from which the types of columns are guessed. If a later cell does not fit, all columns are read as text."""

BLOCK = 64
"""Columns that are copied into the matrix at a time."""

MANY = 20
"""Number of categories that a column may always have. Beyond it, the average category must have two rows."""

DATE = (
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}([-/.]\d{1,2}[-/.]|[- ][[:alpha:]]{3,9}\.?[- ,]+)\d{2,4})"
    r"([T ]+\d{1,2}:\d{2}.*)?$"
)
"""Dates: 2024-03-01, 1/3/24, 1 Mar 2024, with a time or without."""

DECORATION = re.compile(r"[,%$€£¥'\s]")
"""Characters in numbers that are written for people: 1,000 or 12 % or 0,5."""

EXACT = 2.0**53
"""Up to this size float64 holds every integer."""

ADVICE = "Fill them with --missing mean, remove the rows, or leave columns out with --ignore"
"""Advice in the message about missing values."""


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
        self._separator = separator_of(path) if kind == "csv" else ""
        try:
            self._frame = self._read_csv(words) if self._separator else self._read_parquet()
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
            raise ValueError(self._explained(error)) from None
        self._rows = self._numbers_of_rows()
        if self._rows is not None:
            self._frame = self._frame[self._rows]
        if not self.size and (rows is None or rows.start == 0):
            raise ValueError(f"{path} holds no rows")

    def _read_parquet(self) -> Any:
        if self._part is not None and not is_compressed(self.path):
            first, size = self._part.start, self._part.stop - self._part.start
            return self._polars.scan_parquet(self.path, glob=False).slice(first, size).collect()
        with opened(self.path) as stream:
            return self._polars.read_parquet(stream)

    def _read_csv(self, words: Collection[str]) -> Any:
        """Read the file: columns of numbers as float64, columns of booleans, and all other columns as text."""
        names = header(self.path, self._separator)
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise ValueError(f"{self.path}: the header names column {twice[0]!r} twice")
        if all(is_number(name) for name in names):
            raise ValueError(f"{self.path}: the first line is numbers; a CSV file needs a header line with names")
        float64, text = self._polars.Float64, self._polars.String
        sample = self._scan_csv(n_rows=SAMPLE, infer_schema_length=SAMPLE, ignore_errors=True)
        types = {column.name: float64 if column.dtype.is_numeric() else column.dtype for column in sample}
        try:
            frame = self._scan_csv(schema_overrides=types | dict.fromkeys(words, text))
        except self._polars.exceptions.ComputeError:  # a later cell does not fit
            frame = self._scan_csv(infer_schema=False)
        if frame.width != len(names):
            raise ValueError(
                f"{self.path}: the header can be read in two ways, {names[:SHOWN]} or {frame.columns[:SHOWN]}: do "
                "lines end with a carriage return alone?"
            )
        frame.columns = names  # polars leaves doubled quotation marks in
        return frame

    def _scan_csv(self, **options: Any) -> Any:
        if not is_compressed(self.path):
            return self._polars.read_csv(self.path, separator=self._separator, glob=False, **options)
        with opened(self.path) as stream:
            return self._polars.read_csv(stream.read(), separator=self._separator, **options)

    def _explained(self, error: BaseException) -> str:
        if not self._separator:
            return f"{self.path} is not a whole Parquet file"
        return first_mistake(self.path, self._separator) or f"{self.path}: {str(error).splitlines()[0]}"

    def _numbers_of_rows(self) -> np.ndarray | None:
        """Return the indices of the rows that are not blank lines of the file; None if there are no blank lines."""
        if not self._separator or not self._frame.width:
            return None
        empty = self._frame.select(self._polars.all_horizontal(self._polars.all().is_null())).to_series().to_numpy()
        if not empty.any():
            return None
        filled = np.zeros(len(empty), dtype=bool)
        found = [bool(fields) for _, fields in records(self.path, self._separator)][1:]  # the header is record 0
        filled[: len(found)] = found[: len(filled)]
        return np.flatnonzero(~empty | filled)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self._frame.height

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self._frame.columns

    def require(self, names: Iterable[str], purpose: str = "column") -> None:
        """Raise ValueError unless there are columns of all these names."""
        for name in names:
            if name not in self.names:
                hint = nearest(name, self.names)
                raise ValueError(f"{self.path} has no {purpose} {name!r}{hint or '.'} {self.listed()}")

    def listed(self) -> str:
        """Return a sentence that names the columns."""
        return f"It has {', '.join(repr(name) for name in self.names[:8])}{', ...' if len(self.names) > 8 else '.'}"

    def is_whole(self, name: str) -> bool:
        """Return whether there is a column of that name without missing values."""
        return name in self.names and not self._missing(name).any()

    def _missing(self, name: str) -> np.ndarray:
        """Return a mask of the cells of a column that are empty, NaN, or a word for a missing value."""
        column = self._frame[name]
        missing = column.is_null()
        if column.dtype == self._polars.String:
            missing |= column.str.strip_chars().str.to_lowercase().is_in(MISSING_WORDS).fill_null(False)
        elif column.dtype.is_float():
            missing |= column.is_nan().fill_null(False)
        return missing.to_numpy()

    def _numbers(self, name: str) -> Any:
        """Return a column as a polars series of float64, with null for cells that are not numbers."""
        column, float64 = self._frame[name], self._polars.Float64
        if column.dtype == self._polars.String:
            return column.str.strip_chars().cast(float64, strict=False)
        if column.dtype.is_numeric() or column.dtype == self._polars.Boolean:
            return column.cast(float64)
        return self._polars.Series(name, [None], dtype=float64).new_from_index(0, len(column))

    def _is_text(self, name: str) -> bool:
        """Return whether a column holds words and not a single number."""
        numbers = self._numbers(name).fill_null(np.nan).to_numpy()
        return bool(np.isnan(numbers).all() and not self._missing(name).all())

    def values(self, name: str) -> np.ndarray:
        """Return a column of targets: numbers, booleans or strings. Raise ValueError if a value is missing."""
        column, missing = self._frame[name], self._missing(name)
        if missing.any():
            raise ValueError(
                f"{self._found(name, int(np.argmax(missing)))}. The target is missing in {self._share(missing)}: "
                "nothing can be learned from those, so remove them. If it is the name of a class, write it in another "
                "way"
            )
        if column.dtype == self._polars.Boolean:
            return column.to_numpy()
        numbers = self._numbers(name)
        if not (numbers.is_null() | numbers.is_nan()).any():
            self._refuse_infinite(name, numbers.to_numpy(), missing)
            self._refuse_rounded(name, numbers)
            return numbers.to_numpy()
        if column.dtype.is_nested():
            self._refuse_text([name])
        words = column.cast(self._polars.String)
        with_null = words.str.contains("\x00", literal=True)
        if with_null.any():
            self._refuse_cell(name, int(with_null.arg_max() or 0), "text")
        return words.to_numpy().astype(str)

    def category_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the columns of text. Raise ValueError for columns of dates or of nearly unique cells."""
        text = (self._polars.String, self._polars.Categorical, self._polars.Enum)
        found = [name for name in names if self._frame[name].dtype in text and self._is_text(name)]
        doubts = {name: doubt for name in found if (doubt := _doubt(self._frame[name]))}
        if doubts:
            shown = ", ".join(f"{name!r} ({doubt})" for name, doubt in list(doubts.items())[:SHOWN])
            first = next(iter(doubts))
            raise ValueError(
                f"{self.path}: --categorical without a name does not take all columns of text for categories: {shown}. "
                f"Leave {'it' if len(doubts) == 1 else 'each of them'} out with --ignore {first!r}, or insist with "
                f"--categorical {first!r}"
            )
        return found

    def table(self, names: Sequence[str], words: Collection[str] = (), advice: str | None = ADVICE) -> Table:
        """Return columns of numbers and columns of words.

        Parameters
        ----------
        names : sequence of str
            The columns, in their order.
        words : collection of str
            The columns that hold words.
        advice : str or None
            Advice in the message that refuses missing values. If None, missing values are accepted.

        Returns
        -------
        Table
        """
        self.require(names)
        words = set(words)
        numeric = [name for name in names if name not in words]
        matrix = np.empty((self.size, len(numeric)))
        for start in range(0, len(numeric), BLOCK):
            block = [self._numbers(name) for name in numeric[start : start + BLOCK]]
            for column in block:
                self._refuse_rounded(column.name, column)
            matrix[:, start : start + BLOCK] = self._polars.DataFrame(block).to_numpy()  # null becomes NaN
        odd = {name: matrix[:, j] for j, name in enumerate(numeric) if not np.isfinite(matrix[:, j]).all()}
        missing = {name: self._missing(name) for name in names if name in words or name in odd}
        text = [name for name in odd if self._is_text(name)]
        if text:
            self._refuse_text(text)
        for name, numbers in odd.items():
            self._refuse_infinite(name, numbers, missing[name])
        gaps = {name: rows for name, rows in missing.items() if rows.any()}
        if gaps and advice is not None:
            raise ValueError(self._missing_values(gaps, advice))
        places = {place: name for place, name in enumerate(names) if name in words}
        return Table(matrix, {place: self._words(name, missing[name]) for place, name in places.items()})

    def _words(self, name: str, missing: np.ndarray) -> np.ndarray:
        """Return the words of a column; None where one is missing."""
        column = self._frame[name]
        if column.dtype.is_nested():
            raise ValueError(f"{self.path}: column {name!r} holds {column.dtype}, which are no categories")
        found = as_words(column.to_list())
        found[missing] = None
        return found

    def _refuse_rounded(self, name: str, numbers: Any) -> None:
        """Raise ValueError if float64 would round an integer of a column: it may be an identifier."""
        if max(abs(numbers.min() or 0.0), abs(numbers.max() or 0.0)) < EXACT:
            return
        column = self._frame[name]
        if column.dtype.is_float():
            if not self._separator:
                return  # the file holds floats
            column = self._scan_csv(columns=[self.names.index(name)], infer_schema=False).to_series()
            column = column if self._rows is None else column[self._rows]
        cells = column.cast(self._polars.String).str.strip_chars()
        large = numbers.is_finite() & (numbers.abs() >= EXACT) & cells.str.contains(r"^[+-]?\d+$")
        for row in np.flatnonzero(large.fill_null(False).to_numpy()).tolist():
            if int(cells[row]) != int(numbers[row]):
                raise ValueError(
                    f"{self.path}, {self.place(row)}: column {name!r} holds {shortened(cells[row])}, an integer "
                    f"beyond 2^53, which float64 rounds to {int(numbers[row])}. If it is an identifier, leave it out "
                    "with --ignore or take it as a category; if it is a quantity, write it with a decimal point"
                )

    def _refuse_infinite(self, name: str, numbers: np.ndarray, missing: np.ndarray) -> None:
        bad = ~np.isfinite(numbers) & ~missing
        if bad.any():
            self._refuse_cell(name, int(np.argmax(bad)))

    def _refuse_cell(self, name: str, row: int, wanted: str = "a finite number") -> None:
        found, cell = self._found(name, row), self._frame[name][row]
        hint = ". If the value is missing, leave the cell empty" if str(cell).isalpha() and wanted != "text" else ""
        raise ValueError(found if found.endswith(wanted) else f"{found}, which is not {wanted}{hint}")

    def _refuse_text(self, names: list[str]) -> None:
        """Raise ValueError for columns without a single number, with advice that depends on the first cell."""
        holds, them = ("s", "it") if len(names) == 1 else ("", "them")
        cell = self._frame[names[0]][0]
        advice = f"take {them} as categories with --categorical, or leave {them} out with --ignore"
        if self._polars.Series([str(cell)]).str.contains(DATE).item():
            advice = f"replace dates by numbers, such as days since the first one, or leave {them} out with --ignore"
        elif is_number(DECORATION.sub("", str(cell))):
            advice = f"if these are numbers, write them like 1234.5, without %, currency or commas; if not, {advice}"
        raise ValueError(
            f"{self.path}: column{'' if holds else 's'} {listed(names)} hold{holds} no numbers (the first cell is "
            f"{shortened(repr(cell))}): {advice}"
        )

    def _missing_values(self, gaps: dict[str, np.ndarray], advice: str) -> str:
        """Return a message with the number of missing values of each column."""
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
        """Return a text with the position and the content of a cell."""
        cell = self._frame[name][row]
        holds = "is empty" if cell is None else f"holds {shortened(repr(cell))}"
        finite = ", which is not a finite number" if isinstance(cell, float) else ""
        return f"{self.path}, {self.place(row)}: column {name!r} {holds}{finite}"

    def place(self, row: int) -> str:
        """Return the line of a row in a CSV file, or its number in a Parquet file, as text."""
        if not self._separator:
            return f"row {row + 1 + (0 if self._part is None else self._part.start)}"
        record = 1 + (row if self._rows is None else int(self._rows[row]))  # the header is record 0
        return f"line {next(islice(records(self.path, self._separator), record, None))[0]}"


def _doubt(column: Any) -> str:
    """Return why a column of text is unlikely to hold categories (dates, nearly unique cells), or an empty string."""
    present = column.drop_nulls().cast(str).str.strip_chars()
    different = present.unique()
    if different.str.contains(DATE).all():
        return f"{len(different):,} date{'s' * (len(different) > 1)}"
    if len(different) > max(MANY, 0.5 * len(present)):
        return f"{len(different):,} different cells in {len(present):,} rows"
    return ""


# --- records of a CSV file, one by one: slow, and only to find a line -------------------------------------------------


def separator_of(path: Path) -> str:
    """Return the separator between fields: the most frequent one of the first line."""
    with opened(path) as stream:
        line = stream.read(PEEK).decode("utf-8-sig", "replace").lstrip().splitlines()[0]
    return max(SEPARATORS, key=line.count)


def records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the last line, and the fields, of every record, the header first.

    Blank lines have no fields. Those before the header are left out.
    """
    before = csv.field_size_limit(2**31 - 1)  # the default limit is 131,072 characters
    with opened(path) as stream:
        # bytes that are not UTF-8 become lone surrogates, which no valid text contains
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, delimiter=separator)
        numbered = ((reader.line_num, fields) for fields in reader)
        try:
            yield from dropwhile(lambda record: not record[1], numbered)
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
        finally:
            csv.field_size_limit(before)


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
    """Return whether a text contains bytes that are not UTF-8."""
    return any("\udc80" <= character <= "\udcff" for character in text)


def first_mistake(path: Path, separator: str) -> str | None:
    """Return a message about the first malformed line of a CSV file, or None if there is none."""
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
