"""The search for a radius by cross-validation, along warm-started paths."""

from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _check_sample_weight

from frankwolfe.advice import on_radius
from frankwolfe.arguments.names import lookup
from frankwolfe.estimators.linear import LinearModel
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.path import as_radii, at_the_edge, follow, held_out_loss, radius_grid
from frankwolfe.problem import Problem
from frankwolfe.problem.on_cluster import refuse_dask
from frankwolfe.result import Result, Status
from frankwolfe.store.reader import RowStore

RULES = {"best": "best", "1se": "1se"}


class RadiusSearch(LinearModel):
    """A linear model that chooses its radius: every fold follows a path, and the best radius on held-out data wins."""

    radii: Any
    cv: Any
    scoring: Any
    rule: str
    warm_start = False
    radius = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "RadiusSearch":
        """Choose the radius, and fit the model with it to all data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Training data.
        y : array of shape (n,), or (n, outputs)
            Targets: classes, of any type that sorts, or numbers.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter. Scores are weighted too.
        **params : dict
            For the splitter and the scorer, where metadata routing is enabled.

        Returns
        -------
        self
        """
        lookup("rule", self.rule, RULES)
        routed = self._routed(sample_weight, params)
        refuse_dask(
            X,
            f"{type(self).__name__} fits to parts of the rows, which are on a cluster here: try radii one by one with "
            "an estimator without CV and score rows kept back, or pass rows in memory (X.compute())",
        )
        if isinstance(X, RowStore):
            raise TypeError(
                f"{type(self).__name__} fits to parts of the rows, which a store cannot give: pass store.matrix() and "
                "store.y, or try radii one by one with an estimator without CV"
            )
        X, y = self._training_data(X, y)
        problems = self._problems(X, y, sample_weight)
        self.radii_ = self._grid(problems)
        folds = list(check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y, **routed.splitter.split))
        self.scores_ = np.array(
            Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._fold)(X, y, sample_weight, train, test, routed.scorer.score) for train, test in folds
            )
        )
        self.best_index_ = chosen(self.scores_, self.rule)
        self.radius_ = float(self.radii_[self.best_index_])
        self.cv_results_ = summary(self.radii_, self.scores_)
        self._solve([problem.over(problem.constraint.with_radius(self.radius_)) for problem in problems])
        return self

    def _advice(self, found: Result) -> list[str]:
        """Return what there is to say about a result: of the radius, which held-out rows chose, only its place."""
        problem = found.trace.problem
        assert problem is not None
        about_radius = on_radius(problem, found)
        others = [sentence for sentence in found.advice if sentence not in about_radius]
        return [*others, *at_the_edge(self.radii_, self.best_index_, problem, found.x)]

    def _grid(self, problems: list[Problem]) -> np.ndarray:
        """Return the radii: those given, or as many as asked for, as far as any of the problems needs them."""
        if np.ndim(self.radii):
            return as_radii(self.radii)
        return max((radius_grid(problem, self.radii) for problem in problems), key=lambda grid: grid[-1])

    @single_threaded
    def _fold(self, X: Any, y: np.ndarray, sample_weight: Any, train: Any, test: Any, scoring: dict) -> list[float]:
        """Return the scores on the test part along the path of the training part."""
        model, scorer = clone(self), self._scorer()
        model.n_features_in_ = X.shape[1]
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        problems = model._problems(_safe_indexing(X, train), y[train], None if weights is None else weights[train])
        held_out, truth = _safe_indexing(X, test), y[test]
        by_loss = self.scoring is None
        others = model._held_out(held_out, truth, None if weights is None else weights[test]) if by_loss else []
        extra, scores = _check_method_params(X, scoring, indices=test), []
        for found in zip(*(follow(problem, self.radii_, **self._options()) for problem in problems), strict=True):
            if any(result.status is Status.INTERRUPTED for result in found):
                raise KeyboardInterrupt  # scores of some radii only would choose among those
            model._adopt(list(found))
            loss = sum(map(held_out_loss, others, found))
            scores.append(-loss if by_loss else scorer(model, held_out, truth, **extra))
        return scores

    # --- scoring ----------------------------------------------------------------------------------------------

    def _scorer(self) -> Any:
        """Return the scorer of `score`: the one asked for, or accuracy or R2."""
        return check_scoring(self, self.scoring or ("accuracy" if is_classifier(self) else "r2"))

    def score(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> float:
        """Score by ``scoring``; accuracy or R2 by default.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Samples.
        y : array
            Their targets.
        sample_weight : array of shape (n,), optional
            Weights of the samples.
        **params : dict
            For the scorer, where metadata routing is enabled.

        Returns
        -------
        float
        """
        _raise_for_params(params, self, "score")
        if _routing_enabled():
            extra = process_routing(self, "score", sample_weight=sample_weight, **params).scorer.score
        else:
            extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._scorer()(self, X, y, **extra)

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Bunch:
        """Return what goes to the splitter and to the scorer."""
        _raise_for_params(params, self, "fit")
        if _routing_enabled():
            return process_routing(self, "fit", sample_weight=sample_weight, **params)
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=extra))

    def get_metadata_routing(self) -> MetadataRouter:
        """Say where metadata goes: to `fit`, to the splitter, to the scorer.

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
        """Draw the validation curve: the mean score against the radius, with its standard error (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

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
    """Return the place of the chosen radius: the best, or the smallest within a standard error of the best.

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
    """Return the scores in the words of scikit-learn's searches."""
    means = scores.mean(axis=0)
    return {
        "param_radius": radii,
        "params": [{"radius": float(radius)} for radius in radii],
        **{f"split{fold}_test_score": score for fold, score in enumerate(scores)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": rankdata(-means, method="min").astype(np.int32),
    }
