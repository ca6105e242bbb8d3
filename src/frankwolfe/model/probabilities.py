"""Probabilities of classes, for the losses that define them."""

import numpy as np

from frankwolfe.arguments.types import Loss
from frankwolfe.losses import Logistic, ModifiedHuber, Multinomial


def has_probabilities(loss: Loss) -> bool:
    """Return whether a loss defines probabilities of classes."""
    return isinstance(loss, Logistic | Multinomial | ModifiedHuber)


def probability_of_second(loss: Loss, scores: np.ndarray) -> np.ndarray:
    """Return the probability of the second of two classes, +1."""
    from scipy.special import expit  # slow to import, and a fit needs no probabilities

    return (np.clip(scores, -1.0, 1.0) + 1.0) / 2.0 if isinstance(loss, ModifiedHuber) else expit(scores)


def probabilities_of(loss: Loss, scores: np.ndarray) -> np.ndarray:
    """Return the probability of each class.

    Parameters
    ----------
    loss : loss
        ``Logistic``, ``Multinomial`` or ``ModifiedHuber``.
    scores : array of shape (n,) for two classes, or (n, classes)
        Predictions of the linear model.

    Returns
    -------
    array of shape (n, classes)

    Examples
    --------
    >>> probabilities_of(Logistic(), np.array([0.0]))
    array([[0.5, 0.5]])
    """
    from scipy.special import softmax  # slow to import, and a fit needs no probabilities

    if not has_probabilities(loss):
        raise ValueError(
            "probabilities come with the losses 'logistic', 'multinomial' and 'modified-huber'; "
            f"the model has {type(loss).__name__}"
        )
    if scores.ndim == 2:
        return softmax(scores, axis=1)
    second = probability_of_second(loss, scores)
    return np.column_stack([1.0 - second, second])
