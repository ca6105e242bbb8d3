"""How a run ended, in words."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.engines.limits import Limits
from frankwolfe.engines.lower_bound import Certificate
from frankwolfe.engines.state import ESTIMATE
from frankwolfe.problem import Problem
from frankwolfe.result import Status


def message(
    status: Status,
    found: Certificate,
    tolerance: float,
    limits: Limits,
    intercept: bool,
    likely: tuple[float, float] | None = None,
    violation_tolerance: float | None = None,
) -> str:
    """Say in a sentence how a run ended; for one that met what is not finite, see `what_was_not_finite`.

    Parameters
    ----------
    status : Status
        How it ended.
    found : Certificate
        At the point that is returned.
    tolerance : float
        The gap that would have ended it.
    limits : Limits
        Of the run.
    intercept : bool
        Whether the problem has one.
    likely : (float, float), optional
        A likely bound and its confidence, where the run was to prove nothing.
    violation_tolerance : float, optional
        The violation of side constraints that it may end with, where there are any.
    """
    proof = "distance to a lower bound on the optimum" if found.by_bound else "exact gap"
    so_far = f"the {proof} is {found.gap:.3g}, the tolerance {tolerance:.3g}"
    bounded = beside = ""
    if likely is not None:
        bounded = f"with {likely[1]:.0%} confidence the objective is at most {likely[0]:.3g} above the optimum"
        so_far = f"{bounded}, and the tolerance is {tolerance:.3g}; nothing is proven"
    if violation_tolerance is not None:
        worst = f"{found.violation:.3g} of its size"
        so_far += f"; the worst side constraint is violated by {worst}, the tolerance {violation_tolerance:.3g}"
        beside = f", and the worst side constraint is violated by {worst}, within {violation_tolerance:.3g}"
    stalled = f"No step lowers the objective any further in floating-point numbers; {so_far}."
    if intercept and np.isinf(found.gap):
        stalled = "The slope in the intercept could not be made zero, so there is no gap: nothing is proven."
    reasons = {
        Status.CONVERGED: f"The {proof} {found.gap:.3g} is within the tolerance {tolerance:.3g}{beside}.",
        Status.MAX_PASSES: f"The budget of {limits.passes:g} passes ended; {so_far}.",
        Status.MAX_SECONDS: f"The budget of {limits.seconds:g} seconds ended; {so_far}.",
        Status.CALLBACK: f"The callback asked to stop; {so_far}.",
        Status.STALLED: stalled,
        Status.INTERRUPTED: f"Interrupted from the keyboard; {so_far}.",
        Status.LIKELY: f"Likely, and not proven: {bounded}, within the tolerance {tolerance:.3g}.",
    }
    return reasons[status]


def what_was_not_finite(problem: Problem, state: Mapping[str, Any], step: int) -> str:
    """Say which step was not made, and at which row the derivative is not finite, if there is one."""
    where, row = f"Step {step} was not made", first_bad_row(state.get(f"{ESTIMATE}.alpha"))
    if row is not None:
        loss = type(problem.loss).__name__
        return f"{where}: the derivative of {loss} at row {row} is not finite. Rescale X or y."
    return f"{where}: the objective, the gradient estimate or the step size is not finite. Rescale X or y."


def first_bad_row(alpha: np.ndarray | None) -> int | None:
    """Return the row whose remembered derivative is not finite, if there is one."""
    if alpha is None or np.isfinite(alpha).all():
        return None
    return int(np.argwhere(~np.isfinite(alpha))[0, 0])
