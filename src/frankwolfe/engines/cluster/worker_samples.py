"""A start from samples on a cluster: every worker minimises over a sample of its own rows, and the optima are averaged.

It is one call, and what travels is the active set of each worker. An average of points of a convex set is in the set,
and the noise of the samples averages out: it is about as good a start as the optimum of all samples together.
"""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.cluster.handles import from_entries
from frankwolfe.cluster.parts import Part, threads_here
from frankwolfe.engines.corrective.engine import CorrectiveEngine
from frankwolfe.engines.corrective.sampled_start import SAMPLED, minimise_sample
from frankwolfe.problem import Problem
from frankwolfe.shards.local import executor_for


def mean_sample_optimum(problem: Problem) -> tuple[np.ndarray, int]:
    """Return the average of the workers' optima, by the weights of their samples, and how many rows were read."""
    asked = problem.loss, problem.constraint, problem.intercept
    found = [
        answer
        for answer in problem.objective.shards.cluster.ask("sample", sample_optimum, *asked)
        if answer is not None
    ]
    total, w = sum(weight for _, weight, _ in found), problem.default_start()
    if found:
        w = sum(
            (weight / total * from_entries(problem.size, *optimum) for optimum, weight, _ in found),
            np.zeros(problem.size),
        )
    return w, sum(rows for _, _, rows in found)


def sample_optimum(
    part: Part, loss: Any, constraint: Any, intercept: bool
) -> tuple[tuple[np.ndarray, np.ndarray], float, int] | None:
    """Minimise over one row in so many of a part; return the weights, the sample's weight, and how many rows were read.

    None where the rows of the sample have no weight.
    """
    weights = np.concatenate([chunk.weights[::SAMPLED] for chunk in part.chunks])
    if not weights.any():
        return None
    matrices = [chunk.matrix[::SAMPLED] for chunk in part.chunks]
    X = np.concatenate(matrices) if isinstance(matrices[0], np.ndarray) else sparse.vstack(matrices, format="csr")
    y = np.concatenate([chunk.targets[::SAMPLED] for chunk in part.chunks])
    sample = Problem(X, y, loss, constraint, sample_weight=weights, intercept=intercept)
    sample = sample.own(executor_for(threads_here()))
    w, rows_read = minimise_sample(CorrectiveEngine(sample, sample.default_start()))
    support = np.flatnonzero(w)
    return (support, w[support]), float(weights.sum()), rows_read
