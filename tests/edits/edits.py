"""Edits: what a number, an array, a mapping or a file becomes, drawn at random."""

import os

import numpy as np

HUGE = 10**9

NUMBERS = {
    "1e9": HUGE,
    "-1e9": -HUGE,
    "-1": -1,
    "zero": 0,
    "one more": lambda value: value + 1 if isinstance(value, int | float) else 1,
    "1.5": 1.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "true": True,
    "null": None,
    "a text": "text",
    "no text": "",
    "a list": [],
    "a mapping": {},
    "2^63": 2**63,
    "a long number": 10**4000,
    "nested": lambda value: _nested(200),
}
"""What may stand in the place of a number, a text or a flag."""


def _nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


def edited_number(value, rng):
    """Return the name of an edit, and what it makes of an entry of JSON."""
    name = rng.choice(list(NUMBERS))
    edit = NUMBERS[name]
    return name, edit(value) if callable(edit) else edit


def _put(number):
    def edit(array, rng):
        found = array.copy()
        found.flat[rng.integers(found.size)] = number(found) if callable(number) else number
        return found

    return edit


def _twice(array, rng):
    found = array.copy()
    found.flat[rng.integers(found.size)] = found.flat[rng.integers(found.size)]
    return found


ENTRIES = {
    "an entry 1e9": _put(HUGE),
    "an entry -1e9": _put(-HUGE),
    "an entry -1": _put(-1),
    "an entry NaN": _put(np.nan),
    "an entry infinite": _put(np.inf),
    "an entry past the end": _put(lambda array: array.max() + 1),
    "an entry twice": _twice,
    "falling": lambda array, rng: array.reshape(-1)[::-1].reshape(array.shape).copy(),
    "all 1e9": lambda array, rng: np.full_like(array, HUGE),
    "all zero": lambda array, rng: np.zeros_like(array),
    "shuffled": lambda array, rng: rng.permutation(array.reshape(-1)).reshape(array.shape),
}
"""Edits that leave the type and the shape of an array as they are."""

FORMS = {
    "empty": lambda array: array.reshape(-1)[:0],
    "one less": lambda array: array[:-1] if array.ndim else array,
    "one more": lambda array: np.concatenate([array, array[-1:]]) if array.ndim and len(array) else np.zeros(1),
    "another axis": lambda array: array[..., None],
    "no axis": lambda array: array.reshape(-1)[:1].reshape(()) if array.size else np.zeros(()),
    "as float32": lambda array: array.astype(np.float32),
    "as int32": lambda array: np.nan_to_num(array).astype(np.int32),
    "as int64 or float64": lambda array: np.nan_to_num(array).astype("f8" if array.dtype.kind == "i" else "i8"),
    "as other bytes": lambda array: array.astype(array.dtype.newbyteorder()),
    "as texts": lambda array: array.astype(str),
    "as truth values": lambda array: array.astype(bool),
    "as complex": lambda array: array.astype(complex),
    "huge by a stride": lambda array: np.zeros(10**6),
}
"""Edits of the type or the shape."""


def edited_array(array, rng, forms=True):
    """Return the name of an edit, and the array that it makes."""
    numeric = array.dtype.kind in "fiu" and array.size > 0
    if numeric and (not forms or rng.random() < 0.6):
        name = rng.choice([name for name in ENTRIES if array.dtype.kind == "f" or name not in FLOATS])
        return name, ENTRIES[name](array, rng)
    name = rng.choice(list(FORMS) if array.dtype.kind in "fiu" else ["empty", "one less", "no axis"])
    return name, FORMS[name](array)


FLOATS = ("an entry NaN", "an entry infinite")


def _fifo(path):
    os.mkfifo(path)


PLACES = {
    "a pipe": _fifo,
    "a folder": os.mkdir,
    "a link to itself": lambda path: os.symlink(path, path),
    "a link to nothing": lambda path: os.symlink(f"{path}.gone", path),
    "an empty file": lambda path: path.touch(),
    "nothing": lambda path: None,
}
"""What may be in the place of a file."""


def replaced_file(path, rng):
    """Put something else in the place of a file; return what."""
    name = rng.choice(list(PLACES))
    path.unlink()
    PLACES[name](path)
    return name


def edited_content(content, rng):
    """Edit one entry of nested JSON in place, drawn by its depth first; return where, and the edit's name."""
    where, at = [], content
    while isinstance(at, dict | list) and len(at):
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = keys[rng.integers(len(keys))]
        where.append(key)
        inner = at[key]
        if not (isinstance(inner, dict | list) and len(inner)) or rng.random() < 0.1:
            break
        at = inner
    told = ".".join(map(str, where))
    chance = rng.random()
    if chance < 0.08:
        del at[key]
        return told, "left out"
    if chance < 0.14 and isinstance(at, dict):
        at[f"{key}-2"] = at[key]
        return told, "one more"
    if chance < 0.2 and isinstance(at, list):
        at.append(at[key])
        return told, "one more"
    name, at[key] = edited_number(at[key], rng)
    return told, name
