"""States of engines as flat mappings: arrays, numbers and strings by name, and nothing else.

A named tuple is written field by field, under names with dots: ``at.z`` is field ``z`` of what is called ``at``. What
is None is left out.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.part import is_part
from frankwolfe.engines.entries import fields_of, require_like, require_ranges
from frankwolfe.problem.linear_bounds import SideRows
from frankwolfe.rows.observed_entries import ObservedEntries

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

CONSTANT = (ObservedEntries, SideRows)
"""Parts of the problem that states may hold: they do not change."""

ESTIMATE = "estimate"
"""What the names of a gradient estimate's arrays begin with."""


def remembered(state: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays of a gradient estimate, by the names that they have there."""
    start = len(ESTIMATE) + 1
    return {name[start:]: state[name] for name in state if name.startswith(f"{ESTIMATE}.")}


def flat(name: str, value: Any) -> dict[str, Any]:
    """Return a value as a flat mapping: itself, or the fields of a named tuple.

    Examples
    --------
    >>> from frankwolfe.objective.point import Guess
    >>> sorted(flat("guess", Guess(np.zeros(1), np.ones(1))))
    ['guess.mean', 'guess.shift']
    """
    if value is None:
        return {}
    if not is_part(value):
        return {name: value}
    found: dict[str, Any] = {}
    for field in value._fields:
        found |= flat(f"{name}.{field}", getattr(value, field))
    return found


def built(kind: type[Tuple], name: str, state: Mapping[str, Any]) -> Tuple:
    """Return the named tuple that `flat` wrote under a name; its arrays are copies.

    Fields with a default may be left out, and so may slopes, which can be elsewhere.
    """
    there = {field: f"{name}.{field}" for field in kind._fields}  # type: ignore[attr-defined]
    absent = {"alpha": None} | kind._field_defaults  # type: ignore[attr-defined]
    return kind(
        **{
            field: absent[field] if field in absent and key not in state else copied(state[key])
            for field, key in there.items()
        }
    )


def copied(value: Any) -> Any:
    """Return a number as it is, an array as a copy with the same layout."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def arrays(name: str, part: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a part and of the parts in it: all that can change while it is in use.

    Python objects, the places of observed entries and side constraints do not.
    """
    if isinstance(part, np.ndarray) and not isinstance(part, Opaque):
        return {name: part}
    if not isinstance(part, tuple) or isinstance(part, CONSTANT):
        return {}
    found: dict[str, np.ndarray] = {}
    for field, value in fields_of(part):
        found |= arrays(f"{name}.{field}", value)
    return found


def restored(name: str, part: Any, state: Mapping[str, Any], rows: int) -> Any:
    """Return a part as `with_arrays` does, of a state that comes from a file.

    Arrays that a run on data of so many rows cannot have are a ValueError.
    """
    require_like(arrays(name, part), state)
    require_ranges(name, part, state, rows)
    return with_arrays(name, part, state)


def with_arrays(name: str, part: Any, state: Mapping[str, Any]) -> Any:
    """Return a part with the arrays that `arrays` found, written into its own where they have that shape.

    Parts share arrays with each other, and so they still do afterwards.
    """
    if isinstance(part, np.ndarray) and name in state:
        if part.shape != state[name].shape:
            return state[name].copy()
        part[...] = state[name]
        return part
    if not isinstance(part, tuple) or isinstance(part, CONSTANT):
        return part
    values = [with_arrays(f"{name}.{field}", value, state) for field, value in fields_of(part)]
    kind: Any = type(part)
    return kind._make(values) if is_part(part) else tuple(values)


def under(name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state with all names below another one.

    Examples
    --------
    >>> under("engine", {"steps": 3})
    {'engine.steps': 3}
    """
    return {f"{name}.{key}": value for key, value in state.items()}


def below(name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state that `under` put below a name."""
    return {key[len(name) + 1 :]: value for key, value in state.items() if key.startswith(f"{name}.")}
