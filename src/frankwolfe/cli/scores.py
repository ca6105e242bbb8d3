"""How well predictions meet targets, in numbers and in words."""

from typing import Any

import numpy as np

Scores = dict[str, float]


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


def told(scores: list[Scores]) -> str:
    """Say scores: as they are, or mean and standard deviation of several."""
    said = []
    for name in scores[0]:
        values = np.array([found[name] for found in scores])
        text = f"{values.mean():.4g}" + (f" +/- {values.std():.2g}" if len(values) > 1 else "")
        said.append(f"{name} {text}")
    return ", ".join(said)
