"""The barrier of a polytope that is given by inequalities and equations, whose interior has to be found first."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.sets.barriers.barrier import Barrier
from frankwolfe.sets.barriers.inequalities import SlackBarrier

DISGUISED = 1e-7
"""An inequality of unit length that leaves less room than this, relative to the largest bound, is an equation."""


def polytope_barrier(A: Any, b: Any, E: Any, e: Any, size: int) -> Barrier | None:
    """Return the barrier of all ``w`` with ``A w <= b`` and ``E w = e``; None if that is a single point.

    Inequalities that no point satisfies strictly are equations in disguise. What is left is minimised over in
    coordinates of the subspace that all equations leave.
    """
    A, b = _as_system(A, b, size)
    E, e = _as_system(E, e, size)
    norms = np.linalg.norm(A, axis=1)
    A, b = A[norms > 0.0] / norms[norms > 0.0, None], b[norms > 0.0] / norms[norms > 0.0]
    unit = max(float(np.abs(b).max(initial=0.0)), float(np.abs(e).max(initial=0.0)))
    if not unit > 0.0:
        return None  # a bounded cone: zero alone
    loose = _loose(A, b / unit, E, e / unit)
    if not loose.any():
        return None
    fixed, level = np.vstack([E, A[~loose]]), np.concatenate([e, b[~loose]])
    basis = _null_space(fixed, size)
    inside = unit * _deepest(A, b / unit, E, e / unit, loose)
    inside -= np.linalg.lstsq(fixed, fixed @ inside - level, rcond=None)[0] if len(fixed) else 0.0
    room = (b - A @ inside)[loose]
    if basis.shape[1] == 0 or not room.min() > 0.0:
        return None
    return SlackBarrier(A[loose] @ basis, room, basis).translated(inside)


def _as_system(M: Any, bound: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix, which may be sparse or missing, and its right-hand side as arrays."""
    if M is None:
        return np.zeros((0, size)), np.zeros(0)
    return (M.toarray() if sparse.issparse(M) else np.asarray(M)), bound


def _null_space(M: np.ndarray, size: int) -> np.ndarray:
    """Return an orthonormal basis of what a matrix maps to zero."""
    if len(M) == 0:
        return np.eye(size)
    _, sizes, right = np.linalg.svd(M)
    rank = int((sizes > 1e-12 * max(sizes[0], 1e-300)).sum())
    return right[rank:].T


def _loose(A: np.ndarray, b: np.ndarray, E: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Which inequalities have room somewhere in the polytope: a convex set, so somewhere all of them have it at once.

    The polytope is blown up until every such room is one: ``A w + s <= b t`` and ``E w = e t`` with ``t >= 1``.
    """
    m, d = A.shape
    bounds = [(None, None)] * d + [(0.0, 1.0)] * m + [(1.0, 1.0 / DISGUISED)]
    costs = np.r_[np.zeros(d), -np.ones(m), 0.0]
    above = np.hstack([A, np.eye(m), -b[:, None]])
    equal = np.hstack([E, np.zeros((len(E), m)), -e[:, None]])
    return _solved(costs, above, np.zeros(m), equal, np.zeros(len(e)), bounds)[d : d + m] > 0.5


def _deepest(A: np.ndarray, b: np.ndarray, E: np.ndarray, e: np.ndarray, loose: np.ndarray) -> np.ndarray:
    """Return the centre of the largest ball within the inequalities that have room."""
    d = A.shape[1]
    bounds = [(None, None)] * d + [(0.0, None)]
    costs = np.r_[np.zeros(d), -1.0]
    return _solved(costs, np.column_stack([A, loose]), b, np.hstack([E, np.zeros((len(E), 1))]), e, bounds)[:d]


def _solved(c: np.ndarray, A: np.ndarray, b: np.ndarray, E: np.ndarray, e: np.ndarray, bounds: Any) -> np.ndarray:
    """Solve a linear program that is known to have a solution."""
    from scipy.optimize import linprog  # heavy, and only wanted here

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(c, A_ub=A, b_ub=b, A_eq=E, b_eq=e, bounds=bounds, method="highs-ds", options=tight)
    if found.status != 0:
        raise RuntimeError(f"Polytope: the linear program for its interior could not be solved. HiGHS: {found.message}")
    return found.x
