"""Sums over all samples for given predictions, as functions of an intercept: all that a search for one needs."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from frankwolfe.objective.sums import add_second_derivatives, evaluate_losses, slope_and_curvature, slope_blur
from frankwolfe.rows.samples import Samples

Over = Callable[[Callable[[slice], tuple]], tuple]
"""Runs a task for the samples of each block and adds up what it returns."""


class PredictionSums:
    """Sums over samples whose predictions are at hand.

    Parameters
    ----------
    samples : Samples
        Targets and weights; no row is read.
    loss : loss
        Without an intercept.
    over : function
        Works on the samples in parts.
    z : array
        Predictions, in the shape of the targets.

    Attributes
    ----------
    losses, alpha : array
        Losses and weighted derivatives with the shift that `evaluate` was given last.
    """

    def __init__(self, samples: Samples, loss: Any, over: Over, z: np.ndarray):
        self.samples, self.loss, self._over, self.z = samples, loss, over, z
        self.n, self.outputs = len(samples.weights), samples.shape[1] if len(samples.shape) > 1 else 0
        self.losses, self.alpha = np.empty(self.n), np.empty(samples.shape)

    @cached_property
    def mean(self) -> np.ndarray:
        """Weighted mean of the predictions, one number for each output."""
        return np.atleast_1d(self.samples.weights @ self.z)

    @cached_property
    def size(self) -> float:
        """Weighted mean of their sizes."""
        return float(self.samples.weights @ np.abs(self.z).reshape(self.n, -1).sum(axis=1))

    @cached_property
    def spread(self) -> float:
        """Root of the weighted mean of their squares."""
        with np.errstate(over="ignore"):  # what overflows shows in the objective
            return float(np.linalg.norm(np.sqrt(self.samples.weights)[:, None] * self.z.reshape(self.n, -1)))

    @cached_property
    def largest(self) -> float:
        """Size of the largest one."""
        return float(np.abs(self.z).max(initial=0.0))

    def mean_target(self) -> np.ndarray:
        """Weighted mean of the targets."""
        return self.samples.weights @ self.samples.targets

    def slope_and_curvature(self, shift: float) -> tuple[float, float, float]:
        """First and second derivative of the objective in the shift, of one output, and the units of rounding."""
        slope, curve, units = self._sum(slope_and_curvature, shift)
        return float(slope), float(curve), float(units)

    def slope_blur(self, shift: Any, beside: bool) -> float:
        """Return what the slope would change by if each prediction changed by its own size."""
        return float(self._sum(slope_blur, shift, beside)[0])

    def _sum(self, kernel: Any, *args: Any) -> tuple:
        """Return the sums of what a kernel returns for the samples of each part."""
        targets, weights, loss, z = self.samples.targets, self.samples.weights, self.loss, self.z

        def task(part: slice) -> tuple:
            found = kernel(targets[part], weights[part], loss, z[part], *args)
            return found if isinstance(found, tuple) else (found,)

        return self._over(task)

    def evaluate(self, shift: Any) -> tuple[float, np.ndarray, float]:
        """Fill in losses and derivatives with a shift; return objective, slope, and the sum of the slopes' sizes."""
        targets, weights, loss, z = self.samples.targets, self.samples.weights, self.loss, self.z

        def task(part: slice) -> tuple:
            there = z[part] + shift
            return (evaluate_losses(targets[part], weights[part], loss, there, self.losses[part], self.alpha[part]),)

        value = float(self._over(task)[0])
        return value, np.atleast_1d(self.alpha.sum(axis=0)), float(np.abs(self.alpha).sum())

    def hessian(self, shift: np.ndarray) -> np.ndarray:
        """Second derivative in the shift, of several outputs."""
        targets, weights, loss, z = self.samples.targets, self.samples.weights, self.loss, self.z

        def task(part: slice) -> tuple:
            total = np.zeros((len(shift), len(shift)))
            add_second_derivatives(targets[part], weights[part], loss, z[part] + shift, total)
            return (total,)

        return self._over(task)[0]

    def scaled(self, factor: float) -> "PredictionSums":
        """Return the same for predictions times a factor."""
        return PredictionSums(self.samples, self.loss, self._over, self.z * factor)
