"""scikit-learn's Lasso."""

from sklearn.linear_model import Lasso

from benchmark_utils.penalised import PenalisedSolver, by_columns


class Solver(PenalisedSolver):
    """Warm-started in a search."""

    name = "lasso"
    requirements = ["scikit-learn"]
    losses = ("squared",)

    def prepared(self, X):
        return by_columns(X)

    def estimator(self, tolerance):
        return Lasso(fit_intercept=False, tol=tolerance, max_iter=10_000_000, warm_start=True)

    def strength(self, penalty):
        return {"alpha": penalty}
