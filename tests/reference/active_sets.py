"""Active-set Frank-Wolfe with a dictionary of atoms, as the papers state it: dense NumPy, short steps.

An atom is a tuple of numbers, its weight a dictionary's value; ``w`` is only ever the weighted sum. ``lmo`` returns the
atom of the set that minimises ``<r, s>``. ``loss`` is a pair: the derivative for whole vectors, and its Lipschitz
constant.
"""

import numpy as np


def _combination(weights):
    return sum(weight * np.array(atom) for atom, weight in weights.items())


def _short_step(X, y, loss, w, direction, most):
    """Minimise the quadratic upper bound along a direction. (An exact step would leave its two atoms equally good.)"""
    derivative, smoothness = loss
    fall = -np.mean(derivative(X @ w, y) * (X @ direction))
    curvature = smoothness * np.mean((X @ direction) ** 2)
    if fall <= 0.0:
        return 0.0
    return most if fall >= curvature * most else fall / curvature


def _kept(weights):
    return {atom: weight for atom, weight in weights.items() if weight > 1e-14}


def _toward(X, y, loss, weights, s):
    w = _combination(weights)
    gamma = _short_step(X, y, loss, w, np.array(s) - w, 1.0)
    moved = {atom: (1.0 - gamma) * weight for atom, weight in weights.items()}
    moved[s] = moved.get(s, 0.0) + gamma
    return moved


def _exchange(X, y, loss, weights, s, a):
    gamma = _short_step(X, y, loss, _combination(weights), np.array(s) - np.array(a), weights[a])
    moved = dict(weights)
    moved[a] -= gamma
    moved[s] = moved.get(s, 0.0) + gamma
    return moved


def _retreat(X, y, loss, weights, a):
    w, share = _combination(weights), weights[a]
    gamma = _short_step(X, y, loss, w, w - np.array(a), share / (1.0 - share))
    moved = {atom: (1.0 + gamma) * weight for atom, weight in weights.items()}
    moved[a] -= gamma
    return moved


def pairwise(X, y, loss, weights, r, s, a):
    return _exchange(X, y, loss, weights, s, a)


def away(X, y, loss, weights, r, s, a):
    w = _combination(weights)
    if r @ w - r @ s >= r @ a - r @ w or weights[a] >= 1.0:
        return _toward(X, y, loss, weights, s)
    return _retreat(X, y, loss, weights, a)


def blended_pairwise(X, y, loss, weights, r, s, a):
    near = min(weights, key=lambda atom: r @ atom)
    if r @ a - r @ near >= r @ _combination(weights) - r @ s:
        return _exchange(X, y, loss, weights, near, a)
    return _toward(X, y, loss, weights, s)


def best_of(atoms):
    """Return the oracle of the hull of some atoms."""
    return lambda r: min(atoms, key=lambda atom: r @ atom)


def euclidean_ball(radius):
    """Return the oracle of a ball."""
    return lambda r: tuple(-radius * r / np.linalg.norm(r))


def capped_simplex(cap):
    """Return the oracle of the points of the simplex with no entry above ``cap``: fill the cheapest entries first."""

    def lmo(r):
        s = np.zeros(len(r))
        for j in np.argsort(r):
            s[j] = min(cap, 1.0 - s.sum())
        return tuple(s.round(15))

    return lmo


def run(step, X, y, loss, lmo, start, steps):
    """Return all iterates of one of the methods above, the start (an atom) first."""
    weights = {start: 1.0}
    iterates = [_combination(weights)]
    for _ in range(steps):
        r = X.T @ loss[0](X @ iterates[-1], y) / len(y)
        s = lmo(r)
        a = max(weights, key=lambda atom: r @ atom)
        weights = _kept(step(X, y, loss, weights, r, s, a))
        iterates.append(_combination(weights))
    return np.array(iterates)
