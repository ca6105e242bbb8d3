"""Variance reduction with exact gradients now and then: SVRF, STORC, SVFW, loopless SVRG, SARAH and SPIDER.

A *snapshot* is an exact gradient that the solver takes between two steps: at the start of epochs, or at random.
"""

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import Opaque, defaults_from, finite, positive
from frankwolfe.compile.verbs import derivative, magnitude, prediction, rebuild, routine, row_add
from frankwolfe.methods.base import Epochs, epochs_of, estimate, place_in_epoch
from frankwolfe.methods.gradient import (
    TABLE_CHANGE,
    Correction,
    ExactTable,
    add_change,
    correct_by_batch,
    count_rows,
    look_ahead,
    pick,
)


def checked_share(part: str, name: str, number: Any) -> float | None:
    """Return a number in (0, 1] as a float, None as it is; or say which field of which part is no such number."""
    return None if number is None else positive(part, name, number, most=1.0)


class Coin(NamedTuple):
    """A coin that is tossed before every step, for estimates that take the exact gradient at random.

    When heads comes up next is decided ahead, by one draw from the generator of the batches.

    Tosses are independent, so the number of them until heads has a geometric distribution, whenever one begins to
    count.

    Attributes
    ----------
    clock : array of shape (2,)
        The last step made, which the estimate writes down, and the step before which heads comes up.
    source : Opaque
        The generator and the probability.
    """

    clock: np.ndarray
    source: Opaque

    @classmethod
    def of(cls, setting: Any, probability: float | None) -> "Coin":
        """Return a coin that shows heads before the first step; by default it does so once a pass on average."""
        if probability is None:
            probability = min(1.0, setting.batch_size / len(setting.samples.targets))
        return cls(np.array([setting.steps, setting.steps + 1]), Opaque.of((setting.generator, probability)))

    def next_heads(self, t: int) -> float:
        """Return the step of the next heads, from step ``t`` on; far ahead, where none is known yet, as is expected."""
        due, (_, probability) = int(self.clock[1]), self.source.value
        if t <= due:
            return due
        return due + ceil(ceil((t - due) * probability) / probability)

    def toss(self) -> None:
        """Decide when heads comes up next, after the coming step."""
        generator, probability = self.source.value
        self.clock[1] = self.clock[0] + 1 + generator.geometric(probability)


# --- the gradient of a batch, corrected by a snapshot ---------------------------------------------------------------


@defaults_from(ExactTable)
class SnapshotState(NamedTuple):
    """``r = g_S(w) - g_S(v) + G(v)`` with the exact gradient ``G(v)`` at a snapshot ``v``, taken when epochs begin.

    The batch's part holds for one step only. Unbiased, and without error at a fixed point, whatever the table holds:
    a run that takes over another method's need not begin with a snapshot.

    Attributes
    ----------
    alpha : array
        Every sample's weighted derivative at the snapshot.
    surplus : Correction
        What the batch adds to ``X' alpha`` for the current step.
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

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Correct the snapshot's gradient by what the batch's has changed since."""
        k, _ = place_in_epoch(self.epochs.starts, self.epochs.period, t)
        if k == 1 or t == self.first[0]:
            count_rows(gradient, -len(batch))  # r is the exact gradient, taken here
        else:
            correct_by_batch(samples, iterate, gradient, self.alpha, self.surplus, batch)


@estimate(SnapshotState)
class Svrf(NamedTuple):
    """Hazan and Luo (2016): ``r = g_S(w) - g_S(v) + G(v)``, with the exact gradient at the snapshot ``v``.

    Epoch ``e = 1, 2, ...`` lasts ``2^(e + 3) - 2`` steps and begins with a snapshot. Step ``k`` of an epoch reads
    ``b (k + 1)`` rows, at most all; ``b`` is the batch size, and 96 in the paper. An epoch of one step comes first:
    from any start, it leads to the vertex at which the analysis begins. Goes with `EpochStep`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> method = methods.Method(methods.Svrf(), methods.Toward(), methods.EpochStep(),
    ...                         batch_size=1, name="svrf, smaller batches")
    >>> fw.minimize(problem, method, max_passes=20, random_state=0).method
    'svrf, smaller batches'
    """

    def for_run(self, setting):
        """Plan the epochs."""
        lengths = [1, *(2 ** (e + 3) - 2 for e in range(1, 48))]  # the last has 2^50 steps
        unit = [float(setting.batch_size)] * len(lengths)
        return SnapshotState.of(setting, epochs_of(lengths, unit, unit))


@estimate(SnapshotState)
class Storc(NamedTuple):
    """Hazan and Luo (2016), the estimate of STORC: ``r = g_S(z) - g_S(v) + G(v)``, snapshots ``v`` in epochs.

    Epoch ``e = 1, 2, ...`` lasts ``N = ceil(2^(e / 2 + 2))`` steps, with ``N (b + growth (k + 1))`` rows in step ``k``,
    at most all; ``b`` is the batch size. An epoch of one step comes first, as in `Svrf`. Goes with `Sliding`, which
    says where the gradient is wanted, and with `EpochStep`.

    Parameters
    ----------
    growth : float
        By how much batches grow within an epoch. The paper has 0, with ``b = 900``, where the optimum is interior, else
        ``24 G / (L D)`` with ``b = 700``, where ``G`` bounds the size of each sample's gradient. (The constants
        are from memory.)

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["storc"].estimate == methods.Storc()
    True
    """

    growth: float = 0.0

    def _checked(self):
        growth = finite("Storc", "growth", self.growth)
        if growth < 0.0:
            raise ValueError(f"Storc: growth must not be negative, got {growth:g}: batches would shrink")
        return self._replace(growth=growth)

    def for_run(self, setting):
        """Plan the epochs."""
        lengths = [1, *(ceil(2.0 ** (e / 2.0 + 2.0)) for e in range(1, 96))]  # as above
        base = [length * (setting.batch_size + self.growth) for length in lengths]
        return SnapshotState.of(setting, epochs_of(lengths, base, [length * self.growth for length in lengths]))


def cube_root(n: int) -> int:
    """Return ``n^(1/3)``, rounded up."""
    return ceil(round(n ** (1.0 / 3.0), 9))


def cube_root_squared(n: int) -> int:
    """Rows of a batch for data of ``n`` rows, in the paper: ``m^2`` with ``m = ceil(n^(1/3))``; at most all."""
    return min(n, cube_root(n) ** 2)


@estimate(SnapshotState)
class Svfw(NamedTuple):
    """Reddi et al. (2016): ``r = g_S(w) - g_S(v) + G(v)``, with a snapshot ``v`` every ``epoch`` steps.

    In the paper batches have ``m^2`` rows, ``m = ceil(n^(1/3))``, and epochs ``m`` steps: an epoch costs two passes.
    Goes with `ConstantStep`.

    Parameters
    ----------
    epoch : float, optional
        Steps of an epoch; by default ``ceil(n^(1/3))``.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="sigmoid", constraint=fw.L1Ball(1.0))
    >>> method = methods.Method(methods.Svfw(epoch=5), methods.Toward(), methods.ConstantStep(),
    ...                         name="svfw, epochs of 5 steps")
    >>> fw.minimize(problem, method, tol=0, max_passes=20, random_state=0).nit
    33
    """

    epoch: float | None = None

    def _checked(self):
        if self.epoch is None:
            return self
        epoch = positive("Svfw", "epoch", self.epoch)
        if epoch != int(epoch):
            raise ValueError(f"Svfw: epoch must be a whole number of steps, got {epoch:g}")
        return self._replace(epoch=epoch)

    def for_run(self, setting):
        """Plan the epochs: all are alike."""
        n = len(setting.samples.targets)
        length = cube_root(n) if self.epoch is None else int(self.epoch)
        return SnapshotState.of(setting, epochs_of([length], [float(setting.batch_size)], [0.0]))


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
        correct_by_batch(samples, iterate, gradient, self.alpha, self.surplus, batch)
        self.coin.clock[0] = t


@estimate(LooplessSvrgState)
class LooplessSvrg(NamedTuple):
    """L-SVRG (Kovalev et al. 2020): ``r = g_S(w) - g_S(v) + G(v)``, ``v`` the latest snapshot.

    Before every step ``v`` becomes the iterate with a small probability; before the first one always. ``g_S`` is the
    mean gradient of the batch, ``G`` the exact one.

    Parameters
    ----------
    probability : float, optional
        Of a snapshot, in (0, 1]. By default ``b / n``: one in as many steps as make a pass.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["l-svrg"].estimate == methods.LooplessSvrg()
    True
    """

    probability: float | None = None

    def _checked(self):
        return self._replace(probability=checked_share("LooplessSvrg", "probability", self.probability))

    def for_run(self, setting):
        """Make room for the snapshot that the first step waits for."""
        coin = Coin.of(setting, self.probability)
        return LooplessSvrgState(setting.table(), Correction.of(setting.samples, setting.batch_size), coin)


# --- changes of a batch's gradient, added up ------------------------------------------------------------------------


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
            add_change(samples, iterate, gradient, batch, self.kept, 1.0, 1.0)
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

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["sarah"].estimate == methods.Sarah()
    True
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

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["saga-sarah"].estimate == methods.SagaSarah()
    True
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
            add_change(samples, iterate, gradient, batch, self.kept, 1.0, 1.0)

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
