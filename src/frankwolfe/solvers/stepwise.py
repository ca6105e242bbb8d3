"""The stepwise solver: it runs methods that are composed of a gradient estimate, a direction and a step rule.

The compiled loop makes steps on groups of rows in memory (`frankwolfe.solvers.loop`). If no group has all rows
that a step reads, tasks on the shards compute the gradient (`frankwolfe.solvers.task_steps`).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from frankwolfe.arguments.types import PerRow, Weights
from frankwolfe.compile.kernels import waiting
from frankwolfe.losses import has_dual
from frankwolfe.methods.base import NO_LINEAR, Setting, Units, estimate_for_run, others_for_run
from frankwolfe.methods.gradient import (
    ALL_ROWS,
    COUNTERS,
    FADING,
    FAILED,
    TABLE_CHANGE,
    Gradient,
    fading,
    mean_residual,
    residuals_of,
    unvisited,
)
from frankwolfe.methods.registry import Method
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import BOUNDED_CURVATURE, needs_of
from frankwolfe.result import Status
from frankwolfe.sets.base import tracker_of
from frankwolfe.sets.callbacks import connected
from frankwolfe.shards.local import Kept
from frankwolfe.solvers.dual_bound import LowerBound
from frankwolfe.solvers.exact_passes import ExactPasses, StepPlan
from frankwolfe.solvers.loop import Batches, RowGroup, advance, groups_of, saved_generator
from frankwolfe.solvers.protocol import Evidence
from frankwolfe.solvers.sampled_gap import sum_rows, table_error
from frankwolfe.solvers.state import ESTIMATE, arrays, flat, remembered, require_like, require_sound, restored
from frankwolfe.solvers.task_steps import ExactGradient, SharedTable, TaskSteps, steps_by_tasks

PARTS = (ESTIMATE, "direction", "step")
"""Names of the parts of a method, in states."""

COUNTED = ("steps", "first_step", "rows_read_in_steps", "rows_read_in_passes", "next_intercept", "shift", "gradient")
"""Entries of a state that all solvers have, whatever their method."""


def smoothing_units(problem: Problem) -> Units:
    """Return the units of the smoothing parameters: typical sizes of the loss and of the side constraints."""
    if not problem.needs_smoothing:
        return Units()
    loss, reach = problem.zero_value, problem.side_reach
    if not loss > 0.0:  # the intercept alone fits: use the loss without it
        loss = problem.objective.value_without_intercept()
    loss = loss if 0.0 < loss < np.inf else 1.0
    return Units(loss, reach * reach / loss if 0.0 < reach < np.inf else 1.0)


class StepwiseSolver:
    """One run of a method that is composed of an estimate, a direction and a step rule.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    method : Method
        The method: estimate, direction and step rule.
    batch_size : int
        Number of rows that a step draws.
    generator : Generator
        Random generator of the batches.
    w : array, or Factors
        Feasible start.
    earlier : mapping, optional
        State of an earlier run (`frankwolfe.solvers.state.handed_over`).
    budget : float
        Number of rows that the run may read, for step rules that depend on it. `begin` sets it again.
    """

    def __init__(
        self,
        problem: Problem,
        method: Method,
        batch_size: int,
        generator: np.random.Generator,
        w: Weights,
        earlier: Mapping[str, Any] | None = None,
        budget: float = float("inf"),
    ):
        self.problem, self._failed = problem, False
        if BOUNDED_CURVATURE in needs_of(method):
            problem = problem.with_bounded_curvature()  # for the steps only
        self.clock = np.array([0 if earlier is None else earlier["steps"], 0])  # steps; rows that those here have read
        self._first_step = self.steps
        if earlier is not None and earlier["rows"] != problem.n:
            earlier = None  # other data: the table of its rows is useless here
        self.chosen, by_tasks = method.estimate, steps_by_tasks(problem, method)
        # whether batches refresh a table, whether that proves lower bounds, and whether steps sum up conjugates
        self._keeps_table = (self.chosen.has_table and not self.chosen.reads_all_rows) or self.chosen.smooths
        self._certifies_by_table = self._keeps_table and has_dual(problem.loss)
        self._sums_conjugates = not by_tasks and self.chosen.state.conjugates is not None and has_dual(problem.loss)
        setting = Setting(
            problem.samples,
            batch_size,
            w,
            problem.constraint,
            {} if earlier is None else remembered(earlier),
            self.steps,
            generator,
            side=problem.side,
            units=smoothing_units(problem),
            size=problem.size,
            objective=problem.objective if by_tasks else None,
            linear=NO_LINEAR if problem.linear is None else problem.linear,
        )
        self.deadline = np.inf  # steps are short
        self.rows_a_step: int | None = method.evaluations(problem.n, batch_size)
        self.batch_size = 0 if self.chosen.reads_all_rows else batch_size
        self.generator = generator
        self.tasks: TaskSteps | None = None
        estimate: Any = None if by_tasks else estimate_for_run(method, setting)
        exact = by_tasks and self.chosen.reads_all_rows
        self.passes = ExactPasses(problem, estimate, self.chosen, self.clock, exact)
        self.sampler: Any
        if by_tasks:
            searches, alpha = method.step.reads_all_rows, setting.remembered.get("alpha")
            if exact:
                self.tasks = ExactGradient(problem, searches, self.passes)
            else:
                self.tasks = SharedTable(problem, batch_size, searches, generator, alpha)
            self.sampler = self.tasks
        else:
            sizes = estimate.batch_sizes
            self.sampler = groups_of(problem, self.chosen, self.batch_size, generator, sizes, self.steps + 1)
        least = problem.n if method.step.reads_all_rows else 0
        self.plan = StepPlan(self.passes, self.sampler, self.rows_a_step, least, budget)
        self._left = method.step.part_left if method.direction.mixes_vertices else None
        epochs = setting.epochs if estimate is None else estimate.epochs
        others = others_for_run(method, setting._replace(horizon=self.plan.horizon(), epochs=epochs))
        self.parts: tuple[Any, Any, Any] = (estimate, *others)
        self.iterate, r = problem.first_iterate(w)
        r[:] = self._starting_gradient(earlier)
        if self.chosen.state.total is not None:
            estimate.total[:] = r
        counters = np.zeros(COUNTERS)
        counters[FADING], counters[ALL_ROWS] = fading(problem.n), problem.n
        tracker = connected(tracker_of(problem.constraint, problem.size), counters[FAILED : FAILED + 1])
        self.gradient = Gradient(r, np.ones(1), counters, tracker)
        self.gradient.tracker.rebuild(r)

    def _starting_gradient(self, earlier: Mapping[str, Any] | None) -> np.ndarray:
        """Return ``X' alpha`` for an estimate with a table, else the ``r`` that the previous run left, else zeros.

        The linear term is part of it. Estimates that only add changes keep it.
        """
        nothing = self.problem.objective.with_linear(np.zeros(self.problem.size))
        if self.chosen.has_table:
            alpha = self._slopes()
            known = isinstance(alpha, np.ndarray) and alpha.any()
            return self.problem.objective.gradient(alpha) if known else nothing
        return nothing if earlier is None else np.array(earlier["gradient"])

    def warm_up(self) -> None:
        """Compile the kernels, or load them from the cache, without a step. Tasks are compiled where the rows are."""
        if self.tasks is not None:
            return
        head, nothing = self.sampler.head(self.parts[0]), np.zeros(1 + self.sampler.ahead, np.int64)
        self._call(head, Batches(np.empty(0, np.int64), nothing), 0)
        few, w = self.problem.head(1), self.point()
        found = few.evaluate(w)  # the exact pass too
        if self._certifies_by_table:
            residuals_of(head.samples, self.iterate, self.table(), np.arange(1))
            at = few.objective.point(few.objective.predict(w), few.guess)
            few.objective.residuals(at, found.alpha)
            few.objective.curvatures(at, 0.0, 0.0)
        elif self.chosen.exact_table and self.table() is not None:
            sum_rows(self.problem.samples, np.arange(0), found.alpha, np.empty(self.problem.size))
            table_error(self.problem.samples, self.iterate, found.alpha, np.arange(0), np.empty_like(found.alpha))

    def begin(self, budget: float, target: float, bound: LowerBound | None = None) -> None:
        """Compile the kernels, and set the budget, in rows read, and the lower bound. The target gap is not used."""
        with waiting().counted():
            self.warm_up()
        self.plan.budget, self.passes.bound = budget, self.passes.bound if bound is None else bound

    # --- steps ----------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Number of steps made, including those of the run that this one continues."""
        return int(self.clock[0])

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps and return their number. If it is smaller, `finished` returns the reason."""
        before, goal = self.steps, self.steps + steps
        self._failed = False
        while self.steps < goal and not self._failed:
            ahead = int(self.plan.affordable(goal - self.steps if self.tasks is None else 1))
            if ahead == 0:
                break
            self._failed = self._advance_with_passes(ahead) < ahead
        return self.steps - before

    def finished(self) -> Status | None:
        """Return the reason why no further step can be made, or None."""
        if self._failed:
            return Status.NON_FINITE
        return None if self.plan.affordable(1) >= 1.0 else Status.MAX_PASSES

    @property
    def unhindered(self) -> bool:
        """Whether the budget has not suppressed any pass, and no step has failed."""
        return not (self._failed or self.passes.left_out)

    @property
    def rows_read(self) -> int:
        """Gradient evaluations made by this solver: the rows that its steps have read, and whole passes."""
        return self.passes.rows_read

    def _advance_with_passes(self, steps: int) -> int:
        """Make up to ``steps`` steps, with the passes for intercepts and snapshots. Return the number of steps."""
        before, goal = self.steps, self.steps + steps
        while self.steps < goal:
            if self.passes.intercept and self.steps == self.passes.next_intercept:
                self._optimise_intercept()
            self._take_snapshot()
            stop = int(min(goal, self.steps + self.passes.steps_to_pass()))
            self._advance(stop - self.steps)
            if self.steps < stop:
                break
            self._take_snapshot()  # at once: it may certify the iterate
        return self.steps - before

    def _advance(self, steps: int) -> None:
        """Make up to ``steps`` steps with a fixed intercept. Stop early if a number is not finite."""
        goal = self.steps + steps
        if self.tasks is not None:
            while self.steps < goal and self._step_by_tasks(self.tasks):
                pass
            return
        while self.steps < goal:
            group = self.sampler.enter(self.parts[0], lambda left: self.plan.affordable(left + 1) > left)
            some = int(min(goal - self.steps, self.sampler.left))
            if self._call(group, self.sampler.take(some), some) < some:
                break
            self.sampler.leave_if_done(self.parts[0])

    def _call(self, group: RowGroup, batches: Batches, steps: int) -> int:
        """Make steps on a group of rows by the compiled loop. Return their number."""
        before, state = self.steps, group.state
        advance(
            group.samples,
            self.problem.constraint,
            (state, *self.parts[1:]),
            self.gradient,
            self.iterate,
            state.alpha if self._certifies_by_table else None,
            state.surplus,
            batches.order,
            batches.offsets,
            self.sampler.ahead or None,
            self.plan.least,
            self.clock,
            steps,
        )
        return self.steps - before

    def _step_by_tasks(self, tasks: TaskSteps) -> bool:
        """Make a step by tasks on the shards; return whether it was made."""
        if tasks.is_long:
            self._make_exact(self.plan.allows_pass(self.problem.n))
        t = self.steps + 1
        rows = tasks.step(*self.parts[1:], self.gradient, self.iterate, t)
        if rows is None:
            return False
        self.clock[:] = t, self.clock[1] + max(self.plan.least, rows)
        return True

    # --- passes between steps -------------------------------------------------------------------------------------

    def _take_snapshot(self) -> None:
        """Compute the exact gradient at the iterate if a snapshot is due and the budget allows it."""
        if self.passes.steps_to_snapshot() == 0:
            self._make_exact(bool(self.plan.costs(1)[0] <= self.plan.left))  # with the step after it
            if not np.isfinite(self.gradient.r).all():
                self.gradient.counters[FAILED] = 1.0  # the loop stops on it

    def _make_exact(self, allowed: bool) -> None:
        """Replace table and gradient estimate by exact ones, in a pass, if the budget allows it."""
        if not allowed:
            self.passes.left_out = True
            return
        found = self.passes.snapshot(self.point())
        self._renew(found.alpha, found.gradient)

    def _optimise_intercept(self) -> None:
        """Optimise the intercept for the iterate, and make table and gradient exact, if the budget allows a pass."""
        passes, w = self.passes, self.point()
        passes.next_intercept += self.plan.intercept_period
        if passes.certificate() is not None:
            return  # a snapshot has just done both
        price = passes.price_of_intercept(w)
        if not self.plan.allows_pass(price):
            passes.left_out = True
            return
        at = passes.optimise_intercept(w)
        if (self.chosen.exact_table or self.chosen.state.next_snapshot is not None) and price:
            alpha = at.alpha.reshape(self.problem.samples.shape)
            self._renew(alpha, self.problem.objective.gradient(alpha))

    def _renew(self, alpha: PerRow, exact: np.ndarray) -> None:
        """Replace the table by ``alpha`` and the gradient estimate by ``exact``."""
        gradient = self.gradient
        if self.tasks is not None:
            self.sampler.renew(alpha)
        else:
            if self.chosen.state.total is not None:
                self.parts[0].total[:] = exact.ravel()
            self.parts[0].renew(alpha)
            self.sampler.take_over(self.parts[0])
        gradient.r[:] = exact.ravel() / gradient.scale[0]
        gradient.tracker.rebuild(gradient.r)

    # --- evidence -------------------------------------------------------------------------------------------------

    def point(self) -> Any:
        """Return a copy of the iterate, in the type that the problem uses for its weights."""
        return self.iterate.dense()

    def evidence(self) -> Evidence:
        """Return the evidence about the iterate."""
        by_pass = isinstance(self.sampler, ExactGradient)
        exact = self.passes.exact(self.point()) if by_pass else self.passes.certificate()
        # X' alpha, or the gradient estimate if there is no table
        gradient = self.parts[0].total if self.chosen.state.total is not None else self.gradient.dense()
        table = self.table()
        residual, residual_error = self._mean_residual(table)
        return Evidence(
            gap_estimate=self.problem.gap_for(gradient, self.point()),
            exact=exact,
            steps_to_exact=self.passes.steps_to_certificate(),
            slopes=self._slopes() if self.tasks is None and self.chosen.has_table else None,
            table=table,
            table_follows=self.chosen.exact_table,
            gradient=gradient,
            multipliers=None if self.problem.side is None else self.parts[0].side.mean,
            residual=residual,
            residual_error=residual_error,
            table_change=float(self.gradient.counters[TABLE_CHANGE]) if self.chosen.samples_error else None,
            conjugates=self.parts[0].conjugates if self._sums_conjugates else None,
            part_left=None if self._left is None else partial(self._left, last=self.steps),
        )

    def _slopes(self) -> Any:
        """Return the table of all samples, including the current group's changes; None if there is none."""
        if self.tasks is not None:
            return self.sampler.alpha
        self.sampler.write_back(self.parts[0])
        return self.parts[0].alpha if self.chosen.has_table or self.chosen.smooths else None

    def table(self) -> Any:
        """Return the table if batches refresh it and it can be used, else None.

        If the loss implements its conjugate, the table yields a lower bound. If not, a sample of rows can estimate its
        error, provided that all rows are in memory.
        """
        of_use = has_dual(self.problem.loss) or self.problem.objective.shards.groups == 1
        return self._slopes() if self._keeps_table and of_use else None

    def _mean_residual(self, table: Any) -> tuple[float, float]:
        """Return the mean residual of the table on recent batches, before they refreshed it, and its standard error."""
        if self.tasks is not None:
            return self.sampler.mean_residual()
        group = self.sampler.present(self.parts[0])
        if table is None or group is None or not self._certifies_by_table:
            return np.nan, np.nan
        mine = group.state.alpha
        elsewhere = 0 if mine is table else unvisited(table) - unvisited(mine)
        return mean_residual(group.samples, self.iterate, self.gradient.counters, mine, self.steps, elsewhere)

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied."""
        found: dict[str, Any] = {"steps": self.steps, "rows": self.problem.n, "gradient": self.gradient.dense()}
        found |= {"first_step": self._first_step, "rows_read_in_steps": int(self.clock[1])}
        if self.tasks is not None:
            found |= flat(f"{ESTIMATE}.alpha", self._slopes())
        else:
            self.sampler.write_back(self.parts[0])
        return found | self.passes.state() | self.sampler.state() | self._arrays() | saved_generator(self.generator)

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays that steps change, by name."""
        named = zip(("iterate", "r", *PARTS), (self.iterate, self.gradient, *self.parts), strict=True)
        return {name: array for part in named for name, array in arrays(*part).items()}

    @classmethod
    def from_state(
        cls,
        problem: Problem,
        state: Mapping[str, Any],
        method: Method,
        batch_size: int,
        generator: np.random.Generator,
    ) -> Self:
        """Return a solver that continues from a saved state.

        Batches come from ``generator``. The saved generator is in ``state["sampler.generator"]``.
        """
        upcoming = generator.bit_generator.state  # the construction of parts may draw random numbers
        start = {"steps": state["first_step"], "rows": 0}  # the rest is restored below
        solver = cls(problem, method, batch_size, generator, problem.default_start(), start)
        generator.bit_generator.state = upcoming
        require_like({name: value for name, value in solver.state().items() if name in COUNTED}, state)
        solver.clock[:] = state["steps"], state["rows_read_in_steps"]
        solver.passes.restore(state)
        solver.sampler.restore(state)
        solver.iterate = restored("iterate", solver.iterate, state, problem.n)
        solver.gradient = restored("r", solver.gradient, state, problem.n)
        named = zip(PARTS, solver.parts, strict=True)
        solver.parts = tuple(restored(name, part, state, problem.n) for name, part in named)
        solver.passes.estimate = solver.parts[0]
        require_sound((solver.iterate, solver.parts), solver.iterate)
        if isinstance(solver._slopes(), Kept):  # a table on a cluster is not saved: compute it by a pass
            at, exact = solver.passes.pass_at(solver.point())
            solver.passes.cost += problem.n
            solver._renew(at.alpha, exact)
        return solver
