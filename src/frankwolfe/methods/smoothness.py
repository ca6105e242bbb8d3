"""The Lipschitz constant of the objective's gradient, in the Euclidean norm."""

from typing import Any

import numpy as np

SMALL = 32
"""Up to so many weights, ``X' P X`` is formed."""


def objective_smoothness(samples: Any, size: int) -> float:
    """Return ``L lambda_max(X' P X)`` for ``size`` weights: ``L`` the loss's constant, ``P`` the samples' weights.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[3.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> objective_smoothness(problem.samples, 2)  # mean of 3^2 and 0
    4.5
    """
    rows, weights = samples.rows, samples.weights.reshape(-1, *[1] * (len(samples.shape) - 1))

    def product(w):
        return rows.add_all(weights * rows.dot_all(np.ascontiguousarray(w.ravel())), size).ravel()

    if size <= SMALL:
        found = np.linalg.eigvalsh(np.array([product(e) for e in np.eye(size)]))[-1]
    else:
        from scipy.sparse.linalg import LinearOperator, eigsh  # heavy, and only wanted here

        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        start = np.random.default_rng(0).normal(size=size)  # fixed: the same data gives the same digits
        found = eigsh(operator, k=1, which="LM", v0=start, tol=1e-3, return_eigenvectors=False)[0]
    return float(samples.loss.smoothness() * max(0.0, found))
