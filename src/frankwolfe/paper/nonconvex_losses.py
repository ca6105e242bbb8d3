"""Non-convex losses: the exact gap, a measure of stationarity, going to zero."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frankwolfe.datasets import Table
from frankwolfe.losses import Cauchy, Sigmoid
from frankwolfe.problem import Problem
from frankwolfe.run import minimize
from frankwolfe.sets import L1Ball

METHODS = ("sfw", "fw")


class Descent(NamedTuple):
    """Runs on one non-convex problem.

    Attributes
    ----------
    title : str
        Data and loss.
    passes : dict of arrays
        By method.
    gap : dict of arrays of shape (seeds, points)
        Exact gap, by method.
    """

    title: str
    passes: dict[str, np.ndarray]
    gap: dict[str, np.ndarray]

    def least_gap(self, method: str) -> float:
        """Mean over the seeds of the smallest exact gap along a run, which is what the theorem speaks of."""
        return float(self.gap[method].min(axis=1).mean())


def nonconvex_problem(table: Table, seed: int = 0) -> tuple[str, Problem]:
    """Pose the problem with the sigmoid loss for labels; else with the Cauchy loss, and outliers among the targets."""
    if table.loss == "logistic":
        return f"{table.label}, sigmoid loss", table.problem(Sigmoid())
    rng = np.random.default_rng(seed)
    y = table.y.copy()
    outliers = rng.choice(len(y), size=len(y) // 20, replace=False)
    y[outliers] += rng.choice([-1.0, 1.0], size=outliers.size) * rng.uniform(20.0, 60.0, size=outliers.size)
    problem = Problem(table.X, y, loss=Cauchy(1.0), constraint=L1Ball(table.radius))
    return f"{table.label}, 5% outliers, Cauchy loss", problem


def descend(table: Table, seeds: Sequence[int] = (0, 1, 2), passes: float = 50.0) -> Descent:
    """Run ``"sfw"`` and, at equal passes, ``"fw"``."""
    title, problem = nonconvex_problem(table)
    batch_size = max(1, problem.n // 100)
    travelled, gaps = {}, {}
    for method in METHODS:
        runs = [
            minimize(problem, method, batch_size=batch_size, tol=0.0, max_passes=passes, random_state=seed).trace
            for seed in (seeds if method != "fw" else seeds[:1])
        ]
        travelled[method] = runs[0].passes
        gaps[method] = np.array([run.gap for run in runs])
    return Descent(title, travelled, gaps)
