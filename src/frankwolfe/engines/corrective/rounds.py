"""What engines that go in rounds share: an exact gradient, which certifies, then as much correction as it is worth."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from frankwolfe.engines.dual_bound import can_bound, dual_gap
from frankwolfe.engines.stepwise import Memory
from frankwolfe.methods.estimates import FullGradientState
from frankwolfe.objective.intercept import EPSILON
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem

NOISE = 1e-14
"""Part of the objective, and of what predictions contribute to it, below which differences are rounding."""

CANCELLED = 0.1
"""Part of the largest prediction that may be left on a way before predictions are made anew."""

SLOW = 0.2
"""Part of the gap that a round may leave and still count as on its way: Newton steps that converge leave far less."""


class RoundEngine(ABC):
    """An engine with the interface of `frankwolfe.engines.stepwise.Engine` whose steps are rounds."""

    steady = False  # a round makes as many inner passes as it needs
    certifies = True  # the exact gradient that ends a round also begins the next

    def __init__(self, problem: Problem, memory: Memory | None):
        self.problem = problem
        self.clock = np.array([0 if memory is None else memory.steps])
        self.batch_size, self.evaluations, self.evaluated = 0, problem.n, 0
        self.stuck, self.budget, self.target, self.scale = False, np.inf, 0.0, np.nan
        self.at: Any = None
        self._forget_bounds()
        self._found: Evaluation | None = None

    def _forget_bounds(self) -> None:
        """Begin anew with what is known of the optimum."""
        self.gap, self.slow = np.inf, False  # the last exact one, and whether it fell by little
        self.lower_bound = -np.inf
        self.slopes: np.ndarray | None = None  # that prove it, unless they are those at a point of the run

    @abstractmethod
    def warm_up(self) -> None:
        """Compile, or load from the cache, without a round."""

    @abstractmethod
    def w(self) -> Any:
        """Return the iterate, as the problem keeps its weights."""

    @abstractmethod
    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""

    @abstractmethod
    def _round(self, found: Evaluation) -> None:
        """Make a round; ``_found`` is what is known of the iterate afterwards, if anything."""

    @property
    def steps(self) -> int:
        """Rounds made, those of the run that is continued included."""
        return int(self.clock[0])

    @property
    def spent(self) -> bool:
        """Whether the budget allows no further pass."""
        return self.evaluated + self.problem.n > self.budget

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` rounds; return how many were made (fewer only if something was not finite)."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what overflows shows in the objective
            for made in range(steps):
                found = self._exact()
                if not np.isfinite(found.value) or np.isnan(found.gap) or (np.isinf(found.gap) and self.at.stationary):
                    return made
                if self.at.stationary:
                    self._round(found)
                    self.slow = self.slow or self._found is found
                else:
                    self.stuck = True  # no best intercept was found: its slope jumps, and no step would mend that
                self.clock[0] += 1
        return steps

    def steps_to_certificate(self) -> float:
        """Return 1: every round ends with the exact gap."""
        return 1.0

    def evaluate(self) -> Evaluation:
        """Return the exact evaluation at the iterate.

        Where rounds hardly lower the gap any more, and the best lower bound proves enough, the gap is the distance to
        that. As long as rounds do, a better point is a round away.
        """
        found = self._exact()
        return self.proven(found) if self.slow else found

    def _exact(self) -> Evaluation:
        """Return the exact evaluation at the iterate: one pass over the data, remembered until the next round."""
        if self._found is None:
            gradient, gap = self._evaluate()
            alpha = self.at.alpha.reshape(self.problem.samples.shape)
            gap = self.at.proven(0.0 if gap < 0.0 else gap)
            self.slow, self.gap = gap > SLOW * self.gap, gap
            self._raise_bound(self.at, gap)
            if self.at.value <= 2.0 * self.target < gap and can_bound(self.problem):
                # nearly nothing is left: no slopes at all prove that the objective falls no lower than its losses can
                nothing = np.zeros(self.problem.samples.shape)
                self._raise_bound(self.at, dual_gap(self.problem, self.at, self.w(), nothing), nothing)
            self._found = Evaluation(self.at.value, gradient, gap, alpha, self.problem.shift_of(self.at, self.w()))
        return self._found

    def proven(self, found: Evaluation) -> Evaluation:
        """Return what was found; with the distance to the best lower bound, where only that meets the target.

        It helps where rounding is in the way: the last digit of the weights may change the gap by more than the target,
        and changes the objective by far less.
        """
        above = max(0.0, found.value - self.lower_bound + self._sum_rounding(found.value))
        enough = self.target > 0.0 and above <= self.target < found.gap
        return found._replace(gap=above, by_bound=True) if enough else found

    def _raise_bound(self, at: Point, gap: float, slopes: np.ndarray | None = None) -> None:
        """Take note that the optimum of a convex problem is no lower than a value less its gap, by some slopes.

        The largest of many bounds is kept, so each is lowered by what rounding may have added to it.
        """
        bound = at.value - gap - self._sum_rounding(at.value)
        if not getattr(self.problem.loss, "convex", False) or not bound > self.lower_bound:
            return
        bound -= 4.0 * EPSILON * float(np.abs(at.alpha * at.z).sum())
        if bound > self.lower_bound:
            self.lower_bound, self.slopes = bound, slopes

    def _sum_rounding(self, value: float) -> float:
        """Return what rounding may do to a value of the objective, a sum over all rows."""
        return 4.0 * EPSILON * self.problem.n**0.5 * abs(value)

    def _judge(self, z: np.ndarray) -> Point:
        """Evaluate the objective where the predictions are ``z``; charged as a pass."""
        self.evaluated += self.problem.n
        at = self.problem.objective.point(z, self.at or self.problem.guess)
        self.scale = self.scale if self.scale > 0.0 else abs(at.value) or 1.0
        return at

    def _noise(self) -> float:
        """Return what rounding may do to the objective: to its sum, and to the predictions."""
        return NOISE * (abs(self.at.value) + float(np.abs(self.at.alpha * self.at.z).sum()))

    def _rise(self, there: Point) -> float:
        """Return how much the objective is higher elsewhere, summed sample by sample: sums lose small differences."""
        return float(self.problem.samples.weights @ (there.losses - self.at.losses))

    def _search_toward(
        self,
        images: np.ndarray,
        fall: float,
        end: Point | None = None,
        predict: Callable[[float], np.ndarray] | None = None,
    ) -> tuple[float, Point] | None:
        """Look for a point where the objective has fallen and is about level, on the way to where predictions are told.

        Returns how much of the way that is, and the point; None if there is none. ``fall`` is minus the slope here,
        ``end`` the end of the way where that has been judged before. ``predict`` predicts anew for a part of the way:
        where predictions become much smaller, sums on the way would keep the rounding of the large ones.
        """
        z, best, lower = self.at.z, None, None
        ahead = images - z
        large = CANCELLED * float(np.abs(z).max(initial=0.0))

        def on_the_way(gamma: float) -> np.ndarray:
            found = z + gamma * ahead
            return found if predict is None or np.abs(found).max(initial=0.0) >= large else predict(gamma)

        gamma, low, high, low_slope, high_slope = 1.0, 0.0, 1.0, -fall, np.inf
        for _ in range(40):
            there = end if end is not None else self._judge(images if gamma == 1.0 else on_the_way(gamma))
            end = None
            slope = float(there.alpha @ ahead)
            if there.value <= self.at.value - 0.1 * gamma * fall and (best is None or there.value < best[1].value):
                best = gamma, there
            if there.value < (self.at if lower is None else lower[1]).value:
                lower = gamma, there
            if self.spent or (best is not None and _level_enough(gamma, best[0], slope, fall, low, high)):
                break
            if slope < 0.0 and np.isfinite(there.value):
                low, low_slope = gamma, slope
            else:
                high, high_slope = gamma, slope
            share = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.5
            gamma = low + min(0.7, max(0.2, share)) * (high - low)
        if best is None and lower is not None and self._rise(lower[1]) < -self._noise():
            return lower  # round a sharp bend less is to be had than the slope before it promised
        return best

    def gap_estimate(self) -> float:
        """Return the exact gap, which the next round needs anyway."""
        return self.evaluate().gap

    def meter(self) -> tuple[int, float] | None:
        """Return None: there is no table whose error could be metered."""
        return None

    def table_error(self, since: Any) -> float:
        """Return NaN: there is no table."""
        return float("nan")

    def memory(self) -> Memory:
        """Return what a later run can continue from."""
        found = self.evaluate()
        return Memory(self.steps, self.problem.n, FullGradientState(found.alpha), found.gradient, self.slopes)

    def first_bad_row(self) -> int | None:
        """Row whose derivative is not finite, if there is one."""
        bad = np.argwhere(~np.isfinite(self.evaluate().alpha))
        return int(bad[0, 0]) if bad.size else None


def _level_enough(gamma: float, best: float, slope: float, fall: float, low: float, high: float) -> bool:
    """Whether to end a search: the best point is about level, or the objective still falls at the far end."""
    if gamma == 1.0:
        return best == 1.0 and slope <= 0.5 * fall
    return (best == gamma and abs(slope) <= 0.5 * fall) or high - low < 0.1 * high
