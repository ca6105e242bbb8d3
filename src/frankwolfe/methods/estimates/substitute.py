"""Derivatives at averaged predictions: Lu and Freund."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, target_prediction
from frankwolfe.methods.gradient import amend, pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class Substitute(NamedTuple):
    """Lu and Freund (2018): derivatives at an averaged prediction ``sigma_i`` that drifts toward the vertices' own.

    Once the vertex ``s`` is chosen, for i in the batch: ``sigma_i = (1 - delta) sigma_i + delta x_i' s`` with
    ``delta = 2 n_b / (2 n_b + t + 1)``, then ``alpha_i = f_i'(sigma_i) / n``.
    """

    @property
    def abilities(self):
        """A table, of derivatives at the averaged predictions."""
        return Abilities(has_table=True, row_arrays=("alpha", "sigma"))

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
