"""A certified optimum in few reads of the data, for rows on disk.

The first read is a pass of stochastic steps. It finds nearly all atoms of the optimum. The second read copies their
columns into memory, and as many other columns as fit, in order of their slopes. The problem restricted to these columns
is solved in memory. The third read computes the exact gradient at its optimum. That certifies the point, or identifies
the columns that were missed, and the second and third read are repeated. The set must be the l1 ball, the simplex or
another set whose vertices have one non-zero entry.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.methods.registry import METHODS
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status
from frankwolfe.sets.base import Hull
from frankwolfe.sets.coordinate import L1Ball, NonNegativeL1Ball, Simplex
from frankwolfe.shards.local import DataBlock
from frankwolfe.solvers.corrective.active_atoms import column_room, features_of
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.rounds import RoundSolver
from frankwolfe.solvers.loop import generator_of
from frankwolfe.solvers.protocol import Evidence
from frankwolfe.solvers.state import ESTIMATE, attributes, below, flat, handed_over, require_entries, under
from frankwolfe.solvers.stepwise import StepwiseSolver


class FewReadsSolver(RoundSolver):
    """One run: a pass of stochastic steps, then rounds that copy columns, solve their problem and certify the solution.

    Parameters
    ----------
    problem : Problem
        Problem whose rows are in a store that does not fit into memory.
    w : array of shape (d,)
        Feasible start.
    earlier : mapping, optional
        State of an earlier run. Its gradient replaces the first pass.
    generator : Generator
        Random generator of the stochastic steps.
    """

    remembered = (*RoundSolver.remembered, "scouting", "columns", "w", "slope", "last_gap")

    def __init__(
        self,
        problem: Problem,
        w: np.ndarray,
        earlier: Mapping[str, Any] | None = None,
        generator: np.random.Generator | None = None,
    ):
        super().__init__(problem, w, earlier)
        hull = problem.constraint.structure().hull
        assert hull is not None
        self.hull: Hull = hull
        # With batches of one row, the last atoms of RCV1 at radius 1000 have four times the rank.
        self.batch, self._outputs = min(10, problem.n), max(1, problem.outputs)
        self.scouting = problem.n // self.batch  # stochastic steps left in the first pass
        self.scout: StepwiseSolver | None = None
        if earlier is not None and earlier["rows"] == problem.n:  # select columns by the known gradient
            self.slope = np.array(earlier["gradient"])
        else:
            rng = np.random.default_rng(0) if generator is None else generator
            self.scout = StepwiseSolver(problem, METHODS["sfw"], self.batch, rng, w, earlier)
            self.slope = np.zeros(problem.size)
        self.inner: CorrectiveSolver | None = None
        self.columns = np.empty(0, np.int64)  # columns of the data that are in memory
        self.last_gap = 0.0  # the exact gap where they were chosen, if not all that were missed fit
        self.w = w

    def warm_up(self) -> None:
        """Compile, or load from the cache, without a step."""
        head = self.problem.head(8).with_columns(self.problem.X.head(8), set_of(self.hull))
        CorrectiveSolver(head, head.default_start()).warm_up()

    def _ready(self) -> None:
        """Pass budget and target to the inner solver."""
        if self.scout is not None:
            self.scout.begin(min(self.budget, self.problem.n), 0.0)  # the prefetch stops at the end of the pass
        if self.inner is not None:
            # Columns outside memory may use the rest of the tolerance. If they do not fit, more rounds follow.
            target = max(0.5 * self.target, 0.03 * self.last_gap)
            self.inner.begin(self.budget - self.rows_read + self.inner.rows_read, target)

    # --- a step ---------------------------------------------------------------------------------------------------

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps: each is a slice of the first pass, or a round on the columns in memory."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # an overflow is detected in the objective
            for made in range(steps):
                if self.finished() is not None:
                    return made
                if self.scout is not None:
                    self._scout(self.scout)
                elif self._found is not None:
                    self._round(self._found)
                elif self.inner is None:
                    self._copy_columns(self.slope)
                else:
                    before = self.inner.rows_read
                    self.inner.advance(1)
                    self.rows_read += self.inner.rows_read - before
                    self._look_inside(self.inner)
                self.steps += 1
        return steps

    def _scout(self, scout: StepwiseSolver) -> None:
        """Make a slice of the first pass. At its end, use the gradient estimate to select columns."""
        # Time limits and interruptions are checked between slices.
        some = min(self.scouting, -(-self.problem.n // self.batch // 16))
        made = scout.advance(max(1, some))
        self.rows_read, self.scouting = scout.rows_read, self.scouting - made
        self.w = scout.point()
        if self.scouting <= 0 or scout.finished() is Status.NON_FINITE:
            self.slope = scout.gradient.dense()
            self.scout = None

    def _round(self, found: Evaluation) -> None:
        """Copy the missed columns. Without any, and once the problem in memory is solved, only rounding is left."""
        level = -float(found.gradient @ self.w) / self.hull.radius
        missed = np.setdiff1d(np.flatnonzero(self._keys(found.gradient) > level), self.columns)
        if len(missed):
            self._copy_columns(found.gradient, missed, found.gap)
        elif self.last_gap > 0.0:  # go on in memory
            self.last_gap, self._found = 0.0, None
            self._ready()
        else:
            self.stuck = True

    def _keys(self, slope: np.ndarray) -> np.ndarray:
        """Return how steep the slopes of each column of the data are."""
        return (np.abs(slope) if self.hull.signed else -slope).reshape(-1, self._outputs).max(axis=1)

    def _copy_columns(self, slope: np.ndarray, missed: np.ndarray | None = None, gap: float = 0.0) -> None:
        """Read columns into memory and start the solver of their problem.

        These are the columns with weight, then those with the steepest slopes, as many as fit. At an optimum over the
        last columns, some columns join even if they do not fit. If some that were ``missed`` are still left out, more
        rounds follow, and this one is solved to a fraction of the exact ``gap``.
        """
        weighted = self.w.reshape(-1, self._outputs).any(axis=1)
        order = np.lexsort((-self._keys(slope), ~weighted))
        fitting = int(np.searchsorted(np.cumsum(self.problem.X.counts[order]), column_room(self.problem), side="right"))
        # If the columns with weight fill the memory, a few more are copied all the same, so that the run goes on.
        least = 1 if self._found is None else np.count_nonzero(weighted) + 4
        self.columns, self.inner, self._found = np.sort(order[: max(fitting, least)]), None, None
        self.last_gap = 0.0 if missed is None or np.isin(missed, self.columns).all() else gap
        columns = read_columns(self.problem, self.columns)  # the old copy has been freed
        small = self.problem.with_columns(columns, set_of(self.hull), columns=self.columns)
        u = self.w.reshape(-1, self._outputs)[self.columns].ravel()
        if not (self.hull.filled or self.hull.signed or np.count_nonzero(u) == np.count_nonzero(self.w)):
            u = small.default_start()  # weight on other columns makes the restriction infeasible, as on the simplex
        self.inner, before = CorrectiveSolver(small, u), self.rows_read
        self._ready()
        self.rows_read = before + self.inner.rows_read
        self._look_inside(self.inner)

    def _look_inside(self, inner: CorrectiveSolver) -> None:
        """Update the iterate from the problem in memory. Once that is solved, compute the exact gradient."""
        w = np.zeros((self.problem.d, self._outputs))
        w[self.columns] = inner.point().reshape(-1, self._outputs)
        self.w = w.ravel()
        if inner.finished() is not None or inner.evidence().gap_estimate <= inner.target:
            self._exact()

    # --- iterate and evidence -------------------------------------------------------------------------------------

    def point(self) -> np.ndarray:
        """Return a copy of the iterate."""
        return self.w.copy()

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Return the gradient and the exact gap at the solution of the problem in memory. This takes one read."""
        assert self.inner is not None
        self.at = self.inner.at
        gradient = self.problem.objective.gradient(self.at.alpha)
        return gradient, self.problem.gap_for(gradient, self.w)

    def evidence(self) -> Evidence:
        """Return the exact evaluation of the iterate or, before there is one, the gap estimate of the inner solver."""
        if self._found is not None:
            return super().evidence()
        inside = self.scout or self.inner
        gap = np.inf if inside is None else inside.evidence().gap_estimate
        return Evidence(gap, None, 1.0)

    @property
    def unhindered(self) -> bool:
        """Whether the budget has not limited any solver so far."""
        return super().unhindered and all(solver is None or solver.unhindered for solver in (self.scout, self.inner))

    def finished(self) -> Status | None:
        """Return the reason why no further step can be made, or None."""
        if self._found is not None and not self._is_finite(self._found):
            return Status.NON_FINITE
        if self.stuck:
            return Status.STALLED
        return Status.MAX_PASSES if self.exhausted else None

    # --- state ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied. Columns are read again later."""
        found = self._found
        state: dict[str, Any] = {"steps": self.steps, "rows": self.problem.n} | attributes(self, self.remembered)
        # gradient and derivatives for a later run: exact ones if there are any, else estimates
        if found is not None:
            state |= {"gradient": found.gradient, "found.gap": found.gap, "found.intercept": found.intercept}
            state |= flat(f"{ESTIMATE}.alpha", found.alpha)
        elif self.scout is not None:
            state |= handed_over(self.scout.state()) | {"steps": self.steps}
        else:
            alpha = self.problem.objective.zeros() if self.inner is None else self.inner.at.alpha
            state |= {"gradient": self.slope, f"{ESTIMATE}.alpha": alpha.reshape(self.problem.samples.shape)}
        for name, solver in (("scout", self.scout), ("inner", self.inner)):
            state |= {} if solver is None else under(name, solver.state())
        return state

    def _restore_point(self, state: Mapping[str, Any]) -> None:
        """Restore the inner solvers, and with them the point. Reading the columns again takes one read."""
        require_entries(self.problem, state)
        scout, inner = below("scout", state), below("inner", state)
        self.scout = None
        if scout:
            self.scout = StepwiseSolver.from_state(self.problem, scout, METHODS["sfw"], self.batch, generator_of(scout))
        if inner:
            X = read_columns(self.problem, self.columns)
            small = self.problem.with_columns(X, set_of(self.hull), columns=self.columns)
            self.inner = CorrectiveSolver.from_state(small, inner)
        if "found.gap" in state:
            if self.inner is None:
                raise ValueError("it knows a gap, and no point that has it")
            self.at = self.inner.at


# --- columns of a store, in memory -----------------------------------------------------------------------------------


def can_be_copied(problem: Problem) -> bool:
    """Return whether vertices have one non-zero entry, and at least fifty columns of average size fit into memory.

    With fewer columns the optimum would rarely fit.
    """
    structure, store = problem.constraint.structure(), problem.X
    if structure.hull is None or structure.shift is not None:
        return False
    return store.nnz / store.shape[1] * min(50, store.shape[1]) <= column_room(problem)


def set_of(hull: Hull) -> Any:
    """Return the constraint set that a hull describes."""
    if hull.signed:
        return L1Ball(hull.radius)
    return NonNegativeL1Ball(hull.radius) if hull.filled else Simplex(hull.radius)


def read_columns(problem: Problem, columns: np.ndarray) -> Any:
    """Return a copy of some columns (ascending) of all rows, made in one read: an array, or a CSR array."""
    n, pieces = problem.n, dict[int, Any]()
    place = np.full(problem.d, -1, np.int32)
    place[columns] = np.arange(len(columns))
    if not problem.X.is_sparse:
        values = np.empty((n, len(columns)), problem.X.dtype)

        def take(block: DataBlock) -> tuple:
            values[block.part] = features_of(block.samples.rows).values[:, columns]
            return ()

        problem.objective.shards.each(take)
        return values

    def press(block: DataBlock) -> tuple:
        data, indices, starts = features_of(block.samples.rows).pressed(place)
        shape = len(starts) - 1, len(columns)
        pieces[block.part.start] = sparse.csr_array((data, indices.view(np.int32), starts), shape=shape)
        return ()

    problem.objective.shards.each(press)
    matrix = sparse.vstack([pieces[first] for first in sorted(pieces)], format="csr", dtype=np.float64)
    matrix.has_canonical_format = True  # rows are stored with sorted indices and no duplicates
    return matrix
