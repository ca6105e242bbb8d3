"""The interpreted half of a run: when to look at an engine, and when to stop it."""

from dataclasses import replace
from typing import Any

from frankwolfe.engines.certificates import Certifier, Start
from frankwolfe.engines.endings import message, what_was_not_finite
from frankwolfe.engines.likely import CONFIDENCE, LikelyStop
from frankwolfe.engines.limits import Limits, Stopwatch
from frankwolfe.engines.lower_bound import Certificate
from frankwolfe.engines.observer import Callback, Observer, next_on_grid
from frankwolfe.engines.protocol import Engine
from frankwolfe.problem import Problem
from frankwolfe.progress import Progress
from frankwolfe.result import Result, Status

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


class Driver:
    """Drives an engine until something ends the run, and makes the result.

    Parameters
    ----------
    engine : Engine
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
    """

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        callback: Callback | None,
        bar: Progress,
        trace: int,
        start: Start | None = None,
        likely: bool = False,
    ):
        self.engine, self.limits = engine, limits
        self.watch = Stopwatch()
        self.observer = Observer(engine, self.watch, callback, bar, trace)
        self.likely = LikelyStop(engine, self.watch) if likely else None
        self.certifier = Certifier(engine, self.watch, start or Start(), wanted=limits.tol > 0.0 and not likely)
        self.next_look = 0
        self.look_every = steps_between_looks(engine.problem, engine.rows_a_step)
        self.slice = max(1, 1024 // (engine.rows_a_step or engine.problem.n))

    # --- the run ----------------------------------------------------------------------------------------------

    def drive(self) -> Status:
        """Run until something ends it; say what."""
        try:
            self._begin()
            if self.certifier.start_is_certified():
                return Status.CONVERGED
            while True:
                status = self._checkpoint()
                if status is None:
                    status = self._advance_to(self._next_checkpoint())
                if status is not None:
                    return status
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def _begin(self) -> None:
        """Compile, and tell everyone what the run is up to."""
        problem = self.engine.problem
        with self.watch.compiling():
            self.engine.warm_up()
            if self.likely is not None:
                self.likely.warm_up()
            tolerance = problem.tolerance(self.limits.tol)
            violation_tolerance = problem.violation_tolerance(self.limits.tol)
        self.certifier.aim_at(tolerance, violation_tolerance)
        with self.watch.charged():
            self.engine.begin(self.limits.passes * problem.n + 1e-9, tolerance)

    def _next_checkpoint(self) -> float:
        nit = self.observer.nit
        certificate = nit + max(1.0, self.engine.steps_to_certificate())
        return min(self.next_look, max(self.observer.next_trace, nit + 1), certificate)

    def _look_after(self) -> int:
        """Return the step of the next look: ever later in a short run, evenly spaced in a long one."""
        nit = self.observer.nit
        evenly = (nit // self.look_every + 1) * self.look_every
        return min(evenly, next_on_grid(nit, LOOKS_A_DECADE))

    def _advance_to(self, goal: float) -> Status | None:
        """Make steps, a slice of time at a time, until step number ``goal`` or as far as the engine can."""
        while self.observer.nit < goal:
            steps = int(min(self.slice, goal - self.observer.nit))
            before = self.watch.seconds
            with self.watch.charged():
                made = self.engine.advance(steps)
            if made < steps and self.engine.finished() is Status.NON_FINITE:
                return Status.NON_FINITE
            if made == steps == self.slice:  # a call cut short says nothing about how long a slice lasts
                spent = max(self.watch.seconds - before, 1e-6)
                self.slice = max(1, int(self.slice * min(4.0, max(0.25, SLICE_SECONDS / spent))))
            self.observer.show(gap=False)
            if self.watch.seconds >= self.limits.seconds:
                return Status.MAX_SECONDS
            if made < steps:
                return None
        return None

    def _checkpoint(self) -> Status | None:
        """Look at the estimated gap; trace, call back, certify as they fall due; say if the run is over."""
        observer = self.observer
        planned = observer.nit >= self.next_look
        if planned:
            observer.look(renew_after=self.look_every)
            with self.watch.charged():
                self.certifier.note_dual_value()
        else:
            observer.look()
        observer.show()
        observer.trace_if_due(self.certifier.bound.value)
        if observer.asked_to_stop():
            return Status.CALLBACK
        if planned:
            self.next_look = self._look_after()
        likely = observer.bound_estimate + observer.bound_error
        if self.likely is not None:
            if planned and self._is_likely(likely):
                return Status.LIKELY
        elif planned or self.engine.certificate() is not None:
            due = self.certifier.due(observer.nit, observer.passes, observer.gap_estimate, likely)
            if due and self.certifier.meets(self._certify()):
                return Status.CONVERGED
        return self._exhausted()

    def _is_likely(self, estimate: float) -> bool:
        """Whether the iterate is within the tolerance with high probability; a sample of rows tells, if it is due.

        A start that was within the tolerance, by the result that it comes from, is looked at before a step is made.
        """
        assert self.likely is not None
        passes, tolerance = self.observer.passes, self.certifier.tolerance
        at_start = self.observer.nit == 0 and 0.0 < self.certifier.start.gap <= tolerance
        if not (at_start or self.likely.due(passes, estimate, tolerance)):
            return False
        return self.likely.take(passes) <= tolerance

    def _exhausted(self) -> Status | None:
        """Why no further step can be made, or None."""
        status = self.engine.finished()
        if status is None and self.watch.seconds >= self.limits.seconds:
            return Status.MAX_SECONDS
        return status

    def _certify(self, at_end: bool = False) -> Certificate:
        """Certify the iterate."""
        return self.certifier.certify(self.observer.passes, self.observer.gap_estimate, at_end)

    # --- the end ----------------------------------------------------------------------------------------------

    def result(self, status: Status, method: str) -> Result:
        """Certify the last iterate and return the best point that has been certified."""
        certifier, observer = self.certifier, self.observer
        observer.look()
        if self.likely is not None:
            return self._likely_result(status, method, self.likely)
        last = self._certify(at_end=True)
        certifier.recall_start()
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
        bound = likely.take(self.observer.passes)
        self.observer.trace_end()
        unproven = Certificate(float("nan"), float("inf"))
        return replace(
            self._result(status, method, unproven, self.engine.point(), (bound, CONFIDENCE)),
            checks=likely.taken,
            certificate_passes=likely.passes,
            likely_gap=bound,
            confidence=CONFIDENCE,
        )

    def _result(
        self, status: Status, method: str, found: Certificate, w: Any, likely: tuple[float, float] | None = None
    ) -> Result:
        """Return a point and what is known of it."""
        engine, certifier, observer, watch = self.engine, self.certifier, self.observer, self.watch
        observer.show()
        return Result(
            x=engine.problem.shaped(w),
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
            convex=bool(engine.problem.loss.convex),
            method=method,
            batch_size=engine.batch_size or engine.problem.n,
            trace=observer.trace,
            state=self._handed_over(found),
            violation=None if engine.problem.side is None else found.violation,
            violation_tolerance=None if engine.problem.side is None else certifier.violation_tolerance,
        )

    def _handed_over(self, found: Certificate) -> dict[str, Any]:
        """Return what a later run takes over; also the slopes that prove the gap, where the point's own do not."""
        state, bound = self.engine.handed_over(), self.certifier.bound
        if bound.slopes is not None and found.by_bound:
            state["slopes"] = bound.slopes
            if bound.multipliers is not None:
                state["multipliers"] = bound.multipliers
        return state

    def _message(self, status: Status, found: Certificate, likely: tuple[float, float] | None) -> str:
        """Say in a sentence how the run ended."""
        problem, certifier = self.engine.problem, self.certifier
        if status is Status.NON_FINITE:
            return what_was_not_finite(problem, self.engine.state(), self.observer.nit + 1)
        allowed = None if problem.side is None else certifier.violation_tolerance
        return message(status, found, certifier.tolerance, self.limits, problem.intercept, likely, allowed)
