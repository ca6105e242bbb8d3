"""Points, line segments and lines in the space of predictions, where the objective is evaluated."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import PerRow
from frankwolfe.linalg.matrices import sum_of_sizes
from frankwolfe.objective import tasks

if TYPE_CHECKING:
    from frankwolfe.objective.objective import Objective


class Guess(NamedTuple):
    """Starting point of the search for an intercept, from another model. For the attributes see `Point`."""

    shift: np.ndarray
    mean: np.ndarray
    curve: np.ndarray | None = None


class Point(NamedTuple):
    """The objective evaluated at some predictions. Arrays are `Kept` if the rows are on a cluster.

    Attributes
    ----------
    z : array
        Predictions without intercept, flat; those of several outputs row after row.
    losses : array of shape (n,)
        Losses.
    alpha : array
        Weighted derivatives ``p_i f'(z_i)``, in the layout of ``z``.
    value : float
        The objective.
    shift : array of shape (outputs,), or None
        The optimal intercept; None for a problem without intercept.
    stationary : bool
        Whether the derivative in the intercept is zero up to rounding. If not, no gap is valid.
    mean : array of shape (outputs,), or None
        Weighted mean of the predictions. It predicts how the intercept changes from point to point.
    curve : array of shape (outputs, outputs), or None
        Approximate second derivative in the intercept.
    size : float or None
        ``sum_i |alpha_i z_i|``, if computed. On a cluster it always is.
    linear : float
        The linear term, which the objective includes.
    along : tuple or None
        Predictions at both ends of a segment and the directional derivative along it, if computed.
    """

    z: PerRow
    losses: Any
    alpha: PerRow
    value: float
    shift: np.ndarray | None = None
    stationary: bool = True
    mean: np.ndarray | None = None
    curve: np.ndarray | None = None
    size: float | None = None
    linear: float = 0.0
    along: tuple[Any, Any, float] | None = None

    def proven(self, gap: float) -> float:
        """Return the gap, or infinity if the intercept, which no set bounds, is not stationary."""
        return gap if self.stationary else float("inf")

    def reach(self) -> float:
        """Return the scale of the rounding error of ``sum_i alpha_i z_i`` plus the linear term."""
        return (sum_of_sizes(self.alpha, self.z) if self.size is None else self.size) + abs(self.linear)

    def shifted(self) -> np.ndarray:
        """Return the predictions with the intercept added, flat."""
        return self.z if self.shift is None else (self.z.reshape(-1, len(self.shift)) + self.shift).ravel()


class Segment:
    """The line segment between two vectors of predictions.

    Parameters
    ----------
    objective : Objective
        The objective.
    z, images : array or Kept
        Predictions at the start and at the end.
    linear : tuple of float
        The linear term at both ends.
    """

    def __init__(self, objective: "Objective", z: PerRow, images: Any, linear: tuple[float, float] = (0.0, 0.0)):
        self.objective, self.ends, self._linear = objective, (z, images), linear
        self.ahead = objective.shards.keep(tasks.difference, images, z)

    def predictions(self, gamma: float, predict: Callable[[float], Any] | None = None) -> Any:
        """Return the predictions ``z + gamma (images - z)``.

        ``predict`` computes them from weights instead. It is used where the result is much smaller than ``z``, because
        the sum would keep the rounding errors of ``z``. On a cluster it is always used, so that predictions do not
        depend on earlier ones.
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

    def linear(self, gamma: float) -> float:
        """Return the linear term at a point of the segment."""
        start, end = self._linear
        return end if gamma == 1.0 else start + gamma * (end - start)

    def slope(self, there: Point) -> float:
        """Return the directional derivative at a point of the segment, of losses and linear term."""
        return self._slope_of_losses(there) + self._linear[1] - self._linear[0]

    def _slope_of_losses(self, there: Point) -> float:
        if there.along is not None and there.along[0] is self.ends[0] and there.along[1] is self.ends[1]:
            return there.along[2]
        return float(self.objective.shards.run(tasks.inner, there.alpha, self.ahead)[0])


class ShardLine:
    """The objective along the line ``z + gamma ahead`` of predictions, at a fixed intercept, for step rules.

    Parameters
    ----------
    objective : Objective
        The objective.
    z, ahead : array or Kept
        Predictions at the iterate, and their change for a step of 1.
    shift : array or None
        The intercept; None for a problem without intercept.
    linear_change : float
        Change of the linear term for a step of 1.
    """

    def __init__(
        self, objective: "Objective", z: PerRow, ahead: Any, shift: np.ndarray | None, linear_change: float = 0.0
    ):
        self.objective, self._line, self._linear_change = objective, (z, ahead, shift), linear_change

    def along(self, gamma: float) -> tuple[float, float, float]:
        """Return the objective at ``z + gamma ahead``, and its first and second derivative in ``gamma``.

        Of the linear term only the change is counted.
        """
        value, slope, curvature = self.objective.shards.run(tasks.line_sums, *self._line, gamma)
        return float(value) + gamma * self._linear_change, float(slope) + self._linear_change, float(curvature)

    def squares(self) -> float:
        """Return ``sum_i p_i q_i^2``, where ``q`` is ``ahead``."""
        return float(self.objective.shards.run(tasks.weighted_squares, self._line[1])[0])

    def smoothness(self) -> float:
        """Return the Lipschitz constant of the loss's derivative."""
        return float(self.objective.base_loss.smoothness())
