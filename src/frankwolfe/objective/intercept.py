"""A free intercept: a number (or one for each output) that is added to all predictions and that no set constrains.

The objective is ``min over b of F(w, b)``, which is as convex and as smooth as ``F``, and whose gradient in ``w`` is
that of ``F`` at the best ``b``. So whenever all predictions are known the intercept is made optimal for them, to
rounding and from any start (`InterceptSearch`). That takes a few rounds, each of which sums up value, slope and
curvature over the samples. Stepwise methods use a loss that adds the intercept to the predictions (`ShiftedLoss`).
"""

from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import (
    curvature,
    derivative,
    hessian_product,
    residual,
    smoothed_derivative,
    smoothness,
    twofold,
    value,
)
from frankwolfe.losses.base import loss
from frankwolfe.losses.loss_arrays import many
from frankwolfe.objective import tasks
from frankwolfe.objective.newton import NOISE, Sums, bracketed_root, trust_region
from frankwolfe.objective.point import Guess, Point, Segment, ZeroModel
from frankwolfe.objective.tasks import EPSILON
from frankwolfe.rows.samples import Samples

if TYPE_CHECKING:
    from frankwolfe.objective.objective import Objective

QUICK_ROUNDS = 60
"""Rounds after which a search for an intercept restarts from a smaller scale; from an ordinary start ten are enough."""


def _moved_outputs(shift, z):
    return z + shift


@twofold(_moved_outputs)
def moved(shift, z):
    """Return the prediction ``z`` with the intercept added."""
    return z + shift[0]


@loss(**{name: property(attrgetter(f"base.{name}")) for name in ("takes_arrays", "convex", "smooth", "outputs")})
class ShiftedLoss(NamedTuple):
    """A loss at ``z + shift``; ``shift`` is an array with an entry for each output."""

    base: Any
    shift: np.ndarray

    def value(self, z, y):
        """Loss of one sample."""
        return value(self.base, moved(self.shift, z), y)

    def derivative(self, z, y):
        """First derivative in ``z``."""
        return derivative(self.base, moved(self.shift, z), y)

    def smoothed_derivative(self, z, y, beta):
        """First derivative in ``z`` of the loss, smoothed where it has kinks."""
        return smoothed_derivative(self.base, moved(self.shift, z), y, beta)

    def curvature(self, z, y):
        """Second derivative in ``z``; for several outputs, a diagonal that bounds it."""
        return curvature(self.base, moved(self.shift, z), y)

    def hessian_product(self, z, y, q):
        """Second derivative in ``z`` times ``q``, for several outputs."""
        return hessian_product(self.base, moved(self.shift, z), y, q)

    def residual(self, z, y, a):
        """Fenchel-Young residual for a slope ``a``."""
        return residual(self.base, moved(self.shift, z), y, a)

    def smoothness(self):
        """Lipschitz constant of the derivative."""
        return smoothness(self.base)


def shifted(loss: Any) -> ShiftedLoss:
    """Return a loss with a shift of its own, for now zero."""
    return ShiftedLoss(loss, np.zeros(loss.outputs or 1))


def is_shifted(loss: Any) -> bool:
    """Whether a loss adds an intercept to the predictions."""
    return isinstance(loss, ShiftedLoss)


class InterceptSearch:
    """The objective as a function of the intercept, for given predictions. No row is read.

    Parameters
    ----------
    objective : Objective
        Of the samples.
    z : array or Kept
        Predictions without intercept.
    segment : Segment, optional
        Along which the slope will be needed.

    Attributes
    ----------
    last : tuple
        Of the shift that was evaluated last: losses, slopes, reach, and the slope along the segment.
    """

    def __init__(self, objective: "Objective", z: Any, segment: Segment | None = None):
        self.objective, self.z, self.segment = objective, z, segment
        self.loss, self.outputs = objective.base_loss, objective.outputs
        smoothness = float(self.loss.smoothness())
        self.smoothness = smoothness if np.isfinite(smoothness) else 0.0  # an infinite one bounds no derivative
        self.last: tuple = ()
        self._at: tuple[np.ndarray, Sums] | None = None
        self._slope_sizes = 0.0
        self._blurs: dict[tuple[bytes, bool], float] = {}

    def _run(self, task: Any, *args: Any, **how: Any) -> tuple:
        return self.objective.shards.run(task, self.z, *args, **how)

    @cached_property
    def _facts(self) -> tuple[np.ndarray, float, float, float]:
        """Weighted means of predictions and of their sizes, root of the mean square, and the largest size."""
        mean, size, roots, largest = self._run(tasks.prediction_facts)
        with np.errstate(over="ignore"):
            return mean, float(size), float(np.linalg.norm(roots)), max(largest)

    @property
    def mean(self) -> np.ndarray:
        """Weighted mean of the predictions, one number for each output."""
        return self._facts[0]

    def best(self, before: Point | Guess | ZeroModel | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the best intercept, or for a loss that is not convex a stationary one that is no worse than the start.

        Where a point close by is known, its intercept moves with the mean prediction, as it would on centred data. The
        second result is the approximate second derivative there, if one was needed.
        """
        if before is not None and before.shift is not None and before.mean is not None:
            start = before.shift + (before.mean - self.mean)
        else:
            start = self._first()
        if not self.outputs and self.loss.convex:
            return np.array([bracketed_root(self._slope, float(start[0]), self.smoothness)]), None
        curve, largest = None if before is None else before.curve, self._facts[3]
        least = EPSILON**2 * largest  # less changes no prediction, large or small
        found = trust_region(self.sums, self._hessian, start, curve, QUICK_ROUNDS, least, self.smoothness)
        if not self.is_level(found[0]):
            start = self._from_afar(found[0])
            found = trust_region(self.sums, self._hessian, start, resolution=least, smoothness=self.smoothness)
        return found

    def _from_afar(self, start: np.ndarray) -> np.ndarray:
        """Return about the best intercept where predictions are far apart: that of the same problem on a smaller scale.

        A multinomial loss of predictions in the millions is flat between kinks, where Newton's method fails. With
        predictions divided by their size it is smooth. From there the scale is taken back step by step.
        """
        spread = self._facts[2]
        scale = spread if self.loss.convex and np.isfinite(spread) else 0.0
        while scale > 1.0:
            z = self.objective.shards.keep(tasks.scale, self.z, 1.0 / scale)
            near, there = InterceptSearch(self.objective, z), start / scale
            there, _ = trust_region(near.sums, near._hessian, there, most=QUICK_ROUNDS, smoothness=self.smoothness)
            start, scale = scale * there, 0.1 * scale
        return start

    def _first(self) -> np.ndarray:
        """Return a first guess: predictions centred at zero or, for one output, at the mean target if that is lower."""
        centred = -self.mean
        if self.outputs:
            return centred
        other = centred + self.objective.shards.run(tasks.mean_target)[0]
        return other if self.sums(other).value < self.sums(centred).value else centred

    def is_level(self, shift: np.ndarray) -> bool:
        """Whether the slope is zero but for rounding, whose terms add up as a random walk does."""
        at, factor = self.sums(shift), NOISE + self.objective.samples.shape[0] ** 0.5
        steepest = float(np.abs(at.slope).max())
        # where the curvature jumps next to a prediction, that of the other side counts too
        return steepest <= factor * at.rounding or steepest <= factor * self._rounding(shift, beside=True)

    def sums(self, shift: np.ndarray) -> Sums:
        """Return value and slope at a shift, and fill in `last`."""
        if self._at is None or not np.array_equal(self._at[0], shift):
            costly, plain = self.objective.shards.calls_are_costly, self._plain(shift)
            atoms, also = self.objective.extras_for(self.z, self.segment)
            losses, alpha, slope, *found, atom_slopes, blur, beside = self._run(
                tasks.intercept_value, plain, keep=2, also=also
            )
            self._slope_sizes, objective, reach, along = map(float, found)
            if costly:  # what will be needed at this shift came with the same call
                key = shift.tobytes()
                self._blurs[key, False], self._blurs[key, True] = float(blur), float(beside)
                self.objective.note_slopes(atoms, alpha, atom_slopes)
            self.last = losses, alpha, reach, along
            noise = self._noise(abs(objective), shift)
            self._at = shift.copy(), Sums(objective, slope, self._rounding(shift), noise)
        return self._at[1]

    def _rounding(self, shift: np.ndarray, beside: bool = False) -> float:
        """Return what one unit of rounding in each prediction and each derivative may change the slope by."""
        if (shift.tobytes(), beside) in self._blurs:
            blur = self._blurs[shift.tobytes(), beside]
        else:
            blur = float(self._run(tasks.intercept_blur, self._plain(shift), beside)[0])
        return self._at_least(self._slope_sizes + blur, shift)

    def _at_least(self, units: float, shift: Any) -> float:
        """Return so many units of rounding, or so little that it changes no objective.

        Where all derivatives all but vanish, so does their rounding, and a search would never end.
        """
        _, size, _, largest = self._facts  # no step is shorter than the resolution of the largest prediction
        least = EPSILON * self.smoothness * (max(size, largest) + float(np.abs(shift).sum()))
        units = max(units, least)
        return EPSILON * units if np.isfinite(units) else 0.0

    def _noise(self, value: float, shift: np.ndarray) -> float:
        """Return what rounding may change the objective by: derivatives are at most ``sqrt(2 smoothness f)``."""
        blur = self._facts[2] + float(np.abs(shift).max())
        found = EPSILON * (value + (2.0 * self.smoothness * value) ** 0.5 * blur)
        return found if np.isfinite(found) else 0.0

    def _plain(self, shift: np.ndarray) -> Any:
        """Return the shift in the shape of one prediction."""
        return shift if self.outputs else float(shift[0])

    def _slope(self, shift: float) -> tuple[float, float, float]:
        """Return slope and curvature in the intercept of one output, and the slope's rounding."""
        slope, curve, units = map(float, self._run(tasks.intercept_slope, shift))
        return slope, curve, self._at_least(units, shift)

    def _hessian(self, shift: np.ndarray) -> np.ndarray:
        """Return the second derivative in the intercept."""
        if self.outputs:
            return self._run(tasks.intercept_hessian, shift)[0]
        return np.array([[self._slope(float(shift[0]))[1]]])


# --- losses with a kink -----------------------------------------------------------------------------------------------
#
# As a function of the intercept ``b`` the objective is then made of lines that meet where a prediction ``z_i + b`` is
# at its target ``y_i``. The slope is least at the left and grows by ``p_i (high_i - low_i)`` at ``b = y_i - z_i``. The
# minimum is where it turns from negative to positive: a weighted quantile, found by sorting. Samples whose kinks are
# there may have any slope between their two. They get those that make the sum of all slopes zero, as certificates need.


def slope_ranges(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest weighted slope of each sample; the loss of the samples has an intercept."""
    low, high = many(samples.loss.base).kink_slopes(samples.targets)
    return samples.weights * low, samples.weights * high


def kinked_point(samples: Samples, z: np.ndarray) -> Point:
    """Return the point where the predictions without an intercept are ``z``, with the best intercept."""
    low, high = slope_ranges(samples)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
        places = samples.targets - z
        order = np.argsort(places, kind="stable")
        after = low.sum() + np.cumsum((high - low)[order])  # slopes to the right of each kink
        shift = places[order[min(int(np.searchsorted(after, 0.0)), len(order) - 1)]]
        alpha = np.where(places < shift, high, low)
        losses = alpha * (shift - places)
        ties = places == shift
        alpha[ties] = 0.0
        room = (high - low)[ties].sum()
        if room > 0.0:
            share = np.clip((-alpha.sum() - low[ties].sum()) / room, 0.0, 1.0)
            alpha[ties] = low[ties] + share * (high - low)[ties]
        value = float(losses.sum())
        losses = np.divide(losses, samples.weights, out=np.zeros(len(losses)), where=samples.weights > 0.0)
    mean = np.atleast_1d(samples.weights @ z)
    return Point(z, losses, alpha, value, np.array([shift]), bool(np.isfinite(value)), mean)


def balanced_slopes(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """Return slopes near ``alpha`` that sum to zero, each still between those of its loss.

    All move in the same direction, each by the same part of the distance that it may move.
    """
    low, high = slope_ranges(samples)
    excess = alpha.sum()
    room = alpha - low if excess > 0.0 else high - alpha
    return alpha - excess * room / room.sum() if room.sum() > 0.0 else alpha
