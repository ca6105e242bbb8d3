"""What the linear estimators share: from parameters to problems, from results to coefficients."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from frankwolfe.advice import advice_on
from frankwolfe.arguments.arrays import FLOATS, checked_sparse, refuse_dates
from frankwolfe.estimators.certified import CertifiedEstimator
from frankwolfe.problem import Problem
from frankwolfe.problem.on_cluster import is_on_cluster
from frankwolfe.result import Result
from frankwolfe.sets.named import as_constraint, carried
from frankwolfe.shards.disk import StoredRows
from frankwolfe.store.reader import RowStore


class LinearModel(CertifiedEstimator, ABC):
    """A linear model over a constraint set. Who inherits it says how targets, loss and set follow from parameters."""

    fit_intercept: bool
    warm_start: bool
    constraint: Any
    radius: Any
    coef_: Any
    intercept_: Any
    _ends: list[tuple[Any, np.ndarray]] | None = None  # sets and answers of the last fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- data -------------------------------------------------------------------------------------------------

    def _training_data(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, Any]:
        """Return what `fit` is given, checked; unless ``reset``, against the features of what was fitted before."""
        if isinstance(X, RowStore):
            return self._stored_data(X, y)
        refuse_dates(X)  # scikit-learn would take them for numbers of nanoseconds
        checks = self._target_checks()
        X = checked_sparse("X", X)  # before anything is converted
        return validate_data(self, X, y, accept_sparse="csr", dtype=list(FLOATS), order="C", reset=reset, **checks)

    def _stored_data(self, store: RowStore, y: Any) -> tuple[Any, Any]:
        """Return a store, or its rows where they fit into memory, and the targets: its own if there are no others."""
        if y is None:
            if store.y is None:
                raise ValueError(f"{store.path} holds no targets: pass y, or write them with fw.write_rows")
            y = store.y if store.classes is None else store.classes[store.y.astype(np.int64)]
        y = np.asarray(y)
        if len(y) != store.shape[0]:
            raise ValueError(f"y has {len(y)} entries, but there are {store.shape[0]} rows in {store.path}")
        self.n_features_in_ = store.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if store.feature_names is not None:
            self.feature_names_in_ = np.array(store.feature_names, dtype=object)
        return (store.matrix() if store.fits else store), y

    def _lazily(self, method: str, X: Any, columns: int | None = None, dtype: Any = np.float64) -> Any:
        """Return what a method says of the rows of a dask collection, chunk by chunk, when somebody asks."""
        from frankwolfe.estimators.dask_data import lazily

        check_is_fitted(self)
        return lazily(self, method, X, columns, dtype)

    def _target_checks(self) -> dict[str, bool]:
        """Say what to check of the targets."""
        return {}

    def _scores(self, X: Any) -> np.ndarray:
        """Return ``X coef_' + intercept_``, a column for each row of ``coef_``."""
        check_is_fitted(self)
        coef = self.coef_ if self.coef_.ndim == 2 else self.coef_[None, :]
        if isinstance(X, RowStore):
            if X.shape[1] != self.n_features_in_:
                raise ValueError(f"{X.path} has {X.shape[1]} columns, and {self.n_features_in_} are expected")
            dense = coef.toarray() if sparse.issparse(coef) else coef
            return StoredRows(X).dot_all(np.ascontiguousarray(dense.T)) + self.intercept_
        X = checked_sparse("X", X)
        X = validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS), reset=False)
        return safe_sparse_dot(X, coef.T, dense_output=True) + self.intercept_

    # --- from parameters to coefficients ----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> "LinearModel":
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Training data. A store (`frankwolfe.open_rows`) may be larger than memory, and brings targets and weights.
            The chunks of a dask array or data frame are loaded by the workers of the cluster, and stay there; targets
            and weights are cut as they are (docs/cluster.md).
        y : array of shape (n,), or (n, outputs)
            Targets: classes, of any type that sorts, or numbers.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter.
        checkpoint : str or Path, optional
            A file from which a long fit goes on if it was broken off, to the same bits (docs/checkpoints.md). It is for
            this data and these parameters; others are refused. Not for one run a class.

        Returns
        -------
        self
        """
        if is_on_cluster(X):
            from frankwolfe.estimators.dask_data import training_data

            X, y, sample_weight = training_data(self, X, y, sample_weight)
        else:
            if isinstance(X, RowStore) and sample_weight is None:
                sample_weight = X.sample_weight
            X, y = self._training_data(X, y)
        self._solve(self._problems(X, y, sample_weight), checkpoint)
        return self

    @abstractmethod
    def _problems(self, X: Any, y: np.ndarray, sample_weight: Any) -> list[Problem]:
        """Return the problems to solve: one, or one for each class."""

    @abstractmethod
    def _posed(self, X: Any, y: np.ndarray, weights: np.ndarray | None, intercept: bool) -> list[Problem]:
        """Return the problems of checked rows, targets (classes by number) and weights."""

    @abstractmethod
    def _held_out(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> list[Problem]:
        """Return the problems of rows that were not fitted to, in the order of `_problems` and without intercepts."""

    def _set(self, d: int, outputs: int) -> Any:
        """Return the constraint set for weights of that shape."""
        return as_constraint(self.constraint, self.radius, d, outputs)

    def _pose(self, X: Any, targets: np.ndarray, loss: Any, sample_weight: Any, intercept: bool) -> Problem:
        """Return the problem of these targets."""
        constraint = self._set(X.shape[1], loss.outputs)
        return Problem(X, targets, loss, constraint, sample_weight, intercept)

    def _advice(self, found: Result) -> list[str]:
        """Return what there is to say about a result: more of a radius that is a default."""
        problem, given = found.trace.problem, self.get_params(deep=False)
        if problem is not None and given.get("radius", 0.0) is None and isinstance(given["constraint"], str):
            found.told = advice_on(problem, found, default_radius=True)
        return found.advice

    def _solve(self, problems: list[Problem], checkpoint: Any = None) -> None:
        """Solve the problems, from where the last fit ended if asked to, and keep what was found."""
        results = self._minimized(problems, _starts(problems, self._ends if self.warm_start else None), checkpoint)
        self._ends = [(problem.constraint, found.x) for problem, found in zip(problems, results, strict=True)]
        self._adopt(results)

    @abstractmethod
    def _adopt(self, results: list[Any]) -> None:
        """Set ``coef_`` and ``intercept_`` from weights ``x`` and an ``intercept`` of each problem."""

    def sparsify(self) -> "LinearModel":
        """Store ``coef_`` as a sparse matrix of two dimensions.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> "LinearModel":
        """Store ``coef_`` as an array again.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self


def _starts(problems: list[Problem], ends: list[tuple[Any, np.ndarray]] | None) -> list[np.ndarray | None]:
    """Return where each problem starts: at the answer to the last one, if that fits."""
    if ends is None or len(ends) != len(problems):
        return [None] * len(problems)
    return [
        carried(x, constraint, problem.constraint) if np.shape(x) == problem.shape else None
        for problem, (constraint, x) in zip(problems, ends, strict=True)
    ]
