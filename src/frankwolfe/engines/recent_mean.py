"""A better point at the price of its predictions: between an earlier iterate and the mean of the vertices since.

With steps toward vertices an iterate is a mixture of all vertices so far, the early ones included, which were chosen
when the gradient estimate knew little. If a part ``c`` of the iterate ``w_s`` is left in ``w_t``, then

    w_t = c w_s + (1 - c) v,        v = (w_t - c w_s) / (1 - c),

where ``v`` is a weighted mean of the vertices between: a point of the set. Predictions are linear in the weights, so
where those of ``w_s`` and ``w_t`` are at hand, the best point between ``w_s`` and ``v`` is found without reading a row.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.engines.protocol import Engine
from frankwolfe.objective.point import Point

MOST_TRIALS = 60
"""Most points that a line search looks at; five to ten do."""


class Earlier(NamedTuple):
    """An iterate that was looked at before: after how many steps, its weights and its predictions."""

    steps: int
    w: np.ndarray
    z: np.ndarray


class RecentMean:
    """Looks for a better point than the iterate, on the line from an earlier one to the mean of the vertices since.

    Parameters
    ----------
    engine : Engine
        What runs.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self.earlier: Earlier | None = None

    def note(self, at: Point, w: Any) -> None:
        """Remember the iterate, for the next look."""
        if isinstance(w, np.ndarray) and not np.isnan(self.engine.part_left(self.engine.steps)):
            self.earlier = Earlier(self.engine.steps, w, at.z)

    def _line(self, at: Point) -> tuple[np.ndarray, float, float]:
        """Return the line's direction, the slope of the objective at the iterate, and where the line ends.

        The earlier iterate is at 0, the iterate at 1, the mean of the vertices at ``1 / (1 - c)``. The end is that or
        the earlier iterate, whichever lies where the objective falls.
        """
        assert self.earlier is not None
        along = at.z - self.earlier.z
        slope = float(at.alpha @ along)
        return along, slope, 1.0 / (1.0 - self.engine.part_left(self.earlier.steps)) if slope < 0.0 else 0.0

    def promise(self, at: Point, wanted: float = 0.0) -> float:
        """Return about how much lower than at the iterate the objective is on the line: by a parabola.

        Zero where nothing is known, or where the slope alone tells that it cannot be as much as ``wanted``.
        """
        if self.earlier is None or self.earlier.steps == self.engine.steps:
            return 0.0
        along, slope, end = self._line(at)
        length = abs(end - 1.0)
        if abs(slope) * length <= wanted:
            return 0.0  # the objective is convex: it falls by no more than that
        curvature = float(self.engine.problem.objective.curvatures(at, 0.0, 0.0) @ along**2)
        if curvature > 0.0:
            length = min(length, abs(slope) / curvature)
        return abs(slope) * length - 0.5 * curvature * length**2

    def best(self, at: Point, w: np.ndarray, precision: float) -> tuple[Point, np.ndarray] | None:
        """Return a point of the line whose objective is within about ``precision`` of the least one: half a pass.

        The objective is convex, so what is looked for is a root of its slope. None if no better point is found.
        """
        assert self.earlier is not None
        problem, earlier = self.engine.problem, self.earlier
        along, here, end = self._line(at)

        def slope(theta: float) -> float:
            return float(problem.objective.point(earlier.z + theta * along, at).alpha @ along)

        there, theta = slope(end), end
        if there * here < 0.0:  # else the objective falls all the way
            theta = lowest_between(slope, (1.0, here), (end, there), precision)
        better = earlier.w + theta * (w - earlier.w)
        found = problem.objective.point(problem.objective.predict(better), at)
        return (found, better) if found.value < at.value and problem.constraint.contains(better) else None


def lowest_between(
    slope: Callable[[float], float], one: tuple[float, float], other: tuple[float, float], precision: float
) -> float:
    """Return where a convex function is lowest, to a precision of its value, between two points of opposite slopes.

    This is regula falsi with the Illinois rule: the slope at an end that stays is halved. By convexity the function is
    at most the slope times the length of the bracket above its minimum.

    Parameters
    ----------
    slope : function
        The derivative of the convex function.
    one, other : tuple
        Points with the slopes there.
    precision : float
        How far the function may be above its minimum.

    Examples
    --------
    >>> float(round(lowest_between(lambda t: t**3 - 8.0, (0.0, -8.0), (5.0, 117.0), 1e-9), 4))
    2.0
    """
    (a, at_a), (b, at_b) = one, other
    for _ in range(MOST_TRIALS):
        t = b - at_b * ((b - a) / (at_b - at_a))
        at_t = slope(t)
        if (at_t > 0.0) != (at_b > 0.0):
            a, at_a = b, at_b
        else:
            at_a *= 0.5
        b, at_b = t, at_t
        if not abs(at_t) * abs(b - a) > precision:
            break
    return b
