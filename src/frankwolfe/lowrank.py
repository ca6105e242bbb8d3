"""The corrective method for the trace-norm ball: subspaces grow, and the best matrix within them is found.

The iterate is ``W = U S V'`` with few columns in ``U`` and ``V``. A round takes the exact gradient, which certifies;
widens both subspaces by the gradient's leading singular vectors, the vertices a Frank-Wolfe step would add, and by what
the gradient maps the present ones to; and minimises the objective over the small matrix ``S`` in the trace-norm ball of
its own size. There a singular value decomposition costs nothing, so that accelerated projected gradients serve; in the
large space nothing is ever projected. A decomposition of ``S`` then drops the directions without weight.
"""

from math import sqrt
from typing import Any

import numpy as np

from frankwolfe.compiled import kernel
from frankwolfe.engine import Memory
from frankwolfe.objective import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.rounds import RoundEngine
from frankwolfe.verbs import value

NEW = 8
"""Most leading singular vectors of the gradient that a round adds."""

SHARE = 0.2
"""Part of the exact gap that may be left within the subspaces when a round ends."""

INNER_STEPS = 300
"""Most gradient steps in a round."""

LOOK = 10
"""Steps between two looks at the gap within the subspaces."""

NEW_PART = 1e-7
"""Part of a vector that must lie outside a subspace for the vector to widen it."""

NOISE = 1e-15
"""Differences of the objective below this part of its first value are rounding."""

NOTHING = 1e-12
"""Singular values below this part of the radius are rounding."""


@kernel
def total_loss(samples, z):
    """Objective at the predictions ``z``."""
    targets, weights, loss = samples.targets, samples.weights, samples.loss
    total = 0.0
    for i in range(len(z)):
        total += weights[i] * value(loss, z[i], targets[i])
    return total


def project_to_trace_ball(S: np.ndarray, radius: float) -> np.ndarray:
    """Return the point of the trace-norm ball nearest to a small matrix.

    Examples
    --------
    >>> project_to_trace_ball(np.diag([3.0, 1.0]), 2.0)
    array([[2., 0.],
           [0., 0.]])
    """
    left, sizes, right = np.linalg.svd(S, full_matrices=False)
    if sizes.sum() <= radius:
        return S
    levels = (np.cumsum(sizes) - radius) / np.arange(1, len(sizes) + 1)
    level = levels[np.flatnonzero(sizes > levels)[-1]]
    return (left * np.maximum(sizes - level, 0.0)) @ right


def widened(basis: np.ndarray, *blocks: np.ndarray) -> np.ndarray:
    """Return orthonormal columns: those of ``basis`` first, then what the blocks add to them."""
    for block in blocks:
        sizes = np.linalg.norm(block, axis=0)
        rest = block[:, sizes > 0.0] / sizes[sizes > 0.0]
        for _ in range(2):  # once more: after the first time little may be left of a vector, and that little is rough
            rest = rest - basis @ (basis.T @ rest)
            rest = rest[:, np.linalg.norm(rest, axis=0) > NEW_PART]
            rest = rest / np.linalg.norm(rest, axis=0)
        left, sizes, _ = np.linalg.svd(rest, full_matrices=False) if rest.shape[1] else (rest, np.zeros(0), None)
        added = left[:, sizes > NEW_PART]
        basis = np.hstack([basis, added[:, : len(basis) - basis.shape[1]]])
    return basis


class LowRankEngine(RoundEngine):
    """One run of the corrective method on a trace-norm ball, with the face of `frankwolfe.engine.Engine`."""

    def __init__(
        self, problem: Problem, method: Any, batch_size: int, generator: Any, w: Any, memory: Memory | None = None
    ):
        super().__init__(problem, memory)
        self.radius, self.rows = problem.constraint.radius, problem.samples.rows
        self.left, self.sizes, self.right = problem.factors(w)
        self.bound = 0.0

    def warm_up(self) -> None:
        """Compile, or load from the cache."""
        head = self.problem.samples.head(1)
        Point.at(head, head.table())
        total_loss(head, head.table())
        view = self.rows.head(1).sandwich(self.left, self.right)
        view.predict(np.zeros((self.left.shape[1], self.right.shape[1])))

    def w(self) -> Any:
        """Return the iterate, as the problem keeps its weights."""
        return self.problem.assemble(self.left * self.sizes, self.right)

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""
        self.at = self._judge(self.rows.sandwich(self.left, self.right).predict(np.diag(self.sizes)))
        gradient = self.rows.add_all(self.at.alpha.reshape(self.problem.samples.shape), self.problem.size)
        self.found = self.problem.constraint.triplets(-gradient, NEW)
        return gradient, float(self.at.alpha @ self.at.z) + self.radius * self.found.bound

    # --- a round ----------------------------------------------------------------------------------------------

    def _round(self, found: Evaluation) -> None:
        """Widen the subspaces, minimise within them, drop what has no weight."""
        if self.stuck or self._ending:
            return
        slope = self.problem.constraint.matrix(found.gradient)
        rank, before = len(self.sizes), self.at.value
        right = widened(self.right, self.found.right, slope.T @ self.left)
        left = widened(self.left, self.found.left, slope @ self.right)
        S = np.zeros((left.shape[1], right.shape[1]))
        S[np.arange(rank), np.arange(rank)] = self.sizes
        S = self._minimise(self.rows.sandwich(left, right), S, SHARE * found.gap)
        turn_left, sizes, turn_right = np.linalg.svd(S, full_matrices=False)
        kept = sizes > NOTHING * self.radius
        self.left, self.sizes, self.right = left @ turn_left[:, kept], sizes[kept], right @ turn_right.T[:, kept]
        self._found = None
        self.evaluate()
        self.stuck = not self.at.value < before - NOISE * self.scale

    @property
    def _ending(self) -> bool:
        """Whether the budget allows no pass beside the one that ends a round."""
        return self.evaluated + 2 * self.problem.n > self.budget

    def _minimise(self, view: Any, S: np.ndarray, goal: float) -> np.ndarray:
        """Accelerated projected gradients on the small matrix, restarted where the objective rises."""
        z, best, momentum = self.at.z, self.at.value, 1.0
        ahead, at = S, self.at
        for step in range(INNER_STEPS):
            slope = self._slope(view, at)
            if momentum == 1.0 and self._left(slope, S) <= goal:
                break
            S_new, z_new, value = self._descend(view, ahead, slope, at.value)
            if not value < best - NOISE * self.scale:
                if momentum == 1.0 or self._ending:
                    break  # a plain step gains nothing any more
                ahead, at, momentum = S, self._judge(z), 1.0
                continue
            grown = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
            push = (momentum - 1.0) / grown
            ahead, z_ahead = S_new + push * (S_new - S), z_new + push * (z_new - z)
            S, z, best, momentum = S_new, z_new, value, grown
            if self._ending or (step % LOOK == LOOK - 1 and self._left(self._slope(view, self._judge(z)), S) <= goal):
                break
            at = self._judge(z_ahead)
        return S

    def _level(self, z: np.ndarray) -> float:
        """Return the objective where the predictions are ``z``: without derivatives, which cost more."""
        samples = self.problem.samples
        return Point.at(samples, z).value if self.problem.intercept else float(total_loss(samples, z))

    def _slope(self, view: Any, at: Point) -> np.ndarray:
        """Gradient in the small matrix."""
        return view.pull(at.alpha.reshape(self.problem.samples.shape))

    def _left(self, slope: np.ndarray, S: np.ndarray) -> float:
        """Return the gap within the subspaces."""
        return float(np.vdot(slope, S) + self.radius * np.linalg.norm(slope, 2))

    def _descend(self, view: Any, S: np.ndarray, slope: np.ndarray, level: float) -> tuple[np.ndarray, Any, float]:
        """Make a projected gradient step, short enough for the quadratic bound to hold."""
        bound = 0.8 * self.bound or np.linalg.norm(slope) / self.radius
        while True:
            there = project_to_trace_ball(S - slope / bound, self.radius)
            move = there - S
            z = view.predict(there)
            reached = self._level(z)
            promise = level + np.vdot(slope, move) + 0.5 * bound * np.vdot(move, move)
            if reached <= promise + NOISE * self.scale or bound > 1e100:
                self.bound = bound
                return there, z.ravel(), reached
            bound *= 2.0
