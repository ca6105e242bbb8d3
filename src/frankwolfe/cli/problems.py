"""Turn the arguments of a command into a problem, with rows in memory, in a row store or on a cluster.

This module imports most of the library, so commands import it when they run.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from frankwolfe.arguments.arrays import numeric_frame
from frankwolfe.arguments.names import nearest
from frankwolfe.cli.options import ColumnOptions, ProblemOptions
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
from frankwolfe.methods.registry import as_method
from frankwolfe.model.preparation import Preparation
from frankwolfe.path import make_problem
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import check_on_cluster
from frankwolfe.sets import as_constraint
from frankwolfe.store.format import NAME as MANIFEST
from frankwolfe.store.reader import DEFAULT_MEMORY, RowStore, open_rows

ALL_TEXT = ""
"""Value of ``--categorical`` without a name."""


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

    def problem(self, rows: np.ndarray | None = None) -> tuple[Problem, Preparation]:
        """Return the problem of all rows, or of some, and the preparation of the columns, learned from these alone."""
        X, y, preparation = self.data.X, self.y, Preparation()
        if self.prepare is not None:
            table, weights, names = self.data.table, self.data.weights, self.data.features.names
            if rows is not None:
                table, y, weights = table.rows(rows), y[rows], None if weights is None else weights[rows]
            preparation = Preparation.learned(table, names, **self.prepare, sample_weight=weights)
            X = preparation.apply(table, names).X
        elif rows is not None:
            raise ValueError("no rows can be held out of a row store: convert those to hold out to another one")
        problem = make_problem(X, y, self.loss, self.constraint, self.weights(rows), intercept=self.intercept)
        if self.radius is not None:
            problem = problem.over(as_constraint(self.constraint, self.radius, problem.d, problem.outputs))
        return problem, preparation


def specify(
    path: Path,
    problem: ProblemOptions,
    columns: ColumnOptions,
    radius: float | None = None,
    memory: str | None = None,
    class_weight: Sequence[str] = (),
) -> Specification:
    """Return what the arguments of a command specify."""
    if path.is_dir():
        data, prepare = _stored(path, problem, memory, prepared=columns != ColumnOptions()), None
    else:
        if problem.loss is not None:
            as_loss(problem.loss)  # raises for an unknown name before a large file is read
        words, advice = [name for name in columns.categorical if name != ALL_TEXT], None if columns.fill else ADVICE
        named = problem.target, problem.weights, problem.ignore
        data = read_data(path, *named, words=words, advice=advice, all_text=ALL_TEXT in columns.categorical)
        prepare = {"fill": columns.fill, "standardize": columns.standardize, "center": problem.intercept}
    assert data.targets is not None
    loss_name = problem.loss or DEFAULT_LOSSES[kind_of_target(data.targets, data.place, data.classes)]
    loss: Any = as_loss(loss_name)
    y, classes = encoded(data.targets, loss, loss_name, data.place, data.classes)
    return Specification(
        data,
        y,
        classes,
        loss.for_targets(y),
        loss_name,
        problem.constraint,
        radius,
        problem.intercept,
        _numbers(y.min(), y.max()) if classes is None else _counted(classes, np.unique(y, return_counts=True)[1]),
        prepare,
        parsed_class_weight(class_weight, classes),
    )


def _numbers(low: float, high: float) -> str:
    """Return targets that are numbers, in words."""
    return f"numbers from {low:.4g} to {high:.4g}"


def _counted(classes: np.ndarray, counts: np.ndarray) -> str:
    """Return the classes, with the number of rows of each, in words."""
    shown = [f"{value} ({n:,} row{'' if n == 1 else 's'})" for value, n in zip(classes, counts, strict=True)]
    return f"{len(classes)} classes: {_few(shown)}"


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


def _stored(path: Path, problem: ProblemOptions, memory: str | None, prepared: bool) -> Data:
    """Return the data of a row store."""
    store = _store(path, problem, DEFAULT_MEMORY if memory is None else memory, prepared)
    if not store.fits:
        megabytes = -(-store.run_memory // 10**6)
        column = 8e-6 * store.nnz / store.shape[1]
        click.echo(
            f"{path} stays on disk: the run takes about {megabytes:,} MB, of which rows and copied columns have "
            f"{2e-6 * store.memory:,.0f}; many columns with weight take {column:,.1f} MB each",
            err=True,
        )
    return Data(store, _features(store), store.y, store.sample_weight, row_number, {}, store.classes)


def _store(path: Path, problem: ProblemOptions, memory: str | int, prepared: bool = False) -> RowStore:
    """Open a row store; raise ValueError if it has no targets, or if columns are named or to be prepared."""
    store = open_rows(path, memory)
    if prepared or problem.target or problem.weights or problem.ignore:
        raise ValueError(
            f"{path} is a row store: its columns are as they were written. Name target, weights and columns to ignore "
            "when it is converted; columns of a store are neither filled nor standardised"
        )
    if store.y is None:
        raise ValueError(f"{path} holds no targets: convert it with --target")
    return store


def _features(store: RowStore) -> Features:
    return Features(store.feature_names, store.manifest.first_column, store.shape[1])


def facts(path: Path, spec: Specification, problem: Problem, preparation: Preparation) -> list[tuple[str, str]]:
    """Return the lines of a summary that describe the data and the problem."""
    intercept = "with a free intercept" if problem.intercept else "without an intercept"
    entries = f", {problem.X.nnz:,} stored values" if problem.samples.rows.is_sparse else ""
    size = f"{path}: {problem.n:,} rows, {spec.data.features.number:,} columns{entries}"
    workers = len(problem.X.cluster.parts) if problem.on_cluster else 0
    there = f"{workers} worker{'s' * (workers > 1)} with rows, {problem.X.bytes:,} bytes" if workers else ""
    named = [("cluster", there), ("columns", _prepared(spec, preparation)), ("target", spec.target_summary)]
    named += [("class weights", _class_weights(spec)), ("loss", f"{spec.loss_name}, {intercept}")]
    return [("data", size), *((name, text) for name, text in named if text)]


def _class_weights(spec: Specification) -> str:
    """Return the weights of the classes in words; nothing if they have none."""
    by_class = spec.by_class()
    if by_class is None or spec.classes is None:
        return ""
    return _few([f"{name} {weight:.4g}" for name, weight in zip(spec.classes, by_class, strict=True)])


def _few(texts: list[str]) -> str:
    """Return the first six texts of a list, separated by commas."""
    return ", ".join(texts[:6]) + (", ..." if len(texts) > 6 else "")


def _prepared(spec: Specification, preparation: Preparation) -> str:
    """Return the preparation of the columns in words."""
    names = spec.data.features.names or []
    said = []
    if preparation.scale is not None:
        said.append("standardised" if preparation.center is not None else "divided by their standard deviation")
    if preparation.categories:
        counts = [f"{names[place]} ({len(words)})" for place, words in sorted(preparation.categories.items())]
        said.append(f"categories: {_few(counts)}")
    if preparation.fill is not None:
        missing = int(np.isnan(spec.data.X).sum())
        said.append(f"{missing:,} missing number{'s' * (missing != 1)} filled with the mean")
    return "; ".join(said)


# --- rows on a cluster ------------------------------------------------------------------------------------------------

CHUNKS, SMALLEST, SHARD = 16, 2**16, 2**24
"""A file is converted to about so many shards, each of at least and at most so many bytes."""


def check_options(refused: dict[str, bool], problem: ProblemOptions, method: str) -> None:
    """Raise ValueError for options that a cluster does not support, before one is connected.

    ``refused`` has a list of such options, and whether they were given.
    """
    for option, given in refused.items():
        if given:
            raise ValueError(f"{option} needs the rows in this process: leave it out, or --cluster and --workers")
    check_on_cluster(as_loss(problem.loss or "squared"), problem.intercept, as_method(method))  # defaults are supported


@contextmanager
def specified_remotely(
    path: Path, problem: ProblemOptions, radius: float | None, local: bool
) -> Iterator[Specification]:
    """Yield what the arguments of a command specify, if the rows are on a cluster.

    ``local``: the workers are on this machine, and can read a temporary folder.
    """
    with TemporaryDirectory() as folder:
        yield _remote(_lazy(path, problem, Path(folder) if local else None), problem, radius)


def _remote(data: Data, problem: ProblemOptions, radius: float | None) -> Specification:
    """Survey the targets on the workers, and encode them there for the loss."""
    from frankwolfe.cluster.target_survey import survey_targets

    y: Any = data.targets
    survey = survey_targets(y, data.weights)
    values, counts = survey.values, survey.counts
    if data.classes is not None:  # some may have no rows
        assert values is not None
        counts = np.bincount(values.astype(np.int64), counts, minlength=len(data.classes)).astype(np.int64)
        values = np.arange(len(data.classes), dtype=np.float64)
    named = values if values is None else _as_read(values)
    if problem.loss is not None:
        loss_name = problem.loss
    elif named is None:
        loss_name = DEFAULT_LOSSES["rows" if y.ndim == 2 else "numbers"]
    else:
        loss_name = DEFAULT_LOSSES[kind_of_target(named, data.place, data.classes)]
    loss: Any = as_loss(loss_name)
    classes = None
    if loss.targets in ("labels", "classes"):
        if named is None:
            raise ValueError(f"the {loss_name} loss takes classes, and the target has too many values to be that")
        codes, classes = encoded(named, loss, loss_name, data.place, data.classes)
        loss = loss.for_targets(codes)
        y = y.map_blocks(_encoded_chunk, values, codes, dtype=np.float64, meta=np.empty(0))
    elif data.classes is not None:
        raise ValueError(f"the target has {len(data.classes)} classes, and the {loss_name} loss takes numbers")
    elif loss.targets == "rows":
        y = y[:, None] if y.ndim == 1 else y
        loss = loss.for_targets(np.zeros((1, y.shape[1])))
    elif y.ndim == 2:
        raise ValueError(f"the {loss_name} loss takes one target column, not {y.shape[1]}: use multitask-squared")
    summary = _numbers(survey.low, survey.high) if classes is None else _counted(classes, counts)
    return Specification(data, y, classes, loss, loss_name, problem.constraint, radius, problem.intercept, summary)


def _as_read(values: np.ndarray) -> np.ndarray:
    """Return distinct targets as if read from a file: numbers as floats, words as text."""
    return values.astype({"i": float, "u": float, "O": str}.get(values.dtype.kind, values.dtype))


def _encoded_chunk(y: Any, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return codes[np.searchsorted(values, np.asarray(y))]


def _lazy(path: Path, problem: ProblemOptions, folder: Path | None) -> Data:
    """Return a row store or Parquet as dask collections; convert other files in a folder, if one is given."""
    if not path.exists():
        raise ValueError(f"{path} does not exist")
    if (path / MANIFEST).exists():
        return _lazy_store(_store(path, problem, sys.maxsize))
    if path.is_dir() or (kind_of(path) == "parquet" and not is_compressed(path)):
        return _lazy_parquet(path, problem)
    if folder is None:
        raise ValueError(
            f"{path} is read by one process only. Make a row store of it, in a folder that all workers reach: "
            f"frankwolfe convert {path} --out FOLDER; or Parquet files"
        )
    from frankwolfe.store.write_rows import write_rows

    shard = max(SMALLEST, min(SHARD, path.stat().st_size // CHUNKS))
    target, weights, ignore = problem.target, problem.weights, problem.ignore
    rows = folder / "rows"
    write_rows(rows, path, target=target, weights=weights, ignore=ignore, shard=shard)
    return _lazy_store(open_rows(rows, memory=sys.maxsize))


def _lazy_store(store: RowStore) -> Data:
    X, y, weights = store.to_dask()
    return Data(X, _features(store), y, weights, _anywhere, {}, store.classes)


def _lazy_parquet(path: Path, problem: ProblemOptions) -> Data:
    """Return the Parquet files of a folder, or one file, as dask collections."""
    try:
        from dask.dataframe import read_parquet
    except ImportError:
        raise ImportError("Parquet on a cluster needs pandas and pyarrow: pip install 'frankwolfe[dask]'") from None
    if path.is_dir() and not any(path.rglob("*.parquet")):
        raise ValueError(f"{path} is neither a row store nor a folder of .parquet files")
    target, weights = problem.target, problem.weights
    frame = read_parquet(str(path.absolute()))
    names = [str(name) for name in frame.columns]
    if not target:
        raise ValueError(f"--target is missing: which column of {path} is to be predicted?")
    for name in (*target, *([weights] if weights else []), *problem.ignore):
        if name not in names:
            raise ValueError(f"{path} has no column {name!r}{nearest(name, names) or '.'}")
    left = feature_names(names, path, target, weights, problem.ignore)
    try:
        numeric_frame(frame[left]._meta)
    except TypeError as error:
        raise ValueError(f"{path}: {error}. Leave them out with --ignore") from None
    from frankwolfe.cluster.loading import column_array

    y = column_array(frame[target[0]] if len(target) == 1 else frame[list(target)])
    given = column_array(frame[weights]) if weights else None
    return Data(frame[left], Features(left, 0, len(left)), y, given, _anywhere, {})


def _anywhere(row: int) -> str:
    """Return the place of a row for messages: on a cluster it is not known."""
    return "the data"
