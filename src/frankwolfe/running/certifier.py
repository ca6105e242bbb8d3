"""Certificates of a run: what is proven of its points and of the optimum, and the best point so far.

A table of slopes bounds the optimum for any convex loss (`frankwolfe.solvers.dual_bound`). So a certificate needs the
objective at the iterate and nothing else of the data: predictions, half a pass. Before the run reports success,
``r = X' alpha`` is summed up anew, another half: the running ``r`` carries the rounding of all steps. Without a
table, or if it proves too little, the exact Frank-Wolfe gap certifies.

Estimates *trigger* a certificate, exact quantities *certify*. The schedule counts in passes, never in seconds, so that
the same seed stops at the same step on a slow day.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.losses import has_dual
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.rows.observed_entries import named_weights, weights_named
from frankwolfe.running.limits import Stopwatch
from frankwolfe.solvers.dual_bound import balanced, bound_at, bound_by_conjugates, sum_rounding
from frankwolfe.solvers.protocol import Evidence, Solver
from frankwolfe.solvers.sampled_gap import sampled_gap
from frankwolfe.solvers.state import below, built, flat, under


class Certificate(NamedTuple):
    """What is proven of a point.

    Attributes
    ----------
    value : float
        The objective.
    gap : float
        How far it is above the optimum at most, for convex losses; for others the Frank-Wolfe gap.
    fw_gap : float
        The exact Frank-Wolfe gap; NaN where it was not taken.
    intercept : float, or array of shape (outputs,)
        The best one, where the problem has one; else zero.
    violation : float
        The largest relative violation of a side constraint; zero where there are none.
    distance : float
        The Euclidean distance of ``A w`` to the bounds of the side constraints; zero where there are none.
    """

    value: float
    gap: float
    fw_gap: float = np.nan
    intercept: Any = 0.0
    violation: float = 0.0
    distance: float = 0.0

    @property
    def by_bound(self) -> bool:
        """Whether a lower bound on the optimum proves more than the Frank-Wolfe gap."""
        return not self.fw_gap <= self.gap

    @classmethod
    def of(cls, found: Evaluation) -> "Certificate":
        """Return what an exact evaluation proves, side constraints aside."""
        return cls(found.value, found.gap, found.gap, found.intercept)

    def with_side(self, problem: Problem, w: Any) -> "Certificate":
        """Return the certificate with what the point ``w`` leaves of the side constraints."""
        if problem.side is None:
            return self
        flat = problem.flat("w", w)
        return self._replace(violation=problem.side.violation(flat), distance=problem.side.distance(flat))


class LowerBound:
    """The best proven lower bound on the optimum of a convex problem, and the slopes that prove it.

    Every bound that was proven in a run holds for all of it: they are about the problem, not about a point.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.value = -np.inf
        self.slopes: np.ndarray | None = None
        self.multipliers: np.ndarray | None = None
        self._convex = bool(problem.loss.convex)

    def offer(self, bound: float, slopes: np.ndarray | None, multipliers: np.ndarray | None = None) -> None:
        """Keep a bound if it is the best so far, and copies of the slopes and multipliers that prove it."""
        if self._convex and bound > self.value:
            # slopes that are on a cluster stay there, and are not kept
            self.value, self.slopes = bound, slopes.copy() if isinstance(slopes, np.ndarray) else None
            self.multipliers = None if multipliers is None else multipliers.copy()

    def offer_gap(self, value: float, gap: float, slopes: np.ndarray | None) -> None:
        """Keep what a point proves that is at most ``gap`` above the optimum, less what rounding may have added."""
        self.offer(value - gap - sum_rounding(self.problem, value), slopes)

    def lower(self, found: Certificate) -> Certificate:
        """Return a certificate with the distance to the bound for its gap, where that is smaller.

        The two may agree to the last digit, so what rounding may do to the difference is added to it. A point that does
        not keep to side constraints may be below the optimum of those who do.
        """
        above = found.value - self.value + sum_rounding(self.problem, found.value)
        least = 0.0 if self.problem.side is None else -np.inf
        return found._replace(gap=max(above, least)) if above < found.gap else found


SHARE = 0.1
"""Part of the passes that certificates may take."""

TABLE_SHARE = 0.05
"""The same where a table certifies, with predictions only."""

SPACING = 1.5
"""A certificate is also taken, untriggered, whenever the passes have grown by this factor since the last one."""

RETRY = 1.25
"""A certificate that missed is taken again, if a table or sample triggers, once passes have grown by this factor."""

SAMPLE_AGAIN = 1.1
"""A sample of rows is looked at again once the passes have grown by this factor."""


REMEMBERED = ("taken", "passes", "_last", "_last_triggered", "_triggered", "_last_sample", "_optimism")
"""Attributes of a schedule that change in a run."""


class CertificateSchedule:
    """Decides when a certificate is due.

    Parameters
    ----------
    tolerance : float or None
        The gap that ends the run. None: never due.
    optimism : float
        By what factor to expect the estimated gap to be too low, until a certificate tells.
    by_table : bool
        Whether the table certifies: half a pass, triggered by an estimate of what it will say.
    by_sample : bool
        Whether samples of rows trigger, where the table proves nothing: a small part of a pass.

    Examples
    --------
    >>> schedule = CertificateSchedule(tolerance=1e-3)
    >>> schedule.due(passes=2.0, gap_estimate=1e-2), schedule.due(passes=2.0, gap_estimate=1e-4)
    (False, True)
    """

    def __init__(self, tolerance: float | None, optimism: float = 1.0, by_table: bool = False, by_sample: bool = False):
        self.tolerance = tolerance
        self.by_table, self.by_sample = by_table, by_sample
        self.taken, self.passes = 0, 0.0
        self._last, self._last_triggered, self._triggered, self._last_sample = 0.0, 0.0, False, 0.0
        self._optimism = optimism

    def due(self, passes: float, gap_estimate: float, bound_estimate: float = np.nan) -> bool:
        """Whether to take a certificate now.

        The first one is free to come at the first trigger: a short run must be able to stop. From then on certificates
        stay within their share. An estimate may be wrong on the high side for good, so that nothing triggers: hence
        the untriggered ones, spaced geometrically.
        """
        if self.tolerance is None or passes <= self._last or passes < 1.0:
            return False  # within the first pass most of the table is still empty, and the estimate says nothing
        share, price = (TABLE_SHARE, 0.5) if self.by_table else (SHARE, 1.0)
        affordable = self.passes + price <= share * passes
        self._triggered = bound_estimate <= self.tolerance
        if self._triggered:
            again = (self.by_table or self.by_sample) and passes >= RETRY * self._last_triggered
            return affordable or self.taken == 0 or again
        if not (self.by_table or self.by_sample) and gap_estimate * self._optimism <= self.tolerance:
            return affordable or self.taken == 0
        return affordable and passes >= SPACING * self._last

    def sample_due(self, passes: float, gap_estimate: float) -> bool:
        """Whether to look at a sample of rows now: where the estimated gap gives hope, and not too often."""
        hopeful = self.tolerance is not None and passes >= 1.0 and gap_estimate <= self.tolerance
        return self.by_sample and hopeful and passes >= SAMPLE_AGAIN * self._last_sample

    def note_sample(self, passes: float, price: float) -> None:
        """Remember a sample and its price in passes."""
        self.passes += price
        self._last_sample = passes

    def note(self, passes: float, gap: float, gap_estimate: float, price: float = 1.0) -> None:
        """Remember a certificate, its price in passes, and how much too low the estimated gap was, if that is known.

        The next trigger allows for it.
        """
        self.taken += 1
        self.passes += price
        self._last = passes
        self._last_triggered = passes if self._triggered else self._last_triggered
        if not np.isnan(gap):
            self._optimism = max(1.0, gap / gap_estimate) if 0.0 < gap_estimate < gap else 1.0

    def state(self) -> dict[str, Any]:
        """Return what is remembered of the certificates so far."""
        return {name: getattr(self, name) for name in REMEMBERED}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the schedule with this state was; the tolerance may be another one."""
        for name in REMEMBERED:
            setattr(self, name, state[name])


MOST_TRIALS = 60
"""Most points that a line search looks at; five to ten do."""


class Earlier(NamedTuple):
    """An iterate that was looked at before: after how many steps, its weights and its predictions."""

    steps: int
    w: np.ndarray
    z: np.ndarray


class RecentMean:
    """Line search for a better point than the iterate, at the price of its predictions.

    With steps toward vertices an iterate is a mixture of all vertices so far, including the early ones, which were
    chosen when the gradient estimate knew little. If a part ``c`` of the iterate ``w_s`` is left in ``w_t``, then

        w_t = c w_s + (1 - c) v,        v = (w_t - c w_s) / (1 - c),

    where ``v`` is a weighted mean of the vertices between, hence a point of the set. Predictions are linear in the
    weights, so the best point between ``w_s`` and ``v`` is found without reading a row.

    Parameters
    ----------
    solver : Solver
        What runs.
    """

    def __init__(self, solver: Solver):
        self.solver = solver
        self.part_left: Callable[[int], float] | None = None  # as in `Evidence`, at the present iterate
        self.earlier: Earlier | None = None

    def note(self, at: Point, w: Any) -> None:
        """Remember the iterate, for the next look, where it is a mixture of vertices."""
        if self.part_left is not None and isinstance(w, np.ndarray) and not np.isnan(self.part_left(self.solver.steps)):
            self.earlier = Earlier(self.solver.steps, w, at.z)

    def _line(self, at: Point) -> tuple[np.ndarray, float, float]:
        """Return the line's direction, the slope of the objective at the iterate, and where the line ends.

        The earlier iterate is at 0, the iterate at 1, the mean of the vertices at ``1 / (1 - c)``. The end is that or
        the earlier iterate, whichever lies where the objective falls.
        """
        assert self.earlier is not None
        assert self.part_left is not None
        along = at.z - self.earlier.z
        slope = float(at.alpha @ along)
        return along, slope, 1.0 / (1.0 - self.part_left(self.earlier.steps)) if slope < 0.0 else 0.0

    def promise(self, at: Point, wanted: float = 0.0) -> float:
        """Return about how much lower than at the iterate the objective is on the line: by a parabola.

        Zero where nothing is known, or where the slope alone tells that it cannot be as much as ``wanted``.
        """
        if self.earlier is None or self.part_left is None or self.earlier.steps == self.solver.steps:
            return 0.0
        along, slope, end = self._line(at)
        length = abs(end - 1.0)
        if abs(slope) * length <= wanted:
            return 0.0  # the objective is convex: it falls by no more than that
        curvature = float(self.solver.problem.objective.curvatures(at, 0.0, 0.0) @ along**2)
        if curvature > 0.0:
            length = min(length, abs(slope) / curvature)
        return abs(slope) * length - 0.5 * curvature * length**2

    def best(self, at: Point, w: np.ndarray, precision: float) -> tuple[Point, np.ndarray] | None:
        """Return a point of the line whose objective is within about ``precision`` of the least one: half a pass.

        The objective is convex, so what is looked for is a root of its slope. None if no better point is found.
        """
        assert self.earlier is not None
        problem, earlier = self.solver.problem, self.earlier
        along, here, end = self._line(at)

        def slope(theta: float) -> float:
            return float(problem.objective.point(earlier.z + theta * along, at).alpha @ along)

        there, theta = slope(end), end
        if there * here < 0.0:  # else the objective falls all the way
            theta = lowest_between(slope, (1.0, here), (end, there), precision)
        better = earlier.w + theta * (w - earlier.w)
        found = problem.objective.point(problem.objective.predict(better), at)
        return (found, better) if found.value < at.value and problem.constraint.contains(better) else None


def lowest_between(
    slope: Callable[[float], float], one: tuple[float, float], other: tuple[float, float], precision: float
) -> float:
    """Return where a convex function is lowest, to a precision of its value, between two points of opposite slopes.

    This is regula falsi with the Illinois rule: the slope at an end that stays is halved. By convexity the function is
    at most the slope times the length of the bracket above its minimum.

    Parameters
    ----------
    slope : function
        The derivative of the convex function.
    one, other : tuple
        Points with the slopes there.
    precision : float
        How far the function may be above its minimum.

    Examples
    --------
    >>> float(round(lowest_between(lambda t: t**3 - 8.0, (0.0, -8.0), (5.0, 117.0), 1e-9), 4))
    2.0
    """
    (a, at_a), (b, at_b) = one, other
    for _ in range(MOST_TRIALS):
        t = b - at_b * ((b - a) / (at_b - at_a))
        at_t = slope(t)
        if (at_t > 0.0) != (at_b > 0.0):
            a, at_a = b, at_b
        else:
            at_a *= 0.5
        b, at_b = t, at_t
        if not abs(at_t) * abs(b - a) > precision:
            break
    return b


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
    solver : Solver
        What runs.
    watch : Stopwatch
        Charged for certificates.
    start : Start
        Where the run starts.
    wanted : bool
        Whether a gap can end the run at all.
    """

    def __init__(self, solver: Solver, watch: Stopwatch, start: Start, wanted: bool):
        self.solver, self.watch, self.start, self.wanted = solver, watch, start, wanted
        self.tolerance = self.violation_tolerance = 0.0
        self.bound = LowerBound(solver.problem)
        self.schedule = CertificateSchedule(None)
        self.best: tuple[Certificate, Any] | None = None
        self._last: tuple[int, Certificate] | None = None
        self.recent = RecentMean(solver)
        self._proves = has_dual(solver.problem.loss)  # whether a table bounds the optimum
        self._scheduled: Mapping[str, Any] | None = None  # what is remembered of an earlier part of the run

    def aim_at(self, found: Evidence, tolerance: float, violation_tolerance: float = 0.0) -> None:
        """Set the gap that ends the run, and the violation of side constraints that it may end with.

        What kind of evidence the solver has decides what triggers a certificate.
        """
        self.tolerance, self.violation_tolerance = tolerance, violation_tolerance
        optimism = STOCHASTIC_OPTIMISM if self.solver.batch_size else 1.0
        follows = found.table is not None and found.table_follows
        by_table = follows and self._proves and not self.solver.problem.intercept
        self.schedule = CertificateSchedule(
            tolerance if self.wanted else None, optimism, by_table, by_sample=follows and not self._proves
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

    def due(self, nit: int, passes: float, known: Evidence, bound_estimate: float) -> bool:
        """Whether to certify now: always where it costs nothing, else as the schedule says.

        A start whose gap was within the tolerance, by the result that it comes from, is certified before a step can
        lead away from it: what was proven once must not be lost.
        """
        if (nit == 0 and self.start.gap <= self.tolerance) or known.exact is not None:
            return self.wanted
        if self.solver.certifies_itself:
            return False
        if self.schedule.sample_due(passes, known.gap_estimate):
            solver = self.solver
            with self.watch.charged(certificate=True):
                sampled = sampled_gap(solver.problem, solver.point(), known, solver.steps, draws=0)
            self.schedule.note_sample(passes, sampled.passes)
            bound_estimate = sampled.estimate
        return self.schedule.due(passes, known.gap_estimate, bound_estimate)

    def note_conjugates(self, known: Evidence) -> None:
        """Keep the lower bound that the solver's last step proves, where it costs no row to know it."""
        if (bound := bound_by_conjugates(self.solver.problem, known, self.bound.value)) > self.bound.value:
            self.bound.offer(bound, known.slopes)

    def certify(self, passes: float, known: Evidence, at_end: bool = False) -> Certificate:
        """Certify the iterate; at the end of a run with all means.

        What was certified at this very step is not certified again, unless it missed and the end has come.
        """
        solver = self.solver
        if self._last is not None and self._last[0] == solver.steps:
            found = self._last[1]
            if not (at_end and np.isnan(found.fw_gap)) or self.meets(found):
                return found
        with self.watch.charged(certificate=True):
            w, self.recent.part_left = solver.point(), known.part_left
            if known.exact is not None:
                found = self._exactly(known.exact)
            else:
                found, w, price = self._checked(w, known, at_end)
                self.schedule.note(passes, found.fw_gap, known.gap_estimate, price)
            self.bound.offer(known.lower_bound, known.slopes)
            found = self.bound.lower(found)
        self._last = (solver.steps, found)
        self._keep_if_better(found, w)
        return found

    def _checked(self, w: Any, known: Evidence, at_end: bool) -> tuple[Certificate, Any, float]:
        """Return what is proven of the iterate or of a better point, that point, and the price in passes."""
        problem, table = self.solver.problem, known.table if self._proves else None
        if problem.needs_smoothing:
            return self._by_slopes(w, table, known.multipliers), w, 1.0
        if table is None and self.bound.value == -np.inf:
            return self._exactly(problem.evaluate(w)), w, 1.0
        if at_end and problem.objective.reads is not None:
            return self._checked_on_disk(w, table, known.gap_estimate)
        at, price = problem.objective.point(problem.objective.predict(w), problem.guess), 0.5
        found = self._above_bound(at, w)
        if table is not None and not self.meets(found):
            slopes = balanced(problem, at, table)
            left = np.inf if slopes is None else problem.objective.residuals(at, slopes)
            # with the running r, which has the rounding of all steps in it, no row is read
            likely = left + max(known.gap_estimate, 0.0)
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
        return self.bound.lower(Certificate(at.value, np.inf, intercept=self.solver.problem.shift_of(at, w)))

    def _by_slopes(self, w: Any, table: Any, multipliers: np.ndarray | None) -> Certificate:
        """Return what the averaged slopes and multipliers of a method that smooths prove of the iterate.

        The derivatives at the iterate would prove next to nothing: those of a loss with kinks jump there, and without
        multipliers they know nothing of side constraints.
        """
        problem = self.solver.problem
        at = problem.objective.point(problem.objective.predict(w), problem.guess)
        slopes = None if table is None else balanced(problem, at, table)
        if slopes is not None:
            self.bound.offer(problem.dual_value(slopes, multipliers), slopes, multipliers)
        if self.bound.value == -np.inf:  # better than nothing
            slopes = at.alpha.reshape(problem.samples.shape)
            self.bound.offer(problem.dual_value(slopes), slopes)
        return Certificate(at.value, np.inf, intercept=problem.shift_of(at, w)).with_side(problem, w)

    def _checked_on_disk(self, w: Any, table: Any, gap_estimate: float) -> tuple[Certificate, Any, float]:
        """Return what is proven of the last iterate, where a read counts more than work: the exact gap comes first."""
        problem = self.solver.problem
        at, gradient = problem.objective.at(w, problem.guess if problem.intercept else None)
        found = self.bound.lower(self._exactly(problem.evaluation(at, gradient, w)))
        if table is None or self.meets(found):
            return found, w, 1.0
        slopes = balanced(problem, at, table)
        left = np.inf if slopes is None else problem.objective.residuals(at, slopes)
        if slopes is None or not left + gap_estimate < found.gap:
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
        problem = self.solver.problem
        gap = residuals + max(problem.gap_for(problem.objective.gradient(slopes), w, proof=True), 0.0)
        self.bound.offer_gap(at.value, gap + problem.objective.gap_rounding(at, slopes), slopes)
        return gap if gap == gap else np.inf

    def meets(self, found: Certificate) -> bool:
        """Whether a gap is within the tolerance, where there is one, and so is the violation of side constraints."""
        within = found.gap <= self.tolerance and found.violation <= self.violation_tolerance
        return self.wanted and bool(within)

    def start_is_certified(self) -> bool:
        """Certify a start that was within the tolerance by what proved it, where the solver would not do so itself.

        The solver may keep the point in another form, or know nothing of the slopes that proved its bound.
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
        (found, w), problem = self.best, self.solver.problem
        if not self.wanted or self.meets(found) or not np.isnan(found.fw_gap) or problem.needs_smoothing:
            return
        with self.watch.charged(certificate=True):
            exact = self._exactly(problem.evaluate(w))
        self.best = self.bound.lower(exact._replace(gap=min(found.gap, exact.gap))), w

    def _evaluate_start(self) -> Certificate:
        """Return what is proven of the start, also by slopes of an earlier run."""
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
        if self.solver.problem.side is not None:  # an objective is only worth as much as what it violates
            return self._merit(found) <= self._merit(other)
        if abs(found.value - other.value) <= VALUE_ROUNDING * abs(other.value):
            return found.gap <= other.gap
        return found.value <= other.value

    def _merit(self, found: Certificate) -> float:
        """Return the objective and a price for the violation of side constraints; less is better.

        This is an exact penalty: with a price above the norm of the optimal multipliers, nothing is better than the
        best point that keeps to the constraints. Those that prove the bound come close to the optimal ones.
        """
        problem, multipliers = self.solver.problem, self.bound.multipliers
        price = problem.zero_value / problem.side_reach if problem.side_reach > 0.0 else 1.0
        if multipliers is not None:
            price = max(price, 2.0 * float(np.linalg.norm(multipliers)))
        return found.value + price * found.distance

    def _flaws(self, found: Certificate) -> tuple[bool, bool]:
        """Whether a point has no value, and whether it misses the tolerance."""
        return bool(np.isnan(found.value)), self.wanted and not self.meets(found)
