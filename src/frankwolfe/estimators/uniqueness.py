"""Whether the weights of a simplex are the only best ones, and if not, between which columns they can be exchanged.

For least squares the best predictions are unique, but weights that make them need not be. All best weights are the
``w >= 0`` with a sum of one and ``X w = z``, for the best predictions ``z``. Two facts make proofs of that:

- Predictions with the gap ``g`` are within ``sqrt(2 g)`` of the best ones, in the norm that the rows' weights define.
  So the gradient is known up to ``||x_j - x_k|| sqrt(2 g)`` in the difference of two entries. A column whose entry is
  larger than the smallest one by more than that has the weight zero in all best weights.
- If the other columns are affinely independent, at most one combination of them makes ``z``.

Where they depend on each other, a linear program finds all columns that have a weight in some best answer. Among these
weights can move along every dependence, and columns that no dependence connects keep their weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from frankwolfe.arguments.types import TableLike
from frankwolfe.problem import Problem

ROUNDING = 1e-13
"""Part of the size of its terms by which an entry of the gradient may be wrong."""

DEPENDENT = 1e-9
"""Columns depend on each other if a combination is shorter than this part of its terms. Independent columns are proven
to be so: rounding changes a singular value by a much smaller part."""

SMALLEST = 1e-6
"""Weights that differ by less in total count as the same."""

OPTIMAL = 1e-12
"""Other weights are as good if their gap is at most this part of the objective of zero weights."""


@dataclass
class Uniqueness:
    """What is known of all best weights of a simplex. `SimplexRegressor.uniqueness` returns it.

    Attributes
    ----------
    unique : bool or None
        True: it is proven that there are no other best weights. False: ``other`` are as good, up to rounding. None:
        neither could be shown.
    groups : list of lists
        Names, or numbers, of columns among which weights can be exchanged, the columns with most weight first. Columns
        in no group have the same weight in all best answers.
    other : array of shape (d,) or None
        Other weights of the same quality, far from those of the model; None if there are none.
    other_gap : float
        How far the objective of ``other`` is above its minimum at most; NaN without any.
    never_used : array of shape (d,)
        Whether a column is proven to have the weight zero in all best answers.
    """

    unique: bool | None
    groups: list[list[Any]]
    other: np.ndarray | None
    other_gap: float
    never_used: np.ndarray

    def __str__(self) -> str:
        if self.unique:
            return "The weights are unique, which is proven."
        if self.unique is None:
            return "No other weights were found that are as good, but that there are none is not proven."
        listed = "; ".join(" <-> ".join(map(str, _shortened(group))) for group in self.groups)
        return f"The weights are not unique. They can be exchanged between {listed}."


def _shortened(names: Sequence[Any], most: int = 8) -> list[Any]:
    """Return the first names, and how many others there are."""
    return [*names] if len(names) <= most else [*names[:most], f"{len(names) - most} others"]


def uniqueness_of(problem: Problem, w: np.ndarray, excluded: np.ndarray, names: Sequence[Any]) -> Uniqueness:
    """Return what is known of all best weights.

    Parameters
    ----------
    problem : Problem
        Least squares over a simplex of radius one, with rows in memory.
    w : array of shape (d,)
        Its answer, as exact as possible.
    excluded : array of int
        Columns that must have the weight zero.
    names : sequence
        Names of the columns.
    """
    shown = problem.samples.weights > 0.0
    p, X = problem.samples.weights[shown], problem.X[np.flatnonzero(shown)]
    offset = 0.0 if problem.offset is None else problem.offset
    y = np.asarray(problem.y.real - offset, dtype=np.float64)[shown]
    allowed = np.ones(problem.d, dtype=bool)
    allowed[excluded] = False
    errors = X @ w - y
    errors = errors - (p @ errors if problem.intercept else 0.0)
    means = X.T @ p if problem.intercept else np.zeros(problem.d)
    r = X.T @ (p * errors) - (p @ errors) * means
    r[~allowed] = np.inf
    k = int(r.argmin())
    value = problem.value(w)
    gap = min(max(float(r[allowed] @ w[allowed] - r[k]), 0.0), value)  # squares are not negative
    never = ~allowed | (r - r[k] > _lengths(X, k, p, means) * np.sqrt(2.0 * gap) + _blur(X, p, errors, means))
    left = np.flatnonzero(~never)
    z = X @ w
    A = X[:, left].toarray() if sparse.issparse(X) else np.asarray(X[:, left], dtype=np.float64)
    A = np.sqrt(p)[:, None] * (A - means[left] - (z - means @ w)[:, None])  # columns less the prediction
    A /= float(np.abs(A).max(initial=0.0)) or 1.0
    if _independent(A):
        return Uniqueness(True, [], None, np.nan, never)
    used = _in_some_answer(A)
    groups = _exchangeable(A[:, used])
    other = np.zeros(problem.d)
    other[left] = _far_from(A, w[left])
    other_gap = problem.value(other) - (value - gap)
    distinct = float(np.abs(other - w).sum()) > SMALLEST
    if not groups or not distinct or not other_gap <= max(gap, OPTIMAL * problem.zero_value):
        return Uniqueness(None, [], None, np.nan, never)
    columns = left[used]
    ordered = [sorted(columns[group].tolist(), key=lambda j: -max(w[j], other[j])) for group in groups]
    return Uniqueness(False, [[names[j] for j in group] for group in ordered], other, max(other_gap, 0.0), never)


def _lengths(X: TableLike, k: int, p: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the norms of the columns' differences from column ``k``."""
    one = X[:, [k]].toarray().ravel() if sparse.issparse(X) else np.asarray(X[:, k], dtype=np.float64)
    if sparse.issparse(X):
        squares = X.power(2).T @ p - 2.0 * (X.T @ (p * one)) + p @ one**2
        return np.sqrt(np.maximum(squares - (means - means[k]) ** 2, 0.0) + ROUNDING * (X.power(2).T @ p + p @ one**2))
    return np.sqrt(p @ (X - means - (one - means[k])[:, None]) ** 2)


def _blur(X: TableLike, p: np.ndarray, errors: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return bounds on the rounding of differences of entries of the gradient."""
    terms = abs(X).T @ (p * np.abs(errors)) + np.abs(means) * (p @ np.abs(errors))
    return ROUNDING * (terms + terms.max(initial=0.0))


def _independent(A: np.ndarray) -> bool:
    """Return whether columns are affinely independent."""
    if A.shape[1] > A.shape[0] + 1:
        return False
    whole = np.vstack([A, np.ones((1, A.shape[1]))])
    sizes = np.linalg.svd(whole, compute_uv=False)
    return bool(sizes[-1] > DEPENDENT * sizes[0])


def _in_some_answer(A: np.ndarray) -> np.ndarray:
    """Return the columns with a weight in some ``w >= 0`` with ``A w = 0``, by one linear program.

    These ``w`` are a cone, so the program can raise all weights that can be positive to one.
    """
    from scipy.optimize import linprog  # slow to import

    n, d = A.shape
    one = sparse.eye_array(d)
    rows = sparse.hstack([-one, one])  # t <= w
    equal = np.hstack([A, np.zeros((n, d))])
    limits = [(0.0, None)] * d + [(0.0, 1.0)] * d
    cost = np.concatenate([np.zeros(d), -np.ones(d)])
    found = linprog(cost, sparse.csr_array(rows), np.zeros(d), equal, np.zeros(n), limits, method="highs")
    return np.flatnonzero(found.x[d:] > 0.5) if found.status == 0 else np.zeros(0, dtype=np.intp)


def _far_from(A: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return weights with ``A w = 0`` and a sum of one that have little in common with others."""
    from scipy.optimize import linprog  # slow to import

    equal, goals = np.vstack([A, np.ones((1, len(w)))]), np.append(np.zeros(len(A)), 1.0)
    found = linprog(w, A_eq=equal, b_eq=goals, bounds=(0.0, None), method="highs")
    if found.status != 0:
        return w
    other = np.maximum(found.x, 0.0)
    return other / other.sum()


def _exchangeable(A: np.ndarray) -> list[np.ndarray]:
    """Return the groups of columns that affine dependences connect, as arrays of places.

    A basis of the columns expresses each other column; with the basis columns that it needs it is one dependence.
    """
    if not A.shape[1]:
        return []
    whole = np.vstack([A, np.ones((1, A.shape[1]))])
    _, R, order = qr(whole, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    rank = int((sizes > DEPENDENT * sizes[0]).sum())
    needed = np.abs(np.linalg.solve(R[:rank, :rank], R[:rank, rank:])) > 1e-7
    links = sparse.csr_array(needed)
    pairs = sparse.block_array([[None, links], [links.T, None]]) if needed.size else sparse.csr_array((len(order),) * 2)
    _, labels = sparse.csgraph.connected_components(pairs, directed=False)
    found = [np.sort(order[labels == label]) for label in np.unique(labels)]
    return [group for group in found if len(group) > 1]
