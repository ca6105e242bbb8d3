"""One interface for rows in memory (`Local`), in a store (`DiskShards`) and on a cluster (`cluster.remote_data`).

Code that reads rows, or that needs an entry for each row, is written as *tasks*, plain functions of a `Local`:

    def task(local, *args)

- ``shards.run(task, *args)`` runs a task that returns a tuple, and returns the sums of its entries over all shards.
  With ``keep=k`` the first ``k`` entries stay with the rows, and references to them are returned in their place.
- ``shards.keep(task, *args)`` returns a reference to a result that stays with the rows. A cluster computes the result
  when a task needs it.

References are arguments of later tasks. On each shard the task receives the piece of the result that belongs to the
rows of the shard. On this machine there is one shard, and the reference is the result itself: an array with an entry
for each row. On a cluster it is a `Kept`. (A store calls its files of some megabytes shards, too: those are pieces of
the one shard of this machine.) Three rules make results independent of where rows are and of lost workers:

- A task depends on its arguments only.
- A kept result never changes. It shares no memory with the rows: rows of a store are read into buffers that are reused.
- A task returns new arrays or numbers. Lists are concatenated instead of summed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

Task = Callable[..., Any]


class Shards(Protocol):
    """Interface of the shards of a data set: run tasks on all rows, and keep results with the rows."""

    calls_are_costly: bool
    """Whether each `run` is a network round trip. Solvers then make fewer calls: each call returns more results, and
    quadratic models are used for longer."""

    @property
    def groups(self) -> int:
        """Number of groups of rows that the compiled loop loads into memory in turn.

        One if all rows are in memory, zero if rows are in other processes.
        """

    @property
    def reads(self) -> float | None:
        """Number of times that all rows have been read from disk; None if passes read no disk."""

    @property
    def executor(self) -> Any:
        """The executor that runs the work on blocks of rows in this process; None if rows are in others."""

    def run(
        self, task: Task, *args: Any, keep: int = 0, also: tuple = (), lineage: tuple | None = None
    ) -> tuple[Any, ...]:
        """Run a task on all shards. Return references to the first ``keep`` results, then the sums of the others.

        ``also`` are further arguments, on which kept results do not depend. ``lineage`` is another task, with its
        arguments, that computes the only kept result: for tasks whose arguments depend on many earlier calls. It is
        sent only if a shard has lost the result.
        """
        ...

    def keep(self, task: Task, *args: Any) -> Any:
        """Return a reference to the result of a task, which stays with the rows."""
        ...


class Kept:
    """Reference to a result that stays with the rows of a cluster: the task that computes it, and its arguments.

    It has the shape of the result over all rows. Only workers have its entries, so reshaping returns the same object.
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


def entry(local: Any, found: tuple, k: int) -> Any:
    """Return one of the results of another task."""
    return found[k]


class RemoteRows(NamedTuple):
    """Description of rows on a cluster.

    Attributes
    ----------
    entries : int
        Number of stored entries.
    is_sparse : bool
        Whether rows are sparse.
    outputs : int
        Number of outputs of a prediction; 0 if predictions are scalars.
    means : array or None
        Column means, which are subtracted from dense rows if there is an intercept.
    """

    entries: int
    is_sparse: bool
    outputs: int
    means: np.ndarray | None = None

    def stored(self) -> int:
        """Return the number of stored entries, each counted once for each output."""
        return self.entries * max(1, self.outputs)

    def vectors(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return uninitialised arrays for an iterate and a gradient."""
        return np.empty(d), np.empty(d)

    def mean_prediction(self, w: np.ndarray) -> np.ndarray | float:
        """Return ``means' w``, which centring subtracts from every prediction: a number, or one for each output."""
        if self.means is None:
            return np.zeros(self.outputs) if self.outputs else 0.0
        return self.means @ (w.reshape(-1, self.outputs) if self.outputs else w)


class RemoteSamples(NamedTuple):
    """Description of samples on a cluster, with the attributes of `frankwolfe.rows.samples.Samples` that it can have.

    Attributes
    ----------
    rows : RemoteRows
        Description of the rows.
    n : int
        Number of rows.
    loss : loss
        The loss, with a shift of the predictions if there is an intercept.
    """

    rows: RemoteRows
    n: int
    loss: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all predictions: ``(n,)``, or ``(n, outputs)`` for several outputs."""
        return (self.n, self.rows.outputs) if self.rows.outputs else (self.n,)

    @property
    def targets(self) -> np.ndarray:
        """Raise ValueError: the targets are on the cluster, too."""
        raise ValueError("the targets are on the workers of the cluster, and stay there: keep the y that you passed")
