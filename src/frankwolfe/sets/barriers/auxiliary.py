"""Auxiliary variables ``t`` eliminated from a quadratic in ``e`` and ``t``: what is left when they follow ``e``.

Toward the boundary of a set the logarithm of a common bound (a budget) adds a huge term of rank one that the auxiliary
variables make up for almost entirely. It is therefore kept apart, as columns ``(a, b)`` that stand for
``(a'e + b't)^2 / 2`` each: in a plain Schur complement all digits would cancel.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Reduced(NamedTuple):
    """What is left of the quadratic.

    Attributes
    ----------
    gradient, hessian : arrays of shape (k,) and (k, k)
        In ``e``.
    recover : function
        From ``e`` to the best ``t``.
    rest : float
        Twice what the best ``t`` gains where ``e`` is zero.
    """

    gradient: np.ndarray
    hessian: np.ndarray
    recover: Callable[[np.ndarray], np.ndarray]
    rest: float


def eliminate(
    gradient: np.ndarray,
    hessian: np.ndarray,
    slope: np.ndarray,
    solve: Callable[[np.ndarray], np.ndarray],
    couple: Callable[[np.ndarray], np.ndarray],
    pull: Callable[[np.ndarray], np.ndarray],
    a: np.ndarray,
    b: np.ndarray,
) -> Reduced:
    """Eliminate ``t``.

    Parameters
    ----------
    gradient, slope : arrays of shape (k,) and (m,)
        First derivatives in ``e`` and ``t``.
    hessian : array of shape (k, k) or (k,)
        Second derivative in ``e`` once ``t`` is eliminated, without the columns ``(a, b)``.
    solve : function
        Solve with the second derivative in ``t``.
    couple, pull : functions
        The second derivative in ``e`` and ``t`` times an array over ``t``; its transpose times one over ``e``.
    a, b : arrays of shape (k, r) and (m, r)
        The columns kept apart.
    """
    solved, still = solve(b), solve(slope)
    inverse = np.linalg.inv(np.eye(b.shape[1]) + b.T @ solved)
    held = inverse @ (b.T @ still)
    lean = a - couple(solved)
    total = lean @ inverse @ lean.T
    if hessian.ndim == 1:
        np.einsum("jj->j", total)[:] += hessian
    else:
        total += hessian

    def recover(e: np.ndarray) -> np.ndarray:
        alone = still + solve(pull(e))
        return -(alone + solved @ (inverse @ (a.T @ e - b.T @ alone)))

    rest = float(slope @ still - (b.T @ still) @ held)
    return Reduced(gradient - couple(still - solved @ held) - a @ held, total, recover, rest)


def eliminate_grouped(
    groups: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
    slope: np.ndarray,
    coupling: np.ndarray,
    inner: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
) -> Reduced:
    """Eliminate ``t`` where entry ``i`` of ``e`` meets ``t[groups[i]]`` only, and ``inner`` is diagonal."""
    count = len(inner)

    def couple(t: np.ndarray) -> np.ndarray:
        return coupling[:, None] * t[groups] if t.ndim == 2 else coupling * t[groups]

    def solve(right: np.ndarray) -> np.ndarray:
        return right / inner[:, None] if right.ndim == 2 else right / inner

    return eliminate(gradient, hessian, slope, solve, couple, lambda e: np.bincount(groups, coupling * e, count), a, b)


def eliminate_dense(
    gradient: np.ndarray,
    hessian: np.ndarray,
    slope: np.ndarray,
    cross: np.ndarray,
    inner: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
) -> Reduced:
    """Eliminate ``t`` where nothing is known of ``cross`` and ``inner``; ``hessian`` is that before ``t`` follows."""
    scale = 1.0 / np.sqrt(np.einsum("jj->j", inner))
    root = _root(inner * scale * scale[:, None])

    def solve(right: np.ndarray) -> np.ndarray:
        scaled = right * (scale[:, None] if right.ndim == 2 else scale)
        found = np.linalg.solve(root.T, np.linalg.solve(root, scaled))
        return found * (scale[:, None] if right.ndim == 2 else scale)

    inside = np.linalg.solve(root, cross.T * scale[:, None])
    left = (np.diag(hessian) if hessian.ndim == 1 else hessian) - inside.T @ inside
    return eliminate(gradient, left, slope, solve, lambda t: cross @ t, lambda e: cross.T @ e, a, b)


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a matrix with unit diagonal, a little of which is added where it must be."""
    for ridge in (0.0, 1e-15, 1e-13, 1e-11, 1e-8):
        try:
            return np.linalg.cholesky(matrix + ridge * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            continue
    return np.eye(len(matrix))
