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
from frankwolfe.gradients import FullGradient
from frankwolfe.objective import Point
from frankwolfe.problem import Evaluation, Problem
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


class LowRankEngine:
    """One run of the corrective method on a trace-norm ball, with the face of `frankwolfe.engine.Engine`."""

    steady = False  # a round makes as many inner steps as it needs
    certifies = True  # the exact gradient that ends a round also begins the next

    def __init__(
        self, problem: Problem, method: Any, batch_size: int, generator: Any, w: Any, memory: Memory | None = None
    ):
        self.problem, self.radius = problem, problem.constraint.radius
        self.rows = problem.samples.rows
        self.clock = np.array([0 if memory is None else memory.steps])
        self.batch_size, self.evaluations, self.evaluated = 0, problem.n, 0
        self.left, self.sizes, self.right = problem.factors(w)
        self.at: Any = None
        self.scale = np.nan
        self.bound, self.stuck, self.budget = 0.0, False, np.inf
        self._found: Evaluation | None = None

    @property
    def steps(self) -> int:
        """Rounds made, those of the run that is continued included."""
        return int(self.clock[0])

    def warm_up(self) -> None:
        """Compile, or load from the cache."""
        head = self.problem.samples.head(1)
        Point.at(head, head.table())
        total_loss(head, head.table())
        view = self.rows.head(1).sandwich(self.left, self.right)
        view.predict(np.zeros((self.left.shape[1], self.right.shape[1])))

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` rounds; return how many were made (fewer only if something was not finite)."""
        with np.errstate(over="ignore", invalid="ignore"):
            for made in range(steps):
                found = self.evaluate()
                if not np.isfinite(found.value) or not np.isfinite(found.gap):
                    return made
                if not (self.stuck or self._spent):
                    self._round(found)
                self.clock[0] += 1
        return steps

    def w(self) -> Any:
        """Return the iterate, as the problem keeps its weights."""
        return self.problem.assemble(self.left * self.sizes, self.right)

    def evaluate(self) -> Evaluation:
        """Return the exact evaluation at the iterate: one pass over the data, remembered until the next round."""
        if self._found is None:
            self.at = self._judge(self.rows.sandwich(self.left, self.right).predict(np.diag(self.sizes)))
            self.scale = self.scale if self.scale > 0.0 else abs(self.at.value) or 1.0
            alpha = self.at.alpha.reshape(self.problem.samples.shape)
            gradient = self.rows.add_all(alpha, self.problem.size)
            self.found = self.problem.constraint.triplets(-gradient, NEW)
            gap = float(self.at.alpha @ self.at.z) + self.radius * self.found.bound
            self._found = Evaluation(
                self.at.value, gradient, 0.0 if gap < 0.0 else gap, alpha, self.problem.shift_of(self.at)
            )
        return self._found

    def gap_estimate(self) -> float:
        """Return the exact gap, which the next round needs anyway."""
        return self.evaluate().gap

    def meter(self) -> None:
        """Return None: there is no table whose error could be metered."""

    def table_error(self, since: Any) -> float:
        """Return NaN: there is no table."""
        return float("nan")

    def memory(self) -> Memory:
        """Return what a later run can continue from."""
        found = self.evaluate()
        return Memory(self.steps, self.problem.n, FullGradient(found.alpha), found.gradient)

    def first_bad_row(self) -> int | None:
        """Row whose derivative is not finite, if there is one."""
        bad = np.argwhere(~np.isfinite(self.evaluate().alpha))
        return int(bad[0, 0]) if bad.size else None

    # --- a round ----------------------------------------------------------------------------------------------

    def _judge(self, z: np.ndarray) -> Point:
        """Evaluate the objective where the predictions are ``z``; charged as a pass."""
        self.evaluated += self.problem.n
        return Point.at(self.problem.samples, z)

    @property
    def _spent(self) -> bool:
        """Whether the budget allows no further pass, beside the one that ends a round."""
        return self.evaluated + 2 * self.problem.n > self.budget

    def _round(self, found: Evaluation) -> None:
        """Widen the subspaces, minimise within them, drop what has no weight."""
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
                if momentum == 1.0 or self._spent:
                    break  # a plain step gains nothing any more
                ahead, at, momentum = S, self._judge(z), 1.0
                continue
            grown = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
            push = (momentum - 1.0) / grown
            ahead, z_ahead = S_new + push * (S_new - S), z_new + push * (z_new - z)
            S, z, best, momentum = S_new, z_new, value, grown
            if self._spent or (step % LOOK == LOOK - 1 and self._left(self._slope(view, self._judge(z)), S) <= goal):
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
