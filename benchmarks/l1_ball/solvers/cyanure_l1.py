"""cyanure with an l1 penalty."""

from cyanure.estimators import Classifier, Regression

from benchmark_utils.penalised import PenalisedSolver
from benchmark_utils.threads import THREADS


class Solver(PenalisedSolver):
    """Warm-started in a search."""

    name = "cyanure"
    requirements = ["pip::cyanure"]

    def estimator(self, tolerance):
        options = {
            "penalty": "l1",
            "fit_intercept": False,
            "tol": tolerance,
            "max_iter": 100_000,
            "warm_start": self.penalty == "searched",
            "verbose": False,
            "n_threads": THREADS,
        }
        return Classifier(loss="logistic", **options) if self.loss == "logistic" else Regression(**options)

    def strength(self, penalty):
        return {"lambda_1": penalty}
