"""What a run has proven of the optimum, and of a point: `LowerBound` and `Certificate`."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.objective.intercept import EPSILON
from frankwolfe.problem import Evaluation, Problem


def sum_rounding(problem: Problem, value: float) -> float:
    """Return what rounding may do to a value of the objective, a sum over all rows."""
    return 4.0 * EPSILON * problem.n**0.5 * abs(value)


class Certificate(NamedTuple):
    """What is proven of a point.

    Attributes
    ----------
    value : float
        The objective.
    gap : float
        How far it is above the optimum at most, for convex losses; for others the Frank-Wolfe gap.
    fw_gap : float
        The exact Frank-Wolfe gap; NaN where it was not taken.
    intercept : float, or array of shape (outputs,)
        The best one, where the problem has one; else zero.
    violation : float
        The largest relative violation of a side constraint; zero where there are none.
    distance : float
        The Euclidean distance of ``A w`` to the bounds of the side constraints; zero where there are none.
    """

    value: float
    gap: float
    fw_gap: float = np.nan
    intercept: Any = 0.0
    violation: float = 0.0
    distance: float = 0.0

    @property
    def by_bound(self) -> bool:
        """Whether a lower bound on the optimum proves more than the Frank-Wolfe gap."""
        return not self.fw_gap <= self.gap

    @classmethod
    def of(cls, found: Evaluation) -> "Certificate":
        """Return what an exact evaluation proves, side constraints aside."""
        return cls(found.value, found.gap, found.gap, found.intercept)

    def with_side(self, problem: Problem, w: Any) -> "Certificate":
        """Return the certificate with what the point ``w`` leaves of the side constraints."""
        if problem.side is None:
            return self
        flat = problem.flat("w", w)
        return self._replace(violation=problem.side.violation(flat), distance=problem.side.distance(flat))


class LowerBound:
    """The best proven lower bound on the optimum of a convex problem, and the slopes that prove it.

    Every bound that was proven in a run holds for all of it: they are about the problem, not about a point.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.value = -np.inf
        self.slopes: np.ndarray | None = None
        self.multipliers: np.ndarray | None = None
        self._convex = bool(problem.loss.convex)

    def offer(self, bound: float, slopes: np.ndarray | None, multipliers: np.ndarray | None = None) -> None:
        """Keep a bound if it is the best so far, and copies of the slopes and multipliers that prove it."""
        if self._convex and bound > self.value:
            # slopes that are on a cluster stay there, and are not kept
            self.value, self.slopes = bound, slopes.copy() if isinstance(slopes, np.ndarray) else None
            self.multipliers = None if multipliers is None else multipliers.copy()

    def offer_gap(self, value: float, gap: float, slopes: np.ndarray | None) -> None:
        """Keep what a point proves that is at most ``gap`` above the optimum, less what rounding may have added."""
        self.offer(value - gap - sum_rounding(self.problem, value), slopes)

    def lower(self, found: Certificate) -> Certificate:
        """Return a certificate with the distance to the bound for its gap, where that is smaller.

        The two may agree to the last digit, so what rounding may do to the difference is added to it. A point that does
        not keep to side constraints may be below the optimum of those who do.
        """
        above = found.value - self.value + sum_rounding(self.problem, found.value)
        least = 0.0 if self.problem.side is None else -np.inf
        return found._replace(gap=max(above, least)) if above < found.gap else found
