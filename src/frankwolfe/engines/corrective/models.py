"""Quadratic models of the objective over the combinations of active atoms, and how they are minimised.

`frankwolfe.engines.corrective.hessian_model` forms the Hessian of few atoms. Where there are many,
`frankwolfe.engines.corrective.column_model` works column by column.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from frankwolfe.sets.base import SPENT, Hull

MAX_HALVINGS = 6
"""How often a move across a face is halved, if the model does not fall, before it is only made up to the first weight
that it would turn round. Twice or half as many: no difference."""

MAX_FAILURES = 3
"""Attempts in a row that may fail to halve a model's gap before it is taken as it is: rounding, or a hard face. Twice
or half as many: no difference."""


def minimise(model: Any, tolerance: float, most: int = 50) -> np.ndarray:
    """Minimise a model until its gap is within ``tolerance``, or hardly falls any more; return the weights."""
    last, failures = np.inf, 0
    for _ in range(most):
        gap = model.descend(tolerance)
        failures = failures + 1 if gap > 0.5 * last else 0
        if gap <= tolerance or failures >= MAX_FAILURES:
            break
        last = min(gap, last)
        if not model.u.any() or not model.leap(failures):  # no weight, no face
            break
    return model.whole(model.hull.fit(model.u))


class Model(ABC):
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
        for halvings in range(MAX_HALVINGS):
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
