"""A coin that is tossed before every step, for estimates that want the exact gradient now and then, at random."""

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.part import positive


def checked_share(part: str, name: str, number: Any) -> float | None:
    """Return a number in (0, 1] as a float, None as it is; or say which field of which part is no such number."""
    if number is None:
        return None
    number = positive(part, name, number)
    if number > 1.0:
        raise ValueError(f"{part}: {name} must be at most 1, got {number:g}")
    return number


class Coin(NamedTuple):
    """When heads comes up next: decided ahead, by one draw from the generator of the batches.

    Tosses are independent, so the number of them until heads has a geometric distribution, whenever one begins to
    count.

    Attributes
    ----------
    clock : array of shape (2,)
        The last step made, which the estimate writes down, and the step before which heads comes up.
    source : Opaque
        The generator and the probability.
    """

    clock: np.ndarray
    source: Opaque

    @classmethod
    def of(cls, setting: Any, probability: float | None) -> "Coin":
        """Return a coin that shows heads before the first step; by default it does so once a pass on average."""
        if probability is None:
            probability = min(1.0, setting.batch_size / len(setting.samples.targets))
        return cls(np.array([setting.steps, setting.steps + 1]), Opaque.of((setting.generator, probability)))

    def next_heads(self, t: int) -> float:
        """Return the step of the next heads, from step ``t`` on; far ahead, where none is known yet, as is expected."""
        due, (_, probability) = int(self.clock[1]), self.source.value
        if t <= due:
            return due
        return due + ceil(ceil((t - due) * probability) / probability)

    def toss(self) -> None:
        """Decide when heads comes up next, after the coming step."""
        generator, probability = self.source.value
        self.clock[1] = self.clock[0] + 1 + generator.geometric(probability)
