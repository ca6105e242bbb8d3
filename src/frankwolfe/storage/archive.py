"""Named arrays, numbers and strings in ``.npz`` files. Reads check all sizes and never unpickle objects."""

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np

from frankwolfe import __version__
from frankwolfe.storage.files import open_regular, replacing

LARGEST = 2**32
"""Largest total size, in bytes, of the arrays of a compressed file."""

HEADER = 2**16
"""Largest size of the header of an array in bytes."""


def require_size(total: int) -> None:
    """Raise ValueError if the total size of arrays exceeds `LARGEST` bytes."""
    if total > LARGEST:
        raise ValueError(f"its arrays take {total / 2**30:.3g} GiB; a model's may take {LARGEST / 2**30:g}")


class Archive:
    """The arrays of a ``.npz`` file, each read on demand.

    Parameters
    ----------
    stream : binary file
        The open file. It must stay open while arrays are read.
    packed : bool
        Whether arrays may be compressed. If so, they may take at most `LARGEST` bytes in total. If not, the size of the
        file bounds their size.

    Examples
    --------
    >>> stream = BytesIO()
    >>> np.savez_compressed(stream, x=np.arange(3.0))
    >>> archive = Archive(stream)
    >>> "x" in archive, archive.array("x")
    (True, array([0., 1., 2.]))
    """

    def __init__(self, stream: BinaryIO, packed: bool = True):
        try:
            self._archive = zipfile.ZipFile(stream)
        except zipfile.BadZipFile:
            raise ValueError("it is not a whole .npz file") from None
        entries = self._archive.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if len(self._entries) < len(entries):
            raise ValueError("it holds two arrays of one name")
        if packed:
            require_size(sum(entry.file_size for entry in entries))
        elif any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its arrays are compressed")

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> np.ndarray:
        return self.array(name)

    def require(self, names: Sequence[str]) -> None:
        """Raise ValueError unless the file holds these arrays, ``about`` and no others."""
        expected, there = {*names, "about"}, {*self._entries}
        if expected != there:
            raise ValueError(f"its list of arrays and the arrays differ in {', '.join(sorted(expected ^ there))}")

    def array(self, name: str, size: int | None = None) -> np.ndarray:
        """Return an array.

        Parameters
        ----------
        name : str
            Name of the array.
        size : int, optional
            Largest number of entries of 8 bytes. A larger array is refused before it is decompressed.

        Returns
        -------
        array
        """
        entry = self._entries[name]
        if size is not None and entry.file_size > 8 * size + HEADER:
            raise ValueError(f"its array {name} is larger than {size:,} numbers")
        if entry.flag_bits & 1:
            raise ValueError(f"its array {name} is encrypted")
        content = self._archive.read(entry)  # zipfile verifies the checksum
        stream = BytesIO(content)
        found = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.tell() != len(content):
            raise ValueError(f"its array {name} is not where it ends")
        return found


def reason(error: Exception) -> str:
    """Return a message about a damaged file, for an error that was raised while it was read."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing in it"
    if isinstance(error, RecursionError):
        return "what it says of itself is nested too deeply"
    if isinstance(error, MemoryError):
        return "it asks for more memory than there is"
    return str(error) or type(error).__name__


def write_flat(path: str | os.PathLike, kind: str, version: int, values: Mapping[str, Any]) -> None:
    """Write a flat mapping to a file. If that raises OSError, an existing file is left unchanged.

    Parameters
    ----------
    path : str or Path
        The file; replaced if it exists.
    kind : str
        Kind of the file, which `read_flat` compares.
    version : int
        Version of the format, which `read_flat` compares.
    values : mapping
        Arrays, numbers and strings by name.

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
        "values": {name: _plain(value) for name, value in values.items() if name not in arrays},
        "arrays": sorted(arrays),
    }
    arrays = {name: _contiguous(array) for name, array in arrays.items()}
    with replacing(path) as stream:
        np.savez(stream, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]


def read_flat(path: str | os.PathLike, kind: str, version: int) -> dict[str, Any]:
    """Read a mapping that `write_flat` wrote.

    Raises
    ------
    OSError
        If the file does not exist or cannot be opened.
    ValueError
        If the file is damaged, or of another kind or version.
    """
    if not isinstance(path, str | os.PathLike):  # Python interprets an int as a file descriptor
        raise TypeError(f"path must be the name of a file, got {type(path).__name__}")
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{path} does not exist")
    with open_regular(path) as stream:
        try:
            return _values_in(Archive(stream, packed=False), kind, version)
        except Exception as error:  # readers of damaged files may raise anything
            raise ValueError(f"{path} cannot be read as a {kind}: {reason(error)}") from None


def is_flat(path: str | os.PathLike, kind: str) -> bool:
    """Return whether a file is of this kind, of any version."""
    try:
        with open_regular(path) as stream:
            return bool(_about(Archive(stream, packed=False))["kind"] == kind)
    except Exception:  # as in `read_flat`
        return False


def _values_in(archive: Archive, kind: str, version: int) -> dict[str, Any]:
    about = _about(archive)
    if about["kind"] != kind:
        raise ValueError(f"it is a {about['kind']}")
    if about["version"] != version:
        made = about["frankwolfe"]
        raise ValueError(
            f"its layout has version {about['version']}, written by frankwolfe {made}; "
            f"frankwolfe {__version__} reads version {version}"
        )
    archive.require(about["arrays"])
    return about["values"] | {name: archive.array(name) for name in about["arrays"]}


def _about(archive: Archive) -> dict:
    about = json.loads(str(archive.array("about")))
    if not isinstance(about, dict) or not isinstance(about["values"], dict):
        raise ValueError("it does not say what it is")
    return about


def _plain(value: Any) -> Any:
    """Return a number or a string as a Python object. JSON preserves floats exactly, also infinity and NaN."""
    return value.item() if isinstance(value, np.generic) else value


def _contiguous(array: np.ndarray) -> np.ndarray:
    """Return an array that is contiguous in C or Fortran order: a copy if it is neither."""
    flags = array.flags
    return array if flags.c_contiguous or flags.f_contiguous else array.copy(order="K")
