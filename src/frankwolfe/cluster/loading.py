"""Load the chunks of dask collections as parts of the data, one on each worker."""

import atexit
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from itertools import chain
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np
from dask._task_spec import convert_legacy_graph  # private: tried on Dask 2026.8.0
from dask.delayed import Delayed
from dask.distributed import Client, Future, LocalCluster, default_client, futures_of
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.optimization import cull
from dask.task_spec import List, Task, TaskRef
from dask.utils import parse_bytes
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_raw_weights, as_targets
from frankwolfe.arguments.types import Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.cluster.connection import Connection, PlacedPart
from frankwolfe.cluster.kept import Chunk, Part
from frankwolfe.exceptions import ClusterError
from frankwolfe.linalg.threads import available_cores
from frankwolfe.losses import as_loss
from frankwolfe.shards.sources import digest


def renamed(chunks: Sequence[Delayed], prefix: str) -> list[Delayed]:
    """Return copies of chunks whose tasks have the same functions and other keys.

    Dask identifies tasks by their keys. Two problems with the same data would share tasks, and the workers assigned to
    them. If these workers were lost, tasks of one problem might never run because those of the other still wait.

    Parameters
    ----------
    chunks : sequence of Delayed
        Chunks of one or several graphs, not persisted.
    prefix : str
        Prefix of the new keys.

    Examples
    --------
    >>> import dask
    >>> chunk = dask.delayed(abs)(-2, dask_key_name="abs-1")
    >>> mine, = renamed([chunk], "mine")
    >>> mine.key, mine.compute(scheduler="sync")
    ('mine-abs-1', 2)
    """
    nodes = convert_legacy_graph(graph_of(chunks))
    names = {key: (f"{prefix}-{key[0]}", *key[1:]) if isinstance(key, tuple) else f"{prefix}-{key}" for key in nodes}
    own: Mapping[Any, Any] = {names[key]: node.substitute(names, key=names[key]) for key, node in nodes.items()}
    layers = HighLevelGraph({prefix: own}, {prefix: set()})
    return [Delayed(names[chunk.key], layers, layer=prefix) for chunk in chunks]


def graph_of(chunks: Iterable[Delayed]) -> dict[Any, Any]:
    """Return the merged task graph of chunks."""
    graphs = {id(graph): graph for graph in (chunk.__dask_graph__() for chunk in chunks)}  # most chunks share one graph
    found: dict[Any, Any] = {}
    for graph in graphs.values():
        found.update(graph)
    return found


LIMIT = "distributed.admin.large-graph-warning-threshold"
"""Dask setting: size of a graph, in bytes, above which Dask warns."""


class Submission:
    """Tasks that are sent to the scheduler in one message.

    A client waits 10 ms between two messages. Tasks sent one by one would start at different times, and their dependent
    tasks even later.

    Attributes
    ----------
    room : int
        Bytes by which the message may exceed Dask's warning threshold.
    loads : int
        Number of parts that the tasks load. The warning threshold is multiplied by it.
    """

    def __init__(self) -> None:
        self.room = self.loads = 0
        self._layers: dict[str, MaterializedLayer] = {}

    def add(self, key: str, function: Callable[..., Any], *args: Any, **rules: Any) -> TaskRef:
        """Add a task, with Dask annotations such as the allowed workers and the number of retries.

        Return a reference to its result, for the arguments of other tasks.
        """
        self.add_tasks(key, {key: Task(key, function, *args)}, **rules)
        return TaskRef(key)

    def add_tasks(self, name: str, tasks: dict[Any, Any], **rules: Any) -> None:
        """Add existing tasks as a named layer of the graph. Tasks that were added before may be added again."""
        self._layers[name] = MaterializedLayer(tasks, annotations=rules or None)

    def submit(self, client: Client, keys: list[Any]) -> list[Future]:
        """Submit all tasks and return the futures of some keys."""
        graph = HighLevelGraph(self._layers, {name: set() for name in self._layers})
        limit = {LIMIT: parse_bytes(dask.config.get(LIMIT)) * max(1, self.loads) + self.room}
        with dask.config.set(limit) if self.room or self.loads > 1 else nullcontext():
            return client.get(graph, keys, sync=False)


def listed(keys: Sequence[Any]) -> List:
    """Return a list of references to results, for the arguments of a task. None is passed as None."""
    return List(*(None if key is None else TaskRef(key) for key in keys))


class Chunks(NamedTuple):
    """Chunks of a data set, before loading.

    Attributes
    ----------
    rows, targets : list of Delayed
        The rows and the targets of each chunk.
    weights : list of Delayed or None
        The sample weights of each chunk, if there are any.
    columns : int
        Number of columns.
    loss : loss
        Loss that validates the targets.
    """

    rows: list[Any]
    targets: list[Any]
    weights: list[Any] | None
    columns: int
    loss: Loss

    def all(self) -> list[Any]:
        """Return the delayed chunks of rows, targets and weights in one list."""
        return [*self.rows, *self.targets, *(self.weights or ())]

    def own(self) -> "Chunks":
        """Return the same chunks with unique task keys, see `renamed`."""
        found = iter(renamed(self.all(), f"frankwolfe-{uuid4().hex[:8]}"))
        rows, targets = [next(found) for _ in self.rows], [next(found) for _ in self.targets]
        return self._replace(rows=rows, targets=targets, weights=self.weights and [*found])


class Loader:
    """Groups chunks into parts, one for each worker, and adds the tasks that load a part or reload a lost one.

    If chunks are persisted, a part consists of the chunks in the memory of its worker; else of consecutive chunks.

    Parameters
    ----------
    chunks : Chunks
        All chunks of the data.
    connection : Connection
        Connection to the scheduler.
    """

    def __init__(self, chunks: Chunks, connection: Connection):
        graph = graph_of(chunks.all())
        self._persisted = futures_of(graph)
        if not self._persisted:
            chunks = chunks.own()
            graph = graph_of(chunks.all())
        self.chunks, self.connection, self._tasks = chunks, connection, convert_legacy_graph(graph)

    def plan(self) -> list[PlacedPart]:
        """Group the chunks into parts, with the workers that will load them."""
        homes = self._homes()
        workers = self.connection.workers() if None in homes else []
        groups, addresses = grouped(homes, workers or [None] * 8)  # the cluster may have no workers yet
        return [PlacedPart(number, *facts) for number, facts in enumerate(zip(groups, addresses, strict=True))]

    def add(self, part: PlacedPart, submission: Submission) -> str:
        """Add the tasks that load a part to a submission. Return the key of the task that returns the part."""
        rows, targets, weights, columns, loss = self.chunks
        keys = [[None if source is None else source[k].key for k in part.chunks] for source in (rows, targets, weights)]
        rules: dict[str, Any] = {"retries": 2}  # network file systems fail temporarily
        if part.home is not None and not self._persisted:  # Dask runs tasks where persisted chunks are
            rules |= {"workers": [part.home], "allow_other_workers": True}
        name = f"frankwolfe-load-{uuid4().hex[:8]}-{part.number}"
        chunks, _ = cull(self._tasks, [key for key in chain(*keys) if key in self._tasks])  # persisted ones are not
        submission.add_tasks(f"{name}-chunks", chunks, **rules)
        submission.add(name, load_part, part.number, part.chunks, *map(listed, keys), columns, loss, **rules)
        submission.loads += 1
        return name

    def check_persisted(self) -> None:
        """Raise `ClusterError` if persisted chunks were lost, because they cannot be loaded again."""
        if any(future.cancelled() for future in self._persisted):
            raise ClusterError(
                "the connection was lost, and with it chunks that had been persisted: persist the collection again, "
                "make the problem anew, and go on with fw.resume if the run kept a checkpoint"
            )

    def _homes(self) -> list[str | None]:
        """Return the address of the worker that holds each persisted chunk; None for other chunks."""
        persisted = {future.key: future for future in self._persisted}
        kept = [persisted[chunk.key] for chunk in self.chunks.rows if chunk.key in persisted]
        holders = dict(zip((future.key for future in kept), self.connection.holders(kept), strict=True))
        return [next(iter(holders.get(chunk.key, ())), None) for chunk in self.chunks.rows]

    def failed(self, parts: list[PlacedPart]) -> str:
        """Return a text that names the chunks that could not be loaded, or an empty string if there are none."""
        chunks = {part.future.key: part.chunks for part in parts if part.future is not None}
        suspects = sorted(chain(*(chunks[key] for key in self.connection.erred([*chunks]))))
        if not suspects:
            return ""
        sources = [source for source in (self.chunks.rows, self.chunks.targets, self.chunks.weights) if source]
        keys = {k: [source[k].key for source in sources] for k in suspects}
        known = {*self.connection.erred([key for some in keys.values() for key in some])}
        return named([k for k in suspects if not known.isdisjoint(keys[k])] or suspects)


def named(numbers: list[int]) -> str:
    """Return a text for a chunk, or for one of several candidates.

    Examples
    --------
    >>> named([7]), named([1, 2])
    ('chunk 7', 'one of the chunks 1, 2')
    """
    few = ", ".join(map(str, numbers[:5])) + (" ..." if len(numbers) > 5 else "")
    return f"chunk {few}" if len(numbers) == 1 else f"one of the chunks {few}"


def grouped(homes: Sequence[str | None], workers: Sequence[Any]) -> tuple[list[list[int]], list[Any]]:
    """Group chunks by the workers that hold them or, unless all are persisted, evenly in order. Return workers too.

    Examples
    --------
    >>> grouped([None] * 5, ["a", "b"])
    ([[0, 1, 2], [3, 4]], ['a', 'b'])
    >>> grouped(["b", "a", "b"], ["a", "b", "c"])
    ([[1], [0, 2]], ['a', 'b'])
    """
    if None not in homes:
        places = sorted({str(home) for home in homes})
        return [[k for k, home in enumerate(homes) if home == place] for place in places], list(places)
    count = min(len(workers), len(homes))
    return [group.tolist() for group in np.array_split(np.arange(len(homes)), count)], list(workers[:count])


def load_part(
    number: int, group: list[int], rows: list[Any], targets: list[Any], weights: list[Any], columns: int, loss: Loss
) -> Part | Exception:
    """Validate chunks on a worker. Return them as a part, or the first error: the worker would log one it raises."""
    found, loss = [], as_loss(loss)  # adds defaults to a user-defined loss in this process
    for k, X, y, weight in zip(group, rows, targets, weights, strict=True):
        try:
            if X.shape[0]:
                found.append(checked_chunk(X, y, weight, columns, loss))
        except (ValueError, TypeError) as error:
            return type(error)(f"chunk {k}: {error}")
    return Part(number, group, found)


def checked_chunk(X: TableLike, y: TargetValues, weight: Any, columns: int, loss: Loss) -> Chunk:
    """Validate a chunk. Floats are copied only if their memory is not aligned."""
    matrix = as_matrix(X)
    n, d = matrix.shape
    if d != columns:
        raise ValueError(f"X has {d} columns, and others have {columns}")
    targets, raw = aligned(as_targets(y, n, loss)), aligned(as_raw_weights(weight, n))
    if sparse.issparse(matrix):
        for name in ("data", "indices", "indptr"):
            setattr(matrix, name, aligned(getattr(matrix, name)))
    else:
        matrix = aligned(matrix)
    return Chunk(matrix, targets, raw, digest((matrix, targets, raw)))


def aligned(array: np.ndarray) -> np.ndarray:
    """Return an aligned array. Arrays received by a worker may be unaligned, and their sums would round differently.

    Examples
    --------
    >>> sent = np.frombuffer(bytes(17), dtype=np.uint8)[1:].view(np.float64)
    >>> aligned(sent).flags.aligned
    True
    """
    return np.require(array, requirements="A")


def chunks_of(X: TableLike, y: TargetValues, sample_weight: RowNumbers, loss: Loss) -> Chunks:
    """Return the chunks of a dask array or data frame, with the corresponding chunks of targets and weights.

    Parameters
    ----------
    X : dask array or data frame
        The rows. Chunks along the columns are merged.
    y, sample_weight : dask array or series, or array
        One entry, or row, for each row of ``X``.
    loss : loss
        Loss that validates the targets of each chunk on the workers.
    """
    if y is None:
        raise TypeError("y is missing: pass the targets, one for each row of X")
    sizes: tuple[float, ...] | None = None
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got {X.ndim}")
    if is_frame(X):
        rows, columns = partitions(X), len(X.columns)
    else:
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        rows, columns = pieces_of(X), X.shape[1]
        sizes = None if np.isnan(X.chunks[0]).any() else X.chunks[0]
    if not rows or columns == 0:
        raise ValueError(f"X is empty: it has {len(rows)} chunks and {columns} columns")
    targets = beside("y", y, len(rows), sizes)
    weights = None if sample_weight is None else beside("sample_weight", sample_weight, len(rows), sizes)
    return Chunks(rows, targets, weights, int(columns), loss)


def beside(name: str, values: Any, count: int, sizes: tuple[float, ...] | None) -> list[Any]:
    """Return the chunks of targets or weights, split like the rows."""
    if not dask.is_dask_collection(values):
        if sizes is None:
            raise TypeError(
                f"{name} must be a dask array or series, cut as X is: the sizes of X's chunks are not known"
            )
        array = np.asarray(values)
        if len(array) != sum(sizes):
            raise ValueError(f"{name} has {len(array)} entries, but there are {int(sum(sizes))} rows in X")
        return [dask.delayed(piece) for piece in np.split(array, np.cumsum(sizes)[:-1].astype(int))]
    if is_frame(values):
        found = partitions(values)
    else:
        known = not np.isnan(values.chunks[0]).any()
        if sizes is not None and known and values.shape[0] != sum(sizes):
            raise ValueError(f"{name} has {values.shape[0]} entries, but there are {int(sum(sizes))} rows in X")
        if sizes is not None and known:
            values = values.rechunk({0: sizes})
        values = values.rechunk({1: -1}) if values.ndim == 2 else values
        found = pieces_of(values)
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} chunks and X has {count}: cut both alike, e.g. with rechunk")
    return found


def pieces_of(array: Any) -> list[Any]:
    """Return the chunks of an array. Graph optimisation would lose the futures of persisted chunks."""
    return array.to_delayed(optimize_graph=not futures_of(array)).ravel().tolist()


def is_frame(collection: Any) -> bool:
    """Return whether a dask collection is a data frame or a series, rather than an array."""
    from dask.array import Array

    return not isinstance(collection, Array)


def partitions(frame: Any) -> list[Any]:
    """Return the partitions of a data frame or series as delayed objects, without graph optimisation.

    With it, Dask merges small Parquet files, and merges more of them if fewer columns are read. Then rows and targets
    would be split differently.
    """
    return list(frame.simplify().to_delayed(optimize_graph=False))


def mapped_partitions(frame: Any, function: Any, columns: int | None, dtype: Any) -> Any:
    """Apply a function to each partition. Return a dask vector, or a dask matrix with a given number of columns."""
    import dask.array as da

    make = dask.delayed(function, pure=True)
    shape = (np.nan,) if columns is None else (np.nan, columns)
    meta = np.empty((0,) * len(shape), dtype)
    pieces = [da.from_delayed(make(part), shape, dtype=dtype, meta=meta) for part in partitions(frame)]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


def column_array(values: Any) -> Any:
    """Return a dask array, series or frame of targets or weights as a dask array, with one chunk per partition."""
    if not is_frame(values):
        return values
    empty = np.asarray(values._meta)
    return mapped_partitions(values, np.asarray, None if empty.ndim == 1 else empty.shape[1], empty.dtype)


def client_at_hand() -> Client:
    """Return Dask's default client or, if there is none, the client of a cluster in this process.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    """
    try:
        client = default_client()
    except ValueError:
        return _own_client()
    if client.asynchronous:
        raise TypeError("the client at hand is asynchronous: make one without asynchronous=True")
    return client


@cache
def _own_client() -> Client:
    """Start a cluster in this process. It has one worker with threads, so that no data is copied."""
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=available_cores(),
        processes=False,
        dashboard_address="127.0.0.1:0",  # the default port may be in use
        memory_limit=0,
    )
    client = Client(cluster, set_as_default=False)

    def close() -> None:
        client.close()
        cluster.close()

    atexit.register(close)
    return client
