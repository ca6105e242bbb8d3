"""Averaged gradients of a smoothed objective (SHCGM), for kinked losses and side constraints."""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import prediction, pull, smoothed_derivative
from frankwolfe.methods.base import estimate
from frankwolfe.methods.gradient import ALL_ROWS, amend, fade, pick
from frankwolfe.problem.requirements import ONE_PROCESS, ROWS_AGAIN, SIDE_CONJUGATE

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
    """Every sample's averaged slope, the side constraints, and ``beta sqrt(t + 8)`` of the losses."""

    alpha: np.ndarray
    side: Any
    unit: float

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Fade the estimate; add the batch's mean gradient, and what the side constraints pull."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, beta = self.alpha, self.unit / sqrt(t + 8.0)
        visits = gradient.counters[ALL_ROWS] / len(batch)  # steps from one visit to the next
        rho = 4.0 / (t + 7.0) ** (2.0 / 3.0)
        fade(gradient, 1.0 - rho)
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
    """

    beta0: float = 0.1

    def _checked(self):
        return self._replace(beta0=positive("SmoothedMomentum", "beta0", self.beta0))

    def for_run(self, setting):
        """Start from the slopes and multipliers of the run that is continued, else from zeros."""
        return SmoothedMomentumState(setting.table(), side_term(setting, self.beta0), self.beta0 * setting.units.loss)
