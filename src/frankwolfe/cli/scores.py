"""How well predictions meet targets, in numbers and in words."""

from typing import Any

import numpy as np

Scores = dict[str, float]

NAMES = {
    "balanced-accuracy": "balanced accuracy",
    "roc-auc": "ROC AUC",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R2",
}
"""What scores are called where they are shown, if not as on the command line."""

BETTER_IF_LARGER = ("accuracy", "balanced accuracy", "ROC AUC", "R2")


def accuracy(right: np.ndarray, weights: Any = None) -> Scores:
    """Return the share of right classes."""
    return {"accuracy": float(np.average(right, weights=weights))}


def errors(predictions: np.ndarray, targets: np.ndarray, weights: Any = None) -> Scores:
    """Return the root mean squared error, and the part of the targets' variance that is explained.

    Examples
    --------
    >>> errors(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    {'root mean squared error': 1.4142135623730951, 'R2': 0.11111111111111116}
    """
    squares = float(np.average((predictions - targets) ** 2, axis=0, weights=weights).mean())
    mean = np.average(targets, axis=0, weights=weights)
    spread = float(np.average((targets - mean) ** 2, axis=0, weights=weights).mean())
    return {"root mean squared error": squares**0.5, "R2": 1.0 - squares / spread if spread > 0.0 else np.nan}


def absolute_error(predictions: np.ndarray, targets: np.ndarray, weights: Any = None) -> float:
    """Return the mean absolute error."""
    return float(np.average(np.abs(predictions - targets), axis=0, weights=weights).mean())


def balanced_accuracy(right: np.ndarray, classes: np.ndarray, weights: Any = None) -> float:
    """Return the mean over the classes of the share of their rows that are right.

    Examples
    --------
    >>> balanced_accuracy(np.array([True, True, True, False]), np.array([0, 0, 0, 1]))
    0.5
    """
    weights = np.ones(len(right)) if weights is None else weights
    return float(np.mean([np.average(right[classes == c], weights=weights[classes == c]) for c in np.unique(classes)]))


def roc_auc(scores: np.ndarray, positive: np.ndarray, weights: Any = None) -> float:
    """Return the probability that a positive row has a higher score than a negative one; ties count half.

    Examples
    --------
    >>> roc_auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]))
    0.875
    """
    weights = np.ones(len(scores)) if weights is None else weights
    levels, at = np.unique(scores, return_inverse=True)
    ones = np.bincount(at, weights * positive, minlength=len(levels))
    zeros = np.bincount(at, weights * ~positive, minlength=len(levels))
    return float(ones @ (zeros.cumsum() - 0.5 * zeros) / (ones.sum() * zeros.sum()))


def told(scores: list[Scores]) -> str:
    """Say scores: as they are, or mean and standard deviation of several."""
    said = []
    for name in scores[0]:
        values = np.array([found[name] for found in scores])
        text = f"{values.mean():.4g}" + (f" +/- {values.std():.2g}" if len(values) > 1 else "")
        said.append(f"{name} {text}")
    return ", ".join(said)
