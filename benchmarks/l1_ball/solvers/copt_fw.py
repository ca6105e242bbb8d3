"""copt's Frank-Wolfe with its backtracking step."""

import copt
import numpy as np

from benchmark_utils.tolerance import ToleranceSolver


class Solver(ToleranceSolver):
    """It stops on the gap, which is asked for relative to the objective of the zero model, as everywhere here."""

    name = "copt-fw"
    requirements = ["pip::copt"]
    family = "constrained peers"

    def set_objective(self, X, y, loss, radius, **_):
        # copt's logistic loss wants labels 0 and 1
        self.smooth = copt.loss.LogLoss(X, 0.5 * (y + 1.0)) if loss == "logistic" else copt.loss.SquareLoss(X, y)
        self.ball = copt.constraint.L1Ball(radius)
        self.start = np.zeros(X.shape[1])
        self.zero_value = self.smooth(self.start)

    def warm_up(self):
        self.run_once(1.0)

    def run(self, tolerance):
        self.w = copt.minimize_frank_wolfe(
            self.smooth.f_grad,
            self.start,
            self.ball.lmo,
            jac=True,
            step="backtracking",
            tol=min(tolerance, 1.0) * self.zero_value,
            max_iter=100_000_000,
        ).x
