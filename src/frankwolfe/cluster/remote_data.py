"""`RemoteData`: a data set on a cluster, which a problem holds instead of a matrix, with facts about its rows."""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.cluster.calls import Cluster
from frankwolfe.cluster.dask_shards import DaskShards
from frankwolfe.cluster.kept import Part, Posed
from frankwolfe.cluster.loading import chunks_of, client_at_hand
from frankwolfe.rows.centred import Centred
from frankwolfe.shards.interface import RemoteRows, RemoteSamples


def first_row(part: Part) -> np.ndarray:
    """Return the first row of a dense part."""
    values: np.ndarray = part.chunks[0].matrix[0]
    return values.astype(np.float64)


def sum_less(part: Part, first: np.ndarray) -> tuple:
    """Return ``sum_i weight_i (x_i - first)`` over the rows of a dense part, and the sum of the weights."""
    found = np.zeros(len(first))
    for chunk in part.chunks:
        found += Centred(chunk.matrix, first).add_all(chunk.weights, len(first))
    return found, sum(float(chunk.weights.sum()) for chunk in part.chunks)


def some_rows(part: Part, every: int) -> Any:
    """Return every ``every``-th row of each chunk of a part, as an array or a CSR array."""
    found = [chunk.matrix[::every] for chunk in part.chunks]
    if isinstance(found[0], np.ndarray):
        return np.concatenate(found)
    return sparse.vstack(found, format="csr")


def facts(part: Part) -> dict[str, Any]:
    """Return the facts about a part that the client needs to validate the data and to describe the problem."""
    chunks = part.chunks
    return {
        "rows": sum(len(chunk.weights) for chunk in chunks),
        "weight": float(sum(chunk.weights.sum() for chunk in chunks)),
        "largest_weight": max((float(chunk.weights.max()) for chunk in chunks), default=0.0),
        "largest_target": max((float(chunk.targets.max()) for chunk in chunks), default=0.0),
        "target_columns": {chunk.targets.shape[1] if chunk.targets.ndim > 1 else 0 for chunk in chunks},
        "entries": sum(stored_entries(chunk.matrix) for chunk in chunks),
        "layouts": {isinstance(chunk.matrix, np.ndarray) for chunk in chunks},
        "types": {str(chunk.matrix.dtype) for chunk in chunks},
        "fingerprints": [chunk.fingerprint for chunk in chunks],
        "digest": part.digest,
        "bytes": sum(chunk.bytes for chunk in chunks),
    }


def stored_entries(matrix: Any) -> int:
    """Return the number of stored entries."""
    return int(matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz)


@dataclass(frozen=True, eq=False)
class RemoteData:
    """Rows on a cluster, loaded and checked.

    Attributes
    ----------
    cluster : Cluster
        The parts of the data on the workers.
    shape : tuple of int
        Numbers of rows and columns.
    dtype : dtype
        Type of the values.
    nnz : int
        Number of stored entries.
    is_sparse : bool
        Whether rows are sparse.
    weight : float
        Sum of the weights of all rows.
    bytes : int
        Size in the workers' memory.
    fingerprint : str
        Hash of a sample of all chunks, which identifies the data.
    largest_target : float
        The largest target: for classes, the index of the last class.
    target_columns : int
        Number of columns of the targets; 0 if targets are a vector.
    """

    cluster: Cluster = field(repr=False)
    shape: tuple[int, int]
    dtype: np.dtype
    nnz: int
    is_sparse: bool
    weight: float
    bytes: int
    fingerprint: str
    largest_target: float
    target_columns: int

    @classmethod
    def load(cls, X: Any, y: Any, sample_weight: Any, loss: Any) -> "RemoteData":
        """Load the chunks of a dask collection, one part on each worker, and validate them there."""
        chunks = chunks_of(X, y, sample_weight, loss)
        cluster = Cluster(client_at_hand(), chunks)
        answers = cluster.ask("facts", facts)
        filled = [k for k, answer in enumerate(answers) if answer["rows"]]
        if not filled:
            raise ValueError("X is empty: none of its chunks has a row")
        found = [answers[k] for k in filled]
        cluster.keep_parts(filled, [answer["digest"] for answer in found], [answer["bytes"] for answer in found])
        rows = sum(answer["rows"] for answer in found)
        layouts = set().union(*(answer["layouts"] for answer in found))
        if len(layouts) > 1:
            raise TypeError("X has dense chunks and sparse ones: make them alike, e.g. with X.map_blocks(csr_array)")
        widths = set().union(*(answer["target_columns"] for answer in found))
        if len(widths) > 1:
            raise ValueError(f"y has {' and '.join(map(str, sorted(widths)))} columns in different chunks")
        weight = sum(answer["weight"] for answer in found)
        if not 0.0 < weight < np.inf:
            raise ValueError(f"sample_weight must have a positive, finite sum, got {weight:g}")
        digests = sorted(digest for answer in found for digest in answer["fingerprints"])
        types = set().union(*(answer["types"] for answer in found))
        return cls(
            cluster,
            (rows, chunks.columns),
            np.dtype("float64" if "float64" in types else "float32"),
            sum(answer["entries"] for answer in found),
            not layouts.pop(),
            weight,
            sum(answer["bytes"] for answer in found),
            blake2b("".join(digests).encode(), digest_size=16).hexdigest(),
            max(answer["largest_target"] for answer in found),
            widths.pop(),
        )

    def witness(self) -> np.ndarray:
        """Return a target from which a loss infers its number of outputs: a row of zeros, or the largest target."""
        return np.zeros((1, self.target_columns)) if self.target_columns else np.array([self.largest_target])

    def rows(self, outputs: int, centre: bool) -> RemoteRows:
        """Return a description of the rows; with ``centre``, dense columns are centred."""
        return RemoteRows(self.nnz, self.is_sparse, outputs, self._means() if centre and not self.is_sparse else None)

    def shards(self, samples: RemoteSamples, size: int) -> DaskShards:
        """Return what runs tasks on the rows, for ``size`` coefficients."""
        posed = Posed(samples.loss, samples.rows.outputs, size, self.weight, samples.rows.means)
        return DaskShards(self.cluster, self.cluster.handle(posed), samples.shape)

    @property
    def in_reach(self) -> bool:
        """Whether the client is connected to the cluster."""
        return self.cluster.client.status == "running"

    def some_rows(self, most: int) -> Any:
        """Return about ``most`` evenly spaced rows, or all if there are fewer, as an array or a CSR array."""
        found = self.cluster.ask("rows", some_rows, -(-self.shape[0] // most))
        return sparse.vstack(found, format="csr") if self.is_sparse else np.concatenate(found)

    def _means(self) -> np.ndarray:
        """Return the weighted column means.

        They are ``first + sum_i weight_i (x_i - first) / sum_i weight_i`` with the first row of the data. The mean of a
        constant column is therefore exact, without rounding.
        """
        first = self.cluster.ask("head", first_row)[0]
        total, weight = self.cluster.run("means", sum_less, first)
        return first + total / weight
