"""Averaged derivatives, each sample's on its own: Mokhtari et al. as the paper's appendix writes it."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.gradient import amend, pick
from frankwolfe.methods.lifecycle import Abilities, estimate


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
        return Abilities(has_table=True, row_arrays=("alpha",))

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
