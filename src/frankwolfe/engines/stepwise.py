"""The engine: the arrays of one run, and the calls into the compiled loop that change them."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.engines.loop import advance, deal
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


class Sampler:
    """Deals batches: rows drawn uniformly, none twice within a batch, batches independent of each other.

    The numbers come from one NumPy generator in one stream, so the batches do not depend on how many are asked for at
    a time, and every method sees the same rows for the same seed.
    """

    def __init__(self, n: int, batch_size: int, generator: np.random.Generator):
        self.batch_size = batch_size
        self._generator = generator
        self._deck = np.arange(n)

    def draw(self, steps: int) -> np.ndarray:
        """Rows of the next ``steps`` batches, one batch after the other."""
        if self.batch_size == 0:
            return np.empty(0, dtype=np.int64)
        uniform = self._generator.random((steps, self.batch_size))
        if self.batch_size == 1:
            return (uniform[:, 0] * len(self._deck)).astype(np.int64)
        order = np.empty(uniform.size, dtype=np.int64)
        deal(uniform, self._deck, order)
        return order


class Engine:
    """One run's state, advanced in place."""

    steady = True  # every step costs the same
    certifies = False  # an exact gap costs a pass of its own
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
        self.clock = np.array([0 if memory is None else memory.steps])
        self._first_step = self._next_intercept = self.steps
        self._intercept_cost = 0
        self._intercept_at: Point | None = None
        if memory is not None and memory.rows != problem.n:
            memory = None  # other data: what was remembered of its rows means nothing here
        remembered = {} if memory is None else memory.estimate._asdict()
        self.abilities = method.estimate.abilities
        self.parts = states_for_run(method, Setting(problem.samples, batch_size, w, problem.constraint, remembered))
        self.evaluations = method.evaluations(problem.n, batch_size)
        self.batch_size = 0 if self.abilities.reads_all_rows else batch_size
        self.sampler = Sampler(problem.n, self.batch_size, generator)
        self.iterate, r = problem.first_iterate(w)
        r[:] = self._starting_gradient(memory)
        meter = np.zeros(1)
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
        if not self.problem.intercept:
            return self._advance(steps)
        before, goal = self.steps, self.steps + steps
        while self.steps < goal:
            if self.steps == self._next_intercept:
                self._optimise_intercept()
            stop = min(goal, self._next_intercept)
            self._advance(stop - self.steps)
            if self.steps < stop:
                break
        return self.steps - before

    def _advance(self, steps: int) -> int:
        """Make up to ``steps`` steps with the intercept as it is; return how many were made."""
        order = self.sampler.draw(steps)
        before = self.steps
        advance(
            self.problem.samples,
            self.problem.constraint,
            self.parts,
            self.gradient,
            self.iterate,
            order,
            self.batch_size,
            self.clock,
            steps,
        )
        return self.steps - before

    def w(self) -> np.ndarray:
        """Return the iterate as a new array."""
        return self.iterate.dense()

    @property
    def evaluated(self) -> int:
        """Gradient evaluations made by this engine."""
        return (self.steps - self._first_step) * self.evaluations + self._intercept_cost

    def affordable_steps(self) -> float:
        """Return the number of steps that the rest of the budget allows."""
        left, ahead = self.budget - self.evaluated, 0.0
        if self.problem.intercept and np.isfinite(left):
            n, period = self.problem.n, self._intercept_period
            before = self._next_intercept - self.steps
            if left >= before * self.evaluations:
                left, ahead = left - before * self.evaluations, float(before)
                rounds = left // (n + period * self.evaluations)
                left, ahead = left - rounds * (n + period * self.evaluations), ahead + rounds * period
                left -= n if left >= n + self.evaluations else 0
        return float(ahead + np.floor(left / self.evaluations + 1e-9))

    @property
    def _intercept_period(self) -> int:
        """Steps from one optimisation of the intercept to the next: those of a pass."""
        return max(1, -(-self.problem.n // self.evaluations))

    def evaluate(self) -> Evaluation:
        """Exact objective, gradient and gap at the iterate: a pass over the data."""
        return self.problem.evaluate(self.w())

    def _optimise_intercept(self) -> None:
        """Make the intercept the best one for the iterate, and what is remembered of it exact, if a pass is left.

        This happens at fixed steps, whoever looks on. At zero it costs nothing: all predictions are known.
        """
        samples, gradient, w = self.problem.samples, self.gradient, self.w()
        cost = self.problem.n if w.any() else 0
        self._next_intercept += self._intercept_period
        if self.evaluated + cost + self.evaluations > self.budget:
            return
        self._intercept_cost += cost
        objective = self.problem.objective
        z = objective.predict(w) if cost else samples.table()
        at = self._intercept_at = objective.point(z, self._intercept_at or self.problem.guess)
        samples.loss.shift[:] = at.shift
        if self.abilities.exact_table and cost:
            alpha = at.alpha.reshape(samples.shape)
            self.parts[0].renew(alpha)
            gradient.r[:] = objective.gradient(alpha) / gradient.scale[0]
            gradient.tracker.rebuild(gradient.r)

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
