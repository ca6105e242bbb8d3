"""A small simulated table: correlated columns, few of which matter, and noisy labels."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Simulated classification."""

    name = "simulated"
    title = "Simulated"
    parameters = {"n_samples": [500], "n_features": [200], "radius": [10.0]}

    def get_data(self):
        generator = np.random.default_rng(0)
        X = generator.normal(size=(self.n_samples, self.n_features))
        X[:, 1:] = 0.6 * X[:, :-1] + 0.8 * X[:, 1:]
        score = X[:, ::20].sum(axis=1) + generator.normal(size=self.n_samples)
        y = np.where(score > 0.0, 1.0, -1.0)
        return {"X": X, "y": y, "loss": "logistic", "radius": self.radius, "reference": self.reference(X, y)}

    def reference(self, X, y):
        """Work the optimum out: unlike the tables' it is not known beforehand."""
        import frankwolfe as fw

        problem = fw.Problem(X, y, "logistic", fw.L1Ball(self.radius))
        found = fw.minimize(problem, tol=1e-12, max_passes=10_000, trace=0)
        return {"value": found.fun, "gap": found.gap, "penalty": float(np.abs(problem.gradient(found.x)).max())}
