"""A point as the client sees it: a few numbers, and handles to what the parts keep of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.cluster.handles import Handle
from frankwolfe.objective.point import EPSILON

if TYPE_CHECKING:
    from frankwolfe.cluster.remote_objective import RemoteObjective


@dataclass(frozen=True, eq=False)
class RemotePoint:
    """The same as `frankwolfe.objective.point.Point`, with handles for arrays.

    Attributes
    ----------
    objective : RemoteObjective
        Of which it is a point.
    z : Handle
        Predictions, without intercept.
    point : Handle
        Losses and derivatives.
    value, shift, stationary, mean, curve
        As those of `Point`.
    size : float
        ``sum_i |alpha_i z_i|``.
    slopes : dict
        Slopes along ways that are known already, by the way.
    """

    objective: "RemoteObjective"
    z: Handle
    point: Handle
    value: float
    size: float
    shift: np.ndarray | None = None
    stationary: bool = True
    mean: np.ndarray | None = None
    curve: np.ndarray | None = None
    slopes: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def alpha(self) -> Handle:
        """Weighted derivatives."""
        return self.objective.slopes_at(self.point)

    def proven(self, gap: float) -> float:
        """Return a gap, or infinity where the slope in the intercept is not zero."""
        return gap if self.stationary else float("inf")

    def reach(self) -> float:
        """Return ``sum_i |alpha_i z_i|``."""
        return self.size

    def gap_rounding(self, alpha: Handle) -> float:
        """Return what rounding may do to a gap by some slopes."""
        own = alpha.recipe == self.alpha.recipe
        return 4.0 * EPSILON * (self.size if own else self.objective.reach_of(alpha, self.z))


class RemoteWay:
    """The way from predictions on the workers to others; see `frankwolfe.objective.way.Way`."""

    def __init__(self, objective: "RemoteObjective", here: Handle, there: Handle):
        self.objective, self.here, self.there = objective, here, there
        self.key = here.key, there.key

    def predictions(self, gamma: float, predict: Callable[[float], Any] | None = None) -> Handle:
        """Return the predictions after a part of the way: made anew, so that they depend on nothing before them."""
        if gamma == 1.0:
            return self.there
        return self.objective.mixture(self.here, self.there, gamma) if predict is None else predict(gamma)

    def slope(self, there: RemotePoint) -> float:
        """Return the slope of the objective along the way, at a point of it."""
        if self.key not in there.slopes:
            there.slopes[self.key] = self.objective.slope_along(there, self)
        return there.slopes[self.key]
