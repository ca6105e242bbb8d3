"""The step to the optimum of a face, to more digits than weights have: what a bound from the dual is made of."""

import numpy as np

from frankwolfe.engines.corrective.hessian import loss_curvatures, objective_hessian
from frankwolfe.engines.dual_bound import slopes_after
from frankwolfe.losses import has_dual
from frankwolfe.objective.point import Point
from frankwolfe.problem import Problem
from frankwolfe.sets.base import Hull

MAX_FACE_WEIGHTS = 600
"""Up to how many weights the step is worked out: it costs the cube of their number. Twice or half: no difference."""

FLAT_DIRECTION = 1e-12
"""Directions in which a Hessian of unit diagonal has less than this part of its largest root are left alone. Twice or
half: no difference."""


def slopes_on_face(problem: Problem, at: Point, hull: Hull, w: np.ndarray, gradient: np.ndarray) -> np.ndarray | None:
    """Return the slopes where the objective is lowest on the face of the set that a point lies on, to second order.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    at : Point
        Where.
    hull : Hull
        The set, whose vertices are single coordinates.
    w, gradient : array
        Weights there, and the gradient.

    Returns
    -------
    array or None
        In the shape of the predictions; None where that would cost too much, or nothing could be proven by it.
    """
    active = np.flatnonzero(w)
    if problem.size > MAX_FACE_WEIGHTS or len(active) < 2 or not has_dual(problem.loss):
        return None
    curvatures = loss_curvatures(problem, at, 0.0, 0.0)
    hessian = objective_hessian(problem, at, curvatures)
    if not hessian.finite():
        return None
    images, slope, signs = hessian.root[:, active], gradient[active], np.sign(w[active])
    largest = int(np.abs(w[active]).argmax())
    inside = hull.filled and np.abs(w).sum() < (1.0 - 1e-12) * hull.radius
    if not inside:  # the largest weight makes up for what the others gain: its own column vanishes
        follows = -signs / signs[largest]
        images, slope = images + np.outer(images[:, largest], follows), slope + slope[largest] * follows
    d = np.zeros(problem.size)
    d[active] = _lowest(images, slope)
    if not inside:
        d[active[largest]] = float(follows @ d[active])
    return slopes_after(problem, at, curvatures, d)


def _lowest(images: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the shortest minimiser of ``<slope, d> + |images d|^2 / 2``, in scaled columns."""
    sizes = np.linalg.norm(images, axis=0)
    scale = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0.0)
    _, roots, axes = np.linalg.svd(images * scale, full_matrices=False)
    kept = roots > FLAT_DIRECTION * roots.max(initial=0.0)
    return -scale * (axes[kept].T @ (axes[kept] @ (scale * slope) / roots[kept] ** 2))
