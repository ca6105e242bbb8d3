"""Groups of rows in memory, on which the compiled loop makes steps, and the samplers of their batches.

Data in memory is one group (`WholeData`). Data on disk is read in groups of shards, in a new random order for each pass
(`ShardGroups`). A thread reads the next group while steps are made on the current one. The number of steps on a group
is proportional to its rows, and their batches contain only its rows. Arrays with an entry per row, such as the table,
are stored for all rows; the entries of a group are copied when it starts, and copied back when it ends.
"""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.methods.base import EstimateDefaults
from frankwolfe.problem import Problem
from frankwolfe.rows import Samples
from frankwolfe.shards.disk import ShuffledGroups
from frankwolfe.solvers.loop import Batches, Sampler, Sizes, plain, require_permutation
from frankwolfe.store.sharded import Room


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

    def head(self, whole: Any) -> RowGroup:
        """Return a group for the compilation of kernels."""
        return RowGroup(self._problem.samples, whole)

    def enter(self, whole: Any, goes_on: Callable[[int], bool]) -> RowGroup:
        """Return the group for the next steps. ``whole`` is the estimate's state for all rows."""
        return RowGroup(self._problem.samples, whole)

    def present(self, whole: Any) -> RowGroup | None:
        """Return the group of the last steps."""
        return RowGroup(self._problem.samples, whole)

    def leave_if_done(self, whole: Any) -> None:
        """Do nothing: there is no other group."""

    def write_back(self, whole: Any) -> None:
        """Do nothing: the group has the arrays for all rows."""

    def take_over(self, whole: Any) -> None:
        """Do nothing: the group has the arrays for all rows."""


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

    def _grouped(self, rows: Any, parts: list[slice], whole: Any) -> RowGroup:
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
