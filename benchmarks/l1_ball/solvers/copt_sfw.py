"""copt's stochastic Frank-Wolfe."""

import copt
import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """The paper's variant with batches of 1% of the rows, with which it is fastest. It has no stopping rule."""

    name = "copt-sfw"
    requirements = ["pip::copt"]
    sampling_strategy = "iteration"
    family = "constrained peers"

    def set_objective(self, X, y, loss, radius, **_):
        self.X, self.y = X, y
        self.slope = logistic_slope if loss == "logistic" else squared_slope
        self.ball = copt.constraint.L1Ball(radius)
        self.batch_size = max(1, len(y) // 100)

    def warm_up(self):
        self.run_once(1)

    def run(self, epochs):
        np.random.seed(0)  # noqa: NPY002 - the only seed copt knows
        start = np.zeros(self.X.shape[1])
        self.w = copt.minimize_sfw(
            self.slope,
            self.X,
            self.y,
            start,
            self.ball.lmo,
            batch_size=self.batch_size,
            max_iter=epochs,
            tol=0,
            variant="SAG",
        ).x

    def get_result(self):
        return {"w": self.w}


def logistic_slope(predictions, y):
    with np.errstate(over="ignore"):
        return -y / (1.0 + np.exp(y * predictions))


def squared_slope(predictions, y):
    return predictions - y
