"""The arrays in a ``.npz`` file, read with care: whole, of a size that was expected, and never as objects."""

import zipfile
from collections.abc import Sequence
from io import BytesIO
from typing import BinaryIO

import numpy as np

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
