"""Gradients of batches: of all rows, of growing batches, and their averages (Mokhtari et al., 1-SFW, SHCGM)."""

from math import ceil, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import finite, positive
from frankwolfe.compile.verbs import (
    contract,
    derivative,
    prediction,
    pull,
    rebuild,
    routine,
    row_add,
    smoothed_derivative,
    value,
)
from frankwolfe.methods.base import checked_decay, estimate
from frankwolfe.methods.gradient import (
    ALL_ROWS,
    TABLE_CHANGE,
    add_change,
    add_gradient,
    add_linear,
    amend,
    count_rows,
    fade,
    look_ahead,
    pick,
)
from frankwolfe.problem.requirements import NO_SIDE, ONE_PROCESS, ROWS_AGAIN, SIDE_CONJUGATE, SMOOTH_LOSS


@routine
def sweep(samples, point, alpha, r):
    """One pass over the data: fill ``alpha`` and ``r`` with the exact gradient at a point.

    Return the objective, the sum of ``<alpha_i, z_i>``, and the sum of the sizes of its terms.
    """
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    total, pairing, size = 0.0, 0.0, 0.0
    r[:] = 0.0
    for i in range(len(targets)):
        z = prediction(point, rows, i)
        total += weights[i] * value(loss, z, targets[i])
        fresh = weights[i] * derivative(loss, z, targets[i])
        alpha[i] = fresh
        row_add(rows, i, fresh, r)
        term = contract(fresh, z)
        pairing += term
        size += abs(term)
    return total, pairing, size


class FullGradientState(NamedTuple):
    """The derivatives of all samples at the iterate of the last step, the sum of their conjugates, the linear term."""

    alpha: np.ndarray
    conjugates: np.ndarray
    linear: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Compute the gradient at the iterate."""
        total, pairing, size = sweep(samples, iterate, self.alpha, gradient.r)
        self.conjugates[0] = pairing - total  # f*(f'(z)) = f'(z) z - f(z)
        self.conjugates[1] = size + abs(total)
        gradient.counters[TABLE_CHANGE] += abs(total)
        count_rows(gradient, len(samples.targets))
        rebuild(gradient.tracker, gradient.r)
        add_linear(gradient, self.linear, 1.0)


@estimate(FullGradientState, reads_all_rows=True, needs=(SMOOTH_LOSS, NO_SIDE, ROWS_AGAIN))
class FullGradient(NamedTuple):
    """The exact gradient, one pass over the data a step.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["fw"].estimate == methods.FullGradient()
    True
    """

    def for_run(self, setting):
        """Make room for the derivatives."""
        return FullGradientState(setting.table(), np.full(2, np.nan), setting.linear)


class GrowingBatchState(NamedTuple):
    """The first batch's rows, the factor from one to the next, all rows, and the linear term."""

    unit: float
    growth: float
    most: float
    linear: np.ndarray

    def batch_sizes(self, steps):
        """Rows in the batches of the steps with these numbers."""
        whole = ceil(log(self.most / self.unit) / log(self.growth))  # steps until a batch has all rows
        return np.minimum(self.most, np.ceil(self.unit * self.growth ** np.minimum(steps, whole)))

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Take the batch's gradient."""
        gradient.r[:] = 0.0
        rebuild(gradient.tracker, gradient.r)
        add_linear(gradient, self.linear, 1.0)
        add_gradient(samples, iterate, gradient, batch, 1.0)


@estimate(GrowingBatchState)
class GrowingBatch(NamedTuple):
    """Goldfarb et al. (2017): ``r = g_S(w)``, the mean gradient of a batch of ``ceil(b growth^t)`` rows, at most all.

    Unbiased, and exact from the step on whose batch has all rows. ``b`` is the batch size. The paper's growth depends
    on constants that are not known. A step costs O(d) beside its rows: ``r`` is recomputed.

    Parameters
    ----------
    growth : float
        Factor from one batch to the next, above 1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> method = methods.Method(methods.GrowingBatch(1.5), methods.Pairwise(), methods.NormStep(),
    ...                         name="goldfarb-pairwise, faster")
    >>> fw.minimize(problem, method, max_passes=50, random_state=0).success
    True
    """

    growth: float = 1.02

    def _checked(self):
        growth = finite("GrowingBatch", "growth", self.growth)
        if growth <= 1.0:
            raise ValueError(f"GrowingBatch: growth must be above 1, got {growth:g}: batches would not grow")
        return self._replace(growth=growth)

    def for_run(self, setting):
        """Know how large batches may become."""
        return GrowingBatchState(float(setting.batch_size), self.growth, float(setting.n), setting.linear)


# --- averages of batch gradients ------------------------------------------------------------------------------------


@routine
def newest_weight(part, t):
    """Return ``numerator / (t + offset)^power``."""
    return part.numerator * (t + part.offset) ** -part.power


class MomentumState(NamedTuple):
    """Numerator, offset and power of the weights, and the linear term."""

    weights: Any  # Momentum
    linear: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Fade the estimate and add the batch's mean gradient."""
        rho = newest_weight(self.weights, t)
        share = rho / fade(gradient, 1.0 - rho)
        add_linear(gradient, self.linear, share)
        add_gradient(samples, iterate, gradient, batch, share)


@estimate(MomentumState, needs=(SMOOTH_LOSS, NO_SIDE, ONE_PROCESS))
class Momentum(NamedTuple):
    """Mokhtari et al. (2018), the original: ``r = (1 - rho) r + rho mean_{i in batch} f_i'(x_i' w) x_i``.

    Fading all of ``r`` is one multiplication: the factor is kept apart. Beside ``r`` it remembers nothing.

    Parameters
    ----------
    numerator, offset, power : float
        ``rho_t = numerator / (t + offset)^power``, at most 1. The default is the ``(t + 1)^(-2/3)`` of the paper's
        appendix, which goes with steps of ``1 / (t + 1)``.

    Examples
    --------
    Another choice in use: ``4 / (t + 8)^(2/3)``, with steps of ``2 / (t + 8)``.

    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> method = methods.Method(methods.Momentum(4.0, 8.0),
    ...                         step=methods.OpenLoop(2.0, 8.0), batch_size=0.01, name="momentum, 4")
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, method, batch_size=1, max_passes=20, random_state=0).method
    'momentum, 4'
    """

    numerator: float = 1.0
    offset: float = 1.0
    power: float = 2.0 / 3.0

    def _checked(self):
        return checked_decay(self, "the first weight would be above 1")

    def for_run(self, setting):
        """Know the linear term."""
        return MomentumState(self, setting.linear)


class OneSampleState(NamedTuple):
    """The batch's derivatives before the last step, when the average began, the last step, and the linear term."""

    kept: np.ndarray
    begun: np.ndarray
    last: np.ndarray
    linear: np.ndarray
    weights: Any  # OneSample: numerator, offset and power

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Correct the average for the last step, as far as the batch knows it, and add the batch's mean gradient."""
        number = t - self.begun[0]
        rho = newest_weight(self.weights, number) if number > 1 else 1.0
        scale = fade(gradient, 1.0 - rho)
        add_linear(gradient, self.linear, rho / scale)
        if self.last[0] == t - 1:
            add_change(samples, iterate, gradient, batch, self.kept, 1.0 / scale, 1.0 - rho)
        else:  # the first step of a run: where it starts, nothing is known of another point
            add_gradient(samples, iterate, gradient, batch, rho / scale)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Look at the next batch before the iterate moves."""
        look_ahead(samples, iterate, gradient, upcoming, self.kept)
        self.last[0] = t


@estimate(OneSampleState, reads_upcoming=True)
class OneSample(NamedTuple):
    """1-SFW (Zhang et al. 2020): ``r = (1 - rho) (r - g_S(w_{t-1})) + g_S(w_t)``, for the same rows at both points.

    A step reads ``2 b`` rows and nothing is remembered of the others: data may have any number of rows.

    Parameters
    ----------
    numerator, offset, power : float
        ``rho_t = numerator / (t + offset)^power``, at most 1, and 1 at the first step; ``t`` counts the steps since the
        average began. The default ``1 / t`` is for convex losses, with steps of ``1 / t``; for others the paper has
        ``t^(-2/3)`` (``power=2/3``) and constant steps of ``T^(-2/3)``, ``T`` the number of steps.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["one-sample"].estimate == methods.OneSample()
    True
    """

    numerator: float = 1.0
    offset: float = 0.0
    power: float = 1.0

    def _checked(self):
        return checked_decay(self, "the first weight would be above 1")

    def for_run(self, setting):
        """Go on with the average of the run that is continued, if it was one of these; else begin one."""
        kept = np.zeros((setting.batch_size, *setting.samples.shape[1:]))
        begun = setting.remembered.get("begun")
        begun = np.array([setting.steps]) if begun is None else begun.copy()
        return OneSampleState(kept, begun, np.array([-1]), setting.linear, self)


# --- averages of smoothed gradients: losses with kinks, and side constraints ------------------------------------------

WINDOW = 4.0
"""Means are over about the last quarter of the steps: shorter ones swing with the iterate, longer ones lag behind."""


class NoSideTerm(NamedTuple):
    """There are no side constraints."""

    unit: float

    def pull(self, gradient, iterate, kept, t):
        """Add nothing."""


class SideTerm(NamedTuple):
    """Side constraints of a run, smoothed.

    The indicator of ``lower <= A w <= upper`` is replaced by ``dist(A w)^2 / (2 beta)``. Its gradient is ``A' lambda``
    with the multipliers ``lambda = (A w - proj(A w)) / beta``. As ``beta`` decreases, so does the distance.

    Attributes
    ----------
    bounds : SideRows
        Rows of ``A``, and bounds on their products with the weights.
    multipliers : array of shape (m,)
        Those that are in the gradient estimate.
    mean : array of shape (m,)
        A mean of those of the last steps: they bound the optimum better than the last ones.
    unit : float
        ``beta sqrt(t + 8)``.
    """

    bounds: Any
    multipliers: np.ndarray
    mean: np.ndarray
    unit: float

    def pull(self, gradient, iterate, kept, t):
        """Replace what the last step has added to the gradient estimate, of which the part ``kept`` is left."""
        rows, lower, upper = self.bounds.rows, self.bounds.lower, self.bounds.upper
        multipliers, mean, scale = self.multipliers, self.mean, gradient.scale[0]
        inverse, part = sqrt(t + 8.0) / self.unit, WINDOW / (t + WINDOW - 1.0)
        for j in range(len(lower)):
            z = prediction(iterate, rows, j)
            fresh = inverse * (z - max(lower[j], min(upper[j], z)))
            change = fresh - kept * multipliers[j]
            multipliers[j] = fresh
            mean[j] += part * (fresh - mean[j])
            if change != 0.0:
                amend(gradient, rows, j, change / scale)


def side_term(setting: Any, beta0: float) -> Any:
    """Return the side constraints of a run; multipliers go on from those of the run that is continued."""
    side = setting.side
    if side is None:
        return NoSideTerm(1.0)
    kept = [setting.remembered.get(f"side.{name}", np.zeros(0)) for name in ("multipliers", "mean")]
    multipliers, mean = (found.copy() if len(found) == side.m else np.zeros(side.m) for found in kept)
    return SideTerm(side.rows(), multipliers, mean, beta0 * setting.units.side)


class SmoothedMomentumState(NamedTuple):
    """Every sample's averaged slope, the side constraints, ``beta sqrt(t + 8)`` of the losses, and the linear term."""

    alpha: np.ndarray
    side: Any
    unit: float
    linear: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Fade the estimate; add the batch's mean gradient, and what the side constraints pull."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, beta = self.alpha, self.unit / sqrt(t + 8.0)
        visits = gradient.counters[ALL_ROWS] / len(batch)  # steps from one visit to the next
        rho = 4.0 / (t + 7.0) ** (2.0 / 3.0)
        fade(gradient, 1.0 - rho)
        add_linear(gradient, self.linear, rho / gradient.scale[0])
        share, part = rho * visits / gradient.scale[0], min(1.0, visits * WINDOW / (t + WINDOW - 1.0))
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * smoothed_derivative(loss, prediction(iterate, rows, i), targets[i], beta)
            alpha[i] += part * (fresh - alpha[i])
            amend(gradient, rows, i, share * fresh)
        pull(self.side, gradient, iterate, 1.0 - rho, t)


@estimate(SmoothedMomentumState, needs=(SIDE_CONJUGATE, ONE_PROCESS, ROWS_AGAIN))
class SmoothedMomentum(NamedTuple):
    """Locatello et al. (2019): the gradient of a smoothed objective, averaged as `Momentum` does.

    With ``rho = 4 / (t + 7)^(2/3)`` and ``beta = beta0 / sqrt(t + 8)``,

        r = (1 - rho) r + rho mean_{i in batch} f_{i,beta}'(x_i' w) x_i,

    and the oracle is called with ``r + A' (A w - proj(A w)) / beta``, a multiple of
    ``beta r + A' (A w - proj(A w))``. Losses with a kink are replaced by their Moreau envelopes ``f_{i,beta}``, smooth
    ones are left as they are.

    Beside, every sample's slope is averaged over its last visits, and so are the multipliers of the side constraints.
    No step needs them: they bound the optimum from below.

    Parameters
    ----------
    beta0 : float
        How much is smoothed. In units that make it a plain number: of the objective at zero for losses, of the square
        of what ``A w`` covers over the set, divided by the objective at zero, for side constraints. Less: side
        constraints are kept sooner, and the objective falls later.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["shcgm"].estimate == methods.SmoothedMomentum()
    True
    """

    beta0: float = 0.1

    def _checked(self):
        return self._replace(beta0=positive("SmoothedMomentum", "beta0", self.beta0))

    def for_run(self, setting):
        """Start from the slopes and multipliers of the run that is continued, else from zeros."""
        unit = self.beta0 * setting.units.loss
        return SmoothedMomentumState(setting.table(), side_term(setting, self.beta0), unit, setting.linear)
