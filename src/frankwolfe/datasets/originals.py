"""The paper's tables, fetched through scikit-learn and prepared as the paper does."""

from typing import Any

import numpy as np
from scipy import sparse


def scaled(X: np.ndarray) -> np.ndarray:
    """Return every column moved and stretched to [-1, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return 2.0 * (X - low) / np.where(high > low, high - low, 1.0) - 1.0


def fetch_breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """Fetch the Wisconsin table: complete rows, scaled, without the sample id."""
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("breast-w", version=1, return_X_y=True, as_frame=False, parser="liac-arff", n_retries=0)
    X = np.asarray(X, dtype=np.float64)
    whole = np.isfinite(X).all(axis=1)
    return scaled(X[whole]), np.where(np.asarray(y)[whole] == "malignant", 1.0, -1.0)


def fetch_rcv1_training() -> tuple[Any, np.ndarray]:
    """Fetch RCV1's training documents: CCAT and ECAT against GCAT and MCAT."""
    from sklearn.datasets import fetch_rcv1

    bunch = fetch_rcv1(subset="train", n_retries=0)
    topics = {name: bunch.target[:, [column]].toarray().ravel() > 0 for column, name in enumerate(bunch.target_names)}
    positive, negative = topics["CCAT"] | topics["ECAT"], topics["GCAT"] | topics["MCAT"]
    one_sided = positive ^ negative  # documents on both sides, or on none, are dropped
    return sparse.csr_array(bunch.data[one_sided]), np.where(positive[one_sided], 1.0, -1.0)


def fetch_housing() -> tuple[np.ndarray, np.ndarray]:
    """Fetch California Housing, unscaled."""
    from sklearn.datasets import fetch_california_housing

    return fetch_california_housing(return_X_y=True, n_retries=0)
