"""`partial_fit`: linear models that learn a stream of rows, one chunk at a time, in constant memory."""

from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from frankwolfe.arguments.arrays import check_labels
from frankwolfe.arguments.types import RowNumbers, TableLike, TargetValues
from frankwolfe.compile.part import short
from frankwolfe.estimators.array_data import checked_weights
from frankwolfe.estimators.base import LinearModel, Solution
from frankwolfe.methods.registry import as_method
from frankwolfe.problem import Problem
from frankwolfe.problem.requirements import require_memory
from frankwolfe.result import Result
from frankwolfe.solvers.row_stream import RowStream, for_stream


class StreamLearner(LinearModel):
    """A linear model that can also learn a stream of rows.

    `fit` and `partial_fit` set the same attributes. Those that only the other one knows are NaN, infinite or None.
    """

    _streams: list[RowStream] | None = None
    _rows_fitted = 0

    def _finish(self, problems: list[Problem], results: list[Result]) -> None:
        super()._finish(problems, results)
        self._streams, self._rows_fitted = None, problems[0].n
        self.n_samples_seen_ = self._rows_fitted
        self.gap_estimate_ = self.gap_error_ = self.prequential_loss_ = self.chunk_loss_ = np.nan

    @property
    def _is_new(self) -> bool:
        """Whether neither `fit` nor `partial_fit` was called before."""
        return self._streams is None and self._ends is None

    def _chunk(self, X: TableLike, y: TargetValues) -> tuple[Any, Any]:
        """Return the checked rows and targets of a chunk."""
        require_memory(X, "partial_fit", "call it for each chunk in turn, or use fit, which leaves the rows there")
        if self.max_features is not None:
            raise ValueError("max_features needs all rows at once, but partial_fit has only a chunk of them: use fit")
        return self._training_data(X, y, reset=self._is_new)

    def _learn_rows(self, X: TableLike, targets: np.ndarray, weights: np.ndarray | None) -> None:
        """Learn a chunk of checked rows; rows of weight zero are left out."""
        if weights is not None and not weights.all():
            kept = weights > 0.0
            if not kept.any():
                raise ValueError("sample_weight is zero for all rows of this chunk: there is nothing to learn")
            X, targets, weights = X[kept], targets[kept], weights[kept]
        self._scale = None  # a stream has a budget
        problems = self._problems(X, targets, weights, intercept=False)
        if problems[0].side is not None:
            raise ValueError(
                "partial_fit takes bounds with an l1, simplex or linf constraint, and no other rules: use fit"
            )
        streams = self._begun(problems)
        for problem, stream in zip(problems, streams, strict=True):
            if not problem.constraint.contains(stream.w):
                raise ValueError(
                    f"the weights learnt so far are not in {short(problem.constraint)}: the set has changed between "
                    "two calls of partial_fit. Start again with fit, or with a new model"
                )
        total = None if weights is None else float(weights.sum())
        # Assigned only when all streams have learnt the chunk: an error leaves the model as it was.
        self._streams = [stream.learn(problem, total) for problem, stream in zip(problems, streams, strict=True)]
        self._record_streams(problems, self._streams)

    def _record_streams(self, problems: list[Problem], streams: list[RowStream]) -> None:
        """Set the fitted attributes from the streams."""
        pairs = list(zip(problems, streams, strict=True))
        self._ends = [(problem.constraint, problem.shaped(stream.w)) for problem, stream in pairs]
        shifts = [0.0 if stream.shift is None else stream.shift for stream in streams]
        self._adopt([Solution(x, shift) for (_, x), shift in zip(self._ends, shifts, strict=True)])
        self.gap_, self.passes_, self.result_ = np.inf, np.nan, None  # nothing is proven of a stream
        self.prices_ = {}
        self.n_iter_ = streams[0].steps
        self.n_samples_seen_ = self._rows = self._rows_fitted + streams[0].rows
        self.gap_estimate_ = max(stream.gap.estimate for stream in streams)
        self.gap_error_ = max(stream.gap.error for stream in streams)
        self.prequential_loss_ = sum(stream.loss for stream in streams)
        self.chunk_loss_ = sum(stream.last_loss for stream in streams)

    def _begun(self, problems: list[Problem]) -> list[RowStream]:
        """Return the streams so far: those of the last call, or new ones from the fitted weights or the default start.

        A fit counts as one step for each of its rows: steps as long as those of a new stream would undo it.
        """
        method = for_stream(as_method(self.method), problems[0].loss)
        if self._streams is not None:
            return self._streams
        shifts = [np.zeros(max(1, problem.outputs)) if self.fit_intercept else None for problem in problems]
        if self._ends is None:
            return [
                RowStream(problem.default_start(), np.zeros(problem.size), shift, method)
                for problem, shift in zip(problems, shifts, strict=True)
            ]
        assert self.result_ is not None  # a fit came last: there are no streams
        results = self.result_ if isinstance(self.result_, list) else [self.result_]
        return [
            RowStream(
                problem.flat("coef_", found.x),
                # fits of many targets keep no gradient: these rows give the first estimate
                np.array(found.state["gradient"]) if "gradient" in found.state else problem.gradient(found.x).ravel(),
                None if shift is None else shift + found.intercept,
                method,
                steps=self._rows_fitted,
            )
            for problem, found, shift in zip(problems, results, shifts, strict=True)
        ]


class StreamClassifier(StreamLearner):
    """A linear classifier that can also learn a stream of rows."""

    class_weight: Any
    classes_: np.ndarray

    def partial_fit(self, X: TableLike, y: TargetValues, classes: Any = None, sample_weight: RowNumbers = None) -> Self:
        """Learn a chunk of rows in their order, continuing from earlier chunks or from `fit`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Rows.
        y : array of shape (n,)
            Their classes.
        classes : array, optional
            All classes that will occur; required in the first call.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter, within the whole stream.

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
        codes, weights = np.asarray(np.searchsorted(known, y)), checked_weights(sample_weight, X)
        if self.class_weight is not None:
            by_class = self._given_class_weights()[codes]
            weights = by_class if weights is None else weights * by_class
        self._learn_rows(X, codes, weights)
        return self

    def _given_class_weights(self) -> np.ndarray:
        """Return the class weights in the dict that the user gave; a stream cannot be balanced before it ends."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows, and partial_fit sees them one chunk after the "
                "other: give a dict of weights"
            )
        return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)


class StreamRegressor(StreamLearner):
    """A linear regressor that can also learn a stream of rows."""

    _target_shape: tuple[int, ...]

    def partial_fit(self, X: TableLike, y: TargetValues, sample_weight: RowNumbers = None) -> Self:
        """Learn a chunk of rows in their order, continuing from earlier chunks or from `fit`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Rows.
        y : array of shape (n,), or (n, outputs)
            Their targets.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter, within the whole stream.

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
        new = self._is_new
        X, y = self._chunk(X, y)
        if not new and y.shape[1:] != self._target_shape:
            raise ValueError(f"y has shape {y.shape}, but the targets so far were of shape (n, *{self._target_shape})")
        self._learn_rows(X, *self._learn_targets(X, y, checked_weights(sample_weight, X)))
        return self
