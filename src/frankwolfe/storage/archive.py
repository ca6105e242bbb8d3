"""Arrays, numbers and strings by name in ``.npz`` files, read with all sizes checked and never as objects."""

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
"""Bytes that all arrays of a file may take together."""

HEADER = 2**16
"""Bytes that an array's header may take."""


def require_size(total: int) -> None:
    """Raise ValueError if arrays take more bytes than those of any model should."""
    if total > LARGEST:
        raise ValueError(f"its arrays take {total / 2**30:.3g} GiB; a model's may take {LARGEST / 2**30:g}")


class Archive:
    """The arrays of a file, each unpacked when it is asked for.

    Parameters
    ----------
    stream : binary file
        Open to read, and open as long as arrays are asked for.
    packed : bool
        Whether arrays may be compressed. They may not take more than `LARGEST` bytes then. Where nothing is compressed,
        the size of the file is the limit.

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
            Its name.
        size : int, optional
            How many numbers of 8 bytes it may have at most: more are refused before they are unpacked.

        Returns
        -------
        array
        """
        entry = self._entries[name]
        if size is not None and entry.file_size > 8 * size + HEADER:
            raise ValueError(f"its array {name} is larger than {size:,} numbers")
        if entry.flag_bits & 1:
            raise ValueError(f"its array {name} is encrypted")
        content = self._archive.read(entry)  # compared with its checksum
        stream = BytesIO(content)
        found = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.tell() != len(content):
            raise ValueError(f"its array {name} is not where it ends")
        return found


def reason(error: Exception) -> str:
    """Return what is wrong with a file, for errors that say it and for those that do not."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing in it"
    if isinstance(error, RecursionError):
        return "what it says of itself is nested too deeply"
    if isinstance(error, MemoryError):
        return "it asks for more memory than there is"
    return str(error) or type(error).__name__


def write_flat(path: str | os.PathLike, kind: str, version: int, values: Mapping[str, Any]) -> None:
    """Write a flat mapping; if that fails, with an OSError, what was there before still is.

    Parameters
    ----------
    path : str or Path
        The file; replaced if it exists.
    kind : str
        What it is: who reads it must expect the same.
    version : int
        Of what the names and values mean.
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
    """Return what `write_flat` was given.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be opened.
    ValueError
        If it is damaged, or of another kind, or of a later version.
    """
    if not isinstance(path, str | os.PathLike):  # Python would take a number for an open file
        raise TypeError(f"path must be the name of a file, got {type(path).__name__}")
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{path} does not exist")
    with open_regular(path) as stream:
        try:
            return _values_in(Archive(stream, packed=False), kind, version)
        except Exception as error:  # damage can make any reader raise anything, and all of it means the same
            raise ValueError(f"{path} cannot be read as a {kind}: {reason(error)}") from None


def is_flat(path: str | os.PathLike, kind: str) -> bool:
    """Whether a file is of this kind, whatever its version."""
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
    """Return a number or a string as JSON has it. Numbers come back to the last bit, infinity and NaN too."""
    return value.item() if isinstance(value, np.generic) else value


def _contiguous(array: np.ndarray) -> np.ndarray:
    """Return an array that a file can hold in its own layout: rows first or columns first."""
    flags = array.flags
    return array if flags.c_contiguous or flags.f_contiguous else array.copy(order="K")
