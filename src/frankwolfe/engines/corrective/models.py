"""Quadratic models of the objective over the combinations of active atoms, and how they are minimised."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyr2

from frankwolfe.engines.corrective.cyclic_descent import FollowingIntercept, cycle
from frankwolfe.engines.corrective.pairwise_descent import exchange
from frankwolfe.linalg.schur import eliminated
from frankwolfe.sets.coordinate_hull import SPENT, Hull

RIDGES = (1e-13, 1e-10, 1e-7)
"""Added to a unit diagonal before a face is solved: in turn, until the factorisation succeeds."""

REFINEMENTS, REFINED = 3, 1e-9
"""How often the solution on a face is refined at most, and the part of each slope that may be left."""

ACCURACY, CG_STEPS = 0.1, 12
"""How exactly conjugate gradients solve a face, and in how many steps at most; each failure doubles the steps."""

STALE = 0.1
"""By what part a curvature may be wrong before the Hessian is brought up to date."""

HALVINGS = 6
"""How often a move across a face is halved, if the model does not fall, before it is only made up to the first weight
that it would turn round."""

PATIENCE = 3
"""Attempts in a row that may fail to halve a model's gap before it is taken as it is: rounding, or a hard face."""


def minimise(model: Any, tolerance: float, most: int = 50) -> np.ndarray:
    """Minimise a model until its gap is within ``tolerance``, or hardly falls any more; return the weights."""
    last, failures = np.inf, 0
    for _ in range(most):
        gap = model.descend(tolerance)
        failures = failures + 1 if gap > 0.5 * last else 0
        if gap <= tolerance or failures >= PATIENCE:
            break
        last = min(gap, last)
        if not model.u.any() or not model.leap(failures):  # no weight, no face
            break
    return model.whole(model.hull.fit(model.u))


class _Model(ABC):
    """What both models share: the hull, the weights, and the way to a face's minimiser that stays in the hull."""

    def __init__(self, hull: Hull, u: np.ndarray):
        self.hull, self.u = hull, u.copy()
        self.blocked = False  # whether the last move ended at a weight of zero, short of where it was to go

    def whole(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all atoms, from those of the model's."""
        return u

    def _face(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Atoms with weight, their signs, and whether the budget is spent."""
        face = np.flatnonzero(self.u)
        spent = not self.hull.filled or np.abs(self.u).sum() >= self.hull.radius * (1.0 - SPENT)
        return face, np.sign(self.u[face]), spent

    def _go(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray, spent: bool) -> bool:
        """Make as much of a move as is good; say whether that was any way."""
        for halvings in range(HALVINGS):
            if self._jump(face, signs, 0.5**halvings * move):
                self.blocked = False
                return True
        step, blocking = self._longest(face, signs, move, spent)
        self.blocked = blocking >= 0
        goal = self.u.copy()
        goal[face] += step * move
        if blocking >= 0:
            goal[face[blocking]] = 0.0
        self._put(goal)
        return step > 0.0

    @abstractmethod
    def _jump(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray) -> bool:
        """Make a whole move, with the weights that would change their sign set to zero, if the model falls."""

    def _put(self, u: np.ndarray) -> None:
        """Set the weights."""
        self.u = u

    def _cut(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Weights after a move, those that would change their sign set to zero."""
        goal = self.u.copy()
        goal[face] = np.maximum(signs * (self.u[face] + move), 0.0) * signs
        return self.hull.fit(goal)

    def _longest(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray, spent: bool) -> tuple[float, int]:
        """How much of a move stays in the hull, at most all of it, and the position of the weight that ends it."""
        size, change = np.abs(self.u[face]), signs * move
        shrinking = change < 0.0
        ratios = np.where(shrinking, size / np.where(shrinking, -change, 1.0), np.inf)
        first = int(ratios.argmin())
        room = np.inf if spent or change.sum() <= 0.0 else (self.hull.radius - size.sum()) / change.sum()
        step = min(1.0, ratios[first], max(room, 0.0))
        return step, first if ratios[first] <= step else -1


class Hessian:
    """The Hessian ``A' D A`` of some atoms, kept from one Newton step to the next.

    It is renewed where the curvatures have changed: with every curvature within a part ``STALE`` of the true one, so is
    the model, along every direction.
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
        stale = np.abs(curvatures - self.curvatures) > STALE * np.abs(curvatures)
        if curvatures.ndim == 3:  # a matrix for each sample: any of its entries makes it stale
            stale = np.broadcast_to(stale.any(axis=(1, 2), keepdims=True), curvatures.shape)
        if stale.any():
            self.H += self.matrix.gram(np.where(stale, curvatures - self.curvatures, 0.0), chosen)
            self.curvatures = np.where(stale, curvatures, self.curvatures)
        return self.H

    def state(self) -> dict[str, Any]:
        """Return the Hessian, and of which atoms and curvatures it is."""
        return {"hessian.chosen": self.chosen, "hessian.H": self.H, "hessian.curvatures": self.curvatures}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the Hessian of a state."""
        self.chosen, self.H, self.curvatures = (
            state[f"hessian.{name}"].copy(order="K") for name in ("chosen", "H", "curvatures")
        )


def _with_best_shifts(H: np.ndarray, hessian: Hessian, shifts: int) -> np.ndarray:
    """Return the Hessian of the model in which intercepts follow the weights: a Schur complement."""
    if hessian.curvatures.ndim == 3:
        cross = [
            hessian.matrix.project(hessian.curvatures[:, output].ravel())[hessian.chosen] for output in range(shifts)
        ]
        return eliminated(H, np.array(cross), hessian.curvatures.sum(axis=0))
    curvatures = hessian.curvatures.reshape(-1, shifts)
    for output in range(shifts):
        own = np.zeros_like(curvatures)
        own[:, output] = curvatures[:, output]
        total = own.sum()
        if total > 0.0:
            along = hessian.matrix.project(own.ravel())[hessian.chosen]
            H = H - np.outer(along, along) / total
    return H


class GramModel(_Model):
    """For few atoms: the Hessian is formed, weight is exchanged in pairs, and faces are solved exactly.

    The model is kept as a function of how far the weights have moved, ``slope'(u - u0) + (u - u0)' H (u - u0) / 2``:
    near an optimum both parts are small, while ``H u`` may be large.
    """

    def __init__(self, atoms: Any, chosen: np.ndarray, slope: np.ndarray, curvatures: np.ndarray, shifts: int = 0):
        super().__init__(atoms.hull, atoms.u[chosen])
        self.chosen, self.size = chosen, len(slope)
        self.H = atoms.hessian.at(curvatures, chosen)
        if shifts:
            self.H = _with_best_shifts(self.H, atoms.hessian, shifts)
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
        return float(exchange(self.hull, self.H, self.u, self.slope(), tolerance, 20 + 2 * len(self.u)))

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
    for _ in range(REFINEMENTS):
        moves[face] = whole(move)
        residual = reduced(slope + (H @ moves)[face])
        left = float(np.abs(residual).max())
        if not left < 0.5 * least:
            break
        best, least = moves[face], left
        if (np.abs(residual) <= REFINED * np.abs(first)).all():
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


class ColumnModel(_Model):
    """For many atoms: the Hessian stays a product of the columns, atoms are visited in turn, faces solved by CG."""

    def __init__(self, atoms: Any, slope: np.ndarray, curvatures: np.ndarray, z: np.ndarray, shifts: int = 0):
        super().__init__(atoms.hull, atoms.u)
        self.matrix, self.columns, self.curvatures, self.bent = atoms.matrix, atoms.columns, curvatures, curvatures * z
        self.free, outputs, m = shifts > 0, max(1, shifts), len(slope)
        totals, homes, pulls = np.ones(outputs), atoms.active % outputs, np.zeros(m)
        if self.free:
            totals, pulls = self._sums(curvatures, outputs), self.matrix.project(curvatures)
            totals = np.where(totals > 0.0, totals, 1.0)
        self.intercept = FollowingIntercept(totals, homes, pulls, np.zeros(outputs))
        self._follow()
        self.square = np.maximum(self.matrix.squares(curvatures) - pulls * pulls / totals[homes], 0.0)
        self.linear = slope - self._along(self.bent, self.intercept.sums)

    @staticmethod
    def _sums(bent: np.ndarray, outputs: int) -> np.ndarray:
        """Return the sums over all samples, one for each output."""
        return bent.reshape(-1, outputs).sum(axis=0)

    def _follow(self) -> None:
        """Let the intercept follow the weights, whose ``bent`` has been set."""
        if self.free:
            self.intercept.sums[:] = self._sums(self.bent, len(self.intercept.sums))

    def _along(self, bent: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Return ``A' bent``, less what an intercept that follows takes away: its sums are ``sums``."""
        totals, homes, pulls, _ = self.intercept
        return self.matrix.project(bent) - pulls * (sums / totals)[homes] if self.free else self.matrix.project(bent)

    def descend(self, tolerance: float) -> float:
        """Visit all atoms once, then those with weight a few times; return the gap that was seen on the way."""
        everyone = np.arange(len(self.u))
        gap = self._cycle(everyone, 1, tolerance)
        if gap > tolerance:
            self._cycle(np.flatnonzero(self.u), 3, 0.3 * tolerance)
            gap = self._cycle(everyone, 1, tolerance)
        return gap

    def _cycle(self, visit: np.ndarray, turns: int, tolerance: float) -> float:
        arguments = self.hull, self.curvatures, self.linear, self.square, self.u, self.bent, self.intercept
        return float(cycle(self.columns, *arguments, visit, turns, tolerance))

    def leap(self, failures: int) -> bool:
        """Go toward the minimiser of the face by conjugate gradients; say whether that was any way."""
        face, signs, spent = self._face()
        slope = (self.linear + self._along(self.bent, self.intercept.sums))[face]
        square = np.maximum(self.square[face], max(1e-30 * self.square.max(), 1e-300))

        def product(move):
            whole = np.zeros(len(self.u))
            whole[face] = move
            bent = self.curvatures * self.matrix.predict(whole)
            return self._along(bent, self._sums(bent, len(self.intercept.sums)))[face]

        move = conjugate_gradients(product, slope, square, signs if spent else None, ACCURACY, CG_STEPS * 2**failures)
        if not (slope @ move < 0.0):
            return False
        return self._go(face, signs, move, spent)

    def _jump(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray) -> bool:
        """Make the whole move, with the weights that would change their sign set to zero, if the model falls."""
        goal = self._cut(face, signs, move)
        images = self.matrix.predict(goal)
        bent, totals = images * self.curvatures, self.intercept.totals
        saved = (self._sums(bent, len(totals)) ** 2 / totals).sum() if self.free else 0.0
        if not self.linear @ goal + 0.5 * (bent @ images - saved) < self._value():
            return False
        self.u, self.bent = goal, bent
        self._follow()
        return True

    def _put(self, u: np.ndarray) -> None:
        """Set the weights, and what follows from them."""
        self.u, self.bent = u, self.curvatures * self.matrix.predict(u)
        self._follow()

    def _value(self) -> float:
        """Return the model's value."""
        weighted = self.curvatures > 0.0
        saved = (self.intercept.sums**2 / self.intercept.totals).sum()
        return float(
            self.linear @ self.u + 0.5 * ((self.bent[weighted] ** 2 / self.curvatures[weighted]).sum() - saved)
        )


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    slope: np.ndarray,
    square: np.ndarray,
    signs: np.ndarray | None,
    accuracy: float,
    most: int,
) -> np.ndarray:
    """Return a move toward where ``slope + H move`` vanishes, its signed sum zero if ``signs`` are given.

    ``square``, the diagonal of ``H``, is the preconditioner.
    """

    def balanced(residual):
        if signs is not None:
            residual = residual - (signs @ (residual / square)) / (1.0 / square).sum() * signs
        return residual / square

    move, residual = np.zeros(len(slope)), slope.copy()
    ahead = balanced(residual)
    search, size = -ahead, residual @ ahead
    goal = accuracy * accuracy * size
    for _ in range(most):
        if not size > goal:
            break
        bent = product(search)
        curve = bent @ search
        if not curve > 0.0:
            break
        move += size / curve * search
        residual += size / curve * bent
        ahead = balanced(residual)
        before, size = size, residual @ ahead
        search = size / before * search - ahead
    return move
