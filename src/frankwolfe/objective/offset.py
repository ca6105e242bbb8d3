"""Losses around a loss: an intercept, offsets (known parts of the predictions), and a linear term in the predictions.

A problem with offsets ``o`` minimises ``sum_i p_i f(x_i' w + o_i, y_i)``. Its targets are complex numbers ``y + i o``,
so that whatever stores, cuts or sends targets takes the offsets along, and `OffsetLoss` adds them to the predictions.
Everything else sees a loss like any other. The conjugate of ``z -> f(z + o)`` is ``f*(a) - a o``.
"""

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Loss
from frankwolfe.compile.verbs import (
    conjugate,
    curvature,
    derivative,
    hessian_product,
    kink_slopes,
    nearest_slope,
    residual,
    routine,
    smoothed_derivative,
    smoothness,
    twofold,
    value,
    where,
)
from frankwolfe.losses.base import EDGE, loss


def _moved_outputs(shift, z):
    return z + shift


@twofold(_moved_outputs)
def moved(shift, z):
    """Return the prediction ``z`` with the intercept added."""
    return z + shift[0]


@loss(**{name: property(attrgetter(f"base.{name}")) for name in ("takes_arrays", "convex", "smooth", "outputs")})
class ShiftedLoss(NamedTuple):
    """A loss at ``z + shift``; ``shift`` is an array with an entry for each output."""

    base: Any
    shift: np.ndarray

    def value(self, z, y):
        """Return the loss of one sample."""
        return value(self.base, moved(self.shift, z), y)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return derivative(self.base, moved(self.shift, z), y)

    def smoothed_derivative(self, z, y, beta):
        """Return the first derivative in ``z`` of the loss, smoothed if it has kinks."""
        return smoothed_derivative(self.base, moved(self.shift, z), y, beta)

    def curvature(self, z, y):
        """Return the second derivative in ``z``; for several outputs, a diagonal upper bound."""
        return curvature(self.base, moved(self.shift, z), y)

    def hessian_product(self, z, y, q):
        """Return the Hessian-vector product with ``q``, for several outputs."""
        return hessian_product(self.base, moved(self.shift, z), y, q)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual at a slope ``a``."""
        return residual(self.base, moved(self.shift, z), y, a)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return smoothness(self.base)


def shifted(loss: Loss) -> ShiftedLoss:
    """Return the loss with an intercept of zero, in an array that the caller may change."""
    return ShiftedLoss(loss, np.zeros(loss.outputs or 1))


FORWARDED = ("takes_arrays", "convex", "smooth", "targets", "neighbours", "log_link", "has_conjugate", "has_residual")
"""Facts of the loss that do not depend on offsets."""


@loss(with_offset=True, **{name: property(attrgetter(f"base.{name}")) for name in FORWARDED})
class OffsetLoss(NamedTuple):
    """A loss of one output at ``z + o``, for targets ``y + i o``."""

    base: Any

    def value(self, z, y):
        """Return the loss of one sample."""
        return value(self.base, z + y.imag, y.real)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return derivative(self.base, z + y.imag, y.real)

    def smoothed_derivative(self, z, y, beta):
        """Return the first derivative in ``z`` of the loss, smoothed if it has kinks."""
        return smoothed_derivative(self.base, z + y.imag, y.real, beta)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return curvature(self.base, z + y.imag, y.real)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual at a slope ``a``."""
        return residual(self.base, z + y.imag, y.real, a)

    def conjugate(self, a, y):
        """Return the conjugate at a slope ``a``."""
        return conjugate(self.base, a, y.real) - a * y.imag

    def nearest_slope(self, a, y):
        """Return a slope near ``a`` in the domain of the conjugate, which offsets do not change."""
        return nearest_slope(self.base, a, y.real)

    def kink_slopes(self, y):
        """Return the slopes to the left and right of the kink."""
        return kink_slopes(self.base, y.real)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return smoothness(self.base)

    def for_targets(self, targets):
        """Return the loss for these targets."""
        return self._replace(base=self.base.for_targets(targets.real))


@routine
def untilted(base, a, y, tilt):
    """Return ``a`` less the tilt; at the edge of the conjugate's domain, on the inner side of the rounding."""
    slope = a - tilt
    near = nearest_slope(base, slope, y)
    return where(np.abs(slope - near) <= EDGE * np.abs(tilt), near, slope)


@loss(**{name: property(attrgetter(f"base.{name}")) for name in FORWARDED})
class TiltedLoss(NamedTuple):
    """A loss of one output plus ``tilt z``: a linear term in the predictions, and so in the intercept."""

    base: Any
    tilt: float

    def value(self, z, y):
        """Return the loss of one sample."""
        return value(self.base, z, y) + self.tilt * z

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return derivative(self.base, z, y) + self.tilt

    def smoothed_derivative(self, z, y, beta):
        """Return the first derivative in ``z`` of the loss, smoothed if it has kinks."""
        return smoothed_derivative(self.base, z, y, beta) + self.tilt

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return curvature(self.base, z, y)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual at a slope ``a``: that of the loss at the slope without the tilt."""
        return residual(self.base, z, y, untilted(self.base, a, y, self.tilt))

    def conjugate(self, a, y):
        """Return the conjugate at a slope ``a``."""
        return conjugate(self.base, untilted(self.base, a, y, self.tilt), y)

    def nearest_slope(self, a, y):
        """Return a slope near ``a`` in the domain of the conjugate, which the tilt moves."""
        return nearest_slope(self.base, a - self.tilt, y) + self.tilt

    def kink_slopes(self, y):
        """Return the slopes to the left and right of the kink."""
        low, high = kink_slopes(self.base, y)
        return low + self.tilt, high + self.tilt

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return smoothness(self.base)


def tilted(loss: Loss, tilt: float) -> Any:
    """Return a loss plus ``tilt z``, where ``z`` has no offset."""
    return loss._replace(base=TiltedLoss(loss.base, tilt)) if loss.with_offset else TiltedLoss(loss, tilt)


def without_offset(loss: Loss) -> Any:
    """Return the loss that a user has chosen."""
    return loss.base if loss.with_offset else loss


def centres(targets: np.ndarray) -> np.ndarray:
    """Return the targets less their offsets: predictions without an offset that equal the targets."""
    return targets.real - targets.imag
