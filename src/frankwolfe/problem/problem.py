"""`Problem`: data, loss and constraint set, with the exact objective, gradient and gap."""

from copy import copy
from typing import Any

import numpy as np

from frankwolfe.arguments.arrays import as_matrix, as_targets, as_vector, as_weights, column_names
from frankwolfe.arguments.names import teaching
from frankwolfe.arguments.settings import as_flag
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.losses import as_loss
from frankwolfe.objective.intercept import EPSILON, shifted
from frankwolfe.objective.objective import Objective
from frankwolfe.objective.point import Guess, Point, ZeroModel
from frankwolfe.problem.evaluation import Evaluation
from frankwolfe.problem.from_store import stored_targets
from frankwolfe.problem.linear_bounds import LinearBounds, as_side
from frankwolfe.problem.on_cluster import is_on_cluster, remote_data
from frankwolfe.problem.posed import PosedProblem
from frankwolfe.problem.requirements import DASK, SIDE, Facts, refuse
from frankwolfe.rows.centred import centred
from frankwolfe.rows.samples import Samples
from frankwolfe.sets.base import a_set, for_shape
from frankwolfe.shards.disk import StoredRows, rows_of
from frankwolfe.shards.local import Serial, Threads
from frankwolfe.shards.remote_rows import RemoteSamples
from frankwolfe.store.reader import RowStore
from frankwolfe.theory import Diameters, diameters

ROUNDING = 1e-13
"""Part of ``<gradient, w>`` by which a gap may be negative and still count as zero."""


class Problem(PosedProblem):
    """Minimise ``F(w) = sum_i p_i f(x_i' w, y_i)`` over a constraint set, with weights ``p_i`` (1/n by default).

    Parameters
    ----------
    X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
        float64 and float32 are used as they are (C order; CSR); everything else is converted. A store (`open_rows`) may
        be larger than memory; targets and weights are taken from it where none are given. The chunks of a dask array or
        data frame are loaded by the workers of the cluster and stay there (docs/cluster.md).
    y : array of shape (n,), or (n, outputs)
        Targets: labels -1 and +1, class numbers, real numbers or rows of them, as the loss needs.
    loss : str or loss
        A name such as ``"logistic"`` or an instance such as ``fw.Huber(0.5)``.
    constraint : set
        For instance ``fw.L1Ball(10.0)``.
    sample_weight : array of shape (n,), optional
        Non-negative weights; only their proportions matter.
    intercept : bool
        Whether a number (for several outputs, one each) is added to all predictions. It is not in the set, and always
        the best one for the weights at hand: the objective is ``min over b of F(w, b)``.
    side : LinearBounds, optional
        Linear constraints beside those of the set, for convex losses and the method ``"shcgm"``. They are not part of
        the objective, its gradient or its gap: see `violation`, and docs/side-constraints.md.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(10.0))
    >>> problem.value([1.0, 2.0]), problem.gap([1.0, 2.0])
    (0.0, 0.0)
    """

    _guess: Guess | None = None
    _objective: Any = None
    _side_reach: float | None = None

    @teaching
    @single_threaded
    def __init__(
        self,
        X: Any,
        y: Any = None,
        loss: Any = "logistic",
        constraint: Any = None,
        sample_weight: Any = None,
        intercept: bool = False,
        side: LinearBounds | None = None,
    ):
        if constraint is None:
            raise TypeError("constraint is missing: pass a set, e.g. constraint=fw.L1Ball(10.0)")
        if isinstance(constraint, str):
            raise TypeError(f"constraint must be a set, e.g. fw.L1Ball(10.0), not the string {constraint!r}")
        loss = as_loss(loss)
        a_set("constraint", constraint)
        intercept = as_flag("intercept", intercept)
        self._zero_model: ZeroModel | None = None
        if is_on_cluster(X):
            self._pose_on_cluster(X, y, loss, constraint, sample_weight, intercept, side)
            return
        if isinstance(X, RowStore):
            matrix = X.matrix() if X.fits else X
            y = stored_targets(X, loss) if y is None else y
            sample_weight = X.sample_weight if sample_weight is None else sample_weight
        else:
            matrix = as_matrix(X)
        if y is None:
            raise TypeError("y is missing: pass the targets, one for each row of X")
        n, d = matrix.shape
        targets = as_targets(y, n, loss)
        self._loss = loss = loss.for_targets(targets)
        self._X = matrix
        self._feature_names = X.feature_names if isinstance(X, RowStore) else column_names(X)
        self._outputs = loss.outputs
        self._constraint = for_shape(constraint, d, self._outputs)
        self._side = as_side(side, self.size)
        if side is not None:
            refuse("side", SIDE, Facts(loss))
        weights = as_weights(sample_weight, n)
        self._samples = _samples(matrix, targets, weights, loss, self._outputs, intercept)

    def _pose_on_cluster(
        self, X: Any, y: Any, loss: Any, constraint: Any, sample_weight: Any, intercept: bool, side: Any
    ) -> None:
        """Take over a dask collection: its rows are loaded by the workers, and stay there."""
        refuse("a dask collection", DASK, Facts(loss, side=side is not None))
        data = remote_data(X, y, sample_weight, loss)
        self._loss = loss.for_targets(data.witness())
        self._X, self._feature_names = data, column_names(X)
        self._outputs = self._loss.outputs
        self._constraint = for_shape(constraint, data.shape[1], self._outputs)
        zero = np.zeros(self.size)
        rows, shards = data.posed(self._loss, self._outputs, intercept)
        self._samples = RemoteSamples(rows, data.shape[0], shifted(self._loss) if intercept else self._loss)
        at_zero = bool(self._constraint.contains(zero))
        self._objective = Objective(self._samples, self.size, shards=shards, starts_at_zero=at_zero)

    @property
    def objective(self) -> Any:
        """All that reads every row: an `Objective` or, where rows are on a cluster, what stands for it."""
        if self._objective is None:
            self._objective = Objective(self._samples, self.size)
        return self._objective

    @property
    def zero_value(self) -> float:
        """Objective of the zero model, ``F(0)``: the scale that tolerances are relative to."""
        return self.zero_model.value

    @property
    @single_threaded
    def zero_model(self) -> ZeroModel:
        """The zero model, worked out when it is first asked for."""
        if self._zero_model is None:
            self._zero_model = self.objective.zero_model()
        return self._zero_model

    @property
    def guess(self) -> Guess | ZeroModel:
        """Where searches for an intercept start: from the zero model's, or one that a run was told."""
        return self._guess or self.zero_model

    @single_threaded
    def value_of_predictions(self, z: np.ndarray) -> float:
        """Objective where the predictions without an intercept are ``z``; with the best intercept, if there is one."""
        return self.objective.point(z, self.zero_model if self.intercept else None).value

    @single_threaded
    def tolerance(self, tol: float) -> float:
        """Return the gap that a relative tolerance asks for: ``tol * F(0)``, but with an intercept not below rounding.

        Where an intercept alone fits, ``F(0)`` is zero or all rounding, and so is every gap. What a gap is computed
        from has the size of the derivatives of the zero model without an intercept, or of what the intercept's own
        rounding changes derivatives by, each times the largest prediction that its row can have: a few units of
        rounding of that are the least tolerance.
        """
        if not (self.intercept and tol > 0.0):
            return tol * self.zero_value
        shift = self.zero_model.shift
        assert shift is not None  # there is an intercept
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
            columns = self.objective.rounding_columns(shift)
            reach = max(float(self._constraint.support(columns)), float(self._constraint.support(-columns)))
        return max(tol * self.zero_value, 4.0 * EPSILON * reach if np.isfinite(reach) else 0.0)

    def __repr__(self) -> str:
        stored = f"{self._X.nnz} stored values" if self._samples.rows.is_sparse else "dense"
        kind = type(self.constraint).__name__
        size = f"{self.n} x {self.d}" + (f" -> {self.outputs}" if self.outputs else "")
        side = "" if self._side is None else f", {self._side}"
        return f"Problem({size}, {stored}, {self._X.dtype}, {type(self.loss).__name__}, {kind}{side})"

    @single_threaded
    def evaluate(self, w: Any) -> Evaluation:
        """Objective, gradient, exact gap and derivatives at ``w``, in one pass over the data.

        Parameters
        ----------
        w : array of shape (d,)
            With several outputs of shape (d, outputs), or the same laid out flat; the gradient has the shape of ``w``.

        Returns
        -------
        Evaluation
        """
        flat = self.flat("w", w)
        at, gradient = self.objective.at(flat, self.guess if self.intercept else None)
        found = self.evaluation(at, gradient, flat)
        return found._replace(gradient=gradient.reshape(np.shape(w))) if self.outputs else found

    def evaluation(self, at: Point, gradient: np.ndarray, flat: Any) -> Evaluation:
        """Return what is known of flat weights whose predictions have been judged, given the gradient there."""
        gap = self.gap_for(gradient, flat, proof=True)
        if gap < 0.0 and (-gap <= ROUNDING * abs(self.inner(gradient, flat)) or self._constraint.contains(flat)):
            gap = 0.0  # it cannot be negative at a feasible point, but for rounding, which steps add up
        return Evaluation(
            at.value,
            gradient,
            at.proven(gap),
            at.alpha.reshape(self._samples.shape),
            self.shift_of(at, flat),
            self.objective.gap_rounding(at, at.alpha),
        )

    def shift_of(self, at: Point, w: Any) -> Any:
        """Return the intercept of a point with weights ``w``: a number, or an array for several outputs."""
        if at.shift is None:
            return 0.0
        shift = at.shift - self._samples.rows.mean_prediction(w)
        return shift if self.outputs else float(shift[0])

    def own(self, executor: Serial | Threads | None = None) -> "Problem":
        """Return the same problem with all that a run may change its own: the intercept, and what the set remembers.

        ``executor`` works on all rows instead of the one that the problem has.
        """
        self.zero_model  # noqa: B018 - known once for all runs
        part = copy(self)
        part._constraint = self._constraint.for_run()
        if self.intercept:
            part._samples = self._samples._replace(loss=shifted(self._loss))
        if self.on_cluster:
            return part  # what parts keep has names of its own for every run
        if isinstance(self._samples.rows, StoredRows):
            part._samples = part._samples._replace(rows=self._samples.rows.for_run())
        part._objective = Objective(part._samples, self.size, executor or self.objective.executor)
        return part

    def expect(self, w: Any, intercept: Any) -> None:
        """Start searches for an intercept from that of a model.

        It matters where the loss is not convex: of several stationary intercepts another might be found, and what is
        known of the model would not hold there.
        """
        if self.intercept and not self._loss.convex and not self.on_cluster:
            mean = np.atleast_1d(self._samples.weights @ self.objective.predict(w))
            self._guess = Guess(np.atleast_1d(intercept + self._samples.rows.mean_prediction(w)), mean)

    def value(self, w: Any) -> float:
        """Objective ``F(w)``."""
        return self.evaluate(w).value

    def gradient(self, w: Any) -> np.ndarray:
        """Gradient of ``F`` at ``w``."""
        return self.evaluate(w).gradient

    def gap(self, w: Any) -> float:
        """Exact Frank-Wolfe gap at ``w``: for convex losses, ``F(w) - F*`` is at most this."""
        return self.evaluate(w).gap

    def gap_for(self, gradient: np.ndarray, w: Any, proof: bool = False) -> float:
        """Return ``max_s <gradient, w - s>`` for a gradient, or an estimate of it, that is at hand.

        With ``proof``, a set that has a dearer but surer way to bound ``<-gradient, s>`` uses it.
        """
        support = self._constraint.proven_support if proof else self._constraint.support
        with np.errstate(over="ignore", invalid="ignore"):  # a gradient may have overflowed: that shows in the result
            return self.inner(gradient, w) + float(support(-gradient))

    @single_threaded
    def dual_value(self, alpha: Any, multipliers: Any = None) -> float:
        """Lower bound on the optimum that any slopes prove: ``-sum_i p_i f_i*(alpha_i / p_i) - max_s <-X' alpha, s>``.

        With side constraints and multipliers ``lambda`` for them it is one on the optimum of those who keep to them,

            -sum_i p_i f_i*(alpha_i / p_i) - max_s <-X' alpha - A' lambda, s> - max_{lower <= k <= upper} <lambda, k>.

        This is weak duality, for convex losses. Half a pass over the data, for ``X' alpha``. What rounding may have
        added to the sums has been taken off.

        Parameters
        ----------
        alpha : array of shape (n,), or (n, outputs)
            One weighted derivative a sample: those at a point (`Evaluation.alpha`), or any others. Where there is an
            intercept their sum must be zero to rounding, for each output. A slope that the loss cannot have, outside
            of the domain of its conjugate, is first replaced by one nearby that it can have.
        multipliers : array of shape (m,), optional
            Any numbers, one for each side constraint; by default zero. Positive ones belong to upper bounds, negative
            ones to lower bounds.

        Returns
        -------
        float
            Minus infinity where nothing is proven: the loss is not convex or does not know its conjugate, or the
            slopes do not balance.

        Examples
        --------
        >>> import frankwolfe as fw
        >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
        >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(1.0))
        >>> best = fw.minimize(problem, tol=1e-9).fun
        >>> slopes = problem.evaluate([0.0, 0.9]).alpha
        >>> round(best, 6), round(problem.dual_value(slopes), 6), round(problem.dual_value(0.9 * slopes), 6)
        (1.0, 0.996667, 0.9963)
        """
        alpha = alpha if self.on_cluster else np.ascontiguousarray(alpha, dtype=np.float64)
        if alpha.shape != self._samples.shape:
            raise ValueError(f"alpha must have shape {self._samples.shape}, one slope a prediction, got {alpha.shape}")
        if not (self._loss.convex and self._loss.has_conjugate) or not self.balances(alpha):
            return -np.inf
        losses, size = self.objective.conjugates(alpha)
        if not np.isfinite(losses):  # slopes outside of the domain prove nothing, but near ones in it do
            alpha = self.objective.nearest_slopes(alpha)
            losses, size = self.objective.conjugates(alpha)
            if not (np.isfinite(losses) and self.balances(alpha)):
                return -np.inf
        r, bounds = self.objective.gradient(alpha), 0.0
        if multipliers is not None and self._side is not None:
            multipliers = as_vector("multipliers", multipliers, self._side.m, "side constraints")
            r, bounds = r + self._side.combined(multipliers), self._side.support(multipliers)
        support = float(self._constraint.proven_support(-r))
        found = -losses - support - bounds - 4.0 * EPSILON * self.n**0.5 * (size + abs(support) + abs(bounds))
        return found if found == found else -np.inf

    def balances(self, alpha: Any) -> bool:
        """Whether slopes are finite and, where there is an intercept, sum to zero: nothing is proven elsewhere."""
        return self.balance(alpha)[0]

    def balance(self, alpha: Any) -> tuple[bool, np.ndarray]:
        """Return whether slopes prove something, see `balances`, and their sums; NaN where some are not finite."""
        finite, sums, size = self.objective.slope_sums(alpha)
        rounding = (8.0 + len(alpha) ** 0.5) * EPSILON * size
        proves = finite and (not self.intercept or bool(np.abs(sums).max() <= rounding))
        return proves, sums if finite else np.full(len(sums), np.nan)

    @property
    def side_reach(self) -> float:
        """Length of the ranges of ``A w`` over the set: the unit of smoothing. Zero without side constraints."""
        if self._side_reach is None:
            self._side_reach = 0.0 if self._side is None else self._side.reach(self._constraint)
        return self._side_reach

    def head(self, rows: int) -> "Problem":
        """Return the problem of the first few rows, stored as all are: what new code is tried on."""
        part = copy(self)
        part._X = self._X.head(rows) if isinstance(self._X, RowStore) else self._X[:rows]
        part._zero_model = part._guess = None
        part._samples = self.own().samples.block(
            slice(0, part.n)
        )  # with an intercept of its own: nothing is left behind
        part._objective = None
        return part

    def with_columns(self, X: Any, constraint: Any) -> "Problem":
        """Return the problem of the same rows with a copy of some columns only, which is not checked, over a set."""
        part = copy(self)
        part._X, part._feature_names, part._guess, part._zero_model = X, None, None, self.zero_model
        _, targets, weights, _ = self._samples
        part._samples = _samples(X, targets, weights, self._loss, self.outputs, self.intercept)
        part._constraint = for_shape(constraint, X.shape[1], self.outputs)
        part._objective = Objective(part._samples, part.size, self.objective.executor)
        return part

    def over(self, constraint: Any) -> "Problem":
        """Return the problem of the same data and loss over another set; the data is shared, and not checked again.

        Parameters
        ----------
        constraint : set
            For instance ``fw.L1Ball(10.0)``.

        Returns
        -------
        Problem
        """
        other = copy(self)
        other._zero_model = self.zero_model  # the same for every set: worked out once
        other._constraint = for_shape(a_set("constraint", constraint), self.d, self.outputs)
        other._side_reach = None
        return other

    def diameters(self) -> Diameters:
        """Diameters of the set as the data sees it: ``D_p = max ||X (u - v)||_p`` for p = 1, 2, inf."""
        return diameters(self)

    def kappa(self) -> float:
        """Return ``D_1 / D_inf``, between 1 and n: how evenly the samples share what a step changes.

        The convergence rate of stochastic Frank-Wolfe is O(kappa / t).
        """
        found = self.diameters()
        return found.one / found.inf if found.inf > 0.0 else 1.0


def _samples(
    matrix: Any, targets: np.ndarray, weights: np.ndarray, loss: Any, outputs: int, intercept: bool
) -> Samples:
    """Return checked data as kernels take it; with an intercept, columns lose their means and the loss has a shift."""
    rows = rows_of(matrix, outputs)
    if intercept:
        rows = rows.centred(weights) if isinstance(rows, StoredRows) else centred(rows, weights)
        return Samples(rows, targets, weights, shifted(loss))
    return Samples(rows, targets, weights, loss)
