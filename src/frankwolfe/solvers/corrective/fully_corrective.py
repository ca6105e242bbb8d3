"""The fully corrective method: each round re-optimises the weights of all active atoms.

A round computes the exact gradient, which certifies, and adds the atoms with the steepest slopes. It then minimises the
objective over all combinations of the active atoms by Newton steps. A Newton step minimises a quadratic model with the
losses' curvatures (`quadratic_models`), to an accuracy in proportion to the gap, and is followed by a
line search on the objective.

On tall data, with many rows and few weights, the first round starts from the optimum of a row subsample. The distance
of that to the optimum over all rows is the sampling error. It is closer than the first rounds over all rows would get,
at a fraction of their cost. The sample proves nothing: later rounds and their certificates read all rows.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import ConstraintSet
from frankwolfe.compile.kernels import compile_above
from frankwolfe.exceptions import ClusterError
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.shards.local import ChunkedRows, Local
from frankwolfe.solvers.corrective.active_atoms import HessianLimits, atoms_of, features_of
from frankwolfe.solvers.corrective.hessian import coupled_curvatures, slopes_on_face
from frankwolfe.solvers.corrective.quadratic_models import ColumnModel, HessianModel, Model, minimise
from frankwolfe.solvers.corrective.rounds import VALUE_ROUNDING, RoundSolver, is_new_kind
from frankwolfe.solvers.dual_bound import LowerBound, dual_gap

GAP_LEFT_BY_ROUND, GAP_LEFT_ONCE_STABLE = 0.3, 0.1
"""A round ends when the gap over the active atoms is this fraction of the exact gap: the first while many atoms join,
the second once few do. Twice or half: passes change by 1 to 4%, times by less than their noise."""

GO_ON_WITHIN = 1e4
"""If the gap is at most this multiple of the tolerance, one or two more Newton steps should meet the tolerance. A round
then makes them before the next exact gradient, if they are cheap and all atoms with useful slopes are active. A
hundredth: fifteen problems take 5 to 7% longer. Ten times as many: no difference."""

HESSIAN_MODEL_LEFT, HESSIAN_MODEL_LEFT_ONCE_STABLE = 0.01, 0.001
"""A model with a formed Hessian is solved to this fraction of the gap: the first while many atoms join, the second once
few do. Twice the first: 1% more passes; half: 4% fewer."""


DISTRUST_PER_GAP, CURVATURE_FLOOR = 10.0, 1e-4
"""The damping of the model is `DISTRUST_PER_GAP` times the relative gap, at most one (see
`frankwolfe.objective.tasks.fill_curvatures`). Damping times `CURVATURE_FLOOR` is the smallest curvature of a sample in
the model, relative to the loss's smoothness. Larger: shorter, safer steps. Twice or half: passes change by 2% at most.
"""


STALLED_ROUNDS = 50
"""Number of successive rounds without a lower gap or objective after which the run has stalled."""

SAMPLED = 16
"""The sample has one row in this number. Twice or half: runs on w8a (49,749 x 300) take about as long. All of them take
half as long as without a sample."""

ROWS_PER_WEIGHT = 4
"""Fewest rows of the sample per weight. With fewer, the sample's optimum has other atoms: RCV1 at radius 1000, with
0.03 rows per weight, takes as long with a sample as without."""

LEAST_ENTRIES = {"sparse": 2**19, "dense": 2**21}
"""Fewest stored entries of the data: with less, a sample costs about what it saves, some milliseconds."""

SAMPLE_PASSES = 16
"""Maximum number of passes over the sample. They cost as much as one pass over all rows."""


class Passed(NamedTuple):
    """Result of an exact pass: the weights, the point there and its gradient."""

    w: np.ndarray
    at: Point
    gradient: np.ndarray


class CorrectiveSolver(RoundSolver):
    """One run of the fully corrective method; a step is a round.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    w : array of shape (d,)
        Feasible start.
    earlier : mapping, optional
        State of an earlier run. Only its number of steps is used.
    limits : HessianLimits, optional
        Largest numbers of atoms for which a Hessian is formed.
    """

    remembered = (
        *RoundSolver.remembered,
        "left",
        "by_columns",
        "damping_factor",
        "lowest_gap",
        "lowest_value",
        "idle_rounds",
        "predicted",
        "tiny_steps",
        "cold_start",
    )

    def __init__(
        self,
        problem: Problem,
        w: np.ndarray,
        earlier: Mapping[str, Any] | None = None,
        limits: HessianLimits | None = None,
    ):
        super().__init__(problem, w, earlier)
        self.limits = limits
        self.atoms: Any = self._atoms_at(w)
        self._costly = problem.objective.shards.calls_are_costly
        self._last_pass: Passed | None = None
        self._forget_progress()
        # True at a cold start. The first round may then begin at the optimum of a row subsample.
        self.cold_start = not self.atoms.indirect and earlier is None and np.array_equal(w, problem.default_start())

    def _forget_progress(self) -> None:
        """Set what rounds know about earlier rounds as at a start."""
        self.left, self.by_columns = 0.0, False  # fraction of the gap that the last Newton step left, by which model
        self.lowest_gap = self.lowest_value = np.inf
        self.damping_factor, self.idle_rounds = 1.0, 0  # idle: since the last progress
        self.predicted = np.inf  # decrease that the model predicted for the last step, if that was a full Newton step
        self.tiny_steps = 0  # steps since the gap last fell whose change of the objective was below rounding

    def _atoms_at(self, w: np.ndarray) -> Any:
        """Return the active set at the point ``w``."""
        return atoms_of(self.problem, w, self.limits)

    def warm_up(self) -> None:
        """Compile the kernels, or load them from the cache, by two rounds on the first eight rows.

        These rounds have few atoms and so use `HessianModel`. `ColumnModel` is compiled when a round first needs it.
        """
        if is_new_kind(type(self), self.problem):
            head = self.problem.head(8)
            CorrectiveSolver(head, head.default_start(), limits=self.limits).advance(2)

    def move_to(self, problem: Problem) -> bool:
        """Continue on the same data with a set of another radius. Return False if that is not supported.

        Atoms, columns and Hessian are reused. If the point is feasible as it is, so are its gradient and value.
        """
        hull, samples = problem.constraint.structure().hull, self.problem.samples
        if hull is None or self.atoms.indirect or problem.samples.rows is not samples.rows:
            return False
        found, before = self._exact(), self.atoms.u
        self.problem, self.rows_read, self.stuck = problem, 0, False
        self.bound = LowerBound(problem)
        self.atoms.hull = hull
        self.atoms.u = self.atoms.hull.fit(before)
        self._forget_progress()
        if np.array_equal(self.atoms.u, before):
            gap = problem.gap_for(found.gradient, self.point())
            self._found = found._replace(gap=self.at.proven(0.0 if gap < 0.0 else gap))
        elif self._costly:  # the next round begins with an exact pass
            self._found = None
        else:
            first, w = self.atoms.matrix is None, self.point()  # no round has been made
            z = problem.objective.predict(w) if first else self.atoms.predict(self.atoms.u)
            self.at, self._found = self._evaluate_predictions(z, problem.objective.linear(w)), None
        return True

    @property
    def exhausted(self) -> bool:
        """Whether the budget allows no further pass, with a pass reserved for the end of the round if it needs one."""
        return self.rows_read + (1 + self.atoms.indirect) * self.problem.n > self.budget

    def point(self) -> np.ndarray:
        """Return a copy of the iterate."""
        return self.atoms.w()

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Set ``at`` to the point at the iterate. Return the gradient and the exact gap there."""
        w, known, self._last_pass = self.point(), self._last_pass, None
        if self.at is not None and not (self.atoms.indirect or self._costly):
            gradient = self.problem.objective.gradient(self.at.alpha)
        else:  # on a cluster predictions are recomputed from the weights, so that a lost worker's part can be rebuilt
            if known is None or known.at is not self.at or not np.array_equal(known.w, w):
                known = self._pass(w)
            self.at, gradient = known.at, known.gradient
        return gradient, self._gap_at(gradient, w)

    def _pass(self, w: np.ndarray, since: Any = None) -> Passed:
        """Make an exact pass at the weights ``w``. With predictions ``since``, also compute the slope from there."""
        at, gradient = self.problem.objective.at(w, self.at or self.problem.guess, since)
        return Passed(w, self._charged(at), gradient)

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied."""
        return super().state() | self.atoms.state()

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state. The atoms come first because `point` uses them."""
        self.atoms.restore(state)
        super()._restore(state)

    # --- a round ----------------------------------------------------------------------------------------------

    def _round(self, found: Evaluation) -> None:
        """Extend the active set, then make Newton steps on its weights until its gap is a fraction of the exact gap."""
        self._look_back(found)
        if self.stuck or self.exhausted:
            return
        cold_start, self.cold_start = self.cold_start, False
        if cold_start and worth_sampling(self.problem):
            denied = not worth_sampling(self.problem, self.budget - self.rows_read)
            self.denied = self.denied or denied
            if not denied and self._start_from_sample(found):
                return
        added, moved = self.atoms.extend(found), False
        if len(self.atoms.u) == 0:
            self.stuck = True  # the iterate is zero and every slope is zero: zero is stationary
            return
        goal = (GAP_LEFT_ONCE_STABLE if self.atoms.stable else GAP_LEFT_BY_ROUND) * found.gap
        slope = self.atoms.slope(found.gradient)
        gap = self.atoms.hull.gap(slope, self.atoms.u)
        for _ in range(20):
            if self._close_enough(slope, gap, goal) or self._ends_early() or not self._newton(slope, gap):
                break
            moved, slope, before = True, self.atoms.project(self.at.alpha), gap
            gap = self.atoms.hull.gap(slope, self.atoms.u)
            self.left = min(1.0, gap / before)
        self.stuck = not (added or moved or self._ends_early())  # the next round would be identical
        if self.stuck:
            self._bound_on_face(found)
        # Vertices that were dropped leave rounding errors in the predictions, so the point is evaluated again.
        self._found = None if moved or (added and self.atoms.indirect) else found

    def _start_from_sample(self, found: Evaluation) -> bool:
        """Move to the optimum of a row subsample if the objective is lower there. Return whether the point moved."""
        w, rows_read = start_from_sample(self.problem, self.limits)
        self.rows_read += rows_read
        if w is None:
            return False
        if self._costly:  # an exact pass also computes the gradient, which the next round needs
            self._last_pass = self._pass(w)
            at = self._last_pass.at
        else:
            at = self._evaluate_predictions(self.problem.objective.predict(w), self.problem.objective.linear(w))
        if not at.value < found.value:
            return False
        self.atoms, self.at, self._found = self._atoms_at(w), at, None
        return True

    def _close_enough(self, slope: np.ndarray, gap: float, goal: float) -> bool:
        """Whether a round can end: the gap over the active atoms is at most ``goal``, or within the tolerance.

        Near the tolerance the round goes on if no other atoms are needed and Newton steps are cheap (`GO_ON_WITHIN`).
        """
        if gap <= self.target or gap > goal:
            return gap <= self.target
        near = gap <= GO_ON_WITHIN * self.target and self.atoms.covered
        return not (near and self.atoms.hessian_is_affordable(len(self.atoms.choose(slope))))

    def _look_back(self, found: Evaluation) -> None:
        """Count the rounds without progress. After `STALLED_ROUNDS` of them rounding has stalled the run."""
        gap, value = self.lowest_gap, self.lowest_value
        progress = found.gap < gap or found.value < value - VALUE_ROUNDING * self.scale
        self.idle_rounds = 0 if progress else self.idle_rounds + 1
        self.tiny_steps = 0 if found.gap < 0.9 * gap else self.tiny_steps
        self.lowest_gap, self.lowest_value = min(gap, found.gap), min(value, found.value)
        self.stuck = self.stuck or self.idle_rounds >= STALLED_ROUNDS
        if self.stuck or self.idle_rounds % 8 == 7:
            self._bound_on_face(found)

    def _bound_on_face(self, found: Evaluation) -> None:
        """Update the lower bound with a dual point that is exact on the face of the iterate. It counts as a pass.

        It is used when rounding errors of the gradient dominate the Frank-Wolfe gap.
        """
        hull = self.problem.constraint.structure().hull
        if hull is None or self.target <= 0.0 or self.exhausted:
            return
        w, shift = self.point(), self.atoms.shift
        alpha = slopes_on_face(self.problem, self.at, hull, w if shift is None else w - shift, found.gradient)
        if alpha is not None:
            self.rows_read += self.problem.n
            self._offer_bound(self.at, dual_gap(self.problem, self.at, w, alpha), alpha)

    def _newton(self, slope: np.ndarray, gap: float) -> bool:
        """Make a damped Newton step: minimise a quadratic model and line search toward its minimiser.

        Returns whether the iterate moved.
        """
        atoms = self.atoms
        chosen = atoms.choose(slope)
        if len(chosen) == 0:
            return False  # all weights are zero, and no slope is steep enough to change that
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
            # Reuse the last Hessian if another step with the same rate of convergence should meet the tolerance. Only
            # shards with costly calls make use of this.
            reuse = self.predicted < np.inf and 3.0 * self.left * gap <= self.target
            H = atoms.hessian.at(curvatures, chosen, shifts, reuse)
            model = HessianModel(atoms.hull, H, atoms.u, slope, chosen, self.problem.objective.compiled)
        else:
            model = ColumnModel(atoms, slope, curvatures, atoms.own_part(self.at.z), shifts)
        u = minimise(model, self._model_share(few) * gap)
        if not np.isfinite(u).all():
            return False  # the curvatures overflowed
        fall = -float(slope @ (u - atoms.u))
        if fall <= 100.0 * VALUE_ROUNDING * self.scale and fall <= 100.0 * self._noise():
            return self._step_by_gap(u, slope, gap)
        return self._search(u, fall, few)

    def _for_last_digits(self, gap: float) -> bool:
        """Whether the relative gap is small, but a step of the column model should not meet the tolerance."""
        expected = max(self._model_share(False), self.left) * gap if self.by_columns else np.inf
        # A step of the column model takes half as long.
        return bool(gap <= 1e-4 * self.scale and expected > self.target)

    def _model_share(self, hessian: bool) -> float:
        """Return the fraction of the gap to which a model is solved."""
        stable = self.atoms.stable
        if hessian:
            share = HESSIAN_MODEL_LEFT_ONCE_STABLE if stable else HESSIAN_MODEL_LEFT
            # The last step hardly reduced the gap. On ill-scaled columns a small gap of the model can still be far from
            # its minimiser, so the model is solved much further.
            return 1e-5 * share if self.left > 0.5 else share
        share = 0.1 if stable else 0.3  # exact answers are expensive column by column
        # If curvatures change along a step, a more exact minimiser of the model gains little.
        return max(share, 0.5 * self.left)

    def _curvatures(self, gap: float, hessian: bool) -> np.ndarray:
        """Return the damped, weighted curvatures of all samples.

        They are matrices if the loss couples the outputs and the Hessian is formed, else numbers.
        """
        damping, floor = self._damping(gap)
        if hessian and self.problem.outputs and self.problem.loss.coupled:
            return coupled_curvatures(self.problem, self.at, damping, floor)
        return self.problem.objective.curvatures(self.at, damping, floor)

    def _damping(self, gap: float) -> tuple[float, float]:
        """Return the damping of the model and the smallest curvature of a sample."""
        damping = min(1.0, self.damping_factor * DISTRUST_PER_GAP * min(gap, self.predicted) / self.scale)
        # On separable data losses and curvatures tend to zero together. The floor keeps the model strictly convex.
        least = 1e-12 * max(min(1.0, abs(self.at.value) / self.scale), 1e-100)
        return damping, max(CURVATURE_FLOOR * damping, least) * self.problem.objective.curvature_scale

    def _step_by_gap(self, u: np.ndarray, slope: np.ndarray, gap: float) -> bool:
        """Step toward ``u`` when the change of the objective is below rounding. Return whether the iterate moved.

        A step is accepted if it reduces the gap by 10%. Gaps are not monotone, so a step is also accepted if the slope
        along it changes from ``-fall`` to at most ``0.8 fall``: on a quadratic the objective then decreases. Rounding
        errors of the slope could make this cycle, so at most `STALLED_ROUNDS` such steps are made without a lower gap.
        """
        atoms, gamma, convex = self.atoms, 1.0, self.problem.loss.convex
        fall = -atoms.hull.along(slope, atoms.u, u)
        trusted = fall > 0.0 and self.tiny_steps < STALLED_ROUNDS
        for _ in range(4):
            goal = u if gamma == 1.0 else (1.0 - gamma) * atoms.u + gamma * u
            there = self._evaluate_predictions(atoms.predict(goal), atoms.linear(goal))
            slopes = atoms.project(there.alpha)
            rest = atoms.hull.along(slopes, atoms.u, u)
            better = atoms.hull.gap(slopes, goal) <= 0.9 * gap or (trusted and rest <= 0.8 * fall)
            if better and (convex or self._increase(there) <= self._noise()):
                atoms.u, self.at, self.tiny_steps = goal, there, self.tiny_steps + 1
                return True
            if not (trusted and rest > 0.0) or self.exhausted:
                return False
            gamma *= fall / (fall + rest)
        return False

    def _search(self, u: np.ndarray, fall: float, exact: bool) -> bool:
        """Line search along the segment to ``u``. Return whether the iterate moved.

        ``exact`` means that ``u`` minimises a model with a formed Hessian. Near an optimum, the decrease that such a
        model predicts estimates the distance to the optimal value.
        """
        atoms, here = self.atoms, self.atoms.u
        goal, end = self._goal(u)
        between = lambda part: atoms.predict((1.0 - part) * here + part * u)  # noqa: E731
        best = self._search_toward(goal, fall, end, between, atoms.linear(u))
        if best is None:
            return False
        gamma, self.at = best
        self.atoms.u = u if gamma == 1.0 else (1.0 - gamma) * self.atoms.u + gamma * u
        self._adapt(gamma)
        self.predicted = fall if exact and gamma == 1.0 else np.inf
        return True

    def _goal(self, u: np.ndarray) -> tuple[Any, Any]:
        """Return the predictions at the end ``u`` of a step, and the point there if it has been evaluated.

        On a cluster it is evaluated by an exact pass. That also returns the gradient, which the next round needs if
        the step is a full one, as most are. With an intercept this does not pay: the intercept takes calls of its own.
        """
        if not self._costly or self.problem.intercept:
            return self.atoms.predict(u), None
        passed = self._last_pass = self._pass(self.atoms.w(u), self.at.z)
        self.atoms.note_slopes(passed.at.alpha, passed.gradient)
        return passed.at.z, passed.at

    def _adapt(self, gamma: float) -> None:
        """Increase the damping after a short step, reduce it after a full step."""
        if gamma < 0.5:
            self.damping_factor = min(1e12, 10.0 * self.damping_factor)
        elif gamma == 1.0:
            self.damping_factor = max(1.0, 0.3 * self.damping_factor)


# --- the start from a row subsample -----------------------------------------------------------------------------------


def worth_sampling(problem: Problem, budget: float = float("inf")) -> bool:
    """Return whether to start from a row subsample. ``budget``, in rows, must also allow three passes over all rows.

    The loss must be convex, since otherwise the start determines the local minimum. Data on disk is not sampled, since
    this would read all of it. On a cluster each part has a sample of its own.
    """
    rows, sampled = problem.samples.rows, -(-problem.n // SAMPLED)
    if problem.objective.reads is not None or not problem.loss.convex:
        return False
    if budget < SAMPLE_PASSES * sampled + 3 * problem.n:
        return False
    if rows.stored() < LEAST_ENTRIES["sparse" if rows.is_sparse else "dense"]:
        return False
    return problem.n // (SAMPLED * problem.source.pieces) >= max(1, ROWS_PER_WEIGHT * problem.size)


def start_from_sample(problem: Problem, limits: Any = None) -> tuple[np.ndarray | None, int]:
    """Return approximately optimal weights for a row subsample, and the number of rows read.

    On a cluster this is the weighted mean of the optima of all parts. It is feasible, and averages the sampling errors.
    The weights are None if all sampled rows have weight zero.
    """
    given = problem.constraint, problem.intercept, limits, problem.linear
    (found,) = problem.objective.shards.run(sample_optimum, *given)
    if not found:
        return None, 0
    total, w = sum(weight for _, weight, _ in found), np.zeros(problem.size)
    for (support, values), weight, _ in found:
        w[support] += weight / total * values
    return w, sum(rows for _, _, rows in found)


def sample_optimum(local: Local, constraint: ConstraintSet, intercept: bool, limits: Any, linear: Any) -> tuple:
    """Return a list with one entry: the optimum of the sample of a part, the sample's weight, and the rows read.

    The relative gap is 1e-3. That may be less than the sampling error, but passes over the sample are cheap. With a gap
    thirty times as large, a million rows of 50 columns take one pass more.
    """
    rows, n = local.samples.rows, len(local.samples.weights)
    chunks, ends = (rows.chunks, rows.offsets) if isinstance(rows, ChunkedRows) else ([rows], [0, n])
    chosen = np.concatenate([np.arange(first, last, SAMPLED) for first, last in pairwise(ends)])
    weights = local.samples.weights[chosen]
    if not weights.any():
        return ([],)
    d = local.size // max(1, rows.outputs)
    matrices = [rows.matrix(d) if rows.is_sparse else rows.values for rows in map(features_of, chunks)]
    matrices = [matrix[::SAMPLED] for matrix in matrices]
    X = np.concatenate(matrices) if isinstance(matrices[0], np.ndarray) else sparse.vstack(matrices, format="csr")
    targets, loss = local.samples.targets[chosen], local.samples.loss
    sample = Problem(X, targets, loss, constraint, weights, intercept, linear=linear)
    with compile_above(0) if local.losses.compiled else nullcontext():  # kernels are loaded already
        sample = sample.own(local.executor)
        solver, target = CorrectiveSolver(sample, sample.default_start(), limits=limits), 1e-3 * sample.zero_value
        solver.begin(SAMPLE_PASSES * sample.n, target)
        while solver.finished() is None and not solver.evidence().gap_estimate <= target:
            solver.advance(1)
    w = solver.point()
    support = np.flatnonzero(w)
    return ([((support, w[support]), float(weights.sum()), solver.rows_read)],)
