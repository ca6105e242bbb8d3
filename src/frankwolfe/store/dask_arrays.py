"""A row store as dask arrays, whose chunks workers read by path on demand."""

import os
import platform
import zlib
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.store.format import File, Manifest, WrittenPart, read_slice
from frankwolfe.store.reader import RowStore

MOST_CHUNKS = 2000
"""Largest default number of chunks of an array: the scheduler has overhead for each chunk."""


class Piece(NamedTuple):
    """Position of the targets or weights of some rows in a file, counted in rows."""

    file: File
    first: int
    size: int


class StoreChunk(NamedTuple):
    """Description of some rows of a store, from which a worker reads them.

    Attributes
    ----------
    path : str
        Absolute path of the store, the same on all workers.
    manifest : Manifest
        Manifest of the shards of the chunk.
    targets, weights : Piece or None
        Positions of the targets and of the sample weights.
    verify : bool
        Whether to verify the checksums of rows.
    """

    path: str
    manifest: Manifest
    targets: Piece | None
    weights: Piece | None
    verify: bool

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.manifest.rows


def dask_arrays(store: RowStore, shards: int | None = None) -> tuple[Any, Any, Any]:
    """Return rows, targets and weights of a store as dask arrays; see `RowStore.to_dask`."""
    if shards is None:
        shards = -(-len(store.shards) // MOST_CHUNKS)
    if isinstance(shards, bool) or not isinstance(shards, int | np.integer) or shards < 1:
        raise ValueError(f"shards must be a positive int, the number of shards in a chunk; got {shards!r}")
    chunks = chunks_of_store(store, int(shards))
    token = f"{zlib.crc32(f'{store.path.absolute()} {shards} {store.manifest.text()}'.encode()):08x}"
    empty = sparse.csr_array((0, 0), dtype=store.dtype) if store.is_sparse else np.empty((0, 0), store.dtype)
    outputs = (store.manifest.outputs,) if store.manifest.outputs else ()
    X = _array(f"frankwolfe-rows-{token}", read_rows, chunks, (store.shape[1],), empty)
    y = weights = None
    if chunks[0].targets is not None:
        y = _array(f"frankwolfe-targets-{token}", read_targets, chunks, outputs, np.empty((0,) * (1 + len(outputs))))
    if chunks[0].weights is not None:
        weights = _array(f"frankwolfe-weights-{token}", read_weights, chunks, (), np.empty(0))
    return X, y, weights


def _array(name: str, read: Any, chunks: list[StoreChunk], others: tuple[int, ...], meta: Any) -> Any:
    """Return a dask array whose chunks are read by the function ``read``."""
    try:
        from dask.array import Array
    except ImportError:
        raise ImportError("a row store as dask arrays needs dask: pip install 'frankwolfe[dask]'") from None

    zeros = (0,) * len(others)
    graph = {(name, k, *zeros): (read, chunk) for k, chunk in enumerate(chunks)}
    sizes = tuple(chunk.rows for chunk in chunks)
    return Array(graph, name, (sizes, *((size,) for size in others)), meta=meta)


def chunks_of_store(store: RowStore, shards: int) -> list[StoreChunk]:
    """Return chunks of ``shards`` shards each. The last chunk of each `WrittenPart` may have fewer."""
    path, found = str(store.path.absolute()), []
    for part in store.manifest.parts:
        starts = [0, *accumulate(shard.rows for shard in part.shards)]
        for first in range(0, len(part.shards), shards):
            some = part.shards[first : first + shards]
            begin, count = starts[first], starts[first + len(some)] - starts[first]
            manifest = replace(
                store.manifest, parts=[WrittenPart(some, part.counts, part.squares)], names=None, classes=None
            )
            targets, weights = (
                None if file is None else Piece(file, begin, count) for file in (part.targets, part.weights)
            )
            found.append(StoreChunk(path, manifest, targets, weights, store.verify))
    return found


def read_rows(chunk: StoreChunk) -> Any:
    """Read the rows of a chunk: an array or a CSR array."""
    try:
        return RowStore.over(Path(chunk.path), chunk.manifest, chunk.verify).matrix()
    except OSError as error:
        raise _out_of_reach(chunk, chunk.manifest.shards[0].values, error) from error


def read_targets(chunk: StoreChunk) -> np.ndarray:
    """Read the targets of a chunk."""
    outputs = chunk.manifest.outputs
    found = _beside(chunk, chunk.targets, max(1, outputs))
    return found.reshape(-1, outputs) if outputs else found


def read_weights(chunk: StoreChunk) -> np.ndarray:
    """Read the weights of a chunk."""
    return _beside(chunk, chunk.weights)


def _beside(chunk: StoreChunk, piece: Piece | None, width: int = 1) -> np.ndarray:
    """Read the targets or weights of a chunk, with ``width`` numbers for each row."""
    assert piece is not None
    first, count = piece.first * width, piece.size * width
    try:
        return read_slice(Path(chunk.path), piece.file, first, count, np.dtype(np.float64))
    except OSError as error:
        raise _out_of_reach(chunk, piece.file, error) from error


def _out_of_reach(chunk: StoreChunk, file: File, error: OSError) -> OSError:
    """Return an error that names the worker, the file that it cannot read, and the reason."""
    why = str(error) if Path(chunk.path).is_dir() else "there is no such folder"
    return OSError(
        f"{where_this_is()} cannot read {Path(chunk.path) / file.name}: {why}. All workers must reach the row store by "
        "this path: put it on a file system that they share"
    )


def where_this_is() -> str:
    """Return the address of this worker, or the process id, and the name of the machine, as text."""
    machine = platform.node() or "this machine"
    try:
        from dask.distributed import get_worker

        return f"worker {get_worker().address} on {machine}"
    except (ImportError, ValueError):  # another dask scheduler, without workers
        return f"process {os.getpid()} on {machine}"
