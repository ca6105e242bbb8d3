"""scikit-learn's LogisticRegression with liblinear's coordinate descent."""

from sklearn.linear_model import LogisticRegression

from benchmark_utils.penalised import PenalisedSolver


class Solver(PenalisedSolver):
    """It cannot be warm-started."""

    name = "liblinear"
    requirements = ["scikit-learn"]
    losses = ("logistic",)

    def estimator(self, tolerance):
        return LogisticRegression(
            l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=tolerance, max_iter=100_000, random_state=0
        )

    def strength(self, penalty):
        return {"C": 1.0 / (penalty * len(self.y))}
