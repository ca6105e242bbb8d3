"""A point of a set that satisfies linear conditions, or a smallest list of conditions that contradict each other.

The elastic program minimises ``t`` over all ``w`` in the set with ``lower - t <= A w <= upper + t``. It is solved over
a few vertices; its multipliers ``y`` price new ones by ``A' y``. By weak duality (Farkas)

    t  >=  min over the set of <y, A w> - max over the bounds of <y, k>      for all y with |y|_1 <= 1,

so a positive right-hand side proves a contradiction. The vertices need only the set's oracle.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from frankwolfe.objective.tasks import EPSILON
from frankwolfe.problem import Problem
from frankwolfe.problem.linear_bounds import Infeasible, LinearBounds
from frankwolfe.sets.base import vertex_of
from frankwolfe.solvers.corrective.quadratic_program import meeting

SOLVED = 1e-9
"""Relative miss at which a point of the elastic program counts as feasible, before it is corrected to rounding."""


class FeasiblePoint(NamedTuple):
    """A point of the set, as a convex combination: the vertices, one a row, and their weights. None if it was given."""

    w: np.ndarray
    vertices: np.ndarray | None = None
    weights: np.ndarray | None = None


class Relaxation(NamedTuple):
    """Answer of the elastic program: the point, its largest miss ``t``, multipliers, and the bound that they prove."""

    point: FeasiblePoint
    t: float
    multipliers: np.ndarray
    bound: float


def rounding_of(side: LinearBounds, w: np.ndarray) -> np.ndarray:
    """Return for each condition the rounding error that its product with ``w`` may have."""
    bounds = np.maximum(
        np.abs(np.where(np.isfinite(side.lower), side.lower, 0.0)),
        np.abs(np.where(np.isfinite(side.upper), side.upper, 0.0)),
    )
    return (8.0 + len(w) ** 0.5) * EPSILON * (abs(side.A) @ np.abs(w) + bounds)


def meets(side: LinearBounds, w: np.ndarray) -> bool:
    """Return whether all conditions hold at ``w`` up to rounding."""
    return bool((np.abs(side.excess(w)) <= rounding_of(side, w)).all())


def without_rounding(side: LinearBounds, w: np.ndarray, largest: float) -> np.ndarray:
    """Return weights with tiny entries set to zero if they violate a condition whose bound is zero.

    A weight that should be zero may be the rounding error of a sum, where ``largest`` is the size of the terms.
    """
    excess = side.excess(w)
    broken = np.flatnonzero((excess != 0.0) & (np.where(excess > 0.0, side.upper, side.lower) == 0.0))
    if not len(broken):
        return w
    concerned = np.asarray((abs(side.A[broken]) > 0.0).sum(axis=0)).ravel() > 0
    return np.where(concerned & (np.abs(w) <= 8.0 * EPSILON * largest), 0.0, w)


def feasible_point(problem: Problem, side: LinearBounds, near: np.ndarray) -> FeasiblePoint:
    """Return a point of the set that satisfies all conditions up to rounding: ``near`` if it does.

    Raises ValueError, with a smallest list of conditions that contradict each other, if there is none.
    """
    if meets(side, near):
        return FeasiblePoint(near)
    search = ElasticProgram(problem, side)
    everything = np.arange(side.m)
    found = search.solve(everything)
    if not found.t <= SOLVED:
        if found.bound > 0.0:
            raise search.contradiction(found)
        raise Infeasible(
            f"LinearBounds: no point of the set {type(problem.constraint).__name__} was found that satisfies all "
            f"conditions: the best one misses them by {found.t:.3g} of their sizes. If they touch the set in a single "
            "point, widen a bound",
            proven=False,
        )
    point = found.point
    largest = float(np.abs(point.w if point.vertices is None else point.vertices).max(initial=0.0))
    point = point._replace(w=without_rounding(side, point.w, largest))
    if not meets(side, point.w) and (error := search.tiny_contradiction(point.w)):
        raise error
    return point


class ElasticProgram:
    """The elastic program of a problem, for all conditions or some of them.

    Parameters
    ----------
    problem : Problem
        The problem; only its set matters.
    side : LinearBounds
        The conditions. Each is divided by the size of the terms of its products with points of the set.
    """

    def __init__(self, problem: Problem, side: LinearBounds):
        self.problem, self.side = problem, side
        size = np.array([side.terms(problem.constraint, k) for k in range(side.m)])
        self.size = np.where(size > 0.0, size, 1.0)
        self.bounds = problem.constraint.structure().bounds
        self.hull = problem.constraint.structure().hull

    def solve(self, chosen: np.ndarray, least: bool = False) -> Relaxation:
        """Return the answer for the conditions ``chosen``. ``least`` goes on to the least ``t``, however small."""
        lower, upper = self.side.lower[chosen] / self.size[chosen], self.side.upper[chosen] / self.size[chosen]
        if self.bounds is not None:
            return self._in_a_box(chosen, lower, upper)
        vertices = [self._vertex(np.zeros(self.problem.size))]
        images = [self._image(vertices[0])[chosen]]
        best_bound, best_y, low = -np.inf, np.zeros(len(chosen)), 0.0
        for _ in range(2000):
            answer = _elastic(np.array(images).T, lower, upper, np.zeros(len(images)), None, low)
            if answer is None:
                break  # equations hold up to the tolerance of the linear program only, so there is no margin
            x, t, y = answer
            bound = self._bound(chosen, y)
            if bound > best_bound:
                best_bound, best_y = bound, y
            if not least and low == 0.0 and t <= SOLVED:
                # It is feasible: look for a point with a margin of a tenth of the size of each inequality.
                low, best_bound = -0.1, -np.inf
                continue
            near_enough = t <= 0.5 * best_bound if low < 0.0 else t <= 2.0 * best_bound and best_bound > 1e-6
            if near_enough or t <= low or t - best_bound <= 1e-6 * abs(t):
                break
            vertex = self._vertex(self._combined(chosen, y))
            image = self._image(vertex)[chosen]
            if not float(y @ image) < min(float(y @ other) for other in images) - 1e-13:
                break
            vertices.append(vertex)
            images.append(image)
        x = self._corrected(np.array(images).T, lower, upper, x)
        point = FeasiblePoint(x @ np.array(vertices), np.array(vertices), x)
        return Relaxation(point, t, self._spread(chosen, best_y), best_bound)

    def _in_a_box(self, chosen: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Relaxation:
        """Return the answer over a box, where all columns are in one program: few of them are off their bounds."""
        d, bounds = self.problem.size, self.bounds
        low, high = (np.array(np.broadcast_to(end, d), dtype=np.float64) for end in bounds)
        A = self.side.A[chosen]
        A = (A.toarray() if issparse(A) else A) / self.size[chosen][:, None]
        rest, width = A @ low, high - low
        answer = _elastic(A * width, lower - rest, upper - rest, np.zeros(d), np.ones(d), 0.0)
        assert answer is not None  # an elastic program always has a solution
        share, t, y = answer
        x = low + width * share
        bound = self._bound(chosen, y)
        if t <= SOLVED:
            tight, ends = _tight(A @ x, lower, upper)
            x = meeting(A[tight], ends, np.clip(x, low, high), low, high)
        return Relaxation(FeasiblePoint(x), t, self._spread(chosen, y), bound)

    def _corrected(self, P: np.ndarray, lower: np.ndarray, upper: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return convex weights near ``x`` for which the tight conditions hold up to rounding."""
        x = np.maximum(x, 0.0) / np.maximum(x, 0.0).sum()
        tight, ends = _tight(P @ x, lower, upper)
        rows, ends = np.vstack([P[tight], np.ones((1, len(x)))]), np.append(ends, 1.0)
        return meeting(rows, ends, x, np.zeros(len(x)), np.full(len(x), np.inf))

    def _vertex(self, price: np.ndarray) -> np.ndarray:
        """Return the vertex with the lowest price."""
        if self.hull is None:
            return vertex_of(self.problem.constraint, price)
        shift, best = (
            self.problem.constraint.structure().shift,
            int((-np.abs(price) if self.hull.signed else price).argmin()),
        )
        vertex = np.zeros(self.problem.size) if shift is None else shift.copy()
        if price[best] < 0.0 or not self.hull.filled or self.hull.signed:
            vertex[best] += -self.hull.radius if price[best] > 0.0 and self.hull.signed else self.hull.radius
        return vertex

    def _image(self, w: np.ndarray) -> np.ndarray:
        """Return the products of all conditions with a point, in units of their sizes."""
        return (self.side.A @ w) / self.size

    def _combined(self, chosen: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return ``A' y`` for the conditions ``chosen``."""
        return self.side.combined(self._spread(chosen, y))

    def _spread(self, chosen: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return multipliers of all conditions in their own units, from those of some in units of their sizes."""
        whole = np.zeros(self.side.m)
        whole[chosen] = y / self.size[chosen]
        return whole

    def _bound(self, chosen: np.ndarray, y: np.ndarray) -> float:
        """Return the lower bound on ``t`` that the multipliers prove, less its rounding error."""
        multipliers = self._spread(chosen, y / max(1.0, np.abs(y).sum()))
        combined = self.side.combined(multipliers)
        reach, ends = self.problem.constraint.proven_support(-combined), self.side.support(multipliers)
        return float(-reach - ends - 16.0 * EPSILON * (1.0 + abs(reach) + abs(ends)))

    def contradiction(self, found: Relaxation) -> ValueError:
        """Return the error that names a smallest list of conditions that contradict each other (a deletion filter)."""
        kept = np.flatnonzero(found.multipliers)
        for k in kept.copy():
            rest = kept[kept != k]
            if len(rest) and (without := self.solve(rest, least=True)).bound > 0.0:
                kept = np.intersect1d(rest, np.flatnonzero(without.multipliers))
        return self._error(kept)

    def tiny_contradiction(self, w: np.ndarray) -> ValueError | None:
        """Return the error for a contradiction below the tolerance of linear programs, at the nearest point.

        The misses at that point are multipliers that may prove the contradiction, after the part of them that is
        rounding is removed: the rows, weighted by the multipliers, should sum to zero. If they prove none, return None.
        """
        y = self.side.excess(w) / self.size
        kept = np.flatnonzero(np.abs(y) >= 1e-3 * np.abs(y).max())
        rows = self.side.A[kept]
        rows = (rows.toarray() if issparse(rows) else rows) / self.size[kept][:, None]
        y = y[kept] / np.abs(y[kept]).sum()
        balanced = y - rows @ np.linalg.lstsq(rows, y, rcond=1e-12)[0]
        return self._error(kept) if max(self._bound(kept, y), self._bound(kept, balanced)) > 0.0 else None

    def _error(self, kept: np.ndarray) -> ValueError:
        return Infeasible(
            f"LinearBounds: no weights of the set {type(self.problem.constraint).__name__} satisfy "
            f"{listed([self.side.label(int(k)) for k in kept])}{' together' if len(kept) > 1 else ''}: "
            "leave one of them out, widen its bounds, or enlarge the set"
        )


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _tight(products: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the conditions that are equations or do not hold, and the bounds that they should meet."""
    over, under = products > upper, products < lower
    tight = np.flatnonzero(over | under | (lower == upper))
    return tight, np.where(over, upper, lower)[tight]


def _elastic(
    P: np.ndarray, lower: np.ndarray, upper: np.ndarray, low: np.ndarray, high: np.ndarray | None, least: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return the minimiser of the largest miss ``t`` of ``lower <= P x <= upper``, ``t``, and multipliers.

    ``t`` is at least ``least``. With a negative ``least``, equations hold and ``-t`` is the margin of all other rows.
    Without ``high``, the variables are convex weights. Return None if there is no solution.
    """
    from scipy.optimize import linprog  # slow to import

    count, hard = P.shape[1], (lower == upper) & (least < 0.0)
    up, down = np.isfinite(upper) & ~hard, np.isfinite(lower) & ~hard
    G = np.vstack([P[up], -P[down]])
    G = np.hstack([G, -np.ones((len(G), 1))])
    h = np.concatenate([upper[up], -lower[down]])
    E, e = np.hstack([P[hard], np.zeros((int(hard.sum()), 1))]), lower[hard]
    if high is None:
        E, e = np.vstack([E, np.append(np.ones(count), 0.0)]), np.append(e, 1.0)
    limits = [*zip(low, [None] * count if high is None else high, strict=True), (least, None)]
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    cost = np.append(np.zeros(count), 1.0)
    found = linprog(cost, G, h, E, e, limits, method="highs-ds", options=options)
    if found.x is None:
        return None
    y, duals = np.zeros(len(P)), np.maximum(-found.ineqlin.marginals, 0.0)  # rounding may change a sign
    y[up] += duals[: up.sum()]
    y[down] -= duals[up.sum() :]
    y[hard] = -found.eqlin.marginals[: hard.sum()]
    return found.x[:-1], float(found.x[-1]), y
