"""Snapshots and batches of constant size, in short epochs: Reddi et al."""

from math import ceil
from typing import NamedTuple

from frankwolfe.compile.part import positive
from frankwolfe.methods.epochs import epochs_of
from frankwolfe.methods.estimates.snapshots import SNAPSHOTS, SnapshotState
from frankwolfe.methods.lifecycle import estimate


def cube_root(n: int) -> int:
    """Return ``n^(1/3)``, rounded up."""
    return ceil(round(n ** (1.0 / 3.0), 9))


def cube_root_squared(n: int) -> int:
    """Rows of a batch for data of ``n`` rows, in the paper: ``m^2`` with ``m = ceil(n^(1/3))``; at most all."""
    return min(n, cube_root(n) ** 2)


@estimate
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
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="sigmoid", constraint=fw.L1Ball(1.0))
    >>> method = fw.Method(fw.Svfw(epoch=5), fw.Toward(), fw.ConstantStep(), name="svfw, epochs of 5 steps")
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

    @property
    def abilities(self):
        """A table, better the more exact it is; snapshots, in epochs, whose first steps look at no batch."""
        return SNAPSHOTS

    def for_run(self, setting):
        """Plan the epochs: all are alike."""
        n = len(setting.samples.targets)
        length = cube_root(n) if self.epoch is None else int(self.epoch)
        return SnapshotState.of(setting, epochs_of([length], [float(setting.batch_size)], [0.0]))
