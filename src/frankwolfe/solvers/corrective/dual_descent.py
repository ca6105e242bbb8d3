"""Dual coordinate descent for losses with a kink over an l2 ball: where a run on large data starts.

The dual of the problem over the ball ``||w|| <= R``, with weighted slopes ``alpha_i`` between those on both sides of
the kink ``k_i`` and ``r = X' alpha + c``, is

    max over alpha of  -sum_i alpha_i k_i - R ||r||,
    R ||r|| = min over damping of  ||r||^2 / (2 damping) + damping R^2 / 2.

For a fixed ``damping`` this is the dual of a support vector machine with that l2 penalty. One coordinate has a closed
form, and costs one row (Hsieh et al. 2008). The damping follows after each sweep: at the optimum it is ``||r|| / R``,
and ``w = -r / damping``. Rows whose slope is at an end of its interval, and should be, are left out of later sweeps.

A free intercept ``b`` adds the condition ``sum_i alpha_i = 0``. The method of multipliers satisfies it: a quadratic
penalty in the dual, with ``b`` as its multiplier.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import fetch_row, row_add, row_dot
from frankwolfe.losses.base import many
from frankwolfe.objective.intercept import balanced_slopes
from frankwolfe.objective.offset import centres
from frankwolfe.objective.point import Point
from frankwolfe.problem import Problem
from frankwolfe.sets.barriers import EllipsoidBarrier
from frankwolfe.shards.local import SplitRows

MOST_PASSES = 40
"""Largest number of passes. On w8a (49,749 x 300), a relative gap of 1e-4 takes 5 with a strong penalty (``C = 1e-3``
in liblinear's units) and 30 with a weak one (``C = 1``)."""

SAMPLED, SAMPLE_SWEEPS = 8, 8
"""The first sweeps, as many as the second number, visit one row in the first number: to find the damping."""

CORRECTION = 1.5
"""Exponent of the correction of the damping. With exponent ``q`` an error in its logarithm is multiplied by about
``1 - q p``, if the norm of the optimum falls with the power ``p`` of the damping. ``p`` is between zero and one."""


class Descent(NamedTuple):
    """Result of the descent: weights, the point there, a dual point, its gradient, and the gap that it proves."""

    w: np.ndarray
    at: Point
    alpha: np.ndarray
    gradient: np.ndarray
    gap: float
    residual: float


def ball_radius(problem: Problem) -> float | None:
    """Return the radius of the l2 ball around zero that constrains a problem, or None for any other set."""
    if problem.side is not None or problem.constraint.structure().shape is not None:
        return None
    barrier = problem.barrier()
    if not isinstance(barrier, EllipsoidBarrier) or barrier.moves.ndim == 2 or np.any(barrier.shift):
        return None
    axes = np.abs(barrier.factor * barrier.moves)
    return float(axes[0]) if (axes == axes[0]).all() else None


def can_descend(problem: Problem) -> bool:
    """Return whether dual descent applies: one output, an l2 ball around zero, and rows in memory worth compiling."""
    compiled = problem.objective.compiled and problem.objective.reads is None
    plain = not (problem.loss.smooth or problem.outputs or isinstance(problem.samples.rows, SplitRows))
    return compiled and plain and ball_radius(problem) is not None


class DualDescent:
    """Dual coordinate descent on all rows of a problem.

    Parameters
    ----------
    problem : Problem
        A problem for which `can_descend` is true.

    Attributes
    ----------
    alpha, r : arrays
        The weighted slopes, and ``X' alpha + c``.
    intercept : array of shape (2,)
        The intercept, which stays zero if the problem has none, and the sum of the slopes.
    rows_read : int
        Number of rows visited, and those of exact passes.
    """

    def __init__(self, problem: Problem):
        radius, samples = ball_radius(problem), problem.samples
        assert radius is not None
        self.problem, self.radius = problem, radius
        self.kinks = np.ascontiguousarray(centres(samples.targets))
        self.low, self.high = (samples.weights * end for end in many(problem.loss).kink_slopes(problem.y))
        self.alpha, self.r = np.zeros(problem.n), np.zeros(problem.size)
        self.r = problem.objective.with_linear(self.r)
        self.squares, self.intercept, self.rows_read = np.zeros(problem.n), np.zeros(2), problem.n
        row_squares(samples.rows, self.squares, np.zeros(problem.size))
        self.mean_square = float(self.squares.mean()) or 1.0
        self.rng = np.random.default_rng(0)

    def run(self, damping: float, target: float, budget: float) -> Descent | None:
        """Descend until a gap of at most ``target`` is proven, or as far as the budget allows; None if that is too far.

        Parameters
        ----------
        damping : float
            First guess of the damping.
        target : float
            The gap that ends the descent.
        budget : float
            Largest number of rows to read.
        """
        n, goal, best, last = self.problem.n, target, None, 1e-300
        budget = min(budget, MOST_PASSES * n)
        if self.rows_read + 3 * n > budget:
            return None
        damping = self._first_sweep(damping)
        visit, least = self.rng.permutation(n), np.inf
        while self.rows_read + len(visit) + n <= budget:
            gap, kept, least = self._sweep(visit, damping, least)
            visit = visit[:kept]
            if gap * min(1.0, gap / last) <= goal:  # the gap after the next sweep, if it falls as it did
                found = self._proven()
                best = found if best is None or found.gap < best.gap else best
                if best.gap <= target or gap == 0.0:
                    return best
                goal, visit = 0.5 * min(goal, gap), self._open_rows(found.at, least)
            damping, last = self._corrected(damping), max(gap, 1e-300)
            visit = self.rng.permutation(visit)
        return best or self._proven()

    def _first_sweep(self, damping: float) -> float:
        """Visit all rows, starting from a guess of the damping. Return a better one.

        The first part of the rows is a sample, whose optimum tells the damping. Then the sample also stands for the
        parts that have not been visited yet.
        """
        n, (few, *others) = self.problem.n, np.array_split(self.rng.permutation(self.problem.n), SAMPLED)
        share = len(few) / n
        damping *= share  # a sum over a part of the rows is smaller
        for _ in range(SAMPLE_SWEEPS):
            self._sweep(few, damping, np.inf)
            damping = self._corrected(damping)
        damping, (guess, slopes) = damping / share, (self.r.copy(), self.intercept[1])
        for k, part in enumerate(others):
            left = 1.0 / share - 1.0 - k
            self.r += left * guess
            self.intercept[1] += left * slopes
            self._sweep(part, damping, np.inf)
            self.r -= left * guess
            self.intercept[1] -= left * slopes
        return damping

    def _sweep(self, visit: np.ndarray, damping: float, least: float) -> tuple[float, int, float]:
        """Visit some rows. Return an estimate of the gap, and what `sweep` returns of the rows."""
        given = self.kinks, self.low, self.high, self.squares, self.alpha, self.r, self.intercept
        penalty = self.mean_square / damping if self.problem.intercept else 0.0
        self.rows_read += len(visit)
        found = sweep(self.problem.samples.rows, *given, damping, penalty, visit, least)
        self.intercept[0] -= penalty * self.intercept[1]
        return found

    def _corrected(self, damping: float) -> float:
        """Return the damping after a sweep. It tends to zero if the optimum is inside the ball."""
        ratio = float(np.linalg.norm(self.r)) / self.radius / damping
        return max(damping * ratio**CORRECTION, 1e-150) if np.isfinite(ratio) and ratio > 0.0 else damping

    def _open_rows(self, at: Point, least: float) -> np.ndarray:
        """Return the rows whose slope is not optimal at a point, or whose kink is at most ``least`` away."""
        off = at.shifted() - self.kinks
        return np.flatnonzero((self.alpha != np.where(off > 0.0, self.high, self.low)) | (np.abs(off) <= least))

    def _proven(self) -> Descent:
        """Return the point by the slopes, scaled to the boundary of the ball, and the gap that they prove."""
        problem, objective = self.problem, self.problem.objective
        size, alpha = float(np.linalg.norm(self.r)), self.alpha.copy()
        w = self.r * (-self.radius / size) if size > 0.0 else np.zeros(problem.size)
        at = objective.point(objective.predict(w), linear=objective.linear(w))
        if problem.intercept:
            alpha = balanced_slopes(problem.samples, alpha)
        gradient, residual = objective.gradient(alpha), objective.residuals(at, alpha)
        self.rows_read += problem.n
        gap = max(problem.gap_for(gradient, w, proof=True), 0.0) + residual
        return Descent(w, at, alpha, gradient, gap if problem.balances(alpha) else np.inf, residual)


@kernel
def row_squares(rows, squares, room):
    """Fill in the squared norms of all rows. ``room`` is zero before and after."""
    for i in range(len(squares)):
        row_add(rows, i, 1.0, room)
        squares[i] = row_dot(rows, i, room)
        row_add(rows, i, -1.0, room)


@kernel
def sweep(rows, kinks, low, high, squares, alpha, r, intercept, damping, penalty, visit, least):
    """Maximise the dual over one slope after the other, for the rows ``visit``.

    The derivative in ``alpha_i`` is ``off = z_i - k_i`` at the prediction ``z_i``. Rows whose slope is at the end that
    the sign of ``off`` demands are dropped if ``|off|`` is larger than ``least``; the others move to the front of
    ``visit``.

    Returns
    -------
    gap : float
        The sum of the Fenchel-Young residuals of the rows, each before its step.
    kept : int
        Number of rows that were not dropped.
    largest : float
        The largest ``|off|`` of a row whose slope was not optimal: the next ``least``.
    """
    gap, spread, kept = 0.0, 0.0, 0
    for k in range(len(visit)):
        i = visit[k]
        fetch_row(rows, visit[min(k + 4, len(visit) - 1)])
        off = intercept[0] - penalty * intercept[1] - row_dot(rows, i, r) / damping - kinks[i]
        before, end = alpha[i], high[i] if off > 0.0 else low[i]
        left = (end - before) * off
        if left == 0.0:
            if abs(off) > least:
                continue
        else:
            gap += left
            spread += left * abs(off)
        visit[kept] = i
        kept += 1
        curve = squares[i] / damping + penalty
        goal = end
        if curve > 0.0:
            goal = min(max(before + off / curve, low[i]), high[i])
        change = goal - before
        if change != 0.0:
            alpha[i] = goal
            intercept[1] += change
            row_add(rows, i, change, r)
    return gap, kept, 2.0 * spread / gap if gap > 0.0 else 0.0
