"""The compiled loop that all stepwise methods share, the sampler of its batches, and the groups of rows it works on.

Batches are drawn for many steps at a time, so that a call of the compiled loop makes many steps.

The loop works on a group of rows in memory. Data in memory is one group (`WholeData`). Data on disk is read in groups
of shards, in a new random order for each pass (`ShardGroups`). A thread reads the next group while steps are made on
the current one. The number of steps on a group is proportional to its rows, and their batches contain only its rows.
Arrays with an entry per row, such as the table, are stored for all rows; the entries of a group are copied when it
starts, and copied back when it ends.
"""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Rows
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import apply, choose, fetch_row, follow, gradient_point, length, max_step, refresh
from frankwolfe.methods.base import EstimateDefaults
from frankwolfe.methods.gradient import AHEAD, EVERY, FAILED, ROWS_READ, TABLE_CHANGE, sample_residuals, take_back
from frankwolfe.problem import Problem
from frankwolfe.rows import Samples
from frankwolfe.shards.disk import ShuffledGroups
from frankwolfe.store.sharded import Room

Sizes = Callable[[np.ndarray], np.ndarray]
"""Function from step numbers to the batch sizes of these steps."""


BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
"""Names of NumPy's bit generators."""


class Batches(NamedTuple):
    """Batches of several steps, concatenated: batch ``k`` is ``order[offsets[k]:offsets[k + 1]]``."""

    order: np.ndarray
    offsets: np.ndarray


class Sampler:
    """Sampler of batches: rows are drawn uniformly, without replacement within a batch. Batches are independent.

    A step has one batch, or two of the same size, one after the other.

    Random numbers come from a single stream. The batches therefore do not depend on the number of steps per call, and
    every method gets the same rows for the same seed.

    Parameters
    ----------
    n : int
        Rows of the data.
    batch_size : int
        Rows of a batch; 0 for no batches.
    generator : numpy.random.Generator
        Source of random numbers.
    growing : callable, optional
        Function from step numbers to batch sizes, if these differ.
    first : int
        Number of the first step.
    ahead : bool
        Whether `take` also returns the batch of the following step.
    two : bool
        Whether a step has two batches.
    """

    def __init__(
        self,
        n: int,
        batch_size: int,
        generator: np.random.Generator,
        growing: Sizes | None = None,
        first: int = 1,
        ahead: bool = False,
        two: bool = False,
    ):
        self.batch_size, self.ahead, self._batches = batch_size, int(ahead), 2 if two else 1
        self._generator, self._growing = generator, growing
        self._deck = np.arange(n)
        self._next_drawn = self._next_taken = first
        self._upcoming = np.empty(0, dtype=np.int64)

    def sizes(self, steps: np.ndarray) -> np.ndarray:
        """Return the number of rows that each of these steps gets."""
        return self._batches * self._batch_sizes(steps)

    def _batch_sizes(self, steps: np.ndarray) -> np.ndarray:
        """Return the batch sizes of these steps."""
        if self._growing is None:
            return np.full(len(steps), self.batch_size)
        return np.clip(np.asarray(self._growing(steps), dtype=np.int64), 1, len(self._deck))

    def draw(self, steps: int) -> np.ndarray:
        """Draw the rows of the next ``steps`` steps, concatenated."""
        sizes = self._batch_sizes(self._next_drawn + np.arange(steps))
        offsets = _ends(np.repeat(sizes, self._batches))
        self._next_drawn += steps
        uniform = self._generator.random(offsets[-1])
        if self._growing is None and self.batch_size == 1:
            return (uniform * len(self._deck)).astype(np.int64)
        order = np.empty(len(uniform), dtype=np.int64)
        if len(order):
            deal(uniform, offsets, self._deck, order)
        return order

    def take(self, steps: int) -> Batches:
        """Return the batches of the next ``steps`` steps and, with ``ahead``, that of the following step."""
        if steps == 0:
            return Batches(np.empty(0, dtype=np.int64), np.zeros(1 + self.ahead, dtype=np.int64))
        offsets = _ends(self.sizes(self._next_taken + np.arange(steps + self.ahead)))
        self._next_taken += steps
        if not self.ahead:
            return Batches(self.draw(steps), offsets)
        order = np.concatenate([self._upcoming, self.draw(self._next_taken + 1 - self._next_drawn)])
        self._upcoming = order[offsets[steps] :]
        return Batches(order, offsets)

    def state(self) -> dict[str, Any]:
        """Return the state: the permutation of the rows, the batch drawn ahead, and the generator as JSON."""
        return {
            "sampler.deck": self._deck,
            "sampler.next_drawn": self._next_drawn,
            "sampler.next_taken": self._next_taken,
            "sampler.upcoming": self._upcoming,
            **saved_generator(self._generator),
        }

    @property
    def deck(self) -> np.ndarray:
        """The current permutation of the rows."""
        return self._deck

    def restore_deck(self, deck: np.ndarray) -> None:
        """Set the permutation of the rows."""
        self._deck[:] = deck

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state, with the current generator."""
        require_permutation("sampler.deck", state["sampler.deck"], len(self._deck))
        self._deck[:] = state["sampler.deck"]
        drawn, taken, upcoming = (state[f"sampler.{name}"] for name in ("next_drawn", "next_taken", "upcoming"))
        ahead = self.sizes(np.arange(taken, drawn)).sum() if 0 <= drawn - taken <= 1 else -1
        rows = isinstance(upcoming, np.ndarray) and upcoming.dtype == np.int64 and upcoming.shape == (ahead,)
        if not rows or not ((upcoming >= 0) & (upcoming < len(self._deck))).all():
            raise ValueError("its rows that were dealt ahead are not those of a batch")
        self._next_drawn, self._next_taken, self._upcoming = drawn, taken, upcoming.copy()


def require_permutation(name: str, order: Any, n: int) -> None:
    """Raise ValueError unless an entry of a state is a permutation of ``n`` numbers. Compiled code indexes with it."""
    whole = isinstance(order, np.ndarray) and order.shape == (n,) and order.dtype == np.int64
    if not whole or not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"its entry {name} is not an order of {n} things")


def _ends(sizes: np.ndarray) -> np.ndarray:
    """Return the offsets of consecutive pieces of these sizes, and the end of the last one."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def saved_generator(generator: np.random.Generator) -> dict[str, str]:
    """Return the state of a generator as a state entry."""
    return {"sampler.generator": json.dumps(generator.bit_generator.state, default=plain)}


def generator_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of the batches' generator, in the format of NumPy's bit generators."""
    return dict(json.loads(state["sampler.generator"], object_hook=_with_arrays))


def generator_of(state: Mapping[str, Any]) -> np.random.Generator:
    """Return a generator that continues from the saved state of the batches' generator.

    Examples
    --------
    >>> generator = np.random.Generator(np.random.SFC64(3))
    >>> state = Sampler(9, 1, generator).state()
    >>> bool(generator.random() == generator_of(state).random())
    True
    """
    found = generator_state(state)
    name = found["bit_generator"]
    if name not in BIT_GENERATORS:
        raise ValueError(f"batches came from a generator that NumPy does not have, {name}")
    generator = np.random.Generator(getattr(np.random, name)())
    generator.bit_generator.state = found
    return generator


def _with_arrays(entries: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a generator's state with lists converted to arrays."""
    return {
        name: np.array(entry, dtype=np.uint64) if isinstance(entry, list) else entry for name, entry in entries.items()
    }


def plain(entry: Any) -> Any:
    """Convert an array or a number of NumPy for JSON."""
    return entry.tolist() if isinstance(entry, np.ndarray | np.generic) else repr(entry)


@kernel
def deal(uniform, offsets, deck, order):
    """Turn uniform numbers into batches without replacement, by a partial Fisher-Yates shuffle for each batch."""
    for k in range(len(offsets) - 1):
        first = offsets[k]
        for at in range(offsets[k + 1] - first):
            other = at + int(uniform[first + at] * (len(deck) - at))
            deck[at], deck[other] = deck[other], deck[at]
            order[first + at] = deck[at]


@kernel
def advance(samples, constraint, method, gradient, iterate, table, surplus, order, offsets, ahead, least, clock, steps):
    """Make ``steps`` steps in place, with the batches ``order[offsets[k]:offsets[k + 1]]``.

    ``clock`` counts the steps and the rows that they read, and is updated with each step. A step costs at least
    ``least`` rows: all rows, if its step rule reads all. Unless ``ahead`` is None, which is decided at compile time,
    the estimate also gets the batch of the next step. Unless ``table`` is None, its residuals are sampled. Unless
    ``surplus`` is None, it is a term that the estimate adds to ``r`` for one step.
    """
    estimate, direction, step = method
    rows, counters = samples.rows, gradient.counters
    upcoming = order[:0]
    for k in range(steps):
        t = clock[0] + 1
        end = offsets[k + 1]
        batch = order[offsets[k] : end]
        if ahead is not None:
            upcoming = order[end : offsets[k + 2]]
        counters[ROWS_READ] = len(batch)
        # prefetch rows of the next batches into the cache
        for at in range(end + max(0, AHEAD - len(batch)), min(end + AHEAD, len(order))):
            fetch_row(rows, order[at])
        if table is not None and -t % EVERY < len(batch):  # most small batches are not sampled
            sample_residuals(samples, iterate, counters, table, batch, -t % EVERY, t)
        point = gradient_point(direction, iterate, t)
        refresh(estimate, samples, point, gradient, batch, upcoming, t)
        move = choose(direction, constraint, gradient, iterate)
        follow(estimate, samples, point, move, gradient, batch, upcoming, t)
        if not isfinite(counters[TABLE_CHANGE]) or counters[FAILED] != 0.0:
            return  # the iterate has not moved
        gamma = length(step, move, samples, gradient, iterate, t)
        if not isfinite(gamma):
            return
        apply(move, iterate, min(gamma, max_step(move)))  # no step rule, not even a user's, can leave the set
        clock[0] = t
        clock[1] += max(least, int(counters[ROWS_READ]))
        if surplus is not None:
            take_back(gradient, surplus, rows)


# --- groups of rows --------------------------------------------------------------------------------------------------


class RowGroup(NamedTuple):
    """Rows that are in memory together, and the estimate's state for them."""

    samples: Samples
    state: Any


class WholeData(Sampler):
    """All rows, in memory: one group, which has no end.

    Parameters
    ----------
    problem : Problem
        Problem with all its rows in memory.
    others
        Arguments of `Sampler`.
    """

    left = float("inf")

    def __init__(self, problem: Problem, *given: Any):
        super().__init__(problem.n, *given)
        self._problem = problem

    def enter(self, whole: Any, goes_on: Callable[[int], bool] | None = None) -> RowGroup:
        """Return the group. ``whole`` is the estimate's state for all rows."""
        return RowGroup(self._problem.samples, whole)

    def write_back(self, whole: Any) -> None:
        """Do nothing: there is no other group, and this one has the arrays for all rows."""

    head = present = enter
    leave_if_done = take_over = write_back


def joined(values: np.ndarray, parts: list[slice]) -> np.ndarray:
    """Return the concatenation of slices of an array."""
    return np.concatenate([values[part] for part in parts])


class ShardGroups:
    """Sampler of batches from groups of shards, which are read one after the other. It has the interface of `Sampler`.

    Parameters
    ----------
    samples : Samples
        All samples, with the rows of a store.
    names : tuple of str
        Arrays of the estimate's state that have an entry for each row.
    batch_size : int
        Rows of a batch.
    generator : Generator
        Random generator of the batches. It also seeds the generator for the order of the shards.
    """

    ahead = 0

    def __init__(self, samples: Samples, names: tuple[str, ...], batch_size: int, generator: np.random.Generator):
        self.batch_size, self._samples, self._names, self._batches = batch_size, samples, names, generator
        store = samples.rows.store
        self.order = ShuffledGroups(store, np.random.default_rng(int(generator.integers(2**63))))
        fewest = self.order.plan.fewest_rows
        if batch_size > fewest:
            raise ValueError(
                f"batch_size={batch_size:,} is more than the {fewest:,} rows that may be in memory together: choose a "
                f"smaller one, or open {store.name} with more memory"
            )
        self.left = 0  # steps left on the current group
        self._sampler: Sampler | None = None
        self._deck: np.ndarray | None = None
        self._group: RowGroup | None = None
        self._parts: list[slice] = []  # slices of its rows among all rows
        self._room: Room | None = None  # of the group
        self._spare: list[Room] = []
        self._next: tuple[tuple[int, ...], Future] | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="frankwolfe-read")

    def sizes(self, steps: np.ndarray) -> np.ndarray:
        """Return the batch sizes of the steps with these numbers."""
        return np.full(len(steps), self.batch_size)

    # --- groups ---------------------------------------------------------------------------------------------------

    def head(self, whole: Any) -> RowGroup:
        """Return the first row as a group, for the compilation of kernels."""
        return self._grouped(self._samples.rows.block(slice(0, 1)), [slice(0, 1)], whole)

    def present(self, whole: Any) -> RowGroup | None:
        """Return the group in memory, if there is one."""
        return self._group

    def _grouped(self, rows: Rows, parts: list[slice], whole: Any) -> RowGroup:
        _, targets, weights, loss = self._samples
        samples = Samples(rows, joined(targets, parts), joined(weights, parts), loss)
        return RowGroup(samples, whole._replace(**{name: joined(getattr(whole, name), parts) for name in self._names}))

    def enter(self, whole: Any, goes_on: Callable[[int], bool]) -> RowGroup:
        """Return the group for the next steps, and read it if necessary.

        A thread starts to read the following group, if the budget allows steps on it.
        """
        if self._group is None:
            chosen = self.order.group()
            if self._next is None or self._next[0] != tuple(chosen):
                self._read(chosen)
            assert self._next is not None
            rows, self._room = self._next[1].result()
            self._next = None
            self._parts = self.order.parts(chosen)
            self._group = self._grouped(rows, self._parts, whole)
            self._begin(len(self._group.samples.targets))
            if self.order.plan.groups > 1 and goes_on(self.left):
                self._read(self.order.group(ahead=1))
        return self._group

    def _begin(self, rows: int) -> None:
        """Start the sampler of a group: a new one, or the unfinished one of a restored state."""
        self._sampler = Sampler(rows, self.batch_size, self._batches)
        if self._deck is not None:
            self._sampler.restore_deck(self._deck)
            self._deck = None
        else:
            self.left = self.order.steps(self.batch_size)

    def _read(self, chosen: np.ndarray) -> None:
        """Start a thread that reads the chosen shards."""
        rows, plan = self._samples.rows, self.order.plan
        room = self._spare.pop() if self._spare else None

        def read() -> tuple[Any, Room]:
            where = room or Room(rows.store, plan.most_rows, plan.most_entries)
            return rows.group(chosen, where), where

        self._next = tuple(chosen), self._pool.submit(read)

    def take(self, steps: int) -> Batches:
        """Return the batches of the next steps on the current group."""
        assert self._sampler is not None
        self.left -= steps
        return self._sampler.take(steps)

    def leave_if_done(self, whole: Any) -> None:
        """After the last step on a group, copy its arrays back and move on to the next group."""
        if self.left:
            return
        self.write_back(whole)
        assert self._room is not None
        self._spare.append(self._room)
        self._group = self._room = self._sampler = self._deck = None
        self.order.go_on()

    def write_back(self, whole: Any) -> None:
        """Copy the entries of the current group to the arrays for all rows."""
        if self._group is not None:
            ends = np.cumsum([part.stop - part.start for part in self._parts])
            for name in self._names:
                for part, mine in zip(self._parts, np.split(getattr(self._group.state, name), ends[:-1]), strict=True):
                    getattr(whole, name)[part] = mine

    def take_over(self, whole: Any) -> None:
        """Copy the entries of the current group from the arrays for all rows."""
        if self._group is not None:
            for name in self._names:
                getattr(self._group.state, name)[:] = joined(getattr(whole, name), self._parts)

    # --- state ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state: the order of the shards, the group, the order of its rows, and both generators as JSON."""
        order = self.order.state()
        found = {
            "sampler.orders": order["orders"],
            "sampler.group": order["group"],
            "sampler.left": self.left,
            "sampler.shuffler": json.dumps(order["generator"], default=plain),
            "sampler.generator": json.dumps(self._batches.bit_generator.state, default=plain),
        }
        deck = self._deck if self._sampler is None else self._sampler.deck
        return found if deck is None else found | {"sampler.deck": deck}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state, with the current generator."""
        order = {"orders": state["sampler.orders"], "group": state["sampler.group"]}
        shards = len(self._samples.rows.store.shards)
        if np.ndim(order["orders"]) != 2 or order["group"] >= self.order.plan.groups:
            raise ValueError("its order of the shards has another form")
        for some in order["orders"]:
            require_permutation("sampler.orders", some, shards)
        self.order.restore(order | {"generator": json.loads(state["sampler.shuffler"])})
        self.left, self._sampler = int(state["sampler.left"]), None
        deck = state.get("sampler.deck")
        if deck is not None:
            rows = sum(part.stop - part.start for part in self.order.parts(self.order.group()))
            require_permutation("sampler.deck", deck, rows)
        self._deck = None if deck is None else deck.copy()


def groups_of(
    problem: Problem,
    facts: EstimateDefaults,
    batch_size: int,
    generator: np.random.Generator,
    growing: Sizes | None,
    first: int,
) -> WholeData | ShardGroups:
    """Return the groups of a problem's rows with their sampler, for steps from number ``first`` on."""
    if problem.objective.shards.groups > 1:
        return ShardGroups(problem.samples, facts.row_arrays, batch_size, generator)
    ahead, two = facts.reads_upcoming, facts.two_batches
    return WholeData(problem, batch_size, generator, growing, first, ahead, two)
