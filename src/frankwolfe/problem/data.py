"""The data of a problem: loaded from memory, a store or a cluster, and identified by a fingerprint."""

from collections.abc import Iterator
from hashlib import blake2b
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_targets, as_weights, column_names
from frankwolfe.compile.part import Opaque, is_part
from frankwolfe.objective.intercept import shifted
from frankwolfe.problem.requirements import DASK, Facts, is_on_cluster, refuse
from frankwolfe.rows.centred import centred
from frankwolfe.rows.samples import Samples
from frankwolfe.shards.disk import StoredRows, rows_of
from frankwolfe.shards.interface import RemoteSamples, Shards
from frankwolfe.store.reader import RowStore


class LoadedData(NamedTuple):
    """Checked data.

    Attributes
    ----------
    X : array, CSR array, RowStore or RemoteData
        The rows: in memory, in a store that is larger than memory, or on a cluster.
    feature_names : list of str, or None
        Names of the columns, if there are any.
    loss : loss
        Fitted to the targets.
    samples : Samples or RemoteSamples
        Rows, targets, weights and loss as kernels take them.
    shards : Shards, optional
        Where the rows are, if they are on a cluster.
    """

    X: Any
    feature_names: list[str] | None
    loss: Any
    samples: Any
    shards: Shards | None = None


def load(X: Any, y: Any, sample_weight: Any, loss: Any, intercept: bool, side: bool) -> LoadedData:
    """Check the data of a problem; ``side`` says whether the problem has side constraints."""
    if is_on_cluster(X):
        refuse("a dask collection", DASK, Facts(loss, side=side))
        return _load_on_cluster(X, y, sample_weight, loss, intercept)
    if isinstance(X, RowStore):
        matrix, names = X.matrix() if X.fits else X, X.feature_names
        y = stored_targets(X, loss) if y is None else y
        sample_weight = X.sample_weight if sample_weight is None else sample_weight
    else:
        matrix, names = as_matrix(X), column_names(X)
    if y is None:
        raise TypeError("y is missing: pass the targets, one for each row of X")
    targets = as_targets(y, matrix.shape[0], loss)
    loss = loss.for_targets(targets)
    return LoadedData(
        matrix, names, loss, samples_of(matrix, targets, as_weights(sample_weight, len(targets)), loss, intercept)
    )


def _load_on_cluster(X: Any, y: Any, sample_weight: Any, loss: Any, intercept: bool) -> LoadedData:
    """Load a dask collection on the workers of its cluster, where the rows stay."""
    if find_spec("distributed") is None:
        raise ImportError("X is a dask collection, and this needs dask.distributed: pip install 'frankwolfe[dask]'")
    from frankwolfe.cluster.remote_data import RemoteData

    data = RemoteData.load(X, y, sample_weight, loss)
    loss = loss.for_targets(data.witness())
    rows, shards = data.posed(loss, loss.outputs, intercept)
    samples = RemoteSamples(rows, data.shape[0], shifted(loss) if intercept else loss)
    return LoadedData(data, column_names(X), loss, samples, shards)


def samples_of(matrix: Any, targets: np.ndarray, weights: np.ndarray, loss: Any, intercept: bool) -> Samples:
    """Return checked data as kernels take it; with an intercept, columns are centred and the loss has a shift."""
    rows = rows_of(matrix, loss.outputs)
    if not intercept:
        return Samples(rows, targets, weights, loss)
    rows = rows.centred(weights) if isinstance(rows, StoredRows) else centred(rows, weights)
    return Samples(rows, targets, weights, shifted(loss))


def samples_for_run(samples: Samples, loss: Any, intercept: bool) -> Samples:
    """Return the same samples with an intercept, and a count of reads from disk, of their own."""
    rows = samples.rows.for_run() if isinstance(samples.rows, StoredRows) else samples.rows
    return samples._replace(rows=rows, loss=shifted(loss) if intercept else samples.loss)


def first_rows(X: Any, most: int) -> Any:
    """Return the first rows of an array, a CSR array or a store."""
    return X.head(most) if isinstance(X, RowStore) else X[:most]


def stored_targets(store: RowStore, loss: Any) -> np.ndarray:
    """Return the targets of a store as a loss takes them: of two classes the first is -1 and the second +1."""
    if store.y is None:
        raise ValueError(f"{store.path} holds no targets: pass y, or write them with fw.write_rows")
    if store.classes is None:
        try:
            return as_targets(store.y, store.shape[0], loss)
        except ValueError as error:
            raise ValueError(f"the targets in {store.path} do not go with this loss: {error}") from None
    if loss.targets == "classes":
        return store.y
    count, kind = len(store.classes), type(loss).__name__
    if loss.targets != "labels":
        raise ValueError(f"{store.path} holds {count} classes for targets, and {kind} takes numbers: pass y")
    if count != 2:
        raise ValueError(f"{store.path} holds {count} classes for targets, and {kind} takes two: use 'multinomial'")
    return 2.0 * store.y - 1.0


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
    samples, side = problem.samples, problem.side
    if problem.on_cluster:  # computed by the workers, targets and weights included
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
    """Yield what distinguishes a value from others, as bytes."""
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
