"""A line of an svmlight file, in plain Python: what it says, or what is wrong with it."""

import math
import re
from typing import NamedTuple

LARGEST_INDEX = 2**31 - 1
"""Column numbers are 32-bit integers."""

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Line(NamedTuple):
    """What a line says."""

    target: float
    indices: list[int]
    values: list[float]


def finite_number(token: bytes) -> float | None:
    """Return a number, or None for what is no finite one. Python's underscores and names of infinity are none."""
    value = float(token) if _NUMBER.fullmatch(token) else math.nan
    return value if math.isfinite(value) else None


def parse_line(line: bytes) -> Line | None:
    """Read ``target index:value ... # remark``; None for a line without a target.

    Examples
    --------
    >>> parse_line(b"+1 qid:7 2:0.5 10:3 # first")
    Line(target=1.0, indices=[2, 10], values=[0.5, 3.0])
    >>> parse_line(b"1 3:1 2:1")
    Traceback (most recent call last):
    ...
    ValueError: index 2 comes after 3: indices must increase
    """
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return None
    target = finite_number(tokens[0])
    if target is None and b"," in tokens[0]:
        raise ValueError(
            f"the target {_shown(tokens[0])} is not one number: several labels for a row are not supported, write a "
            "file for each label"
        )
    if target is None:
        raise ValueError(f"the target {_shown(tokens[0])} is not a finite number")
    indices: list[int] = []
    values: list[float] = []
    for pair in tokens[1:]:
        if not pair.startswith(b"qid:"):
            index, value = _parse_pair(pair)
            if indices and index <= indices[-1]:
                raise ValueError(f"index {index} comes after {indices[-1]}: indices must increase")
            indices.append(index)
            values.append(value)
    return Line(target, indices, values)


def _parse_pair(pair: bytes) -> tuple[int, float]:
    index, colon, text = pair.partition(b":")
    if not (colon and index.isdigit()):
        raise ValueError(f"{_shown(pair)} is not of the form index:value")
    if len(index) > 10 or int(index) > LARGEST_INDEX:
        raise ValueError(f"index {_shown(index)} is too large: columns are numbered up to {LARGEST_INDEX:,}")
    value = finite_number(text)
    if value is None:
        raise ValueError(f"the value in {_shown(pair)} is not a finite number")
    return int(index), value


def _shown(token: bytes, most: int = 60) -> str:
    text = token.decode("utf-8", "replace")
    return repr(text) if len(text) <= most else f"{text[:most]!r}... ({len(text):,} characters)"
