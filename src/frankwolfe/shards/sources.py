"""`DataSource`: one class for each place where rows can be, and all that a problem has to know of that place.

`source_of` chooses the source of ``X``. Everything above works with its members and never with
the type of ``X``. A new place is a new class, in a file of its own, and a line in `source_of`. Rows that this process
can read piece by piece need less: a subclass of `frankwolfe.store.sharded.ShardedRows`, which has a source already.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_matrix, as_targets, as_vector, as_weights, column_names
from frankwolfe.arguments.types import Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.compile.part import Opaque, is_part
from frankwolfe.linalg.matrices import evenly_spread
from frankwolfe.rows import Samples, as_rows
from frankwolfe.rows.dense import centred
from frankwolfe.shards.local import Local, Shards, Threads
from frankwolfe.store.sharded import ShardedRows

IN_MEMORY = "all rows in memory"
ONE_PROCESS = "all rows in this process"


class Refusal(NamedTuple):
    """A need of a method that some problems cannot serve: when, the fact as a clause, and what to use instead.

    ``when`` is a function of `frankwolfe.problem.requirements.Facts`, whose fields the two texts may name in braces.
    """

    need: str
    when: Callable[[Any], Any]
    fact: str
    instead: str


class LoadedData(NamedTuple):
    """Checked data.

    Attributes
    ----------
    source : DataSource
        Where the rows are now: those of a store that fits are in memory.
    samples : Samples or RemoteSamples
        Rows, targets, weights and loss as kernels take them.
    feature_names : list of str, or None
        Names of the columns, if there are any.
    """

    source: "DataSource"
    samples: Any
    feature_names: list[str] | None


class DataSource:
    """Rows, wherever they are. The members of this class are those of rows in memory.

    Parameters
    ----------
    X : object
        The rows as a user passes them.

    Attributes
    ----------
    X : object
        The rows as `Problem.X` shows them once they are loaded: they have ``shape``, ``dtype`` and, if sparse, ``nnz``.
    """

    name = "an array"
    """What messages call ``X``."""

    in_memory = ""
    """What loads rows into memory that may not be there, for messages."""

    needs: tuple[str, ...] = ()
    """What the source needs of a problem: phrases of `frankwolfe.problem.requirements`."""

    refusals: tuple[Refusal, ...] = ()
    """The needs of methods that the source cannot serve, and its own needs that some problems cannot serve."""

    is_lazy = False
    """Whether estimators return predictions as lazy collections, like ``X``."""

    is_checked = False
    """Whether the values were validated before, when they were stored."""

    default_batch: float | None = None
    """Default batch size of all methods, as a fraction of the rows. None for the method's own."""

    least_batch = 1
    """Smallest default batch size."""

    def __init__(self, X: TableLike):
        self.X = X

    @property
    def in_reach(self) -> bool:
        """Whether the rows can be read now. A cluster may have been closed."""
        return True

    @property
    def pieces(self) -> int:
        """Number of workers that have some of the rows."""
        return 1

    @property
    def most_batch(self) -> float:
        """Largest default batch size."""
        return np.inf

    def require_memory(self, who: str, instead: str = "") -> None:
        """Raise TypeError if the rows may not be in memory. ``instead`` says what else ``who`` could do."""
        if self.in_memory:
            more = f", or {instead}" if instead else ""
            raise TypeError(f"{who} needs rows in memory, but X is {self.name}: pass {self.in_memory}{more}")

    def load(self, y: TargetValues, sample_weight: RowNumbers, loss: Loss, centre: bool) -> LoadedData:
        """Check the data and load what can be loaded.

        Parameters
        ----------
        y, sample_weight : array, or None
            TargetValues and weights, as a user passes them.
        loss : loss
            The returned samples have ``loss.for_targets(targets)``.
        centre : bool
            Whether dense columns are centred, as they are if there is an intercept.
        """
        return self.loaded(as_matrix(self.X), y, sample_weight, loss, centre, column_names(self.X))

    def loaded(
        self, matrix: Any, y: TargetValues, sample_weight: RowNumbers, loss: Loss, centre: bool, names: list[str] | None
    ) -> LoadedData:
        """Return a checked matrix in memory with its targets and weights, which are checked here."""
        if y is None:
            raise TypeError("y is missing: pass the targets, one for each row of X")
        n = matrix.shape[0]
        targets = as_targets(y, n, loss)
        samples = memory_samples(matrix, targets, as_weights(sample_weight, n), loss.for_targets(targets), centre)
        return LoadedData(DataSource(matrix), samples, names)

    def with_offset(self, y: TargetValues, offset: Any, loss: Loss) -> Any:
        """Return targets and offsets as complex numbers (`frankwolfe.objective.offset`), for `load`."""
        if y is None:
            raise TypeError("y is missing: pass the targets, one for each row of X")
        n = np.shape(self.X)[0]
        return as_targets(y, n, loss) + 1j * as_vector("offset", offset, n, "rows in X")

    def samples_for_run(self, samples: Any) -> Any:
        """Return the samples for one run, with a count of reads of their own."""
        return samples

    def shards(self, samples: Any, size: int, executor: Threads | None = None) -> Shards:
        """Return what runs tasks on the rows of loaded samples, for ``size`` coefficients."""
        return Local(samples, size, executor)

    def head(self, count: int) -> Any:
        """Return the first rows, at most ``count``, as an array or a CSR array."""
        return self.X[:count]

    def some_rows(self, count: int) -> Any:
        """Return at most about ``count`` rows, evenly spread if possible, as an array or a CSR array."""
        return self.X[evenly_spread(self.X.shape[0], count)]

    def matrix(self) -> Any:
        """Return all rows as an array or a CSR array. Raise ValueError if they are not in memory."""
        return self.X

    def products(self, weights: np.ndarray) -> np.ndarray:
        """Return the products of all rows with the columns of a matrix."""
        return self.X @ weights

    def identity(self, samples: Any) -> Mapping[str, Any]:
        """Return what distinguishes the data from others, by what messages call it."""
        return {"data": samples.rows, "targets": samples.targets, "sample weights": samples.weights}

    def summary(self) -> list[tuple[str, str]]:
        """Return lines for the summary of a run: titles and texts. Empty for rows in memory."""
        return []


def source_of(X: TableLike) -> DataSource:
    """Return the source of ``X``: the one place that decides where rows are.

    Examples
    --------
    >>> source_of([[1.0], [2.0]]).name
    'an array'
    """
    from frankwolfe.cluster.dask_source import DaskSource
    from frankwolfe.shards.disk import ShardSource

    if isinstance(X, DataSource):
        return X
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):  # known without an import of dask
        return DaskSource(X)
    return ShardSource(X) if isinstance(X, ShardedRows) else DataSource(X)


def memory_samples(matrix: Any, targets: np.ndarray, weights: np.ndarray, loss: Loss, centre: bool) -> Samples:
    """Return checked data in memory as kernels take it, without a copy. With ``centre``, dense columns are centred."""
    rows = as_rows(matrix, loss.outputs)
    return Samples(centred(rows, weights) if centre else rows, targets, weights, loss)


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
    found |= {} if problem.linear is None else {"linear term": digest(problem.linear)}
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
