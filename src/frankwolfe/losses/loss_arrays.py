"""Losses of many samples at once, by NumPy or by kernels that loop over the samples.

Predictions ``z`` have shape ``(n,)``, or ``(n, outputs)`` for several outputs; slopes and directions have the shape of
``z``. NumPy and kernels give the same numbers up to rounding. NumPy needs no compilation. Kernels take a third to a
half of its time, and work for users' losses whose methods only take numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import (
    conjugate,
    curvature,
    derivative,
    hessian_product,
    nearest_slope,
    residual,
    value,
)


class LossArrays:
    """A loss whose methods take the samples of a block and return an array with an entry (or a row) for each.

    Parameters
    ----------
    loss : loss
        Loss of one sample.
    compiled : bool
        Whether to use kernels. They are always used for a loss whose methods only take numbers.
    """

    def __init__(self, loss: Any, compiled: bool = False):
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


def many(loss: Any) -> LossArrays:
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
