"""Recipes of second derivatives of losses of several outputs, and of slopes after a move, on a cluster."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.cluster.handles import Handle
from frankwolfe.cluster.parts import Part
from frankwolfe.engines.corrective.output_curvatures import coupled_at


class CoupledAt(NamedTuple):
    """A weighted second derivative for each sample, a small matrix: see `coupled_curvatures`."""

    posed: Handle
    point: Handle
    care: float
    floor: float

    def make(self, part: Part) -> np.ndarray:
        """Return them, of shape ``(n, outputs, outputs)``."""
        samples = part.get(self.posed).samples
        return coupled_at(samples, samples.loss, part.get(self.point), self.care, self.floor)


class DiagonalMatrices(NamedTuple):
    """Curvatures of several outputs, one a prediction, as diagonal matrices."""

    posed: Handle
    curvatures: Handle

    def make(self, part: Part) -> np.ndarray:
        """Return them, of shape ``(n, outputs, outputs)``."""
        shape = part.get(self.posed).samples.shape
        return part.get(self.curvatures).reshape(shape)[:, :, None] * np.eye(shape[1])


class MovedSlopes(NamedTuple):
    """Slopes after a move of the predictions, to first order; see `frankwolfe.engines.dual_bound.slopes_after`.

    ``shift`` is what the intercept follows by.
    """

    alpha: Handle
    curvatures: Handle
    ahead: Handle
    shift: Any

    def make(self, part: Part) -> np.ndarray:
        """Return them."""
        alpha, curvatures, ahead = (part.get(handle) for handle in (self.alpha, self.curvatures, self.ahead))
        moved = ahead.reshape(alpha.shape) - self.shift
        return alpha + (curvatures * moved if curvatures.ndim == 1 else np.einsum("icd,id->ic", curvatures, moved))


def bent_sums(part: Part, curvatures: Handle, ahead: Handle) -> tuple:
    """Return the sums over samples of curvatures times a change of predictions, and of the curvatures."""
    D, change = part.get(curvatures), part.get(ahead)
    if D.ndim == 1:
        return float(D @ change.ravel()), float(D.sum())
    return np.einsum("icd,id->c", D, change.reshape(D.shape[:2])), D.sum(axis=0)
