"""Some columns of rows on disk, in memory: how many fit, and their copy, by one read."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.problem import Problem
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.sets.base import Hull
from frankwolfe.sets.coordinate import L1Ball, NonNegativeL1Ball, Simplex
from frankwolfe.shards.local import Block

COPIES = 2
"""Copies of columns that there may be at a time: those that were read, and those among them that are active. Each has
this part of the memory. (Above some hundred atoms the active ones are kept column by column as well.)"""

LEAST_COLUMNS = 50
"""Columns of average size that memory must hold: with fewer, an optimum would hardly be among them."""


def can_be_copied(problem: Problem) -> bool:
    """Whether vertices are single coordinates, and enough columns of a store fit into memory."""
    structure, store = problem.constraint.structure(), problem.X
    if structure.hull is None or structure.shift is not None:
        return False
    return store.nnz / store.shape[1] * min(LEAST_COLUMNS, store.shape[1]) <= column_room(problem)


def column_room(problem: Problem) -> int:
    """Return how many entries of columns fit into memory."""
    return problem.X.memory // COPIES // (12 if problem.X.is_sparse else 8)


def set_of(hull: Hull) -> Any:
    """Return the set that a hull describes, of any number of coordinates."""
    if hull.signed:
        return L1Ball(hull.radius)
    return NonNegativeL1Ball(hull.radius) if hull.filled else Simplex(hull.radius)


def copied_columns(problem: Problem, columns: np.ndarray) -> Any:
    """Return a copy of some columns of all rows, in ascending order, by one read: an array, or a CSR array."""
    n, pieces = problem.n, dict[int, Any]()
    place = np.full(problem.d, -1, np.int32)
    place[columns] = np.arange(len(columns))
    if not problem.X.is_sparse:
        values = np.empty((n, len(columns)), problem.X.dtype)

        def take(block: Block) -> tuple:
            values[block.part] = _plain(block).values[:, columns]
            return ()

        problem.objective.shards.each(take)
        return values

    def press(block: Block) -> tuple:
        pieces[block.part.start] = _plain(block).pressed(place)
        return ()

    problem.objective.shards.each(press)
    entries = sum(len(data) for data, _, _ in pieces.values())
    size = np.int32 if entries < 2**31 else np.int64
    data, indices, starts = np.empty(entries), np.empty(entries, size), np.zeros(n + 1, size)
    at = 0
    for first in sorted(pieces):
        some, where, ends = pieces.pop(first)  # let go of as it is copied
        stop = at + len(some)
        data[at:stop], indices[at:stop] = some, where
        starts[first + 1 : first + len(ends)] = ends[1:] + at
        at = stop
    matrix = sparse.csr_array((data, indices, starts), shape=(n, len(columns)))
    matrix.has_canonical_format = True  # as the rows were
    return matrix


def _plain(block: Block) -> Any:
    """Return the rows of a block as they are in the data, but for their means."""
    rows = block.samples.rows
    return rows.rows if isinstance(rows, MultiOutput) else rows
