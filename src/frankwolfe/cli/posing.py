"""From the arguments of a command to a problem. Imported when a command runs: it takes the whole library along."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from frankwolfe.arguments.lookup import nearest
from frankwolfe.io.read import Data, Features, read_data
from frankwolfe.io.tables import listed
from frankwolfe.io.tabular import ADVICE
from frankwolfe.io.targets import DEFAULT_LOSSES, encoded, is_number, kind_of_target, row_number
from frankwolfe.losses import as_loss
from frankwolfe.model.preparation import Preparation
from frankwolfe.path import posed
from frankwolfe.problem import Problem
from frankwolfe.problem.from_store import stored_targets
from frankwolfe.sets.named import as_constraint
from frankwolfe.store.reader import DEFAULT_MEMORY, open_rows

ALL_TEXT = ""
"""What ``--categorical`` says without a name."""


class Posed(NamedTuple):
    """A problem, and how its columns were made.

    Attributes
    ----------
    problem : Problem
        What to minimise.
    preparation : Preparation
        What was done to the columns of the file.
    """

    problem: Problem
    preparation: Preparation


@dataclass(frozen=True)
class Specification:
    """What the arguments of a command specify: a file, and what to make of it.

    Attributes
    ----------
    data : Data
        The file.
    y : array
        Its targets, as the loss takes them.
    classes : array or None
        What the targets stand for.
    loss : loss
        The loss, for as many outputs as there are.
    loss_name : str
        What the user calls it.
    constraint : str
        Name of the set.
    radius : float or None
        Its radius; None for the default.
    intercept, standardize, fill : bool
        Whether there is an intercept, whether columns are standardised, and whether missing values are filled.
    class_weight : dict, "balanced" or None
        Weights of the classes, by their place; others have weight 1.
    """

    data: Data
    y: np.ndarray
    classes: np.ndarray | None
    loss: Any
    loss_name: str
    constraint: str
    radius: float | None
    intercept: bool
    standardize: bool
    fill: bool
    class_weight: Any = None

    def by_class(self, rows: Any = None) -> np.ndarray | None:
        """Return the weight of each class; balanced ones by the number and the weights of these rows."""
        if self.class_weight is None or self.classes is None:
            return None
        count = len(self.classes)
        if self.class_weight != "balanced":
            return np.array([self.class_weight.get(place, 1.0) for place in range(count)])
        rows = slice(None) if rows is None else rows
        shares = np.bincount(self._codes(rows), None if self.data.weights is None else self.data.weights[rows], count)
        return shares.sum() / (count * np.where(shares > 0.0, shares, np.inf))

    def _codes(self, rows: Any) -> np.ndarray:
        """Return the place of each row's class."""
        return np.searchsorted(np.unique(self.y), self.y[rows])

    def weights(self, rows: Any = None, fitted: Any = None) -> np.ndarray | None:
        """Return the weights of rows, their classes' included; these are balanced by the rows that are fitted to."""
        rows = slice(None) if rows is None else rows
        own = None if self.data.weights is None else self.data.weights[rows]
        by_class = self.by_class(rows if fitted is None else fitted)
        if by_class is None:
            return own
        return by_class[self._codes(rows)] * (1.0 if own is None else own)

    def pose(self, rows: np.ndarray | None = None) -> Posed:
        """Return the problem of all rows, or of some; the columns are made ready for these alone."""
        table, y, weights = self.data.table, self.y, self.data.weights
        if rows is not None:
            table, y, weights = table.rows(rows), y[rows], None if weights is None else weights[rows]
        names = self.data.features.names
        preparation = Preparation.learned(
            table,
            names,
            fill=self.fill,
            standardize=self.standardize,
            center=self.intercept,
            sample_weight=weights,
        )
        X = preparation.apply(table, names).X
        problem = posed(X, y, self.loss, self.constraint, self.weights(rows), intercept=self.intercept)
        if self.radius is not None:
            problem = problem.over(as_constraint(self.constraint, self.radius, problem.d, problem.outputs))
        return Posed(problem, preparation)

    def target_in_words(self) -> str:
        """Say what the targets are."""
        classes, y = self.classes, self.y
        if classes is None:
            return f"numbers from {y.min():.4g} to {y.max():.4g}"
        return counted(classes, np.unique(y, return_counts=True)[1])


def counted(classes: np.ndarray, counts: np.ndarray) -> str:
    """Say which classes there are, and how many rows of each."""
    shown = [f"{value} ({_rows(count)})" for value, count in zip(classes, counts, strict=True)]
    return f"{len(classes)} classes: {', '.join(shown[:6])}" + (", ..." if len(shown) > 6 else "")


def specify(
    path: Path,
    target: Sequence[str],
    loss: str | None,
    constraint: str,
    weights: str | None,
    ignore: Sequence[str],
    no_intercept: bool,
    standardize: bool,
    categorical: Sequence[str],
    missing: str,
    radius: float | None = None,
    memory: str | None = None,
    class_weight: Sequence[str] = (),
) -> Specification:
    """Return what the arguments of a command say."""
    if path.is_dir():
        others = (target, weights, ignore, standardize, categorical, missing == "mean")
        stored = specify_store(path, loss, constraint, not no_intercept, radius, memory, any(others))
        return replace(stored, class_weight=parsed_class_weight(class_weight, stored.classes))
    loss_part: Any = None if loss is None else as_loss(loss)  # a wrong name is told before a large file is read
    words, advice = [name for name in categorical if name != ALL_TEXT], None if missing == "mean" else ADVICE
    data = read_data(path, target, weights, ignore, words=words, advice=advice, all_text=ALL_TEXT in categorical)
    assert data.targets is not None
    if loss is None:
        loss = DEFAULT_LOSSES[kind_of_target(data.targets, data.place)]
        loss_part = as_loss(loss)
    y, classes = encoded(data.targets, loss_part, loss, data.place)
    fitting = loss_part.for_targets(y)
    by_class = parsed_class_weight(class_weight, classes)
    return Specification(
        data, y, classes, fitting, loss, constraint, radius, not no_intercept, standardize, missing == "mean", by_class
    )


def parsed_class_weight(given: Sequence[str], classes: np.ndarray | None) -> Any:
    """Return the weights of classes, by their place: a dict, ``"balanced"``, or None where nothing was given.

    Examples
    --------
    >>> parsed_class_weight(["yes=5"], np.array(["no", "yes"]))
    {1: 5.0}
    """
    if not given:
        return None
    if classes is None:
        raise ValueError("--class-weight: the target is numbers, which have no classes; use --weights")
    if list(given) == ["balanced"]:
        return "balanced"
    names, found = [str(name) for name in classes], {}
    for text in given:
        name, _, number = text.rpartition("=")
        if not is_number(number) or not 0.0 < float(number) < np.inf:
            raise ValueError(f"--class-weight takes CLASS=WEIGHT with a positive number, or balanced; got {text!r}")
        if name not in names:
            hint = nearest(name, names) or f". Classes: {listed(names)}"
            raise ValueError(f"--class-weight: there is no class {name!r}{hint}")
        found[names.index(name)] = float(number)
    return found


class StoredSpecification(Specification):
    """What is specified where the data is a row store: rows are as they were written."""

    def pose(self, rows: np.ndarray | None = None) -> Posed:
        """Return the problem of all rows."""
        if rows is not None:
            raise ValueError("no rows can be held out of a row store: convert those to hold out to another one")
        problem = posed(self.data.X, self.y, self.loss, self.constraint, self.weights(), intercept=self.intercept)
        if self.radius is not None:
            problem = problem.over(as_constraint(self.constraint, self.radius, problem.d, problem.outputs))
        return Posed(problem, Preparation())


def specify_store(
    path: Path, loss: str | None, constraint: str, intercept: bool, radius: float | None, memory: str | None, more: bool
) -> StoredSpecification:
    """Return what the arguments of a command say, where the data is a row store."""
    store = open_rows(path, DEFAULT_MEMORY if memory is None else memory)
    if more:
        raise ValueError(
            f"{path} is a row store: its columns are as they were written. Name target, weights and columns to ignore "
            "when it is converted; columns of a store are neither filled nor standardised"
        )
    if store.y is None:
        raise ValueError(f"{path} holds no targets: convert it with --target")
    if loss is None:
        kind = (
            kind_of_target(store.y) if store.classes is None else "classes" if len(store.classes) > 2 else "two classes"
        )
        loss = DEFAULT_LOSSES[kind]
    loss_part: Any = as_loss(loss)
    if store.classes is None:
        y, classes = encoded(store.y, loss_part, loss, row_number)
    else:
        y, classes = stored_targets(store, loss_part), store.classes
    if not store.fits:
        megabytes = -(-store.run_memory // 10**6)
        column = 8e-6 * store.nnz / store.shape[1]
        click.echo(
            f"{path} stays on disk: the run takes about {megabytes:,} MB, of which rows and copied columns have "
            f"{2e-6 * store.memory:,.0f}; many columns with weight take {column:,.1f} MB each",
            err=True,
        )
    features = Features(store.feature_names, store.manifest.first_column, store.shape[1])
    data = Data(store, features, store.y, store.sample_weight, row_number, {})
    fitting = loss_part.for_targets(y)
    return StoredSpecification(data, y, classes, fitting, loss, constraint, radius, intercept, False, False)


def facts(path: Path, spec: Specification, posed: Posed) -> list[tuple[str, str]]:
    """Return what there is to say about the data of a problem."""
    problem = posed.problem
    intercept = "with a free intercept" if problem.intercept else "without an intercept"
    number = spec.data.features.number
    prepared = _prepared(spec, posed.preparation)
    return [
        ("data", f"{path}: {problem.n:,} rows, {number:,} columns{_stored(problem)}"),
        *_placed(problem),
        *([("columns", prepared)] if prepared else []),
        ("target", spec.target_in_words()),
        *_class_weights(spec),
        ("loss", f"{spec.loss_name}, {intercept}"),
    ]


def _class_weights(spec: Specification) -> list[tuple[str, str]]:
    """Say what rows of each class count, if not the same."""
    by_class = spec.by_class()
    if by_class is None or spec.classes is None:
        return []
    shown = [f"{name} {weight:.4g}" for name, weight in zip(spec.classes, by_class, strict=True)]
    return [("class weights", ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else ""))]


def _stored(problem: Problem) -> str:
    X = problem.X
    is_dense = isinstance(X, np.ndarray) or (problem.on_cluster and not X.is_sparse)
    return "" if is_dense else f", {X.nnz:,} stored values"


def _placed(problem: Problem) -> list[tuple[str, str]]:
    """Say where the rows are, if that is elsewhere."""
    if not problem.on_cluster:
        return []
    workers = len(problem.X.cluster.parts)
    return [("cluster", f"{workers} worker{'s' * (workers > 1)} with rows, {problem.X.bytes:,} bytes")]


def _prepared(spec: Specification, preparation: Preparation) -> str:
    """Say what was done to the columns."""
    names = spec.data.features.names or []
    said = []
    if preparation.scale is not None:
        said.append("standardised" if preparation.center is not None else "divided by their standard deviation")
    if preparation.categories:
        counts = [f"{names[place]} ({len(words)})" for place, words in sorted(preparation.categories.items())]
        said.append(f"categories: {', '.join(counts[:6])}{', ...' if len(counts) > 6 else ''}")
    if preparation.fill is not None:
        missing = int(np.isnan(spec.data.X).sum())
        said.append(f"{missing:,} missing number{'s' * (missing != 1)} filled with the mean")
    return "; ".join(said)


def _rows(count: int) -> str:
    return f"{count:,} row" + ("" if count == 1 else "s")
