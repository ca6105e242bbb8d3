"""What a cached set remembers: the last directions it was asked about, and its answers."""

from math import isfinite
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import COUNT
from frankwolfe.compile.verbs import add_row, coordinate, deposit, rebuild, routine, written
from frankwolfe.rows.iterate import Iterate
from frankwolfe.sets.atoms import Full, Hot
from frankwolfe.sets.counters import Counts
from frankwolfe.trackers.tracker_defaults import tracker


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
