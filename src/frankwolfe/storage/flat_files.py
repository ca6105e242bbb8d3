"""Flat mappings in files: arrays, numbers and strings by name, whole or not at all, and nothing in them is code.

A file is a ``.npz`` archive. Arrays are stored as they are, each with a checksum. The array ``about`` is JSON: all
that is no array, and the names of the arrays.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe import __version__
from frankwolfe.storage.archive import Archive, reason
from frankwolfe.storage.atomic import replacing
from frankwolfe.storage.regular_files import open_regular


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
