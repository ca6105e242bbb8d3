"""Parts defined outside the package, as a user would: one NamedTuple each, usable wherever the package's own are.

A loss needs ``value``, ``derivative``, ``curvature`` and ``smoothness``; a set ``scout``, ``oracle``, ``support`` and
``contains``, and ``hull`` if its vertices are single coordinates; a gradient estimate ``refresh`` and ``follow``; a
step rule ``length``. A part that needs arrays during a run makes them in ``begin``.
"""

from math import exp, log, log1p, tanh
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.gradients import amend
from frankwolfe.sets.atoms import Full, Hot, Workspace
from frankwolfe.sets.hull import Hull
from frankwolfe.verbs import derivative, prediction


class LogCosh(NamedTuple):
    """``log(cosh(z - y))``: squared near zero, absolute far away, smooth everywhere."""

    convex = True
    targets = "real"

    def value(self, z, y):
        error = abs(z - y)
        return error + log1p(exp(-2.0 * error)) - log(2.0)

    def derivative(self, z, y):
        return tanh(z - y)

    def curvature(self, z, y):
        return 1.0 - tanh(z - y) ** 2

    def smoothness(self):
        return 1.0


class WeightedL1Ball(NamedTuple):
    """All ``w`` with ``sum_j price_j |w_j| <= budget``: a vertex spends the whole budget on one coordinate."""

    budget: float
    price: np.ndarray

    def scout(self, d):
        return Workspace.over(d)

    def oracle(self, scout, r):
        price, best = self.price, 0
        for j in range(len(r)):
            if abs(r[j]) * price[best] > abs(r[best]) * price[j]:
                best = j
        amount = self.budget / price[best]
        return Hot(best, -amount if r[best] > 0.0 else amount)

    def support(self, direction):
        return self.budget * np.max(np.abs(direction) / self.price)

    def contains(self, w, tolerance=1e-9):
        return bool(self.price @ np.abs(w) <= self.budget * (1.0 + tolerance))


class Mixture(NamedTuple):
    """All ``w >= 0`` with sum ``total``: shares of a whole."""

    total: float

    def scout(self, d):
        return Workspace.over(d)

    def oracle(self, scout, r):
        return Hot(np.argmin(r), self.total)

    def hull(self):
        return Hull(radius=self.total, signed=False, filled=False)

    def support(self, direction):
        return self.total * np.max(direction)

    def contains(self, w, tolerance=1e-9):
        return bool(np.min(w) >= -tolerance and abs(np.sum(w) - self.total) <= tolerance * self.total)


class CappedSimplex(NamedTuple):
    """All ``w`` with ``0 <= w_j <= cap`` and sum 1: no coordinate may take more than its share."""

    cap: float

    def scout(self, d):
        return Workspace.over(d)

    def oracle(self, scout, r):
        room, left = scout.room, 1.0
        for j in np.argsort(r):
            room[j] = min(self.cap, left)
            left -= room[j]
        return Full(room)

    def support(self, direction):
        scout = Workspace.over(len(direction))
        return self.oracle(scout, -direction).inner(direction)

    def contains(self, w, tolerance=1e-9):
        return bool(np.min(w) >= -tolerance and np.max(w) <= self.cap + tolerance and abs(np.sum(w) - 1) <= tolerance)


class SmoothedTable(NamedTuple):
    """The paper's table, but a remembered derivative only moves a part ``rate`` of the way to the fresh one."""

    rate: float = 0.5
    alpha: Any = None

    def begin(self, setting):
        return self._replace(alpha=np.zeros(len(setting.samples.targets)))

    def refresh(self, samples, iterate, gradient, batch, t):
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, rate = self.alpha, self.rate
        for i in batch:
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = rate * (fresh - alpha[i])
            alpha[i] += change
            amend(gradient, rows, i, change)

    def follow(self, samples, leg, gradient, batch, t):
        pass


class ConstantThenDecay(NamedTuple):
    """``gamma`` for the first ``hold`` steps, then ``gamma hold / t``."""

    gamma: float = 0.2
    hold: float = 10.0

    def length(self, leg, samples, gradient, iterate, t):
        return self.gamma * min(1.0, self.hold / t)
