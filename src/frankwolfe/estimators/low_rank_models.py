"""`LowRankClassifier` and `LowRankRegressor`: weight matrices with a bound on the sum of their singular values."""

from typing import Any

import numpy as np

from frankwolfe.arguments.names import teaching
from frankwolfe.estimators.classifier import LinearClassifier
from frankwolfe.estimators.regressor import LinearRegressor
from frankwolfe.estimators.streaming import StreamClassifier, StreamRegressor
from frankwolfe.linalg.singular import rank_of
from frankwolfe.losses import MultitaskSquared


class LowRankClassifier(StreamClassifier, LinearClassifier):
    """Multinomial logistic regression with a bound on the sum of the singular values of its weight matrix.

    The classes share a few directions of the feature space. Two classes always have one direction.

    Parameters
    ----------
    radius : float, optional
        Largest sum of the singular values; None means 10, as for `FrankWolfeClassifier`.
    method, tol, max_passes, fit_intercept, class_weight, warm_start, random_state, n_jobs, verbose
        As for `FrankWolfeClassifier`.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d)
        Weights.
    intercept_ : array of shape (1,), or (n_classes,)
        Intercepts.
    rank_ : int
        Rank of the weight matrix.
    classes_, gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_, and those of `partial_fit`
        As for `FrankWolfeClassifier`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fw.LowRankClassifier(radius=8.0).fit(X, y)
    >>> model.rank_, model.score(X, y) > 0.95
    (2, True)
    """

    loss = "multinomial"
    constraint = "trace"
    multi_class = "multinomial"

    @teaching
    def __init__(
        self,
        radius: float | None = None,
        *,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.radius = radius
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _adopt(self, results: list[Any]) -> None:
        super()._adopt(results)
        self.rank_ = rank_of(np.linalg.svd(results[0].x, compute_uv=False))


class LowRankRegressor(StreamRegressor, LinearRegressor):
    """Least squares for several outputs with a bound on the sum of the singular values of the weight matrix.

    Parameters
    ----------
    radius : float, optional
        Largest sum of the singular values; None means 10, as for `FrankWolfeClassifier`.
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
        radius: float | None = None,
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
        self.radius = radius
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss_for(self, y: np.ndarray) -> Any:
        return MultitaskSquared(y.shape[1])

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return y if y.ndim == 2 else y[:, None]  # weights are a matrix even for one output

    def _adopt(self, results: list[Any]) -> None:
        super()._adopt(results)
        self.rank_ = rank_of(np.linalg.svd(results[0].x, compute_uv=False))
