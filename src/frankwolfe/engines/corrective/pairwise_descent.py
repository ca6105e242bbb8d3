"""A quadratic over the combinations of few atoms: weight is exchanged between the two atoms where that gains most.

The model is ``q(u) = b'u + u'Hu / 2`` with ``H = X_A' D X_A`` formed, ``D`` the curvatures of the losses. The weights
``u`` live in a `frankwolfe.sets.base.Hull`.
"""

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import routine
from frankwolfe.sets.base import SPENT


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
def giver(H, u, slope, slack, enter, sign, best):
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
        leave = giver(H, u, slope, slack, enter, sign, best)
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
