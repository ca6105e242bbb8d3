"""Second derivatives of losses of several outputs: a small matrix for each sample.

A diagonal bound would do, but steps that heed it are many times too short where classes share most of what they know.
"""

from typing import Any

import numpy as np

from frankwolfe.objective.sums import fill_coupled_curvatures
from frankwolfe.objective.tasks import shifted_by
from frankwolfe.problem import Problem
from frankwolfe.shards.local import Local


def coupled_curvatures(problem: Problem, point: Any, care: float, floor: float) -> Any:
    """Return the weighted second derivatives at a point, of shape ``(n, outputs, outputs)``.

    As in `frankwolfe.objective.sums.fill_curvatures`, no sample has less than ``floor``. Along its own slope a loss
    is taken for the parabola that touches it and has its lowest point at zero, as far as ``care`` says, if that is
    steeper.
    """
    return problem.objective.shards.keep(coupled_at, point.z, point.shift, point.losses, point.alpha, care, floor)


def coupled_at(
    local: Local, z: np.ndarray, shift: Any, losses: np.ndarray, alpha: np.ndarray, care: float, floor: float
) -> np.ndarray:
    """Return the second derivatives where predictions are ``z`` and the intercept is ``shift``."""
    samples, there = local.samples, shifted_by(local, z, shift)
    curvatures = np.empty((*samples.shape, samples.shape[1]))
    given = samples.targets, samples.weights, local.losses, there
    fill_coupled_curvatures(*given, losses, alpha.reshape(samples.shape), care, floor, curvatures)
    return curvatures


def diagonal_matrices(local: Local, curvatures: np.ndarray) -> np.ndarray:
    """Return curvatures, one a prediction, as diagonal matrices of shape ``(n, outputs, outputs)``."""
    shape = local.samples.shape
    return curvatures.reshape(shape)[:, :, None] * np.eye(shape[1])
