"""Sets that count, or remember, what they are asked."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.callback_errors import reraise
from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.verbs import oracle, recalled
from frankwolfe.sets.atoms import checked_direction, for_shape, vertex_of
from frankwolfe.sets.base import wrapper
from frankwolfe.sets.checks import a_set, whole
from frankwolfe.sets.counters import Counts
from frankwolfe.sets.oracle_cache import CachedTracker, CoordinateMemory, Memory, Shelf, recall, remember
from frankwolfe.trackers.tracker_defaults import tracker_of


@wrapper
class Counted(NamedTuple):
    """Another set, and how often it was asked. All copies that a problem or a run makes count together.

    Parameters
    ----------
    set : set
        Any constraint set.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> counted = fw.Counted(fw.L1Ball(1.0))
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], constraint=counted)
    >>> result = fw.minimize(problem, "fw", tol=0, max_passes=10)
    >>> counted.calls
    10
    """

    set: Any
    tally: Any = None

    def _checked(self):
        tally = Counts.starting([0, 0]) if self.tally is None else self.tally
        return self._replace(set=a_set("Counted: set", self.set), tally=tally)

    @property
    def calls(self) -> int:
        """Vertices asked for so far, those for a method's warm-up included."""
        return int(self.tally.totals[0])

    @property
    def supports(self) -> int:
        """Values of the support function asked for so far: one for each gap."""
        return int(self.tally.totals[1])

    def reset(self) -> None:
        """Count from zero again."""
        self.tally.value.reset()

    def for_run(self):
        """Return the set for one run, which counts by itself; `calls` and `supports` tell what all runs counted."""
        return self._replace(set=self.set.for_run(), tally=self.tally.another())

    def structure(self):
        """Say how the points are made up; singular values asked for count as a value of the support function."""
        return self.set.structure().noted(self._note)

    def _note(self) -> None:
        self.tally[1] += 1

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        self.tally[0] += 1
        return oracle(self.set, tracker, r)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        self._note()
        return self.set.support(direction)

    def proven_support(self, direction):
        """Largest ``<direction, s>`` over the set, proven where that is affordable."""
        self._note()
        return self.set.proven_support(direction)


@wrapper
class Cached(NamedTuple):
    """Another set, with the answers to the last directions it was asked about: for oracles that are expensive.

    The cache is exact: it answers only where the direction is, entry by entry, one that it remembers, and then with the
    vertex that the set had named. So results do not depend on it. It pays where the same direction comes up twice: a
    certificate and the step after it, with `"corrective"` in every round. The support function goes through it too.
    Every run has a cache of its own, so that runs in several threads may share the set.

    Parameters
    ----------
    set : set
        Any constraint set.
    size : int
        Directions to remember.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> cached = fw.Cached(fw.Birkhoff(2))
    >>> cached.vertex([1.0, 0.0, 0.0, 3.0]), cached.support([-1.0, 0.0, 0.0, -3.0])
    (array([0., 1., 1., 0.]), 0.0)
    >>> cached.hits, cached.misses
    (1, 1)
    """

    set: Any
    size: int = 8
    shelf: Any = None

    def _checked(self):
        return self._replace(
            set=a_set("Cached: set", self.set),
            size=whole("Cached", "size", self.size),
            shelf=Opaque.of(Shelf()) if self.shelf is None else self.shelf,
        )

    @property
    def hits(self) -> int:
        """Questions answered from memory so far."""
        return int(self.shelf.value.counts.totals[0])

    @property
    def misses(self) -> int:
        """Questions that the set had to answer so far."""
        return int(self.shelf.value.counts.totals[1])

    def for_run(self):
        """Return the set for one run, with memories of its own."""
        shelf = Shelf(self.shelf.value.counts.another(), for_run=True)
        return self._replace(set=self.set.for_run(), shelf=Opaque.of(shelf))

    def _new_memory(self, d: int, counts: Counts) -> Any:
        kind: Any = Memory if self.set.structure().coordinates is None else CoordinateMemory
        return kind.over(self.size, d, counts)

    def _memory(self, d: int) -> Any:
        """Return the memory of directions of ``d`` entries; whoever uses that of a shared shelf holds the lock."""
        shelf = self.shelf.value
        if d not in shelf.memories:
            shelf.memories[d] = self._new_memory(d, shelf.counts)
        return shelf.memories[d]

    def tracker(self, d):
        """Return the tracker of the set, with the run's memory; outside of a run, with one for this tracker alone."""
        shelf = self.shelf.value
        memory = self._memory(d) if shelf.for_run else self._new_memory(d, shelf.counts.another())
        return CachedTracker(tracker_of(self.set, d), memory)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        memory = tracker.memory
        place = recall(memory, r)
        if place < 0:
            place = remember(memory, r, oracle(self.set, tracker.tracker, r))
        return recalled(memory, place)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        r = checked_direction(r)
        ready = for_shape(self, r.size)
        with self.shelf.value.lock:
            tracker = CachedTracker(tracker_of(ready.set, r.size), ready._memory(r.size))
            tracker.rebuild(r)
            atom = ready.oracle(tracker, r)
            reraise()
            return atom.dense(r.size)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        if not self.set.attains_support() or not np.isfinite(direction).all():
            return self.set.support(direction)
        return float(direction @ self.vertex(-direction))
