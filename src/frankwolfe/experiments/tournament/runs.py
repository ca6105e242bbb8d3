"""One run of the tournament: how it is measured, and what is kept of it."""

import traceback
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.methods.table import Method
from frankwolfe.problem import Problem
from frankwolfe.run import minimize
from frankwolfe.sets import Counted

COLUMNS = ("passes", "seconds", "oracle_calls", "fun", "gap", "fw_gap")
"""What is known of every traced point of a run."""

REFERENCE_TOLERANCE = 1e-9
"""Gap of the reference optimum, relative to F(0)."""


class Budget(NamedTuple):
    """What ends a run, and how it is looked at.

    Attributes
    ----------
    max_passes : float
        Gradient evaluations, divided by n.
    max_seconds : float
        Time of the method.
    batch_size : int, float or None
        As `frankwolfe.minimize` takes it; None: each method's own.
    points_a_decade : int
        Traced points for each factor of ten in the number of steps.
    """

    max_passes: float = 100.0
    max_seconds: float = 20.0
    batch_size: float | None = None
    points_a_decade: int = 10


@dataclass(frozen=True)
class Run:
    """A method on a problem with a seed.

    Attributes
    ----------
    problem, method : str
        Their names.
    seed : int
        Of the batches.
    error : str
        What went wrong; empty where nothing did.
    status : str
        How the run ended (`frankwolfe.Status`).
    batch_size : int
        Rows a step looked at.
    columns : dict of arrays
        ``passes``, ``seconds``, ``oracle_calls``, ``fun``, ``gap`` (proven) and ``fw_gap`` (exact), a value a point.
    """

    problem: str
    method: str
    seed: int
    error: str = ""
    status: str = ""
    batch_size: int = 0
    columns: dict[str, np.ndarray] = field(default_factory=lambda: {name: np.empty(0) for name in COLUMNS})

    @property
    def failed(self) -> bool:
        """Whether an error ended it."""
        return bool(self.error)


@dataclass(frozen=True)
class Facts:
    """What is known of a problem, with its certified optimum.

    Attributes
    ----------
    problem : str
        Its name.
    error : str
        What went wrong; empty where nothing did.
    n, d, stored : int
        Rows, columns, stored values.
    convex : bool
        Whether its loss is.
    zero_value : float
        ``F(0)``.
    best, lower_bound : float
        The optimum lies between them; NaN where the loss is not convex.
    kappa_share, norm_product : float
        ``kappa / n`` and ``D_1 D_inf / D_2^2``, which the theory's rate grows with; NaN where they are not known.
    """

    problem: str
    error: str = ""
    n: int = 0
    d: int = 0
    stored: int = 0
    convex: bool = True
    zero_value: float = np.nan
    best: float = np.nan
    lower_bound: float = np.nan
    kappa_share: float = np.nan
    norm_product: float = np.nan

    @property
    def failed(self) -> bool:
        """Whether an error ended the work on it."""
        return bool(self.error)


class Task(NamedTuple):
    """A piece of work: a run, or, where ``method`` is None, the facts of a problem."""

    problem: str
    method: Method | None
    seed: int = 0

    @property
    def name(self) -> str:
        """The method's name."""
        return "" if self.method is None else self.method.name

    def failure(self, why: str) -> Run | Facts:
        """Return what is kept of a piece of work that went wrong."""
        if self.method is None:
            return Facts(self.problem, error=why)
        return Run(self.problem, self.name, self.seed, error=why)


def performed(task: Task, problem: Problem, budget: Budget) -> Run | Facts:
    """Do a piece of work; an error is kept, not raised."""
    try:
        return facts_of(task.problem, problem) if task.method is None else measured(task, problem, budget)
    except Exception as error:  # whatever a method or a set does wrong must not stop the others
        place = traceback.extract_tb(error.__traceback__)[-1]
        return task.failure(f"{type(error).__name__}: {error} ({place.filename.rpartition('/')[2]}:{place.lineno})")


def measured(task: Task, problem: Problem, budget: Budget) -> Run:
    """Run a method through its whole budget and evaluate what was traced.

    No tolerance ends the run, so it takes no certificates. The trace keeps iterates; they are evaluated when the run is
    over, and neither that nor the keeping is in its seconds. Oracle calls are counted by the set, which costs nothing
    that could be measured.
    """
    assert task.method is not None
    counted = Counted(problem.constraint)
    posed = problem.over(counted)
    calls: dict[int, int] = {}

    def look(state: Any) -> None:
        calls[state.nit] = state.problem.constraint.calls

    result = minimize(
        posed,
        task.method,
        tol=0.0,
        max_passes=budget.max_passes,
        max_seconds=budget.max_seconds,
        batch_size=None if task.method.engine != "loop" else budget.batch_size,
        random_state=task.seed,
        callback=look,
        trace=budget.points_a_decade,
        n_threads=1,
    )
    trace = result.trace
    seconds = trace.seconds
    seconds[-1] = min(seconds[-1], result.seconds - result.certificate_seconds)  # one is taken at the end of every run
    columns = {name: np.asarray(trace[name], dtype=float) for name in ("passes", "fun", "gap", "fw_gap")}
    columns["seconds"] = np.maximum.accumulate(seconds)
    columns["oracle_calls"] = np.interp(trace.nit, list(calls), list(calls.values()))
    columns = {name: columns[name] for name in COLUMNS}
    return Run(task.problem, task.name, task.seed, "", str(result.status), result.batch_size, columns)


def facts_of(key: str, problem: Problem) -> Facts:
    """Describe a problem and, where its loss is convex, bound its optimum from both sides."""
    kappa = product = best = lower = np.nan
    if problem.constraint.knows_diameters():
        one, two, inf, _ = problem.diameters()
        kappa, product = problem.kappa() / problem.n, one * inf / two**2 if two > 0.0 else np.nan
    if problem.loss.convex:
        found = minimize(problem, tol=REFERENCE_TOLERANCE, max_passes=10_000.0, max_seconds=120.0, trace=0, n_threads=1)
        best, lower = found.fun, found.lower_bound
    stored = int(problem.samples.rows.stored())
    zero = problem.zero_value
    return Facts(
        key, "", problem.n, problem.d, stored, bool(problem.loss.convex), zero, best, lower, kappa, float(product)
    )
