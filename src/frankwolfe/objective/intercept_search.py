"""The best intercept for given predictions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frankwolfe.data.rows import Samples
from frankwolfe.objective.intercept import EPSILON, NOISE, Sums, bracketed_root, trust_region
from frankwolfe.objective.point import Guess, Point, ZeroModel
from frankwolfe.objective.sums import add_second_derivatives, evaluate_losses, slope_and_curvature, slope_blur

QUICK_ROUNDS = 60
"""Rounds after which a search for an intercept is begun anew from afar; from an ordinary start less than ten do."""

Over = Callable[[Callable[[slice], tuple]], tuple]
"""Runs a task for the samples of each block and adds up what it returns."""


class InterceptSearch:
    """The objective as a function of the intercept, for given predictions."""

    def __init__(self, samples: Samples, over: Over, z: np.ndarray):
        self.samples, self._over, self.z = samples, over, z
        self.weights, self.loss = samples.weights, samples.loss.base
        self.losses, self.alpha = np.empty(len(self.weights)), np.empty(samples.shape)
        self.mean = np.atleast_1d(self.weights @ z)
        self.size = float(self.weights @ np.abs(z).reshape(len(z), -1).sum(axis=1))
        with np.errstate(over="ignore"):  # what overflows shows in the objective
            self.spread = float(np.linalg.norm(np.sqrt(self.weights)[:, None] * z.reshape(len(z), -1)))
        self.smoothness = float(self.loss.smoothness())
        self._at: tuple[np.ndarray, Sums] | None = None

    def best(self, before: Point | Guess | ZeroModel | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the best intercept, or for a loss that is not convex a stationary one that is no worse than the start.

        Where a point close by is known, its intercept moves with the mean prediction, as it would on centred data.
        """
        if before is not None and before.shift is not None and before.mean is not None:
            start = before.shift + (before.mean - self.mean)
        else:
            start = self._first()
        curve = None if before is None else before.curve
        if self.z.ndim == 1 and self.loss.convex:
            return np.array([bracketed_root(self._slope, float(start[0]))]), None
        least = EPSILON**2 * float(np.abs(self.z).max(initial=0.0))  # less changes no prediction, large or small
        found = trust_region(self.sums, self._hessian, start, curve, QUICK_ROUNDS, least)
        if not self.is_level(found[0]):
            found = trust_region(self.sums, self._hessian, self._from_afar(found[0]), resolution=least)
        return found

    def _from_afar(self, start: np.ndarray) -> np.ndarray:
        """Return about the best intercept where predictions are far apart: that of the same problem on a smaller scale.

        A multinomial loss of predictions in the millions is flat between kinks, where Newton's method is lost. With
        predictions divided by their size it is smooth; from there the scale is taken back step by step.
        """
        scale = self.spread if self.loss.convex and np.isfinite(self.spread) else 0.0
        while scale > 1.0:
            near = InterceptSearch(self.samples, self._over, self.z / scale)
            start = scale * trust_region(near.sums, near._hessian, start / scale, most=QUICK_ROUNDS)[0]
            scale *= 0.1
        return start

    def _first(self) -> np.ndarray:
        """Return a first guess: predictions centred at zero or, for one output, at the mean target if that is lower."""
        centred = -self.mean
        if self.z.ndim > 1:
            return centred
        other = centred + self.weights @ self.samples.targets
        return other if self.sums(other).value < self.sums(centred).value else centred

    def is_level(self, shift: np.ndarray) -> bool:
        """Whether the slope is zero but for rounding, whose terms add up as a random walk does."""
        at, factor = self.sums(shift), NOISE + len(self.losses) ** 0.5
        steepest = float(np.abs(at.slope).max())
        # where the curvature jumps next to a prediction, that of the other side counts too
        return steepest <= factor * at.rounding or steepest <= factor * self._rounding(shift, beside=True)

    def _rounding(self, shift: np.ndarray, beside: bool = False) -> float:
        """Return what one unit of rounding in each prediction and each derivative may change the slope by."""
        plain = self._plain(shift)
        (blur,) = self._sum(slope_blur, plain, beside)
        return self._at_least(float(np.abs(self.alpha).sum() + blur), shift)

    def _sum(self, kernel: Any, *args: Any) -> tuple:
        """Return the sums of what a kernel returns for the samples of each block."""
        targets, weights, loss, z = self.samples.targets, self.weights, self.loss, self.z

        def task(part: slice) -> tuple:
            found = kernel(targets[part], weights[part], loss, z[part], *args)
            return found if isinstance(found, tuple) else (found,)

        return self._over(task)

    def _at_least(self, units: float, shift: Any) -> float:
        """Return so many units of rounding, or so little that it changes no objective.

        Where all derivatives all but vanish, so does their rounding, and a search would never end.
        """
        least = EPSILON * self.smoothness * (self.size + float(np.abs(shift).sum()))
        units = max(units, least)
        return EPSILON * units if np.isfinite(units) else 0.0

    def _plain(self, shift: np.ndarray) -> Any:
        """Return the shift in the shape of one prediction."""
        return shift if self.z.ndim > 1 else float(shift[0])

    def _slope(self, shift: float) -> tuple[float, float, float]:
        """Slope and curvature in the intercept of one output, and the slope's rounding."""
        slope, curve, units = self._sum(slope_and_curvature, shift)
        return float(slope), float(curve), self._at_least(float(units), shift)

    def sums(self, shift: np.ndarray) -> Sums:
        """Value and slope; losses and derivatives are filled in."""
        if self._at is None or not np.array_equal(self._at[0], shift):
            value = self._evaluate(self._plain(shift))
            slope, noise = np.atleast_1d(self.alpha.sum(axis=0)), self._noise(abs(float(value)), shift)
            self._at = shift.copy(), Sums(float(value), slope, self._rounding(shift), noise)
        return self._at[1]

    def _evaluate(self, shift: Any) -> float:
        """Fill in losses and derivatives with a shift; return the objective."""
        targets, weights, loss, z = self.samples.targets, self.weights, self.loss, self.z

        def task(part: slice) -> tuple:
            there = z[part] + shift
            return (evaluate_losses(targets[part], weights[part], loss, there, self.losses[part], self.alpha[part]),)

        return float(self._over(task)[0])

    def _noise(self, value: float, shift: Any) -> float:
        """Return what rounding may change the objective by: derivatives are at most ``sqrt(2 smoothness f)``."""
        blur = self.spread + float(np.abs(shift).max())
        found = EPSILON * (value + (2.0 * self.smoothness * value) ** 0.5 * blur)
        return found if np.isfinite(found) else 0.0

    def _hessian(self, shift: np.ndarray) -> np.ndarray:
        """Second derivative in the intercept."""
        if self.z.ndim == 1:
            return np.array([[self._slope(float(shift[0]))[1]]])
        targets, weights, loss, z = self.samples.targets, self.weights, self.loss, self.z

        def task(part: slice) -> tuple:
            total = np.zeros((len(shift), len(shift)))
            add_second_derivatives(targets[part], weights[part], loss, z[part] + shift, total)
            return (total,)

        return self._over(task)[0]
