"""Sets by name and radius: what a user types, the same set with another radius, and points carried between the two."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frankwolfe.names import lookup
from frankwolfe.sets import GroupBall, L1Ball, L2Ball, LinfBall, NonNegativeL1Ball, Simplex, TraceBall
from frankwolfe.sets.checks import a_set

DEFAULT_RADIUS = 10.0
"""Radius of a set that is named without one, but for the simplex, whose entries sum to one."""


def _rows_as_groups(radius: float, d: int, outputs: int) -> GroupBall:
    """Ball of the group lasso in which the weights of one feature, over all outputs, are a group."""
    if outputs < 2:
        raise ValueError(
            "constraint='group' makes a group of each feature's weights over several outputs, and there is one output; "
            "for groups of features pass fw.GroupBall(groups, radius)"
        )
    return GroupBall(np.repeat(np.arange(d), outputs), radius)


SETS: dict[str, Callable[[float, int, int], Any]] = {
    "l1": lambda radius, d, outputs: L1Ball(radius),
    "l2": lambda radius, d, outputs: L2Ball(radius),
    "linf": lambda radius, d, outputs: LinfBall(radius),
    "simplex": lambda radius, d, outputs: Simplex(radius),
    "nonnegative-l1": lambda radius, d, outputs: NonNegativeL1Ball(radius),
    "trace": lambda radius, d, outputs: TraceBall(radius),
    "group": _rows_as_groups,
}


def as_constraint(constraint: Any, radius: float | None, d: int, outputs: int) -> Any:
    """Return the set that a name or an object and a radius mean, for weights of ``d`` columns and so many outputs.

    Without a radius an object keeps its own, and a name gets the default.
    """
    if isinstance(constraint, str):
        make = lookup("constraint", constraint, SETS)
        if radius is None:
            radius = 1.0 if constraint == "simplex" else DEFAULT_RADIUS
        return make(radius, d, outputs)
    a_set("constraint", constraint)
    return constraint if radius is None else resized(constraint, radius)


def resized(constraint: Any, radius: float) -> Any:
    """Return a set with another radius.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> resized(fw.LpBall(3.0, 1.0), 5.0)
    LpBall(p=3.0, radius=5.0)
    """
    if "radius" not in getattr(constraint, "_fields", ()):
        raise ValueError(
            f"{type(constraint).__name__} has no radius to change: leave radius out, or use a set that has one, "
            "such as fw.L1Ball; fw.Scaled(set, factor) scales any other"
        )
    return type(constraint)(**{**constraint._asdict(), "radius": radius})


def carried(w: np.ndarray, before: Any, after: Any) -> np.ndarray | None:
    """Return a point of one set as a point of another, scaled if it must be; None where there is no way to tell how."""
    flat = w.ravel()
    if after.contains(flat):
        return w
    if hasattr(before, "radius") and hasattr(after, "radius"):
        scaled = w * (after.radius / before.radius)
        if after.contains(scaled.ravel()):
            return scaled
    return None
