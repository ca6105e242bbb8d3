"""Side constraints in the gradient that the oracle is asked with: their distance, smoothed.

The indicator of ``lower <= A w <= upper`` is replaced by ``dist(A w)^2 / (2 beta)``. Its gradient is ``A' lambda`` with
the multipliers ``lambda = (A w - proj(A w)) / beta``. As ``beta`` falls, so does the distance.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import prediction
from frankwolfe.methods.gradient import amend

WINDOW = 4.0
"""Means are over about the last quarter of the steps: shorter ones swing with the iterate, longer ones lag behind."""


class NoSideTerm(NamedTuple):
    """There are no side constraints."""

    unit: float

    def pull(self, gradient, iterate, kept, t):
        """Add nothing."""


class SideTerm(NamedTuple):
    """Side constraints of a run.

    Attributes
    ----------
    bounds : SideRows
        Rows of ``A``, and bounds on their products with the weights.
    multipliers : array of shape (m,)
        Those that are in the gradient estimate.
    mean : array of shape (m,)
        A mean of those of the last steps: they bound the optimum better than the last ones.
    unit : float
        ``beta sqrt(t + 8)``.
    """

    bounds: Any
    multipliers: np.ndarray
    mean: np.ndarray
    unit: float

    def pull(self, gradient, iterate, kept, t):
        """Replace what the last step has added to the gradient estimate, of which the part ``kept`` is left."""
        rows, lower, upper = self.bounds.rows, self.bounds.lower, self.bounds.upper
        multipliers, mean, scale = self.multipliers, self.mean, gradient.scale[0]
        inverse, part = sqrt(t + 8.0) / self.unit, WINDOW / (t + WINDOW - 1.0)
        for j in range(len(lower)):
            z = prediction(iterate, rows, j)
            fresh = inverse * (z - max(lower[j], min(upper[j], z)))
            change = fresh - kept * multipliers[j]
            multipliers[j] = fresh
            mean[j] += part * (fresh - mean[j])
            if change != 0.0:
                amend(gradient, rows, j, change / scale)


def side_term(setting: Any, beta0: float) -> Any:
    """Return the side constraints of a run; multipliers go on from those of the run that is continued."""
    side = setting.side
    if side is None:
        return NoSideTerm(1.0)
    kept = [setting.remembered.get(f"side.{name}", np.zeros(0)) for name in ("multipliers", "mean")]
    multipliers, mean = (found.copy() if len(found) == side.m else np.zeros(side.m) for found in kept)
    return SideTerm(side.rows(), multipliers, mean, beta0 * setting.units.side)
