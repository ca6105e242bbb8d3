"""Runs along ascending radii, each started where the last one ended."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frankwolfe.arguments.settings import as_budget, as_threads
from frankwolfe.compile.waiting import timed
from frankwolfe.engines.corrective.choose import engine_for
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.methods.table import as_method, pick
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status
from frankwolfe.run import driven, minimize, shown
from frankwolfe.running.driver import Driver
from frankwolfe.running.limits import Limits
from frankwolfe.sets.named import carried
from frankwolfe.shards.local import executor_for


def follow(problem: Problem, radii: Sequence[float] | np.ndarray, **options: Any) -> Iterator[Result]:
    """Yield the answers at ascending radii; each run takes over the point and what is remembered of the gradient.

    An answer that was interrupted is the last.

    Parameters
    ----------
    problem : Problem
        Whose set has a radius; the one it has does not matter.
    radii : array
        Ascending.
    **options : dict
        For `minimize`.
    """
    live = _LiveRun.of(problem, **options)
    before: Result | None = None
    last = problem.constraint
    for radius in radii:
        here = problem.over(last.with_radius(float(radius)))
        if live is not None:
            before = live.at(here)
        else:
            start = None if before is None else carried(before.x, last, here.constraint)
            x0 = None if before is None or start is None else replace(before, x=start)
            before = minimize(here, x0=x0, trace=0, **options)
        last = here.constraint
        yield before
        if before.status is Status.INTERRUPTED:
            return


def until_interrupted(results: Iterable[Result]) -> list[Result]:
    """Return the answers there are when somebody interrupts, or all of them."""
    found: list[Result] = []
    try:
        found.extend(results)  # one by one: those before an interrupt stay
    except KeyboardInterrupt:
        if not found:
            raise
    return found


class _LiveRun:
    """The corrective method's engine, taken from radius to radius with all that it has: atoms, columns, Hessian."""

    def __init__(self, limits: Limits, name: str, n_threads: int | None):
        self.limits, self.name, self.executor = limits, name, executor_for(n_threads)
        self.engine: Any = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 100.0,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        **others: Any,
    ) -> "_LiveRun | None":
        """Return one where the method and the set allow it."""
        limits = Limits(
            as_budget("tol", tol),
            as_budget("max_passes", max_passes, optional=True),
            as_budget("max_seconds", max_seconds, optional=True),
        )
        chosen = as_method(method)
        chosen = pick(limits.passes, problem.needs_smoothing) if chosen.engine == "auto" else chosen
        by_coordinates = problem.constraint.structure().hull is not None
        fits = chosen.engine == "corrective" and by_coordinates and np.isfinite(limits.passes)
        fits = fits and not problem.on_cluster  # whose engine is another: runs start from the last answer there
        return cls(limits, chosen.name, as_threads(n_threads)) if fits else None

    @timed
    @single_threaded
    def at(self, problem: Problem) -> Result:
        """Return the answer over another set."""
        bar = shown(problem, self.name, self.limits)
        problem = problem.own(self.executor)
        if self.engine is None or not self.engine.move_to(problem):
            self.engine = engine_for(problem)(problem, problem.default_start())
        return driven(Driver(self.engine, self.limits, None, bar, trace=0), self.name)
