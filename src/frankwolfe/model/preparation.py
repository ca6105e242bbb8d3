"""Preparation of columns: missing values filled, categories as 0/1 columns, numbers standardised.

scikit-learn learns means and scales from the rows of a fit. They are kept as plain arrays, with the categories, so that
a saved model predicts without scikit-learn.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_weights
from frankwolfe.arguments.types import TableLike
from frankwolfe.io.tables import Table, listed
from frankwolfe.linalg.threads import single_threaded

SPARSE_BELOW = 0.25
"""Matrices with a smaller fraction of non-zero entries are stored as sparse ones."""

MISSING = "(missing)"
"""Name of the category of missing values in lists of weights."""


class Prepared(NamedTuple):
    """A table after preparation.

    Attributes
    ----------
    X : array or CSR array of shape (n, width)
        A column for each weight: the numbers, then the 0/1 columns of each column of words.
    notes : list of str
        Messages for the user about unknown categories.
    """

    X: TableLike
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Preparation:
    """The preparation of columns. By default they are used as they are.

    Attributes
    ----------
    categories : dict
        The categories of each column of words, by its position. Each category becomes a 0/1 column. None is the
        category of missing values.
    fill : array or None
        The value that replaces missing values, for each column of numbers. If None, missing values are refused.
    center, scale : array or None
        Each column of numbers ``x`` becomes ``(x - center) / scale``.

    Examples
    --------
    >>> table = Table(np.array([[1.0], [3.0]]), {1: np.array(["red", "blue"], dtype=object)})
    >>> ready = Preparation.learned(table, ["size", "colour"], standardize=True)
    >>> ready.names(["size", "colour"])
    ['size', 'colour=blue', 'colour=red']
    >>> ready.apply(table, ["size", "colour"]).X
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """

    categories: dict[int, tuple[str | None, ...]] = field(default_factory=dict)
    fill: np.ndarray | None = None
    center: np.ndarray | None = None
    scale: np.ndarray | None = None

    @classmethod
    @single_threaded
    def learned(
        cls,
        table: Table,
        names: Sequence[str] | None,
        *,
        fill: bool = False,
        standardize: bool = False,
        center: bool = True,
        sample_weight: np.ndarray | None = None,
    ) -> "Preparation":
        """Learn the preparation from the rows of a table.

        Parameters
        ----------
        table : Table
            The rows of a fit.
        names : sequence of str or None
            Names of its columns, for messages.
        fill : bool
            Whether to replace missing numbers by the mean of their column. Missing words are then a category.
        standardize : bool
            Whether to scale columns of numbers to variance one. 0/1 columns stay as they are.
        center : bool
            Whether to shift them to mean zero, too: correct with an intercept. Sparse columns are never shifted: they
            would become dense, and with an intercept the solution is the same.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        Preparation
        """
        if not fill or sparse.issparse(table.numbers):
            table.refuse_gaps(names)
        categories = {place: _categories(words) for place, words in table.words.items()}
        if not (fill or standardize) or not table.numbers.shape[1]:
            return cls(categories)
        if sparse.issparse(table.numbers):
            return cls(categories, scale=_moments(table.numbers, sample_weight)[1] if standardize else None)
        empty = as_weights(sample_weight, table.n) @ ~np.isnan(table.numbers) == 0.0
        if empty.any():
            place = table.number_places[int(np.argmax(empty))]
            column = repr(names[place]) if names is not None else str(place)
            raise ValueError(f"column {column} holds no value at all in the rows of the fit: leave it out")
        means, scales = _moments(table.numbers, sample_weight)
        return cls(
            categories,
            fill=means if fill else None,
            center=means if standardize and center else None,
            scale=scales if standardize else None,
        )

    @property
    def is_empty(self) -> bool:
        """Whether columns are used as they are."""
        return not self.categories and self.fill is None and self.center is None and self.scale is None

    def width(self, number: int) -> int:
        """Return the number of columns after preparation of ``number`` columns."""
        return number - len(self.categories) + sum(map(len, self.categories.values()))

    def number(self, width: int) -> int:
        """Return the number of original columns from which ``width`` columns were prepared."""
        return width + len(self.categories) - sum(map(len, self.categories.values()))

    def names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the prepared columns, given the names of the original columns."""
        numbers = [name for place, name in enumerate(names) if place not in self.categories]
        indicators = [
            f"{names[place]}={MISSING if word is None else word}"
            for place, words in sorted(self.categories.items())
            for word in words
        ]
        return numbers + indicators

    def scales(self, width: int) -> np.ndarray:
        """Return what each of ``width`` prepared columns was divided by; 1 for 0/1 columns."""
        found = np.ones(width)
        if self.scale is not None:
            found[: len(self.scale)] = self.scale
        return found

    def apply(self, table: Table, names: Sequence[str] | None) -> Prepared:
        """Return the matrix of prepared columns.

        Parameters
        ----------
        table : Table
            Rows with the columns of the fit, in the same order.
        names : sequence of str or None
            Names of its columns, for messages.

        Returns
        -------
        Prepared
        """
        if self.fill is None:
            table.refuse_gaps(names)
        numbers = self._numbers(table.numbers)
        if not self.categories:
            return Prepared(numbers, [])
        notes: list[str] = []
        blocks = []
        for place, known in sorted(self.categories.items()):
            words, codes = table.words[place], {word: code for code, word in enumerate(known)}
            found = np.fromiter((codes.get(word, -1) for word in words.tolist()), dtype=np.int64, count=len(words))
            if (found < 0).any():
                notes.append(_unknown(repr(names[place]) if names is not None else str(place), words[found < 0]))
            rows = np.flatnonzero(found >= 0)
            entries = (np.ones(rows.size), (rows, found[rows]))
            blocks.append(sparse.csr_array(entries, shape=(len(words), len(known))))
        return Prepared(_joined(numbers, blocks), notes)

    def _numbers(self, numbers: Any) -> Any:
        """Return columns of numbers filled, shifted and scaled."""
        if self.fill is not None and not sparse.issparse(numbers):
            numbers = np.where(np.isnan(numbers), self.fill, numbers)
        if self.center is not None:
            numbers = numbers - self.center
        return numbers if self.scale is None else _divided(numbers, self.scale)

    def unscaled(self, weights: np.ndarray, intercept: Any) -> tuple[np.ndarray, Any]:
        """Return weights and intercept for columns that are neither shifted nor scaled.

        Parameters
        ----------
        weights : array of shape (width,), or (width, outputs)
            Weights of the columns that `apply` returns.
        intercept : float, or array of shape (outputs,)
            Intercept for these weights.

        Returns
        -------
        weights, intercept
        """
        if self.scale is None:
            return weights, intercept
        found = weights.copy()
        scales = self.scale if weights.ndim == 1 else self.scale[:, None]
        found[: len(scales)] /= scales
        if self.center is not None:
            intercept = intercept - self.center @ found[: len(scales)]
        return found, intercept


def _moments(X: TableLike, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of columns whose missing values are replaced by the mean.

    A constant column has deviation 1.
    """
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    unit = MaxAbsScaler().fit(X).max_abs_
    unit[unit == 0.0] = 1.0
    X = _divided(X, unit)  # squares of numbers up to 1 neither overflow nor vanish
    scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X, sample_weight=sample_weight)
    if not sparse.issparse(X) and np.isnan(X).any():  # the weighted mean, which SimpleImputer does not know
        X = np.where(np.isnan(X), scaler.mean_, X)
        scaler.fit(X, sample_weight=sample_weight)
    constant = scaler.scale_ != np.sqrt(scaler.var_)  # there the scaler has put 1
    return scaler.mean_ * unit, np.where(constant, 1.0, scaler.scale_ * unit)


def _divided(X: TableLike, scale: np.ndarray) -> Any:
    """Return a matrix whose columns are divided by numbers."""
    if not sparse.issparse(X):
        return X / scale
    return sparse.csr_array((X.data / scale[X.indices], X.indices, X.indptr), shape=X.shape)


def _categories(words: np.ndarray) -> tuple[str | None, ...]:
    """Return the distinct words in ascending order, then None if a value is missing."""
    found = set(words.tolist())
    return (*sorted(word for word in found if word is not None), *([None] if None in found else []))


def _joined(numbers: np.ndarray, blocks: list[sparse.csr_array]) -> Any:
    """Return numbers and 0/1 columns in one matrix: a sparse one if most of it is zero."""
    columns = numbers.shape[1]
    width = columns + sum(block.shape[1] for block in blocks)
    if columns + len(blocks) < SPARSE_BELOW * width:
        return sparse.csr_array(sparse.hstack([numbers, *blocks] if columns else blocks, format="csr"))
    return np.hstack([numbers, *(block.toarray() for block in blocks)])


def _unknown(column: str, words: np.ndarray) -> str:
    different: Collection[str] = dict.fromkeys("a missing value" if word is None else repr(word) for word in words)
    rows = f"{len(words):,} row{'s hold categories' if len(words) > 1 else ' holds a category'}"
    return (
        f"column {column}: {rows} that no row of the fit had ({listed(list(different), quote=False)}); all indicators "
        "of the column are zero there"
    )
