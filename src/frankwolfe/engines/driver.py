"""The interpreted half of a run: when to look, to trace, to certify and to stop."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.engines.certificates import STOCHASTIC_OPTIMISM, CertificateSchedule
from frankwolfe.engines.dual_bound import bound_at
from frankwolfe.engines.stepwise import Engine
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.progress import Progress
from frankwolfe.result import Result, Status, Trace

SLICE_SECONDS = 0.05
"""How long one call into compiled code should last: the delay of Ctrl-C, the clock and the progress bar."""

VALUE_ROUNDING = 1e-12
"""Objectives that differ by no more than this part of them may be equal: they are sums over all rows."""

LEAST_LOOK = 4096
"""Fewest gradient evaluations between two looks at the estimated gap, once a run is long."""

LOOKS_A_DECADE = 10
"""Looks for each factor of ten in the number of steps, while a run is short. What is traced has no part in it: a run
takes its certificates at the same steps whoever watches."""


@dataclass(frozen=True)
class State:
    """What a callback is given.

    Attributes
    ----------
    nit : int
        Steps made so far.
    passes : float
        Gradient evaluations so far, divided by n.
    seconds : float
        Time of the method so far.
    gap_estimate : float
        The estimated gap.
    table_error : float
        Online estimate of ``||alpha - grad f||_1`` (``"sfw"`` only, NaN elsewhere); ``problem.diameters().inf`` times
        it is an error bar for the estimated gap.
    x : array of shape (d,), or (d, outputs)
        A copy of the iterate.
    problem : Problem
        What is being minimised.
    """

    nit: int
    passes: float
    seconds: float
    gap_estimate: float
    table_error: float
    x: np.ndarray
    problem: Problem

    def evaluate(self) -> Evaluation:
        """Exact objective, gradient and gap at the iterate: a pass over the data."""
        return self.problem.evaluate(self.x)


Callback = Callable[[State], bool | None]


@dataclass(frozen=True)
class Limits:
    """What ends a run: a relative tolerance, a number of passes, a time."""

    tol: float
    passes: float
    seconds: float


class Start(NamedTuple):
    """Where a run starts: weights and, if they come from a result, its gap and the slopes that prove it.

    Both are for the problem of that result, which may have been another one.
    """

    w: Any = None
    gap: float = np.inf
    slopes: np.ndarray | None = None


def _next_on_grid(step: int, points_a_decade: int) -> int:
    """Return the next step of a grid that has so many points for each factor of ten."""
    return max(step + 1, int(np.ceil(step * 10.0 ** (1.0 / points_a_decade))))


class Driver:
    """Drives an engine until something ends the run, and makes the result."""

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        callback: Callback | None,
        bar: Progress,
        trace: int,
        start: Start | None = None,
    ):
        self.engine, self.limits, self.callback, self.bar = engine, limits, callback, bar
        self.start = start or Start()
        problem = engine.problem
        self.first_step = engine.steps
        self.seconds = self.certificate_seconds = self.compile_seconds = 0.0
        self.trace = Trace(problem)
        self.points_a_decade = trace
        self.next_trace = 0 if trace else np.inf
        self.next_look = 0
        engine.budget = limits.passes * problem.n + 1e-9
        stored = problem.X.size if isinstance(problem.X, np.ndarray) else problem.X.nnz
        # a look costs O(d): at least the rows of a quarter pass, or as many as hold 2 d values, go between two of them
        look = max(problem.n / 4, LEAST_LOOK, 2 * problem.size * problem.n / max(stored, 1))
        self.look_every = max(1, int(look / engine.evaluations)) if engine.steady else 1
        self.slice = max(1, 1024 // engine.evaluations)
        self.gap_estimate, self.table_error = np.inf, np.nan
        self.mark = engine.meter()
        self.tolerance, self.schedule = 0.0, CertificateSchedule(None)
        self.last: tuple[int, Evaluation] | None = None
        self.best: tuple[Evaluation, np.ndarray] | None = None

    # --- counters ---------------------------------------------------------------------------------------------

    @property
    def nit(self) -> int:
        """Steps made so far."""
        return self.engine.steps - self.first_step

    @property
    def passes(self) -> float:
        """Gradient evaluations so far, divided by n."""
        return self.engine.evaluated / self.engine.problem.n

    @property
    def last_step(self) -> float:
        """Number of the last step that the budget allows, where all steps cost the same."""
        return self.nit + self.engine.affordable_steps() if self.engine.steady else np.inf

    @contextmanager
    def _charged(self) -> Iterator[None]:
        """Charge the time of the block to the method."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - begun

    # --- the run ----------------------------------------------------------------------------------------------

    def drive(self) -> Status:
        """Run until something ends it; say what."""
        try:
            begun = perf_counter()
            self.engine.warm_up()
            self.tolerance = self.engine.target = self.engine.problem.tolerance(self.limits.tol)
            self.compile_seconds = perf_counter() - begun
            optimism = STOCHASTIC_OPTIMISM if self.engine.batch_size else 1.0
            self.schedule = CertificateSchedule(self.tolerance if self.limits.tol > 0.0 else None, optimism)
            if self._start_is_certified():
                return Status.CONVERGED
            while True:
                status = self._checkpoint()
                if status is None:
                    status = self._advance_to(self._next_checkpoint())
                if status is not None:
                    return status
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def _start_is_certified(self) -> bool:
        """Certify a start that was within the tolerance by what proved it, where the engine would not do so itself.

        The engine may keep the point in another form, or know nothing of the slopes that proved its bound.
        """
        w = self.engine.w()
        same = isinstance(w, np.ndarray) and np.array_equal(w, self.start.w)
        if not (self.limits.tol > 0.0 and self.start.gap <= self.tolerance) or (same and self.start.slopes is None):
            return False
        before = self.seconds
        with self._charged():
            found = self._judge_start()
        self.certificate_seconds += self.seconds - before
        self.best = found, self.start.w
        return found.gap <= self.tolerance

    def _judge_start(self) -> Evaluation:
        """Return the exact evaluation at the start, with the bound that slopes of an earlier run prove."""
        problem, (w, _, slopes) = self.engine.problem, self.start
        found = problem.evaluate(w)
        if slopes is None or found.gap <= self.tolerance:
            return found
        bound = bound_at(problem, w, slopes)
        return found._replace(gap=bound, by_bound=True) if bound < found.gap else found

    def _next_checkpoint(self) -> float:
        certificate = self.nit + max(1.0, self.engine.steps_to_certificate())
        return min(self.next_look, max(self.next_trace, self.nit + 1), certificate, self.last_step)

    def _look_after(self) -> int:
        """Return the step of the next look: ever later in a short run, evenly spaced in a long one."""
        evenly = (self.nit // self.look_every + 1) * self.look_every
        return min(evenly, _next_on_grid(self.nit, LOOKS_A_DECADE))

    def _advance_to(self, goal: float) -> Status | None:
        """Make steps, a slice of time at a time, until step number ``goal``."""
        while self.nit < goal:
            steps = int(min(self.slice, goal - self.nit))
            before = self.seconds
            with self._charged():
                made = self.engine.advance(steps)
            if made < steps:
                return Status.NON_FINITE
            if steps == self.slice:  # a call cut short by the goal says nothing about how long a slice lasts
                spent = max(self.seconds - before, 1e-6)
                self.slice = max(1, int(self.slice * min(4.0, max(0.25, SLICE_SECONDS / spent))))
            self.bar.update(self.passes)
            if self.seconds >= self.limits.seconds:
                return Status.MAX_SECONDS
        return None

    def _checkpoint(self) -> Status | None:
        """Look at the estimated gap; trace, call back, certify as they fall due; say if the run is over."""
        planned = self.nit >= self.next_look
        self._look(planned)
        self.bar.update(self.passes, self.gap_estimate)
        if self.nit >= self.next_trace:
            self._record()
            self.next_trace = _next_on_grid(self.nit, self.points_a_decade)
        if self.callback is not None and self._call_back():
            return Status.CALLBACK
        if planned:
            self.next_look = self._look_after()
        may_certify = planned or self.engine.certifies
        if may_certify and self._certificate_due() and self._certify().gap <= self.tolerance:
            return Status.CONVERGED
        if self.engine.stuck:
            return Status.STALLED
        if self.nit >= self.last_step or self.passes >= self.limits.passes or self.engine.spent:
            return Status.MAX_PASSES
        return Status.MAX_SECONDS if self.seconds >= self.limits.seconds else None

    def _certificate_due(self) -> bool:
        """Whether to take an exact gap now: always where it costs nothing, else as the schedule says.

        A start whose gap was within the tolerance, by the result that it comes from, is certified before a step can
        lead away from it: what was proven once must not be lost.
        """
        if self.engine.certifies or (self.nit == 0 and self.start.gap <= self.tolerance):
            return self.limits.tol > 0.0
        return self.schedule.due(self.passes, self.gap_estimate)

    def _record(self, **known: float) -> None:
        numbers = {
            "nit": self.nit,
            "passes": self.passes,
            "seconds": self.seconds,
            "gap_estimate": self.gap_estimate,
            "table_error": self.table_error,
        }
        self.trace.record(self.engine.w(), **numbers, **known)

    def _look(self, planned: bool = False) -> None:
        """Bring the estimated gap, and the estimate of the table's error since the last mark, up to date."""
        with self._charged():
            self.gap_estimate = self.engine.gap_estimate()
        if self.mark is not None:
            self.table_error = self.engine.table_error(self.mark)
            if planned and self.engine.steps - self.mark[0] >= self.look_every:
                self.mark = self.engine.meter()

    def _call_back(self) -> bool:
        assert self.callback is not None
        state = State(
            self.nit,
            self.passes,
            self.seconds,
            self.gap_estimate,
            self.table_error,
            self.engine.problem.shaped(self.engine.w()),
            self.engine.problem,
        )
        outcome = self.callback(state)
        if outcome is None or isinstance(outcome, bool | np.bool_):
            return bool(outcome)
        raise TypeError(f"callback must return True (stop), False or None, got {outcome!r}")

    def _certify(self) -> Evaluation:
        """Take the exact gap at the iterate, unless the last one was taken at this very step."""
        if self.last is not None and self.last[0] == self.nit:
            return self.last[1]
        before = self.seconds
        with self._charged():
            w = self.engine.w()
            found = self.engine.evaluate()
        self.certificate_seconds += self.seconds - before
        if not self.engine.certifies:
            self.schedule.note(self.passes, found.gap, self.gap_estimate)
        self.last = (self.nit, found)
        if self.best is None or self._no_worse(found, self.best[0]):
            self.best = (found, w)
        return found

    def _no_worse(self, found: Evaluation, other: Evaluation) -> bool:
        """Whether a certified point is as good as another: within the tolerance, then by objective.

        Near the optimum objectives differ by rounding only, and the gap tells which point is better.
        """
        ours, theirs = self._flaws(found), self._flaws(other)
        if ours != theirs:
            return ours < theirs
        if abs(found.value - other.value) <= VALUE_ROUNDING * abs(other.value):
            return found.gap <= other.gap
        return found.value <= other.value

    def _flaws(self, found: Evaluation) -> tuple[bool, bool]:
        """Whether a point has no value, and whether it misses the tolerance."""
        return bool(np.isnan(found.value)), self.limits.tol > 0.0 and not found.gap <= self.tolerance

    # --- the end ----------------------------------------------------------------------------------------------

    def _recall_start(self) -> None:
        """Take the start into account again, if it came from a result and the run has missed its tolerance.

        A run with a smaller tolerance, or too small a budget, must not return a worse point than it was given.
        """
        assert self.best is not None
        if self.limits.tol > 0.0 and self.start.gap < self.best[0].gap and self._flaws(self.best[0])[1]:
            with self._charged():
                found = self._judge_start()
            if self._no_worse(found, self.best[0]):
                self.best = found, self.start.w

    def result(self, status: Status, method: str, batch_size: int) -> Result:
        """Certify the last iterate and return the best point that has been certified."""
        self._look()
        last = self._certify()
        self._recall_start()
        assert self.best is not None
        found, w = self.best
        found = self.engine.proven(found)
        if not np.isfinite(found.value):
            status = Status.NON_FINITE
        elif found.gap <= self.tolerance and self.limits.tol > 0.0:
            status = Status.CONVERGED
        if self.trace.last_nit() != self.nit:
            self._record(fun=last.value, gap=last.gap)
        self.bar.update(self.passes, self.gap_estimate)
        return Result(
            x=self.engine.problem.shaped(w),
            intercept=found.intercept,
            fun=found.value,
            gap=found.gap,
            gap_estimate=self.gap_estimate,
            status=status,
            message=self._message(status, found.gap, found.by_bound),
            tolerance=self.tolerance,
            nit=self.nit,
            passes=self.passes,
            checks=self.schedule.taken,
            seconds=self.seconds,
            certificate_seconds=self.certificate_seconds,
            compile_seconds=self.compile_seconds,
            convex=bool(getattr(self.engine.problem.loss, "convex", False)),
            method=method,
            batch_size=batch_size,
            trace=self.trace,
            memory=self.engine.memory(),
        )

    def _message(self, status: Status, gap: float, by_bound: bool) -> str:
        """Say in a sentence how the run ended."""
        if status is Status.NON_FINITE:
            return self._what_was_not_finite()
        proof = "distance to a lower bound on the optimum" if by_bound else "exact gap"
        so_far = f"the exact gap is {gap:.3g}, the tolerance {self.tolerance:.3g}"
        reasons = {
            Status.CONVERGED: f"The {proof} {gap:.3g} is within the tolerance {self.tolerance:.3g}.",
            Status.MAX_PASSES: f"The budget of {self.limits.passes:g} passes ended; {so_far}.",
            Status.MAX_SECONDS: f"The budget of {self.limits.seconds:g} seconds ended; {so_far}.",
            Status.CALLBACK: f"The callback asked to stop; {so_far}.",
            Status.STALLED: self._why_it_stalled(gap, so_far),
            Status.INTERRUPTED: f"Interrupted from the keyboard; {so_far}.",
        }
        return reasons[status]

    def _why_it_stalled(self, gap: float, so_far: str) -> str:
        if self.engine.problem.intercept and np.isinf(gap):
            return "The slope in the intercept could not be made zero, so there is no gap: nothing is proven."
        return f"No step lowers the objective any further in floating-point numbers; {so_far}."

    def _what_was_not_finite(self) -> str:
        loss, row = type(self.engine.problem.loss).__name__, self.engine.first_bad_row()
        where = f"Step {self.nit + 1} was not made"
        if row is not None:
            return f"{where}: the derivative of {loss} at row {row} is not finite. Rescale X or y."
        return f"{where}: the objective, the gradient estimate or the step size is not finite. Rescale X or y."
