"""The Hessian of the objective in all weights, summed up by the workers, and its root from their triangles."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import qr

from frankwolfe.engines.corrective.hessian import BLOCK_NUMBERS, Formed, roots_of_matrices
from frankwolfe.linalg.matrices import eliminated, weighted_gram
from frankwolfe.rows.centred import Centred
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.shards.local import Block, Local


def remote_hessian(problem: Any, at: Any, curvatures: Any) -> Formed:
    """Return the second derivative of the objective in the flat weights; the intercept follows them.

    Parameters
    ----------
    problem : Problem
        On a cluster, with few weights.
    at : Point
        Where.
    curvatures : Kept
        What `frankwolfe.engines.corrective.hessian.loss_curvatures` says there.
    """
    shards, free = problem.objective.shards, at.shift is not None

    def rows() -> Iterator[np.ndarray]:
        return iter(shards.run(triangle, curvatures, free)[0])

    H, cross, total = shards.run(hessian_sums, curvatures)
    if free:
        H = eliminated(H, cross, total)
    return Formed(H, rows, max(1, problem.outputs) if free else 0)


def hessian_sums(objective: Local, D: np.ndarray) -> tuple:
    """Return the second derivatives in the weights, in intercept and weights, and in the intercept."""
    outputs = objective.samples.rows.outputs
    matrices = D.reshape(-1, 1, 1) if D.ndim == 1 else D
    k, d = max(1, outputs), objective.size // max(1, outputs)

    def task(block: Block) -> tuple:
        H, cross = np.zeros((d, k, d, k)), np.zeros((k, d, k))
        rows, some = dense_rows(block.samples.rows, d), matrices[block.part]
        for c in range(k):
            for e in range(c + 1):
                if some[:, c, e].any():
                    H[:, c, :, e] = weighted_gram(rows, some[:, c, e])
                    H[:, e, :, c] = H[:, c, :, e].T
                    cross[c, :, e] = cross[e, :, c] = some[:, c, e] @ rows
        return H.reshape(objective.size, -1), cross.reshape(k, -1)

    return *objective.each(task), matrices.sum(axis=0)


def triangle(objective: Local, D: np.ndarray, free: bool) -> tuple:
    """Return a list of one triangle, whose square is the Hessian of these rows, with an intercept in front."""
    outputs = objective.samples.rows.outputs
    k, d = max(1, outputs), objective.size // max(1, outputs)
    root = np.zeros((0, objective.size + (k if free else 0)))
    for rows, matrices in _small_blocks(objective, D.reshape(-1, 1, 1) if D.ndim == 1 else D, d, k):
        roots = roots_of_matrices(matrices)
        block = np.einsum("icd,ij->icjd", roots, rows).reshape(-1, objective.size)
        block = np.hstack([roots.reshape(-1, k), block]) if free else block
        root = qr(np.vstack([root, block]), mode="r", check_finite=False)[0][: root.shape[1]]
    return ([root],)


def _small_blocks(objective: Local, D: np.ndarray, d: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield dense rows with their curvatures, a few at a time."""
    step = max(1, BLOCK_NUMBERS // (objective.size * k))
    for block in objective.blocks:
        matrices = D[block.part]
        for first in range(0, len(matrices), step):
            some = slice(first, min(first + step, len(matrices)))
            yield dense_rows(block.samples.rows.block(some), d), matrices[some]


def dense_rows(rows: Any, d: int) -> np.ndarray:
    """Return rows as an array of float64, less what has been taken off their columns."""
    rows = rows.rows if isinstance(rows, MultiOutput) else rows
    if rows.is_sparse:
        return np.asarray(rows.matrix(d).toarray(), dtype=np.float64)
    values = rows.values.astype(np.float64)
    return values - rows.means if isinstance(rows, Centred) else values
