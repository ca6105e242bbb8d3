"""The active atoms of the fully corrective method: which there are, their weights, and how others join them.

Where the set's vertices are single coordinates an atom is a column of the data, and a round may add many. Elsewhere
it is a vertex that the oracle named.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compiled import kernel
from frankwolfe.corrective.columns import DenseColumns, SparseRows, active_matrix
from frankwolfe.corrective.models import Hessian
from frankwolfe.iterate import Iterate
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.sets.hull import Hull
from frankwolfe.verbs import deposit, oracle, rebuild

LEAST_NEW = 50
"""Coordinates that a round may always add."""

GROWTH, FAST_GROWTH = 1, 4
"""How many coordinates a round may add for each with weight; the second where nearly all that were added got some."""

CROWD = 40
"""Active entries in a row, on average, from which on it is a crowd: the Hessian costs the square of them."""


class Most(NamedTuple):
    """Up to how many atoms the Hessian is formed: in general, where rows are crowded, and for the last digits."""

    few: int = 512
    crowded: int = 100
    late: int = 2048


MOST = Most()


@kernel
def name_vertex(constraint, scout, r, iterate):
    """Deposit the vertex that the set's oracle names for ``r`` in an iterate that is zero."""
    rebuild(scout, r)
    deposit(oracle(constraint, scout, r), iterate, 1.0)


class Coordinates:
    """Active atoms of a set whose vertices are single coordinates: the columns in use and their weights."""

    indirect = False  # predictions are sums over the columns, as they are at the point itself

    def __init__(self, problem: Problem, hull: Hull, w: np.ndarray, most: Most):
        self.hull, self.source, self.n, self.d = hull, problem.samples.rows, problem.n, problem.size
        self.most = most
        self.active = np.flatnonzero(w)
        self.u = hull.fit(w[self.active] if hull.signed else np.maximum(w[self.active], 0.0))
        self.matrix: Any = None
        self.hessian: Any = None
        self._columns: Any = None
        self.taken, self.settled = 0, False

    def w(self) -> np.ndarray:
        """Return the combination as a new array."""
        w = np.zeros(self.d)
        w[self.active] = self.u
        return w

    def few(self, late: bool) -> bool:
        """Whether forming the Hessian is worth it."""
        m, most = len(self.active), self.most
        if late and self.settled:
            return m <= most.late
        crowded = isinstance(self.matrix, SparseRows) and self.matrix.stored > CROWD * self.n
        return bool(m <= (most.crowded if crowded else most.few))

    def slope(self, found: Evaluation) -> np.ndarray:
        """Return the slopes of the objective along the atoms."""
        return found.gradient[self.active]

    def forget_columns(self) -> None:
        """Let go of the copy column by column: where a Hessian is formed it would only take up room."""
        self._columns = None

    @property
    def columns(self) -> Any:
        """The matrix column by column, copied when it is first asked for."""
        if self._columns is None:
            self._columns = self.matrix.by_columns()
        return self._columns

    def extend(self, found: Evaluation) -> bool:
        """Add the coordinates that promise most, drop those without weight; say if any was added."""
        keys = np.abs(found.gradient) if self.hull.signed else -found.gradient
        level = -(found.gradient[self.active] @ self.u) / self.hull.radius
        keys[self.active] = -np.inf
        new, kept = np.flatnonzero(keys > level), self.u != 0.0
        self.settled = bool(len(new) <= 0.1 * np.count_nonzero(kept))
        if len(new) == 0 and self.matrix is not None:
            return False  # what there is serves on
        self.active, self.u = self.active[kept], self.u[kept]
        growth = FAST_GROWTH if len(self.u) >= 0.9 * self.taken else GROWTH
        most = max(LEAST_NEW, growth * len(self.u))
        if len(new) > most:
            new = new[np.argpartition(keys[new], -most)[-most:]]
        w = self.w()
        self.active = np.sort(np.concatenate([self.active, new]))
        self.u, self.taken = w[self.active], len(self.active)
        self.matrix = self.hessian = self._columns = None  # the old copies go before the new ones come
        self.matrix = active_matrix(self.source, self.active, self.d)
        self.hessian = Hessian(self.matrix)
        return True


class Vertices:
    """Active atoms of any other set: the vertices its oracle named, and their predictions."""

    settled = True
    indirect = True  # predictions are sums over those of vertices: large ones may cancel, and leave their rounding

    def __init__(self, problem: Problem, w: np.ndarray):
        self.hull, self.problem = Hull(1.0, False, False), problem
        self.points, self.u = w[None, :].copy(), np.ones(1)
        self.matrix = DenseColumns(self._images(w))
        self.scout = problem.constraint.scout(problem.size)

    def w(self) -> np.ndarray:
        """Return the combination as a new array."""
        return self.u @ self.points

    def few(self, late: bool) -> bool:
        """Return True: they come one at a time."""
        return True

    def slope(self, found: Evaluation) -> np.ndarray:
        """Return the slopes of the objective along the atoms."""
        return self.points @ found.gradient

    def forget_columns(self) -> None:
        """Do nothing: there is no other copy."""

    def _images(self, point: np.ndarray) -> np.ndarray:
        """Return the predictions of a point, as a row."""
        return np.asarray(self.problem.samples.rows.dot_all(point), dtype=np.float64).reshape(1, -1)

    def extend(self, found: Evaluation) -> bool:
        """Drop what has no weight and add the vertex that the oracle names; say that one was added."""
        kept = self.u != 0.0
        vertex = Iterate(np.zeros(self.problem.size), np.ones(1))
        name_vertex(self.problem.constraint, self.scout, found.gradient, vertex)
        self.points = np.vstack([self.points[kept], vertex.v])
        self.matrix = DenseColumns(np.vstack([self.matrix.values[kept], self._images(vertex.v)]))
        self.hessian = Hessian(self.matrix)
        self.u = np.append(self.u[kept], 0.0)
        return True


def atoms_of(problem: Problem, w: np.ndarray, most: Most) -> Coordinates | Vertices:
    """Return a point as a combination of atoms, of the kind that the set is made of."""
    hull = getattr(problem.constraint, "hull", None)
    return Vertices(problem, w) if hull is None else Coordinates(problem, hull(), w, most)
