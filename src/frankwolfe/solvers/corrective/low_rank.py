"""The corrective method for the trace-norm ball: minimise the objective over matrices in growing subspaces.

The iterate is ``W = U S V'`` with few columns in ``U`` and ``V``. A round computes the exact gradient ``G``, which
certifies, and extends both subspaces by

- the leading singular vectors of ``G``: the vertices that Frank-Wolfe steps would add;
- ``G V`` (for ``U``) and ``G' U`` (for ``V``);
- the vectors of the previous round, as conjugate gradients extend gradient descent.

Newton steps then minimise the objective over the small matrix ``S`` in the trace-norm ball. Each step minimises a
quadratic model within the ball and makes a line search on the objective. Projections act on small matrices only. An SVD
of ``S`` drops the directions without weight.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Weights
from frankwolfe.linalg.matrices import pseudo_inverse
from frankwolfe.linalg.singular import ROUNDING, Triplets, widened
from frankwolfe.losses.base import LossArrays
from frankwolfe.objective.point import Point
from frankwolfe.objective.tasks import curvatures, evaluate_losses, shifted_by, weighted
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.shards.local import Local
from frankwolfe.solvers.corrective.rounds import RoundSolver, is_new_kind
from frankwolfe.solvers.state import built, flat

VALUE_ROUNDING = 1e-15
"""Changes of the objective below this fraction of its first value are treated as rounding."""


# --- tasks ------------------------------------------------------------------------------------------------------------


class Curved(NamedTuple):
    """Second derivative of the losses in the predictions, at a point.

    With one output it is the array ``curvatures``. With several, it is applied as a Hessian-vector product at ``z``.
    """

    samples: Any
    losses: LossArrays
    curvatures: np.ndarray | None
    z: np.ndarray

    def times(self, change: np.ndarray) -> np.ndarray:
        """Return the weighted second derivative times a change of the predictions."""
        if self.curvatures is not None:
            return self.curvatures * change
        samples = self.samples
        return weighted(samples.weights, self.losses.hessian_product(self.z, samples.targets, change))

    def in_intercept(self) -> np.ndarray:
        """Return the Hessian in the intercept, of shape (outputs, outputs)."""
        if self.curvatures is not None:
            return np.array([[self.curvatures.sum()]])
        shape = self.samples.shape
        return np.array([self.times(np.broadcast_to(row, shape)).sum(axis=0) for row in np.eye(shape[1])])


def curved_at(local: Local, z: np.ndarray, shift: Any, losses: np.ndarray, alpha: np.ndarray, floor: float) -> Curved:
    """Return the second derivative of the losses at a point."""
    several = len(local.samples.shape) > 1
    D = None if several else curvatures(local, z, shift, losses, alpha, 1.0, floor)
    return Curved(local.samples, local.losses, D, shifted_by(local, z, shift))


def view(local: Local, left: np.ndarray, right: np.ndarray) -> Any:
    """Return the linear map from ``S`` to the predictions of ``left S right'``; it holds ``X left`` where possible."""
    return local.samples.rows.sandwich(left, right)


def seen(local: Local, view: Any, S: np.ndarray) -> np.ndarray:
    """Return the predictions of ``left S right'``, in the shape of the targets."""
    return view.predict(S).reshape(local.samples.shape)


def pull(local: Local, view: Any, alpha: np.ndarray) -> tuple:
    """Return the gradient in ``S``, from the derivatives ``alpha`` in the predictions."""
    return (view.pull(alpha.reshape(local.samples.shape)),)


def product(local: Local, view: Any, curved: Curved, S: np.ndarray) -> tuple:
    """Return the Hessian in ``S`` times a matrix, and the mixed derivative (intercept and ``S``) times that matrix."""
    out = curved.times(seen(local, view, S))
    return view.pull(out), np.atleast_1d(out.sum(axis=0))


def small_hessian(local: Local, view: Any, curved: Curved, shape: tuple[int, int]) -> tuple:
    """Return three blocks of the Hessian: in ``S``, mixed (intercept and ``S``), and in the intercept."""
    units = np.eye(shape[0] * shape[1])
    columns, sums = zip(*(product(local, view, curved, unit.reshape(shape)) for unit in units), strict=True)
    return np.array(columns).reshape(units.shape), np.array(sums).T, curved.in_intercept()


def intercept_pulls(local: Local, view: Any, curved: Curved) -> tuple:
    """Return the mixed Hessian in intercept and ``S``, one matrix per output, and the Hessian in the intercept."""
    shape = local.samples.shape
    units = np.eye(shape[1]) if len(shape) > 1 else np.ones((1, 1))
    return np.array([view.pull(curved.times(np.broadcast_to(unit, shape))) for unit in units]), curved.in_intercept()


class LowRankSolver(RoundSolver):
    """One run of the corrective method on a trace-norm ball."""

    remembered = (*RoundSolver.remembered, "left", "sizes", "right", "curvature", "last_left", "last_right", "last_gap")

    def __init__(self, problem: Problem, w: Weights, earlier: Mapping[str, Any] | None = None):
        super().__init__(problem, w, earlier)
        structure = problem.constraint.structure()
        self.norm, self.shift = structure.trace_norm, structure.shift
        self.radius = self.norm.radius
        self.left, self.sizes, self.right = problem.factors(w if self.shift is None else w - self.shift)
        self.curvature = 0.0
        self.found = Triplets(self.left[:, :0], np.zeros(0), self.right[:, :0], 0.0)
        self.last_left, self.last_right = self.left[:, :0], self.right[:, :0]
        self.last_gap = np.inf

    def warm_up(self) -> None:
        """Compile the kernels, or load them from the cache. Workers of a cluster compile them on first use."""
        if not is_new_kind(type(self), self.problem):
            return
        head, losses = self.problem.head(1).samples, self.problem.objective.losses
        evaluate_losses(head.targets, head.weights, losses, head.table(), np.empty(1), head.table())
        if len(head.shape) > 1:
            losses.hessian_product(head.table(), head.targets, head.table())
        head.rows.sandwich(self.left, self.right).predict(np.zeros((self.left.shape[1], self.right.shape[1])))

    def point(self) -> Any:
        """Return a copy of the iterate, in the type that the problem uses for its weights."""
        w = self.problem.assemble(self.left * self.sizes, self.right)
        return w if self.shift is None else w + self.shift

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Set ``at`` to the point at the iterate. Return the gradient and the exact gap there."""
        if self.shift is None and not self.problem.objective.shards.calls_are_costly:
            z = self._predictions(self._view(self.left, self.right), np.diag(self.sizes))
            self.at = self._evaluate_predictions(z, self._linear(self.left, np.diag(self.sizes), self.right))
            gradient = self.problem.objective.gradient(self.at.alpha)
            own = float(self.at.alpha @ z.ravel()) + self.at.linear
        else:  # the set's shift may nearly cancel the weights, so rounding is that of the assembled weights
            w = self.point()
            self.at, gradient = self._evaluate_weights(w)
            own = float(gradient @ (w if self.shift is None else w - self.shift))
        self.found = self._triplets(-gradient)
        gap = own + self.radius * self.found.bound
        self.last_gap = max(gap, 0.0)
        return gradient, gap

    def _triplets(self, r: np.ndarray) -> Triplets:
        """Return leading singular triplets of ``r``. Iterative methods stop at an accuracy relative to the last gap."""
        level = self.radius * self.found.bound
        loose = 0.05 * min(1.0, self.last_gap / level) if level > 0.0 else 0.05
        start = self.right if len(self.left) >= len(self.right) else self.left
        # With at least four vectors instead of eight, low-rank problems take a third more passes.
        return self.norm.triplets(r, max(8, len(self.sizes)), tolerance=loose, start=start, proof=True)

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied."""
        return super().state() | flat("triplets", self.found)

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        super()._restore(state)
        self.found = built(Triplets, "triplets", state)

    # --- a round ----------------------------------------------------------------------------------------------

    @property
    def exhausted(self) -> bool:
        """Whether the budget allows no further pass, with one reserved for the end of the round."""
        return self.rows_read + 2 * self.problem.n > self.budget

    def _round(self, found: Evaluation) -> None:
        """Extend the subspaces, minimise within them, and drop singular vectors without weight."""
        if self.stuck or self.exhausted:
            return
        slope = self.norm.matrix(found.gradient)
        rank, before = len(self.sizes), self.at.value
        sure = self.found.values > ROUNDING * self.found.bound
        right = widened(self.right, self.found.right[:, sure], slope.T @ self.left, self.last_right)
        left = widened(self.left, self.found.left[:, sure], slope @ self.right, self.last_left)
        self.last_left, self.last_right = self.left, self.right
        S = np.zeros((left.shape[1], right.shape[1]))
        S[np.arange(rank), np.arange(rank)] = self.sizes
        S = self._minimise(self._view(left, right), S, 0.2 * found.gap, left, right)
        turn_left, sizes, turn_right = np.linalg.svd(S, full_matrices=False)
        kept = sizes > 1e-12 * self.radius
        self.left, self.sizes, self.right = left @ turn_left[:, kept], sizes[kept], right @ turn_right.T[:, kept]
        self._found = None
        self._exact()
        self.stuck = not (self.at.value < before - VALUE_ROUNDING * self.scale or self.last_gap < 0.9 * found.gap)

    def _view(self, left: np.ndarray, right: np.ndarray) -> Any:
        """Return the linear map from ``S`` to the predictions of ``left S right'`` (see `view`)."""
        return self.problem.objective.shards.keep(view, left, right)

    @cached_property
    def _base(self) -> Any:
        """Predictions of the shift that the set adds to all its points."""
        return self.problem.objective.predict(self.shift)

    def _predictions(self, view: Any, S: np.ndarray) -> Any:
        """Return the predictions of ``left S right'`` plus the set's shift."""
        z = self.problem.objective.shards.keep(seen, view, S)
        return z if self.shift is None else self.problem.objective.sum_of(z, self._base)

    def _linear(self, left: np.ndarray, S: np.ndarray, right: np.ndarray) -> float:
        """Return the linear term at the weights ``left S right'`` plus the set's shift."""
        objective = self.problem.objective
        if objective.coefficients is None:
            return 0.0
        own = float(np.vdot(left.T @ self.norm.matrix(objective.coefficients) @ right, S))
        return own if self.shift is None else own + objective.linear(self.shift)

    def _minimise(self, view: Any, S: np.ndarray, goal: float, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Make Newton steps on ``S`` until its Frank-Wolfe gap is at most ``goal``."""
        linear = self.problem.objective.coefficients
        pushed = 0.0 if linear is None else left.T @ self.norm.matrix(linear) @ right
        for _ in range(10):
            slope = self.problem.objective.shards.run(pull, view, self.at.alpha)[0] + pushed
            if gap_within(slope, S, self.radius) <= goal or self._ends_early():
                break
            model = TraceModel(self._products(view, self.at, S.shape), S, slope, self.radius)
            # First guess of the largest curvature: 70% of the last one, the curvature along the gradient (which is
            # rarely much smaller) or, if that is zero, that for which a gradient step has the length of the radius.
            along = float(np.vdot(slope, model.product(slope)) / np.vdot(slope, slope)) if not self.curvature else 0.0
            self.curvature = 0.7 * self.curvature or along or float(np.linalg.norm(slope)) / self.radius
            there, self.curvature = model.minimum(self.curvature, 60, 0.5 * goal)
            if not np.isfinite(self.curvature):
                self.curvature = 0.0
                break
            fall = -float(np.vdot(slope, there - S))
            found = self._line_search(view, S, there - S, fall, self._linear(left, there, right))
            if found is None:
                break
            S, self.at = found
        return S

    def _line_search(
        self, view: Any, S: np.ndarray, change: np.ndarray, fall: float, linear: float
    ) -> tuple[np.ndarray, Any] | None:
        """Line search along ``change``, to the linear term at its end. Return the new ``S`` and its point, or None."""

        def predict(gamma: float) -> Any:
            return self._predictions(view, S + gamma * change)

        z, end, rounding = predict(1.0), None, VALUE_ROUNDING * self.scale
        if fall <= rounding:
            end = self._evaluate_predictions(z, linear)
            if abs(fall) + abs(end.value - self.at.value) <= rounding:  # accept the step of the model
                return S + change, end
        found = self._search_toward(z, fall, end, predict, linear)
        return None if found is None else (S + found[0] * change, found[1])

    def _products(self, view: Any, at: Point, shape: tuple[int, int]) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that multiplies by the Hessian in ``S``.

        An intercept is eliminated: ``H - C' T^+ C`` with the mixed Hessian ``C`` and the intercept's Hessian ``T``.
        Where calls are costly and ``S`` is small, the Hessian is formed once.
        """
        shards, floor = self.problem.objective.shards, 1e-8 * self.problem.objective.curvature_scale
        curved = shards.keep(curved_at, at.z, at.shift, at.losses, at.alpha, floor)
        free = self.problem.intercept
        if shards.calls_are_costly and shape[0] * shape[1] <= 1500:
            H, cross, total = shards.run(small_hessian, view, curved, shape)
            if free:
                H = H - cross.T @ pseudo_inverse(0.5 * (total + total.T)) @ cross
            return lambda S: (H @ S.ravel()).reshape(shape)
        inverse, pulls = None, np.zeros(0)
        if free:
            pulls, total = shards.run(intercept_pulls, view, curved)
            inverse = pseudo_inverse(0.5 * (total + total.T))

        def multiplied(S: np.ndarray) -> np.ndarray:
            found, sums = shards.run(product, view, curved, S)
            return found if inverse is None else found - np.tensordot(inverse @ sums, pulls, axes=1)

        return multiplied


# --- a quadratic model over small matrices, minimised by accelerated projected gradients ------------------------------


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


def gap_within(slope: np.ndarray, S: np.ndarray, radius: float) -> float:
    """Return the Frank-Wolfe gap over the trace-norm ball at ``S``, where the gradient is ``slope``."""
    return float(np.vdot(slope, S) + radius * np.linalg.norm(slope, 2))


class TraceModel(NamedTuple):
    """The quadratic ``<slope, S - S_0> + <S - S_0, H (S - S_0)> / 2``.

    Attributes
    ----------
    product : function
        Hessian-vector product, from a matrix ``S`` to ``H S``.
    centre, slope : arrays
        ``S_0`` and the gradient there.
    radius : float
        Radius of the trace-norm ball.
    """

    product: Callable[[np.ndarray], np.ndarray]
    centre: np.ndarray
    slope: np.ndarray
    radius: float

    def minimum(self, bound: float, steps: int, goal: float) -> tuple[np.ndarray, float]:
        """Return a matrix whose gap in the model is at most ``goal``, and the estimate of the largest curvature.

        The method is accelerated projected gradients (Beck and Teboulle 2009), restarted when a step opposes the
        momentum (O'Donoghue and Candes 2015). ``bound`` is the first guess of the largest curvature. A step costs one
        Hessian-vector product: products at extrapolated points follow by linearity.
        """
        here = ahead = self.centre
        H_here = H_ahead = np.zeros_like(self.slope)  # the Hessian times the distance from the centre
        momentum = 1.0
        for step in range(steps):
            there, H_there, bound = self._descend(ahead, H_ahead, bound)
            if not np.isfinite(bound):
                break
            turns_back = np.vdot(ahead - there, there - here) > 0.0
            grown = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
            push = 0.0 if turns_back else (momentum - 1.0) / grown
            momentum = 1.0 if turns_back else grown
            ahead, H_ahead = there + push * (there - here), H_there + push * (H_there - H_here)
            here, H_here = there, H_there
            last = step % 5 == 4
            if last and gap_within(self.slope + H_here, here, self.radius) <= goal:
                break
        return here, bound

    def _descend(self, S: np.ndarray, H_S: np.ndarray, bound: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Make a projected gradient step from ``S``, raising ``bound`` until it is at least the curvature of the step.

        Returns the new matrix, the Hessian times its distance from the centre, and ``bound``.
        """
        slope = self.slope + H_S
        while True:
            there = project_to_trace_ball(S - slope / bound, self.radius)
            move = there - S
            change = self.product(move)  # computed directly: a difference of products would cancel
            if not np.vdot(move, change) > bound * np.vdot(move, move) * (1.0 + 1e-9) or bound > 1e300:
                return there, H_S + change, bound
            bound *= 1.5
