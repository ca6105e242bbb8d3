"""What every loss offers, and the pieces that several losses are made of.

The methods of a loss take numbers or whole arrays. Kernels call them for one sample at a time; exact passes call them
once for many samples. One source serves both because it is written with NumPy functions and `where`, and has no ``if``
that depends on a prediction or a target. Of losses with several outputs, ``z`` has the outputs on its first axis: shape
``(outputs,)`` in a kernel, ``(outputs, n)`` in an exact pass, so ``z[c]`` is a number or an array.

A loss is a NamedTuple, which can inherit nothing. The decorator `loss` therefore copies the methods of `LossDefaults`
to a class that lacks them. `completed` does the same for a user's class when the library first receives a loss of it,
so internal code never checks for optional methods.
"""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from frankwolfe.compile.part import Part, lent, part
from frankwolfe.compile.verbs import conjugate, contract, derivative, routine, value, where

CLOSE = 1e-3
"""Relative difference below which a series replaces a logarithm, which would lose its digits to cancellation."""

LARGE = 1e300
"""Quotients below this do not overflow."""

EDGE = 1e-15
"""Relative distance by which a slope may lie beyond the edge of a conjugate's domain and still count as on it.

A slope is a table's entry divided by a weight, so rounding may move a slope on the edge a unit beyond. The distance is
relative to the edge: an absolute one would be wider than the whole domain of a loss in small units. An edge at zero has
no room beyond it, because no quotient changes its sign by rounding.
"""

LOSS_METHODS = ("value", "derivative", "curvature", "smoothness")
"""Methods that every loss must have."""

VECTOR_METHODS = ("hessian_product",)
"""Further methods that a loss of several outputs must have."""

KINKED_METHODS = ("kink_slopes", "smoothed_derivative", "conjugate")
"""Further methods that a loss with a kink must have."""


@routine
def clipped(a, low, high):
    """Return the number of ``[low, high]`` nearest to ``a``."""
    return np.minimum(np.maximum(a, low), high)


@routine
def is_near(a, edge):
    """Return whether ``a`` is ``edge``, but for the rounding of a quotient; False for NaN."""
    return np.abs(a - edge) <= EDGE * np.abs(edge)


@routine
def entropy(q):
    """Return ``q log q``, zero at zero; infinite for a negative ``q``."""
    return where(q < 0.0, inf, q * np.log(where(q > 0.0, q, 1.0)))


@routine
def entropy_term(q, p, difference):
    """Return ``q log(q / p) - q + p``, which is never negative; infinite for a negative ``q``.

    ``difference`` is ``q - p``, which a caller may know to more digits than the two numbers hold.
    """
    close, some, base = np.abs(difference) < CLOSE * p, where(q > 0.0, q, 1.0), where(p > 0.0, p, 1.0)
    t = where(close, difference, 0.0) / base
    series = p * t * t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0 - t * (0.05 - t / 30.0))))
    plain = some < LARGE * base  # else the quotient may overflow
    ratio = where(plain, np.log(some / where(plain, base, some)), np.log(some) - np.log(base))
    term = where(close, series, where(q == 0.0, p, np.maximum(0.0, q * ratio - difference)))
    return where((q < 0.0) | ((p <= 0.0) & (q > 0.0)), inf, where(p <= 0.0, 0.0, term))


class LossDefaults:
    """Facts about a loss and methods that it may leave out."""

    takes_arrays = False
    """Whether methods take arrays of predictions as well as numbers; if not, kernels call them sample by sample."""

    convex = False
    """Whether the loss is convex in ``z``; False where nothing is known."""

    smooth = True
    """Whether the loss has a derivative everywhere, of which `smoothness` is the Lipschitz constant."""

    neighbours: tuple[str, ...] = ()
    """Names of similar smooth losses, for a loss with a kink."""

    targets = "real"
    """Which targets fit: ``"real"`` (any finite numbers), ``"labels"`` (-1 and +1), ``"classes"`` or ``"rows"``."""

    outputs = 0
    """Number of entries of a prediction; 0 where a prediction is a number."""

    coupled = True
    """Whether the second derivative may have entries off its diagonal, for losses of several outputs."""

    @property
    def is_vector(self) -> bool:
        """Whether predictions are arrays: such a loss defines ``outputs``, whose number may not be known yet."""
        return type(self).outputs != 0

    @property
    def has_residual(self) -> bool:
        """Whether the loss defines its Fenchel-Young residual, or the conjugate that gives it."""
        return type(self).residual is not LossDefaults.residual or self.has_conjugate

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss defines its conjugate."""
        return type(self).conjugate is not LossDefaults.conjugate

    def smoothed_derivative(self, z, y, beta):
        """First derivative in ``z`` of the loss, smoothed where it has kinks; here it has none."""
        return derivative(self, z, y)

    def residual(self, z, y, a):
        """Fenchel-Young residual ``f(z) + f*(a) - <a, z>`` from its definition, which loses digits close to zero."""
        return max(value(self, z, y) + conjugate(self, a, y) - contract(a, z), 0.0)

    def conjugate(self, a, y):
        """Return infinity, an upper bound on the conjugate ``sup_z <a, z> - f(z)``."""
        return inf

    def nearest_slope(self, a, y):
        """Return ``a``: without a conjugate, nothing is known of its domain."""
        return a

    def for_targets(self, targets):
        """Return the loss for these targets; by default it does not depend on them."""
        return self


completed = lent(LossDefaults)
"""Give a class of losses the members of `LossDefaults` that it lacks."""


def loss(**facts: Any) -> Callable[[type[Part]], type[Part]]:
    """Make a loss of a class: a decorator for the package's own, whose methods take arrays.

    Parameters
    ----------
    **facts
        Facts such as ``convex=True, targets="labels"``: those of `LossDefaults` that differ from the defaults. A class
        may define them as properties instead.
    """

    def made(kind: type[Part]) -> type[Part]:
        for name, fact in {"takes_arrays": True, **facts}.items():
            if name not in vars(kind):
                setattr(kind, name, fact)
        return part(completed(kind))

    return made
