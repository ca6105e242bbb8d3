"""Second derivatives of losses of several outputs: a small matrix for each sample.

A diagonal bound would do, but steps that heed it are many times too short where classes share most of what they know.
"""

from typing import Any

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import hessian_product
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
    given = samples.targets, samples.weights, samples.loss
    fill(*given, there, losses, alpha.reshape(samples.shape), care, floor, curvatures)
    return curvatures


def diagonal_matrices(local: Local, curvatures: np.ndarray) -> np.ndarray:
    """Return curvatures, one a prediction, as diagonal matrices of shape ``(n, outputs, outputs)``."""
    shape = local.samples.shape
    return curvatures.reshape(shape)[:, :, None] * np.eye(shape[1])


@kernel
def fill(targets, weights, loss, z, losses, alpha, care, floor, curvatures):
    """Fill ``curvatures`` with the weighted second derivatives at the predictions ``z``."""
    outputs = z.shape[1]
    unit = np.zeros(outputs)
    for i in range(len(z)):
        pull, along, most = 0.0, 0.0, 0.0
        for c in range(outputs):
            unit[c] = weights[i]
            curvatures[i, c] = hessian_product(loss, z[i], targets[i], unit)
            unit[c] = 0.0
            pull += alpha[i, c] * alpha[i, c]
            most = max(most, curvatures[i, c, c])
        for c in range(outputs):
            for other in range(outputs):
                along += alpha[i, c] * curvatures[i, c, other] * alpha[i, other]
        missing = 0.0
        if losses[i] > 0.0 and weights[i] > 0.0 and pull > 1e-250:  # below, squares have lost their digits
            missing = max(0.0, 0.5 * care * pull / (weights[i] * losses[i]) - along / pull)
        for c in range(outputs):
            if most < weights[i] * floor:  # else flat directions stay flat: classes may not mind a common change
                curvatures[i, c, c] += weights[i] * floor
            if missing > 0.0:
                for other in range(outputs):
                    curvatures[i, c, other] += missing * alpha[i, c] * alpha[i, other] / pull
