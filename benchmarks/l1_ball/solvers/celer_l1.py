"""celer: working sets with dual extrapolation."""

import numpy as np
from celer import Lasso, celer_path

from benchmark_utils.penalised import PenalisedSolver, by_columns


class Solver(PenalisedSolver):
    """Its logistic model can be warm-started only through its path, so that is what is called."""

    name = "celer"
    requirements = ["pip::celer"]

    def prepared(self, X):
        return by_columns(X)

    def fit(self, penalty, tolerance, start):
        if self.loss == "squared":
            return super().fit(penalty, tolerance, start)
        alpha = np.array([penalty * len(self.y)])
        return celer_path(
            self.X, self.y, "logreg", alphas=alpha, coef_init=start, tol=tolerance, max_iter=1000, use_PN=True
        )[1].ravel()

    def estimator(self, tolerance):
        return Lasso(fit_intercept=False, tol=tolerance, max_iter=1000, warm_start=True)

    def strength(self, penalty):
        return {"alpha": penalty}
