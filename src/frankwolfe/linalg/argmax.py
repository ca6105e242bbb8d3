"""Lazy argmax: which entry of ``r`` leads, at a cost that does not grow with the length of ``r``.

A tree with 32 children a node stands over ``r``. Every node holds an *upper bound* of the keys below it. An entry
that grows past its node's bound raises it, and those above while they are smaller. An entry that shrinks does
nothing: bounds may only become too high. The leader is found from the root by always entering the child with
the largest bound; a node found to promise more than its children hold is corrected and the search restarts.
A touched entry thus costs one comparison, and a correction is paid for by the touches that made it necessary.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import FIXED
from frankwolfe.compile.verbs import leader, rebuild, routine, row_add_grouped, row_add_tracked

BITS = 5
"""Two to this power is the number of children of a node."""


@routine
def _raise_bounds(bounds, starts, j, key):
    """Lift the bounds above entry ``j`` to ``key``, as far up as they are lower."""
    node = np.int64(j)  # columns may be counted without a sign, and the sum of both kinds would be a float
    for level in range(len(starts) - 1):
        node >>= BITS
        at = starts[level] + node
        if key <= bounds[at]:
            return
        bounds[at] = key


@routine
def track(bounds, starts, flip, j, x):
    """Note that entry ``j`` of ``r`` is now ``x``."""
    key = max(-x, flip * x)
    if key > bounds[j >> BITS]:
        _raise_bounds(bounds, starts, j, key)


@routine
def track_group(keys, shares, flat, bounds, starts, g, before, after):
    """Note that an entry of group ``g`` had the size ``before`` and now has the size ``after``.

    A group's key is an upper bound of its share times its norm. The l1 norm (``flat``) changes as the size does. The l2
    norm cannot grow faster than that, nor, being concave in the square of an entry, faster than its tangent. The last
    term outweighs the rounding of the others.
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
def _largest(values, low, high):
    """Position of the largest of ``values[low:high]``, the first of equals."""
    best, at = values[low], low
    for k in range(low + 1, high):
        if values[k] > best:
            best, at = values[k], k
    return at


@routine
def _leading(r, low, high, flip):
    """Position of the largest key of ``r[low:high]``, the first of equals."""
    best, at = max(-r[low], flip * r[low]), low
    for j in range(low + 1, high):
        key = max(-r[j], flip * r[j])
        if key > best:
            best, at = key, j
    return at


class LazyArgmax(NamedTuple):
    """Argmax of ``|r|`` (``flip = 1``) or of ``-r`` (``flip = -1``) while ``r`` changes in few places at a time.

    Attributes
    ----------
    bounds : array
        Upper bounds of the keys ``max(-r_j, flip * r_j)``, level after level, the level above ``r`` first.
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
        """Tree over ``d`` entries that are all zero."""
        sizes = [-(-d >> BITS)]
        while sizes[-1] > 1 << BITS:
            sizes.append(-(-sizes[-1] >> BITS))
        starts = np.cumsum([0, *sizes])
        return cls(np.zeros(starts[-1]), starts, float(flip))

    def index_ranges(self):
        """Return what the index arrays of a restored tracker must be like."""
        return {"starts": FIXED}

    @property
    def lazy(self):
        """Whether an answer costs less than a look at all of ``r``."""
        return True

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r`` and note what changed."""
        row_add_tracked(rows, i, c, r, self.bounds, self.starts, self.flip)

    def rebuild(self, r):
        """Set all bounds anew, in one pass over ``r``."""
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
        """Position of the entry with the largest key."""
        bounds, starts, flip = self.bounds, self.starts, self.flip
        top = len(starts) - 2
        level, at = top, _largest(bounds, starts[top], starts[top + 1])
        while True:
            node, promise = at - starts[level], bounds[at]
            if level == 0:
                j = _leading(r, node << BITS, min((node + 1) << BITS, len(r)), flip)
                held = max(-r[j], flip * r[j])
                if not held < promise:  # equal, or NaN: then there is no leader, and no search may go on for ever
                    return j
            else:
                low = starts[level - 1] + (node << BITS)
                below = _largest(bounds, low, min(low + (1 << BITS), starts[level]))
                held = bounds[below]
                if not held < promise:
                    level, at = level - 1, below
                    continue
            bounds[at] = held  # promised too much: correct it and search again from the top
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
        return total  # of the l2 norms only zero; or NaN, which no comparison finds
    unit, lift = 1.0, 1.0
    if not 1e-140 < largest < 1e140:  # squares would vanish or overflow, and so may 1 / largest
        lift = 1e200 if largest < 1e-200 else 1.0
        unit = lift * largest
    total = 0.0
    for k in range(low, high):
        size = lift * r[members[k]] / unit
        total += size * size
    return unit / lift * sqrt(total)


class GroupTracker(NamedTuple):
    """Which group of entries of ``r`` has the largest norm, while ``r`` changes in few places at a time.

    Attributes
    ----------
    members, starts : arrays of int
        The coordinates of all groups, group after group, and where each group starts.
    homes, home_ends : arrays of int
        The groups of all coordinates, coordinate after coordinate, and between which places each coordinate's stand; no
        places where every coordinate has one group.
    shares : array
        Factor of each group's norm.
    flat : bool
        Whether the norm is l1; l2 otherwise.
    keys : array
        Upper bounds of the groups' norms, each times its share.
    tree : LazyArgmax
        Over the keys.
    stale : array of shape (1,)
        Whether the keys mean nothing, because a dense row has changed everything.
    values : array
        Room for the entries of a `Block`.
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
        """Tracker of ``d`` entries that are all zero."""
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
        """Return what the index arrays of a restored tracker must be like."""
        return dict.fromkeys(("members", "starts", "homes", "home_ends", "shares"), FIXED) | {"stale": (0, 2)}

    @property
    def lazy(self):
        """Whether an answer costs less than a look at all of ``r``."""
        return True

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r`` and note what changed."""
        row_add_grouped(rows, i, c, r, self)

    def rebuild(self, r):
        """Take all norms anew."""
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
            if not held < keys[g]:  # equal, or NaN: then there is no leader
                return g
            keys[g] = held  # promised too much
