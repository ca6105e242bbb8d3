"""The data of a problem: where its rows are, and a fingerprint that identifies it."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.cluster.dask_source import DaskSource
from frankwolfe.compile.part import Opaque, is_part
from frankwolfe.shards.disk import ShardSource
from frankwolfe.shards.sources import DataSource
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

WHOLE = 2**24
"""Bytes of an array up to which all of it goes into a fingerprint."""

SAMPLED = 2**17
"""Entries of a larger array that do, evenly spaced."""


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
    return found if side is None else found | {"side constraints": digest((side.A, side.lower, side.upper))}


def digest(value: Any) -> str:
    """Return a fingerprint of a part, with all that is in it: names of classes, numbers and arrays.

    Of Python objects only the name of their class is known.
    """
    found = blake2b(digest_size=16)
    for piece in _pieces(value):
        found.update(piece)
        found.update(b";")
    return found.hexdigest()


def _pieces(value: Any) -> Iterator[bytes | memoryview]:
    """Yield what distinguishes a value from others, as bytes."""
    if isinstance(value, Opaque):
        yield from _pieces(value.comparable())
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype.str}{value.shape}".encode()
        flat = np.ascontiguousarray(value).reshape(-1)
        if value.nbytes > WHOLE:
            flat = flat[np.linspace(0, flat.size - 1, SAMPLED).astype(np.int64)]
        yield memoryview(flat).cast("B")
    elif sparse.issparse(value):
        csr = sparse.csr_array(value)
        yield from _pieces((csr.shape, csr.data, csr.indices, csr.indptr))
    elif isinstance(value, tuple):
        yield f"{type(value).__qualname__}{len(value)}".encode() if is_part(value) else b"tuple"
        for entry in value:
            yield from _pieces(entry)
    elif value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
        yield repr(value.item() if isinstance(value, np.generic) else value).encode()
    else:
        yield type(value).__qualname__.encode()
