"""SAGA: the table of latest derivatives, made unbiased."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.corrections import Correction, amend_once
from frankwolfe.methods.gradient import pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class Saga(NamedTuple):
    """SAGA (Defazio et al. 2014): ``r = (1/b) sum_{i in batch} [g_i(w) - y_i] + mean(y)``, then ``y_i = g_i(w)``.

    The table of `SagTable`, but the oracle sees ``n / b`` times the batch's changes, so that ``r`` is unbiased. The
    surplus holds for one step.
    """

    @property
    def abilities(self):
        """A table, better the more exact it is; a surplus for the step at hand."""
        return Abilities(has_table=True, exact_table=True, corrects_once=True)

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return SagaState(setting.table(), Correction.of(setting.samples, setting.batch_size))


class SagaState(NamedTuple):
    """Every sample's latest derivative, and the surplus of the step at hand."""

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

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""

    def renew(self, alpha):
        """Take over the derivatives of all samples at the iterate."""
        self.alpha[:] = alpha
