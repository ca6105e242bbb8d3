"""From the arguments of a command to a problem whose rows are on a cluster."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.arrays import numeric_frame
from frankwolfe.arguments.lookup import nearest
from frankwolfe.cli.posing import Posed, Specification, counted
from frankwolfe.cluster.collections import column_array
from frankwolfe.cluster.target_survey import Survey, survey_targets
from frankwolfe.io.read import Data, Features, feature_names
from frankwolfe.io.streams import is_compressed, kind_of
from frankwolfe.io.targets import DEFAULT_LOSSES, encoded, kind_of_target
from frankwolfe.losses import as_loss
from frankwolfe.methods.table import as_method
from frankwolfe.model.preparation import Preparation
from frankwolfe.path import posed
from frankwolfe.problem.on_cluster import Planned, accept_on_cluster, refuse_smoothing
from frankwolfe.sets.named import as_constraint
from frankwolfe.store.format import NAME as MANIFEST
from frankwolfe.store.reader import open_rows

CHUNKS, SMALLEST, SHARD = 16, 2**16, 2**24
"""A file that is converted gets about so many shards, each of at least and at most so many bytes."""


class Source(NamedTuple):
    """Data that workers read.

    Attributes
    ----------
    X, y, weights : dask collections
        Rows, targets and, where there are some, weights.
    features : Features
        What the columns are.
    classes : array or None
        What the targets stand for, where they are numbers of classes.
    """

    X: Any
    y: Any
    weights: Any
    features: Features
    classes: np.ndarray | None


@dataclass(frozen=True)
class ClusterSpecification(Specification):
    """What is specified where the rows are on a cluster: they are as they were written."""

    seen: Survey | None = None

    def pose(self, rows: np.ndarray | None = None) -> Posed:
        """Return the problem of all rows."""
        assert rows is None
        data = self.data
        problem = posed(data.X, self.y, self.loss, self.constraint, data.weights, intercept=self.intercept)
        if self.radius is not None:
            problem = problem.over(as_constraint(self.constraint, self.radius, problem.d, problem.outputs))
        return Posed(problem, Preparation())

    def target_in_words(self) -> str:
        """Say what the targets are."""
        assert self.seen is not None
        if self.classes is None:
            return f"numbers from {self.seen.low:.4g} to {self.seen.high:.4g}"
        return counted(self.classes, self.seen.counts)


def check_options(refused: dict[str, bool], loss: str | None, method: str, intercept: bool) -> None:
    """Raise ValueError for what does not go with a cluster, before one is asked.

    ``refused`` are options that do not, and whether they were given.
    """
    for option, given in refused.items():
        if given:
            raise ValueError(f"{option} needs the rows in this process: leave it out, or --cluster and --workers")
    posed = as_loss("squared" if loss is None else loss)  # the targets decide later, between losses that all can do
    refuse_smoothing(posed, None)
    accept_on_cluster(Planned(intercept, posed), as_method(method))


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
) -> Iterator[ClusterSpecification]:
    """Have what the arguments of a command say, where the rows are on a cluster.

    ``local`` says that the workers are on this machine, and read what is written here.
    """
    with TemporaryDirectory() as folder:
        source = _opened(path, target, weights, ignore, Path(folder) if local else None)
        yield _specification(source, loss, constraint, radius, not no_intercept)


def _specification(
    source: Source, loss: str | None, constraint: str, radius: float | None, intercept: bool
) -> ClusterSpecification:
    """Look at the targets, where they are, and say how the loss takes them."""
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
        y = _mapped(y, _encoded_chunk, seen.values, codes)
    elif source.classes is not None:
        raise ValueError(f"the target has {len(source.classes)} classes, and the {loss} loss takes numbers")
    elif part.targets == "rows":
        y = y[:, None] if y.ndim == 1 else y
        part = part.for_targets(np.zeros((1, y.shape[1])))
    elif y.ndim == 2:
        raise ValueError(f"the {loss} loss takes one target column, not {y.shape[1]}: use multitask-squared")
    data = Data(source.X, source.features, None, source.weights, _place, {})
    return ClusterSpecification(data, y, classes, part, loss, constraint, radius, intercept, False, False, seen=seen)


def _names(source: Source, values: np.ndarray | None) -> np.ndarray | None:
    """Return the distinct targets as a reader of files has them: numbers as floats, words as text."""
    if values is None or source.classes is not None:
        return source.classes
    if values.dtype.kind in "iu":
        return values.astype(np.float64)
    return values.astype(str) if values.dtype.kind == "O" else values


def _with_all_classes(seen: Survey, count: int) -> Survey:
    """Return a survey of class numbers with those that no row has."""
    assert seen.values is not None
    counts = np.zeros(count, np.int64)
    counts[seen.values.astype(np.int64)] = seen.counts
    return seen._replace(values=np.arange(count, dtype=np.float64), counts=counts)


def _default_loss(source: Source, named: np.ndarray | None) -> str:
    """Return the loss for the targets, where none is named."""
    if named is None:
        return DEFAULT_LOSSES["rows" if source.y.ndim == 2 else "numbers"]
    if source.classes is not None:
        return DEFAULT_LOSSES["classes" if len(named) > 2 else "two classes"]
    return DEFAULT_LOSSES[kind_of_target(named, _place)]


def _place(row: int) -> str:
    return "the data"


def _mapped(y: Any, function: Any, *more: Any) -> Any:
    return y.map_blocks(function, *more, dtype=np.float64, meta=np.empty(0))


def _encoded_chunk(y: Any, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return codes[np.searchsorted(values, np.asarray(y))]


# --- what workers read ------------------------------------------------------------------------------------------------


def _opened(
    path: Path, target: Sequence[str], weights: str | None, ignore: Sequence[str], folder: Path | None
) -> Source:
    """Return a row store or Parquet as dask collections; other files are converted in a folder, if there is one."""
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
    """Return the files of a folder, or one file; workers read their columns by path."""
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
    y = column_array(frame[target[0]] if len(target) == 1 else frame[list(target)])
    given = column_array(frame[weights]) if weights else None
    return Source(frame[left], y, given, Features(left, 0, len(left)), None)
