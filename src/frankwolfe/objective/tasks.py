"""Tasks of the objective: sums over rows or samples, and vectors with an entry for each sample.

A task is a function of a `Local` (see `frankwolfe.shards.local`). Conventions: predictions ``z`` exclude the
intercept; ``shift`` is the intercept (a number, an array for several outputs, or None); losses are never a
`ShiftedLoss`; ``alpha`` are weighted derivatives, also called slopes. Vectors are flat or in the shape of the targets.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from frankwolfe.arguments.types import Loss, Weights
from frankwolfe.linalg.matrices import dot_difference, sum_of_sizes
from frankwolfe.losses.base import many
from frankwolfe.objective.offset import centres
from frankwolfe.shards.local import DataBlock, Local

EPSILON = float(np.finfo(np.float64).eps)


def shifted_by(local: Local, z: np.ndarray, shift: Any) -> np.ndarray:
    """Return predictions with the intercept, in the shape of the targets."""
    z = z.reshape(local.samples.shape)
    if shift is None:
        return z
    return z + (shift if z.ndim > 1 else np.ravel(shift)[0])


def over_samples(local: Local, function: Callable, *vectors: np.ndarray) -> tuple:
    """Call ``function(targets, weights, loss, *vectors)`` for each part of the samples; return the sums."""
    (_, targets, weights, _), loss = local.samples, local.losses

    def call(part: slice) -> tuple:
        found = function(targets[part], weights[part], loss, *(vector[part] for vector in vectors))
        return found if isinstance(found, tuple) else () if found is None else (found,)

    return local.over(call)


# --- rows -------------------------------------------------------------------------------------------------------------


def zeros(local: Local) -> np.ndarray:
    """Return zeros, one for each prediction."""
    return local.samples.table()


def predict(local: Local, w: Weights) -> np.ndarray:
    """Return the predictions ``X w``; for zero weights without reading a row."""
    z = local.samples.table()
    if isinstance(w, np.ndarray) and not w.any():
        return z

    def fill(block: DataBlock) -> tuple:
        z[block.part] = block.samples.rows.dot_all(w)
        return ()

    local.each(fill)
    return z


def gradient(local: Local, alpha: np.ndarray) -> tuple:
    """Return ``X' alpha``, flat."""
    alpha = alpha.reshape(local.samples.shape)

    def add(block: DataBlock) -> tuple:
        return (np.asarray(block.samples.rows.add_all(alpha[block.part], local.size), np.float64),)

    return local.each(add)


def exact_pass(local: Local, w: Weights, since: np.ndarray | None = None, more: bool = False) -> tuple:
    """Return predictions, losses, slopes, objective, two extras and the gradient at the weights ``w``.

    The extras are ``sum_i |alpha_i z_i|`` (NaN unless ``more``) and, given predictions ``since``, the directional
    derivative along the segment from ``since`` (else 0).
    """
    z, losses, alpha = local.samples.table(), np.empty(len(local.samples.weights)), local.samples.table()
    loss = local.losses
    moves = not isinstance(w, np.ndarray) or bool(w.any())  # else predictions are zero

    def fill(block: DataBlock) -> tuple:
        part, (rows, targets, weights, _) = block
        if moves:
            z[part] = rows.dot_all(w)
        value = evaluate_losses(targets, weights, loss, z[part], losses[part], alpha[part])
        return value, np.asarray(rows.add_all(alpha[part], local.size), np.float64)  # while the rows are in cache

    value, slopes = local.each(fill)
    reach = sum_of_sizes(alpha.ravel(), z.ravel()) if more else np.nan
    along = 0.0 if since is None else dot_difference(alpha.ravel(), z.ravel(), since.ravel())
    return z, losses, alpha, value, reach, along, slopes


def column_squares(local: Local, weights: np.ndarray | None = None) -> tuple:
    """Return ``sum_i weights_i x_ij^2`` for all columns ``j``; by default with the samples' weights."""
    counted = local.samples.weights if weights is None else weights

    def add(block: DataBlock) -> tuple:
        return (block.samples.rows.column_norms(counted[block.part], local.size) ** 2,)

    with np.errstate(over="ignore", invalid="ignore"):  # overflow shows in the objective
        return local.each(add)


def rounding_squares(local: Local, shift: np.ndarray, curvature: float) -> tuple:
    """Return ``sum_i s_i x_ij^2`` for all columns ``j``, and ``sum_i s_i``.

    ``s_i`` is the size of sample ``i``'s slope at zero weights and zero intercept, plus a bound on how much the
    intercept ``shift`` changes it.
    """
    samples = local.samples
    _, alpha, *_ = evaluate(local, samples.table(), None)
    sizes = np.abs(alpha.reshape(len(samples.weights), -1)).sum(axis=1)
    if samples.loss.smooth:  # slopes of a kinked loss are piecewise constant in the intercept
        sizes += samples.weights * curvature * np.abs(shift).max()
    return *column_squares(local, sizes), float(sizes.sum())


def zero_value(local: Local) -> tuple:
    """Return the objective at zero weights and zero intercept. Reads no row."""
    return (evaluate(local, local.samples.table(), None)[2],)


# --- predictions ------------------------------------------------------------------------------------------------------


def evaluate(
    local: Local,
    z: np.ndarray,
    shift: Any,
    ends: tuple[np.ndarray, np.ndarray] | None = None,
    atoms: Any = None,
    more: bool = False,
) -> tuple:
    """Return losses, slopes, objective and three extras at the predictions ``z``.

    The extras are ``sum_i |alpha_i z_i|`` (NaN unless ``more``); the directional derivative along the segment between
    the two predictions ``ends`` (0 without); and ``A' alpha`` if ``z = A u`` combines active ``atoms`` (else empty).
    """
    losses, alpha = np.empty(len(local.samples.weights)), np.empty(local.samples.shape)
    value, flat = over_samples(local, evaluate_losses, shifted_by(local, z, shift), losses, alpha)[0], alpha.ravel()
    reach = sum_of_sizes(flat, z.ravel()) if more else np.nan
    along = 0.0 if ends is None else dot_difference(flat, ends[1].ravel(), ends[0].ravel())
    return losses, alpha, value, reach, along, np.zeros(0) if atoms is None else atoms.project(flat)


def combine(local: Local, atoms: Any, u: np.ndarray) -> np.ndarray:
    """Return the predictions ``A u`` of a combination of active atoms."""
    return atoms.predict(u).reshape(local.samples.shape)


def mix(local: Local, z: np.ndarray, ahead: np.ndarray, gamma: float) -> np.ndarray:
    """Return ``z + gamma ahead``."""
    return z + gamma * ahead.reshape(z.shape)


def difference(local: Local, there: np.ndarray, here: np.ndarray) -> np.ndarray:
    """Return the difference of two vectors."""
    return there - here.reshape(there.shape)


def scale(local: Local, z: np.ndarray, factor: float) -> np.ndarray:
    """Return ``factor`` times the predictions."""
    return factor * z


def inner(local: Local, one: np.ndarray, other: np.ndarray) -> tuple:
    """Return the inner product of two vectors."""
    return (float(one.ravel() @ other.ravel()),)


def sizes(local: Local, one: np.ndarray, other: np.ndarray) -> tuple:
    """Return ``sum_i |a_i b_i|``."""
    with np.errstate(over="ignore", invalid="ignore"):  # overflow shows in the objective
        return (sum_of_sizes(one.ravel(), other.ravel()),)


def increase(local: Local, there: np.ndarray, here: np.ndarray) -> tuple:
    """Return the increase of the objective between two points, given their losses, summed sample by sample."""
    return (float(local.samples.weights @ (there - here)),)


def line_sums(local: Local, z: np.ndarray, ahead: np.ndarray, shift: Any, gamma: float) -> tuple:
    """Return the objective, and its first and second derivative in ``gamma``, at ``z + gamma ahead``."""
    (_, targets, weights, _), loss, shape = local.samples, local.losses, local.samples.shape
    there, ahead = shifted_by(local, z.reshape(shape) + gamma * ahead.reshape(shape), shift), ahead.reshape(shape)

    def add(part: slice) -> tuple:
        at, q, y, p = there[part], ahead[part], targets[part], weights[part]
        bent = loss.curvature(at, y) * q if len(shape) == 1 else loss.hessian_product(at, y, q)
        slopes, bends = ((q * found).reshape(len(q), -1).sum(axis=1) for found in (loss.derivative(at, y), bent))
        return float(p @ loss.value(at, y)), float(p @ slopes), float(p @ bends)

    with np.errstate(over="ignore", invalid="ignore"):  # overflow shows in the objective
        return local.over(add)


def weighted_squares(local: Local, ahead: np.ndarray) -> tuple:
    """Return the weighted sum of the squares of a vector."""
    return (float(local.samples.weights @ (ahead.reshape(len(local.samples.weights), -1) ** 2).sum(axis=1)),)


def curvatures(
    local: Local, z: np.ndarray, shift: Any, losses: np.ndarray, alpha: np.ndarray, damping: float, floor: float
) -> np.ndarray:
    """Return weighted second derivatives, flat, one per prediction; see `fill_curvatures`."""
    found, there = np.empty(local.samples.shape), shifted_by(local, z, shift)
    if found.ndim == 1:
        fill = partial(fill_curvatures, damping=damping, floor=floor)
        over_samples(local, fill, there, losses, alpha.reshape(found.shape), found)
    else:
        over_samples(local, partial(fill_output_curvatures, floor=floor), there, found)
    return found.ravel()


def largest_curvature(local: Local, z: np.ndarray, shift: Any, losses: np.ndarray, alpha: np.ndarray) -> tuple:
    """Return a list of one number: the largest curvature at a point."""
    found = curvatures(local, z, shift, losses, alpha, 0.0, 0.0).reshape(len(losses), -1)
    weights = local.samples.weights[:, None]
    return ([float(np.max(np.divide(found, weights, out=np.zeros_like(found), where=weights > 0.0)))],)


# --- slopes -----------------------------------------------------------------------------------------------------------


def residuals(local: Local, z: np.ndarray, shift: Any, alpha: np.ndarray) -> tuple:
    """Return the weighted sum of the Fenchel-Young residuals of ``alpha`` at predictions ``z``."""
    return over_samples(local, sum_residuals, shifted_by(local, z, shift), alpha.reshape(local.samples.shape))


def conjugates(local: Local, alpha: np.ndarray) -> tuple:
    """Return ``sum_i p_i f_i*(alpha_i / p_i)``, and the sum of its absolute terms."""
    return over_samples(local, sum_conjugates, alpha)


def nearest_slopes(local: Local, alpha: np.ndarray) -> np.ndarray:
    """Return ``alpha`` with each slope outside the domain of its conjugate moved to a nearby slope inside."""
    nearest = np.empty(local.samples.shape)
    over_samples(local, project_slopes, alpha, nearest)
    return nearest


def slope_sums(local: Local, alpha: np.ndarray) -> tuple:
    """Return the number of non-finite slopes, the sum of slopes over the samples, and the sum of absolute values."""
    infinite = np.count_nonzero(~np.isfinite(alpha))
    if infinite:
        return float(infinite), np.zeros(alpha.shape[1] if alpha.ndim > 1 else 1), np.inf
    return 0.0, np.atleast_1d(alpha.sum(axis=0)), float(np.abs(alpha).sum())


def uneven_slopes(local: Local, alpha: np.ndarray) -> tuple:
    """Return the number of samples whose slopes do not sum to zero over the outputs."""
    alpha = alpha.reshape(local.samples.shape)
    return (int(np.count_nonzero(~(np.abs(alpha.sum(axis=1)) <= 1e-12 * np.abs(alpha).sum(axis=1)))),)


# --- the intercept ----------------------------------------------------------------------------------------------------


def prediction_facts(local: Local, z: np.ndarray) -> tuple:
    """Return weighted sums of ``z`` and ``|z|`` and, in lists of length one, ``sqrt(sum p z^2)`` and ``max |z|``."""
    weights, rows = local.samples.weights, z.reshape(len(local.samples.weights), -1)
    with np.errstate(over="ignore"):  # overflow shows in the objective
        root = float(np.linalg.norm(np.sqrt(weights)[:, None] * rows))
    size = np.abs(rows)
    return weights @ rows, float(weights @ size.sum(axis=1)), [root], [float(size.max(initial=0.0))]


def mean_target(local: Local) -> tuple:
    """Return the weighted sum of the targets less their offsets."""
    return (local.samples.weights @ centres(local.samples.targets),)


def intercept_slope(local: Local, z: np.ndarray, shift: float) -> tuple:
    """Return first and second derivative in a scalar intercept, and the rounding error in units of `EPSILON`."""
    return over_samples(local, partial(slope_and_curvature, shift=shift), z.reshape(local.samples.shape))


def intercept_blur(local: Local, z: np.ndarray, shift: Any, beside: bool) -> tuple:
    """Return the change of the derivative in the intercept if each prediction changes by its own size."""
    return over_samples(local, partial(slope_blur, shift=shift, beside=beside), z.reshape(local.samples.shape))


def intercept_value(
    local: Local,
    z: np.ndarray,
    shift: Any,
    ends: tuple[np.ndarray, np.ndarray] | None = None,
    atoms: Any = None,
    more: bool = False,
) -> tuple:
    """Return losses, slopes, the sum of slopes, the sum of absolute slopes; then objective and extras of `evaluate`.

    The last two results are those of `intercept_blur` for ``beside`` False and True (zero unless ``more``).
    """
    losses, alpha, *found = evaluate(local, z, shift, ends, atoms, more)
    blurs = [intercept_blur(local, z, shift, beside)[0] for beside in (False, True)] if more else (0.0, 0.0)
    return losses, alpha, np.atleast_1d(alpha.sum(axis=0)), float(np.abs(alpha).sum()), *found, *blurs


def intercept_hessian(local: Local, z: np.ndarray, shift: np.ndarray) -> tuple:
    """Return the second derivative in the intercept, for several outputs."""
    return over_samples(local, sum_second_derivatives, shifted_by(local, z, shift))


# --- functions of some samples ----------------------------------------------------------------------------------------
#
# ``loss`` is a loss, or a `frankwolfe.losses.base.LossArrays` if the caller has chosen NumPy or kernels. Arrays
# have an entry per sample, or a row per sample for several outputs.


def weighted(weights: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Multiply the entry, or the row, of each sample by its weight, in place."""
    found *= weights if found.ndim == 1 else weights[:, None]
    return found


def per_weight(alpha: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Divide the entry, or the row, of each sample by its weight; zero for samples without weight."""
    divisors = weights if alpha.ndim == 1 else weights[:, None]
    return np.divide(alpha, divisors, out=np.zeros(alpha.shape), where=divisors > 0.0)


def evaluate_losses(targets, weights, loss: Loss, z, losses, alpha) -> float:
    """Fill in the losses and the weighted derivatives at the predictions ``z``; return the objective there."""
    many(loss).fill_values_and_derivatives(z, targets, losses, alpha)
    weighted(weights, alpha)
    return float(weights @ losses)


def slope_and_curvature(targets, weights, loss: Loss, z, shift) -> tuple[float, float, float]:
    """Return first and second derivative in a scalar intercept, and the rounding error of the first in `EPSILON`.

    NumPy sums pairwise, so the rounding of the sum stays below the rounding of its terms.
    """
    slopes = weighted(weights, many(loss).derivative(z + shift, targets))
    curvatures = weighted(weights, many(loss).curvature(z + shift, targets))
    units = np.abs(slopes).sum() + np.abs(curvatures) @ prediction_sizes(loss, z, shift)
    return float(slopes.sum()), float(curvatures.sum()), float(units)


def prediction_sizes(loss: Loss, z, shift) -> np.ndarray:
    """Return the sizes of predictions, whose rounding changes slopes; those of logarithms are one at least.

    The exponential of a logarithm near zero is near one, and rounded as such.
    """
    return np.abs(z) + np.abs(shift) + float(many(loss).loss.log_link)


def slope_blur(targets, weights, loss: Loss, z, shift, beside: bool) -> float:
    """Return ``sum_i p_i |f''(z_i)| |z_i|``: the change of the slope if each prediction changes by its own size.

    With ``beside``, use the largest curvature within four units of rounding around each prediction.
    """
    size, there = prediction_sizes(loss, z, shift), z + shift
    changes = [np.abs(many(loss).curvature(there, targets)) * size]
    if beside:
        low, high = there - 4.0 * EPSILON * size, there + 4.0 * EPSILON * size
        changes += [np.abs(many(loss).curvature(end, targets)) * size for end in (low, high)]
    return float(weights @ np.max([change.reshape(len(z), -1).sum(axis=1) for change in changes], axis=0))


def second_derivatives(targets, weights, loss: Loss, z) -> np.ndarray:
    """Return the weighted second derivatives of a loss of several outputs: shape ``(n, outputs, outputs)``."""
    found, unit = np.empty((*z.shape, z.shape[1])), np.zeros(z.shape)
    for c in range(z.shape[1]):
        unit[:, c] = weights
        found[:, c] = many(loss).hessian_product(z, targets, unit)
        unit[:, c] = 0.0
    return found


def sum_second_derivatives(targets, weights, loss: Loss, z) -> np.ndarray:
    """Return the sum of the weighted second derivatives of a loss of several outputs."""
    return second_derivatives(targets, weights, loss, z).sum(axis=0)


def fill_curvatures(targets, weights, loss: Loss, z, losses, alpha, curvatures, damping: float, floor: float) -> None:
    """Fill ``curvatures`` with ``p_i max(|f''|, floor, damping f'^2 / (2 f))`` at the predictions ``z``.

    The last term is damping for points far from the optimum. There a logistic loss may have a large slope but hardly
    any curvature, and Newton steps would be too long. ``f'^2 / (2 f)`` is the curvature of the parabola that touches
    the loss at ``z`` and has the minimum zero. For a squared loss it equals ``f''``. ``damping`` is between 0 and 1.
    """
    size = many(loss).curvature(z, targets)
    np.maximum(np.abs(size, out=size), floor, out=size)
    if damping > 0.0:
        with np.errstate(all="ignore"):
            parabola = alpha / weights
            parabola *= parabola
            parabola *= 0.5 * damping
            parabola /= losses
        parabola[~(losses > 0.0)] = 0.0
        np.fmax(size, parabola, out=size)  # NaN if a sample has no weight
    np.multiply(weights, size, out=curvatures)


def fill_output_curvatures(targets, weights, loss: Loss, z, curvatures, floor: float) -> None:
    """Fill ``curvatures`` with diagonal upper bounds on the weighted second derivatives, for several outputs."""
    curvatures[:] = weighted(weights, np.maximum(many(loss).curvature(z, targets), floor))


def fill_coupled_curvatures(targets, weights, loss, z, losses, alpha, damping, floor, curvatures) -> None:
    """Fill ``curvatures`` with weighted second derivatives, a matrix per sample, for losses of several outputs.

    ``floor`` is added to the diagonal of samples whose diagonal entries are all below it. Other samples may have flat
    directions. Along the slope of each sample, the curvature is at least ``damping f'^2 / (2 f)``, see
    `fill_curvatures`.
    """
    curvatures[:] = second_derivatives(targets, weights, loss, z)
    diagonal = np.einsum("icc->ic", curvatures)
    lifted = np.where(diagonal.max(axis=1) < weights * floor, weights * floor, 0.0)
    squares = np.einsum("ic,ic->i", alpha, alpha)
    steep = (losses > 0.0) & (weights > 0.0) & (squares > 1e-250)  # smaller squares lose digits to underflow
    if damping > 0.0 and steep.any():
        squares, slopes = squares[steep], alpha[steep]
        along = np.einsum("ic,icd,id->i", slopes, curvatures[steep], slopes) / squares
        missing = 0.5 * damping * squares / (weights[steep] * losses[steep]) - along
        curvatures[steep] += (np.maximum(missing, 0.0) / squares)[:, None, None] * slopes[:, :, None] * slopes[:, None]
    diagonal += lifted[:, None]


def sum_residuals(targets, weights, loss: Loss, z, alpha) -> float:
    """Return the weighted sum of the Fenchel-Young residuals; infinite if a sample of weight zero has a slope."""
    if alpha[weights <= 0.0].any():  # slopes may come from a problem with other weights
        return np.inf
    residuals = many(loss).residual(z, targets, per_weight(alpha, weights))
    return float(weights @ np.where(weights > 0.0, residuals, 0.0))


def project_slopes(targets, weights, loss: Loss, alpha, nearest) -> None:
    """Fill ``nearest`` with ``alpha``, where slopes outside the conjugate's domain are moved to its boundary."""
    slopes = per_weight(alpha, weights)
    nearest[:] = np.where((weights > 0.0).reshape(-1, *[1] * (alpha.ndim - 1)), alpha, 0.0)
    outside = np.isinf(many(loss).conjugate(slopes, targets)) & (weights > 0.0)
    nearest[outside] = weighted(weights, many(loss).nearest_slope(slopes, targets))[outside]


def sum_conjugates(targets, weights, loss: Loss, alpha) -> tuple[float, float]:
    """Return ``sum_i p_i f_i*(alpha_i / p_i)`` and the sum of its absolute terms; infinite outside the domain."""
    if alpha[weights <= 0.0].any():
        return np.inf, np.inf
    terms = np.where(weights > 0.0, many(loss).conjugate(per_weight(alpha, weights), targets), 0.0)
    return float(weights @ terms), float(weights @ np.abs(terms))
