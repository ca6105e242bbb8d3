"""Dask collections: their chunks, and the client that works on them."""

import atexit
from functools import cache
from typing import Any

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, default_client, futures_of

from frankwolfe.cluster.part_loader import Chunks
from frankwolfe.linalg.threads import available_cores


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
