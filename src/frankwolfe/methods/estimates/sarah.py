"""Differences of batch gradients: SARAH, SAGA-SARAH and SPIDER."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, magnitude, prediction, rebuild, routine, row_add
from frankwolfe.methods.base import estimate
from frankwolfe.methods.gradient import TABLE_CHANGE, add_change, count_rows, look_ahead, pick
from frankwolfe.methods.snapshots import Coin, checked_share


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
        if self.exact[0] == 1.0:
            count_rows(gradient, -len(batch))
        else:
            add_change(samples, iterate, gradient, batch, self.kept)
        self.exact[0] = 0.0
        self.coin.clock[0] = t

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Look at the next batch before the iterate moves."""
        look_ahead(samples, iterate, gradient, upcoming, self.kept)


@estimate(SarahState, reads_upcoming=True)
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

    def for_run(self, setting):
        """Make room for the derivatives of a batch."""
        kept = np.zeros((setting.batch_size, *setting.samples.shape[1:]))
        return SarahState(kept, np.zeros(1), Coin.of(setting, self.probability))


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


@estimate(SagaSarahState, reads_upcoming=True)
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

    def for_run(self, setting):
        """Make room for the table, its sum, and the derivatives of a batch."""
        n, b = len(setting.samples.targets), setting.batch_size
        pull = min(1.0, b / (2.0 * n)) if self.pull is None else self.pull
        total, kept = np.zeros(setting.size), np.zeros((b, *setting.samples.shape[1:]))
        return SagaSarahState(setting.table(), total, kept, np.zeros(1), np.array([setting.steps + 1]), pull)


@routine
def takes_exact(first, t):
    """Whether the exact gradient is taken before step ``t``: the first, and after 0, 1, 2, 4, 8, ... steps in all."""
    return (t == first) | ((t - 1) & (t - 2) == 0)


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
        if takes_exact(self.first[0], t):
            count_rows(gradient, -len(batch))
        else:
            add_change(samples, iterate, gradient, batch, self.kept)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Look at the next batch before the step, unless the exact gradient will be taken after it."""
        if not takes_exact(self.first[0], t + 1):
            look_ahead(samples, iterate, gradient, upcoming, self.kept)


@estimate(SpiderState, reads_upcoming=True)
class Spider(NamedTuple):
    """SPIDER Frank-Wolfe (Yurtsever et al. 2019): ``r += g_S(w_t) - g_S(w_{t-1})``, the same rows at both points.

    The exact gradient is taken at the steps ``1, 2, 3, 5, 9, 17, ...``, one more than zero and the powers of two, and
    at the first step of every run. Step ``t`` reads ``b (t + 1)`` rows, at most all; ``b`` is the batch size, and 16
    in the survey of Braun et al. Unbiased only on the whole, from one exact gradient to the next.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> method = methods.Method(methods.Spider(), methods.Toward(), methods.OpenLoop(2.0, 1.0),
    ...                         batch_size=1, name="spider, small batches")
    >>> fw.minimize(problem, method, max_passes=500, random_state=0).success
    True
    """

    def for_run(self, setting):
        """Make room for the derivatives of the largest batch."""
        kept = setting.samples.table()
        return SpiderState(kept, np.array([setting.steps + 1]), float(setting.batch_size))
