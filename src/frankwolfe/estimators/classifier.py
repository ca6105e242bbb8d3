"""`FrankWolfeClassifier` and `LowRankClassifier`: linear classification under a constraint."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from frankwolfe.arguments.arrays import check_labels
from frankwolfe.arguments.names import lookup, teaching
from frankwolfe.arguments.types import ConstraintSet, Loss, RowNumbers, TableLike, TargetValues
from frankwolfe.estimators.array_data import functions_for
from frankwolfe.estimators.base import LinearModel, on_chunks
from frankwolfe.estimators.streaming import StreamClassifier
from frankwolfe.linalg.singular import rank_of
from frankwolfe.losses import Logistic, Multinomial, as_loss
from frankwolfe.model.probabilities import has_probabilities, probabilities_of, probability_of_second
from frankwolfe.problem import Problem

MULTI_CLASS = {name: name for name in ("auto", "multinomial", "ovr")}


def _has_probabilities(estimator: Any) -> bool:
    """Return True if the loss has class probabilities; otherwise raise an error that names the losses that do."""
    if has_probabilities(as_loss(estimator.loss)):
        return True
    raise AttributeError(
        f"probabilities come with the losses 'logistic', 'multinomial' and 'modified-huber', not {estimator.loss!r}"
    )


def _class_count(model: Any) -> tuple[int, type]:
    return len(model.classes_), np.float64


class LinearClassifier(ClassifierMixin, LinearModel):
    """A linear classifier. Two classes are labels -1 and +1; more are one multinomial problem, or one problem each."""

    class_weight: Any
    multi_class: str
    classes_: np.ndarray
    _by_class: np.ndarray | None = None  # class weights of the last fit

    def _training_data(self, X: TableLike, y: TargetValues, reset: bool = True) -> tuple[Any, Any]:
        if y is not None:
            check_labels("y", y)  # before scikit-learn, whose message does not say what to do
        return super()._training_data(X, y, reset)

    def _together(self, loss: Loss) -> bool:
        """Return whether there is one problem with an output for each class."""
        choice = lookup("multi_class", self.multi_class, MULTI_CLASS)
        if isinstance(loss, Multinomial):
            if choice == "ovr":
                raise ValueError("multi_class='ovr' needs a loss of one output, such as 'logistic', not 'multinomial'")
            return True
        if isinstance(loss, Logistic) and choice != "ovr":
            return len(self.classes_) > 2
        if choice == "multinomial":
            raise ValueError(
                f"multi_class='multinomial' goes with the loss 'logistic', not {self.loss!r}; use multi_class='ovr'"
            )
        return False

    # --- problems ---

    def _learn_targets(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers) -> tuple[Any, Any]:
        self.classes_, codes, shares = functions_for(X).encoded(y, sample_weight)
        self._by_class = self._class_weights(shares)
        return codes, self._weighted(codes, sample_weight)

    def _problems(self, X: TableLike, y: TargetValues, weights: Any, intercept: bool) -> list[Problem]:
        loss = as_loss(self.loss)
        if loss.targets == "rows":
            raise ValueError(f"{type(loss).__name__} takes rows of numbers: a classifier needs a loss of labels")
        count = len(self.classes_)
        if self._together(loss):
            return [self._problem(X, y, Multinomial(count), weights, intercept)]
        positives = [1] if count == 2 else range(count)
        functions_for(X).check_copies(len(positives))
        return [self._problem(X, np.where(y == c, 1.0, -1.0), loss, weights, intercept) for c in positives]

    def _held_out(self, X: TableLike, y: np.ndarray, weights: np.ndarray | None) -> list[Problem]:
        """Return the problems of held-out rows, without those of classes that are not in the training rows."""
        known = np.isin(y, self.classes_)
        if not known.any():
            raise ValueError(
                f"a fold holds out all rows of the class {y[0]}, and nothing else: use fewer folds, or a splitter "
                "that keeps classes together with others, such as sklearn.model_selection.StratifiedKFold"
            )
        codes = np.searchsorted(self.classes_, y[known])
        weights = None if weights is None else weights[known]
        return super()._held_out(X[known], codes, self._weighted(codes, weights))

    def _class_weights(self, shares: np.ndarray) -> np.ndarray | None:
        """Return the weight of each class, given the total sample weight of each; None if all are equal."""
        if not shares.any():
            raise ValueError("sample_weight must have a positive sum, and all weights are zero")
        if np.count_nonzero(shares) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes with weight, got one class: "
                f"{self.classes_[shares > 0].tolist()}"
            )
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":  # by weight, not by number
            return shares.sum() / (len(shares) * np.where(shares > 0.0, shares, np.inf))
        return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)

    def _weighted(self, codes: Any, given: Any) -> Any:
        """Return the weight of each sample times that of its class; codes of a dask collection are a lazy array."""
        if self._by_class is None:
            return given
        own = functions_for(codes).class_weights(codes, self._by_class)
        return own if given is None else given * own

    def _adopt(self, results: list[Any]) -> None:
        together = results[0].x.ndim == 2
        coef = results[0].x.T.copy() if together else np.array([found.x for found in results])
        intercept = np.concatenate([np.ravel(found.intercept) for found in results]) * np.ones(len(coef))
        if together:  # only differences of intercepts matter: choose the one that sums to zero
            intercept -= intercept.mean()
        if together and len(coef) == 2:  # only the difference of two outputs matters
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def _output_names(self, count: int) -> list[str]:
        return [str(name) for name in self.classes_] if count == len(self.classes_) else super()._output_names(count)

    def _facts(self) -> dict[str, str]:
        return {} if len(self.coef_) > 1 else {"positive weights": f"point to class {self.classes_[1]}"}

    # --- predictions ---

    @on_chunks(lambda model: (None if model.coef_.shape[0] == 1 else model.coef_.shape[0], np.float64))
    def decision_function(self, X: TableLike) -> Any:
        """Return the scores of the classes.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. For a dask collection the result is a lazy dask array.

        Returns
        -------
        array of shape (n,) for two classes, else (n, n_classes)
        """
        scores = functions_for(X).scores(self, X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @on_chunks(lambda model: (None, model.classes_.dtype))
    def predict(self, X: TableLike) -> Any:
        """Return the predicted class of each sample.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. For a dask collection the result is a lazy dask array.

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(_has_probabilities)
    @on_chunks(_class_count)
    def predict_proba(self, X: TableLike) -> Any:
        """Return class probabilities, for ``"logistic"``, ``"multinomial"`` and ``"modified-huber"``.

        One-vs-rest probabilities are scaled to sum to one.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. For a dask collection the result is a lazy dask array.

        Returns
        -------
        array of shape (n, n_classes)
        """
        scores = self.decision_function(X)
        loss = as_loss(self.loss)
        if scores.ndim == 1 or self._together(loss):
            return probabilities_of(loss, scores)
        likely = probability_of_second(loss, scores)
        total = likely.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, likely, 1.0) / np.where(total > 0.0, total, likely.shape[1])

    @available_if(_has_probabilities)
    @on_chunks(_class_count)
    def predict_log_proba(self, X: TableLike) -> Any:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. For a dask collection the result is a lazy dask array.

        Returns
        -------
        array of shape (n, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers = None) -> float:
        """Return the accuracy: the share of samples whose class is predicted. Workers count it for dask collections.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples.
        y : array of shape (n,)
            Their classes.
        sample_weight : array of shape (n,), optional
            Weights of the samples.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return functions_for(X).score(self, X, y, sample_weight, super().score)


class FrankWolfeClassifier(StreamClassifier, LinearClassifier):
    """Linear classifier whose weights lie in a constraint set, with a certified gap.

    Parameters
    ----------
    loss : str or loss
        ``"logistic"``, ``"squared-hinge"``, ``"modified-huber"``, ``"sigmoid"``, ``"hinge"`` (slowly:
        docs/side-constraints.md), or an object. With more than two classes ``"logistic"`` means the multinomial loss,
        unless ``multi_class="ovr"``.
    constraint : str or set
        ``"l1"``, ``"l2"``, ``"linf"``, ``"simplex"``, ``"nonnegative-l1"``, ``"trace"``, ``"group"`` (the weights of a
        feature over all classes are a group), or a set such as ``fw.GroupBall(groups, 5.0)``, whose fields are
        parameters: ``constraint__radius``. It holds for all weights together, or for each class in turn with ``"ovr"``.
    radius : float, "auto" or None
        Radius of a set given by name. None means no budget: the best of all weights that keep the rules, if there are
        any. ``"auto"`` is no budget with bounds, conditions or monotone, and else the default of the set, 10 (1 for the
        simplex); a `ScaleWarning` says if that is too small to fit much. A set given as an object has its own radius,
        and a second one is refused.
    bounds : dict or pair, optional
        Bounds on weights: pairs ``(lower, upper)`` by name, number or pattern of the columns, as in
        ``{"price": (None, 0), "tv_*": (0, None)}``; a single pair is for all weights (docs/conditions.md).
        Rules hold for the weights of each class.
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
        (docs/best-subset.md). For ``"ovr"`` it limits each class.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero model.
    max_passes : float or None
        Budget, in passes over the data.
    fit_intercept : bool
        Whether to fit an intercept, which is not constrained.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    multi_class : {"auto", "multinomial", "ovr"}
        With more than two classes: one problem with an output for each (``"auto"``, where the loss is logistic), or one
        problem for each.
    warm_start : bool
        Whether `fit` starts from the weights of the last fit.
    random_state : int, RandomState, Generator or None
        Seed of the stochastic methods.
    n_jobs : int, optional
        Number of threads; -1 means all cores. The problems of ``"ovr"`` are solved in parallel, with one thread each;
        a single problem shares its rows among the threads. None: one problem after the other, each on all cores (the
        problems of ``"ovr"`` follow `joblib.parallel_config`). The result does not depend on it, to the bit.
    verbose : int
        Above 0: show progress (needs tqdm) and keep the trace.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d)
        Weights.
    intercept_ : array of shape (1,), or (n_classes,)
        Intercepts.
    classes_ : array
        The classes.
    gap_ : float
        Proven gap: the objective is at most this far above its minimum. With ``"ovr"`` the largest.
    prices_ : dict
        By how much the objective would fall per unit by which each rule, or the radius, is relaxed: numbers by rule,
        such as ``"price <= 0"``. Zero for those that do not bind.
    n_iter_ : int
        Steps made.
    passes_ : float
        Passes over the data.
    result_ : Result, or list of them
        The run, or all runs of ``"ovr"``.
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
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fw.FrankWolfeClassifier(radius=5.0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.gap_ < 1e-3
    (True, True)
    """

    @teaching
    def __init__(
        self,
        loss: Loss = "logistic",
        constraint: ConstraintSet = "l1",
        radius: float | str | None = "auto",
        *,
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
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.loss = loss
        self.constraint = constraint
        self.radius = radius
        self.bounds = bounds
        self.conditions = conditions
        self.monotone = monotone
        self.groups = groups
        self.max_features = max_features
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.warm_start = warm_start


class LowRankClassifier(StreamClassifier, LinearClassifier):
    """Multinomial logistic regression with a bound on the sum of the singular values of its weight matrix.

    The classes share a few directions of the feature space. Two classes always have one direction.

    Parameters
    ----------
    radius : float or "auto"
        Largest sum of the singular values; ``"auto"`` is 10.
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
        radius: float | str | None = "auto",
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
        super().__init__(method, tol, max_passes, random_state, n_jobs, verbose)
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start

    def _adopt(self, results: list[Any]) -> None:
        super()._adopt(results)
        self.rank_ = rank_of(np.linalg.svd(results[0].x, compute_uv=False))
