"""States of solvers as flat mappings from names to arrays, numbers and strings.

A named tuple is written field by field, under names with dots: ``at.z`` is the field ``z`` of the tuple ``at``. None is
left out. States that come from a file are checked before they are used, since compiled code indexes with
some of their entries.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from frankwolfe.compile.part import FIXED, ROWS, Opaque, is_part
from frankwolfe.problem.linear_bounds import SideRows
from frankwolfe.rows.observed_entries import ObservedEntries
from frankwolfe.shards.local import Kept

SHAPES: dict[str, tuple[str, ...]] = {
    "gradient slope w exact.gradient snapshot.gradient best.w recent.w start.w": ("size",),
    "estimate.alpha snapshot.alpha slopes table start.rest.slopes": ("table",),
    "multipliers proving proof slack start.rest.multipliers": ("sides",),
    "at.z recent.z": ("predictions",),
    "at.losses": ("n",),
    "at.shift at.mean intercept.shift intercept.mean": ("shifts",),
    "found.intercept best.intercept last.intercept start.rest.intercept": ("shifts",),
    "at.curve intercept.curve": ("shifts", "shifts"),
    "atoms.active atoms.u": ("atoms",),
    "atoms.points": ("atoms", "size"),
    "atoms.codes": ("atoms",),
    "hessian.chosen": ("chosen",),
    "hessian.H": ("chosen", "chosen"),
    "hessian.curvatures": ("curvatures",),
    "columns": ("columns",),
    "path.mu": ("path",),
    "path.y": ("path", "variables"),
    "path.w path.d": ("path", "size"),
    "left": ("height", "rank"),
    "sizes": ("rank",),
    "right": ("width", "rank"),
    "last_left": ("height", "last rank"),
    "last_right": ("width", "last rank"),
    "triplets.left": ("height", "triplets"),
    "triplets.values": ("triplets",),
    "triplets.right": ("width", "triplets"),
    "nonzero values": ("non-zeros",),
}
"""Shapes of arrays by the names of their dimensions. Within a state, a dimension has the same size everywhere."""

ARRAYS = {name: shape for names, shape in SHAPES.items() for name in names.split()}

INDICES = {
    "atoms.active": "size",
    "atoms.codes": "signed size",
    "nonzero": "size",
    "hessian.chosen": "atoms",
    "columns": "width of the data",
}
"""Arrays of ascending integers, and the dimension that bounds them. All other entries of `ARRAYS` are floats."""

WEIGHTS = ("w", "values", "left", "right", "best.w", "recent.w", "start.w", "atoms.u", "atoms.points")
"""Arrays that must be finite: weights of points."""

NUMBERS = ("value", "gap", "fw_gap", "violation", "rounding", "fun", "bound", "change")
"""Last components of the names of real numbers."""

GROWING = ("iterate.left", "iterate.right")
"""Arrays whose number of columns may differ from that of a new run."""

PLAIN = (bool, int, float, str)
"""Types of entries that are not arrays."""

MOST = 2**62
"""Upper bound of all counts."""


def require_plain(values: Mapping[str, Any]) -> None:
    """Raise ValueError unless all entries are arrays, truth values, counts, numbers or texts."""
    for name, value in values.items():
        kind = type(value)
        plain = isinstance(value, np.ndarray) or kind in (bool, float, str) or (kind is int and 0 <= value < MOST)
        number = kind in (int, float) or name.rpartition(".")[2] not in NUMBERS
        if not (plain and number):
            raise ValueError(f"its entry {name} is {_shown(value)}")


def require_like(own: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Raise ValueError unless a state has these entries, of the same kinds, types and shapes."""
    for name, own_value in own.items():
        if name not in state:
            raise ValueError(f"its entry {name} is missing")
        # NumPy scalars are Python numbers in a file
        value, fresh = (part.item() if isinstance(part, np.generic) else part for part in (state[name], own_value))
        if isinstance(fresh, np.ndarray):
            same = isinstance(value, np.ndarray) and value.dtype == fresh.dtype and _alike(name, value, fresh)
        elif isinstance(fresh, float):
            same = type(value) in (float, int)
        else:
            same = type(value) is type(fresh)
        if not same:
            raise ValueError(f"its entry {name} is {_shown(value)}, and this run's is {_shown(fresh)}")


def _alike(name: str, value: np.ndarray, fresh: np.ndarray) -> bool:
    """Whether two arrays have the same shape, up to `GROWING`, and ``value`` is finite if ``fresh`` is."""
    if value.dtype.kind == "f" and np.isfinite(fresh).all() and not np.isfinite(value).all():
        return False
    return value.shape == fresh.shape or (name in GROWING and value.ndim == 2 and len(value) == len(fresh))


def require_entries(problem: Any, state: Mapping[str, Any]) -> None:
    """Raise ValueError unless the arrays of a state have types, shapes and ranges that go with a problem."""
    sizes = _sizes_of(problem)
    for name, value in _listed(state):
        dims = _dims_of(problem, name, value)
        kind = np.int64 if name in INDICES else np.float64
        fits = isinstance(value, np.ndarray) and value.dtype == kind and value.ndim == len(dims)
        if not fits or any(sizes.setdefault(*pair) != pair[1] for pair in zip(dims, value.shape, strict=True)):
            raise ValueError(f"its entry {name} is {_shown(value)}, which does not go with the others")
        if name in WEIGHTS and not np.isfinite(value).all():
            raise ValueError(f"its entry {name} holds NaN or infinity")
    for name, bound in INDICES.items():
        places, below = state.get(name, ()), sizes.get(bound, 0)
        if len(places) and not (places[0] >= 0 and places[-1] < below and (np.diff(places) > 0).all()):
            raise ValueError(f"its entry {name} are not ascending numbers below {below}")


def _sizes_of(problem: Any) -> dict[str, int]:
    """Return the sizes of the dimensions that a problem determines. The first array determines each other size."""
    sizes = {
        "n": problem.n,
        "size": problem.size,
        "signed size": 2 * problem.size,
        "predictions": int(np.prod(problem.samples.shape)),
        "shifts": max(1, problem.outputs),
        "width of the data": problem.d,
    }
    return sizes if problem.side is None else sizes | {"sides": len(problem.side.lower)}


def _listed(state: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a state that are listed in `ARRAYS`, except plain numbers where these are allowed."""
    for name in ARRAYS:
        if name in state and not (name in SCALARS and isinstance(state[name], float | int)):
            yield name, state[name]


def _dims_of(problem: Any, name: str, value: Any) -> tuple[str, ...]:
    """Return the dimensions of an array: of a table, and of curvatures, they depend on the problem and the loss."""
    if ARRAYS[name] == ("table",):
        return ("n", "shifts")[: len(problem.samples.shape)]
    if ARRAYS[name] == ("curvatures",):
        return ("n", "shifts", "shifts") if np.ndim(value) == 3 else ("predictions",)
    return ARRAYS[name]


SCALARS = ("left", "found.intercept", "best.intercept", "last.intercept", "start.rest.intercept")
"""Arrays that may be plain numbers: in another solver, or with one output."""


TRACED = ("nit", "passes", "seconds", "gap_estimate", "table_error", "bound_estimate", "lower_bound")
"""Numbers that every point of a trace has. Points that have been evaluated also have those in `EVALUATED`."""

EVALUATED = ("fun", "fw_gap", "complexity", "violation")


def require_trace(problem: Any, state: Mapping[str, Any]) -> None:
    """Raise ValueError unless the points of a trace are points of a problem, and have numbers where they should."""
    rows, waiting = json.loads(state["rows"]), dict[int, dict[str, Any]]()
    for name in state:
        if name.startswith("pending."):
            _, number, entry = name.split(".", 2)
            waiting.setdefault(int(number), {})[entry] = state[name]
    for at, row in enumerate(rows):
        # a noted point has no weights, so it is never evaluated
        known = TRACED if at in waiting or row.pop("noted", False) is True else (*TRACED, *EVALUATED)
        if not {*known} <= row.keys() or not all(type(number) in (int, float) for number in row.values()):
            raise ValueError(f"its entry trace.rows has no numbers for point {at}")
    for place, point in waiting.items():
        values = point.get("values")
        if place >= len(rows) or ("values" in point) == ("values.left" in point):
            raise ValueError(f"point {place} of its trace has no weights")
        if values is not None and "nonzero" not in point:
            point["w"] = point.pop("values")
        elif values is None:
            point |= {"left": point["values.left"], "right": point["values.right"]}
        require_entries(problem, point)


def require_ranges(name: str, part: Any, state: Mapping[str, Any], rows: int) -> None:
    """Raise ValueError unless the index arrays of a part have, in a state, entries that the part can index with.

    A part says so by its method ``index_ranges``: which arrays never change (`FIXED`), and for others from where up to
    where, exclusive, their entries lie; `ROWS` stands for the number of rows.
    """
    for inner, each in walked(name, part):
        ranges: dict[str, Any] = each.index_ranges() if hasattr(each, "index_ranges") else {}
        for entry, own, allowed in ((f"{inner}.{field}", getattr(each, field), ranges[field]) for field in ranges):
            found = state.get(entry, own)
            if allowed is FIXED:
                sound = np.array_equal(found, own)
            else:
                low, high = allowed
                sound = ((found >= low) & (found < (rows if high is ROWS else high))).all()
            if not sound:
                raise ValueError(f"its entry {entry} leads out of the arrays of this run")


def fields_of(part: tuple) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a tuple, with what they are called: their fields, or their places."""
    yield from zip(part._fields if is_part(part) else range(len(part)), part, strict=True)  # type: ignore[attr-defined]


def walked(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Yield a part and all that is in it, by name, except in parts that do not change."""
    yield name, part
    if isinstance(part, tuple) and not isinstance(part, CONSTANT):
        for field, value in fields_of(part):
            yield from walked(f"{name}.{field}", value)


def require_sound(part: Any, iterate: Any) -> None:
    """Raise ValueError unless the arrays of a part, and of all parts inside of it, go together with an iterate."""
    for _, each in walked("", part):
        if hasattr(each, "require_sound"):
            each.require_sound(iterate)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        rest = "" if value.dtype.kind != "f" or np.isfinite(value).all() else ", not all finite"
        return f"an array of {value.dtype} of shape {value.shape}{rest}"
    text = repr(value) if not isinstance(value, int) or abs(value) < MOST else "a very large number"
    return text if len(text) < 40 else f"{text[:40]}..."


Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

CONSTANT = (ObservedEntries, SideRows)
"""Parts of a problem that do not change, and are left out of states."""

ESTIMATE = "estimate"
"""Prefix of the names of a gradient estimate's arrays."""


def remembered(state: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays of a gradient estimate, by their names in the estimate."""
    start = len(ESTIMATE) + 1
    return {name[start:]: state[name] for name in state if name.startswith(f"{ESTIMATE}.")}


def handed_over(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a solver's state that a run of another method, or on other data, can use.

    ``steps`` are the steps made, on which open-loop step sizes depend; ``rows`` is the number of rows of the data, and
    the rest is of use for as many rows only; ``gradient`` is the last gradient estimate; names that begin with
    ``estimate.`` are of what a gradient estimate remembers.
    """
    kept = ("steps", "rows", "gradient")
    return {name: value for name, value in state.items() if name in kept or name.startswith(f"{ESTIMATE}.")}


def flat(name: str, value: Any) -> dict[str, Any]:
    """Return a value as a flat mapping: itself, or the fields of a named tuple.

    None is left out, and so are vectors that stay on a cluster: they are computed again.

    Examples
    --------
    >>> from frankwolfe.objective.point import Guess
    >>> sorted(flat("guess", Guess(np.zeros(1), np.ones(1))))
    ['guess.mean', 'guess.shift']
    """
    if value is None or isinstance(value, Kept):
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


def attributes(owner: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return attributes, numbers or arrays, as state entries."""
    found: dict[str, Any] = {}
    for name in names:
        found |= flat(name, getattr(owner, name))
    return found


def set_attributes(owner: Any, names: Iterable[str], state: Mapping[str, Any]) -> None:
    """Set attributes to copies of saved ones. Raise ValueError unless numbers are there, with the right types."""
    numbers = {name: value for name in names if isinstance(value := getattr(owner, name), PLAIN)}
    require_like(numbers, state)
    for name in names:
        setattr(owner, name, copied(state.get(name)))


class Saved:
    """Base class of objects whose state is some of their attributes: numbers or arrays."""

    remembered: tuple[str, ...]
    """Names of these attributes."""

    def state(self) -> dict[str, Any]:
        """Return the state from which `restore` continues."""
        return attributes(self, self.remembered)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        set_attributes(self, self.remembered, state)


def copied(value: Any) -> Any:
    """Return a copy of an array, with the same layout; return any other value unchanged."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def arrays(name: str, part: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a part and of the parts in it: all that can change while it is in use.

    Python objects, the places of observed entries and side constraints do not.
    """
    found = {inner: each for inner, each in walked(name, part) if isinstance(each, np.ndarray)}
    return {inner: each for inner, each in found.items() if not isinstance(each, Opaque)}


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
    """Return a state with a prefix added to all names.

    Examples
    --------
    >>> under("solver", {"steps": 3})
    {'solver.steps': 3}
    """
    return {f"{name}.{key}": value for key, value in state.items()}


def below(name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries with a prefix, without that prefix: the inverse of `under`."""
    return {key[len(name) + 1 :]: value for key, value in state.items() if key.startswith(f"{name}.")}
