"""The way from a point to another, as a line search sees it: by predictions."""

from collections.abc import Callable

import numpy as np

from frankwolfe.objective.point import Point

CANCELLED_PREDICTIONS = 0.1
"""Part of the largest prediction that may be left on a way before predictions are made anew. Twice or half: no
difference."""


class Way:
    """The way from predictions ``z`` to others.

    Parameters
    ----------
    z, images : array
        Predictions where it begins and where it ends, flat.
    """

    def __init__(self, z: np.ndarray, images: np.ndarray):
        self.z, self.images, self.ahead = z, images, images - z
        self._large = CANCELLED_PREDICTIONS * float(np.abs(z).max(initial=0.0))

    def predictions(self, gamma: float, predict: Callable[[float], np.ndarray] | None = None) -> np.ndarray:
        """Return the predictions after a part ``gamma`` of the way.

        ``predict`` makes them anew: where they become much smaller, sums would keep the rounding of the large ones.
        """
        if gamma == 1.0:
            return self.images
        found = self.z + gamma * self.ahead
        return found if predict is None or np.abs(found).max(initial=0.0) >= self._large else predict(gamma)

    def slope(self, there: Point) -> float:
        """Return the slope of the objective along the way, at a point of it."""
        return float(there.alpha @ self.ahead)
