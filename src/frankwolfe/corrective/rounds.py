"""What engines that go in rounds share: an exact gradient, which certifies, then as much correction as it is worth."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from frankwolfe.engine import Memory
from frankwolfe.gradients import FullGradient
from frankwolfe.objective import Point
from frankwolfe.problem import Evaluation, Problem


class RoundEngine(ABC):
    """An engine with the face of `frankwolfe.engine.Engine` whose steps are rounds."""

    steady = False  # a round makes as many inner passes as it needs
    certifies = True  # the exact gradient that ends a round also begins the next

    def __init__(self, problem: Problem, memory: Memory | None):
        self.problem = problem
        self.clock = np.array([0 if memory is None else memory.steps])
        self.batch_size, self.evaluations, self.evaluated = 0, problem.n, 0
        self.stuck, self.budget, self.target, self.scale = False, np.inf, 0.0, np.nan
        self.at: Any = None
        self._found: Evaluation | None = None

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
                found = self.evaluate()
                if not np.isfinite(found.value) or np.isnan(found.gap) or (np.isinf(found.gap) and self.at.stationary):
                    return made
                if self.at.stationary:
                    self._round(found)
                else:
                    self.stuck = True  # no best intercept was found: its slope jumps, and no step would mend that
                self.clock[0] += 1
        return steps

    def evaluate(self) -> Evaluation:
        """Return the exact evaluation at the iterate: one pass over the data, remembered until the next round."""
        if self._found is None:
            gradient, gap = self._evaluate()
            alpha = self.at.alpha.reshape(self.problem.samples.shape)
            gap = self.at.proven(0.0 if gap < 0.0 else gap)
            self._found = Evaluation(self.at.value, gradient, gap, alpha, self.problem.shift_of(self.at, self.w()))
        return self._found

    def _judge(self, z: np.ndarray) -> Point:
        """Evaluate the objective where the predictions are ``z``; charged as a pass."""
        self.evaluated += self.problem.n
        at = Point.at(self.problem.samples, z, self.at)
        self.scale = self.scale if self.scale > 0.0 else abs(at.value) or 1.0
        return at

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
        return Memory(self.steps, self.problem.n, FullGradient(found.alpha), found.gradient)

    def first_bad_row(self) -> int | None:
        """Row whose derivative is not finite, if there is one."""
        bad = np.argwhere(~np.isfinite(self.evaluate().alpha))
        return int(bad[0, 0]) if bad.size else None
