"""What kind of file it is, by its first bytes: names lie, and files of the LIBSVM collection have no ending at all."""

import bz2
import gzip
import re
from pathlib import Path
from typing import Any, BinaryIO

PEEK = 2**16
"""Bytes to look at."""

SEPARATORS = (",", ";", "\t")
"""What may stand between the fields of a CSV file: the one that is most frequent in its first line does."""

_PAIR = re.compile(rb"^\s*[^\s,;#]+(\s+[^\s,;#:]+:[^\s,;#]+)+\s*(#.*)?$")
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}


def opened(path: Path) -> BinaryIO:
    """Open a file to read its bytes, decompressed if it is a gzip or bzip2 file."""
    stream = path.open("rb")
    start = stream.read(3)
    for magic, opener in _OPENERS.items():
        if start.startswith(magic):
            stream.close()
            return opener(path, "rb")
    stream.seek(0)
    return stream


def kind_of(path: Path) -> str:
    """Return ``"parquet"``, ``"svmlight"`` or ``"csv"``, or say that the file is none of these.

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
    lines = [line for line in start.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    if not lines:
        raise ValueError(f"{path} is empty")
    if any(_PAIR.match(line) for line in lines[:100]):
        return "svmlight"
    if b"\x00" not in start and any(separator.encode() in lines[0] for separator in SEPARATORS):
        return "csv"
    raise ValueError(
        f"{path} is not in a format that can be read: CSV with a header line (and commas, semicolons or tabs between "
        "fields), Parquet or svmlight, each also as .gz or .bz2"
    )
