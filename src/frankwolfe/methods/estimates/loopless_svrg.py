"""Loopless SVRG: snapshots by the toss of a coin."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.coin import Coin, checked_share
from frankwolfe.methods.corrections import Correction, amend_once
from frankwolfe.methods.gradient import pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class LooplessSvrg(NamedTuple):
    """L-SVRG (Kovalev et al. 2020): ``r = g_S(w) - g_S(v) + G(v)``, ``v`` the latest snapshot.

    Before every step ``v`` becomes the iterate with a small probability; before the first one always. ``g_S`` is the
    mean gradient of the batch, ``G`` the exact one.

    Parameters
    ----------
    probability : float, optional
        Of a snapshot, in (0, 1]. By default ``b / n``: one in as many steps as make a pass.
    """

    probability: float | None = None

    def _checked(self):
        return self._replace(probability=checked_share("LooplessSvrg", "probability", self.probability))

    @property
    def abilities(self):
        """A table, of derivatives at the snapshot; a correction for the step at hand."""
        return Abilities(has_table=True, exact_table=True, corrects_once=True, takes_snapshots=True)

    def for_run(self, setting):
        """Make room for the snapshot that the first step waits for."""
        coin = Coin.of(setting, self.probability)
        return LooplessSvrgState(setting.table(), Correction.of(setting.samples, setting.batch_size), coin)


class LooplessSvrgState(NamedTuple):
    """Every sample's derivative at the snapshot, what the batch adds to ``r``, and when the next snapshot is due."""

    alpha: np.ndarray
    surplus: Correction
    coin: Coin

    def next_snapshot(self, t):
        """Return the step before which the next snapshot is taken."""
        return self.coin.next_heads(t)

    def renew(self, alpha):
        """Take over the derivatives of all samples at the iterate."""
        self.alpha[:] = alpha
        self.coin.toss()

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """For this step, add the batch's mean gradient less that at the snapshot."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, surplus, share = self.alpha, self.surplus, len(targets) / len(batch)
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend_once(gradient, surplus, rows, i, 0.0, share * (fresh - alpha[i]))
        self.coin.clock[0] = t

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""
