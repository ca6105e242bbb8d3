"""Non-negative weights, with a sum of one or not: one certified model for each of one or many targets."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from frankwolfe.arguments.names import teaching
from frankwolfe.arguments.types import Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.estimators.array_data import functions_for
from frankwolfe.estimators.base import Checkpoint, LinearModel
from frankwolfe.estimators.regressor import LinearRegressor
from frankwolfe.estimators.streaming import StreamRegressor
from frankwolfe.estimators.uniqueness import Uniqueness, uniqueness_of
from frankwolfe.losses import Squared, as_loss
from frankwolfe.problem import Problem
from frankwolfe.problem.posing import RuledSet
from frankwolfe.problem.rules import Rules
from frankwolfe.result import Result
from frankwolfe.run import minimize
from frankwolfe.solvers.corrective.many_targets import MOST_ROUNDS, minimize_targets

EXACT = 1e-14
"""Tolerance of the weights from which uniqueness is proven."""


class TargetsRegressor(LinearRegressor):
    """A linear regressor that fits one model to each column of ``y``, with a certificate each."""

    _excluded: list[np.ndarray] | None = None  # columns that each target may not use, in the last fit
    _left_out: np.ndarray | None = None  # those of the target whose problem is being posed
    _posed_of: list[RuledSet | None]  # the rules of each target

    def fit(
        self,
        X: TableLike,
        y: TargetValues = None,
        sample_weight: RowNumbers = None,
        *,
        exclude: Any = None,
        offset: RowNumbers = None,
        exposure: RowNumbers = None,
        checkpoint: Checkpoint = None,
    ) -> Self:
        """Fit one model to each target.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Training data, as for `FrankWolfeRegressor`. A dask collection goes with one target.
        y : array of shape (n,), or (n, targets)
            TargetValues. With the squared loss and no rules, many of them share the work.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter.
        exclude : sequence, optional
            For each target the column that it may not use, by name or number, a list of them, or None. With ``y`` of
            one dimension, what to exclude itself. ``fit(X, X, exclude=range(X.shape[1]))`` explains each column by the
            others, as placebo runs of a synthetic control do. The data is not copied.
        offset, exposure : array of shape (n,), optional
            As for `FrankWolfeRegressor`, for one target.
        checkpoint : str or Path, optional
            A file from which an interrupted fit continues, for one target (docs/checkpoints.md).

        Returns
        -------
        self
        """
        X, y, sample_weight = functions_for(X).training_data(self, X, y, sample_weight)
        self._left_out = self._excluded = None
        if exclude is not None:
            self._excluded = self._exclusions(exclude, y)
        several = y.ndim > 1 or exclude is not None
        if several and checkpoint is None and offset is None and exposure is None and self._can_share(X):
            self._fit_together(X, y, sample_weight)
            return self
        y = self._with_offset(X, y, offset, exposure)
        self._solve(self._fit_problems(X, y, sample_weight), checkpoint)
        return self

    def _exclusions(self, exclude: Any, y: TargetValues) -> list[np.ndarray]:
        """Return the numbers of the columns that each target may not use."""
        columns = self._columns(self.n_features_in_)
        given = [exclude] if y.ndim == 1 else exclude
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(f"exclude must have an entry for each target, got {type(exclude).__name__}")
        given, targets = list(given), y.shape[1] if y.ndim > 1 else 1
        if len(given) != targets:
            raise ValueError(f"exclude must have an entry for each of {targets} targets, got {len(given)}")
        found = []
        for k, entry in enumerate(given):
            alone = isinstance(entry, str) or not isinstance(entry, Iterable)
            names = [] if entry is None else [entry] if alone else list(entry)
            at = np.array([j for name in names for j in columns.matching(name, f"exclude[{k}]")], dtype=np.intp)
            found.append(np.unique(at))
            if len(found[-1]) == len(columns):
                raise ValueError(f"exclude[{k}] leaves no column: a target needs at least one")
        return found

    def _can_share(self, X: TableLike) -> bool:
        """Return whether `minimize_targets` can solve the problems: plain least squares over rows in memory."""
        plain = isinstance(as_loss(self.loss), Squared) and self._rules() is None and self.tol > 0
        in_memory = isinstance(X, np.ndarray) or sparse.issparse(X)
        return plain and in_memory and isinstance(self.method, str) and self.method == "auto"

    def _fit_together(self, X: TableLike, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Fit all targets at once. Those that are not certified then are solved by themselves."""
        y, weights = self._learn_targets(X, y, weights)
        Y, self._scale = y if y.ndim > 1 else y[:, None], None
        excluded = self._excluded or [np.zeros(0, dtype=np.intp)] * Y.shape[1]
        options, intercept = self._options(), bool(self.fit_intercept)
        first = self._problem(X, Y[:, 0], Squared(), weights, intercept)
        rounds = MOST_ROUNDS if self.max_passes is None else min(MOST_ROUNDS, self.max_passes)
        results = list[Result]()
        shared = minimize_targets(first, Y, weights, excluded, self.tol, rounds, options["n_threads"])
        for k, found in enumerate(shared):
            if found is not None:
                results.append(found)
            else:
                results.append(self._run(self._target_problem(X, Y, k, weights, intercept), None, None, options))
        self._left_out = self._posed = None  # only the radius has a price
        self._record(results)
        self._finish([first] * len(results), results)

    def _problems(self, X: TableLike, y: TargetValues, weights: Any, intercept: bool) -> list[Problem]:
        y = self._targets(y)
        several = y.ndim > 1
        if several:
            functions_for(X).check_copies(y.shape[1])
        problems, self._posed_of = [], list[RuledSet | None]()
        for k in range(y.shape[1] if several else 1):
            problems.append(self._target_problem(X, y, k, weights, intercept))
            self._posed_of.append(self._posed)
        self._left_out = None
        return problems

    def _target_problem(self, X: TableLike, y: TargetValues, k: int, weights: Any, intercept: bool) -> Problem:
        """Return the problem of one target, without the columns that it may not use."""
        self._left_out = None if self._excluded is None else self._excluded[k]
        column = y[:, k] if y.ndim > 1 else y
        return self._problem(X, column, self._loss_for(column), weights, intercept)

    def _prices(self, results: list[Result]) -> dict[str, float]:
        """Return the price of each rule; where columns are left out, each target has rules of its own."""
        if self._excluded is None or self._posed is None or len(results) == 1:
            return super()._prices(results)
        prices, labels = dict[str, float](), self._output_names(len(results))
        for label, result, posed in zip(labels, results, self._posed_of, strict=True):
            self._posed = posed
            prices |= {f"{name} [{label}]": price for name, price in super()._prices([result]).items()}
        return prices

    def _rules(self) -> Rules | None:
        """Return the rules. A column that is left out has bounds of zero."""
        rules, left_out = super()._rules(), self._left_out
        if left_out is None or not len(left_out):
            return rules
        d = self.n_features_in_
        upper = np.full(d, np.inf)
        upper[left_out] = 0.0
        zero = Rules.of(self._columns(d).names, d, (np.where(upper == 0.0, 0.0, -np.inf), upper))
        return zero if rules is None else rules.within(zero)

    def _own_problem(
        self, X: TableLike, y: TargetValues, sample_weight: RowNumbers, offsets: dict[str, Any]
    ) -> tuple[Problem, Result, np.ndarray | None]:
        """Return the same for one target of the fit; ``target`` is its number."""
        given = dict(offsets)
        target = given.pop("target", None)
        results = vars(self).get("result_")
        if not isinstance(results, list):
            return super()._own_problem(X, y, sample_weight, given)
        targets = len(results)
        if not isinstance(target, int | np.integer) or not 0 <= target < targets:
            raise ValueError(f"this fit has {targets} targets: pass target=, the number of one, got {target!r}")
        one = copy(self)
        one.result_, one._excluded = results[target], self._excluded and [self._excluded[target]]
        return LinearModel._own_problem(one, X, np.asarray(y)[:, target], sample_weight, given)

    def _in_columns(self, result: Result) -> tuple[Self, Result]:
        model, result = super()._in_columns(result)
        model._excluded = self._excluded
        return model, result

    def _adopt(self, results: list[Any]) -> None:
        if len(results) == 1:
            super()._adopt(results)
            return
        self.coef_ = np.array([found.x for found in results])
        self.intercept_ = np.array([float(np.ravel(found.intercept)[0]) for found in results])


class SimplexRegressor(StreamRegressor, TargetsRegressor):
    """Linear regressor whose weights are non-negative and sum to one: a weighted mean of the features.

    Use it for stacking models, tracking an index by a portfolio, and synthetic controls. With several columns in ``y``
    each has weights and a certificate of its own, and ``fit(X, y, exclude=...)`` keeps a donor from explaining itself.

    Parameters
    ----------
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, or an object such as ``fw.Huber(0.5)``.
    bounds, conditions, monotone
        Rules on the weights by name, as for `FrankWolfeRegressor`: ``bounds=(0, 0.4)`` caps each weight.
    fit_intercept : bool
        Whether to fit an intercept; by default a prediction is a mean of the features and nothing else.
    method, tol, max_passes, warm_start, random_state, n_jobs, verbose
        As for `FrankWolfeRegressor`.

    Attributes
    ----------
    coef_ : array of shape (d,), or (targets, d)
        Weights.
    intercept_ : float, or array of shape (targets,)
        Intercept.
    result_ : Result, or list of them
        The run of each target.
    gap_, prices_, n_iter_, passes_, n_features_in_, feature_names_in_, and those of `partial_fit`
        As for `FrankWolfeRegressor`; the largest of all targets.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 3.0], [2.0, 2.0], [5.0, 1.0]], [1.5, 2.0, 4.0]
    >>> fw.SimplexRegressor(tol=1e-9).fit(X, y).coef_.round(6)
    array([0.75, 0.25])

    Each column explained by the others:

    >>> fw.SimplexRegressor(tol=1e-9).fit(X, X, exclude=[0, 1]).coef_.round(6)
    array([[0., 1.],
           [1., 0.]])
    """

    constraint = "simplex"
    radius = "auto"

    @teaching
    def __init__(
        self,
        loss: Loss = "squared",
        *,
        bounds: Any = None,
        conditions: Any = None,
        monotone: Any = None,
        method: Any = "auto",
        tol: float = 1e-8,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.loss = loss
        self.bounds = bounds
        self.conditions = conditions
        self.monotone = monotone
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start

    def uniqueness(
        self, X: TableLike, y: TargetValues = None, sample_weight: RowNumbers = None, *, target: int | None = None
    ) -> Uniqueness:
        """Return whether the weights are the only best ones, and if not, between which columns they can be exchanged.

        With more donors than periods a synthetic control often has many best weights, and the donors that an answer
        names are then a matter of chance. `ranges` says how much each weight can vary.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The rows of the fit, with the squared loss and no rules.
        y : array of shape (n,), or (n, targets)
            Their targets.
        sample_weight : array of shape (n,), optional
            The weights of the fit.
        target : int, optional
            The number of the target, if there are several.

        Returns
        -------
        Uniqueness

        Examples
        --------
        The first two columns are the same:

        >>> import frankwolfe as fw
        >>> X, y = [[1.0, 1.0, 3.0], [2.0, 2.0, 2.0], [5.0, 5.0, 1.0]], [1.5, 2.0, 4.0]
        >>> found = fw.SimplexRegressor().fit(X, y).uniqueness(X, y)
        >>> found.unique, found.groups
        (False, [[0, 1]])
        >>> print(fw.SimplexRegressor().fit([row[1:] for row in X], y).uniqueness([row[1:] for row in X], y))
        The weights are unique, which is proven.
        """
        check_is_fitted(self)
        if not isinstance(as_loss(self.loss), Squared) or super()._rules() is not None:
            raise ValueError("uniqueness needs loss='squared' and weights without bounds, conditions and monotone")
        several = isinstance(self.result_, list)
        problem, result, _ = self._own_problem(X, y, sample_weight, {"target": target} if several else {})
        excluded = np.zeros(0, dtype=np.intp) if self._excluded is None else self._excluded[target or 0]
        names = vars(self).get("feature_names_in_", range(problem.d))
        exact = minimize(problem, x0=result.x, tol=EXACT, max_passes=1000, trace=0, n_threads=1)
        return uniqueness_of(problem, exact.x if exact.gap < result.gap else result.x, excluded, list(names))

    def _learn_targets(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> tuple[Any, Any]:
        single = y.ndim > 1 and y.shape[1] == 1  # one column is one target, whose weights are a vector
        return super()._learn_targets(X, functions_for(X).one_column(y) if single else y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # targets need not be a mean of the features
        return tags


class NonNegativeRegressor(StreamRegressor, TargetsRegressor):
    """Linear regressor whose weights are non-negative: non-negative least squares, for instance.

    Parameters
    ----------
    radius : float, optional
        Largest sum of the weights of a target; None means that there is no bound. `partial_fit` needs one: there None
        means 10, or more after a fit with larger weights.
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, or an object such as ``fw.Huber(0.5)``.
    bounds, conditions, monotone
        Further rules on the weights by name, as for `FrankWolfeRegressor`.
    fit_intercept : bool
        Whether to fit an intercept, of either sign.
    method, tol, max_passes, warm_start, random_state, n_jobs, verbose
        As for `FrankWolfeRegressor`.

    Attributes
    ----------
    coef_ : array of shape (d,), or (targets, d)
        Weights.
    intercept_ : float, or array of shape (targets,)
        Intercept.
    result_ : Result, or list of them
        The run of each target.
    gap_, prices_, n_iter_, passes_, n_features_in_, feature_names_in_, and those of `partial_fit`
        As for `FrankWolfeRegressor`.

    See Also
    --------
    FrankWolfeRegressor : With ``signs``, where only some weights have a sign.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [2.0, -1.0, 2.0]
    >>> fw.NonNegativeRegressor(fit_intercept=False, tol=1e-9).fit(X, y).coef_.round(6)
    array([2., 0.])
    """

    constraint = "nonnegative-l1"

    @teaching
    def __init__(
        self,
        radius: float | None = None,
        loss: Loss = "squared",
        *,
        bounds: Any = None,
        conditions: Any = None,
        monotone: Any = None,
        method: Any = "auto",
        tol: float = 1e-8,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.radius = radius
        self.loss = loss
        self.bounds = bounds
        self.conditions = conditions
        self.monotone = monotone
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
