"""Linear conditions on sets with a barrier and few weights: their slacks have logarithms beside the set's barrier.

The central path then stays strictly inside set and inequalities, and equations hold along it. At a point near the path
the multiplier of an inequality is ``mu / slack``. Those of equations make the priced gradient as small as they can, in
the norm of the barrier. `Conditioned` has what all solvers under conditions have in common: the gap by multipliers.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.sparse import issparse

from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.problem.linear_bounds import LinearBounds
from frankwolfe.sets.barriers import ConditionedBarrier, strictly_inside
from frankwolfe.solvers.corrective.feasible_point import EPSILON, rounding_of, without_rounding
from frankwolfe.solvers.corrective.hessian import FullHessian
from frankwolfe.solvers.corrective.interior import InteriorSolver, PathPoint, QuadraticModel, follow_path
from frankwolfe.solvers.corrective.quadratic_program import meeting
from frankwolfe.solvers.corrective.rounds import RoundSolver
from frankwolfe.solvers.protocol import Evidence

MOST_WEIGHTS = 600
"""Largest number of weights for which the Hessian in all weights is used."""

IMPLIED = 1e-4
"""A condition is an equation of its own if it has at least this share in the proof that nothing satisfies all of them
strictly, and they can be satisfied to `LEAST_MU`."""

LEAST_MU = 1e-11
"""Last ``mu`` of the search for a point that satisfies all conditions strictly."""


class Conditioned(RoundSolver):
    """A solver whose gap is proven with multipliers of the conditions.

    Attributes
    ----------
    multipliers : array of shape (m,)
        Multipliers of the conditions by the last model. Positive ones belong to upper bounds.
    proving : array of shape (m,)
        Multipliers of the gap at the iterate.
    """

    side: LinearBounds
    multipliers: np.ndarray
    proving: np.ndarray

    def evidence(self) -> Evidence:
        """Return the exact evaluation of the iterate, and the multipliers of its gap."""
        return super().evidence()._replace(multipliers=self.proving)

    def _gap_at(self, gradient: np.ndarray, w: np.ndarray) -> float:
        """Return the gap at the iterate by its derivatives and the last multipliers, or those of the best bound."""
        proof = np.zeros(self.side.m) if self.bound.multipliers is None else self.bound.multipliers
        gap, other = (self._gap_by(multipliers, gradient, w) for multipliers in (self.multipliers, proof))
        self.proving = proof if other < gap else self.multipliers
        return min(gap, other)

    def _gap_by(self, multipliers: np.ndarray, gradient: np.ndarray, w: np.ndarray) -> float:
        """Return the gap at the iterate that its derivatives and some multipliers prove.

        Terms of large multipliers cancel, so the gap includes their rounding error.
        """
        priced = gradient + self.side.combined(multipliers)
        rounding = 4.0 * EPSILON * float(np.abs(multipliers) @ (abs(self.side.A) @ np.abs(w)))
        return max(self.problem.gap_for(priced, w, proof=True), 0.0) + self._unused(multipliers, w) + rounding

    def _unused(self, multipliers: np.ndarray, w: np.ndarray) -> float:
        """Return the sum of the multipliers times the distances of the conditions to their bounds."""
        on = np.flatnonzero(multipliers)
        ends = np.where(multipliers > 0.0, self.side.upper, self.side.lower)[on]
        return float(np.maximum(multipliers[on] * (ends - (self.side.A @ w)[on]), 0.0).sum())


class Slopes(NamedTuple):
    """Conditions in one direction: ``rows w <= ends`` or, of equations, ``rows w = ends``.

    Attributes
    ----------
    owner, factor : arrays
        The condition that a row belongs to, and the factor from one to the other: rows have largest entries of size 1.
    rows, ends : arrays
        The rows, and their bounds.
    """

    owner: np.ndarray
    factor: np.ndarray
    rows: np.ndarray
    ends: np.ndarray

    def some(self, chosen: np.ndarray) -> "Slopes":
        """Return some of the conditions."""
        return Slopes(*(each[chosen] for each in self))


class Interior(NamedTuple):
    """The barrier of a set under conditions; conditions that are inequalities; equations, and which may have any sign.

    Inequalities without room count as equations whose multipliers have a sign.
    """

    barrier: ConditionedBarrier
    inequalities: Slopes
    equations: Slopes
    signed: np.ndarray


_interiors: WeakKeyDictionary[Problem, Interior | None] = WeakKeyDictionary()


def interior_of(problem: Problem) -> Interior | None:
    """Return the barrier of the points of a set that satisfy all conditions; None if no point is strictly inside."""
    if problem not in _interiors:
        _interiors[problem] = _interior_of(problem)
    return _interiors[problem]


def _interior_of(problem: Problem) -> Interior | None:
    side, inner = problem.side, problem.barrier()
    assert side is not None
    if inner is None:
        return None
    A = np.asarray(side.A.toarray() if issparse(side.A) else side.A)
    equal = side.lower == side.upper
    up, down = np.flatnonzero(np.isfinite(side.upper)), np.flatnonzero(np.isfinite(side.lower) & ~equal)
    owner, factor = np.concatenate([up, down]), np.repeat([1.0, -1.0], [len(up), len(down)])
    ends, sizes = np.where(factor > 0.0, side.upper[owner], side.lower[owner]), np.abs(A[owner]).max(axis=1)
    if (factor * ends < 0.0)[sizes == 0.0].any():
        return None
    factor /= np.where(sizes > 0.0, sizes, 1.0)
    found = Slopes(owner, factor, factor[:, None] * A[owner], factor * ends).some(sizes > 0.0)
    fixed = equal[found.owner]
    signed = np.zeros(len(fixed), bool)
    for _ in range(3):
        loose, tight = found.some(~fixed), found.some(fixed)
        y, implied = _strictly_feasible(inner, loose, tight)
        if y is not None:
            barrier = ConditionedBarrier(inner, *loose[2:], *tight[2:], y)
            start = barrier.start()
            w = barrier.weights(start)
            w = without_rounding(side, w, float(np.abs(w).max()))
            inside = np.isfinite(barrier.value(start)) and satisfies(side, w, tight)
            return Interior(barrier, loose, tight, signed[fixed]) if inside else None
        if not implied.any():
            return None
        chosen = np.flatnonzero(~fixed)[implied]
        fixed[chosen] = signed[chosen] = True
    return None


def _strictly_feasible(inner: Any, loose: Slopes, tight: Slopes) -> tuple[np.ndarray | None, np.ndarray]:
    """Return variables of a barrier strictly inside all inequalities, on all equations, if there are such.

    Else also return which inequalities have no room.
    """
    barrier, room = strictly_inside(inner, *loose[2:], *tight[2:])
    w = barrier.weights(barrier.middle)
    slope = np.append(np.zeros(len(w) - 1), 1.0)
    model = QuadraticModel(w, slope, FullHessian(np.zeros((len(w), len(w))), lambda: [np.zeros((1, len(w)))]))
    before = point = PathPoint(1.0, barrier.middle, w, np.zeros(len(w)))
    while point.w[-1] > 0.0 and point.mu > LEAST_MU:
        before, point = point, follow_path(model, barrier, point, 0.1 * point.mu)[-1]
        if point.mu > 0.5 * before.mu:
            break  # the last digits are lost
    over, t = before.w[-1], point.w[-1]
    if t <= 0.0 < over:
        return (before.y + over / (over - t) * (point.y - before.y))[: len(inner.start())], np.zeros(
            len(loose.ends), bool
        )
    slacks = point.y[barrier.own :] / room
    return None, (point.mu / slacks > IMPLIED) & (t < 1e3 * LEAST_MU * barrier.nu)


def satisfies(side: LinearBounds, w: np.ndarray, tight: Slopes) -> bool:
    """Return whether all inequalities hold, and those without room and equations up to rounding."""
    allowed = np.where(np.isin(np.arange(side.m), tight.owner), rounding_of(side, w), 0.0)
    return bool((np.abs(side.excess(w)) <= allowed).all())


class ConditionedInterior(Conditioned, InteriorSolver):
    """One run of the corrective method on a set with a barrier under conditions that some point satisfies strictly."""

    remembered = (*InteriorSolver.remembered, "multipliers", "proving")

    def __init__(self, problem: Problem, w: np.ndarray, earlier: Mapping[str, Any] | None = None):
        interior = interior_of(problem)
        assert problem.side is not None
        assert interior is not None
        self.side, self.interior, barrier = problem.side, interior, interior.barrier
        self.multipliers = self.proving = np.zeros(self.side.m)
        feasible = satisfies(self.side, w, interior.equations)
        super().__init__(problem, w if feasible else barrier.weights(barrier.start()), earlier)
        self.barrier = barrier

    def point(self) -> np.ndarray:
        """Return a copy of the iterate."""
        return self._tidy(self.w).copy()

    def _tidy(self, w: np.ndarray) -> np.ndarray:
        """Return the weights with those that must be zero exactly zero."""
        return without_rounding(self.side, w, float(np.abs(w).max(initial=0.0)))

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Set ``at`` to the point at the iterate. Return the gradient and the gap there, with its multipliers."""
        gradient, _ = super()._evaluate()
        return gradient, self._gap_at(gradient, self.w)

    def _round(self, found: Evaluation) -> None:
        """Minimise a quadratic model over the set and the conditions, then line search toward its minimiser."""
        proving = self.proving
        super()._round(found)
        if self._found is found:
            self.proving = proving

    def _go(self, there: np.ndarray, found: Evaluation) -> bool:
        """Move to ``there``, if need be corrected for rounding errors in the equations, or toward it."""
        there = self._tidy(there)
        if not self._is_feasible(there):
            equations, free = self.interior.equations, np.full(len(there), np.inf)
            unit = float(np.abs(there).max()) or 1.0
            there = self._tidy(unit * meeting(equations.rows, equations.ends / unit, there / unit, -free, free))
        return super()._go(there, found)

    def _is_feasible(self, w: np.ndarray, tolerance: float = 1e-9) -> bool:
        return super()._is_feasible(w, tolerance) and satisfies(self.side, w, self.interior.equations)

    def _bound(self, at: Point, w: np.ndarray, alpha: np.ndarray) -> None:
        """Do nothing: the bounds come from the multipliers."""

    def _gap_at(self, gradient: np.ndarray, w: np.ndarray) -> float:
        """Return the gap by the multipliers of the last path. Those of bounds far away are left out if they can be."""
        if self.path and np.isfinite(self.path[-1].mu):
            self.multipliers, binding = self._multipliers(gradient, self.path[-1])
            gap = super()._gap_at(gradient, w)
            other = self._gap_by(binding, gradient, w)
            if other <= max(gap, self.target):
                self.proving, gap = binding, other
            return gap
        return super()._gap_at(gradient, w)

    def _multipliers(self, gradient: np.ndarray, point: PathPoint) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers at a point of the path, all of them and those of bounds that bind."""
        loose, tight, barrier = self.interior.inequalities, self.interior.equations, self.barrier
        slacks = point.y[barrier.own :]
        values, sizes = point.mu / slacks, np.abs(loose.rows) @ np.abs(point.w) + np.abs(loose.ends)
        found, inner = barrier.at(point.y), barrier.inner.at(point.y[: barrier.own])
        moves = np.diag(found.moves) if found.moves.ndim == 1 else found.moves
        across = moves.T @ (gradient + loose.rows.T @ values) + point.mu * inner.gradient
        own = np.zeros((0, len(across))) if inner.equations is None else inner.equations
        rows = np.vstack([tight.rows @ moves, own])
        levels = _least_squares(found.own_root(), across, rows, self.interior.signed)[: len(tight.ends)]
        whole = np.bincount(tight.owner, tight.factor * levels, self.side.m)
        binds = values * sizes / self.scale > slacks / sizes
        return (
            whole + np.bincount(loose.owner, loose.factor * values, self.side.m),
            whole + np.bincount(loose.owner[binds], (loose.factor * values)[binds], self.side.m),
        )


def _least_squares(root: np.ndarray, across: np.ndarray, rows: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """Return the ``y`` that minimises ``across + rows' y`` in the norm of the inverse of ``root' root``.

    Entries of ``y`` that are ``signed`` are not negative.
    """
    from scipy.optimize import lsq_linear  # slow to import

    if not len(rows):
        return np.zeros(0)
    sizes = 1.0 / np.maximum(np.linalg.norm(root, axis=0), 1e-150)
    triangle = qr(root * sizes, mode="r", check_finite=False)[0][: len(sizes)].T
    matrix, target = (solve_triangular(triangle, side.T, lower=True) for side in (rows * sizes, -across * sizes))
    units = np.linalg.norm(matrix, axis=0)
    units[units == 0.0] = 1.0
    if not signed.any():
        return np.linalg.lstsq(matrix / units, target, rcond=1e-13)[0] / units
    low = np.where(np.append(signed, np.zeros(len(rows) - len(signed), bool)), 0.0, -np.inf)
    return lsq_linear(matrix / units, target, (low, np.inf), method="bvls").x / units
