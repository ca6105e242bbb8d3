"""Sums over samples on the workers, as the search for an intercept asks for them."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from frankwolfe.cluster import tasks
from frankwolfe.cluster.handles import Handle
from frankwolfe.cluster.recipes import Evaluated, Scaled

if TYPE_CHECKING:
    from frankwolfe.cluster.remote_objective import RemoteObjective


class RemoteSums:
    """The same as `frankwolfe.objective.prediction_sums.PredictionSums`; every question is a call to all parts.

    Parameters
    ----------
    objective : RemoteObjective
        Whose samples they are.
    z : Handle
        Predictions.
    way : pair of Handle, optional
        Predictions at both ends of a way, along which the slope will be asked for.

    Attributes
    ----------
    last : tuple or None
        Of the last shift that was evaluated: the point, the objective, its reach, the slope along the way.
    """

    def __init__(self, objective: "RemoteObjective", z: Handle, way: tuple[Handle, Handle] | None = None):
        self.objective, self.z, self.way = objective, z, way
        self.n, self.outputs = objective.samples.shape[0], objective.outputs
        self._blurs: dict[tuple[bytes, bool], float] = {}
        self.last: tuple[Handle, float, float, float] | None = None

    def _run(self, name: str, task: Any, *args: Any) -> tuple:
        return self.objective.cluster.run(name, task, self.objective.posed, self.z, *args)

    @cached_property
    def _facts(self) -> tuple:
        cluster = self.objective.cluster
        found = cluster.ask("predictions", tasks.prediction_facts, self.objective.posed, self.z)
        means, sizes, squares, largest = zip(*found, strict=True)
        return np.sum(means, axis=0), float(sum(sizes)), float(sum(squares)) ** 0.5, max(largest)

    @property
    def mean(self) -> np.ndarray:
        """Weighted mean of the predictions."""
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
        """Weighted mean of the targets."""
        return self.objective.cluster.run("targets", tasks.mean_target, self.objective.posed)[0]

    def slope_and_curvature(self, shift: float) -> tuple[float, float, float]:
        """First and second derivative in the shift, and the units of rounding."""
        slope, curve, units = self._run("intercept", tasks.intercept_slope, shift)
        return float(slope), float(curve), float(units)

    def slope_blur(self, shift: Any, beside: bool) -> float:
        """Return what the slope would change by if each prediction changed by its own size."""
        key = np.asarray(shift).tobytes(), beside
        if key not in self._blurs:
            self.evaluate(shift)
        return self._blurs[key]

    def evaluate(self, shift: Any) -> tuple[float, np.ndarray, float]:
        """Objective, slope, and the sum of the slopes' sizes."""
        point = self.objective.cluster.handle(Evaluated(self.objective.posed, self.z, np.atleast_1d(shift)))
        matrix = self.objective.matrix_of(self.z)
        found = self._run("intercept", tasks.intercept_value, point, shift, self.way, matrix)
        slope, (sizes, blur, beside, value, reach, along), slopes = found[0], map(float, found[1:-1]), found[-1]
        self.objective.note_slopes(matrix, point, slopes)
        key = np.asarray(shift).tobytes()
        self._blurs[key, False], self._blurs[key, True] = blur, beside
        self.last = point, value, reach, along
        return value, slope, sizes

    def hessian(self, shift: np.ndarray) -> np.ndarray:
        """Second derivative in the shift, of several outputs."""
        return self._run("intercept", tasks.intercept_hessian, shift)[0]

    def scaled(self, factor: float) -> "RemoteSums":
        """Return the same for predictions times a factor."""
        return RemoteSums(self.objective, self.objective.cluster.handle(Scaled(self.z, factor), self.z.shape))
