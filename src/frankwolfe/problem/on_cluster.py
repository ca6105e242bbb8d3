"""Dask collections as data: recognised without importing dask, and loaded by the workers of their cluster."""

from importlib.util import find_spec
from typing import Any


def is_on_cluster(X: Any) -> bool:
    """Whether data is a dask collection; dask is not imported to know."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def remote_data(X: Any, y: Any, sample_weight: Any, loss: Any) -> Any:
    """Load a dask collection on the workers of its cluster."""
    if find_spec("distributed") is None:
        raise ImportError("X is a dask collection, and this needs dask.distributed: pip install 'frankwolfe[dask]'")
    from frankwolfe.cluster.remote_data import RemoteData

    return RemoteData.load(X, y, sample_weight, loss)
