"""The best intercept for losses with a kink: a weighted quantile, found by sorting.

As a function of the intercept ``b`` the objective is made of lines that meet where a prediction ``z_i + b`` is at its
target ``y_i``. The slope is least at the left and grows by ``p_i (high_i - low_i)`` at ``b = y_i - z_i``. Where it
turns from negative to positive is the minimum. Samples whose kinks are there may have any slope between their two, and
are given those that make the sum of all slopes zero: what a certificate asks for.
"""

import numpy as np

from frankwolfe.losses.loss_arrays import many
from frankwolfe.objective.point import Point
from frankwolfe.rows.samples import Samples


def slope_ranges(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest weighted slope of each sample; the loss of the samples has an intercept."""
    low, high = many(samples.loss.base).kink_slopes(samples.targets)
    return samples.weights * low, samples.weights * high


def kinked_point(samples: Samples, z: np.ndarray) -> Point:
    """Return the point where the predictions without an intercept are ``z``, with the best intercept."""
    low, high = slope_ranges(samples)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
        places = samples.targets - z
        order = np.argsort(places, kind="stable")
        after = low.sum() + np.cumsum((high - low)[order])  # slopes to the right of each kink
        shift = places[order[min(int(np.searchsorted(after, 0.0)), len(order) - 1)]]
        alpha = np.where(places < shift, high, low)
        losses = alpha * (shift - places)
        ties = places == shift
        alpha[ties] = 0.0
        room = (high - low)[ties].sum()
        if room > 0.0:
            share = np.clip((-alpha.sum() - low[ties].sum()) / room, 0.0, 1.0)
            alpha[ties] = low[ties] + share * (high - low)[ties]
        value = float(losses.sum())
        losses = np.divide(losses, samples.weights, out=np.zeros(len(losses)), where=samples.weights > 0.0)
    mean = np.atleast_1d(samples.weights @ z)
    return Point(z, losses, alpha, value, np.array([shift]), bool(np.isfinite(value)), mean)


def balanced_slopes(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """Return slopes near ``alpha`` that sum to zero, each still between those of its loss.

    All move the same way, each by the same part of the way that it may go.
    """
    low, high = slope_ranges(samples)
    excess = alpha.sum()
    room = alpha - low if excess > 0.0 else high - alpha
    return alpha - excess * room / room.sum() if room.sum() > 0.0 else alpha
