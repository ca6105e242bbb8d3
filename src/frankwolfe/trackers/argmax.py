"""Lazy argmax: which entry of ``r`` leads, at a cost that does not grow with the length of ``r``.

A tree with 32 children a node stands over ``r``. Every node holds an *upper bound* of the keys below it. An entry
that grows past its node's bound raises it, and those above while they are smaller. An entry that shrinks does
nothing: bounds may only become too high. The leader is found from the root by always entering the child with
the largest bound; a node found to promise more than its children hold is corrected and the search restarts.
A touched entry thus costs one comparison, and a correction is paid for by the touches that made it necessary.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import FIXED
from frankwolfe.compile.verbs import routine, row_add_tracked
from frankwolfe.trackers.tracker_defaults import tracker

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


@tracker
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
