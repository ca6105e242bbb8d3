"""Whether a vector is a sum of vectors within groups, overlapping ones, whose Euclidean norms sum to at most one.

The least such sum is ``max <w, r>`` over all ``r`` with ``||r_g|| <= 1`` for every group. A barrier method closes in
on it from both sides: every ``r`` gives a lower bound, and what the barrier says of the constraints a sum of vectors,
which is an upper bound. It ends as soon as either decides.
"""

import numpy as np
from scipy import sparse

STEEPEST = 1e14
"""Where the barrier ends: beyond, rounding is all that is left."""


def within(w: np.ndarray, groups: tuple[tuple[int, ...], ...], tolerance: float) -> bool:
    """Whether the norms can sum to at most ``1 + tolerance``, but for entries up to ``tolerance`` that no group has."""
    nowhere = np.ones(len(w), dtype=bool)
    nowhere[sorted({j for group in groups for j in group})] = False
    if not (np.abs(w[nowhere]) <= tolerance).all():
        return False
    used = np.flatnonzero(np.where(nowhere, 0.0, w))
    w, most = w[used], 1.0 + tolerance
    if len(w) == 0:
        return True
    members = _incidence(used, groups)
    if not np.linalg.norm(w) <= most:
        return False  # no sum of norms is less than the norm of the sum; NaN is nowhere
    r, steep = np.zeros(len(w)), 1.0
    while steep < STEEPEST:
        r = _centred(w, members, r, steep)
        least, sum_of_norms = _bounds(w, members, r, steep)
        if sum_of_norms <= most:
            return True
        if least > most:
            return False
        steep *= 10.0
    return bool(least <= most)


def _incidence(used: np.ndarray, groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """One row for each group that has coordinates in use, each set of them once: which ones."""
    place = {int(j): k for k, j in enumerate(used)}
    kept = {tuple(place[j] for j in group if j in place) for group in groups} - {()}
    rows = sorted(kept)
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([k for row in rows for k in row], dtype=np.int64)
    return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(rows), len(used))).toarray()


def _centred(w: np.ndarray, members: np.ndarray, r: np.ndarray, steep: float) -> np.ndarray:
    """Newton's method for the minimiser of ``-steep <w, r> - sum_g log(1 - ||r_g||^2)``."""
    for _ in range(50):
        room = 1.0 - members @ (r * r)
        slope = 2.0 * r * (members.T @ (1.0 / room)) - steep * w
        inside = members * r
        hessian = np.diag(2.0 * (members.T @ (1.0 / room))) + inside.T @ (inside * (4.0 / room**2)[:, np.newaxis])
        move = -np.linalg.solve(hessian, slope)
        decrement = float(np.sqrt(max(0.0, -(slope @ move))))
        if decrement < 1e-6:
            break
        step = 1.0 if decrement < 0.25 else 1.0 / (1.0 + decrement)  # the barrier is self-concordant
        while (members @ (r + step * move) ** 2 >= 1.0).any():  # only rounding can ask for this
            step *= 0.5
            if step < 1e-12:
                return r
        r = r + step * move
    return r


def _bounds(w: np.ndarray, members: np.ndarray, r: np.ndarray, steep: float) -> tuple[float, float]:
    """Return a lower and an upper bound of the least sum of norms."""
    room = 1.0 - members @ (r * r)
    pieces = members * r * (2.0 / (steep * room))[:, np.newaxis]
    first = members.argmax(axis=0)  # what is missing goes to any group that has the coordinate
    pieces[first, np.arange(len(w))] += w - pieces.sum(axis=0)
    return float(w @ r), float(np.linalg.norm(pieces, axis=1).sum())
