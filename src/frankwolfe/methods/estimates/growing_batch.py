"""The gradient of a batch that grows geometrically: Goldfarb, Iyengar and Zhou."""

from math import ceil, log
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import finite
from frankwolfe.compile.verbs import derivative, prediction, rebuild
from frankwolfe.methods.gradient import amend, pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class GrowingBatch(NamedTuple):
    """Goldfarb et al. (2017): ``r = g_S(w)``, the mean gradient of a batch of ``ceil(b growth^t)`` rows, at most all.

    Unbiased, and exact from the step on whose batch has all rows. ``b`` is the batch size. The paper's growth depends
    on constants that nobody knows. A step costs O(d) beside its rows: ``r`` is made anew.

    Parameters
    ----------
    growth : float
        Factor from one batch to the next, above 1.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> method = fw.Method(fw.GrowingBatch(1.5), fw.Pairwise(), fw.NormStep(), name="goldfarb-pairwise, faster")
    >>> fw.minimize(problem, method, max_passes=50, random_state=0).success
    True
    """

    growth: float = 1.02

    def _checked(self):
        growth = finite("GrowingBatch", "growth", self.growth)
        if growth <= 1.0:
            raise ValueError(f"GrowingBatch: growth must be above 1, got {growth:g}: batches would not grow")
        return self._replace(growth=growth)

    @property
    def abilities(self):
        """Growing batches."""
        return Abilities(grows=True)

    def for_run(self, setting):
        """Know how large batches may become."""
        return GrowingBatchState(float(setting.batch_size), self.growth, float(len(setting.samples.targets)))


class GrowingBatchState(NamedTuple):
    """The first batch's rows, the factor from one to the next, and all rows."""

    unit: float
    growth: float
    most: float

    def batch_sizes(self, steps):
        """Rows in the batches of the steps with these numbers."""
        whole = ceil(log(self.most / self.unit) / log(self.growth))  # steps until a batch has all rows
        return np.minimum(self.most, np.ceil(self.unit * self.growth ** np.minimum(steps, whole)))

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Take the batch's gradient."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        share = len(targets) / len(batch)
        gradient.r[:] = 0.0
        rebuild(gradient.tracker, gradient.r)
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend(gradient, rows, i, share * fresh)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""
