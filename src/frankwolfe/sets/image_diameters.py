"""Diameters of a set's image under the data, from what every set has: its support function."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.linalg.matrix_norms import column_norms, farthest_columns, row_norms, row_ranges, spectral_norm

Diameters = dict[float, tuple[float, bool]]


def reaches(constraint: Any, X: Any) -> np.ndarray:
    """How far apart a row's predictions can lie, for every row: its support function both ways."""
    support = constraint.support
    rows = (X[[i]].toarray().ravel() if sparse.issparse(X) else X[i] for i in range(X.shape[0]))
    return np.array([support(row) + support(-row) for row in map(np.float64, rows)])


def from_reaches(X: Any, reach: np.ndarray, diameter: float, exact: bool = True) -> Diameters:
    """``D_p`` for p = 1, 2, inf, each with whether it is exact, from the rows' reaches and the Euclidean diameter.

    The largest reach is ``D_inf``. For p = 1 and 2 the rows may pull different ways, and the answers are upper bounds,
    unless there is one row only.
    """
    two = min(float(np.linalg.norm(reach)), spectral_norm(X) * diameter)
    one = min(float(reach.sum()), float(np.sqrt(len(reach))) * two)
    largest, single = float(reach.max()), exact and len(reach) == 1
    if single:
        one = two = largest
    return {1: (max(one, largest), single), 2: (max(two, largest), single), np.inf: (largest, exact)}


def widths(constraint: Any, d: int) -> np.ndarray:
    """Range of every coordinate over a set."""
    return reaches(constraint, np.eye(d))


def image_diameters(constraint: Any, X: Any) -> Diameters:
    """``D_p`` for p = 1, 2, inf of a set that has nothing better to go by than its support function."""
    return from_reaches(X, reaches(constraint, X), float(constraint.diameter(X.shape[1])))


def from_diameter(length: float, X: Any) -> Diameters:
    """Bound ``||X (u - v)||_p`` by the Euclidean length of ``u - v``."""
    lengths = row_norms(X, 2)
    two = length * spectral_norm(X)
    one = min(float(np.sqrt(X.shape[0])) * two, length * float(lengths.sum()))
    return {1: (one, False), 2: (two, False), np.inf: (length * float(lengths.max()), False)}


def of_columns(radius: float, images: Any, with_zero: bool) -> Diameters:
    """Return ``D_p`` of the hull of ``radius`` times the columns of ``images``, and zero on request.

    No row can differ by more than its range, which bounds every ``D_p`` and is ``D_inf`` itself.
    """
    ranges = row_ranges(images, with_zero)
    found: Diameters = {np.inf: (float(ranges.max()), True)}
    for p in (1, 2):
        distance, exact = farthest_columns(images, p)
        if with_zero:
            distance = max(distance, float(column_norms(images, p).max()))
        found[p] = (distance if exact else min(distance, float(np.linalg.norm(ranges, p))), exact)
    return {p: (radius * distance, exact) for p, (distance, exact) in found.items()}
