"""Data in columns with names: CSV and Parquet, through polars, one package that reads both.

polars is fast and does not say which line it stumbled over. If it does stumble, the standard library's reader goes
through the file once more for the line.
"""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from frankwolfe.files.streams import PEEK, SEPARATORS, opened
from frankwolfe.names import nearest


class Columns:
    """The columns of a file.

    Parameters
    ----------
    path : Path
        The file, perhaps compressed.
    kind : str
        ``"csv"`` or ``"parquet"``.
    """

    def __init__(self, path: Path, kind: str):
        try:
            import polars
        except ImportError:
            raise ImportError("CSV and Parquet files need polars: pip install 'frankwolfe[cli]'") from None
        self._polars = polars
        self.path = path
        self._separator = _separator(path) if kind == "csv" else None
        try:
            with opened(path) as stream:
                self._frame = polars.read_parquet(stream) if kind == "parquet" else self._read_csv(stream)
        except polars.exceptions.PolarsError as error:
            raise ValueError(self._first_mistake() or f"{path}: {str(error).splitlines()[0]}") from None
        self._rows = self._not_blank()
        if not len(self._rows):
            raise ValueError(f"{path} holds no rows")

    def _read_csv(self, stream: Any) -> Any:
        self._check_header()
        # types follow from all rows: a column is numbers if every cell is
        return self._polars.read_csv(stream, separator=str(self._separator), infer_schema_length=None)

    def _check_header(self) -> None:
        names = next(iter(self._records()))[1]
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise ValueError(f"{self.path}: the header names column {twice[0]!r} twice")
        if all(_is_number(name) for name in names):
            raise ValueError(
                f"{self.path}: the first line is numbers; a CSV file needs a header line with column names"
            )

    def _records(self) -> Any:
        """Yield line number and fields of every record of a CSV file, the header first."""
        with opened(self.path) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
            reader = csv.reader(text, delimiter=str(self._separator))
            for fields in reader:
                yield reader.line_num, fields

    def _first_mistake(self) -> str | None:
        """Say which line of a CSV file does not fit."""
        if self._separator is None:
            return f"{self.path} is not a whole Parquet file"
        records = iter(self._records())
        width = len(next(records)[1])
        for line, fields in records:
            if len(fields) > width:
                return f"{self.path}, line {line}: {len(fields)} fields, but the header has {width}"
            if any("\ufffd" in field for field in fields):
                return f"{self.path}, line {line}: not UTF-8 text"
        return None

    def _not_blank(self) -> np.ndarray:
        """Return the numbers of the rows that hold anything."""
        blank = self._frame.select(self._polars.all_horizontal(self._polars.all().is_null())).to_series()
        return np.flatnonzero(~blank.to_numpy()) if len(self._frame) else np.zeros(0, dtype=int)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self._frame.columns

    def whole_names(self) -> list[str]:
        """Return the names of the columns in which every cell is filled."""
        return [name for name in self.names if not self._missing(self._frame[name]).any()]

    def require(self, names: Any, purpose: str = "column") -> None:
        """Raise ValueError unless there are columns of all these names."""
        for name in names:
            if name not in self.names:
                hint = nearest(name, self.names)
                raise ValueError(f"{self.path} has no {purpose} {name!r}{hint or '.'} {self.listed()}")

    def listed(self) -> str:
        """Say which columns there are."""
        return f"It has {', '.join(repr(name) for name in self.names[:8])}{', ...' if len(self.names) > 8 else '.'}"

    def values(self, name: str) -> np.ndarray:
        """Return a column as numbers or truth values if it is that, else as words; every cell must be filled."""
        self.require([name])
        column = self._frame[name]
        self._refuse_gaps(column)
        if column.dtype == self._polars.Boolean:
            return column.to_numpy()[self._rows]
        numbers = self._numbers(column)
        if numbers is not None:
            bad = np.isnan(numbers[self._rows])
            if not bad.any():
                return numbers[self._rows]
            if column.dtype.is_numeric():
                self._refuse_cell(name, int(np.argmax(bad)))
        if column.dtype.is_nested():
            self._refuse_words([name])
        return column.cast(self._polars.String).to_numpy()[self._rows].astype(str)

    def matrix(self, names: list[str]) -> np.ndarray:
        """Return columns of numbers as a matrix, or say which are none."""
        self.require(names)
        parts, words = [], []
        for name in names:
            numbers = self._numbers(self._frame[name])
            if numbers is None or np.isnan(numbers[self._rows]).all():
                words.append(name)
            else:
                parts.append(numbers[self._rows])
        if words:
            self._refuse_words(words)
        for name, numbers in zip(names, parts, strict=True):
            bad = np.flatnonzero(~np.isfinite(numbers))
            if bad.size:
                self._refuse_cell(name, int(bad[0]))
        return np.column_stack(parts)

    def _numbers(self, column: Any) -> np.ndarray | None:
        """Return a column as float64, NaN where a cell is no number; None if it is of a type that holds none."""
        polars = self._polars
        if column.dtype == polars.String:
            column = column.str.strip_chars()
        elif not (column.dtype.is_numeric() or column.dtype == polars.Boolean):
            return None
        return column.cast(polars.Float64, strict=False).fill_null(np.nan).to_numpy()

    def _missing(self, column: Any) -> np.ndarray:
        return column.is_null().to_numpy()[self._rows]

    def _refuse_gaps(self, column: Any) -> None:
        missing = self._missing(column)
        if missing.any():
            self._refuse_cell(column.name, int(np.argmax(missing)))

    def _refuse_cell(self, name: str, row: int) -> None:
        cell = self._frame[name][int(self._rows[row])]
        what = "is empty" if cell is None else f"holds {cell!r}, which is not a finite number"
        raise ValueError(f"{self.path}, {self.place(row)}: column {name!r} {what}")

    def _refuse_words(self, names: list[str]) -> None:
        shown = ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
        holds, them = ("s", "it") if len(names) == 1 else ("", "them")
        raise ValueError(
            f"{self.path}: column{'' if holds else 's'} {shown} hold{holds} no numbers "
            f"(the first cell is {self._frame[names[0]][int(self._rows[0])]!r}): encode {them} as numbers first, "
            f"or leave {them} out with --ignore"
        )

    def place(self, row: int) -> str:
        """Say where a row is, blank ones not counted: the line of a CSV file, or the number of the row."""
        if self._separator is None:
            return f"row {row + 1}"
        records = iter(self._records())
        for _ in range(int(self._rows[row]) + 1):  # the header is a record too
            next(records)
        return f"line {next(records)[0]}"


def _separator(path: Path) -> str:
    """Return what stands between the fields."""
    with opened(path) as stream:
        line = stream.read(PEEK).decode("utf-8-sig", "replace").lstrip().splitlines()[0]
    return max(SEPARATORS, key=line.count)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
