"""The objective as the fully corrective method sees it: through predictions, all of them at once."""

from typing import Any

import numpy as np

from frankwolfe.compiled import kernel
from frankwolfe.verbs import curvature, derivative, row_add, smoothness, value


@kernel
def judge(samples, z, alpha):
    """Fill ``alpha`` with the weighted derivatives at the predictions ``z``; return the objective there."""
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    total = 0.0
    for i in range(len(z)):
        total += weights[i] * value(loss, z[i], targets[i])
        alpha[i] = weights[i] * derivative(loss, z[i], targets[i])
    return total


@kernel
def bend(samples, z, alpha, care, floor, bends):
    """Fill ``bends`` with weighted curvatures at the predictions ``z``, none of them less than ``floor`` in size.

    Far from the optimum the curvature at a point says little: a sample on the wrong side of a logistic loss pulls as
    hard as any and has none. The parabola that touches the loss and has its lowest point at zero has the curvature
    ``f'^2 / (2 f)``, which is the loss's own where that is a square. It is heeded as much as ``care`` says; it is never
    more than the loss's smoothness. ``alpha`` holds the weighted derivatives.
    """
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    most = care * smoothness(loss)
    for i in range(len(z)):
        size = max(abs(curvature(loss, z[i], targets[i])), floor)
        if size < most and weights[i] > 0.0:
            height, pull = value(loss, z[i], targets[i]), alpha[i] / weights[i]
            if height > 0.0 and care * pull * pull > 2.0 * size * height:
                size = 0.5 * care * pull * pull / height
        bends[i] = weights[i] * size


@kernel
def combine(rows, alpha, r):
    """Fill ``r`` with the sum of all rows, each times its entry of ``alpha``."""
    r[:] = 0.0
    for i in range(len(alpha)):
        row_add(rows, i, alpha[i], r)


def gradient_of(rows: Any, alpha: np.ndarray, d: int) -> np.ndarray:
    """Return the sum of all rows, each times its entry of ``alpha``."""
    if rows[0].dtype == np.float64:
        return rows.add_all(alpha, d)
    gradient = np.empty(d)  # a library would copy narrower numbers before it multiplies them
    combine(rows, alpha, gradient)
    return gradient
