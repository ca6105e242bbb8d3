"""Read a data file as the rows, targets and weights of a problem, and encode targets for a loss."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from frankwolfe.arguments.types import Loss, TableLike
from frankwolfe.io.csv_parquet import ADVICE, Columns
from frankwolfe.io.streams import kind_of, refusing_damage, require_file
from frankwolfe.io.svmlight import read_svmlight
from frankwolfe.io.tables import Table, is_number, listed


class Features(NamedTuple):
    """The columns that a model reads: by name or, if columns have no names, by number.

    Attributes
    ----------
    names : list of str or None
        Names, in the order of the weights.
    first : int
        Without names: index of the first column.
    number : int
        Number of columns.
    """

    names: list[str] | None
    first: int
    number: int


class Data(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    X : array or CSR array of shape (n, p)
        The columns of numbers; NaN where a value is missing.
    features : Features
        Names or numbers of all columns.
    targets : array of shape (n,), or (n, k) for several targets, or None
        The targets, not encoded.
    weights : array of shape (n,) or None
        Weights of the rows.
    place : callable
        Function that returns the position of a row in the file, for messages.
    words : dict of arrays of shape (n,)
        The columns of words, by their place among the features; None where a value is missing.
    classes : array or None
        Names of the classes, if the targets are class indices.
    offset, exposure : array of shape (n,) or None
        Known parts of the predictions, and factors of the means.
    """

    X: TableLike
    features: Features
    targets: np.ndarray | None
    weights: np.ndarray | None
    place: Callable[[int], str]
    words: dict[int, np.ndarray]
    classes: np.ndarray | None = None
    offset: np.ndarray | None = None
    exposure: np.ndarray | None = None

    @property
    def table(self) -> Table:
        """All columns."""
        return Table(self.X, self.words)


def row_number(row: int) -> str:
    """Return the number of a row in words, counted from one."""
    return f"row {row + 1}"


def read_data(
    path: Path,
    target: Sequence[str] = (),
    weights: str | None = None,
    ignore: Sequence[str] = (),
    features: Features | None = None,
    words: Collection[str] = (),
    advice: str | None = ADVICE,
    all_text: bool = False,
    offset: str | None = None,
    exposure: str | None = None,
) -> Data:
    """Read CSV, Parquet or svmlight, recognised by content; compressed with gzip, bzip2 or xz, or not.

    Parameters
    ----------
    path : Path
        The file.
    target : sequence of str
        Columns to predict; none for svmlight, where the target comes first in each line. With ``features`` of a model
        they may be absent, or have missing values.
    weights : str, optional
        Column of sample weights.
    ignore : sequence of str
        Columns to leave out.
    features : Features, optional
        Columns that a model reads. By default all columns that have no other use.
    words : collection of str
        Columns that hold categories.
    advice : str or None
        Advice in the message that refuses missing values. If None, missing values are accepted.
    all_text : bool
        Whether all other columns of text hold categories, too. Dates and columns of nearly unique cells are refused.
    offset, exposure : str, optional
        Columns of offsets and of exposures.

    Returns
    -------
    Data
    """
    require_file(path)
    beside = [name for name in (offset, exposure) if name]
    with refusing_damage(path):
        kind = kind_of(path)
        if kind == "svmlight":
            return _from_svmlight(path, [*target, *([weights] if weights else []), *beside, *ignore, *words], features)
        columns = Columns(path, kind, words)
        if features is not None and features.names is None:
            raise ValueError(f"{path} has named columns; the model was fitted to an svmlight file, without names")
        if features is None:
            if not target:
                raise ValueError(f"--target is missing: which column of {path} is to be predicted? {columns.listed()}")
            columns.require(target, "target column")
            names = feature_names(columns.names, path, target, weights, [*ignore, *beside])
            features = Features(names, 0, len(names))
        elif not all(map(columns.is_whole, target)):
            target = ()
        found = read_columns(columns, target, weights, [*ignore, *beside], features, advice, words, all_text)
        shift, factor = (columns.table([name]).numbers[:, 0] if name else None for name in (offset, exposure))
        return found._replace(offset=shift, exposure=factor)


def _from_svmlight(path: Path, named: Sequence[str], features: Features | None) -> Data:
    if features is not None and features.names is not None:
        raise ValueError(f"{path} is an svmlight file, without column names; the model needs {listed(features.names)}")
    if named:
        raise ValueError(
            f"{path} is an svmlight file: its columns have no names, so {named[0]!r} cannot be one; the target is the "
            "first number of each line"
        )
    X, y, first = read_svmlight(path, None if features is None else features.first)
    if features is None:
        return Data(X, Features(None, first, X.shape[1]), y, None, row_number, {})
    if X.shape[1] > features.number:
        X = X[:, : features.number]  # the model has no weights for columns that were empty in the fit
    else:
        X.resize((X.shape[0], features.number))
    return Data(X, features, y, None, row_number, {})


def read_columns(
    columns: Columns,
    target: Sequence[str],
    weights: str | None,
    ignore: Sequence[str],
    features: Features,
    advice: str | None,
    words: Collection[str] = (),
    all_text: bool = False,
) -> Data:
    """Return features, targets and weights from the columns of a file; the parameters are those of `read_data`."""
    columns.require(target, "target column")
    columns.require([weights] if weights else [], "column of weights")
    columns.require(ignore)
    names = features.names or []
    targets = [columns.values(name) for name in target]
    if all_text:
        words = [*words, *columns.category_names([name for name in names if name not in words])]
    for name in words:
        if name not in names:
            columns.require([name])
            raise ValueError(f"{name!r} is a category to learn from, and the target, the weights or ignored as well")
    table = columns.table(names, words, advice)
    y = None if not targets else targets[0] if len(targets) == 1 else np.column_stack(targets)
    given = columns.table([weights]).numbers[:, 0] if weights else None
    return Data(table.numbers, features, y, given, columns.place, table.words)


def feature_names(
    names: Sequence[str], path: Path, target: Sequence[str], weights: str | None, ignore: Sequence[str]
) -> list[str]:
    """Return the names of the features: all columns except the targets, the weights and the ignored columns."""
    used = {*target, *ignore, weights}
    left = [name for name in names if name not in used]
    if "" in left:
        raise ValueError(
            f"{path}: column {list(names).index('') + 1} has no name. If it numbers the rows, leave it out with "
            "--ignore ''; if not, name it in the header"
        )
    if not left:
        raise ValueError(f"{path} has no column left to learn from")
    return left


# --- targets ----------------------------------------------------------------------------------------------------------

DEFAULT_LOSSES = {
    "two classes": "logistic",
    "classes": "multinomial",
    "numbers": "squared",
    "rows": "multitask-squared",
}
"""The default loss for each kind of target."""


def kind_of_target(
    targets: np.ndarray, place: Callable[[int], str] = row_number, classes: np.ndarray | None = None
) -> str:
    """Return the kind of the targets: ``"two classes"``, ``"classes"``, ``"numbers"`` or ``"rows"``.

    Strings are classes, and so are numbers with at most two distinct values. A mixture of numbers and other words
    raises ValueError, because the words may be classes or mistakes.

    Parameters
    ----------
    targets : array of shape (n,), or (n, k)
        Numbers, truth values or words.
    place : callable
        Returns where a row is, for messages.
    classes : array, optional
        The classes that the targets number, if they do.

    Examples
    --------
    >>> kind_of_target(np.array([0.0, 1.0, 1.0])), kind_of_target(np.array(["a", "b", "c"]))
    ('two classes', 'classes')
    """
    if targets.ndim == 2:
        return "rows"
    if classes is not None:
        return "two classes" if len(classes) <= 2 else "classes"
    classes = np.unique(targets)
    if classes.dtype.kind == "U":
        _refuse_mixture(targets, classes, place)
    if classes.size <= 2:
        return "two classes"
    return "numbers" if targets.dtype.kind == "f" else "classes"


def _refuse_mixture(targets: np.ndarray, classes: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise ValueError if some of the strings are numbers and others are not."""
    words = np.array([not is_number(word) for word in classes.tolist()])
    if words.all() or not words.any():
        return
    wordy = words[np.searchsorted(classes, targets)]
    count, first = int(wordy.sum()), int(np.argmax(wordy))
    raise ValueError(
        f"the target holds {len(targets) - count:,} numbers and {count:,} other value{'s' * (count > 1)} (the first is "
        f"{str(targets[first])!r} in {place(first)}): correct or remove those rows; if all values are names of "
        "classes, say so with --loss multinomial, or with --loss logistic if there are two"
    )


def encoded(
    targets: np.ndarray, loss: Loss, loss_name: str, place: Callable[[int], str], classes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Encode targets for a loss. Raise ValueError if the loss does not accept them.

    Parameters
    ----------
    targets : array of shape (n,), or (n, k)
        Numbers, truth values or words.
    loss : loss
        The loss.
    loss_name : str
        Its name, for messages.
    place : callable
        Returns where a row is, for messages.
    classes : array, optional
        The classes that the targets number, if they do.

    Returns
    -------
    y : array
        Labels -1 and +1, class indices, real targets, or a matrix of real targets.
    classes : array or None
        The classes in ascending order. Labels -1 and +1 are the first and the second class.
    """
    if classes is not None and loss.targets not in ("labels", "classes"):
        raise ValueError(f"the target has {len(classes)} classes, and the {loss_name} loss takes numbers")
    if loss.targets == "rows":
        return _numbers(np.atleast_2d(targets.T).T, loss_name, place), None
    if targets.ndim == 2:
        raise ValueError(f"the {loss_name} loss takes one target column, not {targets.shape[1]}: use multitask-squared")
    if loss.targets not in ("labels", "classes"):
        return _numbers(targets, loss_name, place), None
    codes = targets
    if classes is None:
        classes, codes = np.unique(targets, return_inverse=True)
    if classes.dtype.kind == "f" and (classes == np.round(classes)).all() and np.abs(classes).max() < 2.0**53:
        classes = classes.astype(np.int64)
    if classes.size < 2:
        raise ValueError(f"the target has one class only, {classes[0]}: there is nothing to tell apart")
    if loss.targets == "classes":
        return codes.astype(np.float64), classes
    if classes.size > 2:
        raise ValueError(_too_many(classes, loss_name))
    return 2.0 * codes - 1.0, classes


def _too_many(classes: np.ndarray, loss_name: str) -> str:
    shown = listed([str(value) for value in classes], quote=False)
    numbers = ", or a loss of real targets such as squared" if classes.dtype.kind in "if" else ""
    return (
        f"the target has {classes.size} classes ({shown}), and the {loss_name} loss takes two: "
        f"use the multinomial loss{numbers}"
    )


def _numbers(targets: np.ndarray, loss_name: str, place: Callable[[int], str]) -> np.ndarray:
    """Return targets as numbers. Raise ValueError for the first target that is not a number."""
    if targets.dtype.kind in "fb":
        return targets.astype(np.float64)
    words, first = np.unique(targets, return_index=True)
    bad = [at for word, at in zip(words.tolist(), first.tolist(), strict=True) if not is_number(word)]
    if bad:
        at = min(bad)
        cell, row = str(targets.flat[at]), at // (targets.size // len(targets))
        raise ValueError(f"the {loss_name} loss takes numbers, but the target in {place(row)} is {cell!r}")
    return targets.astype(np.float64)
