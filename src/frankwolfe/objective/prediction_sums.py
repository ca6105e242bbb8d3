"""Sums over all samples for given predictions, as functions of an intercept: all that a search for one needs."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.objective import tasks

if TYPE_CHECKING:
    from frankwolfe.objective.objective import Objective
    from frankwolfe.objective.segment import Segment


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

    def __init__(self, objective: "Objective", z: Any, segment: "Segment | None" = None):
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
