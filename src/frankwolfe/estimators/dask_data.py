"""Dask collections for estimators: checks before any rows are loaded, lazy predictions and scores by chunk.

Imported only for dask collections, so dask stays optional.
"""

from copy import copy
from functools import partial
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from frankwolfe.arguments.arrays import numeric_frame
from frankwolfe.cluster.loading import chunks_of, client_at_hand, column_array, is_frame, mapped_partitions
from frankwolfe.losses import as_loss
from frankwolfe.methods.table import as_method
from frankwolfe.problem.requirements import check_on_cluster

LEFT_BEHIND = ("result_", "_ends", "_streams", "cv_results_", "scores_", "feature_names_in_")
"""Attributes that are not sent to workers. Feature names are checked before."""


def training_data(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return the arguments of `fit` as dask collections, checked as far as possible without loading rows."""
    if y is None:
        raise ValueError("y is missing: pass the targets, a dask array or series with the chunks of X")
    loss = as_loss(model.loss)
    check_on_cluster(loss, bool(model.fit_intercept), as_method(model.method))
    check_columns(model, X, reset=True)
    weights = None if sample_weight is None else _column("sample_weight", sample_weight, X)
    return X, _column("y", y, X), weights


def check_columns(model: Any, X: Any, reset: bool) -> None:
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


def _column(name: str, values: Any, X: Any) -> Any:
    """Return targets or weights as a dask array; arrays in memory get the chunks of the rows."""
    if dask.is_dask_collection(values):
        return column_array(values)
    if is_frame(X) or np.isnan(X.chunks[0]).any():
        raise TypeError(
            f"{name} must be a dask array or series with the chunks of X: the sizes of X's chunks are not known"
        )
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != X.shape[0]:
        raise ValueError(f"{name} has {array.size} entries, but there are {X.shape[0]} rows in X")
    return da.from_array(array, chunks=(X.chunks[0], *array.shape[1:]))


def one_column(y: Any) -> Any:
    """Return targets of one output as a vector, lazily."""
    if y.ndim == 2 and y.shape[1] == 1:
        return y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must be a vector, one target for each row, got {y.ndim} dimensions")
    return y


# --- classes ----------------------------------------------------------------------------------------------------------


def encoded(y: Any, classes: np.ndarray) -> Any:
    """Return the code of each target's class, as a lazy dask array."""
    return y.map_blocks(_codes, classes, dtype=np.float64, meta=np.empty(0))


def _codes(y: Any, classes: np.ndarray) -> np.ndarray:
    return np.searchsorted(classes, np.asarray(y)).astype(np.float64)


def class_weighted(codes: Any, by_class: np.ndarray, sample_weight: Any) -> Any:
    """Return the weight of each sample times that of its class, as a lazy dask array."""
    weights = codes.map_blocks(_taken, by_class, dtype=np.float64, meta=np.empty(0))
    return weights if sample_weight is None else weights * sample_weight


def _taken(codes: np.ndarray, by_class: np.ndarray) -> np.ndarray:
    return by_class[codes.astype(np.int64)]


# --- chunk by chunk ---------------------------------------------------------------------------------------------------


def mapped(X: Any, function: Any, columns: int | None, dtype: Any) -> Any:
    """Apply a function to each chunk and return a lazy dask array with `columns` columns; None for a vector."""
    if is_frame(X):
        return mapped_partitions(X, function, columns, dtype)
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    if columns is None:
        return X.map_blocks(function, chunks=(X.chunks[0],), drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
    meta = np.empty((0, 0), dtype)
    return X.map_blocks(function, chunks=(X.chunks[0], (columns,)), dtype=dtype, meta=meta)


def spread_lazily(columns: Any, X: Any) -> Any:
    """Return the rows with signed columns (`SignedColumns`), as a lazy dask array."""
    kind = np.float64 if is_frame(X) or X.dtype.kind != "f" else X.dtype
    return mapped(X, partial(_signed, columns=columns, dtype=np.dtype(kind)), len(columns.at), kind)


def _signed(chunk: Any, columns: Any, dtype: np.dtype) -> Any:
    return columns.spread(as_block(chunk).astype(dtype, copy=False))


def as_block(chunk: Any) -> Any:
    """Return a chunk as an array or a sparse matrix, without column names."""
    return chunk if sparse.issparse(chunk) else np.asarray(numeric_frame(chunk))


def lazily(model: Any, method: str, X: Any, columns: int | None = None, dtype: Any = np.float64) -> Any:
    """Apply a method of a fitted model to all rows, as a lazy dask array."""
    check_columns(model, X, reset=False)
    answer = partial(answer_on_chunk, model=light(model), method=method, columns=columns, dtype=np.dtype(dtype))
    return mapped(X, answer, columns, dtype)


def answer_on_chunk(chunk: Any, model: Any, method: str, columns: int | None, dtype: np.dtype) -> np.ndarray:
    """Apply a method of a model to the rows of a chunk, which may have none."""
    rows = as_block(chunk)
    if not rows.shape[0]:
        return np.empty((0,) if columns is None else (0, columns), dtype)
    return np.asarray(getattr(model, method)(rows), dtype=dtype)


def light(model: Any) -> Any:
    """Return a copy of a fitted model without the attributes that predictions do not need."""
    found = copy(model)
    found.__dict__ = {name: value for name, value in vars(model).items() if name not in LEFT_BEHIND}
    return found


# --- scores -----------------------------------------------------------------------------------------------------------


def accuracy(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the accuracy: the weighted share of rows whose class is predicted."""
    hits, total = np.sum(_over_chunks(_hits, model, X, y, sample_weight), axis=0)
    return float(hits / total)


def _hits(model: Any, X: Any, y: Any, weights: Any) -> tuple[float, float]:
    rows, truth = as_block(X), np.asarray(y)
    if not len(truth):
        return 0.0, 0.0
    weights = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    return float(weights @ (model.predict(rows) == truth.reshape(-1))), float(weights.sum())


class Spread(NamedTuple):
    """Sums over some rows: total weight, mean target, squared deviations from the mean, and squared errors."""

    weight: float
    mean: Any
    about: Any
    missed: Any

    def joined(self, other: "Spread") -> "Spread":
        """Return the sums over both sets of rows (Chan, Golub and LeVeque 1979: stable for large means)."""
        weight = self.weight + other.weight
        if not self.weight or not other.weight:
            return self if self.weight else other
        apart = other.mean - self.mean
        mean = self.mean + apart * (other.weight / weight)
        about = self.about + other.about + apart**2 * (self.weight * other.weight / weight)
        return Spread(weight, mean, about, self.missed + other.missed)


def explained(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return R2, the explained share of the variance, as the mean over the outputs."""
    first, *others = _over_chunks(_spread, model, X, y, sample_weight)
    for spread in others:
        first = first.joined(spread)
    about, missed = np.atleast_1d(first.about), np.atleast_1d(first.missed)
    scores = np.where(about > 0.0, 1.0 - missed / np.where(about > 0.0, about, 1.0), np.where(missed > 0.0, 0.0, 1.0))
    return float(scores.mean())


def _spread(model: Any, X: Any, y: Any, weights: Any) -> Spread:
    rows, truth = as_block(X), np.asarray(y, dtype=np.float64)
    if not len(truth):
        return Spread(0.0, 0.0, 0.0, 0.0)
    weights = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    predicted = np.asarray(model.predict(rows)).reshape(truth.shape)
    total = float(weights.sum())
    mean = weights @ truth / total if total else 0.0 * truth[0]
    return Spread(total, mean, weights @ (truth - mean) ** 2, weights @ (truth - predicted) ** 2)


def _over_chunks(function: Any, model: Any, X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Apply a function to each chunk with its targets and weights, and return the results."""
    check_columns(model, X, reset=False)
    chunks = chunks_of(X, y, sample_weight, None)
    weights = [None] * len(chunks.rows) if chunks.weights is None else chunks.weights
    sent, task = dask.delayed(light(model), pure=False), dask.delayed(function, pure=False)
    parts = zip(chunks.rows, chunks.targets, weights, strict=True)
    return client_at_hand().compute(dask.delayed(list)([task(sent, *part) for part in parts]), sync=True)
