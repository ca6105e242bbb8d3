"""A start from a sample: where rows are many and weights few, one row in sixteen tells nearly all that all rows do.

The first round then minimises over the sample alone. Its optimum is as far from that of all rows as the noise in the
sample, which is much nearer than where the first rounds over all rows would lead, at a fraction of their cost. Nothing
is proven by it: the rounds that follow, and their certificates, read all rows.
"""

from typing import Any

from frankwolfe.problem import Problem
from frankwolfe.shards.disk import StoredRows

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
