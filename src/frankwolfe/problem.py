"""`Problem`: data, loss and constraint set, with the exact objective, gradient and gap."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.inputs import as_matrix, as_targets, as_vector, as_weights
from frankwolfe.iterate import Iterate
from frankwolfe.loop import exact_pass
from frankwolfe.losses import as_loss
from frankwolfe.objective import Point
from frankwolfe.parts import require
from frankwolfe.rows import Samples, as_rows
from frankwolfe.sets.atoms import fitted, vertex_of
from frankwolfe.theory import Diameters, diameters

SET_METHODS = ("scout", "oracle", "support", "contains")


class Evaluation(NamedTuple):
    """Exact facts about a point.

    Attributes
    ----------
    value : float
        The objective ``F(w)``.
    gradient : array of shape (d,)
        Its gradient.
    gap : float
        The Frank-Wolfe gap ``max_s <gradient, w - s>``. For convex losses an upper bound on ``F(w) - F*``; otherwise a
        measure of how far ``w`` is from stationary.
    alpha : array of shape (n,)
        One weighted derivative a sample: the gradient is ``X' alpha``.
    """

    value: float
    gradient: np.ndarray
    gap: float
    alpha: np.ndarray


class Problem:
    """Minimise ``F(w) = sum_i p_i f(x_i' w, y_i)`` over a constraint set, with weights ``p_i`` (1/n by default).

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        float64 and float32 are used as they are (C order; CSR); everything else is converted.
    y : array of shape (n,)
        Targets: labels -1 and +1, or real numbers, as the loss needs.
    loss : str or loss
        A name such as ``"logistic"`` or an instance such as ``fw.Huber(0.5)``.
    constraint : set
        For instance ``fw.L1Ball(10.0)``.
    sample_weight : array of shape (n,), optional
        Non-negative weights; only their proportions matter.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(10.0))
    >>> problem.value([1.0, 2.0]), problem.gap([1.0, 2.0])
    (0.0, 0.0)
    """

    def __init__(self, X: Any, y: Any, loss: Any = "logistic", constraint: Any = None, sample_weight: Any = None):
        if constraint is None:
            raise TypeError("constraint is missing: pass a set, e.g. constraint=fw.L1Ball(10.0)")
        if isinstance(constraint, str):
            raise TypeError(f"constraint must be a set, e.g. fw.L1Ball(10.0), not the string {constraint!r}")
        loss = as_loss(loss)
        require("constraint", constraint, SET_METHODS, "a constraint set")
        matrix = as_matrix(X)
        n, d = matrix.shape
        self._X = matrix
        self._constraint = fitted(constraint, d)
        self._samples = Samples(as_rows(matrix), as_targets(y, n, loss), as_weights(sample_weight, n), loss)
        self._zero_value: float | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self._X.shape[0]

    @property
    def d(self) -> int:
        """Number of columns."""
        return self._X.shape[1]

    @property
    def X(self) -> Any:
        """The data, as an array or a CSR array."""
        return self._X

    @property
    def y(self) -> np.ndarray:
        """The targets."""
        return self._samples.targets

    @property
    def loss(self) -> Any:
        """The loss."""
        return self._samples.loss

    @property
    def constraint(self) -> Any:
        """The constraint set, fitted to the number of columns."""
        return self._constraint

    @property
    def samples(self) -> Samples:
        """Rows, targets, weights and loss, as kernels take them."""
        return self._samples

    @property
    def zero_value(self) -> float:
        """Objective of the zero model, ``F(0)``: the scale that tolerances are relative to."""
        if self._zero_value is None:
            self._zero_value = Point.at(self._samples, np.zeros(self.n)).value  # no pass: X 0 = 0
        return self._zero_value

    def __repr__(self) -> str:
        stored = "dense" if isinstance(self._X, np.ndarray) else f"{self._X.nnz} stored values"
        kind = type(self.constraint).__name__
        return f"Problem({self.n} x {self.d}, {stored}, {self._X.dtype}, {type(self.loss).__name__}, {kind})"

    def evaluate(self, w: Any) -> Evaluation:
        """Objective, gradient, exact gap and derivatives at ``w``, in one pass over the data.

        Parameters
        ----------
        w : array of shape (d,)

        Returns
        -------
        Evaluation
        """
        w = as_vector("w", w, self.d, "columns in X")
        alpha, gradient = np.empty(self.n), np.empty(self.d)
        value = exact_pass(self._samples, Iterate.at(w), alpha, gradient)
        gap = self.gap_for(gradient, w)
        # it cannot be negative at a feasible point, but for rounding
        return Evaluation(float(value), gradient, max(gap, 0.0) if self._constraint.contains(w) else gap, alpha)

    def value(self, w: Any) -> float:
        """Objective ``F(w)``."""
        return self.evaluate(w).value

    def gradient(self, w: Any) -> np.ndarray:
        """Gradient of ``F`` at ``w``."""
        return self.evaluate(w).gradient

    def gap(self, w: Any) -> float:
        """Exact Frank-Wolfe gap at ``w``: for convex losses, ``F(w) - F*`` is at most this."""
        return self.evaluate(w).gap

    def gap_for(self, gradient: np.ndarray, w: np.ndarray) -> float:
        """Return ``max_s <gradient, w - s>`` for a gradient, or an estimate of it, that is at hand."""
        with np.errstate(over="ignore", invalid="ignore"):  # a gradient may have overflowed: that shows in the result
            return float(gradient @ w + self._constraint.support(-gradient))

    def head(self, rows: int) -> "Problem":
        """Return the problem of the first few rows, stored as all are: what new code is tried on."""
        part = copy(self)
        part._X, part._zero_value = self._X[:rows], None
        part._samples = self._samples.head(rows)
        return part

    def default_start(self) -> np.ndarray:
        """Where a run starts when it is not told: zero if that is feasible, else a vertex."""
        zero = np.zeros(self.d)
        return zero if self._constraint.contains(zero) else vertex_of(self._constraint, zero)

    def diameters(self) -> Diameters:
        """Diameters of the set as the data sees it: ``D_p = max ||X (u - v)||_p`` for p = 1, 2, inf."""
        return diameters(self)

    def kappa(self) -> float:
        """Return ``D_1 / D_inf``, between 1 and n: how evenly the samples share what a step changes.

        The convergence rate of stochastic Frank-Wolfe is O(kappa / t).
        """
        found = self.diameters()
        return found.one / found.inf if found.inf > 0.0 else 1.0
