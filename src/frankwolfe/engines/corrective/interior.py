"""The corrective method for sets with a barrier: Newton models of the objective, minimised over the set itself.

A round takes the exact gradient, which certifies; makes a quadratic model of the objective with its true Hessian;
minimises that over the whole set by an interior-point method (`frankwolfe.engines.corrective.barrier_model`), as
exactly as the gap is worth; and goes there as far as the objective falls. What a round costs does not depend on how the
columns of the data are scaled, nor on how many vertices the answer is made of.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.engines.corrective.barrier_model import PathPoint, QuadraticModel, follow_path
from frankwolfe.engines.corrective.common_shift import kept_small
from frankwolfe.engines.corrective.hessian import loss_curvatures, objective_hessian
from frankwolfe.engines.corrective.rounds import RoundEngine
from frankwolfe.engines.corrective.warm_kinds import is_new_kind
from frankwolfe.engines.dual_bound import dual_gap, slopes_after
from frankwolfe.engines.state import copied
from frankwolfe.losses import has_dual
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.sets.barriers import Barrier

FIRST_MODEL_SHARE, LAST_MODEL_SHARE = 1e-3, 1e-8
"""Part of the gap that may be left in a model: at first, and once models have been right. Twice the first: 2% more
passes on small problems; half: 3% fewer. Twice or half the second: no difference."""

MAX_LEFT_OF_START = 0.1
"""Part of the objective at the start that may be left in a model at most. Doubled: no difference. Halved: 2% more
passes on small problems."""

MODEL_TARGET = 0.3
"""Part of the tolerance that a model aims at, as long as models lead anywhere. Twice or half: passes change by 1%."""

UNDERFLOW = 1e-290
"""Gaps that are no larger are zero: parts of them, which a path ends at, would underflow."""

CURVATURE_FLOOR = 1e-4
"""Smallest curvature of a sample in a model as a part of the loss's smoothness, where curvatures are not trusted at
all. Twice or half: passes change by 1%."""

ZERO_WEIGHTS = (1e-4, 1e-7)
"""Weights (of matrices singular values) below this part of the largest weight are set to zero at the end, if the gap
allows it; else those below the next. Twice or half: passes change by 1%."""

FEASIBILITY_ROUNDING = 1e-13
"""How far outside, relative to the set's size, a point without them may be: no more than by rounding. Twice or half: no
difference."""

STALLED_ROUNDS = 8
"""Rounds without a lower gap or objective after which a run is said to have stalled. Twice or half as many: no
difference where runs are certified."""

ABOUT_AS_LOW, ANY_RISE, A_RECORD = range(3)
"""When half the gap is reason enough to go where the objective is higher: if that is about as low as here, or no gap
before was so small; in any case; only if none was so small. A run that gets no further goes on to the next rule: by the
first, points may be refused that lead on, and by the first two, rounds may go in circles."""


class InteriorEngine(RoundEngine):
    """One run of the corrective method on a set with a barrier."""

    remembered = (
        *RoundEngine.remembered,
        *(
            "w",
            "share",
            "most_left",
            "aim",
            "care",
            "rule",
            "mattered",
            "vain",
            "lowest_gap",
            "lowest_value",
            "lowest_above",
        ),
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
            InteriorEngine(self.problem.head(8), self.w, barrier=self.barrier).advance(1)

    @property
    def spent(self) -> bool:
        """Whether the budget allows no further pass, beside the one that may end a round."""
        return self.rows_read + 2 * self.problem.n > self.budget

    def point(self) -> np.ndarray:
        """Return the iterate as a new array."""
        return self.w.copy()

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the engine's own."""
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
        self.stuck = self.stuck or found.gap <= UNDERFLOW
        if self.stuck or self.spent:
            return
        floor = CURVATURE_FLOOR * self.care * self.problem.objective.curvature_scale
        curvatures = loss_curvatures(self.problem, self.at, self.care, floor)
        curvature = objective_hessian(self.problem, self.at, curvatures)
        if not curvature.finite():
            self.stuck = True  # the curvatures overflowed: there is no model to go by
            return
        # the gap may be millions of times what the objective can fall: a model that leaves a part of that is no use
        goal = max(self.aim * self.target, min(self.share * found.gap, self.most_left * self.scale))
        scale = min(found.gap, abs(found.value)) or found.gap
        model = QuadraticModel(self.w, found.gradient, curvature)
        model = kept_small(model, self.problem, self.at, goal, found.gap)
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
            self.share = max(LAST_MODEL_SHARE, self.share**2)
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
        for part in ZERO_WEIGHTS:
            there = self.barrier.without_tiny(self.w, part * np.abs(self.w).max(initial=0.0))
            if (
                self.spent
                or np.array_equal(there, self.w)
                or not self.problem.constraint.contains(there, FEASIBILITY_ROUNDING)
            ):
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
