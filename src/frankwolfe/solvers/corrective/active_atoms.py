"""The active set of the fully corrective method: its atoms, their weights, and the rules by which atoms join.

On the l1 ball, the simplex and other sets whose vertices have one non-zero entry, an atom is a column of the data, and
a round may add many. On other sets an atom is a vertex that the oracle returned, and a round adds one.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel, worth_compiling
from frankwolfe.compile.verbs import deposit, oracle, rebuild
from frankwolfe.objective.objective import Objective
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.sets.atoms import Iterate
from frankwolfe.sets.base import Hull, tracker_of
from frankwolfe.solvers.corrective.active_matrix import ActiveMatrix
from frankwolfe.solvers.corrective.column_model import DenseColumns, SparseColumns, by_columns
from frankwolfe.solvers.corrective.hessian_model import Hessian
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

    matrix: ActiveMatrix
    hessian: Hessian
    u: np.ndarray

    def __init__(self, objective: Objective, shift: np.ndarray | None):
        self.objective, self.shift = objective, shift
        self.base: Any = None if shift is None else objective.predict(shift).ravel()

    def _use(self, matrix: ActiveMatrix) -> None:
        """Set the matrix of the atoms' predictions, and start a new Hessian for it."""
        self.matrix, self.hessian = matrix, Hessian(matrix)

    def predict(self, u: np.ndarray) -> Any:
        """Return the predictions for the weights ``u`` of the atoms, including those of the shift."""
        z = self.matrix.predict(u)
        return z if self.base is None else self.objective.sum_of(z, self.base)

    def project(self, alpha: Any) -> np.ndarray:
        """Return the slopes of the objective in the weights of the atoms, for the derivatives ``alpha``."""
        linear = self.objective.coefficients
        found = self._products(alpha)
        return found if linear is None else found + self.slope(linear)

    def _products(self, alpha: Any) -> np.ndarray:
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

    def note_slopes(self, alpha: Any, gradient: np.ndarray) -> None:
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
    settled : bool
        Whether few columns outside the support have useful slopes: at most a tenth of the size of the support.
    covered : bool
        Whether all columns with useful slopes are active.
    spare : bool
        Whether columns were copied before they are needed (see `extend`).
    """

    indirect = False  # predictions are computed from the weights, without intermediate vertices
    _columns: SparseColumns | DenseColumns | None

    REMEMBERED = ("active", "u", "taken", "growth", "spare", "settled", "covered")
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
        self.settled = self.covered = False
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
        if last_digits and self.settled:
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
        self.settled = bool(len(promising) <= 0.1 * np.count_nonzero(kept))
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

    settled = True
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
