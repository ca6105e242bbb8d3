"""The paper's estimate: a table of every sample's latest derivative."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.gradient import amend, pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class SagTable(NamedTuple):
    """The paper's estimate (Algorithm 1): every sample's latest derivative is remembered and the sum kept up to date.

    For i in the batch: ``alpha_i = f_i'(x_i' w) / n``; ``r`` changes by what ``alpha`` changed.
    """

    @property
    def abilities(self):
        """A table, better the more exact it is; what a step changes in it samples its error."""
        return Abilities(has_table=True, exact_table=True, samples_error=True, row_arrays=("alpha",))

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
