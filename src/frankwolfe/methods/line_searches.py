"""Step rules that measure the objective, or bound its curvature, along the move."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import finite, positive
from frankwolfe.compile.verbs import (
    active_count,
    adapt,
    along,
    contract,
    curvature_along,
    derivative,
    max_step,
    prediction,
    routine,
    search,
    shift,
    slope,
    smoothness,
    spread,
    squares,
    value,
)
from frankwolfe.methods.base import step_rule
from frankwolfe.problem.requirements import BOUNDED_CURVATURE

# --- Steps that measure the objective along the move.
#
# They read all rows each step, so they belong with the full gradient; with a stochastic estimate every step is
# charged a full pass. A rule knows the objective by a *line* only: in the loop a `SampleLine` of all samples, elsewhere
# a `frankwolfe.objective.point.ShardLine`, whose sums are computed by tasks on the shards.

ROUNDING = 1e-14
"""Relative error allowed to a sum of losses when two of them are compared."""


class SampleLine(NamedTuple):
    """All samples, their predictions ``z`` at the iterate, and the changes ``q`` that a whole step makes to them."""

    samples: Any
    z: np.ndarray
    q: np.ndarray

    def along(self, gamma):
        """Objective, first and second derivative in ``gamma`` at the predictions ``z + gamma q``."""
        samples, z, q = self.samples, self.z, self.q
        targets, weights, loss = samples.targets, samples.weights, samples.loss
        total, rise, curve = 0.0, 0.0, 0.0
        for i in range(len(z)):
            at = z[i] + gamma * q[i]
            total += weights[i] * value(loss, at, targets[i])
            rise += weights[i] * contract(q[i], derivative(loss, at, targets[i]))
            curve += weights[i] * curvature_along(loss, at, targets[i], q[i])
        return total, rise, curve

    def squares(self):
        """Return ``sum_i p_i q_i^2``."""
        weights, q = self.samples.weights, self.q
        total = 0.0
        for i in range(len(q)):
            total += weights[i] * contract(q[i], q[i])
        return total

    def smoothness(self):
        """Lipschitz constant of the loss's derivative."""
        return smoothness(self.samples.loss)


@routine
def line_along(move, samples, iterate, z, q):
    """Fill ``z`` with all predictions and ``q`` with what a step along the move changes them by; return the line."""
    rows = samples.rows
    for i in range(len(z)):
        z[i] = prediction(iterate, rows, i)
        q[i] = shift(move, rows, i, z[i])
    return SampleLine(samples, z, q)


@step_rule(reads_all_rows=True, searches_line=True, needs=(BOUNDED_CURVATURE,))
class ShortStep(NamedTuple):
    """Minimise the quadratic upper bound along the move: ``slope / (L sum_i p_i (x_i' direction)^2)``.

    The objective never rises. Needs no tuning: ``L`` is the loss's own constant and the rest is measured.
    """

    def for_run(self, setting):
        """Make room for the predictions and their change."""
        return ShortStepState(setting.room(), setting.room())


class ShortStepState(NamedTuple):
    """All predictions, and what a whole step would change them by."""

    here: np.ndarray
    ahead: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        line = line_along(move, samples, iterate, self.here, self.ahead)
        return search(self, line, slope(move, gradient, iterate), max_step(move), t)

    def search(self, line, fall, most, t):
        """Step size along a line."""
        return _capped(fall, smoothness(line) * squares(line), most)


@step_rule(reads_all_rows=True, searches_line=True)
class LineSearch(NamedTuple):
    """Exact line search: Newton's method on the slope along the move, kept inside a shrinking bracket.

    The objective never rises. Where the loss is not convex, the step found is a local minimiser.
    """

    def for_run(self, setting):
        """Make room for the predictions and their change."""
        return LineSearchState(setting.room(), setting.room())


class LineSearchState(NamedTuple):
    """All predictions, and what a whole step would change them by."""

    here: np.ndarray
    ahead: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        line = line_along(move, samples, iterate, self.here, self.ahead)
        return search(self, line, 0.0, max_step(move), t)

    def search(self, line, fall, most, t):
        """Step size along a line."""
        return _level(line, most, True)


@step_rule(reads_all_rows=True, searches_line=True)
class Secant(NamedTuple):
    """Exact line search that needs no curvature: the secant method on the slope, kept inside a shrinking bracket.

    The objective never rises. Where the loss is not convex, the step found is a local minimiser.
    """

    def for_run(self, setting):
        """Make room for the predictions and their change."""
        return SecantState(setting.room(), setting.room())


class SecantState(NamedTuple):
    """All predictions, and what a whole step would change them by."""

    here: np.ndarray
    ahead: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        line = line_along(move, samples, iterate, self.here, self.ahead)
        return search(self, line, 0.0, max_step(move), t)

    def search(self, line, fall, most, t):
        """Step size along a line."""
        return _level(line, most, False)


@step_rule(reads_all_rows=True, searches_line=True)
class Monotone(NamedTuple):
    """The open loop ``2 / (t + 2)``, halved as often as it takes for the objective not to rise; halvings are kept."""

    def for_run(self, setting):
        """Make room for the predictions and their change."""
        return MonotoneState(np.zeros(1), setting.room(), setting.room())


class MonotoneState(NamedTuple):
    """The number of halvings so far; all predictions, and what a whole step would change them by."""

    halvings: np.ndarray
    here: np.ndarray
    ahead: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        line = line_along(move, samples, iterate, self.here, self.ahead)
        return search(self, line, 0.0, max_step(move), t)

    def search(self, line, fall, most, t):
        """Step size along a line."""
        halvings = self.halvings
        start = along(line, 0.0)[0]
        gamma = min(most, 2.0 ** (1.0 - halvings[0]) / (t + 2.0))
        for _ in range(60):
            if along(line, gamma)[0] <= start:
                return gamma
            halvings[0] += 1.0
            gamma *= 0.5
        return 0.0


@step_rule(reads_all_rows=True, searches_line=True)
class Backtracking(NamedTuple):
    """Adaptive smoothness (Pedregosa et al. 2020): try a smaller ``L`` than last time, raise it until the bound holds.

    Parameters
    ----------
    relax : float
        Factor, below one, by which ``L`` is lowered before each step.
    raise_by : float
        Factor, above one, by which it is raised until the quadratic bound holds at the new point.
    """

    relax: float = 0.9
    raise_by: float = 2.0

    def _checked(self):
        relax, raise_by = (
            positive("Backtracking", "relax", self.relax),
            finite("Backtracking", "raise_by", self.raise_by),
        )
        if relax > 1.0:
            raise ValueError(f"Backtracking: relax must be at most 1, got {relax:g}")
        if raise_by <= 1.0:
            raise ValueError(f"Backtracking: raise_by must be above 1, got {raise_by:g}")
        return self._replace(relax=relax, raise_by=raise_by)

    def for_run(self, setting):
        """Start from the loss's own constant, finite or not, and make room for the predictions and their change."""
        constant = np.array([float(setting.samples.loss.smoothness())])
        return BacktrackingState(self, constant, setting.room(), setting.room())


class BacktrackingState(NamedTuple):
    """The settings; the last ``L``; all predictions, and what a whole step would change them by."""

    rule: Backtracking
    smoothness: np.ndarray
    here: np.ndarray
    ahead: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        line = line_along(move, samples, iterate, self.here, self.ahead)
        return search(self, line, 0.0, max_step(move), t)

    def search(self, line, fall, most, t):
        """Step size along a line."""
        start, first_slope, curve = along(line, 0.0)
        size, ceiling = squares(line), smoothness(line)
        constant = self.rule.relax * self.smoothness[0]
        if np.isinf(constant) and size > 0.0:
            # an unbounded loss: start from the curvature along the move, or where it is flat from the longest step
            constant = max(curve, -first_slope / most) / size
        while True:
            gamma = _capped(-first_slope, constant * size, most)
            bound = start + gamma * first_slope + 0.5 * gamma * gamma * constant * size
            # with the loss's own constant the bound holds by definition: only rounding could deny it
            if constant >= ceiling or along(line, gamma)[0] <= bound + ROUNDING * abs(start):
                break
            constant = min(ceiling, self.rule.raise_by * constant)
        self.smoothness[0] = constant
        return gamma


@routine
def _capped(fall, curve, most):
    """Minimiser of ``-fall g + curve g^2 / 2`` over ``0 <= g <= most``."""
    if not fall > 0.0:
        return 0.0
    if fall >= curve * most:
        return most
    return fall / curve


@routine
def _level(line, high, by_curvature):
    """Find where the slope along a line is zero, by Newton's method or by the secant, inside a bracket."""
    start, first_slope, curve = along(line, 0.0)
    most = start + ROUNDING * abs(start)
    total, high_rise, _ = along(line, high)
    if not first_slope < 0.0 or (high_rise <= 0.0 and total <= most):
        return high if first_slope < 0.0 else 0.0
    low, low_rise = 0.0, first_slope
    gamma, rise = low, first_slope
    for trial in range(100):
        guess = -1.0  # outside the bracket: bisect. Every third trial does, so that the bracket shrinks in any case
        if trial % 3 < 2 and by_curvature and abs(rise) < curve * (high - low):  # else the quotient may overflow
            guess = gamma - rise / curve
        elif trial % 3 < 2 and not by_curvature and high_rise > 0.0:
            guess = low - low_rise * (high - low) / (high_rise - low_rise)
        gamma = guess if low < guess < high else low + 0.5 * (high - low)
        total, rise, curve = along(line, gamma)
        if total <= most and abs(rise) <= -1e-12 * first_slope:
            return gamma
        if rise < 0.0 and total <= most:
            low, low_rise = gamma, rise
        else:
            high, high_rise = gamma, rise
        if high - low <= 1e-15 * high:
            break
    return low


# --- Short steps that read no row: the curvature along a move is bounded by the norms of the columns.


@step_rule(needs=(BOUNDED_CURVATURE,))
class NormStep(NamedTuple):
    """``-<r, direction>`` over a bound on the curvature along the direction, at most as far as the move may go.

    For a direction ``s - a`` the bound is ``L (sum_j (|s_j| + |a_j|) ||X_j||)^2``, with the loss's constant ``L`` and
    the columns' norms, which are read once. It is at least ``L sum_i p_i (x_i' direction)^2``, what `ShortStep` reads
    all rows for, so the objective does not rise if ``r`` is its gradient. Between single coordinates it is well below
    the textbook's ``L lambda_max ||direction||^2`` on most data. Goes with the directions that have an active set.
    """

    def for_run(self, setting):
        """Take the norms of the columns, once."""
        return NormStepState(setting.column_norms())


class NormStepState(NamedTuple):
    """Norms of the columns, weighted as the samples are."""

    norms: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        fall = slope(move, gradient, iterate)
        if not fall > 0.0:
            return 0.0
        curve = smoothness(samples.loss) * spread(move, self.norms, iterate) ** 2
        return max_step(move) if fall >= curve * max_step(move) else fall / curve


# --- Steps for active-set directions on a stale gradient: sized by curvature, damped by how stale the table is.
#
# The slope along a move divided by its curvature is the right step when the gradient is fresh. With a table of
# remembered derivatives it is not: until the rows that would tell of a step have been refreshed, the same pair looks
# as steep as before and is stepped again. A pass makes ``n / b`` steps over ``|A|`` active atoms, so each atom is
# stepped about ``n / (b |A|)`` times before the table has followed. Damping every step by ``c b (|A| + 1) / n`` makes
# those steps add up to ``c`` full ones. How large ``c`` may be depends on how strongly the active columns pull on
# each other, which no constant knows.
#
# So ``c`` adapts, by hindsight and at no cost. Every half pass the movement made during the half pass before, ``dw``,
# is measured by the gradient estimate of now, whose rows have since been refreshed: ``<r, dw> > 0`` says that the
# objective rises along it, the movement went too far, and ``c`` is halved. If most of the slope is left, it did not
# go far enough, and ``c`` grows by a third. The experiment is in the documentation (docs/stochastic-pairwise.md).

SHRINK, GROW = 0.5, 1.3
"""Factors for ``c`` after a movement that went too far, and after one that did not go far enough."""

LEAST = 1e-3
"""Smallest ``c``: rounding noise near the optimum must not freeze a run that is continued later."""


@step_rule(needs=(BOUNDED_CURVATURE,))
class DampedStep(NamedTuple):
    """Short step from column norms, damped so that every batch size from one row to all of them converges.

    Parameters
    ----------
    start : float
        First value of ``c``.
    window : float
        Passes between two adaptations of ``c``.
    """

    start: float = 2.0
    window: float = 0.5

    def _checked(self):
        start, window = positive("DampedStep", "start", self.start), positive("DampedStep", "window", self.window)
        return self._replace(start=start, window=window)

    def for_run(self, setting):
        """Take the norms of the columns, once."""
        n, d, b = setting.n, len(setting.w), max(1, setting.batch_size)
        return DampedStepState(
            norms=setting.column_norms(),
            share=b / n,
            steps=max(1, int(self.window * n / b)),
            damping=np.array([self.start, 0.0]),
            mark=setting.w.copy(),
            moved=np.zeros(d),
        )


class DampedStepState(NamedTuple):
    """What the rule knows of the data, and of its own movements.

    Attributes
    ----------
    norms : array of shape (d,)
        Norms of the columns, weighted as the samples are.
    share : float
        Part of the rows that a step looks at.
    steps : int
        Steps between two adaptations of ``c``.
    damping : array of shape (2,)
        ``c``, and the slope of the last window's movement when the window ended.
    mark, moved : array of shape (d,)
        Where the window began; the movement of the window before it.
    """

    norms: np.ndarray
    share: float
    steps: int
    damping: np.ndarray
    mark: np.ndarray
    moved: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        if t % self.steps == 0:
            adapt(self, gradient, iterate)
        fall = slope(move, gradient, iterate)
        if not fall > 0.0:
            return 0.0
        curve = smoothness(samples.loss) * spread(move, self.norms, iterate) ** 2
        fall *= min(1.0, self.damping[0] * self.share * (active_count(move) + 1.0))
        return max_step(move) if fall >= curve * max_step(move) else fall / curve

    def adapt(self, gradient, iterate):
        """Adapt ``c`` to what the refreshed rows say of the movement made in the window before this one."""
        damping, mark, moved, r, v = self.damping, self.mark, self.moved, gradient.r, iterate.v
        hindsight = 0.0
        for j in range(len(r)):
            hindsight += r[j] * moved[j]
        if hindsight > 0.0:
            damping[0] = max(LEAST, SHRINK * damping[0])
        elif hindsight < 0.5 * damping[1]:
            damping[0] = min(1.0 / self.share, GROW * damping[0])
        damping[1] = 0.0
        for j in range(len(r)):
            w = iterate.scale[0] * v[j]
            moved[j] = w - mark[j]
            mark[j] = w
            damping[1] += r[j] * moved[j]
