"""Data of estimators in dask collections: checks before rows are loaded, lazy predictions, scores by chunk.

The functions without an underscore are those of `frankwolfe.estimators.array_data`.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from frankwolfe.arguments.arrays import check_exposure, numeric_frame
from frankwolfe.arguments.types import Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.cluster.loading import client_at_hand, column_array, is_frame, mapped_partitions
from frankwolfe.cluster.target_survey import survey_targets
from frankwolfe.estimators import array_data
from frankwolfe.losses import as_loss
from frankwolfe.losses.base import LossArrays
from frankwolfe.methods.registry import as_method
from frankwolfe.problem.requirements import check_source
from frankwolfe.shards.sources import source_of

LEFT_BEHIND = ("result_", "_ends", "_streams", "cv_results_", "scores_", "feature_names_in_")
"""Attributes that are not sent to workers. Feature names are checked before."""


def training_data(model: Any, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> tuple[Any, Any, Any]:
    """Return the arguments of `fit` as dask collections, checked as far as possible without loading rows."""
    if y is None:
        raise ValueError("y is missing: pass the targets, a dask array or series with the chunks of X")
    loss = as_loss(model.loss)
    check_source(source_of(X), loss, bool(model.fit_intercept), as_method(model.method))
    _check_columns(model, X, reset=True)
    weights = None if sample_weight is None else _column("sample_weight", sample_weight, X)
    return X, _column("y", y, X), weights


def _check_columns(model: Any, X: TableLike, reset: bool) -> None:
    """Set the number and names of the features or, without `reset`, compare them with those of the fit."""
    framed = type(X).__name__ == "DataFrame"
    if not framed and not isinstance(X, da.Array):
        raise TypeError(f"X must be a dask array or data frame, got a {type(X).__module__}.{type(X).__name__}")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got {X.ndim}")
    if framed:
        numeric_frame(X._meta)  # raises for columns that are not numeric
    head = X._meta if framed else np.empty((0, int(X.shape[1])))
    validate_data(model, head, reset=reset, skip_check_array=True)


def _column(name: str, values: Any, X: TableLike) -> Any:
    """Return targets or weights as a dask array, with the chunks of the rows if these are known."""
    known = not is_frame(X) and not np.isnan(X.chunks[0]).any()
    if dask.is_dask_collection(values):
        array = column_array(values)
    elif known:
        array = da.asarray(np.asarray(values))
    else:
        raise TypeError(
            f"{name} must be a dask array or series with the chunks of X: the sizes of X's chunks are not known"
        )
    if not known or np.isnan(array.shape).any():
        return array
    if array.ndim == 0 or len(array) != X.shape[0]:
        raise ValueError(f"{name} has {array.size} entries, but there are {X.shape[0]} rows in X")
    return array.rechunk({0: X.chunks[0]})


def one_column(y: TargetValues) -> Any:
    """Return targets of one output as a vector, lazily."""
    if y.ndim == 2 and y.shape[1] == 1:
        return y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must be a vector, one target for each row, got {y.ndim} dimensions")
    return y


# --- classes ----------------------------------------------------------------------------------------------------------


def encoded(y: TargetValues, sample_weight: RowNumbers) -> tuple[np.ndarray, Any, np.ndarray]:
    """Return the classes, the code of each target's class as a lazy dask array, and the total weight of each class."""
    y = one_column(y)
    found = survey_targets(y, sample_weight)
    if found.values is None:
        raise ValueError(f"y has too many values to be classes: numbers from {found.low:g} to {found.high:g}")
    check_classification_targets(found.values)
    return found.values, y.map_blocks(_codes, found.values, dtype=np.float64, meta=np.empty(0)), found.weights


def _codes(y: TargetValues, classes: np.ndarray) -> np.ndarray:
    return np.searchsorted(classes, np.asarray(y)).astype(np.float64)


def class_weights(codes: Any, by_class: np.ndarray) -> Any:
    """Return the weight of each target's class, as a lazy dask array."""
    return codes.map_blocks(array_data.class_weights, by_class, dtype=np.float64, meta=np.empty(0))


def check_copies(problems: int) -> None:
    """Raise ValueError for several problems: each would load the rows."""
    if problems > 1:
        raise ValueError(
            f"one problem for each of {problems} classes or targets would load the rows {problems} times: use the loss "
            "'logistic' without multi_class='ovr', or fit a model for each in turn: for a class to y == the class"
        )


# --- chunk by chunk ---------------------------------------------------------------------------------------------------


def _mapped(X: TableLike, function: Any, columns: int | None, dtype: Any) -> Any:
    """Apply a function to each chunk and return a lazy dask array with `columns` columns; None for a vector."""
    if is_frame(X):
        return mapped_partitions(X, function, columns, dtype)
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    if columns is None:
        return X.map_blocks(function, chunks=(X.chunks[0],), drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
    meta = np.empty((0, 0), dtype)
    return X.map_blocks(function, chunks=(X.chunks[0], (columns,)), dtype=dtype, meta=meta)


def signed(columns: Any, X: TableLike) -> Any:
    """Return the rows with signed columns (`SignedColumns`), as a lazy dask array."""
    kind = np.float64 if is_frame(X) or X.dtype.kind != "f" else X.dtype
    return _mapped(X, partial(_signed_chunk, columns=columns, dtype=np.dtype(kind)), len(columns.at), kind)


def _signed_chunk(chunk: Any, columns: Any, dtype: np.dtype) -> Any:
    return array_data.signed(columns, _as_block(chunk).astype(dtype, copy=False))


def _as_block(chunk: Any) -> Any:
    """Return a chunk as an array or a sparse matrix, without column names."""
    return chunk if sparse.issparse(chunk) else np.asarray(numeric_frame(chunk))


def predicted(model: Any, X: TableLike, method: Callable, shape: Callable[[Any], tuple]) -> Any:
    """Apply a prediction method of a fitted model to all rows, as a lazy dask array.

    Workers get a copy of the model without the attributes that predictions do not need.
    """
    _check_columns(model, X, reset=False)
    columns, dtype = shape(model)
    light = copy(model)
    light.__dict__ = {name: value for name, value in vars(model).items() if name not in LEFT_BEHIND}
    answer = partial(_answer, model=light, method=method.__name__, columns=columns, dtype=np.dtype(dtype))
    return _mapped(X, answer, columns, dtype)


def _answer(chunk: Any, model: Any, method: str, columns: int | None, dtype: np.dtype) -> np.ndarray:
    """Apply a method of a model to the rows of a chunk, which may have none."""
    rows = _as_block(chunk)
    if not rows.shape[0]:
        return np.empty((0,) if columns is None else (0, columns), dtype)
    return np.asarray(getattr(model, method)(rows), dtype=dtype)


def offset_of(X: TableLike, offset: RowNumbers, exposure: RowNumbers, loss: Loss) -> Any:
    """Return the offsets of the rows with the logarithm of their exposure, lazily; None if there are none."""
    found = None if offset is None else _column("offset", offset, X)
    if exposure is None:
        return found
    check_exposure(loss)
    logarithm = da.log(_column("exposure", exposure, X))
    return logarithm if found is None else found + logarithm


# --- scores -----------------------------------------------------------------------------------------------------------


def score(
    model: Any, X: TableLike, y: TargetValues, sample_weight: RowNumbers, method: Callable, **offsets: RowNumbers
) -> float:
    """Return the accuracy of a classifier, or R2 of a regressor, as scikit-learn's methods do."""
    return (_accuracy if is_classifier(model) else _explained)(model, X, y, sample_weight, **offsets)


def _accuracy(model: Any, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> float:
    """Return the accuracy: the weighted share of rows whose class is predicted."""
    truth, weights = _truth(X, one_column(_column("y", y, X)), sample_weight)
    hits, total = _computed((weights * (model.predict(X) == truth)).sum(), weights.sum())
    return float(hits / total)


def _explained(model: Any, X: TableLike, y: TargetValues, sample_weight: RowNumbers, **offsets: RowNumbers) -> float:
    """Return R2, the explained share of the variance, as the mean over the outputs; for log links of the deviance.

    The mean of the targets is computed first: sums of squares about it do not cancel, however large it is.
    """
    predicted, y = model.predict(X, **offsets), _column("y", y, X)
    truth, weights = _truth(X, y if predicted.ndim == 2 else one_column(y), sample_weight)
    sums, total = _computed((weights * truth.T).sum(axis=-1), weights.sum())
    loss, mean = as_loss(model.loss), sums / total
    if loss.log_link:
        value, mean = LossArrays(loss).value, da.full_like(predicted, mean)
        losses = [da.map_blocks(value, da.log(found), truth, dtype=float) for found in (mean, predicted)]
    else:
        losses = [((truth - found) ** 2).T for found in (mean, predicted)]
    about, missed = map(np.atleast_1d, _computed(*((weights * part).sum(axis=-1) for part in losses)))
    scores = np.where(about > 0.0, 1.0 - missed / np.where(about > 0.0, about, 1.0), np.where(missed > 0.0, 0.0, 1.0))
    return float(scores.mean())


def _truth(X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> tuple[Any, Any]:
    """Return the targets, and the weight of each row as a dask array."""
    if sample_weight is not None:
        return y, _column("sample_weight", sample_weight, X)
    return y, (y if y.ndim == 1 else y[:, 0]).map_blocks(_ones, dtype=np.float64, meta=np.empty(0))


def _ones(y: np.ndarray) -> np.ndarray:
    return np.ones(len(y))


def _computed(*arrays: Any) -> list[Any]:
    """Return the values of lazy arrays."""
    return client_at_hand().gather(client_at_hand().compute(list(arrays)))
