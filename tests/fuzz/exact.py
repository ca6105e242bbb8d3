"""Objective, gap and slope of the intercept at a point, in extended precision, with what rounding may do to them.

The bounds on rounding are the textbook ones: an inner product of m terms computed in float64 is off by at most about
m eps times the sum of the terms' sizes, and an error in a prediction moves its loss by the derivative, and the
derivative by the smoothness. They tell rounding from mistakes; a few times the bound is allowed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from tests.reference.losses import curvatures, derivatives, losses, wide
from tests.reference.sets import accuracy, reach

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Exact:
    """Facts about a point, each with its rounding."""

    fun: Any
    gap: Any
    slope: Any
    fun_error: float
    gap_error: float
    slope_error: float


class Recomputed:
    """A case's problem from its arrays, in extended precision."""

    def __init__(self, case):
        X = case.X.toarray() if sparse.issparse(case.X) else np.asarray(case.X)
        self.X, self.y, self.loss, self.constraint = wide(X), wide(case.y), case.loss, case.constraint
        self.offset = wide(np.zeros(len(X)) if case.offset is None else case.offset)
        self.linear = wide(np.zeros(case.size) if case.linear is None else np.ravel(case.linear))
        p = wide(np.ones(len(X)) if case.sample_weight is None else case.sample_weight)
        self.p, self.size, self.intercept = p / p.sum(), case.size, case.intercept
        self.outputs = self.size // X.shape[1] if self.size != X.shape[1] or self.y.ndim == 2 else 0
        self.outputs = self.outputs or int(case.loss.is_vector)
        # dense columns are centred where there is an intercept: rows far smaller than the means are rounded as they are
        self.means = np.abs(self.p @ self.X) if case.intercept and not sparse.issparse(case.X) else 0.0

    @property
    def smoothness(self):
        """Lipschitz constant of the derivative; zero for lines with a kink, whose derivative jumps or does nothing.

        With a log link it is the largest curvature at predictions that the set, and an intercept, can make.
        """
        if not self.loss.log_link:
            return self.loss.smoothness() if self.loss.smooth else 0.0
        middle = np.log(self.p @ self.y) if self.intercept else 0.0
        most = (1 + self.intercept) * ((np.abs(self.X) + self.means) @ self.reach + np.abs(self.offset)).max()
        return float(max(curvatures(self.loss, middle + end, self.y).max() for end in (-most, most)))

    @property
    def linear_reach(self):
        """Largest sum of the sizes of the linear term's parts."""
        return float(np.abs(self.linear) @ self.reach)

    @cached_property
    def reach(self):
        """Largest entries over the set."""
        return reach(self.constraint, self.size)

    @cached_property
    def zero(self):
        """Objective where all weights are zero."""
        return (self.p * losses(self.loss, self._nothing, self.y)).sum()

    @cached_property
    def pulls(self):
        """Derivatives where all weights are zero."""
        return derivatives(self.loss, self._nothing, self.y)

    @property
    def _nothing(self):
        return np.zeros((len(self.y), self.outputs)) if self.outputs else self.offset

    def predictions(self, w, b):
        """Return what weights and an intercept predict."""
        w = wide(w).ravel()
        return self.X @ w.reshape(-1, self.outputs) + wide(b) if self.outputs else self.X @ w + wide(b) + self.offset

    def at(self, w, b):
        """Everything at weights and an intercept."""
        w, b = wide(w).ravel(), wide(b)
        z, (n, d) = self.predictions(w, b), self.X.shape
        blur = EPS * (d + 4) * ((np.abs(self.X) + self.means) @ np.abs(w.reshape(d, -1)) + np.abs(b)).reshape(z.shape)
        blur += EPS * 4 * np.abs(self.offset).reshape(-1, *[1] * (z.ndim - 1))
        if self.loss.log_link:  # exponentials of numbers near zero are near one, and so are targets
            blur += 4 * EPS * (1 + np.abs(z) + np.abs(np.log(np.where(self.y > 0, self.y, 1))))
        pulls = derivatives(self.loss, z, self.y)
        values, smooth = losses(self.loss, z, self.y), self.smoothness
        p = self.p.reshape(-1, *[1] * (z.ndim - 1))
        # what rounding does to losses and derivatives, sample by sample
        steep = np.abs(pulls) if self.loss.smooth else 1.0  # a kink may be within rounding, but no slope is above 1
        lifts = self._total(steep * blur + smooth * blur**2) + 8 * EPS * values
        lifts += 1e-17 * smooth if self.loss.log_link else 0.0  # the formulas here cancel digits, too
        bends = p * (smooth * self._total(blur).reshape(p.shape) + 8 * EPS * np.abs(pulls))
        alpha = p * pulls
        gradient = (self.X.T @ alpha).ravel() + self.linear
        terms = float(np.abs(self.linear) @ np.abs(w))
        sizes = (np.abs(self.X).T @ (bends + EPS * (n + 4) * np.abs(alpha))).ravel() + 4 * EPS * np.abs(self.linear)
        sizes += (EPS * (self.size + 4) + accuracy(self.constraint)) * np.abs(gradient)
        # a budget that the least weights nearly exhaust leaves a difference of sums, which any weight may get
        spare = EPS * (self.size + 4) * np.abs(w).sum() * np.abs(gradient).max()
        return Exact(
            fun=(self.p * values).sum() + self.linear @ w,
            gap=gradient @ w + self.constraint.support(-gradient),
            slope=alpha.sum(axis=0),
            fun_error=float((self.p * (lifts + (n + 4) * EPS * values)).sum()) + (self.size + 4) * EPS * terms,
            gap_error=float((sizes * (np.abs(w) + self.reach)).sum() + spare) if self.loss.smooth else np.inf,
            slope_error=float(bends.sum() + EPS * (n + 4) * np.abs(alpha).sum()),
        )

    @staticmethod
    def _total(values):
        return values.sum(axis=1) if values.ndim == 2 else values
