"""SAGA with a second batch: Reddi et al."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.corrections import Correction, amend_later, amend_once
from frankwolfe.methods.gradient import pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class SagaTwoBatches(NamedTuple):
    """Reddi et al. (2016): `Saga`'s estimate, but another batch, independent of the first, refreshes the table.

    ``r = (1/b) sum_{i in S} [g_i(w) - y_i] + mean(y)``, then ``y_i = g_i(w)`` for i in the second batch. A step reads
    ``2 b`` rows. Given the past, the table then does not depend on the batch that chose the vertex.
    """

    @property
    def abilities(self):
        """A table, better the more exact it is; a correction for the step at hand; two batches a step."""
        return Abilities(has_table=True, exact_table=True, corrects_once=True, two_batches=True)

    def for_run(self, setting):
        """Start from the table of the run that is continued, else from zeros."""
        return SagaTwoBatchesState(setting.table(), Correction.of(setting.samples, 2 * setting.batch_size))


class SagaTwoBatchesState(NamedTuple):
    """Every sample's latest derivative, and what the two batches of the step at hand add to ``r`` now and later."""

    alpha: np.ndarray
    surplus: Correction

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Correct ``r`` by the first half of the rows; remember the derivatives of the second, for later steps."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, surplus, half = self.alpha, self.surplus, len(batch) // 2
        share = len(targets) / half
        for k in range(half):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend_once(gradient, surplus, rows, i, 0.0, share * (fresh - alpha[i]))
        for k in range(half, len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = fresh - alpha[i]
            alpha[i] = fresh
            amend_later(gradient, surplus, i, change)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""

    def renew(self, alpha):
        """Take over the derivatives of all samples at the iterate."""
        self.alpha[:] = alpha
