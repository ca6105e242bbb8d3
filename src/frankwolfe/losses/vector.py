"""Losses of several outputs: the prediction ``z`` is a short array, one number for each column of ``W``.

Beside value and derivative such a loss gives `hessian_product`, its second derivative (a matrix) times an array, and as
its curvature a diagonal matrix that bounds it. How many outputs there are follows from the targets: ``for_targets`` is
handed them.
"""

from math import exp, inf, isinf, log1p
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import routine
from frankwolfe.losses.divergence import EDGE, entropy, entropy_term, within
from frankwolfe.losses.loss_defaults import loss


@routine
def _largest(z):
    """Place of the largest prediction."""
    largest = 0
    for c in range(1, len(z)):
        if z[c] > z[largest]:
            largest = c
    return largest


@routine
def _probabilities(z):
    """Probabilities of the classes, which is the most probable, and the sum of the others, to full precision."""
    largest, rest = _largest(z), 0.0
    p = np.ones(len(z))
    for c in range(len(z)):
        if c != largest:
            p[c] = exp(z[c] - z[largest])
            rest += p[c]
    p /= 1.0 + rest
    return p, largest, rest / (1.0 + rest)


@routine
def _certain(true, others):
    """Return the sum of the other classes' shares, at most one; infinity if it does not cancel the true class's."""
    if abs(true + others) > EDGE * others:
        return inf
    return within(others, 0.0, 1.0)


@loss
class Multinomial(NamedTuple):
    """Multinomial logistic loss, ``log(sum_c exp(z_c)) - z_y``, for classes 0, 1, ..., outputs - 1.

    Parameters
    ----------
    outputs : int
        Number of classes; 0 takes it from the targets.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> import numpy as np
    >>> round(float(fw.Multinomial(2).value(np.array([0.0, 0.0]), 1.0)), 6)
    0.693147
    """

    outputs: int = 0

    def _checked(self):
        return self._replace(outputs=_outputs("Multinomial", self.outputs))

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return True

    @property
    def coupled(self):
        """Whether the second derivative has entries beside its diagonal."""
        return True

    @property
    def targets(self):
        """Which targets fit: class numbers from 0."""
        return "classes"

    def for_targets(self, targets):
        """Return the loss for as many classes as the targets name, unless it knows the number already."""
        most = int(targets.max()) + 1
        if self.outputs and most > self.outputs:
            raise ValueError(
                f"y names class {most - 1}, but Multinomial({self.outputs}) has classes 0 to {self.outputs - 1}"
            )
        if max(self.outputs, most) < 2:
            raise ValueError("y names one class only: Multinomial needs two or more, or Multinomial(outputs=number)")
        return self._replace(outputs=self.outputs or most)

    def value(self, z, y):
        """Loss of one sample: how far the largest prediction leads, and ``log1p`` of the odds of all the others."""
        largest, rest = _largest(z), 0.0
        for c in range(len(z)):
            if c != largest:
                rest += exp(z[c] - z[largest])
        return z[largest] - z[int(y)] + log1p(rest)

    def derivative(self, z, y):
        """First derivative in ``z``: the probabilities, less one for the true class."""
        true = int(y)
        change, _, _ = _probabilities(z)
        change[true], others = 0.0, 0.0
        for c in range(len(z)):
            others += change[c]
        change[true] = -others  # where the class is all but sure, its probability less one would be rounding
        return change

    def hessian_product(self, z, y, q):
        """Second derivative in ``z`` times ``q``: ``p q - p <p, q>``."""
        p, largest, _ = _probabilities(z)
        change = q - q[largest]  # so that the most probable class, which all but makes the mean, is not in it
        mean = 0.0
        for c in range(len(z)):
            mean += p[c] * change[c]
        return p * (change - mean)

    def curvature(self, z, y):
        """Diagonal matrix that is nowhere below the second derivative, whose rows it outweighs: ``2 p (1 - p)``."""
        p, largest, others = _probabilities(z)
        diagonal = 2.0 * p * (1.0 - p)
        diagonal[largest] = 2.0 * p[largest] * others
        return diagonal

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - <a, z>``; ``f*`` is finite for differences to the true class.

        The entry of the true class is taken to be minus the sum of the others: a sum that is zero but for rounding is
        meant to be zero.
        """
        true, total, others, difference = int(y), 0.0, 0.0, 0.0
        p, _, _ = _probabilities(z)
        for c in range(len(z)):
            if c != true:
                total += entropy_term(a[c], p[c], a[c] - p[c])
                others += a[c]
                difference += a[c] - p[c]
        others = _certain(a[true], others)
        return inf if isinf(others) else total + entropy_term(1.0 - others, p[true], -difference)

    def conjugate(self, a, y):
        """Conjugate ``sup_z <a, z> - f(z)``: a negative entropy where ``a`` is a difference to the true class."""
        true, total, others = int(y), 0.0, 0.0
        for c in range(len(a)):
            if c != true:
                total += entropy(a[c])
                others += a[c]
        others = _certain(a[true], others)
        return inf if isinf(others) else total + entropy(1.0 - others)

    def nearest_slope(self, a, y):
        """Return a slope near ``a`` in the domain: the other classes' shares are cut off at zero, their sum at one."""
        true, others = int(y), 0.0
        near = np.maximum(a, 0.0)
        near[true] = 0.0
        for c in range(len(near)):
            others += near[c]
        if others > 1.0:
            near /= others
        near[true] = -min(others, 1.0)
        return near

    def smoothness(self):
        """Lipschitz constant of the derivative (Boehning 1992)."""
        return 0.5


@loss
class MultitaskSquared(NamedTuple):
    """Half the squared error summed over the outputs, ``||z - y||^2 / 2``; the targets are a matrix.

    Parameters
    ----------
    outputs : int
        Number of outputs; 0 takes it from the targets.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> import numpy as np
    >>> float(fw.MultitaskSquared().value(np.array([1.0, 2.0]), np.array([0.0, 0.0])))
    2.5
    """

    outputs: int = 0

    def _checked(self):
        return self._replace(outputs=_outputs("MultitaskSquared", self.outputs))

    @property
    def convex(self):
        """Whether the loss is convex in ``z``."""
        return True

    @property
    def coupled(self):
        """Whether the second derivative has entries beside its diagonal."""
        return False

    @property
    def targets(self):
        """Which targets fit: a row of numbers for each sample."""
        return "rows"

    def for_targets(self, targets):
        """Return the loss for as many outputs as the targets have columns."""
        if self.outputs not in (0, targets.shape[1]):
            raise ValueError(f"y has {targets.shape[1]} columns, but MultitaskSquared({self.outputs}) was asked for")
        return self._replace(outputs=targets.shape[1])

    def value(self, z, y):
        """Loss of one sample."""
        total = 0.0
        for c in range(len(z)):
            total += 0.5 * (z[c] - y[c]) * (z[c] - y[c])
        return total

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return z - y

    def hessian_product(self, z, y, q):
        """Second derivative in ``z`` times ``q``: ``q`` itself."""
        return 1.0 * q

    def curvature(self, z, y):
        """Diagonal of the second derivative: ones."""
        return np.ones(len(z))

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - <a, z>``."""
        total = 0.0
        for c in range(len(z)):
            total += 0.5 * (z[c] - y[c] - a[c]) * (z[c] - y[c] - a[c])
        return total

    def conjugate(self, a, y):
        """Conjugate ``sup_z <a, z> - f(z)``."""
        total = 0.0
        for c in range(len(a)):
            total += a[c] * (0.5 * a[c] + y[c])
        return total

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return 1.0


def _outputs(loss: str, outputs: int) -> int:
    """Return a number of outputs, or say what is wrong with it."""
    if isinstance(outputs, bool) or not isinstance(outputs, int | np.integer):
        raise TypeError(f"{loss}: outputs must be an int, got {type(outputs).__name__}")
    if outputs < 0:
        raise ValueError(f"{loss}: outputs must be 0 (take it from y) or more, got {outputs}")
    return int(outputs)
