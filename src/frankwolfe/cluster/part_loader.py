"""Loading: from the chunks of a dask collection to parts of the data, one on each worker."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np
from dask.distributed import Client, Future, futures_of, wait
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_raw_weights, as_targets
from frankwolfe.cluster.cluster_error import ClusterError
from frankwolfe.cluster.parts import Chunk, Part

RETRIES = 2
"""How often loading a chunk is tried again where it fails: file systems have bad moments."""

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


class Loader:
    """Makes parts of chunks, one for each worker, and makes them again where the connection was lost.

    A part has the chunks that its worker holds already, if they are in memory; else chunks that follow each other.

    Parameters
    ----------
    chunks : Chunks
        What there is.
    """

    def __init__(self, chunks: Chunks):
        self.chunks = chunks
        self._groups: list[list[int]] | None = None

    def parts(self, client: Client, again: bool = False) -> list[Future]:
        """Return the parts, loaded; again in the same groups, so that sums keep their order."""
        homes = self._homes(client)
        if self._groups is None:
            self._groups, addresses = grouped(homes, sorted(client.nthreads()) or [None])
        else:
            addresses = sorted(client.nthreads()) or [None]
        futures = [
            self._part(client, number, group, addresses[number % len(addresses)])
            for number, group in enumerate(self._groups)
        ]
        if again:
            return futures
        with client.as_current():  # there may be no default client
            wait(futures)
        for future in futures:
            self._check(future)
        return futures

    def keep_groups(self, kept: list[int]) -> None:
        """Load only some of the parts when they are loaded again."""
        assert self._groups is not None
        self._groups = [self._groups[k] for k in kept]

    def _part(self, client: Client, number: int, group: list[int], address: str | None) -> Future:
        chunks = self.chunks
        weights = [None if chunks.weights is None else chunks.weights[k] for k in group]
        make = dask.delayed(load_part, pure=False)(
            number,
            group,
            [chunks.rows[k] for k in group],
            [chunks.targets[k] for k in group],
            weights,
            chunks.columns,
            chunks.loss,
            dask_key_name=f"frankwolfe-load-{uuid4().hex[:8]}-{number}",
        )
        return client.compute(make, workers=address, allow_other_workers=True, retries=RETRIES)

    def _homes(self, client: Client) -> list[str | None]:
        """Return the worker that holds each chunk; None for those that are not in memory."""
        homes: list[str | None] = []
        for chunk in self.chunks.rows:
            futures = [future for future in futures_of(chunk) if future.key == chunk.key]
            holders = client.who_has(futures).values() if futures else ()
            homes.append(next((holder[0] for holder in holders if holder), None))
        return homes

    @staticmethod
    def _check(future: Future) -> None:
        """Raise what kept a part from being loaded."""
        if future.status == "error":
            error = future.exception()
            raise ClusterError(
                f"a chunk of the data could not be loaded on a worker: {type(error).__name__}: {error}"
            ) from error


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
    return Part(number, found)


def checked_chunk(X: Any, y: Any, weight: Any, columns: int, loss: Any) -> Chunk:
    """Return a chunk, checked; floats are not copied."""
    matrix = as_matrix(X)
    n, d = matrix.shape
    if d != columns:
        raise ValueError(f"X has {d} columns, and others have {columns}")
    targets, raw = as_targets(y, n, loss), as_raw_weights(weight, n)
    return Chunk(matrix, targets, raw, chunk_fingerprint(matrix, targets, raw))


def chunk_fingerprint(matrix: Any, targets: np.ndarray, weights: np.ndarray) -> str:
    """Return what tells a chunk from others, by a sample of its entries."""
    found = blake2b(repr((matrix.shape, str(matrix.dtype))).encode(), digest_size=16)
    pieces = [matrix.data, matrix.indices, matrix.indptr] if sparse.issparse(matrix) else [matrix]
    for piece in (*pieces, targets, weights):
        flat = piece.reshape(-1)
        if flat.size:
            found.update(flat[np.linspace(0, flat.size - 1, min(SAMPLED, flat.size)).astype(np.int64)].tobytes())
    return found.hexdigest()
