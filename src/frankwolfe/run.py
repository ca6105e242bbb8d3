"""`minimize`: one run from arguments to result."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from frankwolfe.certificates import CertificateSchedule
from frankwolfe.engine import Engine, Memory
from frankwolfe.inputs import as_batch_size, as_budget, as_generator, as_vector
from frankwolfe.methods import Method, as_method
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.progress import Progress
from frankwolfe.result import Result, Status, Trace
from frankwolfe.sets.argmax import LazyArgmax

SLICE_SECONDS = 0.05
"""How long one call into compiled code should last: the delay of Ctrl-C, the clock and the progress bar."""

LEAST_LOOK = 4096
"""Fewest gradient evaluations between two looks at the estimated gap."""


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
        Online estimate of ``||alpha - grad f||_1`` (``"sfw"`` only, NaN elsewhere): ``problem.diameters().inf`` times it is
        an error bar for the estimated gap.
    """

    nit: int
    passes: float
    seconds: float
    gap_estimate: float
    table_error: float
    _engine: Engine

    @property
    def x(self) -> np.ndarray:
        """A copy of the iterate."""
        return self._engine.w()

    def evaluate(self) -> Evaluation:
        """Exact objective, gradient and gap at the iterate: a pass over the data."""
        return self._engine.problem.evaluate(self.x)


def minimize(
    problem: Problem,
    method: str | Method = "sfw",
    *,
    step: Any = None,
    batch_size: float | None = None,
    tol: float = 1e-4,
    max_passes: float | None = 100.0,
    max_seconds: float | None = None,
    random_state: Any = None,
    x0: Any = None,
    callback: Callable[[State], bool | None] | None = None,
    progress: bool = False,
    trace: int = 10,
) -> Result:
    """Minimise a problem's objective over its constraint set.

    Parameters
    ----------
    problem : Problem
        Data, loss and set.
    method : str or Method
        ``"sfw"``, ``"fw"``, ``"mokhtari"``, ``"momentum"``, ``"lu-freund"``, or a composition of one's own.
    step : str or step rule, optional
        Instead of the method's own: ``"open-loop"``, ``"short"``, ``"line-search"``, ``"backtracking"`` or an object.
    batch_size : int or float, optional
        Rows a step looks at, or a fraction of them in (0, 1). By default the method's own.
    tol : float
        Stop once the *exact* gap is at most ``tol * F(0)``. Zero runs the budget out.
    max_passes : float or None
        Most gradient evaluations, divided by n. None means no limit, and then ``max_seconds`` must be given.
    max_seconds : float, optional
        Most time of the method itself.
    random_state : int, Generator or None
        Seed of the batches. The same seed gives the same result, bit for bit.
    x0 : array of shape (d,) or Result, optional
        Where to start. From a result, what it remembers of the gradient is taken over and its step count goes on.
    callback : callable, optional
        Called with a `State` now and then; return True to stop.
    progress : bool
        Whether to show a progress bar (needs tqdm).
    trace : int
        Traced points for each factor of ten in the number of steps; 0 keeps only the last point.

    Returns
    -------
    Result

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(2.0))
    >>> result = fw.minimize(problem, method="fw", step="line-search", tol=1e-6)
    >>> result.success, result.x.round(3)
    (True, array([0.5, 1.5]))
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a fw.Problem, got {type(problem).__name__}")
    method = as_method(method, step)
    rows_a_step = as_batch_size(_default_batch(problem, method) if batch_size is None else batch_size, problem.n)
    limits = _Limits(
        as_budget("tol", tol),
        as_budget("max_passes", max_passes, optional=True),
        as_budget("max_seconds", max_seconds, optional=True),
    )
    if np.isinf(limits.passes) and np.isinf(limits.seconds):
        raise ValueError("max_passes=None needs max_seconds: something must end the run")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    if isinstance(trace, float) or not as_budget("trace", trace) < np.inf:
        raise TypeError(f"trace must be an int, the number of points for each factor of ten; got {trace!r}")
    generator = as_generator(random_state)
    w, memory = _start(problem, x0)
    bar = Progress(bool(progress), method.name, limits.passes)
    try:
        engine = Engine(problem, method, rows_a_step, generator, w, memory)
        run = _Run(engine, limits, callback, bar, int(trace))
        status = run.drive()
        return run.result(status, method.name, rows_a_step)
    finally:
        bar.close()


def _default_batch(problem: Problem, method: Method) -> float:
    """Rows a step looks at by default: the method's own number, but 1% where one oracle call costs O(d)."""
    cheap_oracle = isinstance(problem.constraint.scout(1 if problem.d == 1 else 2), LazyArgmax)
    return method.batch_size if cheap_oracle or method.batch_size != 1 else 0.01


def _start(problem: Problem, x0: Any) -> tuple[np.ndarray, Memory | None]:
    """Return the feasible starting point, and what a previous result remembers."""
    if x0 is None:
        return problem.default_start(), None
    w = as_vector("x0", x0.x if isinstance(x0, Result) else x0, problem.d, "columns in X")
    if not problem.constraint.contains(w):
        raise ValueError(
            f"x0 is not in the constraint set {_short(problem.constraint)} (its l1 norm is {np.abs(w).sum():.6g}, its "
            f"entries lie in [{w.min():.6g}, {w.max():.6g}]): start from a feasible point, or leave x0 out"
        )
    return w, x0.memory if isinstance(x0, Result) else None


def _short(part: Any) -> str:
    """Return a part's name, with its fields where they are numbers."""
    fields = ", ".join(f"{name}={value:g}" for name, value in part._asdict().items() if isinstance(value, float))
    return f"{type(part).__name__}({fields})"


@dataclass(frozen=True)
class _Limits:
    tol: float
    passes: float
    seconds: float


class _Run:
    """The interpreted half of a run: when to look, to trace, to certify and to stop."""

    def __init__(self, engine: Engine, limits: _Limits, callback: Any, bar: Progress, trace: int):
        self.engine, self.limits, self.callback, self.bar = engine, limits, callback, bar
        problem = engine.problem
        self.first_step = engine.steps
        self.seconds = self.compile_seconds = 0.0
        self.trace = Trace(problem)
        self.points_a_decade = trace
        self.next_trace = 0 if trace else np.inf
        self.last_step = np.floor(limits.passes * problem.n / engine.evaluations + 1e-9)
        stored = problem.X.size if isinstance(problem.X, np.ndarray) else problem.X.nnz
        # a look costs O(d): at least the rows of a quarter pass, or as many as hold 2 d values, go between two of them
        look = max(problem.n / 4, LEAST_LOOK, 2 * problem.d * problem.n / max(stored, 1))
        self.look_every = max(1, int(look / engine.evaluations))
        self.slice = max(1, 1024 // engine.evaluations)
        self.gap_estimate, self.table_error = np.inf, np.nan
        self.mark = engine.meter()
        self.best: tuple[Evaluation, np.ndarray, int] | None = None

    # --- counters ---------------------------------------------------------------------------------------------

    @property
    def nit(self) -> int:
        return self.engine.steps - self.first_step

    @property
    def passes(self) -> float:
        return self.nit * self.engine.evaluations / self.engine.problem.n

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
            self.tolerance = self.limits.tol * self.engine.problem.zero_value  # also loads the exact pass
            self.compile_seconds = perf_counter() - begun
            self.schedule = CertificateSchedule(self.tolerance)
            while True:
                status = self._checkpoint()
                if status is None:
                    status = self._advance_to(self._next_checkpoint())
                if status is not None:
                    return status
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def _next_checkpoint(self) -> float:
        look = (self.nit // self.look_every + 1) * self.look_every
        return min(look, max(self.next_trace, self.nit + 1), self.last_step)

    def _advance_to(self, goal: float) -> Status | None:
        """Make steps, a slice of time at a time, until step number ``goal``."""
        while self.nit < goal:
            steps = int(min(self.slice, goal - self.nit))
            before = self.seconds
            with self._charged():
                made = self.engine.advance(steps)
            if made < steps:
                return Status.NON_FINITE
            spent = self.seconds - before
            self.slice = max(1, int(self.slice * min(4.0, max(0.25, SLICE_SECONDS / max(spent, 1e-6)))))
            self.bar.update(self.passes)
            if self.seconds >= self.limits.seconds:
                return Status.MAX_SECONDS
        return None

    def _checkpoint(self) -> Status | None:
        """Look at the estimated gap; trace, call back, certify as they fall due; say if the run is over."""
        with self._charged():
            self.gap_estimate = self.engine.gap_estimate()
            self._read_meter()
        self.bar.update(self.passes, self.gap_estimate)
        if self.nit >= self.next_trace:
            self._record()
            ratio = 10.0 ** (1.0 / self.points_a_decade)
            self.next_trace = max(self.nit + 1, int(np.ceil(self.nit * ratio)))
        if self.callback is not None and self._call_back():
            return Status.CALLBACK
        if self.schedule.due(self.passes, self.gap_estimate) and self._certify().gap <= self.tolerance:
            return Status.CONVERGED
        if self.nit >= self.last_step:
            return Status.MAX_PASSES
        return Status.MAX_SECONDS if self.seconds >= self.limits.seconds else None

    def _record(self, **known: float) -> None:
        numbers = {
            "nit": self.nit,
            "passes": self.passes,
            "seconds": self.seconds,
            "gap_estimate": self.gap_estimate,
        }
        self.trace.record(self.engine.w(), **numbers, **known)

    def _call_back(self) -> bool:
        state = State(self.nit, self.passes, self.seconds, self.gap_estimate, self.table_error, self.engine)
        outcome = self.callback(state)
        if outcome is None or isinstance(outcome, bool | np.bool_):
            return bool(outcome)
        raise TypeError(f"callback must return True (stop), False or None, got {outcome!r}")

    def _certify(self) -> Evaluation:
        """Take the exact gap at the iterate, unless the last one was taken at this very step."""
        if self.best is not None and self.best[2] == self.nit:
            return self.best[0]
        with self._charged():
            w = self.engine.w()
            found = self.engine.problem.evaluate(w)
        self.schedule.note(self.passes, found.gap, self.gap_estimate)
        if self.best is None or not found.value > self.best[0].value or found.gap <= self.tolerance:
            self.best = (found, w, self.nit)
        return found

    # --- the end ----------------------------------------------------------------------------------------------

    def result(self, status: Status, method: str, batch_size: int) -> Result:
        """Certify the last iterate and return the best point that has been certified."""
        last = self._certify()
        assert self.best is not None
        found, w, _ = self.best
        if not np.isfinite(found.value):
            status = Status.NON_FINITE
        elif found.gap <= self.tolerance and self.tolerance > 0.0:
            status = Status.CONVERGED
        if self.trace.last_nit() != self.nit:
            self._record(fun=last.value, gap=last.gap)
        self.bar.update(self.passes, self.gap_estimate)
        return Result(
            x=w,
            fun=found.value,
            gap=found.gap,
            gap_estimate=self.gap_estimate,
            status=status,
            message=self._message(status, found.gap),
            tolerance=self.tolerance,
            nit=self.nit,
            passes=self.passes,
            checks=self.schedule.taken,
            seconds=self.seconds,
            compile_seconds=self.compile_seconds,
            convex=bool(getattr(self.engine.problem.loss, "convex", False)),
            method=method,
            batch_size=batch_size,
            trace=self.trace,
            memory=self.engine.memory(),
        )

    def _message(self, status: Status, gap: float) -> str:
        """Say in a sentence how the run ended."""
        if status is Status.NON_FINITE:
            return self._what_was_not_finite()
        so_far = f"the exact gap is {gap:.3g}, the tolerance {self.tolerance:.3g}"
        reasons = {
            Status.CONVERGED: f"The exact gap {gap:.3g} is within the tolerance {self.tolerance:.3g}.",
            Status.MAX_PASSES: f"The budget of {self.limits.passes:g} passes ended; {so_far}.",
            Status.MAX_SECONDS: f"The budget of {self.limits.seconds:g} seconds ended; {so_far}.",
            Status.CALLBACK: f"The callback asked to stop; {so_far}.",
            Status.INTERRUPTED: f"Interrupted from the keyboard; {so_far}.",
        }
        return reasons[status]

    def _what_was_not_finite(self) -> str:
        loss, row = type(self.engine.problem.loss).__name__, self.engine.first_bad_row()
        where = f"Step {self.nit + 1} was not made"
        if row is not None:
            return f"{where}: the derivative of {loss} at row {row} is not finite. Rescale X or y."
        return f"{where}: the objective, the gradient estimate or the step size is not finite. Rescale X or y."
