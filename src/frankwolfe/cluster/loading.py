"""From dask collections to parts of the data, one on each worker."""

import atexit
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np
from dask._task_spec import List, Task, TaskRef, convert_legacy_graph
from dask.delayed import Delayed
from dask.distributed import Client, Future, LocalCluster, default_client, futures_of
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.utils import parse_bytes
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_raw_weights, as_targets
from frankwolfe.cluster.connection import Connection
from frankwolfe.cluster.kept import Chunk, Part
from frankwolfe.exceptions import ClusterError
from frankwolfe.linalg.threads import available_cores
from frankwolfe.losses import as_loss


def renamed(chunks: Sequence[Delayed], prefix: str) -> list[Delayed]:
    """Return chunks that are made by the same tasks under other names.

    Dask knows tasks by their names alone. Two problems of the same data share them, with the workers that are to load
    them; where these are gone, one problem's tasks may never be done because the other's still wait.

    Parameters
    ----------
    chunks : sequence of Delayed
        Of one graph or several, none of them in memory.
    prefix : str
        What the names begin with.

    Examples
    --------
    >>> import dask
    >>> chunk = dask.delayed(abs)(-2, dask_key_name="abs-1")
    >>> mine, = renamed([chunk], "mine")
    >>> mine.key, mine.compute(scheduler="sync")
    ('mine-abs-1', 2)
    """
    nodes = convert_legacy_graph(graph_of(chunks))
    names = {key: prefixed(key, prefix) for key in nodes}
    own = {names[key]: node.substitute(names, key=names[key]) for key, node in nodes.items()}
    layers = HighLevelGraph({prefix: own}, {prefix: set()})
    return [Delayed(names[chunk.key], layers, layer=prefix) for chunk in chunks]


def graph_of(chunks: Iterable[Delayed]) -> dict[Any, Any]:
    """Return all that chunks are made by, as they hold it."""
    graphs = {id(graph): graph for graph in (chunk.__dask_graph__() for chunk in chunks)}  # most have one in common
    found: dict[Any, Any] = {}
    for graph in graphs.values():
        found.update(graph)
    return found


def needed(tasks: dict[Any, Any], keys: Iterable[Any]) -> dict[Any, Any]:
    """Return those of some tasks that others are made by; what is in memory is made by none.

    Examples
    --------
    >>> import dask
    >>> one, other = dask.delayed(abs)(-2, dask_key_name="one"), dask.delayed(abs)(-3, dask_key_name="other")
    >>> [*needed(convert_legacy_graph(graph_of([one, other])), ["other"])]
    ['other']
    """
    found, left = {}, [*keys]
    while left:
        key = left.pop()
        if key in tasks and key not in found:
            found[key] = tasks[key]
            left += tasks[key].dependencies
    return found


def prefixed(key: Any, prefix: str) -> Any:
    """Return the name of a task with something before it."""
    return (f"{prefix}-{key[0]}", *key[1:]) if isinstance(key, tuple) else f"{prefix}-{key}"


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


RETRIES = 2
"""How often loading a chunk is tried again where it fails: file systems have bad moments."""

UNSEEN = 8
"""Parts, at most, where no worker is there yet."""

SAMPLED = 4096
"""Entries of a chunk that go into its fingerprint, evenly spaced."""


class Refused(NamedTuple):
    """What is wrong with a chunk, for the client to raise."""

    kind: type[Exception]
    message: str

    def error(self) -> Exception:
        """Return it as an error."""
        return self.kind(self.message)


class Chunks(NamedTuple):
    """Chunks of a data set, none of them loaded.

    Attributes
    ----------
    rows, targets : list of Delayed
        What each chunk is loaded by.
    weights : list of Delayed or None
        Likewise, where rows have weights.
    columns : int
        Number of columns.
    loss : loss
        Targets are checked against it.
    """

    rows: list[Any]
    targets: list[Any]
    weights: list[Any] | None
    columns: int
    loss: Any

    def all(self) -> list[Any]:
        """Return those of rows, of targets and of weights."""
        return [*self.rows, *self.targets, *(self.weights or ())]

    def own(self) -> "Chunks":
        """Return the same chunks, to be made by tasks that nobody else has."""
        found = iter(renamed(self.all(), f"frankwolfe-{uuid4().hex[:8]}"))
        rows, targets = [next(found) for _ in self.rows], [next(found) for _ in self.targets]
        return self._replace(rows=rows, targets=targets, weights=self.weights and [*found])


class Group(NamedTuple):
    """The chunks that make up a part, and its number."""

    number: int
    chunks: list[int]


class Loader:
    """Makes parts of chunks, one for each worker, and makes them again where they were lost.

    A part has the chunks that its worker holds already, if they are in memory; else chunks that follow each other.

    Parameters
    ----------
    chunks : Chunks
        What there is.
    connection : Connection
        To the scheduler.
    """

    def __init__(self, chunks: Chunks, connection: Connection):
        graph = graph_of(chunks.all())
        self._persisted = futures_of(graph)
        if not self._persisted:
            chunks = chunks.own()
            graph = graph_of(chunks.all())
        self.chunks, self.connection, self._tasks = chunks, connection, convert_legacy_graph(graph)
        self.groups: list[Group] = []

    def plan(self) -> list[str | None]:
        """Decide which chunks make up each part; return the workers that are to load them."""
        homes = self._homes()
        workers = self.connection.workers() if None in homes else []
        groups, addresses = grouped(homes, workers or [None] * UNSEEN)
        self.groups = [Group(number, group) for number, group in enumerate(groups)]
        return addresses

    def keep_groups(self, kept: list[int]) -> None:
        """Let go of all groups of chunks but some; these keep their numbers."""
        self.groups = [self.groups[k] for k in kept]

    def add(self, k: int, address: str | None, submission: Submission) -> str:
        """Have a part loaded, by some worker, together with other tasks; return the name of the one that does it.

        It is always of the same chunks, so that sums keep their order.
        """
        (rows, targets, weights, columns, loss), (number, group) = self.chunks, self.groups[k]
        keys = [[None if source is None else source[k].key for k in group] for source in (rows, targets, weights)]
        rules: dict[str, Any] = {"retries": RETRIES}
        if address is not None and not self._persisted:  # else it goes to its data
            rules |= {"workers": [address], "allow_other_workers": True}
        name = f"frankwolfe-load-{uuid4().hex[:8]}-{number}"
        submission.add_tasks(f"{name}-chunks", needed(self._tasks, chain(*keys)), **rules)
        submission.add(name, load_part, number, group, *map(listed, keys), columns, loss, **rules)
        submission.loads += 1
        return name

    def check_persisted(self) -> None:
        """Raise an error if chunks that had been in memory before they were loaded are no longer there."""
        if any(future.cancelled() for future in self._persisted):
            raise ClusterError(
                "the connection was lost, and with it chunks that had been persisted: persist the collection again, "
                "make the problem anew, and go on with fw.resume if the run kept a checkpoint"
            )

    def _homes(self) -> list[str | None]:
        """Return the worker that holds each chunk; None for those that are not in memory."""
        persisted = {future.key: future for future in self._persisted}
        kept = [persisted[chunk.key] for chunk in self.chunks.rows if chunk.key in persisted]
        holders = dict(zip((future.key for future in kept), self.connection.holders(kept), strict=True))
        return [next(iter(holders.get(chunk.key, ())), None) for chunk in self.chunks.rows]

    def failed(self, parts: list[Future]) -> str:
        """Return which chunks could not be loaded, as text; nothing if all could."""
        erred = {*self.connection.erred([part.key for part in parts])}
        suspects = [
            k for group, part in zip(self.groups, parts, strict=True) if part.key in erred for k in group.chunks
        ]
        if not suspects:
            return ""
        sources = [source for source in (self.chunks.rows, self.chunks.targets, self.chunks.weights) if source]
        keys = {k: [source[k].key for source in sources] for k in suspects}
        known = {*self.connection.erred([key for some in keys.values() for key in some])}
        return named([k for k in suspects if not known.isdisjoint(keys[k])] or suspects)


def named(numbers: list[int]) -> str:
    """Return as text which chunk, or one of which, it is.

    Examples
    --------
    >>> named([7]), named([1, 2])
    ('chunk 7', 'one of the chunks 1, 2')
    """
    few = ", ".join(map(str, numbers[:5])) + (" ..." if len(numbers) > 5 else "")
    return f"chunk {few}" if len(numbers) == 1 else f"one of the chunks {few}"


def grouped(homes: Sequence[str | None], workers: Sequence[Any]) -> tuple[list[list[int]], list[Any]]:
    """Return chunks in groups, one for each worker, and the workers: by where chunks are, or evenly in order.

    Examples
    --------
    >>> grouped([None] * 5, ["a", "b"])
    ([[0, 1], [2, 3, 4]], ['a', 'b'])
    >>> grouped(["b", "a", "b"], ["a", "b", "c"])
    ([[1], [0, 2]], ['a', 'b'])
    """
    if None not in homes:
        places = sorted({str(home) for home in homes})
        return [[k for k, home in enumerate(homes) if home == place] for place in places], list(places)
    count = min(len(workers), len(homes))
    ends = np.linspace(0, len(homes), count + 1).astype(int)
    groups = [list(range(first, last)) for first, last in pairwise(ends)]
    return groups, list(workers[:count])


def load_part(
    number: int, group: list[int], rows: list[Any], targets: list[Any], weights: list[Any], columns: int, loss: Any
) -> Part | Refused:
    """Check chunks on a worker; return the part that they make up, or what is wrong with one of them."""
    found, loss = [], as_loss(loss)  # a user's class gets its defaults in this process, too
    for k, X, y, weight in zip(group, rows, targets, weights, strict=True):
        try:
            if X.shape[0]:
                found.append(checked_chunk(X, y, weight, columns, loss))
        except (ValueError, TypeError) as error:
            return Refused(type(error), f"chunk {k}: {error}")
    return Part(number, group, found)


def checked_chunk(X: Any, y: Any, weight: Any, columns: int, loss: Any) -> Chunk:
    """Return a chunk, checked; floats are not copied unless they lie askew in memory."""
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
    return Chunk(matrix, targets, raw, chunk_fingerprint(matrix, targets, raw))


def aligned(array: np.ndarray) -> np.ndarray:
    """Return an array, copied if it begins at an odd place, as one may that was sent: sums would round otherwise then.

    Examples
    --------
    >>> sent = np.frombuffer(bytes(17), dtype=np.uint8)[1:].view(np.float64)
    >>> aligned(sent).flags.aligned
    True
    """
    return np.require(array, requirements="A")


def chunk_fingerprint(matrix: Any, targets: np.ndarray, weights: np.ndarray) -> str:
    """Return what tells a chunk from others, by a sample of its entries."""
    found = blake2b(repr((matrix.shape, str(matrix.dtype))).encode(), digest_size=16)
    pieces = [matrix.data, matrix.indices, matrix.indptr] if sparse.issparse(matrix) else [matrix]
    for piece in (*pieces, targets, weights):
        flat = piece.reshape(-1)
        if flat.size:
            found.update(flat[np.linspace(0, flat.size - 1, min(SAMPLED, flat.size)).astype(np.int64)].tobytes())
    return found.hexdigest()


def chunks_of(X: Any, y: Any, sample_weight: Any, loss: Any) -> Chunks:
    """Return the chunks of a dask array or data frame, with those of the targets and weights that go with them.

    Parameters
    ----------
    X : dask array or data frame
        The rows, cut into chunks; columns may be cut too, and are put together.
    y, sample_weight : dask array or series, or array
        One entry, or row, for each row of ``X``.
    loss : loss
        Targets are checked against it, chunk by chunk, on the workers.
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
    """Return the chunks of targets or weights, cut as the rows are."""
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
    """Return the chunks of an array; optimised graphs would not hold what has been persisted."""
    return array.to_delayed(optimize_graph=not futures_of(array)).ravel().tolist()


def is_frame(collection: Any) -> bool:
    """Whether a dask collection is a data frame or a series, rather than an array."""
    from dask.array import Array

    return not isinstance(collection, Array)


def partitions(frame: Any) -> list[Any]:
    """Return the partitions of a data frame or series as delayed objects, each by itself.

    Dask would read several small Parquet files as one, and more of them where fewer columns are wanted: rows and
    targets would not be cut alike.
    """
    return list(frame.simplify().to_delayed(optimize_graph=False))


def mapped_partitions(frame: Any, function: Any, columns: int | None, dtype: Any) -> Any:
    """Return a dask array of what a function makes of each partition: a number a row, or so many columns of them."""
    import dask.array as da

    make = dask.delayed(function, pure=True)
    shape = (np.nan,) if columns is None else (np.nan, columns)
    meta = np.empty((0,) * len(shape), dtype)
    pieces = [da.from_delayed(make(part), shape, dtype=dtype, meta=meta) for part in partitions(frame)]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


def column_array(values: Any) -> Any:
    """Return targets or weights, a dask array, series or frame, as a dask array: a chunk a partition."""
    if not is_frame(values):
        return values
    empty = np.asarray(values._meta)
    return mapped_partitions(values, np.asarray, None if empty.ndim == 1 else empty.shape[1], empty.dtype)


def client_at_hand() -> Client:
    """Return the client that is in use or, where there is none, one of a cluster in this process.

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
    """Start a cluster in this process: threads of one worker, so that nothing is copied."""
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=available_cores(),
        processes=False,
        dashboard_address="127.0.0.1:0",  # without one it is a port that may be taken
        memory_limit=0,
    )
    client = Client(cluster, set_as_default=False)

    def close() -> None:
        client.close()
        cluster.close()

    atexit.register(close)
    return client
