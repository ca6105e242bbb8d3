"""The intercept eliminated from second derivatives: a Schur complement, which is what centring the data would do.

A quadratic model of the objective in the weights ``w`` and the intercept ``b`` has the second derivative ``H_i`` of
each (weighted) loss: a number, or a matrix with several outputs. Changing the predictions by ``v_i`` is best answered
by an intercept that changes by

    c(v) = -(sum_i H_i)^+ sum_i H_i v_i

and what is left is a model in the predictions alone, with ``v -> H_i (v_i + c(v))`` for its second derivative. A Newton
step on it moves weights and intercept together, wherever the columns of the data have their means.
"""

from collections.abc import Callable

import numpy as np

FLAT = 1e-13
"""Eigenvalues below this part of the largest are zero: no multinomial loss minds what is added to all outputs."""


def pseudo_inverse(total: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse of a symmetric positive semi-definite matrix, flat directions left out.

    Examples
    --------
    >>> pseudo_inverse(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    if not np.isfinite(total).all():
        return np.zeros_like(total)  # the curvatures overflowed: there is no model to go by
    sizes, axes = np.linalg.eigh(total)
    kept = sizes > max(FLAT * sizes[-1], 1e-300)
    return (axes[:, kept] / sizes[kept]) @ axes[:, kept].T


def eliminated(H: np.ndarray, cross: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the Hessian in the weights once the intercept follows them: ``H - cross' total^+ cross``.

    For models whose Hessian is formed. With columns far from zero, large numbers cancel here: where data is at hand
    row by row, better form ``H`` from columns less their means (see `frankwolfe.rows.centred.Centred`).

    Parameters
    ----------
    H : array of shape (m, m)
        Second derivative in the weights.
    cross : array of shape (outputs, m)
        Second derivative in intercept and weights: ``sum_i H_i A_i``, ``A_i`` the row (or rows) of sample ``i``.
    total : array of shape (outputs, outputs)
        Second derivative in the intercept: ``sum_i H_i``.

    Examples
    --------
    >>> A = np.array([[1.0], [3.0]])  # two samples, one column, unit curvatures: the column less its mean is -1, 1
    >>> eliminated(A.T @ A, A.sum(axis=0)[None, :], np.array([[2.0]]))
    array([[2.]])
    """
    return H - cross.T @ pseudo_inverse(total) @ cross


class EliminatedIntercept:
    """The second derivative in the predictions of ``min over b of F(z + b)``, as a linear map.

    Parameters
    ----------
    hessian : function
        From changes of the predictions, of shape ``shape``, to the weighted second derivatives times them, ``H_i v_i``.
    shape : tuple of int
        Shape of all predictions: ``(n,)``, or ``(n, outputs)``.

    Examples
    --------
    Unit curvatures: a change of the predictions counts less its mean, which the intercept makes up for.

    >>> curved = EliminatedIntercept(lambda change: 1.0 * change, (3,))
    >>> curved(np.array([1.0, 2.0, 6.0])), curved.follow(np.array([1.0, 2.0, 6.0]))
    (array([-2., -1.,  3.]), array([-3.]))
    """

    def __init__(self, hessian: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]):
        self._hessian, self._shape = hessian, shape
        outputs = shape[1] if len(shape) > 1 else 1
        total = np.empty((outputs, outputs))
        for c in range(outputs):
            total[c] = self._sums(hessian(self._spread(np.eye(outputs)[c])))
        self._inverse = pseudo_inverse(0.5 * (total + total.T))

    @classmethod
    def diagonal(cls, curvatures: np.ndarray, shape: tuple[int, ...]) -> "EliminatedIntercept":
        """Return the same for weighted curvatures, one for each prediction, laid out flat or in ``shape``."""
        curvatures = curvatures.reshape(shape)
        return cls(lambda change: curvatures * change, shape)

    def _sums(self, bent: np.ndarray) -> np.ndarray:
        """Return the sums over all samples, one for each output."""
        return np.atleast_1d(bent.sum(axis=0))

    def _spread(self, shift: np.ndarray) -> np.ndarray:
        """Return the change of all predictions that a change of the intercept makes."""
        return np.broadcast_to(shift if len(self._shape) > 1 else shift[0], self._shape)

    def follow(self, change: np.ndarray) -> np.ndarray:
        """Return the best change of the intercept, one number for each output, where the predictions change so."""
        return -self._inverse @ self._sums(self._hessian(change.reshape(self._shape)))

    def __call__(self, change: np.ndarray) -> np.ndarray:
        """Return the second derivative times a change of the predictions, laid out as the change is."""
        inner = change.reshape(self._shape)
        return self._hessian(inner + self._spread(self.follow(inner))).reshape(change.shape)
