"""A likely bound on the gap: the dual bound by a table, with a sample of rows in place of a pass.

For a convex loss and the table ``alpha`` of a run, with ``r = X' alpha`` (`frankwolfe.solvers.dual_bound`),

    F(w) - F*  <=  max_s <r, w - s>  +  sum_i p_i B_i.

The first term is known. The second is a weighted mean of non-negative residuals ``B_i``, and is estimated from a new
sample of rows (the batches of the steps belong to earlier iterates). Rows that no step has visited have by far the
largest residuals. They form a stratum of their own, which is read in full if it is small, and sampled otherwise.

Within a stratum ``m`` rows are drawn with replacement, in proportion to their weights. With probability ``1 - doubt``,
the mean of all residuals is at most (empirical Bernstein inequality, Maurer and Pontil 2009, Theorem 4)

    mean + sqrt(2 V log(2 / doubt) / m) + 7 M log(2 / doubt) / (3 (m - 1)),

where ``mean`` and ``V`` are the mean and the variance of the sample, and ``[0, M]`` is the range of the residuals. No
useful ``M`` is known, so the largest residual of the sample replaces it. This is the only step without proof: the
sample can miss residuals that are rarer than one row in thousands and much larger than all others.
``benchmarks/likely.py`` counts how often the bound holds.

A run may compute several bounds. The ``k``-th may fail with probability ``doubt / (k (k + 1))``, so that all of them
hold with probability ``1 - doubt``, whenever the run stops.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.arguments.types import Weights
from frankwolfe.compile.kernels import Stopwatch
from frankwolfe.objective.tasks import per_weight
from frankwolfe.problem import Problem
from frankwolfe.running.certifier import TABLE_SHARE
from frankwolfe.shards.local import DataBlock, Local
from frankwolfe.solvers.protocol import Evidence, Solver
from frankwolfe.solvers.state import Saved

CONFIDENCE = 0.99
"""Probability with which all likely bounds of a run hold."""

VISITED_SAMPLE, UNVISITED_SAMPLE = 4096, 1024
"""Sample sizes for the rows that steps have visited, and for the unvisited rows. A smaller stratum is read in full."""


class LikelyGap(NamedTuple):
    """An upper bound on ``F(w) - F*`` that holds with high probability.

    Attributes
    ----------
    bound : float
        The bound.
    estimate : float
        The bound without the margin for the sampling error.
    rows : int
        Number of rows whose predictions were computed.
    """

    bound: float
    estimate: float
    rows: int


def strata(local: Local, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows with non-zero weight that steps have visited, and those that they have not."""
    weighty = local.samples.weights > 0.0
    visited = table.reshape(len(weighty), -1).any(axis=1)
    return np.flatnonzero(visited & weighty), np.flatnonzero(~visited & weighty)


def stratum_sizes(local: Local, table: np.ndarray) -> tuple:
    """Return a list with one entry: the shard's number, and the number of rows and total weight of both strata."""
    weights = local.samples.weights
    return ([(local.number, [(len(rows), float(weights[rows].sum())) for rows in strata(local, table)])],)


def stratum_residuals(
    local: Local, table: np.ndarray, w: Weights, draws: list[dict[int, int] | None], seed: int
) -> tuple:
    """Return a list with one entry: for both strata of a shard, the residuals of the sampled rows and their weights.

    ``draws`` has, for each stratum, the number of rows to draw by shard, or None to read all rows.
    """
    weights, rng, chosen = local.samples.weights, np.random.default_rng([seed, local.number]), []
    for rows, numbers in zip(strata(local, table), draws, strict=True):
        if numbers is None or not len(rows):
            chosen.append(rows)
        else:
            ends = np.cumsum(weights[rows])
            uniform = rng.random(numbers[local.number])
            chosen.append(rows[np.searchsorted(ends, ends[-1] * uniform, side="right")])
    every, table = np.unique(np.concatenate(chosen)), table.reshape(local.samples.shape)
    found = np.empty(len(every))

    def fill(block: DataBlock) -> tuple:
        part, (rows, targets, weights, _) = block
        first, last = np.searchsorted(every, (part.start, part.stop))
        here = every[first:last] - part.start
        if len(here):
            slopes = per_weight(table[every[first:last]], weights[here])
            found[first:last] = local.losses.residual(rows.some_rows(here).dot_all(w), targets[here], slopes)
        return ()

    local.each(fill)
    return ([[(found[np.searchsorted(every, rows)], weights[rows]) for rows in chosen]],)


def margin(values: np.ndarray, doubt: float) -> float:
    """Return the margin by which a mean exceeds the mean of its sample ``values`` with probability at most ``doubt``.

    Examples
    --------
    >>> round(margin(np.array([0.0, 1.0] * 500), 0.01), 3)
    0.064
    """
    number, log = len(values), float(np.log(2.0 / doubt))
    spread = float(np.sqrt(2.0 * values.var(ddof=1) * log / number))
    return spread + 7.0 * float(values.max()) * log / (3.0 * (number - 1.0))


def likely_gap(
    problem: Problem, w: np.ndarray, table: np.ndarray, r: np.ndarray, rng: np.random.Generator, doubt: float
) -> LikelyGap:
    """Return a likely bound on ``F(w) - F*``, from a table and a sample of rows.

    Parameters
    ----------
    problem : Problem
        Problem with a convex loss that implements its conjugate, and without an intercept.
    w : array or Factors
        The weights.
    table : array
        Remembered derivatives of all samples, in the shape of the predictions.
    r : array
        ``X' table``.
    rng : Generator
        Random generator of the sample.
    doubt : float
        Probability with which the bound may fail.
    """
    run, most = problem.objective.shards.run, (VISITED_SAMPLE, UNVISITED_SAMPLE)
    shards = dict(run(stratum_sizes, table)[0])
    sizes = np.array([*shards.values()])  # indexed by shard, stratum, and (rows, weight)
    sampled = [sizes[:, k, 0].sum() > most[k] for k in range(2)]
    draws: list[dict[int, int] | None] = [None, None]
    for k in (k for k in range(2) if sampled[k]):
        parts = sizes[:, k, 1] / sizes[:, k, 1].sum()
        draws[k] = dict(zip(shards, rng.multinomial(most[k], parts).tolist(), strict=True))
    (answers,) = run(stratum_residuals, table, w, draws, int(rng.integers(2**62)))
    doubt /= max(1, sum(sampled))
    bound = estimate = max(problem.gap_for(r, w, proof=True), 0.0)
    rows = 0
    for k in range(2):
        found, weights = (np.concatenate([answer[k][side] for answer in answers]) for side in range(2))
        total = float(sizes[:, k, 1].sum())
        mean, above = (total * found.mean(), total * margin(found, doubt)) if sampled[k] else (weights @ found, 0.0)
        bound, estimate, rows = bound + float(mean + above), estimate + float(mean), rows + len(found)
    return LikelyGap(bound if bound == bound else np.inf, estimate, rows)


class LikelyStop(Saved):
    """Compute likely bounds of a run when they are due, and store the last one.

    Parameters
    ----------
    solver : Solver
        The solver of the run.
    watch : Stopwatch
        Stopwatch that measures the time of the bounds.
    """

    remembered = ("taken", "passes", "last_passes", "last_step", "last")

    def __init__(self, solver: Solver, watch: Stopwatch):
        self.solver, self.watch = solver, watch
        self.taken, self.passes = 0, 0.0
        self.last_passes, self.last_step, self.last = 0.0, -1, np.inf

    def has_met(self, tolerance: float) -> bool:
        """Whether the last bound belongs to the current iterate and is within the tolerance."""
        return self.last_step == self.solver.steps and self.last <= tolerance

    def due(self, passes: float, bound_estimate: float, tolerance: float) -> bool:
        """Whether to compute a bound now, given its online estimate."""
        if not tolerance > 0.0 or passes < 1.0:
            return False  # in the first pass most of the table is empty
        if bound_estimate <= tolerance:
            return passes >= 1.1 * self.last_passes
        price = 0.5 * min(1.0, (VISITED_SAMPLE + UNVISITED_SAMPLE) / self.solver.problem.n)
        # An estimate may stay too high, so bounds are also computed without a trigger.
        return passes >= 1.5 * self.last_passes and self.passes + price <= TABLE_SHARE * passes

    def take(self, passes: float, known: Evidence) -> float:
        """Return a likely bound on the gap of the iterate. It is computed once per iterate."""
        solver = self.solver
        if self.last_step == solver.steps:
            return self.last
        self.taken += 1
        rng = np.random.default_rng([solver.steps, self.taken])
        assert known.gradient is not None
        with self.watch.charged(certificate=True):
            doubt = (1.0 - CONFIDENCE) / (self.taken * (self.taken + 1.0))
            found = likely_gap(solver.problem, solver.point(), known.table, known.gradient, rng, doubt)
        self.passes += 0.5 * found.rows / solver.problem.n
        self.last_passes, self.last_step, self.last = passes, solver.steps, found.bound
        return found.bound
