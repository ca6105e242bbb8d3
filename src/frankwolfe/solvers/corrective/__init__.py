"""The fully corrective method. A round computes the exact gradient, which certifies, and then re-optimises the weights.

`rounds` has the base class of its solvers. `fully_corrective` makes Newton steps on the weights of the active atoms
(`active_atoms`). Its quadratic model forms the Hessian if atoms are few and uses coordinate descent if they are many
(`quadratic_models`). `interior` minimises quadratic models
over a set with a barrier, `working_set` applies it to some columns at a time, `low_rank` minimises over matrices of low
rank. Under linear conditions `conditions` and, with a barrier, `interior_conditions` do the same. `hessian` computes
the Hessian in all weights, and `few_reads` saves reads of data on disk. For losses with a kink, `smoothed` runs these
solvers on ever less smoothed problems; over l2 balls `dual_descent` finds where to start, or the optimum.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.problem import Problem
from frankwolfe.solvers.corrective.conditions import ConditionedSolver
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.hessian import column_moments
from frankwolfe.solvers.corrective.interior import InteriorSolver
from frankwolfe.solvers.corrective.interior_conditions import MOST_WEIGHTS, ConditionedInterior, interior_of
from frankwolfe.solvers.corrective.low_rank import LowRankSolver
from frankwolfe.solvers.corrective.rounds import RoundSolver
from frankwolfe.solvers.corrective.smoothed import SmoothedSolver
from frankwolfe.solvers.corrective.working_set import WorkingSetSolver, has_working_sets
from frankwolfe.solvers.protocol import Solver

UNEVEN_RATIO = 30.0
"""Columns count as uneven if their norms differ by more than this ratio, or if their common mean exceeds their average
norm by it. On such data, solvers that add one atom at a time, and low-rank steps, take many rounds."""


def solver_for(problem: Problem) -> type[RoundSolver]:
    """Return the class of the solver for a problem.

    `InteriorSolver` takes few rounds on any data, but the cost of a round is cubic in the number of weights. Above
    ``barrier.quick_up_to`` weights it is therefore used on uneven data only, where the other solvers are slow, and for
    sets with bounds and a budget on one working set of columns after the other.
    """
    if not problem.loss.smooth:
        return SmoothedSolver
    structure = problem.constraint.structure()
    if problem.side is not None:
        curved = structure.hull is None and structure.bounds is None and structure.knapsack is None
        few = curved and problem.size <= MOST_WEIGHTS
        return ConditionedSolver if not few or interior_of(problem) is None else ConditionedInterior
    if structure.knapsack is not None and has_working_sets(problem):
        return WorkingSetSolver
    if structure.hull is None and problem.size <= 600:
        barrier = problem.barrier()
        if barrier is not None and (problem.size <= barrier.quick_up_to or is_uneven(problem)):
            return InteriorSolver
    return CorrectiveSolver if structure.trace_norm is None else LowRankSolver


def restored_solver(problem: Problem, state: Mapping[str, Any], saves_reads: bool = False) -> Solver:
    """Return the solver for a problem, restored from a state. ``saves_reads`` selects the solver for data on disk."""
    kind = solver_for(problem)
    if saves_reads:
        from frankwolfe.solvers.corrective.few_reads import FewReadsSolver

        kind = FewReadsSolver
    return kind.from_state(problem, state)


def is_uneven(problem: Problem) -> bool:
    """Return whether column norms differ much, or rows have a large common mean that no intercept absorbs."""
    squares, means = problem.objective.shards.run(column_moments)
    lengths = np.sqrt(squares[squares > 0.0])
    if len(lengths) == 0 or not np.isfinite(lengths).all():
        return False
    if lengths.max() > UNEVEN_RATIO * lengths.min():
        return True
    return not problem.intercept and float(means @ means) * len(lengths) > UNEVEN_RATIO * float(squares.sum())
