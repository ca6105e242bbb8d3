"""The best intercept for given predictions, from sums over all samples as functions of an intercept."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.objective import tasks
from frankwolfe.objective.intercept import EPSILON, NOISE, Sums, bracketed_root, trust_region
from frankwolfe.objective.point import Guess, Point, Segment, ZeroModel

if TYPE_CHECKING:
    from frankwolfe.objective.objective import Objective

QUICK_ROUNDS = 60
"""Rounds after which a search for an intercept is begun anew from afar; from an ordinary start less than ten do."""


class PredictionSums:
    """Sums over samples whose predictions are known. No row is read.

    Parameters
    ----------
    objective : Objective
        Of the samples.
    z : array or Kept
        Predictions.
    segment : Segment, optional
        Along which the slope will be needed.

    Attributes
    ----------
    last : tuple
        Of the shift that `evaluate` was given last: losses, slopes, reach, and the slope along the segment.
    """

    def __init__(self, objective: "Objective", z: Any, segment: Segment | None = None):
        self.objective, self.z, self.segment = objective, z, segment
        self.n, self.outputs = objective.samples.shape[0], objective.outputs
        self.last: tuple = ()
        self._blurs: dict[tuple[bytes, bool], float] = {}

    def _run(self, task: Any, *args: Any, **how: Any) -> tuple:
        return self.objective.shards.run(task, self.z, *args, **how)

    @cached_property
    def _facts(self) -> tuple[np.ndarray, float, float, float]:
        mean, size, roots, largest = self._run(tasks.prediction_facts)
        with np.errstate(over="ignore"):
            return mean, float(size), float(np.linalg.norm(roots)), max(largest)

    @property
    def mean(self) -> np.ndarray:
        """Weighted mean of the predictions, one number for each output."""
        return self._facts[0]

    @property
    def size(self) -> float:
        """Weighted mean of their sizes."""
        return self._facts[1]

    @property
    def spread(self) -> float:
        """Root of the weighted mean of their squares."""
        return self._facts[2]

    @property
    def largest(self) -> float:
        """Size of the largest one."""
        return self._facts[3]

    def mean_target(self) -> np.ndarray:
        """Return the weighted mean of the targets."""
        return self.objective.shards.run(tasks.mean_target)[0]

    def slope_and_curvature(self, shift: float) -> tuple[float, float, float]:
        """Return first and second derivative in the shift, of one output, and the units of rounding."""
        slope, curve, units = self._run(tasks.intercept_slope, shift)
        return float(slope), float(curve), float(units)

    def slope_blur(self, shift: Any, beside: bool) -> float:
        """Return what the slope would change by if each prediction changed by its own size."""
        if not self.objective.shards.calls_are_costly:
            return float(self._run(tasks.intercept_blur, shift, beside)[0])
        key = np.asarray(shift).tobytes(), beside
        if key not in self._blurs:
            self.evaluate(shift)
        return self._blurs[key]

    def evaluate(self, shift: Any) -> tuple[float, np.ndarray, float]:
        """Return objective, slope, and the sum of the slopes' sizes with a shift."""
        atoms, also = self.objective.asked_of(self.z, self.segment)
        losses, alpha, slope, *found, atom_slopes, blur, beside = self._run(
            tasks.intercept_value, shift, keep=2, also=also
        )
        sizes, value, reach, along = map(float, found)
        if self.objective.shards.calls_are_costly:
            key = np.asarray(shift).tobytes()
            self._blurs[key, False], self._blurs[key, True] = float(blur), float(beside)
            self.objective.note_slopes(atoms, alpha, atom_slopes)
        self.last = losses, alpha, reach, along
        return value, slope, sizes

    def hessian(self, shift: np.ndarray) -> np.ndarray:
        """Return the second derivative in the shift, of several outputs."""
        return self._run(tasks.intercept_hessian, shift)[0]

    def scaled(self, factor: float) -> "PredictionSums":
        """Return the same for predictions times a factor."""
        return PredictionSums(self.objective, self.objective.shards.keep(tasks.scale, self.z, factor))


class InterceptSearch:
    """The objective as a function of the intercept, for given predictions.

    Parameters
    ----------
    over : PredictionSums
        The predictions, as sums.
    loss : loss
        Without an intercept.
    """

    def __init__(self, over: PredictionSums, loss: Any):
        self.over, self.loss = over, loss
        smoothness = float(loss.smoothness())
        self.smoothness = smoothness if np.isfinite(smoothness) else 0.0  # an infinite one bounds no derivative
        self._at: tuple[np.ndarray, Sums] | None = None
        self._slope_sizes = 0.0

    def best(self, before: Point | Guess | ZeroModel | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the best intercept, or for a loss that is not convex a stationary one that is no worse than the start.

        Where a point close by is known, its intercept moves with the mean prediction, as it would on centred data.
        """
        if before is not None and before.shift is not None and before.mean is not None:
            start = before.shift + (before.mean - self.over.mean)
        else:
            start = self._first()
        curve = None if before is None else before.curve
        if not self.over.outputs and self.loss.convex:
            return np.array([bracketed_root(self._slope, float(start[0]), self.smoothness)]), None
        least = EPSILON**2 * self.over.largest  # less changes no prediction, large or small
        found = trust_region(self.sums, self._hessian, start, curve, QUICK_ROUNDS, least, self.smoothness)
        if not self.is_level(found[0]):
            found = trust_region(
                self.sums, self._hessian, self._from_afar(found[0]), None, resolution=least, smoothness=self.smoothness
            )
        return found

    def _from_afar(self, start: np.ndarray) -> np.ndarray:
        """Return about the best intercept where predictions are far apart: that of the same problem on a smaller scale.

        A multinomial loss of predictions in the millions is flat between kinks, where Newton's method is lost. With
        predictions divided by their size it is smooth; from there the scale is taken back step by step.
        """
        scale = self.over.spread if self.loss.convex and np.isfinite(self.over.spread) else 0.0
        while scale > 1.0:
            near = InterceptSearch(self.over.scaled(1.0 / scale), self.loss)
            start = (
                scale
                * trust_region(near.sums, near._hessian, start / scale, most=QUICK_ROUNDS, smoothness=self.smoothness)[
                    0
                ]
            )
            scale *= 0.1
        return start

    def _first(self) -> np.ndarray:
        """Return a first guess: predictions centred at zero or, for one output, at the mean target if that is lower."""
        centred = -self.over.mean
        if self.over.outputs:
            return centred
        other = centred + self.over.mean_target()
        return other if self.sums(other).value < self.sums(centred).value else centred

    def is_level(self, shift: np.ndarray) -> bool:
        """Whether the slope is zero but for rounding, whose terms add up as a random walk does."""
        at, factor = self.sums(shift), NOISE + self.over.n**0.5
        steepest = float(np.abs(at.slope).max())
        # where the curvature jumps next to a prediction, that of the other side counts too
        return steepest <= factor * at.rounding or steepest <= factor * self._rounding(shift, beside=True)

    def _rounding(self, shift: np.ndarray, beside: bool = False) -> float:
        """Return what one unit of rounding in each prediction and each derivative may change the slope by."""
        return self._at_least(self._slope_sizes + self.over.slope_blur(self._plain(shift), beside), shift)

    def _at_least(self, units: float, shift: Any) -> float:
        """Return so many units of rounding, or so little that it changes no objective.

        Where all derivatives all but vanish, so does their rounding, and a search would never end.
        """
        size = max(self.over.size, self.over.largest)  # no step is shorter than the resolution of the largest one
        least = EPSILON * self.smoothness * (size + float(np.abs(shift).sum()))
        units = max(units, least)
        return EPSILON * units if np.isfinite(units) else 0.0

    def _plain(self, shift: np.ndarray) -> Any:
        """Return the shift in the shape of one prediction."""
        return shift if self.over.outputs else float(shift[0])

    def _slope(self, shift: float) -> tuple[float, float, float]:
        """Slope and curvature in the intercept of one output, and the slope's rounding."""
        slope, curve, units = self.over.slope_and_curvature(shift)
        return slope, curve, self._at_least(units, shift)

    def sums(self, shift: np.ndarray) -> Sums:
        """Value and slope; losses and derivatives are filled in."""
        if self._at is None or not np.array_equal(self._at[0], shift):
            value, slope, self._slope_sizes = self.over.evaluate(self._plain(shift))
            self._at = shift.copy(), Sums(value, slope, self._rounding(shift), self._noise(abs(value), shift))
        return self._at[1]

    def _noise(self, value: float, shift: Any) -> float:
        """Return what rounding may change the objective by: derivatives are at most ``sqrt(2 smoothness f)``."""
        blur = self.over.spread + float(np.abs(shift).max())
        found = EPSILON * (value + (2.0 * self.smoothness * value) ** 0.5 * blur)
        return found if np.isfinite(found) else 0.0

    def _hessian(self, shift: np.ndarray) -> np.ndarray:
        """Second derivative in the intercept."""
        if self.over.outputs:
            return self.over.hessian(shift)
        return np.array([[self._slope(float(shift[0]))[1]]])
