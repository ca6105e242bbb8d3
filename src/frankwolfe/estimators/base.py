"""The base classes of the estimators: parts as parameters, certified runs, linear models.

`PartParameters` makes the fields of a set, a loss or a method parameters of the estimator. `CertifiedEstimator` solves
problems and records what was certified. `LinearModel` turns parameters into problems and results into coefficients.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from frankwolfe.advice import advice_on
from frankwolfe.arguments.arrays import FLOATS, checked_sparse, refuse_dates
from frankwolfe.arguments.names import advice, nearest, warn_user
from frankwolfe.arguments.types import ConstraintSet, Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.best_subset import best_subset
from frankwolfe.certificates.ranges import Ranges, ranges
from frankwolfe.certificates.verifier import Certificate
from frankwolfe.certificates.written import certificate_for
from frankwolfe.compile.part import is_part, short
from frankwolfe.estimators.array_data import functions_for
from frankwolfe.exceptions import ScaleWarning
from frankwolfe.problem import Problem
from frankwolfe.problem.posing import RuledSet, least_size, posed
from frankwolfe.problem.requirements import require_memory
from frankwolfe.problem.rules import ColumnNames, Rules
from frankwolfe.result import Result, Status
from frankwolfe.run import minimize, resume
from frankwolfe.sets import GroupBall, L1Ball, NonNegativeL1Ball
from frankwolfe.sets.named import DEFAULT_RADIUS, as_constraint, carried
from frankwolfe.summary import Summary, proven, run_facts
from frankwolfe.without_budget import (
    in_units,
    minimize_without_budget,
    ranges_without_budget,
    unit_columns,
    with_budget,
)

Checkpoint = str | PathLike[str] | None

WHAT_TO_DO = {
    Status.MAX_PASSES: "Raise max_passes or tol, or scale the data.",
    Status.STALLED: "Raise tol, or scale the data.",
    Status.INTERRUPTED: "Fit again for an answer within the tolerance.",
}
"""Advice for a run that ended without a certificate, if its own message has none."""


ONE_RUN = "checkpoint goes with a fit that is one run"

# --- Parts as parameters --------------------------------------------------------------------------------------


class PartParameters(BaseEstimator):
    """An estimator whose parameters may be parts: ``constraint__radius`` is the radius of its set."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` also the fields of parts, such as ``constraint__radius``.

        Parameters
        ----------
        deep : bool
            Whether to include the fields of parts.

        Returns
        -------
        dict
        """
        found = super().get_params(deep=deep)
        if deep:
            for name, value in list(found.items()):
                found.update(_fields(name, value))
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``constraint__radius=2.0`` replaces the set by one of that radius.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        own = self.get_params(deep=False)
        for name in params:
            if name.partition("__")[0] not in own:
                invalid = f"Invalid parameter {name!r} for estimator {type(self).__name__}"  # scikit-learn's wording
                raise ValueError(f"{invalid}{advice(name, own)}")
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        for path, value in params.items():
            name, _, field = path.partition("__")
            if field:
                setattr(self, name, _with_field(name, getattr(self, name), field, value))
        return self


def _fields(name: str, part: Any) -> dict[str, Any]:
    """Return the fields of a part by their nested names, including those of parts within it."""
    found: dict[str, Any] = {}
    for field, value in part._asdict().items() if is_part(part) else ():
        found |= {f"{name}__{field}": value, **_fields(f"{name}__{field}", value)}
    return found


def _with_field(name: str, part: Any, path: str, value: Any) -> Any:
    """Return a new part with the field at the end of `path` changed. The constructor checks the value."""
    field, _, rest = path.partition("__")
    if not is_part(part):
        raise ValueError(f"{name}__{path}: {name} is {part!r}, which has no parameters; set {name} itself")
    if field not in part._fields:
        raise ValueError(
            f"{name}__{field}: {type(part).__name__} has no field {field!r}{nearest(field, part._fields)} "
            f"Its fields are {', '.join(map(repr, part._fields))}."
        )
    if rest:
        value = _with_field(f"{name}__{field}", getattr(part, field), rest, value)
    return type(part)(**{**part._asdict(), field: value})


# --- Certified runs -------------------------------------------------------------------------------------------


class CertifiedEstimator(PartParameters):
    """An estimator that solves one problem, or several independent ones."""

    result_: Result | list[Result] | None
    max_features: int | None = None

    def __init__(
        self, method: Any, tol: float, max_passes: float | None, random_state: Any, n_jobs: int | None, verbose: int
    ):
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _options(self, several: bool = False) -> dict[str, Any]:
        """Return the arguments of `minimize`. One of several problems in parallel gets one thread."""
        seed = self.random_state
        if seed is None or isinstance(seed, np.random.RandomState):  # minimize takes integers and Generators
            seed = int(check_random_state(seed).randint(2**31 - 1))
        threads = None if self.n_jobs is None else 1 if several else effective_n_jobs(self.n_jobs)
        return {
            "method": self.method,
            "tol": self.tol,
            "max_passes": self.max_passes,
            "random_state": seed,
            "n_threads": threads,
        }

    def _minimized(self, problems: list[Problem], starts: list[Any], checkpoint: Checkpoint = None) -> list[Result]:
        """Solve the problems, record the results and return them. A checkpoint file goes with one problem only."""
        options = self._options(several=len(problems) > 1)
        if checkpoint is not None and len(problems) > 1:
            raise ValueError(
                f"{ONE_RUN}, and this one is {len(problems)}, one for each class: leave checkpoint out, or choose a "
                "loss for all classes together, as 'multinomial' is"
            )
        # Compiled code releases the interpreter lock, so threads are enough and no data is copied.
        results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._run)(problem, start, checkpoint, options)
            for problem, start in zip(problems, starts, strict=True)
        )
        self._record(results)
        return results

    def _run(self, problem: Problem, x0: Any, checkpoint: Checkpoint, options: dict[str, Any]) -> Result:
        """Solve a problem, or continue the run in the checkpoint file. Tracing costs time: only verbose runs are."""
        if self.max_features is not None:
            if checkpoint is not None:
                raise ValueError(f"{ONE_RUN}, and max_features makes many: leave one out")
            return best_subset(problem, self.max_features, x0=x0, **options)
        progress: dict[str, Any] = {"progress": self.verbose > 0}
        if checkpoint is not None and Path(checkpoint).exists():
            kept = {name: options[name] for name in ("method", "tol", "max_passes", "n_threads")}
            return resume(checkpoint, problem, **kept, **progress)
        return minimize(problem, x0=x0, trace=10 * (self.verbose > 0), checkpoint=checkpoint, **options, **progress)

    def _record(self, results: list[Result]) -> None:
        """Set the fitted attributes of the runs, and warn about results that are not certified."""
        sentences = next(filter(None, [self._advice(found) for found in results]), [])
        if sentences:
            warn_user(f"{type(self).__name__}: {' '.join(sentences)}", ScaleWarning)
        light = [replace(found, trace=copy(found.trace)) for found in results]  # a copied trace has no data
        self.result_ = light[0] if len(light) == 1 else light
        self.gap_ = max(found.gap for found in results)
        self.n_iter_ = max(found.nit for found in results)
        self.passes_ = max(found.passes for found in results)
        missed = [
            found for found in results if not found.success and found.status is not Status.SUBSET and self.tol > 0
        ]
        if missed:
            worst = max(missed, key=lambda found: (found.status is Status.INTERRUPTED, found.gap))
            text = f"{type(self).__name__} is not certified to its tolerance. {worst.message}"
            warn_user(f"{text} {WHAT_TO_DO.get(worst.status, '')}".rstrip(), ConvergenceWarning)

    def _advice(self, found: Result) -> list[str]:
        """Return advice on scales and radii that keep the model from fitting."""
        return found.advice


FREE, NEED_RADIUS = ("l1", "nonnegative-l1", "linf"), ("l2", "trace", "group")
"""Named sets that are left out where there is no budget, and those that need a radius."""


def grouped(groups: Any, columns: ColumnNames) -> list[list[int]]:
    """Return groups of columns, each given by names, patterns or numbers. A column in none is a group of its own.

    Examples
    --------
    >>> grouped({"media": "tv_*"}, ColumnNames(["rent", "tv_a", "tv_b"], 3))
    [[1, 2], [0]]
    """
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"groups must be a list or dict of groups of columns, got {type(groups).__name__}")
    found, owner = list[list[int]](), dict[int, str]()
    for name, members in groups.items() if isinstance(groups, Mapping) else enumerate(groups):
        rule = f"group {name!r}"
        parts = [members] if isinstance(members, str) or not isinstance(members, Iterable) else list(members)
        columns_of = list(dict.fromkeys(j for part in parts for j in columns.matching(part, rule)))
        if not columns_of:
            raise ValueError(f"{rule} is empty")
        for j in columns_of:
            if j in owner:
                raise ValueError(
                    f"{rule}: the column {columns.names[j]!r} is in {owner[j]}, too: groups must not overlap"
                )
            owner[j] = rule
        found.append(columns_of)
    return found + [[j] for j in range(len(columns)) if j not in owner]


# --- Linear models --------------------------------------------------------------------------------------------


def on_chunks(shape: Callable[[Any], tuple]) -> Callable[[Callable], Callable]:
    """Make a prediction method return a lazy dask array for a dask collection, computed chunk by chunk.

    `shape` returns the number of columns of the prediction (None for a vector) and its dtype.
    """

    def decorate(method: Callable) -> Callable:
        @wraps(method)
        def predicted(self: Any, X: TableLike) -> Any:
            check_is_fitted(self)
            return functions_for(X).predicted(self, X, method, shape)

        return predicted

    return decorate


class Solution(NamedTuple):
    """Weights and intercept, named as in a `Result`."""

    x: np.ndarray
    intercept: Any


class LinearModel(CertifiedEstimator, ABC):
    """A linear model over a constraint set. Subclasses define targets, loss and problems.

    Rules on the weights by name (`Rules`) are parameters of some subclasses. ``radius=None`` means no budget: the
    problem is solved over columns of norm one (``_scale``) with a radius that does not bind. ``radius="auto"`` means
    the same where there are rules, and else the default radius of the set.
    """

    loss: Loss
    constraint: ConstraintSet
    radius: float | str | None
    fit_intercept: bool
    warm_start: bool
    bounds: Any = None
    conditions: Any = None
    monotone: Any = None
    groups: Any = None
    coef_: Any
    intercept_: Any
    prices_: dict[str, float]
    _posed: RuledSet | None = None  # the rules of the last problem
    _scale: np.ndarray | None = None  # without a budget: the numbers that columns were divided by
    _least = 0.0  # smallest sum of absolute weights with which the conditions hold
    _stream_radius = DEFAULT_RADIUS  # a stream needs a budget
    _known_names: Any = None  # of a fold, whose rows have no column names
    _ends: list[tuple[Any, np.ndarray]] | None = None  # sets and weights of the last fit, for warm starts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(
        self, X: TableLike, y: TargetValues = None, sample_weight: RowNumbers = None, *, checkpoint: Checkpoint = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Training data. A store (`frankwolfe.open_rows`) may be larger than memory, and brings targets and weights.
            The chunks of a dask array or data frame are loaded by the workers of the cluster and stay there; targets
            and weights must have the same chunks (docs/cluster.md).
        y : array of shape (n,), or (n, outputs)
            TargetValues: classes, of any type that sorts, or numbers.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter.
        checkpoint : str or Path, optional
            A file from which an interrupted fit continues, to the same bits (docs/checkpoints.md). It is for
            this data and these parameters; others are refused. Not available for one-vs-rest.

        Returns
        -------
        self
        """
        self._solve(self._training_problems(X, y, sample_weight), checkpoint)
        return self

    def ranges(
        self,
        X: TableLike,
        y: TargetValues = None,
        of: Any = "coefficients",
        within: float = 0.01,
        sample_weight: RowNumbers = None,
        *,
        predict: Any = None,
        within_absolute: float | None = None,
        names: Sequence[str] | None = None,
        progress: bool = False,
        **offsets: RowNumbers,
    ) -> Ranges:
        """Return between which values weights, contrasts or predictions lie in every good model, with a proof.

        A model is good if its objective is at most 1% above that of this one, or as ``within`` says, is in the same
        set and satisfies the same rules (docs/ranges.md). Threads are those of ``n_jobs``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The rows of the fit.
        y : array of shape (n,), or (n, outputs)
            Their targets.
        of : "coefficients", list of column names or numbers, or array of shape (k, d)
            What to find the ranges of, as for `frankwolfe.ranges`.
        within : float
            How much worse a good model may be, as a part of the objective.
        sample_weight : array of shape (n,), optional
            The weights of the fit.
        predict : array, sparse matrix or data frame of shape (k, d), optional
            Rows whose predictions to find the ranges of, in place of ``of``: scores of a classifier, and logarithms of
            means for a log link. Offsets are not part of them.
        within_absolute : float, optional
            The same as ``within``, as a number.
        names : sequence of str, optional
            Names of the functionals.
        progress : bool
            Whether to show a progress bar (needs tqdm).
        **offsets : dict
            ``offset`` or ``exposure``, if the fit of a regressor had them.

        Returns
        -------
        Ranges

        Examples
        --------
        >>> import frankwolfe as fw
        >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [2.0, 0.0, 2.0, 4.1]
        >>> model = fw.FrankWolfeRegressor(radius=3.0, tol=1e-9).fit(X, y)
        >>> model.ranges(X, y, of=[0], within_absolute=0.01).sign_certain
        array([ True])
        """
        problem, result, scale = self._own_problem(X, y, sample_weight, offsets)
        if predict is not None:
            predict = validate_data(
                self, checked_sparse("predict", predict), accept_sparse="csr", dtype=np.float64, reset=False
            )
        threads = self._options()["n_threads"]
        limits: dict[str, Any] = {"within": within, "within_absolute": within_absolute}
        shown: dict[str, Any] = {"names": names, "n_threads": threads, "progress": progress}
        if scale is None:
            return ranges(problem, result, of, predict=predict, **limits, **shown)
        return ranges_without_budget(problem, result, scale, of, predict=predict, **limits, **shown)

    def certificate(
        self, X: TableLike, y: TargetValues = None, sample_weight: RowNumbers = None, **offsets: RowNumbers
    ) -> Certificate:
        """Return a certificate of the model, which anyone can check with `frankwolfe.verify` (docs/verify.md).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The rows of the fit.
        y : array of shape (n,)
            Their targets. `verify` takes the same ones, classes too.
        sample_weight : array of shape (n,), optional
            The weights of the fit. With ``class_weight`` `verify` takes their products with those of the classes.
        **offsets : dict
            ``offset`` or ``exposure``, if the fit of a regressor had them.

        Returns
        -------
        Certificate

        Examples
        --------
        >>> import frankwolfe as fw
        >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], ["no", "no", "yes", "no"]
        >>> model = fw.FrankWolfeClassifier(radius=3.0, tol=1e-8).fit(X, y)
        >>> fw.verify(model.certificate(X, y), X, y).proven
        True
        """
        problem, result, scale = self._own_problem(X, y, sample_weight, offsets)
        rows = problem.X
        if scale is not None:  # the claims are about the columns as they are given
            rows = validate_data(self, checked_sparse("X", X), accept_sparse="csr", dtype=list(FLOATS), reset=False)
        return certificate_for(problem, result, vars(self).get("classes_"), rows, scale)

    def _own_problem(
        self, X: TableLike, y: TargetValues, sample_weight: RowNumbers, offsets: dict[str, Any]
    ) -> tuple[Problem, Result, np.ndarray | None]:
        """Return the problem of the fit, posed again, its result, and the numbers that its columns are divided by.

        Only a fit without a budget divides columns. Its problem has the last budget. Nothing of this model changes.
        """
        check_is_fitted(self)
        if self.result_ is None:
            raise ValueError("nothing is proven of a stream of rows: call fit on all of them first")
        if isinstance(self.result_, list):
            raise ValueError(
                f"this fit solved {len(self.result_)} problems, one for each class: fit a classifier of one class "
                "against the others, or a loss for all classes together"
            )
        if self.max_features is not None:
            raise ValueError("models with at most max_features are no convex set: fit their columns without it first")
        require_memory(X, "a proof about a model")
        model, result = self._in_columns(self.result_)
        (problem,) = model._training_problems(X, y, sample_weight, **offsets)
        problem, scale = self._with_radius(problem), model._scale
        if scale is not None:
            problem, result = with_budget(problem, result, scale)
        if problem.size != np.size(result.x):
            raise ValueError(
                f"these are not the rows of the fit: X has {problem.d} columns, and the model {len(result.x)} weights. "
                "Pass the X of the fit"
            )
        value = problem.value(result.x)
        if not abs(value - result.fun) <= 1e-9 * max(abs(value), problem.zero_value):
            raise ValueError(
                f"these are not the rows, targets and weights of the fit: the objective of the model is {value:g} for "
                f"them, and was {result.fun:g}. Pass the same ones, or fit again"
            )
        return problem.with_names(self._columns(problem.d).names), result, scale

    def _with_radius(self, problem: Problem) -> Problem:
        """Return the problem with the radius of the fit, if the parameters do not have it."""
        return problem

    def _in_columns(self, result: Result) -> tuple[Self, Result]:
        """Return an unfitted copy whose problems are in the columns of the data, and the result in these."""
        return clone(self), result

    def sparsify(self) -> Self:
        """Store ``coef_`` as a sparse matrix of two dimensions.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Store ``coef_`` as an array again.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    # --- data ---

    def _training_data(self, X: TableLike, y: TargetValues, reset: bool = True) -> tuple[Any, Any]:
        """Return checked rows and targets; without `reset`, features must be those of the last fit."""
        refuse_dates(X)  # scikit-learn would convert them to nanoseconds
        X = checked_sparse("X", X)
        checks = self._target_checks()
        return validate_data(self, X, y, accept_sparse="csr", dtype=list(FLOATS), order="C", reset=reset, **checks)

    def _target_checks(self) -> dict[str, bool]:
        """Return what `validate_data` checks of the targets."""
        return {}

    # --- from parameters to problems, from results to coefficients ---

    def _problem(self, X: TableLike, targets: Any, loss: Loss, weights: Any, intercept: bool) -> Problem:
        """Return the problem for rows, with targets as the loss takes them: here parameters become a `Problem`."""
        rules, side = self._rules(), None
        if rules is None:
            self._posed, constraint = None, self._set(X.shape[1], loss.outputs)
        else:
            least = least_size(rules)  # an error is about the rules as they were given
            if self._scale is not None:
                rules = rules.scaled(self._scale)
                least = least_size(rules)
            self._least = max(1, loss.outputs) * least
            constraint = None if self._scale is not None else self._set(X.shape[1], loss.outputs)
            self._check_radius(constraint)
            self._posed = posed(rules, constraint, loss.outputs)
            constraint, side = self._posed.constraint, self._posed.side
        offset = None
        if np.iscomplexobj(targets):  # of rows with offsets (`LinearRegressor._with_offset`)
            targets, offset = targets.real, targets.imag
        return Problem(X, targets, loss, constraint, weights, intercept, side=side, offset=offset)

    def _set(self, d: int, outputs: int) -> Any:
        """Return the constraint set for weights of that shape, without rules."""
        radius: Any = self._stream_radius if self._is_free() else None if self._is_auto else self.radius
        if self.groups is None:
            return as_constraint(self.constraint, radius, d, outputs)
        if not isinstance(self.constraint, str) or self.constraint != "group":
            raise ValueError(f"groups go with constraint='group', not with {self.constraint!r}: leave one of them out")
        return GroupBall(grouped(self.groups, self._columns(d)), DEFAULT_RADIUS if radius is None else radius)

    # --- rules ---

    def _columns(self, d: int) -> ColumnNames:
        """Return the columns by name."""
        names = self._known_names
        return ColumnNames(vars(self).get("feature_names_in_") if names is None else names, d)

    def _rules(self) -> Rules | None:
        """Return the rules on the weights of each output; None if there are none, and there is a budget."""
        no_budget = self.radius is None
        if self.bounds is None and self.conditions is None and self.monotone is None and not no_budget:
            return None
        d = self.n_features_in_
        names = self._columns(d).names
        found = Rules.of(names, d, self.bounds, self.conditions, self.monotone)
        no_budget = no_budget or (self._is_auto and bool(found))
        if no_budget and isinstance(self.constraint, str) and self.constraint == "nonnegative-l1":
            found = found.within(Rules.of(names, d, (0, None)))  # without a budget that is all that the set says
        return found if found or no_budget else None

    @property
    def _is_auto(self) -> bool:
        """Whether the user left the choice of a radius to the estimator."""
        return isinstance(self.radius, str) and self.radius == "auto"

    def _is_free(self) -> bool:
        """Return whether `fit` has no budget: by ``radius=None``, or because there are rules and no other radius."""
        named = isinstance(self.constraint, str)
        if self.radius is None and not named:
            raise ValueError(
                f"radius=None means no budget, and constraint={short(self.constraint)} is one: leave radius out"
            )
        if self.radius is not None and not (self._is_auto and named and self._rules() is not None):
            return False
        if self.constraint in NEED_RADIUS or (self.radius is None and self.constraint == "simplex"):
            raise ValueError(
                f"constraint={self.constraint!r} needs a radius here: without one it would not limit anything. Pass "
                "radius, or leave constraint out: then there is no budget"
            )
        return self.constraint in FREE

    def _check_radius(self, constraint: ConstraintSet) -> None:
        """Raise ValueError if a budget is too small for the conditions."""
        if isinstance(constraint, L1Ball | NonNegativeL1Ball) and self._least > constraint.radius * (1.0 + 1e-9):
            raise ValueError(
                f"radius={constraint.radius:g} is too small for the rules: absolute weights that keep them sum to at "
                f"least {self._least:g}. Raise radius, or pass radius=None for no budget"
            )

    def _output_names(self, count: int) -> list[str]:
        """Return the names of so many outputs, which are rows of ``coef_``."""
        return [f"output {c}" for c in range(count)]

    def _prices(self, results: list[Result]) -> dict[str, float]:
        """Return the price of each rule, and that of the radius, by what the user wrote."""
        prices, found = dict[str, float](), self._posed
        labels = self._output_names(len(results)) if len(results) > 1 else []
        for k, result in enumerate(results):
            marks = labels[k : k + 1]
            if found is not None:
                several = marks or (self._output_names(found.outputs) if result.x.ndim == 2 else [])
                prices |= found.prices(result.prices, self._scale, several)
            if "radius" in result.prices and self._scale is None:
                budget = "sum of all weights" if self.constraint == "simplex" else "radius"
                prices[budget + "".join(f" [{mark}]" for mark in marks)] = result.prices["radius"]
        return prices

    def _facts(self) -> dict[str, str]:
        """Return what a summary says of the model first."""
        return {}

    def summary(self, names: Sequence[str] | None = None) -> Summary:
        """Return the weights by name, what is proven of them, and the prices of what binds, on one screen.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the columns, such as the words of a vectorizer. By default those of the data frame, or x0, x1, and
            so on.

        Returns
        -------
        Summary
            Text in a terminal, a table in a notebook; ``to_frame()`` returns all weights as a pandas data frame.

        Examples
        --------
        >>> import frankwolfe as fw
        >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
        >>> model = fw.FrankWolfeRegressor(bounds={1: (None, 1)}, fit_intercept=False, tol=1e-9).fit(X, y)
        >>> model.summary().binding.keys()
        dict_keys(['x1 <= 1'])
        """
        check_is_fitted(self)
        d = self.n_features_in_
        names = (self._columns(d) if names is None else ColumnNames(names, d)).names
        coef = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
        alone = coef.ndim == 1 or len(coef) == 1
        weights = coef.reshape(-1) if alone else coef.T
        loss = self.loss if isinstance(self.loss, str) else short(self.loss)
        results = self.result_ if isinstance(self.result_, list) else [self.result_] if self.result_ else []
        facts, sentence = self._facts(), "Nothing is proven of a stream of rows."
        if results:
            several = self._output_names(len(results)) if len(results) > 1 else [""]
            for label, found in zip(several, results, strict=True):
                facts |= {
                    f"{name} [{label}]" if label else name: text
                    for name, text in run_facts(found, found.intercept).items()
                }
            worst = max(results, key=lambda found: found.gap)
            sentence = proven(
                worst, rules=self._posed is not None and bool(self._posed.rules), budget=self._scale is None
            )
            if self._scale is not None:
                facts["budget"] = "none"
                sentence = f"{sentence} {worst.message.partition('. ')[2]}".strip()
        facts["data"] = f"{self._rows:,} rows, {self.n_features_in_:,} columns"
        return Summary(
            f"{type(self).__name__}: loss {loss}",
            names,
            weights,
            () if alone else self._output_names(len(coef)),
            facts,
            sentence,
            self.prices_,
        )

    @abstractmethod
    def _learn_targets(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> tuple[Any, Any]:
        """Learn the classes or the shape of the targets. Return targets and weights as `_problems` takes them."""

    @abstractmethod
    def _problems(self, X: TableLike, y: TargetValues, weights: Any, intercept: bool) -> list[Problem]:
        """Return the problems for rows, learnt targets and weights: one, or one for each class."""

    def _training_problems(
        self, X: TableLike, y: TargetValues, sample_weight: RowNumbers, **offsets: RowNumbers
    ) -> list[Problem]:
        """Return the problems of a fit to data as the user passes it."""
        X, y, sample_weight = functions_for(X).training_data(self, X, y, sample_weight)
        if self.max_features is not None:
            require_memory(X, "max_features")
        return self._fit_problems(X, self._with_offset(X, y, **offsets), sample_weight)

    def _with_offset(self, X: TableLike, y: TargetValues) -> Any:
        """Return the targets. Those of regressors take offsets along."""
        return y

    def _fit_problems(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> list[Problem]:
        """Learn the targets and return the problems of a fit."""
        targets, weights = self._learn_targets(X, y, sample_weight)
        self._scale = None
        if self._is_free():
            X, self._scale = self._in_units(X, weights)
        return self._problems(X, targets, weights, bool(self.fit_intercept))

    def _in_units(self, X: TableLike, weights: Any) -> tuple[Any, np.ndarray]:
        """Return rows with columns of norm one, and what their columns were divided by; only rows in memory change.

        A column whose weight must not be positive changes its sign, so that more of the bounds are ``w >= 0``.
        """
        if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
            return X, np.ones(X.shape[1])
        units, scale = unit_columns(X, bool(self.fit_intercept), weights)
        rules = self._rules()
        assert rules is not None  # there is no budget only where there are rules
        sign = np.where((rules.upper <= 0.0) & np.isinf(rules.lower), -1.0, 1.0)
        units = units @ sparse.diags_array(sign) if sparse.issparse(units) else units * sign
        return units.astype(X.dtype, copy=False), scale * sign

    def _held_out(self, X: TableLike, y: np.ndarray, weights: np.ndarray | None) -> list[Problem]:
        """Return the problems of held-out rows, in the order of `_fit_problems` and without intercepts."""
        return self._problems(X, y, weights, intercept=False)

    def _for_fold(self) -> Self:
        """Return an unfitted copy for a part of the checked rows, which have no column names."""
        model = clone(self)
        model.n_features_in_ = self.n_features_in_
        model._known_names = self._columns(self.n_features_in_).names
        return model

    @abstractmethod
    def _adopt(self, results: list[Any]) -> None:
        """Set ``coef_`` and ``intercept_`` from the weights ``x`` and the ``intercept`` of each result."""

    def _solve(self, problems: list[Problem], checkpoint: Checkpoint = None) -> None:
        """Solve the problems, from the weights of the last fit with ``warm_start``, and set the fitted attributes."""
        starts: list[np.ndarray | None] = [None] * len(problems)
        if self.warm_start and self._scale is None and self._ends is not None and len(self._ends) == len(problems):
            starts = [
                carried(x, before, problem.constraint) if np.shape(x) == problem.shape else None
                for problem, (before, x) in zip(problems, self._ends, strict=True)
            ]
        self._finish(problems, self._minimized(problems, starts, checkpoint))

    def _finish(self, problems: list[Problem], results: list[Result]) -> None:
        """Set the fitted attributes that depend on the problems and their results."""
        one_each = len(results) == len(problems)  # not where several problems are solved as one
        pairs = zip(problems, results, strict=True) if one_each else ()
        self._ends = [(problem.constraint, found.x) for problem, found in pairs]
        self._rows, self.prices_ = problems[0].n, self._prices(results)
        if self._scale is not None:
            self._stream_radius = max([DEFAULT_RADIUS, *(10.0 * float(np.abs(found.x).sum()) for found in results)])
        self._adopt(results)

    def _run(self, problem: Problem, x0: Any, checkpoint: Checkpoint, options: dict[str, Any]) -> Result:
        """Solve a problem, without a budget if there is none. The result is in the units of the columns."""
        if self._scale is None:
            return super()._run(problem, x0, checkpoint, options)
        if checkpoint is not None:
            raise ValueError(f"{ONE_RUN}, and one without a budget is several: set radius")
        limits: dict[str, Any] = {"least": self._least, "max_features": self.max_features}
        shown: dict[str, Any] = {"progress": self.verbose > 0, "trace": 10 * (self.verbose > 0)}
        return in_units(minimize_without_budget(problem, **limits, **options, **shown), self._scale)

    def _advice(self, found: Result) -> list[str]:
        """Return advice on a result; a default radius is questioned sooner than a chosen one."""
        problem = found.trace.problem
        if problem is not None and self._is_auto and isinstance(self.constraint, str) and self._scale is None:
            found.known_advice = advice_on(problem, found, default_radius=True)
        return found.advice
