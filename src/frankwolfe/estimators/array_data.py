"""Data of estimators that is in memory or in a row store.

`frankwolfe.estimators.dask_data` has the same functions for dask collections. `functions_for` chooses between them, so
that estimators need not know where their rows are.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from frankwolfe.arguments.arrays import FLOATS, as_offset, as_raw_weights, checked_sparse
from frankwolfe.arguments.types import Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.problem.requirements import require_memory
from frankwolfe.shards.sources import source_of


def functions_for(X: TableLike) -> ModuleType:
    """Return the module whose functions take such data: `dask_data` for dask collections, else this one."""
    if not source_of(X).is_lazy:
        return sys.modules[__name__]
    from frankwolfe.estimators import dask_data  # imports dask, which is optional

    return dask_data


def training_data(model: Any, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> tuple[Any, Any, Any]:
    """Return the checked arguments of `fit`. A store has targets and weights of its own; it is read if it fits."""
    if not source_of(X).is_checked:
        X, y = model._training_data(X, y)
        return X, y, checked_weights(sample_weight, X)
    if y is None:
        if X.y is None:
            raise ValueError(f"{X.name} holds no targets: pass y, or write them with fw.write_rows")
        y = X.y if X.classes is None else X.classes[X.y.astype(np.int64)]
    y = np.asarray(y)
    if len(y) != X.shape[0]:
        raise ValueError(f"y has {len(y)} entries, but there are {X.shape[0]} rows in {X.name}")
    validate_data(model, np.empty((0, X.shape[1])), skip_check_array=True)
    if X.feature_names is not None:
        model.feature_names_in_ = np.array(X.feature_names, dtype=object)
    weights = X.sample_weight if sample_weight is None else sample_weight
    return (X.matrix() if X.fits else X), y, checked_weights(weights, X)


def checked_weights(sample_weight: RowNumbers, X: TableLike) -> np.ndarray | None:
    """Return sample weights as finite, non-negative numbers; None if there are none."""
    return None if sample_weight is None else as_raw_weights(sample_weight, X.shape[0])


def one_column(y: np.ndarray) -> np.ndarray:
    """Return targets of one output as a vector."""
    return column_or_1d(y, warn=True)


def encoded(y: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the classes, the code of each target's class, and the total weight of each class."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes, np.bincount(codes, sample_weight, minlength=len(classes))


def class_weights(codes: np.ndarray, by_class: np.ndarray) -> np.ndarray:
    """Return the weight of each target's class."""
    return by_class[codes.astype(np.int64)]


def check_copies(problems: int) -> None:
    """Raise ValueError if the rows cannot be used in several problems. In one process they are shared."""


def signed(columns: Any, X: TableLike) -> Any:
    """Return the rows with signed columns (`SignedColumns`)."""
    require_memory(X, "signs", "use a set that bounds the weights, such as fw.Box")
    sign = columns.sign.astype(X.dtype)
    return X[:, columns.at] @ sparse.diags_array(sign) if sparse.issparse(X) else X[:, columns.at] * sign


def offset_of(X: TableLike, offset: RowNumbers, exposure: RowNumbers, loss: Loss) -> np.ndarray | None:
    """Return the offsets of the rows with the logarithm of their exposure; None if there are none."""
    if offset is None and exposure is None:
        return None
    return as_offset(offset, exposure, loss, np.shape(X)[0])


def scores(model: Any, X: TableLike) -> np.ndarray:
    """Return ``X coef_' + intercept_`` with one column for each row of ``coef_``."""
    coef = model.coef_ if model.coef_.ndim == 2 else model.coef_[None, :]
    source = source_of(X)
    if source.is_checked:
        if X.shape[1] != model.n_features_in_:
            raise ValueError(f"{X.name} has {X.shape[1]} columns, and {model.n_features_in_} are expected")
        dense = coef.toarray() if sparse.issparse(coef) else coef
        return source.products(dense.T) + model.intercept_
    X = validate_data(model, checked_sparse("X", X), accept_sparse="csr", dtype=list(FLOATS), reset=False)
    return safe_sparse_dot(X, coef.T, dense_output=True) + model.intercept_


def predicted(model: Any, X: TableLike, method: Callable, shape: Callable[[Any], tuple]) -> np.ndarray:
    """Return the result of a prediction method."""
    return method(model, X)


def score(
    model: Any, X: TableLike, y: TargetValues, sample_weight: RowNumbers, method: Callable, **offsets: RowNumbers
) -> float:
    """Return the score by scikit-learn's method."""
    return method(X, y, sample_weight, **offsets)
