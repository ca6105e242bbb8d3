"""The radii of a path: those that were given, or a grid from the data."""

from typing import Any

import numpy as np

from frankwolfe.path.warm_runs import follow
from frankwolfe.problem import Problem
from frankwolfe.result import Status
from frankwolfe.sets.checks import numbers

SHORTEST = 1e-3
"""The first radius of a grid, as a part of the last."""

SLACK = 1e-2
"""A radius ends a grid once doubling it gains less than this part of all that has been gained."""

DOUBLINGS = 40
"""How often the first guess of a grid's last radius may be doubled."""

ROUGH = 1e-3
"""Tolerance of the runs that look for the end of a grid."""


def as_radii(radii: Any) -> np.ndarray:
    """Return the radii of a path, checked and ascending."""
    grid = np.unique(numbers("radius_path", "radii", radii, "a list"))
    if grid.size == 0 or grid.ndim != 1 or not np.isfinite(grid).all() or grid[0] <= 0.0:
        raise ValueError(f"radii must be positive, finite numbers, at least one; got {radii!r}")
    return grid


def radius_grid(problem: Problem, n_radii: int) -> np.ndarray:
    """Return radii in even ratios, up to where the constraint hardly matters any more.

    At radius ``F(0) / support(-gradient)``, for the set of radius one, a straight line down from zero would meet zero.
    From there on the radius is doubled until that gains next to nothing, then halved while the answer leaves room:
    there the grid ends. It begins at a thousandth of that.

    Parameters
    ----------
    problem : Problem
        Whose set has a radius.
    n_radii : int
        How many.

    Returns
    -------
    array of shape (n_radii,)
    """
    if isinstance(n_radii, bool) or not isinstance(n_radii, int | np.integer) or n_radii < 1:
        raise ValueError(f"n_radii must be a positive int, got {n_radii!r}")
    begin = problem.evaluate(problem.zero())
    slope = float(problem.constraint.with_radius(1.0).support(-begin.gradient.ravel()))
    if not np.isfinite(begin.value) or not np.isfinite(slope):
        raise ValueError("the objective or its gradient at zero is not finite, so there is no grid: rescale X or y")
    doubled = (problem.zero_value / slope if slope > 0.0 else 1.0) * 2.0 ** np.arange(DOUBLINGS)
    end, last = doubled[0], np.inf
    for radius, found in zip(doubled, follow(problem, doubled, tol=ROUGH, max_passes=100.0), strict=True):
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        end = radius
        if not last - found.fun > SLACK * (begin.value - found.fun):
            break
        last = found.fun
    for _ in range(DOUBLINGS):
        if not problem.constraint.with_radius(end / 2.0).contains(found.x.ravel()):
            break
        end /= 2.0
    return np.geomspace(SHORTEST * end, end, n_radii)
