"""The weight of what is new in a running average: a power of the step's number."""

from typing import Any

from frankwolfe.compile.part import finite, positive
from frankwolfe.compile.verbs import routine


def checked_averaging(part: Any) -> Any:
    """Return a part whose ``numerator``, ``offset`` and ``power`` make weights of at most one; or say why not."""
    name = type(part).__name__
    numerator, power = positive(name, "numerator", part.numerator), positive(name, "power", part.power)
    offset = finite(name, "offset", part.offset)
    if offset < 0.0:
        raise ValueError(f"{name}: offset must not be negative, got {offset:g}")
    if power > 1.0:
        raise ValueError(f"{name}: power must be at most 1, got {power:g}: the average would soon stand still")
    if numerator > (1.0 + offset) ** power:
        raise ValueError(
            f"{name}: numerator must be at most (1 + offset)^power = {(1.0 + offset) ** power:g}, got {numerator:g}: "
            "the first weight would be above 1"
        )
    return part._replace(numerator=numerator, offset=offset, power=power)


@routine
def newest_weight(part, t):
    """Return ``numerator / (t + offset)^power``."""
    return part.numerator * (t + part.offset) ** -part.power
