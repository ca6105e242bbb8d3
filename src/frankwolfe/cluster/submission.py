"""`Submission`: tasks that are handed to the scheduler together."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import dask
from dask._task_spec import List, Task, TaskRef
from dask.distributed import Client, Future
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.utils import parse_bytes

LIMIT = "distributed.admin.large-graph-warning-threshold"
"""Setting of Dask: bytes of a message from which on it warns."""


class Submission:
    """Tasks that go to the scheduler in one message.

    After each message a client waits for 10 ms before it sends another: tasks that are sent one by one do not start
    together, and what depends on them starts later still.

    Attributes
    ----------
    room : int
        Bytes that the message may have beyond what Dask takes for many.
    loads : int
        How many parts are loaded by it: it may be so many times as large before Dask warns.
    """

    def __init__(self) -> None:
        self.room = self.loads = 0
        self._layers: dict[str, MaterializedLayer] = {}

    def add(self, key: str, function: Callable[..., Any], *args: Any, **rules: Any) -> TaskRef:
        """Add a task, with what Dask calls annotations: where it may be done, how often it is tried again.

        Returns what stands for its result in the arguments of others.
        """
        self.add_tasks(key, {key: Task(key, function, *args)}, **rules)
        return TaskRef(key)

    def add_tasks(self, name: str, tasks: dict[Any, Any], **rules: Any) -> None:
        """Add tasks that were made elsewhere, under a name for all of them; no matter if they are there."""
        self._layers[name] = MaterializedLayer(tasks, annotations=rules or None)

    def begun(self, client: Client, keys: list[Any]) -> list[Future]:
        """Hand over all tasks; return those whose results are wanted."""
        graph = HighLevelGraph(self._layers, {name: set() for name in self._layers})
        limit = {LIMIT: parse_bytes(dask.config.get(LIMIT)) * max(1, self.loads) + self.room}
        with dask.config.set(limit) if self.room or self.loads > 1 else nullcontext():
            return client.get(graph, keys, sync=False)


def listed(keys: Sequence[Any]) -> List:
    """Return what stands for a list of results in the arguments of a task; None stands for itself."""
    return List(*(None if key is None else TaskRef(key) for key in keys))
