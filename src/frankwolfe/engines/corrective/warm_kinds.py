"""Which kinds of problems an engine has been compiled for in this process: each is tried on a few rows once."""

from typing import Any

import numpy as np

from frankwolfe.compile.kernels import compiling
from frankwolfe.problem import Problem

_warm: set[Any] = set()
"""Engines, with the kinds of data and parts that they have been compiled for."""


def is_new_kind(engine: type, problem: Problem) -> bool:
    """Whether an engine has not been compiled for a problem like this one; from then on it has, if code is compiled."""
    if not problem.objective.compiled:
        return False
    kind = engine, _kind((problem.samples, problem.constraint))
    if not compiling() or kind in _warm or problem.objective.shards.calls_are_costly:  # there, workers compile
        return False
    _warm.add(kind)
    return True


def _kind(value: Any) -> Any:
    """Return what code is compiled for: classes, and the types of arrays."""
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
    return (value.dtype.str, value.ndim, value.flags.c_contiguous) if isinstance(value, np.ndarray) else type(value)
