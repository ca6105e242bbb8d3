"""Turn the arguments of a command into a problem, with rows in memory, in a row store or on a cluster.

This module imports most of the library, so commands import it when they run.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from frankwolfe.arguments.arrays import numeric_frame
from frankwolfe.arguments.names import nearest
from frankwolfe.io.csv_parquet import ADVICE
from frankwolfe.io.read import (
    DEFAULT_LOSSES,
    Data,
    Features,
    encoded,
    feature_names,
    is_number,
    kind_of_target,
    read_data,
    row_number,
)
from frankwolfe.io.streams import is_compressed, kind_of
from frankwolfe.io.tables import listed
from frankwolfe.losses import as_loss
from frankwolfe.methods.table import as_method
from frankwolfe.model.preparation import Preparation
from frankwolfe.path import posed
from frankwolfe.problem import Problem
from frankwolfe.problem.from_store import stored_targets
from frankwolfe.problem.requirements import check_on_cluster
from frankwolfe.sets.named import as_constraint
from frankwolfe.store.format import NAME as MANIFEST
from frankwolfe.store.reader import DEFAULT_MEMORY, open_rows

if TYPE_CHECKING:
    from frankwolfe.cluster.target_survey import Survey

ALL_TEXT = ""
"""Value of ``--categorical`` without a name."""


class Posed(NamedTuple):
    """A problem, and the preparation of its columns."""

    problem: Problem
    preparation: Preparation


@dataclass(frozen=True)
class Specification:
    """The problem that the arguments of a command specify.

    Attributes
    ----------
    data : Data
        The file.
    y : array
        Its targets, encoded for the loss.
    classes : array or None
        The classes that the targets stand for.
    loss : loss
        The loss, for the number of outputs at hand.
    loss_name : str
        Its name on the command line.
    constraint : str
        Name of the set.
    radius : float or None
        Its radius; None for the default.
    intercept : bool
        Whether there is an intercept.
    target_summary : str
        The targets in words.
    prepare : dict or None
        Options of `Preparation.learned`. None in a row store or on a cluster, where columns are as they were written.
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
    target_summary: str
    prepare: dict[str, bool] | None = None
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
        """Return the problem of all rows, or of some; columns are prepared for these alone."""
        X, y, preparation = self.data.X, self.y, Preparation()
        if self.prepare is not None:
            table, weights, names = self.data.table, self.data.weights, self.data.features.names
            if rows is not None:
                table, y, weights = table.rows(rows), y[rows], None if weights is None else weights[rows]
            preparation = Preparation.learned(table, names, **self.prepare, sample_weight=weights)
            X = preparation.apply(table, names).X
        elif rows is not None:
            raise ValueError("no rows can be held out of a row store: convert those to hold out to another one")
        problem = posed(X, y, self.loss, self.constraint, self.weights(rows), intercept=self.intercept)
        if self.radius is not None:
            problem = problem.over(as_constraint(self.constraint, self.radius, problem.d, problem.outputs))
        return Posed(problem, preparation)


def in_words(classes: np.ndarray | None, y: np.ndarray) -> str:
    """Return targets in words."""
    if classes is None:
        return f"numbers from {y.min():.4g} to {y.max():.4g}"
    return counted(classes, np.unique(y, return_counts=True)[1])


def counted(classes: np.ndarray, counts: np.ndarray) -> str:
    """Return the classes, with the number of rows of each, in words."""
    shown = [
        f"{value} ({count:,} row{'' if count == 1 else 's'})" for value, count in zip(classes, counts, strict=True)
    ]
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
    """Return what the arguments of a command specify."""
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
    return Specification(
        data,
        y,
        classes,
        fitting,
        loss,
        constraint,
        radius,
        not no_intercept,
        in_words(classes, y),
        {"fill": missing == "mean", "standardize": standardize, "center": not no_intercept},
        parsed_class_weight(class_weight, classes),
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


def specify_store(
    path: Path, loss: str | None, constraint: str, intercept: bool, radius: float | None, memory: str | None, more: bool
) -> Specification:
    """Return what the arguments of a command specify, if the data is a row store."""
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
    return Specification(data, y, classes, fitting, loss, constraint, radius, intercept, in_words(classes, y))


def facts(path: Path, spec: Specification, posed: Posed) -> list[tuple[str, str]]:
    """Return the lines of a summary that describe the data and the problem."""
    problem = posed.problem
    intercept = "with a free intercept" if problem.intercept else "without an intercept"
    number = spec.data.features.number
    prepared = _prepared(spec, posed.preparation)
    return [
        ("data", f"{path}: {problem.n:,} rows, {number:,} columns{_stored(problem)}"),
        *_placed(problem),
        *([("columns", prepared)] if prepared else []),
        ("target", spec.target_summary),
        *_class_weights(spec),
        ("loss", f"{spec.loss_name}, {intercept}"),
    ]


def _class_weights(spec: Specification) -> list[tuple[str, str]]:
    """Return the weights of the classes, if they have any."""
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
    """Return where the rows are, if they are on a cluster."""
    if not problem.on_cluster:
        return []
    workers = len(problem.X.cluster.parts)
    return [("cluster", f"{workers} worker{'s' * (workers > 1)} with rows, {problem.X.bytes:,} bytes")]


def _prepared(spec: Specification, preparation: Preparation) -> str:
    """Return the preparation of the columns in words."""
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


# --- rows on a cluster ------------------------------------------------------------------------------------------------

CHUNKS, SMALLEST, SHARD = 16, 2**16, 2**24
"""A file is converted to about so many shards, each of at least and at most so many bytes."""


class Source(NamedTuple):
    """Data that workers read.

    Attributes
    ----------
    X, y, weights : dask collections
        Rows, targets and weights, if any.
    features : Features
        The columns.
    classes : array or None
        The classes that the targets number, if they do.
    """

    X: Any
    y: Any
    weights: Any
    features: Features
    classes: np.ndarray | None


def check_options(refused: dict[str, bool], loss: str | None, method: str, intercept: bool) -> None:
    """Raise ValueError for options that a cluster does not support, before one is connected.

    ``refused`` has a list of such options, and whether they were given.
    """
    for option, given in refused.items():
        if given:
            raise ValueError(f"{option} needs the rows in this process: leave it out, or --cluster and --workers")
    posed = as_loss("squared" if loss is None else loss)  # a cluster supports all losses that are defaults
    check_on_cluster(posed, intercept, as_method(method))


@contextmanager
def specified_on_cluster(
    path: Path,
    target: Sequence[str],
    loss: str | None,
    constraint: str,
    weights: str | None,
    ignore: Sequence[str],
    no_intercept: bool,
    radius: float | None,
    local: bool,
) -> Iterator[Specification]:
    """Yield what the arguments of a command specify, if the rows are on a cluster.

    ``local``: the workers are on this machine, and can read a temporary folder.
    """
    with TemporaryDirectory() as folder:
        source = _opened(path, target, weights, ignore, Path(folder) if local else None)
        yield _specification(source, loss, constraint, radius, not no_intercept)


def _specification(
    source: Source, loss: str | None, constraint: str, radius: float | None, intercept: bool
) -> Specification:
    """Survey the targets on the workers, and encode them there for the loss."""
    from frankwolfe.cluster.target_survey import survey_targets

    seen = survey_targets(source.y, source.weights)
    named = _names(source, seen.values)
    if source.classes is not None:
        seen = _with_all_classes(seen, len(source.classes))
    if loss is None:
        loss = _default_loss(source, named)
    part: Any = as_loss(loss)
    y, classes = source.y, None
    if part.targets in ("labels", "classes"):
        if named is None:
            raise ValueError(f"the {loss} loss takes classes, and the target has too many values to be that")
        codes, classes = encoded(named, part, loss, _place)
        part = part.for_targets(codes)
        y = y.map_blocks(_encoded_chunk, seen.values, codes, dtype=np.float64, meta=np.empty(0))
    elif source.classes is not None:
        raise ValueError(f"the target has {len(source.classes)} classes, and the {loss} loss takes numbers")
    elif part.targets == "rows":
        y = y[:, None] if y.ndim == 1 else y
        part = part.for_targets(np.zeros((1, y.shape[1])))
    elif y.ndim == 2:
        raise ValueError(f"the {loss} loss takes one target column, not {y.shape[1]}: use multitask-squared")
    data = Data(source.X, source.features, None, source.weights, _place, {})
    summary = f"numbers from {seen.low:.4g} to {seen.high:.4g}" if classes is None else counted(classes, seen.counts)
    return Specification(data, y, classes, part, loss, constraint, radius, intercept, summary)


def _names(source: Source, values: np.ndarray | None) -> np.ndarray | None:
    """Return the distinct targets as if read from a file: numbers as floats, words as text."""
    if values is None or source.classes is not None:
        return source.classes
    if values.dtype.kind in "iu":
        return values.astype(np.float64)
    return values.astype(str) if values.dtype.kind == "O" else values


def _with_all_classes(seen: "Survey", count: int) -> "Survey":
    """Return a survey of class numbers that includes classes without rows."""
    assert seen.values is not None
    counts = np.zeros(count, np.int64)
    counts[seen.values.astype(np.int64)] = seen.counts
    return seen._replace(values=np.arange(count, dtype=np.float64), counts=counts)


def _default_loss(source: Source, named: np.ndarray | None) -> str:
    """Return the default loss for the targets."""
    if named is None:
        return DEFAULT_LOSSES["rows" if source.y.ndim == 2 else "numbers"]
    if source.classes is not None:
        return DEFAULT_LOSSES["classes" if len(named) > 2 else "two classes"]
    return DEFAULT_LOSSES[kind_of_target(named, _place)]


def _place(row: int) -> str:
    return "the data"


def _encoded_chunk(y: Any, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return codes[np.searchsorted(values, np.asarray(y))]


def _opened(
    path: Path, target: Sequence[str], weights: str | None, ignore: Sequence[str], folder: Path | None
) -> Source:
    """Return a row store or Parquet as dask collections; convert other files in a folder, if one is given."""
    if not path.exists():
        raise ValueError(f"{path} does not exist")
    if (path / MANIFEST).exists():
        if target or weights or ignore:
            raise ValueError(
                f"{path} is a row store: its columns are as they were written. Name target, weights and columns to "
                "ignore when it is converted"
            )
        return _from_store(path)
    if path.is_dir() or (kind_of(path) == "parquet" and not is_compressed(path)):
        return _from_parquet(path, target, weights, ignore)
    if folder is None:
        raise ValueError(
            f"{path} is read by one process only. Make a row store of it, in a folder that all workers reach: "
            f"frankwolfe convert {path} --out FOLDER; or Parquet files"
        )
    from frankwolfe.store.write_rows import write_rows

    shard = max(SMALLEST, min(SHARD, path.stat().st_size // CHUNKS))
    write_rows(folder / "rows", path, target=target, weights=weights, ignore=ignore, shard=shard)
    return _from_store(folder / "rows")


def _from_store(path: Path) -> Source:
    store = open_rows(path, memory=sys.maxsize)
    X, y, weights = store.to_dask()
    if y is None:
        raise ValueError(f"{path} holds no targets: convert it with --target")
    features = Features(store.feature_names, store.manifest.first_column, store.shape[1])
    return Source(X, y, weights, features, store.classes)


def _from_parquet(path: Path, target: Sequence[str], weights: str | None, ignore: Sequence[str]) -> Source:
    """Return the Parquet files of a folder, or one file, as dask collections."""
    try:
        from dask.dataframe import read_parquet
    except ImportError:
        raise ImportError("Parquet on a cluster needs pandas and pyarrow: pip install 'frankwolfe[dask]'") from None
    if path.is_dir() and not any(path.rglob("*.parquet")):
        raise ValueError(f"{path} is neither a row store nor a folder of .parquet files")
    frame = read_parquet(str(path.absolute()))
    names = [str(name) for name in frame.columns]
    if not target:
        raise ValueError(f"--target is missing: which column of {path} is to be predicted?")
    for name in (*target, *([weights] if weights else []), *ignore):
        if name not in names:
            raise ValueError(f"{path} has no column {name!r}{nearest(name, names) or '.'}")
    left = feature_names(names, path, target, weights, ignore)
    try:
        numeric_frame(frame[left]._meta)
    except TypeError as error:
        raise ValueError(f"{path}: {error}. Leave them out with --ignore") from None
    from frankwolfe.cluster.loading import column_array

    y = column_array(frame[target[0]] if len(target) == 1 else frame[list(target)])
    given = column_array(frame[weights]) if weights else None
    return Source(frame[left], y, given, Features(left, 0, len(left)), None)
