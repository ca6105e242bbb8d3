"""The gap as a stopping rule: what the free estimate says, what the table proves, what certificates cost."""

from typing import NamedTuple

import numpy as np

from frankwolfe.datasets import Table
from frankwolfe.paper.reference import Reference
from frankwolfe.run import minimize

TOLERANCES = (3e-1, 1e-1, 3e-2, 1e-2, 3e-3)
"""Relative tolerances tried as stopping rules."""


class Stopping(NamedTuple):
    """One run of ``"sfw"`` under observation, and runs that stop by the gap.

    Attributes
    ----------
    table : Table
        The data.
    passes, gap_estimate, error_bar, gap, bound, bound_estimate, suboptimality : array
        Along one run: estimated gap, its free error bar ``D_inf H^``, exact Frank-Wolfe gap, what the table proves (the
        distance to the best lower bound so far) and the online estimate of that, ``F - F*``.
    covered : float
        Share of the points at which the error bar covers the true error of the estimate.
    early : float
        Share of the tolerances at which the estimated gap alone would have stopped the run before it was ``F - F*``.
    overshoot : float
        Median, over all tolerances, of proven gap over tolerance at the point where the online estimate would have
        stopped.
    checks, certified_passes, share : float
        A run with a tolerance: certificates taken, passes made, and the certificates' share of the time.
    """

    table: Table
    passes: np.ndarray
    gap_estimate: np.ndarray
    error_bar: np.ndarray
    gap: np.ndarray
    bound: np.ndarray
    bound_estimate: np.ndarray
    suboptimality: np.ndarray
    covered: float
    early: float
    overshoot: float
    checks: int
    certified_passes: float
    share: float


def observe(table: Table, reference: Reference, passes: float = 50.0, seed: int = 0) -> Stopping:
    """Watch the estimated gap, its error bar and the exact gap along a run."""
    problem = table.problem()
    batch_size = max(1, problem.n // 100)
    run = minimize(problem, "sfw", batch_size=batch_size, tol=0.0, max_passes=passes, random_state=seed, trace=40)
    trace = run.trace
    bar = problem.diameters().inf * trace.table_error
    seen = np.isfinite(bar) & (trace.passes > 0)
    covered = np.abs(trace.fw_gap - trace.gap_estimate)[seen] <= bar[seen]
    above = trace.fun[seen] - reference.value

    early, ratios = [], []
    for tolerance in TOLERANCES:
        wanted = tolerance * problem.zero_value
        triggered = np.flatnonzero(trace.gap_estimate[seen] <= wanted)
        if triggered.size:
            early.append(above[triggered[0]] > wanted)
        triggered = np.flatnonzero(trace.bound_estimate[seen] <= wanted)
        if triggered.size:
            ratios.append(trace.gap[seen][triggered[0]] / wanted)

    certified = minimize(problem, "sfw", batch_size=batch_size, tol=1e-9, max_passes=passes, random_state=seed, trace=0)
    return Stopping(
        table,
        trace.passes[seen],
        trace.gap_estimate[seen],
        bar[seen],
        trace.fw_gap[seen],
        trace.gap[seen],
        trace.bound_estimate[seen],
        above,
        float(covered.mean()),
        float(np.mean(early)) if early else np.nan,
        float(np.median(ratios)) if ratios else np.nan,
        certified.checks,
        certified.passes,
        certified.certificate_seconds / certified.seconds,
    )
