"""Names a user types: looked up in one place, with the nearest right spelling when there is none."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

Entry = TypeVar("Entry")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name closest to ``name``, or nothing if none is close."""
    tidy = name.strip().lower().replace("_", "-").replace(" ", "-")
    close = get_close_matches(tidy, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def lookup(argument: str, name: str, table: Mapping[str, Entry]) -> Entry:
    """Entry of ``table`` called ``name``; a ValueError that names the argument and the choices otherwise.

    Examples
    --------
    >>> lookup("loss", "logistc", {"logistic": 1, "squared": 2})
    Traceback (most recent call last):
    ...
    ValueError: unknown loss 'logistc'; did you mean 'logistic'? Known: 'logistic', 'squared'.
    """
    if name in table:
        return table[name]
    known = ", ".join(repr(key) for key in table)
    hint = nearest(name, table)
    raise ValueError(f"unknown {argument} {name!r}{hint or '.'} Known: {known}.")
