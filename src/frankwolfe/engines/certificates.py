"""Certificates of a run: what is proven of its points, and the best of them.

A table of slopes bounds the optimum for any convex loss (`frankwolfe.engines.dual_bound`), so a certificate needs the
objective at the iterate and nothing else of the data: predictions, half a pass. Only before success is said is
``r = X' alpha`` summed up anew, another half: the one that steps keep up to date has their rounding in it. Where there
is no such table, or it proves too little, the exact Frank-Wolfe gap certifies.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.engines.balance import balanced
from frankwolfe.engines.dual_bound import bound_at
from frankwolfe.engines.limits import Stopwatch
from frankwolfe.engines.lower_bound import Certificate, LowerBound
from frankwolfe.engines.protocol import Engine
from frankwolfe.engines.schedule import CertificateSchedule
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation

STOCHASTIC_OPTIMISM = 10.0
"""How much lower than the exact gap to expect a stochastic estimate at first, where no table certifies."""

VALUE_ROUNDING = 1e-12
"""Objectives that differ by no more than this part of them may be equal: they are sums over all rows."""


class Start(NamedTuple):
    """Where a run starts: weights and, if they come from a result, its gap and the slopes that prove it.

    Both are for the problem of that result, which may have been another one.
    """

    w: Any = None
    gap: float = np.inf
    slopes: np.ndarray | None = None


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
        self.tolerance = 0.0
        self.bound = LowerBound(engine.problem)
        self.schedule = CertificateSchedule(None)
        self.best: tuple[Certificate, Any] | None = None
        self._last: tuple[int, Certificate] | None = None

    def aim_at(self, tolerance: float) -> None:
        """Set the gap that ends the run."""
        self.tolerance = tolerance
        optimism = STOCHASTIC_OPTIMISM if self.engine.batch_size else 1.0
        by_table = self.engine.table() is not None and self.engine.table_follows and not self.engine.problem.intercept
        self.schedule = CertificateSchedule(
            tolerance if self.wanted else None, optimism, by_table, self.engine.samples_gap
        )

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
                found, price = self._checked(w, at_end)
                self.schedule.note(passes, found.fw_gap, gap_estimate, price)
            self.bound.offer(engine.lower_bound, engine.slopes)
            found = self.bound.lower(found)
        self._last = (engine.steps, found)
        self._keep_if_better(found, w)
        return found

    def _checked(self, w: Any, at_end: bool) -> tuple[Certificate, float]:
        """Return what is proven of the iterate, and what that costs in passes: as little as will do."""
        problem, table = self.engine.problem, self.engine.table()
        if table is None and self.bound.value == -np.inf:
            return self._exactly(problem.evaluate(w)), 1.0
        if at_end and problem.objective.reads is not None:
            return self._checked_on_disk(w, table)
        at, price = problem.objective.point(problem.objective.predict(w), problem.guess), 0.5
        found = self.bound.lower(Certificate(at.value, np.inf, intercept=problem.shift_of(at, w)))
        if table is not None and not self.meets(found):
            gap, proof = self._bound_by_table(at, w, table, at_end)
            found, price = found._replace(gap=min(found.gap, gap)), price + proof
        if at_end or not (self.meets(found) or self.schedule.by_table):
            exact = problem.evaluation(at, problem.objective.gradient(at.alpha), w)
            found, price = self._exactly(exact)._replace(gap=min(found.gap, exact.gap)), price + 0.5
        return found, price

    def _checked_on_disk(self, w: Any, table: np.ndarray | None) -> tuple[Certificate, float]:
        """Return what is proven of the last iterate, where a read counts more than work: the exact gap comes first."""
        problem = self.engine.problem
        at, gradient = problem.objective.at(w, problem.guess if problem.intercept else None)
        found = self.bound.lower(self._exactly(problem.evaluation(at, gradient, w)))
        if table is None or self.meets(found):
            return found, 1.0
        slopes = balanced(problem, at, table)
        likely = np.inf if slopes is None else problem.objective.residuals(at, slopes) + self.engine.gap_estimate()
        if not likely < found.gap:
            return found, 1.0
        gap, price = self._bound_by_table(at, w, table, at_end=True)
        return found._replace(gap=min(found.gap, gap)), 1.0 + price

    def _exactly(self, exact: Evaluation) -> Certificate:
        """Return what an exact evaluation proves, and keep its bound on the optimum."""
        self.bound.offer_gap(exact.value, exact.gap + exact.rounding, exact.alpha)
        return Certificate.of(exact)

    def _bound_by_table(self, at: Point, w: Any, table: np.ndarray, at_end: bool) -> tuple[float, float]:
        """Return the gap that the table proves, where that is enough or the run ends, and the price in passes.

        With the running ``r``, which has the rounding of all steps in it, no row is read. It tells whether the sum that
        proves it is worth its price. With an intercept the table is mended first, and ``r`` is only known then.
        """
        problem, objective = self.engine.problem, self.engine.problem.objective
        slopes = balanced(problem, at, table)
        if slopes is None or not np.isfinite(left := objective.residuals(at, slopes)):
            return np.inf, 0.0
        likely = left + max(self.engine.gap_estimate(), 0.0)
        if slopes is table and likely > self.tolerance and not at_end:
            return np.inf, 0.0
        gap = left + max(problem.gap_for(objective.gradient(slopes), w, proof=True), 0.0)
        self.bound.offer_gap(at.value, gap + at.gap_rounding(slopes), slopes)
        return gap if gap == gap else np.inf, 0.5

    def meets(self, found: Certificate) -> bool:
        """Whether a gap is within the tolerance, where there is one."""
        return self.wanted and bool(found.gap <= self.tolerance)

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
        if self.wanted and self.start.gap < self.best[0].gap and not self.meets(self.best[0]):
            with self.watch.charged():
                found = self._evaluate_start()
            self._keep_if_better(found, self.start.w)

    def _evaluate_start(self) -> Certificate:
        """Return what is proven of the start, also by slopes of an earlier run."""
        problem, (w, _, slopes) = self.engine.problem, self.start
        found = self._exactly(problem.evaluate(w))
        if slopes is not None and not found.gap <= self.tolerance:
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
        if abs(found.value - other.value) <= VALUE_ROUNDING * abs(other.value):
            return found.gap <= other.gap
        return found.value <= other.value

    def _flaws(self, found: Certificate) -> tuple[bool, bool]:
        """Whether a point has no value, and whether it misses the tolerance."""
        return bool(np.isnan(found.value)), self.wanted and not self.meets(found)
