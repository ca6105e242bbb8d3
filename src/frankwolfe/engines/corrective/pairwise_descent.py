"""Pairwise descent on a quadratic over the combinations of few atoms.

The model is ``q(u) = b'u + u'Hu / 2`` with ``H = X_A' D X_A`` formed, ``D`` the curvatures of the losses. The weights
``u`` live in a `frankwolfe.sets.base.Hull`. Each step moves weight from one atom to another, or to or from the zero
atom, the pair that promises most.
"""

import numpy as np

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
