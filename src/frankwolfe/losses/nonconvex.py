"""Non-convex losses. Their Frank-Wolfe gap measures stationarity and does not bound the suboptimality."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import where
from frankwolfe.losses.base import clipped, loss


@loss(convex=False, targets="labels")
class Sigmoid(NamedTuple):
    """Sigmoid loss ``1 / (1 + exp(y z))``: a smooth, non-convex approximation of the error rate.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.losses.Sigmoid().value(0.0, 1.0))
    0.5
    """

    def value(self, z, y):
        """Return the loss of one sample."""
        margin = y * z
        e = np.exp(-np.abs(margin))
        return where(margin > 0.0, e, 1.0) / (1.0 + e)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        e = np.exp(-np.abs(z))
        return -y * e / ((1.0 + e) * (1.0 + e))

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        e = np.exp(-np.abs(z))
        found = -e * np.expm1(-np.abs(z)) / ((1.0 + e) * (1.0 + e) * (1.0 + e))  # expm1: all digits near zero
        return where(y * z > 0.0, found, -found)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative, attained where the sigmoid is (3 -+ sqrt 3) / 6."""
        return sqrt(3.0) / 18.0


@loss(convex=False, targets="real")
class Cauchy(NamedTuple):
    """Cauchy (Lorentzian) loss ``scale^2 / 2 log(1 + (error / scale)^2)``: robust, non-convex.

    Parameters
    ----------
    scale : float
        Error at which the derivative is largest. Far beyond, it tends to zero.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> round(float(fw.losses.Cauchy(1.0).value(1.0, 0.0)), 6)
    0.346574
    """

    scale: float = 1.0

    def _checked(self):
        return self._replace(scale=positive("Cauchy", "scale", self.scale))

    def value(self, z, y):
        """Return the loss of one sample."""
        q = np.abs(z - y) / self.scale
        near = np.minimum(q, 1e8)
        # beyond, 1 + q^2 is q^2 to the last digit, and q^2 may overflow
        return self.scale * self.scale * where(q < 1e8, 0.5 * np.log1p(near * near), np.log(np.maximum(q, 1.0)))

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        q = (z - y) / self.scale
        near = clipped(q, -1e8, 1e8)
        return where(near == q, self.scale * near / (1.0 + near * near), self.scale / where(near == q, 1.0, q))

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        error = np.abs(z - y)
        q = error / self.scale
        near = np.minimum(q, 1e8)
        # compute 1 - q^2 from the error: for q near one the difference would cancel
        rest = (self.scale - np.minimum(error, 1e8 * self.scale)) / self.scale * (1.0 + near)
        far = np.maximum(q, 1.0)
        return where(q < 1e8, rest / ((1.0 + near * near) * (1.0 + near * near)), -1.0 / far / far)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 1.0


@loss(convex=False, targets="real")
class Tukey(NamedTuple):
    """Tukey's biweight: like the squared error near zero, constant for errors beyond ``cutoff``; non-convex.

    Parameters
    ----------
    cutoff : float
        Error beyond which the derivative is zero.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.losses.Tukey(3.0).value(100.0, 0.0))
    1.5
    """

    cutoff: float = 4.685

    def _checked(self):
        return self._replace(cutoff=positive("Tukey", "cutoff", self.cutoff))

    def value(self, z, y):
        """Return the loss of one sample."""
        q = np.minimum(np.abs(z - y) / self.cutoff, 1.0)
        # 1 - (1 - q^2)^3, expanded to avoid cancellation for small errors
        q2 = q * q
        return self.cutoff * self.cutoff / 6.0 * q2 * (3.0 - 3.0 * q2 + q2 * q2)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        error = np.minimum(np.abs(z - y), self.cutoff)
        # compute 1 - q^2 from the error: for q near one the difference would cancel
        rest = (self.cutoff - error) / self.cutoff * (1.0 + error / self.cutoff)
        return np.copysign(error, z - y) * rest * rest

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        error = np.minimum(np.abs(z - y), self.cutoff)
        q = error / self.cutoff
        return (self.cutoff - error) / self.cutoff * (1.0 + q) * (1.0 - 5.0 * q * q)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 1.0
