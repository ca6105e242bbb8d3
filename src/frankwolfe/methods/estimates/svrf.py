"""Snapshots and growing batches, in epochs that double: Hazan and Luo."""

from typing import NamedTuple

from frankwolfe.methods.epochs import epochs_of
from frankwolfe.methods.estimates.snapshots import SNAPSHOTS, SnapshotState
from frankwolfe.methods.lifecycle import estimate

EPOCHS = 48
"""More epochs than a run will see: the last has 2^50 steps."""


@estimate
class Svrf(NamedTuple):
    """Hazan and Luo (2016): ``r = g_S(w) - g_S(v) + G(v)``, with the exact gradient at the snapshot ``v``.

    Epoch ``e = 1, 2, ...`` lasts ``2^(e + 3) - 2`` steps and begins with a snapshot. Step ``k`` of an epoch looks at
    ``b (k + 1)`` rows, at most all; ``b`` is the batch size, and 96 in the paper. An epoch of one step comes first:
    from any start, it leads to the vertex at which the analysis begins. Goes with `EpochStep`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> method = fw.Method(fw.Svrf(), fw.Toward(), fw.EpochStep(), batch_size=1, name="svrf, smaller batches")
    >>> fw.minimize(problem, method, max_passes=20, random_state=0).method
    'svrf, smaller batches'
    """

    @property
    def abilities(self):
        """A table, better the more exact it is; growing batches; snapshots, in epochs."""
        return SNAPSHOTS

    def for_run(self, setting):
        """Plan the epochs."""
        lengths = [1, *(2 ** (e + 3) - 2 for e in range(1, EPOCHS))]
        unit = [float(setting.batch_size)] * EPOCHS
        return SnapshotState.of(setting, epochs_of(lengths, unit, unit))
