"""The corrective method for the trace-norm ball: subspaces grow, and the best matrix within them is found.

The iterate is ``W = U S V'`` with few columns in ``U`` and ``V``. A round takes the exact gradient, which certifies,
and widens both subspaces by

- the gradient's leading singular vectors: the vertices that Frank-Wolfe steps would add;
- what the gradient maps the present vectors to;
- the vectors of the round before, which is to such rounds what conjugate directions are to gradient steps.

Then the objective is minimised over the small matrix ``S``, in the trace-norm ball of its own size, by Newton steps: a
quadratic model is minimised within the ball, and a line search follows on the true objective. Nothing is projected in
the large space. A decomposition of ``S`` drops the directions without weight.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import hessian_product, value
from frankwolfe.engines.corrective.rounds import RoundEngine
from frankwolfe.engines.corrective.trace_model import TraceModel, gap_within
from frankwolfe.engines.state import built, flat
from frankwolfe.linalg.matrices import EliminatedIntercept
from frankwolfe.linalg.singular import ROUNDING, Triplets, widened
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem

MIN_NEW_VECTORS = 8
"""Fewest leading singular vectors of the gradient that a round adds; else as many as there are already. Twice as many:
no difference; half: passes on the low-rank problem grow by a third, and its time too."""

GAP_LEFT_BY_ROUND = 0.2
"""Part of the exact gap that may be left within the subspaces when a round ends. Twice or half: no difference."""

MAX_NEWTON_STEPS = 10
"""Most Newton steps in a round. Twice or half as many: no difference, for a round ends sooner."""

MAX_PROJECTIONS = 60
"""Most projections for a Newton step. Twice or half as many: no difference."""

MAX_HALVINGS = 30
"""Most shorter steps that a line search tries. Twice or half as many: no difference."""

ARMIJO = 0.01
"""Part of the decrease that the slope promises which a step must bring (Armijo's rule). Twice or half: no
difference."""

CURVATURE_FLOOR = 1e-8
"""Smallest curvature of a sample in a model, as a part of the largest there can be. Twice or half: no difference."""

VALUE_ROUNDING = 1e-15
"""Differences of the objective below this part of its first value are rounding. Twice or half: no difference."""

ZERO_SINGULAR_VALUE = 1e-12
"""Singular values below this part of the radius are rounding. Twice or half: no difference."""

BOUND_SLACK = 0.05
"""Part of the last gap by which the bound on the next one may be loose, where it is not exact. Twice or half: no
difference."""


@kernel
def total_loss(targets, weights, loss, z):
    """Objective at the predictions ``z``."""
    total = 0.0
    for i in range(len(z)):
        total += weights[i] * value(loss, z[i], targets[i])
    return total


@kernel
def hessian_products(targets, weights, loss, z, change, bent):
    """Fill ``bent`` with the second derivatives at ``z`` times ``change``, for losses of several outputs."""
    for i in range(len(z)):
        bent[i] = weights[i] * hessian_product(loss, z[i], targets[i], change[i])


class LowRankEngine(RoundEngine):
    """One run of the corrective method on a trace-norm ball."""

    remembered = (*RoundEngine.remembered, "left", "sizes", "right", "bound", "last_left", "last_right", "last_gap")

    def __init__(self, problem: Problem, w: Any, earlier: Mapping[str, Any] | None = None):
        super().__init__(problem, earlier)
        structure = problem.constraint.structure()
        self.norm, self.shift, self.rows = structure.trace_norm, structure.shift, problem.samples.rows
        self.radius = self.norm.radius
        self.left, self.sizes, self.right = problem.factors(w if self.shift is None else w - self.shift)
        self.bound = 0.0
        self.found = Triplets(self.left[:, :0], np.zeros(0), self.right[:, :0], 0.0)
        self.last_left, self.last_right = self.left[:, :0], self.right[:, :0]
        self.last_gap = np.inf

    def warm_up(self) -> None:
        """Compile, or load from the cache."""
        few = self.problem.head(1)
        head, loss = few.samples, self.problem.loss
        few.objective.point(head.table())
        total_loss(head.targets, head.weights, loss, head.table())
        if len(head.shape) > 1:
            hessian_products(head.targets, head.weights, loss, head.table(), head.table(), head.table())
        view = self.rows.block(slice(0, 1)).sandwich(self.left, self.right)
        view.predict(np.zeros((self.left.shape[1], self.right.shape[1])))

    def point(self) -> Any:
        """Return the iterate as a new object, as the problem keeps its weights."""
        w = self.problem.assemble(self.left * self.sizes, self.right)
        return w if self.shift is None else w + self.shift

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""
        if self.shift is None:
            z = self.rows.sandwich(self.left, self.right).predict(np.diag(self.sizes))
        else:  # what is added may all but cancel: only the sum itself says what its rounding does
            w = self.point()
            z = self.problem.objective.predict(w)
        self.at = self._evaluate_predictions(z)
        gradient = self.problem.objective.gradient(self.at.alpha)
        self.found = self._triplets(-gradient)
        own = float(self.at.alpha @ z.ravel()) if self.shift is None else float(gradient @ (w - self.shift))
        gap = own + self.radius * self.found.bound
        self.last_gap = max(gap, 0.0)
        return gradient, gap

    def _triplets(self, r: np.ndarray) -> Triplets:
        """Return leading singular triplets; where they cannot be exact, as close as the last gap makes worth while."""
        level = self.radius * self.found.bound
        loose = BOUND_SLACK * min(1.0, self.last_gap / level) if level > 0.0 else BOUND_SLACK
        start = self.right if len(self.left) >= len(self.right) else self.left
        return self.norm.triplets(r, max(MIN_NEW_VECTORS, len(self.sizes)), tolerance=loose, start=start, proof=True)

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the engine's own."""
        return super().state() | flat("triplets", self.found)

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take over all that a state holds."""
        super()._restore(state)
        self.found = built(Triplets, "triplets", state)

    # --- a round ----------------------------------------------------------------------------------------------

    @property
    def spent(self) -> bool:
        """Whether the budget allows no further pass, beside the one that ends a round."""
        return self.rows_read + 2 * self.problem.n > self.budget

    def _round(self, found: Evaluation) -> None:
        """Widen the subspaces, minimise within them, drop what has no weight."""
        if self.stuck or self.spent:
            return
        slope = self.norm.matrix(found.gradient)
        rank, before = len(self.sizes), self.at.value
        sure = self.found.values > ROUNDING * self.found.bound
        right = widened(self.right, self.found.right[:, sure], slope.T @ self.left, self.last_right)
        left = widened(self.left, self.found.left[:, sure], slope @ self.right, self.last_left)
        self.last_left, self.last_right = self.left, self.right
        S = np.zeros((left.shape[1], right.shape[1]))
        S[np.arange(rank), np.arange(rank)] = self.sizes
        S = self._minimise(self._view(left, right), S, GAP_LEFT_BY_ROUND * found.gap)
        turn_left, sizes, turn_right = np.linalg.svd(S, full_matrices=False)
        kept = sizes > ZERO_SINGULAR_VALUE * self.radius
        self.left, self.sizes, self.right = left @ turn_left[:, kept], sizes[kept], right @ turn_right.T[:, kept]
        self._found = None
        self._exact()
        self.stuck = not (self.at.value < before - VALUE_ROUNDING * self.scale or self.last_gap < 0.9 * found.gap)

    def _view(self, left: np.ndarray, right: np.ndarray) -> Any:
        """Return the data as matrices ``left S right'`` see it."""
        return self.rows.sandwich(left, right)

    def _minimise(self, view: Any, S: np.ndarray, goal: float) -> np.ndarray:
        """Make Newton steps on the small matrix until its gap is at most ``goal``."""
        at = self.at
        for _ in range(MAX_NEWTON_STEPS):
            slope = view.pull(at.alpha.reshape(self.problem.samples.shape))
            left = gap_within(slope, S, self.radius)
            if left <= goal or self.spent:
                break
            model = TraceModel(view, self._hessian_at(at), S, slope, self.radius)
            # where there is no curvature along the slope, a step as long as the radius is as good a guess as any
            self.bound = 0.7 * self.bound or model.first_bound() or float(np.linalg.norm(slope)) / self.radius
            there, z, self.bound = model.minimum(self.bound, MAX_PROJECTIONS, 0.5 * goal)
            if not np.isfinite(self.bound):
                self.bound = 0.0
                break
            gamma = self._line_search(at, z.ravel(), float(np.vdot(slope, there - S)))
            if gamma == 0.0:
                break
            S, at = S + gamma * (there - S), self._evaluate_predictions(at.z + gamma * z.ravel())
        return S

    def _hessian_at(self, at: Point) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function from changes of predictions to what the derivatives change by, to first order."""
        samples, loss, objective = self.problem.samples, self.problem.loss, self.problem.objective
        if len(samples.shape) == 1:
            curvatures = objective.curvatures(at, 1.0, CURVATURE_FLOOR * objective.curvature_scale)
            return (
                EliminatedIntercept.diagonal(curvatures, samples.shape)
                if self.problem.intercept
                else curvatures.__mul__
            )
        z = at.shifted().reshape(samples.shape)

        def bent(change: np.ndarray) -> np.ndarray:
            out = np.empty(samples.shape)
            hessian_products(samples.targets, samples.weights, loss, z, np.ascontiguousarray(change), out)
            return out

        return EliminatedIntercept(bent, samples.shape) if self.problem.intercept else bent

    def _line_search(self, at: Point, z: np.ndarray, fall: float) -> float:
        """Return how far to go along a change ``z`` of the predictions: all the way, or half as far and so on."""
        gamma = 1.0
        for _ in range(MAX_HALVINGS):
            reached = self._level(at.z + gamma * z)
            if (
                reached < at.value + ARMIJO * gamma * fall
                or abs(fall) + abs(reached - at.value) <= VALUE_ROUNDING * self.scale
            ):
                return gamma  # where all is rounding, the model knows better than the objective
            gamma *= 0.5
        return 0.0

    def _level(self, z: np.ndarray) -> float:
        """Return the objective where the predictions are ``z``: without derivatives, which cost more."""
        samples = self.problem.samples
        if self.problem.intercept:
            return self.problem.objective.point(z, self.at).value
        return float(total_loss(samples.targets, samples.weights, samples.loss, z.reshape(samples.shape)))
