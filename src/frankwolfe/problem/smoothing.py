"""What is to be smoothed, losses with a kink and side constraints: which of them fit, and which methods can."""

from typing import TYPE_CHECKING, Any

from frankwolfe.problem.linear_bounds import LinearBounds

if TYPE_CHECKING:
    from frankwolfe.problem.problem import Problem


def as_side(side: Any, size: int, loss: Any) -> LinearBounds | None:
    """Return side constraints that fit so many weights and a loss, or None where there are none."""
    if side is None:
        return None
    if not isinstance(side, LinearBounds):
        raise TypeError(f"side must be fw.LinearBounds(A, lower, upper), got {type(side).__name__}")
    if not (loss.convex and loss.has_conjugate):
        raise ValueError(
            f"side constraints go with a convex loss that knows its conjugate, and {type(loss).__name__} is none: "
            "nothing would bound the optimum"
        )
    if side.A.shape[1] != size:
        raise ValueError(f"side: A has {side.A.shape[1]} columns, but there are {size} weights")
    return side


def accept_smoothing(problem: "Problem", method: Any) -> None:
    """Raise ValueError unless a method smooths, its steps need no objective, and side constraints can be kept."""
    name = method.name.removeprefix("auto: ")
    if method.engine != "loop" or not method.estimate.abilities.smooths:
        raise ValueError(f"method {name!r} {_why_not(problem.loss)}")
    if method.step.reads_all_rows:
        raise ValueError(
            f"method {name!r}: a step rule that looks at the objective does not see what is smoothed: "
            "use method='shcgm' with its own steps, 'open-loop' or 'log-adaptive'"
        )
    problem.side_reach  # noqa: B018 - constraints that nothing can keep to are told now


def accept_unbounded(problem: "Problem", method: Any) -> None:
    """Raise ValueError if a part of a method divides by the smoothness of the loss, which is infinite."""
    for needing in (method.direction, method.step):
        if needing.needs_smoothness:
            kind = type(problem.loss).__name__
            raise ValueError(
                f"method {method.name!r} needs a loss of bounded curvature for {type(needing).__name__}, and the "
                f"smoothness of {kind} is infinite: use method='auto', 'away' or 'pairwise', or a step rule that "
                "measures the curvature, such as step='line-search' or 'backtracking'"
            )


def _why_not(loss: Any) -> str:
    """Say what a method cannot do that does not smooth, and what can."""
    if loss.smooth:
        return "keeps to the set alone, and there are side constraints: use method='shcgm' (or 'auto')"
    kind, others = type(loss).__name__, " or ".join(map(repr, loss.neighbours))
    instead = f", or a smooth loss such as {others}" if others else ""
    return f"needs a smooth loss, and {kind} has a kink: use method='shcgm' (or 'auto'){instead}"
