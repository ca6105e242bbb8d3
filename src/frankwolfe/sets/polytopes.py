"""Polytopes given by inequalities, by points or as doubly stochastic matrices."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import checked_sparse
from frankwolfe.compile.opaque import Opaque
from frankwolfe.linalg.matrices import weighted_row_sums
from frankwolfe.sets.atoms import Full, Workspace
from frankwolfe.sets.barriers import OrthantBarrier, polytope_barrier, simplex_barrier
from frankwolfe.sets.base import (
    Diameters,
    checked_direction,
    constraint_set,
    from_reaches,
    of_columns,
    reaches,
    vertex_of,
    widths,
)
from frankwolfe.sets.callbacks import Messenger, consult
from frankwolfe.sets.checks import matrix, rounding, same_length, sparse_matrix, vector, whole


@constraint_set
class ConvexHull(NamedTuple):
    """The hull of given points. Vertices: those of the points that are no mixture of others.

    Parameters
    ----------
    points : array of shape (m, d)
        One point in a row.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.ConvexHull([[0.0, 0.0], [2.0, 1.0], [1.0, 3.0]]).vertex([-1.0, 0.0])
    array([2., 1.])
    """

    points: Any

    def _checked(self):
        points = checked_sparse("ConvexHull: points", self.points)
        points = points.toarray() if sparse.issparse(points) else points
        return self._replace(points=matrix("ConvexHull", "points", points))

    def for_size(self, d):
        """Return the set itself, if it has ``d`` coordinates."""
        same_length("ConvexHull", "a point", self.points.shape[1], d)
        return self

    def tracker(self, d):
        """Nothing to keep."""
        return Workspace.over(0)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``: the best of the points, the first of equals."""
        points, best, least = self.points, 0, np.inf
        for k in range(len(points)):
            value = 0.0
            for j in range(len(r)):
                value += points[k, j] * r[j]
            if value < least:
                best, least = k, value
        return Full(points[best])

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return float((self.points @ np.asarray(direction, dtype=np.float64)).max())

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times its half width: least squares over the weights."""
        from scipy.optimize import nnls  # heavy, and only wanted here

        w = np.asarray(w, dtype=np.float64)
        if not np.isfinite(w).all():
            return False
        middle = self.points.mean(axis=0)
        width = float(np.abs(self.points - middle).max())
        scale = width or 1.0
        atoms = np.vstack([((self.points - middle) / scale).T, np.ones(len(self.points))])
        _, distance = nnls(atoms, np.append((w - middle) / scale, 1.0), maxiter=100 * atoms.shape[1])
        return bool(distance * scale <= tolerance * width + np.sqrt(len(w)) * float(np.max(rounding(self.points))))

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        return simplex_barrier(self.points.T, len(self.points))

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions; with too many points to compare all, an upper bound."""
        return of_columns(1.0, self.points.T, with_zero=False)[2][0]

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest two images of the points."""
        return of_columns(1.0, np.asarray(X @ self.points.T), with_zero=False)


ROUNDS = 3
"""Rounds in which constraints bound coordinates by the bounds of others."""

TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class ScaledProgram(NamedTuple):
    """The constraints of a polytope on ``v = w / sizes``, each scaled so that its largest entry is about one."""

    sizes: np.ndarray
    A: Any
    b: Any
    E: Any
    e: Any

    @classmethod
    def of(cls, A: Any, b: Any, E: Any, e: Any) -> "ScaledProgram":
        """Return the program over ``A w <= b, E w = e``; what is None is not there."""
        sizes = _power_of_two(coordinate_sizes(A, b, E, e))
        return cls(sizes, *_in_units(A, b, sizes), *_in_units(E, e, sizes))

    def solve(self, c: np.ndarray, bounds: tuple[float | None, float | None] = (None, None)) -> Any:
        """Minimise ``<c, v>``."""
        from scipy.optimize import linprog  # heavy, and only wanted here

        rows = {"A_ub": self.A, "b_ub": self.b, "A_eq": self.E, "b_eq": self.e}
        return linprog(c, **rows, bounds=bounds, method="highs-ds", options=TOLERANCES)

    def best(self, r: np.ndarray) -> np.ndarray:
        """Return the ``w`` that minimises ``<r, w>``."""
        return self._solved(r)[0].x * self.sizes + 0.0  # no negative zeros

    def least(self, r: np.ndarray) -> float:
        """Return a lower bound on ``<r, w>``, by the solver's dual answer: its vertex is only best to a tolerance.

        With multipliers ``y <= 0`` of ``A v <= b`` and ``z`` of ``E v = e``, by weak duality

            <c, v>  >=  <b, y> + <e, z> - sum_j |c - A' y - E' z|_j |v_j|,

        and no ``|v_j|`` is much larger than one in these units.
        """
        found, costs, unit = self._solved(r)
        bound, left = 0.0, costs.copy()
        for M, right, answer in ((self.A, self.b, found.ineqlin), (self.E, self.e, found.eqlin)):
            if M is not None:
                multipliers = np.minimum(answer.marginals, 0.0) if M is self.A else answer.marginals
                bound, left = bound + float(right @ multipliers), left - M.T @ multipliers
        bound -= float(np.abs(left) @ np.maximum(1.0, np.abs(found.x)))
        return unit * min(bound, float(costs @ found.x))

    def _solved(self, r: np.ndarray) -> tuple[Any, np.ndarray, float]:
        """Minimise ``<r, w>``: return the solver's answer, the costs that it was given, and their unit."""
        size = np.abs(r).max() or 1.0
        costs = r / size * self.sizes
        unit = np.abs(costs).max() or 1.0
        found = self.solve(costs / unit)
        if found.status != 0:
            raise RuntimeError(f"Polytope: the linear program could not be solved. {verdict(found)}")
        return found, costs / unit, float(unit * size)


def coordinate_sizes(A: Any, b: Any, E: Any, e: Any) -> np.ndarray:
    """Return how large each coordinate can be in ``A w <= b, E w = e``, or what the constraints suggest.

    Constraints bound one coordinate if they bound the others in them: a few rounds of that serve where coordinates have
    bounds of their own. Elsewhere the largest ``|bound / entry|`` of the constraints in which a coordinate takes part.
    """
    rows = [(A, b)] if A is not None else []
    rows += [(E, e), (-E, -e)] if E is not None else []
    M = sparse.vstack([sparse.csr_array(matrix) for matrix, _ in rows], format="csr")
    M.eliminate_zeros()
    bound = np.concatenate([right for _, right in rows])
    row, column, entry = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr)), M.indices, M.data
    low, high = np.full(M.shape[1], -np.inf), np.full(M.shape[1], np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(ROUNDS):
            least = np.where(entry > 0.0, entry * low[column], entry * high[column])
            free = np.isinf(least)
            sums, frees = np.bincount(row, np.where(free, 0.0, least), len(bound)), np.bincount(row, free, len(bound))
            alone = frees[row] == free  # nothing else in the row is free
            limit = (bound[row] - sums[row] + np.where(free, 0.0, least)) / entry
            up, down = alone & (entry > 0.0), alone & (entry < 0.0)
            np.minimum.at(high, column[up], limit[up])
            np.maximum.at(low, column[down], limit[down])
    largest = np.zeros(len(bound))
    np.maximum.at(largest, row, np.abs(entry))
    suggested = np.zeros(M.shape[1])
    with np.errstate(over="ignore"):  # entries may be subnormal
        ratio = np.minimum(np.abs(bound)[row] / largest[row], np.finfo(float).max)
    np.maximum.at(suggested, column, ratio)
    sizes = np.maximum(np.abs(low), np.abs(high))
    sizes = np.where(np.isfinite(sizes), sizes, suggested)
    return np.where(sizes > 0.0, sizes, sizes.max() or 1.0)


def _power_of_two(sizes: np.ndarray) -> np.ndarray:
    """Return powers of two about as large: to scale by them is exact."""
    return np.ldexp(1.0, np.clip(np.frexp(sizes)[1], -1000, 1000))


def _in_units(M: Any, bound: Any, sizes: np.ndarray) -> tuple[Any, Any]:
    """Return constraints on ``w / sizes``, each scaled so that its largest entry is about one."""
    if M is None:
        return None, None
    M = sparse.csr_array(M) @ sparse.diags_array(sizes)
    largest = abs(M).max(axis=1).toarray().ravel()
    scales = _power_of_two(np.where(largest > 0.0, largest, 1.0))
    return sparse.diags_array(1.0 / scales) @ M, bound / scales


def verdict(found: Any) -> str:
    """Return what the solver says of its answer."""
    return f"HiGHS: {found.message}"


MOST_PROGRAMS = 2000
"""Most rows for whose exact reach programs are solved, two for each."""


@constraint_set
class Birkhoff(NamedTuple):
    """Doubly stochastic matrices, flattened row by row: not negative, every row and column summing to one.

    Vertices are permutation matrices, found by solving an assignment problem.

    Parameters
    ----------
    size : int
        Number of rows and of columns; a vector has ``size ** 2`` entries.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Birkhoff(2).vertex([1.0, 0.0, 0.0, 3.0])
    array([0., 1., 1., 0.])
    """

    size: int

    def _checked(self):
        return self._replace(size=whole("Birkhoff", "size", self.size))

    def shaped(self, rows, columns):
        """Return the set itself, if the weights are a matrix of its size."""
        if (rows, columns) != (self.size, self.size):
            raise ValueError(
                f"Birkhoff: size is {self.size}, but the weights are {rows} x {columns} (columns in X, outputs)"
            )
        return self

    def for_size(self, d):
        """Return the set itself, if it has ``d`` coordinates."""
        same_length("Birkhoff", f"a matrix of size {self.size}", self.size**2, d)
        return self

    def tracker(self, d):
        """Return a messenger to the assignment problem's solver."""
        return Messenger.over(d, self._best)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        return consult(tracker, r)

    def _best(self, r: np.ndarray) -> np.ndarray:
        from scipy.optimize import linear_sum_assignment  # heavy, and only wanted here

        costs = (r / (np.abs(r).max() or 1.0)).reshape(self.size, self.size)
        chosen = np.zeros_like(costs)
        chosen[linear_sum_assignment(costs)] = 1.0
        return chosen.ravel()

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        r = checked_direction(r)
        return self.for_size(r.size)._best(r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        return float(direction @ self._best(-direction)) if np.isfinite(direction).all() else np.nan

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` in every entry and sum."""
        square = np.asarray(w, dtype=np.float64).reshape(self.size, self.size)
        sums = np.concatenate([square.sum(axis=0), square.sum(axis=1)])
        return bool(np.all(square >= -tolerance) and np.all(np.abs(sums - 1.0) <= tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        side, ones = np.eye(self.size), np.ones((1, self.size))
        sums = np.vstack([np.kron(side, ones), np.kron(ones, side)])[:-1]  # the last follows from the others
        return OrthantBarrier(np.ones(size), sums, np.full(size, 1.0 / self.size))

    def diameter(self, d):
        """Euclidean diameter: between two permutations that agree nowhere."""
        return float(np.sqrt(2.0 * self.size)) if self.size > 1 else 0.0

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 and 2 upper bounds."""
        return _image_diameters(self, X)


@constraint_set
class Polytope(NamedTuple):
    """All ``w`` with ``A w <= b`` and ``E w = e``: any bounded polytope. A vertex is a linear program, solved by HiGHS.

    Parameters
    ----------
    A : array or sparse matrix of shape (m, d), optional
    b : array of shape (m,), optional
    E : array or sparse matrix of shape (k, d), optional
    e : array of shape (k,), optional
        No bound on ``w`` is assumed beyond these: say ``-w <= 0`` in ``A`` where ``w >= 0`` is meant.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> triangle = fw.Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 2.0]], [0.0, 0.0, 4.0])
    >>> triangle.vertex([-1.0, -1.0])
    array([4., 0.])
    """

    A: Any = None
    b: Any = None
    E: Any = None
    e: Any = None

    def _checked(self):
        A, b = _system("A", self.A, "b", self.b)
        E, e = _system("E", self.E, "e", self.e)
        if A is None and E is None:
            raise ValueError("Polytope: pass A and b, or E and e, or all four: without constraints nothing is bounded")
        if A is not None and E is not None and _plain(A).shape[1] != _plain(E).shape[1]:
            raise ValueError(f"Polytope: A has {_plain(A).shape[1]} columns and E has {_plain(E).shape[1]}")
        ready = self._replace(A=A, b=b, E=E, e=e)
        ready._check_nonempty()
        ready._check_bounded()
        return ready

    @property
    def _d(self) -> int:
        return _plain(self.E if self.A is None else self.A).shape[1]

    def _program(self) -> ScaledProgram:
        return ScaledProgram.of(_plain(self.A), self.b, _plain(self.E), self.e)

    def _check_nonempty(self) -> None:
        found = self._program().solve(np.zeros(self._d))
        if found.status != 0:
            raise ValueError(f"Polytope: no w satisfies all constraints. {verdict(found)}")

    def _check_bounded(self) -> None:
        """Look for a ray ``v``: ``A v <= 0``, ``E v = 0``, and not zero. It moves a row of ``A``, or it moves none."""
        program = self._program()
        if program.A is not None:
            m = program.A.shape[0]
            box = sparse.vstack([program.A, -program.A])
            moved = program._replace(A=box, b=np.r_[np.zeros(m), np.ones(m)], e=_zeros(self.e))
            self._refuse_ray(moved.solve(np.asarray(program.A.sum(axis=0)).ravel()))
        fixed = sparse.vstack([M for M in (program.A, program.E) if M is not None])
        any_way = np.random.default_rng(0).normal(size=self._d)  # meets every subspace but those orthogonal to it: none
        level = program._replace(A=None, b=None, E=fixed, e=np.zeros(fixed.shape[0]))
        self._refuse_ray(level.solve(any_way, bounds=(-1.0, 1.0)))

    def _refuse_ray(self, found: Any) -> None:
        if found.status != 0 or found.fun < -1e-7:
            where = (
                "" if found.x is None else f" along coordinate {int(np.argmax(np.abs(found.x)))} (and perhaps others)"
            )
            raise ValueError(
                f"Polytope: the set is unbounded{where}; a constraint set must be bounded. "
                f"The program that looks for a ray says: {verdict(found)}"
            )

    def for_size(self, d):
        """Return the set itself, if it has ``d`` coordinates."""
        same_length("Polytope", "a row of the constraints", self._d, d)
        return self

    def tracker(self, d):
        """Return a messenger to HiGHS."""
        return Messenger.over(d, self._program().best)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        return consult(tracker, r)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        r = checked_direction(r)
        return self.for_size(r.size)._program().best(r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set: an upper bound that the program's dual proves."""
        direction = np.asarray(direction, dtype=np.float64)
        return -self._program().least(-direction) if np.isfinite(direction).all() else np.nan

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times what each constraint may add up in the set."""
        w = np.asarray(w, dtype=np.float64)
        sizes = np.maximum(coordinate_sizes(_plain(self.A), self.b, _plain(self.E), self.e), np.abs(w))
        over = [_within(_plain(self.A), self.b, w, sizes, tolerance, both_ways=False)] if self.A is not None else []
        over += [_within(_plain(self.E), self.e, w, sizes, tolerance, both_ways=True)] if self.E is not None else []
        return all(over)

    def barrier(self, size):
        """Return a barrier of the set's interior; None if that is a single point."""
        return polytope_barrier(_plain(self.A), self.b, _plain(self.E), self.e, size)

    def diameter(self, d):
        """Upper bound on the Euclidean diameter, from the ranges of the coordinates: ``2 d`` linear programs."""
        return float(np.linalg.norm(widths(self, d)))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: ``D_inf`` is, unless there are very many rows."""
        return _image_diameters(self, X)


def _image_diameters(constraint: Any, X: Any) -> Diameters:
    """Return bounds from the rows' reaches: exact ones, or, where that takes too many programs, the bounding box's."""
    diameter = float(constraint.diameter(X.shape[1]))
    if X.shape[0] > MOST_PROGRAMS:
        return from_reaches(X, weighted_row_sums(X, widths(constraint, X.shape[1])), diameter, exact=False)
    return from_reaches(X, reaches(constraint, X), diameter)


def _within(M: Any, bound: np.ndarray, w: np.ndarray, sizes: np.ndarray, tolerance: float, both_ways: bool) -> bool:
    """Whether ``M w - bound`` exceeds zero by at most ``tolerance`` times the terms it is the sum of."""
    over = M @ w - bound
    return bool(np.all((np.abs(over) if both_ways else over) <= tolerance * (abs(M) @ sizes + np.abs(bound))))


def _system(matrix_name: str, M: Any, vector_name: str, bound: Any) -> tuple[Any, Any]:
    """Return a matrix (sparse ones held) and its right-hand side, checked against each other."""
    if M is None and bound is None:
        return None, None
    if M is None or bound is None:
        given, missing = (matrix_name, vector_name) if bound is None else (vector_name, matrix_name)
        raise ValueError(f"Polytope: {given} goes with {missing}, which is missing")
    M = _plain(M)
    M = sparse_matrix("Polytope", matrix_name, M) if sparse.issparse(M) else matrix("Polytope", matrix_name, M)
    bound = vector("Polytope", vector_name, bound)
    if len(bound) != M.shape[0]:
        raise ValueError(f"Polytope: {vector_name} has {len(bound)} entries, but {matrix_name} has {M.shape[0]} rows")
    return (Opaque.of(M) if sparse.issparse(M) else M), bound


def _plain(M: Any) -> Any:
    """Return a matrix that may be held."""
    return M.value if isinstance(M, Opaque) else M


def _zeros(bound: Any) -> Any:
    return None if bound is None else np.zeros_like(bound)
