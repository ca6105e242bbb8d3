"""Dual bounds on ``F(w) - F*`` by any dual point ``alpha``, called slopes: one number per sample.

For a convex loss and any slopes ``alpha``, with ``r = X' alpha`` and weights ``p``, weak duality gives

    F(w) - F*  <=  max_s <r, w - s>  +  sum_i p_i (f_i(z_i) + f_i*(alpha_i / p_i) - alpha_i z_i / p_i).

With the slopes at ``w`` itself the second term is zero and the first is the Frank-Wolfe gap. The table of a stochastic
method is such slopes too, and mostly proves more: ``r`` averages over the last pass and swings less than the gradient
does, and the residuals are of second order in how stale the table is (docs/certificates.md). Other slopes also help
where rounding is in the way: a step too small to show in the weights can still show in the slopes. With a free
intercept the slopes must sum to zero (`balanced`).

`LowerBound` is the best proven lower bound of a run with its dual point. The prices of constraints follow from that: a
price says by how much the optimum falls for each unit by which a constraint is relaxed.
"""

from typing import Any

import numpy as np

from frankwolfe.arguments.types import PerRow, Weights
from frankwolfe.losses import has_dual
from frankwolfe.objective.intercept import balanced_slopes
from frankwolfe.objective.point import Point
from frankwolfe.objective.tasks import EPSILON, evaluate
from frankwolfe.problem import Problem
from frankwolfe.shards.local import Local


def slopes_after(problem: Problem, at: Any, curvatures: PerRow, d: np.ndarray) -> Any:
    """Return the slopes after a move of the weights by ``d``, to first order: ``alpha + D X d``.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    at : Point
        The point before the move.
    curvatures : array
        Weighted second derivatives ``D`` there: a number or a matrix per sample.
    d : array
        The move. It may be smaller than the rounding error of the weights.
    """
    objective, ahead, shift = problem.objective, problem.objective.predict(d), None
    if at.shift is not None:  # move the intercept, too, so that the slopes still sum to zero
        change, total = objective.shards.run(curved_sums, curvatures, ahead)
        if np.ndim(total):
            shift = np.linalg.lstsq(total, change, rcond=None)[0]
        else:
            shift = change / total if total > 0.0 else None
    return objective.shards.keep(moved_slopes, at.alpha, curvatures, ahead, shift)


def curved_sums(local: Local, curvatures: np.ndarray, ahead: np.ndarray) -> tuple:
    """Return the sums over samples of curvatures times a change of predictions, and of the curvatures."""
    if curvatures.ndim == 1:
        return float(curvatures @ ahead.ravel()), float(curvatures.sum())
    return np.einsum("icd,id->c", curvatures, ahead), curvatures.sum(axis=0)


def moved_slopes(local: Local, alpha: np.ndarray, curvatures: np.ndarray, ahead: np.ndarray, shift: Any) -> np.ndarray:
    """Return the slopes after a change ``ahead - shift`` of the predictions, to first order."""
    alpha, moved = alpha.reshape(local.samples.shape), ahead if shift is None else ahead - shift
    return alpha + (curvatures * moved if curvatures.ndim == 1 else np.einsum("icd,id->ic", curvatures, moved))


def dual_gap(problem: Problem, at: Point, w: np.ndarray, alpha: np.ndarray) -> float:
    """Return an upper bound on ``F(w) - F*`` by the slopes ``alpha``; infinite if they prove none.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    at : Point
        The point with the weights ``w``.
    w : array
        Flat weights.
    alpha : array
        Slopes, in the shape of the predictions.
    """
    if not has_dual(problem.loss) or not problem.balances(alpha):
        return np.inf
    left = problem.objective.residuals(at, alpha)
    if np.isinf(left):
        alpha = problem.objective.nearest_slopes(alpha)
        left = problem.objective.residuals(at, alpha)
        if np.isinf(left) or not problem.balances(alpha):
            return np.inf
    r = problem.objective.gradient(alpha)
    return max(problem.gap_for(r, w, proof=True), 0.0) + left


def bound_at(problem: Problem, w: np.ndarray, alpha: np.ndarray) -> tuple[float, float]:
    """Return `dual_gap` at the weights ``w`` and its rounding error. This takes a pass over the data."""
    if np.shape(alpha) != problem.samples.shape or not has_dual(problem.loss):
        return np.inf, 0.0
    objective = problem.objective
    at = objective.point(objective.predict(w), problem.zero_model, linear=objective.linear(w))
    return dual_gap(problem, at, w, alpha), problem.objective.gap_rounding(at, alpha)


def balanced(problem: Problem, at: Point, alpha: PerRow) -> Any:
    """Return a dual feasible point near ``alpha``: ``alpha`` itself or, with an intercept, slopes that sum to zero.

    The slopes are mixed with a fraction ``theta`` of the derivatives at predictions shifted by ``t``. Newton's method
    finds the ``t`` for which their sum vanishes:

        (1 - theta) sum_i alpha_i + theta sum_i p_i f_i'(z_i + t) = 0.

    The domain of a conjugate is convex, so the mixed slopes stay in it for any loss. ``theta`` is as small as possible.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    at : Point
        A point, with the optimal intercept.
    alpha : array
        Slopes, in the shape of the predictions.

    Returns
    -------
    array or None
        None if no such slopes were found.
    """
    proves, excess = problem.balance(alpha)
    if proves:
        return alpha
    if not problem.intercept or not np.isfinite(excess).all():
        return None
    if not problem.loss.smooth:
        mended = balanced_slopes(problem.samples, alpha)
        return mended if problem.balances(mended) else None
    objective, shift = problem.objective, at.shift
    assert shift is not None
    curve = objective.shift_curvature(at.z, shift)
    first = np.linalg.lstsq(curve, -excess, rcond=None)[0]
    size = objective.slope_sums(at.alpha)[2]
    trusted = size * len(excess) / np.trace(curve) if np.trace(curve) > 0.0 else np.inf
    # Shift the predictions by at most a tenth of the range of the linear model of the slopes: slopes at a larger shift
    # give a weaker bound. The range changes slopes by their own size, and is about 2 for a logistic loss.
    theta = min(1.0, float(np.abs(first).max()) / (0.1 * trusted)) if trusted > 0.0 else 1.0
    # Four Newton steps are usual. Each takes a sum over all samples.
    for _ in range(12):
        mixed = objective.shards.keep(mixed_slopes, alpha, at.z, shift, theta)
        proves, missing = problem.balance(mixed)
        if proves:
            return mixed
        step = np.linalg.lstsq(theta * curve, -missing, rcond=None)[0]
        if not np.isfinite(step).all():
            return None
        shift = shift + step
        curve = objective.shift_curvature(at.z, shift)
    return None


def mixed_slopes(local: Local, alpha: np.ndarray, z: np.ndarray, shift: np.ndarray, theta: float) -> np.ndarray:
    """Return ``(1 - theta) alpha`` plus ``theta`` times the derivatives at predictions with another intercept."""
    return (1.0 - theta) * alpha.reshape(local.samples.shape) + theta * evaluate(local, z, shift)[1]


# --- the best bound of a run, and prices ------------------------------------------------------------------------------


def sum_rounding(problem: Problem, value: float) -> float:
    """Return a bound on the rounding error of a value of the objective, which is a sum over all rows.

    A linear term may cancel the losses, so that the value is small and its rounding error is not.
    """
    return 4.0 * EPSILON * problem.n**0.5 * (abs(value) + 2.0 * problem.linear_reach)


FEASIBLE = 1e-14
"""Violation of a side constraint that may be the rounding error of its sum."""


class LowerBound:
    """The best proven lower bound on the optimum of a convex problem, and its dual point.

    A lower bound concerns the problem, not a point, so the best bound of a run is valid for all its iterates. A run has
    one: solver and certifier offer it the bounds that they prove. Without a convex loss it stays minus infinity.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.value = -np.inf
        self.slopes: np.ndarray | None = None
        self.multipliers: np.ndarray | None = None
        self.gradient: np.ndarray | None = None  # X' slopes, if it is known

    def offer(
        self, bound: float, slopes: PerRow, multipliers: np.ndarray | None = None, gradient: np.ndarray | None = None
    ) -> None:
        """Store a bound and copies of its dual point, with ``X' slopes`` if known, if it is the best so far.

        Slopes on a cluster are not stored.
        """
        if bound > self.value and self.problem.loss.convex:
            self.value, self.slopes = bound, slopes.copy() if isinstance(slopes, np.ndarray) else None
            self.multipliers = None if multipliers is None else multipliers.copy()
            if gradient is not None or self.slopes is not None:  # else that of an earlier bound is close to it
                self.gradient = gradient

    def offer_gap(
        self,
        value: float,
        gap: float,
        slopes: PerRow,
        multipliers: np.ndarray | None = None,
        gradient: np.ndarray | None = None,
    ) -> None:
        """Store the bound ``value - gap``, lowered by the rounding error of the value, if it is the best so far.

        A maximum over many bounds favours upward rounding errors, so ``gap`` should include its own rounding error.
        """
        self.offer(value - gap - sum_rounding(self.problem, value), slopes, multipliers, gradient)

    def gap(self, value: float, violation: float = 0.0) -> float:
        """Return ``value - bound``: how far an objective is above the optimum at most.

        Value and bound may agree to the last digit, so the rounding error of their difference is added. The gap may be
        negative where side constraints are violated: an infeasible point can have an objective below the optimum.
        """
        above = value - self.value + sum_rounding(self.problem, value)
        return max(above, 0.0) if violation <= FEASIBLE else above

    def prices(self, w: Weights) -> dict[str, Any]:
        """Return by how much the optimum falls as a constraint is relaxed (`Result.prices`); ``w`` is the answer."""
        problem, gradient = self.problem, self.gradient
        if gradient is None and self.slopes is not None:
            gradient = problem.objective.gradient(self.slopes)
        if gradient is None:
            return {}
        found, side = dict[str, Any](), problem.side
        if side is not None:
            multipliers = np.zeros(side.m) if self.multipliers is None else self.multipliers
            gradient, found = gradient + side.combined(multipliers), {"side": np.abs(multipliers)}
        constraint, structure, level = problem.constraint, problem.constraint.structure(), 0.0
        if constraint.own_radius() is not None:
            level = float(constraint.radius_price(-gradient))
            found = {"radius": self._binding(level, w)} | found
        ends = structure.ends()
        if ends is not None and isinstance(w, np.ndarray):
            hull, knapsack = structure.hull, structure.knapsack
            level = 0.0 if structure.bounds is not None else level
            fixed = (hull is not None and not hull.filled) or (knapsack is not None and knapsack.exhausted)
            found |= bound_prices(ends, gradient, w, level, fixed, problem.zero_value)
        return found

    def _binding(self, price: float, w: Weights) -> float:
        """Return the price of the radius, zero if ``w`` is farther from the edge than the price is from zero.

        Such a price is rounding. Distances are relative to the radius, prices to what the whole objective is worth.
        """
        constraint, value = self.problem.constraint, self.problem.zero_value
        by_columns = constraint.structure().hull is not None or constraint.structure().knapsack is not None
        if not (by_columns and isinstance(w, np.ndarray) and value > 0.0):
            return price
        return 0.0 if constraint.contains((1.0 + abs(price) * constraint.own_radius() / value) * w, 0.0) else abs(price)


def bound_prices(
    ends: tuple[Any, Any], gradient: np.ndarray, w: np.ndarray, level: float, fixed: bool, value: float
) -> dict[str, np.ndarray]:
    """Return by how much the optimum falls as bounds on single weights are relaxed.

    With the price ``level`` of the budget, weights minimise ``<gradient, w> + level |w|_1`` within their bounds, or,
    where their sum is ``fixed``, ``<gradient, w> + level sum(w)``. The price of a bound is the slope of that across it.
    A bound counts as binding if the weight is closer to it, in units of the largest weight, than the price is to zero,
    in those of the objective ``value``.
    """
    lower, upper = ends
    below = gradient + np.where((lower > 0.0) | fixed, level, -level)
    above = -gradient - np.where((upper >= 0.0) | fixed, level, -level)
    unit = float(np.abs(w).max(initial=0.0)) or 1.0
    size = value / unit if value > 0.0 else 1.0
    return {
        name: np.where((price > 0.0) & (np.abs(w - end) / unit < price / size), price, 0.0)
        for name, price, end in (("lower", below, lower), ("upper", above, upper))
    }
