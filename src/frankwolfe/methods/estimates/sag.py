"""Tables of derivatives, one for each sample: SAG (the paper), SAGA, Mokhtari's averages, Lu and Freund's."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import defaults_from
from frankwolfe.compile.verbs import derivative, prediction, target_prediction
from frankwolfe.methods.base import estimate
from frankwolfe.methods.gradient import (
    Correction,
    ExactTable,
    amend,
    amend_later,
    amend_once,
    correct_by_batch,
    pick,
)
from frankwolfe.problem.requirements import NO_SIDE, ONE_PROCESS, ROWS_AGAIN, SMOOTH_LOSS


@defaults_from(ExactTable)
class SagState(NamedTuple):
    """Every sample's latest derivative."""

    alpha: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Remember the batch's derivatives at the iterate."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha = self.alpha
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = fresh - alpha[i]
            alpha[i] = fresh
            amend(gradient, rows, i, change)


@estimate(SagState, needs=(SMOOTH_LOSS, NO_SIDE, ROWS_AGAIN))
class SagTable(NamedTuple):
    """The paper's estimate (Algorithm 1): every sample's latest derivative is remembered and the sum kept up to date.

    For i in the batch: ``alpha_i = f_i'(x_i' w) / n``; ``r`` changes by what ``alpha`` changed.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["sfw"].estimate == methods.SagTable()
    True
    """

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return SagState(setting.table())


@defaults_from(ExactTable)
class SagaState(NamedTuple):
    """Every sample's latest derivative, and the surplus of the current step."""

    alpha: np.ndarray
    surplus: Correction

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Remember the batch's derivatives at the iterate; for this step their changes count ``n / b`` times."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, surplus, more = self.alpha, self.surplus, len(targets) / len(batch) - 1.0
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = fresh - alpha[i]
            alpha[i] = fresh
            amend_once(gradient, surplus, rows, i, change, more * change)


@estimate(SagaState)
class Saga(NamedTuple):
    """SAGA (Defazio et al. 2014): ``r = (1/b) sum_{i in batch} [g_i(w) - y_i] + mean(y)``, then ``y_i = g_i(w)``.

    The table of `SagTable`, but the oracle sees ``n / b`` times the batch's changes, so that ``r`` is unbiased. The
    surplus holds for one step.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["saga"].estimate == methods.Saga()
    True
    """

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return SagaState(setting.table(), Correction.of(setting.samples, setting.batch_size))


@defaults_from(ExactTable)
class SagaTwoBatchesState(NamedTuple):
    """Every sample's latest derivative, and what the two batches of the current step add to ``r`` now and later."""

    alpha: np.ndarray
    surplus: Correction

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Correct ``r`` by the first half of the rows; remember the derivatives of the second, for later steps."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, surplus, half = self.alpha, self.surplus, len(batch) // 2
        correct_by_batch(samples, iterate, gradient, alpha, surplus, batch[:half])
        for k in range(half, len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = fresh - alpha[i]
            alpha[i] = fresh
            amend_later(gradient, surplus, i, change)


@estimate(SagaTwoBatchesState, two_batches=True)
class SagaTwoBatches(NamedTuple):
    """Reddi et al. (2016): `Saga`'s estimate, but another batch, independent of the first, refreshes the table.

    ``r = (1/b) sum_{i in S} [g_i(w) - y_i] + mean(y)``, then ``y_i = g_i(w)`` for i in the second batch. A step reads
    ``2 b`` rows. Given the past, the table then does not depend on the batch that chose the vertex.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["sagafw"].estimate == methods.SagaTwoBatches()
    True
    """

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return SagaTwoBatchesState(setting.table(), Correction.of(setting.samples, 2 * setting.batch_size))


class CoordinateAverageState(NamedTuple):
    """Every sample's averaged derivative."""

    alpha: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Move the batch's derivatives by the fraction ``rho`` toward those at the iterate."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, rho = self.alpha, (t + 1.0) ** (-2.0 / 3.0)
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = rho * (fresh - alpha[i])
            alpha[i] += change
            amend(gradient, rows, i, change)


@estimate(CoordinateAverageState, needs=(SMOOTH_LOSS, NO_SIDE, ONE_PROCESS, ROWS_AGAIN))
class CoordinateAverage(NamedTuple):
    """Mokhtari et al. (2018) as the paper's appendix writes it: each sample's derivative is averaged on its own.

    For i in the batch: ``alpha_i = (1 - rho) alpha_i + rho f_i'(x_i' w)`` with ``rho = (t + 1)^(-2/3)``. The appendix
    leaves out the factor ``1/n``; with it, ``alpha`` means the same here as elsewhere, and since an oracle's
    answer depends on directions only the iterates are the same.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["mokhtari"].estimate == methods.CoordinateAverage()
    True
    """

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return CoordinateAverageState(setting.table())


class SubstituteState(NamedTuple):
    """Every sample's averaged prediction and the derivative there; how many batches make a pass."""

    alpha: np.ndarray
    sigma: np.ndarray
    batches: float

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Wait for the vertex."""

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Move the batch's averaged predictions toward the vertex's and remember the derivatives there."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, sigma = self.alpha, self.sigma
        delta = 2.0 * self.batches / (2.0 * self.batches + t + 1.0)
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            sigma[i] = (1.0 - delta) * sigma[i] + delta * target_prediction(move, rows, i)
            fresh = weights[i] * derivative(loss, sigma[i], targets[i])
            change = fresh - alpha[i]
            alpha[i] = fresh
            amend(gradient, rows, i, change)


@estimate(SubstituteState, needs=(SMOOTH_LOSS, NO_SIDE, ONE_PROCESS, ROWS_AGAIN), row_arrays=("alpha", "sigma"))
class Substitute(NamedTuple):
    """Lu and Freund (2018): derivatives at an averaged prediction ``sigma_i`` that drifts toward the vertices' own.

    Once the vertex ``s`` is chosen, for i in the batch: ``sigma_i = (1 - delta) sigma_i + delta x_i' s`` with
    ``delta = 2 n_b / (2 n_b + t + 1)``, then ``alpha_i = f_i'(sigma_i) / n``.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["lu-freund"].estimate == methods.Substitute()
    True
    """

    def for_run(self, setting):
        """Start the averages at the predictions of the starting point."""
        sigma = setting.remembered.get("sigma")
        sigma = setting.samples.rows.dot_all(setting.w) if sigma is None else sigma.copy()
        return SubstituteState(setting.table(), sigma, float(len(sigma) // setting.batch_size))
