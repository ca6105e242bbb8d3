"""The losses a second time, from their formulas, in extended precision and for all samples at once.

Predictions are an array of shape (n,), or (n, outputs); so are derivatives.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import frankwolfe as fw

WIDE = np.longdouble


def wide(values):
    """Return numbers in extended precision."""
    return np.asarray(values, dtype=WIDE)


class Formula(NamedTuple):
    """Loss, first and second derivative of every sample, given the loss, predictions and targets."""

    value: Callable
    derivative: Callable
    curvature: Callable | None = None


def losses(loss, z, y):
    """Loss of every sample."""
    return _evaluated(FORMULA_OF[type(loss)].value, loss, z, y)


def derivatives(loss, z, y):
    """First derivative of every sample's loss in its prediction."""
    return _evaluated(FORMULA_OF[type(loss)].derivative, loss, z, y)


def curvatures(loss, z, y):
    """Second derivative of every sample's loss in its prediction, for losses of one output."""
    return _evaluated(FORMULA_OF[type(loss)].curvature, loss, z, y)


def _evaluated(formula, loss, z, y):
    with np.errstate(over="ignore", under="ignore"):
        return formula(loss, wide(z), wide(y))


def _huber(loss, z, y):
    error, delta = np.abs(z - y), wide(loss.delta)
    return np.where(error <= delta, error**2 / 2, delta * (error - delta / 2))


def _modified_huber(loss, z, y):
    margin = y * z
    return np.where(margin < -1, -4 * margin, np.maximum(0, 1 - margin) ** 2)


def _sigmoid_slope(loss, z, y):
    e = np.exp(-np.abs(z))
    return -y * e / (1 + e) ** 2


def _tukey(loss, z, y):
    cutoff = wide(loss.cutoff)
    q = np.minimum(np.abs(z - y) / cutoff, 1) ** 2
    return cutoff**2 / 6 * q * (3 - 3 * q + q**2)


def _tukey_slope(loss, z, y):
    q = (z - y) / wide(loss.cutoff)
    return np.where(np.abs(q) < 1, (z - y) * (1 - q**2) ** 2, 0)


def _tukey_curvature(loss, z, y):
    q = (z - y) / wide(loss.cutoff)
    return np.where(np.abs(q) < 1, (1 - q**2) * (1 - 5 * q**2), 0)


def _cauchy_curvature(loss, z, y):
    q = ((z - y) / wide(loss.scale)) ** 2
    return (1 - q) / (1 + q) ** 2


def _others(z, y):
    """Exponentials of the other classes' predictions over the true one's, all divided by exp of the first result."""
    at = (np.arange(len(z)), y.astype(np.int64))
    ahead = z - z[at][:, np.newaxis]
    top = np.maximum(ahead.max(axis=1), 0)
    weights = np.exp(ahead - top[:, np.newaxis])
    weights[at] = 0
    return top, weights, at


def _multinomial(loss, z, y):
    top, others, _ = _others(z, y)
    rest = others.sum(axis=1)
    return np.where(top > 0, top + np.log(rest + np.exp(-top)), np.log1p(rest))


def _multinomial_slope(loss, z, y):
    top, others, at = _others(z, y)
    chances = others / (others.sum(axis=1) + np.exp(-top))[:, np.newaxis]
    chances[at] = -chances.sum(axis=1)
    return chances


def _tweedie(loss, z, y):
    s, u = wide(2) - wide(loss.power), wide(loss.power) - 1
    return np.exp(s * z) / s + y * np.exp(-u * z) / u - y**s / (s * u)


def _tweedie_curvature(loss, z, y):
    s, u = wide(2) - wide(loss.power), wide(loss.power) - 1
    return s * np.exp(s * z) + u * y * np.exp(-u * z)


FORMULAS = {
    fw.Logistic(): Formula(
        lambda loss, z, y: np.logaddexp(wide(0), -y * z),
        lambda loss, z, y: -y / (1 + np.exp(y * z)),
        lambda loss, z, y: np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2,
    ),
    fw.Squared(): Formula(
        lambda loss, z, y: (z - y) ** 2 / 2,
        lambda loss, z, y: z - y,
        lambda loss, z, y: np.ones_like(z),
    ),
    fw.Huber(0.7): Formula(
        _huber,
        lambda loss, z, y: np.clip(z - y, -wide(loss.delta), wide(loss.delta)),
        lambda loss, z, y: np.where(np.abs(z - y) <= wide(loss.delta), 1, 0),
    ),
    fw.SquaredHinge(): Formula(
        lambda loss, z, y: np.maximum(0, 1 - y * z) ** 2,
        lambda loss, z, y: -2 * y * np.maximum(0, 1 - y * z),
        lambda loss, z, y: np.where(y * z < 1, 2, 0),
    ),
    fw.ModifiedHuber(): Formula(
        _modified_huber,
        lambda loss, z, y: -2 * y * np.clip(1 - y * z, 0, 2),
        lambda loss, z, y: np.where((y * z >= -1) & (y * z < 1), 2, 0),
    ),
    fw.Sigmoid(): Formula(
        lambda loss, z, y: 1 / (1 + np.exp(y * z)),
        _sigmoid_slope,
        lambda loss, z, y: _sigmoid_slope(loss, z, y) * -y * np.tanh(y * z / 2),
    ),
    fw.Cauchy(0.8): Formula(
        lambda loss, z, y: wide(loss.scale) ** 2 / 2 * np.log1p(((z - y) / wide(loss.scale)) ** 2),
        lambda loss, z, y: (z - y) / (1 + ((z - y) / wide(loss.scale)) ** 2),
        _cauchy_curvature,
    ),
    fw.Tukey(2.0): Formula(_tukey, _tukey_slope, _tukey_curvature),
    fw.Hinge(): Formula(
        lambda loss, z, y: np.maximum(0, 1 - y * z),
        lambda loss, z, y: np.where(y * z < 1, -y, 0),
        lambda loss, z, y: np.zeros_like(z),
    ),
    fw.Pinball(0.3): Formula(
        lambda loss, z, y: np.maximum(wide(loss.quantile) * (y - z), (1 - wide(loss.quantile)) * (z - y)),
        lambda loss, z, y: np.where(z == y, 0, np.where(z > y, 1, 0) - wide(loss.quantile)),
        lambda loss, z, y: np.zeros_like(z),
    ),
    fw.Poisson(): Formula(
        lambda loss, z, y: np.exp(z) - y * z + y * np.log(np.where(y > 0, y, 1)) - y,
        lambda loss, z, y: np.exp(z) - y,
        lambda loss, z, y: np.exp(z) + 0 * y,
    ),
    fw.Gamma(): Formula(
        lambda loss, z, y: z + y * np.exp(-z) - np.log(y) - 1,
        lambda loss, z, y: 1 - y * np.exp(-z),
        lambda loss, z, y: y * np.exp(-z),
    ),
    fw.losses.Tweedie(1.3): Formula(
        _tweedie,
        lambda loss, z, y: np.exp((2 - wide(loss.power)) * z) - y * np.exp((1 - wide(loss.power)) * z),
        _tweedie_curvature,
    ),
    fw.Multinomial(): Formula(_multinomial, _multinomial_slope),
    fw.MultitaskSquared(): Formula(lambda loss, z, y: ((z - y) ** 2).sum(axis=1) / 2, lambda loss, z, y: z - y),
}
"""Every loss, with the parameters that tests try, and its formulas: the one place where tests learn of a new one."""

FORMULA_OF = {type(loss): formula for loss, formula in FORMULAS.items()}

TARGETS = {
    "labels": (-1.0, 1.0),
    "real": (-1.5, 0.0, 0.3, 2.0),
    "nonnegative": (0.0, 0.3, 1.0, 4.0),
    "positive": (0.3, 1.0, 4.0),
}
"""Some targets of each kind."""
