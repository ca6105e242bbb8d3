"""Certificates of a run: what is proven of its points, and the best of them.

A table of slopes bounds the optimum for any convex loss (`frankwolfe.engines.dual_bound`), so a certificate needs the
objective at the iterate and nothing else of the data: predictions, half a pass. Only before success is said is
``r = X' alpha`` summed up anew, another half: the one that steps keep up to date has their rounding in it. Where there
is no such table, or it proves too little, the exact Frank-Wolfe gap certifies.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.engines.balance import balanced
from frankwolfe.engines.dual_bound import bound_at
from frankwolfe.engines.limits import Stopwatch
from frankwolfe.engines.lower_bound import Certificate, LowerBound
from frankwolfe.engines.protocol import Engine
from frankwolfe.engines.recent_mean import Earlier, RecentMean
from frankwolfe.engines.schedule import CertificateSchedule
from frankwolfe.engines.state import below, built, flat, under
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation
from frankwolfe.rows.observed_entries import named_weights, weights_named

STOCHASTIC_OPTIMISM = 10.0
"""How much lower than the exact gap to expect a stochastic estimate at first, where no table certifies."""

LINE_PRECISION = 0.05
"""How near the best point of a line is looked for: part of the tolerance."""

VALUE_ROUNDING = 1e-12
"""Objectives that differ by no more than this part of them may be equal: they are sums over all rows."""


class Start(NamedTuple):
    """Where a run starts: weights and, if they come from a result, its objective, gap and the slopes that prove that.

    With side constraints their multipliers too, and the intercept. All are for the problem of that result, which may
    have been another one.
    """

    w: Any = None
    fun: float = np.inf
    gap: float = np.inf
    slopes: np.ndarray | None = None
    multipliers: np.ndarray | None = None
    intercept: Any = None

    def state(self) -> dict[str, Any]:
        """Return what a run needs to know of its start after the first step: nothing unless it was a result."""
        if self.intercept is None:
            return {}
        return named_weights("w", self.w) | flat("rest", self._replace(w=None))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Start":
        """Return the start with this state."""
        return built(cls, "rest", state)._replace(w=weights_named("w", state)) if state else cls()


class Certifier:
    """Certifies points of a run, and keeps the best of them and the best lower bound on the optimum.

    Parameters
    ----------
    engine : Engine
        What runs.
    watch : Stopwatch
        Charged for certificates.
    start : Start
        Where the run starts.
    wanted : bool
        Whether a gap can end the run at all.
    """

    def __init__(self, engine: Engine, watch: Stopwatch, start: Start, wanted: bool):
        self.engine, self.watch, self.start, self.wanted = engine, watch, start, wanted
        self.tolerance = self.violation_tolerance = 0.0
        self.bound = LowerBound(engine.problem)
        self.schedule = CertificateSchedule(None)
        self.best: tuple[Certificate, Any] | None = None
        self._last: tuple[int, Certificate] | None = None
        self.recent = RecentMean(engine)
        self._scheduled: Mapping[str, Any] | None = None  # what is remembered of an earlier part of the run

    def aim_at(self, tolerance: float, violation_tolerance: float = 0.0) -> None:
        """Set the gap that ends the run, and the violation of side constraints that it may end with."""
        self.tolerance, self.violation_tolerance = tolerance, violation_tolerance
        optimism = STOCHASTIC_OPTIMISM if self.engine.batch_size else 1.0
        by_table = self.engine.table() is not None and self.engine.table_follows and not self.engine.problem.intercept
        self.schedule = CertificateSchedule(
            tolerance if self.wanted else None, optimism, by_table, self.engine.samples_gap
        )
        if self._scheduled is not None:
            self.schedule.restore(self._scheduled)

    def state(self) -> dict[str, Any]:
        """Return all that is known so far: the best point, the last one, the lower bound, the schedule."""
        found = under("start", self.start.state()) | under("schedule", self.schedule.state())
        found |= {"bound": self.bound.value} | flat("slopes", self.bound.slopes)
        found |= flat("multipliers", self.bound.multipliers) | flat("recent", self.recent.earlier)
        if self.best is not None:
            found |= flat("best", self.best[0]) | named_weights("best.w", self.best[1])
        if self._last is not None:
            found |= {"last.steps": self._last[0]} | flat("last", self._last[1])
        return found

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the certifier with this state was; the tolerance, still to be set, may be another one."""
        self.start = Start.from_state(below("start", state))
        self._scheduled = below("schedule", state)
        self.bound.value, self.bound.slopes = state["bound"], state.get("slopes")
        self.bound.multipliers = state.get("multipliers")
        if "recent.steps" in state:
            self.recent.earlier = built(Earlier, "recent", state)
        if "best.value" in state:
            self.best = built(Certificate, "best", state), weights_named("best.w", state)
        if "last.steps" in state:
            self._last = state["last.steps"], built(Certificate, "last", state)

    def has_met(self) -> bool:
        """Whether the best point so far is within the tolerance."""
        return self.best is not None and self.meets(self.best[0])

    def due(self, nit: int, passes: float, gap_estimate: float, bound_estimate: float) -> bool:
        """Whether to certify now: always where it costs nothing, else as the schedule says.

        A start whose gap was within the tolerance, by the result that it comes from, is certified before a step can
        lead away from it: what was proven once must not be lost.
        """
        if (nit == 0 and self.start.gap <= self.tolerance) or self.engine.certificate() is not None:
            return self.wanted
        if self.engine.certifies_itself:
            return False
        if self.schedule.sample_due(passes, gap_estimate):
            with self.watch.charged(certificate=True):
                sampled = self.engine.sampled_gap(draws=0)
            self.schedule.note_sample(passes, sampled.passes)
            bound_estimate = sampled.estimate
        return self.schedule.due(passes, gap_estimate, bound_estimate)

    def note_dual_value(self) -> None:
        """Keep the lower bound that the engine's last step proves, where it costs no row to know it."""
        if (bound := self.engine.dual_value(self.bound.value)) > self.bound.value:
            self.bound.offer(bound, self.engine.slopes)

    def certify(self, passes: float, gap_estimate: float, at_end: bool = False) -> Certificate:
        """Certify the iterate; at the end of a run with all means.

        What was certified at this very step is not certified again, unless it missed and the end has come.
        """
        engine = self.engine
        if self._last is not None and self._last[0] == engine.steps:
            found = self._last[1]
            if not (at_end and np.isnan(found.fw_gap)) or self.meets(found):
                return found
        with self.watch.charged(certificate=True):
            w, exact = engine.point(), engine.certificate()
            if exact is not None:
                found = self._exactly(exact)
            else:
                found, w, price = self._checked(w, at_end)
                self.schedule.note(passes, found.fw_gap, gap_estimate, price)
            self.bound.offer(engine.lower_bound, engine.slopes)
            found = self.bound.lower(found)
        self._last = (engine.steps, found)
        self._keep_if_better(found, w)
        return found

    def _checked(self, w: Any, at_end: bool) -> tuple[Certificate, Any, float]:
        """Return what is proven of the iterate or of a better point, that point, and the price in passes."""
        problem, table = self.engine.problem, self.engine.table()
        if problem.needs_smoothing:
            return self._by_slopes(w), w, 1.0
        if table is None and self.bound.value == -np.inf:
            return self._exactly(problem.evaluate(w)), w, 1.0
        if at_end and problem.objective.reads is not None:
            return self._checked_on_disk(w, table)
        at, price = problem.objective.point(problem.objective.predict(w), problem.guess), 0.5
        found = self._above_bound(at, w)
        if table is not None and not self.meets(found):
            slopes = balanced(problem, at, table)
            left = np.inf if slopes is None else problem.objective.residuals(at, slopes)
            # with the running r, which has the rounding of all steps in it, no row is read
            likely = left + max(self.engine.gap_estimate(), 0.0)
            better = self._better_point(at, w, likely, at_end)
            self.recent.note(at, w)
            if better is not None and slopes is not None:
                likely -= at.value - better[0].value  # the bound is the same for all points
                (at, w), price = better, price + 0.5
                found, left = self._above_bound(at, w), problem.objective.residuals(at, slopes)
            # with an intercept the table has been mended, and the sum that goes with it is not at hand
            worth_it = likely <= self.tolerance or at_end or slopes is not table
            if slopes is not None and worth_it and np.isfinite(left):
                gap, price = self._bound_by_slopes(at, w, slopes, left), price + 0.5
                found = found._replace(gap=min(found.gap, gap))
        if at_end or not (self.meets(found) or self.schedule.by_table):
            exact = problem.evaluation(at, problem.objective.gradient(at.alpha), w)
            found, price = self._exactly(exact)._replace(gap=min(found.gap, exact.gap)), price + 0.5
        return found, w, price

    def _above_bound(self, at: Point, w: Any) -> Certificate:
        """Return what the best bound so far proves of a point."""
        return self.bound.lower(Certificate(at.value, np.inf, intercept=self.engine.problem.shift_of(at, w)))

    def _by_slopes(self, w: Any) -> Certificate:
        """Return what the averaged slopes and multipliers of a method that smooths prove of the iterate.

        The derivatives at the iterate would prove next to nothing: those of a loss with kinks jump there, and without
        multipliers they know nothing of side constraints.
        """
        problem, table, multipliers = self.engine.problem, self.engine.table(), self.engine.multipliers
        at = problem.objective.point(problem.objective.predict(w), problem.guess)
        slopes = None if table is None else balanced(problem, at, table)
        if slopes is not None:
            self.bound.offer(problem.dual_value(slopes, multipliers), slopes, multipliers)
        if self.bound.value == -np.inf:  # better than nothing
            slopes = at.alpha.reshape(problem.samples.shape)
            self.bound.offer(problem.dual_value(slopes), slopes)
        return Certificate(at.value, np.inf, intercept=problem.shift_of(at, w)).with_side(problem, w)

    def _checked_on_disk(self, w: Any, table: np.ndarray | None) -> tuple[Certificate, Any, float]:
        """Return what is proven of the last iterate, where a read counts more than work: the exact gap comes first."""
        problem = self.engine.problem
        at, gradient = problem.objective.at(w, problem.guess if problem.intercept else None)
        found = self.bound.lower(self._exactly(problem.evaluation(at, gradient, w)))
        if table is None or self.meets(found):
            return found, w, 1.0
        slopes = balanced(problem, at, table)
        left = np.inf if slopes is None else problem.objective.residuals(at, slopes)
        if slopes is None or not left + self.engine.gap_estimate() < found.gap:
            return found, w, 1.0
        gap = self._bound_by_slopes(at, w, slopes, left)
        return found._replace(gap=min(found.gap, gap)), w, 1.5

    def _exactly(self, exact: Evaluation) -> Certificate:
        """Return what an exact evaluation proves, and keep its bound on the optimum."""
        self.bound.offer_gap(exact.value, exact.gap + exact.rounding, exact.alpha)
        return Certificate.of(exact)

    def _better_point(self, at: Point, w: Any, likely: float, at_end: bool) -> tuple[Point, np.ndarray] | None:
        """Return a better point than the iterate, where a certificate is wanted and the point may make it one."""
        if not (self.wanted and likely > self.tolerance and isinstance(w, np.ndarray)):
            return None
        wanted = 0.0 if at_end else likely - self.tolerance
        if self.recent.promise(at, wanted) > wanted:
            return self.recent.best(at, w, LINE_PRECISION * self.tolerance)
        return None

    def _bound_by_slopes(self, at: Point, w: Any, slopes: np.ndarray, residuals: float) -> float:
        """Return the gap that slopes prove of a point, with ``X' alpha`` summed up anew; keep it as a bound."""
        problem = self.engine.problem
        gap = residuals + max(problem.gap_for(problem.objective.gradient(slopes), w, proof=True), 0.0)
        self.bound.offer_gap(at.value, gap + at.gap_rounding(slopes), slopes)
        return gap if gap == gap else np.inf

    def meets(self, found: Certificate) -> bool:
        """Whether a gap is within the tolerance, where there is one, and so is the violation of side constraints."""
        within = found.gap <= self.tolerance and found.violation <= self.violation_tolerance
        return self.wanted and bool(within)

    def start_is_certified(self) -> bool:
        """Certify a start that was within the tolerance by what proved it, where the engine would not do so itself.

        The engine may keep the point in another form, or know nothing of the slopes that proved its bound.
        """
        if not (self.wanted and self.start.gap <= self.tolerance):
            return False
        w = self.engine.point()
        same = isinstance(w, np.ndarray) and np.array_equal(w, self.start.w)
        if same and self.start.slopes is None:
            return False
        with self.watch.charged(certificate=True):
            found = self._evaluate_start()
        self.best = found, self.start.w
        return self.meets(found)

    def recall_start(self) -> None:
        """Take the start into account again, if it came from a result and the run has missed its tolerance.

        A run with a smaller tolerance, or too small a budget, must not return a worse point than it was given.
        """
        assert self.best is not None
        best = self.best[0]
        better = self.start.fun < best.value or self.start.gap < best.gap
        if self.wanted and better and not self.meets(best):
            with self.watch.charged():
                found = self._evaluate_start()
            self._keep_if_better(found, self.start.w)

    def prove_best(self) -> None:
        """Take the exact gap of the best point, if it is an earlier one that missed and only a bound is known of it."""
        assert self.best is not None
        (found, w), problem = self.best, self.engine.problem
        if not self.wanted or self.meets(found) or not np.isnan(found.fw_gap) or problem.needs_smoothing:
            return
        with self.watch.charged(certificate=True):
            exact = self._exactly(problem.evaluate(w))
        self.best = self.bound.lower(exact._replace(gap=min(found.gap, exact.gap))), w

    def _evaluate_start(self) -> Certificate:
        """Return what is proven of the start, also by slopes of an earlier run."""
        problem, (w, _, _, slopes, multipliers, _) = self.engine.problem, self.start
        found = self._exactly(problem.evaluate(w)).with_side(problem, w)
        if slopes is not None and problem.needs_smoothing and slopes.shape == problem.samples.shape:
            if problem.side is None or (multipliers is not None and multipliers.size != problem.side.m):
                multipliers = None  # of another problem
            self.bound.offer(problem.dual_value(slopes, multipliers), slopes, multipliers)
        elif slopes is not None and not found.gap <= self.tolerance:
            gap, rounding = bound_at(problem, w, slopes)
            self.bound.offer_gap(found.value, gap + rounding, slopes)
            found = found._replace(gap=min(found.gap, gap))
        return self.bound.lower(found)

    def _keep_if_better(self, found: Certificate, w: Any) -> None:
        """Make a certified point the best one if it is no worse."""
        if self.best is None or self._no_worse(found, self.best[0]):
            self.best = found, w

    def _no_worse(self, found: Certificate, other: Certificate) -> bool:
        """Whether a certified point is as good as another: within the tolerance, then by objective.

        Near the optimum objectives differ by rounding only, and the gap tells which point is better.
        """
        ours, theirs = self._flaws(found), self._flaws(other)
        if ours != theirs:
            return ours < theirs
        if self.engine.problem.side is not None:  # an objective is only worth as much as what it violates
            return self._merit(found) <= self._merit(other)
        if abs(found.value - other.value) <= VALUE_ROUNDING * abs(other.value):
            return found.gap <= other.gap
        return found.value <= other.value

    def _merit(self, found: Certificate) -> float:
        """Return the objective and a price for the violation of side constraints; less is better.

        This is an exact penalty: with a price above the norm of the optimal multipliers, nothing is better than the
        best point that keeps to the constraints. Those that prove the bound come close to the optimal ones.
        """
        problem, multipliers = self.engine.problem, self.bound.multipliers
        price = problem.zero_value / problem.side_reach if problem.side_reach > 0.0 else 1.0
        if multipliers is not None:
            price = max(price, 2.0 * float(np.linalg.norm(multipliers)))
        return found.value + price * found.distance

    def _flaws(self, found: Certificate) -> tuple[bool, bool]:
        """Whether a point has no value, and whether it misses the tolerance."""
        return bool(np.isnan(found.value)), self.wanted and not self.meets(found)
