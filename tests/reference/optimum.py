"""Certified optima by a slow, dense solver that shares no code with the library's methods.

It adds one vertex at a time and then optimises the weights of all vertices by Newton's method, with an exact
active-set quadratic programme over the simplex. Use it for problems whose optimum has few vertices.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import curvature, derivative, value
from frankwolfe.problem import Problem


@kernel
def evaluate(samples, z, slopes, curvatures):
    """Fill in the weighted first and second derivatives at the predictions ``z``; return the objective there."""
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    total = 0.0
    for i in range(len(z)):
        total += weights[i] * value(loss, z[i], targets[i])
        slopes[i] = weights[i] * derivative(loss, z[i], targets[i])
        curvatures[i] = weights[i] * curvature(loss, z[i], targets[i])
    return total


class Reference(NamedTuple):
    """An optimum known to lie in ``[value - gap, value]``."""

    value: float
    gap: float
    x: np.ndarray


def certified_optimum(problem: Problem, tolerance: float = 1e-8, max_rounds: int = 200) -> Reference:
    """Minimise a convex problem until its exact gap is at most ``tolerance * F(0)``, or return the best point found."""
    atoms = [problem.default_start()]
    images = np.column_stack([problem.objective.predict(atoms[0])])
    weights = np.ones(1)
    best = None
    for _ in range(max_rounds):
        x = np.column_stack(atoms) @ weights
        found = problem.evaluate(x)
        if best is None or found.gap < best.gap:
            best = Reference(found.value, found.gap, x)
        if best.gap <= tolerance * problem.zero_value:
            break
        kept = weights > 0.0
        vertex = problem.constraint.vertex(found.gradient)
        atoms = [atom for atom, keep in zip(atoms, kept, strict=True) if keep] + [vertex]
        images = np.column_stack([images[:, kept], problem.objective.predict(vertex)])
        weights = _correct(problem, images, np.append(weights[kept], 0.0))
    assert best is not None
    return best


def _correct(problem: Problem, images: np.ndarray, weights: np.ndarray, rounds: int = 30) -> np.ndarray:
    """Minimise the objective over convex combinations of the atoms, given their predictions."""
    slopes, curvatures = np.empty(problem.n), np.empty(problem.n)
    for _ in range(rounds):
        z = images @ weights
        start = evaluate(problem.samples, z, slopes, curvatures)
        slope = images.T @ slopes
        hessian = images.T @ (curvatures[:, None] * images)
        hessian += 1e-14 * np.trace(hessian) / len(weights) * np.eye(len(weights))  # so that equal columns do no harm
        move = _minimise_on_simplex(hessian, slope - hessian @ weights, weights) - weights
        fall = -(slope @ move)
        if fall <= 1e-16 * problem.zero_value:
            break
        gamma, ahead = 1.0, images @ move
        while (
            gamma > 1e-10
            and evaluate(problem.samples, z + gamma * ahead, slopes, curvatures) > start - 0.1 * gamma * fall
        ):
            gamma *= 0.5
        weights = np.maximum(weights + gamma * move, 0.0)
        weights /= weights.sum()
    return weights


def _minimise_on_simplex(H: np.ndarray, c: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Minimise ``x' H x / 2 + c' x`` over the simplex by an active-set method from a feasible start."""
    x, free = start.copy(), start > 0.0
    for _ in range(20 * len(x)):
        inside = np.flatnonzero(free)
        size = len(inside)
        system = np.block([[H[np.ix_(inside, inside)], np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
        solved = np.linalg.lstsq(system, np.append(-c[inside], 1.0), rcond=None)[0]
        goal, level = solved[:-1], solved[-1]
        if goal.min() >= 0.0:
            x = np.zeros_like(x)
            x[inside] = goal
            pull = H @ x + c + level
            pull[inside] = 0.0
            enter = int(pull.argmin())
            if pull[enter] >= -1e-15 * (1.0 + np.abs(c).max()):
                break
            free[enter] = True
        else:
            shrinking = goal < x[inside]
            ratios = np.where(shrinking, x[inside] / np.where(shrinking, x[inside] - goal, 1.0), np.inf)
            first = int(ratios.argmin())
            x[inside] += min(1.0, ratios[first]) * (goal - x[inside])
            x[inside[first]] = 0.0
            free[inside[first]] = False
    return x / x.sum()
