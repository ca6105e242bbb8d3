"""Oracles that cannot be compiled, such as solvers or any Python code. The compiled loop calls them back.

The tracker holds the address of a C function made from the Python one. The loop copies ``r`` to where that function
reads it, calls the address, and reads the vertex from the tracker's memory. An exception cannot pass through compiled
code: it is stored, the loop stops before it moves, and the caller of the loop raises it.
"""

from collections.abc import Callable
from ctypes import POINTER, c_double, c_void_p, cast
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import store_error
from frankwolfe.compile.part import Opaque, is_part
from frankwolfe.compile.verbs import CALLBACK, call_back, routine
from frankwolfe.sets.atoms import Full
from frankwolfe.sets.base import Defaults, constraint_set, tracker


@tracker
class Messenger(NamedTuple):
    """Tracker of sets whose oracle is called back.

    Attributes
    ----------
    direction, room : arrays
        The callback reads ``r`` from the first and writes its answer, usually the vertex, to the second.
    address : array of shape (1,)
        Address of the callback, which lives as long as this array.
    failed : array of shape (1,)
        Set to one once the callback has failed. The loop then stops before it moves.
    """

    direction: np.ndarray
    room: np.ndarray
    address: np.ndarray
    failed: np.ndarray

    @classmethod
    def over(cls, d: int, answer: Callable[[np.ndarray], Any], length: int | None = None) -> "Messenger":
        """Return a messenger to a function from ``r``, of ``d`` entries, to a vertex, or to ``length`` numbers."""
        length = d if length is None else length
        callback = CALLBACK(_guarded(answer, d, length))
        where = cast(callback, c_void_p).value
        return cls(np.zeros(d), np.zeros(length), Opaque.of(callback, [where]), np.zeros(1))


def connected(tracker: Any, failed: np.ndarray) -> Any:
    """Return a tracker, or another part, whose messengers report failures by the flag ``failed``."""
    if isinstance(tracker, Messenger):
        return tracker._replace(failed=failed)
    return tracker._make(connected(field, failed) for field in tracker) if is_part(tracker) else tracker


def _guarded(answer: Callable[[np.ndarray], Any], d: int, length: int) -> Callable[[int, int], None]:
    """Return a Python function as a function of two addresses that never raises."""

    def respond(direction: int, room: int) -> None:
        r, s = (
            np.ctypeslib.as_array(cast(where, POINTER(c_double)), (size,))
            for where, size in ((direction, d), (room, length))
        )
        try:
            found = np.asarray(answer(r.copy()), dtype=np.float64)
            if found.shape != (length,) or not np.isfinite(found).all():
                what = f"shape {found.shape}" if found.shape != (length,) else "NaN or infinity"
                raise ValueError(f"the oracle must return {length} finite numbers, got {what}")
            s[:] = found
        except BaseException as error:
            store_error(error)
            s[:] = np.nan

    return respond


@routine
def call_oracle(messenger, r):
    """Call the callback and return its answer as an atom."""
    direction, room = messenger.direction, messenger.room
    for j in range(len(r)):
        direction[j] = r[j]
    call_back(messenger.address[0], direction, room)
    if not isfinite(room[0]):
        messenger.failed[0] = 1.0
    return Full(room)


@constraint_set
class Outside(NamedTuple):
    """A set written in plain Python, as returned by `outside`."""

    thing: Any

    def _own(self, name: str) -> Callable | None:
        """Return an optional method of the Python object, None if it has none of that name."""
        return getattr(self.thing.value, name, None)

    def tracker(self, d):
        """Return a messenger to the Python code."""
        return Messenger.over(d, self.thing.value.vertex)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        return call_oracle(tracker, r)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set, from a vertex if the object has no method for it."""
        own = self._own("support")
        if own is not None:
            return float(own(direction))
        return float(np.dot(direction, self.thing.value.vertex(-np.asarray(direction, dtype=np.float64))))

    def attains_support(self):
        """Return whether the support function is evaluated at vertices: not if the object has a method for it."""
        return self._own("support") is None

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set."""
        return bool(self.thing.value.contains(w, tolerance))

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions, or an upper bound."""
        own = self._own("diameter")
        return Defaults.diameter(self, d) if own is None else float(own(d))  # type: ignore[arg-type]

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact."""
        own = self._own("image_diameters")
        return Defaults.image_diameters(self, X) if own is None else own(X)  # type: ignore[arg-type]


def outside(thing: Any) -> Outside:
    """Make a constraint set of any Python object that has a linear minimisation oracle.

    Parameters
    ----------
    thing : object
        With ``vertex(r)``, which returns a point of the set that minimises ``<r, s>``, and ``contains(w, tolerance)``.
        Optionally ``support(direction)``, the largest ``<direction, s>``, if that is cheaper than a vertex.

    Returns
    -------
    set
        Usable like any other set. The compiled loop calls ``vertex`` back, at a few microseconds a call.

    Examples
    --------
    >>> import numpy as np
    >>> from frankwolfe.sets import outside
    >>> class Sphere:
    ...     def vertex(self, r):
    ...         return -r / np.linalg.norm(r) if r.any() else np.eye(len(r))[0]
    ...
    ...     def contains(self, w, tolerance):
    ...         return np.linalg.norm(w) <= 1.0 + tolerance
    >>> float(outside(Sphere()).support([3.0, 4.0]))
    5.0
    """
    if isinstance(thing, type):
        raise TypeError(f"outside takes an instance: write {thing.__name__}(...), not {thing.__name__}")
    missing = [name for name in ("vertex", "contains") if not callable(getattr(thing, name, None))]
    if missing:
        raise TypeError(f"outside: {type(thing).__name__} is no constraint set: it has no method {', '.join(missing)}")
    return Outside(Opaque.of(thing))
