"""Monitoring of a run: its time, the estimated gap, the trace, the callback and the progress bar."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from frankwolfe.compile.waiting import Waiting, waiting
from frankwolfe.display import Progress
from frankwolfe.losses import has_dual
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Trace
from frankwolfe.solvers.protocol import Evidence, Solver
from frankwolfe.solvers.sampled_gap import SampledGap, sampled_gap
from frankwolfe.solvers.state import Saved, below, under


@dataclass
class Stopwatch:
    """Times of a run: of the method, of its certificates (which are included), and of compilation (which is not)."""

    seconds: float = 0.0
    certificate_seconds: float = 0.0
    waiting: Waiting = field(default_factory=waiting)
    earlier_compile_seconds: float = 0.0

    @property
    def compile_seconds(self) -> float:
        """Time of importing numba, loading kernels from the cache, and compiling."""
        return self.earlier_compile_seconds + self.waiting.seconds

    def charged(self, certificate: bool = False) -> "Charged":
        """Return a context manager that adds the time of its block, without compilation, to that of the method.

        With ``certificate``, the time is also added to that of certificates.
        """
        return Charged(self, certificate)

    def state(self) -> dict[str, float]:
        """Return the times as state entries."""
        names = ("seconds", "certificate_seconds", "compile_seconds")
        return {name: getattr(self, name) for name in names}

    def restore(self, state: Mapping[str, float]) -> None:
        """Set the times from a saved state."""
        self.seconds, self.certificate_seconds = state["seconds"], state["certificate_seconds"]
        self.earlier_compile_seconds = state["compile_seconds"]


class Charged:
    """Context manager of `Stopwatch.charged`. As a generator it would cost several per cent of a small problem."""

    __slots__ = ("begun", "certificate", "compiled", "watch")

    def __init__(self, watch: Stopwatch, certificate: bool):
        self.watch, self.certificate = watch, certificate

    def __enter__(self) -> None:
        self.compiled, self.begun = self.watch.waiting.seconds, perf_counter()

    def __exit__(self, *_: object) -> None:
        compiled = self.watch.waiting.seconds - self.compiled
        spent = max(0.0, perf_counter() - self.begun - compiled)
        self.watch.seconds += spent
        if self.certificate:
            self.watch.certificate_seconds += spent


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
            raise ValueError("sampled_gap must be asked while the callback runs: the run has gone on since")
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


def next_on_grid(step: int, points_a_decade: int) -> int:
    """Return the next step on a geometric grid with ``points_a_decade`` points for each factor of ten."""
    return max(step + 1, int(np.ceil(step * 10.0 ** (1.0 / points_a_decade))))


FREE_POINTS = 10
"""With ``trace=0``, number of points for each factor of ten in the number of steps at which known numbers are noted."""


class Observer(Saved):
    """Monitor a solver, and report to the trace, the callback and the progress bar.

    Parameters
    ----------
    solver : Solver
        The solver of the run.
    watch : Stopwatch
        Stopwatch for the estimated gaps. Tracing and callbacks do not count as time of the method.
    callback : callable, optional
        Function of a `State`. It returns True to stop the run.
    bar : Progress
        The progress bar.
    points_a_decade : int
        Number of traced points for each factor of ten in the number of steps. With 0 no iterate is stored, and only
        known numbers are noted.
    """

    remembered = (
        *("first_step", "points_a_decade", "next_trace"),
        *("gap_estimate", "bound_estimate", "bound_error", "table_error"),
    )

    def __init__(
        self, solver: Solver, watch: Stopwatch, callback: Callback | None, bar: Progress, points_a_decade: int
    ):
        self.solver, self.watch, self.callback, self.bar = solver, watch, callback, bar
        self.first_step = solver.steps
        self.points_a_decade = points_a_decade
        self.trace = Trace(solver.problem)
        self.next_trace = 0 if points_a_decade else np.inf
        self.gap_estimate, self.bound_estimate, self.table_error = np.inf, np.nan, np.nan
        self.bound_error = np.nan
        self._table = TableError(solver)
        self._evidence: Evidence | None = None

    def begin(self) -> None:
        """Get the first evidence, after `Solver.begin`, and set the first mark of the table's error."""
        self._evidence = self.solver.evidence()
        if self._table.steps == 0:
            self._table.mark(self._evidence.table_change)

    @property
    def evidence(self) -> Evidence:
        """The solver's evidence at the last look."""
        assert self._evidence is not None
        return self._evidence

    def state(self) -> dict[str, Any]:
        """Return the state: the last numbers, the trace, and the step of the next traced point."""
        return super().state() | under("table", self._table.state()) | under("trace", self.trace.state())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        super().restore(state)
        if self.points_a_decade == 0 and self.next_trace < np.inf:
            raise ValueError("it traces the next point, and no points at all")
        self._table.restore(below("table", state))
        self.trace.restore(below("trace", state))

    @property
    def nit(self) -> int:
        """Number of steps of this run so far."""
        return self.solver.steps - self.first_step

    @property
    def passes(self) -> float:
        """Gradient evaluations so far, divided by n."""
        return self.solver.rows_read / self.solver.problem.n

    def look(self, renew_after: float = np.inf) -> None:
        """Update the estimated gap and the estimate of the table's error.

        A new mark for the table's error is set if the last one is at least ``renew_after`` steps old.
        """
        with self.watch.charged(certificate=True):  # the estimates decide when to certify
            found = self._evidence = self.solver.evidence()
        self.gap_estimate, self.bound_error = found.gap_estimate, found.residual_error
        self.bound_estimate = max(found.gap_estimate, 0.0) + found.residual
        self.table_error = self._table.estimate(found.table_change)
        if self._table.steps >= renew_after:
            self._table.mark(found.table_change)

    def show(self, gap: bool = True) -> None:
        """Update the progress bar, with or without the estimated gap."""
        self.bar.update(self.passes, f"estimated gap {self.gap_estimate:.2e}" if gap else "")

    def trace_if_due(self, lower_bound: float) -> None:
        """Trace the iterate, with the best lower bound so far, if its step is on the grid.

        With ``trace=0``, note only the numbers that are known.
        """
        if self.nit >= self.next_trace:
            self._record(lower_bound=lower_bound)
            self.next_trace = next_on_grid(self.nit, self.points_a_decade)
        elif not self.points_a_decade and self.nit >= next_on_grid(self.trace.last_nit(), FREE_POINTS):
            exact = self.evidence.exact
            known = {} if exact is None else {"fun": exact.value, "fw_gap": exact.gap}
            self.trace.note(**self._numbers(), lower_bound=lower_bound, **known)

    def trace_last(self, **known: float) -> None:
        """Trace the last iterate with known numbers. The trace computes exact ones when they are read."""
        if not self.points_a_decade or self.trace.last_nit() != self.nit:
            self._record(**known)
        else:
            self.trace.know_last(**known)

    def _numbers(self) -> dict[str, float]:
        """Return the numbers that are known without further computation."""
        return {
            "nit": self.nit,
            "passes": self.passes,
            "seconds": self.watch.seconds,
            "gap_estimate": self.gap_estimate,
            "bound_estimate": self.bound_estimate,
            "table_error": self.table_error,
        }

    def _record(self, **known: float) -> None:
        table = self.evidence.table
        if not (isinstance(table, np.ndarray) and has_dual(self.solver.problem.loss)):
            table = None  # it proves nothing, or is not in this process
        self.trace.record(self.solver.point(), table, self.evidence.multipliers, **self._numbers(), **known)

    def asked_to_stop(self) -> bool:
        """Call the callback, if there is one. Return whether it requests a stop."""
        if self.callback is None:
            return False
        solver, problem = self.solver, self.solver.problem
        known: Any = self._numbers()
        outcome = self.callback(State(**known, x=problem.shaped(solver.point()), problem=problem, solver=solver))
        if outcome is None or isinstance(outcome, bool | np.bool_):
            return bool(outcome)
        raise TypeError(f"callback must return True (stop), False or None, got {outcome!r}")
