"""A likely bound: what a table proves of the iterate, with a sample of rows in place of a pass.

For a convex loss and the table ``alpha`` of a run, with ``r = X' alpha`` (`frankwolfe.solvers.dual_bound`),

    F(w) - F*  <=  max_s <r, w - s>  +  sum_i p_i B_i.

The first term is at hand. The second is the mean of non-negative residuals, and can be told from a sample of rows that
is drawn anew at the iterate: those that steps have seen belong to earlier iterates. Rows that no step has visited have
by far the largest residuals. They are known, and are a stratum of their own: all of them are looked at, or a sample.

Within a stratum rows are drawn with replacement, in proportion to their weights. The mean of their residuals is bounded
from above by the empirical Bernstein inequality (Maurer and Pontil 2009, Theorem 4),

    mean + sqrt(2 V log(2 / doubt) / m) + 7 M log(2 / doubt) / (3 (m - 1)),

with their variance ``V`` and the range ``[0, M]``. No ``M`` is known that is of use, so the largest residual of the
sample stands for it. That is the one step which is not proven: what is rarer than one row in thousands, and much larger
than all that was seen, is not seen. ``benchmarks/likely.py`` counts how often the bound holds.

Several bounds may be taken in a run. Number ``k`` may be wrong with probability ``doubt / (k (k + 1))``, so that all of
them hold with probability ``1 - doubt``, whenever the run stops.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.objective.tasks import per_weight
from frankwolfe.problem import Problem
from frankwolfe.running.certifier import TABLE_SHARE
from frankwolfe.running.limits import Stopwatch
from frankwolfe.shards.local import DataBlock, Local
from frankwolfe.solvers.protocol import Evidence, Solver

CONFIDENCE = 0.99
"""Probability with which all likely bounds of a run hold."""

VISITED_SAMPLE, UNVISITED_SAMPLE = 4096, 1024
"""Rows in a sample of those that steps have visited, and of the others. A stratum that is no larger is read whole."""

AGAIN, UNTRIGGERED = 1.1, 1.5
"""A bound is taken again once the passes have grown by the first factor, if the online estimate is within the
tolerance; by the second, and within a share of the passes, if not: an estimate may be too high for good."""


class LikelyGap(NamedTuple):
    """A bound on how far a point is above the optimum, which holds with high probability.

    Attributes
    ----------
    bound : float
        The bound.
    estimate : float
        The same with the mean residual of the sample in place of a bound on that of all rows.
    rows : int
        Rows whose predictions were needed.
    """

    bound: float
    estimate: float
    rows: int


def strata(local: Local, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows with weight that steps have visited, and the others."""
    weighty = local.samples.weights > 0.0
    visited = table.reshape(len(weighty), -1).any(axis=1)
    return np.flatnonzero(visited & weighty), np.flatnonzero(~visited & weighty)


def stratum_sizes(local: Local, table: np.ndarray) -> tuple:
    """Return a list of one entry: the number of a shard, and the rows and weights of its strata."""
    weights = local.samples.weights
    return ([(local.number, [(len(rows), float(weights[rows].sum())) for rows in strata(local, table)])],)


def stratum_residuals(local: Local, table: np.ndarray, w: Any, draws: list[dict[int, int] | None], seed: int) -> tuple:
    """Return a list of one entry: the residuals of rows drawn from both strata of a shard, and their weights.

    ``draws`` has, for each stratum, how many rows each shard draws, or None: then all rows are read.
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
    """Return how far the mean of a non-negative quantity is above that of a sample, in a part ``doubt`` of all samples.

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
    """Bound the distance of a point to the optimum by a table and a sample of rows.

    Parameters
    ----------
    problem : Problem
        What is minimised: a convex loss that knows its conjugate, without an intercept.
    w : array or Factors
        The point.
    table : array
        Remembered derivatives of all samples, in the shape of the predictions.
    r : array
        ``X' table``.
    rng : Generator
        Draws the sample.
    doubt : float
        Probability with which the bound may be wrong.
    """
    run, most = problem.objective.shards.run, (VISITED_SAMPLE, UNVISITED_SAMPLE)
    shards = dict(run(stratum_sizes, table)[0])
    sizes = np.array([*shards.values()])  # shard, stratum, rows and weight
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


class LikelyStop:
    """Takes likely bounds of a run, now and then, and keeps the last.

    Parameters
    ----------
    solver : Solver
        What runs.
    watch : Stopwatch
        Charged for the bounds.
    """

    def __init__(self, solver: Solver, watch: Stopwatch):
        self.solver, self.watch = solver, watch
        self.taken, self.passes = 0, 0.0
        self._last_passes, self._last_step, self._last = 0.0, -1, np.inf

    def state(self) -> dict[str, Any]:
        """Return all that is known so far."""
        return {
            "taken": self.taken,
            "passes": self.passes,
            "last_passes": self._last_passes,
            "last_step": self._last_step,
            "last": self._last,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the one with this state was."""
        self.taken, self.passes = state["taken"], state["passes"]
        self._last_passes, self._last_step, self._last = state["last_passes"], state["last_step"], state["last"]

    def has_met(self, tolerance: float) -> bool:
        """Whether the last bound was taken at the iterate, and is within the tolerance."""
        return self._last_step == self.solver.steps and self._last <= tolerance

    def due(self, passes: float, bound_estimate: float, tolerance: float) -> bool:
        """Whether to take a bound now, given the online estimate of it."""
        if not tolerance > 0.0 or passes < 1.0:
            return False  # within the first pass most of the table is still empty
        if bound_estimate <= tolerance:
            return passes >= AGAIN * self._last_passes
        price = 0.5 * min(1.0, (VISITED_SAMPLE + UNVISITED_SAMPLE) / self.solver.problem.n)
        return passes >= UNTRIGGERED * self._last_passes and self.passes + price <= TABLE_SHARE * passes

    def take(self, passes: float, known: Evidence) -> float:
        """Return a bound on how far the iterate is above the optimum; the last one, if it has not moved since."""
        solver = self.solver
        if self._last_step == solver.steps:
            return self._last
        self.taken += 1
        rng = np.random.default_rng([solver.steps, self.taken])
        assert known.gradient is not None
        with self.watch.charged(certificate=True):
            doubt = (1.0 - CONFIDENCE) / (self.taken * (self.taken + 1.0))
            found = likely_gap(solver.problem, solver.point(), known.table, known.gradient, rng, doubt)
        self.passes += 0.5 * found.rows / solver.problem.n
        self._last_passes, self._last_step, self._last = passes, solver.steps, found.bound
        return found.bound
