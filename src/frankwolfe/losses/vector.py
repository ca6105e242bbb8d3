"""Losses of several outputs: the prediction ``z`` is a short array, one number for each column of ``W``.

Such a loss defines `hessian_product`, its Hessian-vector product; its ``curvature`` is a diagonal upper bound on the
Hessian. The targets determine the number of outputs (``for_targets``). The methods loop over the outputs, which are on
the first axis: ``z[c]`` is a number, or an array with an entry per sample.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import routine, where
from frankwolfe.losses.base import EDGE, clipped, entropy, entropy_term, is_near, loss


@routine
def _entry(z, place):
    """Return the entry of ``z`` at the index ``place``, which may be an array with an index per sample."""
    found = z[0]
    for c in range(1, len(z)):
        found = where(place == c, z[c], found)
    return found


@routine
def _largest(z):
    """Return the index of the largest prediction (the first if there are ties), and the prediction."""
    place, top = where(z[0] == z[0], 0, 0), z[0]
    for c in range(1, len(z)):
        place, top = where(z[c] > top, c, place), where(z[c] > top, z[c], top)
    return place, top


@routine
def _probabilities(z):
    """Return the class probabilities, the most probable class, and the accurate sum of the other probabilities."""
    largest, top = _largest(z)
    p, rest = np.empty(z.shape), 0.0
    for c in range(len(z)):
        odds = where(largest == c, 0.0, np.exp(where(largest == c, 0.0, z[c] - top)))
        p[c], rest = where(largest == c, 1.0, odds), rest + odds
    for c in range(len(z)):
        p[c] = p[c] / (1.0 + rest)
    return p, largest, rest / (1.0 + rest)


@routine
def _shares(a, y):
    """Return the sum of the slopes of all classes but ``y``, clipped to [0, 1], and whether all sums are valid.

    Valid means: that sum is in [0, 1], and all slopes sum to zero, up to rounding.
    """
    others = 0.0
    for c in range(len(a)):
        others = others + where(y == c, 0.0, a[c])
    inside = clipped(others, 0.0, 1.0)
    return inside, is_near(others, inside) & (np.abs(_entry(a, y) + others) <= EDGE * others)


@loss(convex=True, coupled=True, targets="classes")
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
    >>> round(float(fw.losses.Multinomial(2).value(np.array([0.0, 0.0]), 1.0)), 6)
    0.693147
    """

    outputs: int = 0

    def _checked(self):
        return self._replace(outputs=_outputs("Multinomial", self.outputs))

    def for_targets(self, targets):
        """Return the loss with the number of classes from the targets, unless it is set."""
        most = int(targets.max()) + 1
        if self.outputs and most > self.outputs:
            raise ValueError(
                f"y names class {most - 1}, but Multinomial({self.outputs}) has classes 0 to {self.outputs - 1}"
            )
        if max(self.outputs, most) < 2:
            raise ValueError("y names one class only: Multinomial needs two or more, or Multinomial(outputs=number)")
        return self._replace(outputs=self.outputs or most)

    def value(self, z, y):
        """Return the loss of one sample, as ``max(z) - z_y + log1p(sum of exp(z_c - max(z)) over the other c)``."""
        largest, top = _largest(z)
        rest = 0.0
        for c in range(len(z)):
            rest = rest + where(largest == c, 0.0, np.exp(where(largest == c, 0.0, z[c] - top)))
        return top - _entry(z, y) + np.log1p(rest)

    def derivative(self, z, y):
        """Return the first derivative in ``z``: the probabilities, minus one for the true class."""
        change, _, _ = _probabilities(z)
        others = 0.0
        for c in range(len(z)):
            others = others + where(y == c, 0.0, change[c])
        for c in range(len(z)):  # for the true class, minus the sum of the others avoids the cancellation in p - 1
            change[c] = where(y == c, -others, change[c])
        return change

    def hessian_product(self, z, y, q):
        """Return the Hessian-vector product ``p q - p <p, q>``."""
        p, largest, _ = _probabilities(z)
        lead, mean = _entry(q, largest), 0.0
        for c in range(len(z)):  # relative to the entry of the most probable class, to avoid cancellation
            mean = mean + p[c] * (q[c] - lead)
        for c in range(len(z)):
            p[c] = p[c] * (q[c] - lead - mean)
        return p

    def curvature(self, z, y):
        """Return ``2 p (1 - p)``, a diagonal upper bound on the Hessian (by diagonal dominance of the difference)."""
        p, largest, others = _probabilities(z)
        for c in range(len(z)):
            p[c] = 2.0 * p[c] * where(largest == c, others, 1.0 - p[c])
        return p

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - <a, z>``.

        ``f*`` is finite if ``a + e_y`` is a probability vector, where ``e_y`` is the unit vector of the true class. The
        entry of the true class is taken to be minus the sum of the others, if they agree up to rounding.
        """
        total, difference = 0.0, 0.0
        p, _, _ = _probabilities(z)
        for c in range(len(z)):
            total = total + where(y == c, 0.0, entropy_term(a[c], p[c], a[c] - p[c]))
            difference = difference + where(y == c, 0.0, a[c] - p[c])
        others, allowed = _shares(a, y)
        return where(allowed, total + entropy_term(1.0 - others, _entry(p, y), -difference), inf)

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z <a, z> - f(z)``: the negative entropy of ``a + e_y``, infinite outside."""
        total = 0.0
        for c in range(len(a)):
            total = total + where(y == c, 0.0, entropy(a[c]))
        others, allowed = _shares(a, y)
        return where(allowed, total + entropy(1.0 - others), inf)

    def nearest_slope(self, a, y):
        """Return a slope near ``a`` in the domain: ``a + e_y`` becomes a probability vector."""
        near, others = np.empty(a.shape), 0.0
        for c in range(len(a)):
            near[c] = where(y == c, 0.0, np.maximum(a[c], 0.0))
            others = others + near[c]
        for c in range(len(a)):
            near[c] = where(y == c, -np.minimum(others, 1.0), near[c] / np.maximum(others, 1.0))
        return near

    def smoothness(self):
        """Return the Lipschitz constant of the derivative (Boehning 1992)."""
        return 0.5


@loss(convex=True, coupled=False, targets="rows")
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
    >>> float(fw.losses.MultitaskSquared().value(np.array([1.0, 2.0]), np.array([0.0, 0.0])))
    2.5
    """

    outputs: int = 0

    def _checked(self):
        return self._replace(outputs=_outputs("MultitaskSquared", self.outputs))

    def for_targets(self, targets):
        """Return the loss with the number of outputs from the columns of the targets."""
        if self.outputs not in (0, targets.shape[1]):
            raise ValueError(
                f"y has {targets.shape[1]} columns, but MultitaskSquared({self.outputs}) takes {self.outputs}"
            )
        return self._replace(outputs=targets.shape[1])

    def value(self, z, y):
        """Return the loss of one sample."""
        total = 0.0
        for c in range(len(z)):
            total = total + 0.5 * (z[c] - y[c]) * (z[c] - y[c])
        return total

    def derivative(self, z, y):
        """Return the first derivative in ``z``."""
        return z - y

    def hessian_product(self, z, y, q):
        """Return the Hessian-vector product: ``q`` itself."""
        return 1.0 * q

    def curvature(self, z, y):
        """Return the diagonal of the Hessian: ones."""
        return np.ones(z.shape)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - <a, z>``."""
        total = 0.0
        for c in range(len(z)):
            total = total + 0.5 * (z[c] - y[c] - a[c]) * (z[c] - y[c] - a[c])
        return total

    def conjugate(self, a, y):
        """Return the conjugate ``sup_z <a, z> - f(z)``."""
        total = 0.0
        for c in range(len(a)):
            total = total + a[c] * (0.5 * a[c] + y[c])
        return total

    def smoothness(self):
        """Return the Lipschitz constant of the derivative."""
        return 1.0


def _outputs(loss: str, outputs: int) -> int:
    """Return a checked number of outputs, or raise TypeError or ValueError."""
    if isinstance(outputs, bool) or not isinstance(outputs, int | np.integer):
        raise TypeError(f"{loss}: outputs must be an int, got {type(outputs).__name__}")
    if outputs < 0:
        raise ValueError(f"{loss}: outputs must be 0 (take it from y) or more, got {outputs}")
    return int(outputs)
