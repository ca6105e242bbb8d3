"""Full passes between steps (optimal intercepts, snapshots of the exact gradient), and the planning of the budget."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.arguments.types import Weights
from frankwolfe.methods.base import EstimateDefaults
from frankwolfe.objective.point import Guess, Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.solvers.dual_bound import LowerBound
from frankwolfe.solvers.state import built, flat, require_entries


class ExactPasses:
    """The passes over all rows that a run makes between two steps.

    An intercept is optimised for the iterate at fixed steps. A snapshot computes the exact gradient before the steps
    that the estimate specifies. It also optimises the intercept, and certifies the iterate.

    Parameters
    ----------
    problem : Problem
        The problem to minimise. The passes set the intercept in its loss.
    estimate : NamedTuple
        The state of the gradient estimate.
    chosen : EstimateDefaults
        Properties of the estimate.
    clock : array of two int
        Number of steps, and of rows that the steps of this run have read. Shared with the solver.
    every_step : bool
        Whether every step begins with a pass, which also optimises the intercept.
    """

    def __init__(
        self, problem: Problem, estimate: Any, chosen: EstimateDefaults, clock: np.ndarray, every_step: bool = False
    ):
        self.problem, self.estimate, self.chosen, self.clock = problem, estimate, chosen, clock
        self.intercept, self._every_step = problem.intercept and not every_step, every_step
        self.next_intercept = self.steps
        self.cost = 0  # rows
        self.left_out = False  # whether a pass was skipped because the budget was exhausted
        self._exact: tuple[int, Evaluation] | None = None
        self._at: tuple[int, Point] | None = None
        self.bound = LowerBound(problem)
        self._guess: Guess | None = None  # of the intercept: the one found last

    @property
    def steps(self) -> int:
        """Steps made, those of the run that is continued included."""
        return int(self.clock[0])

    @property
    def rows_read(self) -> int:
        """Gradient evaluations made: the rows that steps have read, and whole passes."""
        return int(self.clock[1]) + self.cost

    def steps_to_snapshot(self) -> float:
        """Return the number of steps until the next planned snapshot; infinity if there is none."""
        if self.chosen.state.next_snapshot is None:
            return np.inf
        first = self.steps + (2 if self.certificate() is not None else 1)
        return float(self.estimate.next_snapshot(first) - self.steps - 1)

    def steps_to_certificate(self) -> float:
        """Return the number of steps until the next exact gap; infinity if none is planned.

        The optimisation of an intercept may change the plan, so the result never reaches beyond it.
        """
        if self.chosen.state.next_snapshot is None or not self.intercept:
            return self.steps_to_snapshot()
        return min(self.steps_to_snapshot(), max(1.0, self.next_intercept - self.steps))

    def steps_to_pass(self) -> float:
        """Return the number of steps, one at least, until the next pass is due; infinity if none is planned."""
        ahead = max(1.0, self.steps_to_snapshot())
        return min(ahead, self.next_intercept - self.steps) if self.intercept else ahead

    def certificate(self) -> Evaluation | None:
        """Return the exact evaluation of the iterate, if there is one."""
        return self._exact[1] if self._exact is not None and self._exact[0] == self.steps else None

    def snapshot(self, w: Weights) -> Evaluation:
        """Return the exact evaluation of the iterate ``w``, with the optimal intercept. It counts as a pass."""
        self.cost += self.problem.n
        return self.exact(w)

    def exact(self, w: Weights) -> Evaluation:
        """Return the exact evaluation of the iterate ``w``, with the optimal intercept. It is cached for this step."""
        known = self.certificate()
        if known is not None:
            return known
        at, gradient = self.pass_at(w)
        found = self.problem.evaluation(at, gradient, w)
        self._exact = self.steps, found
        if self._every_step:  # there are steps between two certificates, and line searches need the predictions
            self.bound.offer_gap(found.value, found.gap + found.rounding, found.alpha)
            self._at = self.steps, at
        return found

    def pass_at(self, w: Weights) -> tuple[Point, np.ndarray]:
        """Return the point at the iterate ``w``, with the optimal intercept, and the gradient there."""
        at, gradient = self.problem.objective.at(w, self._start if self.problem.intercept else None)
        self._note_intercept(at)
        return at, gradient

    def predictions(self, w: Weights) -> Any:
        """Return the predictions at the iterate ``w``."""
        if self._at is not None and self._at[0] == self.steps:
            return self._at[1].z
        return self.problem.objective.predict(w)

    @property
    def _start(self) -> Any:
        """Starting point of the search for an intercept."""
        return self._guess or self.problem.guess

    def _note_intercept(self, at: Point) -> None:
        """Set the intercept of the loss to that of a point, and start the next search there."""
        if self.problem.intercept:
            assert at.shift is not None and at.mean is not None  # noqa: PT018 - there is an intercept
            self._guess = Guess(at.shift, at.mean, at.curve)
            self.problem.samples.loss.shift[:] = at.shift

    def price_of_intercept(self, w: Weights) -> int:
        """Return the cost of the optimal intercept, in rows. It is zero at ``w = 0``, where predictions are zero."""
        return self.problem.n if w.any() else 0

    def optimise_intercept(self, w: Weights) -> Point:
        """Optimise the intercept for the iterate ``w``. Return the point there."""
        objective, cost = self.problem.objective, self.price_of_intercept(w)
        self.cost += cost
        z = objective.predict(w) if cost else objective.zeros()
        at = objective.point(z, self._start, linear=objective.linear(w))
        self._note_intercept(at)
        return at

    def state(self) -> dict[str, Any]:
        """Return the state from which `restore` continues. Arrays are not copied."""
        found: dict[str, Any] = {"next_intercept": self.next_intercept, "rows_read_in_passes": self.cost}
        if self.problem.intercept:
            found["shift"] = self.problem.samples.loss.shift
        return found | flat("intercept", self._guess) | flat("snapshot", self.certificate())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state. The clock must have been restored already."""
        self.next_intercept, self.cost = state["next_intercept"], state["rows_read_in_passes"]
        require_entries(self.problem, state)
        if self.intercept and self.next_intercept < self.steps:
            raise ValueError("its next intercept was due before the step that it has come to")
        if "snapshot.value" in state:
            self._exact = self.steps, built(Evaluation, "snapshot", state)
        if "intercept.shift" in state:
            self._guess = built(Guess, "intercept", state)
        if self.problem.intercept:
            self.problem.samples.loss.shift[:] = state["shift"]


PLANNED_STEPS = 4096
"""Number of steps whose costs are summed in advance, if steps differ in cost."""

MOST_PLANNED = 2**20
"""Maximum number of steps whose costs are summed at the start of a run, to find its number of steps."""


class StepPlan:
    """Planning of future steps within a budget. Costs are in rows, that is, in gradient evaluations.

    Parameters
    ----------
    passes : ExactPasses
        The passes between steps, with the step number and the cost so far.
    sampler : WholeData, ShardGroups or TaskSteps
        Has the sizes of batches.
    rows_a_step : int
        Cost of a step if batches do not grow.
    least : int
        Smallest cost of a step.
    budget : float
        Number of rows that the run may read.
    """

    def __init__(self, passes: ExactPasses, sampler: Any, rows_a_step: int, least: int, budget: float):
        self.passes, self.sampler, self.rows_a_step, self.least = passes, sampler, rows_a_step, least
        self.budget = budget
        self._n, self._intercept = passes.problem.n, passes.intercept
        self._grows = passes.chosen.state.batch_sizes is not None
        self._differ = self._grows or passes.chosen.state.next_snapshot is not None

    @property
    def left(self) -> float:
        """Rows that are left of the budget."""
        return self.budget - self.passes.rows_read

    def allows_pass(self, price: int) -> bool:
        """Whether the budget allows a pass at this price and a step after it."""
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
        """Return the number of steps that the whole budget allows. Beyond `MOST_PLANNED` steps it is extrapolated."""
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
        """Return the cost of each of the next steps, including the full passes before it."""
        made = self.passes.steps
        costs = self._batch_costs(made, steps)
        if self._intercept:
            read, at, left = np.cumsum(costs), self.passes.next_intercept - made, self.left
            while at < steps and left > 0.0:  # stop where the budget is exhausted
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
        """Return the cost of the batches of the ``steps`` steps after number ``before``."""
        sizes = self.sampler.sizes(before + 1 + np.arange(steps + 1))
        return np.maximum(sizes[:-1] + self.sampler.ahead * sizes[1:], self.least)

    @property
    def intercept_period(self) -> int:
        """Number of steps between the next two optimisations of the intercept: about one pass."""
        if not self._grows:
            return self._longest_pass
        read = np.cumsum(self._batch_costs(self.passes.next_intercept, self._longest_pass))
        return min(self._longest_pass, int(np.searchsorted(read, self._n)) + 1)

    @property
    def _longest_pass(self) -> int:
        """Number of steps of a pass with batches of the initial size."""
        return max(1, -(-self._n // self.rows_a_step))
