"""Steps on data that is larger than memory: in groups of shards, in a new random order for each pass.

A group is read while steps are made on the one before it. On a group as many steps are made as are its share of a
pass, with batches of its rows alone. What a run remembers of single rows is kept for all of them; the entries of the
group are copied when it begins, and back when it ends.
"""

import json
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from frankwolfe.engines.loop import Batches, Sampler, Sizes, advance, plain, require_permutation
from frankwolfe.engines.stepwise import StepwiseEngine
from frankwolfe.methods.gradient import mean_residual, unvisited
from frankwolfe.methods.table import Method
from frankwolfe.problem import Problem
from frankwolfe.rows.samples import Samples
from frankwolfe.shards.disk import ShuffledGroups, StoredRows
from frankwolfe.store.reader import Room


class Group:
    """Rows that are in memory together, and what is remembered of them.

    Parameters
    ----------
    samples : Samples
        The rows, with their targets and weights.
    parts : list of slice
        Where they are among all rows.
    state : NamedTuple
        The estimate's, with the entries of these rows.
    names : tuple of str
        The arrays in it that have an entry for each row.
    """

    def __init__(self, samples: Samples, parts: list[slice], state: Any, names: tuple[str, ...]):
        self.samples, self.parts, self._names = samples, parts, names
        self.state = state._replace(**{name: _gathered(getattr(state, name), parts) for name in names})

    def copy_from(self, whole: Any) -> None:
        """Take over the entries of the group from the arrays for all rows."""
        for name in self._names:
            getattr(self.state, name)[:] = _gathered(getattr(whole, name), self.parts)

    def copy_to(self, whole: Any) -> None:
        """Write the entries of the group into the arrays for all rows."""
        for name in self._names:
            at, mine, all_rows = 0, getattr(self.state, name), getattr(whole, name)
            for part in self.parts:
                size = part.stop - part.start
                all_rows[part] = mine[at : at + size]
                at += size


def _gathered(values: np.ndarray, parts: list[slice]) -> np.ndarray:
    return np.concatenate([values[part] for part in parts])


class GroupSampler:
    """Deals batches within groups; to the engine, it stands for a `Sampler`.

    Parameters
    ----------
    rows : StoredRows
        Of the data.
    batch_size : int
        Rows of a batch.
    generator : Generator
        Where batches come from. The orders of the shards have a generator of their own, which this one seeds.
    """

    ahead = 0

    def __init__(self, rows: StoredRows, batch_size: int, generator: np.random.Generator):
        self.batch_size, self._batches = batch_size, generator
        self.order = ShuffledGroups(rows.store, np.random.default_rng(int(generator.integers(2**63))))
        fewest = self.order.plan.fewest_rows
        if batch_size > fewest:
            raise ValueError(
                f"batch_size={batch_size:,} is more than the {fewest:,} rows that may be in memory together: choose a "
                f"smaller one, or open {rows.store.path} with more memory"
            )
        self.left = 0  # steps on the present group
        self._sampler: Sampler | None = None
        self._deck: np.ndarray | None = None

    def sizes(self, steps: np.ndarray) -> np.ndarray:
        """Rows in the batches of the steps with these numbers."""
        return np.full(len(steps), self.batch_size)

    def enter(self, rows: int) -> None:
        """Begin with the present group, which has so many rows; or go on with it, where a state was restored."""
        self._sampler = Sampler(rows, self.batch_size, self._batches)
        if self._deck is not None:
            self._sampler.restore_deck(self._deck)
            self._deck = None
        else:
            self.left = self.order.steps(self.batch_size)

    def take(self, steps: int) -> Batches:
        """Batches of the next steps on the present group."""
        assert self._sampler is not None
        self.left -= steps
        return self._sampler.take(steps)

    def leave(self) -> None:
        """Go on to the next group."""
        self._sampler, self._deck = None, None
        self.order.go_on()

    def state(self) -> dict[str, Any]:
        """Return where the sampler is: the orders of the shards, the group, its rows, and both generators as JSON."""
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
        """Go on where the sampler with this state was; with the generator at hand."""
        order = {"orders": state["sampler.orders"], "group": state["sampler.group"]}
        shards = self.order.shards
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


class GroupedEngine(StepwiseEngine):
    """The stepwise engine on rows of a store that do not fit into memory."""

    def __init__(self, *args: Any, **how: Any):
        self._group: Group | None = None
        self._room: Room | None = None  # of the group
        self._spare: list[Room] = []
        self._next: tuple[tuple[int, ...], Future] | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="frankwolfe-read")
        super().__init__(*args, **how)

    def _make_sampler(self, generator: np.random.Generator, growing: Sizes | None) -> GroupSampler:
        return GroupSampler(self.problem.samples.rows, self.batch_size, generator)

    # --- groups ---------------------------------------------------------------------------------------------------

    def _head(self) -> Group:
        """Return the first row as a group, to compile for."""
        return self._grouped(self.problem.samples.rows.block(slice(0, 1)), [slice(0, 1)])

    def _some_samples(self) -> Samples:
        return self._head().samples

    def _grouped(self, rows: Any, parts: list[slice]) -> Group:
        _, targets, weights, loss = self.problem.samples
        samples = Samples(rows, _gathered(targets, parts), _gathered(weights, parts), loss)
        return Group(samples, parts, self.parts[0], self.abilities.row_arrays or ())

    def _enter(self) -> Group:
        """Return the group that steps are made on, read if need be; the next one is read meanwhile."""
        if self._group is None:
            order = self.sampler.order
            chosen = order.group()
            if self._next is None or self._next[0] != tuple(chosen):
                self._read(chosen)
            assert self._next is not None
            rows, self._room = self._next[1].result()
            self._next = None
            self._group = self._grouped(rows, order.parts(chosen))
            self.sampler.enter(len(self._group.samples.targets))
            if order.plan.groups > 1 and self.plan.affordable(self.sampler.left + 1) > self.sampler.left:
                self._read(order.group(ahead=1))
        return self._group

    def _read(self, chosen: np.ndarray) -> None:
        """Begin to read some shards."""
        rows, plan = self.problem.samples.rows, self.sampler.order.plan
        room = self._spare.pop() if self._spare else None

        def read() -> tuple[Any, Room]:
            where = room or Room(rows.store, plan.most_rows, plan.most_entries)
            return rows.group(chosen, where), where

        self._next = tuple(chosen), self._pool.submit(read)

    def _leave(self) -> None:
        """Write back what was learned of the group, and go on to the next."""
        self._write_back()
        assert self._room is not None
        self._spare.append(self._room)
        self._group = self._room = None
        self.sampler.leave()

    def _write_back(self) -> None:
        if self._group is not None:
            self._group.copy_to(self.parts[0])

    def _advance(self, steps: int) -> int:
        """Make up to ``steps`` steps with the intercept as it is; return how many were made."""
        before, goal = self.steps, self.steps + steps
        if steps == 0:
            self._call(self._head(), Batches(np.empty(0, np.int64), np.zeros(1, np.int64)), 0)
        while self.steps < goal:
            group = self._enter()
            some = min(goal - self.steps, self.sampler.left)
            if self._call(group, self.sampler.take(some), some) < some:
                break
            if self.sampler.left == 0:
                self._leave()
        return self.steps - before

    def _call(self, group: Group, batches: Batches, steps: int) -> int:
        before = self.steps
        advance(
            group.samples,
            self.problem.constraint,
            (group.state, *self.parts[1:]),
            self.gradient,
            self.iterate,
            group.state.alpha if self._certifies_by_table else None,
            None,
            batches.order,
            batches.offsets,
            None,
            self.plan.least,
            self.clock,
            steps,
        )
        return self.steps - before

    # --- what is remembered of all rows ---------------------------------------------------------------------------

    def _renew(self, alpha: np.ndarray, exact: np.ndarray) -> None:
        super()._renew(alpha, exact)
        if self._group is not None:
            self._group.copy_from(self.parts[0])

    def table(self) -> np.ndarray | None:
        """Return the table, brought up to date."""
        self._write_back()
        return super().table()

    @property
    def samples_gap(self) -> bool:
        """Whether a sample of rows tells the gap: no, for they are on disk."""
        return False

    def mean_residual(self) -> tuple[float, float]:
        """Return the mean residual of the rows that steps were about to refresh of late, and its standard error."""
        table, group = self.table(), self._group
        if table is None or group is None:
            return np.nan, np.nan
        mine = group.state.alpha
        elsewhere = unvisited(table) - unvisited(mine)
        return mean_residual(group.samples, self.iterate, self.gradient.counters, mine, self.steps, elsewhere)

    @property
    def slopes(self) -> np.ndarray | None:
        """The derivatives that the last step has seen, where there is a table."""
        self._write_back()
        return super().slopes

    def handed_over(self) -> dict[str, Any]:
        """Return what a run of another method, or on other data, can use."""
        self._write_back()
        return super().handed_over()


def stepwise_engine(problem: Problem, method: Method) -> Any:
    """Return the engine that makes steps on a problem: in groups of rows, where they do not fit into memory."""
    if problem.on_cluster:
        from frankwolfe.engines.cluster_stepwise import cluster_engine

        return cluster_engine(method)
    return GroupedEngine if isinstance(problem.samples.rows, StoredRows) else StepwiseEngine
