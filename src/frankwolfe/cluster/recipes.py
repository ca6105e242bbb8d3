"""Recipes of the vectors that parts keep: predictions, the point with them, slopes, curvatures."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.cluster.handles import Handle
from frankwolfe.objective.point import Point


class SparseWeights(NamedTuple):
    """Weights by those that are not zero: what travels."""

    size: int
    support: np.ndarray
    values: np.ndarray

    def dense(self) -> np.ndarray:
        """Return all weights."""
        w = np.zeros(self.size)
        w[self.support] = self.values
        return w

    def any(self) -> bool:
        """Whether any weight is not zero."""
        return bool(len(self.support))


class DenseWeights(NamedTuple):
    """All weights."""

    values: np.ndarray

    def dense(self) -> np.ndarray:
        """Return all weights."""
        return self.values

    def any(self) -> bool:
        """Whether any weight is not zero."""
        return bool(self.values.any())


def packed(w: np.ndarray) -> SparseWeights | DenseWeights:
    """Return weights in the form that takes fewer bytes.

    Examples
    --------
    >>> packed(np.array([0.0, 0.0, 3.0, 0.0])).support
    array([2])
    """
    support = np.flatnonzero(w)
    return SparseWeights(len(w), support, w[support]) if 2 * len(support) < len(w) else DenseWeights(w.copy())


class Prediction(NamedTuple):
    """Predictions of weights, without an intercept."""

    posed: Handle
    weights: SparseWeights | DenseWeights

    def make(self, part: Any) -> np.ndarray:
        """Return them, in the shape of the targets."""
        objective = part.get(self.posed)
        if not self.weights.any():
            return np.zeros(objective.samples.shape)
        return objective.predict(self.weights.dense())


class Combination(NamedTuple):
    """Recipe of the predictions of a combination of atoms."""

    posed: Handle
    matrix: Handle
    u: np.ndarray

    def make(self, part: Any) -> np.ndarray:
        """Return them, in the shape of the targets."""
        return part.get(self.matrix).predict(self.u).reshape(part.get(self.posed).samples.shape)


class Mixture(NamedTuple):
    """Predictions on the way from some to others."""

    here: Handle
    there: Handle
    gamma: float

    def make(self, part: Any) -> np.ndarray:
        """Return them."""
        here = part.get(self.here)
        return here + self.gamma * (part.get(self.there).reshape(here.shape) - here)


class Scaled(NamedTuple):
    """Predictions times a factor."""

    z: Handle
    factor: float

    def make(self, part: Any) -> np.ndarray:
        """Return them."""
        return self.factor * part.get(self.z)


class Sum(NamedTuple):
    """The sum of predictions."""

    one: Handle
    other: Handle

    def make(self, part: Any) -> np.ndarray:
        """Return it."""
        one = part.get(self.one)
        return one + part.get(self.other).reshape(one.shape)


class Zeros(NamedTuple):
    """Zeros, one for each prediction."""

    posed: Handle

    def make(self, part: Any) -> np.ndarray:
        """Return them."""
        return np.zeros(part.get(self.posed).samples.shape)


class Evaluated(NamedTuple):
    """The point with some predictions, to which a shift is added."""

    posed: Handle
    z: Handle
    shift: np.ndarray | None

    def make(self, part: Any) -> Point:
        """Return it; its predictions have the shift in them."""
        objective = part.get(self.posed)
        z = part.get(self.z).reshape(objective.samples.shape)
        if self.shift is not None:
            z = z + (self.shift if z.ndim > 1 else self.shift[0])
        return objective.point(z)


class Slopes(NamedTuple):
    """Weighted derivatives at a point."""

    posed: Handle
    point: Handle

    def make(self, part: Any) -> np.ndarray:
        """Return them, in the shape of the targets."""
        return part.get(self.point).alpha.reshape(part.get(self.posed).samples.shape)


class CurvaturesAt(NamedTuple):
    """Weighted curvatures at a point, a prediction: see `frankwolfe.objective.objective.Objective.curvatures`."""

    posed: Handle
    point: Handle
    care: float
    floor: float

    def make(self, part: Any) -> np.ndarray:
        """Return them, flat."""
        return part.get(self.posed).curvatures(part.get(self.point), self.care, self.floor)
