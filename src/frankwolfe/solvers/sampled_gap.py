"""The Frank-Wolfe gap, estimated from a sample of rows, with an error bar: a trigger where nothing bounds the optimum.

Where a loss is not convex, no table proves anything, and only the exact gap certifies, a pass over the data. Whether
that pass is worth its price can be asked of a few rows. The table's ``r = X' alpha`` is known; only its error
``X' (grad f - alpha)`` has to be estimated, and that is small where the table is fresh (a control variate):

    delta = (n / |S|) sum_{i in S} (p_i f_i'(z_i) - alpha_i) x_i,        estimate = max_s <r + delta, w - s>.

How far off it may be is the size of the same sum with each row multiplied by a standard normal number of its own (a
multiplier bootstrap). It is an estimate, and never called anything else.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import derivative, prediction, row_add
from frankwolfe.problem import Problem
from frankwolfe.solvers.protocol import Evidence

SMALLEST = 64
"""Rows in a sample at least, or all."""

SAMPLED = 1.0 / 32.0
"""Part of the rows in a sample."""

QUANTILE = 2.33
"""Standard deviations above the mean of the draws: what 99% of normal numbers are below."""


class SampledGap(NamedTuple):
    """An estimate of the Frank-Wolfe gap from a sample of rows.

    Attributes
    ----------
    estimate : float
        The gap, about. It tends to be high: noise adds to a maximum.
    error : float
        How far the estimate is off at most, in about 99 of 100 samples.
    passes : float
        What it has read of the data: a row is read for its derivative, and for half of that by each sum over rows.
    """

    estimate: float
    error: float
    passes: float


@kernel
def table_error(samples, iterate, table, chosen, error):
    """Fill in how much the derivatives of some rows differ from what the table has."""
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    for k in range(len(chosen)):
        i = chosen[k]
        error[k] = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i]) - table[i]


@kernel
def sum_rows(samples, chosen, amounts, total):
    """Add up some rows, each so many times."""
    rows = samples.rows
    total[:] = 0.0
    for k in range(len(chosen)):
        row_add(rows, chosen[k], amounts[k], total)


def sampled_gap(problem: Problem, w: Any, evidence: Evidence, seed: int, draws: int) -> SampledGap:
    """Estimate the gap at an iterate from a sample of rows, or return the exact one where that is known.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    w : array or Factors
        The iterate.
    evidence : Evidence
        What the solver knows about it.
    seed : int
        Of the sample, which is no part of the run's own random numbers.
    draws : int
        Draws of the bootstrap; each adds up the rows of the sample once more. With none the error is infinite.
    """
    table, r = evidence.table, evidence.gradient
    if evidence.exact is not None:
        return SampledGap(evidence.exact.gap, 0.0, 0.0)
    if table is None or r is None or not evidence.table_follows:
        raise ValueError("a sample tells the gap only where a table follows the derivatives, as that of 'sfw' does")
    n, samples, rng = problem.n, problem.samples, np.random.default_rng(seed)
    number = min(n, max(SMALLEST, int(SAMPLED * n)))
    chosen, error = rng.choice(n, number, replace=False), np.empty((number, *samples.shape[1:]))
    delta = np.empty(problem.size)
    table_error(samples, problem.point(w), table, chosen, error)
    error *= n / number
    sum_rows(samples, chosen, error, delta)
    rest = (1.0 - number / n) ** 0.5  # of a sample of all rows nothing is left to chance
    off = rest * deviation(problem, w, chosen, error, delta, rng, draws) if draws else np.inf
    return SampledGap(problem.gap_for(r + delta, w), off, (1.0 + draws / 2.0) * number / n)


def deviation(
    problem: Problem,
    w: np.ndarray,
    chosen: np.ndarray,
    amounts: np.ndarray,
    total: np.ndarray,
    rng: np.random.Generator,
    draws: int,
) -> float:
    """Return how far off a gap is at most, in about 99 of 100 samples, where a sum over some rows stands for all.

    ``total`` is the sum of the rows ``chosen``, each ``amounts`` times. The draws are of a multiplier bootstrap.
    """
    noise, deviations = np.empty(problem.size), []
    for _ in range(draws):
        multipliers = rng.normal(size=len(chosen))
        sum_rows(problem.samples, chosen, (amounts.T * multipliers).T, noise)
        deviations.append(problem.gap_for(noise - multipliers.mean() * total, w))
    return float(np.mean(deviations) + QUANTILE * np.std(deviations))
