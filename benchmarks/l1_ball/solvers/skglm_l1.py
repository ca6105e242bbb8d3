"""skglm: working sets with proximal Newton (logistic) or accelerated coordinate descent (squared)."""

from skglm import Lasso, SparseLogisticRegression

from benchmark_utils.penalised import PenalisedSolver, by_columns


class Solver(PenalisedSolver):
    """Warm-started in a search."""

    name = "skglm"
    requirements = ["pip::skglm"]

    def prepared(self, X):
        return by_columns(X)

    def warm_up(self):
        self.run_once(1e-6)  # at a coarse tolerance it may end before it has compiled everything

    def estimator(self, tolerance):
        model = SparseLogisticRegression if self.loss == "logistic" else Lasso
        return model(fit_intercept=False, tol=tolerance, max_iter=1000, warm_start=True)

    def strength(self, penalty):
        return {"alpha": penalty}
