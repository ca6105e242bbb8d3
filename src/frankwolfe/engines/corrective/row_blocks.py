"""The columns of the active atoms, in blocks of rows: a compact copy, made once a round, that models work on.

What the fully corrective method minimises over are combinations ``u`` of few atoms, and all it needs of an atom is its
predictions: a column of ``X`` where vertices are single coordinates. Together they are a matrix ``A``, and ``D`` is the
diagonal matrix of the losses' curvatures.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.engines.corrective.active_blocks import DenseBlock, RowsBlock, SparseBlock
from frankwolfe.engines.corrective.columns import DenseColumns, SparseColumns
from frankwolfe.engines.corrective.hessian_model import Hessian
from frankwolfe.engines.corrective.remote_matrix import placed
from frankwolfe.engines.corrective.sparse_gram import sort_by_columns
from frankwolfe.rows.blocks import even_parts
from frankwolfe.rows.csr import CSR
from frankwolfe.rows.dense import Dense
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.shards.chunked_rows import ChunkedRows
from frankwolfe.shards.disk import StoredRows
from frankwolfe.shards.local import Block, Local

JOINED_ENTRIES = 2**18
"""Entries up to which blocks are joined: less work than that is not worth the call. Twice or half: no difference in
time on RCV1."""

SAMPLED_ENTRIES = 2**14
"""Entries that are looked at to learn how many of all are in active columns. It only decides how the work is cut."""

PRODUCTS_PER_HESSIAN_ENTRY = 4.0
"""Least number of products for each entry of a Hessian that a group of blocks makes, for each group has a Hessian to
add. Twice or half: no difference in time on RCV1."""


class RowBlocks:
    """The matrix ``A`` in blocks of rows, on which an executor works.

    Parameters
    ----------
    blocks : list of DenseBlock or SparseBlock
        The rows, in order.
    executor : Serial or Threads
        Who works on them.
    """

    def __init__(self, blocks: list[Any], executor: Any):
        self.blocks, self.executor = blocks, executor

    @property
    def sparse(self) -> bool:
        """Whether only stored entries are kept."""
        return isinstance(self.blocks[0], SparseBlock)

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return sum(block.stored for block in self.blocks)

    def hessian(self) -> Hessian:
        """Return the Hessian of its atoms, to be kept from one step to the next."""
        return Hessian(self)

    def by_columns(self) -> SparseColumns | DenseColumns:
        """Return a copy, column by column."""
        if not self.sparse:
            return DenseColumns(np.ascontiguousarray(DenseBlock.joined(self.blocks).values.T))
        free = np.zeros(self.blocks[0].width + 1, np.uint64)  # where the next entry of each column goes
        for block in self.blocks:
            free[1:] += np.bincount(block.rows.indices, minlength=len(free) - 1).astype(np.uint64)
        starts = np.cumsum(free)
        free = starts.copy()
        data, samples = np.empty(self.stored), np.empty(self.stored, np.uint32)
        for block in self.blocks:
            sort_by_columns(*block.rows, np.uint32(block.part.start), free, data, samples)
        return SparseColumns(data, samples, starts)

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u``."""
        z = np.empty(self.blocks[-1].part.stop)

        def task(block: Any) -> tuple:
            z[block.part] = block.predict(u)
            return ()

        self.executor.run(task, self.blocks)
        return z

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return ``A' v``."""
        return self.executor.run(lambda block: (block.project(v[block.part]),), self.blocks)[0]

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return the diagonal of ``A' D A``."""
        return self.executor.run(lambda block: (block.squares(curvatures[block.part]),), self.blocks)[0]

    def gram(self, curvatures: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return ``A' D A`` for some of the columns, in ascending order."""
        size = len(chosen)

        def task(group: list[Any]) -> tuple:
            H = np.zeros((size, size))
            for block in group:
                # matrices of curvatures, one for each sample: their rows stand in one block
                block.add_gram(curvatures if curvatures.ndim == 3 else curvatures[block.part], chosen, H)
            return (H,)

        (H,) = self.executor.run(task, self._groups(PRODUCTS_PER_HESSIAN_ENTRY * size * size))
        if self.sparse and curvatures.ndim == 1:
            H = np.tril(H) + np.tril(H, -1).T
        return H

    def _groups(self, work: float) -> list[list[Any]]:
        """Return the blocks in groups that multiply so many pairs of entries, or more, on average."""
        if len(self.blocks) == 1:
            return [self.blocks]
        rows = self.blocks[-1].part.stop
        pairs = self.stored * (self.stored / max(rows, 1))
        count = int(min(len(self.blocks), max(1.0, pairs / max(work, 1.0))))
        ends = np.linspace(0, len(self.blocks), count + 1).round().astype(int).tolist()
        return [self.blocks[first:last] for first, last in pairwise(ends)]


def active_matrix(objective: Any, active: np.ndarray) -> Any:
    """Return a copy of the columns ``active``, in ascending order, as a matrix; on a cluster, one that stays there."""
    return placed(objective, objective.shards.keep(copied_columns, active))


def copied_columns(objective: Local, active: np.ndarray) -> RowBlocks:
    """Return a copy of the columns ``active``, in ascending order, as a matrix."""
    rows, executor, compiled = objective.samples.rows, objective.executor, objective.losses.compiled
    if not (rows.is_sparse or rows.outputs):
        return RowBlocks(_dense_blocks(objective, active), executor)
    if isinstance(rows, StoredRows | ChunkedRows):
        return RowBlocks(_block_by_block(objective, active), executor)
    if isinstance(rows, MultiOutput):
        return RowBlocks([_active_outputs(rows, active, compiled)], executor)
    place = np.full(objective.size, -1, np.int32)
    place[active] = np.arange(len(active))
    parts = _joined_parts(objective.blocks, place)
    blocks: list[Any] = [None] * len(parts)

    def task(number: int) -> tuple:
        kept = CSR(*rows.block(parts[number]).pressed(place))
        blocks[number] = SparseBlock(parts[number], kept, len(active), compiled)
        return ()

    executor.run(task, range(len(parts)))
    return RowBlocks(blocks, executor)


def _block_by_block(objective: Local, active: np.ndarray) -> list[Any]:
    """Return a copy of the columns ``active``, of sparse rows or several outputs, of rows on disk or in pieces."""
    found: dict[int, Any] = {}
    place = np.full(objective.size, -1, np.int32)
    place[active] = np.arange(len(active))
    outputs, compiled = objective.samples.rows.outputs, objective.losses.compiled

    def task(block: Block) -> tuple:
        part, rows = block.part, block.samples.rows
        if outputs:
            some = _active_outputs(rows, active, compiled)
            found[part.start] = some._replace(part=slice(outputs * part.start, outputs * part.stop))
        else:
            found[part.start] = SparseBlock(part, CSR(*rows.pressed(place)), len(active), compiled)
        return ()

    objective.each(task)
    blocks = [found[start] for start in sorted(found)]
    if outputs:  # curvatures of several outputs go with one block
        return [SparseBlock.joined(blocks)]
    return _joined_blocks(blocks)


def _dense_blocks(objective: Local, active: np.ndarray) -> list[Any]:
    """Return some columns of dense rows: a copy in one piece, unless rows are in pieces themselves.

    Memory for many small pieces would take longer to get than it takes to fill.
    """
    rows, n = objective.samples.rows, len(objective.samples.weights)
    if isinstance(rows, ChunkedRows):
        return [RowsBlock(part, rows.block(part), active) for part in rows.cut(JOINED_ENTRIES)]
    if isinstance(rows, Dense) and rows.values.dtype == np.float64 and len(active) == objective.size:
        return [DenseBlock(part, rows.values[part]) for part in even_parts(n, len(active), JOINED_ENTRIES)]
    values = np.empty((n, len(active)))

    def task(block: Block) -> tuple:
        values[block.part] = block.samples.rows.some_columns(active)
        return ()

    objective.each(task)
    return [DenseBlock(part, values[part]) for part in even_parts(n, len(active), JOINED_ENTRIES)]


def _joined_blocks(blocks: list[Any]) -> list[Any]:
    """Join blocks that follow each other to larger ones; each is let go of as it is joined."""
    joined: list[Any] = []
    waiting, stored = [], 0
    blocks.reverse()
    while blocks:
        block = blocks.pop()
        waiting.append(block)
        stored += block.stored
        if stored >= JOINED_ENTRIES or not blocks:
            joined.append(type(block).joined(waiting))
            waiting, stored = [], 0
    return joined


def _joined_parts(blocks: list[Block], place: np.ndarray) -> list[slice]:
    """Join the parts of blocks of sparse rows that will be small once all but some columns are gone.

    How many entries are kept is estimated from the first rows: from the data alone, so that threads change nothing.
    """
    rows = blocks[0].samples.rows
    first = rows.block(rows.cut(SAMPLED_ENTRIES)[0])
    share = len(first.pressed(place)[0]) / max(first.stored(), 1)
    many = max(1, int(-(-JOINED_ENTRIES // max(share * rows.stored(), 1.0))))
    return [
        slice(blocks[k].part.start, blocks[min(k + many, len(blocks)) - 1].part.stop)
        for k in range(0, len(blocks), many)
    ]


def _active_outputs(rows: MultiOutput, active: np.ndarray, compiled: bool) -> SparseBlock:
    """Return the same where there are several outputs: a row for each of them, and a column meets one of them."""
    features, place = np.unique(active // rows.outputs, return_inverse=True)
    if rows.rows.is_sparse:
        last = max(int(rows.rows.indices.max(initial=0)), int(features.max(initial=0)))  # which may be an empty column
        kept = sparse.csc_array(rows.rows.matrix(last + 1)[:, features])[:, place]
    else:
        kept = sparse.csc_array(rows.rows.some_columns(features))[:, place]
    samples = kept.indices * rows.outputs + np.repeat(active % rows.outputs, np.diff(kept.indptr))
    shape = (kept.shape[0] * rows.outputs, len(active))
    spread = sparse.csc_array((kept.data.astype(np.float64), samples, kept.indptr), shape=shape).tocsr()
    columns = spread.indices.astype(np.int32).view(np.uint32)
    kept = CSR(spread.data, columns, spread.indptr.astype(np.int64))
    return SparseBlock(slice(0, shape[0]), kept, len(active), compiled)
