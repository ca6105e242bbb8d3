"""`RemoteData`: a data set on a cluster, the ``X`` of a problem and its `DataSource`; `DaskShards` runs its tasks."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.cluster.calls import Cluster
from frankwolfe.cluster.dask_source import DaskSource, RemoteSamples
from frankwolfe.cluster.kept import Call, Handle, Part, arrays_of, local_rows
from frankwolfe.cluster.loading import chunks_of, client_at_hand
from frankwolfe.rows.dense import Centred
from frankwolfe.shards.local import Shards, Task, entry
from frankwolfe.shards.sources import digest


def first_row(part: Part) -> np.ndarray:
    """Return the first row of a dense part."""
    values: np.ndarray = part.chunks[0].matrix[0]
    return values.astype(np.float64)


def sum_less(part: Part, first: np.ndarray) -> tuple:
    """Return ``sum_i weight_i (x_i - first)`` over the rows of a dense part, and the sum of the weights."""
    found = np.zeros(len(first))
    for chunk in part.chunks:
        found += Centred(chunk.matrix, first).add_all(chunk.weights, len(first))
    return found, sum(float(chunk.weights.sum()) for chunk in part.chunks)


def some_rows(part: Part, every: int) -> Any:
    """Return every ``every``-th row of each chunk of a part, as an array or a CSR array."""
    found = [chunk.matrix[::every] for chunk in part.chunks]
    if isinstance(found[0], np.ndarray):
        return np.concatenate(found)
    return sparse.vstack(found, format="csr")


def facts(part: Part) -> dict[str, Any]:
    """Return the facts about a part that the client needs to validate the data and to describe the problem."""
    chunks = part.chunks
    return {
        "rows": sum(len(chunk.weights) for chunk in chunks),
        "weight": float(sum(chunk.weights.sum() for chunk in chunks)),
        "largest_target": max((float(chunk.targets.real.max()) for chunk in chunks), default=0.0),
        "target_columns": {chunk.targets.shape[1] if chunk.targets.ndim > 1 else 0 for chunk in chunks},
        "entries": sum(arrays_of(chunk.matrix)[0].size for chunk in chunks),
        "layouts": {isinstance(chunk.matrix, np.ndarray) for chunk in chunks},
        "types": {str(chunk.matrix.dtype) for chunk in chunks},
        "fingerprints": [chunk.fingerprint for chunk in chunks],
        "digest": part.digest,
        "bytes": sum(chunk.bytes for chunk in chunks),
    }


class DaskShards:
    """Parts of the data on workers; see `frankwolfe.shards.local.Shards`.

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
        kept: tuple[Handle, ...] = ()
        if lineage is not None:
            kept = (self.keep(*lineage),)
            self.cluster.sent.keys.update(one.key for one in kept)  # this call stores the result: send no recipe
        elif keep:
            whole = self.keep(task, *args)  # without ``also``, on which kept results do not depend
            args, kept = whole.args, tuple(self.keep(entry, whole, k) for k in range(keep))
        return *kept, *self.cluster.sums(Call(task, (*args, *also), self.posed), kept)

    def keep(self, task: Task, *args: Any) -> Handle:
        """Return a handle to the result of a task."""
        own = tuple(value.copy() if isinstance(value, np.ndarray) else value for value in args)
        return self.cluster.handle(Call(task, own, self.posed), self.shape)


@dataclass(eq=False)
class RemoteData(DaskSource):
    """Rows on a cluster, loaded and checked.

    Attributes
    ----------
    cluster : Cluster
        The parts of the data on the workers.
    shape : tuple of int
        Numbers of rows and columns.
    dtype : dtype
        Type of the values.
    nnz : int
        Number of stored entries.
    is_sparse : bool
        Whether rows are sparse.
    weight : float
        Sum of the weights of all rows.
    bytes : int
        Size in the workers' memory.
    fingerprint : str
        Hash of a sample of all chunks, which identifies the data.
    largest_target : float
        The largest target: for classes, the index of the last class.
    target_columns : int
        Number of columns of the targets; 0 if targets are a vector.
    """

    cluster: Cluster = field(repr=False)
    shape: tuple[int, int]
    dtype: np.dtype
    nnz: int
    is_sparse: bool
    weight: float
    bytes: int
    fingerprint: str
    largest_target: float
    target_columns: int
    _shards: DaskShards | None = field(default=None, init=False, repr=False)

    @property
    def X(self) -> "RemoteData":
        """The data as `Problem.X` shows it."""
        return self

    @classmethod
    def of(cls, X: TableLike, y: TargetValues, sample_weight: RowNumbers, loss: Loss) -> "RemoteData":
        """Load the chunks of a dask collection, one part on each worker, and validate them there."""
        chunks = chunks_of(X, y, sample_weight, loss)
        cluster = Cluster(client_at_hand(), chunks)
        answers = cluster.each(facts)
        found = [answer for answer in answers if answer["rows"]]
        if not found:
            raise ValueError("X is empty: none of its chunks has a row")
        cluster.drop_empty(answers)
        rows = sum(answer["rows"] for answer in found)
        layouts = set().union(*(answer["layouts"] for answer in found))
        if len(layouts) > 1:
            raise TypeError("X has dense chunks and sparse ones: make them alike, e.g. with X.map_blocks(csr_array)")
        widths = set().union(*(answer["target_columns"] for answer in found))
        if len(widths) > 1:
            raise ValueError(f"y has {' and '.join(map(str, sorted(widths)))} columns in different chunks")
        weight = sum(answer["weight"] for answer in found)
        if not 0.0 < weight < np.inf:
            raise ValueError(f"sample_weight must have a positive, finite sum, got {weight:g}")
        digests = sorted(digest for answer in found for digest in answer["fingerprints"])
        types = set().union(*(answer["types"] for answer in found))
        return cls(
            cluster,
            (rows, chunks.columns),
            np.dtype("float64" if "float64" in types else "float32"),
            sum(answer["entries"] for answer in found),
            not layouts.pop(),
            weight,
            sum(answer["bytes"] for answer in found),
            digest(tuple(digests)),
            max(answer["largest_target"] for answer in found),
            widths.pop(),
        )

    def witness(self) -> np.ndarray:
        """Return a target from which a loss infers its number of outputs: a row of zeros, or the largest target."""
        return np.zeros((1, self.target_columns)) if self.target_columns else np.array([self.largest_target])

    def shards(self, samples: RemoteSamples, size: int, executor: Any = None) -> Shards:
        """Return what runs tasks on the workers: one object for all runs, which finds what earlier ones left there."""
        if self._shards is None:
            given = (samples.loss, samples.rows.outputs, size, self.weight, samples.rows.means)
            self._shards = DaskShards(self.cluster, self.cluster.handle(Call(local_rows, given)), samples.shape)
        return self._shards

    @property
    def in_reach(self) -> bool:
        """Whether the client is connected to the cluster."""
        return self.cluster.client.status == "running"

    @property
    def pieces(self) -> int:
        """Number of parts, one for each worker."""
        return len(self.cluster.parts)

    def some_rows(self, count: int) -> Any:
        """Return about ``count`` evenly spaced rows, or all if there are fewer, as an array or a CSR array."""
        found = self.cluster.each(some_rows, -(-self.shape[0] // count))
        return sparse.vstack(found, format="csr") if self.is_sparse else np.concatenate(found)

    head = some_rows  # the first rows are no nearer than others

    def matrix(self) -> Any:
        """Raise ValueError."""
        raise ValueError("this needs all rows in memory, and they are on the workers of a cluster")

    def identity(self, samples: Any) -> dict[str, Any]:
        """Return a hash of the rows, the targets and the weights, which the workers have computed."""
        return {"data": self.fingerprint}

    def summary(self) -> list[tuple[str, str]]:
        """Return the number of workers, and the size of the rows."""
        workers = self.pieces
        return [("cluster", f"{workers} worker{'s' * (workers > 1)} with rows, {self.bytes:,} bytes")]

    def means(self) -> np.ndarray:
        """Return the weighted column means.

        They are ``first + sum_i weight_i (x_i - first) / sum_i weight_i`` with the first row of the data. The mean of a
        constant column is therefore exact, without rounding.
        """
        first = self.cluster.each(first_row)[0]
        total, weight = self.cluster.run(sum_less, first)
        return first + total / weight
