"""`Problem`: data, loss and constraint set, with the exact objective, gradient and gap."""

from collections.abc import Sequence
from copy import copy
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.arrays import as_vector
from frankwolfe.arguments.names import as_flag, teaching
from frankwolfe.arguments.types import ConstraintSet, Loss, RowNumbers, TableLike, TargetValues, Weights
from frankwolfe.linalg.singular import rank_of
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.losses import as_loss
from frankwolfe.losses.base import many
from frankwolfe.losses.kinked import SmoothedLoss
from frankwolfe.losses.log_link import BoundedLoss
from frankwolfe.objective.intercept import EPSILON, InterceptSearch
from frankwolfe.objective.objective import Objective
from frankwolfe.objective.offset import OffsetLoss, ShiftedLoss, shifted, tilted, without_offset
from frankwolfe.objective.point import Guess, Point
from frankwolfe.problem.linear_bounds import LinearBounds, as_side
from frankwolfe.problem.requirements import SIDE, Facts, refuse
from frankwolfe.sets.atoms import Iterate
from frankwolfe.sets.barriers import Barrier
from frankwolfe.sets.base import a_set, for_shape, prediction_ends, vertex_of
from frankwolfe.shards.local import Kept, Threads
from frankwolfe.shards.sources import DataSource, memory_samples, source_of
from frankwolfe.theory import diameters

ROUNDING = 1e-13
"""Part of ``<gradient, w>`` by which a gap may be negative and still count as zero."""


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
        measure of how far ``w`` is from stationary. Infinite if there is an intercept and the slope in it is not zero
        to rounding: nothing is proven then.
    alpha : array of shape (n,), or (n, outputs)
        One weighted derivative a sample: the gradient is ``X' alpha``.
    intercept : float, or array of shape (outputs,)
        The best one, where the problem has one; else zero.
    rounding : float
        What rounding may have done to the gap, about.
    """

    value: float
    gradient: np.ndarray
    gap: float
    alpha: np.ndarray
    intercept: Any = 0.0
    rounding: float = 0.0


class Problem:
    """Minimise ``F(w) = sum_i p_i f(x_i' w, y_i)`` over a constraint set, with weights ``p_i`` (1/n by default).

    Parameters
    ----------
    X : array, sparse matrix, data frame, RowStore or dask collection of shape (n, d)
        float64 and float32 are used as they are (C order; CSR); everything else is converted. A store (`open_rows`) may
        be larger than memory; targets and weights are taken from it where none are given. The chunks of a dask array or
        data frame are loaded by the workers of the cluster and stay there (docs/cluster.md). Rows can be in a place of
        your own, too (docs/extending.md).
    y : array of shape (n,), or (n, outputs)
        TargetValues: labels -1 and +1, class numbers, real numbers or rows of them, as the loss needs.
    loss : str or loss
        A name such as ``"logistic"`` or an instance such as ``fw.Huber(0.5)``.
    constraint : set
        For instance ``fw.L1Ball(10.0)``.
    sample_weight : array of shape (n,), optional
        Non-negative weights; only their proportions matter.
    intercept : bool
        Whether a number (for several outputs, one each) is added to all predictions. It is not in the set, and always
        the best one for the weights: the objective is ``min over b of F(w, b)``.
    linear : array of shape (d,), or (d, outputs), optional
        Coefficients ``c`` of a linear term ``<c, w>`` that is added to the objective. The objective at zero weights, to
        which tolerances are relative, stays as it is, and the optimum may be negative.
    offset : array of shape (n,), optional
        Known parts of the predictions, which are ``x_i' w + offset_i``, for losses of one output: for instance the
        logarithm of the exposure of counts. `zero_value` is then the objective of the offsets alone. A store takes an
        array, too, and a dask collection one with its chunks.
    side : LinearBounds, optional
        Linear constraints beside those of the set, for convex losses and the methods ``"auto"``, ``"corrective"`` and
        ``"shcgm"``. They are not part of the objective, its gradient or its gap: see docs/side-constraints.md.

    Attributes
    ----------
    source : DataSource
        Where the rows are.
    loss, constraint : loss, set
        Fitted to the data.
    samples : Samples or RemoteSamples
        Rows, targets, weights and loss, as kernels take them.
    side : LinearBounds or None
        Side constraints.
    linear : array or None
        Coefficients of the linear term, flat.
    feature_names : list of str or None
        Names of the columns, if the data was a frame that has them.
    factored : bool
        Whether weights are stored as factors of a matrix.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.L1Ball(10.0))
    >>> problem.value([1.0, 2.0]), problem.gap([1.0, 2.0])
    (0.0, 0.0)
    """

    _side: LinearBounds | None = None
    _linear: np.ndarray | None = None
    _feature_names: list[str] | None = None
    _objective: Objective | None = None
    _zero_model: Point | None = None
    _guess: Guess | None = None
    _smoothness: float | None = None
    _side_reach: float | None = None
    factored: bool = False

    source, constraint, samples, side, feature_names, linear = (
        property(attrgetter(name))
        for name in ("_source", "_constraint", "_samples", "_side", "_feature_names", "_linear")
    )

    @teaching
    @single_threaded
    def __init__(
        self,
        X: TableLike,
        y: TargetValues = None,
        loss: Loss = "logistic",
        constraint: ConstraintSet = None,
        sample_weight: RowNumbers = None,
        intercept: bool = False,
        side: LinearBounds | None = None,
        offset: RowNumbers = None,
        linear: Any = None,
    ):
        if constraint is None:
            raise TypeError("constraint is missing: pass a set, e.g. constraint=fw.L1Ball(10.0)")
        if isinstance(constraint, str):
            raise TypeError(f"constraint must be a set, e.g. fw.L1Ball(10.0), not the string {constraint!r}")
        loss = as_loss(loss)
        a_set("constraint", constraint)
        intercept, source = as_flag("intercept", intercept), source_of(X)
        refuse(source.name, source.needs, Facts(loss, source=source))
        if offset is not None:
            if loss.is_vector:
                kind = type(loss).__name__
                raise ValueError(
                    f"offset goes with losses of one output, not with {kind}: subtract it from y if it can"
                )
            y, loss = source.with_offset(y, offset, loss), OffsetLoss(loss)
        self._source, samples, self._feature_names = source.load(y, sample_weight, loss, centre=intercept)
        self._loss = samples.loss
        self._samples = self._samples_with(samples, intercept)
        self._constraint = for_shape(constraint, self.d, self.outputs)
        self._side = None if side is None else as_side(side, self.size)
        self._linear = None if linear is None else self.flat("linear", linear)
        if side is not None:
            refuse("side", SIDE, Facts(self._loss))

    def _samples_with(self, samples: Any, intercept: bool) -> Any:
        """Return samples with the loss of this problem, shifted if there is an intercept."""
        return samples._replace(loss=shifted(self._loss) if intercept else self._loss)

    def _changed(self, **changes: Any) -> "Problem":
        """Return a copy of the problem with other private attributes, named without the underscore."""
        other = copy(self)
        other.__dict__ |= {f"_{name}": value for name, value in changes.items()}
        return other

    @property
    def loss(self) -> Any:
        """The loss, fitted to the data."""
        return without_offset(self._loss)

    @property
    def X(self) -> Any:
        """The data: an array or a CSR array; a `RowStore` that does not fit into memory, or `RemoteData`."""
        return self._source.X

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    @property
    def outputs(self) -> int:
        """Number of columns of the weight matrix, for losses of several outputs; 0 where weights are a vector."""
        return self._loss.outputs

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weights: ``(d,)``, or ``(d, outputs)``."""
        return (self.d, self.outputs) if self.outputs else (self.d,)

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.d * max(1, self.outputs)

    @property
    def design(self) -> Any:
        """The matrix that maps flat weights to flat predictions: ``X`` itself, or with several outputs a larger one."""
        X = self._source.matrix()
        return sparse.kron(X, sparse.eye_array(self.outputs), format="csr") if self.outputs else X

    @property
    def y(self) -> np.ndarray:
        """The targets; those on a cluster stay there."""
        targets = self._samples.targets
        return targets.real if self._loss.with_offset else targets

    @property
    def offset(self) -> np.ndarray | None:
        """The offsets; None if there are none. Those on a cluster stay there."""
        return self._samples.targets.imag if self._loss.with_offset else None

    @property
    def intercept(self) -> bool:
        """Whether there is a free intercept."""
        return isinstance(self._samples.loss, ShiftedLoss)

    @property
    def needs_smoothing(self) -> bool:
        """Whether the derivatives at a point alone prove little: the loss has a kink, or there are side constraints."""
        return self._side is not None or not self._loss.smooth

    def violation(self, w: Weights) -> float:
        """Return the largest relative violation of a side constraint (`LinearBounds.violation`); zero without any."""
        return 0.0 if self._side is None else self._side.violation(self.flat("w", w))

    # --- the objective --------------------------------------------------------------------------------------------

    @property
    def objective(self) -> Objective:
        """The objective as a function of weights or predictions, wherever the rows are."""
        if self._objective is None:
            self._objective = self._objective_on(self._samples)
        return self._objective

    def _objective_on(self, samples: Any, executor: Threads | None = None) -> Objective:
        """Return the objective for samples of the source of this problem."""
        shards = self._source.shards(samples._replace(loss=self._loss), self.size, executor)
        at_zero = shards.calls_are_costly and bool(self._constraint.contains(self.zero()))
        return Objective(samples, self.size, shards, at_zero, self._linear)

    @property
    def zero_value(self) -> float:
        """Objective of the zero model, ``F(0)``: the scale that tolerances are relative to."""
        return self.zero_model.value

    @property
    @single_threaded
    def zero_model(self) -> Point:
        """The zero model, computed when it is first needed."""
        if self._zero_model is None:
            self._zero_model = self.objective.zero_model()
        return self._zero_model

    @property
    def guess(self) -> Guess | Point:
        """Where searches for an intercept start: at the zero model's, or at that of the model a run starts from."""
        return self._guess or self.zero_model

    @single_threaded
    def value_of_predictions(self, z: np.ndarray, linear: float = 0.0) -> float:
        """Objective where the predictions without an intercept are ``z``; with the best intercept, if there is one.

        ``linear`` is the linear term there.
        """
        return self.objective.point(z, self.zero_model if self.intercept else None, linear=linear).value

    @single_threaded
    def tolerance(self, tol: float) -> float:
        """Return the gap that a relative tolerance requires: ``tol * F(0)``, but with an intercept not below rounding.

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
        stored = f"{self.X.nnz} stored values" if self._samples.rows.is_sparse else "dense"
        kind = type(self.constraint).__name__
        size = f"{self.n} x {self.d}" + (f" -> {self.outputs}" if self.outputs else "")
        side = "" if self._side is None else f", {self._side}"
        side += "" if self._linear is None else ", with a linear term"
        return f"Problem({size}, {stored}, {self.X.dtype}, {type(self.loss).__name__}, {kind}{side})"

    @single_threaded
    def evaluate(self, w: Weights) -> Evaluation:
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
        """Return the evaluation of flat weights, given their point and the gradient there."""
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

    def shift_of(self, at: Point, w: Weights) -> Any:
        """Return the intercept of a point with weights ``w``: a number, or an array for several outputs."""
        if at.shift is None:
            return 0.0
        shift = at.shift - self._samples.rows.mean_prediction(w)
        return shift if self.outputs else float(shift[0])

    def own(self, executor: Threads | None = None) -> "Problem":
        """Return the same problem with all that a run may change its own: the intercept, and what the set remembers.

        ``executor`` works on all rows instead of the one that the problem has.
        """
        self.zero_model  # noqa: B018 - computed once for all runs
        samples = self._samples_with(self._source.samples_for_run(self._samples), self.intercept)
        objective = self.objective.hand_over(self._objective_on(samples, executor or self.objective.executor))
        return self._changed(constraint=self._constraint.for_run(), samples=samples, objective=objective)

    def expect(self, w: Weights, intercept: Any) -> None:
        """Start searches for an intercept from that of a model.

        It matters where the loss is not convex: of several stationary intercepts another might be found, and what is
        known of the model would not hold there.
        """
        if self.intercept and not self._loss.convex:
            mean = InterceptSearch(self.objective, self.objective.predict(w)).mean
            self._guess = Guess(np.atleast_1d(intercept + self._samples.rows.mean_prediction(w)), mean)

    def value(self, w: Weights) -> float:
        """Objective ``F(w)``."""
        return self.evaluate(w).value

    def gradient(self, w: Weights) -> np.ndarray:
        """Gradient of ``F`` at ``w``."""
        return self.evaluate(w).gradient

    def gap(self, w: Weights) -> float:
        """Exact Frank-Wolfe gap at ``w``: for convex losses, ``F(w) - F*`` is at most this."""
        return self.evaluate(w).gap

    def gap_for(self, gradient: np.ndarray, w: Weights, proof: bool = False) -> float:
        """Return ``max_s <gradient, w - s>`` for a gradient, or an estimate of it.

        With ``proof``, a set that has a slower but safer bound on ``<-gradient, s>`` uses it.
        """
        support = self._constraint.proven_support if proof else self._constraint.support
        with np.errstate(over="ignore", invalid="ignore"):  # a gradient may have overflowed: that shows in the result
            return self.inner(gradient, w) + float(support(-gradient))

    @single_threaded
    def dual_value(self, alpha: Any, multipliers: Any = None) -> float:
        """Lower bound on the optimum that any slopes prove: ``-sum_i p_i f_i*(alpha_i / p_i) - max_s <-X' alpha, s>``.

        With side constraints and multipliers ``lambda`` for them it bounds the optimum under these constraints,

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
        alpha = alpha if isinstance(alpha, Kept) else np.ascontiguousarray(alpha, dtype=np.float64)
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

    @property
    def linear_reach(self) -> float:
        """Largest size of the linear term over the set; zero without one."""
        if self._linear is None:
            return 0.0
        return max(float(self._constraint.support(self._linear)), float(self._constraint.support(-self._linear)), 0.0)

    def head(self, rows: int) -> "Problem":
        """Return the problem of the first few rows, in the same layout: compiled code is tried on it."""
        source = DataSource(self._source.head(rows))
        # with an intercept of its own, so that the one of this problem does not change
        samples = self.own().samples.block(slice(0, source.X.shape[0]))
        return self._changed(
            source=source, samples=samples, zero_model=None, guess=None, objective=None, smoothness=None
        )

    def with_columns(
        self,
        X: TableLike,
        constraint: ConstraintSet,
        side: LinearBounds | None = None,
        columns: np.ndarray | None = None,
    ) -> "Problem":
        """Return the problem of the same rows with a copy of some columns only, which is not checked, over a set.

        ``side`` holds the side constraints on the weights of those ``columns``.
        """
        samples = memory_samples(X, self._samples.targets, self._samples.weights, self._loss, self.intercept)
        part = self._changed(
            source=DataSource(X),
            feature_names=None,
            guess=None,
            zero_model=self.zero_model,
            samples=self._samples_with(samples, self.intercept),
            constraint=for_shape(constraint, X.shape[1], self.outputs),
            side=side,
            side_reach=None,
            smoothness=None,
        )
        if self._linear is not None and columns is not None:
            part._linear = self._linear.reshape(self.shape)[columns].ravel()
        part._objective = part._objective_on(part._samples, self.objective.executor)
        return part

    def over(self, constraint: ConstraintSet) -> "Problem":
        """Return the problem of the same data and loss over another set; the data is shared, and not checked again.

        Parameters
        ----------
        constraint : set
            For instance ``fw.L1Ball(10.0)``.

        Returns
        -------
        Problem
        """
        constraint = for_shape(a_set("constraint", constraint), self.d, self.outputs)
        return self._changed(zero_model=self.zero_model, constraint=constraint, side_reach=None, smoothness=None)

    def with_names(self, names: Sequence[str]) -> "Problem":
        """Return the problem with names for its columns; the data is shared."""
        return self._changed(feature_names=list(names))

    def plus_linear(self, linear: Any, tilt: float = 0.0) -> "Problem":
        """Return the problem with another linear term added to the objective; the data is shared.

        Parameters
        ----------
        linear : array of shape (d,), or (d, outputs)
            The coefficients.
        tilt : float
            For losses of one output: the coefficient of the weighted mean of all predictions with their intercept,
            which is added too. An intercept alone has it where ``linear`` takes the rest of that mean away again.

        Returns
        -------
        Problem
        """
        added = self.flat("linear", linear)
        total, loss = added if self._linear is None else self._linear + added, self._loss
        other = self._changed(zero_model=self.zero_model, linear=total, loss=tilted(loss, tilt) if tilt else loss)
        return other._refreshed()

    def smoothed(self, beta: float) -> "Problem":
        """Return the problem with the Moreau envelope of its loss, which has a kink; the data is shared.

        Parameters
        ----------
        beta : float
            The width of the smoothing, see `frankwolfe.losses.kinked.SmoothedLoss`.

        Returns
        -------
        Problem
        """
        return self._with_loss(SmoothedLoss(self.loss, beta))

    def _with_loss(self, loss: Loss) -> "Problem":
        """Return the problem with another loss of the same kind of targets, and the same offsets."""
        loss = OffsetLoss(loss) if self._loss.with_offset else loss
        return self._changed(loss=loss, zero_model=None, guess=None)._refreshed()

    def _refreshed(self) -> "Problem":
        """Return itself, with samples and an objective that have the loss and the linear term of this problem."""
        executor = self.objective.executor
        self._samples = self._samples_with(self._samples, self.intercept)
        self._objective = self._objective_on(self._samples, executor)
        return self

    def smoothness(self) -> float:
        """Return a Lipschitz constant of the losses' derivatives, for all predictions that the set allows.

        That of the loss, if it is finite. The curvature of a loss with a log link is convex in the prediction, so it is
        largest at one end of a row's predictions: these are known over a set, unless an intercept moves them.

        Returns
        -------
        float
            Infinite if no bound is known.

        Examples
        --------
        >>> import numpy as np, frankwolfe as fw
        >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1.0, 4.0], loss="poisson", constraint=fw.L1Ball(1.0))
        >>> bool(np.isclose(problem.smoothness(), np.exp(3.0)))
        True
        """
        known = float(self.loss.smoothness())
        in_memory = isinstance(self.X, np.ndarray) or sparse.issparse(self.X)
        if np.isfinite(known) or not self.loss.log_link or self.intercept or not in_memory:
            return known
        if self._smoothness is None:
            ends = np.array(prediction_ends(self.constraint, self.X))
            with np.errstate(over="ignore", invalid="ignore"):
                ends += 0.0 if self.offset is None else self.offset
                self._smoothness = float(
                    np.max(many(self.loss).curvature(ends, np.broadcast_to(self.y.real, ends.shape)))
                )
        return self._smoothness

    def with_bounded_curvature(self) -> "Problem":
        """Return the problem with a loss whose smoothness is `smoothness`, if that of the loss is infinite."""
        bound = self.smoothness()
        if not np.isfinite(bound) or np.isfinite(self.loss.smoothness()):
            return self
        return self._with_loss(BoundedLoss(self.loss, bound))

    diameters = diameters

    def kappa(self) -> float:
        """Return ``D_1 / D_inf``, between 1 and n: how evenly the samples share what a step changes.

        The convergence rate of stochastic Frank-Wolfe is O(kappa / t).
        """
        found = self.diameters()
        return found.one / found.inf if found.inf > 0.0 else 1.0

    # --- how weights are stored -------------------------------------------------------------------------------------

    def flat(self, name: str, w: Weights) -> Any:
        """Return weights as a checked flat vector; ``name`` is what messages call them."""
        if not self.outputs:
            return as_vector(name, w, self.d, "columns in X")
        if np.ndim(w) == 2 and np.shape(w) != self.shape:
            raise ValueError(f"{name} must have shape {self.shape} (columns in X, outputs), got {np.shape(w)}")
        return as_vector(name, np.ravel(w), self.size, f"weights, {self.d} columns in X times {self.outputs} outputs")

    def inner(self, gradient: np.ndarray, w: Weights) -> float:
        """Inner product of a gradient with flat weights."""
        return float(gradient @ w)

    def zero(self) -> Any:
        """Weights that are all zero, as they are stored."""
        return np.zeros(self.size)

    def shaped(self, w: Weights) -> Any:
        """Return weights as they are stored in the shape that users see."""
        return w.reshape(self.shape)

    def point(self, w: Weights) -> Any:
        """Return ``w`` as kernels take a point."""
        return Iterate.at(w)

    def first_iterate(self, w: Weights) -> tuple[Any, np.ndarray]:
        """Return an iterate at ``w``, and room for a gradient."""
        v, r = self._samples.rows.vectors(self.size)
        v[:] = w
        return Iterate(v, np.ones(1)), r

    def factors(self, w: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Singular value decomposition of the weights, as the matrix that the set takes them for: without zeros."""
        left, sizes, right = np.linalg.svd(self._constraint.structure().trace_norm.matrix(w), full_matrices=False)
        kept = sizes > 1e-14 * max(sizes[0], 1e-300)
        return left[:, kept], sizes[kept], right.T[:, kept]

    def complexity(self, w: Weights) -> int:
        """Rank of the weights where the set is known by it (a trace-norm ball), else their number of non-zeros."""
        if self._constraint.structure().trace_norm is not None:
            return rank_of(self.factors(w)[1])
        return int(np.count_nonzero(w))

    def assemble(self, left: np.ndarray, right: np.ndarray) -> Any:
        """Weights that are the matrix ``left right'``."""
        return (left @ right.T).ravel()

    def barrier(self) -> Barrier | None:
        """Barrier of the set, for weights as they are stored here; None if it has none."""
        return self._constraint.barrier(self.size)

    def default_start(self) -> Any:
        """Return where a run starts by default: zero if that is feasible, else a vertex."""
        zero = self.zero()
        return zero if self._constraint.contains(zero) else vertex_of(self._constraint, zero)
