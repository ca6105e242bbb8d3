"""One interface for rows on this machine (`Local`, in memory or in a store) and on a cluster (`DaskShards`).

Code that reads rows, or that needs an entry for each row, is written as *tasks*, plain functions of a `Local`:

    def task(local, *args)

- ``shards.run(task, *args)`` runs a task that returns a tuple, and returns the sums of its entries over all shards.
  With ``keep=k`` the first ``k`` entries stay with the rows, and what stands for them is returned in their place.
- ``shards.keep(task, *args)`` names a result that stays with the rows. A cluster computes it when a task needs it.

What stays is passed to later tasks by name: each of them receives the piece that belongs to its own rows. On this
machine there is one shard, and what stays is the result itself: an array with an entry for each row. On a cluster it is
a `Kept`. Three rules make answers independent of where rows are, and of workers that are lost:

- A task depends on its arguments only.
- What stays never changes, and shares no memory with the rows: rows of a store are read into buffers that are reused.
- A task returns new arrays or numbers. Lists are concatenated instead of summed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

Task = Callable[..., Any]


class Shards(Protocol):
    """Where the rows are."""

    calls_are_costly: bool
    """Whether each `run` is a round trip: then tasks return more at a time, and models are used longer."""

    groups: int
    """In how many groups rows can be joined in memory for the compiled loop: one if all of them are in memory, zero if
    they are in other processes."""

    def run(
        self, task: Task, *args: Any, keep: int = 0, also: tuple = (), lineage: tuple | None = None
    ) -> tuple[Any, ...]:
        """Run a task on all shards. Return what stands for the results that stay, then the sums of the others.

        ``also`` are further arguments, on which results that stay do not depend. ``lineage`` is another task, with its
        arguments, that computes the one result that stays: for tasks whose arguments depend on many calls before them.
        It is sent only if a shard has lost the result.
        """
        ...

    def keep(self, task: Task, *args: Any) -> Any:
        """Return what stands for the result of a task, which stays with the rows."""
        ...


class Kept:
    """A result that stays with the rows of a cluster: a name, the task that computes it, and its arguments.

    As a vector it has a shape. Only workers know its entries, so other shapes of it have the same name.
    """

    shape: tuple[int, ...] = ()
    task: Task | None = None
    args: tuple = ()

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def reshape(self, *shape: Any) -> "Kept":
        """Return itself."""
        return self

    def ravel(self) -> "Kept":
        """Return itself."""
        return self

    def copy(self) -> "Kept":
        """Return itself: it never changes."""
        return self


class RemoteRows(NamedTuple):
    """What is known of rows on a cluster.

    Attributes
    ----------
    entries : int
        Stored entries.
    is_sparse : bool
        Whether only some entries are stored.
    outputs : int
        Number of entries of a prediction; 0 where it is a number.
    means : array or None
        What is taken off the columns of dense rows, where there is an intercept.
    """

    entries: int
    is_sparse: bool
    outputs: int
    means: np.ndarray | None = None

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.entries * max(1, self.outputs)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for an iterate and a gradient."""
        return np.empty(d), np.empty(d)

    def mean_prediction(self, w: np.ndarray) -> np.ndarray | float:
        """Return what centring has taken from all predictions: a number, or one for each output."""
        if self.means is None:
            return np.zeros(self.outputs) if self.outputs else 0.0
        return self.means @ (w.reshape(-1, self.outputs) if self.outputs else w)


class RemoteSamples(NamedTuple):
    """What stands for `frankwolfe.rows.samples.Samples` where rows are on a cluster: what is known of them.

    Attributes
    ----------
    rows : RemoteRows
        What is known of the rows.
    n : int
        How many there are.
    loss : loss
        With a shift, where there is an intercept.
    """

    rows: RemoteRows
    n: int
    loss: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: a number a sample, or a row for several outputs."""
        return (self.n, self.rows.outputs) if self.rows.outputs else (self.n,)

    @property
    def targets(self) -> np.ndarray:
        """Raise ValueError: the targets are on the cluster too."""
        raise ValueError("the targets are on the workers of the cluster, and stay there: keep the y that you passed")
