"""The start of a run: from the optimum of a row subsample for tall data, and the compilation of kernels.

If rows are many and weights few, the optimum over one row in sixteen is close to that over all rows: their distance is
the sampling error. The first round then minimises over the sample alone. This gets closer to the optimum than the first
rounds over all rows would, at a fraction of their cost. The sample proves nothing: later rounds and their certificates
read all rows.
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
"""The sample has one row in this number. Twice or half: runs on w8a (49,749 x 300) take about as long. All of them take
half as long as without a sample."""

ROWS_PER_WEIGHT = 4
"""Fewest rows of the sample per weight. With fewer, the sample's optimum has other atoms: RCV1 at radius 1000, with
0.03 rows per weight, takes as long with a sample as without."""

LEAST_ENTRIES = {"sparse": 2**19, "dense": 2**21}
"""Fewest stored entries of the data: with less, a sample costs about what it saves, some milliseconds."""

SAMPLE_PASSES = 16
"""Maximum number of passes over the sample. They cost as much as one pass over all rows."""


def worth_sampling(problem: Problem, budget: float = float("inf")) -> bool:
    """Return whether to start from a row subsample. ``budget``, in rows, must also allow three passes over all rows.

    The loss must be convex, since otherwise the start determines the local minimum. Data on disk is not sampled, since
    this would read all of it. On a cluster each part has a sample of its own.
    """
    rows, sampled = problem.samples.rows, -(-problem.n // SAMPLED)
    if problem.objective.reads is not None or not problem.loss.convex:
        return False
    if budget < SAMPLE_PASSES * sampled + 3 * problem.n:
        return False
    if rows.stored() < LEAST_ENTRIES["sparse" if rows.is_sparse else "dense"]:
        return False
    return problem.n // (SAMPLED * problem.source.pieces) >= max(1, ROWS_PER_WEIGHT * problem.size)


def start_from_sample(problem: Problem, limits: Any = None) -> tuple[np.ndarray | None, int]:
    """Return approximately optimal weights for a row subsample, and the number of rows read.

    On a cluster this is the weighted mean of the optima of all parts. It is feasible, and averages the sampling errors.
    The weights are None if all sampled rows have weight zero.
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
    """Return a list with one entry: the optimum of the sample of a part, the sample's weight, and the rows read.

    The relative gap is 1e-3. That may be less than the sampling error, but passes over the sample are cheap. With a gap
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
    """Return rows as a dense or sparse matrix."""
    rows = rows.rows if isinstance(rows, MultiOutput) else rows
    return rows.matrix(local.size // max(1, local.samples.rows.outputs)) if rows.is_sparse else rows.values


# --- compiled kinds ---------------------------------------------------------------------------------------------------

_warm: set[Any] = set()
"""Pairs of a solver and the types of data, loss and set that it has been compiled for in this process."""


def is_new_kind(solver: type, problem: Problem) -> bool:
    """Return whether a solver must be compiled for the types of this problem, and record that it has been."""
    if not (problem.objective.compiled and compiling()):
        return False
    kind = solver, _kind((problem.samples, problem.constraint))
    if kind in _warm:
        return False
    _warm.add(kind)
    return True


def _kind(value: Any) -> Any:
    """Return the signature that kernels are compiled for: classes, and the types and layouts of arrays."""
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
    return (value.dtype.str, value.ndim, value.flags.c_contiguous) if isinstance(value, np.ndarray) else type(value)
