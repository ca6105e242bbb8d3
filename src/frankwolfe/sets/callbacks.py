"""Oracles that cannot be compiled: solvers, SciPy, any Python. The compiled loop calls them back.

The tracker holds the address of a C function made from the Python one. The loop copies ``r`` to where that function
reads it, calls the address, and finds the vertex in the tracker's room. An error in the Python code cannot cross
compiled code: it is kept, the loop stops before it moves, and whoever called the loop raises it.
"""

from collections.abc import Callable
from ctypes import POINTER, c_double, c_void_p, cast
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.callback_errors import keep
from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.verbs import ASKED, ask, routine
from frankwolfe.sets.atoms import Full
from frankwolfe.sets.base import Diameters, constraint_set, image_diameters, tracker, vertex_of, widths


@tracker
class Messenger(NamedTuple):
    """Tracker of the sets whose oracle is called back.

    Attributes
    ----------
    question, room : arrays
        Where the callback reads ``r`` and writes its answer, as a rule the vertex.
    address : array of shape (1,)
        Of the callback, which lives as long as this array.
    failed : array of shape (1,)
        Flag: one once the callback has failed. The loop stops on it before it moves.
    """

    question: np.ndarray
    room: np.ndarray
    address: np.ndarray
    failed: np.ndarray

    @classmethod
    def over(cls, d: int, answer: Callable[[np.ndarray], Any], length: int | None = None) -> "Messenger":
        """Messenger to a function from ``r``, of ``d`` entries, to a vertex, or to ``length`` other numbers."""
        length = d if length is None else length
        callback = ASKED(_guarded(answer, d, length))
        where = cast(callback, c_void_p).value
        return cls(np.zeros(d), np.zeros(length), Opaque.of(callback, [where]), np.zeros(1))

    def connected(self, failed):
        """Return the messenger with another flag."""
        return self._replace(failed=failed)


def _guarded(answer: Callable[[np.ndarray], Any], d: int, length: int) -> Callable[[int, int], None]:
    """Return the C face of a Python function, from which no error escapes."""

    def respond(question: int, room: int) -> None:
        r, s = (
            np.ctypeslib.as_array(cast(where, POINTER(c_double)), (size,))
            for where, size in ((question, d), (room, length))
        )
        try:
            found = np.asarray(answer(r.copy()), dtype=np.float64)
            if found.shape != (length,) or not np.isfinite(found).all():
                what = f"shape {found.shape}" if found.shape != (length,) else "NaN or infinity"
                raise ValueError(f"the oracle must return {length} finite numbers, got {what}")
            s[:] = found
        except BaseException as error:
            keep(error)
            s[:] = np.nan

    return respond


@routine
def consult(messenger, r):
    """Ask the callback, and return what it says as an atom."""
    question, room = messenger.question, messenger.room
    for j in range(len(r)):
        question[j] = r[j]
    ask(messenger.address[0], question, room)
    if not isfinite(room[0]):
        messenger.failed[0] = 1.0
    return Full(room)


class PythonSet:
    """A Python object that has a linear minimisation oracle, with an answer to all that is asked of it.

    Which of the optional methods it has is looked up once, here.
    """

    def __init__(self, thing: Any):
        self.thing, self.vertex, self.contains = thing, thing.vertex, thing.contains
        own = [getattr(thing, name, None) for name in ("support", "diameter", "image_diameters")]
        self.support_is_at_vertex = own[0] is None
        self.support = own[0] or self._support_at_vertex
        self.diameter = own[1] or self._diameter_of_box
        self.image_diameters = own[2] or self._image_diameters_from_support

    def _support_at_vertex(self, direction: Any) -> float:
        return float(np.dot(direction, self.vertex(-np.asarray(direction, dtype=np.float64))))

    def _diameter_of_box(self, d: int) -> float:
        return float(np.linalg.norm(widths(self, d)))

    def _image_diameters_from_support(self, X: Any) -> Diameters:
        return image_diameters(self, X)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PythonSet) and self.thing == other.thing

    def __hash__(self) -> int:
        return hash(self.thing)

    def __repr__(self) -> str:
        return repr(self.thing)

    def __reduce__(self):
        return PythonSet, (self.thing,)


@constraint_set
class Outside(NamedTuple):
    """A set written in plain Python: what `outside` returns."""

    thing: Any

    def tracker(self, d):
        """Return a messenger to the Python code."""
        return Messenger.over(d, self.thing.value.vertex)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        return consult(tracker, r)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return float(self.thing.value.support(direction))

    def attains_support(self):
        """Whether values of the support function are those at vertices: not if the code has a way of its own."""
        return self.thing.value.support_is_at_vertex

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set."""
        return bool(self.thing.value.contains(w, tolerance))

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions, or an upper bound."""
        return float(self.thing.value.diameter(d))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact."""
        return self.thing.value.image_diameters(X)


def outside(thing: Any) -> Outside:
    """Make a constraint set of any Python object that has a linear minimisation oracle.

    Parameters
    ----------
    thing : object
        With ``vertex(r)``, which returns a point of the set that minimises ``<r, s>``, and ``contains(w, tolerance)``.
        Better also with ``support(direction)``, the largest ``<direction, s>``, where that is cheaper than a vertex.

    Returns
    -------
    set
        To be used like any other. The compiled loop calls ``vertex`` back, at some microseconds a call.

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
    return Outside(Opaque.of(PythonSet(thing)))
