"""`DaskShards`: rows on the workers of a Dask cluster, as an `Objective` uses them."""

from typing import Any

import numpy as np

from frankwolfe.cluster.calls import Cluster
from frankwolfe.cluster.kept import Call, Handle, Part
from frankwolfe.shards.interface import Task


class DaskShards:
    """Parts of the data on workers; see `frankwolfe.shards.interface.Shards`.

    `keep` makes no call: what it names is computed by the next call whose task needs it. `run` is one call to all
    parts, and their sums are added in order.

    Parameters
    ----------
    cluster : Cluster
        The parts.
    posed : Handle
        The rows of each part as tasks see them.
    shape : tuple of int
        Of all predictions.
    """

    calls_are_costly = True
    groups = 0
    reads = None

    def __init__(self, cluster: Cluster, posed: Handle, shape: tuple[int, ...]):
        self.cluster, self.posed, self.shape = cluster, posed, shape

    def run(
        self, task: Task, *args: Any, keep: int = 0, also: tuple = (), lineage: tuple | None = None
    ) -> tuple[Any, ...]:
        """Run a task on all parts. Return handles to what stays there, then the sums of the other results."""
        if not keep:
            return self.cluster.run(task.__name__, done, Call(self.posed, task, (*args, *also)), ())
        if lineage is None:
            whole = self.keep(task, *args)  # the lineage, without what is only told besides
            args, kept = whole.args, tuple(self.keep(entry, whole, k) for k in range(keep))
        else:
            kept = (self.keep(*lineage),)
            self.cluster.sent.keys.update(one.key for one in kept)  # parts get the result itself
        sums = self.cluster.run(task.__name__, done, Call(self.posed, task, (*args, *also)), kept)
        return *kept, *sums

    def keep(self, task: Task, *args: Any) -> Handle:
        """Return a handle to the result of a task."""
        own = tuple(value.copy() if isinstance(value, np.ndarray) else value for value in args)
        return self.cluster.handle(Call(self.posed, task, own), self.shape)


def done(part: Part, call: Call, kept: tuple[Handle, ...]) -> tuple:
    """Run a task on a part. Keep the first results there and return the others."""
    found = call.make(part)
    for handle, value in zip(kept, found, strict=False):
        part.keep(handle, value)
    return found[len(kept) :]


def entry(local: Any, found: tuple, k: int) -> Any:
    """Return one of the results of another task."""
    return found[k]
