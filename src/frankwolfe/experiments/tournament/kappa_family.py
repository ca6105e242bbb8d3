"""Problems that differ in kappa alone: the tails of the columns are controlled, all else is equal.

Every column holds the same magnitudes, in an order and with signs of its own. So all columns have one 2-norm, and
``kappa = D_1 / D_inf`` is the sum of the magnitudes over the largest, whatever the radius. The magnitudes are quantiles
of a distribution with one number that controls its tail; that number is found from the wanted ``kappa / n``. Orders,
signs, the true weights and the noise are those of one draw for all members.

With the 2-norms held fixed, ``D_inf`` grows as ``kappa`` falls: what the paper's rate depends on is ``D_1 D_inf``,
which cannot be less than ``D_2^2`` (Hoelder). The two kinds of tails differ in how far above it is.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from frankwolfe.problem import Problem
from frankwolfe.sets import L1Ball

SHARE_OF_LARGEST_MULTIPLIER = 0.2
"""How much the ball binds: its multiplier at the optimum, as a part of that of a ball of radius zero."""


def power_tail(n: int, tail: float) -> np.ndarray:
    """Return the magnitudes ``u ** tail`` over the quantiles ``u`` of the uniform distribution, the largest one 1.

    ``kappa / n`` is about ``1 / (1 + tail)``, and ``D_1 D_inf`` less than ``2 D_2^2``.
    """
    return ((np.arange(n) + 0.5) / (n - 0.5)) ** tail


def lognormal_tail(n: int, tail: float) -> np.ndarray:
    """Return the magnitudes ``exp(tail * z)`` over the normal distribution's quantiles ``z``, the largest one 1."""
    z = ndtri((np.arange(n) + 0.5) / n)
    return np.exp(tail * (z - z[-1]))


TAILS: dict[str, Callable[[int, float], np.ndarray]] = {"power": power_tail, "lognormal": lognormal_tail}


class Member(NamedTuple):
    """One problem of the family: the kind of its tails, the wanted ``kappa / n``, the problem."""

    kind: str
    share: float
    problem: Problem


def levels(n: int, number: int) -> np.ndarray:
    """Return values of ``kappa / n`` from 1.5 / n to 1, evenly spaced on a logarithmic axis."""
    return np.geomspace(1.5 / n, 1.0, number)


def kappa_member(kind: str, share: float, n: int = 1000, d: int = 40, seed: int = 0) -> Member:
    """Make the problem of the family whose ``kappa / n`` is ``share``.

    Parameters
    ----------
    kind : str
        ``"power"`` or ``"lognormal"``: what the tails look like.
    share : float
        Wanted ``kappa / n``, between 1 / n and 1.
    n, d : int
        Rows and columns.
    seed : int
        Of the orders, signs, weights and noise.

    Returns
    -------
    Member

    Examples
    --------
    >>> member = kappa_member("power", 0.1, n=200, d=5)
    >>> round(member.problem.kappa() / 200, 6)
    0.1
    """
    rng = np.random.default_rng(seed)
    magnitudes = TAILS[kind](n, _tail(TAILS[kind], n, share))
    magnitudes *= np.sqrt(n / np.sum(magnitudes**2))
    X = np.empty((n, d))
    for j in range(d):
        order = rng.permutation(n)
        # the largest entries lie in rows of their own, or two columns would be one where a single entry counts
        order[[np.flatnonzero(order == n - 1)[0], j]] = order[[j, np.flatnonzero(order == n - 1)[0]]]
        X[:, j] = magnitudes[order] * rng.choice([-1.0, 1.0], size=n)
    weights = np.zeros(d)
    weights[: d // 4] = rng.choice([-1.0, 1.0], size=d // 4) * rng.uniform(0.5, 1.5, size=d // 4)
    weights /= np.linalg.norm(weights)
    y = X @ weights + 0.5 * rng.normal(size=n)
    return Member(kind, share, Problem(X, y, loss="squared", constraint=L1Ball(_radius(X, y))))


def _tail(magnitudes: Callable[[int, float], np.ndarray], n: int, share: float) -> float:
    """Return the number at which the mean magnitude is ``share`` of the largest, by bisection on a logarithmic axis."""
    if not 1.0 / n < share <= 1.0:
        raise ValueError(f"kappa / n must be above 1 / n = {1 / n:g} and at most 1, got {share:g}")
    if share == 1.0:
        return 0.0
    low, high = 1e-9, 1e9
    for _ in range(200):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if magnitudes(n, middle).mean() > share else (low, middle)
    return float(high)


def _radius(X: np.ndarray, y: np.ndarray, sweeps: int = 1000) -> float:
    """Return the l1 norm of the lasso's solution at a fixed part of the largest penalty, by coordinate descent.

    The ball of that radius has the penalty as its multiplier: so the balls of all members bind alike.
    """
    n, d = X.shape
    gram, pull = X.T @ X / n, X.T @ y / n
    penalty = SHARE_OF_LARGEST_MULTIPLIER * np.abs(pull).max()
    w = np.zeros(d)
    for _ in range(sweeps):
        before = w.copy()
        for j in range(d):
            free = pull[j] - gram[j] @ w + gram[j, j] * w[j]
            w[j] = np.sign(free) * max(abs(free) - penalty, 0.0) / gram[j, j]
        if np.abs(w - before).max() <= 1e-12 * np.abs(w).max():
            break
    return float(np.abs(w).sum())
