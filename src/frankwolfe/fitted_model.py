"""`FittedModel`: an answer made fit for use, and for keeping, with what made it."""

import os
import platform
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe import __version__
from frankwolfe.files.read import Features
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status


def _versions() -> dict[str, str]:
    """Return what a model is made with."""
    return {"frankwolfe": __version__, "python": platform.python_version(), "numpy": np.__version__}


@dataclass(frozen=True)
class Run:
    """How the answer was found: what a `Result` says, without the answer itself.

    Attributes
    ----------
    fun, gap, tolerance : float
        Exact objective, exact gap, and what the gap had to meet.
    convex : bool
        Whether the loss is convex, so that the objective is at most ``gap`` above its minimum.
    status, message, method : str
        How the run ended, and which method it was.
    passes, seconds : float
        What it took.
    rows : int
        Rows of the data.
    seed : int or None
        Of the batches.
    """

    fun: float
    gap: float
    tolerance: float
    convex: bool
    status: str
    message: str
    method: str
    passes: float
    seconds: float
    rows: int
    seed: int | None

    @classmethod
    def of(cls, problem: Problem, result: Result, seed: int | None) -> "Run":
        """Return what there is to know of the run that ended with a result."""
        return cls(
            fun=float(result.fun),
            gap=float(result.gap),
            tolerance=float(result.tolerance),
            convex=result.convex,
            status=str(result.status),
            message=result.message,
            method=result.method,
            passes=float(result.passes),
            seconds=float(result.seconds),
            rows=problem.n,
            seed=seed,
        )

    @property
    def success(self) -> bool:
        """Whether the exact gap met the tolerance."""
        return self.status == Status.CONVERGED


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A linear model, with the loss, the set, the certificate and the names of its columns.

    Attributes
    ----------
    weights : array of shape (d,), or (d, outputs)
        The weights.
    intercept : float, or array of shape (outputs,)
        Added to all predictions; zero if there was none.
    loss : loss
        What was minimised.
    constraint : set
        Where the weights lie.
    run : Run
        The certificate, and how it was found.
    classes : array or None
        The classes that the loss's labels or class numbers stand for, in ascending order.
    features : Features
        The columns it reads.
    target : list of str
        Names of what it predicts; empty if they have none.
    versions : dict
        Of the libraries that made it.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(3.0))
    >>> model = fw.FittedModel.of(problem, fw.minimize(problem, tol=1e-9), features=["a", "b"])
    >>> model.predict([[2.0, 1.0]]).round(3)
    array([4.])
    """

    weights: np.ndarray
    intercept: Any
    loss: Any
    constraint: Any
    run: Run
    classes: np.ndarray | None
    features: Features
    target: list[str]
    versions: dict[str, str] = field(default_factory=_versions)

    @classmethod
    def of(
        cls,
        problem: Problem,
        result: Result,
        *,
        classes: Any = None,
        features: Any = None,
        target: Any = (),
        seed: int | None = None,
    ) -> "FittedModel":
        """Return the model that a result is.

        Parameters
        ----------
        problem : Problem
            What was solved.
        result : Result
            Its answer.
        classes : array, optional
            What the labels -1 and +1, or the class numbers, stand for. Without it these are what is predicted.
        features : sequence of str, or Features, optional
            Names of the columns, if they have any.
        target : sequence of str
            Names of what is predicted.
        seed : int, optional
            Of the run.

        Returns
        -------
        FittedModel
        """
        if not isinstance(result.x, np.ndarray):
            raise TypeError("a model is linear: the answer of a completion problem predicts by itself")
        return cls(
            result.x,
            result.intercept,
            problem.loss,
            problem.constraint,
            Run.of(problem, result, seed),
            _as_classes(classes, problem),
            _as_features(features, problem.d),
            [str(name) for name in target],
        )

    def decision(self, X: Any) -> np.ndarray:
        """Return ``X w`` and the intercept: scores of the classes, or the predictions themselves.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Columns in the order of the weights.

        Returns
        -------
        array of shape (n,), or (n, outputs)
        """
        matrix = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.weights):
            raise ValueError(f"X must have {len(self.weights)} columns, as the model has; got shape {matrix.shape}")
        return np.asarray(matrix @ self.weights) + self.intercept

    def predict(self, X: Any) -> np.ndarray:
        """Return a class for each row, or a number, or a row of numbers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Columns in the order of the weights.

        Returns
        -------
        array of shape (n,), or (n, outputs)
        """
        scores = self.decision(X)
        if self.classes is None:
            return scores
        return self.classes[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.0).astype(int)]

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a ``.npz`` file: there whole or not at all. `load_model` reads it.

        Parameters
        ----------
        path : str or Path
            Replaced if it exists.
        """
        from frankwolfe.files.models import write_model

        write_model(self, path)


def _as_features(features: Any, d: int) -> Features:
    """Return which columns a model reads, from their names or from what a file says."""
    if features is None:
        return Features(None, 0, d)
    if isinstance(features, Features):
        return features
    names = [str(name) for name in features]
    if len(names) != d:
        raise ValueError(f"features has {len(names)} names, but there are {d} columns in X")
    return Features(names, 0, d)


def _as_classes(classes: Any, problem: Problem) -> np.ndarray | None:
    """Return the classes that a model predicts: the given ones, or the loss's own."""
    kind = getattr(problem.loss, "targets", "real")
    if kind not in ("labels", "classes"):
        if classes is not None:
            raise ValueError(f"{type(problem.loss).__name__} has no classes: leave classes out")
        return None
    own = np.array([-1, 1]) if kind == "labels" else np.arange(problem.outputs)
    if classes is None:
        return own
    given = np.asarray(classes)
    if given.shape != own.shape or given.dtype == object:
        raise ValueError(f"classes must be {len(own)} numbers or strings, got {classes!r}")
    return given
