"""`LowRankClassifier` and `LowRankRegressor`: weight matrices whose singular values have a budget."""

from typing import Any

import numpy as np

from frankwolfe.estimators.classifier import LinearClassifier
from frankwolfe.estimators.partial_fit import StreamClassifier, StreamRegressor
from frankwolfe.estimators.regressor import LinearRegressor
from frankwolfe.linalg.singular import rank_of
from frankwolfe.losses import MultitaskSquared
from frankwolfe.sets import TraceBall


class LowRankClassifier(StreamClassifier, LinearClassifier):
    """Multinomial logistic regression whose weight matrix has singular values that sum to at most ``radius``.

    The classes share a few directions of the feature space. Two classes have one direction anyway.

    Parameters
    ----------
    radius : float
        Of the trace norm.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero model.
    max_passes : float or None
        Budget, in passes over the data.
    fit_intercept : bool
        Whether to fit an intercept for each class; the constraint does not hold for it.
    class_weight : dict, "balanced" or None
        Weights of the classes.
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
    coef_ : array of shape (1, d), or (n_classes, d)
        Weights.
    intercept_ : array of shape (1,), or (n_classes,)
        Intercepts.
    rank_ : int
        Rank of the weight matrix.
    classes_, gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_
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

    multi_class = "multinomial"

    def __init__(
        self,
        radius: float = 10.0,
        *,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
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
        self.n_threads = n_threads
        self.verbose = verbose

    def _loss(self) -> Any:
        return "multinomial"

    def _set(self, d: int, outputs: int) -> Any:
        return TraceBall(self.radius)

    def _adopt(self, results: list[Any]) -> None:
        super()._adopt(results)
        self.rank_ = rank_of(np.linalg.svd(results[0].x, compute_uv=False))


class LowRankRegressor(StreamRegressor, LinearRegressor):
    """Least squares for several outputs, whose weight matrix has singular values that sum to at most ``radius``.

    Parameters
    ----------
    radius : float
        Of the trace norm.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero model.
    max_passes : float or None
        Budget, in passes over the data.
    fit_intercept : bool
        Whether to fit an intercept for each output; the constraint does not hold for it.
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
    rank_ : int
        Rank of the weight matrix.
    gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_
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

    def __init__(
        self,
        radius: float = 10.0,
        *,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ):
        self.radius = radius
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _loss(self) -> Any:
        return "multitask-squared"

    def _loss_for(self, y: np.ndarray) -> Any:
        return MultitaskSquared(y.shape[1])

    def _set(self, d: int, outputs: int) -> Any:
        return TraceBall(self.radius)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return y if y.ndim == 2 else y[:, None]  # a matrix of weights even where it has one column

    def _adopt(self, results: list[Any]) -> None:
        super()._adopt(results)
        self.rank_ = rank_of(np.linalg.svd(results[0].x, compute_uv=False))
