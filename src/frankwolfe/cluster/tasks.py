"""What is done with a part of the data: functions that a `Cluster` runs on all of them, and adds up."""

from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.cluster.handles import Handle
from frankwolfe.cluster.parts import Part
from frankwolfe.cluster.recipes import DenseWeights, SparseWeights
from frankwolfe.linalg.matrices import dot_difference, sum_of_sizes
from frankwolfe.objective.prediction_sums import PredictionSums
from frankwolfe.rows.centred import Centred


def gradient(part: Part, posed: Handle, alpha: Handle) -> tuple:
    """Return ``X' alpha``."""
    return (part.get(posed).gradient(part.get(alpha)),)


def exact_pass(
    part: Part, posed: Handle, weights: SparseWeights | DenseWeights, z: Handle, point: Handle, since: Handle | None
) -> tuple:
    """Return objective, reach and gradient at some weights, and keep the predictions and the point there.

    Also the slope along the way from the predictions ``since``, if there is one.
    """
    objective = part.get(posed)
    if weights.any():
        at, gradient = objective.at(weights.dense())
    else:  # no row is needed to predict zero
        at = objective.point(objective.samples.table())
        gradient = objective.gradient(at.alpha)
    part.keep(z, at.z.reshape(objective.samples.shape))
    part.keep(point, at)
    slope = 0.0 if since is None else dot_difference(at.alpha, at.z, part.get(since).ravel())
    return at.value, at.reach(), slope, gradient


def evaluate(part: Part, point: Handle, z: Handle, way: tuple[Handle, Handle] | None, matrix: Handle | None) -> tuple:
    """Return what is asked of a point again and again, so that it costs no other call.

    The objective, its reach, the slope along a way between predictions if it is on one, and, where its predictions are
    a combination ``A u`` of active atoms, the slopes ``A' alpha`` along them.
    """
    at, plain = part.get(point), part.get(z)
    slope, slopes = 0.0, np.zeros(0)
    if way is not None:
        here, there = (part.get(end).ravel() for end in way)
        slope = dot_difference(at.alpha, there, here)
    if matrix is not None:
        slopes = part.get(matrix).project(at.alpha)
    return at.value, sum_of_sizes(at.alpha, plain.ravel()), slope, slopes


def slope_along(part: Part, point: Handle, here: Handle, there: Handle) -> tuple:
    """Return the slope of the objective at a point, along the way between predictions."""
    return (dot_difference(part.get(point).alpha, part.get(there).ravel(), part.get(here).ravel()),)


def rise(part: Part, posed: Handle, there: Handle, here: Handle) -> tuple:
    """Return how much higher the objective is at one point than at another."""
    return (part.get(posed).rise(part.get(there), part.get(here)),)


def reach_of(part: Part, alpha: Handle, z: Handle) -> tuple:
    """Return ``sum_i |alpha_i z_i|``."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (sum_of_sizes(part.get(alpha).ravel(), part.get(z).ravel()),)


def residuals(part: Part, posed: Handle, point: Handle, alpha: Handle) -> tuple:
    """Return the sum of Fenchel-Young residuals; see `frankwolfe.objective.objective.Objective.residuals`."""
    return (part.get(posed).residuals(part.get(point), part.get(alpha)),)


def conjugates(part: Part, posed: Handle, alpha: Handle) -> tuple:
    """Return the sum of conjugates, and of their sizes."""
    return part.get(posed).conjugates(part.get(alpha))


def uneven_slopes(part: Part, posed: Handle, point: Handle) -> tuple:
    """Return 1 unless the slopes of each sample sum to zero over the outputs."""
    return (0 if part.get(posed).only_differences(part.get(point)) else 1,)


def slope_sums(part: Part, alpha: Handle) -> tuple:
    """Return how many slopes are not finite, the sums over all samples, and the sum of sizes."""
    found = part.get(alpha)
    bad = np.count_nonzero(~np.isfinite(found))
    return float(bad), np.atleast_1d(found.sum(axis=0)), float(np.abs(found).sum())


def column_squares(part: Part, posed: Handle, shift: np.ndarray | None) -> tuple:
    """Return the squares of the columns' norms, rows counted by the size of their slopes, and the sum of these sizes.

    The slopes are those of the zero model, and of what a shift of the predictions may change them by. Without a shift
    rows are counted by their weights.
    """
    objective = part.get(posed)
    samples, loss = objective.samples, objective.samples.loss
    pulls = samples.weights
    if shift is not None:
        zero = objective.point(np.zeros(samples.shape))
        pulls = np.abs(zero.alpha.reshape(len(samples.weights), -1)).sum(axis=1)
        if loss.smooth:
            pulls = pulls + samples.weights * loss.smoothness() * np.abs(shift).max()
    return objective.column_norms(pulls) ** 2, float(pulls.sum())


def first_row(part: Part) -> np.ndarray:
    """Return the first row of a part, dense."""
    values: np.ndarray = part.chunks[0].matrix[0]
    return values.astype(np.float64)


def sum_less(part: Part, first: np.ndarray) -> tuple:
    """Return the weighted sum of all rows of dense chunks, less another row, and the sum of the weights."""
    found = np.zeros(len(first))
    for chunk in part.chunks:
        found += Centred(chunk.matrix, first).add_all(chunk.weights, len(first))
    return found, sum(float(chunk.weights.sum()) for chunk in part.chunks)


def some_rows(part: Part, every: int) -> Any:
    """Return one row in so many of a part, copied: an array or a CSR array."""
    found = [chunk.matrix[::every] for chunk in part.chunks]
    if isinstance(found[0], np.ndarray):
        return np.concatenate(found)
    return sparse.vstack(found, format="csr")


def facts(part: Part) -> dict[str, Any]:
    """Return what is to be known of a part before anything is done with it."""
    chunks = part.chunks
    return {
        "rows": sum(len(chunk.weights) for chunk in chunks),
        "weight": float(sum(chunk.weights.sum() for chunk in chunks)),
        "largest_weight": max((float(chunk.weights.max()) for chunk in chunks), default=0.0),
        "largest_target": max((float(chunk.targets.max()) for chunk in chunks), default=0.0),
        "target_columns": {chunk.targets.shape[1] if chunk.targets.ndim > 1 else 0 for chunk in chunks},
        "entries": sum(stored_entries(chunk.matrix) for chunk in chunks),
        "layouts": {isinstance(chunk.matrix, np.ndarray) for chunk in chunks},
        "types": {str(chunk.matrix.dtype) for chunk in chunks},
        "fingerprints": [chunk.fingerprint for chunk in chunks],
        "digest": part.digest,
        "bytes": sum(chunk.bytes for chunk in chunks),
    }


def stored_entries(matrix: Any) -> int:
    """Return the number of stored entries."""
    return int(matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz)


# --- the intercept ----------------------------------------------------------------------------------------------------


def sums_over(part: Part, posed: Handle, z: Handle) -> PredictionSums:
    """Return the sums of a part's samples, for given predictions."""
    objective = part.get(posed)
    samples = objective.samples
    return PredictionSums(samples, samples.loss, objective.over, part.get(z).reshape(samples.shape))


def prediction_facts(part: Part, posed: Handle, z: Handle) -> tuple:
    """Return mean, size and squares of a part's predictions, and the size of the largest."""
    sums = sums_over(part, posed, z)
    return sums.mean, sums.size, sums.spread**2, sums.largest


def intercept_slope(part: Part, posed: Handle, z: Handle, shift: float) -> tuple:
    """Return slope, curvature and units of rounding in a shift of all predictions."""
    return sums_over(part, posed, z).slope_and_curvature(shift)


def intercept_value(part: Part, posed: Handle, z: Handle, point: Handle, shift: Any, way: Any, matrix: Any) -> tuple:
    """Return objective, slope, sum of the slopes' sizes, and the two blurs of the slope, with a shift.

    After them, what `evaluate` tells of the point with that shift.
    """
    sums, at = sums_over(part, posed, z), part.get(point)
    slope, sizes = np.atleast_1d(at.alpha.reshape(sums.alpha.shape).sum(axis=0)), float(np.abs(at.alpha).sum())
    blurs = sums.slope_blur(shift, False), sums.slope_blur(shift, True)
    return slope, sizes, *blurs, *evaluate(part, point, z, way, matrix)


def intercept_hessian(part: Part, posed: Handle, z: Handle, shift: np.ndarray) -> tuple:
    """Return the second derivative in a shift."""
    return (sums_over(part, posed, z).hessian(shift),)


def mean_target(part: Part, posed: Handle) -> tuple:
    """Return the weighted sum of the targets."""
    samples = part.get(posed).samples
    return (samples.weights @ samples.targets,)
