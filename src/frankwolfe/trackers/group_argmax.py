"""The group of entries of ``r`` with the largest norm, found lazily.

Every group has a key, an upper bound of its norm (times its share). A change of an entry moves the keys of its groups
by what it can move their norms at most, at O(1) each; only a group that leads has its norm taken anew.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import FIXED
from frankwolfe.compile.verbs import leader, rebuild, routine, row_add_grouped
from frankwolfe.trackers.argmax import LazyArgmax
from frankwolfe.trackers.tracker_defaults import tracker


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


@tracker
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
