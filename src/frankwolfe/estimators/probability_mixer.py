"""Stacking of classifiers: the mixture of their probabilities with the least log-loss."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from frankwolfe.arguments.arrays import as_raw_weights
from frankwolfe.arguments.names import teaching
from frankwolfe.arguments.types import RowNumbers, TargetValues
from frankwolfe.estimators.base import CertifiedEstimator
from frankwolfe.losses.mixture import Mixture
from frankwolfe.problem import Problem
from frankwolfe.result import Result
from frankwolfe.sets import Simplex


class ProbabilityMixer(CertifiedEstimator):
    """A weighted average of the probabilities of several classifiers, whose log-loss is proven to be the least.

    Fit it to probabilities for rows that the classifiers have not learnt from, such as those of scikit-learn's
    ``cross_val_predict(..., method="predict_proba")``.

    Parameters
    ----------
    tol : float
        The proven gap must be at most ``tol`` times the log-loss of the plain average.
    max_passes : float or None
        Budget, in passes over the data.
    n_jobs : int, optional
        Number of threads that share the rows; None and -1 mean all cores.
    verbose : int
        Above 0: show progress (needs tqdm) and keep the trace.

    Attributes
    ----------
    weights_ : array of shape (models,)
        Weight of each model: non-negative, of sum one.
    classes_ : array
        The classes.
    log_loss_, average_log_loss_ : float
        Mean log-loss of the mixture, and of the plain average, on the rows of the fit.
    gap_ : float
        How far ``log_loss_`` is above its minimum at most.
    n_iter_, passes_, result_
        As for `FrankWolfeClassifier`.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> first, second = [0.9, 0.2, 0.6, 0.4], [0.6, 0.4, 0.9, 0.6]  # probabilities of "yes"
    >>> mixer = fw.ProbabilityMixer().fit([first, second], ["yes", "no", "yes", "no"])
    >>> mixer.weights_.round(3)
    array([1., 0.])
    >>> mixer.predict([first, second])
    array(['yes', 'no', 'yes', 'no'], dtype='<U3')
    """

    @teaching
    def __init__(
        self, *, tol: float = 1e-8, max_passes: float | None = 1000.0, n_jobs: int | None = None, verbose: int = 0
    ):
        super().__init__("auto", tol, max_passes, None, n_jobs, verbose)

    def fit(
        self,
        probabilities: Sequence[Any],
        y: TargetValues,
        sample_weight: RowNumbers = None,
        *,
        classes: Sequence[Any] | None = None,
    ) -> Self:
        """Find the weights.

        Parameters
        ----------
        probabilities : sequence of arrays of shape (n, classes), or (n,)
            For each model its probabilities of the classes, in the order of ``classes``; or, for two classes, those of
            the second one alone.
        y : array of shape (n,)
            The true classes.
        sample_weight : array of shape (n,), optional
            Non-negative weights; only their proportions matter.
        classes : sequence, optional
            The classes, in the order of the columns. By default those in ``y``, sorted, as in scikit-learn.

        Returns
        -------
        self
        """
        y = column_or_1d(y)
        check_classification_targets(y)
        self.classes_ = np.unique(y) if classes is None else np.asarray(classes)
        order = np.argsort(self.classes_, kind="stable")
        at = order[np.searchsorted(self.classes_, y, sorter=order).clip(max=len(order) - 1)]
        if (self.classes_[at] != y).any():
            raise ValueError(f"y has the class {y[self.classes_[at] != y][0]!r}, which is not among classes")
        tables = self._checked(probabilities)
        if tables.shape[1] != len(y):
            raise ValueError(f"y has {len(y)} entries, but there are probabilities of {tables.shape[1]} rows")
        weights = as_raw_weights(sample_weight, len(y))
        rows = np.flatnonzero(weights > 0.0)
        true = tables[:, rows, at[rows]].T
        mean = true.mean(axis=1)
        if not mean.all():
            row = rows[int(np.argmin(mean))]
            raise ValueError(
                f"no model gives row {row} a positive probability of its class {y[row]!r}, so that every log-loss is "
                "infinite: clip the probabilities, or leave the row out"
            )
        problem = Problem(true / mean[:, None] - 1.0, mean, Mixture(), Simplex(1.0), weights[rows])
        (found,) = self._minimized([problem], [np.full(len(tables), 1.0 / len(tables))])
        self.weights_, self.log_loss_, self.average_log_loss_ = found.x, found.fun, found.zero_value
        return self

    def predict_proba(self, probabilities: Sequence[Any]) -> np.ndarray:
        """Return the probabilities of the mixture.

        Parameters
        ----------
        probabilities : sequence of arrays of shape (n, classes), or (n,)
            Those of the models, in the order of `fit`.

        Returns
        -------
        array of shape (n, classes)
        """
        check_is_fitted(self)
        tables = self._checked(probabilities)
        if len(tables) != len(self.weights_):
            raise ValueError(f"there are probabilities of {len(tables)} models, and {len(self.weights_)} are expected")
        return np.tensordot(self.weights_, tables, 1)

    def predict(self, probabilities: Sequence[Any]) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        probabilities : sequence of arrays of shape (n, classes), or (n,)
            Those of the models, in the order of `fit`.

        Returns
        -------
        array of shape (n,)
        """
        return self.classes_[self.predict_proba(probabilities).argmax(axis=1)]

    def _checked(self, probabilities: Sequence[Any]) -> np.ndarray:
        """Return the probabilities as an array of shape (models, n, classes)."""
        count = len(self.classes_)
        given = [np.asarray(table, dtype=np.float64) for table in probabilities]
        if not given:
            raise ValueError("probabilities must be those of at least one model")
        tables = [np.column_stack([1.0 - p, p]) if p.ndim == 1 and count == 2 else p for p in given]
        for k, table in enumerate(tables):
            if table.shape != (len(tables[0]), count):
                raise ValueError(
                    f"probabilities[{k}] must have shape {(len(tables[0]), count)}, with a column for each class, "
                    f"got {table.shape}"
                )
            if not ((table >= 0.0) & (table <= 1.0 + 1e-6)).all() or not np.allclose(table.sum(axis=1), 1.0, atol=1e-4):
                raise ValueError(f"probabilities[{k}] must be between 0 and 1 and sum to one in each row")
        return np.minimum(np.stack(tables), 1.0)

    def _advice(self, found: Result) -> list[str]:
        return []  # probabilities have one scale, and the radius is not a choice
