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
from frankwolfe.inner import judge
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.verbs import value

NEW = 8
"""Most leading singular vectors of the gradient that a round adds."""

SHARE = 0.2
"""Part of the exact gap that may be left within the subspaces when a round ends."""

INNER_STEPS = 300
"""Most gradient steps in a round."""

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
        self.z, self.alpha = problem.samples.table(), problem.samples.table()
        self.value = self.scale = np.nan
        self.bound, self.stuck = 0.0, False
        self._found: Evaluation | None = None

    @property
    def steps(self) -> int:
        """Rounds made, those of the run that is continued included."""
        return int(self.clock[0])

    def warm_up(self) -> None:
        """Compile, or load from the cache."""
        samples = self.problem.samples
        judge(samples, self.z[:0], self.alpha[:0])
        total_loss(samples, self.z[:0])
        view = self.rows.sandwich(self.left, self.right)
        view.predict(np.zeros((self.left.shape[1], self.right.shape[1])))

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` rounds; return how many were made (fewer only if something was not finite)."""
        with np.errstate(over="ignore", invalid="ignore"):
            for made in range(steps):
                found = self.evaluate()
                if not np.isfinite(found.value) or not np.isfinite(found.gap):
                    return made
                if not self.stuck:
                    self._round(found)
                self.clock[0] += 1
        return steps

    def w(self) -> Any:
        """Return the iterate, as the problem keeps its weights."""
        return self.problem.assemble(self.left * self.sizes, self.right)

    def evaluate(self) -> Evaluation:
        """Return the exact evaluation at the iterate: one pass over the data, remembered until the next round."""
        if self._found is None:
            self.z = self.rows.sandwich(self.left, self.right).predict(np.diag(self.sizes))
            self.value = self._judge(self.z, self.alpha)
            if np.isnan(self.scale):
                self.scale = abs(self.value) or 1.0
            gradient = self.rows.add_all(self.alpha, self.problem.size)
            here = float(np.vdot(self.alpha, self.z))
            self.found = self.problem.constraint.triplets(-gradient, NEW)
            gap = max(0.0, here + self.radius * self.found.bound)
            self._found = Evaluation(self.value, gradient, gap, self.alpha.copy())
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
        bad = np.argwhere(~np.isfinite(self.alpha))
        return int(bad[0, 0]) if bad.size else None

    # --- a round ----------------------------------------------------------------------------------------------

    def _judge(self, z: np.ndarray, alpha: np.ndarray) -> float:
        """Fill in all derivatives at the predictions ``z`` and return the objective; charged as a pass."""
        self.evaluated += self.problem.n
        return float(judge(self.problem.samples, z, alpha))

    def _round(self, found: Evaluation) -> None:
        """Widen the subspaces, minimise within them, drop what has no weight."""
        slope = self.problem.constraint.matrix(found.gradient)
        rank, before = len(self.sizes), self.value
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
        self.stuck = not self.value < before - NOISE * self.scale

    def _minimise(self, view: Any, S: np.ndarray, goal: float) -> np.ndarray:
        """Accelerated projected gradients on the small matrix, restarted where the objective rises."""
        alpha, z, best = self.alpha.copy(), self.z, self.value
        ahead, z_ahead, momentum = S, z, 1.0
        for step in range(INNER_STEPS):
            level = best if momentum == 1.0 else self._judge(z_ahead, alpha)
            slope = view.pull(alpha)
            if momentum == 1.0:
                gap = np.vdot(slope, S) + self.radius * np.linalg.norm(slope, 2)
                if gap <= goal:
                    break
            S_new, z_new, best_new = self._descend(view, ahead, slope, level)
            if best_new > best - NOISE * self.scale:
                if momentum == 1.0:
                    break  # a plain step gains nothing any more
                ahead, z_ahead, momentum = S, z, 1.0
                best = self._judge(z, alpha)
                continue
            grown = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
            push = (momentum - 1.0) / grown
            ahead, z_ahead = S_new + push * (S_new - S), z_new + push * (z_new - z)
            S, z, best, momentum = S_new, z_new, best_new, grown
            if step % 10 == 9:
                self._judge(z, alpha)
                slope = view.pull(alpha)
                if np.vdot(slope, S) + self.radius * np.linalg.norm(slope, 2) <= goal:
                    break
        return S

    def _descend(self, view: Any, S: np.ndarray, slope: np.ndarray, level: float) -> tuple[np.ndarray, Any, float]:
        """Make a projected gradient step, short enough for the quadratic bound to hold."""
        bound = 0.8 * self.bound or np.linalg.norm(slope) / self.radius
        while True:
            there = project_to_trace_ball(S - slope / bound, self.radius)
            move = there - S
            z = view.predict(there)
            reached = float(total_loss(self.problem.samples, z))
            promise = level + np.vdot(slope, move) + 0.5 * bound * np.vdot(move, move)
            if reached <= promise + NOISE * self.scale or bound > 1e100:
                self.bound = bound
                return there, z, reached
            bound *= 2.0
