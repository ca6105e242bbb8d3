"""`FrankWolfeClassifierCV` and `FrankWolfeRegressorCV`: the radius chosen by cross-validation."""

from typing import Any

from frankwolfe.estimators.classifier import LinearClassifier
from frankwolfe.estimators.regressor import SignedRegressor
from frankwolfe.estimators.search import RadiusSearch


class FrankWolfeClassifierCV(RadiusSearch, LinearClassifier):
    """`FrankWolfeClassifier` whose radius is chosen by cross-validation, along warm-started paths.

    Parameters
    ----------
    loss, constraint
        As for `FrankWolfeClassifier`; the radius of a set given as an object does not matter.
    radii : int or array
        How many radii to choose from, on a grid made from the data, or which.
    cv : int, splitter or iterable, optional
        Folds; five by default.
    scoring : str or callable, optional
        What to maximise on held-out data. By default radii are compared by the loss that is minimised (for
        ``"logistic"`` the log-loss), weighted as in the fit, and `score` is the accuracy.
    rule : {"best", "1se"}
        The radius with the best mean score, or the smallest whose mean score is within one standard error of it.
    method, tol, max_passes, fit_intercept, class_weight, multi_class, random_state, n_threads, verbose
        As for `FrankWolfeClassifier`.
    n_jobs : int, optional
        Threads: for folds, and for one-vs-rest at the end.

    Attributes
    ----------
    radius_ : float
        The chosen radius.
    radii_ : array of shape (n_radii,)
        All radii.
    scores_ : array of shape (n_folds, n_radii)
        Scores on held-out data: larger is better, so losses are negated.
    best_index_ : int
        Place of the chosen radius.
    cv_results_ : dict
        The same in the words of scikit-learn's searches.
    coef_, intercept_, classes_, gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_
        Of the model with that radius fitted to all data, as for `FrankWolfeClassifier`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fw.FrankWolfeClassifierCV(radii=[1.0, 10.0, 100.0, 1000.0]).fit(X, y)
    >>> model.radius_
    100.0
    """

    def __init__(
        self,
        loss: Any = "logistic",
        constraint: Any = "l1",
        *,
        radii: Any = 30,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        multi_class: str = "auto",
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ):
        self.loss = loss
        self.constraint = constraint
        self.radii = radii
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
        self.n_jobs = n_jobs


class FrankWolfeRegressorCV(RadiusSearch, SignedRegressor):
    """`FrankWolfeRegressor` whose radius is chosen by cross-validation, along warm-started paths.

    Parameters
    ----------
    loss, constraint
        As for `FrankWolfeRegressor`; the radius of a set given as an object does not matter.
    radii : int or array
        How many radii to choose from, on a grid made from the data, or which.
    cv : int, splitter or iterable, optional
        Folds; five by default.
    scoring : str or callable, optional
        What to maximise on held-out data. By default radii are compared by the loss that is minimised, and `score` is
        R2.
    rule : {"best", "1se"}
        The radius with the best mean score, or the smallest whose mean score is within one standard error of it.
    signs, method, tol, max_passes, fit_intercept, random_state, n_threads, verbose
        As for `FrankWolfeRegressor`.
    n_jobs : int, optional
        Threads for the folds.

    Attributes
    ----------
    radius_ : float
        The chosen radius.
    radii_ : array of shape (n_radii,)
        All radii.
    scores_ : array of shape (n_folds, n_radii)
        Scores on held-out data: larger is better, so losses are negated.
    best_index_ : int
        Place of the chosen radius.
    cv_results_ : dict
        The same in the words of scikit-learn's searches.
    coef_, intercept_, gap_, n_iter_, passes_, result_, n_features_in_, feature_names_in_
        Of the model with that radius fitted to all data, as for `FrankWolfeRegressor`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = fw.FrankWolfeRegressorCV(radii=[10.0, 1000.0, 2000.0, 3000.0], rule="1se").fit(X, y)
    >>> model.radius_
    2000.0
    """

    def __init__(
        self,
        loss: Any = "squared",
        constraint: Any = "l1",
        *,
        radii: Any = 30,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        signs: Any = None,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ):
        self.loss = loss
        self.constraint = constraint
        self.radii = radii
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.signs = signs
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
        self.n_jobs = n_jobs
