"""Losses with a kink: piecewise linear, with two pieces that meet at ``z = y``.

Such a loss is ``f(z, y) = max(low (z - y), high (z - y))`` with slopes ``low <= 0 <= high`` that may depend on the
target. A class returns them from ``kink_slopes(y)``; `KinkedLoss` defines the other methods. The conjugate is ``a y``
for slopes ``a`` in ``[low, high]``. The Moreau envelope with the parameter ``beta``,

    f_beta(z, y) = max over a in [low, high] of  a (z - y) - beta a^2 / 2,

has the derivative ``a = (z - y) / beta``, clipped to ``[low, high]``. For every ``beta`` this is in the domain of the
conjugate, so dual bounds from it hold for the loss itself. `SmoothedLoss` is the envelope as a loss of its own.
"""

from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import defaults_from, finite
from frankwolfe.compile.verbs import derivative, kink_slopes, where
from frankwolfe.losses.base import clipped, is_near, loss


class KinkedLoss:
    """Methods defined by the slopes on both sides of the kink."""

    smooth = False
    convex = True

    def value(self, z, y):
        """Return the loss of one sample."""
        low, high = kink_slopes(self, y)
        return np.maximum(high * (z - y), low * (z - y))

    def derivative(self, z, y):
        """Return the first derivative in ``z``; at the kink zero, a subgradient."""
        low, high = kink_slopes(self, y)
        return where(z == y, 0.0, where(z > y, high, low))

    def smoothed_derivative(self, z, y, beta):
        """Return the first derivative in ``z`` of the Moreau envelope."""
        low, high = kink_slopes(self, y)
        return clipped((z - y) / beta, low, high)

    def curvature(self, z, y):
        """Return the second derivative in ``z``: zero except at the kink."""
        return 0.0

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        low, high = kink_slopes(self, y)
        slope = clipped(a, low, high)
        return where(is_near(a, slope), np.maximum((high - slope) * (z - y), (low - slope) * (z - y)), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        low, high = kink_slopes(self, y)
        slope = clipped(a, low, high)
        return where(is_near(a, slope), slope * y, inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        low, high = kink_slopes(self, y)
        return clipped(a, low, high)

    def smoothness(self):
        """Return infinity: the derivative is not continuous."""
        return inf


@loss(targets="labels", neighbours=("squared-hinge", "modified-huber"))
@defaults_from(KinkedLoss)
class Hinge(NamedTuple):
    """Hinge, ``max(0, 1 - y z)``, for labels -1 and +1: the loss of support vector machines.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.losses.Hinge().value(-1.0, 1.0))
    2.0
    """

    def kink_slopes(self, y):
        """Return the slopes to the left and right of the kink at ``z = y``."""
        return where(y > 0.0, -1.0, 0.0), where(y > 0.0, 0.0, 1.0)


@loss(targets="real", neighbours=("huber",))
@defaults_from(KinkedLoss)
class Pinball(NamedTuple):
    """Pinball loss, ``q (y - z)`` below the target and ``(1 - q) (z - y)`` above, for quantiles.

    A constant model that minimises it is the ``q``-quantile of the targets. With ``q = 0.5``, the median, it is half
    the absolute error.

    Parameters
    ----------
    quantile : float
        Between 0 and 1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.losses.Pinball(0.75).value(0.0, 2.0)), float(fw.losses.Pinball(0.75).value(2.0, 0.0))
    (1.5, 0.5)
    """

    quantile: float = 0.5

    def _checked(self):
        quantile = finite("Pinball", "quantile", self.quantile)
        if not 0.0 < quantile < 1.0:
            raise ValueError(f"Pinball: quantile must be between 0 and 1, got {quantile:g}")
        return self._replace(quantile=quantile)

    def kink_slopes(self, y):
        """Return the slopes to the left and right of the kink at ``z = y``."""
        return -self.quantile, 1.0 - self.quantile


@loss(convex=True, **{name: property(attrgetter(f"base.{name}")) for name in ("takes_arrays", "targets")})
class SmoothedLoss(NamedTuple):
    """The Moreau envelope of a loss with a kink: a parabola near the kink, lines of the same slopes elsewhere.

    Parameters
    ----------
    base : loss
        A loss with a kink.
    beta : float
        The parabola is where ``z - y`` is between ``beta low`` and ``beta high``.

    Examples
    --------
    >>> smoothed = SmoothedLoss(Pinball(0.75), 0.5)
    >>> float(smoothed.value(0.0, 2.0)), float(smoothed.value(0.1, 0.0)), float(smoothed.derivative(0.1, 0.0))
    (1.359375, 0.010000000000000002, 0.2)
    """

    base: Any
    beta: float

    def value(self, z, y):
        """Return the loss of one sample."""
        slope = derivative(self, z, y)
        return slope * (z - y - 0.5 * self.beta * slope)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        low, high = kink_slopes(self.base, y)
        return clipped((z - y) / self.beta, low, high)

    def curvature(self, z, y):
        """Return the second derivative in ``z``; at the ends of the parabola that of the parabola."""
        low, high = kink_slopes(self.base, y)
        slope = (z - y) / self.beta
        return where((slope >= low) & (slope <= high), 1.0 / self.beta, 0.0)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        low, high = kink_slopes(self.base, y)
        free, near = (z - y) / self.beta, clipped(a, low, high)
        slope = clipped(free, low, high)
        rest = self.beta * (slope - near) * (free - slope + 0.5 * (slope - near))
        return where(is_near(a, near), np.maximum(rest, 0.0), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        low, high = kink_slopes(self.base, y)
        slope = clipped(a, low, high)
        return where(is_near(a, slope), slope * (y + 0.5 * self.beta * slope), inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        low, high = kink_slopes(self.base, y)
        return clipped(a, low, high)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 1.0 / self.beta
