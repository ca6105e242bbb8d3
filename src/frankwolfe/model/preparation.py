"""From the columns that a user has to the columns that have weights: gaps filled, words as indicators, one scale.

Means, scales and categories are learned from the rows of a fit, kept with the model, and used for every prediction.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_weights
from frankwolfe.io.tables import Table, listed
from frankwolfe.linalg.threads import single_threaded

BLOCK = 64
"""How many columns are measured at a time."""

SPARSE_BELOW = 0.25
"""Matrices with a smaller part of entries that are not zero are stored as sparse ones."""

MISSING = "(missing)"
"""What the category of missing values is called where weights are shown."""


class Prepared(NamedTuple):
    """What becomes of a table.

    Attributes
    ----------
    X : array or CSR array of shape (n, width)
        A column for each weight: numbers in the order they had, then the indicators of each column of words.
    notes : list of str
        What a user should know of: categories that were never seen.
    """

    X: Any
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Preparation:
    """How columns are made ready. By default they are taken as they are.

    Attributes
    ----------
    categories : dict
        For each column of words, by its place: the categories, one indicator each. None stands for a missing value.
    fill : array or None
        What takes the place of a missing value, for each column of numbers; None: they are refused.
    center, scale : array or None
        What is subtracted from each column of numbers, and what it is divided by afterwards.

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
        """Return what suits the rows of a table.

        Parameters
        ----------
        table : Table
            The rows of a fit.
        names : sequence of str or None
            Names of its columns, for messages.
        fill : bool
            Whether missing numbers take the mean of their column; missing words are then a category of their own.
        standardize : bool
            Whether columns of numbers get variance one. Indicators stay 0 and 1.
        center : bool
            Whether they get mean zero too. Right where there is an intercept to make up for it. Sparse columns are
            never shifted: they would not be sparse any more, and with an intercept the answer is the same.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        Preparation
        """
        if not fill or sparse.issparse(table.numbers):
            table.refuse_gaps(names)
        categories = {place: _categories(words) for place, words in table.words.items()}
        if sparse.issparse(table.numbers):
            scale = _sparse_scales(table.numbers, as_weights(sample_weight, table.n)) if standardize else None
            return cls(categories, None, None, scale)
        means = _means(table, names, sample_weight) if fill else None
        if not standardize:
            return cls(categories, means)
        found = np.empty((2, table.numbers.shape[1]))
        shares = as_weights(sample_weight, table.n)
        for start in range(0, found.shape[1], BLOCK):
            part = slice(start, start + BLOCK)
            block = table.numbers[:, part]
            found[:, part] = _mean_and_scale(block if means is None else _filled(block, means[part]), shares)
        return cls(categories, means, found[0] if center else None, found[1])

    def width(self, number: int) -> int:
        """Return how many columns become of so many."""
        return number - len(self.categories) + sum(map(len, self.categories.values()))

    def number(self, width: int) -> int:
        """Return how many columns so many came from."""
        return width + len(self.categories) - sum(map(len, self.categories.values()))

    def names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the columns that have weights, from those of the columns that a user has."""
        numbers = [name for place, name in enumerate(names) if place not in self.categories]
        indicators = [
            f"{names[place]}={MISSING if word is None else word}"
            for place, words in sorted(self.categories.items())
            for word in words
        ]
        return numbers + indicators

    def apply(self, table: Table, names: Sequence[str] | None) -> Prepared:
        """Return the matrix that a table becomes.

        Parameters
        ----------
        table : Table
            With the columns that this was learned from, in their order.
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
            codes = _codes(table.words[place], known)
            unseen = np.flatnonzero(codes < 0)
            if unseen.size:
                name = repr(names[place]) if names is not None else str(place)
                notes.append(_unseen(name, table.words[place][unseen]))
            blocks.append(_indicators(codes, len(known)))
        return Prepared(_joined(numbers, blocks), notes)

    def _numbers(self, numbers: Any) -> Any:
        """Return columns of numbers without gaps, shifted and scaled."""
        if sparse.issparse(numbers):
            if self.scale is None:
                return numbers
            scaled = numbers.data / self.scale[numbers.indices]
            return sparse.csr_array((scaled, numbers.indices, numbers.indptr), shape=numbers.shape)
        if self.fill is not None and np.isnan(numbers).any():
            numbers = _filled(numbers, self.fill)
        if self.center is not None:
            numbers = numbers - self.center
        return numbers if self.scale is None else numbers / self.scale

    def unscaled(self, weights: np.ndarray, intercept: Any) -> tuple[np.ndarray, Any]:
        """Return weights and intercept for columns that are neither shifted nor scaled: on the user's scale.

        Parameters
        ----------
        weights : array of shape (width,), or (width, outputs)
            For columns as `apply` returns them.
        intercept : float, or array of shape (outputs,)
            That goes with them.

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


def _means(table: Table, names: Sequence[str] | None, sample_weight: np.ndarray | None) -> np.ndarray:
    """Return the mean of what is there of each column of numbers."""
    means = np.empty(table.numbers.shape[1])
    shares = as_weights(sample_weight, table.n)
    for start in range(0, len(means), BLOCK):
        block = table.numbers[:, start : start + BLOCK]
        there = ~np.isnan(block)
        present = shares @ there
        if not present.all():
            place = table.number_places[start + int(np.argmin(present))]
            column = repr(names[place]) if names is not None else str(place)
            raise ValueError(f"column {column} holds no value at all in the rows of the fit: leave it out")
        means[start : start + BLOCK] = (shares @ np.where(there, block, 0.0)) / present
    return means


def _filled(numbers: np.ndarray, fill: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(numbers), fill, numbers)


def _mean_and_scale(block: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the means of columns and their standard deviations; 1 in place of 0, for columns that are constant."""
    largest = np.abs(block).max(axis=0)
    unit = np.where(largest > 0.0, largest, 1.0)  # squares of numbers up to 1 do not overflow
    block = block / unit
    means = shares @ block
    spread = np.sqrt(shares @ (block - means) ** 2)
    constant = (block == block[0]).all(axis=0)
    means = np.where(constant, block[0], means)  # exactly, so that nothing but zeros is left of them
    return np.stack([means * unit, np.where(constant | (spread == 0.0), 1.0, spread * unit)])


def _sparse_scales(X: sparse.csr_array, shares: np.ndarray) -> np.ndarray:
    """Return the standard deviations of the columns of a sparse matrix; 1 in place of 0."""
    largest = np.zeros(X.shape[1])
    np.maximum.at(largest, X.indices, np.abs(X.data))
    unit = np.where(largest > 0.0, largest, 1.0)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    values, p = X.data / unit[X.indices], shares[rows]
    d = X.shape[1]
    means = np.bincount(X.indices, p * values, minlength=d)
    zeros = np.clip(1.0 - np.bincount(X.indices, p, minlength=d), 0.0, None)
    zeros[np.bincount(X.indices, minlength=d) == X.shape[0]] = 0.0  # exactly, where every row stores an entry
    squares = np.bincount(X.indices, p * (values - means[X.indices]) ** 2, minlength=d)
    spread = np.sqrt(squares + zeros * means**2)
    constant = spread <= 1e-12 * np.abs(means)  # the sums round; a spread as small as that is no spread
    return np.where(constant | (spread == 0.0), 1.0, spread * unit)


def _categories(words: np.ndarray) -> tuple[str | None, ...]:
    """Return the different words in order; a missing one last."""
    found = set(words.tolist())
    return (*sorted(word for word in found if word is not None), *([None] if None in found else []))


def _codes(words: np.ndarray, known: Sequence[str | None]) -> np.ndarray:
    """Return the place of each word among the known ones, -1 where it is none of them."""
    places = {word: place for place, word in enumerate(known)}
    return np.fromiter((places.get(word, -1) for word in words.tolist()), dtype=np.int64, count=len(words))


def _indicators(codes: np.ndarray, width: int) -> sparse.csr_array:
    """Return a row for each code, with a one at its place; without one for -1."""
    known = np.flatnonzero(codes >= 0)
    pattern = (np.ones(known.size), (known, codes[known]))
    return sparse.csr_array(pattern, shape=(len(codes), width))


def _joined(numbers: np.ndarray, blocks: list[sparse.csr_array]) -> Any:
    """Return numbers and indicators in one matrix: a sparse one if most of it is zero."""
    columns = numbers.shape[1]
    width = columns + sum(block.shape[1] for block in blocks)
    if columns + len(blocks) < SPARSE_BELOW * width:
        return sparse.csr_array(sparse.hstack([numbers, *blocks] if columns else blocks, format="csr"))
    return np.hstack([numbers, *(block.toarray() for block in blocks)])


def _unseen(column: str, words: np.ndarray) -> str:
    different: Collection[str] = dict.fromkeys("a missing value" if word is None else repr(word) for word in words)
    rows = f"{len(words):,} row{'s hold' if len(words) > 1 else ' holds'}"
    return (
        f"column {column}: {rows} what no row of the fit did ({listed(list(different), quote=False)}); all indicators "
        "of the column are zero there"
    )
