"""The active set of the fully corrective method: its atoms, their weights and predictions, and how atoms join.

On the l1 ball, the simplex and other sets whose vertices have one non-zero entry, an atom is a column of the data, and
a round may add many (`Coordinates`). On other sets an atom is a vertex that the oracle returned, and a round adds one
(`Vertices`).

The method needs only the predictions ``A u`` of the weights ``u``. The columns of the matrix ``A`` are the predictions
of the atoms (`ActiveMatrix`), stored in blocks of rows (`RowBlocks`). ``D`` holds the curvatures of the losses: one per
prediction or, if the loss couples the outputs, a matrix per sample.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import PerRow, Rows
from frankwolfe.compile.kernels import kernel, worth_compiling
from frankwolfe.compile.verbs import deposit, oracle, rebuild
from frankwolfe.linalg.matrices import weighted_gram
from frankwolfe.objective.objective import Objective
from frankwolfe.objective.tasks import combine
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.rows.csr import CSR, ONE, TWO
from frankwolfe.rows.dense import Dense, even_parts
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.sets.atoms import Iterate
from frankwolfe.sets.base import Hull, tracker_of
from frankwolfe.shards.local import ChunkedRows, DataBlock, Kept, Local
from frankwolfe.solvers.corrective.quadratic_models import DenseColumns, Hessian, SparseColumns, by_columns
from frankwolfe.solvers.state import attributes, below, copied, set_attributes, under


class HessianLimits(NamedTuple):
    """Largest numbers of atoms for which the Hessian is formed: by default, for dense rows, and for the last digits.

    Above them `ColumnModel` uses coordinate descent. All limits doubled: RCV1 at radius 5000 takes 1.3 times as long.
    Halved: RCV1 at radius 1000 takes 3.8 times as long.
    """

    usual: int = 512
    dense_rows: int = 100
    last_digits: int = 2048


HESSIAN_LIMITS = HessianLimits()

COSTLY_LIMITS = HessianLimits(4096, 4096, 4096)
"""Limits on a cluster, where coordinate descent is not possible."""

LIMITS_WITHOUT_KERNELS = HessianLimits(2048, 2048, 2048)
"""Limits for small data, which is not compiled: in NumPy a step of coordinate descent takes microseconds."""


def column_room(problem: Problem) -> int:
    """Return the number of entries that a copy of columns of a store may have.

    Two copies share the memory limit equally: the columns that were read, and the active ones among them. (Above some
    hundred atoms there is also a column-major copy of the active columns.)
    """
    return problem.X.memory // 2 // (12 if problem.X.is_sparse else 8)


@kernel
def name_vertex(constraint, tracker, r, iterate):
    """Add the vertex that minimises ``<r, s>`` over the set to ``iterate``, which must be zero."""
    rebuild(tracker, r)
    deposit(oracle(constraint, tracker, r), iterate, 1.0)


class ActiveAtoms:
    """Base class of both kinds of active sets. Atoms exclude the shift that a set may add to all its points.

    Parameters
    ----------
    objective : Objective
        Objective of the problem.
    shift : array or None
        Shift of the set.
    """

    matrix: "ActiveMatrix"
    hessian: Hessian
    u: np.ndarray

    def __init__(self, objective: Objective, shift: np.ndarray | None):
        self.objective, self.shift = objective, shift
        self.base: Any = None if shift is None else objective.predict(shift).ravel()

    def _use(self, matrix: "ActiveMatrix") -> None:
        """Set the matrix of the atoms' predictions, and start a new Hessian for it."""
        self.matrix, self.hessian = matrix, Hessian(matrix)

    def predict(self, u: np.ndarray) -> Any:
        """Return the predictions for the weights ``u`` of the atoms, including those of the shift."""
        z = self.matrix.predict(u)
        return z if self.base is None else self.objective.sum_of(z, self.base)

    def project(self, alpha: PerRow) -> np.ndarray:
        """Return the slopes of the objective in the weights of the atoms, for the derivatives ``alpha``."""
        linear = self.objective.coefficients
        found = self._products(alpha)
        return found if linear is None else found + self.slope(linear)

    def _products(self, alpha: PerRow) -> np.ndarray:
        """Return the products of the atoms' predictions with the derivatives ``alpha``."""
        return self.matrix.project(alpha)

    def linear(self, u: np.ndarray) -> float:
        """Return the linear term for the weights ``u`` of the atoms."""
        return 0.0 if self.objective.coefficients is None else self.objective.linear(self.w(u))

    def w(self, u: np.ndarray | None = None) -> np.ndarray:
        """Return the combination of the atoms with weights ``u``, by default the current ones."""
        raise NotImplementedError

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """Return the slopes of the objective in the weights of the atoms."""
        raise NotImplementedError

    def note_slopes(self, alpha: PerRow, gradient: np.ndarray) -> None:
        """Remember the slopes for derivatives whose gradient is known, so that `project` need not read all rows."""
        linear = self.objective.coefficients
        self.objective.note_slopes(
            self.matrix.blocks, alpha, self.slope(gradient if linear is None else gradient - linear)
        )

    def own_part(self, z: np.ndarray) -> np.ndarray:
        """Return predictions without those of the shift."""
        return z if self.base is None else z - self.base


class Coordinates(ActiveAtoms):
    """Active set for vertices with one non-zero entry: the active columns and their weights.

    Attributes
    ----------
    active : array of int
        Active columns, ascending.
    u : array
        Their weights.
    stable : bool
        Whether few columns outside the support have useful slopes: at most a tenth of the size of the support.
    covered : bool
        Whether all columns with useful slopes are active.
    spare : bool
        Whether columns were copied before they are needed (see `extend`).
    """

    indirect = False  # predictions are computed from the weights, without intermediate vertices
    _columns: SparseColumns | DenseColumns | None

    REMEMBERED = ("active", "u", "taken", "growth", "spare", "stable", "covered")
    """Names of the attributes that `state` saves."""

    def __init__(
        self, problem: Problem, hull: Hull, w: np.ndarray, limits: HessianLimits, shift: np.ndarray | None = None
    ):
        super().__init__(problem.objective, shift)
        self.hull, self.n, self.d = hull, problem.n, problem.size
        self.limits = limits
        w = w if shift is None else w - shift
        self.active = np.flatnonzero(w)
        self.u = hull.fit(w[self.active] if hull.signed else np.maximum(w[self.active], 0.0))
        self._release()
        self.taken, self.growth, self.spare = 0, 1, False
        self.stable = self.covered = False
        rows = problem.samples.rows
        self._copies_ahead = rows.is_sparse and not problem.outputs
        # For rows on disk, the number of columns that fit into memory. Columns with weight are copied in any case.
        on_disk = problem.objective.reads is not None
        self._most = max(1, int(column_room(problem) * problem.d / max(1, problem.X.nnz))) if on_disk else self.d

    def w(self, u: np.ndarray | None = None) -> np.ndarray:
        """Return the combination of the atoms with weights ``u``, by default the current ones."""
        w = self._spread(self.u if u is None else u)
        return w if self.shift is None else w + self.shift

    def _spread(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all coordinates, without the shift."""
        w = np.zeros(self.d)
        w[self.active] = u
        return w

    def hessian_is_affordable(self, count: int, last_digits: bool = False) -> bool:
        """Whether to form the Hessian of ``count`` atoms. Otherwise `ColumnModel` is used."""
        if last_digits and self.stable:
            return count <= self.limits.last_digits
        share = count / len(self.active)  # of the stored entries, assuming columns of equal size
        # The cost of the Hessian is quadratic in the number of active entries of a row.
        dense = share * self.matrix.stored > 40 * self.n
        return count <= (self.limits.dense_rows if dense else self.limits.usual)

    def choose(self, slope: np.ndarray) -> np.ndarray:
        """Return the atoms for a quadratic model: those with weight, and the spare ones with the steepest slopes."""
        if not self.spare:
            return np.arange(len(slope))
        keys, chosen = np.abs(slope) if self.hull.signed else -slope, self.u != 0.0
        promising = np.flatnonzero(~chosen & (keys > self._level(slope)))
        chosen[self._best(keys, promising, self._room(int(chosen.sum())))] = True
        return np.flatnonzero(chosen)

    def _level(self, slope: np.ndarray) -> float:
        """Return the threshold above which minus the slope of an atom makes it a descent direction: ``-<g, u>/r``."""
        return float(-(slope @ self.u) / self.hull.radius)

    def _room(self, weighted: int) -> int:
        """Return the number of atoms that may be added to ``weighted`` atoms with weight."""
        return max(50, self.growth * weighted)

    @staticmethod
    def _best(keys: np.ndarray, among: np.ndarray, most: int) -> np.ndarray:
        """Return the at most ``most`` indices in ``among`` with the largest keys."""
        return among[np.argpartition(keys[among], -most)[-most:]] if len(among) > most else among

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """Return the slopes of the objective in the weights of the atoms."""
        return gradient[self.active]

    def _release(self) -> None:
        """Release all copies of the active columns, before new copies are made."""
        self.matrix = self.hessian = None  # type: ignore[assignment]
        self._columns = None

    @property
    def columns(self) -> Any:
        """Column-major copy of the matrix, made on first use."""
        if self._columns is None:
            self._columns = by_columns(self.matrix.blocks)
        return self._columns

    def extend(self, found: Evaluation) -> bool:
        """Add the columns with the steepest slopes and drop those without weight. Return whether any was added.

        A copy of columns of sparse data reads all of the data. Spare columns are therefore copied before they are
        needed: those whose slope is at least half the threshold, at most two for each column that is needed. A quarter
        instead of half, or twice as many: 1 to 4% fewer passes, but up to a quarter more time on RCV1, where copies are
        large.
        """
        keys = np.abs(found.gradient) if self.hull.signed else -found.gradient
        level, kept = self._level(found.gradient[self.active]), self.u != 0.0
        keys[self.active[kept]] = -np.inf
        promising = np.flatnonzero(keys > level)
        self.stable = bool(len(promising) <= 0.1 * np.count_nonzero(kept))
        at_hand = np.count_nonzero(keys[self.active] > level)
        self.covered = self.matrix is not None and at_hand == len(promising)
        if self.covered:
            return False  # all columns with useful slopes are active already
        self.active, self.u = self.active[kept], self.u[kept]
        self.growth = 4 if len(self.u) >= 0.9 * self.taken else 1  # new columns for each column with weight
        room = max(self._most - len(self.u), 4)
        joining = min(len(promising), self._room(len(self.u)), room)
        self.covered, self.taken = joining == len(promising), len(self.u) + joining
        self.spare = self._copies_ahead and self.taken <= self.limits.usual
        if self.spare:
            promising = np.flatnonzero(keys > (0.5 * level if level > 0.0 else 2.0 * level))
            joining = min(joining + 2 * self.taken, room)
        w = self._spread(self.u)
        self.active = np.sort(np.concatenate([self.active, self._best(keys, promising, joining)]))
        self.u = w[self.active]
        self._release()
        self._use(ActiveMatrix.of_columns(self.objective, self.active))
        return True

    def state(self) -> dict[str, Any]:
        """Return the active columns, their weights and the Hessian as state entries. The columns are in the data."""
        found = under("atoms", attributes(self, self.REMEMBERED))
        return found if self.matrix is None else found | self.hessian.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        set_attributes(self, self.REMEMBERED, below("atoms", state))
        if "hessian.H" in state:
            self._use(ActiveMatrix.of_columns(self.objective, self.active))
            self.hessian.restore(state)


class Vertices(ActiveAtoms):
    """Active set for all other sets: vertices that the oracle returned, and their predictions."""

    stable = True
    covered = False  # the oracle may always return a new vertex
    indirect = True  # predictions combine those of the vertices, which may be large and cancel, with rounding errors

    def __init__(self, problem: Problem, w: np.ndarray, shift: np.ndarray | None = None):
        super().__init__(problem.objective, shift)
        self.hull, self.problem = Hull(1.0, False, False), problem
        point = w.copy() if shift is None else w - shift
        self.points, self.u, self.images = point[None, :], np.ones(1), [self.objective.predict(point)]
        self._use(ActiveMatrix.of_images(self.objective, self.images))
        self.tracker = tracker_of(problem.constraint, problem.size)

    def w(self, u: np.ndarray | None = None) -> np.ndarray:
        """Return the combination of the atoms with weights ``u``, by default the current ones."""
        w = (self.u if u is None else u) @ self.points
        return w if self.shift is None else w + self.shift

    def hessian_is_affordable(self, count: int, last_digits: bool = False) -> bool:
        """Return True: rounds add one vertex at a time, so there are few."""
        return True

    def choose(self, slope: np.ndarray) -> np.ndarray:
        """Return all atoms."""
        return np.arange(len(slope))

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """Return the slopes of the objective in the weights of the atoms."""
        return self.points @ gradient

    def extend(self, found: Evaluation) -> bool:
        """Drop vertices without weight and add the oracle's vertex. Return True."""
        self._add(self.named(found.gradient), np.flatnonzero(self.u))
        return True

    def named(self, r: np.ndarray) -> np.ndarray:
        """Return the oracle's vertex for ``r``, without the shift of the set."""
        vertex = Iterate(np.zeros(self.problem.size), np.ones(1))
        # An interpreted oracle takes microseconds per weight, the compilation of its kernel takes seconds.
        name = name_vertex if worth_compiling(128 * self.problem.size) else name_vertex.interpreted
        name(self.problem.constraint, self.tracker, r, vertex)
        return vertex.v if self.shift is None else vertex.v - self.shift

    def _add(self, point: np.ndarray, kept: np.ndarray) -> None:
        """Add a vertex to those that are ``kept``."""
        self.points = np.vstack([self.points[kept], point])
        self.images = [*(self.images[k] for k in kept), self.objective.predict(point)]
        self._use(ActiveMatrix.of_images(self.objective, self.images))
        self.u = np.append(self.u[kept], 0.0)

    def state(self) -> dict[str, Any]:
        """Return vertices, weights and Hessian as state entries. Predictions are recomputed from the vertices."""
        return {"atoms.u": self.u, "atoms.points": self.points} | self.hessian.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        self.u, self.points = (copied(state[f"atoms.{name}"]) for name in ("u", "points"))
        self.images = [self.objective.predict(point) for point in self.points]
        self._use(ActiveMatrix.of_images(self.objective, self.images))
        self.hessian.restore(state)


def atoms_of(problem: Problem, w: np.ndarray, limits: HessianLimits | None = None) -> Coordinates | Vertices:
    """Return the active set at the point ``w``, of the kind that suits the constraint set."""
    structure = problem.constraint.structure()
    if structure.hull is None:
        return Vertices(problem, w, structure.shift)
    if limits is None:
        limits = HESSIAN_LIMITS if problem.objective.compiled else LIMITS_WITHOUT_KERNELS
        limits = COSTLY_LIMITS if problem.objective.shards.calls_are_costly else limits
    return Coordinates(problem, structure.hull, w, limits, structure.shift)


# --- predictions of the atoms -----------------------------------------------------------------------------------------

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

    def hessian_sums(self, curvatures: PerRow, chosen: np.ndarray, shifts: int) -> tuple:
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


def features_of(rows: Rows) -> Any:
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
    rows: Rows = None
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
