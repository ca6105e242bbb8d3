"""scikit-learn's LogisticRegression with SAGA."""

from sklearn.linear_model import LogisticRegression

from benchmark_utils.penalised import PenalisedSolver


class Solver(PenalisedSolver):
    """Warm-started in a search."""

    name = "saga"
    requirements = ["scikit-learn"]
    losses = ("logistic",)

    def estimator(self, tolerance):
        return LogisticRegression(
            l1_ratio=1.0,
            solver="saga",
            fit_intercept=False,
            tol=tolerance,
            max_iter=1_000_000,
            warm_start=True,
            random_state=0,
        )

    def strength(self, penalty):
        return {"C": 1.0 / (penalty * len(self.y))}
