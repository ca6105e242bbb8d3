"""`LowerBound`: the best proven lower bound of a run with its dual point, and the prices that follow from it.

A price says by how much the optimum falls for each unit by which a constraint is relaxed: it is a multiplier of the
dual point that proves the bound.
"""

from typing import Any

import numpy as np

from frankwolfe.objective.tasks import EPSILON
from frankwolfe.problem import Problem


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
        self, bound: float, slopes: Any, multipliers: np.ndarray | None = None, gradient: np.ndarray | None = None
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
        slopes: Any,
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

    def prices(self, w: Any) -> dict[str, Any]:
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

    def _binding(self, price: float, w: Any) -> float:
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
