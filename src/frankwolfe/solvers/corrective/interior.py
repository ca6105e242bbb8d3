"""The corrective method for sets with a barrier: quadratic models of the objective are minimised over the set itself.

A round computes the exact gradient, which certifies, and a quadratic model of the objective with its true Hessian. An
interior-point method minimises the model over the whole set, to an accuracy in proportion to the gap. A line search on
the objective follows. The cost of a round does not depend on the scaling of the columns, nor on the number of vertices
in the optimum.

The interior-point method follows the central path of the set's barrier ``B``: for a falling ``mu`` Newton's method
minimises ``model + mu B``. No pass over the data is made, and every iterate is strictly inside the set. The Frank-Wolfe
gap of the model at such a minimiser is at most ``nu mu``.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr

from frankwolfe.losses import has_dual
from frankwolfe.losses.kinked import SmoothedLoss
from frankwolfe.objective.offset import without_offset
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.sets.barriers import Barrier, Expansion
from frankwolfe.solvers.corrective.hessian import MIN_PIVOT, FullHessian, loss_curvatures, objective_hessian
from frankwolfe.solvers.corrective.rounds import RoundSolver, is_new_kind
from frankwolfe.solvers.dual_bound import dual_gap, slopes_after
from frankwolfe.solvers.state import copied

FIRST_MODEL_SHARE = 1e-3
"""The first models are solved to this fraction of the gap. Twice: 2% more passes on small problems; half: 3% fewer."""

MAX_LEFT_OF_START = 0.1
"""Models are solved at least to this fraction of the objective at the start. Halved: 2% more passes on small problems.
"""

MODEL_TARGET = 0.3
"""No model is solved further than to this fraction of the tolerance, unless a round has failed."""

STALLED_ROUNDS = 8
"""Number of successive rounds without a lower gap or objective after which the run has stalled."""

NEAR_PATH = 0.25
"""A point counts as on the central path if its squared Newton decrement, divided by ``mu``, is at most this."""

SMALL_SHARE = 0.1
"""Largest cost of the penalty in `with_small_common_parts`, as a fraction of the accuracy of a model and of the gap.
Doubled: 3% fewer passes, and one problem of 91 is not certified."""

ABOUT_AS_LOW, ANY_RISE, A_RECORD = range(3)
"""Rules for accepting a point that halves the gap but increases the objective: if its distance to the lower bound has
at most doubled, or its gap is half the smallest so far; always; only if its gap is half the smallest so far. A run
without progress takes the next rule: the first may reject useful points, and with the first two, rounds may cycle."""


class QuadraticModel(NamedTuple):
    """The quadratic ``<slope, w - centre> + (w - centre)' H (w - centre) / 2``."""

    centre: np.ndarray
    slope: np.ndarray
    curvature: FullHessian

    def gradient(self, d: np.ndarray) -> np.ndarray:
        """Return the gradient of the model at ``centre + d``."""
        return self.slope + self.curvature.times(d)


class PathPoint(NamedTuple):
    """A point near the central path: ``mu``, the barrier's variables ``y``, the weights ``w`` and ``d = w - centre``.

    The weights are updated along with the variables, not computed from them: in a large set small weights would lose
    digits. The same holds for ``d``, which may be smaller than the rounding error of the weights.
    """

    mu: float
    y: np.ndarray
    w: np.ndarray
    d: np.ndarray


class InteriorSolver(RoundSolver):
    """One run of the corrective method on a set with a barrier."""

    remembered = (
        *RoundSolver.remembered,
        *("w", "share", "most_left", "aim", "damping", "rule", "mattered"),
        *("idle_rounds", "lowest_gap", "lowest_value", "lowest_above"),
    )

    def __init__(self, problem: Problem, w: np.ndarray, earlier: Mapping[str, Any] | None = None):
        super().__init__(problem, w, earlier)
        self.barrier: Any = problem.barrier()
        self.w = w.copy()
        self.exact: tuple[np.ndarray, float] | None = None  # gradient and gap at the iterate, if known
        self.path: list[PathPoint] = []
        self.share, self.aim = FIRST_MODEL_SHARE, MODEL_TARGET
        self.damping: float = 1.0 if earlier is None else earlier.get("damping", 1.0)
        self.most_left = MAX_LEFT_OF_START
        self.lowest_gap = self.lowest_value = np.inf
        # smallest distance of the objective to the lower bound, and rounds since the last progress
        self.lowest_above, self.idle_rounds = np.inf, 0
        self.rule, self.mattered = ABOUT_AS_LOW, False  # rule of acceptance, and whether it has decided about a step
        self.tried: tuple[np.ndarray, Point, tuple[np.ndarray, float]] | None = None  # minimiser of the last model

    def warm_up(self) -> None:
        """Compile the kernels, or load them from the cache, by a round on the first eight rows."""
        if is_new_kind(type(self), self.problem):
            type(self)(self.problem.head(8), self.w).advance(1)

    @property
    def exhausted(self) -> bool:
        """Whether the budget allows no further pass, with one reserved for the end of the round."""
        return self.rows_read + 2 * self.problem.n > self.budget

    def point(self) -> np.ndarray:
        """Return a copy of the iterate."""
        return self.w.copy()

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied."""
        state = super().state()
        if self.exact is not None:
            state |= {"exact.gradient": self.exact[0], "exact.gap": self.exact[1]}
        for name, values in zip(PathPoint._fields, zip(*self.path, strict=True), strict=False):
            state[f"path.{name}"] = np.array(values)
        return state

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        super()._restore(state)
        self.exact = None
        if "exact.gap" in state:
            self.exact = state["exact.gradient"].copy(), state["exact.gap"]
        columns = [copied(state[f"path.{name}"]) for name in PathPoint._fields if f"path.{name}" in state]
        self.path = [PathPoint(float(mu), *rest) for mu, *rest in zip(*columns, strict=True)]

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Set ``at`` to the point at the iterate. Return the gradient and the exact gap there."""
        if self.at is None or self.exact is None:
            self.at, self.exact = self._exact_at(self.w)
        return self.exact

    def _exact_at(self, w: np.ndarray) -> tuple[Point, tuple[np.ndarray, float]]:
        """Return the point at the weights ``w``, and its gradient and exact gap."""
        at, gradient = self._evaluate_weights(w)
        return at, (gradient, self._gap_at(gradient, w))

    def _is_feasible(self, w: np.ndarray, tolerance: float = 1e-9) -> bool:
        """Return whether a point is feasible: rounding may put it outside."""
        return bool(self.problem.constraint.contains(w, tolerance))

    # --- a round ----------------------------------------------------------------------------------------------

    def _round(self, found: Evaluation) -> None:
        """Minimise a quadratic model over the set, then line search toward its minimiser."""
        if not self.path:
            found = self._from_the_centre(found)
        self._look_back(found)
        self.stuck = self.stuck or found.gap <= 1e-290  # the last mu of the path would underflow
        if self.stuck or self.exhausted:
            return
        floor = 1e-4 * self.damping * self.problem.objective.curvature_scale
        curvatures = loss_curvatures(self.problem, self.at, self.damping, floor)
        curvature = objective_hessian(self.problem, self.at, curvatures)
        if not curvature.finite():
            self.stuck = True  # the curvatures overflowed
            return
        if isinstance(without_offset(self.problem.loss), SmoothedLoss):
            curvature = curvature.without_rows()  # models need few digits, and many rows are curved
        # The gap may be millions of times the possible decrease of the objective, so `most_left` limits the goal, too.
        goal = max(self.aim * self.target, min(self.share * found.gap, self.most_left * self.scale))
        scale = min(found.gap, abs(found.value) + self.problem.linear_reach) or found.gap
        model = QuadraticModel(self.w, found.gradient, curvature)
        model = with_small_common_parts(model, self.problem, self.at, goal, found.gap)
        first = self._first(model, max(scale, goal) / self.barrier.nu)
        self.path = follow_path(model, self.barrier, first, goal / self.barrier.nu)
        at, w = self.at, self.w
        moved = self._go(self.path[-1].w, found)
        if goal <= MODEL_TARGET * self.target and not (self.exact is not None and self.exact[1] <= self.target):
            self._bound(at, w, slopes_after(self.problem, at, curvatures, self.path[-1].d))
            moved = moved or self._go_unseen()
        if moved and self.exact is not None and self.exact[1] <= self.target:
            self._drop_tiny()
        self._found = None if moved else found
        if not moved:
            # solve the next model further; with a gap far above the objective, `most_left` sets the goal
            self.share, self.most_left, self.aim = 0.1 * self.share, 0.1 * self.most_left, 0.1 * self.aim
            self.idle_rounds += 1

    def _from_the_centre(self, found: Evaluation) -> Evaluation:
        """Start the path at the barrier's centre of the set. Move there if the objective is lower than at the start."""
        y = self.barrier.start()
        self.path = [PathPoint(np.inf, y, self.barrier.weights(y), np.zeros(self.problem.size))]
        centre = self.path[0].w
        if np.array_equal(centre, self.w) or self.exhausted:
            return found
        at, exact = self._exact_at(centre)
        if not at.value < found.value:
            return found
        self.w, self.at, self.exact, self._found = centre, at, exact, None
        return self._exact()

    def _bound(self, at: Point, w: np.ndarray, alpha: np.ndarray) -> None:
        """Update the lower bound with the slopes ``alpha`` at a model's minimiser. It counts as a pass."""
        if has_dual(self.problem.loss) and not self.exhausted:
            self.rows_read += self.problem.n
            self._offer_bound(at, dual_gap(self.problem, at, w, alpha), alpha)

    def _go_unseen(self) -> bool:
        """Move to the minimiser of the last model if the bound is too low and the objective does not increase.

        In the last digits the gap may be all rounding. A lower bound from slopes nearer to the optimum is still higher.
        """
        if self.tried is None or self.at.value - self.bound.value <= self.target:
            return False
        there, at, exact = self.tried
        if not (at.stationary and self._increase(at) <= self._noise()):
            return False
        self.w, self.at, self.exact = there, at, exact
        return True

    def _first(self, model: QuadraticModel, mu: float) -> PathPoint:
        """Return the start of the next path: the last point of the previous path with at least this ``mu``.

        If there is none, as in a run that starts near the optimum, return the centre of the set, with a ``mu`` in
        proportion to the gap of the model there.
        """
        for point in reversed(self.path):
            if mu <= point.mu < np.inf:
                return point._replace(mu=mu)
        w = self.path[0].w
        gap = self.problem.gap_for(model.gradient(w - model.centre), w)
        return self.path[0]._replace(mu=max(mu, min(gap, abs(self.at.value)) / self.barrier.nu))

    def _look_back(self, found: Evaluation) -> None:
        """Count the rounds without progress. Switch to the next rule of acceptance if the last one mattered."""
        gap, value, above = self.lowest_gap, self.lowest_value, self.lowest_above
        bounded = found.value - self.bound.value
        if found.gap < 0.9 * gap or found.value < value - self._noise() or bounded < 0.5 * above:
            self.idle_rounds = 0
        else:
            self.idle_rounds += 1
        if found.gap <= 2.0 * self.share * gap < np.inf:  # the model was accurate: solve the next one further
            self.share = max(1e-8, self.share**2)
        self.lowest_gap, self.lowest_value = min(gap, found.gap), min(value, found.value)
        self.lowest_above = min(above, bounded)
        if self.idle_rounds >= STALLED_ROUNDS // 2 and self.mattered and self.rule < A_RECORD:
            self.rule, self.mattered, self.idle_rounds = self.rule + 1, False, 0
            self.lowest_value, self.lowest_above = found.value, np.inf
        self.stuck = self.stuck or self.idle_rounds >= STALLED_ROUNDS

    def _go(self, there: np.ndarray, found: Evaluation) -> bool:
        """Move to ``there`` if the gap is much smaller, else line search toward it. Return whether the iterate moved.

        Near the optimum of a convex problem the gap is a better criterion than the objective, which may be slightly
        higher where the gap is smaller.
        """
        self.tried = None
        if not self._is_feasible(there):
            return False
        at, exact = self._exact_at(there)
        fall, convex = -float(found.gradient @ (there - self.w)), bool(self.problem.loss.convex)
        self.tried = there, at, exact
        below_rounding = fall <= 100.0 * self._noise()  # the predicted decrease is below rounding
        good = below_rounding and exact[1] < found.gap and self._increase(at) <= self._noise()
        self._offer_bound(at, at.proven(exact[1]), at.alpha, exact[0], self.proving)
        if good or (convex and (exact[1] <= self.target or self._much_closer(at, exact[1], found))):
            self.w, self.at, self.exact = there, at, exact
            self._adapt(1.0)
            return True
        best = None if below_rounding else self._search_toward(at.z, fall, at, linear=at.linear)
        if best is None:
            return False
        gamma = best[0]
        if gamma == 1.0:
            self.w, self.at, self.exact = there, at, exact
        else:  # predictions inside the segment are interpolated: evaluate the new weights
            self.w, self.at, self.exact = (1.0 - gamma) * self.w + gamma * there, None, None
        self._adapt(gamma)
        return True

    def _much_closer(self, at: Point, gap: float, found: Evaluation) -> bool:
        """Whether to accept a point for its smaller gap, by the current rule (`ABOUT_AS_LOW` and so on)."""
        if gap > 0.5 * found.gap:
            return False
        if self._increase(at) <= self._noise():
            return True
        self.mattered = True
        low = self.rule == ABOUT_AS_LOW and at.value - self.bound.value <= 2.0 * (found.value - self.bound.value)
        return low or self.rule == ANY_RISE or gap <= 0.5 * self.lowest_gap

    def _drop_tiny(self) -> None:
        """Set tiny weights to zero if the gap stays within the tolerance. Interior points have no zero weights."""
        for part in (1e-4, 1e-7):  # relative to the largest weight
            there = self.barrier.without_tiny(self.w, part * np.abs(self.w).max(initial=0.0))
            if self.exhausted or np.array_equal(there, self.w) or not self._is_feasible(there, 1e-13):
                continue
            at, exact = self._exact_at(there)
            if exact[1] <= self.target:
                self.w, self.at, self.exact = there, at, exact
                return

    def _adapt(self, gamma: float) -> None:
        """Increase the damping after a short step, reduce it after a full step."""
        if gamma < 0.5:
            self.damping = min(1.0, max(1e-4, 10.0 * self.damping))
        elif gamma == 1.0:
            self.damping = 0.1 * self.damping if self.damping > 1e-12 else 0.0


# --- a quadratic model over the set: the central path ---------------------------------------------------------------


def with_small_common_parts(
    model: QuadraticModel, problem: Problem, at: Point, goal: float, gap: float
) -> QuadraticModel:
    """Return the model with a small penalty on common parts, if the loss depends on differences of outputs only.

    The common part of a feature is the mean of its weights over all outputs. A loss such as the softmax does not depend
    on it, so the model is flat along it. The barrier may then choose a minimiser with large common parts, where
    predictions cancel and lose digits. The penalty ``sum_j rho_j outputs c_j^2 / 2`` on the common parts ``c`` leads
    back to small weights. Its weights ``rho_j`` are limited:

    - all terms together cost at most a tenth of ``goal`` at the centre;
    - a common part below the differences between outputs is harmless, so it is not reduced any further;
    - the gradient of the penalty adds at most a tenth to the gap, since the set may not allow smaller common parts;
    - ``rho_j`` is at most the curvature of the objective in the weights of the feature, which prevents an overflow for
      weights near zero, for example of a constant column.

    Parameters
    ----------
    model : QuadraticModel
        Model of the objective.
    problem : Problem
        Problem whose loss may have several outputs.
    at : Point
        The centre of the model.
    goal : float
        Accuracy to which the model is solved.
    gap : float
        The gap at the centre.
    """
    if problem.outputs < 2 or not problem.objective.only_differences(at):
        return model
    W = model.centre.reshape(problem.d, problem.outputs)
    common = W.mean(axis=1)
    size = np.maximum(np.abs(common), np.abs(W - common[:, None]).max(axis=1))
    rho = np.divide(2.0 * SMALL_SHARE * goal, W.size * size**2, out=np.zeros(problem.d), where=size > 0.0)
    own = np.einsum("jj->j", model.curvature.H).reshape(W.shape)
    rho = np.minimum(rho, np.maximum(own.max(axis=1), 0.0))  # at most the curvature of the loss
    rows = np.kron(np.diag(np.sqrt(rho / problem.outputs)), np.ones(problem.outputs))
    pull = np.repeat(rho * common, problem.outputs)
    cost = problem.gap_for(pull, model.centre)
    pull *= min(1.0, SMALL_SHARE * gap / cost) if cost > 0.0 else 1.0
    return QuadraticModel(model.centre, model.slope + pull, model.curvature.plus(rows.T @ rows, rows))


def follow_path(model: QuadraticModel, barrier: Barrier, first: PathPoint, goal: float) -> list[PathPoint]:
    """Follow the central path of a model until ``mu`` is at most ``goal``. Return the points near the path.

    For a decreasing ``mu``, damped Newton steps minimise ``model + mu B``. If more than twelve steps are needed for a
    ``mu``, the path is curved: return to the last point, and reduce ``mu`` by less.

    Parameters
    ----------
    model : QuadraticModel
        The model to minimise.
    barrier : Barrier
        Barrier ``B`` of the set.
    first : PathPoint
        An interior point and the first ``mu``. Its ``d`` is recomputed for this model.
    goal : float
        The last ``mu``.
    """
    met: list[PathPoint] = []
    first = first._replace(d=first.w - model.centre)
    (mu, y, w, d), last, steps, shrink = first, np.inf, 0, 0.1
    for _ in range(300):
        if steps > 12 and met:  # go back, and reduce mu by less
            shrink, steps = np.sqrt(shrink), 0
            mu, (_, y, w, d) = max(goal, shrink * met[-1].mu), met[-1]
        found = _free(barrier.at(y))
        curved, slope = model.curvature.pulled(found.moves), _pulled_back(found.moves, model.gradient(d))
        while True:
            root = partial(_joint_root, model, found, mu)
            move = _newton(_plus(curved, mu, found.hessian), slope + mu * found.gradient, found.equations, root)
            fall = mu * found.rest - float((slope + mu * found.gradient) @ move)
            close = fall <= NEAR_PATH * mu
            if not close or mu <= goal:
                break
            met.append(PathPoint(mu, y, w, d))
            shrink = max(0.1, 0.5 * shrink) if steps <= 5 else np.sqrt(shrink)
            mu, steps = max(goal, shrink * mu), 0
        if not np.isfinite(fall):  # too close to the boundary for floating-point numbers
            return met or [first]
        curve, change = float(move @ (curved @ move)), found.recover(move)
        step = _step_length(barrier, y, change, mu, float(slope @ move), curve, fall)
        y, d = y + step * change, d + step * _pushed(found.moves, move)
        w = model.centre + d
        if step == 0.0 or (mu <= goal and fall <= 1e-2 * mu and not 1e-24 * mu < fall < 0.1 * last):
            break  # at the last mu, Newton steps go on while they converge fast
        last, steps = fall, steps + (not close)
    if close or not met:  # else the last digits of the barrier are lost before this mu
        met.append(PathPoint(mu, y, w, d))
    return met


def _pushed(moves: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return ``moves e``, where a vector ``moves`` stands for a diagonal matrix."""
    return moves * e if moves.ndim == 1 else moves @ e


def _pulled_back(moves: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return ``moves' slope``, where a vector ``moves`` stands for a diagonal matrix."""
    return moves * slope if moves.ndim == 1 else moves.T @ slope


def _plus(H: np.ndarray, mu: float, curve: np.ndarray) -> np.ndarray:
    """Return ``H + mu curve``, where a vector ``curve`` stands for a diagonal matrix."""
    if curve.ndim == 2:
        return H + mu * curve
    total = H.copy()
    np.einsum("jj->j", total)[:] += mu * curve
    return total


class _Followers(NamedTuple):
    """Elimination of linear equations: as many dependent variables as there are equations, and the free ones.

    QR with column pivoting selects the variables with the largest coefficients as the dependent ones. ``T`` maps a move
    of the free variables to that of the dependent ones.
    """

    follow: np.ndarray
    free: np.ndarray
    T: np.ndarray

    @classmethod
    def of(cls, equations: np.ndarray) -> "_Followers":
        """Return the elimination for a matrix of equations.

        Too close to the boundary, rounding may leave equations that depend on each other: then ``T`` is NaN, as all
        moves are, and the path ends.
        """
        count = len(equations)
        sizes = np.maximum(np.linalg.norm(equations, axis=1), 1e-150)[:, None]
        triangle, order = qr(equations / sizes, mode="r", pivoting=True, check_finite=False)
        if np.abs(triangle.diagonal()).min(initial=1.0) > 1e-15:
            T = -np.linalg.solve(triangle[:, :count], triangle[:, count:])
        else:
            T = np.full((count, equations.shape[1] - count), np.nan)
        return cls(order[:count], order[count:], T)

    def slope(self, slope: np.ndarray) -> np.ndarray:
        """Return the gradient in the free variables."""
        return slope[self.free] + self.T.T @ slope[self.follow]

    def hessian(self, H: np.ndarray) -> np.ndarray:
        """Return the Hessian in the free variables. A vector ``H`` stands for a diagonal matrix."""
        if H.ndim == 1:
            return np.diag(H[self.free]) + (self.T.T * H[self.follow]) @ self.T
        mixed = self.T.T @ H[np.ix_(self.follow, self.free)]
        within = self.T.T @ (H[np.ix_(self.follow, self.follow)] @ self.T)
        return H[np.ix_(self.free, self.free)] + mixed + mixed.T + within

    def images(self, root: np.ndarray) -> np.ndarray:
        """Return a matrix with a column per variable (a root of a Hessian, or moves), reduced to the free variables."""
        return root[:, self.free] + root[:, self.follow] @ self.T

    def whole(self, free: np.ndarray) -> np.ndarray:
        """Return the move of all variables, from that of the free ones."""
        move = np.empty(len(self.follow) + len(self.free))
        move[self.free], move[self.follow] = free, self.T @ free
        return move


def _free(found: Expansion) -> Expansion:
    """Return an expansion of the barrier without equations, if each variable moves many weights.

    The dependent variables are eliminated before the products with the data. Otherwise a large common part of all
    vertices could cancel in these products, and their differences would be lost to rounding.
    """
    if found.equations is None or found.moves.ndim == 1:
        return found
    chosen = _Followers.of(found.equations)
    return found._replace(
        gradient=chosen.slope(found.gradient),
        hessian=chosen.hessian(found.hessian),
        moves=chosen.images(found.moves),
        recover=lambda e: found.recover(chosen.whole(e)),
        equations=None,
        root=None if found.root is None else lambda: chosen.images(found.own_root()),
    )


def _joint_root(model: QuadraticModel, found: Expansion, mu: float) -> np.ndarray:
    """Return a matrix ``root`` such that ``root' root`` is the Hessian of ``model + mu B``."""
    own = found.own_root()
    root, moves = model.curvature.root, found.moves
    return np.vstack([root * moves if moves.ndim == 1 else root @ moves, np.sqrt(mu) * own])


def _newton(
    H: np.ndarray, slope: np.ndarray, equations: np.ndarray | None, root: Callable[[], np.ndarray]
) -> np.ndarray:
    """Return the minimiser of ``<slope, e> + e' H e / 2`` subject to ``equations e = 0``.

    ``root`` returns a matrix with ``root' root = H``. It is used if ``H`` has lost too many digits.
    """
    if equations is None:
        return _minimiser(H, slope, root)
    chosen = _Followers.of(equations)
    return chosen.whole(_minimiser(chosen.hessian(H), chosen.slope(slope), lambda: chosen.images(root())))


def _minimiser(H: np.ndarray, slope: np.ndarray, root: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the minimiser of ``<slope, e> + e' H e / 2``, or NaN if all factorisations fail.

    The first attempt is Cholesky of the scaled ``H``. If a pivot is too small, QR of ``root`` keeps more digits. The
    last resort is Cholesky with a ridge.
    """
    if len(slope) == 0 or not np.isfinite(H).all():
        return np.full(len(slope), np.nan)
    diagonal = np.einsum("jj->j", H)
    scale = 1.0 / np.sqrt(np.maximum(diagonal, max(1e-30 * diagonal.max(initial=0.0), 1e-300)))
    scaled = H * scale * scale[:, None]
    np.einsum("jj->j", scaled)[:] = 1.0
    try:
        factor = cho_factor(scaled, lower=True, check_finite=False)
        if np.einsum("jj->j", factor[0]).min() > MIN_PIVOT:
            return -scale * cho_solve(factor, scale * slope, check_finite=False)
    except LinAlgError:
        pass
    rows = root()
    sizes = 1.0 / np.maximum(np.linalg.norm(rows, axis=0), 1e-150)
    triangle = qr(rows * sizes, mode="r", check_finite=False)[0][: len(sizes)]
    pivots = np.abs(np.einsum("jj->j", triangle))
    if pivots.min() > 1e-14 * pivots.max():
        return -sizes * cho_solve((triangle, False), sizes * slope, check_finite=False)
    for ridge in (0.0, 1e-15, 1e-13, 1e-11, 1e-8):
        np.einsum("jj->j", scaled)[:] = 1.0 + ridge
        try:
            factor = cho_factor(scaled, lower=True, check_finite=False)
        except LinAlgError:
            continue
        return -scale * cho_solve(factor, scale * slope, check_finite=False)
    return np.full(len(slope), np.nan)


def _step_length(
    barrier: Barrier, y: np.ndarray, change: np.ndarray, mu: float, rise: float, curve: float, fall: float
) -> float:
    """Return a step size along a Newton step with sufficient decrease of ``model + mu B``; 0 if there is none.

    ``rise`` and ``curve`` are the model's slope and curvature along the step, ``fall`` the squared Newton decrement. By
    self-concordance, the step size ``1 / (1 + sqrt(fall / mu))`` is feasible and decreases the function.
    """
    before, step, sure = barrier.value(y), 1.0, 1.0 / (1.0 + np.sqrt(max(fall, 0.0) / mu))

    def change_of(step: float) -> float:
        return step * (rise + 0.5 * step * curve) + mu * (barrier.value(y + step * change) - before)

    while step > 1e-10:  # shorter steps are dominated by rounding
        total = change_of(step)
        # by self-concordance the step size `sure` is feasible and decreases the function
        if np.isfinite(total) and (total <= -0.1 * step * fall or step <= sure or fall <= 1e-9 * mu):
            break
        step = max(0.5 * step, sure) if step > sure else 0.5 * step
    else:
        return 0.0
    if fall <= NEAR_PATH * mu:
        return step
    # Far from the path, take the best of step sizes that differ by factors of two. Some end too close to the boundary.
    # A variable that is far too close to zero at most doubles in a full Newton step, so longer steps help.
    ratio = 2.0 if step >= 1.0 else 0.5
    while (there := change_of(ratio * step)) < total:
        step, total = ratio * step, there
    return step
