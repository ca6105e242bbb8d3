"""Open files, decompress them, and recognise their format by the first bytes.

The name of a file may be wrong, and files of the LIBSVM collection have no suffix.
"""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from frankwolfe.io.tables import shortened

PEEK = 2**16
"""Bytes from which the format is recognised."""

SEPARATORS = (",", ";", "\t", "|")
"""Separators of a CSV file. The most frequent one of the first line is used."""

_PAIR = re.compile(rb"^\s*[^\s,;#]+(\s+[^\s,;#:]+:[^\s,;#]+)+\s*(#.*)?$")
_LABELS = re.compile(rb"^\s*[+-]?\d+(,[+-]?\d+)+(\s+\d+:[^\s,;#]+)+\s*(#.*)?$")


_OPENERS: dict[bytes, Callable[[Path, str], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}

FORMATS = (
    "CSV with a header line (and commas, semicolons, tabs or | between fields), Parquet or svmlight, each also as .gz, "
    ".bz2 or .xz"
)
"""Formats that can be read."""


def _opener(path: Path) -> Callable[[Path, str], Any] | None:
    """Return the function that opens a compressed file, or None if it is not compressed."""
    with path.open("rb") as stream:
        start = stream.read(max(map(len, _OPENERS)))
    return next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed."""
    return _opener(path) is not None


def opened(path: Path) -> BinaryIO:
    """Open a file to read its bytes, decompressed if it is a gzip, bzip2 or xz file."""
    opener = _opener(path)
    return path.open("rb") if opener is None else opener(path, "rb")


@contextmanager
def refusing_damage(path: Path) -> Iterator[None]:
    """Turn the errors of decompressors on damaged or truncated files into one ValueError."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged, or not whole: {error}") from None
    except OSError as error:
        if error.errno is not None:  # an error of the system, such as no permission
            raise
        raise ValueError(f"{path} is damaged, or not whole: {error}") from None


def require_file(path: Path) -> None:
    """Raise OSError unless there is a file that can be read more than once."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if not path.is_file():
        raise OSError(f"{path} is a pipe or a device, not a file: write the data to a file first")


def kind_of(path: Path) -> str:
    """Return ``"parquet"``, ``"svmlight"`` or ``"csv"``; raise ValueError if the file is none of these.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "data.txt"
    ...     _ = path.write_text("+1 3:0.5 7:2")
    ...     kind_of(path)
    'svmlight'
    """
    with opened(path) as stream:
        start = stream.read(PEEK)
    if start.startswith(b"PAR1"):
        return "parquet"
    _refuse_binary(path, start)
    if len(start) == PEEK:
        start = start[: max(start.rfind(space) for space in (b" ", b"\t", b"\n")) + 1] or start  # no truncated pair
    lines = [line for line in start.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    if not lines:
        raise ValueError(f"{path} is empty" if not start.strip() else f"{path} holds no rows: only remarks")
    if _LABELS.match(lines[0]) or any(_PAIR.match(line) for line in lines[:100]):
        return "svmlight"
    if any(separator.encode() in lines[0] for separator in SEPARATORS):
        return "csv"
    first = shortened(lines[0].decode("utf-8", "replace").strip())
    raise ValueError(f"{path} is not in a format that can be read: {FORMATS}. Its first line is {first!r}")


def _refuse_binary(path: Path, start: bytes) -> None:
    """Raise ValueError if a file is not text, with what it may be."""
    if start.startswith(b"PK\x03\x04"):
        raise ValueError(
            f"{path} is a zip archive, such as a model that 'frankwolfe fit' wrote, and not data: {FORMATS}"
        )
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        raise ValueError(f"{path} is compressed with zstd: decompress it, or compress it with gzip, bzip2 or xz")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{path} is UTF-16 text: save it as UTF-8")
    if b"\x00" in start:
        raise ValueError(f"{path} is not text (it holds NUL bytes), and not in a format that can be read: {FORMATS}")
