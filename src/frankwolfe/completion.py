"""Matrix completion: a matrix of small trace norm from some of its entries."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from frankwolfe.arguments.arrays import as_targets, as_weights
from frankwolfe.arguments.names import as_budget, teaching
from frankwolfe.arguments.types import ConstraintSet, Loss, RowNumbers, Weights
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.losses import as_loss
from frankwolfe.problem import Problem
from frankwolfe.rows import Samples
from frankwolfe.rows.observed_entries import Factored, Factors, ObservedEntries, as_places, as_triplets, in_order
from frankwolfe.sets.spectral import SampledTraceBall, TraceBall, checked_shape
from frankwolfe.shards.sources import DataSource


@dataclass(frozen=True, eq=False)
class Offsets:
    """A prediction of the entries before any matrix of low rank: ``mean + rows[i] + columns[j]``.

    Examples
    --------
    >>> Offsets(3.0, np.array([0.5, 0.0]), np.array([0.0, -1.0])).at([0, 1], [1, 1])
    array([2.5, 2. ])
    """

    mean: float
    rows: np.ndarray
    columns: np.ndarray

    def at(self, rows: Any, columns: Any) -> np.ndarray:
        """Return the predictions of the entries at these rows and columns."""
        return self.mean + self.rows[np.asarray(rows)] + self.columns[np.asarray(columns)]

    @classmethod
    def none(cls, shape: tuple[int, int]) -> "Offsets":
        """Return offsets that are zero."""
        return cls(0.0, np.zeros(shape[0]), np.zeros(shape[1]))

    @classmethod
    def fitted(
        cls, entries: ObservedEntries, values: np.ndarray, weights: np.ndarray, columns: int, damping: float
    ) -> "Offsets":
        """Fit offsets by least squares with a penalty, so that those with few entries stay small.

        The penalty is ``damping`` times the sum of squared offsets, where an entry counts as the mean of the weights
        that are not zero. A row or column without entries has the offset zero.
        """
        rows, n = len(entries.starts) - 1, np.count_nonzero(weights)
        mean, by_row, by_column = float(values @ weights), np.zeros(rows), np.zeros(columns)
        row_counts = np.bincount(entries.rows, weights, rows) + damping / n
        column_counts = np.bincount(entries.columns, weights, columns) + damping / n
        row_counts[row_counts == 0.0], column_counts[column_counts == 0.0] = 1.0, 1.0
        spread = float(np.abs(values - mean).max())
        for _ in range(100):
            before = by_row, by_column
            rest = weights * (values - mean - by_column[entries.columns])
            by_row = np.bincount(entries.rows, rest, rows) / row_counts
            rest = weights * (values - mean - by_row[entries.rows])
            by_column = np.bincount(entries.columns, rest, columns) / column_counts
            moved = max(np.abs(by_row - before[0]).max(), np.abs(by_column - before[1]).max())
            if moved <= 1e-9 * spread:
                break
        return cls(mean, by_row, by_column)


class CompletionProblem(Problem):
    """A `Problem` whose weights are a matrix of low rank (`Factors`) and whose rows are its observed entries.

    `completion_problem` makes it. A gradient has one number for each entry.

    Attributes
    ----------
    entries : ObservedEntries
        Places of the observed entries, sorted by row and column.
    offsets : Offsets
        The predictions that were subtracted from the targets.
    """

    def __init__(self, samples: Samples, shape: tuple[int, int], radius: float, offsets: Offsets):
        self.entries, self.offsets = samples.rows, offsets
        self._shape, self.factored = shape, True
        self._samples, self._loss = samples, samples.loss
        self._source = DataSource(self.entries.matrix(samples.targets, shape[1]))
        self._constraint = SampledTraceBall(radius, shape[1], self.entries)

    @property
    def n(self) -> int:
        """Number of observed entries."""
        return len(self.entries.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the matrix."""
        return self._shape

    @property
    def size(self) -> int:
        """Number of entries that a gradient has."""
        return self.n

    @property
    def design(self) -> Any:
        """The observed entries, as a sparse matrix of their targets."""
        return self.X

    def __repr__(self) -> str:
        p, q = self._shape
        return f"CompletionProblem({p} x {q}, {self.n} entries, {type(self.loss).__name__}, TraceBall)"

    def predict(self, w: Factors, rows: Any, columns: Any) -> np.ndarray:
        """Return predicted entries, offsets included. A row or column that was never observed has offsets only.

        Parameters
        ----------
        w : Factors
            For instance ``result.x``.
        rows, columns : arrays of int
            Within the shape of the matrix.
        """
        places = [
            as_places(name, index, side)
            for name, index, side in zip(("rows", "columns"), (rows, columns), self._shape, strict=True)
        ]
        if len(places[0]) != len(places[1]):
            raise ValueError(f"{len(places[0])} rows and {len(places[1])} columns: there must be as many")
        return self.offsets.at(*places) + w.at(*places)

    def zero(self) -> Factors:
        """Return the zero matrix."""
        return Factors(np.zeros((self._shape[0], 0)), np.zeros((self._shape[1], 0)))

    def flat(self, name: str, w: Weights) -> Factors:
        """Return weights as checked factors; a whole matrix is decomposed."""
        if not isinstance(w, Factors):
            matrix = np.asarray(w, dtype=np.float64)
            if matrix.shape != self._shape:
                raise ValueError(f"{name} must be Factors or a matrix of shape {self._shape}, got shape {matrix.shape}")
            if not np.isfinite(matrix).all():
                raise ValueError(f"{name} holds NaN or infinity")
            left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
            kept = sizes > 1e-14 * sizes[0]
            w = Factors((left * sizes)[:, kept], right.T[:, kept])
        if w.shape != self._shape:
            raise ValueError(f"{name} must have shape {self._shape}, got {w.shape}")
        if not (np.isfinite(w.left).all() and np.isfinite(w.right).all()):
            raise ValueError(f"{name} holds NaN or infinity")
        return w

    def shaped(self, w: Factors) -> Factors:
        """Return the weights as they are."""
        return w

    def point(self, w: Factors) -> Factored:
        """Return the point ``w`` in the form that kernels take."""
        return Factored.at(w, self.entries)

    def first_iterate(self, w: Factors) -> tuple[Any, np.ndarray]:
        """Return an iterate at ``w``, and an array for a gradient."""
        return self.point(w), np.empty(self.n)

    def head(self, rows: int) -> "CompletionProblem":
        """Return the problem of the first few entries."""
        few = self.samples.block(slice(0, rows))
        return CompletionProblem(few, self._shape, self._constraint.radius, self.offsets)

    def barrier(self) -> None:
        """Return None: no barrier is known for weights in factors."""

    def inner(self, gradient: np.ndarray, w: Factors) -> float:
        """Return the inner product of a gradient and weights."""
        return float(gradient @ self.entries.dot_all(w))

    def factors(self, w: Factors) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the singular value decomposition of the weights, without zeros."""
        return w.decomposed()

    def assemble(self, left: np.ndarray, right: np.ndarray) -> Factors:
        """Return the matrix ``left right'`` as weights."""
        return Factors(left, right)


@teaching
@single_threaded
def completion_problem(
    rows: Any,
    columns: Any = None,
    values: Any = None,
    shape: Any = None,
    *,
    constraint: ConstraintSet = None,
    loss: Loss = "squared",
    offsets: bool | Offsets | None = None,
    damping: float = 5.0,
    sample_weight: RowNumbers = None,
) -> CompletionProblem:
    """Return the problem of completing a matrix from observed entries, over a ball of the trace norm.

    Parameters
    ----------
    rows, columns, values : arrays of shape (n,)
        Places and values of the entries. Or only ``rows``: a sparse matrix, whose stored values are the entries.
    shape : tuple of two ints, optional
        Shape of the matrix; by default the smallest that contains the entries.
    constraint : TraceBall
        For instance ``fw.TraceBall(1000.0)``.
    loss : str or loss
        Any loss of one output, the non-convex ones included.
    offsets : bool or Offsets, optional
        Whether to subtract the mean and damped offsets of rows and columns from the values first, or the offsets to
        subtract. True by default, unless the loss takes labels.
    damping : float
        Each offset is fitted with this many additional zeros.
    sample_weight : array of shape (n,), optional
        Non-negative weights; only their proportions matter.

    Returns
    -------
    CompletionProblem

    Examples
    --------
    >>> import frankwolfe as fw
    >>> rows, columns, values = [0, 0, 1, 2], [0, 1, 1, 0], [5.0, 3.0, 4.0, 1.0]
    >>> problem = fw.completion_problem(rows, columns, values, (3, 2), constraint=fw.TraceBall(4.0))
    >>> result = fw.minimize(problem, tol=1e-3)
    >>> problem.predict(result.x, [1], [0]).shape
    (1,)
    """
    if not isinstance(constraint, TraceBall):
        raise TypeError(
            f"constraint must be a fw.TraceBall, e.g. fw.TraceBall(1000.0), got {type(constraint).__name__}"
        )
    loss = as_loss(loss)
    if loss.is_vector:
        raise ValueError(f"completion_problem takes a loss of one output, such as 'squared', not {type(loss).__name__}")
    rows, columns, values, sides = as_triplets(rows, columns, values, checked_shape("completion_problem", shape))
    if constraint.shape not in (None, sides):
        raise ValueError(f"constraint is for matrices of shape {constraint.shape}, but the shape is {sides}")
    entries, order = in_order(rows, columns, sides)
    targets = as_targets(values, len(rows), loss)[order]
    weights = as_weights(sample_weight, len(rows))[order]
    del rows, columns, values, order  # large
    offsets = _as_offsets(offsets, loss, sides)
    if not isinstance(offsets, Offsets):
        offsets = Offsets.fitted(entries, targets, weights, sides[1], as_budget("damping", damping))
    targets -= offsets.at(entries.rows, entries.columns)
    return CompletionProblem(Samples(entries, targets, weights, loss), sides, constraint.radius, offsets)


def _as_offsets(offsets: RowNumbers, loss: Loss, shape: tuple[int, int]) -> Any:
    """Return the given offsets, checked; True if they are to be fitted."""
    labels = loss.targets == "labels"
    if offsets is None:
        offsets = not labels
    if not isinstance(offsets, bool | Offsets):
        raise TypeError(f"offsets must be True, False or Offsets, got {type(offsets).__name__}")
    if offsets is False:
        return Offsets.none(shape)
    if labels:
        raise ValueError(
            f"offsets cannot be subtracted from the labels that {type(loss).__name__} takes: offsets=False"
        )
    if isinstance(offsets, Offsets) and (len(offsets.rows), len(offsets.columns)) != shape:
        raise ValueError(
            f"offsets are for a matrix of shape {(len(offsets.rows), len(offsets.columns))}, but the shape is {shape}"
        )
    return offsets
