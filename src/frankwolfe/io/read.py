"""A data file as the rows, targets and weights of a problem."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.io.streams import kind_of, refusing_damage, require_file
from frankwolfe.io.svmlight import read_svmlight
from frankwolfe.io.tables import Table
from frankwolfe.io.tabular import ADVICE, Columns


class Features(NamedTuple):
    """Which columns a model reads: by name, or, where columns have none, by number.

    Attributes
    ----------
    names : list of str or None
        Names, in the order of the weights.
    first : int
        Without names: index of the first column.
    number : int
        How many there are.
    """

    names: list[str] | None
    first: int
    number: int


class Data(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    X : array or CSR array of shape (n, p)
        The columns of numbers; NaN where values may be missing.
    features : Features
        What its columns are.
    targets : array of shape (n,), or (n, k) for several targets, or None
        As they are in the file.
    weights : array of shape (n,) or None
        Weights of the rows.
    place : callable
        Says where in the file a row is, for messages.
    words : dict of arrays of shape (n,)
        The columns of words, by their place among the features; None where a value is missing.
    """

    X: Any
    features: Features
    targets: np.ndarray | None
    weights: np.ndarray | None
    place: Callable[[int], str]
    words: dict[int, np.ndarray]

    @property
    def table(self) -> Table:
        """All columns."""
        return Table(self.X, self.words)


def read_data(
    path: Path,
    target: Sequence[str] = (),
    weights: str | None = None,
    ignore: Sequence[str] = (),
    features: Features | None = None,
    words: Collection[str] = (),
    advice: str | None = ADVICE,
    all_text: bool = False,
) -> Data:
    """Read CSV, Parquet or svmlight, told apart by content; compressed with gzip, bzip2 or xz, or not.

    Parameters
    ----------
    path : Path
        The file.
    target : sequence of str
        Columns to predict; none for svmlight, where the target comes first in each line. With ``features`` of a model
        they may be missing, or have gaps.
    weights : str, optional
        Column of sample weights.
    ignore : sequence of str
        Columns to leave out.
    features : Features, optional
        Columns to read, those of a model. By default all that are left.
    words : collection of str
        Columns that hold categories.
    advice : str or None
        What to do about missing values, for the message that refuses them. None: they are no mistake.
    all_text : bool
        Whether all other columns of text hold categories, too. Dates and columns of nearly unique cells are refused.

    Returns
    -------
    Data
    """
    require_file(path)
    with refusing_damage(path):
        kind = kind_of(path)
        if kind == "svmlight":
            named = [*target, *([weights] if weights else []), *ignore]
            return _from_svmlight(path, [*named, *words], features)
        columns = Columns(path, kind, words)
        return _from_columns(columns, target, weights, ignore, features, words, advice, all_text)


def _from_svmlight(path: Path, named: Sequence[str], features: Features | None) -> Data:
    if features is not None and features.names is not None:
        raise ValueError(f"{path} is an svmlight file, without column names; the model needs {_listed(features.names)}")
    if named:
        raise ValueError(
            f"{path} is an svmlight file: its columns have no names, so {named[0]!r} cannot be one; the target is the "
            "first number of each line"
        )
    X, y, first = read_svmlight(path, None if features is None else features.first)
    if features is None:
        return Data(X, Features(None, first, X.shape[1]), y, None, _row, {})
    if X.shape[1] > features.number:
        X = X[:, : features.number]  # columns that no row had when the model was fitted have no weight
    else:
        X.resize((X.shape[0], features.number))
    return Data(X, features, y, None, _row, {})


def _from_columns(
    columns: Columns,
    target: Sequence[str],
    weights: str | None,
    ignore: Sequence[str],
    features: Features | None,
    words: Collection[str],
    advice: str | None,
    all_text: bool,
) -> Data:
    columns.require([weights] if weights else [], "column of weights")
    columns.require(ignore)
    if features is None:
        if not target:
            raise ValueError(
                f"--target is missing: which column of {columns.path} is to be predicted? {columns.listed()}"
            )
        columns.require(target, "target column")
        names = feature_names(columns.names, columns.path, target, weights, ignore)
        features = Features(names, 0, len(names))
        targets = _targets(columns, target)
    elif features.names is None:
        raise ValueError(f"{columns.path} has named columns; the model was fitted to an svmlight file, without names")
    else:
        targets = _targets(columns, target if all(map(columns.is_whole, target)) else ())
    names = features.names or []
    if all_text:
        words = [*words, *columns.category_names([name for name in names if name not in words])]
    for name in words:
        if name not in names:
            columns.require([name])
            raise ValueError(f"{name!r} is a category to learn from, and the target, the weights or ignored as well")
    table = columns.table(names, words, advice)
    found = columns.matrix([weights])[:, 0] if weights else None
    return Data(table.numbers, features, targets, found, columns.place, table.words)


def feature_names(
    names: Sequence[str], path: Path, target: Sequence[str], weights: str | None, ignore: Sequence[str]
) -> list[str]:
    """Return the columns to learn from: all but the target, the weights and those to leave out."""
    used = {*target, *ignore, weights}
    left = [name for name in names if name not in used]
    if not left:
        raise ValueError(f"{path} has no column left to learn from")
    return left


def read_columns(
    columns: Columns,
    target: Sequence[str],
    weights: str | None,
    ignore: Sequence[str],
    features: Features,
    advice: str,
) -> Data:
    """Return some rows of a file with columns of numbers, the targets and the weights; nothing may be missing."""
    columns.require(target, "target column")
    columns.require([weights] if weights else [], "column of weights")
    columns.require(ignore)
    table = columns.table(features.names or [], (), advice)
    found = columns.matrix([weights])[:, 0] if weights else None
    return Data(table.numbers, features, _targets(columns, target), found, columns.place, {})


def _targets(columns: Columns, names: Sequence[str]) -> np.ndarray | None:
    found = [columns.values(name) for name in names]
    return None if not found else found[0] if len(found) == 1 else np.column_stack(found)


def _row(row: int) -> str:
    return f"row {row + 1}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
