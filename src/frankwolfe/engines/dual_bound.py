"""Bounds from the dual: how far a point can be above the optimum, by slopes that need not be those at the point.

For a convex loss and any slopes ``alpha``, with ``r = X' alpha`` and weights ``p``, weak duality gives

    F(w) - F*  <=  max_s <r, w - s>  +  sum_i p_i (f_i(z_i) + f_i*(alpha_i / p_i) - alpha_i z_i / p_i).

With the slopes at ``w`` itself the second term is zero and the first is the Frank-Wolfe gap. Other slopes help where
rounding is in the way: a step too small to show in the weights can still show in the slopes. With a free intercept the
slopes must sum to zero.
"""

import numpy as np

from frankwolfe.losses import has_dual
from frankwolfe.objective.intercept import EPSILON
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem


def slopes_after(problem: Problem, at: Point, curvatures: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the slopes after a move of the weights by ``d``, to first order.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    at : Point
        Where the move begins.
    curvatures : array
        Weighted second derivatives there: a number, or a matrix, for each sample.
    d : array
        The move, which may be far smaller than the last digit of the weights.
    """
    ahead = problem.objective.predict(d)
    alpha = at.alpha.reshape(problem.samples.shape)
    if curvatures.ndim == 1:
        if at.shift is not None and (total := curvatures.sum()) > 0.0:
            ahead = ahead - curvatures @ ahead / total
        return alpha + curvatures * ahead
    change = np.einsum("icd,id->ic", curvatures, ahead)
    if at.shift is not None:
        shift = np.linalg.lstsq(curvatures.sum(axis=0), change.sum(axis=0), rcond=None)[0]
        change -= curvatures @ shift
    return alpha + change


def dual_gap(problem: Problem, at: Point, w: np.ndarray, alpha: np.ndarray) -> float:
    """Return a bound on how far the objective at ``w`` is above the optimum; infinite where there is none.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    at : Point
        The point with the weights ``w``.
    w : array
        Flat weights.
    alpha : array
        Slopes, in the shape of the predictions.
    """
    if not has_dual(problem.loss) or not problem.balances(alpha):
        return np.inf
    left = problem.objective.residuals(at, alpha)
    if np.isinf(left):
        return np.inf
    r = problem.objective.gradient(alpha)
    return max(problem.gap_for(r, w, proof=True), 0.0) + left


def bound_at(problem: Problem, w: np.ndarray, alpha: np.ndarray) -> float:
    """Return `dual_gap` where nothing is known of the point but its weights: one pass over the data."""
    if np.shape(alpha) != problem.samples.shape or not has_dual(problem.loss):
        return np.inf
    at = problem.objective.point(problem.objective.predict(w), problem.zero_model)
    return dual_gap(problem, at, w, alpha)


def with_bound(problem: Problem, found: Evaluation, lower_bound: float, target: float) -> Evaluation:
    """Return what was found; with the distance to a lower bound on the optimum, where only that meets the target.

    It helps where rounding is in the way: the last digit of the weights may change the gap by more than the target, and
    changes the objective by far less.
    """
    above = max(0.0, found.value - lower_bound + sum_rounding(problem, found.value))
    enough = target > 0.0 and above <= target < found.gap
    return found._replace(gap=above, by_bound=True) if enough else found


def sum_rounding(problem: Problem, value: float) -> float:
    """Return what rounding may do to a value of the objective, a sum over all rows."""
    return 4.0 * EPSILON * problem.n**0.5 * abs(value)
