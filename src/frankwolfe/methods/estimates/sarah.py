"""SARAH: the gradient estimate changes as the batch's gradient does."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.coin import Coin, checked_share
from frankwolfe.methods.gradient import amend, count_rows, pick
from frankwolfe.methods.lifecycle import Abilities, estimate
from frankwolfe.methods.look_ahead import look_ahead


@estimate
class Sarah(NamedTuple):
    """Beznosikov et al. (2023): the exact gradient with some probability, else ``r += g_S(w_t) - g_S(w_{t-1})``.

    ``g_S`` is the mean gradient of the batch, at both points for the same rows: a step reads ``2 b``.

    Parameters
    ----------
    probability : float, optional
        Of an exact gradient, in (0, 1]; the first step has one always. By default ``b / n``: one in as many steps as
        make a pass. The theory wants both ``b`` and one over the probability of order ``sqrt(n)``.
    """

    probability: float | None = None

    def _checked(self):
        return self._replace(probability=checked_share("Sarah", "probability", self.probability))

    @property
    def abilities(self):
        """Exact gradients now and then; in between it looks at the batch of the next step as well."""
        return Abilities(reads_upcoming=True, takes_snapshots=True)

    def for_run(self, setting):
        """Make room for the derivatives of a batch."""
        kept = np.zeros((setting.batch_size, *setting.samples.shape[1:]))
        return SarahState(kept, np.zeros(1), Coin.of(setting, self.probability))


class SarahState(NamedTuple):
    """The batch's derivatives before the last step, whether ``r`` is exact now, and when it will be next."""

    kept: np.ndarray
    exact: np.ndarray
    coin: Coin

    def next_snapshot(self, t):
        """Return the step before which the next exact gradient is taken."""
        return self.coin.next_heads(t)

    def renew(self, alpha):
        """Note that ``r`` is exact."""
        self.exact[0] = 1.0
        self.coin.toss()

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Add how the batch's mean gradient has changed with the last step, unless ``r`` is exact."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        kept, share = self.kept, len(targets) / len(batch)
        if self.exact[0] == 1.0:
            count_rows(gradient, -len(batch))
        else:
            for k in range(len(batch)):
                i = pick(rows, batch, k)
                fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
                amend(gradient, rows, i, share * (fresh - kept[k]))
        self.exact[0] = 0.0
        self.coin.clock[0] = t

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Look at the next batch before the iterate moves."""
        look_ahead(samples, iterate, gradient, upcoming, self.kept)
