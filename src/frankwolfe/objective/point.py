"""Points, and segments between them, as the objective sees them: by predictions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from frankwolfe.linalg.matrices import sum_of_sizes
from frankwolfe.objective import tasks

if TYPE_CHECKING:
    from frankwolfe.objective.objective import Objective


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


class Segment:
    """The segment from predictions ``z`` to others.

    Parameters
    ----------
    objective : Objective
        Of the samples.
    z, images : array or Kept
        Predictions at both ends.
    """

    def __init__(self, objective: "Objective", z: Any, images: Any):
        self.objective, self.ends = objective, (z, images)
        self.ahead = objective.shards.keep(tasks.difference, images, z)

    def predictions(self, gamma: float, predict: Callable[[float], Any] | None = None) -> Any:
        """Return the predictions after a part ``gamma`` of the segment.

        ``predict`` makes them from weights. Where they become much smaller, sums would keep the rounding of the large
        ones. On a cluster it is always used, so that predictions depend on nothing before them.
        """
        z, images = self.ends
        if gamma == 1.0:
            return images
        if predict is not None and self.objective.shards.calls_are_costly:
            return predict(gamma)
        found = self.objective.shards.keep(tasks.mix, z, self.ahead, gamma)
        if predict is None or np.abs(found).max(initial=0.0) >= 0.1 * np.abs(z).max(initial=0.0):
            return found
        return predict(gamma)

    def slope(self, there: Point) -> float:
        """Return the slope of the objective along the segment, at a point of it."""
        if there.along is not None and there.along[0] is self.ends[0] and there.along[1] is self.ends[1]:
            return there.along[2]
        return float(self.objective.shards.run(tasks.inner, there.alpha, self.ahead)[0])


class ShardLine:
    """The line ``z + gamma ahead`` of predictions, at a fixed intercept, as step rules measure it.

    Parameters
    ----------
    objective : Objective
        Of the samples.
    z, ahead : array or Kept
        Predictions at the iterate, and what a whole step changes them by.
    shift : array or None
        The intercept, where there is one.
    """

    def __init__(self, objective: "Objective", z: Any, ahead: Any, shift: np.ndarray | None):
        self.objective, self._line = objective, (z, ahead, shift)

    def along(self, gamma: float) -> tuple[float, float, float]:
        """Return the objective and its first and second derivative in ``gamma``, after a part ``gamma`` of the line."""
        value, slope, curvature = self.objective.shards.run(tasks.line_sums, *self._line, gamma)
        return float(value), float(slope), float(curvature)

    def squares(self) -> float:
        """Return ``sum_i p_i q_i^2`` for the changes ``q_i`` of the predictions along the whole line."""
        return float(self.objective.shards.run(tasks.weighted_squares, self._line[1])[0])

    def smoothness(self) -> float:
        """Return the Lipschitz constant of the loss's derivative."""
        return float(self.objective.base_loss.smoothness())
