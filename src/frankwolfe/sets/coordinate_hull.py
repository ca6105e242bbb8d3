"""`Hull`: what a set whose vertices are single coordinates says of itself."""

from typing import NamedTuple

import numpy as np

SPENT = 1e-12
"""A budget of which no more than this part is left counts as spent."""

CANCELLED = 1e-8
"""A difference of which no more than this part is left has lost half its digits."""


class Hull(NamedTuple):
    """Combinations of atoms in which the sum of the weights' sizes is at most, or just, ``radius``.

    A set whose vertices are ``radius`` (or plus and minus ``radius``) on one coordinate each, any of them, returns one
    from its method ``hull``. Active-set directions and the corrective method then know its atoms without a list.

    Parameters
    ----------
    radius : float
        The sum.
    signed : bool
        Whether the opposite of every atom is an atom too.
    filled : bool
        Whether zero is an atom, so that the sum may be less.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Simplex(2.0).hull()
    Hull(radius=2.0, signed=False, filled=False)
    """

    radius: float
    signed: bool
    filled: bool

    def scaled(self, factor: float) -> "Hull":
        """Return the hull of ``factor`` times the atoms."""
        return self._replace(radius=factor * self.radius)

    def gap(self, slope: np.ndarray, u: np.ndarray) -> float:
        """Return ``max <slope, u - v>`` over the hull.

        Near an optimum two large numbers all but cancel: then it is a sum of terms none of which is negative.
        """
        best = -np.abs(slope).max() if self.signed else slope.min()
        best = min(best, 0.0) if self.filled else best
        gap = float(slope @ u - self.radius * best)
        if gap > CANCELLED * self.radius * abs(best):
            return gap
        sizes = np.abs(u)
        return float((slope * u - best * sizes).sum() - best * (self.radius - sizes.sum()))

    def along(self, slope: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
        """Return ``<slope, end - start>``; where both spend the whole budget, without what their rounded sums add.

        On such a face slopes share a level, which is large beside their differences near an optimum.
        """
        total = float(slope @ (end - start))
        sizes = np.abs(start).sum(), np.abs(end).sum()
        if min(sizes) < self.radius * (1.0 - SPENT):
            return total
        return total - float(slope @ start) / self.radius * float((np.abs(end) - np.abs(start)).sum())

    def fit(self, u: np.ndarray) -> np.ndarray:
        """Scale weights whose sum is not what it should be."""
        size = np.abs(u).sum()
        return u * (self.radius / size) if size > self.radius or (not self.filled and size > 0.0) else u
