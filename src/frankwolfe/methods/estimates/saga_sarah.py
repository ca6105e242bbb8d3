"""SAGA and SARAH together: differences of batch gradients, pulled toward the table's estimate."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.twofold import magnitude
from frankwolfe.compile.verbs import derivative, prediction, rebuild, row_add
from frankwolfe.methods.coin import checked_share
from frankwolfe.methods.gradient import TABLE_CHANGE, count_rows, pick
from frankwolfe.methods.lifecycle import Abilities, estimate
from frankwolfe.methods.look_ahead import look_ahead


@estimate
class SagaSarah(NamedTuple):
    """Beznosikov et al. (2023): SARAH's differences, and `Saga`'s table instead of exact gradients.

    ``r = g_S(w_t) - g_S(w_{t-1}) + (1 - l) r + l {(1/b) sum_{i in S} [g_i(w_{t-1}) - y_i] + mean(y)}``, then
    ``y_i = g_i(w_t)`` for i in the batch ``S``. It starts from one exact gradient. A step reads ``2 b`` rows; since
    all of ``r`` moves toward the table's mean, it also takes O(d).

    Parameters
    ----------
    pull : float, optional
        The weight ``l`` of the table's estimate, in (0, 1]. By default ``b / (2 n)``.
    """

    pull: float | None = None

    def _checked(self):
        return self._replace(pull=checked_share("SagaSarah", "pull", self.pull))

    @property
    def abilities(self):
        """A table whose sum is kept beside ``r``; one exact gradient; it looks at the batch of the next step."""
        return Abilities(has_table=True, exact_table=True, sums_table=True, reads_upcoming=True, takes_snapshots=True)

    def for_run(self, setting):
        """Make room for the table, its sum, and the derivatives of a batch."""
        n, b = len(setting.samples.targets), setting.batch_size
        pull = min(1.0, b / (2.0 * n)) if self.pull is None else self.pull
        total, kept = np.zeros(setting.size), np.zeros((b, *setting.samples.shape[1:]))
        return SagaSarahState(setting.table(), total, kept, np.zeros(1), np.array([setting.steps + 1]), pull)


class SagaSarahState(NamedTuple):
    """The table and its sum, the batch's derivatives before the last step, whether ``r`` is exact, the first step."""

    alpha: np.ndarray
    total: np.ndarray
    kept: np.ndarray
    exact: np.ndarray
    first: np.ndarray
    pull: float

    def next_snapshot(self, t):
        """Return the first step of the run; there is no other."""
        return self.first[0] if t <= self.first[0] else np.inf

    def renew(self, alpha):
        """Take over the derivatives of all samples at the iterate."""
        self.alpha[:] = alpha
        self.exact[0] = 1.0

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Add how the batch's mean gradient has changed, and what pulls ``r`` to the table's estimate."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, total, kept, pull, r = self.alpha, self.total, self.kept, self.pull, gradient.r
        share = len(targets) / len(batch)
        if self.exact[0] == 1.0:
            count_rows(gradient, -len(batch))
        else:
            for j in range(len(r)):
                r[j] += pull * (total[j] - r[j])
            for k in range(len(batch)):
                i = pick(rows, batch, k)
                fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
                old, known = kept[k], alpha[i]
                change = share * (fresh - old + pull * (old - known))
                row_add(rows, i, change, r)
                row_add(rows, i, fresh - known, total)
                alpha[i] = fresh
                gradient.counters[TABLE_CHANGE] += magnitude(change)
            rebuild(gradient.tracker, r)
        self.exact[0] = 0.0

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Look at the next batch before the iterate moves."""
        look_ahead(samples, iterate, gradient, upcoming, self.kept)
