"""Linear programs over ``A w <= b, E w = e``, in units in which all numbers are about one.

The solver's tolerances are absolute, so it is handed constraints on ``w / sizes``. All scales are powers of two, so
that nothing is rounded.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

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
