"""The samples of a problem, and how they are cut into blocks of bounded size.

Blocks are cut by size alone, never by the number of threads: sums over blocks, taken in their order, have the same bits
however many threads work on them. Small data is one block.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

SMALL = 2**17
"""Entries up to which data is one block: threads would take longer to start than to work."""

LEAST, MOST = 2**16, 2**22
"""Entries of a block, at the least and at the most."""

PER_COLUMN = 4
"""Entries of a block for each column, within these bounds: each block adds a gradient of its own to the sum."""


class Samples(NamedTuple):
    """Everything a kernel needs to know of the data: rows, targets, weights that sum to one, and the loss."""

    rows: Any
    targets: np.ndarray
    weights: np.ndarray
    loss: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: a number a sample, or a row for several outputs."""
        return (len(self.weights), self.rows.outputs) if self.rows.outputs else (len(self.weights),)

    def table(self) -> np.ndarray:
        """Return zeros, one for each prediction."""
        return np.zeros(self.shape)

    def block(self, part: slice) -> "Samples":
        """Return consecutive samples, in arrays of the same types."""
        return Samples(self.rows.block(part), self.targets[part], self.weights[part], self.loss)


def block_entries(stored: int, size: int) -> int:
    """Return how many of the stored entries a block should have, where a gradient has ``size`` numbers."""
    return stored if stored <= SMALL else min(max(LEAST, PER_COLUMN * size), MOST)


def even_parts(n: int, width: int, entries: int) -> list[slice]:
    """Cut ``n`` rows of ``width`` entries each into parts of at most about ``entries`` entries, of even size."""
    count = max(1, -(-n * width // max(entries, 1)))
    ends = np.linspace(0, n, min(count, max(n, 1)) + 1).round().astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def parts_by_size(starts: np.ndarray, entries: int) -> list[slice]:
    """Cut rows that begin at ``starts`` into parts of about ``entries`` entries and at least one row each."""
    n, stored = len(starts) - 1, int(starts[-1] - starts[0])
    count = max(1, -(-stored // max(entries, 1)))
    goals = starts[0] + np.linspace(0, stored, count + 1)[1:-1]
    ends = np.unique(np.concatenate([[0], np.searchsorted(starts, goals), [n]])).astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)] or [slice(0, n)]
