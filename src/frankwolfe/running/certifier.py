"""Certificates of a run: gaps of its points, lower bounds on the optimum, and the best point so far.

The table of a stochastic method is a dual point: for a convex loss it bounds the optimum from below
(`frankwolfe.solvers.dual_bound`). A certificate therefore only needs the objective at the iterate, that is its
predictions, which take half a pass. Before the run reports success, ``r = X' alpha`` is recomputed, which takes another
half: the running ``r`` has the rounding errors of all steps. Without a table, or if its bound is too weak, the exact
Frank-Wolfe gap certifies.

Estimates *trigger* a certificate, exact quantities *certify*. The schedule counts passes, not seconds, so that runs
with the same seed stop at the same step on any machine.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Weights
from frankwolfe.compile.kernels import Stopwatch
from frankwolfe.losses import has_dual
from frankwolfe.methods.steps import LineSearch
from frankwolfe.objective.point import Point, ShardLine
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.rows.observed_entries import named_weights, weights_named
from frankwolfe.solvers.dual_bound import LowerBound, balanced, bound_at, sum_rounding
from frankwolfe.solvers.protocol import Evidence, Solver
from frankwolfe.solvers.sampled_gap import sampled_gap
from frankwolfe.solvers.state import Saved, below, built, flat, under


class PointCertificate(NamedTuple):
    """What is proven of a point.

    Attributes
    ----------
    value : float
        The objective.
    gap : float
        Upper bound on the distance of ``value`` to the optimum, for convex losses; otherwise the Frank-Wolfe gap.
    fw_gap : float
        The exact Frank-Wolfe gap; NaN if it was not computed.
    intercept : float, or array of shape (outputs,)
        The optimal intercept; zero if the problem has none.
    violation : float
        The largest relative violation of a side constraint; zero if there are none.
    distance : float
        The Euclidean distance of ``A w`` to the bounds of the side constraints; zero if there are none.
    """

    value: float
    gap: float
    fw_gap: float = np.nan
    intercept: Any = 0.0
    violation: float = 0.0
    distance: float = 0.0

    @property
    def by_bound(self) -> bool:
        """Whether the gap comes from a lower bound on the optimum, not from the Frank-Wolfe gap."""
        return not self.fw_gap <= self.gap

    def above(self, bound: LowerBound) -> "PointCertificate":
        """Return the certificate with the distance to a lower bound as its gap, if that is smaller."""
        return self._replace(gap=min(self.gap, bound.gap(self.value, self.violation)))

    def with_side(self, problem: Problem, w: Weights) -> "PointCertificate":
        """Return the certificate with the violation of the side constraints at ``w``.

        The gap of a smoothing method is not the Frank-Wolfe gap.
        """
        if problem.side is None:
            return self._replace(fw_gap=np.nan) if problem.needs_smoothing else self
        flat = problem.flat("w", w)
        violation, distance = problem.side.violation(flat), problem.side.distance(flat)
        return self._replace(fw_gap=np.nan, violation=violation, distance=distance)


SHARE = 0.1
"""Largest fraction of the passes that certificates may take."""

TABLE_SHARE = 0.05
"""The same if a table certifies, which needs only predictions."""


class CertificateSchedule(Saved):
    """Decides when a certificate is due.

    Parameters
    ----------
    tolerance : float or None
        The gap that ends the run. With None no certificate is due.
    optimism : float
        Initial guess of the ratio of exact to estimated gap. Certificates update it.
    by_table : bool
        Whether the table certifies, which takes half a pass. The estimate of its bound triggers a certificate.
    by_sample : bool
        Whether samples of rows trigger a certificate, if the table proves no bound. A sample is a small part of a pass.

    Examples
    --------
    >>> schedule = CertificateSchedule(tolerance=1e-3)
    >>> schedule.due(passes=2.0, gap_estimate=1e-2), schedule.due(passes=2.0, gap_estimate=1e-4)
    (False, True)
    """

    remembered = ("taken", "passes", "_last", "_last_triggered", "_triggered", "_last_sample", "_optimism")

    def __init__(self, tolerance: float | None, optimism: float = 1.0, by_table: bool = False, by_sample: bool = False):
        self.tolerance = tolerance
        self.by_table, self.by_sample = by_table, by_sample
        self.taken, self.passes = 0, 0.0
        self._last, self._last_triggered, self._triggered, self._last_sample = 0.0, 0.0, False, 0.0
        self._optimism = optimism

    def due(self, passes: float, gap_estimate: float, bound_estimate: float = np.nan) -> bool:
        """Whether to make a certificate now.

        The first trigger always makes one, so that a short run can stop. Later certificates are limited to a fraction
        of the passes. An estimate may stay too high for ever and trigger nothing, so certificates are also made without
        a trigger, geometrically spaced.
        """
        if self.tolerance is None or passes <= self._last or passes < 1.0:
            return False  # in the first pass most of the table is empty, and the estimate is meaningless
        share, price = (TABLE_SHARE, 0.5) if self.by_table else (SHARE, 1.0)
        affordable = self.passes + price <= share * passes
        self._triggered = bound_estimate <= self.tolerance
        if self._triggered:
            # After a certificate that missed the tolerance, a table or sample triggers again once the passes have grown
            # by a quarter.
            again = (self.by_table or self.by_sample) and passes >= 1.25 * self._last_triggered
            return affordable or self.taken == 0 or again
        if not (self.by_table or self.by_sample) and gap_estimate * self._optimism <= self.tolerance:
            return affordable or self.taken == 0
        return affordable and passes >= 1.5 * self._last

    def sample_due(self, passes: float, gap_estimate: float) -> bool:
        """Whether to sample rows now: the estimated gap is within the tolerance, and the last sample is old enough."""
        hopeful = self.tolerance is not None and passes >= 1.0 and gap_estimate <= self.tolerance
        return self.by_sample and hopeful and passes >= 1.1 * self._last_sample

    def note_sample(self, passes: float, price: float) -> None:
        """Record a sample and its cost in passes."""
        self.passes += price
        self._last_sample = passes

    def note(self, passes: float, gap: float, gap_estimate: float, price: float = 1.0) -> None:
        """Record a certificate and its cost in passes.

        The ratio of the exact to the estimated gap, if it is known, corrects later triggers.
        """
        self.taken += 1
        self.passes += price
        self._last = passes
        self._last_triggered = passes if self._triggered else self._last_triggered
        if not np.isnan(gap):
            self._optimism = max(1.0, gap / gap_estimate) if 0.0 < gap_estimate < gap else 1.0


class Earlier(NamedTuple):
    """An earlier iterate: its number of steps, weights, predictions and linear term."""

    steps: int
    w: np.ndarray
    z: np.ndarray
    linear: float = 0.0


class RecentMean:
    """Line search for a better point than the iterate, on the line through an earlier iterate.

    With steps toward vertices, an iterate is a convex combination of all vertices so far, including early ones, which
    were chosen by a poor gradient estimate. If the iterate ``w_s`` has the coefficient ``c`` in ``w_t``, then

        w_t = c w_s + (1 - c) v,        v = (w_t - c w_s) / (1 - c),

    where ``v`` is a weighted mean of the vertices since step s, hence feasible. Predictions are linear in the weights,
    so the best point between ``w_s`` and ``v`` is found without reading a row.

    Parameters
    ----------
    solver : Solver
        The solver of the run.
    """

    def __init__(self, solver: Solver):
        self.solver = solver
        self.part_left: Callable[[int], float] | None = None  # as in `Evidence`, at the present iterate
        self.earlier: Earlier | None = None

    def note(self, at: Point, w: Weights) -> None:
        """Store the iterate as the earlier one of the next search, if it is a convex combination of vertices.

        The predictions must be in this process, since the search combines them many times.
        """
        arrays = isinstance(w, np.ndarray) and isinstance(at.z, np.ndarray)
        if arrays and self.part_left is not None and not np.isnan(self.part_left(self.solver.steps)):
            self.earlier = Earlier(self.solver.steps, w, at.z, at.linear)

    def _line(self, at: Point) -> tuple[np.ndarray, float, float]:
        """Return the change of the predictions along the line, the slope along it, and its length.

        The unit is the distance to the earlier iterate. A positive length leads away from that, up to the mean ``v`` of
        the vertices; a negative one leads to the earlier iterate. The objective decreases that way.
        """
        assert self.earlier is not None
        assert self.part_left is not None
        along = at.z - self.earlier.z
        slope = float(at.alpha @ along) + at.linear - self.earlier.linear
        left = self.part_left(self.earlier.steps)
        return along, slope, left / (1.0 - left) if slope < 0.0 else -1.0

    def predicted_decrease(self, at: Point, wanted: float = 0.0) -> float:
        """Return the decrease of the objective along the line that a quadratic model predicts.

        Returns zero if there is no earlier iterate, or if the slope rules out a decrease of ``wanted`` by convexity.
        """
        if self.earlier is None or self.part_left is None or self.earlier.steps == self.solver.steps:
            return 0.0
        along, slope, length = self._line(at)
        length = abs(length)
        if abs(slope) * length <= wanted:
            return 0.0  # by convexity the decrease is at most |slope| * length
        curvature = float(self.solver.problem.objective.curvatures(at, 0.0, 0.0) @ along**2)
        if curvature > 0.0:
            length = min(length, abs(slope) / curvature)
        return abs(slope) * length - 0.5 * curvature * length * length

    def best(self, at: Point, w: np.ndarray) -> tuple[Point, np.ndarray] | None:
        """Return the minimiser along the line, or None if it is not better than ``w``.

        The predictions of the new weights take half a pass.
        """
        assert self.earlier is not None
        problem, objective = self.solver.problem, self.solver.problem.objective
        along, slope, length = self._line(at)
        line = ShardLine(objective, at.z, length * along, at.shift, length * (at.linear - self.earlier.linear))
        gamma = LineSearch().search(line, -length * slope, 1.0, 1)
        better = w + gamma * length * (w - self.earlier.w)
        found = objective.point(objective.predict(better), at, linear=objective.linear(better))
        return (found, better) if found.value < at.value and problem.constraint.contains(better) else None


class Start(NamedTuple):
    """Start of a run: the weights and, if they come from a result, its objective, gap, dual point and intercept.

    With side constraints the dual point includes their multipliers. The problem of that result may be a different one.
    """

    w: Weights = None
    fun: float = np.inf
    gap: float = np.inf
    slopes: np.ndarray | None = None
    multipliers: np.ndarray | None = None
    intercept: Any = None

    def state(self) -> dict[str, Any]:
        """Return the start as state entries. They are empty unless it was a result, which alone is needed later."""
        if self.intercept is None:
            return {}
        return named_weights("w", self.w) | flat("rest", self._replace(w=None))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Start":
        """Return the start from a saved state."""
        return built(cls, "rest", state)._replace(w=weights_named("w", state)) if state else cls()


def bound_by_conjugates(problem: Problem, found: Evidence, above: float) -> float:
    """Return the bound ``-sum_i p_i f_i*(alpha_i / p_i) - max_s <-r, s>`` of a step that has read all rows.

    Such a step has computed the first sum, and its ``r`` is the exact gradient. The result is minus infinity if there
    is no such bound or if it is not larger than ``above``; the costly proof of the support function is then skipped.
    """
    if found.conjugates is None or found.gradient is None:
        return -np.inf
    (total, size), r, constraint = found.conjugates, found.gradient, problem.constraint
    with np.errstate(over="ignore", invalid="ignore"):
        support = constraint.support(-r)
        bound = -total - support - sum_rounding(problem, size)
    if not bound > above or not problem.balances(found.slopes):
        return -np.inf
    return float(min(bound, bound + support - constraint.proven_support(-r)))


class Certifier:
    """Certify points of a run, and store the best point and the best lower bound on the optimum.

    Parameters
    ----------
    solver : Solver
        The solver of the run.
    watch : Stopwatch
        Stopwatch that measures the time of certificates.
    start : Start
        Start of the run.
    wanted : bool
        Whether a gap within the tolerance ends the run.
    """

    def __init__(self, solver: Solver, watch: Stopwatch, start: Start, wanted: bool):
        self.solver, self.watch, self.start, self.wanted = solver, watch, start, wanted
        self.tolerance = self.violation_tolerance = 0.0
        self.bound = LowerBound(solver.problem)
        self.schedule = CertificateSchedule(None)
        self.best: tuple[PointCertificate, Any] | None = None
        self._last: tuple[int, PointCertificate] | None = None
        self.recent = RecentMean(solver)
        self._proves = has_dual(solver.problem.loss)  # whether a table yields a lower bound on the optimum
        self._scheduled: Mapping[str, Any] | None = None  # state of the schedule of a resumed run

    def aim_at(self, found: Evidence, tolerance: float, violation_tolerance: float = 0.0) -> None:
        """Set the tolerances on the gap and on the violation of side constraints, and make the schedule.

        The solver's evidence ``found`` determines what triggers a certificate.
        """
        self.tolerance, self.violation_tolerance = tolerance, violation_tolerance
        # Stochastic estimates of the gap are too low at first.
        optimism = 10.0 if self.solver.batch_size else 1.0
        follows = found.table is not None and found.table_follows
        by_table = follows and self._proves and not self.solver.problem.intercept
        self.schedule = CertificateSchedule(
            tolerance if self.wanted else None, optimism, by_table, by_sample=follows and not self._proves
        )
        if self._scheduled is not None:
            self.schedule.restore(self._scheduled)

    def state(self) -> dict[str, Any]:
        """Return the state: the best point, the last certificate, the lower bound and the schedule."""
        found = under("start", self.start.state()) | under("schedule", self.schedule.state())
        found |= {"bound": self.bound.value} | flat("slopes", self.bound.slopes)
        found |= flat("multipliers", self.bound.multipliers) | flat("recent", self.recent.earlier)
        if self.best is not None:
            found |= flat("best", self.best[0]) | named_weights("best.w", self.best[1])
        if self._last is not None:
            found |= {"last.steps": self._last[0]} | flat("last", self._last[1])
        return found

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state. Call this before `aim_at`; the tolerance may differ."""
        self.start = Start.from_state(below("start", state))
        self._scheduled = below("schedule", state)
        self.bound.value, self.bound.slopes = state["bound"], state.get("slopes")
        self.bound.multipliers = state.get("multipliers")
        if "recent.steps" in state:
            self.recent.earlier = built(Earlier, "recent", state)
        if "best.value" in state:
            self.best = built(PointCertificate, "best", state), weights_named("best.w", state)
        if "last.steps" in state:
            self._last = state["last.steps"], built(PointCertificate, "last", state)

    def has_met(self) -> bool:
        """Whether the best point so far is within the tolerance."""
        return self.best is not None and self.meets(self.best[0])

    def due(self, nit: int, passes: float, known: Evidence, bound_estimate: float) -> bool:
        """Whether to certify now: always if the exact evaluation is known, otherwise by the schedule.

        No certificate is made if the next step yields an exact evaluation.

        If the start comes from a result whose gap was within the tolerance, it is certified before the first step.
        """
        if (nit == 0 and self.start.gap <= self.tolerance) or known.exact is not None:
            return self.wanted
        if known.steps_to_exact <= 1.0:
            return False
        if self.schedule.sample_due(passes, known.gap_estimate):
            solver = self.solver
            with self.watch.charged(certificate=True):
                sampled = sampled_gap(solver.problem, solver.point(), known, solver.steps, draws=0)
            self.schedule.note_sample(passes, sampled.passes)
            bound_estimate = sampled.estimate
        return self.schedule.due(passes, known.gap_estimate, bound_estimate)

    def note_bounds(self, known: Evidence) -> None:
        """Store the lower bounds that the evidence proves without reading a row."""
        if known.exact is not None:
            self._exactly(known.exact, known.multipliers)
        elif (bound := bound_by_conjugates(self.solver.problem, known, self.bound.value)) > self.bound.value:
            self.bound.offer(bound, known.slopes)

    def certify(self, passes: float, known: Evidence, at_end: bool = False) -> PointCertificate:
        """Return a certificate of the iterate, or of a better point that was found. ``at_end`` spares no pass.

        The certificate of the same step is reused, unless it missed the tolerance and this is the end of the run.
        """
        solver = self.solver
        if self._last is not None and self._last[0] == solver.steps:
            found = self._last[1]
            if not (at_end and np.isnan(found.fw_gap)) or self.meets(found):
                return found
        with self.watch.charged(certificate=True):
            w, self.recent.part_left = solver.point(), known.part_left
            if known.exact is not None:
                found = self._exactly(known.exact, known.multipliers).with_side(solver.problem, w)
            else:
                found, w, price = self._checked(w, known, at_end)
                self.schedule.note(passes, found.fw_gap, known.gap_estimate, price)
            found = found.above(self.bound)
        self._last = (solver.steps, found)
        self._keep_if_better(found, w)
        return found

    def _checked(self, w: Weights, known: Evidence, at_end: bool) -> tuple[PointCertificate, Any, float]:
        """Return the certificate of the iterate or of a better point, that point, and the cost in passes."""
        problem, table = self.solver.problem, known.table if self._proves else None
        if problem.needs_smoothing:
            return self._by_slopes(w, table, known.multipliers), w, 1.0
        if table is None and self.bound.value == -np.inf:
            return self._exactly(problem.evaluate(w)), w, 1.0
        if at_end and problem.objective.reads is not None:
            return self._checked_on_disk(w, table, known.gap_estimate)
        z, linear = problem.objective.predict(w), problem.objective.linear(w)
        at, price = problem.objective.point(z, problem.guess, linear=linear), 0.5
        found = self._above_bound(at, w)
        if table is not None and not self.meets(found):
            slopes = balanced(problem, at, table)
            left = np.inf if slopes is None else problem.objective.residuals(at, slopes)
            # an estimate by the running r, which has the rounding errors of all steps, reads no row
            expected = left + max(known.gap_estimate, 0.0)
            better = self._better_point(at, w, expected, at_end)
            self.recent.note(at, w)
            if better is not None and slopes is not None:
                expected -= at.value - better[0].value  # the lower bound does not depend on the point
                (at, w), price = better, price + 0.5
                found, left = self._above_bound(at, w), problem.objective.residuals(at, slopes)
            # with an intercept, `balanced` has changed the table, and its X' alpha is unknown
            worth_it = expected <= self.tolerance or at_end or slopes is not table
            if slopes is not None and worth_it and np.isfinite(left):
                gap, price = self._bound_by_slopes(at, w, slopes, left), price + 0.5
                found = found._replace(gap=min(found.gap, gap))
        if at_end or not (self.meets(found) or self.schedule.by_table):
            exact = problem.evaluation(at, problem.objective.gradient(at.alpha), w)
            found, price = self._exactly(exact)._replace(gap=min(found.gap, exact.gap)), price + 0.5
        return found, w, price

    def _above_bound(self, at: Point, w: Weights) -> PointCertificate:
        """Return the certificate of a point by the best lower bound so far."""
        return PointCertificate(at.value, np.inf, intercept=self.solver.problem.shift_of(at, w)).above(self.bound)

    def _by_slopes(self, w: Weights, table: Any, multipliers: np.ndarray | None) -> PointCertificate:
        """Return the certificate of the iterate by the averaged slopes and multipliers of a smoothing method.

        The derivatives at the iterate would give a weak bound: those of a non-smooth loss are discontinuous, and
        without multipliers they ignore the side constraints.
        """
        problem = self.solver.problem
        at = problem.objective.point(problem.objective.predict(w), problem.guess, linear=problem.objective.linear(w))
        slopes = None if table is None else balanced(problem, at, table)
        if slopes is not None:
            self.bound.offer(problem.dual_value(slopes, multipliers), slopes, multipliers)
        if self.bound.value == -np.inf:  # a weak bound by the derivatives at the iterate
            slopes = at.alpha.reshape(problem.samples.shape)
            self.bound.offer(problem.dual_value(slopes), slopes)
        return PointCertificate(at.value, np.inf, intercept=problem.shift_of(at, w)).with_side(problem, w)

    def _checked_on_disk(self, w: Weights, table: Any, gap_estimate: float) -> tuple[PointCertificate, Any, float]:
        """Return the certificate of the last iterate for data on disk, the point, and the cost in passes.

        Reads dominate the cost, so the exact gap, which takes one read, comes first.
        """
        problem = self.solver.problem
        at, gradient = problem.objective.at(w, problem.guess if problem.intercept else None)
        found = self._exactly(problem.evaluation(at, gradient, w)).above(self.bound)
        if table is None or self.meets(found):
            return found, w, 1.0
        slopes = balanced(problem, at, table)
        left = np.inf if slopes is None else problem.objective.residuals(at, slopes)
        if slopes is None or not left + gap_estimate < found.gap:
            return found, w, 1.0
        gap = self._bound_by_slopes(at, w, slopes, left)
        return found._replace(gap=min(found.gap, gap)), w, 1.5

    def _exactly(self, exact: Evaluation, multipliers: np.ndarray | None = None) -> PointCertificate:
        """Return the certificate of an exact evaluation, and store its lower bound."""
        self.bound.offer_gap(exact.value, exact.gap + exact.rounding, exact.alpha, multipliers, exact.gradient)
        return PointCertificate(exact.value, exact.gap, exact.gap, exact.intercept)

    def _better_point(self, at: Point, w: Weights, likely: float, at_end: bool) -> tuple[Point, np.ndarray] | None:
        """Return a better point than the iterate if it could bring the gap within the tolerance, else None.

        ``likely`` is the expected gap of the iterate. At the end of the run, any better point is returned.
        """
        if not (self.wanted and likely > self.tolerance and isinstance(w, np.ndarray)):
            return None
        wanted = 0.0 if at_end else likely - self.tolerance
        if self.recent.predicted_decrease(at, wanted) > wanted:
            return self.recent.best(at, w)
        return None

    def _bound_by_slopes(self, at: Point, w: Weights, slopes: np.ndarray, residuals: float) -> float:
        """Return the gap of a point by a dual point, with ``X' alpha`` recomputed. Store the lower bound."""
        problem = self.solver.problem
        gap = residuals + max(problem.gap_for(problem.objective.gradient(slopes), w, proof=True), 0.0)
        self.bound.offer_gap(at.value, gap + problem.objective.gap_rounding(at, slopes), slopes)
        return gap if gap == gap else np.inf

    def meets(self, found: PointCertificate) -> bool:
        """Whether the gap and the violation of side constraints are within their tolerances."""
        within = found.gap <= self.tolerance and found.violation <= self.violation_tolerance
        return self.wanted and bool(within)

    def start_is_certified(self) -> bool:
        """Certify a start whose result was within the tolerance, by the dual point of that result. Return success.

        This is for cases that `due` does not cover: the solver changed the representation of the point, or the gap
        was proven by a dual point that the solver does not have.
        """
        if not (self.wanted and self.start.gap <= self.tolerance):
            return False
        w = self.solver.point()
        same = isinstance(w, np.ndarray) and np.array_equal(w, self.start.w)
        if same and self.start.slopes is None:
            return False
        with self.watch.charged(certificate=True):
            found = self._evaluate_start()
        self.best = found, self.start.w
        return self.meets(found)

    def best_at_end(self) -> tuple[PointCertificate, Any]:
        """Return the best point with its certificate, at the end of a run.

        A run with a smaller tolerance than that of the result that it started from, or too small a budget, must not
        return a worse point than its start. If the best point misses the tolerance and only a bound was computed for
        it, its exact gap is computed.
        """
        assert self.best is not None
        (best, _), problem = self.best, self.solver.problem
        better = self.start.fun < best.value or self.start.gap < best.gap
        if self.wanted and better and not self.meets(best):
            with self.watch.charged():
                self._keep_if_better(self._evaluate_start(), self.start.w)
        found, w = self.best
        if self.wanted and not self.meets(found) and np.isnan(found.fw_gap) and not problem.needs_smoothing:
            with self.watch.charged(certificate=True):
                exact = self._exactly(problem.evaluate(w))
            found = exact._replace(gap=min(found.gap, exact.gap))
        return found.above(self.bound), w

    def _evaluate_start(self) -> PointCertificate:
        """Return the certificate of the start, also by the dual point of the earlier result."""
        problem, (w, _, _, slopes, multipliers, _) = self.solver.problem, self.start
        found = self._exactly(problem.evaluate(w)).with_side(problem, w)
        if slopes is not None and problem.needs_smoothing and slopes.shape == problem.samples.shape:
            if problem.side is None or (multipliers is not None and multipliers.size != problem.side.m):
                multipliers = None  # of another problem
            self.bound.offer(problem.dual_value(slopes, multipliers), slopes, multipliers)
        elif slopes is not None and not found.gap <= self.tolerance:
            gap, rounding = bound_at(problem, w, slopes)
            self.bound.offer_gap(found.value, gap + rounding, slopes)
            found = found._replace(gap=min(found.gap, gap))
        return found.above(self.bound)

    def _keep_if_better(self, found: PointCertificate, w: Weights) -> None:
        """Store a certified point as the best one if it is no worse."""
        if self.best is None or self._no_worse(found, self.best[0]):
            self.best = found, w

    def _no_worse(self, found: PointCertificate, other: PointCertificate) -> bool:
        """Whether a certified point is as good as another: first by its flaws, then by the objective.

        Flaws are an objective that is NaN, and a missed tolerance. If the objectives differ by rounding only, as near
        the optimum, the gaps decide.
        """
        ours, theirs = ((bool(np.isnan(each.value)), self.wanted and not self.meets(each)) for each in (found, other))
        if ours != theirs:
            return ours < theirs
        if self.solver.problem.side is not None:  # an infeasible point may have a low objective
            return self._merit(found) <= self._merit(other)
        # Equal up to the rounding of a sum over all rows.
        if abs(found.value - other.value) <= 1e-12 * abs(other.value):
            return found.gap <= other.gap
        return found.value <= other.value

    def _merit(self, found: PointCertificate) -> float:
        """Return an exact penalty function: the objective plus a multiple of the distance to the side constraints.

        If the multiple exceeds the norm of the optimal multipliers, its minimiser is the constrained optimum. The
        multipliers of the lower bound approximate the optimal ones.
        """
        problem, multipliers = self.solver.problem, self.bound.multipliers
        price = problem.zero_value / problem.side_reach if problem.side_reach > 0.0 else 1.0
        if multipliers is not None:
            price = max(price, 2.0 * float(np.linalg.norm(multipliers)))
        return found.value + price * found.distance
