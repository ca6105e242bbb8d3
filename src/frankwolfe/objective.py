"""The objective as the fully corrective method sees it: through predictions, all of them at once."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compiled import kernel
from frankwolfe.rows import Samples
from frankwolfe.verbs import curvature, derivative, row_add, value


class Point(NamedTuple):
    """A point as the objective sees it.

    Attributes
    ----------
    z : array
        Predictions; those of several outputs laid out flat, row after row.
    heights : array of shape (n,)
        Losses.
    alpha : array
        Weighted derivatives, as many as predictions.
    value : float
        The objective.
    shift : array or None
        The intercept, where it is free.
    """

    z: np.ndarray
    heights: np.ndarray
    alpha: np.ndarray
    value: float
    shift: np.ndarray | None = None

    @classmethod
    def at(cls, samples: Samples, z: np.ndarray) -> "Point":
        """Evaluate the objective where the predictions are ``z``, with the best intercept if there is one."""
        free = hasattr(samples.loss, "settle")
        if free:
            samples.loss.settle(samples, z.reshape(samples.shape))
        heights, alpha = np.empty(len(samples.weights)), np.empty(samples.shape)
        value = judge(samples, z.reshape(samples.shape), heights, alpha)
        return cls(z.ravel(), heights, alpha.ravel(), float(value), samples.loss.shift.copy() if free else None)


@kernel
def judge(samples, z, heights, alpha):
    """Fill in the losses and the weighted derivatives at the predictions ``z``; return the objective there."""
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    total = 0.0
    for i in range(len(z)):
        heights[i] = value(loss, z[i], targets[i])
        total += weights[i] * heights[i]
        alpha[i] = weights[i] * derivative(loss, z[i], targets[i])
    return total


def curvatures(samples: Samples, point: Point, care: float, floor: float) -> np.ndarray:
    """Return weighted curvatures at a point, one for each prediction, none of them less than ``floor`` in size."""
    bends = np.empty(samples.shape)
    if point.shift is not None:
        samples.loss.shift[:] = point.shift
    if bends.ndim == 1:
        bend(samples, point, care, floor, bends)
    else:
        bend_outputs(samples, point.z.reshape(bends.shape), floor, bends)
    return bends.ravel()


@kernel
def bend(samples, point, care, floor, bends):
    """Fill ``bends`` with weighted curvatures at the predictions ``z``, none of them less than ``floor`` in size.

    Far from the optimum the curvature at a point says little: a sample on the wrong side of a logistic loss pulls as
    hard as any and has none. The parabola that touches the loss and has its lowest point at zero has the curvature
    ``f'^2 / (2 f)``, which is the loss's own where that is a square. It is heeded as much as ``care`` says.
    """
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    z, heights, alpha = point.z, point.heights, point.alpha
    for i in range(len(z)):
        size = max(abs(curvature(loss, z[i], targets[i])), floor)
        if heights[i] > 0.0 and weights[i] > 0.0:
            pull = alpha[i] / weights[i]
            size = max(size, 0.5 * care * pull * pull / heights[i])
        bends[i] = weights[i] * size


@kernel
def bend_outputs(samples, z, floor, bends):
    """Fill ``bends`` with weighted curvatures of losses of several outputs: diagonals that bound the true ones."""
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    for i in range(len(z)):
        bends[i] = weights[i] * np.maximum(curvature(loss, z[i], targets[i]), floor)


@kernel
def combine(rows, alpha, r):
    """Fill ``r`` with the sum of all rows, each times its entry of ``alpha``."""
    r[:] = 0.0
    for i in range(len(alpha)):
        row_add(rows, i, alpha[i], r)


def gradient_of(rows: Any, alpha: np.ndarray, d: int) -> np.ndarray:
    """Return the sum of all rows, each times its entry of ``alpha``."""
    if getattr(rows[0], "dtype", None) != np.float32:
        return rows.add_all(alpha, d)
    gradient = np.empty(d)  # a library would copy narrower numbers before it multiplies them
    combine(rows, alpha, gradient)
    return gradient
