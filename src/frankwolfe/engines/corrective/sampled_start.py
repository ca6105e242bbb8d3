"""A start from a sample: where rows are many and weights few, one row in sixteen tells nearly all that all rows do.

The first round then minimises over the sample alone. Its optimum is as far from that of all rows as the noise in the
sample, which is much nearer than where the first rounds over all rows would lead, at a fraction of their cost. Nothing
is proven by it: the rounds that follow, and their certificates, read all rows.
"""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.problem import Problem
from frankwolfe.shards.disk import StoredRows
from frankwolfe.shards.local import executor_for

SAMPLED = 16
"""One row in so many is in the sample. Twice as many, or half: runs on w8a (49,749 x 300) take about as long. All of
them take half of what they take without a sample."""

ROWS_PER_WEIGHT = 4
"""Fewest rows in a sample for each weight. With fewer, the sample's optimum has atoms of its own: RCV1 at radius 1000,
with 0.03 rows a weight, takes as long with a sample as without."""

LEAST_ENTRIES = {"sparse": 2**19, "dense": 2**21}
"""Fewest stored entries of the data: with less, a sample costs about what it saves, some milliseconds. A pass over
dense entries takes about a quarter of the time. Twice or half: no difference on our data."""

SAMPLE_GAP = 1e-3
"""Relative gap to which the sample is minimised. It may be less than the sample's noise, for passes over a sample are
cheap. Thirty times as large: a million rows of 50 columns take one pass more."""

SAMPLE_PASSES = 16
"""Most passes over the sample: as much work as one pass over all rows. Twice or half as many: no difference."""


def worth_sampling(problem: Problem, budget: float = float("inf")) -> bool:
    """Whether a sample of the rows is a good start, and ``budget``, in rows, allows for it and three passes more.

    Only where the loss is convex is one start as good as another.
    """
    rows, sampled = problem.samples.rows, -(-problem.n // SAMPLED)
    pieces = problem.pieces  # on a cluster each worker has a sample of its own
    if isinstance(rows, StoredRows):
        return False  # a sample would be read with all the rest
    if not problem.loss.convex or budget < SAMPLE_PASSES * sampled + 3 * problem.n:
        return False
    if rows.stored() < LEAST_ENTRIES["sparse" if rows.is_sparse else "dense"]:
        return False
    enough = problem.n // (SAMPLED * pieces) >= max(1, ROWS_PER_WEIGHT * problem.size)
    return bool(enough and (problem.on_cluster or problem.samples.weights[::SAMPLED].any()))


def minimise_sample(engine: Any) -> tuple[Any, int]:
    """Minimise over a sample of the rows.

    Parameters
    ----------
    engine : RoundEngine
        New, for the problem of the sample.

    Returns
    -------
    w : array
        The weights that were found.
    rows_read : int
        What they cost.
    """
    target = SAMPLE_GAP * engine.problem.zero_value
    engine.begin(SAMPLE_PASSES * engine.problem.n, target)
    while engine.finished() is None and not engine.certificate().gap <= target:
        engine.advance(1)
    return engine.point(), engine.rows_read


# --- on a cluster: workers minimise over samples of their own rows, and the optima are averaged ----------------------


def mean_sample_optimum(problem: Problem) -> tuple[np.ndarray, int]:
    """Return the average of the workers' optima, by the weights of their samples, and how many rows were read.

    It is one call, and what travels is the active set of each worker. An average of points of a convex set is in the
    set, and the noise of the samples averages out.
    """
    asked = problem.loss, problem.constraint, problem.intercept
    answers = problem.objective.shards.cluster.ask("sample", sample_optimum, *asked)
    found = [answer for answer in answers if answer is not None]
    if not found:
        return problem.default_start(), 0
    total, w = sum(weight for _, weight, _ in found), np.zeros(problem.size)
    for (support, values), weight, _ in found:
        w[support] += weight / total * values
    return w, sum(rows for _, _, rows in found)


def sample_optimum(
    part: Any, loss: Any, constraint: Any, intercept: bool
) -> tuple[tuple[np.ndarray, np.ndarray], float, int] | None:
    """Minimise over one row in so many of a part; return the weights, the sample's weight, and how many rows were read.

    None where the rows of the sample have no weight.
    """
    from frankwolfe.engines.corrective.engine import CorrectiveEngine

    weights = np.concatenate([chunk.weights[::SAMPLED] for chunk in part.chunks])
    if not weights.any():
        return None
    matrices = [chunk.matrix[::SAMPLED] for chunk in part.chunks]
    X = np.concatenate(matrices) if isinstance(matrices[0], np.ndarray) else sparse.vstack(matrices, format="csr")
    y = np.concatenate([chunk.targets[::SAMPLED] for chunk in part.chunks])
    sample = Problem(X, y, loss, constraint, sample_weight=weights, intercept=intercept)
    sample = sample.own(executor_for(part.threads()))
    w, rows_read = minimise_sample(CorrectiveEngine(sample, sample.default_start()))
    support = np.flatnonzero(w)
    return (support, w[support]), float(weights.sum()), rows_read
