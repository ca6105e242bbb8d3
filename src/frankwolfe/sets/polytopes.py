"""General polytopes: hulls of points, doubly stochastic matrices, and systems of linear inequalities."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import null_space

from frankwolfe.arguments.arrays import checked_sparse
from frankwolfe.compile.part import Opaque
from frankwolfe.linalg.matrices import weighted_row_sums
from frankwolfe.sets.atoms import Full
from frankwolfe.sets.barriers import Barrier, OrthantBarrier, SlackBarrier, simplex_barrier
from frankwolfe.sets.base import Defaults, constraint_set, from_reaches, of_columns, reaches, set_with, widths
from frankwolfe.sets.callbacks import Messenger, call_oracle
from frankwolfe.sets.checks import matrix, rounding, same_length, vector


class ProgramMethods(Defaults):
    """Methods of sets whose vertices are solutions of linear programs."""

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        return call_oracle(tracker, r)

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 and 2 upper bounds.

        They follow from the rows' ranges; for many rows, which take two programs each, from the bounding box.
        """
        diameter = float(self.diameter(X.shape[1]))
        if X.shape[0] > 2000:
            return from_reaches(X, weighted_row_sums(X, widths(self, X.shape[1])), diameter, exact=False)
        return from_reaches(X, reaches(self, X), diameter)


@constraint_set
class ConvexHull(NamedTuple):
    """The convex hull of given points.

    Parameters
    ----------
    points : array of shape (m, d)
        One point a row.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.ConvexHull([[0.0, 0.0], [2.0, 1.0], [1.0, 3.0]]).vertex([-1.0, 0.0])
    array([2., 1.])
    """

    points: Any

    def _checked(self):
        points = checked_sparse("ConvexHull: points", self.points)
        points = points.toarray() if sparse.issparse(points) else points
        return self._replace(points=matrix("ConvexHull", "points", points))

    def for_size(self, d):
        """Return the set, or raise ValueError if it does not have ``d`` coordinates."""
        same_length("ConvexHull", "a point", self.points.shape[1], d)
        return self

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: the first of the best points."""
        points, best, least = self.points, 0, np.inf
        for k in range(len(points)):
            value = 0.0
            for j in range(len(r)):
                value += points[k, j] * r[j]
            if value < least:
                best, least = k, value
        return Full(points[best])

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return float((self.points @ np.asarray(direction, dtype=np.float64)).max())

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times its half width: a least-squares problem."""
        from scipy.optimize import nnls  # slow to import

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
        """Return a barrier of the set's interior for ``size`` weights."""
        return simplex_barrier(self.points.T, len(self.points))

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions, or an upper bound if there are too many points."""
        return of_columns(1.0, self.points.T, with_zero=False)[2][0]

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact: the farthest two images of the points."""
        return of_columns(1.0, np.asarray(X @ self.points.T), with_zero=False)


@set_with(ProgramMethods)
class Birkhoff(NamedTuple):
    """Doubly stochastic matrices, flattened row by row: non-negative, every row and column summing to one.

    Vertices are permutation matrices, found by solving an assignment problem.

    Parameters
    ----------
    size : int
        Number of rows and of columns; a vector has ``size ** 2`` entries.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.Birkhoff(2).vertex([1.0, 0.0, 0.0, 3.0])
    array([0., 1., 1., 0.])
    """

    size: int

    def shaped(self, rows, columns):
        """Return the set, or raise ValueError if the weights are not a matrix of its size."""
        if (rows, columns) != (self.size, self.size):
            raise ValueError(
                f"Birkhoff: size is {self.size}, but the weights are {rows} x {columns} (columns in X, outputs)"
            )
        return self

    def for_size(self, d):
        """Return the set, or raise ValueError if it does not have ``d`` coordinates."""
        same_length("Birkhoff", f"a matrix of size {self.size}", self.size**2, d)
        return self

    def tracker(self, d):
        """Return a messenger to the solver of the assignment problem."""
        return Messenger.over(d, self._best)

    def _best(self, r: np.ndarray) -> np.ndarray:
        from scipy.optimize import linear_sum_assignment  # slow to import

        costs = (r / (np.abs(r).max() or 1.0)).reshape(self.size, self.size)
        chosen = np.zeros_like(costs)
        chosen[linear_sum_assignment(costs)] = 1.0
        return chosen.ravel()

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        return float(direction @ self._best(-direction)) if np.isfinite(direction).all() else np.nan

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` in every entry and sum."""
        square = np.asarray(w, dtype=np.float64).reshape(self.size, self.size)
        sums = np.concatenate([square.sum(axis=0), square.sum(axis=1)])
        return bool(np.all(square >= -tolerance) and np.all(np.abs(sums - 1.0) <= tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        side, ones = np.eye(self.size), np.ones((1, self.size))
        sums = np.vstack([np.kron(side, ones), np.kron(ones, side)])[:-1]  # the last follows from the others
        return OrthantBarrier(np.ones(size), sums, np.full(size, 1.0 / self.size))

    def diameter(self, d):
        """Return the Euclidean diameter: the distance of two permutations that agree nowhere."""
        return float(np.sqrt(2.0 * self.size)) if self.size > 1 else 0.0


@set_with(ProgramMethods)
class Polytope(NamedTuple):
    """All ``w`` with ``A w <= b`` and ``E w = e``: any bounded polytope. HiGHS finds a vertex by linear programming.

    Parameters
    ----------
    A : array or sparse matrix of shape (m, d), optional
    b : array of shape (m,), optional
    E : array or sparse matrix of shape (k, d), optional
    e : array of shape (k,), optional
        No other bounds on ``w`` are assumed: state ``w >= 0`` as ``-w <= 0`` in ``A``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> triangle = fw.sets.Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 2.0]], [0.0, 0.0, 4.0])
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
        ready = self._replace(A=A, b=b, E=E, e=e)
        A, _, E, _ = ready._constraints()
        if A is not None and E is not None and A.shape[1] != E.shape[1]:
            raise ValueError(f"Polytope: A has {A.shape[1]} columns and E has {E.shape[1]}")
        found = ready._program().solve(np.zeros(ready._d))
        if found.status != 0:
            raise ValueError(f"Polytope: no w satisfies all constraints. HiGHS: {found.message}")
        ready._check_bounded()
        return ready

    def _constraints(self) -> tuple[Any, Any, Any, Any]:
        """Return ``A, b, E, e`` with sparse matrices unwrapped."""
        A, E = (M.value if isinstance(M, Opaque) else M for M in (self.A, self.E))
        return A, self.b, E, self.e

    @property
    def _d(self) -> int:
        A, _, E, _ = self._constraints()
        return (E if A is None else A).shape[1]

    def _program(self) -> "ScaledProgram":
        return ScaledProgram.of(*self._constraints())

    def _check_bounded(self) -> None:
        """Raise ValueError if there is a ray: ``A v <= 0``, ``E v = 0``, ``v`` not zero."""
        program = self._program()
        if program.A is not None:  # rays along which a row of A decreases
            m = program.A.shape[0]
            box = sparse.vstack([program.A, -program.A])
            e = None if self.e is None else np.zeros_like(self.e)
            moved = program._replace(A=box, b=np.r_[np.zeros(m), np.ones(m)], e=e)
            _refuse_ray(moved.solve(np.asarray(program.A.sum(axis=0)).ravel()))
        # Rays along which no row changes form a subspace. A random direction is orthogonal to it only if it is zero.
        fixed = sparse.vstack([M for M in (program.A, program.E) if M is not None])
        level = program._replace(A=None, b=None, E=fixed, e=np.zeros(fixed.shape[0]))
        _refuse_ray(level.solve(np.random.default_rng(0).normal(size=self._d), bounds=(-1.0, 1.0)))

    def for_size(self, d):
        """Return the set, or raise ValueError if it does not have ``d`` coordinates."""
        same_length("Polytope", "a row of the constraints", self._d, d)
        return self

    def for_columns(self, columns):
        """Return the polytope of some entries where all others are zero; None if that is empty."""
        A, b, E, e = self._constraints()
        A, E = (None if M is None else sparse.csr_array(M)[:, columns] for M in (A, E))
        is_empty = ScaledProgram.of(A, b, E, e).solve(np.zeros(len(columns))).status == 2
        return None if is_empty else Polytope(A, b, E, e)

    def tracker(self, d):
        """Return a messenger to HiGHS."""
        return Messenger.over(d, self._program().best)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set: an upper bound proven by the dual of the program."""
        direction = np.asarray(direction, dtype=np.float64)
        return -self._program().least(-direction) if np.isfinite(direction).all() else np.nan

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the size of the terms of each constraint."""
        w = np.asarray(w, dtype=np.float64)
        A, b, E, e = self._constraints()
        sizes = np.maximum(coordinate_sizes(A, b, E, e), np.abs(w))
        return all(
            np.all((np.abs(M @ w - bound) if M is E else M @ w - bound) <= tolerance * (abs(M) @ sizes + np.abs(bound)))
            for M, bound in ((A, b), (E, e))
            if M is not None
        )

    def barrier(self, size):
        """Return a barrier of the set's interior, None if the set is a single point."""
        return polytope_barrier(*self._constraints(), size)


def _refuse_ray(found: Any) -> None:
    """Raise ValueError if a program that looks for a ray has found one."""
    if found.status != 0 or found.fun < -1e-7:
        where = "" if found.x is None else f" along coordinate {int(np.argmax(np.abs(found.x)))} (and perhaps others)"
        raise ValueError(
            f"Polytope: the set is unbounded{where}; a constraint set must be bounded. "
            f"The program that looks for a ray says: HiGHS: {found.message}"
        )


def _system(matrix_name: str, M: Any, vector_name: str, bound: Any) -> tuple[Any, Any]:
    """Return a matrix (a sparse one as an `Opaque`) and its right-hand side, checked against each other."""
    if M is None and bound is None:
        return None, None
    if M is None or bound is None:
        given, missing = (matrix_name, vector_name) if bound is None else (vector_name, matrix_name)
        raise ValueError(f"Polytope: {given} goes with {missing}, which is missing")
    M = M.value if isinstance(M, Opaque) else M
    M = matrix("Polytope", matrix_name, M)
    bound = vector("Polytope", vector_name, bound)
    if len(bound) != M.shape[0]:
        raise ValueError(f"Polytope: {vector_name} has {len(bound)} entries, but {matrix_name} has {M.shape[0]} rows")
    return (Opaque.of(M) if sparse.issparse(M) else M), bound


# --- linear programs -----------------------------------------------------------------------------------------------


def solve_program(c: Any, A: Any, b: Any, E: Any, e: Any, bounds: Any = (None, None)) -> Any:
    """Return SciPy's solution of ``min <c, w>`` over ``A w <= b, E w = e`` and bounds."""
    from scipy.optimize import linprog  # slow to import

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return linprog(c, A_ub=A, b_ub=b, A_eq=E, b_eq=e, bounds=bounds, method="highs-ds", options=tight)


class ScaledProgram(NamedTuple):
    """The constraints of a polytope on ``v = w / sizes``, each scaled so that its largest entry is about one.

    The solver's tolerances are absolute, hence the scaling. All scales are powers of two, so nothing is rounded.
    """

    sizes: np.ndarray
    A: Any
    b: Any
    E: Any
    e: Any

    @classmethod
    def of(cls, A: Any, b: Any, E: Any, e: Any) -> "ScaledProgram":
        """Return the program over ``A w <= b, E w = e``; either pair may be None."""
        sizes = _power_of_two(coordinate_sizes(A, b, E, e))
        return cls(sizes, *_in_units(A, b, sizes), *_in_units(E, e, sizes))

    def solve(self, c: np.ndarray, bounds: tuple[float | None, float | None] = (None, None)) -> Any:
        """Minimise ``<c, v>``."""
        return solve_program(c, *self[1:], bounds)

    def best(self, r: np.ndarray) -> np.ndarray:
        """Return the ``w`` that minimises ``<r, w>``."""
        return self._solved(r)[0].x * self.sizes + 0.0  # no negative zeros

    def least(self, r: np.ndarray) -> float:
        """Return a lower bound on ``<r, w>`` from the dual solution: the vertex is optimal only to a tolerance.

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
        """Minimise ``<r, w>``; return the solution, the scaled costs and their unit."""
        size = np.abs(r).max() or 1.0
        costs = r / size * self.sizes
        unit = np.abs(costs).max() or 1.0
        found = self.solve(costs / unit)
        if found.status != 0:
            raise RuntimeError(f"Polytope: the linear program could not be solved. HiGHS: {found.message}")
        return found, costs / unit, float(unit * size)


def coordinate_sizes(A: Any, b: Any, E: Any, e: Any) -> np.ndarray:
    """Return a bound on each coordinate in ``A w <= b, E w = e``, or an estimate where none is found.

    A constraint bounds one coordinate if the others in it are bounded. Three rounds of that propagation suffice where
    coordinates have bounds of their own. Elsewhere the estimate is the largest ``|bound / entry|`` of the constraints
    that contain the coordinate.
    """
    rows = [(A, b)] if A is not None else []
    rows += [(E, e), (-E, -e)] if E is not None else []
    M = sparse.vstack([sparse.csr_array(matrix) for matrix, _ in rows], format="csr")
    M.eliminate_zeros()
    bound = np.concatenate([right for _, right in rows])
    row, column, entry = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr)), M.indices, M.data
    low, high = np.full(M.shape[1], -np.inf), np.full(M.shape[1], np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(3):
            least = np.where(entry > 0.0, entry * low[column], entry * high[column])
            free = np.isinf(least)
            sums, frees = np.bincount(row, np.where(free, 0.0, least), len(bound)), np.bincount(row, free, len(bound))
            alone = frees[row] == free  # no other coordinate of the row is unbounded
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
    """Return powers of two of about these sizes: scaling by them is exact."""
    return np.ldexp(1.0, np.clip(np.frexp(sizes)[1], -1000, 1000))


def _in_units(M: Any, bound: Any, sizes: np.ndarray) -> tuple[Any, Any]:
    """Return constraints on ``w / sizes``, each scaled so that its largest entry is about one."""
    if M is None:
        return None, None
    M = sparse.csr_array(M) @ sparse.diags_array(sizes)
    largest = abs(M).max(axis=1).toarray().ravel()
    scales = _power_of_two(np.where(largest > 0.0, largest, 1.0))
    return sparse.diags_array(1.0 / scales) @ M, bound / scales


# --- the interior --------------------------------------------------------------------------------------------------


def polytope_barrier(A: Any, b: Any, E: Any, e: Any, size: int) -> Barrier | None:
    """Return the barrier of all ``w`` with ``A w <= b`` and ``E w = e``; None if that is a single point.

    Inequalities that no point satisfies strictly are treated as equations. The barrier of the others is expressed in
    coordinates of the null space of all equations.
    """
    A, b = _as_system(A, b, size)
    E, e = _as_system(E, e, size)
    norms = np.linalg.norm(A, axis=1)
    A, b = A[norms > 0.0] / norms[norms > 0.0, None], b[norms > 0.0] / norms[norms > 0.0]
    unit = max(float(np.abs(b).max(initial=0.0)), float(np.abs(e).max(initial=0.0)))
    if not unit > 0.0:
        return None  # a bounded cone contains only zero
    loose = _loose(A, b / unit, E, e / unit)
    if not loose.any():
        return None
    fixed, level = np.vstack([E, A[~loose]]), np.concatenate([e, b[~loose]])
    basis = null_space(fixed, rcond=1e-12) if len(fixed) else np.eye(size)
    inside = unit * _deepest(A, b / unit, E, e / unit, loose)
    inside -= np.linalg.lstsq(fixed, fixed @ inside - level, rcond=None)[0] if len(fixed) else 0.0
    room = (b - A @ inside)[loose]
    if basis.shape[1] == 0 or not room.min() > 0.0:
        return None
    return SlackBarrier(A[loose] @ basis, room, basis).translated(inside)


def _as_system(M: Any, bound: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix, which may be sparse or None, and its right-hand side as arrays."""
    if M is None:
        return np.zeros((0, size)), np.zeros(0)
    return (M.toarray() if sparse.issparse(M) else np.asarray(M)), bound


def _loose(A: np.ndarray, b: np.ndarray, E: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return which inequalities some point of the polytope satisfies strictly; then one point does so for all of them.

    The polytope is scaled up until every such slack is one: ``A w + s <= b t`` and ``E w = e t`` with ``t >= 1``.
    A slack below 1e-7 of the largest bound counts as zero.
    """
    m, d = A.shape
    bounds = [(None, None)] * d + [(0.0, 1.0)] * m + [(1.0, 1e7)]
    above = np.hstack([A, np.eye(m), -b[:, None]])
    equal = np.hstack([E, np.zeros((len(E), m)), -e[:, None]])
    found = _solution(np.r_[np.zeros(d), -np.ones(m), 0.0], above, np.zeros(m), equal, np.zeros(len(e)), bounds)
    return found[d : d + m] > 0.5


def _deepest(A: np.ndarray, b: np.ndarray, E: np.ndarray, e: np.ndarray, loose: np.ndarray) -> np.ndarray:
    """Return the centre of the largest ball within the inequalities that have slack."""
    d = A.shape[1]
    bounds = [(None, None)] * d + [(0.0, None)]
    columns = np.column_stack([A, loose]), b, np.hstack([E, np.zeros((len(E), 1))]), e
    return _solution(np.r_[np.zeros(d), -1.0], *columns, bounds)[:d]


def _solution(*program: Any) -> np.ndarray:
    """Return the solution of a linear program that is known to have one."""
    found = solve_program(*program)
    if found.status != 0:
        raise RuntimeError(f"Polytope: the linear program for its interior could not be solved. HiGHS: {found.message}")
    return found.x
