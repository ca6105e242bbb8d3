"""Files that are complete or absent: locks, atomic replacement, and opening regular files only."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


def take_lock(handle: int) -> None:
    """Lock an open file without waiting; raise OSError if another process or thread holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


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


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a file to write that takes its name once it is whole; if anything goes wrong, what was there stays.

    The unfinished file lies in the same folder, so that the last move is one within a file system. It is locked while
    it is written: those without a lock were left by processes that were killed, and the next writer removes them.

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
    remove_unfinished(path)
    unfinished, opened = _begun(path)
    try:
        with opened as stream:
            if path.exists():
                os.chmod(stream.fileno(), stat.S_IMODE(path.stat().st_mode))  # who may read it stays as it was
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if os.name != "nt":  # while it is locked: another writer must not take it for a left-over
                unfinished.replace(path)
        if os.name == "nt":  # Windows renames no open file
            unfinished.replace(path)
        _settle(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _begun(path: Path) -> tuple[Path, BinaryIO]:
    """Create and lock a file to write to, under a name that no other thread or process has."""
    while True:
        unfinished = new_unfinished(path)
        stream = unfinished.open("xb")
        taken = False
        try:
            take_lock(stream.fileno())
        except BlockingIOError:  # another writer is about to remove the file as a left-over: it was not locked yet
            taken = True
        except OSError:  # some file systems have no locks
            pass
        if not taken and unfinished.exists():
            return unfinished, stream
        stream.close()


def remove_unfinished(path: str | os.PathLike) -> None:
    """Remove what processes that were killed have left of a file; what a living one writes is locked, and stays."""
    for left in unfinished_of(Path(os.path.realpath(path))):
        with suppress(OSError), left.open("rb+") as stream:
            take_lock(stream.fileno())
            left.unlink()


def new_unfinished(path: Path) -> Path:
    """Return a name for a file while it is written: hidden, and with its own name for those who find one left over."""
    return path.with_name(f".{path.name[:180]}.{uuid4().hex}.unfinished")


def unfinished_of(path: Path) -> list[Path]:
    """Return the unfinished files, or folders, of a path."""
    name = re.compile(rf"\.{re.escape(path.name[:180])}\.[0-9a-f]+\.unfinished")
    with suppress(OSError), os.scandir(path.parent) as entries:
        return [path.parent / entry.name for entry in entries if name.fullmatch(entry.name)]
    return []


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
