"""The samples of a problem, and their division into blocks of bounded size.

The blocks depend on the size of the data, not on the number of threads. Sums over blocks in a fixed order are therefore
bitwise the same for any number of threads. Small data is one block.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

SMALL = 2**17
"""Number of entries up to which data is one block: starting threads would take longer than the work."""

LEAST, MOST = 2**16, 2**22
"""Minimum and maximum number of entries of a block."""

PER_COLUMN = 4
"""Entries of a block for each weight, within these bounds, because each block computes a gradient of its own."""


class Samples(NamedTuple):
    """The data of a problem: rows, targets, weights that sum to one, and the loss."""

    rows: Any
    targets: np.ndarray
    weights: np.ndarray
    loss: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: ``(n,)``, or ``(n, outputs)`` for several outputs."""
        return (len(self.weights), self.rows.outputs) if self.rows.outputs else (len(self.weights),)

    def table(self) -> np.ndarray:
        """Return zeros, one for each prediction."""
        return np.zeros(self.shape)

    def block(self, part: slice) -> "Samples":
        """Return a slice of the samples."""
        return Samples(self.rows.block(part), self.targets[part], self.weights[part], self.loss)


def block_entries(stored: int, size: int) -> int:
    """Return the number of entries of a block, for data of ``stored`` entries and gradients of ``size`` numbers."""
    return stored if stored <= SMALL else min(max(LEAST, PER_COLUMN * size), MOST)


def even_parts(n: int, width: int, entries: int) -> list[slice]:
    """Return slices of ``n`` rows of ``width`` entries, equal in size, with at most about ``entries`` entries each."""
    count = max(1, -(-n * width // max(entries, 1)))
    if count == 1:
        return [slice(0, n)]
    ends = np.linspace(0, n, min(count, max(n, 1)) + 1).round().astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def parts_by_size(starts: np.ndarray, entries: int) -> list[slice]:
    """Return slices of rows that begin at ``starts``, with about ``entries`` entries and at least one row each."""
    n, stored = len(starts) - 1, int(starts[-1] - starts[0])
    count = max(1, -(-stored // max(entries, 1)))
    goals = starts[0] + np.linspace(0, stored, count + 1)[1:-1]
    ends = np.unique(np.concatenate([[0], np.searchsorted(starts, goals), [n]])).astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)] or [slice(0, n)]
