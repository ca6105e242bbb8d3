"""Files that are written atomically, and ``.npz`` files of arrays, numbers and strings that are read without trust.

A reader checks the size of each array before it is decompressed, so that a small file cannot exhaust the memory. It
never unpickles objects.
"""

import errno
import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np

from frankwolfe import __version__


def take_lock(handle: int) -> None:
    """Lock an open file without waiting; raise OSError if another process or thread holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def open_regular(path: str | os.PathLike) -> BinaryIO:
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
    return Path(path).open("rb")


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
    with suppress(OSError):  # Windows cannot open folders, and some network file systems cannot flush them
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# --- arrays, numbers and strings in a .npz file -----------------------------------------------------------------------

LARGEST = 2**32
"""Largest total size, in bytes, of the arrays of a compressed file."""


class Archive:
    """The values and arrays of a ``.npz`` file that `write_flat` wrote. Each array is read on demand.

    Parameters
    ----------
    stream : binary file
        The open file. It must stay open while arrays are read.
    packed : bool
        Whether arrays may be compressed. If so, they may take at most `LARGEST` bytes in total. If not, the size of the
        file bounds their size.

    Attributes
    ----------
    about : dict
        Kind, version, names of the arrays, and all values that are no arrays.
    """

    def __init__(self, stream: BinaryIO, packed: bool):
        self._archive = zipfile.ZipFile(stream)
        entries = self._archive.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if len(self._entries) < len(entries):
            raise ValueError("it holds two arrays of one name")
        if packed:
            _require_size(sum(entry.file_size for entry in entries))
        elif any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its arrays are compressed")
        self.about: dict[str, Any] = json.loads(str(self["about"]))
        if not isinstance(self.about, dict) or not isinstance(self.about["values"], dict):
            raise ValueError("it does not say what it is")

    def require(self, kind: str, version: int) -> None:
        """Raise ValueError unless the file is of this kind and version, and holds the arrays that it lists."""
        if self.about["kind"] != kind:
            raise ValueError(f"it is a {self.about['kind']}")
        if self.about["version"] != version:
            raise ValueError(
                f"its layout has version {self.about['version']}, written by frankwolfe {self.about['frankwolfe']}; "
                f"frankwolfe {__version__} reads version {version}"
            )
        expected, there = {*self.about["arrays"], "about"}, {*self._entries}
        if expected != there:
            raise ValueError(f"its list of arrays and the arrays differ in {', '.join(sorted(expected ^ there))}")

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> np.ndarray:
        return self.array(name)

    def array(self, name: str, size: int | None = None) -> np.ndarray:
        """Return an array. If it has more than ``size`` entries of 8 bytes, refuse it before it is decompressed."""
        entry = self._entries[name]
        if size is not None and entry.file_size > 8 * size + 2**16:  # the header is shorter
            raise ValueError(f"its array {name} is larger than {size:,} numbers")
        content = self._archive.read(entry)  # zipfile verifies the checksum
        stream = BytesIO(content)
        found = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.tell() != len(content):
            raise ValueError(f"its array {name} is not where it ends")
        return found


def _require_size(total: int) -> None:
    """Raise ValueError if the total size of arrays exceeds `LARGEST` bytes."""
    if total > LARGEST:
        raise ValueError(f"its arrays take {total / 2**30:.3g} GiB; a model's may take {LARGEST / 2**30:g}")


@contextmanager
def reading(path: str | os.PathLike, kind: str, version: int, packed: bool = False) -> Iterator[Archive]:
    """Open a file that `write_flat` wrote. Turn any error within the context into a ValueError that names the file.

    The parameters are those of `write_flat`. OSError is raised if the file does not exist or cannot be opened.
    """
    if not isinstance(path, str | os.PathLike):  # Python interprets an int as a file descriptor
        raise TypeError(f"path must be the name of a file, got {type(path).__name__}")
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{path} does not exist")
    with open_regular(path) as stream:
        try:
            archive = Archive(stream, packed)
            archive.require(kind, version)
            yield archive
        except Exception as error:  # readers of damaged files may raise anything
            raise ValueError(f"{path} cannot be read as a {kind}: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Return a message about a damaged file, for an error that was raised while it was read."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing in it"
    if isinstance(error, RecursionError):
        return "what it says of itself is nested too deeply"
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    return str(error) or type(error).__name__


def write_flat(
    path: str | os.PathLike, kind: str, version: int, values: Mapping[str, Any], packed: bool = False
) -> None:
    """Write a flat mapping to a file. If that raises OSError, an existing file is left unchanged.

    Parameters
    ----------
    path : str or Path
        The file; replaced if it exists.
    kind : str
        Kind of the file, which `reading` and `read_flat` compare.
    version : int
        Version of the format, which they compare.
    values : mapping
        Arrays, numbers, strings and other JSON data by name.
    packed : bool
        Whether to compress the arrays.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_flat(f"{folder}/file", "diary", 1, {"x": np.arange(3.0), "day": 7, "gap": float("inf")})
    ...     read_flat(f"{folder}/file", "diary", 1)
    {'day': 7, 'gap': inf, 'x': array([0., 1., 2.])}
    """
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    about = {
        "kind": kind,
        "version": version,
        "frankwolfe": __version__,
        "values": {name: value for name, value in values.items() if name not in arrays},
        "arrays": sorted(arrays),
    }
    # JSON preserves floats exactly, also infinity and NaN; NumPy's numbers are written as Python's
    arrays["about"] = np.array(json.dumps(about, default=np.generic.item))
    if packed:
        _require_size(sum(array.nbytes for array in arrays.values()))
    with replacing(path) as stream:
        (np.savez_compressed if packed else np.savez)(stream, **arrays)  # type: ignore[arg-type]


def read_flat(path: str | os.PathLike, kind: str, version: int) -> dict[str, Any]:
    """Return a mapping that `write_flat` wrote, whole. Raise OSError or ValueError as `reading` does."""
    with reading(path, kind, version) as archive:
        return archive.about["values"] | {name: archive[name] for name in archive.about["arrays"]}


def is_flat(path: str | os.PathLike, kind: str, packed: bool = False) -> bool:
    """Return whether a file is of this kind, of any version."""
    with suppress(Exception), open_regular(path) as stream:
        return bool(Archive(stream, packed).about["kind"] == kind)
    return False
