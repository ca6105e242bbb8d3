"""Smooth losses of one output, convex and not."""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import routine, where
from frankwolfe.losses.base import clipped, entropy, entropy_term, is_near, loss


@loss(convex=True, targets="labels")
class Logistic(NamedTuple):
    """Logistic loss ``log(1 + exp(-y z))`` for labels -1 and +1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> round(float(fw.Logistic().value(0.0, 1.0)), 6)
    0.693147
    """

    def value(self, z, y):
        """Return the loss of one sample."""
        margin = y * z
        return np.log1p(np.exp(-np.abs(margin))) - np.minimum(margin, 0.0)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        margin = y * z
        e = np.exp(-np.abs(margin))  # the same expression as in `value`: a kernel that calls both evaluates it once
        return -y * where(margin > 0.0, e, 1.0) / (1.0 + e)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        e = np.exp(-np.abs(z))
        return e / ((1.0 + e) * (1.0 + e))

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        margin, q = y * z, clipped(-y * a, 0.0, 1.0)
        e = np.exp(-np.abs(margin))
        small, large = e / (1.0 + e), 1.0 / (1.0 + e)
        p, rest = where(margin > 0.0, small, large), where(margin > 0.0, large, small)
        # if p is close to one, 1 - p is accurate where q - p would cancel
        difference = where(p < 0.5, q - p, rest - (1.0 - q))
        found = entropy_term(q, p, difference) + entropy_term(1.0 - q, rest, -difference)
        return where(is_near(-y * a, q), found, inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        q = clipped(-y * a, 0.0, 1.0)
        return where(is_near(-y * a, q), entropy(q) + entropy(1.0 - q), inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return -y * clipped(-y * a, 0.0, 1.0)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 0.25


@loss(convex=True, targets="real")
class Squared(NamedTuple):
    """Half the squared error, ``(z - y)^2 / 2``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Squared().value(3.0, 1.0)
    2.0
    """

    def value(self, z, y):
        """Return the loss of one sample."""
        return 0.5 * (z - y) * (z - y)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return z - y

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return 1.0

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        return 0.5 * (z - y - a) * (z - y - a)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        return a * (0.5 * a + y)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 1.0


@loss(convex=True, targets="real")
class Huber(NamedTuple):
    """Huber's loss: squared up to an error of ``delta``, linear beyond.

    Parameters
    ----------
    delta : float
        Error at which the quadratic turns into a line.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.Huber(1.0).value(3.0, 0.0))
    2.5
    """

    delta: float = 1.0

    def value(self, z, y):
        """Return the loss of one sample."""
        error = np.abs(z - y)
        near = np.minimum(error, self.delta)
        return near * (error - 0.5 * near)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return clipped(z - y, -self.delta, self.delta)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return where(np.abs(z - y) <= self.delta, 1.0, 0.0)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        size, slope = np.abs(z - y), clipped(a, -self.delta, self.delta)
        same = where(z > y, slope, -slope)  # the slope in the direction of the error
        rest = np.minimum(size, self.delta) - same
        beyond = (self.delta - same) * (size - 0.5 * (self.delta + same))
        return where(is_near(a, slope), where(size <= self.delta, 0.5 * rest * rest, beyond), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        slope = clipped(a, -self.delta, self.delta)
        return where(is_near(a, slope), slope * (0.5 * slope + y), inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return clipped(a, -self.delta, self.delta)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 1.0


@routine
def _hinge_residual(lack, slope):
    """Return the Fenchel-Young residual of ``max(0, lack)^2`` as a function of ``-lack``, for a ``slope <= 0``."""
    rest = np.maximum(lack, 0.0) + 0.5 * slope
    return rest * rest + slope * np.minimum(lack, 0.0)


@loss(convex=True, targets="labels")
class SquaredHinge(NamedTuple):
    """Squared hinge, ``max(0, 1 - y z)^2``, for labels -1 and +1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.SquaredHinge().value(-1.0, 1.0))
    4.0
    """

    def value(self, z, y):
        """Return the loss of one sample."""
        lack = np.maximum(0.0, 1.0 - y * z)
        return lack * lack

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return -2.0 * y * np.maximum(0.0, 1.0 - y * z)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return where(y * z < 1.0, 2.0, 0.0)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        return where(y * a <= 0.0, _hinge_residual(1.0 - y * z, np.minimum(y * a, 0.0)), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        slope = np.minimum(y * a, 0.0)
        return where(y * a <= 0.0, slope * (1.0 + 0.25 * slope), inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return y * np.minimum(0.0, y * a)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 2.0


@loss(convex=True, targets="labels")
class ModifiedHuber(NamedTuple):
    """Squared hinge down to a margin of -1, a line below: ``max(0, 1 - m)^2``, then ``-4 m``, for ``m = y z``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.ModifiedHuber().value(-3.0, 1.0))
    12.0
    """

    def value(self, z, y):
        """Return the loss of one sample."""
        margin = y * z
        lack = clipped(1.0 - margin, 0.0, 2.0)
        return where(margin < -1.0, -4.0 * margin, lack * lack)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return -2.0 * y * clipped(1.0 - y * z, 0.0, 2.0)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return where((y * z >= -1.0) & (y * z < 1.0), 2.0, 0.0)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        margin, slope = y * z, clipped(y * a, -4.0, 0.0)
        line = (4.0 + slope) * (-margin - 1.0 + 0.25 * (4.0 + slope))
        found = where(margin < -1.0, line, _hinge_residual(1.0 - np.maximum(margin, -1.0), slope))
        return where(is_near(y * a, slope), found, inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        slope = clipped(y * a, -4.0, 0.0)
        return where(is_near(y * a, slope), slope * (1.0 + 0.25 * slope), inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return y * clipped(y * a, -4.0, 0.0)

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 2.0


# --- non-convex losses: their Frank-Wolfe gap measures stationarity and does not bound the suboptimality --------------


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
