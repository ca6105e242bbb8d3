"""`MatrixCompletion`: predict the unseen entries of a matrix."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from frankwolfe.arguments.arrays import as_raw_weights, checked_sparse
from frankwolfe.arguments.names import teaching
from frankwolfe.arguments.types import Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.completion import completion_problem
from frankwolfe.estimators.base import CertifiedEstimator
from frankwolfe.losses import Squared, as_loss
from frankwolfe.problem.requirements import require_memory
from frankwolfe.problem.rules import ColumnNames
from frankwolfe.sets.named import DEFAULT_RADIUS, as_constraint


class Entries(NamedTuple):
    """Observed entries of a matrix: ids of their rows and columns, values and weights."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    weights: np.ndarray

    def seen(self) -> "Entries":
        """Return the entries of positive weight."""
        kept = self.weights > 0.0
        if not kept.any():
            raise ValueError("sample_weight must have a positive sum: all weights are zero")
        return Entries(*(field[kept] for field in self))

    def merged(self) -> "Entries":
        """Merge repeated entries: for squared errors they equal their mean with the sum of their weights."""
        places, at = np.unique(np.column_stack([self.rows, self.columns]), axis=0, return_inverse=True)
        weights = np.bincount(at, self.weights)
        return Entries(places[:, 0], places[:, 1], np.bincount(at, self.weights * self.values) / weights, weights)


def _plain(column: np.ndarray) -> np.ndarray:
    """Convert an array of objects to one of numbers or strings."""
    return np.array(column.tolist()) if column.dtype == object else column


def _places(ids: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return the index of each id among the sorted ones, -1 for those that are not there."""
    column = _plain(column)
    if (column.dtype.kind in "US") != (ids.dtype.kind in "US"):
        raise TypeError(f"ids such as {column[0]!r}, but those seen in fit were such as {ids[0]!r}: use the same type")
    at = np.minimum(np.searchsorted(ids, column), len(ids) - 1)
    return np.where(ids[at] == column, at, -1)


class MatrixCompletion(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RegressorMixin, CertifiedEstimator):
    """Complete a matrix from some of its entries: offsets of rows and columns, plus a matrix of bounded trace norm.

    A sample is a pair of ids, for instance of a user and an item, and its target is the entry, for instance a rating.
    Ids may be numbers or strings. If the user or the item was never seen, the prediction is the mean plus the offset of
    the one that was.

    Parameters
    ----------
    radius : float or "auto"
        Largest trace norm of the matrix; ``"auto"`` is 10.
    columns : tuple of two ints, or of two names
        The columns of ``X`` with the ids of the matrix's rows and columns, by number, or by name for a data frame.
        Other columns, such as timestamps, are not read.
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, or an object. With ``"squared"`` an entry may be given
        more than once.
    offsets : bool
        Whether to fit a mean and offsets of rows and columns first. Otherwise unseen ids are predicted as zero.
    damping : float
        Each offset is fitted with this many additional zeros.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero matrix.
    max_passes : float or None
        Budget, in passes over the entries.
    random_state : int, RandomState, Generator or None
        Seed of the stochastic methods.
    n_jobs : int, optional
        Number of threads that share the entries; None and -1 mean all cores. The result does not depend on it.
    verbose : int
        Above 0: show progress (needs tqdm) and keep the trace.

    Attributes
    ----------
    row_ids_, column_ids_ : array
        The ids that were seen, sorted.
    row_factors_, column_factors_ : array of shape (ids, rank)
        Factors: the product of row ``i`` and column ``j`` is added to the offsets.
    offsets_ : Offsets
        Mean and offsets, in the order of the ids.
    rank_ : int
        Rank of the matrix.
    gap_ : float
        Proven gap: the objective is at most this far above its minimum.
    n_iter_ : int
        Steps made.
    passes_ : float
        Passes over the entries.
    result_ : Result
        The run.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : array
        Their names, if they had any.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X = [["ann", "tea"], ["ann", "milk"], ["bob", "tea"], ["eve", "milk"]]
    >>> model = fw.MatrixCompletion(radius=2.0).fit(X, [5.0, 3.0, 4.0, 1.0])
    >>> model.predict([["nobody", "nothing"]])
    array([3.25])
    """

    @teaching
    def __init__(
        self,
        radius: float | str = "auto",
        *,
        columns: tuple[int, int] | tuple[str, str] = (0, 1),
        loss: Loss = "squared",
        offsets: bool = True,
        damping: float = 5.0,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.radius = radius
        self.columns = columns
        self.loss = loss
        self.offsets = offsets
        self.damping = damping

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.regressor_tags.poor_score = True  # columns of measurements instead of ids have nothing to learn from
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.rank_

    def fit(self, X: TableLike, y: TargetValues = None, sample_weight: RowNumbers = None) -> "MatrixCompletion":
        """Fit offsets and factors.

        Parameters
        ----------
        X : array or data frame of shape (n, 2 or more), or sparse matrix
            Pairs of ids; or a sparse matrix whose stored values are the entries and whose ids are row and column
            numbers.
        y : array of shape (n,)
            Entries; None for a sparse matrix.
        sample_weight : array of shape (n,), optional
            Non-negative weights; entries of weight zero count as unseen. The offsets ignore the weights.

        Returns
        -------
        self
        """
        require_memory(X, "MatrixCompletion")
        if self.radius is None:
            raise ValueError("radius must be a number or 'auto', got None: without a budget nothing unseen is learnt")
        radius: Any = DEFAULT_RADIUS if isinstance(self.radius, str) and self.radius == "auto" else self.radius
        loss = as_loss(self.loss)
        table = self._read(X, y, sample_weight).seen()
        self.row_ids_, rows = np.unique(table.rows, return_inverse=True)
        self.column_ids_, columns = np.unique(table.columns, return_inverse=True)
        table = table._replace(rows=rows, columns=columns)
        table = table.merged() if isinstance(loss, Squared) else table
        shape = len(self.row_ids_), len(self.column_ids_)
        problem = completion_problem(
            *table[:3],
            shape,
            constraint=as_constraint("trace", radius, *shape),
            loss=loss,
            offsets=bool(self.offsets),
            damping=self.damping,
            sample_weight=table.weights,
        )
        (found,) = self._minimized([problem], [None])
        self.offsets_, self.rank_ = problem.offsets, found.rank
        left, sizes, right = (part[..., : self.rank_] for part in found.x.decomposed())
        self.row_factors_, self.column_factors_ = left * np.sqrt(sizes), right * np.sqrt(sizes)
        return self

    def _read(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> Entries:
        """Return the entries, from pairs of ids or from a sparse matrix."""
        if sparse.issparse(X):
            if y is not None:
                raise TypeError("a sparse matrix X holds the entries itself: leave y out, or pass pairs of ids as X")
            entries = sparse.coo_array(checked_sparse("X", X))
            self.n_features_in_ = 2
            (rows, columns), y = entries.coords, entries.data.astype(np.float64)
        else:
            X, y = validate_data(self, X, y, dtype=None, ensure_min_features=2, y_numeric=True)
            rows, columns, y = *self._ids(X), column_or_1d(y, warn=True)
        return Entries(rows, columns, y, as_raw_weights(sample_weight, len(y)))

    def _ids(self, X: np.ndarray) -> list[np.ndarray]:
        """Return the two columns of ids."""
        if isinstance(self.columns, str) or np.shape(self.columns) != (2,):
            raise ValueError(f"columns must be two column numbers or names of X, got {self.columns!r}")
        names = ColumnNames(vars(self).get("feature_names_in_"), X.shape[1])
        at = [names.find(column, f"columns={self.columns!r}") for column in self.columns]
        if at[0] == at[1]:
            raise ValueError(f"columns must be two different columns of X, got {self.columns!r}")
        return [_plain(X[:, number]) for number in at]

    def _known(self, X: TableLike) -> list[np.ndarray]:
        """Return the indices of the row and column ids, -1 for those never seen."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, reset=False)
        seen = (self.row_ids_, self.column_ids_)
        return [_places(ids, column) for ids, column in zip(seen, self._ids(X), strict=True)]

    def predict(self, X: TableLike) -> np.ndarray:
        """Return predicted entries; for ids never seen, the mean and the known offset.

        Parameters
        ----------
        X : array or data frame of shape (n, 2 or more)
            Pairs of ids.

        Returns
        -------
        array of shape (n,)
        """
        rows, columns = self._known(X)
        row_seen, column_seen = rows >= 0, columns >= 0
        offsets = self.offsets_
        products = np.einsum("ir,ir->i", self.row_factors_[rows], self.column_factors_[columns])
        return (
            offsets.mean
            + np.where(row_seen, offsets.rows[rows], 0.0)
            + np.where(column_seen, offsets.columns[columns], 0.0)
            + np.where(row_seen & column_seen, products, 0.0)
        )

    def transform(self, X: TableLike) -> np.ndarray:
        """Return the factors of the rows (users) in the pairs; zeros for those never seen.

        Parameters
        ----------
        X : array or data frame of shape (n, 2 or more)
            Pairs of ids.

        Returns
        -------
        array of shape (n, rank)
        """
        rows, _ = self._known(X)
        return np.where(rows[:, None] >= 0, self.row_factors_[rows], 0.0)
