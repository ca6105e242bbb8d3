"""Lazy argmax of ``r``, over entries and over groups of entries, at a cost that does not grow with the length of ``r``.

The data structure is a tree over ``r`` with 32 children per node. Every node stores an *upper bound* on the keys below
it. An entry that exceeds the bound of its node raises it, and the bounds of the ancestors that are lower. An entry that
shrinks changes nothing, so bounds may become too high but never too low. The search descends from the root to the child
with the largest bound. If the bound of a node exceeds the largest bound of its children, the search corrects it and
restarts. A changed entry thus costs one comparison. The cost of a correction is amortised over the changes that made it
necessary.

For groups, every group has a key: an upper bound on its norm times its share. A changed entry updates the keys of its
groups in O(1) each. The search recomputes the norm of the leading group only.

Row layouts update the bounds in the same pass that adds a row to ``r``, so they import this module.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import FIXED
from frankwolfe.compile.verbs import leader, rebuild, routine, row_add_grouped, row_add_tracked

BITS = 5
"""Binary logarithm of the number of children of a node."""


@routine
def _raise_bounds(bounds, starts, j, key):
    """Raise the bounds above entry ``j`` to ``key`` while they are lower."""
    node = np.int64(j)  # column indices may be unsigned, and numba adds signed and unsigned integers as floats
    for level in range(len(starts) - 1):
        node >>= BITS
        at = starts[level] + node
        if key <= bounds[at]:
            return
        bounds[at] = key


@routine
def track(bounds, starts, flip, j, x):
    """Update the bounds after entry ``j`` of ``r`` has become ``x``."""
    key = max(-x, flip * x)
    if key > bounds[j >> BITS]:
        _raise_bounds(bounds, starts, j, key)


@routine
def _track_group(keys, shares, flat, bounds, starts, g, before, after):
    """Update the key of group ``g`` after the absolute value of an entry has changed from ``before`` to ``after``.

    A key is an upper bound on the group's share times its norm. The l1 norm (``flat``) changes by ``after - before``.
    The l2 norm cannot grow faster than that, nor, being concave in the square of an entry, faster than its tangent. The
    term ``1e-15 * key`` exceeds the rounding errors.
    """
    key, share = keys[g], shares[g]
    change = share * (after - before)
    if not flat and share * (after + before) < 2.0 * key:
        change *= 0.5 * share * (after + before) / key
    key += change + 1e-15 * key
    keys[g] = key
    if key > bounds[g >> BITS]:
        _raise_bounds(bounds, starts, g, key)


@routine
def track_groups(keys, shares, flat, bounds, starts, homes, ends, j, before, after):
    """Update the keys of all groups of entry ``j`` after its absolute value has changed."""
    if len(ends) == 0:  # every entry has one group: one memory access less
        _track_group(keys, shares, flat, bounds, starts, homes[j], before, after)
    else:
        for home in range(ends[j], ends[j + 1]):
            _track_group(keys, shares, flat, bounds, starts, homes[home], before, after)


@routine
def _largest(values, low, high):
    """Return the position of the largest of ``values[low:high]``, the first one if there are ties."""
    best, at = values[low], low
    for k in range(low + 1, high):
        if values[k] > best:
            best, at = values[k], k
    return at


@routine
def _leading(r, low, high, flip):
    """Return the position of the largest key of ``r[low:high]``, the first one if there are ties."""
    best, at = max(-r[low], flip * r[low]), low
    for j in range(low + 1, high):
        key = max(-r[j], flip * r[j])
        if key > best:
            best, at = key, j
    return at


class LazyArgmax(NamedTuple):
    """Argmax of ``|r|`` (``flip = 1``) or of ``-r`` (``flip = -1``) for a vector ``r`` with sparse updates.

    Attributes
    ----------
    bounds : array
        Upper bounds on the keys ``max(-r_j, flip * r_j)``, level after level, the level above ``r`` first.
    starts : array of int
        Where each level starts in ``bounds``, and the total length.
    flip : float
        1 or -1.
    """

    bounds: np.ndarray
    starts: np.ndarray
    flip: float

    @classmethod
    def over(cls, d: int, flip: float) -> "LazyArgmax":
        """Return the tree over ``d`` zeros."""
        sizes = [-(-d >> BITS)]
        while sizes[-1] > 1 << BITS:
            sizes.append(-(-sizes[-1] >> BITS))
        starts = np.cumsum([0, *sizes])
        return cls(np.zeros(starts[-1]), starts, float(flip))

    def index_ranges(self):
        """Return the valid ranges of the integer arrays, for the check of a restored tracker."""
        return {"starts": FIXED}

    @property
    def lazy(self):
        """Whether an oracle call costs less than a pass over ``r``."""
        return True

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r`` and update the bounds."""
        row_add_tracked(rows, i, c, r, self.bounds, self.starts, self.flip)

    def rebuild(self, r):
        """Recompute all bounds in one pass over ``r``."""
        bounds, starts, flip = self.bounds, self.starts, self.flip
        for node in range(starts[1]):
            block = r[node << BITS : (node + 1) << BITS]
            bounds[node] = max(-block.min(), flip * block.max())
        for level in range(1, len(starts) - 1):
            for node in range(starts[level + 1] - starts[level]):
                low = starts[level - 1] + (node << BITS)
                high = min(low + (1 << BITS), starts[level])
                bounds[starts[level] + node] = bounds[low:high].max()

    def leader(self, r):
        """Return the position of the entry with the largest key."""
        bounds, starts, flip = self.bounds, self.starts, self.flip
        top = len(starts) - 2
        level, at = top, _largest(bounds, starts[top], starts[top + 1])
        while True:
            node, bound = at - starts[level], bounds[at]
            if level == 0:
                j = _leading(r, node << BITS, min((node + 1) << BITS, len(r)), flip)
                held = max(-r[j], flip * r[j])
                if not held < bound:  # equal, or NaN: then there is no largest entry, and the search must end
                    return j
            else:
                low = starts[level - 1] + (node << BITS)
                below = _largest(bounds, low, min(low + (1 << BITS), starts[level]))
                held = bounds[below]
                if not held < bound:
                    level, at = level - 1, below
                    continue
            bounds[at] = held  # the bound was too high: correct it and restart at the root
            level, at = top, _largest(bounds, starts[top], starts[top + 1])


@routine
def _norm(r, members, low, high, flat):
    """Return the l1 (``flat``) or l2 norm of the entries ``members[low:high]`` of ``r``."""
    total, largest = 0.0, 0.0
    for k in range(low, high):
        size = abs(r[members[k]])
        largest = max(largest, size)
        total += size
    if flat or not largest > 0.0:
        return total  # an l2 norm gets here only if it is zero or NaN
    unit, lift = 1.0, 1.0
    if not 1e-140 < largest < 1e140:  # squares would underflow or overflow, and so may 1 / largest
        lift = 1e200 if largest < 1e-200 else 1.0
        unit = lift * largest
    total = 0.0
    for k in range(low, high):
        size = lift * r[members[k]] / unit
        total += size * size
    return unit / lift * sqrt(total)


class GroupTracker(NamedTuple):
    """Argmax of the norms of groups of entries, for a vector ``r`` with sparse updates.

    Attributes
    ----------
    members, starts : arrays of int
        The coordinates of all groups, group after group, and where each group starts.
    homes, home_ends : arrays of int
        The groups of all coordinates, coordinate after coordinate, and where each coordinate's groups start and end.
        The ends are empty if every coordinate has one group.
    shares : array
        Factors of the groups' norms.
    flat : bool
        Whether the norm is l1 rather than l2.
    keys : array
        Upper bounds on the groups' norms times their shares.
    tree : LazyArgmax
        Tree over the keys.
    stale : array of shape (1,)
        One if the keys are outdated, because a dense row has changed all entries.
    values : array
        Scratch memory for the entries of an atom.
    """

    members: np.ndarray
    starts: np.ndarray
    homes: np.ndarray
    home_ends: np.ndarray
    shares: np.ndarray
    flat: bool
    keys: np.ndarray
    tree: LazyArgmax
    stale: np.ndarray
    values: np.ndarray

    @classmethod
    def over(cls, d: int, groups: list[np.ndarray], shares: np.ndarray, flat: bool) -> "GroupTracker":
        """Return the tracker of ``d`` zeros."""
        members = np.concatenate(groups)
        sizes = np.array([len(group) for group in groups])
        homes = np.repeat(np.arange(len(groups), dtype=np.int32), sizes)[np.argsort(members, kind="stable")]
        counts = np.bincount(members, minlength=d)
        ends = np.concatenate([[0], np.cumsum(counts)]) if (counts != 1).any() else np.empty(0)
        return cls(
            members,
            np.concatenate([[0], np.cumsum(sizes)]),
            homes,
            ends.astype(np.int32),
            shares,
            flat,
            np.zeros(len(groups)),
            LazyArgmax.over(len(groups), flip=1.0),
            np.zeros(1, dtype=np.int64),
            np.zeros(sizes.max()),
        )

    def index_ranges(self):
        """Return the valid ranges of the integer arrays, for the check of a restored tracker."""
        return dict.fromkeys(("members", "starts", "homes", "home_ends", "shares"), FIXED) | {"stale": (0, 2)}

    @property
    def lazy(self):
        """Whether an oracle call costs less than a pass over ``r``."""
        return True

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r`` and update the bounds."""
        row_add_grouped(rows, i, c, r, self)

    def rebuild(self, r):
        """Recompute all norms."""
        members, starts, shares, keys = self.members, self.starts, self.shares, self.keys
        for g in range(len(keys)):
            keys[g] = shares[g] * _norm(r, members, starts[g], starts[g + 1], self.flat)
        rebuild(self.tree, keys)
        self.stale[0] = 0

    def leader(self, r):
        """Return the group with the largest norm times share."""
        members, starts, shares, keys, tree = self.members, self.starts, self.shares, self.keys, self.tree
        if self.stale[0] == 1:
            rebuild(self, r)
        while True:
            g = leader(tree, keys)
            held = shares[g] * _norm(r, members, starts[g], starts[g + 1], self.flat)
            if not held < keys[g]:  # equal, or NaN: then there is no largest group
                return g
            keys[g] = held  # the key was too high
