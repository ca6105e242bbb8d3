"""Differences of gradients, added up from one exact gradient to the next: Yurtsever, Sra and Cevher."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction, routine
from frankwolfe.methods.gradient import amend, count_rows, pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@routine
def takes_exact(first, t):
    """Whether the exact gradient is taken before step ``t``: the first, and after 0, 1, 2, 4, 8, ... steps in all."""
    return (t == first) | ((t - 1) & (t - 2) == 0)


@estimate
class Spider(NamedTuple):
    """SPIDER Frank-Wolfe (Yurtsever et al. 2019): ``r += g_S(w_t) - g_S(w_{t-1})``, the same rows at both points.

    The exact gradient is taken at the steps ``1, 2, 3, 5, 9, 17, ...``, one more than zero and the powers of two, and
    at the first step of every run. Step ``t`` looks at ``b (t + 1)`` rows, at most all; ``b`` is the batch size, and 16
    in the survey of Braun et al. Unbiased only on the whole, from one exact gradient to the next.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> method = fw.Method(fw.Spider(), fw.Toward(), fw.OpenLoop(2.0, 1.0), batch_size=1, name="spider, small batches")
    >>> fw.minimize(problem, method, max_passes=500, random_state=0).success
    True
    """

    @property
    def abilities(self):
        """Growing batches, each looked at before and after a step; snapshots."""
        return Abilities(reads_upcoming=True, grows=True, takes_snapshots=True)

    def for_run(self, setting):
        """Make room for the derivatives of the largest batch."""
        kept = setting.samples.table()
        return SpiderState(kept, np.array([setting.steps + 1]), float(setting.batch_size))


class SpiderState(NamedTuple):
    """The next batch's derivatives before the step, the first step of the run, and the unit that batches grow by."""

    kept: np.ndarray
    first: np.ndarray
    unit: float

    def batch_sizes(self, steps):
        """Rows in the batches of the steps with these numbers: one, unread, where the exact gradient is taken."""
        return np.where(takes_exact(self.first[0], steps), 1.0, self.unit * (steps + 1.0))

    def next_snapshot(self, t):
        """Return the number of the step, ``t`` or later, before which the exact gradient is taken."""
        return t if takes_exact(self.first[0], t) else 1 + 2 ** int(t - 1).bit_length()

    def renew(self, alpha):
        """Nothing to take over: ``r`` is all there is."""

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Add what the step has changed in the batch's gradient."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        kept, share = self.kept, len(targets) / len(batch)
        if takes_exact(self.first[0], t):
            count_rows(gradient, -len(batch))
            return
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend(gradient, rows, i, share * (fresh - kept[k]))

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Look at the next batch before the step, unless the exact gradient will be taken after it."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        kept = self.kept
        if takes_exact(self.first[0], t + 1):
            return
        count_rows(gradient, len(upcoming))
        for k in range(len(upcoming)):
            i = pick(rows, upcoming, k)
            kept[k] = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
