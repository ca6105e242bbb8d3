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

from frankwolfe.compile.waiting import waiting
from frankwolfe.methods.registry import METHODS
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.sets.base import Hull
from frankwolfe.sets.coordinate import L1Ball, NonNegativeL1Ball, Simplex
from frankwolfe.shards.local import DataBlock
from frankwolfe.solvers.corrective.active_atoms import column_room
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.rounds import RoundSolver
from frankwolfe.solvers.loop import generator_of
from frankwolfe.solvers.protocol import Evidence, LowerBound
from frankwolfe.solvers.state import (
    ESTIMATE,
    attributes,
    below,
    flat,
    handed_over,
    require_entries,
    under,
)
from frankwolfe.solvers.stepwise import StepwiseSolver

BATCH = 10
"""Rows in a batch of the first pass. With one, the last atoms of RCV1 at radius 1000 come at four times the rank."""

SLICES = 16
"""Number of slices of the first pass. Time limits and interruptions are checked between slices."""

INNER_SHARE = 0.5
"""The problem in memory is solved to this fraction of the tolerance. Columns outside memory may use the rest."""


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

    remembered = (*RoundSolver.remembered, "scouting", "columns", "w", "slope", "mended")

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
        self.batch = min(BATCH, problem.n)
        self.scouting = problem.n // self.batch  # stochastic steps left in the first pass
        self.scout: StepwiseSolver | None = None
        if earlier is not None and earlier["rows"] == problem.n:  # select columns by the known gradient
            self.slope = np.array(earlier["gradient"])
        else:
            rng = np.random.default_rng(0) if generator is None else generator
            self.scout = StepwiseSolver(problem, METHODS["sfw"], self.batch, rng, w, earlier)
            self.slope = np.zeros(problem.size)
        self.inner: CorrectiveSolver | None = None
        self.rest: CorrectiveSolver | None = None
        self.mended = 0  # number of times that missed columns were copied
        self.columns = np.empty(0, np.int64)  # columns of the data that are in memory
        self.w = w

    def warm_up(self) -> None:
        """Compile, or load from the cache, without a step."""
        head = self._solver(self.problem.head(8).with_columns(self.problem.X.head(8), set_of(self.hull)), None)
        head.warm_up()

    def begin(self, budget: float, target: float, bound: LowerBound | None = None) -> None:
        """Compile the kernels, and set the budget, in rows read, the target gap and the lower bound of the run."""
        with waiting().counted():
            self.warm_up()
        self.budget, self.target, self.bound = budget, target, self.bound if bound is None else bound
        if self.scout is not None:
            self.scout.begin(min(budget, self.problem.n), 0.0)  # the prefetch stops at the end of the pass
        if self.inner is not None:
            self._begin_inner()
        if self.rest is not None:
            self.rest.begin(budget - self.rows_read + self.rest.rows_read, target, self.bound)

    def _begin_inner(self) -> None:
        assert self.inner is not None
        self.inner.begin(self.budget - self.rows_read + self.inner.rows_read, INNER_SHARE * self.target)

    # --- a step ---------------------------------------------------------------------------------------------------

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps: each is a slice of the first pass, or a round on the columns in memory."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # an overflow is detected in the objective
            for made in range(steps):
                if self.finished() is not None:
                    return made
                self._step()
                self.steps += 1
        return steps

    def _round(self, found: Evaluation) -> None:
        """Copy the missed columns if they fit into memory. Otherwise switch to corrective rounds that read all rows."""
        outputs = max(1, self.problem.outputs)
        level = -float(found.gradient @ self.w) / self.hull.radius
        keys = np.abs(found.gradient) if self.hull.signed else -found.gradient
        wanted = np.unique(np.flatnonzero((keys > level) | (self.w != 0.0)) // outputs)
        chosen = self._chosen(found.gradient)
        if np.isin(wanted, self.columns).all():
            self.stuck = True  # no column was missed: only rounding is left
        elif np.isin(chosen, self.columns).all() or (self.mended > 0 and not np.isin(wanted, chosen).all()):
            self.rest = CorrectiveSolver(self.problem, self.w)
            self.rest.at, self.rest._found, self.inner = self.at, found, None
            self.rest.begin(self.budget - self.rows_read, self.target, self.bound)
            self._go_on_from_disk(self.rest)
        else:
            self.mended += 1
            self._copy_columns()

    def _go_on_from_disk(self, rest: CorrectiveSolver) -> None:
        """Make a round of the corrective method on the data on disk. It copies the active columns into memory."""
        before = rest.rows_read
        rest.advance(1)
        self.rows_read += rest.rows_read - before
        self.w, self.at, self._found, self.stuck = rest.point(), rest.at, rest.evidence().exact, rest.stuck

    def _step(self) -> None:
        if self.scout is not None:
            self._scout(self.scout)
            return
        if self.rest is not None:
            self._go_on_from_disk(self.rest)
            return
        if self._found is not None:
            self._round(self._found)
            return
        if self.inner is None:
            self._copy_columns()
            return
        before = self.inner.rows_read
        self.inner.advance(1)
        self.rows_read += self.inner.rows_read - before
        self._look_inside()

    def _scout(self, scout: StepwiseSolver) -> None:
        """Make a slice of the first pass. At its end, use the gradient estimate to select columns."""
        some = min(self.scouting, -(-self.problem.n // self.batch // SLICES))
        made = scout.advance(max(1, some))
        self.rows_read, self.scouting = scout.rows_read, self.scouting - made
        self.w = scout.point()
        if self.scouting <= 0 or scout.finished() is Status.NON_FINITE:
            self.slope = scout.gradient.dense()
            self.scout = None

    def _copy_columns(self) -> None:
        """Read the columns with the largest slopes into memory and start the solver of their problem."""
        chosen = self._chosen(self.slope if self._found is None else self._found.gradient)
        self.columns, self.inner, self._found = chosen, None, None  # free the old copy before reading the new one
        small = self.problem.with_columns(read_columns(self.problem, chosen), set_of(self.hull))
        self.inner = self._solver(small, self._narrow(self.w))
        before = self.rows_read
        self._begin_inner()
        self.rows_read = before + self.inner.rows_read
        self._look_inside()

    @staticmethod
    def _solver(problem: Problem, w: np.ndarray | None) -> CorrectiveSolver:
        return CorrectiveSolver(problem, problem.default_start() if w is None else w)

    def _chosen(self, slope: np.ndarray) -> np.ndarray:
        """Return the columns to copy, ascending: those with weight, then those with the largest slopes that fit."""
        outputs = max(1, self.problem.outputs)
        keys = (np.abs(slope) if self.hull.signed else -slope).reshape(-1, outputs).max(axis=1)
        weighted = np.abs(self.w).reshape(-1, outputs).max(axis=1)
        order = np.lexsort((-keys, weighted == 0.0))
        sizes = self.problem.X.counts[order]
        fitting = np.searchsorted(np.cumsum(sizes), column_room(self.problem), side="right")
        return np.sort(order[: max(fitting, 1)])

    def _narrow(self, w: np.ndarray) -> np.ndarray | None:
        """Return the weights of the columns in memory, from those of all columns.

        Returns None if weight outside these columns makes the restriction infeasible, as on the simplex.
        """
        outputs = max(1, self.problem.outputs)
        found = w.reshape(-1, outputs)[self.columns].ravel()
        kept = np.count_nonzero(found) == np.count_nonzero(w)
        return found if kept or self.hull.filled or self.hull.signed else None

    def _wide(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all columns, from those of the columns in memory."""
        outputs = max(1, self.problem.outputs)
        w = np.zeros((self.problem.d, outputs))
        w[self.columns] = u.reshape(-1, outputs)
        return w.ravel()

    def _look_inside(self) -> None:
        """Update the iterate from the problem in memory. Once that is solved, compute the exact gradient."""
        assert self.inner is not None
        self.w = self._wide(self.inner.point())
        if self.inner.finished() is not None or self.inner.evidence().gap_estimate <= self.inner.target:
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
        """Whether the budget has not limited any solver so far, in memory or on disk."""
        inside = (self.scout, self.inner, self.rest)
        return super().unhindered and all(solver is None or solver.unhindered for solver in inside)

    def finished(self) -> Status | None:
        """Return the reason why no further step can be made, or None."""
        if self._found is not None and not self._is_finite(self._found):
            return Status.NON_FINITE
        if self.stuck:
            return Status.STALLED
        return Status.MAX_PASSES if self.spent else None

    # --- state ----------------------------------------------------------------------------------------------------

    def _slopes_so_far(self) -> dict[str, Any]:
        """Return the gradient and the loss derivatives for a later run: exact ones if there are any, else estimates."""
        found = self._found
        if found is not None:
            return {"gradient": found.gradient} | flat(f"{ESTIMATE}.alpha", found.alpha)
        if self.scout is not None:
            return handed_over(self.scout.state())
        alpha = self.problem.objective.zeros() if self.inner is None else self.inner.at.alpha
        return {"gradient": self.slope, f"{ESTIMATE}.alpha": alpha.reshape(self.problem.samples.shape)}

    def _parts(self) -> dict[str, Any]:
        """Return the inner solvers by name."""
        parts = {"scout": self.scout, "inner": self.inner, "rest": self.rest}
        return {name: solver for name, solver in parts.items() if solver is not None}

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied. Columns are read again later."""
        state = self._slopes_so_far() | {"steps": self.steps, "rows": self.problem.n}
        state |= attributes(self, self.remembered)
        if self._found is not None:
            state |= {"found.gap": self._found.gap, "found.intercept": self._found.intercept}
        for name, solver in self._parts().items():
            state |= under(name, solver.state())
        return state

    def _restore_point(self, state: Mapping[str, Any]) -> None:
        """Restore the inner solvers, and with them the point. Reading the columns again takes one read."""
        require_entries(self.problem, state)
        scout, inner, rest = (below(name, state) for name in ("scout", "inner", "rest"))
        self.scout = None
        if scout:
            self.scout = StepwiseSolver.from_state(self.problem, scout, METHODS["sfw"], self.batch, generator_of(scout))
        if inner:
            small = self.problem.with_columns(read_columns(self.problem, self.columns), set_of(self.hull))
            self.inner = CorrectiveSolver.from_state(small, inner)
        if rest:
            self.rest = CorrectiveSolver.from_state(self.problem, rest)
        if "found.gap" in state:
            solver = self.rest or self.inner
            if solver is None:
                raise ValueError("it knows a gap, and no point that has it")
            self.at = solver.at


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
            values[block.part] = _plain(block).values[:, columns]
            return ()

        problem.objective.shards.each(take)
        return values

    def press(block: DataBlock) -> tuple:
        pieces[block.part.start] = _plain(block).pressed(place)
        return ()

    problem.objective.shards.each(press)
    entries = sum(len(data) for data, _, _ in pieces.values())
    size = np.int32 if entries < 2**31 else np.int64
    data, indices, starts = np.empty(entries), np.empty(entries, size), np.zeros(n + 1, size)
    at = 0
    for first in sorted(pieces):
        some, where, ends = pieces.pop(first)  # free each piece once it is copied
        stop = at + len(some)
        data[at:stop], indices[at:stop] = some, where
        starts[first + 1 : first + len(ends)] = ends[1:] + at
        at = stop
    matrix = sparse.csr_array((data, indices, starts), shape=(n, len(columns)))
    matrix.has_canonical_format = True  # rows are stored with sorted indices and no duplicates
    return matrix


def _plain(block: DataBlock) -> Any:
    """Return the rows of a block, without the wrapper for several outputs."""
    rows = block.samples.rows
    return rows.rows if isinstance(rows, MultiOutput) else rows
