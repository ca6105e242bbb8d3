"""Runs of the tournament: one method on one problem with one seed, and the certified optimum of each problem."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config

import frankwolfe as fw

from .problems import Case, make

REFERENCES = ("auto", "corrective")
"""Methods that are shown for comparison. They do not count when the best method on a problem is determined."""

DETERMINISTIC = ("fw", "away", "pairwise", "blended-pairwise", *REFERENCES)
"""Methods that read all rows in every step: one seed is enough."""

COLUMNS = ("passes", "seconds", "oracle_calls", "fun", "gap", "fw_gap")


class Budget(NamedTuple):
    """Limits of each run, and its batch size; None means the default of each method."""

    max_passes: float = 100.0
    max_seconds: float = 20.0
    batch_size: float | None = None


class Facts(NamedTuple):
    """A problem without its data. The optimum is in ``[lower_bound, best]``; both are NaN for a non-convex loss."""

    name: str
    title: str
    group: str
    n: int
    d: int
    zero_value: float
    best: float
    lower_bound: float
    kappa_share: float


class Run(NamedTuple):
    """A traced run: `trace` holds `COLUMNS` with one value per traced point. A failed run has an `error` instead."""

    problem: str
    method: str
    seed: int
    trace: dict[str, np.ndarray]
    error: str = ""


@lru_cache(maxsize=2)
def _case(name: str, source: str) -> Case:
    return make(name, source)


def facts(name: str, source: str) -> Facts:
    """Bound the optimum of a problem from both sides, to a gap of 1e-9 F(0).

    A problem that cannot be loaded is in the group ``"missing"``, with the message as its title.
    """
    try:
        _case(name, source)
    except (OSError, ValueError) as error:
        return Facts(name, str(error), "missing", 0, 0, *[np.nan] * 4)
    title, group, problem = _case(name, source)
    best = lower = kappa = np.nan
    if group != "non-convex":
        kappa = problem.kappa() / problem.n
        result = fw.minimize(problem, tol=1e-9, max_passes=10_000, max_seconds=120, trace=0, n_threads=1)
        best, lower = result.fun, result.lower_bound
    return Facts(name, title, group, problem.n, problem.d, problem.zero_value, best, lower, kappa)


def trace(problem: fw.Problem, method: Any, seed: int, budget: Budget) -> dict[str, np.ndarray]:
    """Run a method until its budget is exhausted and evaluate the traced points.

    Without a tolerance the run takes no certificates before its end. The trace is evaluated after the run, so neither
    passes nor seconds include it.
    """
    calls: dict[int, int] = {}
    result = fw.minimize(
        problem.over(fw.sets.Counted(problem.constraint)),
        method,
        tol=0.0,
        max_passes=budget.max_passes,
        max_seconds=budget.max_seconds,
        batch_size=None if method in REFERENCES else budget.batch_size,
        random_state=seed,
        callback=lambda state: calls.__setitem__(state.nit, state.problem.constraint.calls),
        trace=10,
        n_threads=1,
    )
    columns = {name: np.asarray(result.trace[name], dtype=float) for name in COLUMNS if name != "oracle_calls"}
    # Every run ends with one certificate, which is not part of the method.
    columns["seconds"][-1] = min(columns["seconds"][-1], result.seconds - result.certificate_seconds)
    columns["seconds"] = np.maximum.accumulate(columns["seconds"])
    columns["oracle_calls"] = np.interp(result.trace.nit, list(calls), list(calls.values()))
    return columns


def play(name: str, source: str, method: str, seeds: int, budget: Budget) -> list[Run]:
    """Run a method with all its seeds on a problem. An exception is recorded, not raised."""
    runs = []
    for seed in range(1 if method in DETERMINISTIC else seeds):
        try:
            runs.append(Run(name, method, seed, trace(_case(name, source).problem, method, seed, budget)))
        except Exception as error:  # One failing method must not stop the others.
            runs.append(Run(name, method, seed, {}, f"{type(error).__name__}: {error}"))
    return runs


def play_all(
    names: Sequence[str], methods: Sequence[str], seeds: int, budget: Budget, source: str, jobs: int
) -> Iterator[Facts | list[Run]]:
    """Yield the facts of every problem and the runs of every method on it, as they finish."""
    tasks = []
    for name in names:
        tasks.append(delayed(facts)(name, source))
        tasks += [delayed(play)(name, source, method, seeds, budget) for method in methods]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(tasks)
