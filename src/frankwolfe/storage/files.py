"""Locks, atomic replacement of files, and opening of regular files only."""

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
        If the file does not exist.
    OSError
        If the file cannot be opened.
    ValueError
        If the path is a folder, a pipe, a device, or a symbolic link to itself.

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
    """Open a temporary file that replaces ``path`` at the end of the context. After an error, ``path`` is unchanged.

    The temporary file is in the same folder, so that the final rename stays within a file system and is atomic. It is
    locked while it is written. Temporary files without a lock were left by killed processes; the next writer removes
    them.

    Parameters
    ----------
    path : str or Path
        The file to write; replaced if it exists.

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
    path = Path(os.path.realpath(path))  # replace the target of a symbolic link, not the link
    if path.exists() and not path.is_file():  # a folder, or a device, which a rename would remove
        raise OSError(f"{path} is not a file that could be replaced")
    remove_unfinished(path)
    unfinished, opened = _new_locked_file(path)
    try:
        with opened as stream:
            if path.exists():
                os.chmod(stream.fileno(), stat.S_IMODE(path.stat().st_mode))  # keep the permissions
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if os.name != "nt":  # while it is locked, so that no other writer removes it as a left-over
                unfinished.replace(path)
        if os.name == "nt":  # Windows cannot rename an open file
            unfinished.replace(path)
        _flush_folder(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _new_locked_file(path: Path) -> tuple[Path, BinaryIO]:
    """Create and lock a temporary file with a unique name."""
    while True:
        unfinished = new_unfinished(path)
        stream = unfinished.open("xb")
        taken = False
        try:
            take_lock(stream.fileno())
        except BlockingIOError:  # another writer has locked it first, to remove it as a left-over
            taken = True
        except OSError:  # some file systems have no locks
            pass
        if not taken and unfinished.exists():
            return unfinished, stream
        stream.close()


def remove_unfinished(path: str | os.PathLike) -> None:
    """Remove the temporary files of a path that were left by killed processes. Files in use are locked, and stay."""
    for left in unfinished_of(Path(os.path.realpath(path))):
        with suppress(OSError), left.open("rb+") as stream:
            take_lock(stream.fileno())
            left.unlink()


def new_unfinished(path: Path) -> Path:
    """Return a unique, hidden name for a temporary file. It contains the name of the final file."""
    return path.with_name(f".{path.name[:180]}.{uuid4().hex}.unfinished")


def unfinished_of(path: Path) -> list[Path]:
    """Return the temporary files or folders of a path."""
    name = re.compile(rf"\.{re.escape(path.name[:180])}\.[0-9a-f]+\.unfinished")
    with suppress(OSError), os.scandir(path.parent) as entries:
        return [path.parent / entry.name for entry in entries if name.fullmatch(entry.name)]
    return []


def _flush_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a rename in it survives a power failure. Do nothing if that is not supported."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders
        return
    try:
        os.fsync(handle)
    except OSError:  # not supported by some network file systems
        pass
    finally:
        os.close(handle)
