"""A point as the objective sees it: through predictions, all of them at once."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.linalg.matrices import sum_of_sizes

EPSILON = float(np.finfo(np.float64).eps)


class Guess(NamedTuple):
    """Where the search for an intercept starts: what is known of another model. Attributes as those of `Point`."""

    shift: np.ndarray
    mean: np.ndarray
    curve: np.ndarray | None = None


class ZeroModel(NamedTuple):
    """The zero model: what it costs, and where the search for the intercept of other models starts.

    Attributes
    ----------
    value : float
        The objective ``F(0)``.
    shift, mean, curve
        As those of `Point`.
    """

    value: float
    shift: np.ndarray | None
    mean: np.ndarray | None
    curve: np.ndarray | None


class Point(NamedTuple):
    """A point as the objective sees it. Arrays are `Kept` where rows are on a cluster.

    Attributes
    ----------
    z : array
        Predictions, without intercept; those of several outputs laid out flat, row after row.
    losses : array of shape (n,)
        Losses.
    alpha : array
        Weighted derivatives, as many as predictions.
    value : float
        The objective.
    shift : array of shape (outputs,), or None
        The best intercept, where there is one.
    stationary : bool
        Whether the slope in the intercept is zero to rounding. Where it is not, no gap proves anything.
    mean : array of shape (outputs,), or None
        Weighted mean of the predictions: as it moves, the intercept is expected to.
    curve : array of shape (outputs, outputs), or None
        An approximate second derivative in the intercept.
    size : float or None
        ``sum_i |alpha_i z_i|``, if it is known. On a cluster it always is.
    along : tuple or None
        A slope that is known: predictions at both ends of a segment, and the slope along it.
    """

    z: Any
    losses: Any
    alpha: Any
    value: float
    shift: np.ndarray | None = None
    stationary: bool = True
    mean: np.ndarray | None = None
    curve: np.ndarray | None = None
    size: float | None = None
    along: tuple[Any, Any, float] | None = None

    def proven(self, gap: float) -> float:
        """Return a gap, or infinity: no set bounds the intercept, so unless its slope is zero nothing is proven."""
        return gap if self.stationary else float("inf")

    def reach(self) -> float:
        """Return ``sum_i |alpha_i z_i|``: the size of what the slope toward zero is summed up from."""
        return sum_of_sizes(self.alpha, self.z) if self.size is None else self.size

    def shifted(self) -> np.ndarray:
        """Return the predictions with the intercept, flat: what the loss is taken at."""
        return self.z if self.shift is None else (self.z.reshape(-1, len(self.shift)) + self.shift).ravel()
