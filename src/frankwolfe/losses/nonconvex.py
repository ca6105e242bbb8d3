"""Losses that are not convex: their gap measures stationarity, and is no bound on the objective."""

from math import exp, expm1, log, log1p, sqrt
from typing import NamedTuple

from frankwolfe.compile.part import positive
from frankwolfe.losses.loss_defaults import loss


@loss
class Sigmoid(NamedTuple):
    """Sigmoid loss ``1 / (1 + exp(y z))``: a smooth, non-convex stand-in for the share of wrong labels.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Sigmoid().value(0.0, 1.0)
    0.5
    """

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return False

    @property
    def targets(self):
        """Which targets fit: ``"labels"`` (-1 and +1) or ``"real"``."""
        return "labels"

    def value(self, z, y):
        """Loss of one sample."""
        margin = y * z
        if margin > 0.0:
            e = exp(-margin)
            return e / (1.0 + e)
        return 1.0 / (1.0 + exp(margin))

    def derivative(self, z, y):
        """First derivative in ``z``."""
        e = exp(-abs(z))
        return -y * e / ((1.0 + e) * (1.0 + e))

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        e = exp(-abs(z))
        found = -e * expm1(-abs(z)) / ((1.0 + e) * (1.0 + e) * (1.0 + e))  # expm1: exact to the last digit near zero
        return found if y * z > 0.0 else -found

    def smoothness(self):
        """Lipschitz constant of the derivative: the sigmoid is most curved where it is (3 -+ sqrt 3) / 6."""
        return sqrt(3.0) / 18.0


@loss
class Cauchy(NamedTuple):
    """Cauchy (Lorentzian) loss ``scale^2 / 2 log(1 + (error / scale)^2)``: robust, non-convex.

    Parameters
    ----------
    scale : float
        Error at which the pull of a sample is strongest; far beyond, it fades.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> round(fw.Cauchy(1.0).value(1.0, 0.0), 6)
    0.346574
    """

    scale: float = 1.0

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return False

    @property
    def targets(self):
        """Which targets fit: ``"labels"`` (-1 and +1) or ``"real"``."""
        return "real"

    def _checked(self):
        return self._replace(scale=positive("Cauchy", "scale", self.scale))

    def value(self, z, y):
        """Loss of one sample."""
        q = abs(z - y) / self.scale
        if q < 1e8:
            return 0.5 * self.scale * self.scale * log1p(q * q)
        return self.scale * self.scale * log(q)  # 1 + q^2 is q^2 to the last digit here, and q^2 may overflow

    def derivative(self, z, y):
        """First derivative in ``z``."""
        q = (z - y) / self.scale
        if abs(q) < 1e8:
            return self.scale * q / (1.0 + q * q)
        return self.scale / q

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        q = abs(z - y) / self.scale
        if q < 1e8:  # 1 - q^2 from the errors themselves: q near one has lost what is left
            return (self.scale - abs(z - y)) / self.scale * (1.0 + q) / ((1.0 + q * q) * (1.0 + q * q))
        return -1.0 / q / q

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0


@loss
class Tukey(NamedTuple):
    """Tukey's biweight: like the squared error near zero, constant for errors beyond ``cutoff``; non-convex.

    Parameters
    ----------
    cutoff : float
        Error from which a sample has no pull at all.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Tukey(3.0).value(100.0, 0.0)
    1.5
    """

    cutoff: float = 4.685

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return False

    @property
    def targets(self):
        """Which targets fit: ``"labels"`` (-1 and +1) or ``"real"``."""
        return "real"

    def _checked(self):
        return self._replace(cutoff=positive("Tukey", "cutoff", self.cutoff))

    def value(self, z, y):
        """Loss of one sample."""
        q = abs(z - y) / self.cutoff
        if q >= 1.0:
            return self.cutoff * self.cutoff / 6.0
        # 1 - (1 - q^2)^3, expanded so that small errors keep their digits
        q2 = q * q
        return self.cutoff * self.cutoff / 6.0 * q2 * (3.0 - 3.0 * q2 + q2 * q2)

    def derivative(self, z, y):
        """First derivative in ``z``."""
        error = abs(z - y)
        if error >= self.cutoff:
            return 0.0
        # 1 - q^2 from the errors themselves: q near one has lost what is left
        rest = (self.cutoff - error) / self.cutoff * (1.0 + error / self.cutoff)
        return (z - y) * rest * rest

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        error = abs(z - y)
        if error >= self.cutoff:
            return 0.0
        q = error / self.cutoff
        return (self.cutoff - error) / self.cutoff * (1.0 + q) * (1.0 - 5.0 * q * q)

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0
