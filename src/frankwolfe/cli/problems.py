"""From a file and options to a problem. This module imports most of the library: commands import it when they run."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np

from frankwolfe.arguments.arrays import as_offset
from frankwolfe.arguments.names import nearest
from frankwolfe.arguments.types import Loss
from frankwolfe.cli.options import Options
from frankwolfe.io.csv_parquet import ADVICE
from frankwolfe.io.read import DEFAULT_LOSSES, Data, Features, encoded, is_number, kind_of_target, read_data, row_number
from frankwolfe.io.tables import Table, listed
from frankwolfe.losses import as_loss
from frankwolfe.model.fitted_model import FittedModel
from frankwolfe.model.preparation import Preparation
from frankwolfe.path import make_problem
from frankwolfe.problem import Problem
from frankwolfe.problem.posing import RuledSet, least_size, posed
from frankwolfe.problem.rules import QUOTED, Rules
from frankwolfe.sets.named import as_constraint
from frankwolfe.store.reader import DEFAULT_MEMORY, RowStore, open_rows

ROOM = 1.01
"""A grid of radii starts at the least one with which all rules hold times this."""

ALL_TEXT = ""
"""Value of ``--categorical`` without a name."""


@dataclass(frozen=True)
class Specification:
    """The problem that a file and options specify.

    Attributes
    ----------
    options : Options
        The options.
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
    target_summary : str
        The targets in words.
    in_memory : bool
        Whether the rows are in memory, so that columns can be prepared and rows held out.
    offset : array or None
        Known parts of the predictions, with the logarithms of exposures.
    """

    options: Options
    data: Data
    y: np.ndarray
    classes: np.ndarray | None
    loss: Loss
    loss_name: str
    target_summary: str
    in_memory: bool = True
    offset: np.ndarray | None = None

    def by_class(self, rows: Any = slice(None)) -> np.ndarray | None:
        """Return the weight of each class, if there are any; balanced ones by the weights of these rows."""
        given = self.options.class_weight
        if not given:
            return None
        if self.classes is None:
            raise ValueError("--class-weight: the target is numbers, which have no classes; use --weights")
        if given != ("balanced",):
            return parsed_class_weight(given, self.classes)
        weights = None if self.data.weights is None else self.data.weights[rows]
        shares = np.bincount(self._codes(rows), weights, len(self.classes))
        return shares.sum() / (len(shares) * np.where(shares > 0.0, shares, np.inf))

    def _codes(self, rows: Any) -> np.ndarray:
        """Return the index of each row's class."""
        return np.searchsorted(np.unique(self.y), self.y[rows])

    def weights(self, rows: Any = slice(None), fitted: Any = None) -> np.ndarray | None:
        """Return the weights of rows times those of their classes, which are balanced over the rows ``fitted``."""
        own = None if self.data.weights is None else self.data.weights[rows]
        by_class = self.by_class(rows if fitted is None else fitted)
        if by_class is None:
            return own
        return by_class[self._codes(rows)] * (1.0 if own is None else own)

    def problem(self, rows: Any = slice(None)) -> tuple[Problem, Preparation]:
        """Return the problem of all rows, or of some, and the preparation of the columns, learned from these alone."""
        X, y, preparation = self.data.X, self.y, self.preparation(rows)
        if self.in_memory:
            X, y = preparation.apply(self._table(rows), self.data.features.names).X, y[rows]
        found, intercept = self.posed(preparation), self.options.intercept
        offset = None if self.offset is None else self.offset[rows]
        problem = make_problem(X, y, self.loss, found.constraint, self.weights(rows), intercept, found.side, offset)
        return problem, preparation

    def preparation(self, rows: Any = slice(None)) -> Preparation:
        """Return the preparation of the columns, learned from all rows or from some."""
        options, data = self.options, self.data
        if not self.in_memory:
            return Preparation()
        found = Preparation.learned(
            self._table(rows),
            data.features.names,
            fill=options.fill,
            standardize=options.standardize or options.no_radius,
            center=options.intercept,
            sample_weight=None if data.weights is None else data.weights[rows],
        )
        if options.rules and found.categories and isinstance(rows, np.ndarray):  # rules may name any category
            found = replace(found, categories=self.preparation().categories)
        return found

    def _table(self, rows: Any) -> Table:
        """Return all rows of the file, or some."""
        return self.data.table.rows(rows) if isinstance(rows, np.ndarray) else self.data.table

    # --- rules on weights ---------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs: classes or targets; empty for one output."""
        if not self.loss.outputs:
            return []
        return list(self.options.target) if self.classes is None else [str(name) for name in self.classes]

    def weight_names(self, preparation: Preparation) -> list[str]:
        """Return the names of the prepared columns."""
        first, number = self.data.features.first, self.data.features.number
        return preparation.names(self.data.features.names or [f"x{first + j}" for j in range(number)])

    def rules(self, preparation: Preparation) -> Rules:
        """Return the rules on the weights of the prepared columns, as they are before they are scaled."""
        options, names = self.options, self.weight_names(preparation)
        return Rules.of(
            names,
            len(names),
            read_bounds(options.bound),
            options.condition,
            read_monotone(options.monotone),
        )

    def posed(self, preparation: Preparation) -> RuledSet:
        """Return the set and the side conditions for the weights of the prepared columns."""
        options = self.options
        rules = self.rules(preparation)
        constraint = None
        if not options.no_radius:
            constraint = as_constraint(options.constraint, options.radius, len(rules.names), self.loss.outputs)
        elif options.given("radius", "constraint"):
            raise ValueError("--no-radius leaves the rules as the only limits: leave --radius and --set out")
        return posed(rules.scaled(preparation.scales(len(rules.names))), constraint, self.loss.outputs)

    def least_size(self, preparation: Preparation) -> float:
        """Return the smallest sum of absolute weights with which all rules hold.

        Raises ValueError, with the rules that contradict each other, if no weights satisfy all of them.
        """
        rules = self.rules(preparation)
        least_size(rules)  # whose error names the rules as they were written
        return least_size(rules.scaled(preparation.scales(len(rules.names)))) * max(1, self.loss.outputs)

    def least_radius(self, parts: Iterable[Any]) -> float:
        """Return a radius with which some weights satisfy all rules, whichever rows columns are prepared for.

        There is a little room, but none is needed without rules.
        """
        if not self.options.rules:
            return 0.0
        return ROOM * max(self.least_size(self.preparation(rows)) for rows in parts)

    def prices(self, preparation: Preparation, found: Mapping[str, Any]) -> dict[str, float]:
        """Return the prices of a result by the texts of the rules, for weights on the scale of the file."""
        rules = self.posed(preparation)
        scale = preparation.scales(len(rules.rules.names))
        radius = {"radius": float(found["radius"])} if "radius" in found and not self.options.no_radius else {}
        return radius | rules.prices(found, scale, self.outputs)


def specify(path: Path, options: Options, features: Features | None = None) -> Specification:
    """Return what a file, or a row store, and options specify; of a file only the columns of a model, if given."""
    if options.loss is not None:
        as_loss(options.loss)  # raises for an unknown name before a large file is read
    in_memory = not path.is_dir()
    if in_memory:
        data = read_data(
            path,
            options.target,
            options.weights,
            options.ignore,
            features=features,
            words=[name for name in options.categorical if name != ALL_TEXT],
            advice=None if options.fill else ADVICE,
            all_text=ALL_TEXT in options.categorical,
            offset=options.offset,
            exposure=options.exposure,
        )
    else:
        data = _stored(path, options)
    if data.targets is None:
        raise ValueError(f"{path} has not the target of the model, or not in every row")
    loss_name = options.loss or DEFAULT_LOSSES[kind_of_target(data.targets, data.place, data.classes)]
    loss: Loss = as_loss(loss_name)
    y, classes = encoded(data.targets, loss, loss_name, data.place, data.classes)
    counts = None if classes is None else np.unique(y, return_counts=True)[1]
    summary = target_summary(classes, counts, y.min(), y.max())
    offset = as_offset(data.offset, data.exposure, loss, len(y))
    spec = Specification(options, data, y, classes, loss.for_targets(y), loss_name, summary, in_memory, offset)
    spec.by_class()  # raises for class weights that do not apply
    return spec


def target_summary(classes: np.ndarray | None, counts: np.ndarray | None, low: float, high: float) -> str:
    """Return the targets in words: the range of numbers, or the classes with their numbers of rows."""
    if classes is None or counts is None:
        return f"numbers from {low:.4g} to {high:.4g}"
    shown = [f"{value} ({n:,} row{'' if n == 1 else 's'})" for value, n in zip(classes, counts, strict=True)]
    return f"{len(classes)} classes: {listed(shown, quote=False)}"


def parsed_class_weight(given: tuple[str, ...], classes: np.ndarray) -> np.ndarray:
    """Return the weight of each class from texts such as ``yes=5``; 1 for those that are not named.

    Examples
    --------
    >>> parsed_class_weight(("yes=5",), np.array(["no", "yes"]))
    array([1., 5.])
    """
    names, found = [str(name) for name in classes], np.ones(len(classes))
    for text in given:
        name, _, number = text.rpartition("=")
        if not is_number(number) or not 0.0 < float(number) < np.inf:
            raise ValueError(f"--class-weight takes CLASS=WEIGHT with a positive number, or balanced; got {text!r}")
        if name not in names:
            hint = nearest(name, names) or f". Classes: {listed(names)}"
            raise ValueError(f"--class-weight: there is no class {name!r}{hint}")
        found[names.index(name)] = float(number)
    return found


COMPARISON = re.compile(r"(<=|>=|==)")
"""The signs of a bound."""


def read_bounds(texts: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Return lower and upper bounds by name or pattern from texts such as ``price <= 0``.

    Examples
    --------
    >>> read_bounds(["price <= 0", "tv_* >= 0", "0 <= tv_* <= 5"])
    {'price': (-inf, 0.0), 'tv_*': (0.0, 5.0)}
    """
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        parts = [part.strip() for part in COMPARISON.split(text)]
        sides, signs = parts[::2], parts[1::2]
        columns = [k for k, side in enumerate(sides) if not is_number(side)]
        if len(columns) == 2 and "" not in sides:
            raise ValueError(f"--bound {text!r}: a rule on several weights is a condition: --condition {text!r}")
        if len(columns) != 1 or "" in sides or not 2 <= len(sides) <= 3 or (len(sides) == 3 and columns != [1]):
            raise ValueError(f"--bound takes NAME <= NUMBER, with <=, >= or ==, or 0 <= NAME <= 1; got {text!r}")
        name = QUOTED.sub(r"\1", sides[columns[0]])
        low, high = found.get(name, (-np.inf, np.inf))
        for sign, (left, right) in zip(signs, pairwise(sides), strict=True):
            is_left = is_number(left)
            bound = float(left if is_left else right)
            if np.isnan(bound):
                raise ValueError(f"--bound {text!r}: a bound is NaN; leave it out for no bound")
            if sign == "==" or (sign == "<=") == is_left:
                low = max(low, bound)
            if sign == "==" or (sign == ">=") == is_left:
                high = min(high, bound)
        found[name] = low, high
    return found


def read_monotone(texts: Iterable[str]) -> dict[str | tuple[str, ...], str]:
    """Return directions by pattern or list of names from texts such as ``age_*: increasing``.

    Examples
    --------
    >>> read_monotone(["age_*: increasing", "low,high:decreasing"])
    {'age_*': 'increasing', ('low', 'high'): 'decreasing'}
    """
    found: dict[str | tuple[str, ...], str] = {}
    for text in texts:
        names, _, direction = text.rpartition(":")
        listed = [QUOTED.sub(r"\1", name.strip()) for name in names.split(",")]
        if not all(listed):
            raise ValueError(f"--monotone takes PATTERN: increasing, or NAME,NAME,...: decreasing; got {text!r}")
        found[tuple(listed) if len(listed) > 1 else listed[0]] = direction.strip()
    return found


def _stored(path: Path, options: Options) -> Data:
    """Return the data of a row store. Say on standard error how much memory a run takes if the store is too large."""
    store = store_with_targets(path, options, DEFAULT_MEMORY if options.memory is None else options.memory)
    if not store.fits:
        megabytes = -(-store.run_memory // 10**6)
        column = 8e-6 * store.nnz / store.shape[1]
        click.echo(
            f"{path} stays on disk: the run takes about {megabytes:,} MB, of which rows and copied columns have "
            f"{2e-6 * store.memory:,.0f}; many columns with weight take {column:,.1f} MB each",
            err=True,
        )
    return Data(store, features_of(store), store.y, store.sample_weight, row_number, {}, store.classes)


def store_with_targets(path: Path, options: Options, memory: str | int) -> RowStore:
    """Open a row store. Raise ValueError if it has no targets, or options name or prepare columns."""
    store = open_rows(path, memory)
    if options.no_radius:
        raise ValueError(f"{path} is a row store: --no-radius needs rows in memory; name a --radius")
    if beside := options.given("offset", "exposure"):
        raise ValueError(f"{path} is a row store, which keeps no column for {beside[0]}: pass it as an array in Python")
    if options.given("target", "weights", "ignore", "standardize", "categorical", "missing"):
        raise ValueError(
            f"{path} is a row store: its columns are as they were written. Name target, weights and columns to ignore "
            "when it is converted; columns of a store are neither filled nor standardised"
        )
    if options.given("holdout", "folds"):
        raise ValueError("no rows can be held out of a row store: convert those to hold out to another one")
    if store.y is None:
        raise ValueError(f"{path} holds no targets: convert it with --target")
    return store


def features_of(store: RowStore) -> Features:
    """Return the columns of a row store."""
    return Features(store.feature_names, store.manifest.first_column, store.shape[1])


def facts(path: Path, spec: Specification, problem: Problem, preparation: Preparation) -> list[tuple[str, str]]:
    """Return the lines of a summary that describe the data and the problem."""
    rows = [("data", f"{path}: {problem.n:,} rows, {spec.data.features.number:,} columns")]
    if problem.samples.rows.is_sparse:
        rows = [("data", f"{rows[0][1]}, {problem.X.nnz:,} stored values")]
    rows += problem.source.summary()
    prepared = _prepared(spec, preparation)
    if prepared:
        rows.append(("columns", "; ".join(prepared)))
    rows.append(("target", spec.target_summary))
    by_class = spec.by_class()
    if by_class is not None and spec.classes is not None:
        weights = [f"{name} {weight:.4g}" for name, weight in zip(spec.classes, by_class, strict=True)]
        rows.append(("class weights", listed(weights, quote=False)))
    if spec.options.rules:
        rows.append(("rules", "; ".join(spec.options.rules)))
    return [*rows, ("loss", f"{spec.loss_name}, {'with a free' if problem.intercept else 'without an'} intercept")]


def answer_lines(model: FittedModel, constraint: str, certificate: str) -> list[tuple[str, str]]:
    """Return the lines of a summary that describe a model; the intercept is that for the columns of the file."""
    shifts, run = np.ravel(model.unscaled()[1]), model.run
    shown = ", ".join(f"{value:.6g}" for value in shifts[:6])
    return [
        ("set", f"{constraint}, {np.count_nonzero(model.weights):,} of {model.weights.size:,} weights not zero"),
        *([("intercept", shown)] if shifts.any() else []),
        ("objective", f"{run.fun:.8g}" if run.fun < np.inf and not run.is_likely else "not evaluated"),
        ("certificate", certificate),
    ]


def _prepared(spec: Specification, preparation: Preparation) -> list[str]:
    """Return the preparation of the columns in words."""
    names, parts = spec.data.features.names or [], []
    if preparation.scale is not None:
        parts.append("standardised" if preparation.center is not None else "divided by their standard deviation")
    if preparation.categories:
        counts = [f"{names[place]} ({len(words)})" for place, words in sorted(preparation.categories.items())]
        parts.append(f"categories: {listed(counts, quote=False)}")
    if preparation.fill is not None:
        missing = int(np.isnan(spec.data.X).sum())
        parts.append(f"{missing:,} missing number{'s' * (missing != 1)} filled with the mean")
    return parts
