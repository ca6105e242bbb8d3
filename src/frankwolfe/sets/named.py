"""Constraint sets by name, and points of one set as points of another."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frankwolfe.arguments.names import lookup
from frankwolfe.arguments.types import ConstraintSet
from frankwolfe.compile.part import short
from frankwolfe.sets.base import a_set
from frankwolfe.sets.coordinate import L1Ball, LinfBall, NonNegativeL1Ball, Simplex
from frankwolfe.sets.groups import GroupBall
from frankwolfe.sets.smooth import L2Ball
from frankwolfe.sets.spectral import TraceBall

DEFAULT_RADIUS = 10.0
"""Default radius of a set given by name; the simplex has the default 1."""


def _rows_as_groups(radius: float, d: int, outputs: int) -> GroupBall:
    """Return the group ball whose groups are the weights of one feature over all outputs."""
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


def as_constraint(constraint: ConstraintSet, radius: float | None, d: int, outputs: int) -> Any:
    """Return the constraint set given by a name and a radius, or by an object.

    A name without a radius gets the default radius. An object has its own radius, so ``radius`` must be None. ``d`` is
    the number of columns of the data.
    """
    if isinstance(constraint, str):
        make = lookup("constraint", constraint, SETS)
        if radius is None:
            radius = 1.0 if constraint == "simplex" else DEFAULT_RADIUS
        return make(radius, d, outputs)
    a_set("constraint", constraint)
    if radius is not None:
        own = constraint.with_radius(radius).own_radius()  # raises if it has none, or if this one is invalid
        raise ValueError(
            f"two radii: radius={own:g}, and the constraint {short(constraint)} has its own; leave radius out, "
            f"or give the constraint that radius itself (constraint.with_radius({own:g}))"
        )
    return constraint


def carried(w: np.ndarray, before: Any, after: Any) -> np.ndarray | None:
    """Return a point of one set as a point of another, scaled by their radii if necessary; None if that fails."""
    flat = w.ravel()
    if after.contains(flat):
        return w
    old, new = before.own_radius(), after.own_radius()
    if old is not None and new is not None:
        scaled = w * (new / old)
        if after.contains(scaled.ravel()):
            return scaled
    return None
