"""`Hull`: what a set whose vertices are single coordinates says of itself."""

from typing import NamedTuple

import numpy as np

SPENT = 1e-12
"""A budget of which no more than this part is left counts as spent."""


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

    def gap(self, slope: np.ndarray, u: np.ndarray) -> float:
        """Return ``max <slope, u - v>`` over the hull."""
        best = -np.abs(slope).max() if self.signed else slope.min()
        return float(slope @ u - self.radius * (min(best, 0.0) if self.filled else best))

    def fit(self, u: np.ndarray) -> np.ndarray:
        """Scale weights whose sum is not what it should be."""
        size = np.abs(u).sum()
        return u * (self.radius / size) if size > self.radius or (not self.filled and size > 0.0) else u
