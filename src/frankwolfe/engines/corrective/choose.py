"""Which engine runs the corrective method on a problem."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from frankwolfe.engines.corrective.engine import CorrectiveEngine
from frankwolfe.engines.corrective.interior import InteriorEngine
from frankwolfe.engines.corrective.low_rank import LowRankEngine
from frankwolfe.engines.protocol import Engine
from frankwolfe.linalg.matrices import column_norms
from frankwolfe.problem import Problem
from frankwolfe.store.reader import RowStore

MAX_WEIGHTS = 600
"""Up to how many weights Newton models may be minimised over the set itself, which costs the cube of their number.
Twice or half: no difference on our problems, which have few weights or many."""

UNEVEN_RATIO = 30.0
"""Ratio of the columns' lengths, or of the longest direction of the data to the average one, from which on data is
uneven: active atoms that join one at a time, and low-rank steps, then take many rounds. Twice or half: no difference,
for data is either standardised or far from it."""


def engine_for(problem: Problem) -> Callable[..., Engine]:
    """Return what makes an engine: from a problem, a start and what an earlier run hands over.

    Models over the set itself take few rounds whatever the data is like. But each costs the cube of the number of
    weights, so beyond what its barrier says other engines are given the problems that are easy for them.
    """
    structure = problem.constraint.structure()
    if structure.hull is None and problem.size <= MAX_WEIGHTS:
        barrier = problem.barrier()
        if barrier is not None and (problem.size <= barrier.quick_up_to or is_uneven(problem)):
            return partial(InteriorEngine, barrier=barrier)
    return CorrectiveEngine if structure.trace_norm is None else LowRankEngine


def restored_engine(problem: Problem, state: Mapping[str, Any], saves_reads: bool = False) -> Engine:
    """Return the engine for a problem, going on where the one with this state was; ``saves_reads``: of data on disk."""
    if saves_reads:
        from frankwolfe.engines.corrective.few_reads import FewReadsEngine

        return FewReadsEngine.from_state(problem, state)
    kind: Any = engine_for(problem)
    kind, how = (kind.func, kind.keywords) if isinstance(kind, partial) else (kind, {})
    engine: Engine = kind.from_state(problem, state, **how)
    return engine


def is_uneven(problem: Problem) -> bool:
    """Whether columns differ much in length, or nearly all of the data lies along one direction."""
    X, far = problem.X, isinstance(problem.X, RowStore) or problem.on_cluster
    if problem.on_cluster:
        lengths = problem.objective.column_norms()
    else:
        lengths = np.sqrt(X.squares) if far else column_norms(X, 2)
    lengths = lengths[lengths > 0.0]
    if len(lengths) == 0 or not np.isfinite(lengths).all():
        return False
    if lengths.max() > UNEVEN_RATIO * lengths.min():
        return True
    if problem.intercept or far:
        return False  # which takes the columns' means away; or it would take ten reads to know
    direction = np.ones(problem.d)
    for _ in range(5):  # of the power method: a direction that dominates shows at once
        direction = X.T @ (X @ (direction / np.linalg.norm(direction)))
    longest = float(np.linalg.norm(direction))
    return longest * len(lengths) > UNEVEN_RATIO * float((lengths**2).sum())
