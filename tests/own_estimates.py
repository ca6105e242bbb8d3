"""Gradient estimates that need all that a lifecycle offers, as a user would write them.

`Saga` corrects ``r`` for one step and takes the surplus back. `Sarah` looks at the batch that comes next, and tosses a
coin for its snapshots.
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.corrections import Correction, amend_once, take_back
from frankwolfe.methods.gradient import amend, count_rows
from frankwolfe.methods.lifecycle import Abilities


class Saga(NamedTuple):
    """The paper's table; the oracle sees ``n / b`` times the batch's changes, so that ``r`` is unbiased."""

    abilities = Abilities(has_table=True, exact_table=True)

    def for_run(self, setting):
        return SagaState(setting.table(), Correction.of(setting.samples, setting.batch_size))


class SagaState(NamedTuple):
    """Every sample's latest derivative, and the surplus of the last step."""

    alpha: np.ndarray
    surplus: Correction

    def renew(self, alpha):
        self.alpha[:] = alpha
        self.surplus.clear()

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, surplus, more = self.alpha, self.surplus, len(targets) / len(batch) - 1.0
        take_back(gradient, surplus, rows)
        for i in batch:
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = fresh - alpha[i]
            alpha[i] = fresh
            amend_once(gradient, surplus, rows, i, change, more * change)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        pass


class Sarah(NamedTuple):
    """Beznosikov et al. (2023): the exact gradient with some probability, else ``r`` changes as the batch's does."""

    probability: float = 0.1
    abilities = Abilities(reads_upcoming=True, takes_snapshots=True)

    def for_run(self, setting):
        kept = np.zeros((setting.batch_size, *setting.samples.shape[1:]))
        coin = Opaque.of((setting.generator, self.probability))
        return SarahState(kept, np.array([setting.steps + 1]), np.zeros(1), coin)


class SarahState(NamedTuple):
    """The next batch's derivatives before the step, the step of the next snapshot, and if ``r`` is one now."""

    kept: np.ndarray
    due: np.ndarray
    exact: np.ndarray
    coin: np.ndarray

    def next_snapshot(self, t):
        return self.due[0] if t <= self.due[0] else np.inf

    def renew(self, alpha):
        generator, probability = self.coin.value
        self.exact[0] = 1.0
        self.due[0] += generator.geometric(probability)

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        kept, share = self.kept, len(targets) / len(batch)
        if self.exact[0] == 1.0:
            count_rows(gradient, -len(batch))
        else:
            for k in range(len(batch)):
                fresh = weights[batch[k]] * derivative(loss, prediction(iterate, rows, batch[k]), targets[batch[k]])
                amend(gradient, rows, batch[k], share * (fresh - kept[k]))
        self.exact[0] = 0.0

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        kept = self.kept
        for k in range(len(upcoming)):
            i = upcoming[k]
            kept[k] = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
        count_rows(gradient, len(upcoming))
