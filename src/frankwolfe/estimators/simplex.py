"""`SimplexRegressor` and `NonNegativeRegressor`: non-negative weights that sum to one, or to at most a radius."""

from typing import Any

from frankwolfe.arguments.names import teaching
from frankwolfe.estimators.regressor import LinearRegressor
from frankwolfe.estimators.streaming import StreamRegressor


class SimplexRegressor(StreamRegressor, LinearRegressor):
    """Linear regressor whose weights are non-negative and sum to one: a weighted mean of the features.

    Use it for stacking models, tracking an index by a portfolio, and synthetic controls.

    Parameters
    ----------
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, or an object such as ``fw.Huber(0.5)``.
    fit_intercept : bool
        Whether to fit an intercept; by default a prediction is a mean of the features and nothing else.
    method, tol, max_passes, warm_start, random_state, n_jobs, verbose
        As for `FrankWolfeRegressor`.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Weights.
    intercept_ : float
        Intercept.
    gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_, and those of `partial_fit`
        As for `FrankWolfeRegressor`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 3.0], [2.0, 2.0], [5.0, 1.0]], [1.5, 2.0, 4.0]
    >>> fw.SimplexRegressor(tol=1e-9).fit(X, y).coef_.round(6)
    array([0.75, 0.25])
    """

    constraint = "simplex"
    radius = None
    _several_outputs = False

    @teaching
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
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.loss = loss
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # targets need not be a mean of the features
        return tags


class NonNegativeRegressor(StreamRegressor, LinearRegressor):
    """Linear regressor whose weights are non-negative and sum to at most ``radius``.

    Parameters
    ----------
    radius : float, optional
        Largest sum of the weights; None means 10, as for `FrankWolfeRegressor`.
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, or an object such as ``fw.Huber(0.5)``.
    fit_intercept : bool
        Whether to fit an intercept, of either sign.
    method, tol, max_passes, warm_start, random_state, n_jobs, verbose
        As for `FrankWolfeRegressor`.

    Attributes
    ----------
    coef_ : array of shape (d,), or (outputs, d)
        Weights.
    intercept_ : float, or array of shape (outputs,)
        Intercept.
    gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_, and those of `partial_fit`
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
        loss: Any = "squared",
        *,
        method: Any = "auto",
        tol: float = 1e-8,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
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
        self.n_jobs = n_jobs
        self.verbose = verbose
