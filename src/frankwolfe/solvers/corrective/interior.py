"""The corrective method for sets with a barrier: Newton models of the objective, minimised over the set itself.

A round takes the exact gradient, which certifies; makes a quadratic model of the objective with its true Hessian;
minimises that over the whole set by an interior-point method, as exactly as the gap is worth; and goes there as far as
the objective falls. What a round costs does not depend on how the columns of the data are scaled, nor on how many
vertices the answer is made of.

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
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.sets.barriers import Barrier, Expansion
from frankwolfe.solvers.corrective.hessian import MIN_PIVOT, FullHessian, loss_curvatures, objective_hessian
from frankwolfe.solvers.corrective.rounds import RoundSolver
from frankwolfe.solvers.corrective.start import is_new_kind
from frankwolfe.solvers.dual_bound import dual_gap, slopes_after
from frankwolfe.solvers.state import copied

FIRST_MODEL_SHARE = 1e-3
"""Part of the gap that may be left in a model at first. Twice: 2% more passes on small problems; half: 3% fewer."""

MAX_LEFT_OF_START = 0.1
"""Part of the objective at the start that may be left in a model at most. Halved: 2% more passes on small problems."""

MODEL_TARGET = 0.3
"""Part of the tolerance that a model aims at, as long as models lead anywhere."""

STALLED_ROUNDS = 8
"""Rounds without a lower gap or objective after which a run is said to have stalled."""

NEAR_PATH = 0.25
"""Squared Newton decrement, divided by ``mu``, up to which a point counts as on the path."""

SMALL_SHARE = 0.1
"""Part of what may be left in a model, and part of the gap, that small common parts may cost. Doubled: 3% fewer passes,
and one problem of 91 is not certified."""

ABOUT_AS_LOW, ANY_RISE, A_RECORD = range(3)
"""When to accept a point with half the gap and a higher objective: if the objective is about as low as here, or no gap
before was so small; always; only if no gap before was so small. A run that gets no further takes the next rule: by the
first, points may be refused that lead on, and by the first two, rounds may go in circles."""


class QuadraticModel(NamedTuple):
    """The quadratic ``<slope, w - centre> + (w - centre)' H (w - centre) / 2``."""

    centre: np.ndarray
    slope: np.ndarray
    curvature: FullHessian

    def gradient(self, d: np.ndarray) -> np.ndarray:
        """Return its gradient at ``centre + d``."""
        return self.slope + self.curvature.times(d)


class PathPoint(NamedTuple):
    """A point close to the central path: its ``mu``, the barrier's variables, and the weights they stand for.

    The weights are carried along, not worked out from the variables: in a large set small weights would lose their
    digits. So is their distance ``d`` from the model's centre, which may be less than the last digit of the weights.
    """

    mu: float
    y: np.ndarray
    w: np.ndarray
    d: np.ndarray


class InteriorSolver(RoundSolver):
    """One run of the corrective method on a set with a barrier."""

    remembered = (
        *RoundSolver.remembered,
        *("w", "share", "most_left", "aim", "care", "rule", "mattered"),
        *("vain", "lowest_gap", "lowest_value", "lowest_above"),
    )

    def __init__(
        self,
        problem: Problem,
        w: np.ndarray,
        earlier: Mapping[str, Any] | None = None,
        barrier: Barrier | None = None,
    ):
        super().__init__(problem, earlier)
        self.barrier: Any = problem.barrier() if barrier is None else barrier
        self.w = w.copy()
        self.exact: tuple[np.ndarray, float] | None = None  # gradient and gap at the point, where they are known
        self.path: list[PathPoint] = []
        self.share, self.aim, self.care = FIRST_MODEL_SHARE, MODEL_TARGET, 1.0
        self.most_left = MAX_LEFT_OF_START
        self.lowest_gap = self.lowest_value = np.inf
        self.lowest_above, self.vain = np.inf, 0  # how far the objective was above its bound
        self.rule, self.mattered = ABOUT_AS_LOW, False  # by which a smaller gap counts, and whether that changed a step
        self.tried: tuple[np.ndarray, Point, tuple[np.ndarray, float]] | None = None  # where the last model led

    def warm_up(self) -> None:
        """Compile, or load from the cache, by a round on the first few rows; once for each kind of data and parts."""
        if is_new_kind(type(self), self.problem):
            InteriorSolver(self.problem.head(8), self.w, barrier=self.barrier).advance(1)

    @property
    def spent(self) -> bool:
        """Whether the budget allows no further pass, beside the one that may end a round."""
        return self.rows_read + 2 * self.problem.n > self.budget

    def point(self) -> np.ndarray:
        """Return the iterate as a new array."""
        return self.w.copy()

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the solver's own."""
        state = super().state()
        if self.exact is not None:
            state |= {"exact.gradient": self.exact[0], "exact.gap": self.exact[1]}
        for name, values in zip(PathPoint._fields, zip(*self.path, strict=True), strict=False):
            state[f"path.{name}"] = np.array(values)
        return state

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take over all that a state holds."""
        super()._restore(state)
        self.exact = None
        if "exact.gap" in state:
            self.exact = state["exact.gradient"].copy(), state["exact.gap"]
        columns = [copied(state[f"path.{name}"]) for name in PathPoint._fields if f"path.{name}" in state]
        self.path = [PathPoint(float(mu), *rest) for mu, *rest in zip(*columns, strict=True)]

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""
        if self.at is None or self.exact is None:
            self.at, self.exact = self._exact_at(self.w)
        return self.exact

    def _exact_at(self, w: np.ndarray) -> tuple[Point, tuple[np.ndarray, float]]:
        """Return what the objective is at some weights, and the gradient and the exact gap there."""
        at, gradient = self._evaluate_weights(w)
        return at, (gradient, self.problem.gap_for(gradient, w))

    # --- a round ----------------------------------------------------------------------------------------------

    def _round(self, found: Evaluation) -> None:
        """Minimise a model over the set and go there as far as the objective falls."""
        if not self.path:
            found = self._from_the_centre(found)
        self._look_back(found)
        self.stuck = self.stuck or found.gap <= 1e-290  # parts of it, at which a path ends, would underflow
        if self.stuck or self.spent:
            return
        floor = 1e-4 * self.care * self.problem.objective.curvature_scale
        curvatures = loss_curvatures(self.problem, self.at, self.care, floor)
        curvature = objective_hessian(self.problem, self.at, curvatures)
        if not curvature.finite():
            self.stuck = True  # the curvatures overflowed: there is no model to go by
            return
        # the gap may be millions of times what the objective can fall: a model that leaves a part of that is no use
        goal = max(self.aim * self.target, min(self.share * found.gap, self.most_left * self.scale))
        scale = min(found.gap, abs(found.value)) or found.gap
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
            # where the gap is millions of times the objective, only the second of these changes the goal
            self.share, self.most_left, self.aim = 0.1 * self.share, 0.1 * self.most_left, 0.1 * self.aim
            self.vain += 1

    def _from_the_centre(self, found: Evaluation) -> Evaluation:
        """Begin in the middle of the set, if the objective is lower there than where the run was told to start."""
        y = self.barrier.start()
        self.path = [PathPoint(np.inf, y, self.barrier.weights(y), np.zeros(self.problem.size))]
        centre = self.path[0].w
        if np.array_equal(centre, self.w) or self.spent:
            return found
        at, exact = self._exact_at(centre)
        if not at.value < found.value:
            return found
        self.w, self.at, self.exact, self._found = centre, at, exact, None
        return self._exact()

    def _bound(self, at: Point, w: np.ndarray, alpha: np.ndarray) -> None:
        """Bound the optimum from below by the slopes where a model has its minimum; charged as a pass."""
        if has_dual(self.problem.loss) and not self.spent:
            self.rows_read += self.problem.n
            self._raise_bound(at, dual_gap(self.problem, at, w, alpha), alpha)

    def _go_unseen(self) -> bool:
        """Go where the last model has its minimum if the bound is still too low and the objective is no higher there.

        The gap may tell nothing in the last digits. But the next bound, from slopes that are closer, will be higher.
        """
        if self.tried is None or self.at.value - self.lower_bound <= self.target:
            return False
        there, at, exact = self.tried
        if not (at.stationary and self._rise(at) <= self._noise()):
            return False
        self.w, self.at, self.exact = there, at, exact
        return True

    def _first(self, model: QuadraticModel, mu: float) -> PathPoint:
        """Return the point of the last path where the next one may begin.

        The middle of the set is no longer near the path where a run starts near the optimum: from there the path begins
        with what the gap of the model is worth.
        """
        for point in reversed(self.path):
            if mu <= point.mu < np.inf:
                return point._replace(mu=mu)
        w = self.path[0].w
        gap = self.problem.gap_for(model.gradient(w - model.centre), w)
        return self.path[0]._replace(mu=max(mu, min(gap, abs(self.at.value)) / self.barrier.nu))

    def _look_back(self, found: Evaluation) -> None:
        """Notice when neither gap nor objective has fallen for long, and try the next rule if the last one mattered."""
        gap, value, above = self.lowest_gap, self.lowest_value, self.lowest_above
        bounded = found.value - self.lower_bound
        if found.gap < 0.9 * gap or found.value < value - self._noise() or bounded < 0.5 * above:
            self.vain = 0
        else:
            self.vain += 1
        if found.gap <= 2.0 * self.share * gap < np.inf:  # the model was right: the next one may be solved further
            self.share = max(1e-8, self.share**2)
        self.lowest_gap, self.lowest_value = min(gap, found.gap), min(value, found.value)
        self.lowest_above = min(above, bounded)
        if self.vain >= STALLED_ROUNDS // 2 and self.mattered and self.rule < A_RECORD:
            self.rule, self.mattered, self.vain = self.rule + 1, False, 0
            self.lowest_value, self.lowest_above = found.value, np.inf
        self.stuck = self.stuck or self.vain >= STALLED_ROUNDS

    def _go(self, there: np.ndarray, found: Evaluation) -> bool:
        """Go toward a point: all the way if the gap is much smaller there, else as far as the objective falls.

        Say whether that was any way. Near the optimum the gap of a convex loss tells better than its objective, which
        may even be a little higher where the gap is smaller.
        """
        self.tried = None
        if not self.problem.constraint.contains(there):
            return False  # rounding has led the path out of the set
        at, exact = self._exact_at(there)
        fall, convex = -float(found.gradient @ (there - self.w)), bool(self.problem.loss.convex)
        self.tried = there, at, exact
        unseen = fall <= 100.0 * self._noise()  # the objective cannot tell
        good = unseen and exact[1] < found.gap and self._rise(at) <= self._noise()
        self._raise_bound(at, at.proven(exact[1]))
        if good or (convex and (exact[1] <= self.target or self._much_closer(at, exact[1], found))):
            self.w, self.at, self.exact = there, at, exact
            self._adapt(1.0)
            return True
        best = None if unseen else self._search_toward(at.z, fall, at)
        if best is None:
            return False
        gamma = best[0]
        if gamma == 1.0:
            self.w, self.at, self.exact = there, at, exact
        else:  # predictions on the way were not taken at a point
            self.w, self.at, self.exact = (1.0 - gamma) * self.w + gamma * there, None, None
        self._adapt(gamma)
        return True

    def _much_closer(self, at: Point, gap: float, found: Evaluation) -> bool:
        """Whether the gap elsewhere is reason enough to go there, by the rule that holds now."""
        if gap > 0.5 * found.gap:
            return False
        if self._rise(at) <= self._noise():
            return True
        self.mattered = True
        low = self.rule == ABOUT_AS_LOW and at.value - self.lower_bound <= 2.0 * (found.value - self.lower_bound)
        return low or self.rule == ANY_RISE or gap <= 0.5 * self.lowest_gap

    def _drop_tiny(self) -> None:
        """Set tiny weights to zero, where the gap stays within the tolerance: inside a set none is exactly zero."""
        for part in (1e-4, 1e-7):  # of the largest weight, or singular value
            there = self.barrier.without_tiny(self.w, part * np.abs(self.w).max(initial=0.0))
            if self.spent or np.array_equal(there, self.w) or not self.problem.constraint.contains(there, 1e-13):
                continue
            at, exact = self._exact_at(there)
            if exact[1] <= self.target:
                self.w, self.at, self.exact = there, at, exact
                return

    def _adapt(self, gamma: float) -> None:
        """Trust curvatures less where a step had to be cut short, more where it had not."""
        if gamma < 0.5:
            self.care = min(1.0, max(1e-4, 10.0 * self.care))
        elif gamma == 1.0:
            self.care = 0.1 * self.care if self.care > 1e-12 else 0.0


# --- a quadratic model over the set: the central path ---------------------------------------------------------------


def with_small_common_parts(
    model: QuadraticModel, problem: Problem, at: Point, goal: float, gap: float
) -> QuadraticModel:
    """Return a model that prefers small common parts, if the loss depends on differences of outputs only.

    Along common parts the minimisers of a model are then far apart. The one that a barrier prefers may lie far out,
    where large predictions cancel and digits are lost. A little curvature leads back to the smallest weights.

    The common part of a feature is the mean of its weights over all outputs. Its square is added, so weighted that all
    of them together cost a tenth of ``goal`` where the model begins. None is pressed below the differences between
    outputs: there it does no harm. The pull toward zero adds no more than a tenth to the gap, else common parts that
    the set does not let go would keep the gap from falling; what is left of the squares holds them where they are.
    No square outweighs the curvature of the objective in the weights of its feature: where these are as good as zero,
    those of a constant column for instance, a tenth of ``goal`` over their squares is more than numbers can hold.

    Parameters
    ----------
    model : QuadraticModel
        Of the objective.
    problem : Problem
        Whose loss may have several outputs.
    at : Point
        Where the model begins.
    goal : float
        What may be left in the model.
    gap : float
        The gap where it begins.
    """
    if problem.outputs < 2 or not problem.objective.only_differences(at):
        return model
    W = model.centre.reshape(problem.d, problem.outputs)
    common = W.mean(axis=1)
    size = np.maximum(np.abs(common), np.abs(W - common[:, None]).max(axis=1))
    rho = np.divide(2.0 * SMALL_SHARE * goal, W.size * size**2, out=np.zeros(problem.d), where=size > 0.0)
    own = np.einsum("jj->j", model.curvature.H).reshape(W.shape)
    rho = np.minimum(rho, np.maximum(own.max(axis=1), 0.0))  # more would drown what the loss says
    rows = np.kron(np.diag(np.sqrt(rho / problem.outputs)), np.ones(problem.outputs))
    pull = np.repeat(rho * common, problem.outputs)
    cost = problem.gap_for(pull, model.centre)
    pull *= min(1.0, SMALL_SHARE * gap / cost) if cost > 0.0 else 1.0
    return QuadraticModel(model.centre, model.slope + pull, model.curvature.plus(rows.T @ rows, rows))


def follow_path(model: QuadraticModel, barrier: Barrier, first: PathPoint, goal: float) -> list[PathPoint]:
    """Follow the central path of a model until ``mu`` is at most ``goal``; return what was met on the way.

    Parameters
    ----------
    model : QuadraticModel
        What to minimise.
    barrier : Barrier
        Of the set.
    first : PathPoint
        Where to begin: any point inside, and the first ``mu``; its ``d`` may be that of another model.
    goal : float
        The last ``mu``.
    """
    met: list[PathPoint] = []
    first = first._replace(d=first.w - model.centre)
    (mu, y, w, d), last, steps, shrink = first, np.inf, 0, 0.1
    for _ in range(300):
        if steps > 12 and met:  # the path may be bent: go back, and change mu by less
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
        if not np.isfinite(fall):  # closer to the boundary than numbers can say: the path ends here
            return met or [first]
        curve, change = float(move @ (curved @ move)), found.recover(move)
        step = _step_length(barrier, y, change, mu, float(slope @ move), curve, fall)
        y, d = y + step * change, d + step * _pushed(found.moves, move)
        w = model.centre + d
        if step == 0.0 or (mu <= goal and fall <= 1e-2 * mu and not 1e-24 * mu < fall < 0.1 * last):
            break  # at the end of the path steps go on while each does much more than the one before
        last, steps = fall, steps + (not close)
    met.append(PathPoint(mu, y, w, d))
    return met


def _pushed(moves: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return ``moves e``."""
    return moves * e if moves.ndim == 1 else moves @ e


def _pulled_back(moves: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return ``moves' slope``."""
    return moves * slope if moves.ndim == 1 else moves.T @ slope


def _plus(H: np.ndarray, mu: float, curve: np.ndarray) -> np.ndarray:
    """Return ``H + mu curve``, where the second may be a diagonal."""
    if curve.ndim == 2:
        return H + mu * curve
    total = H.copy()
    np.einsum("jj->j", total)[:] += mu * curve
    return total


class _Followers(NamedTuple):
    """Variables that follow from the others where equations must hold: as many as there are equations.

    They are those in which the equations are largest, which is where the set is widest.
    """

    follow: np.ndarray
    free: np.ndarray
    T: np.ndarray

    @classmethod
    def of(cls, equations: np.ndarray) -> "_Followers":
        """Choose them; ``T`` maps moves of the free variables to theirs."""
        count = len(equations)
        triangle, order = qr(equations, mode="r", pivoting=True, check_finite=False)
        T = -np.linalg.solve(triangle[:, :count], triangle[:, count:])
        return cls(order[:count], order[count:], T)

    def slope(self, slope: np.ndarray) -> np.ndarray:
        """Return a slope in the free variables."""
        return slope[self.free] + self.T.T @ slope[self.follow]

    def hessian(self, H: np.ndarray) -> np.ndarray:
        """Return a Hessian in the free variables; a vector stands for a diagonal one."""
        if H.ndim == 1:
            return np.diag(H[self.free]) + (self.T.T * H[self.follow]) @ self.T
        mixed = self.T.T @ H[np.ix_(self.follow, self.free)]
        within = self.T.T @ (H[np.ix_(self.follow, self.follow)] @ self.T)
        return H[np.ix_(self.free, self.free)] + mixed + mixed.T + within

    def images(self, root: np.ndarray) -> np.ndarray:
        """Return a matrix, whose columns belong to all variables, for the free ones: a root of a Hessian, or moves."""
        return root[:, self.free] + root[:, self.follow] @ self.T

    def whole(self, free: np.ndarray) -> np.ndarray:
        """Return the move of all variables."""
        move = np.empty(len(self.follow) + len(self.free))
        move[self.free], move[self.follow] = free, self.T @ free
        return move


def _free(found: Expansion) -> Expansion:
    """Return an expansion whose variables need not keep any equations, where each moves many weights.

    Differences between their moves are taken before the data sees them: of what all vertices have in common the model
    may make numbers so large that nothing would be left of the differences.
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
    )


def _joint_root(model: QuadraticModel, found: Expansion, mu: float) -> np.ndarray:
    """Return ``root`` with ``root' root`` the Hessian of ``model + mu B``."""
    if found.hessian.ndim == 1:
        own = np.diag(np.sqrt(found.hessian))
    else:
        sizes, axes = np.linalg.eigh(found.hessian)
        own = np.sqrt(np.maximum(sizes, 0.0))[:, None] * axes.T
    root, moves = model.curvature.root, found.moves
    return np.vstack([root * moves if moves.ndim == 1 else root @ moves, np.sqrt(mu) * own])


def _newton(
    H: np.ndarray, slope: np.ndarray, equations: np.ndarray | None, root: Callable[[], np.ndarray]
) -> np.ndarray:
    """Return the move to the minimiser of ``<slope, e> + e' H e / 2`` among those that keep all equations.

    ``root`` makes a matrix with ``root' root = H``, for where ``H`` itself has lost too many digits.
    """
    if equations is None:
        return _minimiser(H, slope, root)
    chosen = _Followers.of(equations)
    return chosen.whole(_minimiser(chosen.hessian(H), chosen.slope(slope), lambda: chosen.images(root())))


def _minimiser(H: np.ndarray, slope: np.ndarray, root: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the minimiser of ``<slope, e> + e' H e / 2``, NaN if there is no telling."""
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
    """Return how much of a Newton move to make: so much that ``model + mu B`` falls enough; 0 if nothing will do.

    ``rise`` and ``curve`` are the model's slope and curvature along the move, ``fall`` what the whole promises.
    """
    before, step, sure = barrier.value(y), 1.0, 1.0 / (1.0 + np.sqrt(max(fall, 0.0) / mu))

    def change_of(step: float) -> float:
        return step * (rise + 0.5 * step * curve) + mu * (barrier.value(y + step * change) - before)

    while step > 1e-10:  # shorter ones have met rounding
        total = change_of(step)
        # self-concordance: what is `sure` is inside, and lower
        if np.isfinite(total) and (total <= -0.1 * step * fall or step <= sure or fall <= 1e-9 * mu):
            break
        step = max(0.5 * step, sure) if step > sure else 0.5 * step
    else:
        return 0.0
    if fall <= NEAR_PATH * mu:
        return step
    # far from the path the best of steps that differ by factors of two: some end too close to the boundary, and a
    # variable far too close to zero can only double in a plain one
    ratio = 2.0 if step >= 1.0 else 0.5
    while (there := change_of(ratio * step)) < total:
        step, total = ratio * step, there
    return step
