"""Which engine runs the corrective method on a problem."""

from functools import partial
from typing import Any

from frankwolfe.corrective.engine import CorrectiveEngine
from frankwolfe.corrective.interior import InteriorEngine
from frankwolfe.corrective.lowrank import LowRankEngine
from frankwolfe.problem import Problem

MOST_WEIGHTS, MOST_MATRIX_WEIGHTS = 300, 150
"""Up to how many weights Newton models are minimised over the set itself, which costs the cube of their number: in
general, and where matrices of low rank are the alternative."""


def engine_for(problem: Problem) -> Any:
    """Return what makes an engine: from a problem, a method, a batch size, a generator, a start and a memory."""
    structure = problem.constraint.structure()
    low_rank = structure.trace_norm is not None
    if structure.hull is None and problem.size <= (MOST_MATRIX_WEIGHTS if low_rank else MOST_WEIGHTS):
        barrier = problem.barrier()
        if barrier is not None:
            return partial(InteriorEngine, barrier=barrier)
    return LowRankEngine if low_rank else CorrectiveEngine
