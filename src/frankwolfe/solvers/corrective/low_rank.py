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
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.linalg.matrices import pseudo_inverse
from frankwolfe.linalg.singular import ROUNDING, Triplets, widened
from frankwolfe.losses.loss_arrays import LossArrays
from frankwolfe.objective.point import Point
from frankwolfe.objective.tasks import curvatures, evaluate_losses, shifted_by, weighted
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.shards.local import Local
from frankwolfe.solvers.corrective.rounds import RoundSolver
from frankwolfe.solvers.corrective.start import is_new_kind
from frankwolfe.solvers.state import built, flat

MIN_NEW_VECTORS = 8
"""Fewest leading singular vectors of the gradient that a round adds; else as many as there are already. Twice as many:
no difference; half: passes on the low-rank problem grow by a third, and its time too."""

MOST_FORMED = 1500
"""Most entries of ``S`` for which the Hessian is formed where calls are costly: it has the square of their number."""

VALUE_ROUNDING = 1e-15
"""Differences of the objective below this part of its first value are rounding."""


# --- tasks ------------------------------------------------------------------------------------------------------------


class Curved(NamedTuple):
    """Second derivatives of the losses at a point: curvatures, or with several outputs the predictions there."""

    samples: Any
    losses: LossArrays
    curvatures: np.ndarray | None
    z: np.ndarray

    def times(self, change: np.ndarray) -> np.ndarray:
        """Return the second derivatives times a change of the predictions."""
        if self.curvatures is not None:
            return self.curvatures * change
        samples = self.samples
        return weighted(samples.weights, self.losses.hessian_product(self.z, samples.targets, change))

    def in_intercept(self) -> np.ndarray:
        """Return the second derivative in the intercept."""
        if self.curvatures is not None:
            return np.array([[self.curvatures.sum()]])
        shape = self.samples.shape
        return np.array([self.times(np.broadcast_to(row, shape)).sum(axis=0) for row in np.eye(shape[1])])


def curved_at(local: Local, z: np.ndarray, shift: Any, losses: np.ndarray, alpha: np.ndarray, floor: float) -> Curved:
    """Return the second derivatives at a point."""
    several = len(local.samples.shape) > 1
    D = None if several else curvatures(local, z, shift, losses, alpha, 1.0, floor)
    return Curved(local.samples, local.losses, D, shifted_by(local, z, shift))


def view(local: Local, left: np.ndarray, right: np.ndarray) -> Any:
    """Return the data as matrices ``left S right'`` see it: with several outputs ``X left``."""
    return local.samples.rows.sandwich(left, right)


def seen(local: Local, view: Any, S: np.ndarray) -> np.ndarray:
    """Return the predictions of ``left S right'``, in the shape of the targets."""
    return view.predict(S).reshape(local.samples.shape)


def pull(local: Local, view: Any, alpha: np.ndarray) -> tuple:
    """Return the gradient in ``S``."""
    return (view.pull(alpha.reshape(local.samples.shape)),)


def product(local: Local, view: Any, curved: Curved, S: np.ndarray) -> tuple:
    """Return the Hessian in ``S`` times a matrix, and the sums over samples that an intercept needs."""
    out = curved.times(seen(local, view, S))
    return view.pull(out), np.atleast_1d(out.sum(axis=0))


def small_hessian(local: Local, view: Any, curved: Curved, shape: tuple[int, int]) -> tuple:
    """Return the Hessian in the entries of ``S``, that in intercept and entries, and that in the intercept."""
    columns, sums, S = [], [], np.zeros(shape)
    for k in range(S.size):
        S.flat[k] = 1.0
        bent, total = product(local, view, curved, S)
        columns.append(bent.ravel())
        sums.append(total)
        S.flat[k] = 0.0
    return np.array(columns), np.array(sums).T, curved.in_intercept()


def intercept_pulls(local: Local, view: Any, curved: Curved) -> tuple:
    """Return the second derivative in intercept and ``S``, a matrix for each output, and that in the intercept."""
    shape = local.samples.shape
    units = np.eye(shape[1]) if len(shape) > 1 else np.ones((1, 1))
    return np.array([view.pull(curved.times(np.broadcast_to(unit, shape))) for unit in units]), curved.in_intercept()


class LowRankSolver(RoundSolver):
    """One run of the corrective method on a trace-norm ball."""

    remembered = (*RoundSolver.remembered, "left", "sizes", "right", "bound", "last_left", "last_right", "last_gap")

    def __init__(self, problem: Problem, w: Any, earlier: Mapping[str, Any] | None = None):
        super().__init__(problem, earlier)
        structure = problem.constraint.structure()
        self.norm, self.shift = structure.trace_norm, structure.shift
        self.radius = self.norm.radius
        self.left, self.sizes, self.right = problem.factors(w if self.shift is None else w - self.shift)
        self.bound = 0.0
        self.found = Triplets(self.left[:, :0], np.zeros(0), self.right[:, :0], 0.0)
        self.last_left, self.last_right = self.left[:, :0], self.right[:, :0]
        self.last_gap = np.inf

    def warm_up(self) -> None:
        """Compile, or load from the cache; on a cluster workers compile when they first need it."""
        if not is_new_kind(type(self), self.problem):
            return
        head, losses = self.problem.head(1).samples, self.problem.objective.losses
        evaluate_losses(head.targets, head.weights, losses, head.table(), np.empty(1), head.table())
        if len(head.shape) > 1:
            losses.hessian_product(head.table(), head.targets, head.table())
        head.rows.sandwich(self.left, self.right).predict(np.zeros((self.left.shape[1], self.right.shape[1])))

    def point(self) -> Any:
        """Return the iterate as a new object, as the problem keeps its weights."""
        w = self.problem.assemble(self.left * self.sizes, self.right)
        return w if self.shift is None else w + self.shift

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""
        if self.shift is None and not self.problem.objective.shards.calls_are_costly:
            z = self._predictions(self._view(self.left, self.right), np.diag(self.sizes))
            self.at = self._evaluate_predictions(z)
            gradient, own = self.problem.objective.gradient(self.at.alpha), float(self.at.alpha @ z.ravel())
        else:  # what is added may all but cancel: only the sum itself says what its rounding does
            w = self.point()
            self.at, gradient = self._evaluate_weights(w)
            own = float(gradient @ (w if self.shift is None else w - self.shift))
        self.found = self._triplets(-gradient)
        gap = own + self.radius * self.found.bound
        self.last_gap = max(gap, 0.0)
        return gradient, gap

    def _triplets(self, r: np.ndarray) -> Triplets:
        """Return leading singular triplets; where they cannot be exact, as close as the last gap makes worth while."""
        level = self.radius * self.found.bound
        loose = 0.05 * min(1.0, self.last_gap / level) if level > 0.0 else 0.05
        start = self.right if len(self.left) >= len(self.right) else self.left
        return self.norm.triplets(r, max(MIN_NEW_VECTORS, len(self.sizes)), tolerance=loose, start=start, proof=True)

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the solver's own."""
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
        S = self._minimise(self._view(left, right), S, 0.2 * found.gap)
        turn_left, sizes, turn_right = np.linalg.svd(S, full_matrices=False)
        kept = sizes > 1e-12 * self.radius
        self.left, self.sizes, self.right = left @ turn_left[:, kept], sizes[kept], right @ turn_right.T[:, kept]
        self._found = None
        self._exact()
        self.stuck = not (self.at.value < before - VALUE_ROUNDING * self.scale or self.last_gap < 0.9 * found.gap)

    def _view(self, left: np.ndarray, right: np.ndarray) -> Any:
        """Return the data as matrices ``left S right'`` see it."""
        return self.problem.objective.shards.keep(view, left, right)

    @cached_property
    def _base(self) -> Any:
        """Predictions of what the set adds to every point."""
        return self.problem.objective.predict(self.shift)

    def _predictions(self, view: Any, S: np.ndarray) -> Any:
        """Return the predictions of ``left S right'``, with what the set adds to every point."""
        z = self.problem.objective.shards.keep(seen, view, S)
        return z if self.shift is None else self.problem.objective.sum_of(z, self._base)

    def _minimise(self, view: Any, S: np.ndarray, goal: float) -> np.ndarray:
        """Make Newton steps on the small matrix until its gap is at most ``goal``."""
        at = self.at
        for _ in range(10):
            slope = self.problem.objective.shards.run(pull, view, at.alpha)[0]
            if gap_within(slope, S, self.radius) <= goal or self.spent:
                break
            model = TraceModel(self._products(view, at, S.shape), S, slope, self.radius)
            # where there is no curvature along the slope, a step as long as the radius is as good a guess as any
            self.bound = 0.7 * self.bound or model.first_bound() or float(np.linalg.norm(slope)) / self.radius
            there, self.bound = model.minimum(self.bound, 60, 0.5 * goal)
            if not np.isfinite(self.bound):
                self.bound = 0.0
                break
            found = self._line_search(view, at, S, there - S, float(np.vdot(slope, there - S)))
            if found is None:
                break
            S, at = found
        return S

    def _line_search(
        self, view: Any, at: Point, S: np.ndarray, change: np.ndarray, fall: float
    ) -> tuple[np.ndarray, Point] | None:
        """Go along a change of ``S``: all the way, or half as far and so on; return where, or None."""
        gamma = 1.0
        for _ in range(30):
            there = S + gamma * change
            reached = self._evaluate_predictions(self._predictions(view, there))
            # where all is rounding, the model knows better than the objective
            rounding = abs(fall) + abs(reached.value - at.value) <= VALUE_ROUNDING * self.scale
            if reached.value < at.value + 0.01 * gamma * fall or rounding:
                return there, reached
            gamma *= 0.5
        return None

    def _products(self, view: Any, at: Point, shape: tuple[int, int]) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that multiplies with the Hessian in ``S``; an intercept follows.

        Where calls are costly and ``S`` is small, the Hessian is formed.
        """
        shards, floor = self.problem.objective.shards, 1e-8 * self.problem.objective.curvature_scale
        curved = shards.keep(curved_at, at.z, at.shift, at.losses, at.alpha, floor)
        free = self.problem.intercept
        if shards.calls_are_costly and shape[0] * shape[1] <= MOST_FORMED:
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


# --- a quadratic model over small matrices, minimised by accelerated projections --------------------------------------


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
    """Return the gap at a small matrix, where the gradient is ``slope``."""
    return float(np.vdot(slope, S) + radius * np.linalg.norm(slope, 2))


class TraceModel(NamedTuple):
    """The quadratic ``<slope, S - S_0> + <S - S_0, H (S - S_0)> / 2``.

    Attributes
    ----------
    product : function
        From a matrix ``S`` to ``H S``.
    centre, slope : arrays
        ``S_0`` and the gradient there.
    radius : float
        Of the ball.
    """

    product: Callable[[np.ndarray], np.ndarray]
    centre: np.ndarray
    slope: np.ndarray
    radius: float

    def first_bound(self) -> float:
        """Return the curvature along the slope: at most the largest there is, and rarely much less."""
        return float(np.vdot(self.slope, self.product(self.slope)) / np.vdot(self.slope, self.slope))

    def minimum(self, bound: float, steps: int, goal: float) -> tuple[np.ndarray, float]:
        """Return a matrix whose gap in the model is at most ``goal``, and the curvature met.

        Accelerated projected gradients (Beck and Teboulle 2009), restarted where a step turns back (O'Donoghue and
        Candes 2015). ``bound`` is a guess of the largest curvature. A step costs one product with the Hessian: those of
        points in between follow by linearity.
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
        """Make a projected gradient step that is short enough for the curvature it meets."""
        slope = self.slope + H_S
        while True:
            there = project_to_trace_ball(S - slope / bound, self.radius)
            move = there - S
            change = self.product(move)  # its own: differences of products end in rounding
            if not np.vdot(move, change) > bound * np.vdot(move, move) * (1.0 + 1e-9) or bound > 1e300:
                return there, H_S + change, bound
            bound *= 1.5
