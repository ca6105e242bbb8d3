"""Figure 1 and Tables 1 and 2 of the paper: how fast the methods come down on the three problems."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from frankwolfe.datasets import Table
from frankwolfe.paper.reference import Reference, certified_optimum
from frankwolfe.problem import Problem
from frankwolfe.run import minimize

PAPER_METHODS = ("sfw", "mokhtari", "lu-freund")
EXTRA_METHODS = ("momentum", "fw")

THEORY_EXPONENTS = {"sfw": -1.0, "mokhtari": -1 / 3, "lu-freund": -1.0, "momentum": -1 / 3, "fw": -1.0}
"""Exponents of t in the convex rates of the paper's Table 1."""

TAIL = 0.1
"""Slopes are fitted to the part of a curve beyond this share of its passes: the last factor of ten."""


class Curve(NamedTuple):
    """One method's runs, traced at the same steps for every seed.

    Attributes
    ----------
    method : str
        Its name.
    nit, passes : array of shape (points,)
        Steps (each one oracle call) and passes of each point.
    seconds : array of shape (points,)
        Mean time of the method over the seeds.
    fun, gap, gap_estimate : array of shape (seeds, points)
        Exact objective, exact gap and estimated gap.
    """

    method: str
    nit: np.ndarray
    passes: np.ndarray
    seconds: np.ndarray
    fun: np.ndarray
    gap: np.ndarray
    gap_estimate: np.ndarray


class Race(NamedTuple):
    """All methods on one problem."""

    table: Table
    problem: Problem
    reference: Reference
    batch_size: int
    curves: dict[str, Curve]

    def extremes(self) -> tuple[float, float]:
        """Return the paper's ``f_min`` and ``f_max``: smallest and largest objective met by any compared method."""
        seen = np.concatenate([curve.fun.ravel() for curve in self.curves.values()])
        return float(seen.min()), float(seen.max())

    def relative(self, curve: Curve) -> np.ndarray:
        """Return the paper's relative suboptimality ``(F - f_min) / (f_max - f_min)``, a row for each seed."""
        low, high = self.extremes()
        return (curve.fun - low) / (high - low)

    def suboptimality(self, curve: Curve) -> np.ndarray:
        """Return the true ``F - F*``, a row for each seed."""
        return curve.fun - self.reference.value

    def slope(self, curve: Curve) -> float:
        """Slope of log(mean F - F*) against log(passes), fitted to the tail."""
        mean = self.suboptimality(curve).mean(axis=0)
        tail = (curve.passes >= TAIL * curve.passes[-1]) & (mean > 0.0)
        return float(np.polyfit(np.log(curve.passes[tail]), np.log(mean[tail]), 1)[0]) if tail.sum() > 1 else np.nan

    def winner(self) -> str:
        """Paper's method with the lowest mean relative suboptimality at the end."""
        last = {name: self.relative(self.curves[name])[:, -1].mean() for name in PAPER_METHODS if name in self.curves}
        return min(last, key=lambda name: last[name])


def race(
    table: Table,
    methods: Sequence[str] = PAPER_METHODS + EXTRA_METHODS,
    seeds: Sequence[int] = (0, 1, 2),
    passes: float = 50.0,
    tell: Callable[[str], None] = lambda text: None,
) -> Race:
    """Run all methods on one problem, each seed giving all stochastic methods the same rows in the same order.

    Parameters
    ----------
    table : Table
        The data (see `frankwolfe.datasets.load`).
    methods : sequence of str
        Names of methods.
    seeds : sequence of int
        Seeds of the batches.
    passes : float
        Budget of each run.
    tell : callable
        Called with a line before each piece of work, for a progress display.

    Returns
    -------
    Race
    """
    problem = table.problem()
    batch_size = max(1, problem.n // 100)
    tell(f"{table.title}: reference optimum")
    reference = certified_optimum(problem)
    curves = {}
    for method in methods:
        runs = []
        for seed in seeds if method != "fw" else seeds[:1]:  # the full gradient leaves nothing to chance
            tell(f"{table.title}: {method}, seed {seed}")
            result = minimize(problem, method, batch_size=batch_size, tol=0.0, max_passes=passes, random_state=seed)
            runs.append(result.trace)
        curves[method] = Curve(
            method,
            runs[0].nit,
            runs[0].passes,
            np.mean([run.seconds for run in runs], axis=0),
            *(np.array([run[column] for run in runs]) for column in ("fun", "fw_gap", "gap_estimate")),
        )
    return Race(table, problem, reference, batch_size, curves)
