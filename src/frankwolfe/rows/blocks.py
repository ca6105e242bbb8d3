"""Rows in blocks of bounded size: what work on all of the data is cut into.

Blocks are cut by size alone, never by the number of threads: sums over blocks, taken in their order, have the same bits
however many threads work on them. Data that fits into one block is one.
"""

from itertools import pairwise

import numpy as np

SMALL = 2**17
"""Entries up to which data is one block: threads would take longer to start than to work."""

LEAST, MOST = 2**16, 2**22
"""Entries of a block, at the least and at the most."""

PER_COLUMN = 4
"""Entries of a block for each column, within these bounds: each block adds a gradient of its own to the sum."""


def block_entries(stored: int, size: int) -> int:
    """Return how many entries a block should have, of all that are stored, where a gradient has ``size`` numbers."""
    return stored if stored <= SMALL else min(max(LEAST, PER_COLUMN * size), MOST)


def even_parts(n: int, width: int, entries: int) -> list[slice]:
    """Cut ``n`` rows of ``width`` entries each into parts of at most about so many entries, as even as can be."""
    count = max(1, -(-n * width // max(entries, 1)))
    if count == 1:
        return [slice(0, n)]
    ends = np.linspace(0, n, min(count, max(n, 1)) + 1).round().astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def parts_by_size(starts: np.ndarray, entries: int) -> list[slice]:
    """Cut rows that begin at ``starts`` into parts of about so many entries, as even as can be, at least a row each."""
    n, stored = len(starts) - 1, int(starts[-1] - starts[0])
    count = max(1, -(-stored // max(entries, 1)))
    if count == 1:
        return [slice(0, n)]
    goals = starts[0] + np.linspace(0, stored, count + 1)[1:-1]
    ends = np.unique(np.concatenate([[0], np.searchsorted(starts, goals), [n]])).astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)] or [slice(0, n)]
