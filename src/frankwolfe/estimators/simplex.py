"""Regressors whose weights are shares: not negative, and with a sum that is given or has a bound."""

from typing import Any

from frankwolfe.estimators.partial_fit import StreamRegressor
from frankwolfe.estimators.regressor import LinearRegressor
from frankwolfe.sets import NonNegativeL1Ball, Simplex


class SimplexRegressor(StreamRegressor, LinearRegressor):
    """Linear regressor whose weights are not negative and sum to one: a weighted mean of the features.

    For stacking models, tracking an index by a portfolio, and synthetic controls.

    Parameters
    ----------
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, or an object such as ``fw.Huber(0.5)``.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero model.
    max_passes : float or None
        Budget, in passes over the data.
    fit_intercept : bool
        Whether to fit an intercept; by default a prediction is a mean of the features and nothing else.
    warm_start : bool
        Whether `fit` starts from the weights of the last one.
    random_state : int, RandomState, Generator or None
        Seed of the stochastic methods.
    n_threads : int, optional
        Threads that work on all rows of large data; by default as many as there are cores. The bits are the same.
    verbose : int
        Above 0: show progress (needs tqdm) and keep the trace.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Weights.
    intercept_ : float
        Intercept.
    gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_
        As for `FrankWolfeRegressor`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 3.0], [2.0, 2.0], [5.0, 1.0]], [1.5, 2.0, 4.0]
    >>> fw.SimplexRegressor(tol=1e-9).fit(X, y).coef_.round(6)
    array([0.75, 0.25])
    """

    _several_outputs = False

    def __init__(
        self,
        loss: Any = "squared",
        *,
        method: Any = "auto",
        tol: float = 1e-8,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ):
        self.loss = loss
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # where targets are no mean of the features, no mean explains them
        return tags

    def _set(self, d: int, outputs: int) -> Any:
        return Simplex(1.0)


class NonNegativeRegressor(StreamRegressor, LinearRegressor):
    """Linear regressor whose weights are not negative and sum to at most ``radius``.

    Parameters
    ----------
    radius : float
        Largest sum of the weights.
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, or an object such as ``fw.Huber(0.5)``.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero model.
    max_passes : float or None
        Budget, in passes over the data.
    fit_intercept : bool
        Whether to fit an intercept, of either sign.
    warm_start : bool
        Whether `fit` starts from the weights of the last one.
    random_state : int, RandomState, Generator or None
        Seed of the stochastic methods.
    n_threads : int, optional
        Threads that work on all rows of large data; by default as many as there are cores. The bits are the same.
    verbose : int
        Above 0: show progress (needs tqdm) and keep the trace.

    Attributes
    ----------
    coef_ : array of shape (d,), or (outputs, d)
        Weights.
    intercept_ : float, or array of shape (outputs,)
        Intercept.
    gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_
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

    def __init__(
        self,
        radius: float = 10.0,
        loss: Any = "squared",
        *,
        method: Any = "auto",
        tol: float = 1e-8,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ):
        self.radius = radius
        self.loss = loss
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _set(self, d: int, outputs: int) -> Any:
        return NonNegativeL1Ball(self.radius)
