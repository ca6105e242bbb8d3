"""Regular files, opened to read: a pipe in the place of one would wait for ever for somebody to write."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: str | os.PathLike, buffering: int = -1) -> BinaryIO:
    """Open a regular file to read its bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    OSError
        If it cannot be opened.
    ValueError
        If it is something else: a folder, a pipe, a device, or a link that leads back to itself.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_regular(folder)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ... is not a file, but a folder, a pipe or a device
    """
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ValueError(f"{path} is a link that leads back to itself, and to no file") from None
    if not regular:
        raise ValueError(f"{path} is not a file, but a folder, a pipe or a device")
    return Path(path).open("rb", buffering=buffering)
