"""The fully corrective method, in rounds: an exact gradient, which certifies, then as much correction as it is worth.

`rounds` holds what all its solvers share: a solver evaluates its iterate and makes a round. `fully_corrective` makes
rounds over active atoms (`active_atoms`, their predictions in `active_matrix`): Newton steps on a quadratic model, with
its Hessian formed if atoms are few (`hessian_model`) and column by column if they are many (`column_model`). `interior`
minimises models over a set with a barrier, `low_rank` over matrices of low rank. `hessian` is the Hessian in all
weights, `start` has samples to start from, and `few_reads` saves reads of data on disk.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from frankwolfe.problem import Problem
from frankwolfe.rows.multi_output import MultiOutput
from frankwolfe.shards.local import DataBlock, Local
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.interior import InteriorSolver
from frankwolfe.solvers.corrective.low_rank import LowRankSolver
from frankwolfe.solvers.protocol import Solver

UNEVEN_RATIO = 30.0
"""Ratio of the columns' lengths, or of their common mean to the average length, from which on data is uneven: active
atoms that join one at a time, and low-rank steps, then take many rounds."""


def solver_for(problem: Problem) -> Callable[..., Solver]:
    """Return what makes a solver: from a problem, a start and what an earlier run hands over.

    Models over the set itself take few rounds whatever the data is like. But each costs the cube of the number of
    weights: beyond what a barrier says, problems that are easy for the other solvers are left to them.
    """
    structure = problem.constraint.structure()
    if structure.hull is None and problem.size <= 600:
        barrier = problem.barrier()
        if barrier is not None and (problem.size <= barrier.quick_up_to or is_uneven(problem)):
            return partial(InteriorSolver, barrier=barrier)
    return CorrectiveSolver if structure.trace_norm is None else LowRankSolver


def restored_solver(problem: Problem, state: Mapping[str, Any], saves_reads: bool = False) -> Solver:
    """Return the solver for a problem, going on where the one with this state was; ``saves_reads``: of data on disk."""
    if saves_reads:
        from frankwolfe.solvers.corrective.few_reads import FewReadsSolver

        return FewReadsSolver.from_state(problem, state)
    kind: Any = solver_for(problem)
    kind, how = (kind.func, kind.keywords) if isinstance(kind, partial) else (kind, {})
    solver: Solver = kind.from_state(problem, state, **how)
    return solver


def is_uneven(problem: Problem) -> bool:
    """Return whether columns differ much in length, or rows hardly differ from their mean, which no intercept takes."""
    squares, means = problem.objective.shards.run(column_moments)
    lengths = np.sqrt(squares[squares > 0.0])
    if len(lengths) == 0 or not np.isfinite(lengths).all():
        return False
    if lengths.max() > UNEVEN_RATIO * lengths.min():
        return True
    return not problem.intercept and float(means @ means) * len(lengths) > UNEVEN_RATIO * float(squares.sum())


def column_moments(local: Local) -> tuple:
    """Return the weighted sums of the columns' squares, and of the columns: by one read."""
    weights, d = local.samples.weights, local.size // max(1, local.samples.rows.outputs)

    def add(block: DataBlock) -> tuple:
        rows, some = block.samples.rows, weights[block.part]
        rows = rows.rows if isinstance(rows, MultiOutput) else rows
        return rows.column_norms(some, d) ** 2, np.asarray(rows.add_all(some, d), np.float64)

    with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
        return local.each(add)
