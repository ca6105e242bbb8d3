"""Slopes that sum to zero: what a free intercept asks of a point of the dual, and a table mostly misses by a little."""

import numpy as np

from frankwolfe.objective.kinked_intercept import balanced_slopes
from frankwolfe.objective.point import Point
from frankwolfe.objective.sums import add_second_derivatives, evaluate_losses, slope_and_curvature
from frankwolfe.problem import Problem

FARTHEST = 0.1
"""How far to shift predictions at most in mixing slopes in, relative to how far the linear model may be trusted.

Farther slopes would prove less. The linear model of a slope is trusted about as far as it takes to change slopes by
their own size, ``sum |alpha| / curvature``: a length in the units of the predictions, about 2 for a logistic loss.
"""

MOST_ROUNDS = 12
"""Sums over the samples, each of which squares the error. Four are usual."""


def balanced(problem: Problem, at: Point, alpha: np.ndarray) -> np.ndarray | None:
    """Return slopes near ``alpha`` that prove something: itself, or with an intercept some that sum to zero.

    With the part ``theta`` of the derivatives at the predictions shifted by ``t``, the sum is

        (1 - theta) sum_i alpha_i + theta sum_i p_i f_i'(z_i + t),

    which some ``t`` makes zero. Mixed so, every slope stays in the domain of its conjugate, which is convex, whatever
    the loss; and as little as will do is mixed in.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    at : Point
        A point, with the best intercept.
    alpha : array
        Slopes, in the shape of the predictions.

    Returns
    -------
    array or None
        None where no such slopes were found.
    """
    if problem.balances(alpha):
        return alpha
    if not problem.intercept or not np.isfinite(alpha).all():
        return None
    if not problem.loss.smooth:
        mended = balanced_slopes(problem.samples, alpha)
        return mended if problem.balances(mended) else None
    samples, loss = problem.samples, problem.objective.base_loss
    z, outputs = at.shifted().reshape(samples.shape), samples.shape[1:]
    losses, fresh = np.empty(len(z)), np.empty(samples.shape)

    def slope_at(shift: np.ndarray) -> np.ndarray:
        moved = z + (shift if outputs else shift[0])
        evaluate_losses(samples.targets, samples.weights, loss, moved, losses, fresh)
        return np.atleast_1d(fresh.sum(axis=0))

    excess, curve = np.atleast_1d(alpha.sum(axis=0)), _curve(problem, z)
    first = np.linalg.lstsq(curve, -excess, rcond=None)[0]
    trusted = np.abs(at.alpha).sum() * len(excess) / np.trace(curve) if np.trace(curve) > 0.0 else np.inf
    theta = min(1.0, float(np.abs(first).max()) / (FARTHEST * trusted)) if trusted > 0.0 else 1.0
    shift = np.zeros(len(excess))
    for _ in range(MOST_ROUNDS):
        missing = (1.0 - theta) * excess + theta * slope_at(shift)
        mixed = (1.0 - theta) * alpha + theta * fresh
        if problem.balances(mixed):
            return mixed
        step = np.linalg.lstsq(theta * curve, -missing, rcond=None)[0]
        if not np.isfinite(step).all():
            return None
        shift = shift + step
        curve = _curve(problem, z + (shift if outputs else shift[0]))
    return None


def _curve(problem: Problem, z: np.ndarray) -> np.ndarray:
    """Return the second derivative of the objective in a shift of all predictions, which are ``z``."""
    samples, loss = problem.samples, problem.objective.base_loss
    if samples.shape[1:]:
        total = np.zeros((samples.shape[1], samples.shape[1]))
        add_second_derivatives(samples.targets, samples.weights, loss, z, total)
        return total
    return np.array([[slope_and_curvature(samples.targets, samples.weights, loss, z, 0.0)[1]]])
