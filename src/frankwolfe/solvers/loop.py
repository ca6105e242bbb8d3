"""The one loop that all stepwise methods share, and the batches of rows that it is given.

A method that visits samples at random would be free to draw them one by one. Batches are drawn many at a time instead,
so that the compiled loop makes many steps per call.
"""

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import apply, choose, fetch_row, follow, gradient_point, length, max_step, refresh
from frankwolfe.methods.gradient import AHEAD, EVERY, FAILED, ROWS_READ, TABLE_CHANGE, sample_residuals, take_back

Sizes = Callable[[np.ndarray], np.ndarray]
"""Rows in the batches of the steps with these numbers."""


BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
"""Those of NumPy."""


class Batches(NamedTuple):
    """Batches of several steps, one after the other: number ``k`` is ``order[offsets[k]:offsets[k + 1]]``."""

    order: np.ndarray
    offsets: np.ndarray


class Sampler:
    """Deals batches: rows drawn uniformly, none twice within a batch, batches independent of each other.

    A step has one batch, or two of the same size, one after the other.

    The numbers come from one NumPy generator in one stream, so the batches do not depend on how many are asked for at
    a time, and every method sees the same rows for the same seed.

    Parameters
    ----------
    n : int
        Rows of the data.
    batch_size : int
        Rows of a batch; 0 for none at all.
    generator : numpy.random.Generator
        Where the numbers come from.
    growing : callable, optional
        Number of rows in the batches of the steps with these numbers, where it is not the same in all of them.
    first : int
        Number of the first step.
    ahead : bool
        Whether the batch after those that are taken is handed out with them.
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
        """Rows that the steps with these numbers are dealt."""
        return self._batches * self._batch_sizes(steps)

    def _batch_sizes(self, steps: np.ndarray) -> np.ndarray:
        """Rows in a batch of the steps with these numbers."""
        if self._growing is None:
            return np.full(len(steps), self.batch_size)
        return np.clip(np.asarray(self._growing(steps), dtype=np.int64), 1, len(self._deck))

    def draw(self, steps: int) -> np.ndarray:
        """Rows of the next ``steps`` steps, one batch after the other."""
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
        """Batches of the next ``steps`` steps; where they are dealt ahead, also the one that comes after them."""
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
        """Return the order of the rows, which batches leave behind, what was dealt ahead, and the generator as JSON."""
        return {
            "sampler.deck": self._deck,
            "sampler.next_drawn": self._next_drawn,
            "sampler.next_taken": self._next_taken,
            "sampler.upcoming": self._upcoming,
            **saved_generator(self._generator),
        }

    @property
    def deck(self) -> np.ndarray:
        """The rows in the order that batches leave behind."""
        return self._deck

    def restore_deck(self, deck: np.ndarray) -> None:
        """Go on with the rows in this order."""
        self._deck[:] = deck

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the sampler with this state was; with the generator at hand."""
        require_permutation("sampler.deck", state["sampler.deck"], len(self._deck))
        self._deck[:] = state["sampler.deck"]
        drawn, taken, upcoming = (state[f"sampler.{name}"] for name in ("next_drawn", "next_taken", "upcoming"))
        ahead = self.sizes(np.arange(taken, drawn)).sum() if 0 <= drawn - taken <= 1 else -1
        rows = isinstance(upcoming, np.ndarray) and upcoming.dtype == np.int64 and upcoming.shape == (ahead,)
        if not rows or not ((upcoming >= 0) & (upcoming < len(self._deck))).all():
            raise ValueError("its rows that were dealt ahead are not those of a batch")
        self._next_drawn, self._next_taken, self._upcoming = drawn, taken, upcoming.copy()


def require_permutation(name: str, order: Any, n: int) -> None:
    """Raise ValueError unless an entry of a state is an order of ``n`` things: compiled code does not look twice."""
    whole = isinstance(order, np.ndarray) and order.shape == (n,) and order.dtype == np.int64
    if not whole or not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"its entry {name} is not an order of {n} things")


def _ends(sizes: np.ndarray) -> np.ndarray:
    """Where pieces of these sizes begin, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def saved_generator(generator: np.random.Generator) -> dict[str, str]:
    """Return the state of a generator, under the name that it has in the states of runs."""
    return {"sampler.generator": json.dumps(generator.bit_generator.state, default=plain)}


def generator_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of the generator that batches came from, as NumPy's bit generators take it."""
    return dict(json.loads(state["sampler.generator"], object_hook=_with_arrays))


def generator_of(state: Mapping[str, Any]) -> np.random.Generator:
    """Return a generator that goes on where the one that batches came from was.

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
    """Return a part of a generator's state with arrays where there are lists."""
    return {
        name: np.array(entry, dtype=np.uint64) if isinstance(entry, list) else entry for name, entry in entries.items()
    }


def plain(entry: Any) -> Any:
    """Return an array or a number of NumPy as JSON has them."""
    return entry.tolist() if isinstance(entry, np.ndarray | np.generic) else repr(entry)


@kernel
def deal(uniform, offsets, deck, order):
    """Turn uniform numbers into batches without repeats: a few steps of a Fisher-Yates shuffle for each batch."""
    for k in range(len(offsets) - 1):
        first = offsets[k]
        for at in range(offsets[k + 1] - first):
            other = at + int(uniform[first + at] * (len(deck) - at))
            deck[at], deck[other] = deck[other], deck[at]
            order[first + at] = deck[at]


@kernel
def advance(samples, constraint, method, gradient, iterate, table, surplus, order, offsets, ahead, least, clock, steps):
    """Make ``steps`` steps in place, with the batches ``order[offsets[k]:offsets[k + 1]]``.

    ``clock`` counts the steps and the rows that they read, so that counts and iterate cannot come apart. A step is
    charged ``least`` rows at least: all of them, where its step rule reads all. Unless ``ahead`` is None, which is
    known when this is compiled and costs nothing then, the batch of the next step is shown as well. Unless ``table`` is
    None, its residuals are sampled. Unless ``surplus`` is None, it is what the estimate adds to ``r`` for one step.
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
        # ask for the first rows of the next batch, or for those of the batches after it
        for at in range(end + max(0, AHEAD - len(batch)), min(end + AHEAD, len(order))):
            fetch_row(rows, order[at])
        if table is not None and -t % EVERY < len(batch):  # most small batches are left alone
            sample_residuals(samples, iterate, counters, table, batch, -t % EVERY, t)
        point = gradient_point(direction, iterate, t)
        refresh(estimate, samples, point, gradient, batch, upcoming, t)
        move = choose(direction, constraint, gradient, iterate)
        follow(estimate, samples, point, move, gradient, batch, upcoming, t)
        if not isfinite(counters[TABLE_CHANGE]) or counters[FAILED] != 0.0:
            return  # the iterate has not moved: it is still the last good one
        gamma = length(step, move, samples, gradient, iterate, t)
        if not isfinite(gamma):
            return
        apply(move, iterate, min(gamma, max_step(move)))  # no rule, not even a user's, may leave the set
        clock[0] = t
        clock[1] += max(least, int(counters[ROWS_READ]))
        if surplus is not None:
            take_back(gradient, surplus, rows)
