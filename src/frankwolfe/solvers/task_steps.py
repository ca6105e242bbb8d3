"""Steps whose gradient is computed by tasks on the shards, where the compiled loop does not have all rows of a step.

They are used on a cluster, and on disk for methods that read all rows in every step. There are two estimates: the exact
gradient (`ExactGradient`), and the paper's table of derivatives (`SharedTable`). Direction and iterate are computed in
this process. Step rules that evaluate the objective along the move also use tasks.

Derivatives stay with the rows. The lineage of a table consists of all batches since it was last exact. A shard that has
lost its part starts from the exact derivatives and repeats these batches, with the same random numbers.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import PerRow, Weights
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import apply, choose, length, max_step
from frankwolfe.losses import has_dual
from frankwolfe.methods.gradient import FAILED, TABLE_CHANGE, Gradient
from frankwolfe.methods.registry import Method
from frankwolfe.methods.steps import line_along
from frankwolfe.objective.point import ShardLine
from frankwolfe.objective.tasks import evaluate_losses, sum_residuals
from frankwolfe.problem import Problem
from frankwolfe.rows import Samples, as_rows
from frankwolfe.shards.local import DataBlock, Kept, Local
from frankwolfe.solvers.exact_passes import ExactPasses

MOST_PASSES = 16
"""Number of passes after which a pass makes the table exact. It bounds the cost of computing a lost part again."""


@kernel
def choose_move(direction, constraint, gradient, iterate):
    """Return the move that a direction chooses."""
    return choose(direction, constraint, gradient, iterate)


@kernel
def measure_move(step, move, samples, gradient, iterate, t):
    """Return the length of a step by a rule that reads no rows."""
    return length(step, move, samples, gradient, iterate, t)


@kernel
def fill_direction(move, identity, iterate, w, d):
    """Fill in the iterate and the direction of a move: with the rows of the identity, predictions are entries."""
    line_along(move, identity, iterate, w, d, 0.0)


@kernel
def apply_move(move, iterate, gamma):
    """Move the iterate, at most as far as the set allows."""
    apply(move, iterate, min(gamma, max_step(move)))


class TaskSteps:
    """Base class: make steps whose gradient and line search are computed by tasks. To `StepPlan` it is the sampler.

    Attributes
    ----------
    alpha : array, Kept or None
        Derivatives or table, if known.
    ahead : int
        Number of following steps whose batches a step reads.
    is_long : bool
        Whether the lineage of the table is so long that a pass should make it exact.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    batch_size : int
        Number of rows that a step reads.
    searches : bool
        Whether the step rule evaluates the objective along the move.
    """

    alpha: PerRow
    ahead = 0
    is_long = False

    def __init__(self, problem: Problem, batch_size: int, searches: bool):
        self.problem, self.batch_size, self._searches = problem, batch_size, searches
        d, outputs = problem.d, problem.outputs
        # A rule that reads no rows needs samples for their loss only. With the identity as rows, predictions are the
        # entries of the weights, which yields the direction of a move.
        matrix = sparse.eye_array(d, format="csr") if searches else sparse.csr_array((1, d))
        self._samples = Samples(as_rows(matrix, outputs), np.zeros(1), np.zeros(1), problem.loss)

    def update(self, w: np.ndarray, gradient: Gradient) -> int:
        """Compute the gradient estimate ``r`` at the iterate. Return the number of rows read."""
        raise NotImplementedError

    def predictions(self, w: np.ndarray) -> Any:
        """Return the predictions at the iterate."""
        return self.problem.objective.predict(w)

    def mean_residual(self) -> tuple[float, float]:
        """Return the mean residual of the rows of recent batches, and its standard error; NaN without a table."""
        return np.nan, np.nan

    def sizes(self, steps: np.ndarray) -> np.ndarray:
        """Return the number of rows that the steps with these numbers read."""
        return np.full(len(steps), self.batch_size)

    def state(self) -> dict[str, Any]:
        """Return the state from which `restore` continues."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""

    def step(self, direction: Any, rule: Any, gradient: Gradient, iterate: Any, t: int) -> int | None:
        """Make step ``t`` and return the rows read. If a number is not finite, return None and leave the iterate."""
        if direction.gradient_point(iterate, t) is not iterate:
            raise ValueError("this direction wants the gradient elsewhere than at the iterate: keep all rows in memory")
        rows = self.update(iterate.dense(), gradient)
        if not np.isfinite(gradient.r).all():
            return None
        gradient.tracker.rebuild(gradient.r)
        move = choose_move(direction, self.problem.constraint, gradient, iterate)
        if gradient.counters[FAILED] != 0.0:
            return None
        if self._searches:
            gamma = self._search(rule, move, gradient, iterate, t)
        else:
            gamma = measure_move(rule, move, self._samples, gradient, iterate, t)
        if not np.isfinite(gamma):
            return None
        apply_move(move, iterate, gamma)
        return rows

    def _search(self, rule: Any, move: Any, gradient: Gradient, iterate: Any, t: int) -> float:
        """Return the step size of a rule that evaluates the objective along the move."""
        problem, objective = self.problem, self.problem.objective
        w, d = np.empty(problem.shape), np.empty(problem.shape)
        fill_direction(move, self._samples, iterate, w, d)
        shift = problem.samples.loss.shift if problem.intercept else None
        z = self.predictions(iterate.dense())
        line = ShardLine(objective, z, objective.predict(d.ravel()), shift, objective.linear(d.ravel()))
        return float(rule.search(line, -float(gradient.dense() @ d.ravel()), max_step(move), t))


# --- a table of derivatives, refreshed by batches ---------------------------------------------------------------------


class Batch(NamedTuple):
    """A batch of a step: the iterate at which derivatives are computed, and the rows that each shard draws.

    Attributes
    ----------
    w : array, or tuple of arrays
        The iterate: all entries, or the indices and values of the non-zero ones.
    shift : array or None
        The intercept.
    rows : dict
        Number of rows to draw, by the number of the shard.
    seed : int
        Seed of the step.
    """

    w: Weights
    shift: np.ndarray | None
    rows: dict[int, int]
    seed: int

    @classmethod
    def at(cls, w: np.ndarray, shift: np.ndarray | None, rows: dict[int, int], seed: int) -> "Batch":
        """Return a batch at the iterate ``w``, in as few entries as possible."""
        support = np.flatnonzero(w)
        return cls((support, w[support]) if 2 * len(support) < len(w) else w, shift, rows, seed)

    @property
    def entries(self) -> int:
        """Number of entries that are stored of the iterate."""
        return len(self.w[0]) if isinstance(self.w, tuple) else len(self.w)

    def weights(self, size: int) -> np.ndarray:
        """Return the iterate."""
        if not isinstance(self.w, tuple):
            return self.w
        found = np.zeros(size)
        found[self.w[0]] = self.w[1]
        return found


class Change(NamedTuple):
    """The changes by a batch on a shard.

    Attributes
    ----------
    places, values : array
        Indices and values of the change of ``r = X' alpha``.
    size : float
        Sum of the absolute changes of the table.
    residuals : float
        Sum of the residuals of the batch's rows before the change.
    """

    places: np.ndarray
    values: np.ndarray
    size: float
    residuals: float


def refresh(local: Local, table: np.ndarray, batch: Batch) -> tuple[np.ndarray, list[Change]]:
    """Return a new table with the derivatives of a batch at its iterate, and the changes."""
    alpha, w = table.reshape(local.samples.shape).copy(), batch.weights(local.size)
    shift = 0.0 if batch.shift is None else batch.shift if alpha.ndim > 1 else batch.shift[0]
    chosen = np.random.default_rng([batch.seed, local.number]).permutation(len(alpha))[: batch.rows[local.number]]
    chosen.sort()

    def renew(block: DataBlock) -> tuple:
        part, (rows, targets, weights, _) = block
        here = chosen[np.searchsorted(chosen, part.start) : np.searchsorted(chosen, part.stop)]
        if not len(here):
            return np.zeros(local.size), 0.0, 0.0
        drawn, among = here - part.start, rows.some_rows(here - part.start)
        z, fresh, before = among.dot_all(w) + shift, np.empty((len(here), *alpha.shape[1:])), alpha[here]
        given = targets[drawn], weights[drawn], local.losses, z
        evaluate_losses(*given, np.empty(len(here)), fresh)
        wrong = float(sum_residuals(*given, before)) if has_dual(local.samples.loss) else np.nan
        alpha[here] = fresh
        change = fresh - before
        return np.asarray(among.add_all(change, local.size), np.float64), float(np.abs(change).sum()), wrong

    total, size, residuals = local.each(renew)
    places = np.flatnonzero(total)
    return alpha, [Change(places, total[places], size, residuals)]


def replay(local: Local, table: np.ndarray, batches: tuple[Batch, ...]) -> np.ndarray:
    """Return a table after some batches."""
    for batch in batches:
        table, _ = refresh(local, table, batch)
    return table


def numbered_rows(local: Local) -> tuple:
    """Return a list with one pair: the shard's number, and its number of rows."""
    return ([(local.number, len(local.samples.weights))],)


class SharedTable(TaskSteps):
    """The paper's table of derivatives, distributed over the shards. Each shard refreshes its part of a batch.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    batch_size : int
        Rows of a batch.
    searches : bool
        Whether the step rule evaluates the objective along the move.
    generator : Generator
        Random generator of the batches.
    alpha : array, optional
        The table of a run that is continued; zeros by default.
    """

    def __init__(
        self,
        problem: Problem,
        batch_size: int,
        searches: bool,
        generator: np.random.Generator,
        alpha: np.ndarray | None = None,
    ):
        super().__init__(problem, batch_size, searches)
        self.generator = generator
        self._rows = dict(problem.objective.shards.run(numbered_rows)[0])
        # residuals of the batches of the last quarter of a pass
        self._residuals: deque[float] = deque(maxlen=max(4, problem.n // (4 * batch_size)))
        self.renew(problem.objective.zeros() if alpha is None else alpha)

    def renew(self, alpha: PerRow) -> None:
        """Replace the table by exact derivatives of all samples, and clear the lineage."""
        self.alpha = self._exact = alpha
        self._batches: tuple[Batch, ...] = ()
        self._entries = 0
        self._residuals.clear()

    @property
    def is_long(self) -> bool:  # type: ignore[override]
        """Whether the lineage is so long that a pass should make the table exact."""
        # the second condition bounds the memory of a lineage
        return len(self._batches) * self.batch_size >= MOST_PASSES * self.problem.n or self._entries > 2**24

    def update(self, w: np.ndarray, gradient: Gradient) -> int:
        """Refresh a batch at the iterate and update ``r``. Return the number of rows read."""
        rng, loss = self.generator, self.problem.samples.loss
        share = rng.multivariate_hypergeometric([*self._rows.values()], self.batch_size, method="marginals")
        rows, seed = dict(zip(self._rows, share.tolist(), strict=True)), int(rng.integers(2**62))
        batch = Batch.at(w, loss.shift.copy() if self.problem.intercept else None, rows, seed)
        if isinstance(self.alpha, Kept):
            self._batches, self._entries = (*self._batches, batch), self._entries + batch.entries
        lineage, run = (replay, self._exact, self._batches), self.problem.objective.shards.run
        self.alpha, changes = run(refresh, self.alpha, batch, keep=1, lineage=lineage)
        for places, values, size, _ in changes:
            gradient.r[places] += values
            gradient.counters[TABLE_CHANGE] += size
        self._residuals.append(sum(change.residuals for change in changes) * self.problem.n / self.batch_size)
        return self.batch_size

    def mean_residual(self) -> tuple[float, float]:
        """Return the mean residual of the rows of recent batches, and its standard error."""
        if len(self._residuals) < 2:
            return np.nan, np.nan
        return float(np.mean(self._residuals)), float(np.std(self._residuals, ddof=1) / len(self._residuals) ** 0.5)

    def state(self) -> dict[str, Any]:
        """Return the recent residuals, if the table is in this process: one on a cluster is made exact instead."""
        return {} if isinstance(self.alpha, Kept) else {"residuals": np.array(self._residuals)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        if not isinstance(self.alpha, Kept):
            self.renew(state["estimate.alpha"].copy())
            self._residuals.extend(state["residuals"])


# --- the exact gradient -----------------------------------------------------------------------------------------------


class ExactGradient(TaskSteps):
    """The exact gradient. The pass that certifies an iterate also serves the next step.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    searches : bool
        Whether the step rule evaluates the objective along the move.
    passes : ExactPasses
        Makes the passes. Each finds the optimal intercept, if there is one.
    """

    def __init__(self, problem: Problem, searches: bool, passes: ExactPasses):
        super().__init__(problem, problem.n, searches)
        self.passes = passes

    @property
    def alpha(self) -> Any:
        """The derivatives at the iterate, if they are known."""
        found = self.passes.certificate()
        return None if found is None else found.alpha

    def update(self, w: np.ndarray, gradient: Gradient) -> int:
        """Compute the gradient at the iterate. Return the number of rows read."""
        gradient.r[:] = self.passes.exact(w).gradient.ravel()
        return self.problem.n

    def predictions(self, w: np.ndarray) -> Any:
        """Return the predictions at the iterate, which the pass has computed."""
        return self.passes.predictions(w)


def steps_by_tasks(problem: Problem, method: Method) -> bool:
    """Return whether steps use tasks: no group of rows in memory has all rows that a step reads."""
    groups = problem.objective.shards.groups
    return groups == 0 or (groups > 1 and method.reads_all_rows)
