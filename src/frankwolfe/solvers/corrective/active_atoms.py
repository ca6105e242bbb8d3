"""The active atoms of the fully corrective method: which there are, their weights, and how others join them.

Where the set's vertices are single coordinates an atom is a column of the data, and a round may add many. Elsewhere
it is a vertex that the oracle named.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel, worth_compiling
from frankwolfe.compile.verbs import deposit, oracle, rebuild
from frankwolfe.objective import tasks
from frankwolfe.objective.objective import Objective
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.sets.atoms import Iterate
from frankwolfe.sets.base import Hull, tracker_of
from frankwolfe.solvers.corrective.active_matrix import ActiveMatrix
from frankwolfe.solvers.corrective.column_model import DenseColumns, SparseColumns, by_columns
from frankwolfe.solvers.corrective.hessian_model import Hessian
from frankwolfe.solvers.state import PLAIN, copied, require_like

MIN_NEW_ATOMS = 50
"""Coordinates that a round may always add to the active ones. Twice or half as many: passes change by 2%."""

DENSE_ROW = 40
"""Active entries in a row, on average, from which on rows count as dense: the Hessian costs the square of them."""


class HessianLimits(NamedTuple):
    """Up to how many atoms the Hessian is formed: usually, where rows are dense, and for the last digits.

    With more, columns are visited one by one. All of them doubled: RCV1 at radius 5000 takes 1.3 times as long. Halved:
    RCV1 at radius 1000 takes 3.8 times as long.
    """

    usual: int = 512
    dense_rows: int = 100
    last_digits: int = 2048


HESSIAN_LIMITS = HessianLimits()

COSTLY_LIMITS = HessianLimits(4096, 4096, 4096)
"""Limits on a cluster, where columns cannot be visited one after the other."""

LIMITS_WITHOUT_KERNELS = HessianLimits(2048, 2048, 2048)
"""Limits for small data: NumPy takes microseconds to visit a column."""


def column_room(problem: Problem) -> int:
    """Return how many entries of columns of a store fit into memory.

    Two copies have half of it each: the columns that were read, and those among them that are active. (Above some
    hundred atoms the active ones are kept column by column as well.)
    """
    return problem.X.memory // 2 // (12 if problem.X.is_sparse else 8)


@kernel
def name_vertex(constraint, tracker, r, iterate):
    """Deposit the vertex that the set's oracle names for ``r`` in an iterate that is zero."""
    rebuild(tracker, r)
    deposit(oracle(constraint, tracker, r), iterate, 1.0)


class ActiveAtoms:
    """What both kinds share. A set may add the same shift to each of its points: atoms are without it.

    Parameters
    ----------
    objective : Objective
        Of the problem.
    shift : array or None
        What the set adds.
    """

    matrix: ActiveMatrix
    hessian: Hessian
    u: np.ndarray

    def __init__(self, objective: Objective, shift: np.ndarray | None):
        self.objective, self.shift = objective, shift
        self.base: Any = None if shift is None else objective.predict(shift).ravel()

    def _use(self, matrix: ActiveMatrix) -> None:
        """Work with the predictions of other atoms from now on."""
        self.matrix, self.hessian = matrix, Hessian(matrix)

    def predict(self, u: np.ndarray) -> Any:
        """Return the predictions for weights of the atoms."""
        z = self.matrix.predict(u)
        return z if self.base is None else self.objective.sum_of(z, self.base)

    def own_part(self, z: np.ndarray) -> np.ndarray:
        """Return the part of predictions that is due to the atoms."""
        return z if self.base is None else z - self.base

    def stretched(self, z: Any, factor: float) -> Any:
        """Return what predictions become when the weights of all atoms are multiplied by a factor."""
        keep = self.objective.shards.keep
        if self.base is None:
            return keep(tasks.scale, z, factor)
        return keep(tasks.mix, self.base, keep(tasks.difference, z, self.base), factor)


class Coordinates(ActiveAtoms):
    """Active atoms of a set whose vertices have one non-zero entry: the columns in use and their weights."""

    indirect = False  # predictions are sums over the columns, as they are at the point itself
    _columns: SparseColumns | DenseColumns | None

    REMEMBERED = ("active", "u", "taken", "growth", "spare", "settled", "covered")
    """Attributes that are part of a state."""

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
        # columns that fit into the memory of rows on disk; those with weight are always copied, however many they are
        on_disk = problem.objective.reads is not None
        self._most = max(1, int(column_room(problem) * problem.d / max(1, problem.X.nnz))) if on_disk else self.d

    def w(self, u: np.ndarray | None = None) -> np.ndarray:
        """Return the combination as a new array, or another one of the same atoms."""
        w = self._spread(self.u if u is None else u)
        return w if self.shift is None else w + self.shift

    def _spread(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all coordinates, without what the set adds to them."""
        w = np.zeros(self.d)
        w[self.active] = u
        return w

    def hessian_is_affordable(self, count: int, last_digits: bool = False) -> bool:
        """Whether to form the Hessian of ``count`` atoms (True), or to work column by column."""
        if last_digits and self.settled:
            return count <= self.limits.last_digits
        share = count / len(self.active)  # of the entries that are stored, were columns all alike
        dense = share * self.matrix.stored > DENSE_ROW * self.n
        return count <= (self.limits.dense_rows if dense else self.limits.usual)

    def choose(self, slope: np.ndarray) -> np.ndarray:
        """Return the atoms to make a model of: those with weight, and those of the spare ones that promise most."""
        if not self.spare:
            return np.arange(len(slope))
        keys, chosen = np.abs(slope) if self.hull.signed else -slope, self.u != 0.0
        promising = np.flatnonzero(~chosen & (keys > self._level(slope)))
        chosen[self._best(keys, promising, self._room(int(chosen.sum())))] = True
        return np.flatnonzero(chosen)

    def _level(self, slope: np.ndarray) -> float:
        """Return what an atom must promise to be worth any weight."""
        return float(-(slope @ self.u) / self.hull.radius)

    def _room(self, weighted: int) -> int:
        """Return how many atoms may join those with weight."""
        return max(MIN_NEW_ATOMS, self.growth * weighted)

    @staticmethod
    def _best(keys: np.ndarray, among: np.ndarray, most: int) -> np.ndarray:
        """Return those with the largest keys."""
        return among[np.argpartition(keys[among], -most)[-most:]] if len(among) > most else among

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """Return the slopes of the objective along the atoms."""
        return gradient[self.active]

    def forget_columns(self) -> None:
        """Release the copy column by column: where a Hessian is formed it would only take up memory."""
        self._columns = None

    def _release(self) -> None:
        """Release all copies: before new ones are made."""
        self.matrix = self.hessian = None  # type: ignore[assignment]
        self._columns = None

    @property
    def columns(self) -> Any:
        """The matrix column by column, copied when it is first needed."""
        if self._columns is None:
            self._columns = by_columns(self.matrix.blocks)
        return self._columns

    def extend(self, found: Evaluation) -> bool:
        """Add the columns that promise most, drop those without weight; return whether any was added.

        Columns of sparse data are copied before they are needed, because a copy reads all of the data: those whose
        slope is at least half of what would give them weight, at most two for each that is needed. A quarter instead of
        half, or twice as many: 1 to 4% fewer passes, but up to a quarter more time on RCV1, where copies are large.
        """
        keys = np.abs(found.gradient) if self.hull.signed else -found.gradient
        level, kept = self._level(found.gradient[self.active]), self.u != 0.0
        keys[self.active[kept]] = -np.inf
        promising = np.flatnonzero(keys > level)
        self.settled = bool(len(promising) <= 0.1 * np.count_nonzero(kept))
        at_hand = np.count_nonzero(keys[self.active] > level)
        self.covered = self.matrix is not None and at_hand == len(promising)
        if self.covered:
            return False  # what there is serves on
        self.active, self.u = self.active[kept], self.u[kept]
        self.growth = 4 if len(self.u) >= 0.9 * self.taken else 1  # new ones for each that has weight
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
        """Return the weights, how atoms joined, and the Hessian. The columns are in the data."""
        found = {f"atoms.{name}": getattr(self, name) for name in self.REMEMBERED}
        return found if self.matrix is None else found | self.hessian.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over all that a state holds."""
        own = {f"atoms.{name}": getattr(self, name) for name in self.REMEMBERED}
        require_like({name: value for name, value in own.items() if isinstance(value, PLAIN)}, state)
        for name in self.REMEMBERED:
            setattr(self, name, copied(state[f"atoms.{name}"]))
        if "hessian.H" in state:
            self._use(ActiveMatrix.of_columns(self.objective, self.active))
            self.hessian.restore(state)


class Vertices(ActiveAtoms):
    """Active atoms of any other set: the vertices its oracle named, and their predictions."""

    settled = True
    covered = False  # there may always be others
    indirect = True  # predictions are sums over those of vertices: large ones may cancel, and leave their rounding

    def __init__(self, problem: Problem, w: np.ndarray, shift: np.ndarray | None = None):
        super().__init__(problem.objective, shift)
        self.hull, self.problem = Hull(1.0, False, False), problem
        point = w.copy() if shift is None else w - shift
        self.points, self.u, self.images = point[None, :], np.ones(1), [self.objective.predict(point)]
        self._use(ActiveMatrix.of_images(self.objective, self.images))
        self.tracker = tracker_of(problem.constraint, problem.size)

    def w(self, u: np.ndarray | None = None) -> np.ndarray:
        """Return the combination as a new array, or another one of the same atoms."""
        w = (self.u if u is None else u) @ self.points
        return w if self.shift is None else w + self.shift

    def hessian_is_affordable(self, count: int, last_digits: bool = False) -> bool:
        """Return True: atoms come one at a time, so there are few."""
        return True

    def choose(self, slope: np.ndarray) -> np.ndarray:
        """Return all of them."""
        return np.arange(len(slope))

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """Return the slopes of the objective along the atoms."""
        return self.points @ gradient

    def forget_columns(self) -> None:
        """Do nothing: there is no other copy."""

    def extend(self, found: Evaluation) -> bool:
        """Drop what has no weight and add the vertex that the oracle names; say that one was added."""
        kept = self.u != 0.0
        vertex = Iterate(np.zeros(self.problem.size), np.ones(1))
        # an interpreted oracle takes microseconds for each weight, its kernel seconds to compile
        name = name_vertex if worth_compiling(128 * self.problem.size) else name_vertex.interpreted
        name(self.problem.constraint, self.tracker, found.gradient, vertex)
        point = vertex.v if self.shift is None else vertex.v - self.shift
        self.points = np.vstack([self.points[kept], point])
        self.images = [*(self.images[k] for k in np.flatnonzero(kept)), self.objective.predict(point)]
        self._use(ActiveMatrix.of_images(self.objective, self.images))
        self.u = np.append(self.u[kept], 0.0)
        return True

    def state(self) -> dict[str, Any]:
        """Return the atoms and their weights, and the Hessian. Predictions are made again from the atoms."""
        return {"atoms.u": self.u, "atoms.points": self.points} | self.hessian.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over all that a state holds."""
        self.u, self.points = (copied(state[f"atoms.{name}"]) for name in ("u", "points"))
        self.images = [self.objective.predict(point) for point in self.points]
        self._use(ActiveMatrix.of_images(self.objective, self.images))
        self.hessian.restore(state)


def atoms_of(problem: Problem, w: np.ndarray, limits: HessianLimits | None = None) -> Coordinates | Vertices:
    """Return a point as a combination of atoms, of the kind that the set is made of."""
    structure = problem.constraint.structure()
    if structure.hull is None:
        return Vertices(problem, w, structure.shift)
    if limits is None:
        limits = HESSIAN_LIMITS if problem.objective.compiled else LIMITS_WITHOUT_KERNELS
        limits = COSTLY_LIMITS if problem.objective.shards.calls_are_costly else limits
    return Coordinates(problem, structure.hull, w, limits, structure.shift)
