"""What steps cost, and how many of them a budget allows: their batches, and the whole passes between them."""

from typing import Any

import numpy as np

from frankwolfe.engines.exact_passes import ExactPasses

PLANNED_STEPS = 4096
"""Steps whose costs are added up in advance, where they differ."""

MOST_PLANNED = 2**20
"""Most steps whose costs are added up when a run starts, to know how many it will make."""


class StepPlan:
    """The steps ahead of a run: costs are in rows, that is, in gradient evaluations.

    Parameters
    ----------
    passes : ExactPasses
        Those between steps; also where the run is, and what it has cost.
    sampler : Sampler or GroupSampler
        Tells the sizes of batches.
    rows_a_step : int
        Rows that a step is charged for, where batches do not grow.
    least : int
        Rows that a step is charged for at least.
    budget : float
        Rows that the run may read.
    """

    def __init__(self, passes: ExactPasses, sampler: Any, rows_a_step: int, least: int, budget: float):
        self.passes, self.sampler, self.rows_a_step, self.least = passes, sampler, rows_a_step, least
        self.budget = budget
        self._n, self._intercept = passes.problem.n, passes.problem.intercept
        self._grows = passes.abilities.grows
        self._differ = self._grows or passes.abilities.takes_snapshots

    @property
    def left(self) -> float:
        """Rows that are left of the budget."""
        return self.budget - self.passes.rows_read

    def allows_snapshot(self) -> bool:
        """Whether the next step can be made with the snapshot before it."""
        return bool(self.passes.rows_read + self.costs(1)[0] <= self.budget)

    def allows_intercept(self, price: int) -> bool:
        """Whether the intercept can be made optimal at this price, and a step be made after it."""
        return self.passes.rows_read + price + self.rows_a_step <= self.budget

    def affordable(self, most: float) -> float:
        """Return the number of steps that the rest of the budget allows, or ``most`` if that is less."""
        left, ahead = self.left, 0.0
        if np.isfinite(left) and self._differ:
            costs = np.cumsum(self.costs(int(min(most, PLANNED_STEPS))))
            return float(np.searchsorted(costs, left + 1e-9, side="right"))
        if self._intercept and np.isfinite(left):
            n, period = self._n, self.intercept_period
            before = self.passes.next_intercept - self.passes.steps
            if left >= before * self.rows_a_step:
                left, ahead = left - before * self.rows_a_step, float(before)
                rounds = left // (n + period * self.rows_a_step)
                left, ahead = left - rounds * (n + period * self.rows_a_step), ahead + rounds * period
                left -= n if left >= n + self.rows_a_step else 0
        return float(min(most, ahead + np.floor(left / self.rows_a_step + 1e-9)))

    def horizon(self) -> float:
        """Return the number of steps that the budget allows, those of the distant future at the price of the others."""
        if not np.isfinite(self.budget) or not self._differ:
            return self.affordable(np.inf)
        steps, costs = PLANNED_STEPS, np.cumsum(self.costs(PLANNED_STEPS))
        while costs[-1] <= self.budget and steps < MOST_PLANNED:
            steps *= 4
            costs = np.cumsum(self.costs(steps))
        if costs[-1] <= self.budget:
            return float(steps * self.budget // costs[-1])
        return float(np.searchsorted(costs, self.budget + 1e-9, side="right"))

    def costs(self, steps: int) -> np.ndarray:
        """Rows that each of the next steps will be charged, with the whole passes before it."""
        made = self.passes.steps
        costs = self._batch_costs(made, steps)
        if self._intercept:
            read, at, left = np.cumsum(costs), self.passes.next_intercept - made, self.left
            while at < steps and left > 0.0:  # what comes after the budget's end is of no interest
                costs[at] += self._n
                left -= self._n
                whole = int(np.searchsorted(read, (read[at - 1] if at else 0) + self._n)) + 1
                at = min(at + self._longest_pass, whole)
        due = self.passes.steps_to_snapshot()
        while due < steps:
            costs[int(due)] += self._n
            due = self.passes.estimate.next_snapshot(made + int(due) + 2) - made - 1
        return costs

    def _batch_costs(self, before: int, steps: int) -> np.ndarray:
        """Rows that steps are charged for their batches, beginning after so many steps."""
        sizes = self.sampler.sizes(before + 1 + np.arange(steps + 1))
        return np.maximum(sizes[:-1] + self.sampler.ahead * sizes[1:], self.least)

    @property
    def intercept_period(self) -> int:
        """Steps from the next optimisation of the intercept to the one after it: those of a pass."""
        if not self._grows:
            return self._longest_pass
        read = np.cumsum(self._batch_costs(self.passes.next_intercept, self._longest_pass))
        return min(self._longest_pass, int(np.searchsorted(read, self._n)) + 1)

    @property
    def _longest_pass(self) -> int:
        """Steps of a pass, where batches have not grown yet."""
        return max(1, -(-self._n // self.rows_a_step))
