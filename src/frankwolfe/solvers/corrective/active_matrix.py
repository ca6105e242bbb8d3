"""The matrix ``A`` whose columns are the predictions of the active atoms, stored in blocks of rows.

The fully corrective method minimises over the weights ``u`` of few atoms, and needs only their predictions ``A u``. If
vertices have one non-zero entry, the columns of ``A`` are columns of ``X``. ``D`` holds the curvatures of the losses:
one per prediction or, if the loss couples the outputs, a matrix per sample.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.compile.kernels import kernel
from frankwolfe.linalg.matrices import weighted_gram
from frankwolfe.objective.objective import Objective
from frankwolfe.objective.tasks import combine
from frankwolfe.rows.csr import CSR, ONE, TWO
from frankwolfe.rows.dense import Dense, even_parts
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.shards.local import ChunkedRows, DataBlock, Kept, Local

JOINED_ENTRIES = 2**18
"""Blocks are joined until they have this number of entries. Smaller blocks are not worth a call."""

PRODUCTS_PER_HESSIAN_ENTRY = 4.0
"""Fewest products per entry of the Hessian in a group of blocks. Each group has a Hessian of its own, to be added."""


class ActiveMatrix:
    """The matrix ``A``, for rows in memory, on disk or on a cluster.

    Parameters
    ----------
    objective : Objective
        Objective of the problem.
    blocks : RowBlocks or Kept
        The matrix, stored on the machines that hold the rows.
    """

    def __init__(self, objective: Objective, blocks: "RowBlocks | Kept"):
        self.objective = objective
        self.blocks: Any = blocks
        self.costly = objective.shards.calls_are_costly

    @classmethod
    def of_columns(cls, objective: Objective, active: np.ndarray) -> "ActiveMatrix":
        """Return a copy of the columns ``active``, in ascending order."""
        return cls(objective, objective.shards.keep(copied_columns, active))

    @classmethod
    def of_images(cls, objective: Objective, images: list[Any]) -> "ActiveMatrix":
        """Return the matrix whose columns are some predictions."""
        return cls(objective, objective.shards.keep(joined_images, tuple(images)))

    @property
    def stored(self) -> int:
        """Number of stored entries if the matrix is sparse and in this process; else 0."""
        return self.blocks.stored if isinstance(self.blocks, RowBlocks) and self.blocks.sparse else 0

    def predict(self, u: np.ndarray) -> Any:
        """Return ``A u``."""
        return self.objective.shards.keep(combine, self.blocks, u)

    def project(self, v: Any) -> np.ndarray:
        """Return ``A' v``. It may be known from an earlier pass; otherwise it is computed from all rows."""
        found = self.objective.slopes_along(self.blocks, v)
        return self.objective.shards.run(project, self.blocks, v)[0] if found is None else found

    def hessian_sums(self, curvatures: Any, chosen: np.ndarray, shifts: int) -> tuple:
        """Return ``A' D A`` for chosen atoms and, with an intercept, the mixed Hessian and that in the intercept."""
        return self.objective.shards.run(model_sums, self.blocks, curvatures, chosen, shifts)


# --- tasks ------------------------------------------------------------------------------------------------------------


def project(local: Local, blocks: "RowBlocks", v: np.ndarray) -> tuple:
    """Return ``A' v``."""
    return (blocks.project(v.ravel()),)


def model_sums(local: Local, blocks: "RowBlocks", D: np.ndarray, chosen: np.ndarray, shifts: int) -> tuple:
    """Return ``A' D A`` for chosen atoms and, with an intercept, the mixed Hessian and that in the intercept."""
    H = blocks.gram(D, chosen)
    if not shifts:
        return (H,)
    if D.ndim == 3:
        cross = np.array([blocks.project(D[:, output].ravel())[chosen] for output in range(shifts)])
        return H, cross, D.sum(axis=0)
    diagonal, cross = D.reshape(-1, shifts), np.empty((shifts, len(chosen)))
    for output in range(shifts):
        own = np.zeros_like(diagonal)
        own[:, output] = diagonal[:, output]
        cross[output] = blocks.project(own.ravel())[chosen]
    return H, cross, np.diag(diagonal.sum(axis=0))


def joined_images(local: Local, images: tuple[np.ndarray, ...]) -> "RowBlocks":
    """Return the matrix whose columns are some predictions."""
    values, k = np.vstack([image.ravel() for image in images]).T, max(1, local.samples.rows.outputs)
    parts = [
        slice(k * part.start, k * part.stop) for part in even_parts(len(values) // k, k * len(images), JOINED_ENTRIES)
    ]
    return RowBlocks([DenseBlock(part, values[part]) for part in parts], local.executor)


def copied_columns(local: Local, active: np.ndarray) -> "RowBlocks":
    """Return a copy of the columns ``active``, in ascending order, as a matrix."""
    rows = local.samples.rows
    if not (rows.is_sparse or rows.outputs):
        return RowBlocks(_dense_blocks(local, active), local.executor)
    place = np.full(local.size, -1, np.int32)
    place[active] = np.arange(len(active))
    outputs, compiled, found = rows.outputs, local.losses.compiled, dict[int, SparseBlock]()

    def task(block: DataBlock) -> tuple:
        part, some = block.part, block.samples.rows
        if outputs:
            part, kept = slice(outputs * part.start, outputs * part.stop), _active_outputs(some, active)
        else:
            kept = CSR(*some.pressed(place))
        found[part.start] = SparseBlock(part, kept, len(active), compiled)
        return ()

    if isinstance(rows, CSR):  # rows in memory need not be copied in small blocks
        local.executor.run(task, [DataBlock(part, local.samples.block(part)) for part in _large_parts(local, place)])
    else:
        local.each(task)
    return RowBlocks([found[start] for start in sorted(found)], local.executor)


def _large_parts(local: Local, place: np.ndarray) -> list[slice]:
    """Join the blocks of sparse rows until each has about `JOINED_ENTRIES` entries in the columns with a ``place``.

    The share of these columns is estimated from the first rows, so it does not depend on the number of threads.
    """
    rows = local.blocks[0].samples.rows
    first = rows.block(rows.cut(2**14)[0])
    share = len(first.pressed(place)[0]) / max(first.stored(), 1)
    many = max(1, int(np.ceil(JOINED_ENTRIES / max(share * rows.stored(), 1.0))))
    parts = [block.part for block in local.blocks]
    return [slice(parts[k].start, parts[k : k + many][-1].stop) for k in range(0, len(parts), many)]


def _dense_blocks(local: Local, active: np.ndarray) -> list["DenseBlock"]:
    """Return columns of dense rows as blocks of a single copy. Rows in chunks, as on a cluster, are not copied.

    The allocation of many small arrays would take longer than filling them. On a cluster each column is used only once
    or twice, so it is read from the rows when it is needed.
    """
    rows, n = local.samples.rows, len(local.samples.weights)
    if isinstance(rows, ChunkedRows):
        return [DenseBlock(part, None, rows.block(part), active) for part in rows.cut(JOINED_ENTRIES)]
    if isinstance(rows, Dense) and rows.values.dtype == np.float64 and len(active) == local.size:
        values = rows.values
    else:
        values = np.empty((n, len(active)))

        def task(block: DataBlock) -> tuple:
            values[block.part] = block.samples.rows.some_columns(active)
            return ()

        local.each(task)
    return [DenseBlock(part, values[part]) for part in even_parts(n, len(active), JOINED_ENTRIES)]


def features_of(rows: Any) -> Any:
    """Return rows without the wrapper for several outputs."""
    return rows.rows if isinstance(rows, MultiOutput) else rows


def _active_outputs(rows: MultiOutput, active: np.ndarray) -> CSR:
    """Return active columns for several outputs: a row per sample and output. A column belongs to one output."""
    features, place = np.unique(active // rows.outputs, return_inverse=True)
    if rows.rows.is_sparse:
        last = max(int(rows.rows.indices.max(initial=0)), int(features.max(initial=0)))  # it may be empty
        kept = sparse.csc_array(rows.rows.matrix(last + 1)[:, features])[:, place]
    else:
        kept = sparse.csc_array(rows.rows.some_columns(features))[:, place]
    samples = kept.indices * rows.outputs + np.repeat(active % rows.outputs, np.diff(kept.indptr))
    shape = (kept.shape[0] * rows.outputs, len(active))
    spread = sparse.csc_array((kept.data.astype(np.float64), samples, kept.indptr), shape=shape).tocsr()
    return CSR(spread.data, spread.indices.astype(np.int32).view(np.uint32), spread.indptr.astype(np.int64))


# --- blocks of rows ---------------------------------------------------------------------------------------------------


class RowBlocks:
    """The matrix ``A`` in blocks of rows.

    Parameters
    ----------
    blocks : list of DenseBlock or SparseBlock
        The blocks, in the order of the rows.
    executor : Threads
        Executor that runs tasks on the blocks.
    """

    def __init__(self, blocks: list[Any], executor: Any):
        self.blocks, self.executor = blocks, executor

    @property
    def sparse(self) -> bool:
        """Whether the blocks are sparse."""
        return isinstance(self.blocks[0], SparseBlock)

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return sum(block.stored for block in self.blocks)

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
        size, k = len(chosen), curvatures.shape[1] if curvatures.ndim == 3 else 1

        def task(group: list[Any]) -> tuple:
            H = np.zeros((size, size))
            for block in group:  # with a matrix of curvatures per sample, that has a row for each output
                part = slice(block.part.start // k, block.part.stop // k)
                block.add_gram(curvatures[part], chosen, H)
            return (H,)

        (H,) = self.executor.run(task, self._groups(PRODUCTS_PER_HESSIAN_ENTRY * size * size))
        if self.sparse and self.blocks[0].compiled and curvatures.ndim == 1:  # the kernel fills the lower half
            diagonal = np.diagonal(H).copy()
            H += H.T
            np.fill_diagonal(H, diagonal)
        return H

    def _groups(self, work: float) -> list[list[Any]]:
        """Return the blocks in groups, each of which multiplies at least ``work`` pairs of entries on average."""
        rows = self.blocks[-1].part.stop
        pairs = self.stored * (self.stored / max(rows, 1))
        count = int(min(len(self.blocks), max(1.0, pairs / max(work, 1.0))))
        ends = np.linspace(0, len(self.blocks), count + 1).round().astype(int).tolist()
        return [self.blocks[first:last] for first, last in pairwise(ends)]


class DenseBlock(NamedTuple):
    """A block of rows of a dense matrix: the slice of the samples, and the entries in row-major order.

    Without ``values``, the columns ``active`` of ``rows`` are read when they are needed.
    """

    part: slice
    values: np.ndarray | None
    rows: Any = None
    active: np.ndarray = np.empty(0, np.intp)

    @property
    def stored(self) -> int:
        """Number of entries."""
        return (self.part.stop - self.part.start) * len(self.active) if self.values is None else self.values.size

    def columns(self, chosen: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return all columns or chosen ones. The next call may overwrite their memory."""
        return self.rows.look_at_columns(self.active[chosen]) if self.values is None else self.values[:, chosen]

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u`` for these rows."""
        return self.columns() @ u

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return the part of ``A' v`` that these rows add."""
        return v @ self.columns()

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return what these rows add to the diagonal of ``A' D A``."""
        values = self.columns()
        return np.einsum("ij,ij,i->j", values, values, curvatures)

    def add_gram(self, curvatures: np.ndarray, chosen: np.ndarray, H: np.ndarray) -> None:
        """Add the contribution of these rows to ``A' D A`` for chosen columns to ``H``."""
        width = len(self.active) if self.values is None else self.values.shape[1]
        values = self.columns() if len(chosen) == width else self.columns(chosen)
        if curvatures.ndim == 3:
            outputs = values.reshape(*curvatures.shape[:2], len(chosen))
            H += values.T @ np.einsum("icd,idj->icj", curvatures, outputs).reshape(values.shape)
            return
        curved = np.flatnonzero(curvatures)
        if 2 * len(curved) <= len(curvatures):
            values, curvatures = values[curved], curvatures[curved]
        H += weighted_gram(values, curvatures)


class SparseBlock(NamedTuple):
    """A block of rows of a sparse matrix: the slice of the samples, and the entries in CSR format.

    ``compiled`` selects compiled kernels instead of SciPy.
    """

    part: slice
    rows: CSR
    width: int
    compiled: bool

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return len(self.rows.data)

    def predict(self, u: np.ndarray) -> np.ndarray:
        """Return ``A u`` for these rows."""
        return self.rows.dot_all(u, self.compiled)

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return the part of ``A' v`` that these rows add."""
        return self.rows.add_all(v, self.width, self.compiled)

    def squares(self, curvatures: np.ndarray) -> np.ndarray:
        """Return what these rows add to the diagonal of ``A' D A``."""
        return self.rows.weighted_squares(curvatures, self.width, self.compiled)

    def add_gram(self, curvatures: np.ndarray, chosen: np.ndarray, H: np.ndarray) -> None:
        """Add the contribution of these rows to ``A' D A`` for chosen columns (ascending).

        The kernel for a curvature per row adds the lower half only.

        ``curvatures`` has an entry per row, or a matrix of shape (outputs, outputs) per sample.
        """
        if self.compiled:
            place = np.full(self.width, -1, np.int32)
            place[chosen] = np.arange(len(chosen))
            add = add_pairs if curvatures.ndim == 1 else add_coupled_pairs
            add(*self.rows, curvatures, place, H)
            return
        A = self.rows.matrix(self.width)[:, chosen]
        if curvatures.ndim == 1:
            H += sparse_gram(A, A, curvatures)
            return
        outputs = curvatures.shape[1]
        parts = [A[c::outputs] for c in range(outputs)]  # a column has entries for one output only
        homes = [np.unique(part.indices) for part in parts]
        parts = [part[:, home] for part, home in zip(parts, homes, strict=True)]
        for c, left in enumerate(parts):
            for d, right in enumerate(parts):
                H[np.ix_(homes[c], homes[d])] += sparse_gram(left, right, curvatures[:, c, d])


def sparse_gram(A: sparse.csr_array, B: sparse.csr_array, curvatures: np.ndarray) -> np.ndarray:
    """Return ``A' D B`` for a diagonal ``D``, by BLAS if more than one entry in seven is stored, else by SciPy."""
    curved = np.flatnonzero(curvatures)
    if 2 * len(curved) <= len(curvatures):
        A, B, curvatures = A[curved], B[curved], curvatures[curved]
    if 7 * A.nnz > A.shape[0] * A.shape[1]:
        return A.toarray().T @ (B.toarray() * curvatures[:, None])
    bent = sparse.csr_array((B.data * np.repeat(curvatures, np.diff(B.indptr)), B.indices, B.indptr), shape=B.shape)
    return (A.T @ bent).toarray()


@kernel
def add_pairs(data, columns, starts, curvatures, place, H):
    """Add the lower half of ``A' D A`` for the columns with a ``place``, row by row, from the pairs of its entries.

    The loop over pairs is unrolled by two: two entries of a row are multiplied with each of the entries before them.
    """
    places, entries = np.empty(len(place) + 1, np.uint32), np.empty(len(place) + 1)
    for i in range(len(curvatures)):
        if curvatures[i] == 0.0:
            continue
        count = np.uint64(0)
        for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):  # without a branch, as in `press`
            j = place[columns[k]]
            places[count] = j
            entries[count] = data[k]
            count += np.uint64(j >= 0)
        at = np.uint64(0)
        while at + ONE < count:
            first, second = H[places[at]], H[places[at + ONE]]
            x, y = curvatures[i] * entries[at], curvatures[i] * entries[at + ONE]
            for other in range(at + ONE):
                j, entry = places[other], entries[other]
                first[j] += x * entry
                second[j] += y * entry
            second[places[at + ONE]] += y * entries[at + ONE]
            at += TWO
        if at < count:
            first, x = H[places[at]], curvatures[i] * entries[at]
            for other in range(at + ONE):
                first[places[other]] += x * entries[other]


@kernel
def add_coupled_pairs(data, columns, starts, curvatures, place, H):
    """Add ``A' D A`` where a sample has a row per output, and ``D`` has a matrix of curvatures per sample."""
    most, outputs = 0, curvatures.shape[1]
    for i in range(len(curvatures)):
        most = max(most, starts[(i + 1) * outputs] - starts[i * outputs])
    places, homes, entries = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64), np.empty(most + 1)
    for i in range(len(curvatures)):
        count = 0
        for c in range(outputs):
            for k in range(starts[i * outputs + c], starts[i * outputs + c + 1]):
                j = place[columns[k]]
                places[count] = j
                homes[count] = c
                entries[count] = data[k]
                count += j >= 0
        for k in range(count):
            j, c, x = places[k], homes[k], entries[k]
            for other in range(k + 1):
                H[j, places[other]] += x * curvatures[i, c, homes[other]] * entries[other]
    for j in range(len(H)):  # each pair was added once, above or below the diagonal
        for other in range(j):
            total = H[j, other] + H[other, j]
            H[j, other] = total
            H[other, j] = total
