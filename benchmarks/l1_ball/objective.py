"""The objective, and the judge: plain NumPy, independent of every solver."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """Minimise the mean loss of a linear model without intercept under a bound on the l1 norm of its weights."""

    name = "l1 ball"
    min_benchopt_version = "1.7"
    requirements = ["numpy", "scipy"]
    sampling_strategy = "tolerance"
    parameters = {"target": [1e-6]}
    test_dataset_name = "simulated"

    def skip(self, absent=None, **_):
        return absent is not None, absent

    def set_data(self, X, y, loss, radius, reference, absent=None):
        self.X, self.y, self.loss, self.radius, self.reference = X, y, loss, radius, reference
        self.zero_value = self.mean_loss(np.zeros(len(y)))

    def get_objective(self):
        return {
            "X": self.X,
            "y": self.y,
            "loss": self.loss,
            "radius": self.radius,
            "equivalent_penalty": self.reference["penalty"],
            "solved": self.solved,
        }

    def get_one_result(self):
        return {"w": np.zeros(self.X.shape[1])}

    def evaluate_result(self, w):
        norm = np.abs(w).sum()
        w = self.into_ball(w)
        predictions = self.X @ w
        value = self.mean_loss(predictions)
        gradient = self.X.T @ self.slopes(predictions)
        return {
            "value": value,
            "suboptimality": value - self.reference["value"],
            "gap": float(gradient @ w + self.radius * np.abs(gradient).max()),
            "norm": norm / self.radius,
            "nonzeros": np.count_nonzero(w),
        }

    def solved(self, w):
        """Return whether a point, scaled into the ball, is as good as the target asks."""
        excess = self.mean_loss(self.X @ self.into_ball(w)) - self.reference["value"]
        return excess <= self.target * self.zero_value

    def into_ball(self, w):
        """Scale a point that is outside, as penalised solvers' are, onto the ball's boundary."""
        norm = np.abs(w).sum()
        return w if norm <= self.radius else w * (self.radius / norm)

    def mean_loss(self, predictions):
        if self.loss == "logistic":
            return float(np.logaddexp(0.0, -self.y * predictions).mean())
        return 0.5 * float(((predictions - self.y) ** 2).mean())

    def slopes(self, predictions):
        """Return the derivatives of the mean loss by the predictions."""
        if self.loss == "logistic":
            with np.errstate(over="ignore"):  # the exponential may be infinite: the slope is then zero
                return -self.y / (1.0 + np.exp(self.y * predictions)) / len(self.y)
        return (predictions - self.y) / len(self.y)
