"""Tables that are always there: made, or bundled with scikit-learn."""

import numpy as np
from scipy import sparse

from frankwolfe.datasets.originals import scaled


def bundled_breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's bundled table (another study's measurements), or a made one where that is not installed."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        rng = np.random.default_rng(0)
        X = scaled(rng.gamma(2.0, size=(569, 30)))
        return X, np.where(X[:, :5].sum(axis=1) + 0.5 * rng.normal(size=569) > -3.0, -1.0, 1.0)
    X, y = load_breast_cancer(return_X_y=True)
    return scaled(X), np.where(y == 0, 1.0, -1.0)


def text_like(n: int = 4000, d: int = 8000, words: int = 40, seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    """Make TF-IDF-like rows: Zipf columns, unit norm, labels from a few telling words with some noise.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    words : int
        Draws a row; repeats add up, so a row has fewer non-zeros.
    seed : int
        Of the generator.
    """
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, d + 1) ** 0.9
    lengths = rng.poisson(words, size=n) + 5
    columns = rng.choice(d, size=lengths.sum(), p=share / share.sum())
    rows = np.repeat(np.arange(n), lengths)
    counts = sparse.csr_array((np.ones(len(columns)), (rows, columns)), shape=(n, d))
    counts.sum_duplicates()
    frequency = np.bincount(counts.indices, minlength=d)
    counts.data = (1.0 + np.log(counts.data)) * np.log(n / np.maximum(frequency, 1))[counts.indices]
    norms = np.sqrt(np.bincount(np.repeat(np.arange(n), np.diff(counts.indptr)), counts.data**2, minlength=n))
    counts.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(counts.indptr))
    telling = np.zeros(d)
    telling[rng.choice(np.arange(20, d // 4), size=60, replace=False)] = rng.normal(scale=8.0, size=60)
    score = counts @ telling
    return counts, np.where(score - np.median(score) + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def housing_like(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make a regression table of eight columns with California Housing's spread of scales (1 to 1,000 and more)."""
    rng = np.random.default_rng(seed)
    income = rng.gamma(4.0, 1.0, size=n)
    columns = [
        income,
        rng.uniform(1.0, 52.0, size=n),
        rng.lognormal(1.6, 0.3, size=n),
        rng.lognormal(0.05, 0.15, size=n),
        rng.lognormal(7.0, 0.7, size=n),
        rng.lognormal(1.05, 0.3, size=n),
        rng.uniform(32.0, 42.0, size=n),
        -rng.uniform(114.0, 125.0, size=n),
    ]
    X = np.column_stack(columns)
    y = np.clip(0.4 * income + 0.01 * X[:, 1] - 1e-4 * X[:, 4] + 0.4 * rng.normal(size=n), 0.15, 5.0)
    return X, y
