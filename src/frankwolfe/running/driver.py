"""The driver of a run. It advances a solver, monitors and certifies its iterate, and decides when to stop."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.arguments.names import as_budget
from frankwolfe.compile.kernels import Stopwatch
from frankwolfe.display import Progress
from frankwolfe.losses import has_dual
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Result, Status, Trace
from frankwolfe.running.certifier import Certifier, PointCertificate, Start
from frankwolfe.running.likely import CONFIDENCE, LikelyStop
from frankwolfe.solvers.protocol import Evidence, Solver
from frankwolfe.solvers.sampled_gap import SampledGap, sampled_gap
from frankwolfe.solvers.state import ESTIMATE, Saved, below, handed_over, under

if TYPE_CHECKING:
    from frankwolfe.running.checkpoints import Checkpoints


SIDE_TOL = 1e-6
"""Default of the largest relative violation of a side constraint. It is independent of the tolerance on the gap."""


@dataclass(frozen=True)
class Limits:
    """Limits of a run: the relative tolerance, the passes, the seconds, and the violation of side constraints."""

    tol: float
    passes: float
    seconds: float
    side_tol: float = SIDE_TOL

    @classmethod
    def checked(cls, tol: Any, max_passes: Any, max_seconds: Any, side_tol: Any = SIDE_TOL) -> "Limits":
        """Return the limits for checked arguments of `minimize`."""
        passes, seconds = (
            as_budget(name, given, optional=True)
            for name, given in (("max_passes", max_passes), ("max_seconds", max_seconds))
        )
        return cls(as_budget("tol", tol), passes, seconds, as_budget("side_tol", side_tol))

    def require_an_end(self) -> None:
        """Raise ValueError if neither passes nor seconds are limited."""
        if self.passes == self.seconds == float("inf"):
            raise ValueError("max_passes=None needs max_seconds: something must end the run")


@dataclass(frozen=True)
class State:
    """The argument of a callback: the current state of the run.

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
    bound_estimate : float
        Online estimate of the gap that the table would prove: the estimated gap plus the mean residual of recent
        batches (NaN without a table, or if the loss does not implement its conjugate).
    table_error : float
        Online estimate of ``||alpha - grad f||_1`` (``"sfw"`` only, NaN elsewhere); ``problem.diameters().inf`` times
        it is an error bar for the estimated gap.
    x : array of shape (d,), or (d, outputs)
        A copy of the iterate.
    problem : Problem
        The problem to minimise.
    solver : Solver
        The solver; internal, not for use in callbacks.
    """

    nit: int
    passes: float
    seconds: float
    gap_estimate: float
    bound_estimate: float
    table_error: float
    x: np.ndarray
    problem: Problem
    solver: Solver = field(repr=False)

    def sampled_gap(self, draws: int = 20) -> SampledGap:
        """Estimate the Frank-Wolfe gap at the iterate, and its error, from a thirty-second of the rows.

        It needs a method whose table approximates the derivatives, such as ``"sfw"``. The loss need not be convex. Call
        it while the callback runs, because later steps change the table. See `frankwolfe.solvers.sampled_gap`.
        """
        if not np.array_equal(self.problem.shaped(self.solver.point()), self.x):
            raise ValueError("sampled_gap must be called while the callback runs: the run has made steps since then")
        return sampled_gap(self.problem, self.solver.point(), self.solver.evidence(), self.solver.steps, draws)

    def evaluate(self) -> Evaluation:
        """Return the exact objective, gradient and gap at the iterate. This takes a pass over the data."""
        return self.problem.evaluate(self.x)


Callback = Callable[[State], bool | None]


class TableError(Saved):
    """Online estimate of the table's error ``H = ||alpha - grad f||_1``, from the changes of the table since a mark.

    A step refreshes ``b`` of ``n`` random rows, so its expected change of the table is ``b / n`` times the table's
    error. `theory.Diameters.inf` times this estimate is an error bar for the estimated gap.
    """

    remembered = ("since", "change")

    def __init__(self, solver: Solver):
        self.solver, self.since = solver, solver.steps
        self.change: float | None = None

    def mark(self, change: float | None) -> None:
        """Restart the estimate. ``change`` is the sum of all changes of the table so far."""
        self.since, self.change = self.solver.steps, change

    @property
    def steps(self) -> int:
        """Number of steps since the mark."""
        return self.solver.steps - self.since

    def estimate(self, change: float | None) -> float:
        """Return the estimate, given the sum of all changes so far: infinite before a step, NaN without a table."""
        if change is None or self.change is None:
            return float("nan")
        if self.steps == 0:
            return float("inf")
        return (change - self.change) / self.steps * self.solver.problem.n / self.solver.batch_size


SLICE_SECONDS = 0.05
"""Target duration of a call into compiled code. Ctrl-C, time limits and the progress bar react with this delay."""


def steps_between_looks(problem: Problem, rows_a_step: int | None) -> int:
    """Return the number of steps between two evaluations of the estimated gap in a long run.

    An evaluation costs O(d). Between two of them at least a quarter pass is read, and at least 2 d stored values. If
    ``rows_a_step`` is None, every step yields an exact gap, and the result is 1.
    """
    if rows_a_step is None:
        return 1
    stored = problem.samples.rows.stored() // max(1, problem.outputs)
    look = max(problem.n / 4, 4096, 2 * problem.size * problem.n / max(stored, 1))
    return max(1, int(look / rows_a_step))


def next_on_grid(step: int, points_a_decade: int) -> int:
    """Return the next step on a geometric grid with ``points_a_decade`` points for each factor of ten."""
    return max(step + 1, int(np.ceil(step * 10.0 ** (1.0 / points_a_decade))))


class Stage(StrEnum):
    """Next stage of a run."""

    LOOK = "look"
    CERTIFY = "certify"
    ADVANCE = "advance"


class Driver(Saved):
    """Run a solver until a tolerance, a limit or an interruption stops it, and build the result.

    Tracing and callbacks do not count as time of the method.

    Parameters
    ----------
    solver : Solver
        A new solver, or one that has made steps already and continues.
    limits : Limits
        Limits of the run.
    callback : callable or None
        As in `frankwolfe.minimize`.
    bar : Progress
        The progress bar.
    trace : int
        Number of traced points for each factor of ten in the number of steps. With 0 no iterate is stored, and only
        known numbers are noted.
    start : Start, optional
        The starting point and its certificate, if there is one.
    likely : bool
        Whether a likely bound stops the run. No pass is then made for a certificate.
    checkpoints : Checkpoints, optional
        Writer of checkpoints.
    """

    remembered = (
        *("next_look", "planned", "first_step", "points_a_decade", "next_trace"),
        *("gap_estimate", "bound_estimate", "bound_error", "table_error"),
    )

    def __init__(
        self,
        solver: Solver,
        limits: Limits,
        callback: Callback | None,
        bar: Progress,
        trace: int,
        start: Start | None = None,
        likely: bool = False,
        checkpoints: "Checkpoints | None" = None,
    ):
        self.solver, self.limits, self.callback, self.bar = solver, limits, callback, bar
        self.checkpoints, self.watch = checkpoints, Stopwatch()
        self.likely = LikelyStop(solver, self.watch) if likely else None
        self.certifier = Certifier(solver, self.watch, start or Start(), wanted=limits.tol > 0.0 and not likely)
        self.next_look, self.stage, self.planned, self.resumed = 0, Stage.LOOK, False, False
        self.look_every = steps_between_looks(solver.problem, solver.rows_a_step)
        self.slice = max(1, 1024 // (solver.rows_a_step or solver.problem.n))
        self.first_step, self.points_a_decade = solver.steps, trace
        self.trace, self.next_trace = Trace(solver.problem), 0 if trace else np.inf
        self.gap_estimate, self.bound_estimate, self.bound_error, self.table_error = np.inf, np.nan, np.nan, np.nan
        self.table = TableError(solver)
        self.evidence: Evidence  # of the last look

    @property
    def nit(self) -> int:
        """Number of steps of this run so far."""
        return self.solver.steps - self.first_step

    @property
    def passes(self) -> float:
        """Gradient evaluations so far, divided by n."""
        return self.solver.rows_read / self.solver.problem.n

    def _members(self) -> dict[str, Any]:
        """Return the members that have a state of their own, by their names in that of the run."""
        found = {"certifier": self.certifier, "watch": self.watch, "table": self.table, "trace": self.trace}
        return found if self.likely is None else found | {"likely": self.likely}

    def state(self) -> dict[str, Any]:
        """Return the state from which `restore` continues. Arrays are not copied."""
        found = under("solver", self.solver.state()) | under("driver", super().state() | {"stage": str(self.stage)})
        for name, member in self._members().items():
            found |= under(name, member.state())
        return found

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state. Call this before `drive`; the solver must have been restored already."""
        super().restore(below("driver", state))
        self.stage, self.resumed = Stage(state["driver.stage"]), True
        if self.points_a_decade == 0 and self.next_trace < np.inf:
            raise ValueError("it traces the next point, and no points at all")
        for name, member in self._members().items():
            member.restore(below(name, state))

    # --- the run ------------------------------------------------------------------------------------------------

    def drive(self) -> Status:
        """Run the solver to the end and return the status. Write checkpoints, also if an error ends the run."""
        checkpoints = self.checkpoints
        try:
            self._begin()
            known = self._known_end()
            if checkpoints is not None:
                checkpoints.begin(self)
            status = known or self._run()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except BaseException:
            if checkpoints is not None:
                checkpoints.end()
            raise
        if checkpoints is not None:
            checkpoints.end(None if status is Status.INTERRUPTED else self)
        return status

    def _begin(self) -> None:
        """Pass budget and tolerance to solver and certifier, and get the first evidence."""
        problem = self.solver.problem
        tolerance = problem.tolerance(self.limits.tol)
        with self.watch.charged():
            self.solver.begin(self.limits.passes * problem.n + 1e-9, tolerance, self.certifier.bound)
            self.evidence = self.solver.evidence()
        if self.table.steps == 0:
            self.table.mark(self.evidence.table_change)
        self.certifier.aim_at(self.evidence, tolerance, self.limits.side_tol)

    def _known_end(self) -> Status | None:
        """Return the status if the run is over before its first step, else None.

        That is so if the start is certified, or if a resumed run had met its tolerance.
        """
        if self.resumed and self.likely is not None and self.likely.has_met(self.certifier.tolerance):
            return Status.LIKELY
        certified = self.certifier.has_met() if self.resumed else self.certifier.start_is_certified()
        return Status.CONVERGED if certified else None

    def _run(self) -> Status:
        """Repeat the stages look, certify and advance until the run ends. Return its status."""
        while True:
            status = self._look() if self.stage is Stage.LOOK else None
            if status is None and self.stage is Stage.CERTIFY:
                status = self._certify_if_due()
            status = status or self._limit_reached() or self._advance_to(self._next_stop())
            if status is not None:
                return status

    def _next_stop(self) -> float:
        """Return the next step to stop at: for the estimated gap, the trace or an exact evaluation of the solver."""
        certificate = self.nit + max(1.0, self.evidence.steps_to_exact)
        return min(self.next_look, max(self.next_trace, self.nit + 1), certificate)

    def _advance_to(self, goal: float) -> Status | None:
        """Make steps up to number ``goal``, in slices of about `SLICE_SECONDS`. Return the status if the run is over.

        The clock determines the slices, but no step depends on them.
        """
        while self.stage is Stage.ADVANCE:
            steps = int(min(self.slice, goal - self.nit))
            before = self.watch.seconds
            self.solver.deadline = perf_counter() + self.limits.seconds - before
            with self.watch.charged():
                made = self.solver.advance(steps)
            if made < steps and self.solver.finished() is Status.NON_FINITE:
                return Status.NON_FINITE
            if made == steps == self.slice:  # adapt to the duration of a full slice
                seconds = max(self.watch.seconds - before, 1e-6)
                self.slice = max(1, int(self.slice * min(4.0, max(0.25, SLICE_SECONDS / seconds))))
            if made < steps or self.nit >= goal:
                self.stage = Stage.LOOK
            self.bar.update(self.passes)
            if self.checkpoints is not None and made == steps:
                self.checkpoints.offer(self)
            if self.watch.seconds >= self.limits.seconds:
                return Status.MAX_SECONDS
        return None

    # --- stops between steps ------------------------------------------------------------------------------------

    def _look(self) -> Status | None:
        """Evaluate the estimated gap, trace the iterate if due, and call back. Return the status if the run is over.

        Looks are geometrically spaced at first, later even.
        """
        self.planned = self.nit >= self.next_look
        self._estimate(renew=self.planned)
        if self.planned:
            with self.watch.charged():
                self.certifier.note_bounds(self.evidence)
            evenly = (self.nit // self.look_every + 1) * self.look_every
            # The spacing does not depend on the trace, so certificates are made at the same steps with and without one.
            self.next_look = min(evenly, next_on_grid(self.nit, 10))
        self._trace_if_due()
        self.stage = Stage.CERTIFY  # set first: a run that is resumed after the callback's stop does not look again
        return Status.CALLBACK if self._callback_stops() else None

    def _estimate(self, renew: bool = False) -> None:
        """Update the estimates of the gap and of the table's error; with ``renew``, restart the latter if it is old."""
        with self.watch.charged(certificate=True):  # the estimates decide when to certify
            found = self.evidence = self.solver.evidence()
        self.gap_estimate, self.bound_error = found.gap_estimate, found.residual_error
        self.bound_estimate = max(found.gap_estimate, 0.0) + found.residual
        self.table_error = self.table.estimate(found.table_change)
        if renew and self.table.steps >= self.look_every:
            self.table.mark(found.table_change)
        self.bar.update(self.passes, f"estimated gap {self.gap_estimate:.2e}")

    def _numbers(self) -> dict[str, Any]:
        """Return the numbers that are known without further computation."""
        names = ("nit", "passes", "gap_estimate", "bound_estimate", "table_error")
        return {name: getattr(self, name) for name in names} | {"seconds": self.watch.seconds}

    def _trace_if_due(self) -> None:
        """Trace the iterate if its step is on the grid. With ``trace=0``, note only the numbers that are known."""
        lower_bound = self.certifier.bound.value
        if self.nit >= self.next_trace:
            self._record(lower_bound=lower_bound)
            self.next_trace = next_on_grid(self.nit, self.points_a_decade)
        elif not self.points_a_decade and self.nit >= next_on_grid(self.trace.last_nit(), 10):
            exact = self.evidence.exact
            known = {} if exact is None else {"fun": exact.value, "fw_gap": exact.gap}
            self.trace.note(**self._numbers(), lower_bound=lower_bound, **known)

    def _record(self, **known: float) -> None:
        """Add the iterate to the trace, with known numbers. The trace computes exact ones when they are read."""
        table = self.evidence.table
        if not (isinstance(table, np.ndarray) and has_dual(self.solver.problem.loss)):
            table = None  # it proves nothing, or is not in this process
        self.trace.record(self.solver.point(), table, self.evidence.multipliers, **self._numbers(), **known)

    def _callback_stops(self) -> bool:
        """Call the callback, if there is one. Return whether it requests a stop."""
        if self.callback is None:
            return False
        solver, problem = self.solver, self.solver.problem
        known = self._numbers()
        outcome = self.callback(State(**known, x=problem.shaped(solver.point()), problem=problem, solver=solver))
        if outcome is None or isinstance(outcome, bool | np.bool_):
            return bool(outcome)
        raise TypeError(f"callback must return True (stop), False or None, got {outcome!r}")

    def _certify_if_due(self) -> Status | None:
        """Certify the iterate if that is due. Return the status if the run is over."""
        self.stage = Stage.ADVANCE
        estimate = self.bound_estimate + self.bound_error
        if self.likely is not None:
            return Status.LIKELY if self.planned and self._is_likely(self.likely, estimate) else None
        if self.planned or self.evidence.exact is not None:
            due = self.certifier.due(self.nit, self.passes, self.evidence, estimate)
            if due and self.certifier.meets(self.certifier.certify(self.passes, self.evidence)):
                return Status.CONVERGED
        return None

    def _is_likely(self, likely: LikelyStop, estimate: float) -> bool:
        """Whether a likely bound is due, and is within the tolerance.

        If the start comes from a result whose gap was within the tolerance, a bound is due before the first step.
        """
        tolerance = self.certifier.tolerance
        at_start = self.nit == 0 and 0.0 < self.certifier.start.gap <= tolerance
        due = at_start or likely.due(self.passes, estimate, tolerance)
        return due and likely.take(self.passes, self.evidence) <= tolerance

    def _limit_reached(self) -> Status | None:
        """Return the status if the solver is finished or the time limit is reached, else None."""
        status = self.solver.finished()
        if status is None and self.watch.seconds >= self.limits.seconds:
            return Status.MAX_SECONDS
        return status

    # --- the end ----------------------------------------------------------------------------------------------

    def result(self, status: Status, method: str) -> Result:
        """Certify the last iterate. Return the result for the best certified point.

        With a likely bound instead of certificates, return the last iterate: no pass is made.
        """
        certifier, likely = self.certifier, self.likely
        self._estimate()
        known: dict[str, Any] = {}
        if likely is not None:
            found, w = PointCertificate(float("nan"), float("inf")), self.solver.point()
            known = {"likely_gap": likely.take(self.passes, self.evidence), "confidence": CONFIDENCE}
            self._trace_last()
        else:
            last = certifier.certify(self.passes, self.evidence, at_end=True)
            found, w = certifier.best_at_end()
            if not abs(found.value) < float("inf"):
                status = Status.NON_FINITE
            elif certifier.meets(found):
                status = Status.CONVERGED
            self._trace_last(fun=last.value, gap=last.gap, fw_gap=last.fw_gap, violation=last.violation)
        solver, watch, problem = self.solver, self.watch, self.solver.problem
        checks = certifier.schedule if likely is None else likely
        return Result(
            x=problem.shaped(w),
            intercept=found.intercept,
            fun=found.value,
            gap=found.gap,
            fw_gap=found.fw_gap,
            gap_estimate=self.gap_estimate,
            status=status,
            message=self._message(status, found, known),
            tolerance=certifier.tolerance,
            nit=self.nit,
            passes=self.passes,
            checks=checks.taken,
            certificate_passes=checks.passes,
            seconds=watch.seconds,
            certificate_seconds=watch.certificate_seconds,
            compile_seconds=watch.compile_seconds,
            convex=bool(problem.loss.convex),
            method=method,
            batch_size=solver.batch_size or problem.n,
            trace=self.trace,
            state=self._handed_over(found),
            violation=None if problem.side is None else found.violation,
            violation_tolerance=None if problem.side is None else certifier.violation_tolerance,
            reads=problem.objective.reads,
            prices={} if likely is not None else certifier.bound.prices(w),
            zero_value=problem.zero_value,
            **known,
        )

    def _trace_last(self, **known: float) -> None:
        """Trace the last iterate with known numbers."""
        known["lower_bound"] = self.certifier.bound.value
        if not self.points_a_decade or self.trace.last_nit() != self.nit:
            self._record(**known)
        else:
            self.trace.know_last(**known)

    def _handed_over(self, found: PointCertificate) -> dict[str, Any]:
        """Return the state for a later run. It has the dual point of the gap, if that is not the point's own slopes."""
        state, bound = handed_over(self.solver.state()), self.certifier.bound
        if bound.slopes is not None and found.by_bound:
            state["slopes"] = bound.slopes
            if bound.multipliers is not None:
                state["multipliers"] = bound.multipliers
        return state

    def _message(self, status: Status, found: PointCertificate, likely: Mapping[str, float]) -> str:
        """Return a sentence that describes how the run ended."""
        problem, tolerance, limits = self.solver.problem, self.certifier.tolerance, self.limits
        if status is Status.NON_FINITE:
            return self._what_was_not_finite()
        proof = "distance to a lower bound on the optimum" if found.by_bound else "exact gap"
        so_far = f"the {proof} is {found.gap:.3g}, the tolerance {tolerance:.3g}"
        bounded = beside = ""
        if likely:
            bounded = "with {confidence:.0%} confidence the objective is at most {likely_gap:.3g} above the optimum"
            bounded = bounded.format(**likely)
            so_far = f"{bounded}, and the tolerance is {tolerance:.3g}; nothing is proven"
        if problem.side is not None:
            worst, allowed = f"{found.violation:.3g} of its size", self.certifier.violation_tolerance
            so_far += f"; the worst side constraint is violated by {worst}, the tolerance {allowed:.3g}"
            beside = f", and the worst side constraint is violated by {worst}, within {allowed:.3g}"
        stalled = f"No step lowers the objective any further in floating-point numbers; {so_far}."
        if problem.intercept and np.isinf(found.gap):
            stalled = "The slope in the intercept could not be made zero, so there is no gap: nothing is proven."
        return {
            Status.CONVERGED: f"The {proof} {found.gap:.3g} is within the tolerance {tolerance:.3g}{beside}.",
            Status.MAX_PASSES: f"The budget of {limits.passes:g} passes ended; {so_far}.",
            Status.MAX_SECONDS: f"The budget of {limits.seconds:g} seconds ended; {so_far}.",
            Status.CALLBACK: f"The callback asked to stop; {so_far}.",
            Status.STALLED: stalled,
            Status.INTERRUPTED: f"Interrupted from the keyboard; {so_far}.",
            Status.LIKELY: f"Likely, and not proven: {bounded}, within the tolerance {tolerance:.3g}.",
        }[status]

    def _what_was_not_finite(self) -> str:
        """Return a sentence with the step that failed and, if there is one, the row with a non-finite derivative."""
        alpha, what = self.solver.state().get(f"{ESTIMATE}.alpha"), "objective, the gradient estimate or the step size"
        if alpha is not None and not np.isfinite(alpha).all():
            row = int(np.argwhere(~np.isfinite(alpha))[0, 0])
            what = f"derivative of {type(self.solver.problem.loss).__name__} at row {row}"
        return f"Step {self.nit + 1} was not made: the {what} is not finite. Rescale X or y."
