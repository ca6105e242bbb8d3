"""Wrappers that count oracle calls or cache their results."""

from collections.abc import Sequence
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import ConstraintSet
from frankwolfe.compile.part import COUNT, Opaque
from frankwolfe.compile.verbs import add_row, deposit, oracle, rebuild, routine
from frankwolfe.sets.atoms import Full, Iterate
from frankwolfe.sets.base import tracker, tracker_of, vertex_of, wrapper


class Memory(NamedTuple):
    """The latest directions that an oracle was called with, and the vertices it returned.

    Attributes
    ----------
    directions, vertices : arrays of shape (size, d)
        Directions, NaN in unused places, and their vertices.
    place : array of int, of shape (1,)
        Number of vertices stored so far, which determines the place of the next one.
    tally : array of int, of shape (2,)
        Numbers of hits and misses.
    """

    directions: np.ndarray
    vertices: np.ndarray
    place: np.ndarray
    tally: np.ndarray

    def index_ranges(self) -> dict[str, Any]:
        """Return the ranges of integer arrays, which a restored memory is checked against."""
        return {"place": COUNT, "tally": COUNT}


class Counts(Opaque):
    """Two counters of one run, and the cached vertices of its oracle.

    Its object is the list of the counters of all runs. Every run has an array of its own, because compiled code in two
    threads must not increment the same array. All compare equal, so they do not affect equality.

    Examples
    --------
    >>> counts = Counts.starting([0, 0])
    >>> counts[0] += 1
    >>> for_a_run = counts.another()
    >>> for_a_run[0] += 2
    >>> counts.totals.tolist()
    [3, 0]
    """

    lock: Any  # for threads that compute vertices of the same set
    memories: dict[int, Memory]

    @classmethod
    def starting(cls, numbers: Sequence[int], runs: list[np.ndarray] | None = None) -> "Counts":
        """Return counters that start at the given numbers, and are summed with those of other runs."""
        own = np.array(numbers, dtype=np.int64)
        counts = own.view(cls)
        counts.value, counts.lock, counts.memories = [] if runs is None else runs, RLock(), {}
        counts.value.append(own)  # not the view, which has the cached vertices: these are freed after the run
        return counts

    def another(self) -> "Counts":
        """Return counters for another run."""
        return self.starting([0] * len(self), self.value)

    @property
    def totals(self) -> np.ndarray:
        """Sums over all runs."""
        return np.sum(self.value, axis=0)

    def memory(self, d: int, size: int) -> Memory:
        """Return the memory of directions of ``d`` entries."""
        if d not in self.memories:
            self.memories[d] = Memory(
                np.full((size, d), np.nan), np.zeros((size, d)), np.zeros(1, dtype=np.int64), self
            )
        return self.memories[d]

    def comparable(self) -> Any:
        """Return None: counts do not distinguish sets."""
        return None

    def __repr__(self) -> str:
        return repr(self.totals.tolist())

    def __reduce__(self):
        return Counts.starting, (self.totals.tolist(),)

    def __copy__(self):
        return Counts.starting(self.totals.tolist())

    def __deepcopy__(self, memo):
        return self.__copy__()


@wrapper
class Counted(NamedTuple):
    """Another set, with counts of its calls. All copies that a problem or a run makes count together.

    Parameters
    ----------
    set : set
        Any constraint set.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> counted = fw.sets.Counted(fw.L1Ball(1.0))
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], constraint=counted)
    >>> result = fw.minimize(problem, "fw", tol=0, max_passes=10)
    >>> counted.calls
    10
    """

    set: ConstraintSet
    tally: Any = None

    def _checked(self):
        return self._replace(tally=Counts.starting([0, 0])) if self.tally is None else self

    @property
    def calls(self) -> int:
        """Number of oracle calls so far, including those of a method's warm-up."""
        return int(self.tally.totals[0])

    @property
    def supports(self) -> int:
        """Number of evaluations of the support function so far: one for each gap."""
        return int(self.tally.totals[1])

    def reset(self) -> None:
        """Set both counts to zero."""
        for counts in self.tally.value:
            counts[:] = 0

    def for_run(self):
        """Return the set for one run, which counts in an array of its own."""
        return self._replace(set=self.set.for_run(), tally=self.tally.another())

    def structure(self):
        """Return the structure of the set; singular triplets count as an evaluation of the support function."""
        found = self.set.structure()
        norm = found.trace_norm
        if norm is None:
            return found

        def triplets(*args: Any, **how: Any) -> Any:
            self.tally[1] += 1
            return norm.triplets(*args, **how)

        return found._replace(shape=norm._replace(triplets=triplets))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        self.tally[0] += 1
        return oracle(self.set, tracker, r)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        self.tally[1] += 1
        return self.set.support(direction)

    def proven_support(self, direction):
        """Return an upper bound on ``<direction, s>`` over the set, proven if the proof is affordable."""
        self.tally[1] += 1
        return self.set.proven_support(direction)


# --- a cache of vertices --------------------------------------------------------------------------------------------


@tracker
class CachedTracker(NamedTuple):
    """The tracker of the cached set, and a memory."""

    tracker: Any
    memory: Any

    @property
    def lazy(self):
        """Whether the set's tracker is lazy: a cache must not change the default batch size."""
        return self.tracker.lazy

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r`` and update the set's tracker."""
        add_row(self.tracker, rows, i, c, r)

    def rebuild(self, r):
        """Rebuild the set's tracker."""
        rebuild(self.tracker, r)


@routine
def recall(memory, r):
    """Return the position of the cached vertex for exactly this direction, -1 if it is not cached."""
    directions = memory.directions
    for place in range(len(directions)):
        equal = 0
        while equal < len(r) and directions[place, equal] == r[equal]:
            equal += 1
        if equal == len(r):
            memory.tally[0] += 1
            return place
    memory.tally[1] += 1
    return -1


@routine
def remember(memory, r, atom):
    """Overwrite the oldest vertex and return its position. A vertex that is not finite is never recalled."""
    place = memory.place[0] % len(memory.directions)
    direction, vertex = memory.directions[place], memory.vertices[place]
    vertex[:] = 0.0
    deposit(atom, Iterate(vertex, np.ones(1)), 1.0)
    direction[:] = r
    if not np.isfinite(vertex).all():
        direction[0] = np.nan
    memory.place[0] += 1
    return place


@wrapper
class Cached(NamedTuple):
    """Another set, with a cache of the latest results of its oracle, for expensive oracles.

    The cache is exact: it applies only if the direction equals a stored direction entry by entry, and returns the
    vertex that the set's oracle returned. Results therefore do not depend on it. It pays off if a direction occurs
    twice: in a certificate and the step after it, with `"corrective"` in every round. The support function uses it too.
    Every run has its own cache, so runs in several threads may share the set.

    Parameters
    ----------
    set : set
        Any constraint set.
    size : int
        Number of directions to store.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> cached = fw.sets.Cached(fw.sets.Birkhoff(2))
    >>> cached.vertex([1.0, 0.0, 0.0, 3.0]), cached.support([-1.0, 0.0, 0.0, -3.0])
    (array([0., 1., 1., 0.]), 0.0)
    >>> cached.hits, cached.misses
    (1, 1)
    """

    set: ConstraintSet
    size: int = 8
    tally: Any = None

    def _checked(self):
        return self._replace(tally=Counts.starting([0, 0])) if self.tally is None else self

    @property
    def hits(self) -> int:
        """Number of vertices taken from the cache so far."""
        return int(self.tally.totals[0])

    @property
    def misses(self) -> int:
        """Number of calls of the set's oracle so far."""
        return int(self.tally.totals[1])

    def for_run(self):
        """Return the set for one run, with memories of its own."""
        return self._replace(set=self.set.for_run(), tally=self.tally.another())

    def tracker(self, d):
        """Return the set's tracker and the memory. Threads share neither: each makes its own set by `for_run`."""
        return CachedTracker(tracker_of(self.set, d), self.tally.memory(d, self.size))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        memory = tracker.memory
        place = recall(memory, r)
        if place < 0:
            place = remember(memory, r, oracle(self.set, tracker.tracker, r))
        return Full(memory.vertices[place])

    def vertex(self, r):
        """Return the vertex that minimises ``<r, s>`` as an array. Threads may call it at the same time."""
        with self.tally.lock:
            return vertex_of(self, r)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        if not self.set.attains_support() or not np.isfinite(direction).all():
            return self.set.support(direction)
        return float(direction @ self.vertex(-direction))
