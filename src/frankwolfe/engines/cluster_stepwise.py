"""Frank-Wolfe and stochastic Frank-Wolfe on a cluster: workers compute the gradient, the client makes the step.

A table is the one thing that parts keep which does not follow from a point: it remembers the steps before. So it has a
version, the number of the last step that changed it. A part that was lost, or that a step was done twice on, has
another version than the client expects, and says so. The client then makes the table exact at the iterate, by a pass.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from frankwolfe.engines.dual_bound import sum_rounding
from frankwolfe.engines.loop import advance, saved_generator
from frankwolfe.engines.sampled_gap import SampledGap
from frankwolfe.engines.state import arrays, built, flat, restored
from frankwolfe.losses import has_dual
from frankwolfe.methods.base import Setting, others_for_run
from frankwolfe.methods.gradient import ALL_ROWS, COUNTERS, FAILED, TABLE_CHANGE, Gradient
from frankwolfe.methods.table import Method
from frankwolfe.objective.sums import evaluate_losses, sum_residuals
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status
from frankwolfe.rows.samples import Samples, as_rows
from frankwolfe.sets.base import tracker_of
from frankwolfe.shards.local import Local


class Table:
    """The derivatives of a part's rows, and the step that changed them last."""

    def __init__(self, alpha: np.ndarray, version: int):
        self.alpha, self.version = alpha, version


def table_at(local: Local, alpha: np.ndarray, version: int) -> Table:
    """Return a table that is exact: the derivatives at a point."""
    return Table(alpha.reshape(local.samples.shape).copy(), version)


def table_slopes(local: Local, table: Table) -> np.ndarray:
    """Return a copy of the slopes in a table: what they are now."""
    return table.alpha.copy()


class Stale(NamedTuple):
    """What a part answers whose table is not the one that was expected."""


class Change(NamedTuple):
    """What a batch changes in ``r``, by its entries; the sizes of the table's changes, and its residuals.

    The residuals are those of the rows as they were in the table, summed up: what the table was wrong by.
    """

    places: np.ndarray
    values: np.ndarray
    size: float
    residuals: float


def refresh(local: Local, table: Table, version: int, w: np.ndarray, rows: dict[int, int], seed: int) -> tuple:
    """Remember the derivatives of some rows, drawn at random, at the iterate.

    Returns a list of one `Change`: what that changes in ``r``; or of `Stale`.

    Parameters
    ----------
    local : Local
        The rows.
    table : Table
        Their derivatives, changed in place.
    version : int
        Of the table, before this step.
    w : array
        The iterate.
    rows : dict
        How many rows each part draws, by its number.
    seed : int
        Of this step.
    """
    if table.version != version:
        return ([Stale()],)
    samples, n = local.samples, len(local.samples.weights)
    chosen = np.sort(np.random.default_rng([seed, local.number]).permutation(n)[: rows[local.number]])
    total, size, residuals = np.zeros(local.size), 0.0, 0.0
    for block in local.blocks:
        here = chosen[np.searchsorted(chosen, block.part.start) : np.searchsorted(chosen, block.part.stop)]
        if len(here):
            rows_here = block.samples.rows.some_rows(here - block.part.start)
            change, wrong = _renewed(samples, rows_here, here, table.alpha, w)
            size, residuals = size + float(np.abs(change).sum()), residuals + wrong
            total += rows_here.add_all(change, local.size)
    table.version = version + 1
    places = np.flatnonzero(total)
    return ([Change(places, total[places], size, residuals)],)


def _renewed(samples: Any, rows: Any, here: np.ndarray, alpha: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Put the derivatives of some rows into the table; return what has changed, and the residuals before."""
    z, targets, weights, loss = rows.dot_all(w), samples.targets[here], samples.weights[here], samples.loss
    fresh, losses = np.empty(z.shape), np.empty(len(z))
    evaluate_losses(targets, weights, loss, z, losses, fresh)
    before = alpha[here]
    residuals = float(sum_residuals(targets, weights, loss, z, before)) if has_dual(loss) else np.nan
    alpha[here] = fresh
    return fresh - before, residuals


class GradientAtHand(NamedTuple):
    """An estimate for the loop that has nothing to learn: the gradient has been put in place before."""

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Do nothing."""

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Do nothing."""


class ClusterStepwise(ABC):
    """One run of a method whose steps need the gradient only, on a cluster.

    Parameters
    ----------
    problem : Problem
        On a cluster, without an intercept.
    method : Method
        The composition.
    batch_size : int
        Rows that a step draws.
    generator : Generator
        Where batches come from.
    w : array
        Feasible start.
    earlier : mapping, optional
        What the result of another run hands over: its number of steps.
    budget : float
        Rows that the run may read.
    """

    slopes = multipliers = None
    table_follows = samples_gap = False

    def __init__(
        self,
        problem: Problem,
        method: Method,
        batch_size: int,
        generator: np.random.Generator,
        w: np.ndarray,
        earlier: Mapping[str, Any] | None = None,
        budget: float = float("inf"),
    ):
        self.problem, self.generator, self.budget = problem, generator, budget
        self.clock = np.array([0 if earlier is None else earlier["steps"], 0])
        self.batch_size, self.rows_a_step = batch_size, method.evaluations(problem.n, batch_size)
        self.failed, self.rows_read, self.lower_bound = False, 0, float("-inf")
        # the loop wants rows: one without entries, which no step reads
        empty = sparse.csr_array((1, problem.d))
        self.samples = Samples(as_rows(empty, problem.outputs), np.zeros(1), np.zeros(1), problem.loss)
        horizon = np.floor(budget / self.rows_a_step) if np.isfinite(budget) else np.inf
        setting = Setting(
            self.samples, batch_size, w, problem.constraint, steps=self.steps, horizon=horizon, size=problem.size
        )
        self.parts = (GradientAtHand(), *others_for_run(method, setting))
        self.iterate, r = problem.first_iterate(w)
        r[:] = 0.0
        counters = np.zeros(COUNTERS)
        counters[ALL_ROWS] = problem.n
        tracker = tracker_of(problem.constraint, problem.size).connected(counters[FAILED : FAILED + 1])
        self.gradient = Gradient(r, np.ones(1), counters, tracker)
        self.gradient.tracker.rebuild(r)
        self._exact: tuple[int, Evaluation] | None = None

    @property
    def steps(self) -> int:
        """Steps made, those of the run that is continued included."""
        return int(self.clock[0])

    def warm_up(self) -> None:
        """Compile the step without making one."""
        self._step(0)

    def begin(self, budget: float, target: float) -> None:
        """Go on within a budget of rows; no step aims at a gap."""
        self.budget = budget

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps; return how many were made."""
        self.failed = False
        for made in range(steps):
            if self.rows_read + self.rows_a_step > self.budget:
                return made
            before = self.steps
            self._learn()
            self._step(1)
            if self.steps == before:
                self.failed = True
                return made
        return steps

    @abstractmethod
    def _learn(self) -> None:
        """Bring ``r`` up to date for the next step, and charge for it."""

    def _step(self, steps: int) -> None:
        """Make a step with the ``r`` at hand."""
        offsets, order = np.zeros(steps + 1, np.int64), np.zeros(0, np.int64)
        state = self.samples, self.problem.constraint, self.parts, self.gradient, self.iterate
        advance(*state, None, None, order, offsets, None, 0, self.clock, steps)

    def _take_over(self, r: np.ndarray) -> None:
        """Make an array the gradient estimate."""
        self.gradient.r[:] = r
        self.gradient.tracker.rebuild(self.gradient.r)
        if not np.isfinite(r).all():
            self.gradient.counters[FAILED] = 1.0  # the loop stops on it

    def _pass(self) -> Evaluation:
        """Evaluate the iterate exactly; remembered until the next step."""
        if self._exact is None or self._exact[0] != self.steps:
            found = self.problem.evaluate(self.point())
            self._exact = self.steps, found
            rounding = found.rounding + sum_rounding(self.problem, found.value)
            self.lower_bound = max(self.lower_bound, found.value - found.gap - rounding)  # every pass proves one
        return self._exact[1]

    def finished(self) -> Status | None:
        """Why no further step can be made, or None."""
        if self.failed:
            return Status.NON_FINITE
        return Status.MAX_PASSES if self.rows_read + self.rows_a_step > self.budget else None

    @property
    def unhindered(self) -> bool:
        """Whether no step has failed."""
        return not self.failed

    def point(self) -> np.ndarray:
        """Return the iterate as a new array."""
        return self.iterate.dense()

    def part_left(self, steps: int) -> float:
        """Return NaN: no line to an earlier iterate is searched on a cluster."""
        return np.nan

    def gap_estimate(self) -> float:
        """Return ``max_s <r, w - s>`` for the current ``r``."""
        return self.problem.gap_for(self.gradient.dense(), self.point())

    def certificate(self) -> Evaluation | None:
        """Return the exact evaluation at the iterate, if there is one."""
        return self._exact[1] if self._exact is not None and self._exact[0] == self.steps else None

    def steps_to_certificate(self) -> float:
        """Return infinity: none is planned."""
        return np.inf

    def table(self) -> Any:
        """Return None: there is no table."""
        return None

    def mean_residual(self) -> tuple[float, float]:
        """Return NaN: the workers are not asked for it."""
        return np.nan, np.nan

    def sampled_gap(self, draws: int) -> SampledGap:
        """Raise ValueError: no sample of rows is looked at on a cluster."""
        raise ValueError("the gap is not sampled on a cluster")

    def dual_value(self, above: float) -> float:
        """Return minus infinity: steps prove nothing by themselves."""
        return -np.inf

    def table_change(self) -> float | None:
        """Return the sum of all changes of the table so far."""
        return float(self.gradient.counters[TABLE_CHANGE]) if self.table() is not None else None

    # --- what a later run can go on from ------------------------------------------------------------------------

    def handed_over(self) -> dict[str, Any]:
        """Return what a run of another method, or on other data, can use."""
        return {"steps": self.steps, "rows": self.problem.n, "gradient": self.gradient.dense()}

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the engine's own."""
        found = self.handed_over() | {"rows_read": self.rows_read, "lower_bound": self.lower_bound}
        found |= saved_generator(self.generator)
        found |= arrays("iterate", self.iterate) | arrays("r", self.gradient)
        exact = self.certificate()
        return found if exact is None else found | flat("exact", exact._replace(alpha=None))  # type: ignore[arg-type]

    @classmethod
    def from_state(
        cls,
        problem: Problem,
        state: Mapping[str, Any],
        method: Method,
        batch_size: int,
        generator: np.random.Generator,
    ) -> Self:
        """Return an engine that goes on where the one with this state was."""
        engine = cls(problem, method, batch_size, generator, problem.default_start(), {"steps": state["steps"]})
        engine.rows_read, engine.lower_bound = int(state["rows_read"]), float(state["lower_bound"])
        engine.iterate = restored("iterate", engine.iterate, state, problem.n)
        engine.gradient = restored("r", engine.gradient, state, problem.n)
        if "exact.value" in state:
            engine._exact = engine.steps, built(Evaluation, "exact", state)
        engine._resume()
        return engine

    def _resume(self) -> None:  # noqa: B027 - most have nothing to do
        """Make again what no state holds."""


class ClusterFrankWolfe(ClusterStepwise):
    """Frank-Wolfe: the exact pass that ends a step, and certifies it, begins the next."""

    certifies_itself = True

    def _learn(self) -> None:
        self._take_over(self._pass().gradient.ravel())
        self.rows_read += self.problem.n

    def certificate(self) -> Evaluation:
        """Return the exact evaluation at the iterate, which the next step needs anyway."""
        return self._pass()


class ClusterSFW(ClusterStepwise):
    """Stochastic Frank-Wolfe: every part refreshes its share of the batch and sends the change of ``r``."""

    certifies_itself = False
    table_follows = True

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        objective = self.problem.objective
        self._rows = dict(objective.shards.run(numbered_rows)[0])
        self._version = self.steps
        self._table: Any = objective.shards.keep(table_at, objective.zeros(), self._version)
        # of the batches of the last quarter of a pass: what the table was wrong by before they were refreshed
        self._residuals: deque[float] = deque(maxlen=max(4, self.problem.n // (4 * self.batch_size)))

    def _learn(self) -> None:
        objective, rng = self.problem.objective, self.generator
        share = rng.multivariate_hypergeometric([*self._rows.values()], self.batch_size, method="marginals")
        seed = int(rng.integers(2**62))
        self.rows_read += self.batch_size
        rows = dict(zip(self._rows, share.tolist(), strict=True))
        (answers,) = objective.shards.run(refresh, self._table, self._version, self.point(), rows, seed)
        if any(isinstance(answer, Stale) for answer in answers):
            self._make_exact()
            return
        self._version += 1
        r, counters = self.gradient.r, self.gradient.counters
        for places, values, size, _ in answers:
            r[places] += values
            counters[TABLE_CHANGE] += size
        self._residuals.append(sum(answer.residuals for answer in answers) * self.problem.n / self.batch_size)
        self._take_over(r.copy())

    def _make_exact(self) -> None:
        """Replace a table of which a part was lost by the derivatives at the iterate, by a pass."""
        self._version += 1
        objective = self.problem.objective
        at, gradient = objective.at(self.point())
        self.rows_read += self.problem.n
        self._table = objective.shards.keep(table_at, at.alpha, self._version)
        self._residuals.clear()
        self._take_over(gradient)

    def _resume(self) -> None:
        self._make_exact()

    def mean_residual(self) -> tuple[float, float]:
        """Return the mean residual of the rows that batches refreshed of late, and its standard error."""
        if len(self._residuals) < 2:
            return np.nan, np.nan
        return float(np.mean(self._residuals)), float(np.std(self._residuals, ddof=1) / len(self._residuals) ** 0.5)

    def table(self) -> Any:
        """Return the table as it is now, if the loss knows its conjugate."""
        if not has_dual(self.problem.loss):
            return None
        return self.problem.objective.shards.keep(table_slopes, self._table)


def numbered_rows(local: Local) -> tuple:
    """Return a list of one pair: which shard it is, and how many rows it has."""
    return ([(local.number, len(local.samples.weights))],)


def cluster_engine(method: Method) -> type[ClusterStepwise]:
    """Return the engine that makes the steps of a method on a cluster."""
    return ClusterFrankWolfe if method.estimate.abilities.reads_all_rows else ClusterSFW
