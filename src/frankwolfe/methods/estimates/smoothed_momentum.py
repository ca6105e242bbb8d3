"""Averaged batch gradients of a smoothed objective: Locatello et al., for kinks and for side constraints."""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import prediction, pull, smoothed_derivative
from frankwolfe.methods.gradient import ALL_ROWS, amend, fade, pick
from frankwolfe.methods.lifecycle import Abilities, estimate
from frankwolfe.methods.side_terms import WINDOW, side_term


@estimate
class SmoothedMomentum(NamedTuple):
    """Locatello et al. (2019): the gradient of a smoothed objective, averaged as `Momentum` does.

    With ``rho = 4 / (t + 7)^(2/3)`` and ``beta = beta0 / sqrt(t + 8)``,

        r = (1 - rho) r + rho mean_{i in batch} f_{i,beta}'(x_i' w) x_i,

    and the oracle is asked at ``r + A' (A w - proj(A w)) / beta``, which points where ``beta r + A' (A w - proj(A w))``
    does. Losses with a kink are replaced by their Moreau envelopes ``f_{i,beta}``, smooth ones are left as they are.

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

    @property
    def abilities(self):
        """Smooths what has kinks, and keeps slopes that certify."""
        return Abilities(smooths=True, row_arrays=("alpha",))

    def for_run(self, setting):
        """Start from the slopes and multipliers of the run that is continued, else from zeros."""
        return SmoothedMomentumState(setting.table(), side_term(setting, self.beta0), self.beta0 * setting.units.loss)


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

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""
