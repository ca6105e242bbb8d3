"""A quadratic model of the objective over small matrices in a trace-norm ball, minimised by accelerated projections.

A projection takes the singular values of the matrix, which costs nothing where it is small.
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np

STEPS_PER_GAP = 5
"""Steps between two looks at the gap. Twice or half as many: no difference in passes."""


def project_to_trace_ball(S: np.ndarray, radius: float) -> np.ndarray:
    """Return the point of the trace-norm ball nearest to a small matrix.

    Examples
    --------
    >>> project_to_trace_ball(np.diag([3.0, 1.0]), 2.0)
    array([[2., 0.],
           [0., 0.]])
    """
    left, sizes, right = np.linalg.svd(S, full_matrices=False)
    if sizes.sum() <= radius:
        return S
    levels = (np.cumsum(sizes) - radius) / np.arange(1, len(sizes) + 1)
    level = levels[np.flatnonzero(sizes > levels)[-1]]
    return (left * np.maximum(sizes - level, 0.0)) @ right


def gap_within(slope: np.ndarray, S: np.ndarray, radius: float) -> float:
    """Return the gap at a small matrix, where the gradient is ``slope``."""
    return float(np.vdot(slope, S) + radius * np.linalg.norm(slope, 2))


class TraceModel(NamedTuple):
    """The quadratic ``<slope, S - S_0> + <S - S_0, H (S - S_0)> / 2``.

    Attributes
    ----------
    product : function
        From a matrix ``S`` to ``H S``.
    centre, slope : arrays
        ``S_0`` and the gradient there.
    radius : float
        Of the ball.
    """

    product: Callable[[np.ndarray], np.ndarray]
    centre: np.ndarray
    slope: np.ndarray
    radius: float

    def first_bound(self) -> float:
        """Return the curvature along the slope: at most the largest there is, and rarely much less."""
        return float(np.vdot(self.slope, self.product(self.slope)) / np.vdot(self.slope, self.slope))

    def minimum(self, bound: float, steps: int, goal: float) -> tuple[np.ndarray, float]:
        """Return a matrix whose gap in the model is at most ``goal``, and the curvature met.

        Accelerated projected gradients (Beck and Teboulle 2009), restarted where a step turns back (O'Donoghue and
        Candes 2015). ``bound`` is a guess of the largest curvature. A step costs one product with the Hessian: those of
        points in between follow by linearity.
        """
        here = ahead = self.centre
        H_here = H_ahead = np.zeros_like(self.slope)  # the Hessian times the distance from the centre
        momentum = 1.0
        for step in range(steps):
            there, H_there, bound = self._descend(ahead, H_ahead, bound)
            if not np.isfinite(bound):
                break
            turns_back = np.vdot(ahead - there, there - here) > 0.0
            grown = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
            push = 0.0 if turns_back else (momentum - 1.0) / grown
            momentum = 1.0 if turns_back else grown
            ahead, H_ahead = there + push * (there - here), H_there + push * (H_there - H_here)
            here, H_here = there, H_there
            last = step % STEPS_PER_GAP == STEPS_PER_GAP - 1
            if last and gap_within(self.slope + H_here, here, self.radius) <= goal:
                break
        return here, bound

    def _descend(self, S: np.ndarray, H_S: np.ndarray, bound: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Make a projected gradient step that is short enough for the curvature it meets."""
        slope = self.slope + H_S
        while True:
            there = project_to_trace_ball(S - slope / bound, self.radius)
            move = there - S
            change = self.product(move)  # its own: differences of products end in rounding
            if not np.vdot(move, change) > bound * np.vdot(move, move) * (1.0 + 1e-9) or bound > 1e300:
                return there, H_S + change, bound
            bound *= 1.5
