"""Snapshots and batches that grow from epoch to epoch, for momentum: Hazan and Luo."""

from math import ceil
from typing import NamedTuple

from frankwolfe.compile.part import finite
from frankwolfe.methods.epochs import epochs_of
from frankwolfe.methods.estimates.snapshots import SNAPSHOTS, SnapshotState
from frankwolfe.methods.lifecycle import estimate

EPOCHS = 96
"""More epochs than a run will see: the last has 2^50 steps."""


@estimate
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

    @property
    def abilities(self):
        """A table, better the more exact it is; growing batches; snapshots, in epochs."""
        return SNAPSHOTS

    def for_run(self, setting):
        """Plan the epochs."""
        lengths = [1, *(ceil(2.0 ** (e / 2.0 + 2.0)) for e in range(1, EPOCHS))]
        base = [length * (setting.batch_size + self.growth) for length in lengths]
        return SnapshotState.of(setting, epochs_of(lengths, base, [length * self.growth for length in lengths]))
