"""Snap ML's LogisticRegression: coordinate descent in C++ from IBM."""

import numpy as np
from scipy import sparse
from snapml import LogisticRegression

from benchmark_utils.penalised import PenalisedSolver
from benchmark_utils.threads import THREADS


class Solver(PenalisedSolver):
    """It cannot be warm-started."""

    name = "snapml"
    requirements = ["snapml"]
    losses = ("logistic",)

    def prepared(self, X):
        """Return the data as its C++ code takes it: CSR or C order."""
        return sparse.csr_matrix(X) if sparse.issparse(X) else np.ascontiguousarray(X)

    def estimator(self, tolerance):
        return LogisticRegression(
            penalty="l1", dual=False, fit_intercept=False, tol=tolerance, max_iter=100_000, n_jobs=THREADS
        )

    def strength(self, penalty):
        return {"regularizer": penalty * len(self.y)}
