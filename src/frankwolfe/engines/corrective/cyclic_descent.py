"""A quadratic over the combinations of many atoms: one after the other is moved toward or away from.

The model is that of `frankwolfe.engines.corrective.pairwise_descent`, but ``H`` stays a product of the columns.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import routine
from frankwolfe.engines.corrective.columns import column_add_bent, column_dot
from frankwolfe.sets.base import SPENT


@routine
def moved(hull, u, slope, bent, square, total, curve):
    """Return the sign of an atom, and the best step from the combination toward it: negative if away from it."""
    sign = 1.0
    if u < 0.0 or (u == 0.0 and hull.signed and slope > 0.0):
        sign = -1.0
    radius, size = hull.radius, abs(u)
    lead = total - radius * sign * slope
    least = -size / (radius - size) if size < radius else 0.0
    bow = radius * radius * square - 2.0 * radius * sign * bent + curve
    if lead > 0.0:
        return sign, (1.0 if lead >= bow else lead / bow)
    return sign, (least if lead <= least * bow else lead / bow)


@routine
def multiply(scale, u, bent, sums):
    """Multiply the weights, and what depends on them, by the factor that was kept apart."""
    for k in range(len(u)):
        u[k] *= scale
    for i in range(len(bent)):
        bent[i] *= scale
    for c in range(len(sums)):
        sums[c] *= scale


class FollowingIntercept(NamedTuple):
    """The intercept of a model in which it follows the weights, in numbers that one atom at a time can keep up to date.

    Attributes
    ----------
    totals : array of shape (outputs,)
        Sums of the curvatures. Without an intercept a single one, which nothing refers to.
    homes : array of shape (m,)
        The output that each column meets.
    pulls : array of shape (m,)
        Sums of the columns, each entry times its curvature; zeros without an intercept.
    sums : array of shape (outputs,)
        Sums of ``D A u``: the intercept has moved by minus ``sums / totals``.
    """

    totals: np.ndarray
    homes: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray


@kernel
def cycle(columns, hull, curvatures, linear, square, u, bent, intercept, visit, turns, tolerance):
    """Visit atoms in turn and move toward or away from each, ``turns`` times; return the gap that was seen last.

    The direction to an atom, ``a - u``, keeps the sum of the weights and costs no more than the atom's own column:
    shrinking ``u`` and all that depends on it is one factor. ``bent`` is ``D X u``. While the budget is not spent,
    weight comes from the zero atom instead, which is ordinary coordinate descent. An ``intercept`` follows each move.
    """
    totals, homes, pulls, sums = intercept.totals, intercept.homes, intercept.pulls, intercept.sums
    radius, scale, gap = hull.radius, 1.0, 0.0
    for _ in range(turns):
        size, pull, curve = 0.0, 0.0, 0.0
        for i in range(len(curvatures)):
            curve += bent[i] * bent[i] / curvatures[i] if curvatures[i] > 0.0 else 0.0
        for c in range(len(sums)):
            curve -= sums[c] * sums[c] / totals[c]
        for j in range(len(u)):
            size += abs(u[j])
            pull += linear[j] * u[j]
        gap = pull + curve if hull.filled else 0.0
        for j in visit:
            home = homes[j]
            weight, along = scale * u[j], scale * (column_dot(columns, j, bent) - pulls[j] * sums[home] / totals[home])
            slope = linear[j] + along
            key = -abs(slope) if hull.signed else slope
            gap = max(gap, pull + curve - radius * key)
            slack = radius - size
            if hull.filled and slack > SPENT * radius:
                goal = weight - slope / square[j] if square[j] > 0.0 else weight
                goal = min(max(goal, -abs(weight) - slack), abs(weight) + slack)
                if not hull.signed:
                    goal = max(goal, 0.0)
                change = goal - weight
                size += abs(goal) - abs(weight)
                pull += change * linear[j]
                curve += change * (2.0 * along + change * square[j])
            else:
                if weight == 0.0 and pull + curve <= radius * key:
                    continue
                sign, gamma = moved(hull, weight, slope, along, square[j], pull + curve, curve)
                if gamma == 0.0:
                    continue
                change, left = gamma * radius * sign, 1.0 - gamma
                goal = left * weight + change
                if sign * goal <= 0.0:
                    goal = 0.0
                pull = left * pull + change * linear[j]
                curve = left * left * curve + change * (2.0 * left * along + change * square[j])
                size = left * size + gamma * radius
                scale *= left
                if scale < 1e-6:
                    multiply(scale, u, bent, sums)
                    scale = 1.0
            if change != 0.0:
                u[j] = goal / scale
                column_add_bent(columns, j, change / scale, curvatures, bent)
                sums[home] += change / scale * pulls[j]
        if hull.filled and radius - size <= SPENT * radius and pull + curve > 0.0:  # away from all: toward zero
            scale *= max(0.0, -pull / curve) if curve > 0.0 else 0.0
        multiply(scale, u, bent, sums)
        scale = 1.0
        if gap <= tolerance:
            break
    return gap
