"""The stepwise engine: the arrays of one run, and the calls into the compiled loop that change them."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from frankwolfe.data.centred import mean_prediction
from frankwolfe.engines.batches import Sampler, Sizes
from frankwolfe.engines.loop import advance
from frankwolfe.engines.sampled_gap import SampledGap, sampled_gap, sum_rows, table_error
from frankwolfe.engines.state import ESTIMATE, arrays, built, flat, remembered, with_arrays
from frankwolfe.losses import has_dual
from frankwolfe.methods.gradient import ALL_ROWS, FAILED, TABLE_CHANGE, Gradient
from frankwolfe.methods.lifecycle import Setting, Units, estimate_for_run, others_for_run
from frankwolfe.methods.residual_samples import COUNTERS, FADING, fading, mean_residual, residuals_of
from frankwolfe.methods.table import Method
from frankwolfe.objective.intercept import EPSILON
from frankwolfe.objective.point import Guess
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status
from frankwolfe.trackers.tracker_defaults import tracker_of

PARTS = (ESTIMATE, "direction", "step")
"""Names of the parts of a method, in states."""


PLANNED_STEPS = 4096
"""Steps whose costs are added up in advance, where they differ."""

MOST_PLANNED = 2**20
"""Most steps whose costs are added up when a run starts, to know how many it will make."""


def smoothing_units(problem: Problem) -> Units:
    """Return what smoothing is measured in on a problem."""
    if not problem.needs_smoothing:
        return Units()
    loss, reach = problem.zero_value, problem.side_reach
    loss = loss if 0.0 < loss < np.inf else 1.0
    return Units(loss, reach**2 / loss if 0.0 < reach < np.inf else 1.0)


class StepwiseEngine:
    """One run of a method that is composed of an estimate, a direction and a step rule.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    method : Method
        The composition.
    batch_size : int
        Rows that a step draws.
    generator : Generator
        Where batches come from.
    w : array, or Factors
        Feasible start.
    earlier : mapping, optional
        What the result of another run hands over (`handed_over`).
    budget : float
        Rows that the run may read: what it is planned for. `begin` says it again.
    """

    lower_bound = float("-inf")  # none is kept: certificates are
    certifies_itself = False

    def __init__(
        self,
        problem: Problem,
        method: Method,
        batch_size: int,
        generator: np.random.Generator,
        w: Any,
        earlier: Mapping[str, Any] | None = None,
        budget: float = float("inf"),
    ):
        self.problem = problem
        # steps; rows read by those of this run
        self.clock = np.array([0 if earlier is None else earlier["steps"], 0])
        self._budget, self._failed = budget, False
        self._left_out = False  # whether an intercept or a snapshot was, for want of a pass
        self._first_step = self._next_intercept = self.steps
        self._pass_cost = 0
        self._exact: tuple[int, Evaluation] | None = None
        self._guess: Guess | None = None  # of the intercept: the one found last
        if earlier is not None and earlier["rows"] != problem.n:
            earlier = None  # other data: what was remembered of its rows means nothing here
        before = {} if earlier is None else remembered(earlier)
        self.abilities, self._has_dual = method.estimate.abilities, has_dual(problem.loss)
        setting = Setting(
            problem.samples,
            batch_size,
            w,
            problem.constraint,
            before,
            self.steps,
            generator,
            side=problem.side,
            units=smoothing_units(problem),
            size=problem.size,
        )
        estimate = estimate_for_run(method, setting)
        self.parts: tuple[Any, ...] = (estimate,)
        self.rows_a_step = method.evaluations(problem.n, batch_size)
        self.batch_size = 0 if self.abilities.reads_all_rows else batch_size
        growing = estimate.batch_sizes if self.abilities.grows else None
        self.sampler: Any = self._make_sampler(generator, growing)
        self._least = problem.n if method.step.reads_all_rows else 0
        self._part_left = method.step.part_left if method.direction.mixes_vertices else None
        epochs = estimate.epochs if self.abilities.has_epochs else setting.epochs
        self.parts += others_for_run(method, setting._replace(horizon=self._horizon(), epochs=epochs))
        self.iterate, r = problem.first_iterate(w)
        r[:] = self._starting_gradient(earlier)
        if self.abilities.sums_table:
            self.parts[0].total[:] = r
        counters = np.zeros(COUNTERS)
        counters[FADING], counters[ALL_ROWS] = fading(problem.n), problem.n
        tracker = tracker_of(problem.constraint, problem.size).connected(counters[FAILED : FAILED + 1])
        self.gradient = Gradient(r, np.ones(1), counters, tracker)
        self.gradient.tracker.rebuild(r)

    def _make_sampler(self, generator: np.random.Generator, growing: Sizes | None) -> Any:
        """Return what deals batches."""
        ahead, two = self.abilities.reads_upcoming, self.abilities.two_batches
        return Sampler(self.problem.n, self.batch_size, generator, growing, self.steps + 1, ahead, two)

    def _starting_gradient(self, earlier: Mapping[str, Any] | None) -> np.ndarray:
        """Return ``X' alpha`` for an estimate with a table, else the ``r`` that the previous run left, else zeros."""
        if self.abilities.has_table and self.parts[0].alpha.any():
            return self.problem.objective.gradient(self.parts[0].alpha)
        if not self.abilities.has_table and earlier is not None:
            return np.array(earlier["gradient"])
        return np.zeros(self.problem.size)

    @property
    def steps(self) -> int:
        """Steps made, those of the run that is continued included."""
        return int(self.clock[0])

    def warm_up(self) -> None:
        """Compile, or load from the cache, without making a step."""
        self._advance(0)
        few, w = self.problem.head(1), self.point()
        found = few.evaluate(w)  # the exact pass too
        if self.table() is not None:
            residuals_of(self._some_samples(), self.iterate, self.table(), np.arange(1))
            at = few.objective.point(few.objective.predict(w), few.guess)
            few.objective.residuals(at, found.alpha)
            few.objective.curvatures(at, 0.0, 0.0)
        if self.samples_gap:
            sum_rows(self.problem.samples, np.arange(0), found.alpha, np.empty(self.problem.size))
            table_error(self.problem.samples, self.iterate, found.alpha, np.arange(0), np.empty_like(found.alpha))

    def _some_samples(self) -> Any:
        """Return samples to compile for: rows in memory, at least one."""
        return self.problem.samples

    def begin(self, budget: float, target: float) -> None:
        """Go on within a budget of rows; no step aims at a gap."""
        self._budget = budget

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps; return how many were made. If fewer, `finished` says why."""
        before, goal = self.steps, self.steps + steps
        self._failed = False
        while self.steps < goal and not self._failed:
            ahead = int(self._affordable_steps(goal - self.steps))
            if ahead == 0:
                break
            self._failed = self._advance_with_passes(ahead) < ahead
        return self.steps - before

    def finished(self) -> Status | None:
        """Why no further step can be made, or None."""
        if self._failed:
            return Status.NON_FINITE
        return None if self._affordable_steps(1) >= 1.0 else Status.MAX_PASSES

    @property
    def unhindered(self) -> bool:
        """Whether no pass was left out for the budget, and no step has failed."""
        return not (self._failed or self._left_out)

    def _advance_with_passes(self, steps: int) -> int:
        """Make up to ``steps`` steps, with intercepts and snapshots as they fall due; return how many were made."""
        before, goal = self.steps, self.steps + steps
        while self.steps < goal:
            if self.problem.intercept and self.steps == self._next_intercept:
                self._optimise_intercept()
            self._take_snapshot()
            stop = min(goal, self.steps + max(1.0, self._steps_to_snapshot()))
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
            self.table(),
            self.parts[0].surplus if self.abilities.corrects_once else None,
            order,
            offsets,
            self.sampler.ahead or None,
            self._least,
            self.clock,
            steps,
        )
        return self.steps - before

    def point(self) -> Any:
        """Return the iterate as a new object, as the problem keeps its weights."""
        return self.iterate.dense()

    @property
    def rows_read(self) -> int:
        """Gradient evaluations made by this engine: the rows that its steps have read, and whole passes."""
        return int(self.clock[1]) + self._pass_cost

    def _affordable_steps(self, most: float) -> float:
        """Return the number of steps that the rest of the budget allows, or ``most`` if that is less."""
        left, ahead = self._budget - self.rows_read, 0.0
        if np.isfinite(left) and (self.abilities.grows or self.abilities.takes_snapshots):
            costs = np.cumsum(self._planned_costs(int(min(most, PLANNED_STEPS))))
            return float(np.searchsorted(costs, left + 1e-9, side="right"))
        if self.problem.intercept and np.isfinite(left):
            n, period = self.problem.n, self._intercept_period
            before = self._next_intercept - self.steps
            if left >= before * self.rows_a_step:
                left, ahead = left - before * self.rows_a_step, float(before)
                rounds = left // (n + period * self.rows_a_step)
                left, ahead = left - rounds * (n + period * self.rows_a_step), ahead + rounds * period
                left -= n if left >= n + self.rows_a_step else 0
        return float(min(most, ahead + np.floor(left / self.rows_a_step + 1e-9)))

    def _horizon(self) -> float:
        """Return the number of steps that the budget allows, those of the distant future at the price of the others."""
        if not np.isfinite(self._budget) or not (self.abilities.grows or self.abilities.takes_snapshots):
            return self._affordable_steps(np.inf)
        steps, costs = PLANNED_STEPS, np.cumsum(self._planned_costs(PLANNED_STEPS))
        while costs[-1] <= self._budget and steps < MOST_PLANNED:
            steps *= 4
            costs = np.cumsum(self._planned_costs(steps))
        if costs[-1] <= self._budget:
            return float(steps * self._budget // costs[-1])
        return float(np.searchsorted(costs, self._budget + 1e-9, side="right"))

    def _planned_costs(self, steps: int) -> np.ndarray:
        """Gradient evaluations that each of the next steps will be charged, with the whole passes before it."""
        costs = self._costs_of_steps(self.steps, steps)
        if self.problem.intercept:
            read, at = np.cumsum(costs), self._next_intercept - self.steps
            left = self._budget - self.rows_read
            while at < steps and left > 0.0:  # what comes after the budget's end is of no interest
                costs[at] += self.problem.n
                left -= self.problem.n
                whole = int(np.searchsorted(read, (read[at - 1] if at else 0) + self.problem.n)) + 1
                at = min(at + self._longest_pass, whole)
        due = self._steps_to_snapshot()
        while due < steps:
            costs[int(due)] += self.problem.n
            due = self.parts[0].next_snapshot(self.steps + int(due) + 2) - self.steps - 1
        return costs

    def _costs_of_steps(self, before: int, steps: int) -> np.ndarray:
        """Gradient evaluations that steps are charged for their batches, beginning after so many steps."""
        sizes = self.sampler.sizes(before + 1 + np.arange(steps + 1))
        return np.maximum(sizes[:-1] + self.sampler.ahead * sizes[1:], self._least)

    def steps_to_certificate(self) -> float:
        """Return the number of steps until a snapshot will tell the exact gap; infinity if none is planned.

        To optimise an intercept may change the plan, which is then told again.
        """
        if not (self.abilities.takes_snapshots and self.problem.intercept):
            return self._steps_to_snapshot()
        return min(self._steps_to_snapshot(), max(1.0, self._next_intercept - self.steps))

    def _steps_to_snapshot(self) -> float:
        """Return the number of steps until a snapshot is due, as far as that is known; infinity if none is planned."""
        if not self.abilities.takes_snapshots:
            return np.inf
        first = self.steps + (2 if self.certificate() is not None else 1)
        return float(self.parts[0].next_snapshot(first) - self.steps - 1)

    def certificate(self) -> Evaluation | None:
        """Return the exact evaluation of a snapshot, if one was taken at the iterate."""
        return self._exact[1] if self._exact is not None and self._exact[0] == self.steps else None

    def _take_snapshot(self) -> None:
        """Take the exact gradient at the iterate, if the estimate is due it and a pass is left."""
        if self._steps_to_snapshot() != 0:
            return
        if self.rows_read + self._planned_costs(1)[0] > self._budget:
            self._left_out = True
            return
        self._pass_cost += self.problem.n
        found = self.problem.evaluate(self.point())
        self._exact = self.steps, found
        if self.problem.intercept:
            rows, shift = self.problem.samples.rows, self.problem.samples.loss.shift
            shift[:] = found.intercept + mean_prediction(rows, self.point())
        self._renew(found.alpha, found.gradient)
        if not np.isfinite(self.gradient.r).all():
            self.gradient.counters[FAILED] = 1.0  # the loop stops on it

    def _renew(self, alpha: np.ndarray, exact: np.ndarray) -> None:
        """Make what is remembered of the data exact: derivatives of all samples and the gradient."""
        gradient = self.gradient
        if self.abilities.sums_table:
            self.parts[0].total[:] = exact.ravel()
        self.parts[0].renew(alpha)
        gradient.r[:] = exact.ravel() / gradient.scale[0]
        gradient.tracker.rebuild(gradient.r)

    @property
    def _intercept_period(self) -> int:
        """Steps from the next optimisation of the intercept to the one after it: those of a pass."""
        if not self.abilities.grows:
            return self._longest_pass
        read = np.cumsum(self._costs_of_steps(self._next_intercept, self._longest_pass))
        return min(self._longest_pass, int(np.searchsorted(read, self.problem.n)) + 1)

    @property
    def _longest_pass(self) -> int:
        """Steps of a pass, where batches have not grown yet."""
        return max(1, -(-self.problem.n // self.rows_a_step))

    def _optimise_intercept(self) -> None:
        """Make the intercept the best one for the iterate, and what is remembered of it exact, if a pass is left.

        This happens at fixed steps, whoever looks on. At zero it costs nothing: all predictions are known.
        """
        samples, w = self.problem.samples, self.point()
        cost = self.problem.n if w.any() else 0
        self._next_intercept += self._intercept_period
        if self.certificate() is not None:
            return  # a snapshot has just done both
        if self.rows_read + cost + self.rows_a_step > self._budget:
            self._left_out = True
            return
        self._pass_cost += cost
        objective = self.problem.objective
        z = objective.predict(w) if cost else samples.table()
        at = objective.point(z, self._guess or self.problem.guess)
        assert at.shift is not None and at.mean is not None  # noqa: PT018 - there is an intercept
        self._guess = Guess(at.shift, at.mean, at.curve)
        samples.loss.shift[:] = at.shift
        if (self.abilities.exact_table or self.abilities.takes_snapshots) and cost:
            alpha = at.alpha.reshape(samples.shape)
            self._renew(alpha, objective.gradient(alpha))

    def gap_estimate(self) -> float:
        """Return ``max_s <r, w - s>`` for the current ``r``: what the exact gap would be if ``r`` were the gradient.

        Where there is a table, ``r`` is what the table adds up to, and the table proves this much plus its residuals.
        """
        return self.problem.gap_for(self._table_gradient(), self.point())

    def _table_gradient(self) -> np.ndarray:
        """Return ``X' alpha``, or the gradient estimate where there is no table."""
        return self.parts[0].total if self.abilities.sums_table else self.gradient.dense()

    def table(self) -> np.ndarray | None:
        """Return the table, if there is one that batches refresh and the loss knows its conjugate; else None."""
        return self.parts[0].alpha if self._certifies_by_table else None

    @property
    def _certifies_by_table(self) -> bool:
        """Whether there is a table that batches refresh and the loss knows its conjugate."""
        kept = (self.abilities.has_table and not self.abilities.reads_all_rows) or self.abilities.smooths
        return kept and self._has_dual

    @property
    def multipliers(self) -> np.ndarray | None:
        """The mean multipliers of side constraints, if there are any; else None."""
        return None if self.problem.side is None else self.parts[0].side.mean

    @property
    def samples_gap(self) -> bool:
        """Whether a sample of rows tells the gap: the table follows the derivatives, and proves nothing."""
        return self.table_follows and not self.abilities.reads_all_rows and not self._has_dual

    def sampled_gap(self, draws: int) -> SampledGap:
        """Estimate the gap from a sample of rows, and the error of that by so many draws of a bootstrap."""
        if self.abilities.reads_all_rows or not self.table_follows:
            raise ValueError("a sample tells the gap only where a table follows the derivatives, as that of 'sfw' does")
        r = self._table_gradient()
        return sampled_gap(self.problem, self.iterate, self.parts[0].alpha, r, self.steps, draws)

    def part_left(self, steps: int) -> float:
        """Return the part of the iterate after so many steps that is left in the present one; NaN where unknown."""
        return np.nan if self._part_left is None else float(self._part_left(steps, self.steps))

    @property
    def table_follows(self) -> bool:
        """Whether the table stands for the derivatives at the iterate."""
        return self.abilities.exact_table

    def mean_residual(self) -> tuple[float, float]:
        """Return the mean residual of the rows that steps were about to refresh of late, and its standard error."""
        table = self.table()
        if table is None:
            return np.nan, np.nan
        return mean_residual(self.problem.samples, self.iterate, self.gradient.counters, table, self.steps)

    @property
    def slopes(self) -> np.ndarray | None:
        """The derivatives that the last step has seen, where there is a table."""
        return self.parts[0].alpha if self.abilities.has_table else None

    def dual_value(self, above: float) -> float:
        """Return the bound ``-sum_i p_i f_i*(alpha_i / p_i) - max_s <-r, s>`` of a step that has read all rows.

        Such a step knows the first sum, and its ``r`` is the exact gradient. The support is proven only where it pays.
        """
        if not (self.abilities.sums_conjugates and self._has_dual):
            return -np.inf
        total, size = self.parts[0].conjugates
        r, constraint = self.gradient.dense(), self.problem.constraint
        with np.errstate(over="ignore", invalid="ignore"):
            bound = -total - constraint.support(-r) - 4.0 * EPSILON * self.problem.n**0.5 * size
        if not bound > above or not self.problem.balances(self.parts[0].alpha):
            return -np.inf
        return float(min(bound, bound + constraint.support(-r) - constraint.proven_support(-r)))

    def table_change(self) -> float | None:
        """Return the sum of all changes of the table so far, if they sample its error; else None."""
        return float(self.gradient.counters[TABLE_CHANGE]) if self.abilities.samples_error else None

    # --- what a later run can go on from ------------------------------------------------------------------------

    def handed_over(self) -> dict[str, Any]:
        """Return what a run of another method, or on other data, can use."""
        found = {"steps": self.steps, "rows": self.problem.n, "gradient": self.gradient.dense()}
        return found | arrays(ESTIMATE, self.parts[0])

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the engine's own."""
        numbers = {
            "first_step": self._first_step,
            "next_intercept": self._next_intercept,
            "rows_read_in_steps": int(self.clock[1]),
            "rows_read_in_passes": self._pass_cost,
        }
        found = self.handed_over() | numbers | self.sampler.state() | self._arrays()
        if self.problem.intercept:
            found["shift"] = self.problem.samples.loss.shift
        return found | flat("intercept", self._guess) | flat("snapshot", self.certificate())

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays that steps change, by name."""
        found = arrays("iterate", self.iterate) | arrays("r", self.gradient)
        for name, part in zip(PARTS, self.parts, strict=True):
            found |= arrays(name, part)
        return found

    @classmethod
    def from_state(
        cls,
        problem: Problem,
        state: Mapping[str, Any],
        method: Method,
        batch_size: int,
        generator: np.random.Generator,
    ) -> Self:
        """Return an engine that goes on where the one with this state was.

        Batches come from the generator that is given. The state of the other one is in ``state["sampler.generator"]``.
        """
        upcoming = generator.bit_generator.state  # parts may toss coins as they are made
        start = {"steps": state["first_step"], "rows": 0}  # the rest is taken over below
        engine = cls(problem, method, batch_size, generator, problem.default_start(), start)
        generator.bit_generator.state = upcoming
        engine.clock[:] = state["steps"], state["rows_read_in_steps"]
        engine._next_intercept, engine._pass_cost = state["next_intercept"], state["rows_read_in_passes"]
        if "snapshot.value" in state:
            engine._exact = state["steps"], built(Evaluation, "snapshot", state)
        engine.sampler.restore(state)
        engine.iterate = with_arrays("iterate", engine.iterate, state)
        engine.gradient = with_arrays("r", engine.gradient, state)
        engine.parts = tuple(with_arrays(name, part, state) for name, part in zip(PARTS, engine.parts, strict=True))
        if "intercept.shift" in state:
            engine._guess = built(Guess, "intercept", state)
        if problem.intercept:
            problem.samples.loss.shift[:] = state["shift"]
        return engine
