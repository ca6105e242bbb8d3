"""What a problem is made of, and how it keeps its weights."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_vector
from frankwolfe.linalg.matrices import evenly_spread
from frankwolfe.linalg.singular import rank_of
from frankwolfe.objective.intercept import is_shifted
from frankwolfe.problem.linear_bounds import LinearBounds
from frankwolfe.rows.iterate import Iterate
from frankwolfe.sets.barriers import Barrier
from frankwolfe.sets.base import vertex_of
from frankwolfe.shards.remote_rows import RemoteRows
from frankwolfe.store.reader import RowStore


class PosedProblem:
    """Data, loss and set, and weights over them: flat vectors here, factors of a matrix elsewhere."""

    _X: Any
    _loss: Any
    _outputs: int
    _constraint: Any
    _samples: Any  # Samples, or what stands for them where rows are on a cluster
    _side: LinearBounds | None = None
    _feature_names: list[str] | None = None
    factored: bool = False  # whether weights are kept as factors of a matrix

    @property
    def n(self) -> int:
        """Number of rows."""
        return self._X.shape[0]

    @property
    def d(self) -> int:
        """Number of columns."""
        return self._X.shape[1]

    @property
    def outputs(self) -> int:
        """Number of columns of the weight matrix, for losses of several outputs; 0 where weights are a vector."""
        return self._outputs

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weights: ``(d,)``, or ``(d, outputs)``."""
        return (self.d, self.outputs) if self.outputs else (self.d,)

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.d * max(1, self.outputs)

    @property
    def X(self) -> Any:
        """The data, as an array or a CSR array; the store, where it is larger than memory."""
        return self._X

    @property
    def on_cluster(self) -> bool:
        """Whether the rows are on the workers of a cluster."""
        return isinstance(self._samples.rows, RemoteRows)

    @property
    def in_reach(self) -> bool:
        """Whether the rows can be read: a cluster may have been closed."""
        return not self.on_cluster or self._X.in_reach

    def some_rows(self, most: int) -> Any:
        """Return at most so many rows, as an array or a CSR array: evenly spread ones, or the first of a store."""
        if self.on_cluster:
            return self._X.some_rows(most)
        if isinstance(self._X, RowStore):
            return self._X.head(most)
        return self._X[evenly_spread(self.n, most)]

    @property
    def pieces(self) -> int:
        """In how many places the rows are: the parts on a cluster, else one."""
        return len(self._X.cluster.parts) if self.on_cluster else 1

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns, if the data was a frame that has them."""
        return self._feature_names

    @property
    def design(self) -> Any:
        """The matrix that maps flat weights to flat predictions: ``X`` itself, or with several outputs a larger one."""
        if self.on_cluster:
            raise ValueError("this needs all rows in memory, and they are on the workers of a cluster")
        if isinstance(self._X, RowStore):
            raise ValueError(
                f"this needs all rows in memory, and {self._X.path} does not fit: open it with more memory"
            )
        return sparse.kron(self._X, sparse.eye_array(self.outputs), format="csr") if self.outputs else self._X

    @property
    def y(self) -> np.ndarray:
        """The targets; where rows are on a cluster, they are there too."""
        if self.on_cluster:
            raise ValueError(
                "the targets are on the workers of the cluster, and stay there: keep the y that you passed"
            )
        return self._samples.targets

    @property
    def loss(self) -> Any:
        """The loss."""
        return self._loss

    @property
    def intercept(self) -> bool:
        """Whether there is a free intercept."""
        return is_shifted(self._samples.loss)

    @property
    def constraint(self) -> Any:
        """The constraint set, fitted to the number of columns."""
        return self._constraint

    @property
    def side(self) -> LinearBounds | None:
        """Side constraints beside those of the set, if there are any."""
        return self._side

    @property
    def needs_smoothing(self) -> bool:
        """Whether only methods that smooth can run: the loss has a kink, or there are side constraints."""
        return self._side is not None or not self._loss.smooth

    def violation(self, w: Any) -> float:
        """Return the largest relative violation of a side constraint (`LinearBounds.violation`); zero without any."""
        return 0.0 if self._side is None else self._side.violation(self.flat("w", w))

    @property
    def samples(self) -> Any:
        """Rows, targets, weights and loss, as kernels take them."""
        return self._samples

    # --- how weights are kept -------------------------------------------------------------------------------------

    def flat(self, name: str, w: Any) -> Any:
        """Return weights as a checked flat vector; ``name`` is what messages call them."""
        if not self.outputs:
            return as_vector(name, w, self.d, "columns in X")
        if np.ndim(w) == 2 and np.shape(w) != self.shape:
            raise ValueError(f"{name} must have shape {self.shape} (columns in X, outputs), got {np.shape(w)}")
        return as_vector(name, np.ravel(w), self.size, f"weights, {self.d} columns in X times {self.outputs} outputs")

    def inner(self, gradient: np.ndarray, w: Any) -> float:
        """Inner product of a gradient with flat weights."""
        return float(gradient @ w)

    def zero(self) -> Any:
        """Weights that are all zero, as they are kept."""
        return np.zeros(self.size)

    def shaped(self, w: Any) -> Any:
        """Return weights as they are kept in the shape that users see."""
        return w.reshape(self.shape)

    def point(self, w: Any) -> Any:
        """Return ``w`` as kernels take a point."""
        return Iterate.at(w)

    def first_iterate(self, w: Any) -> tuple[Any, np.ndarray]:
        """Return an iterate at ``w``, and room for a gradient."""
        v, r = self._samples.rows.vectors(self.size)
        v[:] = w
        return Iterate(v, np.ones(1)), r

    def factors(self, w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Singular value decomposition of the weights, as the matrix that the set takes them for: without zeros."""
        left, sizes, right = np.linalg.svd(self._constraint.structure().trace_norm.matrix(w), full_matrices=False)
        kept = sizes > 1e-14 * max(sizes[0], 1e-300)
        return left[:, kept], sizes[kept], right.T[:, kept]

    def complexity(self, w: Any) -> int:
        """Rank of the weights where the set is known by it (a trace-norm ball), else their number of non-zeros."""
        if self._constraint.structure().trace_norm is not None:
            return rank_of(self.factors(w)[1])
        return int(np.count_nonzero(w))

    def assemble(self, left: np.ndarray, right: np.ndarray) -> Any:
        """Weights that are the matrix ``left right'``."""
        return (left @ right.T).ravel()

    def barrier(self) -> Barrier | None:
        """Barrier of the set, for weights as they are kept here; None if it has none."""
        return self._constraint.barrier(self.size)

    def default_start(self) -> Any:
        """Where a run starts when it is not told: zero if that is feasible, else a vertex."""
        zero = self.zero()
        return zero if self._constraint.contains(zero) else vertex_of(self._constraint, zero)
