"""What a problem on a Dask cluster needs to know before anything is loaded, and which methods can run on it."""

from importlib.util import find_spec
from typing import Any, NamedTuple

CLUSTER_METHODS = ("auto", "corrective", "fw", "sfw")
"""Methods that run where the rows are on the workers of a cluster."""


class Planned(NamedTuple):
    """What is known of a problem before it is posed, for `accept_on_cluster`."""

    intercept: bool
    loss: Any


def is_on_cluster(X: Any) -> bool:
    """Whether data is a dask collection; dask is not imported to know."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def refuse_dask(X: Any, instead: str) -> None:
    """Raise ValueError if data is a dask collection: who cannot work on one says what to do instead."""
    if is_on_cluster(X):
        raise ValueError(instead)


def remote_data(X: Any, y: Any, sample_weight: Any, loss: Any) -> Any:
    """Load a dask collection on the workers of its cluster."""
    if find_spec("distributed") is None:
        raise ImportError("X is a dask collection, and this needs dask.distributed: pip install 'frankwolfe[dask]'")
    from frankwolfe.cluster.remote_data import RemoteData

    return RemoteData.load(X, y, sample_weight, loss)


def refuse_smoothing(loss: Any, side: Any) -> None:
    """Raise ValueError for what only `shcgm` can do, which does not run on clusters."""
    if side is not None:
        raise ValueError("side constraints need all rows in memory, and X is a dask collection")
    if not loss.smooth:
        raise ValueError(f"{type(loss).__name__} has a kink: it needs all rows in memory, and X is a dask collection")


def accept_on_cluster(problem: Any, method: Any) -> None:
    """Raise ValueError if a method cannot run where rows are on the workers of a cluster."""
    if method.engine in ("corrective", "auto"):
        return
    abilities, toward = method.estimate.abilities, method.direction.mixes_vertices
    table = abilities.exact_table and abilities.samples_error and not abilities.takes_snapshots
    if not toward or not (abilities.reads_all_rows or table) or not method.step.open_loop:
        raise ValueError(
            f"{method.name!r} does not run on a cluster: use one of {', '.join(CLUSTER_METHODS)}, or load the data "
            "into memory (X.compute())"
        )
    if problem.intercept and not abilities.reads_all_rows:
        raise ValueError(f"{method.name!r} takes no intercept on a cluster: use 'auto', 'corrective' or 'fw'")
