"""The methods as their pseudo-code states them: dense NumPy, one line a line, no attempt at speed.

Every method takes the data ``X`` and ``y``; ``derivative(z, y)``, the loss's derivative for whole vectors; ``lmo(r)``,
the vertex that minimises ``<r, s>``; ``batches``, one array of row numbers a step; and the start ``w0``. It returns all
iterates, the start first. Steps ``t`` count from 1. Weights of the samples are 1/n.
"""

import numpy as np
from scipy.optimize import brentq

# --- derivatives ----------------------------------------------------------------------------------------------


def logistic(z, y):
    return -y / (1.0 + np.exp(y * z))


def squared(z, y):
    return z - y


# --- oracles: the first coordinate wins ties ------------------------------------------------------------------


def l1_ball(radius):
    def lmo(r):
        s = np.zeros(len(r))
        j = np.argmax(np.abs(r))
        s[j] = -radius if r[j] > 0.0 else radius
        return s

    return lmo


def simplex(radius):
    def lmo(r):
        s = np.zeros(len(r))
        s[np.argmin(r)] = radius
        return s

    return lmo


def box(lower, upper):
    return lambda r: np.where(r > 0.0, lower, upper)


# --- step rules of the deterministic method: step(X, y, w, direction, gradient, t) ----------------------------


def open_loop(X, y, w, direction, gradient, t):
    return 2.0 / (t + 2.0)


def log_adaptive(X, y, w, direction, gradient, t):
    g = 2.0 + np.log(t + 1.0)
    return g / (t + g)


def monotone(value):
    """Halve the open loop's step until the objective does not rise; what was halved stays halved."""
    halvings = [0]

    def step(X, y, w, direction, gradient, t):
        while value(w + 2.0 ** -halvings[0] * 2.0 / (t + 2.0) * direction) > value(w):
            halvings[0] += 1
        return 2.0 ** -halvings[0] * 2.0 / (t + 2.0)

    return step


def short_step(smoothness):
    """Minimise the quadratic upper bound, at most the whole way."""

    def step(X, y, w, direction, gradient, t):
        return min(1.0, -gradient @ direction / (smoothness * np.mean((X @ direction) ** 2)))

    return step


def exact_line_search(derivative):
    """Find the root of the slope along the direction, or go the whole way if the objective still falls there."""

    def step(X, y, w, direction, gradient, t):
        def slope(gamma):
            return np.mean((X @ direction) * derivative(X @ (w + gamma * direction), y))

        return 1.0 if slope(1.0) <= 0.0 else brentq(slope, 0.0, 1.0, xtol=1e-15, rtol=1e-15)

    return step


def backtracking(value, smoothness, relax=0.9, raise_by=2.0):
    """Short steps with a constant that is lowered before each step and raised until the quadratic bound holds."""
    constant = smoothness

    def step(X, y, w, direction, gradient, t):
        nonlocal constant
        constant *= relax
        squares = np.mean((X @ direction) ** 2)
        while True:
            gamma = min(1.0, -gradient @ direction / (constant * squares))
            bound = value(w) + gamma * gradient @ direction + 0.5 * gamma**2 * constant * squares
            if constant >= smoothness or value(w + gamma * direction) <= bound:
                return gamma
            constant = min(smoothness, raise_by * constant)

    return step


# --- methods --------------------------------------------------------------------------------------------------


def frank_wolfe(X, y, derivative, lmo, batches, w0, step=open_loop):
    """Frank and Wolfe: the whole gradient at every step. Only the number of batches matters."""
    w, iterates = w0, [w0]
    for t in range(1, len(batches) + 1):
        gradient = X.T @ derivative(X @ w, y) / len(y)
        s = lmo(gradient)
        w = w + step(X, y, w, s - w, gradient, t) * (s - w)
        iterates.append(w)
    return np.array(iterates)


def sfw(X, y, derivative, lmo, batches, w0):
    """Stochastic Frank-Wolfe, Algorithm 1 of the paper, each step for a batch of rows."""
    n, d = X.shape
    w, iterates = w0, [w0]
    alpha, r = np.zeros(n), np.zeros(d)
    for t, batch in enumerate(batches, start=1):
        for i in batch:
            fresh = derivative(X[i] @ w, y[i]) / n
            r = r + (fresh - alpha[i]) * X[i]
            alpha[i] = fresh
        s = lmo(r)
        w = w + 2.0 / (t + 2.0) * (s - w)
        iterates.append(w)
    return np.array(iterates)


def mokhtari(X, y, derivative, lmo, batches, w0):
    """Mokhtari et al. as the paper's appendix writes it, without a factor 1/n."""
    n, d = X.shape
    w, iterates = w0, [w0]
    alpha, r = np.zeros(n), np.zeros(d)
    for t, batch in enumerate(batches, start=1):
        rho, gamma = 1.0 / (t + 1.0) ** (2.0 / 3.0), 1.0 / (t + 1.0)
        for i in batch:
            fresh = (1.0 - rho) * alpha[i] + rho * derivative(X[i] @ w, y[i])
            r = r + (fresh - alpha[i]) * X[i]
            alpha[i] = fresh
        s = lmo(r)
        w = (1.0 - gamma) * w + gamma * s
        iterates.append(w)
    return np.array(iterates)


def _two_thirds(t):
    return (t + 1.0) ** (-2.0 / 3.0)


def momentum(X, y, derivative, lmo, batches, w0, rho=_two_thirds, gamma=lambda t: 1.0 / (t + 1.0)):
    """Mokhtari et al., the original: all of ``r`` is averaged, not each sample's share on its own."""
    w, iterates = w0, [w0]
    r = np.zeros(X.shape[1])
    for t, batch in enumerate(batches, start=1):
        r = (1.0 - rho(t)) * r + rho(t) * np.mean([derivative(X[i] @ w, y[i]) * X[i] for i in batch], axis=0)
        s = lmo(r)
        w = (1.0 - gamma(t)) * w + gamma(t) * s
        iterates.append(w)
    return np.array(iterates)


def shcgm(X, y, derivative, lmo, batches, w0, side=None, beta0=1.0):
    """Locatello et al.: averaged gradients, and the distance of ``Aw`` to a box, over a beta that falls.

    The authors ask the oracle at ``beta r + A'(Aw - proj(Aw))``; divided by beta, its size means something too.
    """
    w, iterates = w0, [w0]
    A, lower, upper = (np.zeros((1, X.shape[1])), -1.0, 1.0) if side is None else side
    r = np.zeros(X.shape[1])
    for k, batch in enumerate(batches, start=1):
        gamma, beta, rho = 9.0 / (k + 8.0), beta0 / np.sqrt(k + 8.0), 4.0 / (k + 7.0) ** (2.0 / 3.0)
        r = (1.0 - rho) * r + rho * np.mean([derivative(X[i] @ w, y[i]) * X[i] for i in batch], axis=0)
        s = lmo(r + A.T @ (A @ w - np.clip(A @ w, lower, upper)) / beta)
        w = w + gamma * (s - w)
        iterates.append(w)
    return np.array(iterates)


def lu_freund(X, y, derivative, lmo, batches, w0):
    """Lu and Freund: the vertex comes first, then the batch's averaged predictions move toward the vertex's own."""
    n, d = X.shape
    w, iterates = w0, [w0]
    sigma, alpha, r = X @ w0, np.zeros(n), np.zeros(d)
    n_b = n // len(batches[0])
    for t, batch in enumerate(batches, start=1):
        gamma = 2.0 * (2.0 * n_b + t) / ((t + 1.0) * (4.0 * n_b + t + 1.0))
        delta = 2.0 * n_b / (2.0 * n_b + t + 1.0)
        s = lmo(r)
        for i in batch:
            sigma[i] = (1.0 - delta) * sigma[i] + delta * (X[i] @ s)
            fresh = derivative(sigma[i], y[i]) / n
            r = r + (fresh - alpha[i]) * X[i]
            alpha[i] = fresh
        w = (1.0 - gamma) * w + gamma * s
        iterates.append(w)
    return np.array(iterates)


def saga(X, y, derivative, lmo, batches, w0):
    """SAGA: the batch's changes count n/b times for one step; then they are remembered."""
    w, iterates, table = w0, [w0], np.zeros_like(X)
    for t, S in enumerate(batches, start=1):
        g = derivative(X @ w, y)[:, None] * X
        r = np.mean(g[S] - table[S], axis=0) + np.mean(table, axis=0)
        table[S] = g[S]
        w = w + 2.0 / (t + 2.0) * (lmo(r) - w)
        iterates.append(w)
    return np.array(iterates)


def sagafw(X, y, derivative, lmo, batches, w0):
    """Reddi et al.: as SAGA, but the second half of the rows, drawn independently, is what is remembered."""
    w, iterates, table = w0, [w0], np.zeros_like(X)
    for rows in batches:
        S, J = np.split(rows, 2)
        g = derivative(X @ w, y)[:, None] * X
        r = np.mean(g[S] - table[S], axis=0) + np.mean(table, axis=0)
        table[J] = g[J]
        w = w + CONSTANT_STEP * (lmo(r) - w)
        iterates.append(w)
    return np.array(iterates)


def sarah(X, y, derivative, lmo, batches, w0, snapshots):
    """Beznosikov et al., SARAH: the exact gradient now and then, else the batch's difference is added."""
    w, iterates, last, r = w0, [w0], None, None
    for t, S in enumerate(batches, start=1):
        g = derivative(X @ w, y)[:, None] * X
        r = np.mean(g, axis=0) if t in snapshots else r + np.mean(g[S] - last[S], axis=0)
        w, last = w + 2.0 / (t + 2.0) * (lmo(r) - w), g
        iterates.append(w)
    return np.array(iterates)


def saga_sarah(X, y, derivative, lmo, batches, w0, snapshots):
    """Beznosikov et al., SAGA and SARAH: the table's estimate pulls where SARAH would take an exact gradient."""
    assert snapshots == [1]
    w, iterates, last, table, r = w0, [w0], None, None, None
    for t, S in enumerate(batches, start=1):
        g, pull = derivative(X @ w, y)[:, None] * X, len(S) / (2.0 * len(y))
        if t == 1:
            r, table = np.mean(g, axis=0), g.copy()
        else:
            by_table = np.mean(last[S] - table[S], axis=0) + np.mean(table, axis=0)
            r = np.mean(g[S] - last[S], axis=0) + (1.0 - pull) * r + pull * by_table
            table[S] = g[S]
        w, last = w + 2.0 / (t + 2.0) * (lmo(r) - w), g
        iterates.append(w)
    return np.array(iterates)


def l_svrg(X, y, derivative, lmo, batches, w0, snapshots):
    """Loopless SVRG: the batch's gradient, less that at the snapshot, plus the exact one there."""
    w, iterates, at_snapshot = w0, [w0], None
    for t, S in enumerate(batches, start=1):
        g = derivative(X @ w, y)[:, None] * X
        at_snapshot = g if t in snapshots else at_snapshot
        r = np.mean(g[S], axis=0) - np.mean(at_snapshot[S], axis=0) + np.mean(at_snapshot, axis=0)
        w = w + 2.0 / (t + 2.0) * (lmo(r) - w)
        iterates.append(w)
    return np.array(iterates)


def one_sample(X, y, derivative, lmo, batches, w0, rho=lambda t: 1.0 / t, gamma=lambda t: 1.0 / t):
    """Zhang et al., 1-SFW: the average is carried along by the batch's difference; the schedules for convex losses."""
    w, iterates, last, r = w0, [w0], np.zeros_like(X), np.zeros(X.shape[1])
    for t, S in enumerate(batches, start=1):
        g = derivative(X @ w, y)[:, None] * X
        r = (1.0 - rho(t)) * (r - np.mean(last[S], axis=0)) + np.mean(g[S], axis=0)
        w, last = w + gamma(t) * (lmo(r) - w), g
        iterates.append(w)
    return np.array(iterates)


def _mean_gradient(X, y, derivative, w, rows):
    return X[rows].T @ derivative(X[rows] @ w, y[rows]) / len(rows)


def svrf(X, y, derivative, lmo, batches, w0, snapshots, gamma=lambda k: 2.0 / (k + 1.0)):
    """Hazan and Luo: the batch's gradient, less that at the snapshot ``v``, plus the exact one there."""
    w, iterates = w0, [w0]
    for t, batch in enumerate(batches, start=1):
        if t in snapshots:
            v, k, exact = w, 0, X.T @ derivative(X @ w, y) / len(y)
        k += 1
        r = _mean_gradient(X, y, derivative, w, batch) - _mean_gradient(X, y, derivative, v, batch) + exact
        w = w + gamma(k) * (lmo(r) - w)
        iterates.append(w)
    return np.array(iterates)


def svfw(X, y, derivative, lmo, batches, w0, snapshots):
    """Reddi et al.: the same, with a constant step."""
    return svrf(X, y, derivative, lmo, batches, w0, snapshots, gamma=lambda k: CONSTANT_STEP)


def spider(X, y, derivative, lmo, batches, w0, snapshots):
    """Yurtsever et al.: an exact gradient, then what batches see change from step to step."""
    w, before, iterates = w0, w0, [w0]
    for t, batch in enumerate(batches, start=1):
        if t in snapshots:
            r = X.T @ derivative(X @ w, y) / len(y)
        else:
            r = r + _mean_gradient(X, y, derivative, w, batch) - _mean_gradient(X, y, derivative, before, batch)
        w, before = w + 2.0 / (t + 1.0) * (lmo(r) - w), w
        iterates.append(w)
    return np.array(iterates)


CONSTANT_STEP = 0.1
"""Of methods whose theory wants a constant step."""

METHODS = {
    "sfw": sfw,
    "mokhtari": mokhtari,
    "momentum": momentum,
    "shcgm": shcgm,
    "lu-freund": lu_freund,
    "saga": saga,
    "sagafw": sagafw,
    "sarah": sarah,
    "saga-sarah": saga_sarah,
    "l-svrg": l_svrg,
    "one-sample": one_sample,
    "svrf": svrf,
    "svfw": svfw,
    "spider": spider,
}
"""By name. A method that takes snapshots is told the steps before which it does so, as ``snapshots``."""
