"""The compiled loop that all stepwise methods share, and the sampler of its batches.

Batches are drawn for many steps at a time, so that a call of the compiled loop makes many steps.
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
