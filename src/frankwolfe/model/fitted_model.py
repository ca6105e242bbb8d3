"""`FittedModel`: a solution with everything that predictions need, and its certificate."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from frankwolfe import __version__
from frankwolfe.arguments.arrays import as_offset
from frankwolfe.arguments.names import warn_user
from frankwolfe.arguments.types import ConstraintSet, Loss, RowNumbers, TableLike
from frankwolfe.compile.part import short
from frankwolfe.io.read import Features
from frankwolfe.io.tables import Table, as_table, listed
from frankwolfe.losses import as_loss
from frankwolfe.model.preparation import Preparation, Prepared
from frankwolfe.model.probabilities import probabilities_of
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status
from frankwolfe.sets.base import a_set
from frankwolfe.summary import Summary, outputs_of, proven, run_facts


@dataclass(frozen=True)
class RunRecord:
    """A record of the run that found a model: the fields of a `Result` without the solution.

    Attributes
    ----------
    fun, gap, tolerance : float
        Exact objective, proven gap, and the tolerance for the gap.
    convex : bool
        Whether the loss is convex, so that the objective is at most ``gap`` above its minimum.
    status, message, method : str
        How the run ended, and the method.
    passes, seconds : float
        Cost of the run.
    zero_value : float
        Objective of the zero model.
    violation, max_features : optional
        As in a `Result`.
    rows : int
        Number of rows of the data.
    seed : int or None
        Seed of the batches.
    """

    fun: float
    gap: float
    tolerance: float
    convex: bool
    status: str
    message: str
    method: str
    passes: float
    seconds: float
    zero_value: float
    violation: float | None
    max_features: int | None
    rows: int
    seed: int | None

    @classmethod
    def of(cls, problem: Problem, result: Result, seed: int | None) -> "RunRecord":
        """Return the record of a result."""
        kept = {part.name: getattr(result, part.name) for part in fields(cls) if part.name not in ("rows", "seed")}
        numbers = {name: float(value) for name, value in kept.items() if isinstance(value, np.floating)}
        return cls(**{**kept, **numbers, "status": str(result.status)}, rows=problem.n, seed=seed)

    @property
    def success(self) -> bool:
        """Whether the proven gap met the tolerance."""
        return self.status == Status.CONVERGED

    @property
    def is_likely(self) -> bool:
        """Whether the gap is within the tolerance with high probability, without a proof."""
        return self.status == Status.LIKELY


def _versions() -> dict[str, str]:
    """Return the versions of this library, Python and NumPy."""
    return {"frankwolfe": __version__, "python": platform.python_version(), "numpy": np.__version__}


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A linear model, with the loss, the set, the certificate and the names of its columns.

    Attributes
    ----------
    weights : array of shape (d,), or (d, outputs)
        The weights of the prepared columns, a point of the set.
    intercept : float, or array of shape (outputs,)
        Added to all predictions; zero if there was none.
    loss : loss
        The loss that was minimised.
    constraint : set
        The set of the weights.
    run : RunRecord
        The certificate, and the run that found it.
    classes : array or None
        The classes that the labels or class numbers stand for, in ascending order.
    features : Features
        The columns that the model reads.
    target : list of str
        Names of the targets; empty if they have none.
    versions : dict
        Versions of the libraries that made it.
    preparation : Preparation
        The preparation of the columns.
    rules : list of str
        The rules that the weights keep beside the set, as they were written, such as ``"price <= 0"``.
    prices : dict
        How much the objective would fall per unit by which each rule, or the radius, is relaxed. Zero for rules that do
        not bind.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(3.0))
    >>> model = fw.FittedModel.of(problem, fw.minimize(problem, tol=1e-9), features=["a", "b"])
    >>> model.predict([[2.0, 1.0]]).round(3)
    array([4.])
    """

    weights: np.ndarray
    intercept: Any
    loss: Loss
    constraint: ConstraintSet
    run: RunRecord
    classes: np.ndarray | None
    features: Features
    target: list[str]
    versions: dict[str, str] = field(default_factory=_versions)
    preparation: Preparation = field(default_factory=Preparation)
    rules: list[str] = field(default_factory=list)
    prices: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def of(
        cls,
        problem: Problem,
        result: Result,
        *,
        classes: Any = None,
        features: Any = None,
        target: Any = (),
        seed: int | None = None,
        preparation: Preparation | None = None,
        rules: Sequence[str] = (),
        prices: Mapping[str, float] | None = None,
    ) -> "FittedModel":
        """Make a model of a result.

        Parameters
        ----------
        problem : Problem
            The problem that was solved.
        result : Result
            Its result.
        classes : array, optional
            The classes that the labels -1 and +1, or the class numbers, stand for. By default these themselves.
        features : sequence of str, or Features, optional
            Names of the columns. By default those of the data frame that the problem was made of, if any.
        target : sequence of str
            Names of the targets.
        seed : int, optional
            Seed of the run.
        preparation : Preparation, optional
            The preparation of the columns of the problem.
        rules : sequence of str
            The rules that the weights keep beside the set, in words.
        prices : mapping, optional
            Their prices.

        Returns
        -------
        FittedModel
        """
        if not isinstance(result.x, np.ndarray):
            raise TypeError("a model is linear: the result of a completion problem predicts by itself")
        preparation = Preparation() if preparation is None else preparation
        return cls(
            result.x,
            result.intercept,
            problem.loss,
            problem.constraint,
            RunRecord.of(problem, result, seed),
            _as_classes(classes, problem),
            _as_features(problem.feature_names if features is None else features, problem.d, preparation),
            [str(name) for name in target],
            preparation=preparation,
            rules=list(rules),
            prices=dict(prices or {}),
        )

    def __repr__(self) -> str:
        loss = short(self.loss).removesuffix("()")
        nonzero = f"{np.count_nonzero(self.weights):,} of {self.weights.size:,} weights not zero"
        predicts = "" if self.classes is None else f"; classes {listed([str(name) for name in self.classes])}"
        proof = "certified" if self.run.success else "not certified"
        gap = f"gap {self.run.gap:.2g}, {proof} to the tolerance {self.run.tolerance:.2g}"
        rules = f"; rules {', '.join(self.rules)}" if self.rules else ""
        return f"<FittedModel: {loss} over {short(self.constraint)}, {nonzero}{rules}{predicts}; {gap}>"

    @property
    def weight_names(self) -> list[str] | None:
        """Names of the prepared columns, one for each row of ``weights``; None if columns have no names."""
        return None if self.features.names is None else self.preparation.names(self.features.names)

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs, which are classes or targets; empty for one output."""
        if self.weights.ndim == 1:
            return []
        return [str(name) for name in (self.target if self.classes is None else self.classes)] or outputs_of(
            self.weights
        )

    def summary(self) -> Summary:
        """Return weights by name, for the columns as they are in the data, and what is proven of them, on one screen.

        Returns
        -------
        Summary

        Examples
        --------
        >>> import frankwolfe as fw
        >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
        >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(3.0))
        >>> model = fw.FittedModel.of(problem, fw.minimize(problem, tol=1e-9), features=["a", "b"])
        >>> model.summary().to_frame()["weight"].round(3).to_dict()
        {'b': 2.0, 'a': 1.0}
        """
        run, d = self.run, len(self.weights)
        weights, intercept = self.unscaled()
        facts = run_facts(run, intercept) | {"data": f"{run.rows:,} rows, {d:,} columns"}
        if self.rules:
            facts["rules"] = "; ".join(self.rules)
        names = self.weight_names or [f"x{j}" for j in range(d)]
        title = f"{short(self.loss)} over {short(self.constraint)}"
        return Summary(title, names, weights, self.output_names, facts, proven(run, bool(self.rules)), self.prices)

    def unscaled(self) -> tuple[np.ndarray, Any]:
        """Return weights and intercept for the original columns: unchanged unless these were standardised.

        Returns
        -------
        weights : array of shape (d,), or (d, outputs)
            Weights per unit of each column.
        intercept : float, or array of shape (outputs,)
            The intercept for these weights.
        """
        return self.preparation.unscaled(self.weights, self.intercept)

    def prepared(self, X: TableLike) -> Prepared:
        """Return the matrix of prepared columns, and messages about unknown categories.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table of shape (n, number of features)
            As for `predict`.

        Returns
        -------
        Prepared
        """
        names = self.features.names
        table = X if isinstance(X, Table) else as_table(X, names, self.features.number, self.preparation.categories)
        return self.preparation.apply(table, names)

    def decision(self, X: TableLike, offset: RowNumbers = None, exposure: RowNumbers = None) -> np.ndarray:
        """Return ``X w + intercept + offset``: scores of the classes, or the predictions of a regression.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, number of features)
            As for `predict`.
        offset, exposure : array of shape (n,), optional
            As for `predict`.

        Returns
        -------
        array of shape (n,), or (n, outputs)
        """
        matrix, notes = self.prepared(X)
        for note in notes:
            warn_user(note, UserWarning)
        return self.shifted(self.scores(matrix), offset, exposure)

    def shifted(self, scores: np.ndarray, offset: RowNumbers, exposure: RowNumbers) -> np.ndarray:
        """Return scores with offsets and logarithms of exposures added."""
        shift = as_offset(offset, exposure, self.loss, len(scores))
        if shift is None:
            return scores
        if scores.ndim > 1:
            raise ValueError(f"offset goes with losses of one output, not with {type(self.loss).__name__}")
        return scores + shift

    def scores(self, matrix: Any) -> np.ndarray:
        """Return the scores of prepared rows.

        Parameters
        ----------
        matrix : array or sparse matrix of shape (n, d)
            As `prepared` returns it.

        Returns
        -------
        array of shape (n,), or (n, outputs)
        """
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow raises an error below
            found = np.asarray(matrix @ self.weights) + self.intercept
        if not np.isfinite(found).all():
            row = int(np.argwhere(~np.isfinite(found))[0, 0])
            raise ValueError(f"the score of row {row} is not finite: its numbers are too large")
        return found

    def predict(self, X: TableLike, offset: RowNumbers = None, exposure: RowNumbers = None) -> np.ndarray:
        """Predict a class, a number, or several numbers for each row; means for losses with a log link.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, number of features)
            If the columns of both the model and a data frame have names, columns are selected by name, and further
            columns are ignored. Else columns are in the order of ``features``. A missing value raises ValueError,
            unless the model was fitted to fill it. An unknown category causes a warning, and all its indicators are 0.
        offset, exposure : array of shape (n,), optional
            Known parts of the predictions and, for log links, factors of the means; by default zeros and ones.

        Returns
        -------
        array of shape (n,), or (n, outputs)
        """
        return self.chosen(self.decision(X, offset, exposure))

    def chosen(self, scores: np.ndarray) -> np.ndarray:
        """Return the class with the highest score for each row; without classes the scores or, by a log link, means."""
        if self.classes is None:
            return np.exp(scores) if self.loss.log_link else scores
        return self.classes[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.0).astype(int)]

    def probabilities(self, X: TableLike) -> np.ndarray:
        """Return the probability of each class; for the losses ``logistic``, ``multinomial`` and ``modified-huber``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, number of features)
            As for `predict`.

        Returns
        -------
        array of shape (n, number of classes)
            Columns in the order of ``classes``; rows sum to one.
        """
        return probabilities_of(self.loss, self.decision(X))

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a ``.npz`` file, completely or not at all. `load_model` reads it.

        Parameters
        ----------
        path : str or Path
            The file; replaced if it exists.
        """
        from frankwolfe.model.saved_models import write_model

        write_model(self, path)


def _check(model: FittedModel) -> None:
    """Raise ValueError unless the parts of a model are consistent."""
    loss = as_loss(model.loss)
    a_set("constraint", model.constraint)
    number, names = model.features.number, model.features.names
    if names is not None and len(names) != number:
        raise ValueError(f"features has {len(names)} names, but there are {number} columns in X")
    if names is not None and len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"two columns are called {twice!r}: names must tell columns apart")
    outputs = loss.outputs
    width = model.preparation.width(number)
    shape = (width, outputs) if outputs else (width,)
    for name, values, expected in (("weights", model.weights, shape), ("intercept", model.intercept, shape[1:])):
        found = np.asarray(values)
        alone = name == "intercept" and found.shape == ()  # the same for all outputs
        if found.dtype.kind != "f" or not (alone or found.shape == expected):
            raise ValueError(f"{name} must be numbers of shape {expected}, got {found.dtype} of shape {found.shape}")
        if not np.isfinite(found).all():
            raise ValueError(f"{name} must be finite, but some are not")
    count = _class_count(loss, outputs)
    if (0 if model.classes is None else model.classes.size) != count:
        given = "none" if model.classes is None else model.classes.size
        raise ValueError(f"{type(model.loss).__name__} has {count or 'no'} classes, got {given}")


def _class_count(loss: Loss, outputs: int) -> int:
    """Return the number of classes that a model predicts; 0 for a regression."""
    return 2 if loss.targets == "labels" else outputs if loss.targets == "classes" else 0


def _as_features(features: Any, d: int, preparation: Preparation) -> Features:
    """Return the columns that a model reads, given as names or as `Features`."""
    if features is None:
        return Features(None, 0, preparation.number(d))
    if isinstance(features, Features):
        return features
    names = [str(name) for name in features]
    if len(names) != preparation.number(d):
        raise ValueError(f"features has {len(names)} names, but there are {preparation.number(d)} columns in X")
    return Features(names, 0, len(names))


def _as_classes(classes: Any, problem: Problem) -> np.ndarray | None:
    """Return the classes that a model predicts: the given ones, or those of the loss."""
    count = _class_count(problem.loss, problem.outputs)
    if not count:
        if classes is not None:
            raise ValueError(f"{type(problem.loss).__name__} has no classes: leave classes out")
        return None
    own = np.array([-1, 1]) if not problem.outputs else np.arange(count)
    if classes is None:
        return own
    given = np.asarray(classes)
    if given.shape != own.shape or given.dtype == object:
        raise ValueError(f"classes must be {len(own)} numbers or strings, got {classes!r}")
    return given
