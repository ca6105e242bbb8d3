"""`FrankWolfeRegressor`, and what all regressors share."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from frankwolfe.estimators.linear import LinearModel
from frankwolfe.estimators.partial_fit import StreamRegressor
from frankwolfe.estimators.sign_constraints import SignedColumns, checked_signs, signed_set
from frankwolfe.losses import MultitaskSquared, Squared, as_loss
from frankwolfe.problem import Problem
from frankwolfe.problem.on_cluster import is_on_cluster


class LinearRegressor(RegressorMixin, LinearModel):
    """What linear regressors share."""

    _several_outputs = True
    _target_shape: tuple[int, ...]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_outputs
        return tags

    def _loss(self) -> Any:
        """Return the loss, or its name, as the user gave it."""
        return self.loss

    def _columns(self, d: int) -> SignedColumns | None:
        """Return the signed columns that stand for the features, if weights must have signs."""
        return None

    def _target_checks(self) -> dict[str, bool]:
        return {"multi_output": self._several_outputs, "y_numeric": True}

    def _problems(self, X: Any, y: np.ndarray, sample_weight: Any) -> list[Problem]:
        given = sample_weight
        if given is not None and not is_on_cluster(X):  # the workers check theirs
            given = _check_sample_weight(given, X, ensure_non_negative=True)
        return self._posed(X, y, given, bool(self.fit_intercept))

    def _posed(self, X: Any, y: np.ndarray, weights: np.ndarray | None, intercept: bool) -> list[Problem]:
        if not self._several_outputs:
            y = self._one_output(X, y)
        self._target_shape = y.shape[1:]
        y = self._targets(y)
        loss = self._loss_for(y)
        self._signed = self._columns(X.shape[1])
        return [self._pose(X if self._signed is None else self._signed.spread(X), y, loss, weights, intercept)]

    def _held_out(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> list[Problem]:
        """Return the problem of rows held out."""
        return self._posed(X, y, weights, intercept=False)

    def _one_output(self, X: Any, y: Any) -> Any:
        """Return targets as a vector."""
        if not is_on_cluster(X):
            return column_or_1d(y, warn=True)
        from frankwolfe.estimators.dask_data import one_column

        return one_column(y)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Return the targets as the loss takes them: one output is a vector."""
        return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y

    def _loss_for(self, y: np.ndarray) -> Any:
        """Return the loss for targets of one output or of several."""
        loss = as_loss(self._loss())
        if loss.targets in ("labels", "classes"):
            raise ValueError(f"{type(loss).__name__} is a loss for classes: use FrankWolfeClassifier, or 'squared'")
        if y.ndim == 1:
            return Squared() if isinstance(loss, MultitaskSquared) else loss
        if isinstance(loss, Squared | MultitaskSquared):
            return MultitaskSquared(y.shape[1])
        raise ValueError(
            f"several outputs go with the loss 'squared', not {self._loss()!r}: for one model each, use "
            "sklearn.multioutput.MultiOutputRegressor"
        )

    def _adopt(self, results: list[Any]) -> None:
        (found,) = results
        weights = found.x if self._signed is None else self._signed.gather(found.x)
        shape = self._target_shape
        self.coef_ = weights.T.reshape(*shape, -1).copy()
        intercept = np.broadcast_to(np.ravel(found.intercept), shape or 1)
        self.intercept_ = intercept.copy() if shape else float(intercept[0])

    def predict(self, X: Any) -> Any:
        """Predicted targets.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples. Of a dask collection the answer is a dask array, which is worked out when it is computed.

        Returns
        -------
        array of shape (n,), or (n, outputs)
        """
        if is_on_cluster(X):
            check_is_fitted(self)
            return self._lazily("predict", X, *self._target_shape)
        scores = self._scores(X)
        return scores if self._target_shape else scores[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2: the part of the targets' variance that is explained. Of dask collections it is summed by the workers.

        Parameters
        ----------
        X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
            Samples.
        y : array of shape (n,), or (n, outputs)
            Their targets; of several outputs the mean is returned.
        sample_weight : array of shape (n,), optional
            Weights of the samples.

        Returns
        -------
        float
        """
        if is_on_cluster(X):
            from frankwolfe.estimators.dask_data import explained

            check_is_fitted(self)
            return explained(self, X, y, sample_weight)
        return super().score(X, y, sample_weight)

    def densify(self) -> "LinearRegressor":
        """Store ``coef_`` as an array again, of one dimension for one output.

        Returns
        -------
        self
        """
        super().densify()
        self.coef_ = self.coef_.reshape(*self._target_shape, -1)
        return self


class SignedRegressor(LinearRegressor):
    """A linear regressor whose weights may have to have signs."""

    signs: Any

    def _columns(self, d: int) -> SignedColumns | None:
        if self.signs is None:
            return None
        return SignedColumns.of(checked_signs(self.signs, d, getattr(self, "feature_names_in_", None)))

    def _set(self, d: int, outputs: int) -> Any:
        constraint = super()._set(d, outputs)
        return constraint if self.signs is None else signed_set(constraint)


class FrankWolfeRegressor(StreamRegressor, SignedRegressor):
    """Linear regressor whose weights lie in a constraint set; the answer comes with its certified gap.

    Parameters
    ----------
    loss : str or loss
        ``"squared"``, ``"huber"``, ``"cauchy"``, ``"tukey"``, ``"pinball"`` (the median, slowly:
        docs/side-constraints.md), or an object such as ``fw.Huber(0.5)`` or ``fw.Pinball(0.9)``.
    constraint : str or set
        ``"l1"``, ``"l2"``, ``"linf"``, ``"simplex"``, ``"nonnegative-l1"``, ``"trace"``, ``"group"`` (the weights of a
        feature over all outputs are a group), or a set such as ``fw.GroupBall(groups, 5.0)``, whose fields are
        parameters: ``constraint__radius``. With several outputs it holds for all weights together.
    radius : float, optional
        Of a set by name; None means 10 (1 for the simplex). An object has its own, and a second one is refused.
    signs : int, array of shape (d,) or dict, optional
        Of the weights: 1 for not negative, -1 for not positive, 0 for either; for all features, for each, or by name or
        number (those left out are free). Needs an l1 constraint.
    method : str or Method
        As for `minimize`.
    tol : float
        The proven gap must be at most ``tol`` times the objective of the zero model.
    max_passes : float or None
        Budget, in passes over the data.
    fit_intercept : bool
        Whether to fit an intercept; the constraint does not hold for it.
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
    gap_ : float
        Proven gap: the objective is at most this far above its minimum.
    n_iter_ : int
        Steps made.
    passes_ : float
        Passes over the data.
    result_ : Result
        All about the run.
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
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [2.0, 0.0, 2.0, 4.0]
    >>> fw.FrankWolfeRegressor(radius=2.0, fit_intercept=False, tol=1e-9).fit(X, y).coef_.round(6)
    array([2., 0.])
    """

    def __init__(
        self,
        loss: Any = "squared",
        constraint: Any = "l1",
        radius: float | None = None,
        *,
        signs: Any = None,
        method: Any = "auto",
        tol: float = 1e-4,
        max_passes: float | None = 1000.0,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ):
        self.loss = loss
        self.constraint = constraint
        self.radius = radius
        self.signs = signs
        self.method = method
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
