"""Summary of the targets on a cluster: distinct values, their counts, and the range. Only the summary is sent."""

from collections.abc import Sequence
from typing import NamedTuple

import dask
import numpy as np

from frankwolfe.arguments.arrays import is_missing
from frankwolfe.arguments.types import RowNumbers, TargetValues
from frankwolfe.cluster.loading import beside, client_at_hand, column_array

MANY = 100_000
"""Largest number of distinct values that a survey lists."""


class Survey(NamedTuple):
    """Summary of targets.

    Attributes
    ----------
    rows : int
        Number of rows.
    low, high : float
        The smallest and the largest target; NaN if targets are not numbers.
    values : array or None
        The distinct targets, ascending; None if there are more than `MANY`, or several outputs.
    counts, weights : array
        Number of rows, and sum of sample weights, for each distinct target.
    """

    rows: int
    low: float
    high: float
    values: np.ndarray | None = None
    counts: np.ndarray = np.empty(0)
    weights: np.ndarray = np.empty(0)


def survey_targets(y: TargetValues, sample_weight: RowNumbers = None) -> Survey:
    """Summarise all targets on the workers, chunk by chunk.

    Parameters
    ----------
    y : dask array, series or frame
        Numbers, booleans or strings without missing values.
    sample_weight : dask array or series, optional
        Weights of the rows, with the same chunks as ``y``.

    Returns
    -------
    Survey
    """
    y = column_array(y)
    y = y.rechunk({1: -1}) if y.ndim == 2 else y
    chunks = y.to_delayed().ravel().tolist()
    sizes = None if np.isnan(y.chunks[0]).any() else y.chunks[0]
    weights = (
        [None] * len(chunks) if sample_weight is None else beside("sample_weight", sample_weight, len(chunks), sizes)
    )
    look = dask.delayed(survey_chunk, pure=False)
    found = [look(chunk, weight, k) for k, (chunk, weight) in enumerate(zip(chunks, weights, strict=True))]
    return client_at_hand().compute(dask.delayed(merged, pure=False)(found), sync=True)


def survey_chunk(y: TargetValues, sample_weight: RowNumbers, number: int = 0) -> Survey:
    """Summarise the targets of one chunk.

    Examples
    --------
    >>> survey_chunk(np.array(["yes", "no", "yes"]), None)[3:5]
    (array(['no', 'yes'], dtype='<U3'), array([1, 2]))
    """
    values = np.asarray(y)
    rows = len(values)
    weights = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if len(weights) != rows:
        raise ValueError(f"chunk {number}: sample_weight has {len(weights)} entries, and y has {rows}")
    _refuse_missing(values, number)
    is_number = values.dtype.kind in "iuf" and rows > 0
    low, high = (float(values.min()), float(values.max())) if is_number else (np.nan, np.nan)
    if values.ndim > 1:
        return Survey(rows, low, high)
    try:
        found, places = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"chunk {number}: y holds values of different types, which cannot be sorted: {error}") from None
    if len(found) > MANY:
        return Survey(rows, low, high)
    return Survey(rows, low, high, found, np.bincount(places), np.bincount(places, weights))


def merged(surveys: Sequence[Survey]) -> Survey:
    """Merge the summaries of all chunks.

    Examples
    --------
    >>> merged([survey_chunk(np.array([1.0, 2.0]), None), survey_chunk(np.array([2.0, 3.0]), None)])[:5]
    (4, 1.0, 3.0, array([1., 2., 3.]), array([1, 2, 1]))
    """
    filled = [found for found in surveys if found.rows]
    if not filled:
        raise ValueError("y is empty: none of its chunks has a row")
    rows = sum(found.rows for found in filled)
    low, high = min(found.low for found in filled), max(found.high for found in filled)
    if any(found.values is None for found in filled):
        return Survey(rows, low, high)
    lists, counts, weights = (np.concatenate(some) for some in zip(*(found[3:] for found in filled), strict=True))
    values, places = np.unique(lists, return_inverse=True)
    if len(values) > MANY:
        return Survey(rows, low, high)
    return Survey(rows, low, high, values, np.bincount(places, counts).astype(np.int64), np.bincount(places, weights))


def _refuse_missing(values: np.ndarray, number: int) -> None:
    """Raise ValueError if a target is missing, NaN or infinite."""
    if values.dtype.kind not in "fO":
        return
    is_float = values.dtype.kind == "f"
    count = int(np.sum(~np.isfinite(values) if is_float else [is_missing(value) for value in values.flat]))
    if count:
        raise ValueError(
            f"chunk {number}: y is missing, NaN or infinite in {count:,} row{'s' * (count > 1)}: drop those rows first"
        )
