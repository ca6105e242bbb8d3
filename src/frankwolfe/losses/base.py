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

from frankwolfe.arguments.types import Loss
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.part import Part, defaults_from, part, positive
from frankwolfe.compile.verbs import (
    conjugate,
    contract,
    curvature,
    derivative,
    hessian_product,
    nearest_slope,
    residual,
    routine,
    value,
    where,
)

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


completed = defaults_from(LossDefaults)
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
        if "_checked" not in vars(kind):
            kind._checked = _scale_checked  # type: ignore[attr-defined]
        return part(completed(kind))

    return made


def _scale_checked(loss: Loss) -> Any:
    """Return a loss after checking that the scale of its errors, if it has one, is a positive number."""
    names = {"delta", "scale", "cutoff"} & {*loss._fields}
    return loss._replace(**{name: positive(type(loss).__name__, name, getattr(loss, name)) for name in names})


# --- many samples at once ---------------------------------------------------------------------------------------------


class LossArrays:
    """A loss whose methods take the samples of a block and return an array with an entry (or a row) for each.

    Parameters
    ----------
    loss : loss
        Loss of one sample.
    compiled : bool
        Whether to use kernels. They are always used for a loss whose methods only take numbers.
    """

    def __init__(self, loss: Loss, compiled: bool = False):
        self.loss, self.compiled = loss, compiled or not loss.takes_arrays

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the losses."""
        return self._fill(fill_values, self.loss.value, np.empty(len(z)), z, y)

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the first derivatives."""
        return self._fill(fill_derivatives, self.loss.derivative, np.empty(z.shape), z, y)

    def fill_values_and_derivatives(self, z: np.ndarray, y: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> None:
        """Fill in the losses and the first derivatives. The kernel computes common subexpressions once."""
        if self.compiled:
            with np.errstate(all="ignore"):
                fill_both(self.loss, z, y, values, slopes)
        else:
            self._fill(fill_values, self.loss.value, values, z, y)
            self._fill(fill_derivatives, self.loss.derivative, slopes, z, y)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the second derivatives; for several outputs, diagonal upper bounds."""
        return self._fill(fill_curvatures, self.loss.curvature, np.empty(z.shape), z, y)

    def hessian_product(self, z: np.ndarray, y: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the Hessian-vector products with the rows of ``q``, for several outputs."""
        return self._fill(fill_hessian_products, self.loss.hessian_product, np.empty(z.shape), z, y, q)

    def residual(self, z: np.ndarray, y: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the Fenchel-Young residuals for the slopes ``a``."""
        return self._fill(fill_residuals, self.loss.residual, np.empty(len(z)), z, y, a)

    def conjugate(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the conjugates at the slopes ``a``."""
        return self._fill(fill_conjugates, self.loss.conjugate, np.empty(len(a)), a, y)

    def nearest_slope(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return slopes near ``a`` in the domains of the conjugates."""
        return self._fill(fill_nearest_slopes, self.loss.nearest_slope, np.empty(a.shape), a, y)

    def kink_slopes(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the slopes to the left and right of the kinks."""
        if not self.loss.takes_arrays:
            return tuple(np.array([self.loss.kink_slopes(target) for target in y]).T)
        low, high = self.loss.kink_slopes(y)
        return np.broadcast_to(low, y.shape), np.broadcast_to(high, y.shape)

    def _fill(self, fill: Any, method: Callable, found: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
        """Fill an array by a kernel, or by a method of the loss, which has the outputs on the first axis."""
        with np.errstate(all="ignore"):  # overflow shows in the objective, and `where` discards the rest
            if self.compiled:
                fill(self.loss, *map(np.ascontiguousarray, arrays), found)
            else:
                found.T[...] = method(*(array.T for array in arrays))
        return found


def many(loss: Loss) -> LossArrays:
    """Return a loss as `LossArrays`: itself if it is one, else with NumPy if its methods take arrays."""
    return loss if isinstance(loss, LossArrays) else LossArrays(loss)


@kernel
def fill_values(loss, z, y, found):
    """Fill in the losses."""
    for i in range(len(z)):
        found[i] = value(loss, z[i], y[i])


@kernel
def fill_derivatives(loss, z, y, found):
    """Fill in the first derivatives."""
    for i in range(len(z)):
        found[i] = derivative(loss, z[i], y[i])


@kernel
def fill_both(loss, z, y, values, slopes):
    """Fill in the losses and the first derivatives."""
    for i in range(len(z)):
        values[i] = value(loss, z[i], y[i])
        slopes[i] = derivative(loss, z[i], y[i])


@kernel
def fill_curvatures(loss, z, y, found):
    """Fill in the second derivatives, or diagonal upper bounds."""
    for i in range(len(z)):
        found[i] = curvature(loss, z[i], y[i])


@kernel
def fill_hessian_products(loss, z, y, q, found):
    """Fill in the Hessian-vector products with the rows of ``q``."""
    for i in range(len(z)):
        found[i] = hessian_product(loss, z[i], y[i], q[i])


@kernel
def fill_residuals(loss, z, y, a, found):
    """Fill in the Fenchel-Young residuals."""
    for i in range(len(z)):
        found[i] = residual(loss, z[i], y[i], a[i])


@kernel
def fill_conjugates(loss, a, y, found):
    """Fill in the conjugates."""
    for i in range(len(a)):
        found[i] = conjugate(loss, a[i], y[i])


@kernel
def fill_nearest_slopes(loss, a, y, found):
    """Fill in slopes in the domains of the conjugates."""
    for i in range(len(a)):
        found[i] = nearest_slope(loss, a[i], y[i])
