"""`Evaluation`: what is exactly known of a point."""

from typing import Any, NamedTuple

import numpy as np


class Evaluation(NamedTuple):
    """Exact facts about a point.

    Attributes
    ----------
    value : float
        The objective ``F(w)``.
    gradient : array of shape (d,)
        Its gradient.
    gap : float
        The Frank-Wolfe gap ``max_s <gradient, w - s>``. For convex losses an upper bound on ``F(w) - F*``; otherwise a
        measure of how far ``w`` is from stationary. Infinite if there is an intercept and the slope in it is not zero
        to rounding: nothing is proven then.
    alpha : array of shape (n,), or (n, outputs)
        One weighted derivative a sample: the gradient is ``X' alpha``.
    intercept : float, or array of shape (outputs,)
        The best one, where the problem has one; else zero.
    rounding : float
        What rounding may have done to the gap, about.
    """

    value: float
    gradient: np.ndarray
    gap: float
    alpha: np.ndarray
    intercept: Any = 0.0
    rounding: float = 0.0
