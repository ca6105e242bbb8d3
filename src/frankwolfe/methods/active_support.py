"""The active set of a set whose vertices are single coordinates: the support of ``w``, and zero where it is an atom.

Such a set is the hull of vertices ``+-R e_j`` (or only ``+R e_j``), and perhaps of zero. A point ``w`` then *is* its
weights: coordinate ``j`` holds ``|w_j| / R`` of the vertex on its side, and what is missing to one lies on zero. No
dictionary of atoms is needed, and a dropped atom is gone: its coordinate is zero.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import routine
from frankwolfe.sets.atoms import Hot

NOTHING = 1e-15
"""Weights up to this are rounding, not weight."""

RECOUNT = 4096
"""Changes between two recounts of the l1 norm."""


class ActiveSet(NamedTuple):
    """Which coordinates are not zero, and how much of the radius they use.

    Attributes
    ----------
    members : array of int
        The coordinates, in no order, in its first ``number[0]`` places.
    place : array of int
        Where a coordinate stands among the members; -1 if it does not.
    number : array of shape (2,)
        How many members there are, and how often one has changed.
    size : array of shape (1,)
        Sum of ``|v_j|``, so that ``scale * size`` is the l1 norm of ``w``.
    """

    members: np.ndarray
    place: np.ndarray
    number: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, w: np.ndarray) -> "ActiveSet":
        """Return the active set of a point that is kept with scale one."""
        support = np.flatnonzero(w)
        members, place = np.zeros(len(w), dtype=np.int64), np.full(len(w), -1)
        members[: len(support)] = support
        place[support] = np.arange(len(support))
        return cls(members, place, np.array([len(support), 0]), np.array([np.abs(w).sum()]))

    def index_ranges(self) -> dict[str, Any]:
        """Return what the index arrays of a restored active set must be like."""
        d = len(self.members)
        return {"members": (0, d), "place": (-1, d), "number": ([0, 0], [d + 1, 2**62])}

    def require_sound(self, iterate: Any) -> None:
        """Raise ValueError unless the members are the support of an iterate: a vector is as long as its members."""
        support, members = np.flatnonzero(iterate.v), self.members[: self.number[0]]
        place = np.full(len(self.place), -1)
        place[members] = np.arange(len(members))
        if not np.array_equal(np.sort(members), support) or not np.array_equal(place, self.place):
            raise ValueError("its active set is not the support of its point")


@routine
def put(active, iterate, j, change):
    """Add ``change`` to coordinate ``j`` of ``w``."""
    v, size = iterate.v, active.size
    before = v[j]
    after = before + change / iterate.scale[0]
    v[j] = after
    size[0] += abs(after) - abs(before)
    if before == 0.0 and after != 0.0:
        active.place[j] = active.number[0]
        active.members[active.number[0]] = j
        active.number[0] += 1
    elif before != 0.0 and after == 0.0:
        _forget(active, j)
    active.number[1] += 1
    if active.number[1] % RECOUNT == 0:
        _recount(active, v)


@routine
def _recount(active, v):
    """Sum up the size anew: over millions of changes the running sum would drift, and the iterate out of the set."""
    total = 0.0
    for k in range(active.number[0]):
        total += abs(v[active.members[k]])
    active.size[0] = total


@routine
def clear(active, iterate, j):
    """Set coordinate ``j`` of ``w`` to zero, exactly."""
    v = iterate.v
    if v[j] != 0.0:
        active.size[0] -= abs(v[j])
        v[j] = 0.0
        _forget(active, j)


@routine
def _forget(active, j):
    """Strike a coordinate off the members: the last one takes its place."""
    members, place, number = active.members, active.place, active.number
    number[0] -= 1
    last = members[number[0]]
    members[place[j]] = last
    place[last] = place[j]
    place[j] = -1


@routine
def slack(atoms, active, iterate):
    """Weight of the zero atom, where the set, whose hull is ``atoms``, has one."""
    if not atoms.filled:
        return 0.0
    return max(0.0, 1.0 - iterate.scale[0] * active.size[0] / atoms.radius)


@routine
def weight(atoms, active, iterate, atom):
    """Weight that an atom has in ``w``."""
    if atom.amount == 0.0:
        return slack(atoms, active, iterate)
    return abs(iterate.v[atom.at]) * iterate.scale[0] / atoms.radius


@routine
def extreme(atoms, active, iterate, r, side):
    """Active atom with the largest (``side = 1``) or smallest (``side = -1``) ``<r, a>``."""
    v, members, radius = iterate.v, active.members, atoms.radius
    at, amount, best = 0, 0.0, -np.inf
    if atoms.filled and (active.number[0] == 0 or slack(atoms, active, iterate) > NOTHING):
        best = 0.0  # zero itself
    for k in range(active.number[0]):
        j = members[k]
        value = side * (r[j] if v[j] > 0.0 else -r[j])
        if value > best:
            at, amount, best = j, (radius if v[j] > 0.0 else -radius), value
    return Hot(at, amount)


@routine
def inner_active(active, iterate, r):
    """Return ``<r, w>``, from the support alone."""
    v, members, total = iterate.v, active.members, 0.0
    for k in range(active.number[0]):
        total += v[members[k]] * r[members[k]]
    return iterate.scale[0] * total
