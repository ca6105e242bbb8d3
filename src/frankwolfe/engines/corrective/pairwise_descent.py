"""Pairwise descent on a quadratic over the combinations of few atoms.

The model is ``q(u) = b'u + u'Hu / 2`` with ``H = X_A' D X_A`` formed, ``D`` the curvatures of the losses. The weights
``u`` live in a `frankwolfe.sets.base.Hull`. Each step moves weight from one atom to another, or to or from the zero
atom, the pair that promises most. Small data uses NumPy and makes few steps; large data uses compiled loops.
"""

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import routine
from frankwolfe.sets.base import SPENT, Hull

ZERO = -1
"""Place of the zero atom."""


def exchange(hull: Hull, H: np.ndarray, u: np.ndarray, slope: np.ndarray, tolerance: float, most: int) -> float:
    """Exchange weight between pairs of atoms until the model's gap is within ``tolerance``; return that gap.

    ``u`` and its ``slope`` change in place, in at most so many steps.
    """
    gap, diagonal, signs = np.inf, np.diagonal(H), np.sign(u)
    for _ in range(most):
        gap, enter, sign, best = _standing(hull, u, signs, slope)
        if gap <= tolerance:
            break
        slack = hull.radius - float(np.abs(u).sum()) if hull.filled else 0.0
        slack = slack if slack > SPENT * hull.radius else 0.0
        own, row = (float(diagonal[enter]), H[enter]) if enter != ZERO else (0.0, None)

        # The fall that moving weight from each atom promises: lead^2 / curvature along the pair.
        lead = signs * slope
        lead -= best
        lead[signs == 0.0] = 0.0
        curve = diagonal + own
        if row is not None:
            lead[enter] = 0.0
            curve -= (2.0 * sign) * (signs * row)
        promised = np.maximum(lead, 0.0) ** 2 / np.maximum(curve, 1e-300)
        leave = int(promised.argmax())
        if slack > 0.0 and best < 0.0 and best * best / max(own, 1e-300) >= promised[leave]:
            leave, bound, rise, square = ZERO, slack, -best, own
        elif promised[leave] > 0.0:
            bound, rise, square = abs(float(u[leave])), float(lead[leave]), float(curve[leave])
        else:
            break
        amount = bound if rise >= bound * square else rise / square

        if row is not None:
            u[enter] += sign * amount
            signs[enter] = sign
            slope += (sign * amount) * row
        if leave != ZERO:
            slope -= (signs[leave] * amount) * H[leave]
            u[leave] = 0.0 if amount == bound else u[leave] - signs[leave] * amount
            signs[leave] = np.sign(u[leave])
    return float(gap)


def _standing(hull: Hull, u: np.ndarray, signs: np.ndarray, slope: np.ndarray) -> tuple[float, int, float, float]:
    """Return the model's gap, and the atom of least slope, its sign and its slope.

    The opposite of an atom with weight counts for the gap but is not one to go to: its weight is taken away first.
    """
    keys = np.where(signs != 0.0, signs * slope, -np.abs(slope)) if hull.signed else slope
    enter = int(keys.argmin())
    best, sign = float(keys[enter]), 1.0
    if hull.signed and (signs[enter] < 0.0 or (signs[enter] == 0.0 and slope[enter] > 0.0)):
        sign = -1.0
    least = -float(np.abs(slope).max()) if hull.signed else best
    if hull.filled and not best < 0.0:
        enter, best = ZERO, 0.0
    least = min(least, 0.0) if hull.filled else least
    return float(slope @ u) - hull.radius * least, enter, sign, best


# --- compiled, for large data -----------------------------------------------------------------------------------------


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
def exchange_compiled(hull, H, u, slope, tolerance, most):
    """Do what `exchange` does, in compiled loops: a step takes a microsecond instead of thirty."""
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
