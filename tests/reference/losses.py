"""The losses a second time, from their formulas, in extended precision and for all samples at once.

Predictions are an array of shape (n,), or (n, outputs); so are derivatives.
"""

import numpy as np

import frankwolfe as fw

WIDE = np.longdouble


def wide(values):
    """Return numbers in extended precision."""
    return np.asarray(values, dtype=WIDE)


def losses(loss, z, y):
    """Loss of every sample."""
    with np.errstate(over="ignore", under="ignore"):
        return _VALUES[type(loss)](loss, wide(z), wide(y))


def derivatives(loss, z, y):
    """First derivative of every sample's loss in its prediction."""
    with np.errstate(over="ignore", under="ignore"):
        return _DERIVATIVES[type(loss)](loss, wide(z), wide(y))


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


_VALUES = {
    fw.Logistic: lambda loss, z, y: np.logaddexp(wide(0), -y * z),
    fw.Squared: lambda loss, z, y: (z - y) ** 2 / 2,
    fw.Huber: _huber,
    fw.SquaredHinge: lambda loss, z, y: np.maximum(0, 1 - y * z) ** 2,
    fw.ModifiedHuber: _modified_huber,
    fw.Sigmoid: lambda loss, z, y: 1 / (1 + np.exp(y * z)),
    fw.Cauchy: lambda loss, z, y: wide(loss.scale) ** 2 / 2 * np.log1p(((z - y) / wide(loss.scale)) ** 2),
    fw.Tukey: _tukey,
    fw.Multinomial: _multinomial,
    fw.MultitaskSquared: lambda loss, z, y: ((z - y) ** 2).sum(axis=1) / 2,
}

_DERIVATIVES = {
    fw.Logistic: lambda loss, z, y: -y / (1 + np.exp(y * z)),
    fw.Squared: lambda loss, z, y: z - y,
    fw.Huber: lambda loss, z, y: np.clip(z - y, -wide(loss.delta), wide(loss.delta)),
    fw.SquaredHinge: lambda loss, z, y: -2 * y * np.maximum(0, 1 - y * z),
    fw.ModifiedHuber: lambda loss, z, y: -2 * y * np.clip(1 - y * z, 0, 2),
    fw.Sigmoid: _sigmoid_slope,
    fw.Cauchy: lambda loss, z, y: (z - y) / (1 + ((z - y) / wide(loss.scale)) ** 2),
    fw.Tukey: _tukey_slope,
    fw.Multinomial: _multinomial_slope,
    fw.MultitaskSquared: lambda loss, z, y: z - y,
}
