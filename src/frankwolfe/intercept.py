"""A free intercept: a number (or one for each output) that is added to all predictions and that no set constrains.

It lives in the loss, which then judges ``z + shift``, so that no kernel knows of it. Whenever all predictions are at
hand the shift is made optimal for them, by Newton's method in one variable, or as many as there are outputs: next to a
pass over the data this costs nothing. The objective is thereby ``min over b of F(w, b)``, which is as convex and as
smooth as ``F``, and whose gradient in ``w`` is that of ``F`` at the best ``b``: gap and certificate hold as they stand.
"""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compiled import kernel
from frankwolfe.parts import part
from frankwolfe.verbs import bend, curvature, derivative, smoothness, value

STEPS = 100
"""Most Newton steps, bisections included."""

ROUNDING = 1e-15
"""Differences of the objective below this part of it are rounding."""


@part
class Shifted(NamedTuple):
    """A loss that judges ``z + shift[0]``."""

    base: Any
    shift: np.ndarray

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return self.base.convex

    def value(self, z, y):
        """Loss of one sample."""
        return value(self.base, z + self.shift[0], y)

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return derivative(self.base, z + self.shift[0], y)

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        return curvature(self.base, z + self.shift[0], y)

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return smoothness(self.base)

    def settle(self, samples, z: np.ndarray) -> None:
        """Make the shift optimal for the predictions ``z``."""
        settle_one(samples, z, self.shift)


@part
class ShiftedOutputs(NamedTuple):
    """A loss of several outputs that judges ``z + shift``."""

    base: Any
    shift: np.ndarray

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return self.base.convex

    @property
    def outputs(self):
        """Number of outputs."""
        return len(self.shift)

    def value(self, z, y):
        """Loss of one sample."""
        return value(self.base, z + self.shift, y)

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return derivative(self.base, z + self.shift, y)

    def curvature(self, z, y):
        """Diagonal that bounds the second derivative in ``z``."""
        return curvature(self.base, z + self.shift, y)

    def bend(self, z, y, q):
        """Second derivative in ``z`` times ``q``."""
        return bend(self.base, z + self.shift, y, q)

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return smoothness(self.base)

    def settle(self, samples, z: np.ndarray) -> None:
        """Make the shift optimal for the predictions ``z``."""
        settle_several(samples, z, self.shift)


def shifted(loss: Any) -> Any:
    """Return a loss with a shift of its own, for now zero."""
    outputs = getattr(loss, "outputs", 0)
    return ShiftedOutputs(loss, np.zeros(outputs)) if outputs else Shifted(loss, np.zeros(1))


@kernel
def settle_one(samples, z, shift):
    """Find where the slope in the shift is zero: Newton's method inside a bracket that is made as it goes."""
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    low, high, first, step = -np.inf, np.inf, 0.0, 0.0
    for trial in range(STEPS):
        rise, bow, total = 0.0, 0.0, 0.0
        for i in range(len(z)):
            pull = weights[i] * derivative(loss, z[i], targets[i])
            rise += pull
            total += abs(pull)
            bow += weights[i] * curvature(loss, z[i], targets[i])
        if trial == 0:
            first = total
        if not isfinite(rise) or abs(rise) <= 1e-15 * first or low >= high:
            return
        here = shift[0]
        if rise > 0.0:
            high = here
        else:
            low = here
        limit = 2.0 * abs(step) + 1.0 if trial > 0 else max(1.0, abs(here))
        step = -rise / bow if bow > 0.0 else -np.sign(rise) * limit
        step = min(max(step, -10.0 * limit), 10.0 * limit)
        there = here + step
        if not low < there < high:  # one end is where we are, so the other is finite
            there = 0.5 * (low + high)
        if there == here or there in (low, high):
            return
        step, shift[0] = there - here, there


@kernel
def slope_and_bow(samples, z, slope, bow):
    """Fill in the first and second derivative of the objective in the shift of all predictions; return its value."""
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    total, unit = 0.0, np.zeros(len(slope))
    slope[:] = 0.0
    bow[:] = 0.0
    for i in range(len(z)):
        total += weights[i] * value(loss, z[i], targets[i])
        slope += weights[i] * derivative(loss, z[i], targets[i])
        for c in range(len(slope)):
            unit[c] = weights[i]
            bow[c] += bend(loss, z[i], targets[i], unit)
            unit[c] = 0.0
    return total


def settle_several(samples: Any, z: np.ndarray, shift: np.ndarray) -> None:
    """Newton's method for a shift of several outputs.

    Where a Newton step does not lower the objective as it promised, as far out on a loss that flattens, the step is
    bounded: the Hessian plus the length of the slope (Mishchenko 2023) gives one of length one at most. Near the
    optimum the objective no longer tells which of two shifts is better, and the length of the slope does.
    """
    slope, bow = np.empty(len(shift)), np.empty((len(shift), len(shift)))
    level = slope_and_bow(samples, z, slope, bow)
    for _ in range(STEPS):
        before, bends, axes = shift.copy(), *np.linalg.eigh(bow)
        pulls = slope @ axes
        # no loss minds what is added to all outputs of a multinomial: what neither bends nor pulls is left alone
        kept = (bends > 1e-14 * max(bends[-1], 1e-200)) | (np.abs(pulls) > 1e-13)
        bends, axes, pulls = np.maximum(bends[kept], 1e-100), axes[:, kept], pulls[kept]
        steep = float(np.linalg.norm(pulls))
        if not steep > 0.0:
            return
        for ridge in (0.0, *(steep * 4.0**k for k in range(12))):
            move = -axes @ (pulls / (bends + ridge))
            fall = float(pulls @ (pulls / (bends + ridge)))
            shift[:] = before + move
            reached = slope_and_bow(samples, z, slope, bow)
            falls = fall > ROUNDING * abs(level) and reached <= level - 0.1 * fall
            if falls or (reached <= level + ROUNDING * abs(level) and np.linalg.norm(slope @ axes) <= 0.5 * steep):
                break
        else:
            shift[:] = before
            return
        level = reached
