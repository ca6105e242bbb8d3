"""The data of a problem: where its rows are, and a fingerprint that identifies it."""

from typing import Any

from frankwolfe.cluster.dask_source import DaskSource
from frankwolfe.shards.disk import ShardSource
from frankwolfe.shards.sources import DataSource, digest
from frankwolfe.store.sharded import ShardedRows


def source_of(X: Any) -> DataSource:
    """Return the source of ``X``: the one place that decides where rows are.

    Examples
    --------
    >>> source_of([[1.0], [2.0]]).name
    'an array'
    """
    if isinstance(X, DataSource):
        return X
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):  # known without an import of dask
        return DaskSource(X)
    return ShardSource(X) if isinstance(X, ShardedRows) else DataSource(X)


# --- fingerprints -----------------------------------------------------------------------------------------------------


def fingerprint(problem: Any) -> dict[str, str]:
    """Return a fingerprint of each thing that a problem is made of.

    Large arrays are sampled: a change of a few entries among millions may go unnoticed, other data does not.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> one, other = (fw.Problem([[1.0], [2.0]], [1, -1], constraint=fw.L1Ball(radius)) for radius in (1.0, 2.0))
    >>> [name for name, digest in fingerprint(one).items() if fingerprint(other)[name] != digest]
    ['set']
    """
    side, data = problem.side, problem.source.identity(problem.samples)
    found = {name: digest(value) for name, value in data.items()}
    found |= {
        "loss": digest(problem.loss),
        "set": digest(problem.constraint),
        "intercept": "yes" if problem.intercept else "no",
    }
    found |= {} if problem.linear is None else {"linear term": digest(problem.linear)}
    return found if side is None else found | {"side constraints": digest((side.A, side.lower, side.upper))}
