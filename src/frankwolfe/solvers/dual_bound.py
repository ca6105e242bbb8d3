"""Dual bounds on ``F(w) - F*`` by any dual point ``alpha``, called slopes: one number per sample.

For a convex loss and any slopes ``alpha``, with ``r = X' alpha`` and weights ``p``, weak duality gives

    F(w) - F*  <=  max_s <r, w - s>  +  sum_i p_i (f_i(z_i) + f_i*(alpha_i / p_i) - alpha_i z_i / p_i).

With the slopes at ``w`` itself the second term is zero and the first is the Frank-Wolfe gap. The table of a stochastic
method is such slopes too, and mostly proves more: ``r`` averages over the last pass and swings less than the gradient
does, and the residuals are of second order in how stale the table is (docs/certificates.md). Other slopes also help
where rounding is in the way: a step too small to show in the weights can still show in the slopes. With a free
intercept the slopes must sum to zero (`balanced`).
"""

from typing import Any

import numpy as np

from frankwolfe.losses import has_dual
from frankwolfe.objective.intercept import balanced_slopes
from frankwolfe.objective.point import Point
from frankwolfe.objective.tasks import evaluate
from frankwolfe.problem import Problem
from frankwolfe.shards.local import Local
from frankwolfe.solvers.lower_bound import sum_rounding
from frankwolfe.solvers.protocol import Evidence


def bound_by_conjugates(problem: Problem, found: Evidence, above: float) -> float:
    """Return the bound ``-sum_i p_i f_i*(alpha_i / p_i) - max_s <-r, s>`` of a step that has read all rows.

    Such a step has computed the first sum, and its ``r`` is the exact gradient. The result is minus infinity if there
    is no such bound or if it is not larger than ``above``; the costly proof of the support function is then skipped.
    """
    if found.conjugates is None or found.gradient is None:
        return -np.inf
    (total, size), r, constraint = found.conjugates, found.gradient, problem.constraint
    with np.errstate(over="ignore", invalid="ignore"):
        support = constraint.support(-r)
        bound = -total - support - sum_rounding(problem, size)
    if not bound > above or not problem.balances(found.slopes):
        return -np.inf
    return float(min(bound, bound + support - constraint.proven_support(-r)))


def slopes_after(problem: Problem, at: Any, curvatures: Any, d: np.ndarray) -> Any:
    """Return the slopes after a move of the weights by ``d``, to first order: ``alpha + D X d``.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    at : Point
        The point before the move.
    curvatures : array
        Weighted second derivatives ``D`` there: a number or a matrix per sample.
    d : array
        The move. It may be smaller than the rounding error of the weights.
    """
    objective, ahead, shift = problem.objective, problem.objective.predict(d), None
    if at.shift is not None:  # move the intercept, too, so that the slopes still sum to zero
        change, total = objective.shards.run(curved_sums, curvatures, ahead)
        if np.ndim(total):
            shift = np.linalg.lstsq(total, change, rcond=None)[0]
        else:
            shift = change / total if total > 0.0 else None
    return objective.shards.keep(moved_slopes, at.alpha, curvatures, ahead, shift)


def curved_sums(local: Local, curvatures: np.ndarray, ahead: np.ndarray) -> tuple:
    """Return the sums over samples of curvatures times a change of predictions, and of the curvatures."""
    if curvatures.ndim == 1:
        return float(curvatures @ ahead.ravel()), float(curvatures.sum())
    return np.einsum("icd,id->c", curvatures, ahead), curvatures.sum(axis=0)


def moved_slopes(local: Local, alpha: np.ndarray, curvatures: np.ndarray, ahead: np.ndarray, shift: Any) -> np.ndarray:
    """Return the slopes after a change ``ahead - shift`` of the predictions, to first order."""
    alpha, moved = alpha.reshape(local.samples.shape), ahead if shift is None else ahead - shift
    return alpha + (curvatures * moved if curvatures.ndim == 1 else np.einsum("icd,id->ic", curvatures, moved))


def dual_gap(problem: Problem, at: Point, w: np.ndarray, alpha: np.ndarray) -> float:
    """Return an upper bound on ``F(w) - F*`` by the slopes ``alpha``; infinite if they prove none.

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
        alpha = problem.objective.nearest_slopes(alpha)
        left = problem.objective.residuals(at, alpha)
        if np.isinf(left) or not problem.balances(alpha):
            return np.inf
    r = problem.objective.gradient(alpha)
    return max(problem.gap_for(r, w, proof=True), 0.0) + left


def bound_at(problem: Problem, w: np.ndarray, alpha: np.ndarray) -> tuple[float, float]:
    """Return `dual_gap` at the weights ``w`` and its rounding error. This takes a pass over the data."""
    if np.shape(alpha) != problem.samples.shape or not has_dual(problem.loss):
        return np.inf, 0.0
    objective = problem.objective
    at = objective.point(objective.predict(w), problem.zero_model, linear=objective.linear(w))
    return dual_gap(problem, at, w, alpha), problem.objective.gap_rounding(at, alpha)


def balanced(problem: Problem, at: Point, alpha: Any) -> Any:
    """Return a dual feasible point near ``alpha``: ``alpha`` itself or, with an intercept, slopes that sum to zero.

    The slopes are mixed with a fraction ``theta`` of the derivatives at predictions shifted by ``t``. Newton's method
    finds the ``t`` for which their sum vanishes:

        (1 - theta) sum_i alpha_i + theta sum_i p_i f_i'(z_i + t) = 0.

    The domain of a conjugate is convex, so the mixed slopes stay in it for any loss. ``theta`` is as small as possible.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    at : Point
        A point, with the optimal intercept.
    alpha : array
        Slopes, in the shape of the predictions.

    Returns
    -------
    array or None
        None if no such slopes were found.
    """
    proves, excess = problem.balance(alpha)
    if proves:
        return alpha
    if not problem.intercept or not np.isfinite(excess).all():
        return None
    if not problem.loss.smooth:
        mended = balanced_slopes(problem.samples, alpha)
        return mended if problem.balances(mended) else None
    objective, shift = problem.objective, at.shift
    assert shift is not None
    curve = objective.shift_curvature(at.z, shift)
    first = np.linalg.lstsq(curve, -excess, rcond=None)[0]
    size = objective.slope_sums(at.alpha)[2]
    trusted = size * len(excess) / np.trace(curve) if np.trace(curve) > 0.0 else np.inf
    # Shift the predictions by at most a tenth of the range of the linear model of the slopes: slopes at a larger shift
    # give a weaker bound. The range changes slopes by their own size, and is about 2 for a logistic loss.
    theta = min(1.0, float(np.abs(first).max()) / (0.1 * trusted)) if trusted > 0.0 else 1.0
    # Four Newton steps are usual. Each takes a sum over all samples.
    for _ in range(12):
        mixed = objective.shards.keep(mixed_slopes, alpha, at.z, shift, theta)
        proves, missing = problem.balance(mixed)
        if proves:
            return mixed
        step = np.linalg.lstsq(theta * curve, -missing, rcond=None)[0]
        if not np.isfinite(step).all():
            return None
        shift = shift + step
        curve = objective.shift_curvature(at.z, shift)
    return None


def mixed_slopes(local: Local, alpha: np.ndarray, z: np.ndarray, shift: np.ndarray, theta: float) -> np.ndarray:
    """Return ``(1 - theta) alpha`` plus ``theta`` times the derivatives at predictions with another intercept."""
    return (1.0 - theta) * alpha.reshape(local.samples.shape) + theta * evaluate(local, z, shift)[1]
