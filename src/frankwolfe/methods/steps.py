"""Step rules: how far to go along a move. Here are those whose lengths are known beforehand, and the table of names.

To add one: a class here or in `frankwolfe.methods.line_searches`, a line in `STEPS`, a row in ``tests/cases.py``.
"""

from math import exp, isfinite, lgamma, log
from sys import float_info
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.names import lookup
from frankwolfe.compile.part import finite, positive
from frankwolfe.methods.base import accept, step_rule
from frankwolfe.methods.line_searches import Backtracking, LineSearch, Monotone, Secant, ShortStep
from frankwolfe.methods.snapshots import Epochs, place_in_epoch

EPSILON = float_info.epsilon


def checked_steps(rule: Any) -> Any:
    """Return a rule of steps ``numerator / (k + offset)``, ``k`` from 1 on, with its numbers checked."""
    name = type(rule).__name__
    numerator, offset = positive(name, "numerator", rule.numerator), finite(name, "offset", rule.offset)
    if numerator > 1.0 + offset:
        raise ValueError(
            f"{name}: numerator must be at most 1 + offset = {1.0 + offset:g}, got {numerator:g}: "
            "the first step would overshoot the vertex"
        )
    return rule._replace(numerator=numerator, offset=offset)


@step_rule()
class OpenLoop(NamedTuple):
    """``gamma_t = numerator / (t + offset)``; the default is the paper's ``2 / (t + 2)``.

    Parameters
    ----------
    numerator, offset : float
        Positive, with ``numerator <= 1 + offset`` so that no step overshoots the vertex.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> methods.OpenLoop().length(None, None, None, None, 2)
    0.5
    """

    numerator: float = 2.0
    offset: float = 2.0

    def _checked(self):
        return checked_steps(self)

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        return self.numerator / (t + self.offset)

    def part_left(self, first, last):
        """Return the product of ``1 - gamma_t`` over the steps after ``first`` up to ``last``, less its rounding."""
        after = self.offset + 1.0
        before = after - self.numerator
        if first + before <= 0.0:
            return 0.0  # the very first step has length 1
        largest = lgamma(last + after)
        left = lgamma(last + before) - lgamma(first + before) - largest + lgamma(first + after)
        return exp(left - 8.0 * EPSILON * largest)


@step_rule()
class LogAdaptive(NamedTuple):
    """``gamma_t = g / (t + g)`` with ``g = 2 + log(t + 1)``: open loop, with the faster rates of larger numerators.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> round(methods.LogAdaptive().length(None, None, None, None, 1), 4)
    0.7292
    """

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        g = 2.0 + log(t + 1.0)
        return g / (t + g)


@step_rule()
class LuFreundStep(NamedTuple):
    """Lu and Freund's ``gamma_t = 2 (2 n_b + t) / ((t + 1) (4 n_b + t + 1))``, ``n_b`` the number of batches."""

    def for_run(self, setting):
        """Count the batches."""
        return LuFreundStepState(float(setting.n // setting.batch_size))


class LuFreundStepState(NamedTuple):
    """How many batches make a pass."""

    batches: float

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        twice = 2.0 * self.batches
        return 2.0 * (twice + t) / ((t + 1.0) * (2.0 * twice + t + 1.0))


@step_rule()
class EpochStep(NamedTuple):
    """``numerator / (k + offset)`` in step ``k`` of the estimate's epoch, counted from 1: by default ``2 / (k + 1)``.

    With an estimate that has no epochs the run is one, and this is `OpenLoop`.

    Parameters
    ----------
    numerator, offset : float
        Positive, with ``numerator <= 1 + offset`` so that no step overshoots the vertex.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, "svrf", step=methods.EpochStep(1.0, 1.0), tol=0, max_passes=20).method
    'svrf, EpochStep'
    """

    numerator: float = 2.0
    offset: float = 1.0

    def _checked(self):
        return checked_steps(self)

    def for_run(self, setting):
        """Store when epochs begin."""
        return EpochStepState(self.numerator, self.offset, setting.epochs)


class EpochStepState(NamedTuple):
    """The settings, and the epochs of the estimate."""

    numerator: float
    offset: float
    epochs: Epochs

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t`` of the run."""
        k, _ = place_in_epoch(self.epochs.starts, self.epochs.period, t)
        return self.numerator / (k + self.offset)


PASSES_ASSUMED = 100
"""Passes for which a step is chosen where nothing bounds them."""


@step_rule()
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
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> result = fw.minimize(problem, "fw", step=methods.ConstantStep(0.1), tol=0, max_passes=3)
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
                steps = PASSES_ASSUMED * setting.n / max(1, setting.batch_size)
            gamma = min(1.0, self.scale / max(1.0, steps) ** self.power)
        return ConstantStepState(np.array([gamma]))


class ConstantStepState(NamedTuple):
    """The step, in an array: a run that goes on from its state keeps it, whatever its budget."""

    gamma: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size at any step."""
        return self.gamma[0]


STEPS: dict[str, Any] = {
    "open-loop": OpenLoop(),
    "log-adaptive": LogAdaptive(),
    "constant": ConstantStep(),
    "short": ShortStep(),
    "line-search": LineSearch(),
    "secant": Secant(),
    "backtracking": Backtracking(),
    "monotone": Monotone(),
}
"""The rules that suit every direction, by name. `DampedStep` and `NormStep` need a direction with an active set."""


def as_step(step: Any) -> Any:
    """Step rule from its name or from an instance."""
    if isinstance(step, str):
        return lookup("step", step, STEPS)
    accept("step", step, "a step rule")
    return step
