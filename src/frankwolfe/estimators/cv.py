"""`FrankWolfeClassifierCV` and `FrankWolfeRegressorCV`: the radius chosen by cross-validation."""

from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, d2_tweedie_score, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from frankwolfe.advice import on_radius
from frankwolfe.arguments.names import lookup, teaching
from frankwolfe.arguments.types import ConstraintSet, Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.estimators.array_data import training_data
from frankwolfe.estimators.base import LinearModel
from frankwolfe.estimators.classifier import LinearClassifier
from frankwolfe.estimators.regressor import LinearRegressor, SignedRegressor
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.losses import as_loss
from frankwolfe.path import as_radii, at_the_edge, follow, held_out_loss, radius_grid
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import require_memory
from frankwolfe.result import Result, Status
from frankwolfe.sets.named import DEFAULT_RADIUS

WITHOUT_OFFSETS = "offset and exposure go with scoring=None: scorers of scikit-learn predict without them"


class RadiusSearch(LinearModel):
    """A linear model that chooses its radius: every fold follows a path of radii and scores it on held-out rows."""

    radii: Any
    cv: Any
    scoring: Any
    rule: str
    warm_start = False
    radius = "auto"  # the path sets it

    def fit(self, X: TableLike, y: TargetValues = None, sample_weight: RowNumbers = None, **params: Any) -> Self:
        """Choose the radius by cross-validation, then fit the model with it to all data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Training data.
        y : array of shape (n,), or (n, outputs)
            TargetValues: classes, of any type that sorts, or numbers.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter. Scores are weighted too.
        **params : dict
            For the splitter and the scorer, if metadata routing is enabled.

        Returns
        -------
        self
        """
        return self._search(X, y, sample_weight, params)

    def _search(
        self, X: TableLike, y: TargetValues, sample_weight: RowNumbers, params: dict[str, Any], **offsets: RowNumbers
    ) -> Self:
        """Choose the radius and fit the model with it."""
        lookup("rule", self.rule, {"best": "best", "1se": "1se"})
        routed = self._routed("fit", sample_weight, params)
        who = f"{type(self).__name__} fits to parts of the rows, so it"
        require_memory(X, who, "try radii one by one with an estimator without CV, and score other rows")
        X, y, sample_weight = training_data(self, X, y, sample_weight)
        if any(given is not None for given in offsets.values()):
            if self.scoring is not None:
                raise ValueError(WITHOUT_OFFSETS)
            y = self._with_offset(X, y, **offsets)
        problems = self._fit_problems(X, y, sample_weight)
        self.radii_ = self._grid(problems)
        folds = list(
            check_cv(self.cv, y, classifier=is_classifier(self)).split(
                X, y.real if y.dtype.kind == "c" else y, **routed.splitter.split
            )
        )
        self.scores_ = np.array(
            Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._fold)(X, y, sample_weight, train, test, routed.scorer.score) for train, test in folds
            )
        )
        self.best_index_ = chosen(self.scores_, self.rule)
        self.radius_ = float(self.radii_[self.best_index_])
        self.cv_results_ = summary(self.radii_, self.scores_)
        self._solve([self._with_radius(problem) for problem in problems])
        return self

    def _with_radius(self, problem: Problem) -> Problem:
        return problem.over(problem.constraint.with_radius(self.radius_))

    def _advice(self, found: Result) -> list[str]:
        """Return advice on a result. Held-out rows chose the radius, so only its place in the grid is questioned."""
        problem = found.trace.problem
        assert problem is not None
        about_radius = on_radius(problem, found)
        others = [sentence for sentence in found.advice if sentence not in about_radius]
        return [*others, *at_the_edge(self.radii_, self.best_index_, problem, found.x)]

    def _grid(self, problems: list[Problem]) -> np.ndarray:
        """Return the given radii, or a grid up to the largest radius that any of the problems needs."""
        least = 1.001 * self._least  # at the least radius itself there is a single point
        if np.ndim(self.radii):
            radii = as_radii(self.radii)
            if radii[0] < self._least:
                raise ValueError(
                    f"radii: {radii[0]:g} is too small for the rules: absolute weights that keep them sum to at least "
                    f"{self._least:g}"
                )
            return radii
        return max((radius_grid(problem, self.radii, least) for problem in problems), key=lambda grid: grid[-1])

    def _is_free(self) -> bool:
        return False  # the path sets the radius

    def _set(self, d: int, outputs: int) -> Any:
        """Return the set with a radius that is large enough for the rules; the path sets another one."""
        rules = self._rules()
        if rules is None or not isinstance(self.constraint, str) or self.constraint == "simplex":
            return super()._set(d, outputs)
        return super()._set(d, outputs).with_radius(max(DEFAULT_RADIUS, 2.0 * self._least))

    @single_threaded
    def _fold(self, X: TableLike, y: np.ndarray, weights: Any, train: Any, test: Any, scoring: dict) -> list[float]:
        """Return the scores on the test rows along the path of the training rows."""
        model, scorer = self._for_fold(), self._scorer()
        of_train, of_test = (None if weights is None else weights[rows] for rows in (train, test))
        problems = model._fit_problems(X[train], y[train], of_train)
        held_out, truth = X[test], y[test]
        by_loss = self.scoring is None
        others = model._held_out(held_out, truth, of_test) if by_loss else []
        arrays = {name: np.asarray(value) for name, value in scoring.items()}
        extra = {
            name: array[test] if array.shape[:1] == X.shape[:1] else scoring[name] for name, array in arrays.items()
        }
        limits: dict[str, Any] = {"max_nonzeros": self.max_features, "max_nodes": 0}  # held-out rows judge: no proof
        options, scores = self._options(several=True), []
        for found in zip(*(follow(problem, self.radii_, **limits, **options) for problem in problems), strict=True):
            if any(result.status is Status.INTERRUPTED for result in found):
                raise KeyboardInterrupt  # scores of only some radii would restrict the choice to those
            model._adopt(list(found))
            loss = sum(map(held_out_loss, others, found))
            scores.append(-loss if by_loss else scorer(model, held_out, truth, **extra))
        return scores

    # --- scoring ----------------------------------------------------------------------------------------------

    def _scorer(self) -> Any:
        """Return the scorer of `score`: that of ``scoring``, or accuracy, R2 or D2."""
        loss = as_loss(self.loss)
        default: Any = "accuracy" if is_classifier(self) else "r2"
        if loss.log_link:
            default = make_scorer(d2_tweedie_score, power=loss.power)
        return check_scoring(self, self.scoring or default)

    def score(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers = None, **params: Any) -> float:
        """Return the score by ``scoring``; accuracy or R2 by default.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Samples.
        y : array
            Their targets.
        sample_weight : array of shape (n,), optional
            Weights of the samples.
        **params : dict
            For the scorer, if metadata routing is enabled.

        Returns
        -------
        float
        """
        return self._scorer()(self, X, y, **self._routed("score", sample_weight, params).scorer.score)

    def _routed(self, method: str, sample_weight: RowNumbers, params: dict[str, Any]) -> Bunch:
        """Return the parameters of the splitter and of the scorer."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, sample_weight=sample_weight, **params)
        if params:
            raise ValueError(
                f"{method} got {', '.join(params)}, which needs metadata routing: enable it with "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=extra))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata to `fit`, the splitter and the scorer.

        Returns
        -------
        MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(
                scorer=self._scorer(),
                method_mapping=MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score"),
            )
        )

    def plot(self, ax: Any = None) -> Any:
        """Plot the validation curve: mean score against radius, with its standard error (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from frankwolfe.plots import plot_scores

        name = self.scoring or "held-out loss, negated"
        name = name if isinstance(name, str) else "score"
        return plot_scores(self.radii_, self.scores_, self.best_index_, name, ax=ax)


def standard_errors(scores: np.ndarray) -> np.ndarray:
    """Return the standard error of each radius' mean score."""
    folds = len(scores)
    return scores.std(axis=0, ddof=1) / np.sqrt(folds) if folds > 1 else np.zeros(scores.shape[1])


def chosen(scores: np.ndarray, rule: str) -> int:
    """Return the index of the chosen radius: the best, or the smallest within a standard error of the best.

    Examples
    --------
    >>> scores = np.array([[0.5, 0.80, 0.84], [0.5, 0.82, 0.80]])
    >>> chosen(scores, "best"), chosen(scores, "1se")
    (2, 1)
    """
    means = scores.mean(axis=0)
    best = int(np.nanargmax(means))
    if rule == "best":
        return best
    return int(np.flatnonzero(means >= means[best] - standard_errors(scores)[best])[0])


def summary(radii: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Return the scores in the form of `GridSearchCV.cv_results_`."""
    means = scores.mean(axis=0)
    return {
        "param_radius": radii,
        "params": [{"radius": float(radius)} for radius in radii],
        **{f"split{fold}_test_score": score for fold, score in enumerate(scores)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": rankdata(-means, method="min").astype(np.int32),
    }


class FrankWolfeClassifierCV(RadiusSearch, LinearClassifier):
    """`FrankWolfeClassifier` whose radius is chosen by cross-validation, along warm-started paths.

    Parameters
    ----------
    loss, constraint
        As for `FrankWolfeClassifier`; the radius of a set given as an object is ignored.
    radii : int or array
        The radii to choose from, or their number on a grid derived from the data.
    cv : int, splitter or iterable, optional
        Folds; five by default.
    scoring : str or callable, optional
        What to maximise on held-out data. By default radii are compared by the loss that is minimised (for
        ``"logistic"`` the log-loss), weighted as in the fit, and `score` is the accuracy.
    rule : {"best", "1se"}
        The radius with the best mean score, or the smallest whose mean score is within one standard error of it.
    bounds, conditions, monotone, groups
        As for `FrankWolfeClassifier`. There is always a budget: its radius is chosen.
    max_features : int, optional
        As for `FrankWolfeClassifier`, at every radius; folds skip the proof.
    method, tol, max_passes, fit_intercept, class_weight, multi_class, random_state, verbose
        As for `FrankWolfeClassifier`.
    n_jobs : int, optional
        Number of threads; -1 means all cores. Folds run in parallel, with one thread each; the last fit is as for
        `FrankWolfeClassifier`. None: one fold after the other, each on all cores.

    Attributes
    ----------
    radius_ : float
        The chosen radius.
    radii_ : array of shape (n_radii,)
        All radii.
    scores_ : array of shape (n_folds, n_radii)
        Scores on held-out data: larger is better, so losses are negated.
    best_index_ : int
        Index of the chosen radius.
    cv_results_ : dict
        The scores in the form of `GridSearchCV.cv_results_`.
    coef_, intercept_, classes_, gap_, prices_, n_iter_, passes_, result_, n_features_in_, feature_names_in_
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

    @teaching
    def __init__(
        self,
        loss: Loss = "logistic",
        constraint: ConstraintSet = "l1",
        *,
        radii: Any = 30,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        bounds: Any = None,
        conditions: Any = None,
        monotone: Any = None,
        groups: Any = None,
        max_features: int | None = None,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        multi_class: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.loss = loss
        self.constraint = constraint
        self.radii = radii
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.bounds = bounds
        self.conditions = conditions
        self.monotone = monotone
        self.groups = groups
        self.max_features = max_features
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class


class FrankWolfeRegressorCV(RadiusSearch, SignedRegressor):
    """`FrankWolfeRegressor` whose radius is chosen by cross-validation, along warm-started paths.

    Parameters
    ----------
    loss, constraint
        As for `FrankWolfeRegressor`; the radius of a set given as an object is ignored.
    radii : int or array
        The radii to choose from, or their number on a grid derived from the data.
    cv : int, splitter or iterable, optional
        Folds; five by default.
    scoring : str or callable, optional
        What to maximise on held-out data. By default radii are compared by the loss that is minimised, and `score` is
        R2.
    rule : {"best", "1se"}
        The radius with the best mean score, or the smallest whose mean score is within one standard error of it.
    signs, bounds, conditions, monotone, groups
        As for `FrankWolfeRegressor`. There is always a budget: its radius is chosen.
    max_features : int, optional
        As for `FrankWolfeRegressor`, at every radius; folds skip the proof.
    method, tol, max_passes, fit_intercept, random_state, verbose
        As for `FrankWolfeRegressor`.
    n_jobs : int, optional
        Number of threads; -1 means all cores. Folds run in parallel, with one thread each; the last fit is as for
        `FrankWolfeRegressor`. None: one fold after the other, each on all cores.

    Attributes
    ----------
    radius_ : float
        The chosen radius.
    radii_ : array of shape (n_radii,)
        All radii.
    scores_ : array of shape (n_folds, n_radii)
        Scores on held-out data: larger is better, so losses are negated.
    best_index_ : int
        Index of the chosen radius.
    cv_results_ : dict
        The scores in the form of `GridSearchCV.cv_results_`.
    coef_, intercept_, gap_, prices_, n_iter_, passes_, result_, n_features_in_, feature_names_in_
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

    @teaching
    def __init__(
        self,
        loss: Loss = "squared",
        constraint: ConstraintSet = "l1",
        *,
        radii: Any = 30,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        signs: Any = None,
        bounds: Any = None,
        conditions: Any = None,
        monotone: Any = None,
        groups: Any = None,
        max_features: int | None = None,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.loss = loss
        self.constraint = constraint
        self.radii = radii
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.max_features = max_features
        self.signs = signs
        self.bounds = bounds
        self.conditions = conditions
        self.monotone = monotone
        self.groups = groups
        self.fit_intercept = fit_intercept

    def fit(
        self,
        X: TableLike,
        y: TargetValues = None,
        sample_weight: RowNumbers = None,
        *,
        offset: RowNumbers = None,
        exposure: RowNumbers = None,
        **params: Any,
    ) -> Self:
        """Choose the radius by cross-validation, then fit the model with it to all data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Training data.
        y : array of shape (n,), or (n, outputs)
            TargetValues.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter. Scores are weighted too.
        offset, exposure : array of shape (n,), optional
            As for `FrankWolfeRegressor.fit`; with ``scoring=None`` only.
        **params : dict
            For the splitter and the scorer, if metadata routing is enabled.

        Returns
        -------
        self
        """
        return self._search(X, y, sample_weight, params, offset=offset, exposure=exposure)

    def score(
        self,
        X: TableLike,
        y: TargetValues,
        sample_weight: RowNumbers = None,
        *,
        offset: RowNumbers = None,
        exposure: RowNumbers = None,
        **params: Any,
    ) -> float:
        """Return the score by ``scoring``; by default R2 or, for a log link, D2.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Samples.
        y : array of shape (n,), or (n, outputs)
            Their targets.
        sample_weight : array of shape (n,), optional
            Weights of the samples.
        offset, exposure : array of shape (n,), optional
            As for `predict`; with ``scoring=None`` only.
        **params : dict
            For the scorer, if metadata routing is enabled.

        Returns
        -------
        float
        """
        if offset is None and exposure is None:
            return super().score(X, y, sample_weight, **params)
        if self.scoring is not None:
            raise ValueError(WITHOUT_OFFSETS)
        return LinearRegressor.score(self, X, y, sample_weight, offset=offset, exposure=exposure)
