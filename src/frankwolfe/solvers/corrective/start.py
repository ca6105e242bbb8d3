"""How runs begin: from the optimum of a sample where data is tall, and with code that is compiled already.

Where rows are many and weights few, one row in sixteen tells nearly all that all rows do. The first round then
minimises over the sample alone. Its optimum is as far from that of all rows as the noise in the sample, which is much
nearer than where the first rounds over all rows would lead, at a fraction of their cost. Nothing is proven by it: the
rounds that follow, and their certificates, read all rows.
"""

from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.compile.kernels import compile_above, compiling
from frankwolfe.problem import Problem
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.shards.local import ChunkedRows, Local

SAMPLED = 16
"""One row in so many is in the sample. Twice as many, or half: runs on w8a (49,749 x 300) take about as long. All of
them take half of what they take without a sample."""

ROWS_PER_WEIGHT = 4
"""Fewest rows in a sample for each weight. With fewer, the sample's optimum has atoms of its own: RCV1 at radius 1000,
with 0.03 rows a weight, takes as long with a sample as without."""

LEAST_ENTRIES = {"sparse": 2**19, "dense": 2**21}
"""Fewest stored entries of the data: with less, a sample costs about what it saves, some milliseconds."""

SAMPLE_PASSES = 16
"""Most passes over the sample: as much work as one pass over all rows."""


def worth_sampling(problem: Problem, budget: float = float("inf")) -> bool:
    """Return whether a sample of the rows is a good start, and ``budget``, in rows, allows for it and three passes.

    Only where the loss is convex is one start as good as another. A sample of a store would be read with all the rest.
    Each part of a cluster has a sample of its own.
    """
    rows, sampled = problem.samples.rows, -(-problem.n // SAMPLED)
    if problem.objective.reads is not None or not problem.loss.convex:
        return False
    if budget < SAMPLE_PASSES * sampled + 3 * problem.n:
        return False
    if rows.stored() < LEAST_ENTRIES["sparse" if rows.is_sparse else "dense"]:
        return False
    return problem.n // (SAMPLED * problem.pieces) >= max(1, ROWS_PER_WEIGHT * problem.size)


def start_from_sample(problem: Problem, limits: Any = None) -> tuple[np.ndarray | None, int]:
    """Return weights that are about optimal for a sample of the rows, and how many rows were read for them.

    Where rows are in several places, it is the mean of their optima by the weights of their samples: it is in the set,
    and the noise of the samples averages out. None if the rows of the sample have no weight.
    """
    given = problem.loss, problem.constraint, problem.intercept, limits
    (found,) = problem.objective.shards.run(sample_optimum, *given)
    if not found:
        return None, 0
    total, w = sum(weight for _, weight, _ in found), np.zeros(problem.size)
    for (support, values), weight, _ in found:
        w[support] += weight / total * values
    return w, sum(rows for _, _, rows in found)


def sample_optimum(local: Local, loss: Any, constraint: Any, intercept: bool, limits: Any) -> tuple:
    """Return a list of one: the optimum of one row in so many, the weight of the sample, and how many rows were read.

    It is minimised to a relative gap of 1e-3. That may be less than the sample's noise, for passes over it are cheap;
    thirty times as large, a million rows of 50 columns take one pass more.
    """
    from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver  # which imports this file

    rows, n = local.samples.rows, len(local.samples.weights)
    chunks, ends = (rows.chunks, rows.offsets) if isinstance(rows, ChunkedRows) else ([rows], [0, n])
    chosen = np.concatenate([np.arange(first, last, SAMPLED) for first, last in pairwise(ends)])
    weights = local.samples.weights[chosen]
    if not weights.any():
        return ([],)
    matrices = [_matrix(chunk, local)[::SAMPLED] for chunk in chunks]
    X = np.concatenate(matrices) if isinstance(matrices[0], np.ndarray) else sparse.vstack(matrices, format="csr")
    sample = Problem(X, local.samples.targets[chosen], loss, constraint, sample_weight=weights, intercept=intercept)
    with compile_above(0) if local.losses.compiled else nullcontext():  # kernels are loaded already
        sample = sample.own(local.executor)
        solver, target = CorrectiveSolver(sample, sample.default_start(), limits=limits), 1e-3 * sample.zero_value
        solver.begin(SAMPLE_PASSES * sample.n, target)
        while solver.finished() is None and not solver.evidence().gap_estimate <= target:
            solver.advance(1)
    w = solver.point()
    support = np.flatnonzero(w)
    return ([((support, w[support]), float(weights.sum()), solver.rows_read)],)


def _matrix(rows: Any, local: Local) -> Any:
    """Return rows as they are in the data, a matrix."""
    rows = rows.rows if isinstance(rows, MultiOutput) else rows
    return rows.matrix(local.size // max(1, local.samples.rows.outputs)) if rows.is_sparse else rows.values


# --- compiled kinds ---------------------------------------------------------------------------------------------------

_warm: set[Any] = set()
"""Solvers, with the kinds of data and parts that they have been compiled for in this process."""


def is_new_kind(solver: type, problem: Problem) -> bool:
    """Return whether a solver has not been compiled for a problem like this one; from then on it has."""
    if not (problem.objective.compiled and compiling()):
        return False
    kind = solver, _kind((problem.samples, problem.constraint))
    if kind in _warm:
        return False
    _warm.add(kind)
    return True


def _kind(value: Any) -> Any:
    """Return what code is compiled for: classes, and the types of arrays."""
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
    return (value.dtype.str, value.ndim, value.flags.c_contiguous) if isinstance(value, np.ndarray) else type(value)
