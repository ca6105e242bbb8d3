"""Rows on a cluster: its client, and the problem of a file whose rows the workers read."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.arguments.arrays import numeric_frame
from frankwolfe.arguments.names import nearest
from frankwolfe.arguments.types import Loss, TargetValues
from frankwolfe.cli.options import Options
from frankwolfe.cli.problems import Specification, features_of, store_with_targets, target_summary
from frankwolfe.cluster.dask_source import DaskSource
from frankwolfe.io.read import DEFAULT_LOSSES, Data, Features, encoded, feature_names, kind_of_target
from frankwolfe.io.streams import is_compressed, kind_of
from frankwolfe.linalg.threads import available_cores
from frankwolfe.losses import as_loss
from frankwolfe.methods.registry import as_method
from frankwolfe.problem.requirements import check_source
from frankwolfe.store.format import NAME as MANIFEST
from frankwolfe.store.reader import RowStore
from frankwolfe.store.write_rows import write_rows

if TYPE_CHECKING:
    from dask.distributed import Client

SECONDS = 10.0
"""Time limit for a scheduler to answer, and for its workers."""

CHUNKS, SMALLEST, SHARD = 16, 2**16, 2**24
"""A file is converted to about so many shards, each of at least and at most so many bytes."""


@contextmanager
def specified_remotely(path: Path, options: Options) -> Iterator[Specification]:
    """Yield what a file and options specify, with the rows on the workers of a cluster."""
    if options.cluster is not None and options.workers is not None:
        raise ValueError("--cluster and --workers exclude each other: a cluster has its own workers")
    local = ("standardize", "categorical", "missing", "memory", "class_weight", "holdout", "folds", "no_radius")
    for option in options.given(*local):
        raise ValueError(f"{option} needs the rows in this process: leave it out, or --cluster and --workers")
    if find_spec("distributed") is None:
        raise ImportError("--cluster and --workers need dask: pip install 'frankwolfe[dask]'")
    check_source(DaskSource(None), as_loss(options.loss or "squared"), options.intercept, as_method(options.method))
    with client_of(options), TemporaryDirectory() as folder:
        yield specify_remotely(path, options, Path(folder) if options.cluster is None else None)


@contextmanager
def client_of(options: Options) -> "Iterator[Client]":
    """Yield a client of the scheduler, or of new worker processes on this machine, which end with the context."""
    from dask.distributed import Client, LocalCluster

    address = options.cluster
    if address is None:
        workers = options.workers or 1
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=max(1, available_cores() // workers),
                processes=True,
                dashboard_address=":0",  # any port that is free
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(address, timeout=SECONDS)
    except (OSError, TimeoutError):
        raise ValueError(
            f"no scheduler answers at {address} within {SECONDS:g} seconds: is it running (dask scheduler), and is "
            "this the address that it prints?"
        ) from None
    except ValueError as error:
        raise ValueError(f"{address!r} is no address of a scheduler, such as tcp://10.0.0.1:8786: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=SECONDS)
        except TimeoutError:
            start = f"start some: dask worker {address}"
            raise ValueError(f"the scheduler at {address} has no workers: {start}") from None
        yield client


def specify_remotely(path: Path, options: Options, folder: Path | None) -> Specification:
    """Survey the targets on the workers, and encode them there for the loss.

    ``folder`` is an empty folder that the workers can read, if there is one: a file is converted to a row store there.
    """
    from frankwolfe.cluster.target_survey import survey_targets

    data = _lazy(path, options, folder)
    y: TargetValues = data.targets
    survey = survey_targets(y, data.weights)
    values, counts = survey.values, survey.counts
    if data.classes is not None:  # some may have no rows
        assert values is not None
        counts = np.bincount(values.astype(np.int64), counts, minlength=len(data.classes)).astype(np.int64)
        values = np.arange(len(data.classes), dtype=np.float64)
    if values is None:  # numbers: these stand for them
        sample = np.arange(3.0) if y.ndim == 1 else np.zeros((3, y.shape[1]))
    else:  # as if read from a file: numbers as floats, words as text
        sample = values.astype({"i": float, "u": float, "O": str}.get(values.dtype.kind, values.dtype))
    loss_name = options.loss or DEFAULT_LOSSES[kind_of_target(sample, data.place, data.classes)]
    loss: Loss = as_loss(loss_name)
    if values is None and y.ndim == 1 and loss.targets in ("labels", "classes"):
        raise ValueError(f"the {loss_name} loss takes classes, and the target has too many values to be that")
    codes, classes = encoded(sample, loss, loss_name, data.place, data.classes)
    if classes is not None:
        y = y.map_blocks(_encoded_chunk, values, codes, dtype=np.float64, meta=np.empty(0))
    elif loss.targets == "rows" and y.ndim == 1:
        y = y[:, None]
    summary = target_summary(classes, counts, survey.low, survey.high)
    return Specification(options, data, y, classes, loss.for_targets(codes), loss_name, summary, in_memory=False)


def _encoded_chunk(y: TargetValues, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return codes[np.searchsorted(values, np.asarray(y))]


def _lazy(path: Path, options: Options, folder: Path | None) -> Data:
    """Return a row store or Parquet as dask collections; convert other files in a folder, if one is given."""
    if not path.exists():
        raise ValueError(f"{path} does not exist")
    if (path / MANIFEST).exists():
        return _lazy_store(store_with_targets(path, options, sys.maxsize))
    if beside := options.given("offset", "exposure"):
        raise ValueError(
            f"on a cluster {beside[0]} is not a column: pass a dask array to Problem(offset=...) in Python"
        )
    if path.is_dir() or (kind_of(path) == "parquet" and not is_compressed(path)):
        return _lazy_parquet(path, options)
    if folder is None:
        raise ValueError(
            f"{path} is read by one process only. Make a row store of it, in a folder that all workers reach: "
            f"frankwolfe convert {path} --out FOLDER; or Parquet files"
        )
    shard = max(SMALLEST, min(SHARD, path.stat().st_size // CHUNKS))
    roles: dict[str, Any] = {"target": options.target, "weights": options.weights, "ignore": options.ignore}
    return _lazy_store(write_rows(folder / "rows", path, **roles, shard=shard, memory=sys.maxsize))


def _lazy_store(store: RowStore) -> Data:
    X, y, weights = store.to_dask()
    return Data(X, features_of(store), y, weights, _anywhere, {}, store.classes)


def _lazy_parquet(path: Path, options: Options) -> Data:
    """Return the Parquet files of a folder, or one file, as dask collections."""
    try:
        from dask.dataframe import read_parquet
    except ImportError:
        raise ImportError("Parquet on a cluster needs pandas and pyarrow: pip install 'frankwolfe[dask]'") from None
    from frankwolfe.cluster.loading import column_array

    if path.is_dir() and not any(path.rglob("*.parquet")):
        raise ValueError(f"{path} is neither a row store nor a folder of .parquet files")
    target, weights = options.target, options.weights
    frame = read_parquet(str(path.absolute()))
    names = [str(name) for name in frame.columns]
    if not target:
        raise ValueError(f"--target is missing: which column of {path} is to be predicted?")
    for name in (*target, *([weights] if weights else []), *options.ignore):
        if name not in names:
            raise ValueError(f"{path} has no column {name!r}{nearest(name, names) or '.'}")
    left = feature_names(names, path, target, weights, options.ignore)
    try:
        numeric_frame(frame[left]._meta)
    except TypeError as error:
        raise ValueError(f"{path}: {error}. Leave them out with --ignore") from None
    y = column_array(frame[target[0]] if len(target) == 1 else frame[list(target)])
    given = column_array(frame[weights]) if weights else None
    return Data(frame[left], Features(left, 0, len(left)), y, given, _anywhere, {})


def _anywhere(row: int) -> str:
    """Return the place of a row for messages: on a cluster it is not known."""
    return "the data"
