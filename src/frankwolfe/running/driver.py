"""The driver of a run: when to look at a solver, when to certify, and when to stop."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.display import Progress
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status
from frankwolfe.running.certifier import Certificate, Certifier, Start
from frankwolfe.running.likely import CONFIDENCE, LikelyStop
from frankwolfe.running.limits import Limits, Stopwatch
from frankwolfe.running.observer import Callback, Observer, next_on_grid
from frankwolfe.solvers.protocol import Solver
from frankwolfe.solvers.state import ESTIMATE, below, handed_over, under

if TYPE_CHECKING:
    from frankwolfe.running.checkpoints import Checkpoints


def message(
    status: Status,
    found: Certificate,
    tolerance: float,
    limits: Limits,
    intercept: bool,
    likely: tuple[float, float] | None = None,
    violation_tolerance: float | None = None,
) -> str:
    """Say in a sentence how a run ended; for one that met what is not finite, see `what_was_not_finite`.

    Parameters
    ----------
    status : Status
        How it ended.
    found : Certificate
        At the point that is returned.
    tolerance : float
        The gap that would have ended it.
    limits : Limits
        Of the run.
    intercept : bool
        Whether the problem has one.
    likely : (float, float), optional
        A likely bound and its confidence, where the run was to prove nothing.
    violation_tolerance : float, optional
        The violation of side constraints that it may end with, where there are any.
    """
    proof = "distance to a lower bound on the optimum" if found.by_bound else "exact gap"
    so_far = f"the {proof} is {found.gap:.3g}, the tolerance {tolerance:.3g}"
    bounded = beside = ""
    if likely is not None:
        bounded = f"with {likely[1]:.0%} confidence the objective is at most {likely[0]:.3g} above the optimum"
        so_far = f"{bounded}, and the tolerance is {tolerance:.3g}; nothing is proven"
    if violation_tolerance is not None:
        worst = f"{found.violation:.3g} of its size"
        so_far += f"; the worst side constraint is violated by {worst}, the tolerance {violation_tolerance:.3g}"
        beside = f", and the worst side constraint is violated by {worst}, within {violation_tolerance:.3g}"
    stalled = f"No step lowers the objective any further in floating-point numbers; {so_far}."
    if intercept and np.isinf(found.gap):
        stalled = "The slope in the intercept could not be made zero, so there is no gap: nothing is proven."
    reasons = {
        Status.CONVERGED: f"The {proof} {found.gap:.3g} is within the tolerance {tolerance:.3g}{beside}.",
        Status.MAX_PASSES: f"The budget of {limits.passes:g} passes ended; {so_far}.",
        Status.MAX_SECONDS: f"The budget of {limits.seconds:g} seconds ended; {so_far}.",
        Status.CALLBACK: f"The callback asked to stop; {so_far}.",
        Status.STALLED: stalled,
        Status.INTERRUPTED: f"Interrupted from the keyboard; {so_far}.",
        Status.LIKELY: f"Likely, and not proven: {bounded}, within the tolerance {tolerance:.3g}.",
    }
    return reasons[status]


def what_was_not_finite(problem: Problem, state: Mapping[str, Any], step: int) -> str:
    """Say which step was not made, and at which row the derivative is not finite, if there is one."""
    where, row = f"Step {step} was not made", first_bad_row(state.get(f"{ESTIMATE}.alpha"))
    if row is not None:
        loss = type(problem.loss).__name__
        return f"{where}: the derivative of {loss} at row {row} is not finite. Rescale X or y."
    return f"{where}: the objective, the gradient estimate or the step size is not finite. Rescale X or y."


def first_bad_row(alpha: np.ndarray | None) -> int | None:
    """Return the row whose remembered derivative is not finite, if there is one."""
    if alpha is None or np.isfinite(alpha).all():
        return None
    return int(np.argwhere(~np.isfinite(alpha))[0, 0])


SLICE_SECONDS = 0.05
"""How long one call into compiled code should last: the delay of Ctrl-C, the clock and the progress bar."""

LEAST_LOOK = 4096
"""Fewest gradient evaluations between two looks at the estimated gap, once a run is long."""

LOOKS_A_DECADE = 10
"""Looks for each factor of ten in the number of steps, while a run is short. What is traced has no part in it: a run
takes its certificates at the same steps whoever watches."""


def steps_between_looks(problem: Problem, rows_a_step: int | None) -> int:
    """Return how many steps go between two looks at the estimated gap in a long run.

    A look costs O(d): at least the rows of a quarter pass, or as many as hold 2 d values, go between two of them.
    Where the estimate is exact, as with steps of unknown cost, every step is looked at.
    """
    if rows_a_step is None:
        return 1
    stored = problem.samples.rows.stored() // max(1, problem.outputs)
    look = max(problem.n / 4, LEAST_LOOK, 2 * problem.size * problem.n / max(stored, 1))
    return max(1, int(look / rows_a_step))


class Stage(StrEnum):
    """What a run does next."""

    LOOK = "look"
    CERTIFY = "certify"
    ADVANCE = "advance"


class Driver:
    """Drives a solver until something ends the run, and makes the result.

    Parameters
    ----------
    solver : Solver
        New, or used before: then it goes on.
    limits : Limits
        What ends the run.
    callback : callable or None
        As `frankwolfe.minimize` takes it.
    bar : Progress
        The progress bar.
    trace : int
        Traced points for each factor of ten in the number of steps.
    start : Start, optional
        Where the run starts, and what is known of that.
    likely : bool
        Whether a likely bound ends the run, and no pass is taken to prove one.
    checkpoints : Checkpoints, optional
        What keeps the run's `state`, so that another one can go on from it.
    """

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
        self.solver, self.limits, self.checkpoints = solver, limits, checkpoints
        self.watch = Stopwatch()
        self.observer = Observer(solver, self.watch, callback, bar, trace)
        self.likely = LikelyStop(solver, self.watch) if likely else None
        self.certifier = Certifier(solver, self.watch, start or Start(), wanted=limits.tol > 0.0 and not likely)
        self.next_look, self.stage, self.planned, self.resumed = 0, Stage.LOOK, False, False
        self.look_every = steps_between_looks(solver.problem, solver.rows_a_step)
        self.slice = max(1, 1024 // (solver.rows_a_step or solver.problem.n))

    # --- what another run can go on from ------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the run's own."""
        plan = {"next_look": self.next_look, "stage": str(self.stage), "planned": self.planned}
        return (
            under("solver", self.solver.state())
            | under("observer", self.observer.state())
            | under("certifier", self.certifier.state())
            | under("watch", self.watch.state())
            | under("likely", {} if self.likely is None else self.likely.state())
            | under("driver", plan)
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the run with this state was, whose solver this one's is; before it is driven."""
        plan = below("driver", state)
        self.next_look, self.stage, self.planned = plan["next_look"], Stage(plan["stage"]), plan["planned"]
        self.observer.restore(below("observer", state))
        self.certifier.restore(below("certifier", state))
        if self.likely is not None:
            self.likely.restore(below("likely", state))
        self.watch.restore(below("watch", state))
        self.resumed = True

    # --- the run ------------------------------------------------------------------------------------------------

    def drive(self) -> Status:
        """Run until something ends it; say what."""
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
        """Compile, and tell everyone what the run is up to."""
        problem = self.solver.problem
        with self.watch.waiting.counted():
            self.solver.warm_up()
        tolerance = problem.tolerance(self.limits.tol)
        with self.watch.charged():
            self.solver.begin(self.limits.passes * problem.n + 1e-9, tolerance)
            self.observer.begin()
        self.certifier.aim_at(self.observer.evidence, tolerance, self.limits.side_tol)

    def _known_end(self) -> Status | None:
        """Say if nothing is left to do: the start is good enough, or the run had ended before it was resumed."""
        if self.resumed and self.likely is not None and self.likely.has_met(self.certifier.tolerance):
            return Status.LIKELY
        certified = self.certifier.has_met() if self.resumed else self.certifier.start_is_certified()
        return Status.CONVERGED if certified else None

    def _run(self) -> Status:
        """Look, certify and advance in turn, until something ends the run."""
        while True:
            status = self._look() if self.stage is Stage.LOOK else None
            if status is None and self.stage is Stage.CERTIFY:
                status = self._certify_if_due()
            status = status or self._limit_reached() or self._advance_to(self._next_stop())
            if status is not None:
                return status

    def _next_stop(self) -> float:
        """Return the step of the next look, planned or not."""
        nit = self.observer.nit
        certificate = nit + max(1.0, self.observer.evidence.steps_to_exact)
        return min(self.next_look, max(self.observer.next_trace, nit + 1), certificate)

    def _look_after(self) -> int:
        """Return the step of the next look: ever later in a short run, evenly spaced in a long one."""
        nit = self.observer.nit
        evenly = (nit // self.look_every + 1) * self.look_every
        return min(evenly, next_on_grid(nit, LOOKS_A_DECADE))

    def _advance_to(self, goal: float) -> Status | None:
        """Make steps, a slice of time at a time, until step number ``goal`` or as far as the solver can.

        Where slices end is a matter of the clock, and no step depends on it.
        """
        while self.stage is Stage.ADVANCE:
            steps = int(min(self.slice, goal - self.observer.nit))
            before = self.watch.seconds
            with self.watch.charged():
                made = self.solver.advance(steps)
            if made < steps and self.solver.finished() is Status.NON_FINITE:
                return Status.NON_FINITE
            if made == steps == self.slice:  # a call cut short says nothing about how long a slice lasts
                spent = max(self.watch.seconds - before, 1e-6)
                self.slice = max(1, int(self.slice * min(4.0, max(0.25, SLICE_SECONDS / spent))))
            if made < steps or self.observer.nit >= goal:
                self.stage = Stage.LOOK
            self.observer.show(gap=False)
            if self.checkpoints is not None and made == steps:
                self.checkpoints.offer(self)
            if self.watch.seconds >= self.limits.seconds:
                return Status.MAX_SECONDS
        return None

    def _look(self) -> Status | None:
        """Look at the estimated gap; trace and call back as they fall due; say if the run is over."""
        observer = self.observer
        self.planned = observer.nit >= self.next_look
        if self.planned:
            observer.look(renew_after=self.look_every)
            with self.watch.charged():
                self.certifier.note_conjugates(observer.evidence)
            self.next_look = self._look_after()
        else:
            observer.look()
        observer.show()
        observer.trace_if_due(self.certifier.bound.value)
        self.stage = Stage.CERTIFY  # what goes on after a callback that asks to stop need not look again
        return Status.CALLBACK if observer.asked_to_stop() else None

    def _certify_if_due(self) -> Status | None:
        """Certify what was looked at, if that is due; say if the run is over."""
        observer, self.stage = self.observer, Stage.ADVANCE
        estimate = observer.bound_estimate + observer.bound_error
        if self.likely is not None:
            return Status.LIKELY if self.planned and self._is_likely(estimate) else None
        if self.planned or observer.evidence.exact is not None:
            due = self.certifier.due(observer.nit, observer.passes, observer.evidence, estimate)
            if due and self.certifier.meets(self._certify()):
                return Status.CONVERGED
        return None

    def _is_likely(self, estimate: float) -> bool:
        """Whether the iterate is within the tolerance with high probability; a sample of rows tells, if it is due.

        A start that was within the tolerance, by the result that it comes from, is looked at before a step is made.
        """
        assert self.likely is not None
        passes, tolerance = self.observer.passes, self.certifier.tolerance
        at_start = self.observer.nit == 0 and 0.0 < self.certifier.start.gap <= tolerance
        if not (at_start or self.likely.due(passes, estimate, tolerance)):
            return False
        return self.likely.take(passes, self.observer.evidence) <= tolerance

    def _limit_reached(self) -> Status | None:
        """Say if no further step can be made, or none in time."""
        status = self.solver.finished()
        if status is None and self.watch.seconds >= self.limits.seconds:
            return Status.MAX_SECONDS
        return status

    def _certify(self, at_end: bool = False) -> Certificate:
        """Certify the iterate."""
        return self.certifier.certify(self.observer.passes, self.observer.evidence, at_end)

    # --- the end ----------------------------------------------------------------------------------------------

    def result(self, status: Status, method: str) -> Result:
        """Certify the last iterate and return the best point that has been certified."""
        certifier, observer = self.certifier, self.observer
        observer.look()
        if self.likely is not None:
            return self._likely_result(status, method, self.likely)
        last = self._certify(at_end=True)
        certifier.recall_start()
        certifier.prove_best()
        assert certifier.best is not None
        found, w = certifier.best
        found = certifier.bound.lower(found)
        if not abs(found.value) < float("inf"):
            status = Status.NON_FINITE
        elif certifier.meets(found):
            status = Status.CONVERGED
        observer.trace_last(last, certifier.bound.value)
        return self._result(status, method, found, w)

    def _likely_result(self, status: Status, method: str, likely: LikelyStop) -> Result:
        """Return the last iterate with a likely bound: nothing is proven, and no pass is taken."""
        bound = likely.take(self.observer.passes, self.observer.evidence)
        self.observer.trace_end()
        unproven = Certificate(float("nan"), float("inf"))
        return replace(
            self._result(status, method, unproven, self.solver.point(), (bound, CONFIDENCE)),
            checks=likely.taken,
            certificate_passes=likely.passes,
            likely_gap=bound,
            confidence=CONFIDENCE,
        )

    def _result(
        self, status: Status, method: str, found: Certificate, w: Any, likely: tuple[float, float] | None = None
    ) -> Result:
        """Return a point and what is known of it."""
        solver, certifier, observer, watch = self.solver, self.certifier, self.observer, self.watch
        observer.show()
        return Result(
            x=solver.problem.shaped(w),
            intercept=found.intercept,
            fun=found.value,
            gap=found.gap,
            fw_gap=found.fw_gap,
            gap_estimate=observer.gap_estimate,
            status=status,
            message=self._message(status, found, likely),
            tolerance=certifier.tolerance,
            nit=observer.nit,
            passes=observer.passes,
            checks=certifier.schedule.taken,
            certificate_passes=certifier.schedule.passes,
            seconds=watch.seconds,
            certificate_seconds=watch.certificate_seconds,
            compile_seconds=watch.compile_seconds,
            convex=bool(solver.problem.loss.convex),
            method=method,
            batch_size=solver.batch_size or solver.problem.n,
            trace=observer.trace,
            state=self._handed_over(found),
            violation=None if solver.problem.side is None else found.violation,
            violation_tolerance=None if solver.problem.side is None else certifier.violation_tolerance,
            reads=solver.problem.objective.reads,
        )

    def _handed_over(self, found: Certificate) -> dict[str, Any]:
        """Return what a later run takes over; also the slopes that prove the gap, where the point's own do not."""
        state, bound = handed_over(self.solver.state()), self.certifier.bound
        if bound.slopes is not None and found.by_bound:
            state["slopes"] = bound.slopes
            if bound.multipliers is not None:
                state["multipliers"] = bound.multipliers
        return state

    def _message(self, status: Status, found: Certificate, likely: tuple[float, float] | None) -> str:
        """Say in a sentence how the run ended."""
        problem, certifier = self.solver.problem, self.certifier
        if status is Status.NON_FINITE:
            return what_was_not_finite(problem, self.solver.state(), self.observer.nit + 1)
        allowed = None if problem.side is None else certifier.violation_tolerance
        return message(status, found, certifier.tolerance, self.limits, problem.intercept, likely, allowed)
