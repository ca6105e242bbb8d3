"""The log-loss of a mixture of probabilities, for `frankwolfe.estimators.probability_mixer`.

It is not among the named losses: it is defined for ``z > -1`` only, where each problem must start.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import routine, where
from frankwolfe.losses.base import loss
from frankwolfe.losses.log_link import excess


@routine
def _share(z):
    """Return ``1 + z`` where it is positive, else one."""
    return where(z > -1.0, 1.0 + z, 1.0)


@loss(convex=True, targets="positive")
class Mixture(NamedTuple):
    """Log-loss ``-log(y (1 + z))`` of a mixture that gives the true class ``1 + z`` times the probability ``y``.

    Infinite for ``z <= -1``. With ``z_i = sum_j w_j (p_ij / y_i - 1)`` and weights of sum one it is
    ``-log(sum_j w_j p_ij)`` for any ``y``. Where ``y_i`` is the mean probability, zero predictions stand for the plain
    average, so that tolerances are relative to its log-loss.

    Examples
    --------
    >>> round(float(Mixture().value(1.0, 0.25)), 6)
    0.693147
    """

    def value(self, z, y):
        """Return the loss of one sample."""
        return where(z > -1.0, -np.log(_share(z)) - np.log(y), inf)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return where(z > -1.0, -1.0 / _share(z), -inf)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return where(z > -1.0, 1.0 / (_share(z) * _share(z)), inf)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        t = -a * _share(z)
        inside = (z > -1.0) & (t > 0.0)
        t = where(inside, t, 1.0)
        return where(inside, excess(1.0, np.log(t), t), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        return where(a < 0.0, np.log(y) - 1.0 - a - np.log(where(a < 0.0, -a, 1.0)), inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate, which is open: tiny where ``a >= 0``."""
        return np.minimum(a, -1e-300)

    def smoothness(self):
        """Return infinity: the curvature is unbounded."""
        return inf
