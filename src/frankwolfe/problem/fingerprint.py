"""Fingerprints: what tells one problem, or method, from another, in a few characters."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.part import is_part
from frankwolfe.problem.problem import Problem
from frankwolfe.shards.disk import StoredRows

WHOLE = 2**24
"""Bytes of an array up to which all of it goes into a fingerprint."""

SAMPLED = 2**17
"""Entries of a larger array that do, evenly spaced."""


def fingerprint(problem: Problem) -> dict[str, str]:
    """Return a fingerprint of each thing that a problem is made of.

    Large arrays are sampled: a change of a few entries among millions may go unnoticed, other data does not.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> one, other = (fw.Problem([[1.0], [2.0]], [1, -1], constraint=fw.L1Ball(radius)) for radius in (1.0, 2.0))
    >>> [name for name, digest in fingerprint(one).items() if fingerprint(other)[name] != digest]
    ['set']
    """
    samples, side = problem.samples, problem.side
    if problem.on_cluster:  # the workers told, with targets and weights in it
        found = {"data": problem.X.fingerprint}
    else:
        found = {
            "data": digest(samples.rows),
            "targets": digest(samples.targets),
            "sample weights": digest(samples.weights),
        }
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
    """Yield what tells a value from others, as bytes."""
    if isinstance(value, Opaque):
        yield from _pieces(value.comparable())
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype.str}{value.shape}".encode()
        flat = np.ascontiguousarray(value).reshape(-1)
        if value.nbytes > WHOLE:
            flat = flat[np.linspace(0, flat.size - 1, SAMPLED).astype(np.int64)]
        yield memoryview(flat).cast("B")
    elif isinstance(value, StoredRows):
        yield value.store.manifest.text().encode()  # with the checksums of all files
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
