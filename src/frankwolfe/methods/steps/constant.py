"""The same step throughout: chosen for the number of steps that the run will make."""

from math import isfinite
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.methods.lifecycle import step_rule

PASSES_ASSUMED = 100
"""Passes for which a step is chosen where nothing bounds them."""


@step_rule
class ConstantStep(NamedTuple):
    """``gamma`` at every step; by default ``scale / T^power``, ``T`` the number of steps that the budget allows.

    This is the step of methods for losses that are not convex, whose analysis fixes ``T`` beforehand. It is worth
    knowing that a larger budget then means smaller steps from the first one on. A run that goes on from a result
    counts the steps of its own budget.

    Parameters
    ----------
    gamma : float, optional
        The step, at most 1.
    scale : float
        What is divided by a power of ``T`` where ``gamma`` is not given. No step is larger than 1. Where nothing
        bounds the passes (``max_passes=None``), ``T`` is the number of batches in 100 passes.
    power : float
        That power, a half by default; at most 1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> result = fw.minimize(problem, "fw", step=fw.ConstantStep(0.1), tol=0, max_passes=3)
    >>> float(abs(result.x).sum().round(3))  # 1 - 0.9^3
    0.271
    """

    gamma: float | None = None
    scale: float = 1.0
    power: float = 0.5

    def _checked(self):
        scale, power = positive("ConstantStep", "scale", self.scale), positive("ConstantStep", "power", self.power)
        if power > 1.0:
            raise ValueError(f"ConstantStep: power must be at most 1, got {power:g}: a run would end before it arrives")
        if self.gamma is None:
            return self._replace(scale=scale, power=power)
        gamma = positive("ConstantStep", "gamma", self.gamma)
        if gamma > 1.0:
            raise ValueError(f"ConstantStep: gamma must be at most 1, got {gamma:g}: it would overshoot the vertex")
        return self._replace(gamma=gamma, scale=scale, power=power)

    def for_run(self, setting):
        """Choose the step for the number of steps to come."""
        gamma = self.gamma
        if gamma is None:
            steps = setting.horizon
            if not isfinite(steps):
                steps = PASSES_ASSUMED * len(setting.samples.targets) / max(1, setting.batch_size)
            gamma = min(1.0, self.scale / max(1.0, steps) ** self.power)
        return ConstantStepState(np.array([gamma]))


class ConstantStepState(NamedTuple):
    """The step, in an array: a run that goes on from its state keeps it, whatever its budget."""

    gamma: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size at any step."""
        return self.gamma[0]
