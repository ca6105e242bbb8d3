"""Peers that take a penalty, not a radius: handed the equivalent penalty, or searching for it."""

import math

import numpy as np
from scipy import sparse

from benchmark_utils.tolerance import ToleranceSolver

NORM_TOLERANCE = 1e-3
MOST_SOLVES = 40
LEAST_MISS = math.log(0.1)
"""How far below the radius, in logarithms, a norm may count: from a smaller one no slope can be told."""
LEAST_PENALTY = 1e-8
"""Where a search gives up, relative to the penalty at which the weights are zero."""


class PenalisedSolver(ToleranceSolver):
    """A scikit-learn-like model with an l1 penalty.

    ``penalty="given"`` hands it the penalty whose minimiser is the solution, worked out beforehand and untimed.
    ``penalty="searched"`` is what somebody with a radius has to do: fit after fit until the norm is right, warm-started
    where the model can be, all of it timed.
    """

    parameters = {"penalty": ["given", "searched"]}
    losses = ("logistic", "squared")

    @property
    def family(self):
        """Which kind of solver this is."""
        return f"penalty {self.penalty}"

    def skip(self, loss, **_):
        unfit = loss not in self.losses
        return unfit, f"{self.name} has no {loss} loss" if unfit else None

    def set_objective(self, X, y, loss, radius, equivalent_penalty, solved):
        self.X, self.y, self.loss, self.radius = self.prepared(X), y, loss, radius
        self.equivalent_penalty, self.solved = equivalent_penalty, solved

    def prepared(self, X):
        """Return the data as the model likes it best; not timed."""
        return X

    def warm_up(self):
        self.run_once(1e-2)

    def run(self, tolerance):
        tolerance = min(tolerance, 1.0)
        if self.penalty == "given":
            self.w, self.solves = self.fit(self.equivalent_penalty, tolerance, None), 1
        else:
            self.w, self.solves = search(self.fit, self.largest(), self.radius, tolerance, self.solved)

    def largest(self):
        """Return the least penalty whose minimiser is zero: the largest entry of the gradient there."""
        slopes = 0.5 * self.y if self.loss == "logistic" else self.y
        return np.abs(self.X.T @ slopes).max() / len(self.y)

    def fit(self, penalty, tolerance, start):
        """Return the model's weights; unless ``start`` is None, warm-started from the previous ones where possible."""
        if start is None:
            self.model = self.estimator(tolerance)
        self.model.set_params(**self.strength(penalty)).fit(self.X, self.y)
        return np.array(self.model.coef_, dtype=np.float64).ravel()

    def estimator(self, tolerance):
        """Return a model that has seen nothing yet."""
        raise NotImplementedError

    def strength(self, penalty):
        """Return the penalty as the model's parameter."""
        raise NotImplementedError


def by_columns(X):
    """Return the data column by column: what coordinate descent reads."""
    return sparse.csc_matrix(X) if sparse.issparse(X) else np.asfortranarray(X)


def search(fit, largest, radius, tolerance, solved):
    """Look for the penalty whose minimiser has the radius as its norm; return the last weights and how many fits.

    Regula falsi (Illinois) in the logarithms of penalty and norm. It ends once the weights, scaled into the ball, meet
    the target, or their norm is within 1e-3 of the radius. That alone often misses the target, so a finer tolerance
    of the fits asks for a finer norm as well. Where the fits are so coarse that the norm does not follow, it gives up.
    """
    wanted, lowest = min(NORM_TOLERANCE, tolerance), math.log(LEAST_PENALTY * largest)
    guess, w, solves, ends, side, miss = math.log(largest / 10.0), None, 0, {}, None, math.inf
    for _ in range(MOST_SOLVES):
        solves += 1
        w = fit(math.exp(guess), tolerance, w)
        norm = np.abs(w).sum()
        if abs(norm / radius - 1.0) <= wanted or solved(w):
            break
        before, miss = miss, max(math.log(max(norm / radius, 1e-300)), LEAST_MISS)
        previous, side = side, miss > 0.0
        if guess < lowest or too_coarse(ends, before, miss, wanted):
            break
        ends[side] = (guess, miss)
        if previous == side and (not side) in ends:  # the far end has not moved: trust it less
            place, other = ends[not side]
            ends[not side] = (place, 0.5 * other)
        guess = next_guess(ends, guess, miss)
    return w, solves


def too_coarse(ends, before, miss, wanted):
    """Return whether the fits are too coarse for the norm to follow the penalty: going on would lead nowhere."""
    if len(ends) == 2:
        return abs(ends[True][0] - ends[False][0]) < 1e-2 * wanted
    same_side = before * miss > 0.0
    return same_side and LEAST_MISS < before < math.inf and abs(miss) > 0.99 * abs(before)


def next_guess(ends, guess, miss):
    """Return where to try next: between the ends if both are known, else further out."""
    if len(ends) < 2:
        return guess + math.copysign(min(max(abs(miss), 0.05), math.log(10.0)), miss)
    (left, over), (right, under) = ends[True], ends[False]
    return left + (right - left) * over / (over - under)
