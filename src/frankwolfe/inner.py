"""The inner solver of the fully corrective method: a quadratic over the combinations of few atoms.

A model is ``q(u) = b'u + u'Hu / 2`` with ``H = X_A' D X_A``, ``D`` the curvatures of the losses. The weights ``u`` live
in a `Hull`. Two ways down: with few atoms ``H`` is formed, and weight is exchanged between the two atoms where that
gains most; with many, ``H`` stays a product of the columns, and one atom after the other is moved toward or away from.
Both leap to the minimiser of the face once it seems known.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from frankwolfe.columns import column_add_bent, column_dot
from frankwolfe.compiled import kernel
from frankwolfe.verbs import curvature, derivative, routine, row_add, value

SPENT = 1e-12
"""A budget of which no more than this part is left counts as spent."""


class Hull(NamedTuple):
    """Which combinations ``u`` of the atoms are allowed: the sum of ``|u|`` is at most, or just, ``radius``.

    Attributes
    ----------
    radius : float
        The sum.
    signed : bool
        Whether the opposite of every atom is an atom too.
    filled : bool
        Whether zero is an atom, so that the sum may be less.
    """

    radius: float
    signed: bool
    filled: bool

    def gap(self, slope: np.ndarray, u: np.ndarray) -> float:
        """Return ``max <slope, u - v>`` over the hull."""
        best = -np.abs(slope).max() if self.signed else slope.min()
        return float(slope @ u - self.radius * (min(best, 0.0) if self.filled else best))


# --- the objective ----------------------------------------------------------------------------------------------


@kernel
def judge(samples, z, alpha):
    """Fill ``alpha`` with the weighted derivatives at the predictions ``z``; return the objective there."""
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    total = 0.0
    for i in range(len(z)):
        total += weights[i] * value(loss, z[i], targets[i])
        alpha[i] = weights[i] * derivative(loss, z[i], targets[i])
    return total


@kernel
def bend(samples, z, care, floor, bends):
    """Fill ``bends`` with weighted curvatures at the predictions ``z``, none of them less than ``floor`` in size.

    Far from the optimum the curvature at a point says little: a sample on the wrong side of a logistic loss pulls as
    hard as any and has none. The parabola that touches the loss and has its lowest point at zero has the curvature
    ``f'^2 / (2 f)``, which is the loss's own where that is a square. It is heeded as much as ``care`` says.
    """
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    for i in range(len(z)):
        size = max(abs(curvature(loss, z[i], targets[i])), floor)
        if care > 0.0:
            height, pull = value(loss, z[i], targets[i]), derivative(loss, z[i], targets[i])
            if height > 0.0 and care * pull * pull > 2.0 * size * height:
                size = 0.5 * care * pull * pull / height
        bends[i] = weights[i] * size


@kernel
def combine(rows, alpha, r):
    """Fill ``r`` with the sum of all rows, each times its entry of ``alpha``."""
    r[:] = 0.0
    for i in range(len(alpha)):
        row_add(rows, i, alpha[i], r)


# --- few atoms: H is at hand ------------------------------------------------------------------------------------


@routine
def standing(hull, u, slope):
    """Return the model's gap, and the atom of least slope with its slope; -1 is the zero atom.

    The opposite of an atom with weight counts for the gap, but is not one to go to: its weight is taken first.
    """
    best, enter, total = np.inf, -1, 0.0
    if hull.filled:
        best = 0.0
    least = best
    for j in range(len(u)):
        total += slope[j] * u[j]
        key = slope[j]
        if hull.signed and (u[j] < 0.0 or (u[j] == 0.0 and slope[j] > 0.0)):
            key = -slope[j]
        least = min(least, -abs(slope[j]) if hull.signed else slope[j])
        if key < best:
            best, enter = key, j
    return total - hull.radius * least, enter, best


@routine
def giver(hull, H, u, slope, slack, enter, sign, best):
    """Atom to take weight from: the one that promises the largest fall of the model; -2 if none does."""
    leave, promise, own = -2, 0.0, 0.0
    if enter >= 0:
        own = H[enter, enter]
    if slack > 0.0 and best < 0.0:
        leave, promise = -1, best * best / max(own, 1e-300)
    for j in range(len(u)):
        if u[j] == 0.0 or j == enter:
            continue
        other = 1.0 if u[j] > 0.0 else -1.0
        lead = other * slope[j] - best
        if lead > 0.0:
            across = sign * other * H[enter, j] if enter >= 0 else 0.0
            promised = lead * lead / max(own + H[j, j] - 2.0 * across, 1e-300)
            if promised > promise:
                leave, promise = j, promised
    return leave


@kernel
def exchange(hull, H, u, slope, tolerance, most):
    """Exchange weight between pairs of atoms until the model's gap is within ``tolerance``; return that gap."""
    radius, gap = hull.radius, np.inf
    for _ in range(most):
        gap, enter, best = standing(hull, u, slope)
        if gap <= tolerance:
            return gap
        slack = radius - np.abs(u).sum()
        if not hull.filled or slack <= SPENT * radius:
            slack = 0.0
        sign = 1.0
        if enter >= 0 and hull.signed and (u[enter] < 0.0 or (u[enter] == 0.0 and slope[enter] > 0.0)):
            sign = -1.0
        leave = giver(hull, H, u, slope, slack, enter, sign, best)
        if leave == -2:
            return gap
        bound, lead, square = slack, -best, 0.0
        if enter >= 0:
            square = H[enter, enter]
        other = 0.0
        if leave >= 0:
            other = 1.0 if u[leave] > 0.0 else -1.0
            bound, lead = abs(u[leave]), other * slope[leave] - best
            square += H[leave, leave]
            if enter >= 0:
                square -= 2.0 * sign * other * H[enter, leave]
        amount = bound if lead >= bound * square else lead / square
        if enter >= 0:
            u[enter] += sign * amount
            for k in range(len(u)):
                slope[k] += sign * amount * H[enter, k]
        if leave >= 0:
            u[leave] = 0.0 if amount == bound else u[leave] - other * amount
            for k in range(len(u)):
                slope[k] -= other * amount * H[leave, k]
    return gap


# --- many atoms: H is a product of the columns -------------------------------------------------------------------


@routine
def moved(hull, u, slope, bent, square, slack, total, curve):
    """How far to go from the combination toward an atom, or (negative) away from it: the best step and its sign."""
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


@kernel
def cycle(columns, hull, bends, linear, square, u, bent, visit, turns, tolerance):
    """Visit atoms in turn and move toward or away from each, ``turns`` times; return the gap that was seen last.

    The direction to an atom, ``a - u``, keeps the sum of the weights and costs no more than the atom's own column:
    shrinking ``u`` and all that depends on it is one factor. ``bent`` is ``D X u``. While the budget is not spent,
    weight comes from the zero atom instead, which is ordinary coordinate descent.
    """
    radius, scale, gap = hull.radius, 1.0, 0.0
    for _ in range(turns):
        size, pull, curve = 0.0, 0.0, 0.0
        for i in range(len(bends)):
            curve += bent[i] * bent[i] / bends[i] if bends[i] > 0.0 else 0.0
        for j in range(len(u)):
            size += abs(u[j])
            pull += linear[j] * u[j]
        gap = pull + curve if hull.filled else 0.0
        for j in visit:
            weight, along = scale * u[j], scale * column_dot(columns, j, bent)
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
                sign, gamma = moved(hull, weight, slope, along, square[j], slack, pull + curve, curve)
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
                    for i in range(len(bent)):
                        bent[i] *= scale
                    for k in range(len(u)):
                        u[k] *= scale
                    scale = 1.0
            if change != 0.0:
                u[j] = goal / scale
                column_add_bent(columns, j, change / scale, bends, bent)
        if hull.filled and radius - size <= SPENT * radius and pull + curve > 0.0:  # away from all: toward zero
            scale *= max(0.0, -pull / curve) if curve > 0.0 else 0.0
        for i in range(len(bent)):
            bent[i] *= scale
        for k in range(len(u)):
            u[k] *= scale
        scale = 1.0
        if gap <= tolerance:
            break
    return gap


@routine
def balanced(signs, residual, square, tight, out):
    """Fill ``out`` with the residual divided by the diagonal, its signed sum made zero if the budget is spent."""
    level = 0.0
    if tight:
        above, below = 0.0, 0.0
        for k in range(len(out)):
            above += signs[k] * residual[k] / square[k]
            below += 1.0 / square[k]
        level = above / below
    for k in range(len(out)):
        out[k] = (residual[k] - level * signs[k]) / square[k]


@kernel
def leap(columns, face, signs, slope, square, bends, tight, accuracy, most, move, bent):
    """Conjugate gradients toward the minimiser of the model on a face; fill in the move and its bent predictions."""
    residual, ahead = slope.copy(), np.empty(len(face))
    product, image = np.empty(len(face)), np.empty(len(bends))
    move[:] = 0.0
    bent[:] = 0.0
    balanced(signs, residual, square, tight, ahead)
    search = -ahead
    size = residual @ ahead
    goal = accuracy * accuracy * size
    for _ in range(most):
        if not size > goal:
            break
        image[:] = 0.0
        for k in range(len(face)):
            column_add_bent(columns, face[k], search[k], bends, image)
        curve = 0.0
        for k in range(len(face)):
            product[k] = column_dot(columns, face[k], image)
            curve += product[k] * search[k]
        if not curve > 0.0:
            break
        step = size / curve
        for k in range(len(face)):
            move[k] += step * search[k]
            residual[k] += step * product[k]
        for i in range(len(bent)):
            bent[i] += step * image[i]
        balanced(signs, residual, square, tight, ahead)
        before, size = size, residual @ ahead
        for k in range(len(face)):
            search[k] = -ahead[k] + size / before * search[k]
    return sqrt(max(size, 0.0))
