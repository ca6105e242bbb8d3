"""cyanure with its l1-ball constraint."""

import numpy as np
from cyanure.estimators import Classifier, Regression

from benchmark_utils.threads import THREADS
from benchmark_utils.tolerance import ToleranceSolver


class Solver(ToleranceSolver):
    """The radius is handed over as it is."""

    name = "cyanure-ball"
    requirements = ["pip::cyanure"]
    family = "constrained peers"

    def set_objective(self, X, y, loss, radius, **_):
        self.X, self.y, self.loss, self.radius = X, y, loss, radius

    def warm_up(self):
        self.run_once(1.0)

    def run(self, tolerance):
        options = {
            "penalty": "l1-ball",
            "lambda_1": self.radius,
            "fit_intercept": False,
            "tol": min(tolerance, 1.0),
            "max_iter": 100_000,
            "verbose": False,
            "n_threads": THREADS,
        }
        model = Classifier(loss="logistic", **options) if self.loss == "logistic" else Regression(**options)
        self.w = np.asarray(model.fit(self.X, self.y).coef_, dtype=np.float64).ravel()
