"""The quadratic model of many atoms: its Hessian stays a product of the columns, which are visited in turn."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frankwolfe.engines.corrective.cyclic_descent import FollowingIntercept, cycle
from frankwolfe.engines.corrective.models import Model

CG_ACCURACY, MAX_CG_STEPS = 0.1, 12
"""How exactly conjugate gradients solve a face, and in how many steps at most; each failure doubles the steps. Half
the steps: 1% more passes. Twice as many, or twice or half the accuracy: no difference in passes."""


class ColumnModel(Model):
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

        move = conjugate_gradients(
            product, slope, square, signs if spent else None, CG_ACCURACY, MAX_CG_STEPS * 2**failures
        )
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
