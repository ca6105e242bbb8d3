"""Losses with a kink: lines on both sides of ``z = y``, and no derivative there.

Such a loss is ``f(z, y) = max(low (z - y), high (z - y))`` with slopes ``low <= 0 <= high`` that may depend on the
target. A class returns them from ``kink_slopes(y)``; `KinkedLoss` has the rest. The conjugate is ``a y`` for
slopes ``a`` between the two. Smoothed by the Moreau envelope with the parameter ``beta``, the loss has the derivative

    max_a a (z - y) - beta a^2 / 2  is attained at  a = (z - y) / beta,  moved to the nearer end of [low, high],

so it is a slope of the loss itself, whatever ``beta``: what it proves of the optimum is proven for the loss itself.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import finite, lent
from frankwolfe.compile.verbs import kink_slopes, where
from frankwolfe.losses.base import clipped, is_near, loss


class KinkedLoss:
    """Methods that follow from the slopes on both sides of the kink."""

    smooth = False
    convex = True

    def value(self, z, y):
        """Loss of one sample."""
        low, high = kink_slopes(self, y)
        return np.maximum(high * (z - y), low * (z - y))

    def derivative(self, z, y):
        """First derivative in ``z``; at the kink zero, which is a subgradient there."""
        low, high = kink_slopes(self, y)
        return where(z == y, 0.0, where(z > y, high, low))

    def smoothed_derivative(self, z, y, beta):
        """First derivative in ``z`` of the loss's Moreau envelope."""
        low, high = kink_slopes(self, y)
        return clipped((z - y) / beta, low, high)

    def curvature(self, z, y):
        """Second derivative in ``z``: zero but at the kink."""
        return 0.0

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - a z`` for a slope ``a``; infinite where ``f*`` is."""
        low, high = kink_slopes(self, y)
        slope = clipped(a, low, high)
        return where(is_near(a, slope), np.maximum((high - slope) * (z - y), (low - slope) * (z - y)), inf)

    def conjugate(self, a, y):
        """Conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside of its domain."""
        low, high = kink_slopes(self, y)
        slope = clipped(a, low, high)
        return where(is_near(a, slope), slope * y, inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        low, high = kink_slopes(self, y)
        return clipped(a, low, high)

    def smoothness(self):
        """Lipschitz constant of the derivative: it jumps."""
        return inf


@loss(targets="labels", neighbours=("squared-hinge", "modified-huber"))
@lent(KinkedLoss)
class Hinge(NamedTuple):
    """Hinge, ``max(0, 1 - y z)``, for labels -1 and +1: the loss of support vector machines. For ``"shcgm"``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.Hinge().value(-1.0, 1.0))
    2.0
    """

    def kink_slopes(self, y):
        """Slopes before and after the kink at ``z = y``."""
        return where(y > 0.0, -1.0, 0.0), where(y > 0.0, 0.0, 1.0)


@loss(targets="real", neighbours=("huber",))
@lent(KinkedLoss)
class Pinball(NamedTuple):
    """Pinball loss, ``q (y - z)`` below the target and ``(1 - q) (z - y)`` above: of quantiles. For ``"shcgm"``.

    A constant model that minimises it is the ``q``-quantile of the targets. With ``q = 0.5``, the median, it is half
    the absolute error.

    Parameters
    ----------
    quantile : float
        Between 0 and 1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.Pinball(0.75).value(0.0, 2.0)), float(fw.Pinball(0.75).value(2.0, 0.0))
    (1.5, 0.5)
    """

    quantile: float = 0.5

    def _checked(self):
        quantile = finite("Pinball", "quantile", self.quantile)
        if not 0.0 < quantile < 1.0:
            raise ValueError(f"Pinball: quantile must be between 0 and 1, got {quantile:g}")
        return self._replace(quantile=quantile)

    def kink_slopes(self, y):
        """Slopes before and after the kink at ``z = y``."""
        return -self.quantile, 1.0 - self.quantile
