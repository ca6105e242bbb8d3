"""`DaskShards`: the `Shards` interface for rows on the workers of a Dask cluster."""

from typing import Any

import numpy as np

from frankwolfe.cluster.calls import Cluster
from frankwolfe.cluster.kept import Call, Handle, Part
from frankwolfe.shards.interface import Task


class DaskShards:
    """Parts of the data on workers; see `frankwolfe.shards.interface.Shards`.

    `keep` makes no call: the first call whose task needs the result computes it. `run` is one call to all parts, and
    sums their results in the order of parts.

    Parameters
    ----------
    cluster : Cluster
        The parts of the data.
    posed : Handle
        Handle to the `Local` of each part: its rows, targets, weights and loss.
    shape : tuple of int
        Shape of the predictions of all rows.
    """

    calls_are_costly = True
    groups = 0
    reads = executor = None

    def __init__(self, cluster: Cluster, posed: Handle, shape: tuple[int, ...]):
        self.cluster, self.posed, self.shape = cluster, posed, shape

    def run(
        self, task: Task, *args: Any, keep: int = 0, also: tuple = (), lineage: tuple | None = None
    ) -> tuple[Any, ...]:
        """Run a task on all parts. Return handles to the first ``keep`` results, then the sums of the other results."""
        if not keep:
            return self.cluster.run(task.__name__, done, Call(self.posed, task, (*args, *also)), ())
        if lineage is None:
            whole = self.keep(task, *args)  # without ``also``, on which kept results do not depend
            args, kept = whole.args, tuple(self.keep(entry, whole, k) for k in range(keep))
        else:
            kept = (self.keep(*lineage),)
            self.cluster.sent.keys.update(one.key for one in kept)  # this call stores the result: send no recipe
        sums = self.cluster.run(task.__name__, done, Call(self.posed, task, (*args, *also)), kept)
        return *kept, *sums

    def keep(self, task: Task, *args: Any) -> Handle:
        """Return a handle to the result of a task."""
        own = tuple(value.copy() if isinstance(value, np.ndarray) else value for value in args)
        return self.cluster.handle(Call(self.posed, task, own), self.shape)


def done(part: Part, call: Call, kept: tuple[Handle, ...]) -> tuple:
    """Run a task on a part. Store the first results there, under the handles ``kept``, and return the others."""
    found = call.make(part)
    for handle, value in zip(kept, found, strict=False):
        part.keep(handle, value)
    return found[len(kept) :]


def entry(local: Any, found: tuple, k: int) -> Any:
    """Return entry ``k`` of the results of another task."""
    return found[k]
