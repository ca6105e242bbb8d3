"""Files that are there whole or not at all."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a file to write that takes its name once it is whole; if anything goes wrong, what was there stays.

    The unfinished file lies in the same folder, so that the last move is one within a file system.

    Parameters
    ----------
    path : str or Path
        What to write; replaced if it exists.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as stream:
    ...         _ = stream.write(b"all of it")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    path = Path(os.path.realpath(path))  # what a link points at is replaced, and not the link
    if path.exists() and not path.is_file():  # a folder, or a device that a rename would do away with
        raise OSError(f"{path} is not a file that could be replaced")
    unfinished = path.with_name(_unfinished(path, uuid4().hex))  # nobody else's, in whatever thread or process
    try:
        with unfinished.open("xb") as stream:
            if path.exists():
                os.chmod(stream.fileno(), stat.S_IMODE(path.stat().st_mode))  # who may read it stays as it was
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
        _settle(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def remove_unfinished(path: str | os.PathLike) -> None:
    """Remove what processes that were killed have left of a file: for whoever is the only one to write it."""
    path = Path(os.path.realpath(path))
    for left in path.parent.glob(_unfinished(Path(escape(path.name)), "*")):
        left.unlink(missing_ok=True)


def _unfinished(path: Path, mark: str) -> str:
    """Return the name of a file while it is written: hidden, and with its own name for those who find one left over."""
    return f".{path.name[:180]}.{mark}.unfinished"


def _settle(folder: Path) -> None:
    """See to it that a new name in a folder outlives a power failure, where the system has a way to say so."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    except OSError:  # some file systems of networks cannot
        pass
    finally:
        os.close(handle)
