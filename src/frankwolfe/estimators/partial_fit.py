"""`partial_fit`: linear models that learn rows as they come, a chunk at a time, in constant memory."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from frankwolfe.arguments.arrays import check_labels
from frankwolfe.compile.part import short
from frankwolfe.engines.row_stream import RowStream, for_stream
from frankwolfe.estimators.linear import LinearModel
from frankwolfe.methods.table import as_method
from frankwolfe.problem import Problem
from frankwolfe.problem.on_cluster import refuse_dask
from frankwolfe.store.reader import RowStore

Function = TypeVar("Function", bound=Callable)

PROVEN = ("gap_", "passes_", "result_")
"""What only `fit` can say."""

ESTIMATED = ("gap_estimate_", "gap_error_", "prequential_loss_", "chunk_loss_", "n_samples_seen_")
"""What only `partial_fit` can say."""


IN_TURN = (
    "partial_fit learns rows in memory, and X is a dask collection: call it for each chunk in turn, computed, or call "
    "fit, which leaves the rows on the cluster"
)
"""What to do with a dask collection instead."""

SHARED = {
    "{rows}": "X : array, sparse matrix or data frame of shape (n, d)\n    Rows.",
    "{weights}": "sample_weight : array of shape (n,), optional\n"
    "    Non-negative weights; only their proportions matter, within the whole stream.",
}
"""What the docstrings of `partial_fit` have in common, by the names that stand for it there."""


def shares_docs(method: Function) -> Function:
    """Fill in what a docstring shares with others."""
    text = cleandoc(method.__doc__ or "")  # without indentation, as later versions of Python keep it
    for name, shared in SHARED.items():
        text = text.replace(name, shared)
    method.__doc__ = text
    return method


class Answer(NamedTuple):
    """Weights and intercept, as results have them."""

    x: np.ndarray
    intercept: Any


class StreamLearner(LinearModel):
    """A linear model that can also learn a stream of rows."""

    _streams: list[RowStream] | None = None
    _rows_fitted = 0

    def _solve(self, problems: list[Problem], checkpoint: Any = None) -> None:
        super()._solve(problems, checkpoint)
        self._streams, self._rows_fitted = None, problems[0].n
        self._forget(ESTIMATED)

    def _forget(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    @property
    def _is_new(self) -> bool:
        """Whether nothing was fitted or learnt before."""
        return self._streams is None and self._ends is None

    def _chunk(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the rows and targets of a chunk, checked."""
        if isinstance(X, RowStore):
            raise TypeError(
                "partial_fit takes the rows of a chunk, not a row store, whose rows can be read more than once: use fit"
            )
        return self._training_data(X, y, reset=self._is_new)

    def _learn_rows(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        """Learn a chunk of checked rows; those without weight teach nothing, and are left out."""
        if weights is not None and not weights.all():
            kept = weights > 0.0
            if not kept.any():
                raise ValueError("sample_weight is zero for all rows of this chunk: there is nothing to learn")
            X, targets, weights = X[kept], targets[kept], weights[kept]
        self._learn(self._posed(X, targets, weights, intercept=False), weights)

    def _learn(self, problems: list[Problem], weights: np.ndarray | None) -> None:
        """Learn a chunk, posed once for each output that is learnt on its own; all of it or nothing."""
        streams = self._begun(problems)
        for problem, stream in zip(problems, streams, strict=True):
            if not problem.constraint.contains(stream.w):
                raise ValueError(
                    f"the weights learnt so far are not in {short(problem.constraint)}: the set has changed between "
                    "two calls of partial_fit. Start anew with fit, or with a new model"
                )
        total = None if weights is None else float(weights.sum())
        streams = [stream.learn(problem, total) for problem, stream in zip(problems, streams, strict=True)]
        self._streams = streams
        self._ends = [
            (problem.constraint, problem.shaped(stream.w)) for problem, stream in zip(problems, streams, strict=True)
        ]
        shifts = [0.0 if stream.shift is None else stream.shift for stream in streams]
        self._adopt([Answer(x, shift) for (_, x), shift in zip(self._ends, shifts, strict=True)])
        self._forget(PROVEN)
        self.n_iter_ = streams[0].steps
        self.n_samples_seen_ = streams[0].rows
        self.gap_estimate_ = max(stream.gap.estimate for stream in streams)
        self.gap_error_ = max(stream.gap.error for stream in streams)
        self.prequential_loss_ = sum(stream.loss for stream in streams)
        self.chunk_loss_ = sum(stream.last_loss for stream in streams)

    def _begun(self, problems: list[Problem]) -> list[RowStream]:
        """Return the streams so far: those of the last call, or from what was fitted, or new ones.

        What was fitted counts as one step for each of its rows: steps as long as those of a new stream would undo it.
        """
        method = for_stream(as_method(self.method), problems[0].loss)
        if self._streams is not None:
            return self._streams
        intercepts = [np.zeros(max(1, problem.outputs)) if self.fit_intercept else None for problem in problems]
        if self._ends is None:
            starts = [problem.default_start() for problem in problems]
            return [
                RowStream(w, np.zeros(problem.size), shift, method)
                for problem, w, shift in zip(problems, starts, intercepts, strict=True)
            ]
        results = self.result_ if isinstance(self.result_, list) else [self.result_]
        return [
            RowStream(
                problem.flat("coef_", found.x),
                np.array(found.state["gradient"]),
                None if shift is None else shift + found.intercept,
                method,
                steps=self._rows_fitted,
            )
            for problem, found, shift in zip(problems, results, intercepts, strict=True)
        ]


class StreamClassifier(StreamLearner):
    """A linear classifier that can also learn a stream of rows."""

    class_weight: Any
    classes_: np.ndarray

    @shares_docs
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "StreamClassifier":
        """Learn a chunk of rows, in their order, and go on from what was learnt or fitted before.

        Parameters
        ----------
        {rows}
        y : array of shape (n,)
            Their classes.
        classes : array, optional
            All classes there are; needed in the first call.
        {weights}

        Returns
        -------
        self

        Examples
        --------
        >>> import frankwolfe as fw
        >>> model = fw.FrankWolfeClassifier(radius=2.0, fit_intercept=False)
        >>> for chunk in ([[1.0, 0.0], [-1.0, 0.2]], [[0.8, 0.1], [-0.9, -0.3]]):
        ...     model = model.partial_fit(chunk, ["yes", "no"], classes=["no", "yes"])
        >>> model.predict([[2.0, 0.0]]), model.n_samples_seen_
        (array(['yes'], dtype='<U3'), 4)
        """
        refuse_dask(X, IN_TURN)
        new = self._is_new
        if new and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit: all that will ever come")
        X, y = self._chunk(X, y)
        check_labels("classes", [] if classes is None else classes)
        check_classification_targets(y)
        known = np.unique(classes) if new else self.classes_
        if len(known) < 2:
            raise ValueError(f"{type(self).__name__} needs at least two classes, got {known.tolist()}")
        if not new and classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes {np.unique(classes).tolist()} are not those known so far, {known.tolist()}")
        strange = np.setdiff1d(y, known)
        if strange.size:
            raise ValueError(f"y has the class {strange.tolist()[0]!r}, but the classes are {known.tolist()}")
        self.classes_ = known
        codes, weights = np.searchsorted(known, y), _checked_weights(sample_weight, X)
        if self.class_weight is not None:
            by_class = self._given_class_weights()[codes]
            weights = by_class if weights is None else weights * by_class
        self._learn_rows(X, codes, weights)
        return self

    def _given_class_weights(self) -> np.ndarray:
        """Return the weights of the classes that the user gave: a stream cannot be balanced before it ends."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows, and partial_fit sees them one chunk after the "
                "other: give a dict of weights"
            )
        return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)


class StreamRegressor(StreamLearner):
    """A linear regressor that can also learn a stream of rows."""

    _target_shape: tuple[int, ...]

    @shares_docs
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StreamRegressor":
        """Learn a chunk of rows, in their order, and go on from what was learnt or fitted before.

        Parameters
        ----------
        {rows}
        y : array of shape (n,), or (n, outputs)
            Their targets.
        {weights}

        Returns
        -------
        self

        Examples
        --------
        >>> import frankwolfe as fw
        >>> model = fw.SimplexRegressor()
        >>> for chunk, targets in (([[1.0, 3.0]], [1.5]), ([[2.0, 1.0], [5.0, 1.0]], [2.0, 4.0])):
        ...     model = model.partial_fit(chunk, targets)
        >>> round(float(model.coef_.sum()), 9), model.n_samples_seen_
        (1.0, 3)
        """
        refuse_dask(X, IN_TURN)
        new = self._is_new
        X, y = self._chunk(X, y)
        if not new and y.shape[1:] != self._target_shape:
            raise ValueError(f"y has shape {y.shape}, but the targets so far were of shape (n, *{self._target_shape})")
        self._learn_rows(X, y, _checked_weights(sample_weight, X))
        return self


def _checked_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Return sample weights as numbers, none of them negative; None if there are none."""
    if sample_weight is None:
        return None
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
