"""The driver of a run. It advances a solver, monitors and certifies its iterate, and decides when to stop."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.display import Progress
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status
from frankwolfe.running.certifier import Certifier, PointCertificate, Start
from frankwolfe.running.likely import CONFIDENCE, LikelyStop
from frankwolfe.running.observer import Callback, Observer, Stopwatch, next_on_grid
from frankwolfe.solvers.protocol import Solver
from frankwolfe.solvers.state import ESTIMATE, below, handed_over, under

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

    def require_an_end(self) -> None:
        """Raise ValueError if neither passes nor seconds are limited."""
        if self.passes == self.seconds == float("inf"):
            raise ValueError("max_passes=None needs max_seconds: something must end the run")


SLICE_SECONDS = 0.05
"""Target duration of a call into compiled code. Ctrl-C, time limits and the progress bar react with this delay."""

LEAST_LOOK = 4096
"""Fewest gradient evaluations between two evaluations of the estimated gap, in a long run."""

LOOKS_A_DECADE = 10
"""Evaluations of the estimated gap for each factor of ten in the number of steps, in a short run. They do not depend on
the trace, so that certificates are made at the same steps with and without one."""


def steps_between_looks(problem: Problem, rows_a_step: int | None) -> int:
    """Return the number of steps between two evaluations of the estimated gap in a long run.

    An evaluation costs O(d). Between two of them at least a quarter pass is read, and at least 2 d stored values. If
    ``rows_a_step`` is None, every step yields an exact gap, and the result is 1.
    """
    if rows_a_step is None:
        return 1
    stored = problem.samples.rows.stored() // max(1, problem.outputs)
    look = max(problem.n / 4, LEAST_LOOK, 2 * problem.size * problem.n / max(stored, 1))
    return max(1, int(look / rows_a_step))


class Stage(StrEnum):
    """Next stage of a run."""

    LOOK = "look"
    CERTIFY = "certify"
    ADVANCE = "advance"


class Driver:
    """Run a solver until a tolerance, a limit or an interruption stops it, and build the result.

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
        Number of traced points for each factor of ten in the number of steps.
    start : Start, optional
        The starting point and its certificate, if there is one.
    likely : bool
        Whether a likely bound stops the run. No pass is then made for a certificate.
    checkpoints : Checkpoints, optional
        Writer of checkpoints.
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

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state from which `restore` continues. Arrays are not copied."""
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
        """Continue from a saved state. Call this before `drive`; the solver must have been restored already."""
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
        """Pass budget and tolerance to solver, observer and certifier."""
        problem = self.solver.problem
        tolerance = problem.tolerance(self.limits.tol)
        with self.watch.charged():
            self.solver.begin(self.limits.passes * problem.n + 1e-9, tolerance, self.certifier.bound)
            self.observer.begin()
        self.certifier.aim_at(self.observer.evidence, tolerance, self.limits.side_tol)

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
        nit = self.observer.nit
        certificate = nit + max(1.0, self.observer.evidence.steps_to_exact)
        return min(self.next_look, max(self.observer.next_trace, nit + 1), certificate)

    def _look_after(self) -> int:
        """Return the step of the next planned look. They are geometrically spaced at first, later evenly."""
        nit = self.observer.nit
        evenly = (nit // self.look_every + 1) * self.look_every
        return min(evenly, next_on_grid(nit, LOOKS_A_DECADE))

    def _advance_to(self, goal: float) -> Status | None:
        """Make steps up to number ``goal``, in slices of about `SLICE_SECONDS`. Return the status if the run is over.

        The clock determines the slices, but no step depends on them.
        """
        while self.stage is Stage.ADVANCE:
            steps = int(min(self.slice, goal - self.observer.nit))
            before = self.watch.seconds
            self.solver.deadline = perf_counter() + self.limits.seconds - before
            with self.watch.charged():
                made = self.solver.advance(steps)
            if made < steps and self.solver.finished() is Status.NON_FINITE:
                return Status.NON_FINITE
            if made == steps == self.slice:  # adapt to the duration of a full slice
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
        """Evaluate the estimated gap, trace the iterate if due, and call back. Return the status if the run is over."""
        observer = self.observer
        self.planned = observer.nit >= self.next_look
        if self.planned:
            observer.look(renew_after=self.look_every)
            with self.watch.charged():
                self.certifier.note_bounds(observer.evidence)
            self.next_look = self._look_after()
        else:
            observer.look()
        observer.show()
        observer.trace_if_due(self.certifier.bound.value)
        self.stage = Stage.CERTIFY  # set first: a run that is resumed after the callback's stop does not look again
        return Status.CALLBACK if observer.asked_to_stop() else None

    def _certify_if_due(self) -> Status | None:
        """Certify the iterate if that is due. Return the status if the run is over."""
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
        """Whether a likely bound is due, and is within the tolerance.

        If the start comes from a result whose gap was within the tolerance, a bound is due before the first step.
        """
        assert self.likely is not None
        passes, tolerance = self.observer.passes, self.certifier.tolerance
        at_start = self.observer.nit == 0 and 0.0 < self.certifier.start.gap <= tolerance
        if not (at_start or self.likely.due(passes, estimate, tolerance)):
            return False
        return self.likely.take(passes, self.observer.evidence) <= tolerance

    def _limit_reached(self) -> Status | None:
        """Return the status if the solver is finished or the time limit is reached, else None."""
        status = self.solver.finished()
        if status is None and self.watch.seconds >= self.limits.seconds:
            return Status.MAX_SECONDS
        return status

    def _certify(self, at_end: bool = False) -> PointCertificate:
        """Certify the iterate."""
        return self.certifier.certify(self.observer.passes, self.observer.evidence, at_end)

    # --- the end ----------------------------------------------------------------------------------------------

    def result(self, status: Status, method: str) -> Result:
        """Certify the last iterate. Return the result for the best certified point."""
        certifier, observer = self.certifier, self.observer
        observer.look()
        if self.likely is not None:
            return self._likely_result(status, method, self.likely)
        last = self._certify(at_end=True)
        certifier.recall_start()
        certifier.prove_best()
        assert certifier.best is not None
        found, w = certifier.best
        found = found.above(certifier.bound)
        if not abs(found.value) < float("inf"):
            status = Status.NON_FINITE
        elif certifier.meets(found):
            status = Status.CONVERGED
        known = {"fun": last.value, "gap": last.gap, "fw_gap": last.fw_gap, "violation": last.violation}
        observer.trace_last(**known, lower_bound=certifier.bound.value)
        return self._result(status, method, found, w)

    def _likely_result(self, status: Status, method: str, likely: LikelyStop) -> Result:
        """Return the result for the last iterate, with a likely bound instead of a certificate. No pass is made."""
        bound = likely.take(self.observer.passes, self.observer.evidence)
        self.observer.trace_last(lower_bound=self.certifier.bound.value)
        unproven = PointCertificate(float("nan"), float("inf"))
        return replace(
            self._result(status, method, unproven, self.solver.point(), (bound, CONFIDENCE)),
            checks=likely.taken,
            certificate_passes=likely.passes,
            likely_gap=bound,
            confidence=CONFIDENCE,
        )

    def _result(
        self, status: Status, method: str, found: PointCertificate, w: Any, likely: tuple[float, float] | None = None
    ) -> Result:
        """Return the result for the point ``w`` with the certificate ``found``."""
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
            prices={} if likely is not None else certifier.bound.prices(w),
            zero_value=solver.problem.zero_value,
        )

    def _handed_over(self, found: PointCertificate) -> dict[str, Any]:
        """Return the state for a later run. It has the dual point of the gap, if that is not the point's own slopes."""
        state, bound = handed_over(self.solver.state()), self.certifier.bound
        if bound.slopes is not None and found.by_bound:
            state["slopes"] = bound.slopes
            if bound.multipliers is not None:
                state["multipliers"] = bound.multipliers
        return state

    def _message(self, status: Status, found: PointCertificate, likely: tuple[float, float] | None) -> str:
        """Return a sentence that describes how the run ended."""
        problem, tolerance, limits = self.solver.problem, self.certifier.tolerance, self.limits
        if status is Status.NON_FINITE:
            return self._what_was_not_finite()
        proof = "distance to a lower bound on the optimum" if found.by_bound else "exact gap"
        so_far = f"the {proof} is {found.gap:.3g}, the tolerance {tolerance:.3g}"
        bounded = beside = ""
        if likely is not None:
            bounded = f"with {likely[1]:.0%} confidence the objective is at most {likely[0]:.3g} above the optimum"
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
        return f"Step {self.observer.nit + 1} was not made: the {what} is not finite. Rescale X or y."
