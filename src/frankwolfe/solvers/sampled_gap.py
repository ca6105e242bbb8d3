"""The Frank-Wolfe gap, estimated from a sample of rows, with an error bar: a trigger where nothing bounds the optimum.

For a non-convex loss a table yields no bound, and only the exact gap certifies, which takes a pass over the data. A
sample of rows estimates whether that pass is worthwhile. The table's ``r = X' alpha`` is known and serves as a control
variate; only its error ``X' (grad f - alpha)`` is estimated, which is small for a recent table:

    delta = (n / |S|) sum_{i in S} (p_i f_i'(z_i) - alpha_i) x_i,        estimate = max_s <r + delta, w - s>.

The error bar comes from a multiplier bootstrap: the same sum with each row multiplied by an independent standard normal
number. It is an estimate, not a bound.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.arguments.types import Weights
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import derivative, prediction, row_add
from frankwolfe.problem import Problem
from frankwolfe.solvers.protocol import Evidence

SMALLEST = 64
"""Smallest number of rows in a sample, unless there are fewer."""


QUANTILE = 2.33
"""The 99% quantile of the standard normal distribution."""


class SampledGap(NamedTuple):
    """An estimate of the Frank-Wolfe gap from a sample of rows.

    Attributes
    ----------
    estimate : float
        The estimated gap. It tends to be too high, since noise increases a maximum.
    error : float
        Bound on the error of the estimate, for about 99 of 100 samples.
    passes : float
        Cost in passes: a row counts once for its derivative, and half for each draw of the bootstrap.
    """

    estimate: float
    error: float
    passes: float


@kernel
def table_error(samples, iterate, table, chosen, error):
    """Fill ``error`` with the derivatives of the chosen rows minus their entries in the table."""
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    for k in range(len(chosen)):
        i = chosen[k]
        error[k] = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i]) - table[i]


@kernel
def sum_rows(samples, chosen, amounts, total):
    """Fill ``total`` with the sum of the chosen rows, multiplied by ``amounts``."""
    rows = samples.rows
    total[:] = 0.0
    for k in range(len(chosen)):
        row_add(rows, chosen[k], amounts[k], total)


def sampled_gap(problem: Problem, w: Weights, evidence: Evidence, seed: int, draws: int) -> SampledGap:
    """Estimate the gap at an iterate from a sample of rows, or return the exact gap if it is known.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    w : array or Factors
        The iterate.
    evidence : Evidence
        The solver's evidence about the iterate.
    seed : int
        Seed of the sample. The random numbers of the run are not used.
    draws : int
        Number of bootstrap draws. Each sums the rows of the sample once. With 0 the error is infinite.
    """
    table, r = evidence.table, evidence.gradient
    if evidence.exact is not None:
        return SampledGap(evidence.exact.gap, 0.0, 0.0)
    if table is None or r is None or not evidence.table_follows:
        raise ValueError("a sample tells the gap only where a table follows the derivatives, as that of 'sfw' does")
    n, samples, rng = problem.n, problem.samples, np.random.default_rng(seed)
    # Fraction of the rows in a sample.
    number = min(n, max(SMALLEST, n // 32))
    chosen, error = rng.choice(n, number, replace=False), np.empty((number, *samples.shape[1:]))
    delta = np.empty(problem.size)
    table_error(samples, problem.point(w), table, chosen, error)
    error *= n / number
    sum_rows(samples, chosen, error, delta)
    rest = (1.0 - number / n) ** 0.5  # finite-population correction
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
    """Return the 99% error bar of a gap whose gradient was estimated from a sample, by a multiplier bootstrap.

    ``total`` is the sum of the rows ``chosen``, multiplied by ``amounts``.
    """
    noise, deviations = np.empty(problem.size), []
    for _ in range(draws):
        multipliers = rng.normal(size=len(chosen))
        sum_rows(problem.samples, chosen, (amounts.T * multipliers).T, noise)
        deviations.append(problem.gap_for(noise - multipliers.mean() * total, w))
    return float(np.mean(deviations) + QUANTILE * np.std(deviations))
