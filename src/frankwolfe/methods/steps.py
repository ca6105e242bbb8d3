"""Step rules: how far to go along a move, and the table of their names.

To add one: a class here, a line in `STEPS`, a row in ``tests/cases.py``.
"""

from math import exp, isfinite, lgamma, log
from sys import float_info
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.names import lookup
from frankwolfe.arguments.types import MethodPart
from frankwolfe.compile.part import finite, positive
from frankwolfe.compile.verbs import (
    active_count,
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
from frankwolfe.methods.base import Epochs, StepDefaults, accept, checked_decay, place_in_epoch, step_rule
from frankwolfe.methods.gradient import Gradient
from frankwolfe.problem.requirements import BOUNDED_CURVATURE

# --- Step sizes that are known beforehand.


@step_rule()
class OpenLoop(NamedTuple):
    """``gamma_t = numerator / (t + offset)``; the default is the paper's ``2 / (t + 2)``.

    Parameters
    ----------
    numerator, offset : float
        Positive, with ``numerator <= 1 + offset`` so that no step overshoots the vertex.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> methods.OpenLoop().length(None, None, None, None, 2)
    0.5
    """

    numerator: float = 2.0
    offset: float = 2.0

    def _checked(self):
        return checked_decay(self, "the first step would overshoot the vertex")

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        return self.numerator / (t + self.offset)

    def part_left(self, first, last):
        """Return the product of ``1 - gamma_t`` over the steps after ``first`` up to ``last``, less its rounding."""
        after = self.offset + 1.0
        before = after - self.numerator
        if first + before <= 0.0:
            return 0.0  # the very first step has length 1
        largest = lgamma(last + after)
        left = lgamma(last + before) - lgamma(first + before) - largest + lgamma(first + after)
        return exp(left - 8.0 * float_info.epsilon * largest)


@step_rule()
class LogAdaptive(NamedTuple):
    """``gamma_t = g / (t + g)`` with ``g = 2 + log(t + 1)``: open loop, with the faster rates of larger numerators.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> round(methods.LogAdaptive().length(None, None, None, None, 1), 4)
    0.7292
    """

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        g = 2.0 + log(t + 1.0)
        return g / (t + g)


@step_rule()
class LuFreundStep(NamedTuple):
    """Lu and Freund's ``gamma_t = 2 (2 n_b + t) / ((t + 1) (4 n_b + t + 1))``, ``n_b`` the number of batches.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["lu-freund"].step == methods.LuFreundStep()
    True
    """

    def for_run(self, setting):
        """Count the batches."""
        return LuFreundStepState(float(setting.n // setting.batch_size))


class LuFreundStepState(NamedTuple):
    """How many batches make a pass."""

    batches: float

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        twice = 2.0 * self.batches
        return 2.0 * (twice + t) / ((t + 1.0) * (2.0 * twice + t + 1.0))


@step_rule()
class EpochStep(NamedTuple):
    """``numerator / (k + offset)`` in step ``k`` of the estimate's epoch, counted from 1: by default ``2 / (k + 1)``.

    With an estimate that has no epochs the run is one, and this is `OpenLoop`.

    Parameters
    ----------
    numerator, offset : float
        Positive, with ``numerator <= 1 + offset`` so that no step overshoots the vertex.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, "svrf", step=methods.EpochStep(1.0, 1.0), tol=0, max_passes=20).method
    'svrf, EpochStep'
    """

    numerator: float = 2.0
    offset: float = 1.0

    def _checked(self):
        return checked_decay(self, "the first step would overshoot the vertex")

    def for_run(self, setting):
        """Store when epochs begin."""
        return EpochStepState(self, setting.epochs)


class EpochStepState(NamedTuple):
    """The settings, and the epochs of the estimate."""

    rule: EpochStep
    epochs: Epochs

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t`` of the run."""
        k, _ = place_in_epoch(self.epochs.starts, self.epochs.period, t)
        return self.rule.numerator / (k + self.rule.offset)


@step_rule()
class ConstantStep(NamedTuple):
    """``gamma`` at every step; by default ``scale / T^power``, ``T`` the number of steps that the budget allows.

    This is the step of methods for losses that are not convex, whose analysis fixes ``T`` beforehand. It is worth
    knowing that a larger budget then means smaller steps from the first one on. A run that goes on from a result
    counts the steps of its own budget.

    Parameters
    ----------
    gamma : float, optional
        The step, at most 1.
    scale : float
        What is divided by a power of ``T`` where ``gamma`` is not given. No step is larger than 1. Where nothing
        bounds the passes (``max_passes=None``), ``T`` is the number of batches in 100 passes.
    power : float
        That power, a half by default; at most 1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> result = fw.minimize(problem, "fw", step=methods.ConstantStep(0.1), tol=0, max_passes=3)
    >>> float(abs(result.x).sum().round(3))  # 1 - 0.9^3
    0.271
    """

    gamma: float | None = None
    scale: float = 1.0
    power: float = 0.5

    def _checked(self):
        scale, gamma = positive("ConstantStep", "scale", self.scale), self.gamma
        power = positive("ConstantStep", "power", self.power, 1.0, ": a run would end before it arrives")
        if gamma is not None:
            gamma = positive("ConstantStep", "gamma", gamma, 1.0, ": it would overshoot the vertex")
        return self._replace(gamma=gamma, scale=scale, power=power)

    def for_run(self, setting):
        """Choose the step for the number of steps to come."""
        gamma = self.gamma
        if gamma is None:
            steps = setting.horizon
            if not isfinite(steps):
                steps = 100 * setting.n / max(1, setting.batch_size)
            gamma = min(1.0, self.scale / max(1.0, steps) ** self.power)
        return ConstantStepState(np.array([gamma]))


class ConstantStepState(NamedTuple):
    """The step, in an array: a run that goes on from its state keeps it, whatever its budget."""

    gamma: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size at any step."""
        return self.gamma[0]


# --- Steps that evaluate the objective along the move.
#
# They read all rows in each step, so they suit the full gradient; with a stochastic estimate every step counts as a
# full pass. A rule evaluates the objective through a *line*: in the compiled loop a `SampleLine` of all samples,
# elsewhere a `frankwolfe.objective.point.ShardLine`, whose sums are computed by tasks on the shards. Its method
# ``search(line, fall, most, t)`` returns the step size, at most ``most``; ``fall`` is minus the slope by the estimate.

ROUNDING = 1e-14
"""Relative tolerance in comparisons of two values of the objective."""


class SampleLine(NamedTuple):
    """The objective along ``z + gamma q``: ``z`` are all predictions at the iterate, ``q`` their change at step 1.

    ``linear_change`` is the change of the objective's linear term at step 1.
    """

    samples: Any
    z: np.ndarray
    q: np.ndarray
    linear_change: float

    def along(self, gamma):
        """Return the objective at ``z + gamma q``, and its first and second derivative in ``gamma``.

        Of the linear term only the change is counted.
        """
        samples, z, q = self.samples, self.z, self.q
        targets, weights, loss = samples.targets, samples.weights, samples.loss
        total, slope_sum, curve = gamma * self.linear_change, self.linear_change, 0.0
        for i in range(len(z)):
            at = z[i] + gamma * q[i]
            total += weights[i] * value(loss, at, targets[i])
            slope_sum += weights[i] * contract(q[i], derivative(loss, at, targets[i]))
            curve += weights[i] * curvature_along(loss, at, targets[i], q[i])
        return total, slope_sum, curve

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
def line_along(move, samples, iterate, z, q, linear_change):
    """Fill ``z`` with all predictions and ``q`` with their change for a step of 1 along the move; return the line."""
    rows = samples.rows
    for i in range(len(z)):
        z[i] = prediction(iterate, rows, i)
        q[i] = shift(move, rows, i, z[i])
    return SampleLine(samples, z, q, linear_change)


class LineState(NamedTuple):
    """State of a rule that searches a line: the rule, all predictions, their change at step 1, the linear term."""

    rule: Any
    here: np.ndarray
    ahead: np.ndarray
    linear: np.ndarray
    unit: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Return the step size along the move."""
        linear_change = 0.0
        if len(self.linear) > 0:
            linear_change = -slope(move, Gradient(self.linear, self.unit, gradient.counters, gradient.tracker), iterate)
        line = line_along(move, samples, iterate, self.here, self.ahead, linear_change)
        return search(self.rule, line, slope(move, gradient, iterate), max_step(move), t)

    def search(self, line, fall, most, t):
        """Return the step size along a line."""
        return search(self.rule, line, fall, most, t)


class LineSearchDefaults(StepDefaults):
    """Defaults of a step rule with a method ``search``."""

    reads_all_rows = True
    searches_line = True

    def for_run(self, setting):
        """Return the state of the rule, with memory for the predictions and their change."""
        return LineState(self.memory(setting), setting.room(), setting.room(), setting.linear, np.ones(1))

    def memory(self, setting):
        """Return the object whose ``search`` the state calls: the rule itself, if it remembers nothing."""
        return self


@step_rule(LineSearchDefaults, needs=(BOUNDED_CURVATURE,))
class ShortStep(NamedTuple):
    """Minimise the quadratic upper bound along the move: ``slope / (L sum_i p_i (x_i' direction)^2)``.

    The objective never increases. There is nothing to tune: ``L`` is the smoothness of the loss.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1.0, -1.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, "fw", step=fw.methods.ShortStep(), tol=0.1).success
    True
    """

    def search(self, line, fall, most, t):
        """Return the step size along a line."""
        return _capped(fall, smoothness(line) * squares(line), most)


@step_rule(LineSearchDefaults)
class LineSearch(NamedTuple):
    """Exact line search: Newton's method on the slope along the move, safeguarded by a shrinking bracket.

    The objective never increases. For a non-convex loss, the step is a local minimiser.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["pairwise"].step == methods.LineSearch()
    True
    """

    def search(self, line, fall, most, t):
        """Return the step size along a line."""
        return _level(line, most, True)


@step_rule(LineSearchDefaults)
class Secant(NamedTuple):
    """Exact line search without curvature: the secant method on the slope, safeguarded by a shrinking bracket.

    The objective never increases. For a non-convex loss, the step is a local minimiser.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1.0, -1.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, "fw", step=fw.methods.Secant(), tol=0.1).success
    True
    """

    def search(self, line, fall, most, t):
        """Return the step size along a line."""
        return _level(line, most, False)


@step_rule(LineSearchDefaults)
class Monotone(NamedTuple):
    """Open-loop step ``2 / (t + 2)``, halved until the objective does not increase. Later steps keep the halvings.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1.0, -1.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, "fw", step=fw.methods.Monotone(), tol=0.1).success
    True
    """

    def memory(self, setting):
        """Return the state, with no halvings yet."""
        return MonotoneState(np.zeros(1))


class MonotoneState(NamedTuple):
    """Number of halvings so far."""

    halvings: np.ndarray

    def search(self, line, fall, most, t):
        """Return the step size along a line."""
        halvings = self.halvings
        start = along(line, 0.0)[0]
        gamma = min(most, 2.0 ** (1.0 - halvings[0]) / (t + 2.0))
        for _ in range(60):
            if along(line, gamma)[0] <= start:
                return gamma
            halvings[0] += 1.0
            gamma *= 0.5
        return 0.0


@step_rule(LineSearchDefaults)
class Backtracking(NamedTuple):
    """Backtracking on the smoothness (Pedregosa et al. 2020): lower ``L`` first, then raise it until the bound holds.

    Parameters
    ----------
    relax : float
        Factor, at most 1, by which ``L`` is multiplied before each step.
    raise_by : float
        Factor, above 1, by which ``L`` is multiplied until the quadratic upper bound holds at the new point.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1.0, -1.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, "fw", step=fw.methods.Backtracking(), tol=0.1).success
    True
    """

    relax: float = 0.9
    raise_by: float = 2.0

    def _checked(self):
        relax = positive("Backtracking", "relax", self.relax, most=1.0)
        raise_by = finite("Backtracking", "raise_by", self.raise_by)
        if raise_by <= 1.0:
            raise ValueError(f"Backtracking: raise_by must be above 1, got {raise_by:g}")
        return self._replace(relax=relax, raise_by=raise_by)

    def memory(self, setting):
        """Return the state, with ``L`` equal to the smoothness of the loss, finite or not."""
        return BacktrackingState(self, np.array([float(setting.samples.loss.smoothness())]))


class BacktrackingState(NamedTuple):
    """The settings, and the last ``L``."""

    rule: Backtracking
    smoothness: np.ndarray

    def search(self, line, fall, most, t):
        """Return the step size along a line."""
        start, first_slope, curve = along(line, 0.0)
        size, ceiling = squares(line), smoothness(line)
        constant = self.rule.relax * self.smoothness[0]
        if np.isinf(constant):
            if size == 0.0:
                return _capped(-first_slope, 0.0, most)  # predictions do not change along the line
            # unbounded smoothness: start from the curvature along the move or, if flat, from the largest step
            constant = max(curve, -first_slope / most) / size
        while True:
            gamma = _capped(-first_slope, constant * size, most)
            bound = start + gamma * first_slope + 0.5 * gamma * gamma * constant * size
            # with L at the smoothness of the loss the bound holds: the comparison could fail by rounding only
            if constant >= ceiling or along(line, gamma)[0] <= bound + ROUNDING * abs(start):
                break
            constant = min(ceiling, self.rule.raise_by * constant)
        self.smoothness[0] = constant
        return gamma


@routine
def _capped(fall, curve, most):
    """Return the minimiser of ``-fall g + curve g^2 / 2`` over ``0 <= g <= most``."""
    if not fall > 0.0:
        return 0.0
    if fall >= curve * most:
        return most
    return fall / curve


@routine
def _level(line, high, by_curvature):
    """Return a zero of the slope along a line in ``[0, high]``, or an end, by safeguarded Newton or secant steps."""
    start, first_slope, curve = along(line, 0.0)
    most = start + ROUNDING * abs(start)
    total, high_slope, _ = along(line, high)
    if not first_slope < 0.0 or (high_slope <= 0.0 and total <= most):
        return high if first_slope < 0.0 else 0.0
    low, low_slope = 0.0, first_slope
    gamma, here_slope = low, first_slope
    for trial in range(100):
        guess = -1.0  # outside the bracket: bisect. Every third trial bisects, so the bracket always shrinks
        if (
            trial % 3 < 2 and by_curvature and abs(here_slope) < curve * (high - low)
        ):  # otherwise the quotient may overflow
            guess = gamma - here_slope / curve
        elif trial % 3 < 2 and not by_curvature and high_slope > 0.0:
            guess = low - low_slope * (high - low) / (high_slope - low_slope)
        gamma = guess if low < guess < high else low + 0.5 * (high - low)
        total, here_slope, curve = along(line, gamma)
        if total <= most and abs(here_slope) <= -1e-12 * first_slope:
            return gamma
        if here_slope < 0.0 and total <= most:
            low, low_slope = gamma, here_slope
        else:
            high, high_slope = gamma, here_slope
        if high - low <= 1e-15 * high:
            break
    return low


# --- Short steps that read no row: the curvature along a move is bounded by the norms of the columns.


@step_rule(needs=(BOUNDED_CURVATURE,))
class NormStep(NamedTuple):
    """Short step with a curvature bound from column norms: ``-<r, direction> / bound``, capped at the largest step.

    For a direction ``s - a`` the bound is ``L (sum_j (|s_j| + |a_j|) ||X_j||)^2``, with the smoothness ``L`` of the
    loss and the norms of the columns, computed once. It is at least ``L sum_i p_i (x_i' direction)^2``, for which
    `ShortStep` reads all rows. So the objective does not increase if ``r`` is the exact gradient. Between vertices with
    one non-zero entry the bound is well below the textbook's ``L lambda_max ||direction||^2`` on most data. The rule
    requires a direction with an active set.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["goldfarb-pairwise"].step == methods.NormStep()
    True
    """

    def for_run(self, setting):
        """Return the state, with the norms of the columns."""
        return NormStepState(setting.column_norms())


class NormStepState(NamedTuple):
    """Norms of the columns, weighted by the samples' weights."""

    norms: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Return the step size along the move."""
        longest = spread(move, self.norms, iterate)
        curve = smoothness(samples.loss) * longest * longest
        return _capped(slope(move, gradient, iterate), curve, max_step(move))


# --- Steps for active-set directions on a stale gradient: sized by curvature, damped by how stale the table is.
#
# With an up-to-date gradient, the right step is the slope along a move divided by its curvature. With a table of stored
# derivatives it is too long: until the affected rows are refreshed, the same pair of atoms appears as steep as before
# and is chosen again. A pass makes ``n / b`` steps over ``|A|`` active atoms, so it uses each atom about
# ``n / (b |A|)`` times before the table is up to date. Damping every step by ``c b (|A| + 1) / n`` makes these steps
# add up to ``c`` full steps. The largest stable ``c`` depends on the unknown correlation of the active columns.
#
# So ``c`` adapts, at no cost. Let ``dw`` be the change of the iterate in one window (half a pass). At the end of the
# next window the rows have been refreshed, and ``<r, dw>`` estimates the slope of the objective along ``dw``. If it is
# positive, the steps went too far and ``c`` is halved. If more than half of the slope is left, the steps were too short
# and ``c`` grows by a factor of 1.3. The experiment is in the documentation (docs/stochastic-pairwise.md).


@step_rule(needs=(BOUNDED_CURVATURE,))
class DampedStep(NamedTuple):
    """Short step from column norms (`NormStep`), damped so that all batch sizes from 1 to ``n`` converge.

    Parameters
    ----------
    start : float
        Initial value of the damping factor ``c``.
    window : float
        Passes between two adaptations of ``c``.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["stochastic-pairwise"].step == methods.DampedStep()
    True
    """

    start: float = 2.0
    window: float = 0.5

    def _checked(self):
        start, window = positive("DampedStep", "start", self.start), positive("DampedStep", "window", self.window)
        return self._replace(start=start, window=window)

    def for_run(self, setting):
        """Return the state, with the norms of the columns."""
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
    """State of `DampedStep`.

    Attributes
    ----------
    norms : array of shape (d,)
        Norms of the columns, weighted by the samples' weights.
    share : float
        Fraction of the rows in a batch.
    steps : int
        Steps between two adaptations of ``c``.
    damping : array of shape (2,)
        ``c``, and the slope ``<r, dw>`` of the last complete window at its end.
    mark, moved : array of shape (d,)
        The iterate at the start of the current window; the change ``dw`` of the iterate in the previous window.
    """

    norms: np.ndarray
    share: float
    steps: int
    damping: np.ndarray
    mark: np.ndarray
    moved: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Return the step size along the move."""
        if t % self.steps == 0:
            _adapt(self, gradient, iterate)
        longest = spread(move, self.norms, iterate)
        curve = smoothness(samples.loss) * longest * longest
        damping = min(1.0, self.damping[0] * self.share * (active_count(move) + 1.0))
        return _capped(damping * slope(move, gradient, iterate), curve, max_step(move))


@routine
def _adapt(state, gradient, iterate):
    """Adapt ``c`` by the present slope along the previous window's change of the iterate."""
    damping, mark, moved, r, v = state.damping, state.mark, state.moved, gradient.r, iterate.v
    hindsight = 0.0
    for j in range(len(r)):
        hindsight += r[j] * moved[j]
    if hindsight > 0.0:
        damping[0] = max(1e-3, 0.5 * damping[0])  # near the optimum, rounding alone would shrink it to nothing
    elif hindsight < 0.5 * damping[1]:
        damping[0] = min(1.0 / state.share, 1.3 * damping[0])
    damping[1] = 0.0
    for j in range(len(r)):
        w = iterate.scale[0] * v[j]
        moved[j] = w - mark[j]
        mark[j] = w
        damping[1] += r[j] * moved[j]


# --- Names.

STEPS: dict[str, Any] = {
    "open-loop": OpenLoop(),
    "log-adaptive": LogAdaptive(),
    "constant": ConstantStep(),
    "short": ShortStep(),
    "line-search": LineSearch(),
    "secant": Secant(),
    "backtracking": Backtracking(),
    "monotone": Monotone(),
}
"""The rules that suit every direction, by name. `DampedStep` and `NormStep` need a direction with an active set."""


def as_step(step: MethodPart) -> Any:
    """Step rule from its name or from an instance."""
    if isinstance(step, str):
        return lookup("step", step, STEPS)
    accept("step", step, "a step rule")
    return step
