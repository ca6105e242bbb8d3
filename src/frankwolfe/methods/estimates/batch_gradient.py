"""Gradients without memory: of all rows, or of a batch that grows."""

from math import ceil, log
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import finite
from frankwolfe.compile.verbs import contract, derivative, prediction, rebuild, routine, row_add, value
from frankwolfe.methods.base import estimate
from frankwolfe.methods.gradient import TABLE_CHANGE, amend, count_rows, pick
from frankwolfe.problem.requirements import NO_SIDE, ROWS_AGAIN, SMOOTH_LOSS


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
    """The derivatives of all samples at the iterate of the last step, and the sum of their conjugates."""

    alpha: np.ndarray
    conjugates: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Compute the gradient at the iterate."""
        total, pairing, size = sweep(samples, iterate, self.alpha, gradient.r)
        self.conjugates[0] = pairing - total  # f*(f'(z)) = f'(z) z - f(z)
        self.conjugates[1] = size + abs(total)
        gradient.counters[TABLE_CHANGE] += abs(total)
        count_rows(gradient, len(samples.targets))
        rebuild(gradient.tracker, gradient.r)


@estimate(FullGradientState, reads_all_rows=True, needs=(SMOOTH_LOSS, NO_SIDE, ROWS_AGAIN))
class FullGradient(NamedTuple):
    """The exact gradient, one pass over the data a step."""

    def for_run(self, setting):
        """Make room for the derivatives."""
        return FullGradientState(setting.table(), np.full(2, np.nan))


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
        return GrowingBatchState(float(setting.batch_size), self.growth, float(len(setting.samples.targets)))
