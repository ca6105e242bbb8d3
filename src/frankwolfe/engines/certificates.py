"""When to take an exact gap: a pass over the data, so not too often; but often enough to stop in time.

The estimated gap is free and *triggers*; the exact gap costs a pass and *certifies*. Certificates are counted in
passes, never in seconds, so that the same seed stops at the same step on a slow day.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.engines.dual_bound import bound_at
from frankwolfe.engines.limits import Stopwatch
from frankwolfe.engines.protocol import Engine
from frankwolfe.problem import Evaluation

SHARE = 0.1
"""Part of the passes that certificates may take."""

STOCHASTIC_OPTIMISM = 10.0
"""How much too low to expect a stochastic estimate at first: it is by 5 to 40 on the paper's data."""

SPACING = 1.5
"""A certificate is also taken, untriggered, whenever the passes have grown by this factor since the last one."""

VALUE_ROUNDING = 1e-12
"""Objectives that differ by no more than this part of them may be equal: they are sums over all rows."""


class CertificateSchedule:
    """Decides when an exact gap is due.

    Parameters
    ----------
    tolerance : float or None
        The gap that ends the run. None: never due.
    optimism : float
        By what factor to expect the estimate to be too low, until a certificate tells.

    Examples
    --------
    >>> schedule = CertificateSchedule(tolerance=1e-3)
    >>> schedule.due(passes=2.0, gap_estimate=1e-2), schedule.due(passes=2.0, gap_estimate=1e-4)
    (False, True)
    """

    def __init__(self, tolerance: float | None, optimism: float = 1.0):
        self.tolerance = tolerance
        self.taken = 0
        self._last = 0.0
        self._optimism = optimism

    def due(self, passes: float, gap_estimate: float) -> bool:
        """Whether to take a certificate now.

        The first one is free to come at the first trigger: a short run must be able to stop. From then on certificates
        stay within their share. An estimate may be wrong on the high side for good, so that nothing triggers: hence
        the untriggered ones, spaced geometrically.
        """
        if self.tolerance is None or passes <= self._last or passes < 1.0:
            return False  # within the first pass most of the table is still empty, and the estimate says nothing
        affordable = self.taken + 1 <= SHARE * passes
        if gap_estimate * self._optimism <= self.tolerance:
            return affordable or self.taken == 0
        return affordable and passes >= SPACING * self._last

    def note(self, passes: float, gap: float, gap_estimate: float) -> None:
        """Remember a certificate, and how much too low the estimate was: the next trigger allows for it."""
        self.taken += 1
        self._last = passes
        self._optimism = max(1.0, gap / gap_estimate) if 0.0 < gap_estimate < gap else 1.0


class Start(NamedTuple):
    """Where a run starts: weights and, if they come from a result, its gap and the slopes that prove it.

    Both are for the problem of that result, which may have been another one.
    """

    w: Any = None
    gap: float = np.inf
    slopes: np.ndarray | None = None


class Certifier:
    """Takes exact gaps of a run, and keeps the best point that has one.

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
        self.schedule = CertificateSchedule(None)
        self.best: tuple[Evaluation, Any] | None = None
        self._last: tuple[int, Evaluation] | None = None

    def aim_at(self, tolerance: float) -> None:
        """Set the gap that ends the run."""
        self.tolerance = tolerance
        optimism = STOCHASTIC_OPTIMISM if self.engine.batch_size else 1.0
        self.schedule = CertificateSchedule(tolerance if self.wanted else None, optimism)

    def due(self, nit: int, passes: float, gap_estimate: float) -> bool:
        """Whether to take an exact gap now: always where it costs nothing, else as the schedule says.

        A start whose gap was within the tolerance, by the result that it comes from, is certified before a step can
        lead away from it: what was proven once must not be lost.
        """
        if (nit == 0 and self.start.gap <= self.tolerance) or self.engine.certificate() is not None:
            return self.wanted
        return self.schedule.due(passes, gap_estimate)

    def certify(self, passes: float, gap_estimate: float) -> Evaluation:
        """Take the exact gap at the iterate, unless the last one was taken at this very step."""
        engine = self.engine
        if self._last is not None and self._last[0] == engine.steps:
            return self._last[1]
        with self.watch.charged(certificate=True):
            w, found = engine.point(), engine.certificate()
            if found is None:
                found = engine.problem.evaluate(w)
                self.schedule.note(passes, found.gap, gap_estimate)
        self._last = (engine.steps, found)
        self._keep_if_better(found, w)
        return found

    def meets(self, found: Evaluation) -> bool:
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

    def _evaluate_start(self) -> Evaluation:
        """Return the exact evaluation at the start, with the bound that slopes of an earlier run prove."""
        problem, (w, _, slopes) = self.engine.problem, self.start
        found = problem.evaluate(w)
        if slopes is None or found.gap <= self.tolerance:
            return found
        bound = bound_at(problem, w, slopes)
        return found._replace(gap=bound, by_bound=True) if bound <= self.tolerance else found

    def _keep_if_better(self, found: Evaluation, w: Any) -> None:
        """Make a certified point the best one if it is no worse."""
        if self.best is None or self._no_worse(found, self.best[0]):
            self.best = found, w

    def _no_worse(self, found: Evaluation, other: Evaluation) -> bool:
        """Whether a certified point is as good as another: within the tolerance, then by objective.

        Near the optimum objectives differ by rounding only, and the gap tells which point is better.
        """
        ours, theirs = self._flaws(found), self._flaws(other)
        if ours != theirs:
            return ours < theirs
        if abs(found.value - other.value) <= VALUE_ROUNDING * abs(other.value):
            return found.gap <= other.gap
        return found.value <= other.value

    def _flaws(self, found: Evaluation) -> tuple[bool, bool]:
        """Whether a point has no value, and whether it misses the tolerance."""
        return bool(np.isnan(found.value)), self.wanted and not self.meets(found)
