"""Squared errors over ill-conditioned columns whose least objective is known exactly, as a fraction.

The optimum ``w`` and the residuals ``r = X w - y`` are chosen first. Then rows ``2^-e I`` are added, whose residuals
make ``-X' r`` a normal of the set at ``w``. All numbers are dyadic and short enough to be floats: nothing is rounded.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tests.reference import sets as known

GRAIN = 64
"""Weights are multiples of one over this."""


@dataclass(frozen=True)
class Solved:
    """A table, a set, and the point of the set with the least mean of half the squared errors."""

    X: np.ndarray
    y: np.ndarray
    constraint: Any
    w: np.ndarray

    @property
    def least(self):
        """The least objective."""
        return mean_of_halved_squares(self.X, self.y, self.w)


def mean_of_halved_squares(X, y, w):
    """Return half the mean squared error of float weights on a float table as a fraction."""
    w, total = [Fraction(float(v)) for v in w], Fraction(0)
    for row, target in zip(np.asarray(X, dtype=np.float64), y, strict=True):
        error = sum((Fraction(float(x)) * v for x, v in zip(row, w, strict=True)), -Fraction(float(target)))
        total += error * error
    return total / (2 * len(y))


def solved(rng, d):
    """Return a random problem of ``d`` columns, and its solution."""
    points = SETS[str(rng.choice(list(SETS)))]
    w, constraint, normal = points(rng, d)
    columns = nearly_equal_columns(rng, int(rng.integers(1, 9)), d)
    e = int(rng.integers(0, 7))
    residuals = rng.integers(-GRAIN, GRAIN + 1, len(columns)) * int(rng.choice([0, 1, 1]))
    ends = [Fraction(2**e) * -(int(v) + int(g)) for v, g in zip(normal, columns.T @ residuals, strict=True)]
    X = np.vstack([columns, 2.0**-e * np.eye(d)])
    exact = [
        sum((Fraction(float(x)) * Fraction(float(v)) for x, v in zip(row, w, strict=True)), Fraction(0)) - r
        for row, r in zip(X, [*map(Fraction, map(int, residuals)), *ends], strict=True)
    ]
    y = np.array([float(target) for target in exact])
    assert all(Fraction(float(one)) == other for one, other in zip(y, exact, strict=True))
    return Solved(X, y, constraint, w)


def nearly_equal_columns(rng, n, d):
    """Return whole numbers: every column is a multiple of one of them, and a little of its own."""
    base, factors = rng.integers(-1024, 1025, (n, 1)), 2 ** rng.integers(0, 11, d)
    return base * factors + rng.integers(-1, 2, (n, d))


def _entries(rng, d):
    """Return weights, some of them zero but not all, as multiples of the grain."""
    counts = rng.integers(-GRAIN, GRAIN + 1, d) * (rng.random(d) < 0.6)
    counts[rng.integers(d)] = GRAIN // 2
    return counts


def _in_l1_ball(rng, d):
    """A point on the boundary of an l1 ball, and a normal: the largest entries are where the point is not zero."""
    counts, steep = _entries(rng, d), int(rng.choice([0, 1, 100, 10**5]))
    normal = np.where(counts != 0, np.sign(counts) * steep, rng.integers(-steep, steep + 1, d))
    return counts / GRAIN, known.L1Ball(float(np.abs(counts).sum()) / GRAIN), normal


def _in_simplex(rng, d):
    counts, steep = np.abs(_entries(rng, d)), int(rng.choice([0, 1, 100, 10**5]))
    offset = int(rng.integers(-100, 101))
    normal = offset - np.where(counts != 0, 0, rng.integers(0, steep + 1, d))
    return counts / GRAIN, known.Simplex(float(counts.sum()) / GRAIN), normal


def _in_box(rng, d):
    counts, steep = _entries(rng, d), int(rng.choice([1, 100, 10**5]))
    counts = np.where(rng.random(d) < 0.5, GRAIN * rng.choice([-1, 1], d), counts)
    normal = np.where(np.abs(counts) == GRAIN, np.sign(counts) * rng.integers(0, steep + 1, d), 0)
    return counts / GRAIN, known.Box(np.full(d, -1.0), np.full(d, 1.0)), normal


def _in_l2_ball(rng, d):
    """3, 4, 5: a length that is no root. The normal points where the point does."""
    counts = np.zeros(d, dtype=np.int64)
    counts[rng.integers(d)] = 5
    if d > 1:
        counts[:] = 0
        counts[rng.choice(d, 2, replace=False)] = rng.permutation([3, 4]) * rng.choice([-1, 1], 2)
    return counts / GRAIN, known.L2Ball(5 / GRAIN), counts * int(rng.choice([0, 1, 1000]))


SETS = {"L1Ball": _in_l1_ball, "Simplex": _in_simplex, "Box": _in_box, "L2Ball": _in_l2_ball}
"""Points of a set with one of their normals, in whole numbers."""
