"""`LinearBounds`: linear constraints that hold beside those of the set."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frankwolfe.arguments.types import ConstraintSet
from frankwolfe.rows import as_rows
from frankwolfe.sets.checks import matrix, numbers

ROUNDING = 1e-9
"""Part of the size of a row's terms by which a bound may be out of the reach of a set and count as on its edge."""


class Infeasible(ValueError):
    """No point of a set satisfies all side constraints, which may be proven, or none was found.

    Attributes
    ----------
    proven : bool
        Whether there is no such point for sure.
    """

    def __init__(self, message: str, proven: bool = True):
        super().__init__(message)
        self.proven = proven


class SideRows(NamedTuple):
    """Side constraints as kernels take them: rows of ``A``, and bounds on their products with the weights."""

    rows: Any
    lower: np.ndarray
    upper: np.ndarray


class LinearBounds:
    """Linear conditions ``lower <= A w <= upper`` beside the set. Each row of ``A`` is one condition.

    With ``"auto"`` and ``"corrective"`` they hold exactly, up to the rounding of sums. ``"shcgm"`` satisfies them
    better and better as a run goes on: ``result.violation`` is the largest violation, relative to the size of the
    condition's terms.

    Parameters
    ----------
    A : array or sparse matrix of shape (m, d)
        With several outputs of shape (m, d * outputs): weights are laid out row after row, that of column ``j`` and
        output ``c`` at ``j * outputs + c``.
    lower, upper : float, or array of shape (m,), optional
        Bounds; infinity, or None for all of them, where there is none. Equal ones make an equation.
    names : list of str, optional
        Names of the conditions, for error messages.

    Attributes
    ----------
    A : array or CSR array of shape (m, d)
        The matrix.
    lower, upper : array of shape (m,)
        Bounds, infinite where there is none.

    Examples
    --------
    Two weights that may not add up to more than one:

    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> side = fw.LinearBounds([[1.0, 1.0]], upper=1.0)
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(4.0), side=side)
    >>> result = fw.minimize(problem, tol=1e-9)
    >>> result.success, result.violation, result.x.round(6) + 0.0
    (True, 0.0, array([0., 1.]))
    >>> result.prices["side"].round(6), round(result.prices["radius"], 6)
    (array([1.]), 0.0)
    """

    def __init__(self, A: Any, lower: Any = None, upper: Any = None, names: Sequence[str] | None = None):
        self.A: Any = matrix("LinearBounds", "A", A)
        self.names = _names(names, self.m)
        self.lower = _bounds("lower", lower, self.m, -np.inf)
        self.upper = _bounds("upper", upper, self.m, np.inf)
        if not (np.isfinite(self.lower).any() or np.isfinite(self.upper).any()):
            raise ValueError("LinearBounds: there is no bound; give lower or upper, or both")
        if (crossed := np.flatnonzero(self.lower > self.upper)).size:
            j = int(crossed[0])
            raise ValueError(
                f"LinearBounds: lower must not be above upper, but it is in row {j}: "
                f"{self.lower[j]:g} and {self.upper[j]:g}"
            )

    @property
    def m(self) -> int:
        """Number of constraints."""
        return self.A.shape[0]

    def __repr__(self) -> str:
        equations = int(np.count_nonzero(self.lower == self.upper))
        return f"LinearBounds({self.m} x {self.A.shape[1]}, {equations} equations)"

    def rows(self) -> SideRows:
        """Return the constraints as kernels take them."""
        return SideRows(as_rows(self.A), self.lower, self.upper)

    def label(self, j: int) -> str:
        """Return what messages call a condition: its number and, if it has one, its name."""
        return f"row {j}" if self.names is None else f"row {j} ({self.names[j]!r})"

    def excess(self, w: np.ndarray) -> np.ndarray:
        """Return what ``A w``, for flat weights, has above its upper bounds, or, negative, lacks to its lower ones."""
        products = self.A @ w
        return products - np.clip(products, self.lower, self.upper)

    def distance(self, w: np.ndarray) -> float:
        """Return the Euclidean distance of ``A w`` to the box of the bounds, for flat weights."""
        return float(np.linalg.norm(self.excess(w)))

    def violation(self, w: np.ndarray) -> float:
        """Return the largest relative violation of a constraint by flat weights: between 0 and 1.

        A violation is relative to the size of the terms that make up its constraint, ``sum_k |a_k w_k| + |bound|``. So
        it does not depend on the units of a row or of the weights, and other constraints cannot hide it.
        """
        excess = self.excess(w)
        bounds = np.where(excess > 0.0, self.upper, self.lower)
        broken = excess != 0.0
        sizes = (abs(self.A) @ np.abs(w))[broken] + np.abs(bounds[broken])
        return float((np.abs(excess[broken]) / sizes).max(initial=0.0))

    def combined(self, multipliers: np.ndarray) -> np.ndarray:
        """Return ``A' multipliers``: what they add to a gradient."""
        return self.A.T @ multipliers

    def support(self, multipliers: np.ndarray) -> float:
        """Return ``max <multipliers, k>`` over the box of the bounds.

        It is infinite if a multiplier is non-zero for a constraint without a bound.
        """
        ends = np.where(multipliers > 0.0, self.upper, self.lower)
        used = multipliers != 0.0
        return float(multipliers[used] @ ends[used])

    def _row(self, j: int) -> np.ndarray:
        """Return a row of the matrix as an array."""
        return self.A[[j]].toarray()[0] if issparse(self.A) else self.A[j]

    def ranges(self, constraint: ConstraintSet) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest product of each row with weights of a set."""
        rows = map(self._row, range(self.m))
        ends = [(-float(constraint.support(-row)), float(constraint.support(row))) for row in rows]
        least, largest = np.array(ends).T
        return least, largest

    def terms(self, constraint: ConstraintSet, j: int) -> float:
        """Return the size of the terms of a row's product with vertices of a set.

        They may cancel, as in a sum of weights that is always zero. The vertices are those where the product is
        largest, and those where it would be if no entry of the row were negative.
        """
        row = self._row(j)
        directions = (row, -row, np.abs(row), -np.abs(row))
        return max(float(np.abs(row) @ np.abs(constraint.vertex(end).ravel())) for end in directions)

    def reach(self, constraint: ConstraintSet) -> float:
        """Return how long the ranges of all rows are over a set: the scale that smoothing is measured in.

        Raises ValueError where no weights of the set satisfy a row.
        """
        least, largest = self.ranges(constraint)
        for j in np.flatnonzero((least > self.upper) | (largest < self.lower)):
            miss = max(least[j] - self.upper[j], self.lower[j] - largest[j])
            if miss > ROUNDING * self.terms(constraint, int(j)):  # a product is as exact as its terms
                raise Infeasible(
                    f"LinearBounds: no weights of the set {type(constraint).__name__} satisfy {self.label(int(j))}: "
                    f"its product with them is between {least[j]:.6g} and {largest[j]:.6g}, "
                    f"its bounds are {self.lower[j]:.6g} "
                    f"and {self.upper[j]:.6g}"
                )
        length = float(np.linalg.norm(largest - least))
        return length or float(np.linalg.norm(largest))  # of a single point, its products have the right units


def _names(names: Any, m: int) -> list[str] | None:
    """Return the names of ``m`` conditions as a list; None if they have none."""
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError("LinearBounds: names must be a list of strings, one for each row of A")
    if len(names) != m:
        raise ValueError(f"LinearBounds: there are {len(names)} names, but A has {m} rows")
    return list(names)


def _bounds(name: str, values: Any, m: int, default: float) -> np.ndarray:
    """Return bounds as a new vector, one for each of ``m`` rows."""
    if values is None:
        return np.full(m, default)
    found = numbers("LinearBounds", name, values, "a number, or one for each row of A,")
    if np.isnan(found).any():
        raise ValueError(f"LinearBounds: {name} holds NaN: leave a bound out by {'-' * (default < 0)}infinity")
    if (found == -default).any():
        raise ValueError(f"LinearBounds: {name} must not be {-default:g}: no number satisfies that")
    if found.ndim > 1 or (found.ndim == 1 and len(found) != m):
        raise ValueError(f"LinearBounds: {name} has shape {found.shape}, but A has {m} rows")
    return np.array(np.broadcast_to(found, m), dtype=np.float64)


def as_side(side: Any, size: int) -> LinearBounds:
    """Return side constraints, or raise an error unless they fit ``size`` weights."""
    if not isinstance(side, LinearBounds):
        raise TypeError(f"side must be fw.LinearBounds(A, lower, upper), got {type(side).__name__}")
    if side.A.shape[1] != size:
        raise ValueError(f"side: A has {side.A.shape[1]} columns, but there are {size} weights")
    return side
