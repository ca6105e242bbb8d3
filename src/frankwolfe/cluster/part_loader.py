"""Loading: from the chunks of a dask collection to parts of the data, one on each worker."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from dask._task_spec import convert_legacy_graph
from dask.distributed import Future, futures_of
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_raw_weights, as_targets
from frankwolfe.cluster.cluster_error import ClusterError
from frankwolfe.cluster.connection import Connection
from frankwolfe.cluster.own_tasks import graph_of, needed, renamed
from frankwolfe.cluster.parts import Chunk, Part
from frankwolfe.cluster.submission import Submission, listed

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
    found = []
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
