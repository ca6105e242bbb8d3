"""Sets that count, or remember, what they are asked."""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.held import Held
from frankwolfe.iterate import Iterate
from frankwolfe.parts import part
from frankwolfe.sets.atoms import Full, fitted, vertex_of, wired
from frankwolfe.sets.checks import a_set, whole
from frankwolfe.sets.images import diameter_of, diameters_of
from frankwolfe.verbs import add_row, deposit, oracle, rebuild, routine


@part
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
        tally = Held.of(None, [0, 0]) if self.tally is None else self.tally
        return self._replace(set=a_set("Counted: set", self.set), tally=tally)

    @property
    def calls(self) -> int:
        """Vertices asked for so far, those for a method's warm-up included."""
        return int(self.tally[0])

    @property
    def supports(self) -> int:
        """Values of the support function asked for so far: one for each gap."""
        return int(self.tally[1])

    def reset(self) -> None:
        """Count from zero again."""
        self.tally[:] = 0

    def fitted(self, d):
        """Return the set fit for ``d`` columns; it counts together with this one."""
        return self._replace(set=fitted(self.set, d))

    def scout(self, d):
        """Return the scout of the set that is counted."""
        return self.set.scout(d)

    def oracle(self, scout, r):
        """Atom that minimises ``<r, s>``."""
        self.tally[0] += 1
        return oracle(self.set, scout, r)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        self.tally[1] += 1
        return self.set.support(direction)

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set."""
        return self.set.contains(w, tolerance)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return diameter_of(self.set, d)

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact."""
        return diameters_of(self.set, X)


class Memory(NamedTuple):
    """The last directions a set was asked about, and its answers.

    Attributes
    ----------
    questions, answers : arrays of shape (size, d)
        Directions, NaN where there is none yet, and their vertices.
    tally : array of int, of shape (3,)
        Where the next answer goes; how many were found here, and how many were not.
    """

    questions: np.ndarray
    answers: np.ndarray
    tally: np.ndarray

    @classmethod
    def over(cls, size: int, d: int) -> "Memory":
        """Memory of nothing yet."""
        return cls(np.full((size, d), np.nan), np.zeros((size, d)), np.zeros(3, dtype=np.int64))


class CachedScout(NamedTuple):
    """Scout of a set that remembers: the set's own, and the memory."""

    scout: Any
    memory: Memory

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r`` under the eyes of the set's scout."""
        add_row(self.scout, rows, i, c, r)

    def rebuild(self, r):
        """Tell the set's scout that all of ``r`` changed."""
        rebuild(self.scout, r)

    def wired(self, meter):
        """Return the scout with one that spoils the meter when it fails."""
        return self._replace(scout=wired(self.scout, meter))


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
            memory.tally[1] += 1
            return place
    memory.tally[2] += 1
    return -1


@routine
def remember(memory, r, atom):
    """Write down an answer over the oldest one; return its place. One that is not finite will not be found again."""
    place = memory.tally[0] % len(memory.questions)
    question, answer = memory.questions[place], memory.answers[place]
    answer[:] = 0.0
    deposit(atom, Iterate(answer, np.ones(1)), 1.0)
    usable = True
    for j in range(len(r)):
        question[j] = r[j]
        usable = usable and isfinite(answer[j])
    if not usable:
        question[0] = np.nan
    memory.tally[0] += 1
    return place


class Shelf:
    """Memories by number of columns. What they hold makes no set differ from another."""

    def __init__(self) -> None:
        self.memories: dict[int, Memory] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shelf)

    def __hash__(self) -> int:
        return 0


@part
class Cached(NamedTuple):
    """Another set, with the answers to the last directions it was asked about: for oracles that are expensive.

    The cache is exact: it answers only where the direction is, entry by entry, one that it remembers, and then with the
    vertex that the set had named. So results do not depend on it. It pays where the same direction comes up twice: a
    certificate and the step after it, with `"corrective"` in every round. The support function goes through it too.

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
            shelf=Held.of(Shelf()) if self.shelf is None else self.shelf,
        )

    def _memory(self, d: int) -> Memory:
        memories = self.shelf.value.memories
        if d not in memories:
            memories[d] = Memory.over(self.size, d)
        return memories[d]

    @property
    def hits(self) -> int:
        """Questions answered from memory so far."""
        return sum(int(memory.tally[1]) for memory in self.shelf.value.memories.values())

    @property
    def misses(self) -> int:
        """Questions that the set had to answer so far."""
        return sum(int(memory.tally[2]) for memory in self.shelf.value.memories.values())

    def fitted(self, d):
        """Return the set fit for ``d`` columns; it shares its memory with this one."""
        return self._replace(set=fitted(self.set, d))

    def scout(self, d):
        """Return the scout of the set, with the memory."""
        return CachedScout(self.set.scout(d), self._memory(d))

    def oracle(self, scout, r):
        """Atom that minimises ``<r, s>``."""
        memory = scout.memory
        place = recall(memory, r)
        if place < 0:
            place = remember(memory, r, oracle(self.set, scout.scout, r))
        return Full(memory.answers[place])

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        if not np.isfinite(direction).all():
            return self.set.support(direction)
        return float(direction @ self.vertex(-direction))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set."""
        return self.set.contains(w, tolerance)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return diameter_of(self.set, d)

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact."""
        return diameters_of(self.set, X)
