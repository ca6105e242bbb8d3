"""Gradient estimates: how ``r`` follows the gradient ``X' alpha`` as the iterate moves.

The classes that a user names hold settings and say what the estimate can do (`frankwolfe.methods.lifecycle`). Their
``for_run`` makes the state of a run: arrays, and the methods that the loop compiles. A state looks at its batch in
`refresh`, before the vertex is chosen, or in `follow`, after that and before the iterate moves. What it remembers of
the data is ``alpha``, one weighted derivative a sample, wherever it has one, so that a later run can take it over.

To add one: a class and its state here, a line in `frankwolfe.methods.table.METHODS`, a row in ``tests/cases.py``.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction, rebuild, target_prediction
from frankwolfe.methods.full_pass import sweep
from frankwolfe.methods.gradient import TABLE_CHANGE, amend, count_rows, pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class FullGradient(NamedTuple):
    """The exact gradient, one pass over the data a step."""

    @property
    def abilities(self):
        """Reads all rows, and keeps their derivatives and the sum of their conjugates."""
        return Abilities(reads_all_rows=True, has_table=True, sums_conjugates=True)

    def for_run(self, setting):
        """Make room for the derivatives."""
        return FullGradientState(setting.table(), np.full(2, np.nan))


class FullGradientState(NamedTuple):
    """The derivatives of all samples at the iterate of the last step, and the sum of their conjugates."""

    alpha: np.ndarray
    conjugates: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Take the gradient anew."""
        total, pairing, size = sweep(samples, iterate, self.alpha, gradient.r)
        self.conjugates[0] = pairing - total  # f*(f'(z)) = f'(z) z - f(z)
        self.conjugates[1] = size + abs(total)
        gradient.counters[TABLE_CHANGE] += abs(total)
        count_rows(gradient, len(samples.targets))
        rebuild(gradient.tracker, gradient.r)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""


@estimate
class SagTable(NamedTuple):
    """The paper's estimate (Algorithm 1): every sample's latest derivative is remembered and the sum kept up to date.

    For i in the batch: ``alpha_i = f_i'(x_i' w) / n``; ``r`` changes by what ``alpha`` changed.
    """

    @property
    def abilities(self):
        """A table, better the more exact it is; what a step changes in it samples its error."""
        return Abilities(has_table=True, exact_table=True, samples_error=True)

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return SagState(setting.table())


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

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""

    def renew(self, alpha):
        """Take over the derivatives of all samples at the iterate."""
        self.alpha[:] = alpha


@estimate
class CoordinateAverage(NamedTuple):
    """Mokhtari et al. (2018) as the paper's appendix writes it: each sample's derivative is averaged on its own.

    For i in the batch: ``alpha_i = (1 - rho) alpha_i + rho f_i'(x_i' w)`` with ``rho = (t + 1)^(-2/3)``. The appendix
    leaves out the factor ``1/n``; with it, ``alpha`` means the same here as elsewhere, and since an oracle only
    minds directions the iterates are the same.
    """

    @property
    def abilities(self):
        """A table, of averages."""
        return Abilities(has_table=True)

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return CoordinateAverageState(setting.table())


class CoordinateAverageState(NamedTuple):
    """Every sample's averaged derivative."""

    alpha: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Move the batch's derivatives a part ``rho`` of the way to those at the iterate."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, rho = self.alpha, (t + 1.0) ** (-2.0 / 3.0)
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = rho * (fresh - alpha[i])
            alpha[i] += change
            amend(gradient, rows, i, change)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""


@estimate
class Momentum(NamedTuple):
    """Mokhtari et al. (2018), the original: ``r = (1 - rho) r + rho mean_{i in batch} f_i'(x_i' w) x_i``.

    ``rho = (t + 1)^(-2/3)``. Fading all of ``r`` is one multiplication: the factor is kept apart. Beside ``r`` it
    remembers nothing, and is its own state.
    """

    @property
    def abilities(self):
        """Nothing but to follow the gradient."""
        return Abilities()

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Fade the estimate and add the batch's mean gradient."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        rho = (t + 1.0) ** (-2.0 / 3.0)
        scale = gradient.scale[0] * (1.0 - rho)
        if scale < 1e-100:  # fold the factor into r long before it underflows
            r = gradient.r
            for j in range(len(r)):
                r[j] *= scale
            rebuild(gradient.tracker, r)
            scale = 1.0
        gradient.scale[0] = scale
        share = rho * len(targets) / (len(batch) * scale)
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend(gradient, rows, i, share * fresh)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""


@estimate
class Substitute(NamedTuple):
    """Lu and Freund (2018): derivatives at an averaged prediction ``sigma_i`` that drifts toward the vertices' own.

    Once the vertex ``s`` is chosen, for i in the batch: ``sigma_i = (1 - delta) sigma_i + delta x_i' s`` with
    ``delta = 2 n_b / (2 n_b + t + 1)``, then ``alpha_i = f_i'(sigma_i) / n``.
    """

    @property
    def abilities(self):
        """A table, of derivatives at the averaged predictions."""
        return Abilities(has_table=True)

    def for_run(self, setting):
        """Start the averages at the predictions of the starting point."""
        sigma = setting.remembered.get("sigma")
        sigma = setting.samples.rows.dot_all(setting.w) if sigma is None else sigma.copy()
        return SubstituteState(setting.table(), sigma, float(len(sigma) // setting.batch_size))


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
