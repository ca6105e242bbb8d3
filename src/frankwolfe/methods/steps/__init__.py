"""Step rules: how far to go along a move.

To add one: a class in one of the files here, a line in `STEPS`, a row in ``tests/cases.py``.
"""

from typing import Any

from frankwolfe.arguments.lookup import lookup
from frankwolfe.methods.lifecycle import accept_step
from frankwolfe.methods.steps.constant import ConstantStep
from frankwolfe.methods.steps.damped import DampedStep
from frankwolfe.methods.steps.epoch import EpochStep
from frankwolfe.methods.steps.norms import NormStep
from frankwolfe.methods.steps.open_loop import LogAdaptive, LuFreundStep, OpenLoop
from frankwolfe.methods.steps.searches import Backtracking, LineSearch, Monotone, Secant, ShortStep

__all__ = [
    "Backtracking",
    "ConstantStep",
    "DampedStep",
    "EpochStep",
    "LineSearch",
    "LogAdaptive",
    "LuFreundStep",
    "Monotone",
    "NormStep",
    "OpenLoop",
    "Secant",
    "ShortStep",
    "as_step",
]

# The rules that go with every direction; `DampedStep` asks its move for more than a straight one knows.
STEPS: dict[str, Any] = {
    "open-loop": OpenLoop(),
    "log-adaptive": LogAdaptive(),
    "constant": ConstantStep(),
    "short": ShortStep(),
    "line-search": LineSearch(),
    "secant": Secant(),
    "backtracking": Backtracking(),
    "monotone": Monotone(),
}


def as_step(step: Any) -> Any:
    """Step rule from its name or from an instance."""
    if isinstance(step, str):
        return lookup("step", step, STEPS)
    accept_step("step", step)
    return step
