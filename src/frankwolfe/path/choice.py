"""How a radius is chosen: the loss on rows that were held out, and whether the grid was wide enough."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from frankwolfe.linalg.threads import single_threaded
from frankwolfe.problem import Problem
from frankwolfe.result import Result


@single_threaded
def held_out_loss(problem: Problem, found: Result) -> float:
    """Return the objective on other rows, with the intercept that was fitted.

    Parameters
    ----------
    problem : Problem
        The rows held out, without an intercept of their own.
    found : Result
        Of a run on the other rows.
    """
    return problem.value_of_predictions(np.asarray(problem.X @ found.x) + found.intercept)


def at_the_edge(radii: Sequence[float] | np.ndarray, chosen: int, problem: Problem, w: Any) -> list[str]:
    """Return what to do if the chosen radius is the first or the last of its grid, in a sentence; else nothing.

    At the last radius there is nothing to say if the constraint does not bind: larger radii have the same answer.

    Parameters
    ----------
    radii : array
        The grid, ascending.
    chosen : int
        Place of the chosen radius.
    problem : Problem
        Over the set of that radius.
    w : array
        Its answer.
    """
    radius = float(radii[chosen])
    if len(radii) < 2 or 0 < chosen < len(radii) - 1:
        return []
    if chosen == 0:
        return [
            f"The chosen radius {radius:.4g} is the smallest of the {len(radii)} that were tried: the best one may be "
            f"smaller. Extend the grid downwards, for instance to {radius / 10.0:.2g}."
        ]
    if problem.constraint.contains(1.01 * np.ravel(w)):
        return []
    return [
        f"The chosen radius {radius:.4g} is the largest of the {len(radii)} that were tried: the best one may be "
        f"larger. Extend the grid upwards, for instance to {radius * 10.0:.2g}."
    ]
