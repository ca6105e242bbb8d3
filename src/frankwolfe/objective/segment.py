"""The segment between the predictions of two points, for line searches."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.objective import tasks
from frankwolfe.objective.point import Point

if TYPE_CHECKING:
    from frankwolfe.objective.objective import Objective


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
