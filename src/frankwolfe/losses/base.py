"""The interface of losses, their default methods, and functions that several losses share.

The methods of a loss take numbers or arrays. Kernels call them for one sample at a time; exact passes call them once
for many samples. One source serves both because it is written with NumPy functions and `where`, and has no ``if`` that
depends on a prediction or a target. For losses of several outputs, the first axis of ``z`` is the output: shape
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
"""Relative difference below which a series replaces a logarithm that would lose digits by cancellation."""

LARGE = 1e300
"""Quotients below this do not overflow."""

EDGE = 1e-15
"""Relative distance by which a slope may lie beyond the edge of a conjugate's domain and still count as on it.

A slope is an entry of the table divided by a weight, so rounding may move a slope on the edge beyond it. The distance
is relative to the edge: an absolute distance could be wider than the whole domain of a loss in small units. For an edge
at zero it is zero, because rounding does not change the sign of a quotient.
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
    """Return whether ``a`` equals ``edge`` up to the rounding of a quotient; False for NaN."""
    return np.abs(a - edge) <= EDGE * np.abs(edge)


@routine
def entropy(q):
    """Return ``q log q``, zero at zero; infinite for a negative ``q``."""
    return where(q < 0.0, inf, q * np.log(where(q > 0.0, q, 1.0)))


@routine
def entropy_term(q, p, difference):
    """Return ``q log(q / p) - q + p``, which is never negative; infinite for a negative ``q``.

    ``difference`` is ``q - p``, which the caller may know more accurately than from ``q`` and ``p``.
    """
    close, some, base = np.abs(difference) < CLOSE * p, where(q > 0.0, q, 1.0), where(p > 0.0, p, 1.0)
    t = where(close, difference, 0.0) / base
    series = p * t * t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0 - t * (0.05 - t / 30.0))))
    plain = some < LARGE * base  # otherwise the quotient may overflow
    ratio = where(plain, np.log(some / where(plain, base, some)), np.log(some) - np.log(base))
    term = where(close, series, where(q == 0.0, p, np.maximum(0.0, q * ratio - difference)))
    return where((q < 0.0) | ((p <= 0.0) & (q > 0.0)), inf, where(p <= 0.0, 0.0, term))


class LossDefaults:
    """Properties of a loss, and default methods."""

    takes_arrays = False
    """Whether the methods take arrays as well as numbers. If not, kernels call them sample by sample."""

    convex = False
    """Whether the loss is convex in ``z``; False if unknown."""

    smooth = True
    """Whether the loss has a derivative everywhere, of which `smoothness` is the Lipschitz constant."""

    neighbours: tuple[str, ...] = ()
    """Names of similar smooth losses, for a loss with a kink."""

    targets = "real"
    """Kind of targets: ``"real"`` (any finite numbers), ``"nonnegative"``, ``"positive"``, ``"labels"`` (-1 and +1),
    ``"classes"`` or ``"rows"``."""

    log_link = False
    """Whether predictions are logarithms of means. If so, ``power`` is that of the mean in the variance."""

    with_offset = False
    """Whether targets are complex numbers, whose imaginary parts are added to the predictions."""

    outputs = 0
    """Number of entries of a prediction; 0 if a prediction is a number."""

    coupled = True
    """Whether the second derivative may have entries off its diagonal, for losses of several outputs."""

    @property
    def is_vector(self) -> bool:
        """Whether predictions are arrays. The class then defines ``outputs``, which may be 0 until targets are set."""
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
        """Return the derivative in ``z``: a smooth loss needs no smoothing."""
        return derivative(self, z, y)

    def residual(self, z, y, a):
        """Return the Fenchel-Young residual ``f(z) + f*(a) - <a, z>`` from its definition, inaccurate near zero."""
        return max(value(self, z, y) + conjugate(self, a, y) - contract(a, z), 0.0)

    def conjugate(self, a, y):
        """Return infinity, an upper bound on the conjugate ``sup_z <a, z> - f(z)``."""
        return inf

    def nearest_slope(self, a, y):
        """Return ``a``: without a conjugate its domain is unknown."""
        return a

    def for_targets(self, targets):
        """Return the loss for these targets, for example with the number of classes; by default the loss itself."""
        return self


completed = lent(LossDefaults)
"""Class decorator that adds the members of `LossDefaults` that a class lacks."""


def loss(**facts: Any) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator for the package's own losses, whose methods take arrays.

    Parameters
    ----------
    **facts
        Properties of `LossDefaults` that differ from the defaults, such as ``convex=True, targets="labels"``. A class
        may define them itself instead.
    """

    def made(kind: type[Part]) -> type[Part]:
        for name, fact in {"takes_arrays": True, **facts}.items():
            if name not in vars(kind):
                setattr(kind, name, fact)
        return part(completed(kind))

    return made
