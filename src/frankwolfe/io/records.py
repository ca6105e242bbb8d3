"""The records of a CSV file, one by one: slow, and only to say which line something is in."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import dropwhile, islice
from pathlib import Path

from frankwolfe.io.streams import PEEK, SEPARATORS, opened

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
