"""The interpreted half of a run: when to look at an engine, and when to stop it."""

from typing import Any

from frankwolfe.engines.certificates import Certifier, Start
from frankwolfe.engines.endings import message, what_was_not_finite
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
    """

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        callback: Callback | None,
        bar: Progress,
        trace: int,
        start: Start | None = None,
    ):
        self.engine, self.limits = engine, limits
        self.watch = Stopwatch()
        self.observer = Observer(engine, self.watch, callback, bar, trace)
        self.certifier = Certifier(engine, self.watch, start or Start(), wanted=limits.tol > 0.0)
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
            tolerance = problem.tolerance(self.limits.tol)
        self.certifier.aim_at(tolerance)
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
        if planned or self.engine.certificate() is not None:
            likely = observer.bound_estimate + observer.bound_error
            due = self.certifier.due(observer.nit, observer.passes, observer.gap_estimate, likely)
            if due and self.certifier.meets(self._certify()):
                return Status.CONVERGED
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
        engine, certifier, observer, watch = self.engine, self.certifier, self.observer, self.watch
        observer.look()
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
        observer.show()
        return Result(
            x=engine.problem.shaped(w),
            intercept=found.intercept,
            fun=found.value,
            gap=found.gap,
            fw_gap=found.fw_gap,
            gap_estimate=observer.gap_estimate,
            status=status,
            message=self._message(status, found),
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
            reads=engine.problem.objective.reads,
        )

    def _handed_over(self, found: Certificate) -> dict[str, Any]:
        """Return what a later run takes over; also the slopes that prove the gap, where the point's own do not."""
        state = self.engine.handed_over() | {"slopes": self.certifier.bound.slopes}
        if state["slopes"] is None or not found.by_bound:
            del state["slopes"]
        return state

    def _message(self, status: Status, found: Certificate) -> str:
        """Say in a sentence how the run ended."""
        problem, certifier = self.engine.problem, self.certifier
        if status is Status.NON_FINITE:
            return what_was_not_finite(problem, self.engine.state(), self.observer.nit + 1)
        return message(status, found, certifier.tolerance, self.limits, problem.intercept)
