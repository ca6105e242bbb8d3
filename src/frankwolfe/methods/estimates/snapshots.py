"""The state that the variance-reduced estimates with epochs share: derivatives at a snapshot, corrected by batches."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.corrections import Correction, amend_once
from frankwolfe.methods.epochs import Epochs, place_in_epoch
from frankwolfe.methods.gradient import count_rows, pick
from frankwolfe.methods.lifecycle import Abilities

SNAPSHOTS = Abilities(
    has_table=True, exact_table=True, grows=True, takes_snapshots=True, corrects_once=True, has_epochs=True
)
"""What the estimates with this state can do."""


class SnapshotState(NamedTuple):
    """``r = g_S(w) - g_S(v) + G(v)`` with the exact gradient ``G(v)`` at a snapshot ``v``, taken when epochs begin.

    The batch's part holds for one step only. Unbiased, and without error at a fixed point, whatever the table holds:
    a run that takes over another method's need not begin with a snapshot.

    Attributes
    ----------
    alpha : array
        Every sample's weighted derivative at the snapshot.
    surplus : Correction
        What the batch adds to ``X' alpha`` for the step at hand.
    first : array of int, of shape (1,)
        A step before which a snapshot is due wherever it is in its epoch: the first one of a run without a table.
    epochs : Epochs
        When snapshots are due.
    """

    alpha: np.ndarray
    surplus: Correction
    first: np.ndarray
    epochs: Epochs

    @classmethod
    def of(cls, setting, epochs):
        """Return the state at the start of a run."""
        first = 0 if "alpha" in setting.remembered else setting.steps + 1
        room = Correction.of(setting.samples, len(setting.samples.targets))
        return cls(setting.table(), room, np.array([first]), epochs)

    def batch_sizes(self, steps):
        """Rows in the batches of the steps with these numbers."""
        return self.epochs.batch_sizes(steps)

    def next_snapshot(self, t):
        """Return the number of the step, ``t`` or later, before which the exact gradient is taken."""
        return t if t == self.first[0] else self.epochs.next_start(t)

    def renew(self, alpha):
        """Take over the derivatives of all samples at the iterate."""
        self.alpha[:] = alpha

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Correct the snapshot's gradient by what the batch's has changed since."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, surplus, share = self.alpha, self.surplus, len(targets) / len(batch)
        k, _ = place_in_epoch(self.epochs.starts, self.epochs.period, t)
        if k == 1 or t == self.first[0]:
            count_rows(gradient, -len(batch))  # r is the exact gradient, taken here
            return
        for at in range(len(batch)):
            i = pick(rows, batch, at)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = share * (fresh - alpha[i])
            amend_once(gradient, surplus, rows, i, 0.0 * change, change)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""
