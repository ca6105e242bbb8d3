"""Linear regression under a constraint: on any set, with signs of the weights, or of low rank."""

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from frankwolfe.advice import advice_on
from frankwolfe.arguments.names import teaching
from frankwolfe.arguments.types import ConstraintSet, Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.estimators.array_data import functions_for
from frankwolfe.estimators.base import Checkpoint, LinearModel, Solution, on_chunks
from frankwolfe.estimators.streaming import StreamRegressor
from frankwolfe.linalg.singular import rank_of
from frankwolfe.losses import MultitaskSquared, Pinball, Squared, as_loss
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import require_memory
from frankwolfe.problem.rules import ColumnNames, Rules
from frankwolfe.result import Result
from frankwolfe.sets import NonNegativeL1Ball
from frankwolfe.sets.checks import numbers
from frankwolfe.sets.named import DEFAULT_RADIUS
from frankwolfe.solvers.corrective.quantile_bands import minimize_bands


class LinearRegressor(RegressorMixin, LinearModel):
    """A linear regressor of one or several outputs."""

    _target_shape: tuple[int, ...]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _target_checks(self) -> dict[str, bool]:
        return {"multi_output": True, "y_numeric": True}

    def fit(
        self,
        X: TableLike,
        y: TargetValues = None,
        sample_weight: RowNumbers = None,
        *,
        offset: RowNumbers = None,
        exposure: RowNumbers = None,
        checkpoint: Checkpoint = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Training data. A store (`frankwolfe.open_rows`) may be larger than memory, and brings targets and weights.
            The chunks of a dask array or data frame are loaded by the workers of the cluster and stay there; targets,
            weights, offsets and exposures must have the same chunks (docs/cluster.md).
        y : array of shape (n,), or (n, outputs)
            TargetValues.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter.
        offset : array of shape (n,), optional
            Known parts of the predictions, for one output: ``X coef_' + intercept_ + offset`` is fitted.
        exposure : array of shape (n,), optional
            For the losses ``"poisson"``, ``"gamma"`` and ``"tweedie"``: positive numbers by which means are multiplied,
            such as the years in which claims were counted. This is an offset of ``log(exposure)``; ``y`` are counts or
            amounts over the whole exposure. For ``"poisson"`` it is the same as fitting ``y / exposure`` with the
            weights ``exposure``.
        checkpoint : str or Path, optional
            A file from which an interrupted fit continues, to the same bits (docs/checkpoints.md). It is for
            this data and these parameters; others are refused.

        Returns
        -------
        self
        """
        problems = self._training_problems(X, y, sample_weight, offset=offset, exposure=exposure)
        self._solve(problems, checkpoint)
        return self

    def _with_offset(
        self, X: TableLike, y: TargetValues, offset: RowNumbers = None, exposure: RowNumbers = None
    ) -> Any:
        """Return targets with offsets as imaginary parts, so that folds split them together."""
        shift = functions_for(X).offset_of(X, offset, exposure, as_loss(self.loss))
        if shift is None:
            return y
        if y.ndim > 1 and y.shape[1] > 1:
            raise ValueError(f"offset goes with one output, and y has {y.shape[1]} columns")
        return (y[:, 0] if y.ndim > 1 else y) + 1j * shift

    def _learn_targets(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> tuple[Any, Any]:
        self._target_shape = y.shape[1:]
        return y, sample_weight

    def _problems(self, X: TableLike, y: TargetValues, weights: Any, intercept: bool) -> list[Problem]:
        y = self._targets(y)
        return [self._problem(X, y, loss, weights, intercept) for loss in self._losses_for(X, y)]

    def _losses_for(self, X: TableLike, y: TargetValues) -> list[Any]:
        """Return the loss of each problem; there is one, unless a model says otherwise."""
        return [self._loss_for(y)]

    def _targets(self, y: TargetValues) -> Any:
        """Return the targets in the shape of the loss: a vector for one output."""
        return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y

    def _loss_for(self, y: TargetValues) -> Any:
        """Return the loss for targets of one output or of several."""
        loss = as_loss(self.loss)
        if loss.targets in ("labels", "classes"):
            raise ValueError(f"{type(loss).__name__} is a loss for classes: use FrankWolfeClassifier, or 'squared'")
        if y.ndim == 1:
            return Squared() if isinstance(loss, MultitaskSquared) else loss
        if isinstance(loss, Squared | MultitaskSquared):
            return MultitaskSquared(y.shape[1])
        raise ValueError(
            f"several outputs go with the loss 'squared', not {self.loss!r}: for one model each, use "
            "sklearn.multioutput.MultiOutputRegressor"
        )

    def _adopt(self, results: list[Any]) -> None:
        (found,) = results
        shape = self._target_shape
        self.coef_ = found.x.T.reshape(*shape, -1).copy()
        intercept = np.broadcast_to(np.ravel(found.intercept), shape or 1)
        self.intercept_ = intercept.copy() if shape else float(intercept[0])

    def predict(self, X: TableLike, *, offset: RowNumbers = None, exposure: RowNumbers = None) -> Any:
        """Return the predicted targets: for losses with a log link means, ``exp(X coef_' + intercept_)``.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. For a dask collection the result is a lazy dask array.
        offset, exposure : array of shape (n,), optional
            Those of the samples; by default zeros and ones.

        Returns
        -------
        array of shape (n,), or (n, outputs)
        """
        found, loss = self._predicted(X), as_loss(self.loss)
        shift = functions_for(X).offset_of(X, offset, exposure, loss)
        if shift is None:
            return found
        return found * np.exp(shift) if loss.log_link else found + shift

    @on_chunks(lambda model: (*(model._target_shape or (None,)), np.float64))
    def _predicted(self, X: TableLike) -> Any:
        """Return predictions without offsets."""
        scores = functions_for(X).scores(self, X)
        scores = scores if self._target_shape else scores[:, 0]
        return np.exp(scores) if as_loss(self.loss).log_link else scores

    def score(
        self,
        X: TableLike,
        y: TargetValues,
        sample_weight: RowNumbers = None,
        *,
        offset: RowNumbers = None,
        exposure: RowNumbers = None,
    ) -> float:
        """Return R2, the share of the targets' variance that is explained. Workers sum it for dask collections.

        For the losses ``"poisson"``, ``"gamma"`` and ``"tweedie"`` it is D2, the share of the deviance.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples.
        y : array of shape (n,), or (n, outputs)
            Their targets; for several outputs the mean is returned.
        sample_weight : array of shape (n,), optional
            Weights of the samples.
        offset, exposure : array of shape (n,), optional
            As for `predict`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        given = {"offset": offset, "exposure": exposure}
        return functions_for(X).score(self, X, y, sample_weight, self._explained, **given)

    def _explained(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers, **offsets: RowNumbers) -> float:
        """Return R2 or D2, for rows in memory."""
        loss, found = as_loss(self.loss), self.predict(X, **offsets)
        if not loss.log_link:
            return float(r2_score(y, found, sample_weight=sample_weight))
        return float(d2_tweedie_score(y, found, sample_weight=sample_weight, power=loss.power))

    def densify(self) -> Self:
        """Store ``coef_`` as an array again, of one dimension for one output.

        Returns
        -------
        self
        """
        super().densify()
        self.coef_ = self.coef_.reshape(*self._target_shape, -1)
        return self


# --- Signs of the weights -------------------------------------------------------------------------------------


class SignedColumns(NamedTuple):
    """Columns whose weights are non-negative: column ``at[k]`` of the data times ``sign[k]``.

    A feature whose weight may have either sign appears twice.
    """

    at: np.ndarray
    sign: np.ndarray
    d: int

    @classmethod
    def of(cls, signs: np.ndarray) -> "SignedColumns":
        """Return the columns for signs of 1, -1 and 0 (either)."""
        positive, negative = np.flatnonzero(signs >= 0), np.flatnonzero(signs <= 0)
        sign = np.repeat([1.0, -1.0], [len(positive), len(negative)])
        return cls(np.concatenate([positive, negative]), sign, len(signs))

    def gather(self, w: np.ndarray) -> np.ndarray:
        """Return the weights of the features, given those of the columns."""
        whole = np.zeros((self.d, *w.shape[1:]))
        np.add.at(whole, self.at, (w.T * self.sign).T)
        return whole


def checked_signs(signs: Any, columns: ColumnNames) -> np.ndarray:
    """Return one sign for each feature, from a number, an array, or a dict by feature name or number.

    Examples
    --------
    >>> checked_signs({"age": 1}, ColumnNames(["age", "weight"], 2))
    array([1, 0])
    """
    d = len(columns)
    if isinstance(signs, dict):
        found = np.zeros(d)
        for name, sign in signs.items():
            found[columns.find(name, "signs")] = sign
    else:
        found = numbers("FrankWolfeRegressor", "signs", signs, "a number or a list")
        if found.ndim > 1 or found.size not in (1, d):
            raise ValueError(f"signs must be one number, or one for each of {d} features; got shape {found.shape}")
        found = np.broadcast_to(found, d)
    odd = found[~np.isin(found, (-1.0, 0.0, 1.0))]
    if odd.size:
        raise ValueError(f"signs must be 1 (non-negative), -1 (non-positive) or 0 (either), got {odd[0]:g}")
    return found.astype(np.int64)


class SignedRegressor(LinearRegressor):
    """A linear regressor with a parameter for the signs of its weights."""

    signs: Any

    def _checked_signs(self) -> np.ndarray | None:
        """Return one sign for each feature; None if no weight has a sign."""
        if self.signs is None:
            return None
        return checked_signs(self.signs, self._columns(self.n_features_in_))

    def _rules(self) -> Rules | None:
        """Return the rules. With others, signs are bounds; alone they are signed columns, which are faster."""
        rules, signs, d = super()._rules(), self._checked_signs(), self.n_features_in_
        if rules is None or signs is None:
            return rules
        ends = np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)
        return rules.within(Rules.of(self._columns(d).names, d, ends))

    def _signed_columns(self) -> SignedColumns | None:
        """Return the signed columns, None if there are none."""
        signs = self._checked_signs() if self._rules() is None else None
        return None if signs is None else SignedColumns.of(signs)

    def _in_columns(self, result: Result) -> tuple[Self, Result]:
        """Return an unfitted copy and the result in the columns of the data: signs become bounds."""
        (model, result), columns = super()._in_columns(result), self._signed_columns()
        if columns is None:
            return model, result
        model.signs, model.bounds = None, dict.fromkeys(columns.at[columns.sign > 0.0].tolist(), (0, None))
        model.bounds |= {j: (None, None if j in model.bounds else 0) for j in columns.at[columns.sign < 0.0].tolist()}
        if self._is_auto and isinstance(self.constraint, str):
            model.radius = DEFAULT_RADIUS
        return model, replace(result, x=columns.gather(result.x))

    def _problems(self, X: TableLike, y: TargetValues, weights: Any, intercept: bool) -> list[Problem]:
        columns = self._signed_columns()
        rows = X if columns is None else functions_for(X).signed(columns, X)
        return super()._problems(rows, y, weights, intercept)

    def _adopt(self, results: list[Any]) -> None:
        columns = self._signed_columns()
        if columns is not None:
            results = [Solution(columns.gather(found.x), found.intercept) for found in results]
        super()._adopt(results)

    def _set(self, d: int, outputs: int) -> Any:
        """Return the set; with signs, the one that is equivalent over signed columns."""
        constraint = super()._set(d, outputs)
        if self._signed_columns() is None:
            return constraint
        atoms = constraint.structure().coordinates
        if atoms is not None and atoms.filled:
            return NonNegativeL1Ball(atoms.radius)
        kind, bounds = type(constraint).__name__, "for bounds on each weight use fw.Box.signed(signs, bound)"
        raise ValueError(f"signs go with the constraints 'l1' and 'nonnegative-l1', not with {kind}; {bounds}")


def _learns_streams(model: Any) -> bool:
    """Return whether a model has ``partial_fit``; scikit-learn shows the error where it has not."""
    if model.quantiles is not None:
        raise AttributeError("partial_fit learns one model, and quantiles make several: use fit")
    return True


class FrankWolfeRegressor(StreamRegressor, SignedRegressor):
    """Linear regressor whose weights lie in a constraint set, with a certified gap.

    Parameters
    ----------
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, ``"pinball"`` (the median, or ``quantiles``),
        ``"poisson"`` for counts, ``"gamma"`` for positive amounts, ``"tweedie"`` for amounts
        with exact zeros (these three predict ``exp(X coef_' + intercept_)``), or an object such as ``fw.Huber(0.5)`` or
        ``fw.losses.Tweedie(1.7)``.
    constraint : str or set
        ``"l1"``, ``"l2"``, ``"linf"``, ``"simplex"``, ``"nonnegative-l1"``, ``"trace"``, ``"group"`` (the weights of a
        feature over all outputs are a group), or a set such as ``fw.GroupBall(groups, 5.0)``, whose fields are
        parameters: ``constraint__radius``. With several outputs it holds for all weights together.
    radius : float, "auto" or None
        Radius of a set given by name. None means no budget: the best of all weights that keep the rules, if there are
        any. ``"auto"`` is no budget with bounds, conditions or monotone, and else the default of the set, 10 (1 for the
        simplex); a `ScaleWarning` says if that is too small to fit much. A set given as an object has its own radius,
        and a second one is refused.
    signs : int, array of shape (d,) or dict, optional
        Signs of the weights: 1 for non-negative, -1 for non-positive, 0 for either. One sign for all features, an array
        with one for each, or a dict by name or number (other features are free). Needs an l1 constraint.
    bounds : dict or pair, optional
        Bounds on weights: pairs ``(lower, upper)`` by name, number or pattern of the columns, as in
        ``{"price": (None, 0), "tv_*": (0, None)}``; a single pair is for all weights (docs/conditions.md).
        Rules hold for the weights of each output.
    conditions : str or list of str, optional
        Linear conditions in the names of the columns, such as ``"income >= rent"``; ``x0``, ``x1``, ... where they have
        none.
    monotone : dict, optional
        ``"increasing"`` or ``"decreasing"`` by pattern or tuple of names: each weight is at least, or at most, the one
        before.
    groups : list or dict, optional
        With ``constraint="group"``: groups of columns by name, pattern or number. Other columns are groups of their
        own.
    max_features : int, optional
        Most features with a weight that is not zero; None for no limit. ``gap_`` then compares with the best model of
        so many features, and no warning is issued if only the choice of features is not certified
        (docs/best-subset.md).
    quantiles : list of float, optional
        With ``loss="pinball"``: increasing numbers between 0 and 1. Each quantile has weights, an intercept, and a
        certificate of its own, within the same set and the same rules. ``predict`` returns a column for each, and
        ``score`` the mean of their D2.
    crossing : bool
        False: no quantile may be predicted above a higher one, for any row of the fit, up to rounding. All quantiles
        are then one problem, the least sum of their losses, with one certificate. Sets must be bounds and budgets. On
        other rows quantiles may still cross.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero model.
    max_passes : float or None
        Budget, in passes over the data.
    fit_intercept : bool
        Whether to fit an intercept, which is not constrained.
    warm_start : bool
        Whether `fit` starts from the weights of the last fit.
    random_state : int, RandomState, Generator or None
        Seed of the stochastic methods.
    n_jobs : int, optional
        Number of threads that share the rows; None and -1 mean all cores. The result does not depend on it, to the bit.
    verbose : int
        Above 0: show progress (needs tqdm) and keep the trace.

    Attributes
    ----------
    coef_ : array of shape (d,), or (outputs, d), or (quantiles, d)
        Weights.
    intercept_ : float, or array of shape (outputs,) or (quantiles,)
        Intercept.
    gap_ : float
        Proven gap: the objective is at most this far above its minimum. The largest of all quantiles.
    prices_ : dict
        By how much the objective would fall per unit by which each rule, or the radius, is relaxed: numbers by rule,
        such as ``"price <= 0"``. Zero for those that do not bind. Empty with ``crossing=False``.
    n_iter_ : int
        Steps made.
    passes_ : float
        Passes over the data.
    result_ : Result, or list of them
        The run; of each quantile, if they may cross.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array
        Their names, if they had any.
    n_samples_seen_ : int
        Rows that `fit` and later calls of `partial_fit` have seen.
    gap_estimate_, gap_error_, prequential_loss_, chunk_loss_ : float
        Measured by `partial_fit` (docs/streams.md); NaN after `fit`. Nothing is proven of a stream: after
        `partial_fit`, ``gap_`` is infinite, ``passes_`` is NaN and ``result_`` is None.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [2.0, 0.0, 2.0, 4.0]
    >>> fw.FrankWolfeRegressor(radius=2.0, fit_intercept=False, tol=1e-9).fit(X, y).coef_.round(6)
    array([2., 0.])

    Three quantiles that do not cross:

    >>> model = fw.FrankWolfeRegressor("pinball", quantiles=[0.1, 0.5, 0.9], crossing=False, tol=1e-9)
    >>> model.fit([[0.0], [0.0], [0.0], [1.0]], [1.0, 2.0, 4.0, 5.0]).predict([[0.0]]).round(6)
    array([[1., 2., 4.]])
    """

    @teaching
    def __init__(
        self,
        loss: Loss = "squared",
        constraint: ConstraintSet = "l1",
        radius: float | str | None = "auto",
        *,
        signs: Any = None,
        bounds: Any = None,
        conditions: Any = None,
        monotone: Any = None,
        groups: Any = None,
        max_features: int | None = None,
        quantiles: Any = None,
        crossing: bool = True,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.loss = loss
        self.constraint = constraint
        self.radius = radius
        self.max_features = max_features
        self.signs = signs
        self.bounds = bounds
        self.conditions = conditions
        self.monotone = monotone
        self.groups = groups
        self.quantiles = quantiles
        self.crossing = crossing
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.quantiles is None
        return tags

    # --- several quantiles ---

    def _checked_quantiles(self) -> np.ndarray:
        """Return the quantiles as increasing numbers between 0 and 1."""
        found = numbers("FrankWolfeRegressor", "quantiles", self.quantiles, "a list of numbers between 0 and 1")
        if (
            found.ndim != 1
            or not found.size
            or not ((found > 0.0) & (found < 1.0)).all()
            or (np.diff(found) <= 0).any()
        ):
            raise ValueError(f"quantiles must be increasing numbers between 0 and 1, got {self.quantiles!r}")
        if not isinstance(as_loss(self.loss), Pinball):
            raise ValueError(f"quantiles go with loss='pinball', got {self.loss!r}")
        return found

    def _joint(self) -> bool:
        """Return whether all quantiles are one problem."""
        if not isinstance(self.crossing, bool | np.bool_):
            raise TypeError(f"crossing must be True or False, got {self.crossing!r}")
        if self.crossing:
            return False
        if self.quantiles is None:
            raise ValueError("crossing=False goes with quantiles: pass them, such as quantiles=[0.1, 0.5, 0.9]")
        if self.max_features is not None or self.method != "auto":
            raise ValueError("crossing=False goes with method='auto' and without max_features: leave them out")
        return True

    def _learn_targets(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> tuple[Any, Any]:
        self._joint()
        if self.quantiles is None:
            return super()._learn_targets(X, y, sample_weight)
        if y.ndim > 1 and y.shape[1] > 1:
            raise ValueError(f"quantiles go with one output, and y has {y.shape[1]} columns: fit one model for each")
        self._target_shape = (len(self._checked_quantiles()),)
        return (functions_for(X).one_column(y) if y.ndim > 1 else y), sample_weight

    def _losses_for(self, X: TableLike, y: TargetValues) -> list[Any]:
        if self.quantiles is None:
            return super()._losses_for(X, y)
        if self._joint():
            require_memory(X, "crossing=False", "pass crossing=True")
        functions_for(X).check_copies(len(self.quantiles))
        return [Pinball(quantile) for quantile in self._checked_quantiles()]

    def _minimized(self, problems: list[Problem], starts: list[Any], checkpoint: Checkpoint = None) -> list[Result]:
        if not self._joint():
            return super()._minimized(problems, starts, checkpoint)
        if checkpoint is not None:
            raise ValueError("checkpoint goes with crossing=True: a run for all quantiles has none")
        quantiles = self._checked_quantiles()
        found, budget = minimize_bands(problems, quantiles, self.tol, self.max_passes, self._scale is None)
        if self._scale is not None:
            found = replace(found, x=(found.x.T / self._scale).T + 0.0)
            if budget is not None:
                units = " for columns of norm one" if (self._scale != 1.0).any() else ""
                scope = f"among weights of each quantile whose absolute values{units} sum to at most {budget:.3g}"
                found = replace(found, message=f"{found.message} The gap is proven {scope}.")
        self._record([found])
        return [found]

    def _advice(self, found: Result) -> list[str]:
        problem = found.trace.problem
        if self.quantiles is None or not self._joint() or problem is None or self._scale is not None:
            return super()._advice(found)
        middle = found.x[:, len(self.quantiles) // 2]  # of the quantile whose problem the trace has
        alone = replace(found, x=middle, fun=problem.value(middle))
        return advice_on(problem, alone, default_radius=self._is_auto and isinstance(self.constraint, str))

    def _adopt(self, results: list[Any]) -> None:
        if self.quantiles is not None and len(results) > 1:
            intercepts = np.array([float(np.ravel(found.intercept)[0]) for found in results])
            results = [Solution(np.column_stack([found.x for found in results]), intercepts)]
        super()._adopt(results)

    def _output_names(self, count: int) -> list[str]:
        if self.quantiles is None or count != len(self.quantiles):
            return super()._output_names(count)
        return [f"quantile {quantile:g}" for quantile in self._checked_quantiles()]

    def _explained(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers, **offsets: RowNumbers) -> float:
        if self.quantiles is None:
            return super()._explained(X, y, sample_weight, **offsets)
        columns = zip(self._checked_quantiles(), self.predict(X, **offsets).T, strict=True)
        return float(np.mean([d2_pinball_score(y, z, sample_weight=sample_weight, alpha=q) for q, z in columns]))

    def predict(self, X: TableLike, *, offset: RowNumbers = None, exposure: RowNumbers = None) -> Any:
        """Return the predicted targets, as `LinearRegressor.predict`; of several quantiles, a column for each.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. For a dask collection the result is a lazy dask array.
        offset, exposure : array of shape (n,), optional
            Those of the samples; by default zeros and ones.

        Returns
        -------
        array of shape (n,), or (n, outputs), or (n, quantiles)
        """
        if self.quantiles is not None and offset is not None:
            shift = functions_for(X).offset_of(X, offset, exposure, as_loss(self.loss))
            return super().predict(X) + shift[:, None]
        return super().predict(X, offset=offset, exposure=exposure)

    @available_if(_learns_streams)
    def partial_fit(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers = None) -> Self:
        """Learn a chunk of rows, as `StreamRegressor.partial_fit` says; not with ``quantiles``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The chunk.
        y : array of shape (n,), or (n, outputs)
            Its targets.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter, within the whole stream.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, sample_weight)

    def _own_problem(
        self, X: TableLike, y: TargetValues, sample_weight: RowNumbers, offsets: dict[str, Any]
    ) -> tuple[Problem, Result, np.ndarray | None]:
        """Return the same for one quantile of the fit, ``quantile``."""
        given = dict(offsets)
        quantile = given.pop("quantile", None)
        if self.quantiles is None or vars(self).get("result_") is None:
            return super()._own_problem(X, y, sample_weight, given)
        if self._joint():
            raise ValueError("proofs about single quantiles need a fit with crossing=True")
        quantiles = self._checked_quantiles().tolist()
        if quantile not in quantiles:
            raise ValueError(f"pass quantile=, one of {quantiles}, got {quantile!r}")
        one, k = copy(self), quantiles.index(quantile)
        one.result_ = self.result_[k] if isinstance(self.result_, list) else self.result_
        one.loss, one.quantiles = Pinball(quantile), None
        return one._own_problem(X, y, sample_weight, given)


class LowRankRegressor(StreamRegressor, LinearRegressor):
    """Least squares for several outputs with a bound on the sum of the singular values of the weight matrix.

    Parameters
    ----------
    radius : float or "auto"
        Largest sum of the singular values; ``"auto"`` is 10.
    method, tol, max_passes, fit_intercept, warm_start, random_state, n_jobs, verbose
        As for `FrankWolfeRegressor`.

    Attributes
    ----------
    coef_ : array of shape (d,), or (outputs, d)
        Weights.
    intercept_ : float, or array of shape (outputs,)
        Intercept.
    rank_ : int
        Rank of the weight matrix.
    gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_, and those of `partial_fit`
        As for `FrankWolfeRegressor`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from sklearn.datasets import load_linnerud
    >>> from sklearn.preprocessing import scale
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> fw.LowRankRegressor(radius=0.5).fit(scale(X), scale(Y)).rank_
    1
    """

    loss = "multitask-squared"
    constraint = "trace"

    @teaching
    def __init__(
        self,
        radius: float | str | None = "auto",
        *,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start

    def _problems(self, X: TableLike, y: TargetValues, weights: Any, intercept: bool) -> list[Problem]:
        y = y if y.ndim == 2 else y[:, None]  # weights are a matrix even for one output
        return [self._problem(X, y, MultitaskSquared(y.shape[1]), weights, intercept)]

    def _adopt(self, results: list[Any]) -> None:
        super()._adopt(results)
        self.rank_ = rank_of(np.linalg.svd(results[0].x, compute_uv=False))
