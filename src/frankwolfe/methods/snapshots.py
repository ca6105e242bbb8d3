"""When a run takes exact gradients: at the start of epochs, or at random."""

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import FIXED, Opaque, positive
from frankwolfe.compile.verbs import routine


class Epochs(NamedTuple):
    """Epochs, each of which begins with an exact gradient: when they begin, and how large the batches in them are.

    Attributes
    ----------
    starts : array of int
        Numbers of the steps with which epochs begin, in order, 1 the first.
    period : int
        From the last of them on, an epoch begins after every so many steps.
    base, growth : array of shape (epochs,)
        Step ``k`` of an epoch, counted from 1, draws ``base + growth k`` rows.
    """

    starts: np.ndarray
    period: int
    base: np.ndarray
    growth: np.ndarray

    def index_ranges(self) -> dict[str, Any]:
        """Return what the index arrays of restored epochs must be like."""
        return dict.fromkeys(("starts", "base", "growth"), FIXED)

    def batch_sizes(self, steps: np.ndarray) -> np.ndarray:
        """Rows in the batches of the steps with these numbers.

        An epoch's first step is at the point of the exact gradient and needs no batch: it draws one row, the least
        possible.
        """
        epoch, k = self._places(steps)
        return np.where(k == 1, 1.0, self.base[epoch] + self.growth[epoch] * k)

    def next_start(self, t: int) -> int:
        """Return the number of the step, ``t`` or a later one, with which an epoch begins."""
        epoch, k = self._places(np.array([t]))
        if k[0] == 1:
            return t
        last = epoch[0] == len(self.starts) - 1
        return int(t + self.period + 1 - k[0] if last else self.starts[epoch[0] + 1])

    def _places(self, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the epochs of steps, and which steps of these they are, counted from 1."""
        epoch = np.searchsorted(self.starts, steps, side="right") - 1
        k = steps - self.starts[epoch]
        return epoch, 1 + np.where(epoch == len(self.starts) - 1, k % self.period, k)


FOREVER = 2**62
"""More steps than a run will make."""

ONE_EPOCH = Epochs(np.ones(1, dtype=np.int64), FOREVER, np.zeros(1), np.zeros(1))
"""Those of an estimate that has none: one epoch that does not end."""


def epochs_of(lengths: list[int], base: list[float], growth: list[float]) -> Epochs:
    """Return epochs of these lengths; the last is the length of all that follow."""
    starts = 1 + np.cumsum([0, *lengths[:-1]])
    return Epochs(starts.astype(np.int64), lengths[-1], np.array(base, dtype=np.float64), np.array(growth, dtype=float))


@routine
def place_in_epoch(starts, period, t):
    """Return which step of its epoch step number ``t`` is, counted from 1, and how many steps the epoch has."""
    epoch, last = len(starts) - 1, len(starts) - 1
    while starts[epoch] > t:
        epoch -= 1
    if epoch == last:
        return 1 + (t - starts[epoch]) % period, period
    return 1 + t - starts[epoch], starts[epoch + 1] - starts[epoch]


def checked_share(part: str, name: str, number: Any) -> float | None:
    """Return a number in (0, 1] as a float, None as it is; or say which field of which part is no such number."""
    if number is None:
        return None
    number = positive(part, name, number)
    if number > 1.0:
        raise ValueError(f"{part}: {name} must be at most 1, got {number:g}")
    return number


class Coin(NamedTuple):
    """A coin that is tossed before every step, for estimates that take the exact gradient at random.

    When heads comes up next is decided ahead, by one draw from the generator of the batches.

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
