"""A gradient estimate with growing batches and snapshots, as a user would write it."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.corrections import Correction, amend_once
from frankwolfe.methods.lifecycle import Abilities


class Svrf(NamedTuple):
    """Hazan and Luo (2016): the batch's gradient, less that at a snapshot, plus the exact one there.

    Epochs last ``2^(k + 3) - 2`` steps, ``k = 1, 2, ...``; within one, batches have ``growth (k + 1)`` rows.
    """

    growth: float = 96.0
    abilities = Abilities(has_table=True, exact_table=True, grows=True, takes_snapshots=True, corrects_once=True)

    def for_run(self, setting):
        starts = np.cumsum([1, *(2 ** (k + 3) - 2 for k in range(1, 50))])
        return SvrfState(
            setting.table(), Correction.of(setting.samples, len(setting.samples.targets)), starts, self.growth
        )


class SvrfState(NamedTuple):
    """The derivatives at the snapshot, what the batch added to them, and the steps at which epochs start."""

    alpha: np.ndarray
    surplus: Correction
    starts: np.ndarray
    growth: float

    def batch_sizes(self, steps):
        return self.growth * (steps - self.starts[np.searchsorted(self.starts, steps, side="right") - 1] + 2)

    def next_snapshot(self, t):
        return self.starts[np.searchsorted(self.starts, t)]

    def renew(self, alpha):
        self.alpha[:] = alpha

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, surplus, share = self.alpha, self.surplus, len(targets) / len(batch)
        for i in batch:
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend_once(gradient, surplus, rows, i, 0.0, share * (fresh - alpha[i]))

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        pass
