"""Sizes as users write them, in bytes."""

import re
from typing import Any

import numpy as np

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def as_bytes(name: str, size: Any) -> int:
    """Return a size in bytes, from a number of them or a text such as ``"1.5GB"`` or ``"512MiB"``.

    Examples
    --------
    >>> as_bytes("memory", "1.5GB"), as_bytes("memory", 2**20)
    (1500000000, 1048576)
    """
    if isinstance(size, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]i?)?b?\s*", size.lower())
        if found is None:
            raise ValueError(f"{name} must be a number of bytes or a text such as '1.5GB' or '512MiB', got {size!r}")
        size = int(float(found[1]) * UNITS[found[2] or ""])
    if isinstance(size, bool) or not isinstance(size, int | np.integer):
        raise TypeError(f"{name} must be a number of bytes or a text such as '1.5GB', got {type(size).__name__}")
    if size < 1:
        raise ValueError(f"{name} must be positive, got {size}")
    return int(size)
