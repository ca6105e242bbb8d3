"""Convex losses of one prediction, each a NamedTuple."""

from math import exp, inf, isinf, log1p
from typing import NamedTuple

from frankwolfe.compile.part import positive
from frankwolfe.losses.divergence import entropy, entropy_term, within
from frankwolfe.losses.loss_defaults import loss


@loss
class Logistic(NamedTuple):
    """Logistic loss ``log(1 + exp(-y z))`` for labels -1 and +1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> round(fw.Logistic().value(0.0, 1.0), 6)
    0.693147
    """

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return True

    @property
    def targets(self):
        """Which targets fit: ``"labels"`` (-1 and +1) or ``"real"``."""
        return "labels"

    def value(self, z, y):
        """Loss of one sample."""
        margin = y * z
        return log1p(exp(-abs(margin))) - min(margin, 0.0)

    def derivative(self, z, y):
        """First derivative in ``z``."""
        margin = y * z
        e = exp(-abs(margin))  # as in `value`: where both are asked for, it is computed once
        return -y * (e if margin > 0.0 else 1.0) / (1.0 + e)

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        e = exp(-abs(z))
        return e / ((1.0 + e) * (1.0 + e))

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - a z`` for a slope ``a``; infinite where ``f*`` is."""
        margin, q = y * z, within(-y * a, 0.0, 1.0)
        if isinf(q):
            return inf
        e = exp(-abs(margin))
        small, large = e / (1.0 + e), 1.0 / (1.0 + e)
        p, rest = (small, large) if margin > 0.0 else (large, small)
        # where p is close to one, its difference to q is that of what they leave
        difference = q - p if p < 0.5 else rest - (1.0 - q)
        return entropy_term(q, p, difference) + entropy_term(1.0 - q, rest, -difference)

    def conjugate(self, a, y):
        """Conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside of its domain."""
        q = within(-y * a, 0.0, 1.0)
        return inf if isinf(q) else entropy(q) + entropy(1.0 - q)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return -y * max(0.0, min(1.0, -y * a))

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 0.25


@loss
class Squared(NamedTuple):
    """Half the squared error, ``(z - y)^2 / 2``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Squared().value(3.0, 1.0)
    2.0
    """

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return True

    @property
    def targets(self):
        """Which targets fit: ``"labels"`` (-1 and +1) or ``"real"``."""
        return "real"

    def value(self, z, y):
        """Loss of one sample."""
        return 0.5 * (z - y) * (z - y)

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return z - y

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        return 1.0

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - a z`` for a slope ``a``; infinite where ``f*`` is."""
        return 0.5 * (z - y - a) * (z - y - a)

    def conjugate(self, a, y):
        """Conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside of its domain."""
        return a * (0.5 * a + y)

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0


@loss
class Huber(NamedTuple):
    """Huber's loss: squared up to an error of ``delta``, linear beyond.

    Parameters
    ----------
    delta : float
        Error at which the quadratic turns into a line.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Huber(1.0).value(3.0, 0.0)
    2.5
    """

    delta: float = 1.0

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return True

    @property
    def targets(self):
        """Which targets fit: ``"labels"`` (-1 and +1) or ``"real"``."""
        return "real"

    def _checked(self):
        return self._replace(delta=positive("Huber", "delta", self.delta))

    def value(self, z, y):
        """Loss of one sample."""
        error = abs(z - y)
        if error <= self.delta:
            return 0.5 * error * error
        return self.delta * (error - 0.5 * self.delta)

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return max(-self.delta, min(self.delta, z - y))

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        return 1.0 if abs(z - y) <= self.delta else 0.0

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - a z`` for a slope ``a``; infinite where ``f*`` is."""
        error, a = z - y, within(a, -self.delta, self.delta)
        if isinf(a):
            return inf
        if abs(error) <= self.delta:
            return 0.5 * (error - a) * (error - a)
        same = a if error > 0.0 else -a  # the slope toward the side of the error
        return (self.delta - same) * (abs(error) - 0.5 * (self.delta + same))

    def conjugate(self, a, y):
        """Conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside of its domain."""
        a = within(a, -self.delta, self.delta)
        return inf if isinf(a) else a * (0.5 * a + y)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return max(-self.delta, min(self.delta, a))

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0


@loss
class SquaredHinge(NamedTuple):
    """Squared hinge, ``max(0, 1 - y z)^2``, for labels -1 and +1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.SquaredHinge().value(-1.0, 1.0)
    4.0
    """

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return True

    @property
    def targets(self):
        """Which targets fit: ``"labels"`` (-1 and +1) or ``"real"``."""
        return "labels"

    def value(self, z, y):
        """Loss of one sample."""
        lack = max(0.0, 1.0 - y * z)
        return lack * lack

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return -2.0 * y * max(0.0, 1.0 - y * z)

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        return 2.0 if y * z < 1.0 else 0.0

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - a z`` for a slope ``a``; infinite where ``f*`` is."""
        lack, slope = 1.0 - y * z, within(y * a, -inf, 0.0)
        if isinf(slope):
            return inf
        if lack > 0.0:
            return (lack + 0.5 * slope) * (lack + 0.5 * slope)
        return slope * lack + 0.25 * slope * slope

    def conjugate(self, a, y):
        """Conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside of its domain."""
        slope = within(y * a, -inf, 0.0)
        return inf if isinf(slope) else slope * (1.0 + 0.25 * slope)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return y * min(0.0, y * a)

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 2.0


@loss
class ModifiedHuber(NamedTuple):
    """Squared hinge down to a margin of -1, a line below: ``max(0, 1 - m)^2``, then ``-4 m``, for ``m = y z``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.ModifiedHuber().value(-3.0, 1.0)
    12.0
    """

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return True

    @property
    def targets(self):
        """Which targets fit: ``"labels"`` (-1 and +1) or ``"real"``."""
        return "labels"

    def value(self, z, y):
        """Loss of one sample."""
        margin = y * z
        if margin < -1.0:
            return -4.0 * margin
        lack = max(0.0, 1.0 - margin)
        return lack * lack

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return -2.0 * y * min(2.0, max(0.0, 1.0 - y * z))

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        return 2.0 if -1.0 <= y * z < 1.0 else 0.0

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - a z`` for a slope ``a``; infinite where ``f*`` is."""
        margin, slope = y * z, within(y * a, -4.0, 0.0)
        if isinf(slope):
            return inf
        if margin < -1.0:
            return (4.0 + slope) * (-margin - 1.0 + 0.25 * (4.0 + slope))
        lack = 1.0 - margin
        if lack > 0.0:
            return (lack + 0.5 * slope) * (lack + 0.5 * slope)
        return slope * lack + 0.25 * slope * slope

    def conjugate(self, a, y):
        """Conjugate ``sup_z a z - f(z)`` at a slope ``a``; infinite outside of its domain."""
        slope = within(y * a, -4.0, 0.0)
        return inf if isinf(slope) else slope * (1.0 + 0.25 * slope)

    def nearest_slope(self, a, y):
        """Return the slope nearest to ``a`` in the domain of the conjugate."""
        return y * max(-4.0, min(0.0, y * a))

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 2.0
