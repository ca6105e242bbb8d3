"""The quadratic model of few atoms: its Hessian is formed, and faces are solved exactly."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyr2

from frankwolfe.engines.corrective.models import Model
from frankwolfe.engines.corrective.pairwise_descent import exchange, exchange_compiled
from frankwolfe.linalg.matrices import eliminated

RIDGES = (1e-13, 1e-10, 1e-7)
"""Added to a unit diagonal before a face is solved: in turn, until the factorisation succeeds. Twice or half: no
difference."""

MAX_REFINEMENTS, REFINED_SLOPE = 3, 1e-9
"""How often the solution on a face is refined at most, and the part of each slope that may be left. Twice or half: no
difference."""

STALE_CURVATURE = 0.1
"""By what part a curvature may be wrong before the Hessian is brought up to date. Doubled: 2% more passes. Halved: 1%
fewer, and more work on Hessians."""


class Hessian:
    """The Hessian ``A' D A`` of some atoms, kept from one Newton step to the next.

    It is renewed where the curvatures have changed: with every curvature within a part `STALE_CURVATURE` of the true
    one, so is the model, along every direction.
    """

    def __init__(self, matrix: Any):
        self.matrix = matrix
        self.chosen, self.H, self.curvatures = np.empty(0, np.intp), np.empty((0, 0)), np.empty(0)

    def at(self, curvatures: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return the Hessian of the atoms ``chosen``, ascending, for these curvatures or for others close to them."""
        place = np.searchsorted(self.chosen, chosen)
        if len(chosen) > len(self.chosen) or (self.chosen.take(place, mode="clip") != chosen).any():
            self.chosen, self.H, self.curvatures = chosen, self.matrix.gram(curvatures, chosen), curvatures
            return self.H
        if len(chosen) < len(self.chosen):
            self.chosen, self.H = chosen, self.H[np.ix_(place, place)]
        stale = np.abs(curvatures - self.curvatures) > STALE_CURVATURE * np.abs(curvatures)
        if curvatures.ndim == 3:  # a matrix for each sample: any of its entries makes it stale
            stale = np.broadcast_to(stale.any(axis=(1, 2), keepdims=True), curvatures.shape)
        if stale.any():
            self.H += self.matrix.gram(np.where(stale, curvatures - self.curvatures, 0.0), chosen)
            self.curvatures = np.where(stale, curvatures, self.curvatures)
        return self.H

    def with_best_shifts(self, shifts: int) -> np.ndarray:
        """Return the Hessian of the model in which intercepts follow the weights: a Schur complement."""
        if self.curvatures.ndim == 3:
            cross = [self.matrix.project(self.curvatures[:, output].ravel())[self.chosen] for output in range(shifts)]
            return eliminated(self.H, np.array(cross), self.curvatures.sum(axis=0))
        H, curvatures = self.H, self.curvatures.reshape(-1, shifts)
        for output in range(shifts):
            own = np.zeros_like(curvatures)
            own[:, output] = curvatures[:, output]
            total = own.sum()
            if total > 0.0:
                along = self.matrix.project(own.ravel())[self.chosen]
                H = H - np.outer(along, along) / total
        return H

    def state(self) -> dict[str, Any]:
        """Return the Hessian, and of which atoms and curvatures it is."""
        return {"hessian.chosen": self.chosen, "hessian.H": self.H, "hessian.curvatures": self.curvatures}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the Hessian of a state."""
        self.chosen, self.H, self.curvatures = (
            state[f"hessian.{name}"].copy(order="K") for name in ("chosen", "H", "curvatures")
        )


class HessianModel(Model):
    """For few atoms: the Hessian is formed, weight is exchanged in pairs, and faces are solved exactly.

    The model is kept as a function of how far the weights have moved, ``slope'(u - u0) + (u - u0)' H (u - u0) / 2``:
    near an optimum both parts are small, while ``H u`` may be large.
    """

    def __init__(self, atoms: Any, chosen: np.ndarray, slope: np.ndarray, curvatures: np.ndarray, shifts: int = 0):
        super().__init__(atoms.hull, atoms.u[chosen])
        self.chosen, self.size, self.compiled = chosen, len(slope), atoms.objective.compiled
        self.H = atoms.hessian.at(curvatures, chosen)
        if shifts:
            self.H = atoms.hessian.with_best_shifts(shifts)
        self.start, self.first_slope = self.u.copy(), slope[chosen]

    def whole(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all atoms, from those of the model's."""
        whole = np.zeros(self.size)
        whole[self.chosen] = u
        return whole

    def slope(self) -> np.ndarray:
        """Return the slopes of the model where it is."""
        return self.first_slope + self.H @ (self.u - self.start)

    def descend(self, tolerance: float) -> float:
        """Exchange weight between pairs; return the model's gap."""
        # with few exchanges a face whose columns depend on each other would be solved too early: rounding decides there
        descend = exchange_compiled if self.compiled else exchange
        return float(descend(self.hull, self.H, self.u, self.slope(), tolerance, 20 + 2 * len(self.u)))

    def leap(self, failures: int) -> bool:
        """Go toward the minimiser of the face, as far as the hull allows; say whether that was any way.

        An atom that ends a move is dropped, and after failures the way goes on without it until the minimiser of a face
        is reached (the minor cycles of Wolfe 1976): weight that is exchanged before would bring the atom back.
        """
        moved = False
        for _ in range(len(self.u) if failures else 1):
            face, signs, spent = self._face()
            slope = self.slope()[face]
            move = _face_move(self.H, face, slope, signs, spent)
            if not (slope @ move < 0.0):
                break
            moved = self._go(face, signs, move, spent) or moved
            if not (self.blocked and self.u.any()):
                break
        return moved

    def _jump(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray) -> bool:
        """Make the whole move, with the weights that would change their sign set to zero, if the model falls."""
        goal = self._cut(face, signs, move)
        step = goal - self.u
        if not self.hull.along(self.slope(), self.u, goal) + 0.5 * (step @ (self.H @ step)) < 0.0:
            return False
        self.u = goal
        return True


def _face_move(H: np.ndarray, face: np.ndarray, slope: np.ndarray, signs: np.ndarray, spent: bool) -> np.ndarray:
    """Move to the minimiser of the model on a face, on which the signed sum stays the same if the budget is spent.

    Then one atom, the shortest, gives what all others take: they move along their differences from it. What the
    factorisation leaves, because of rounding or of the ridge that columns that depend on each other need, is solved for
    again.
    """
    if spent and len(face) == 1:
        return np.zeros(1)
    giver = int(np.diagonal(H)[face].argmin()) if spent else -1
    kept = np.flatnonzero(np.arange(len(face)) != giver)
    opposite = signs[kept] * signs[giver] if spent else np.zeros(len(kept))

    def whole(move):
        moves = np.zeros(len(face))
        moves[kept] = move
        if spent:
            moves[giver] = -(opposite @ move)
        return moves

    def reduced(slopes):
        return slopes[kept] - opposite * slopes[giver]

    across = H[face[kept], face[giver]] if spent else None
    solve = _face_solver(H, face[kept], across, H[face[giver], face[giver]], opposite)
    best, least, moves = np.zeros(len(face)), np.inf, np.zeros(len(H))
    first = reduced(slope)
    move = -solve(first)
    for _ in range(MAX_REFINEMENTS):
        moves[face] = whole(move)
        residual = reduced(slope + (H @ moves)[face])
        left = float(np.abs(residual).max())
        if not left < 0.5 * least:
            break
        best, least = moves[face], left
        if (np.abs(residual) <= REFINED_SLOPE * np.abs(first)).all():
            break
        move = move - solve(residual)
    return best


def _face_solver(
    H: np.ndarray, others: np.ndarray, across: np.ndarray | None, own: float, opposite: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what solves with the Hessian of the atoms ``others``, or of their differences from another.

    That one's entries are ``across`` and ``own``; ``opposite`` are its signs as the others see them.
    """
    diagonal = np.diagonal(H)[others]
    lengths = diagonal if across is None else diagonal - 2.0 * opposite * across + own
    floor = max(1e-30 * diagonal.max(), 1e-300) if across is None else 1e-15 * (diagonal + own) + 1e-300
    scale = 1.0 / np.sqrt(np.maximum(lengths, floor))
    for ridge in RIDGES:
        square = H[np.ix_(others, others)].T  # the same transposed, and in the order that is worked on in place
        if across is not None:
            square = dsyr2(-1.0, opposite, across - 0.5 * own * opposite, a=square, overwrite_a=True)
        square *= scale[:, None]
        square *= scale
        np.einsum("jj->j", square)[:] += ridge
        try:
            factor = cho_factor(square, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return lambda slope: scale * cho_solve(factor, scale * slope, check_finite=False)
    return np.zeros_like
