"""Second derivatives of losses of several outputs: a small matrix for each sample.

A diagonal bound would do, but steps that heed it are many times too short where classes share most of what they know.
"""

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import bend
from frankwolfe.objective.point import Point
from frankwolfe.problem import Problem


def coupled_curvatures(problem: Problem, point: Point, care: float, floor: float) -> np.ndarray:
    """Return the weighted second derivatives at a point, of shape ``(n, outputs, outputs)``.

    As in `frankwolfe.objective.point.curvatures`, no sample has less than ``floor``, and along its own slope a loss is
    taken for the parabola that touches it and has its lowest point at zero, as far as ``care`` says, if it is steeper.
    """
    samples = problem.samples
    z = point.z.reshape(samples.shape)
    z = z if point.shift is None else z + point.shift
    bends = np.empty((*samples.shape, samples.shape[1]))
    alpha = point.alpha.reshape(samples.shape)
    fill(samples.targets, samples.weights, problem.loss, z, point.heights, alpha, care, floor, bends)
    return bends


@kernel
def fill(targets, weights, loss, z, heights, alpha, care, floor, bends):
    """Fill ``bends`` with the weighted second derivatives at the predictions ``z``."""
    outputs = z.shape[1]
    unit = np.zeros(outputs)
    for i in range(len(z)):
        pull, along, most = 0.0, 0.0, 0.0
        for c in range(outputs):
            unit[c] = weights[i]
            bends[i, c] = bend(loss, z[i], targets[i], unit)
            unit[c] = 0.0
            pull += alpha[i, c] * alpha[i, c]
            most = max(most, bends[i, c, c])
        for c in range(outputs):
            for other in range(outputs):
                along += alpha[i, c] * bends[i, c, other] * alpha[i, other]
        missing = 0.0
        if heights[i] > 0.0 and weights[i] > 0.0 and pull > 1e-250:  # below, squares have lost their digits
            missing = max(0.0, 0.5 * care * pull / (weights[i] * heights[i]) - along / pull)
        for c in range(outputs):
            if most < weights[i] * floor:  # else flat directions stay flat: classes may not mind a common change
                bends[i, c, c] += weights[i] * floor
            if missing > 0.0:
                for other in range(outputs):
                    bends[i, c, other] += missing * alpha[i, c] * alpha[i, other] / pull
