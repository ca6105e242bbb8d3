"""`FrankWolfeClassifier`: linear classification under a constraint."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from frankwolfe.arguments.arrays import check_labels
from frankwolfe.arguments.names import lookup
from frankwolfe.estimators.linear import LinearModel
from frankwolfe.estimators.partial_fit import StreamClassifier
from frankwolfe.losses import Logistic, Multinomial, as_loss
from frankwolfe.model.probabilities import has_probabilities, probabilities_of, probability_of_second
from frankwolfe.problem import Problem
from frankwolfe.problem.on_cluster import is_on_cluster

MULTI_CLASS = {"auto": "auto", "multinomial": "multinomial", "ovr": "ovr"}


def _has_probabilities(estimator: Any) -> bool:
    """Whether the loss says how likely a class is; raises the error that tells which do."""
    if has_probabilities(as_loss(estimator._loss())):
        return True
    raise AttributeError(
        f"probabilities come with the losses 'logistic', 'multinomial' and 'modified-huber', not {estimator._loss()!r}"
    )


class LinearClassifier(ClassifierMixin, LinearModel):
    """What linear classifiers share. Two classes are -1 and +1 to the loss; more are one problem, or one each."""

    class_weight: Any
    classes_: np.ndarray
    _by_class: np.ndarray | None = None  # weights of the classes, once a fit has found them

    def _loss(self) -> Any:
        """Return the loss, or its name, as the user gave it."""
        return self.loss

    def _training_data(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, Any]:
        if y is not None:
            check_labels("y", y)  # before scikit-learn, which does not say what to do
        return super()._training_data(X, y, reset)

    def _together(self, loss: Any) -> bool:
        """Whether there is one problem with an output for each class."""
        choice = lookup("multi_class", self.multi_class, MULTI_CLASS)
        if isinstance(loss, Multinomial) and choice == "ovr":
            raise ValueError("multi_class='ovr' needs a loss of one output, such as 'logistic', not 'multinomial'")
        if isinstance(loss, Multinomial) or (isinstance(loss, Logistic) and choice != "ovr"):
            return isinstance(loss, Multinomial) or len(self.classes_) > 2
        if choice == "multinomial":
            raise ValueError(
                f"multi_class='multinomial' goes with the loss 'logistic', not {self._loss()!r}; use multi_class='ovr'"
            )
        return False

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> list[Problem]:
        if is_on_cluster(X):
            return self._problems_on_cluster(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return self._posed(X, codes, self._weights(X, codes, sample_weight), bool(self.fit_intercept))

    def _problems_on_cluster(self, X: Any, y: Any, sample_weight: Any) -> list[Problem]:
        """Return the problems of dask collections: classes are found where the targets are, and numbered there."""
        from frankwolfe.cluster.target_survey import survey_targets
        from frankwolfe.estimators.dask_data import class_weighted, encoded, one_column

        y = one_column(y)
        found = survey_targets(y, sample_weight)
        if found.values is None:
            raise ValueError(f"y has too many values to be classes: numbers from {found.low:g} to {found.high:g}")
        check_classification_targets(found.values)
        self.classes_ = found.values
        codes, by_class = encoded(y, self.classes_), self._class_weights(found.weights)
        weights = sample_weight if by_class is None else class_weighted(codes, by_class, sample_weight)
        return self._posed(X, codes, weights, bool(self.fit_intercept))

    def _posed(self, X: Any, y: np.ndarray, weights: np.ndarray | None, intercept: bool) -> list[Problem]:
        loss = as_loss(self._loss())
        if loss.targets == "rows":
            raise ValueError(f"{type(loss).__name__} takes rows of numbers: a classifier needs a loss of labels")
        count = len(self.classes_)
        if self._together(loss):
            return [self._pose(X, y, Multinomial(count), weights, intercept)]
        positives = [1] if count == 2 else range(count)
        if count > 2 and is_on_cluster(X):
            raise ValueError(
                f"one problem for each of {count} classes would load the rows {count} times: use the loss 'logistic' "
                "without multi_class='ovr', or fit a model for each class in turn, to y == the class"
            )
        return [self._pose(X, np.where(y == c, 1.0, -1.0), loss, weights, intercept) for c in positives]

    def _weights(self, X: Any, codes: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """Return the weight of each sample: its own times that of its class."""
        given = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self._by_class = self._class_weights(np.bincount(codes, given, minlength=len(self.classes_)))
        return self._times_class_weights(codes, given)

    def _times_class_weights(self, codes: np.ndarray, given: np.ndarray | None) -> np.ndarray | None:
        """Return the weight of each sample, with the weights of the classes that the fit has found."""
        if self._by_class is None:
            return given
        return self._by_class[codes] if given is None else given * self._by_class[codes]

    def _held_out(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> list[Problem]:
        """Return the problems of rows held out, but for those of classes that the fit has not seen."""
        known = np.isin(y, self.classes_)
        if not known.any():
            raise ValueError(
                f"a fold holds out all rows of the class {y[0]}, and nothing else: use fewer folds, or a splitter "
                "that keeps classes together with others, such as sklearn.model_selection.StratifiedKFold"
            )
        if not known.all():
            X, y, weights = X[known], y[known], None if weights is None else weights[known]
        codes = np.searchsorted(self.classes_, y)
        return self._posed(X, codes, self._times_class_weights(codes, weights), intercept=False)

    def _class_weights(self, shares: np.ndarray) -> np.ndarray | None:
        """Return the weight of each class, from the weight of its samples; None where all have the same."""
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

    def _adopt(self, results: list[Any]) -> None:
        together = results[0].x.ndim == 2
        coef = results[0].x.T.copy() if together else np.array([found.x for found in results])
        intercept = np.concatenate([np.ravel(found.intercept) for found in results]) * np.ones(len(coef))
        if together:  # only differences of intercepts matter: of all equal answers, take the one that sums to zero
            intercept -= intercept.mean()
        if together and len(coef) == 2:  # only the difference of two outputs matters
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def decision_function(self, X: Any) -> Any:
        """Scores of the classes.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. Of a dask collection the answer is a dask array, which is worked out when it is computed.

        Returns
        -------
        array of shape (n,) for two classes, else (n, n_classes)
        """
        if is_on_cluster(X):
            check_is_fitted(self)
            return self._lazily("decision_function", X, None if self.coef_.shape[0] == 1 else self.coef_.shape[0])
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """Class of each sample.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. Of a dask collection the answer is a dask array, which is worked out when it is computed.

        Returns
        -------
        array of shape (n,)
        """
        if is_on_cluster(X):
            check_is_fitted(self)
            return self._lazily("predict", X, None, self.classes_.dtype)
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes; for ``"logistic"``, ``"multinomial"`` and ``"modified-huber"``.

        One-vs-rest probabilities are scaled to sum to one.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. Of a dask collection the answer is a dask array, which is worked out when it is computed.

        Returns
        -------
        array of shape (n, n_classes)
        """
        if is_on_cluster(X):
            check_is_fitted(self)
            return self._lazily("predict_proba", X, len(self.classes_))
        scores = self.decision_function(X)
        loss = as_loss(self._loss())
        if scores.ndim == 1 or self._together(loss):
            return probabilities_of(loss, scores)
        likely = probability_of_second(loss, scores)
        total = likely.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, likely, 1.0) / np.where(total > 0.0, total, likely.shape[1])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. Of a dask collection the answer is a dask array, which is worked out when it is computed.

        Returns
        -------
        array of shape (n, n_classes)
        """
        if is_on_cluster(X):
            check_is_fitted(self)
            return self._lazily("predict_log_proba", X, len(self.classes_))
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the part of the samples whose class is predicted. Of dask collections it is counted by the workers.

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
        if is_on_cluster(X):
            from frankwolfe.estimators.dask_data import accuracy

            check_is_fitted(self)
            return accuracy(self, X, y, sample_weight)
        return super().score(X, y, sample_weight)


class FrankWolfeClassifier(StreamClassifier, LinearClassifier):
    """Linear classifier whose weights lie in a constraint set; the answer comes with its certified gap.

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
    radius : float, optional
        Of a set by name; None means 10 (1 for the simplex). An object has its own, and a second one is refused.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero model.
    max_passes : float or None
        Budget, in passes over the data.
    fit_intercept : bool
        Whether to fit an intercept; the constraint does not hold for it.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    multi_class : {"auto", "multinomial", "ovr"}
        With more than two classes: one problem with an output for each (``"auto"``, where the loss is logistic), or one
        problem for each.
    warm_start : bool
        Whether `fit` starts from the weights of the last one.
    random_state : int, RandomState, Generator or None
        Seed of the stochastic methods.
    n_threads : int, optional
        Threads that work on all rows of large data; by default as many as there are cores. The bits are the same.
    verbose : int
        Above 0: show progress (needs tqdm) and keep the trace.
    n_jobs : int, optional
        Threads for ``"ovr"``.

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
    n_iter_ : int
        Steps made.
    passes_ : float
        Passes over the data.
    result_ : Result, or list of them
        All about the run, or about each of them.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array
        Their names, if they had any.
    gap_estimate_, gap_error_, prequential_loss_, chunk_loss_, n_samples_seen_
        After `partial_fit`, instead of ``gap_``, ``passes_`` and ``result_``: what is measured of a stream
        (docs/estimators.md).

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fw.FrankWolfeClassifier(radius=5.0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.gap_ < 1e-3
    (True, True)
    """

    def __init__(
        self,
        loss: Any = "logistic",
        constraint: Any = "l1",
        radius: float | None = None,
        *,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        multi_class: str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ):
        self.loss = loss
        self.constraint = constraint
        self.radius = radius
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
        self.n_jobs = n_jobs
