"""Wrappers that count oracle calls or remember their answers."""

from collections.abc import Sequence
from math import isfinite
from threading import RLock
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from frankwolfe.compile.callback_errors import reraise
from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.part import COUNT
from frankwolfe.compile.verbs import add_row, coordinate, deposit, oracle, rebuild, recalled, routine, written
from frankwolfe.rows.iterate import Iterate
from frankwolfe.sets.atoms import Full, Hot
from frankwolfe.sets.base import a_set, checked_direction, for_shape, tracker, tracker_of, vertex_of, wrapper
from frankwolfe.sets.checks import whole


class Ledger:
    """The arrays that are counted in now, and the sums of those that are gone.

    Parameters
    ----------
    past : sequence of int
        What has been counted before.
    """

    def __init__(self, past: Sequence[int]):
        self._lock = RLock()  # may be taken again by a `_close` that the garbage collector calls
        self._past = np.array(past, dtype=np.int64)
        self._open: dict[int, np.ndarray] = {}

    def open(self, counts: "Counts", numbers: np.ndarray) -> None:
        """Count the numbers in, as long as ``counts``, which looks at them, lives; then keep their sums."""
        self._open[id(numbers)] = numbers
        finalize(counts, self._close, numbers)

    def _close(self, numbers: np.ndarray) -> None:
        with self._lock:
            self._past += numbers
            del self._open[id(numbers)]

    def totals(self) -> np.ndarray:
        """Return all counts so far."""
        with self._lock:
            return sum(list(self._open.values()), self._past.copy())

    def reset(self) -> None:
        """Count from zero again."""
        with self._lock:
            for numbers in [self._past, *self._open.values()]:
                numbers[:] = 0


class Counts(Opaque):
    """Numbers that one run counts in; the object it holds is the `Ledger` of all of them.

    Examples
    --------
    >>> counts = Counts.starting([0, 0])
    >>> counts[0] += 1
    >>> for_a_run = counts.another()
    >>> for_a_run[0] += 2
    >>> counts.totals.tolist()
    [3, 0]
    """

    @classmethod
    def starting(cls, past: Sequence[int]) -> "Counts":
        """Return numbers of a ledger of their own, in which so much has been counted already."""
        return cls._of(Ledger(past), len(past))

    @classmethod
    def _of(cls, ledger: Ledger, size: int) -> "Counts":
        numbers = np.zeros(size, dtype=np.int64)
        counts = numbers.view(cls)
        counts.value = ledger
        ledger.open(counts, numbers)
        return counts

    def another(self) -> "Counts":
        """Return numbers for another run, in the same ledger."""
        return self._of(self.value, len(self))

    @property
    def totals(self) -> np.ndarray:
        """What all runs together have counted."""
        return self.value.totals()

    def comparable(self) -> Any:
        """Return None: what has been counted makes no set differ from another."""
        return None

    def __repr__(self) -> str:
        return repr(self.totals.tolist())

    def __reduce__(self):
        return Counts.starting, (self.totals.tolist(),)

    def __copy__(self):
        return Counts.starting(self.totals.tolist())

    def __deepcopy__(self, memo):
        return Counts.starting(self.totals.tolist())


class Memory(NamedTuple):
    """The last directions a set was asked about, and its answers.

    Attributes
    ----------
    questions, answers : arrays of shape (size, d)
        Directions, NaN where there is none yet, and their vertices.
    place : array of int, of shape (1,)
        How many answers were written down: where the next one goes.
    tally : array of int, of shape (2,)
        How many were found here, and how many were not.
    """

    questions: np.ndarray
    answers: np.ndarray
    place: np.ndarray
    tally: np.ndarray

    @classmethod
    def over(cls, size: int, d: int, tally: np.ndarray) -> "Memory":
        """Memory of nothing yet."""
        return cls(np.full((size, d), np.nan), np.zeros((size, d)), np.zeros(1, dtype=np.int64), tally)

    def index_ranges(self) -> dict[str, Any]:
        """Return what the index arrays of a restored memory must be like."""
        return {"place": COUNT, "tally": COUNT}

    def written(self, place, atom):
        """Write down an answer; say whether it is finite."""
        answer, usable = self.answers[place], True
        answer[:] = 0.0
        deposit(atom, Iterate(answer, np.ones(1)), 1.0)
        for j in range(len(answer)):
            usable = usable and isfinite(answer[j])
        return usable

    def recalled(self, place):
        """Return the answer at a place as an atom."""
        return Full(self.answers[place])


class CoordinateMemory(NamedTuple):
    """The same for a set whose vertices are single coordinates: of an answer it keeps the coordinate and the amount."""

    questions: np.ndarray
    at: np.ndarray
    amounts: np.ndarray
    place: np.ndarray
    tally: np.ndarray

    @classmethod
    def over(cls, size: int, d: int, tally: np.ndarray) -> "CoordinateMemory":
        """Memory of nothing yet."""
        counters = np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(1, dtype=np.int64)
        return cls(np.full((size, d), np.nan), *counters, tally)

    def index_ranges(self) -> dict[str, Any]:
        """Return what the index arrays of a restored memory must be like."""
        return {"at": (0, self.questions.shape[1]), "place": COUNT, "tally": COUNT}

    def written(self, place, atom):
        """Write down an answer; say whether it is finite."""
        found = coordinate(atom)
        self.at[place], self.amounts[place] = found.at, found.amount
        return isfinite(found.amount)

    def recalled(self, place):
        """Return the answer at a place as an atom."""
        return Hot(self.at[place], self.amounts[place])


@tracker
class CachedTracker(NamedTuple):
    """Tracker of a set that remembers: the set's own, and the memory."""

    tracker: Any
    memory: Any

    @property
    def lazy(self):
        """Whether the set's tracker is: a cache must not decide how large a batch is."""
        return self.tracker.lazy

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r`` and update the set's tracker."""
        add_row(self.tracker, rows, i, c, r)

    def rebuild(self, r):
        """Tell the set's tracker that all of ``r`` changed."""
        rebuild(self.tracker, r)

    def connected(self, failed):
        """Return the tracker with one that raises this flag when it fails."""
        return self._replace(tracker=self.tracker.connected(failed))


@routine
def recall(memory, r):
    """Place of the answer to this very direction, -1 if it is not remembered."""
    questions = memory.questions
    for place in range(len(questions)):
        same = True
        for j in range(len(r)):
            if questions[place, j] != r[j]:
                same = False
                break
        if same:
            memory.tally[0] += 1
            return place
    memory.tally[1] += 1
    return -1


@routine
def remember(memory, r, atom):
    """Write down an answer over the oldest one; return its place. One that is not finite will not be found again."""
    place = memory.place[0] % len(memory.questions)
    question = memory.questions[place]
    question[0] = np.nan  # until the answer is there
    usable = written(memory, place, atom)
    for j in range(1, len(r)):
        question[j] = r[j]
    if usable:
        question[0] = r[0]
    memory.place[0] += 1
    return place


class Shelf:
    """Memories by number of columns. What they hold makes no set differ from another.

    Attributes
    ----------
    counts : Counts
        What has been found in the memories, and what has not.
    for_run : bool
        Whether they are those of one run. Otherwise threads may share the shelf, and take turns.
    """

    def __init__(self, counts: Counts | None = None, for_run: bool = False):
        self.counts = Counts.starting([0, 0]) if counts is None else counts
        self.for_run, self.lock = for_run, RLock()
        self.memories: dict[int, Any] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shelf)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"<hits and misses: {self.counts!r}>"

    def __reduce__(self):
        return Shelf, ()


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
