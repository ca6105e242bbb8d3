"""Newton's method for the intercept: in a bracket for one variable, in a trust region for a few.

Both start anywhere and end when the slope is zero to rounding.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from frankwolfe.linalg.matrices import FLAT

MOST_ROUNDS = 500
"""Most sums over the samples in one search. A few are needed, and some ten times as many from absurd starts."""

EXPANSION = 8.0
"""Factor by which a bracket, or a trust region, may grow in a round."""

TINY = 1e-300
"""Least radius of a trust region."""

FRESH = 0.1
"""Part of the slope that a step may leave before the curvature is summed up again."""

NOISE = 16.0
"""Units of rounding in a slope, or an objective, that may be noise."""

SIGNIFICANT = 1e-8
"""Differences of the objective below this part of it are taken from slopes: those of values end in rounding. So are
those that rounding of the predictions may cause, which is more where all predictions are about right."""


class Sums(NamedTuple):
    """The sums of one round, at one intercept.

    Attributes
    ----------
    value : float
        The objective; not needed, and zero, where a bracket is searched.
    slope : array of shape (outputs,)
        Its derivative in the intercept: the sum of all ``alpha_i``.
    rounding : float
        What one unit of rounding in each prediction, and in each term of the sum, may change the slope by.
    noise : float
        What the same may change the objective by.
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
    """Return where a rising function is zero, to rounding: Newton's method in a bracket that is made as it goes.

    Parameters
    ----------
    slope : function
        From a point to the function there, its derivative, and its rounding.
    start : float
        Anywhere: as long as one side of the root is open, steps grow geometrically.
    smoothness : float
        Largest derivative of the function, zero if it is not known. It limits the first step.
    most : int
        Most points to evaluate.

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
        if abs(rise) <= least:  # of equals the last one: where the function jumps, it is next to the jump
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
    """Return how far a first step may go: in units of the predictions, so that the search is the same in all units."""
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
    """Minimise a smooth function of few variables until its slope is rounding: Newton's method in a trust region.

    The Hessian costs more than a slope, and near the optimum an old one will do: it is summed up again only where a
    step left much of the slope.

    Parameters
    ----------
    sums, hessian : functions
        From a point to what is known there, and to the second derivative.
    start : array
        Anywhere: the region grows geometrically.
    curvature : array, optional
        An approximate second derivative at the start.
    most : int
        Most points to evaluate.
    resolution : float
        Steps shorter than this change nothing.
    smoothness : float
        Largest second derivative, zero if it is not known. It limits the first step.

    Returns
    -------
    tuple of arrays
        The point, and an approximate second derivative there if one was needed.
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
            H = None  # the old curvature predicts no decrease: use the true one
            continue
        there = sums(here + step)
        promised, fall = -float(at.slope @ step) - 0.5 * float(step @ H @ step), at.value - there.value
        if abs(fall) <= max(SIGNIFICANT * max(abs(at.value), abs(there.value)), NOISE * at.noise):
            fall = -0.5 * float((at.slope + there.slope) @ step)
        length, left = float(np.linalg.norm(step)), np.linalg.norm(there.slope) / np.linalg.norm(at.slope)
        good = bool(np.isfinite(there.value)) and fall > 1e-4 * promised
        if good:
            radius = EXPANSION * max(radius, length) if fall > 0.75 * promised else radius
            H = H if left <= FRESH else None
            here, at, fresh = here + step, there, False
        elif fresh:
            radius = max(0.25 * length, TINY)  # until a step no longer changes anything
        else:
            H = None  # an old curvature misled: before the region shrinks, try the true one
    return here, H


def restricted_step(H: np.ndarray, slope: np.ndarray, radius: float, rounding: float) -> np.ndarray:
    """Return the step that lowers a quadratic most among those within a radius; none if it is flat.

    A direction of negative curvature counts as if it were positive: every step descends.
    """
    bows, axes = np.linalg.eigh(H)
    bows, pulls = np.abs(bows), slope @ axes
    # a flat direction that pulls no more than noise does is left alone: dividing noise by nothing would lead far away
    kept = np.abs(pulls) > np.where(bows > FLAT * bows.max(), 2.0, NOISE) * rounding
    bows, axes, pulls = bows[kept], axes[:, kept], pulls[kept]
    if not np.isfinite(pulls).all() or not len(pulls):
        return np.zeros(len(slope))

    steep = float(np.linalg.norm(pulls))

    def move(ridge: float) -> np.ndarray:
        return pulls / np.maximum(bows + ridge, 1e-100 * steep)

    low, high, ridge = 0.0, steep / radius, 0.0
    if np.linalg.norm(move(0.0)) > radius:
        for _ in range(60):
            ridge = 0.5 * (low + high)
            size = np.linalg.norm(move(ridge))
            low, high = (ridge, high) if size > radius else (low, ridge)
            if 0.9 * radius <= size <= radius:
                break
    return -axes @ move(ridge)
