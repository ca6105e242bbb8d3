"""The trace-norm ball of large matrices, seen at a sample of their entries."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import recount
from frankwolfe.linalg.singular import Triplets, leading_triplets
from frankwolfe.rows.observed_entries import EntryAtom, Factors, ObservedEntries
from frankwolfe.sets.base import constraint_set
from frankwolfe.sets.rank_one import CLOSE, CLOSER, Asked
from frankwolfe.sets.structure import Structure, TraceNorm


@constraint_set
class SampledTraceBall(NamedTuple):
    """All matrices of trace norm at most ``radius``, of which only some entries are looked at.

    A direction ``r`` has one number for each of those entries and stands for the sparse matrix that holds them. Points
    are `Factors`.

    Attributes
    ----------
    radius : float
    columns : int
        Of the matrix.
    entries : ObservedEntries
        Those looked at.
    """

    radius: float
    columns: int
    entries: ObservedEntries

    def tracker(self, size):
        """Return a way to ask for the leading singular vectors."""
        return Asked.krylov(size, self.matrix, (len(self.entries.starts) - 1, self.columns))

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        recount(tracker, r)
        return EntryAtom(tracker.left, tracker.right, -self.radius, self.entries)

    def matrix(self, r: np.ndarray) -> Any:
        """Return the sparse matrix that ``r`` stands for."""
        return self.entries.matrix(r, self.columns)

    def structure(self):
        """Say how the points are made up: singular values with a bounded sum."""
        return Structure(TraceNorm(self.radius, self.matrix, self.triplets))

    def triplets(self, r: np.ndarray, count: int = 1, **how: Any) -> Triplets:
        """Return leading singular triplets of ``r``; see `frankwolfe.linalg.singular.leading_triplets`."""
        return leading_triplets(self.matrix(r), count, **how)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set, or slightly more: see `frankwolfe.linalg.singular.Triplets`."""
        return self.radius * self.triplets(direction, tolerance=CLOSE).bound

    def proven_support(self, direction):
        """Return the same, proven where that is affordable: see `frankwolfe.linalg.singular.leading_triplets`."""
        return self.radius * self.triplets(direction, tolerance=CLOSER, proof=True).bound

    def contains(self, w: Factors, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(w.singular_values.sum() <= self.radius * (1.0 + tolerance))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact."""
        length, n = 2.0 * self.radius, len(self.entries.rows)
        return {1: (length * float(np.sqrt(n)), n == 1), 2: (length, False), np.inf: (length, True)}
