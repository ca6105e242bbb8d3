"""The engine: the arrays of one run, and the calls into the compiled loop that change them."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.data.centred import mean_prediction
from frankwolfe.engines.batches import Sampler
from frankwolfe.engines.loop import advance
from frankwolfe.methods.gradient import Gradient
from frankwolfe.methods.lifecycle import Setting, states_for_run
from frankwolfe.methods.table import Method
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.sets.atoms import connected


class Memory(NamedTuple):
    """What a finished run leaves for one that continues it.

    Attributes
    ----------
    steps : int
        Number of steps made, on which open-loop step sizes depend.
    rows : int
        Number of rows of the data: what follows is of use for as many rows only.
    estimate : state of a gradient estimate
        Its arrays, which a later run may take over by name.
    gradient : array
        The last gradient estimate.
    slopes : array, optional
        Slopes whose bound proves more than the gradient does (`frankwolfe.engines.dual_bound`).
    """

    steps: int
    rows: int
    estimate: Any
    gradient: np.ndarray
    slopes: np.ndarray | None = None


PLANNED_STEPS = 4096
"""Steps whose costs are added up in advance, where they differ."""


class Engine:
    """One run's state, advanced in place."""

    steady = True  # what the next steps cost is known beforehand
    stuck = spent = False  # its last step is known beforehand
    budget = float("inf")  # most gradient evaluations, for engines whose steps are not steady
    target = 0.0  # gap that will end the run, for engines that can aim at it

    def __init__(
        self,
        problem: Problem,
        method: Method,
        batch_size: int,
        generator: np.random.Generator,
        w: np.ndarray,
        memory: Memory | None = None,
    ):
        self.problem = problem
        self.clock = np.array([0 if memory is None else memory.steps, 0])  # steps; rows read by those of this run
        self._next_intercept = self.steps
        self._pass_cost = 0
        self._exact: tuple[int, Evaluation] | None = None
        self._intercept_at: Point | None = None
        if memory is not None and memory.rows != problem.n:
            memory = None  # other data: what was remembered of its rows means nothing here
        remembered = {} if memory is None else memory.estimate._asdict()
        self.abilities = method.estimate.abilities
        setting = Setting(problem.samples, batch_size, w, problem.constraint, remembered, self.steps, generator)
        self.parts = states_for_run(method, setting)
        self.evaluations = method.evaluations(problem.n, batch_size)
        self.batch_size = 0 if self.abilities.reads_all_rows else batch_size
        growing = self.parts[0].batch_sizes if self.abilities.grows else None
        ahead = self.abilities.reads_upcoming
        self.sampler = Sampler(problem.n, self.batch_size, generator, growing, self.steps + 1, ahead)
        self._least = problem.n if method.step.reads_all_rows else 0
        self.iterate, r = problem.first_iterate(w)
        r[:] = self._starting_gradient(memory)
        meter = np.zeros(2)
        tracker = connected(problem.constraint.tracker(problem.size), meter)
        self.gradient = Gradient(r, np.ones(1), meter, tracker)
        self.gradient.tracker.rebuild(r)

    def _starting_gradient(self, memory: Memory | None) -> np.ndarray:
        """Return ``X' alpha`` for an estimate with a table, else the ``r`` that the previous run left, else zeros."""
        if self.abilities.has_table and self.parts[0].alpha.any():
            return self.problem.objective.gradient(self.parts[0].alpha)
        if not self.abilities.has_table and memory is not None:
            return memory.gradient.copy()
        return np.zeros(self.problem.size)

    @property
    def steps(self) -> int:
        """Steps made, those of the run that is continued included."""
        return int(self.clock[0])

    def warm_up(self) -> None:
        """Compile, or load from the cache, without making a step."""
        self._advance(0)
        self.problem.head(1).evaluate(self.w())  # the exact pass too

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps; return how many were made (fewer only if something was not finite)."""
        before, goal = self.steps, self.steps + steps
        while self.steps < goal:
            if self.problem.intercept and self.steps == self._next_intercept:
                self._optimise_intercept()
            self._take_snapshot()
            stop = min(goal, self.steps + max(1.0, self.steps_to_certificate()))
            if self.problem.intercept:
                stop = min(stop, self._next_intercept)
            self._advance(int(stop) - self.steps)
            if self.steps < stop:
                break
            self._take_snapshot()  # at once: it may certify the iterate
        return self.steps - before

    def _advance(self, steps: int) -> int:
        """Make up to ``steps`` steps with the intercept as it is; return how many were made."""
        order, offsets = self.sampler.take(steps)
        before = self.steps
        advance(
            self.problem.samples,
            self.problem.constraint,
            self.parts,
            self.gradient,
            self.iterate,
            order,
            offsets,
            self.sampler.ahead or None,
            self._least,
            self.clock,
            steps,
        )
        return self.steps - before

    def w(self) -> np.ndarray:
        """Return the iterate as a new array."""
        return self.iterate.dense()

    @property
    def evaluated(self) -> int:
        """Gradient evaluations made by this engine: the rows that its steps have read, and whole passes."""
        return int(self.clock[1]) + self._pass_cost

    def affordable_steps(self) -> float:
        """Return the number of steps that the rest of the budget allows."""
        left, ahead = self.budget - self.evaluated, 0.0
        if np.isfinite(left) and (self.abilities.grows or self.abilities.takes_snapshots):
            return float(np.searchsorted(np.cumsum(self._planned_costs(PLANNED_STEPS)), left + 1e-9, side="right"))
        if self.problem.intercept and np.isfinite(left):
            n, period = self.problem.n, self._intercept_period
            before = self._next_intercept - self.steps
            if left >= before * self.evaluations:
                left, ahead = left - before * self.evaluations, float(before)
                rounds = left // (n + period * self.evaluations)
                left, ahead = left - rounds * (n + period * self.evaluations), ahead + rounds * period
                left -= n if left >= n + self.evaluations else 0
        return float(ahead + np.floor(left / self.evaluations + 1e-9))

    def _planned_costs(self, steps: int) -> np.ndarray:
        """Gradient evaluations that each of the next steps will be charged, with the whole passes before it."""
        numbers = self.steps + 1 + np.arange(steps + 1)
        sizes = self.sampler.sizes(numbers)
        costs = np.maximum(sizes[:-1] + self.sampler.ahead * sizes[1:], self._least)
        if self.problem.intercept:
            before = numbers[:-1] - 1 - self._next_intercept
            costs[(before >= 0) & (before % self._intercept_period == 0)] += self.problem.n
        due = self.steps_to_certificate()
        while due < steps:
            costs[int(due)] += self.problem.n
            due = self.parts[0].next_snapshot(self.steps + int(due) + 2) - self.steps - 1
        return costs

    def steps_to_certificate(self) -> float:
        """Return the number of steps until a snapshot will tell the exact gap; infinity if none is planned."""
        if not self.abilities.takes_snapshots:
            return np.inf
        first = self.steps + (2 if self.certifies else 1)
        return float(self.parts[0].next_snapshot(first) - self.steps - 1)

    @property
    def certifies(self) -> bool:
        """Whether the exact gap at the iterate is known: that of a snapshot."""
        return self._exact is not None and self._exact[0] == self.steps

    def _take_snapshot(self) -> None:
        """Take the exact gradient at the iterate, if the estimate is due it and a pass is left."""
        if self.steps_to_certificate() != 0 or self.evaluated + self._planned_costs(1)[0] > self.budget:
            return
        self._pass_cost += self.problem.n
        found = self.problem.evaluate(self.w())
        self._exact = self.steps, found
        if self.problem.intercept:
            rows, shift = self.problem.samples.rows, self.problem.samples.loss.shift
            shift[:] = found.intercept + mean_prediction(rows, self.w())
        self._renew(found.alpha, found.gradient)
        if not np.isfinite(self.gradient.r).all():
            self.gradient.meter[0] = np.nan  # the loop stops on it

    def _renew(self, alpha: np.ndarray, exact: np.ndarray) -> None:
        """Make what is remembered of the data exact: derivatives of all samples and the gradient."""
        gradient = self.gradient
        self.parts[0].renew(alpha)
        gradient.r[:] = exact.ravel() / gradient.scale[0]
        gradient.tracker.rebuild(gradient.r)

    @property
    def _intercept_period(self) -> int:
        """Steps from one optimisation of the intercept to the next: those of a pass."""
        return max(1, -(-self.problem.n // self.evaluations))

    def evaluate(self) -> Evaluation:
        """Exact objective, gradient and gap at the iterate: a pass over the data, unless a snapshot was just taken."""
        if self._exact is not None and self.certifies:
            return self._exact[1]
        return self.problem.evaluate(self.w())

    def _optimise_intercept(self) -> None:
        """Make the intercept the best one for the iterate, and what is remembered of it exact, if a pass is left.

        This happens at fixed steps, whoever looks on. At zero it costs nothing: all predictions are known.
        """
        samples, w = self.problem.samples, self.w()
        cost = self.problem.n if w.any() else 0
        self._next_intercept += self._intercept_period
        if self.certifies:
            return  # a snapshot has just done both
        if self.evaluated + cost + self.evaluations > self.budget:
            return
        self._pass_cost += cost
        objective = self.problem.objective
        z = objective.predict(w) if cost else samples.table()
        at = self._intercept_at = objective.point(z, self._intercept_at or self.problem.guess)
        samples.loss.shift[:] = at.shift
        if self.abilities.exact_table and cost:
            alpha = at.alpha.reshape(samples.shape)
            self._renew(alpha, objective.gradient(alpha))

    def proven(self, found: Evaluation) -> Evaluation:
        """Return what was found: no other bound than its gap is kept."""
        return found

    def gap_estimate(self) -> float:
        """Return ``max_s <r, w - s>`` for the current ``r``: what the exact gap would be if ``r`` were the gradient."""
        return self.problem.gap_for(self.gradient.dense(), self.w())

    def meter(self) -> tuple[int, float] | None:
        """Return steps and sum of table changes so far, for an estimate whose changes sample the table's error."""
        if not self.abilities.samples_error:
            return None
        return self.steps, float(self.gradient.meter[0])

    def table_error(self, since: tuple[int, float]) -> float:
        """Estimate ``H = ||alpha - grad f||_1`` from the changes made since a reading of the meter, at no cost.

        A step refreshes ``b`` of ``n`` rows picked at random, so what it changes in the table is, in expectation, the
        part ``b / n`` of the table's error. `theory.Diameters.inf` times this is an error bar for the estimated gap.
        """
        steps = self.steps - since[0]
        if steps == 0:
            return float("inf")
        return (float(self.gradient.meter[0]) - since[1]) / steps * self.problem.n / self.batch_size

    def memory(self) -> Memory:
        """Return what a later run can continue from."""
        return Memory(self.steps, self.problem.n, self.parts[0], self.gradient.dense())

    def first_bad_row(self) -> int | None:
        """Row whose remembered derivative is not finite, if there is one."""
        if not self.abilities.has_table or np.isfinite(self.parts[0].alpha).all():
            return None
        return int(np.argwhere(~np.isfinite(self.parts[0].alpha))[0, 0])
