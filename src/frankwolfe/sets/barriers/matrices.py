"""Barriers of sets of matrices. Changes of a positive definite matrix ``P = L L'`` are written ``L E L'``."""

import numpy as np

from frankwolfe.sets.barriers.auxiliary import eliminate_dense
from frankwolfe.sets.barriers.barrier import Barrier, Expansion


def symmetric_basis(side: int) -> np.ndarray:
    """Return an orthonormal basis of the symmetric matrices, of shape (count, side, side)."""
    first, second = np.triu_indices(side)
    basis = np.zeros((len(first), side, side))
    size = np.where(first == second, 1.0, np.sqrt(0.5))
    basis[np.arange(len(first)), first, second] = size
    basis[np.arange(len(first)), second, first] = size
    return basis


def _root(P: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor of a matrix, None if it is not positive definite."""
    try:
        return np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        return None


class TraceBarrier(Barrier):
    """Of the matrices whose singular values sum to at most one: ``-log(2 - tr P - tr W P^-1 W') - log det P``.

    For the best ``P``, the root of ``W' W``, both traces are the trace norm. ``P`` has the shorter side of ``W``.
    """

    def __init__(self, rows: int, columns: int):
        flat = np.arange(rows * columns).reshape(rows, columns)
        self.order = (flat if rows >= columns else flat.T).ravel()  # of the entries, with columns the shorter side
        self.long, self.short = max(rows, columns), min(rows, columns)
        self.basis = symmetric_basis(self.short)
        self.nu = self.short + 1.0

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.concatenate([np.zeros(len(self.order)), 2.0 / (self.short + 1.0) * np.eye(self.short).ravel()])

    def _parts(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``W`` with columns the shorter side, and ``P``."""
        W = y[: len(self.order)][self.order].reshape(self.long, self.short)
        return W, y[len(self.order) :].reshape(self.short, self.short)

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        W, P = self._parts(y)
        L = _root(P)
        if L is None:
            return np.inf
        V = np.linalg.solve(L, W.T)
        room = 2.0 - np.trace(P) - (V * V).sum()
        return float(-np.log(room) - 2.0 * np.log(np.diagonal(L)).sum()) if room > 0.0 else np.inf

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return y[: len(self.order)]

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny singular values to zero."""
        W = w[self.order].reshape(self.long, self.short)
        left, sizes, right = np.linalg.svd(W, full_matrices=False)
        kept = sizes > least
        return ((left[:, kept] * sizes[kept]) @ right[kept]).ravel()[np.argsort(self.order)]

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order; local coordinates are ``W``, and ``E`` for moves ``L E L'`` of ``P``."""
        W, P = self._parts(y)
        L = np.linalg.cholesky(P)
        inverse = np.linalg.inv(L)
        V = W @ inverse.T
        room = 2.0 - np.trace(P) - (V * V).sum()
        squares = V.T @ V
        fall = (-2.0 * V @ inverse).ravel()
        drop = np.tensordot(self.basis, squares - L.T @ L, 2)
        hessian = np.kron(np.eye(self.long), (2.0 / room) * (inverse.T @ inverse))
        cross = ((-2.0 / room) * (V @ self.basis @ inverse)).reshape(len(drop), -1).T
        inner = (2.0 / room) * np.tensordot(self.basis @ squares, self.basis, ([1, 2], [1, 2]))
        inner = 0.5 * (inner + inner.T)
        np.einsum("jj->j", inner)[:] += 1.0
        slope = -drop / room - np.trace(self.basis, axis1=1, axis2=2)
        reduced = eliminate_dense(
            -fall / room, hessian, slope, cross, inner, (fall / room)[:, None], (drop / room)[:, None]
        )
        back = np.argsort(self.order)

        def whole(e: np.ndarray) -> np.ndarray:
            E = np.tensordot(reduced.recover(e[self.order]), self.basis, 1)
            return np.concatenate([e, (L @ E @ L.T).ravel()])

        return Expansion(
            reduced.gradient[back], reduced.hessian[np.ix_(back, back)], np.ones(len(back)), whole, rest=reduced.rest
        )


class SpectrahedronBarrier(Barrier):
    """Of the positive semidefinite matrices of trace one: ``-log det W``, where ``W`` moves by ``L E L'``."""

    quick_up_to = 400

    def __init__(self, side: int):
        self.side, self.basis = side, symmetric_basis(side)
        self.nu = float(side)

    def start(self) -> np.ndarray:
        """Return the centre."""
        return np.eye(self.side).ravel() / self.side

    def value(self, y: np.ndarray) -> float:
        """Return the barrier's value, infinite outside."""
        L = _root(y.reshape(self.side, self.side))
        return np.inf if L is None else float(-2.0 * np.log(np.diagonal(L)).sum())

    def point(self, y: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return y

    def point_without_tiny(self, w: np.ndarray, least: float) -> np.ndarray:
        """Set tiny eigenvalues to zero, and scale the others to trace one."""
        sizes, vectors = np.linalg.eigh(w.reshape(self.side, self.side))
        root = vectors[:, sizes > least] * np.sqrt(sizes[sizes > least])
        found = root @ root.T  # symmetric to the last bit
        return (found / np.trace(found)).ravel() if root.size else w

    def expand(self, y: np.ndarray) -> Expansion:
        """Return the barrier to second order."""
        L = np.linalg.cholesky(y.reshape(self.side, self.side))
        traces = np.trace(self.basis, axis1=1, axis2=2)
        moves = (L @ self.basis @ L.T).reshape(len(self.basis), -1).T
        equations = np.tensordot(self.basis, L.T @ L, 2)[None, :]

        def recover(e: np.ndarray) -> np.ndarray:
            return (L @ np.tensordot(e, self.basis, 1) @ L.T).ravel()

        return Expansion(-traces, np.ones(len(traces)), moves, recover, equations)
