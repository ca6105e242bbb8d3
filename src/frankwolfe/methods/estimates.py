"""Gradient estimates: how ``r`` follows the gradient ``X' alpha`` as the iterate moves.

An estimate looks at its batch in `refresh`, before the vertex is chosen, or in `follow`, after. It keeps what it
remembers of the data in arrays of its own, made by ``for_run`` when a run starts: ``alpha``, one weighted derivative
a sample, wherever it has one, so that a later run can take it over.

To add one: a class here, a line in `frankwolfe.methods.table.METHODS`, a row in ``tests/cases.py``.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import Setting, part
from frankwolfe.compile.verbs import (
    add_row,
    derivative,
    fetch_row,
    magnitude,
    prediction,
    rebuild,
    routine,
    target_prediction,
)
from frankwolfe.objective.exact_pass import sweep


class Gradient(NamedTuple):
    """The estimate's running state: the gradient is ``scale[0] * r``.

    Attributes
    ----------
    r : array of shape (d,)
        The estimate up to a positive factor, which no oracle minds.
    scale : array of shape (1,)
        That factor.
    meter : array of shape (1,)
        Sum of the sizes of all changes. It turns non-finite with the first change that is, and then stops the run.
    tracker : LazyArgmax or Workspace
        What the set keeps about ``r``.
    """

    r: np.ndarray
    scale: np.ndarray
    meter: np.ndarray
    tracker: Any

    def dense(self) -> np.ndarray:
        """Return the gradient estimate as a new array."""
        return self.r * self.scale[0]


@routine
def amend(gradient, rows, i, change):
    """Add ``change`` times row ``i`` to the estimate."""
    add_row(gradient.tracker, rows, i, change, gradient.r)
    gradient.meter[0] += magnitude(change)


@routine
def pick(rows, batch, k):
    """Return row number ``k`` of the batch, and ask for the one after it ahead of time."""
    if k + 1 < len(batch):
        fetch_row(rows, batch[k + 1])
    return batch[k]


def _table(setting: Setting) -> np.ndarray:
    """One derivative a sample: those of the run that is continued, else zeros (the paper's initialisation)."""
    alpha = getattr(setting.previous, "alpha", None)
    return setting.samples.table() if alpha is None else alpha.copy()


@part
class FullGradient(NamedTuple):
    """The exact gradient, one pass over the data a step."""

    alpha: Any = None

    @property
    def full(self):
        """Whether every step takes the whole gradient."""
        return True

    @property
    def exact_table(self):
        """Whether the derivatives of all samples at the iterate, where they are at hand, are what it would remember."""
        return True

    def for_run(self, setting):
        """Make room for the derivatives."""
        return FullGradient(_table(setting))

    def refresh(self, samples, iterate, gradient, batch, t):
        """Take the gradient anew."""
        gradient.meter[0] += abs(sweep(samples, iterate, self.alpha, gradient.r))
        rebuild(gradient.tracker, gradient.r)

    def follow(self, samples, move, gradient, batch, t):
        """Nothing left to learn."""


@part
class SagTable(NamedTuple):
    """The paper's estimate (Algorithm 1): every sample's latest derivative is remembered and the sum kept up to date.

    For i in the batch: ``alpha_i = f_i'(x_i' w) / n``; ``r`` changes by what ``alpha`` changed.
    """

    alpha: Any = None

    @property
    def full(self):
        """Whether every step takes the whole gradient."""
        return False

    @property
    def exact_table(self):
        """Whether the derivatives of all samples at the iterate, where they are at hand, are what it would remember."""
        return True

    @property
    def meters_error(self):
        """Whether the changes that the meter sums are samples of the table's error: here they are, unbiased."""
        return True

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return SagTable(_table(setting))

    def refresh(self, samples, iterate, gradient, batch, t):
        """Remember the batch's derivatives at the iterate."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha = self.alpha
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = fresh - alpha[i]
            alpha[i] = fresh
            amend(gradient, rows, i, change)

    def follow(self, samples, move, gradient, batch, t):
        """Nothing left to learn."""


@part
class CoordinateAverage(NamedTuple):
    """Mokhtari et al. (2018) as the paper's appendix writes it: each sample's derivative is averaged on its own.

    For i in the batch: ``alpha_i = (1 - rho) alpha_i + rho f_i'(x_i' w)`` with ``rho = (t + 1)^(-2/3)``. The appendix
    leaves out the factor ``1/n``; with it, ``alpha`` means the same here as elsewhere, and since an oracle only
    minds directions the iterates are the same.
    """

    alpha: Any = None

    @property
    def full(self):
        """Whether every step takes the whole gradient."""
        return False

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return CoordinateAverage(_table(setting))

    def refresh(self, samples, iterate, gradient, batch, t):
        """Move the batch's derivatives a part ``rho`` of the way to those at the iterate."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, rho = self.alpha, (t + 1.0) ** (-2.0 / 3.0)
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = rho * (fresh - alpha[i])
            alpha[i] += change
            amend(gradient, rows, i, change)

    def follow(self, samples, move, gradient, batch, t):
        """Nothing left to learn."""


@part
class Momentum(NamedTuple):
    """Mokhtari et al. (2018), the original: ``r = (1 - rho) r + rho mean_{i in batch} f_i'(x_i' w) x_i``.

    ``rho = (t + 1)^(-2/3)``. Fading all of ``r`` is one multiplication: the factor is kept apart.
    """

    @property
    def full(self):
        """Whether every step takes the whole gradient."""
        return False

    def refresh(self, samples, iterate, gradient, batch, t):
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

    def follow(self, samples, move, gradient, batch, t):
        """Nothing left to learn."""


@part
class Substitute(NamedTuple):
    """Lu and Freund (2018): derivatives at an averaged prediction ``sigma_i`` that drifts toward the vertices' own.

    Once the vertex ``s`` is chosen, for i in the batch: ``sigma_i = (1 - delta) sigma_i + delta x_i' s`` with
    ``delta = 2 n_b / (2 n_b + t + 1)``, then ``alpha_i = f_i'(sigma_i) / n``.
    """

    batches: float = 0.0
    alpha: Any = None
    sigma: Any = None

    @property
    def full(self):
        """Whether every step takes the whole gradient."""
        return False

    def for_run(self, setting):
        """Start the averages at the predictions of the starting point."""
        samples, sigma = setting.samples, getattr(setting.previous, "sigma", None)
        sigma = samples.rows.dot_all(setting.w) if sigma is None else sigma.copy()
        return Substitute(float(len(sigma) // setting.batch_size), _table(setting), sigma)

    def refresh(self, samples, iterate, gradient, batch, t):
        """Wait for the vertex."""

    def follow(self, samples, move, gradient, batch, t):
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
