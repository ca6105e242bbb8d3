"""The fully corrective method: after each exact gradient, the weights of all atoms found so far are made optimal.

A round takes the exact gradient, which certifies, adds the atoms that promise most, and minimises the objective over
all combinations of the active ones by Newton steps: a quadratic model with the losses' curvatures (`hessian_model` or
`column_model`), solved as exactly as the gap is worth, and a line search on the objective.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.exceptions import ClusterError
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.solvers.corrective.active_atoms import HessianLimits, atoms_of
from frankwolfe.solvers.corrective.column_model import ColumnModel
from frankwolfe.solvers.corrective.hessian import coupled_curvatures, slopes_on_face
from frankwolfe.solvers.corrective.hessian_model import HessianModel, Model, minimise
from frankwolfe.solvers.corrective.rounds import VALUE_ROUNDING, RoundSolver
from frankwolfe.solvers.corrective.start import is_new_kind, start_from_sample, worth_sampling
from frankwolfe.solvers.dual_bound import dual_gap

GAP_LEFT_BY_ROUND, GAP_LEFT_ONCE_SETTLED = 0.3, 0.1
"""Part of the exact gap that may be left on the active atoms when a round ends: while many atoms join, and once few
do. Twice or half: passes change by 1 to 4%, times by less than their noise."""

GO_ON_WITHIN = 1e4
"""A gap of at most so many times the tolerance is expected to meet it after a step or two more. They are made at once
where steps are cheap and all atoms that promise anything are active: an exact gradient and a round would cost more. A
hundredth: fifteen problems take 5 to 7% longer. Ten times as many: no difference."""

HESSIAN_MODEL_LEFT, HESSIAN_MODEL_LEFT_ONCE_SETTLED = 0.01, 0.001
"""Part of the gap that may be left in a model whose Hessian is formed: while many atoms join, and once few do. Twice
the first: 1% more passes; half: 4% fewer."""

COLUMN_MODEL_TRUST = 0.5
"""A column model is not solved further than this times the part of the gap that the last step left: where curvatures
change on the way, an exact answer is worth little. Doubled: 2% more passes. Halved: no difference."""

DISTRUST_PER_GAP, CURVATURE_FLOOR = 10.0, 1e-4
"""How little curvatures are trusted far from the optimum, as a multiple of the relative gap, at most one (see
`frankwolfe.objective.tasks.fill_curvatures`); times `CURVATURE_FLOOR` it is the smallest curvature of a sample in the
model, as a part of the loss's smoothness. Larger: shorter, safer steps. Twice or half: passes change by 2% at most."""

LAST_DIGITS = 1e-4
"""Relative gap from which on the Hessian of more atoms is worth forming, unless one more step column by column should
meet the tolerance: that takes half as long. Doubled: 1% fewer passes. Halved: no difference."""

STALLED_ROUNDS = 50
"""Rounds without a lower gap or objective after which a run is said to have stalled."""


class Passed(NamedTuple):
    """An exact pass: at which weights, the point there, and the gradient."""

    w: np.ndarray
    at: Point
    gradient: np.ndarray


class CorrectiveSolver(RoundSolver):
    """One run of the fully corrective method; a step is a round.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    w : array of shape (d,)
        Feasible start.
    earlier : mapping, optional
        What the result of another run hands over: here only the number of its steps is used.
    limits : HessianLimits, optional
        Up to how many atoms a Hessian is formed.
    """

    remembered = (
        *RoundSolver.remembered,
        "left",
        "by_columns",
        "caution",
        "lowest_gap",
        "lowest_value",
        "vain",
        "promised",
        "unseen",
        "fresh",
    )

    def __init__(
        self,
        problem: Problem,
        w: np.ndarray,
        earlier: Mapping[str, Any] | None = None,
        limits: HessianLimits | None = None,
    ):
        super().__init__(problem, earlier)
        self.atoms: Any = atoms_of(problem, w, limits)
        self._costly = problem.objective.shards.calls_are_costly
        self._last_pass: Passed | None = None
        self.left, self.by_columns = 0.0, False  # of the gap, by the last Newton step, and whether it had no Hessian
        self.lowest_gap = self.lowest_value = np.inf
        self.caution, self.vain = 1.0, 0
        self.promised = np.inf  # fall of the objective, by the last step that was made in full
        self.limits = limits
        # whether nothing is known of the optimum yet: then a sample of the rows may tell where to begin
        self.fresh = not self.atoms.indirect and earlier is None and np.array_equal(w, problem.default_start())
        self.unseen = 0  # steps since the gap was lowest of which the objective could not tell whether they were good

    def warm_up(self) -> None:
        """Compile, or load from the cache, by rounds on the first few rows; once for each kind of data and parts.

        Rounds begin with few atoms, whose Hessian is formed. Models that work column by column are compiled by the
        first round that needs one.
        """
        if is_new_kind(type(self), self.problem):
            head = self.problem.head(8)
            CorrectiveSolver(head, head.default_start(), limits=self.limits).advance(2)

    def move_to(self, problem: Problem) -> bool:
        """Go on with the same data over a set of another radius, if that can be done; say whether.

        Atoms, columns and Hessian are those of before; where the point need not move, so are its gradient and value.
        """
        hull, samples = problem.constraint.structure().hull, self.problem.samples
        if hull is None or self.atoms.indirect or problem.samples.rows is not samples.rows:
            return False
        found, before = self._exact(), self.atoms.u
        self.problem, self.rows_read, self.stuck = problem, 0, False
        self._forget_bounds()
        self.atoms.hull = hull
        self.atoms.u = self.atoms.hull.fit(before)
        self.lowest_gap = self.lowest_value = np.inf
        self.caution, self.vain, self.left, self.by_columns = 1.0, 0, 0.0, False
        self.unseen, self.promised = 0, np.inf
        if np.array_equal(self.atoms.u, before):
            gap = problem.gap_for(found.gradient, self.point())
            self._found = found._replace(gap=self.at.proven(0.0 if gap < 0.0 else gap))
        elif self._costly:  # the next round begins with an exact pass
            self._found = None
        else:
            stretch = np.abs(self.atoms.u).sum() / np.abs(before).sum()
            self.at, self._found = self._evaluate_predictions(self.atoms.stretched(self.at.z, stretch)), None
        return True

    @property
    def spent(self) -> bool:
        """Whether the budget allows no further pass, beside the one that may end a round."""
        return self.rows_read + (1 + self.atoms.indirect) * self.problem.n > self.budget

    def point(self) -> np.ndarray:
        """Return the iterate as a new array."""
        return self.atoms.w()

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""
        w, known, self._last_pass = self.point(), self._last_pass, None
        if self.at is not None and not (self.atoms.indirect or self._costly):
            gradient = self.problem.objective.gradient(self.at.alpha)
        else:  # on a cluster every round begins from the weights: what workers keep follows from what is known here
            if known is None or known.at is not self.at or not np.array_equal(known.w, w):
                known = self._pass(w)
            self.at, gradient = known.at, known.gradient
        return gradient, self.problem.gap_for(gradient, w)

    def _pass(self, w: np.ndarray, since: Any = None) -> Passed:
        """Take an exact pass at some weights, maybe with the slope along the segment from other predictions."""
        at, gradient = self.problem.objective.at(w, self.at or self.problem.guess, since)
        return Passed(w, self._charged(at), gradient)

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the solver's own."""
        return super().state() | self.atoms.state()

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take over all that a state holds; the atoms first, for they are the weights."""
        self.atoms.restore(state)
        super()._restore(state)

    # --- a round ----------------------------------------------------------------------------------------------

    def _round(self, found: Evaluation) -> None:
        """Extend the active atoms and make Newton steps on their weights until little of the gap is left."""
        self._look_back(found)
        if self.stuck or self.spent:
            return
        fresh, self.fresh = self.fresh, False
        if fresh and worth_sampling(self.problem):
            self.denied = not worth_sampling(self.problem, self.budget - self.rows_read)
            if not self.denied and self._start_from_sample(found):
                return
        added, moved = self.atoms.extend(found), False
        if len(self.atoms.u) == 0:
            self.stuck = True  # zero, and no coordinate promises anything: there is nothing to correct
            return
        goal = (GAP_LEFT_ONCE_SETTLED if self.atoms.settled else GAP_LEFT_BY_ROUND) * found.gap
        slope = self.atoms.slope(found.gradient)
        gap = self.atoms.hull.gap(slope, self.atoms.u)
        for _ in range(20):
            if self._close_enough(slope, gap, goal) or self.spent or not self._newton(slope, gap):
                break
            moved, slope, before = True, self.atoms.matrix.project(self.at.alpha), gap
            gap = self.atoms.hull.gap(slope, self.atoms.u)
            self.left = min(1.0, gap / before)
        self.stuck = not (added or moved or self.spent)  # a round that changed nothing would change nothing again
        if self.stuck:
            self._bound_on_face(found)
        # of vertices that others took the place of, some rounding is left in the point
        self._found = None if moved or (added and self.atoms.indirect) else found

    def _start_from_sample(self, found: Evaluation) -> bool:
        """Go where the objective of a sample of the rows is lowest, if the objective is lower there; say whether."""
        w, rows_read = start_from_sample(self.problem, self.limits)
        self.rows_read += rows_read
        if w is None:
            return False
        if self._costly:  # an exact pass, for the next round begins there
            self._last_pass = self._pass(w)
            at = self._last_pass.at
        else:
            at = self._evaluate_predictions(self.problem.objective.predict(w))
        if not at.value < found.value:
            return False
        self.atoms, self.at, self._found = atoms_of(self.problem, w, self.limits), at, None
        return True

    def _close_enough(self, slope: np.ndarray, gap: float, goal: float) -> bool:
        """Whether a round has done its part: the rest of the gap is small, or other atoms are needed first."""
        if gap <= self.target or gap > goal:
            return gap <= self.target
        near = gap <= GO_ON_WITHIN * self.target and self.atoms.covered
        return not (near and self.atoms.hessian_is_affordable(len(self.atoms.choose(slope))))

    def _look_back(self, found: Evaluation) -> None:
        """Notice when neither gap nor objective has fallen for long: rounding moves the point to and fro."""
        gap, value = self.lowest_gap, self.lowest_value
        self.vain = 0 if found.gap < gap or found.value < value - VALUE_ROUNDING * self.scale else self.vain + 1
        self.unseen = 0 if found.gap < 0.9 * gap else self.unseen
        self.lowest_gap, self.lowest_value = min(gap, found.gap), min(value, found.value)
        self.stuck = self.stuck or self.vain >= STALLED_ROUNDS
        if self.stuck or self.vain % 8 == 7:
            self._bound_on_face(found)

    def _bound_on_face(self, found: Evaluation) -> None:
        """Bound the optimum from below by slopes of its face, where rounding hides the gap; charged as a pass."""
        hull = self.problem.constraint.structure().hull
        if hull is None or self.target <= 0.0 or self.spent:
            return
        w, shift = self.point(), self.atoms.shift
        alpha = slopes_on_face(self.problem, self.at, hull, w if shift is None else w - shift, found.gradient)
        if alpha is not None:
            self.rows_read += self.problem.n
            self._raise_bound(self.at, dual_gap(self.problem, self.at, w, alpha), alpha)

    def _newton(self, slope: np.ndarray, gap: float) -> bool:
        """Minimise a quadratic model and go there as far as the objective falls; say whether it did."""
        atoms = self.atoms
        chosen = atoms.choose(slope)
        if len(chosen) == 0:
            return False  # no weight, and nothing promises any
        few = atoms.hessian_is_affordable(len(chosen), self._for_last_digits(gap))
        if self._costly and not few:
            raise ClusterError(
                f"{len(chosen):,} atoms are active, and on a cluster Hessians are formed of {atoms.limits.usual:,} "
                "at most: use a smaller radius, a larger tol, or data in memory"
            )
        self.by_columns, curvatures = not few, self._curvatures(gap, few)
        shifts = 0 if self.at.shift is None else len(self.at.shift)
        model: Model
        if few:
            atoms.forget_columns()
            # where calls are costly, and a step like the last one with the same Hessian should meet the tolerance
            as_it_is = self.promised < np.inf and 3.0 * self.left * gap <= self.target
            H = atoms.hessian.at(curvatures, chosen, shifts, as_it_is)
            model = HessianModel(atoms.hull, H, atoms.u, slope, chosen, self.problem.objective.compiled)
        else:
            model = ColumnModel(atoms, slope, curvatures, atoms.own_part(self.at.z), shifts)
        u = minimise(model, self._model_share(few) * gap)
        if not np.isfinite(u).all():
            return False  # the curvatures overflowed: there is no model to go by
        fall = -float(slope @ (u - atoms.u))
        if fall <= 100.0 * VALUE_ROUNDING * self.scale and fall <= 100.0 * self._noise():
            return self._step_by_gap(u, slope, gap)
        return self._search(u, fall, few)

    def _for_last_digits(self, gap: float) -> bool:
        """Whether few digits are missing, and yet more than a step like the last one would find column by column."""
        expected = max(self._model_share(False), self.left) * gap if self.by_columns else np.inf
        return bool(gap <= LAST_DIGITS * self.scale and expected > self.target)

    def _model_share(self, hessian: bool) -> float:
        """Return the part of the gap that may be left in a model."""
        settled = self.atoms.settled
        if hessian:
            share = HESSIAN_MODEL_LEFT_ONCE_SETTLED if settled else HESSIAN_MODEL_LEFT
            # on ill-scaled columns a gap says little about the distance to the optimum
            return 1e-5 * share if self.left > 0.5 else share
        share = 0.1 if settled else 0.3  # exact answers are expensive column by column
        return max(share, COLUMN_MODEL_TRUST * self.left)

    def _curvatures(self, gap: float, hessian: bool) -> np.ndarray:
        """Return the weighted curvatures for a model: matrices where outputs are coupled and a Hessian is formed."""
        care = min(1.0, self.caution * DISTRUST_PER_GAP * min(gap, self.promised) / self.scale)
        # losses and curvatures vanish together: without a floor, models of separable data would have no curvature
        least = 1e-12 * max(min(1.0, abs(self.at.value) / self.scale), 1e-100)
        floor = max(CURVATURE_FLOOR * care, least) * self.problem.objective.curvature_scale
        if hessian and self.problem.outputs and self.problem.loss.coupled:
            return coupled_curvatures(self.problem, self.at, care, floor)
        return self.problem.objective.curvatures(self.at, care, floor)

    def _step_by_gap(self, u: np.ndarray, slope: np.ndarray, gap: float) -> bool:
        """Go toward ``u`` where the objective can no longer tell which point is better, if gap or slopes can.

        A smaller gap is all that is wanted. But gaps go up and down on the way to the optimum, so a step is also good
        if the slope along it nearly vanishes at its end: then the objective has fallen, seen or not. That may also be
        rounding, which would move the point to and fro for ever, so it is only trusted so often.
        """
        atoms, gamma, convex = self.atoms, 1.0, self.problem.loss.convex
        fall = -atoms.hull.along(slope, atoms.u, u)
        trusted = fall > 0.0 and self.unseen < STALLED_ROUNDS
        for _ in range(4):
            goal = u if gamma == 1.0 else (1.0 - gamma) * atoms.u + gamma * u
            there = self._evaluate_predictions(atoms.predict(goal))
            slopes = atoms.matrix.project(there.alpha)
            rest = atoms.hull.along(slopes, atoms.u, u)
            better = atoms.hull.gap(slopes, goal) <= 0.9 * gap or (trusted and rest <= 0.8 * fall)
            if better and (convex or self._rise(there) <= self._noise()):
                atoms.u, self.at, self.unseen = goal, there, self.unseen + 1
                return True
            if not (trusted and rest > 0.0) or self.spent:
                return False
            gamma *= fall / (fall + rest)
        return False

    def _search(self, u: np.ndarray, fall: float, exact: bool) -> bool:
        """Look for a point on the way to ``u`` where the objective has fallen and is about level; go there.

        ``exact`` says that ``u`` minimises a model with a Hessian: what it promises is what is left, near an optimum.
        """
        atoms, here = self.atoms, self.atoms.u
        goal, end = self._goal(u)
        best = self._search_toward(goal, fall, end, lambda part: atoms.predict((1.0 - part) * here + part * u))
        if best is None:
            return False
        gamma, self.at = best
        self.atoms.u = u if gamma == 1.0 else (1.0 - gamma) * self.atoms.u + gamma * u
        self._adapt(gamma)
        self.promised = fall if exact and gamma == 1.0 else np.inf
        return True

    def _goal(self, u: np.ndarray) -> tuple[Any, Any]:
        """Return the predictions at the end of a step, and the point there if it is known.

        On a cluster an exact pass is taken there: it returns the gradient too, and most steps are made in full. With an
        intercept that takes calls of its own to find.
        """
        if not self._costly or self.problem.intercept:
            return self.atoms.predict(u), None
        passed = self._last_pass = self._pass(self.atoms.w(u), self.at.z)
        self.problem.objective.note_slopes(self.atoms.matrix.blocks, passed.at.alpha, self.atoms.slope(passed.gradient))
        return passed.at.z, passed.at

    def _adapt(self, gamma: float) -> None:
        """Trust curvatures less where a step had to be cut short, more where it had not."""
        if gamma < 0.5:
            self.caution = min(1e12, 10.0 * self.caution)
        elif gamma == 1.0:
            self.caution = max(1.0, 0.3 * self.caution)
