"""Newton's method for the intercept: safeguarded by a bracket for one variable, by a trust region for several.

Both converge from any starting point and stop when the derivative is zero up to rounding.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from frankwolfe.linalg.matrices import FLAT

MOST_ROUNDS = 500
"""Maximum number of evaluations in a search. A few are usual, a few dozen from very distant starts."""

EXPANSION = 8.0
"""Factor by which the step limit, or the trust region, may grow in an iteration."""


FRESH = 0.1
"""Fraction of the gradient norm that may remain after a step before the Hessian is recomputed."""

NOISE = 16.0
"""Differences of a slope or an objective up to this many units of rounding count as noise."""


class Sums(NamedTuple):
    """Objective and gradient at an intercept, with their rounding errors.

    Attributes
    ----------
    value : float
        The objective.
    slope : array of shape (outputs,)
        Derivative in the intercept: the sum of all ``alpha_i``.
    rounding : float
        Change of the slope if each prediction, and each term of the sum, is off by one unit of rounding.
    noise : float
        Change of the objective for the same perturbation.
    """

    value: float
    slope: np.ndarray
    rounding: float
    noise: float = 0.0


def bracketed_root(
    slope: Callable[[float], tuple[float, float, float]],
    start: float,
    smoothness: float = 0.0,
    most: int = MOST_ROUNDS,
) -> float:
    """Return the root of an increasing function, by Newton's method safeguarded by a bracket.

    Parameters
    ----------
    slope : function
        Maps a point to the function value, its derivative, and the rounding error of the value.
    start : float
        Starting point. Steps grow geometrically until the root is bracketed.
    smoothness : float
        Largest derivative of the function, zero if unknown. It limits the first step.
    most : int
        Maximum number of evaluations.

    Examples
    --------
    >>> float(round(bracketed_root(lambda b: (b**3 - 8.0, 3.0 * b * b, 1e-15), start=-1e6), 12))
    2.0
    """
    low, high, here, last, before = -np.inf, np.inf, start, 0.0, np.inf
    best, least, limit = start, np.inf, 0.0
    for _ in range(most):
        rise, curve, rounding = slope(here)
        limit = limit or first_reach(abs(start), abs(rise), smoothness or curve)
        if abs(rise) <= least:  # <=: at a jump, the latest point is the closest to it
            best, least = here, abs(rise)
        if not abs(rise) > 2.0 * rounding or not np.isfinite(rise):
            return best
        low, high = (low, here) if rise > 0.0 else (here, high)
        newton = -rise / curve if curve > 0.0 else -np.copysign(np.inf, rise)
        if low == -np.inf or high == np.inf:
            slow = last != 0.0 and (last > 0.0) == (newton > 0.0) and abs(rise) > FRESH * before
            step = np.copysign(min(max(abs(newton), 2.0 * abs(last) if slow else 0.0), limit), newton)
            limit = max(limit, abs(step)) * EXPANSION
        else:
            short = low < here + newton < high and abs(newton) <= 0.5 * abs(last)
            step = newton if short else 0.5 * (low + high) - here
        there = here + step
        if there == here or there in (low, high) or not np.isfinite(there):
            return best
        last, before, here = there - here, abs(rise), there
    return best


def first_reach(size: float, slope: float, curvature: float) -> float:
    """Return the limit of the first step. It scales with the predictions, so the search is invariant to their units."""
    step = EXPANSION * slope / curvature if curvature > 0.0 else np.inf
    return max(size, step) if np.isfinite(step) else max(size, 1.0)


def trust_region(
    sums: Callable[[np.ndarray], Sums],
    hessian: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    curvature: np.ndarray | None = None,
    most: int = MOST_ROUNDS,
    resolution: float = 0.0,
    smoothness: float = 0.0,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Minimise a smooth function of few variables by a trust-region Newton method, until the gradient is rounding.

    A Hessian costs more than a gradient. It is reused until a step leaves more than `FRESH` of the gradient norm.

    Parameters
    ----------
    sums, hessian : functions
        Map a point to its `Sums`, and to its Hessian.
    start : array
        Starting point. The trust region grows geometrically.
    curvature : array, optional
        Approximate Hessian at the start.
    most : int
        Maximum number of evaluations.
    resolution : float
        Steps up to this length (in the maximum norm) change nothing in floating point.
    smoothness : float
        Upper bound on the curvature, zero if unknown. It limits the first step.

    Returns
    -------
    tuple of arrays
        The minimiser and, if one was computed, an approximate Hessian there (else None).
    """
    here, at = start.copy(), sums(start)
    H, fresh = curvature, curvature is None
    radius = EXPANSION * first_reach(float(np.linalg.norm(start)), float(np.linalg.norm(at.slope)), smoothness)
    for _ in range(most):
        if not np.abs(at.slope).max() > 2.0 * at.rounding or not np.isfinite(at.value):
            break
        if H is None or not np.isfinite(H).all():
            H, fresh = hessian(here), True
        step = restricted_step(H, at.slope, radius, at.rounding)
        if not (here + step != here).any() or np.abs(step).max() <= resolution:
            if fresh:
                break
            H = None  # the reused Hessian predicts no decrease: recompute it
            continue
        there = sums(here + step)
        predicted, fall = -float(at.slope @ step) - 0.5 * float(step @ H @ step), at.value - there.value
        # Compute small decreases, and those within the rounding of the predictions, from gradients: values would
        # cancel.
        if abs(fall) <= max(1e-8 * max(abs(at.value), abs(there.value)), NOISE * at.noise):
            fall = -0.5 * float((at.slope + there.slope) @ step)
        length, left = float(np.linalg.norm(step)), np.linalg.norm(there.slope) / np.linalg.norm(at.slope)
        good = bool(np.isfinite(there.value)) and fall > 1e-4 * predicted
        if good:
            radius = EXPANSION * max(radius, length) if fall > 0.75 * predicted else radius
            H = H if left <= FRESH else None
            here, at, fresh = here + step, there, False
        elif fresh:
            radius = max(0.25 * length, 1e-300)  # at the smallest radius, steps change nothing and the search ends
        else:
            H = None  # the reused Hessian failed: recompute it before shrinking the region
    return here, H


def restricted_step(H: np.ndarray, slope: np.ndarray, radius: float, rounding: float) -> np.ndarray:
    """Return the minimiser of ``slope's + s'Hs / 2`` over ``||s|| <= radius``, with negative eigenvalues made positive.

    The step is ``s = -(|H| + ridge I)^-1 slope``. Bisection finds the ridge at which the step is as long as the radius.
    Every such step is a descent direction. It is zero where the slope is rounding error.
    """
    curvatures, axes = np.linalg.eigh(H)
    curvatures, slopes = np.abs(curvatures), slope @ axes
    # drop flat directions whose slope is noise: a quotient of noise and a tiny eigenvalue would be a huge step
    kept = np.abs(slopes) > np.where(curvatures > FLAT * curvatures.max(), 2.0, NOISE) * rounding
    curvatures, axes, slopes = curvatures[kept], axes[:, kept], slopes[kept]
    if not np.isfinite(slopes).all() or not len(slopes):
        return np.zeros(len(slope))

    steep = float(np.linalg.norm(slopes))

    def move(ridge: float) -> np.ndarray:
        return slopes / np.maximum(curvatures + ridge, 1e-100 * steep)

    low, high, ridge = 0.0, steep / radius, 0.0
    if np.linalg.norm(move(0.0)) > radius:
        for _ in range(60):
            ridge = 0.5 * (low + high)
            size = np.linalg.norm(move(ridge))
            low, high = (ridge, high) if size > radius else (low, ridge)
            if 0.9 * radius <= size <= radius:
                break
    return -axes @ move(ridge)
