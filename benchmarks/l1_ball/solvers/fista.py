"""Projected FISTA: momentum with adaptive restart, a step size found by backtracking, an exact projection."""

import numpy as np
from scipy import sparse

from benchmark_utils.tolerance import ToleranceSolver

CHECK_EVERY = 10
"""Iterations between exact gaps: a gap costs half an iteration."""


class Solver(ToleranceSolver):
    """Stops on the exact Frank-Wolfe gap, relative to the objective of the zero model, like this library's solvers.

    Predictions are linear in the weights, so those of the extrapolated point cost nothing: an iteration is one product
    with the data, one with its transpose and one projection, and a product more for each time the step was too long.
    """

    name = "fista"
    requirements = ["numpy", "scipy"]
    family = "constrained peers"

    def set_objective(self, X, y, loss, radius, **_):
        self.X, self.y, self.radius = X, y, radius
        self.transposed = sparse.csr_matrix(X.T) if sparse.issparse(X) else np.ascontiguousarray(X.T)
        self.judge = logistic if loss == "logistic" else squared

    def run(self, tolerance):
        """Go on until the gap is at most the tolerance times the objective of the zero model."""
        X, y, judge, radius = self.X, self.y, self.judge, self.radius
        w = ahead = np.zeros(X.shape[1])
        z = z_ahead = np.zeros(len(y))
        value, slopes = judge(z_ahead, y)
        wanted = min(tolerance, 1.0) * value
        momentum, smoothness, iteration = 1.0, 1e-3 * self.largest_smoothness(), 0
        while iteration % CHECK_EVERY or self.gap(w, z) > wanted:
            iteration += 1
            gradient = self.transposed @ slopes
            while True:
                w_new = project(ahead - gradient / smoothness, radius)
                move, z_new = w_new - ahead, X @ w_new
                value_new, _ = judge(z_new, y)
                bound = value + gradient @ move + 0.5 * smoothness * (move @ move)
                if value_new <= bound + 1e-14 * abs(value):  # below that the two differ by rounding alone
                    break
                smoothness *= 2.0
            smoothness *= 0.95  # the objective may be flatter further on
            if move @ (w_new - w) < 0.0:  # the momentum points uphill (O'Donoghue and Candes 2015)
                momentum = 1.0
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            weight = (momentum - 1.0) / following
            ahead, z_ahead = w_new + weight * (w_new - w), z_new + weight * (z_new - z)
            w, z, momentum = w_new, z_new, following
            value, slopes = judge(z_ahead, y)
        self.w = w

    def gap(self, w, z):
        gradient = self.transposed @ self.judge(z, self.y)[1]
        return gradient @ w + self.radius * np.abs(gradient).max()

    def largest_smoothness(self):
        """Return a bound on the curvature: the mean squared norm of the rows."""
        return (self.X.multiply(self.X) if sparse.issparse(self.X) else self.X**2).sum() / len(self.y)


def logistic(z, y):
    """Return the mean loss and its derivatives by the predictions."""
    margins = y * z
    small = np.exp(-np.abs(margins))  # never overflows
    slopes = -y * np.where(margins > 0.0, small, 1.0) / (1.0 + small)
    return (np.maximum(-margins, 0.0) + np.log1p(small)).mean(), slopes / len(y)


def squared(z, y):
    """Return the mean loss and its derivatives by the predictions."""
    excess = z - y
    return 0.5 * (excess @ excess) / len(y), excess / len(y)


def project(w, radius):
    """Return the nearest point of the l1 ball, exactly: entries below the threshold leave until none does."""
    kept = np.abs(w)
    if kept.sum() <= radius:
        return w
    while True:
        threshold = (kept.sum() - radius) / len(kept)
        rest = kept[kept > threshold]
        if len(rest) == len(kept):
            return np.sign(w) * np.maximum(np.abs(w) - threshold, 0.0)
        kept = rest
