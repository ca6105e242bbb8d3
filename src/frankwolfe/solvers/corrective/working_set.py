"""The corrective method for many weights with bounds and a budget: a working set of columns, solved by `interior`.

Most weights of an optimum are zero, but each vertex of such a set fixes many others at their bounds, so combinations of
vertices take many rounds. A round therefore computes the exact gradient, which certifies. It selects the columns with
weight and those whose weights gain most by a change, and minimises over all points that are zero elsewhere.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.problem import Evaluation, Problem
from frankwolfe.sets.base import Knapsack
from frankwolfe.sets.coordinate import Budget, CappedSimplex
from frankwolfe.solvers.corrective.interior import InteriorSolver
from frankwolfe.solvers.corrective.rounds import RoundSolver, is_new_kind


def has_working_sets(problem: Problem) -> bool:
    """Return whether the set is a `Knapsack` of many weights and columns of the data can be copied from memory."""
    structure = problem.constraint.structure()
    if structure.knapsack is None or structure.shift is not None or problem.outputs:
        return False
    if not (isinstance(problem.X, np.ndarray) or sparse.issparse(problem.X)):
        return False
    barrier = problem.barrier()
    return barrier is not None and problem.size > barrier.quick_up_to


class WorkingSetSolver(RoundSolver):
    """One run of the corrective method on working sets of columns; a step is a round.

    Parameters
    ----------
    problem : Problem
        Problem that `has_working_sets`.
    w : array of shape (d,)
        Feasible start.
    earlier : mapping, optional
        State of an earlier run. Only its number of steps is used.
    """

    remembered = (*RoundSolver.remembered, "w", "share")

    def __init__(self, problem: Problem, w: np.ndarray, earlier: Mapping[str, Any] | None = None):
        super().__init__(problem, w, earlier)
        self.knapsack: Knapsack = problem.constraint.structure().knapsack
        self.w = w.copy()
        # Ten times this: on 500 x 2,000 tables with ten factors twice the time, for working sets are larger.
        self.share = 0.01

    def warm_up(self) -> None:
        """Compile the kernels, or load them from the cache, by a round on the first eight rows."""
        if is_new_kind(type(self), self.problem):
            WorkingSetSolver(self.problem.head(8), self.w).advance(1)

    def point(self) -> np.ndarray:
        """Return a copy of the iterate."""
        return self.w.copy()

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Set ``at`` to the point at the iterate. Return the gradient and the exact gap there."""
        if self.at is None:
            self.at, gradient = self._evaluate_weights(self.w)
        else:  # predictions are those of the working set
            gradient = self.problem.objective.gradient(self.at.alpha)
            self.rows_read += self.problem.n
        return gradient, self.problem.gap_for(gradient, self.w)

    def _round(self, found: Evaluation) -> None:
        """Minimise over a working set. If that gains nothing, solve the next one further."""
        if self.exhausted or found.gap <= 0.0:
            self.stuck = found.gap <= 0.0
            return
        barrier: Any = self.problem.barrier()  # `has_working_sets` requires one
        # Interior points have no zeros. A tiny weight that matters joins again; ten times this level, rounds stall.
        w = barrier.without_tiny(self.w, 0.1 * self.share * np.abs(self.w).max())
        w = w if self.problem.constraint.contains(w) else self.w
        columns = self._columns(w, found.gradient)
        goal = max(0.5 * self.target, self.share * found.gap)
        inner, self.share = self._solved(w, columns, goal), 0.3 * self.share
        there = inner.evidence().exact
        assert there is not None
        if there.value < found.value - self._noise() or there.gap < found.gap:
            self.w = np.zeros(self.problem.size)
            self.w[columns] = inner.point()
            self.at, self._found = inner.at, None
            if self._exact().gap <= 0.5 * found.gap or there.value < found.value - self._noise():
                return
        self.stuck = self.share <= 1e-8  # the next round would hardly differ

    def _columns(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return a working set, ascending: columns that must or do have weight, and those that gain most."""
        chosen = (w != 0.0) | (self.knapsack.lower > 0.0) | (self.knapsack.upper < 0.0)
        gains, price = self.knapsack.gains(gradient), self.knapsack.price(gradient, np.flatnonzero(chosen))
        useful = np.flatnonzero(~chosen & (gains > price))
        most = max(100, np.count_nonzero(chosen))
        chosen[useful[np.argsort(-gains[useful], kind="stable")[:most]]] = True
        return np.flatnonzero(chosen)

    def _solved(self, w: np.ndarray, columns: np.ndarray, goal: float) -> InteriorSolver:
        """Return the solver of the problem on a working set, after it has reached the gap ``goal``."""
        bounds, problem = self.knapsack, self.problem
        lower, upper = bounds.lower[columns], bounds.upper[columns]
        made: Any = CappedSimplex(upper, bounds.radius) if bounds.exhausted else Budget(lower, upper, bounds.radius)
        inner = InteriorSolver(problem.with_columns(problem.X[:, columns], made, columns=columns), w[columns])
        share, inner.deadline = len(columns) / problem.d, self.deadline
        inner.begin((self.budget - self.rows_read) / share, goal)
        while not self._ends_early() and inner.finished() is None and not inner.evidence().gap_estimate <= goal:
            inner.advance(1)
        self.rows_read += int(np.ceil(share * inner.rows_read))
        return inner
