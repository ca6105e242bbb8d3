"""Losses: one NamedTuple each, scalar in the prediction ``z`` and the target ``y``.

A loss gives its value, first derivative and curvature (second derivative) at one sample; the Lipschitz constant
of its derivative; whether it is convex; and which targets it takes (``"labels"``: -1 and +1, ``"real"``: any
finite number). All stay finite, or overflow to infinity where the true value does, for ``|z|`` up to 1e300:
exponentials are only taken of negative numbers, and squares only where they cannot make a NaN.

Losses of several outputs, whose prediction is an array, are in `frankwolfe.vector_losses`.

To add one: a class here, a line in `LOSSES`, a row in ``tests/cases.py``.
"""

from math import exp, log, log1p, sqrt
from typing import Any, NamedTuple

from frankwolfe.names import lookup
from frankwolfe.parts import part, positive, require
from frankwolfe.vector_losses import Multinomial, MultitaskSquared


@part
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
        if margin > 0.0:
            return log1p(exp(-margin))
        return log1p(exp(margin)) - margin

    def derivative(self, z, y):
        """First derivative in ``z``."""
        margin = y * z
        if margin > 0.0:
            e = exp(-margin)
            return -y * e / (1.0 + e)
        return -y / (1.0 + exp(margin))

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        e = exp(-abs(z))
        return e / ((1.0 + e) * (1.0 + e))

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 0.25


@part
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

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0


@part
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

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0


@part
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

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 2.0


@part
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

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 2.0


@part
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
        bend = e * (1.0 - e) / ((1.0 + e) * (1.0 + e) * (1.0 + e))
        return bend if y * z > 0.0 else -bend

    def smoothness(self):
        """Lipschitz constant of the derivative: the sigmoid bends most where it is (3 -+ sqrt 3) / 6."""
        return sqrt(3.0) / 18.0


@part
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
        if q < 1e8:
            return (1.0 - q * q) / ((1.0 + q * q) * (1.0 + q * q))
        return -1.0 / q / q

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0


@part
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
        q = (z - y) / self.cutoff
        if abs(q) >= 1.0:
            return 0.0
        return self.cutoff * q * (1.0 - q * q) * (1.0 - q * q)

    def curvature(self, z, y):
        """Second derivative in ``z``."""
        q = abs(z - y) / self.cutoff
        if q >= 1.0:
            return 0.0
        return (1.0 - q * q) * (1.0 - 5.0 * q * q)

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0


LOSSES: dict[str, type] = {
    "logistic": Logistic,
    "squared": Squared,
    "huber": Huber,
    "squared-hinge": SquaredHinge,
    "modified-huber": ModifiedHuber,
    "sigmoid": Sigmoid,
    "cauchy": Cauchy,
    "tukey": Tukey,
    "multinomial": Multinomial,
    "multitask-squared": MultitaskSquared,
}


def as_loss(loss: Any) -> Any:
    """Loss from its name or from an instance."""
    if isinstance(loss, str):
        return lookup("loss", loss, LOSSES)()
    several = ("bend",) if hasattr(loss, "outputs") else ()
    require("loss", loss, ("value", "derivative", "curvature", "smoothness", *several), "a loss")
    return loss
