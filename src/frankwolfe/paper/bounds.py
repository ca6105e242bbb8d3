"""Measured against bound: what the paper's Lemma 3, Proposition 1 and Theorem 1 promise, and what happens.

On a small problem with exact diameters, averaged over seeds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frankwolfe.engines.stepwise import StepwiseEngine
from frankwolfe.methods.table import as_method
from frankwolfe.paper.reference import certified_optimum
from frankwolfe.problem import Problem
from frankwolfe.sets import L1Ball
from frankwolfe.theory import RateBounds


class Measured(NamedTuple):
    """What was measured, a row for each seed, and the bounds, at the steps ``t``.

    Attributes
    ----------
    t : array of int
        Steps, at least 2.
    table_error, gap_error, suboptimality : array of shape (seeds, len(t))
        ``H_t``, ``|g_t - g^_t|`` and ``F(w_t) - F*``.
    gap_slack : array of shape (seeds, len(t))
        ``D_inf H_t - |g_t - g^_t|``: never negative, at any single step.
    bounds : RateBounds
        What the expectations stay under.
    """

    t: np.ndarray
    table_error: np.ndarray
    gap_error: np.ndarray
    suboptimality: np.ndarray
    gap_slack: np.ndarray
    bounds: RateBounds


def small_problem(n: int = 40, d: int = 8, seed: int = 0) -> Problem:
    """Logistic regression under an l1 budget, small enough to run hundreds of times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return Problem(X, y, loss="logistic", constraint=L1Ball(3.0))


def measure(problem: Problem, batch_size: int, steps: Sequence[int], seeds: int) -> Measured:
    """Run ``"sfw"`` once a seed and measure what the theory bounds, at the given steps.

    The paper's ``H_t`` and gaps compare the table after step ``t``'s refresh with the gradient at ``w_{t-1}``, so each
    measured step is made on its own, its starting point kept.
    """
    reference = certified_optimum(problem, tolerance=1e-12)
    bounds = RateBounds(problem, batch_size, optimum=reference.value - reference.gap)
    found = np.empty((4, seeds, len(steps)))
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        engine = StepwiseEngine(problem, as_method("sfw"), batch_size, generator, problem.default_start())
        for k, t in enumerate(steps):
            engine.advance(t - 1 - engine.steps)
            before = engine.point()
            engine.advance(1)
            exact, r = problem.evaluate(before), engine.gradient.dense()
            table_error = np.abs(engine.parts[0].alpha - exact.alpha).sum()
            gap_error = abs(exact.gap - (r @ before + problem.constraint.support(-r)))
            suboptimality = problem.value(engine.point()) - reference.value
            slack = bounds.diameters.inf * table_error - gap_error
            found[:, seed, k] = table_error, gap_error, suboptimality, slack
    return Measured(np.asarray(steps), found[0], found[1], found[2], found[3], bounds)
