"""Variance reduction with snapshots: SVRF, STORC, SVFW and loopless SVRG."""

from math import ceil
from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import finite, lent, positive
from frankwolfe.methods.base import estimate
from frankwolfe.methods.gradient import Correction, ExactTable, correct_by_batch, count_rows
from frankwolfe.methods.snapshots import Coin, Epochs, checked_share, epochs_of, place_in_epoch


@lent(ExactTable)
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
    """

    probability: float | None = None

    def _checked(self):
        return self._replace(probability=checked_share("LooplessSvrg", "probability", self.probability))

    def for_run(self, setting):
        """Make room for the snapshot that the first step waits for."""
        coin = Coin.of(setting, self.probability)
        return LooplessSvrgState(setting.table(), Correction.of(setting.samples, setting.batch_size), coin)
