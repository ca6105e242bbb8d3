"""Losses of counts and positive amounts with a log link: half deviances, whose prediction ``z`` is a logarithm.

The mean of a target is ``exp(z)``, and its variance is proportional to a power of that. Zero is the best possible
value. Curvatures are unbounded, so `smoothness` is infinite. Each loss is a sum of terms ``q (exp(t) - 1 - t)``, which
`excess` computes to all digits.
"""

from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import finite
from frankwolfe.compile.verbs import conjugate, curvature, derivative, nearest_slope, residual, routine, value, where
from frankwolfe.losses.base import CLOSE, entropy, is_near, loss

LARGEST = 709.78
"""Largest exponent whose exponential is a float."""

ROUNDS = 8
"""Newton steps for Tweedie's conjugate. Five reach the last digit from the starting points used here."""


@routine
def _exp(z):
    """Return ``exp(z)``; infinite, without a warning, where it overflows."""
    return where(z > LARGEST, inf, np.exp(np.minimum(z, LARGEST)))


@routine
def _log(y):
    """Return the logarithm of a positive number, zero for zero."""
    return np.log(where(y > 0.0, y, 1.0))


@routine
def excess(q, t, top):
    """Return ``q (exp(t) - 1 - t)``, which is never negative, given ``top = q exp(t)``.

    For ``q = 0`` the result is ``top``: it need not be zero, as the logarithm in ``t`` is minus infinity then.
    """
    close, near = np.abs(t) < CLOSE, np.abs(t) < 1.0
    small, some = where(close, t, 0.0), where(near, t, 0.0)
    series = q * small * small * (0.5 + small * (1.0 / 6.0 + small * (1.0 / 24.0 + small / 120.0)))
    # far from zero, exp(t) - 1 cancels no digits; terms of either sign that overflow are never subtracted
    most = where(top < inf, top, 0.0)
    far = where(t > 0.0, where(top < inf, most - q - q * where(near, 0.0, t), inf), q * (-1.0 - t) + most)
    found = where(close, series, where(near, q * (np.expm1(some) - some), np.maximum(far, 0.0)))
    return where(q > 0.0, found, top)


@loss(convex=True, targets="nonnegative", log_link=True, power=1.0)
class Poisson(NamedTuple):
    """Half the Poisson deviance with a log link, ``exp(z) - y z + y log(y) - y``, for targets ``y >= 0``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.Poisson().value(0.0, 1.0)), float(fw.Poisson().value(0.0, 0.0))
    (0.0, 1.0)
    """

    def value(self, z, y):
        """Return the loss of one sample."""
        return excess(y, z - _log(y), _exp(z))

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return _exp(z) - y

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return _exp(z)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        slope = np.maximum(a, -y)
        q = slope + y
        return where(is_near(a, slope), excess(q, z - _log(q), _exp(z)), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        slope = np.maximum(a, -y)
        q = slope + y
        found = where(y > 0.0, excess(q, _log(y) - _log(q), y) + slope * _log(y), entropy(q) - q)
        return where(is_near(a, slope), found, inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return np.maximum(a, -y)

    def smoothness(self):
        """Return infinity: the curvature is unbounded."""
        return inf


@loss(convex=True, targets="positive", log_link=True, power=2.0)
class Gamma(NamedTuple):
    """Half the gamma deviance with a log link, ``z + y exp(-z) - log(y) - 1``, for targets ``y > 0``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.Gamma().value(0.0, 1.0)), round(float(fw.Gamma().value(0.0, 2.0)), 6)
    (0.0, 0.306853)
    """

    def value(self, z, y):
        """Return the loss of one sample."""
        t = z - np.log(y)
        return excess(1.0, -t, _exp(-t))

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return 1.0 - _exp(np.log(y) - z)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return _exp(np.log(y) - z)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        slope = np.minimum(a, 1.0)
        q, t = 1.0 - slope, z - np.log(y)
        return where(is_near(a, slope), excess(q, -t - _log(q), _exp(-t)), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside its domain."""
        slope = np.minimum(a, 1.0)
        return where(is_near(a, slope), excess(1.0 - slope, -_log(1.0 - slope), 1.0) + slope * np.log(y), inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return np.minimum(a, 1.0)

    def smoothness(self):
        """Return infinity: the curvature is unbounded."""
        return inf


@routine
def _tweedie_root(slope, s, u):
    """Return the ``t`` with ``exp(s t) - exp(-u t) = slope``, where ``s + u = 1``.

    For a positive slope, the logarithm of the left side is concave in ``t``, so that Newton's method converges from
    below. Both starting points are lower bounds of the root. A negative slope changes the signs and swaps the powers.
    """
    size, k = np.abs(slope), where(slope > 0.0, s, u)
    goal = _log(size)
    t = np.maximum(np.log1p(size), goal / k)
    for _ in range(ROUNDS):
        t = where(size > 0.0, np.maximum(t, 1e-320), 1.0)
        rest = -np.expm1(-t)
        t = t + (goal - k * t - np.log(rest)) / (k + np.exp(-t) / rest)
    return where(size > 0.0, where(slope > 0.0, t, -t), 0.0)


@routine
def _tweedie_prediction(power, a, y):
    """Return the prediction at which the derivative of Tweedie's loss is ``a``."""
    s, u = 2.0 - power, power - 1.0
    return where(y > 0.0, _log(y) + _tweedie_root(a / _exp(s * _log(y)), s, u), _log(a) / s)


@loss(convex=True, targets="nonnegative", log_link=True)
class Tweedie(NamedTuple):
    """Half the Tweedie deviance with a log link, for targets ``y >= 0``: positive amounts, and exact zeros.

    With ``s = 2 - power`` and ``u = power - 1`` it is ``exp(s z) / s + y exp(-u z) / u - y^s / (s u)``.

    Parameters
    ----------
    power : float
        Power of the mean that the variance is proportional to, between 1 and 2. At the ends it would be `Poisson` or
        `Gamma`; outside of them the loss is not convex.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> float(fw.Tweedie(1.5).value(0.0, 1.0)), float(fw.Tweedie(1.5).value(0.0, 0.0))
    (0.0, 2.0)
    """

    power: float = 1.5

    def _checked(self):
        power = finite("Tweedie", "power", self.power)
        if not 1.0 < power < 2.0:
            instead = {1.0: "use Poisson()", 2.0: "use Gamma()", 0.0: "use Squared()"}.get(
                power, "the loss would not be convex"
            )
            raise ValueError(f"Tweedie: power must be between 1 and 2, without the ends, got {power:g}: {instead}")
        return self._replace(power=power)

    def value(self, z, y):
        """Return the loss of one sample."""
        s, u, t = 2.0 - self.power, self.power - 1.0, z - _log(y)
        q = where(y > 0.0, _exp(s * _log(y)), 0.0)
        return excess(q, s * t, _exp(s * z)) / s + where(y > 0.0, excess(q, -u * t, _exp(_log(y) - u * z)) / u, 0.0)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        s, u = 2.0 - self.power, self.power - 1.0
        return _exp(s * z) - where(y > 0.0, _exp(_log(y) - u * z), 0.0)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        s, u = 2.0 - self.power, self.power - 1.0
        return s * _exp(s * z) + where(y > 0.0, u * _exp(_log(y) - u * z), 0.0)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``; infinite if ``f*(a)`` is."""
        s, u, at = 2.0 - self.power, self.power - 1.0, _tweedie_prediction(self.power, a, y)
        zero = (y <= 0.0) & (a <= 0.0)
        rise = excess(where(zero, 0.0, _exp(s * at)), s * (z - at), _exp(s * z)) / s
        fall = excess(_exp(_log(y) - u * at), -u * (z - at), _exp(_log(y) - u * z)) / u
        return where((y > 0.0) | (a >= 0.0), rise + where(y > 0.0, fall, 0.0), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``, by Newton's method; infinite outside."""
        slope = where(y > 0.0, a, np.maximum(a, 0.0))
        at = _tweedie_prediction(self.power, slope, y)
        found = where((y <= 0.0) & (slope <= 0.0), 0.0, slope * at - value(self, at, y))
        return where((y > 0.0) | (a >= 0.0), found, inf)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return where(y > 0.0, a, np.maximum(a, 0.0))

    def smoothness(self):
        """Return infinity: the curvature is unbounded."""
        return inf


@loss(convex=True, **{name: property(attrgetter(f"base.{name}")) for name in ("targets", "log_link", "power")})
class BoundedLoss(NamedTuple):
    """A loss with a log link and a bound on its curvature, which holds for the predictions of one problem.

    Methods with steps from the smoothness of the loss run on it (`frankwolfe.Problem.smoothness`).
    """

    base: Any
    bound: float

    def value(self, z, y):
        """Return the loss of one sample."""
        return value(self.base, z, y)

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return derivative(self.base, z, y)

    def curvature(self, z, y):
        """Return the second derivative in ``z``."""
        return curvature(self.base, z, y)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - a z`` at a slope ``a``."""
        return residual(self.base, z, y, a)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z a z - f(z)`` at a slope ``a``."""
        return conjugate(self.base, a, y)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return nearest_slope(self.base, a, y)

    def smoothness(self):
        """Return the bound."""
        return self.bound
