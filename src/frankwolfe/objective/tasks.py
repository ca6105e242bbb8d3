"""Tasks of the objective: sums over rows or samples, and vectors with an entry for each of them.

Each is a function of a `Local` (see `frankwolfe.shards.interface`). Predictions ``z`` are without
intercept, and ``shift`` is the intercept: a number, an array for several outputs, or None. Losses never have one of
their own here. Vectors may be flat or in the shape of the targets.
"""

from typing import Any

import numpy as np

from frankwolfe.linalg.matrices import dot_difference, sum_of_sizes
from frankwolfe.objective.sums import (
    add_second_derivatives,
    evaluate_losses,
    fill_curvatures,
    fill_output_curvatures,
    project_slopes,
    slope_and_curvature,
    slope_blur,
    sum_conjugates,
    sum_residuals,
)
from frankwolfe.shards.local import Block, Local


def shifted_by(local: Local, z: np.ndarray, shift: Any) -> np.ndarray:
    """Return predictions with the intercept, in the shape of the targets."""
    z = z.reshape(local.samples.shape)
    if shift is None:
        return z
    return z + (shift if z.ndim > 1 else np.ravel(shift)[0])


def entry(local: Local, found: tuple, k: int) -> Any:
    """Return one of the results of another task."""
    return found[k]


# --- rows -------------------------------------------------------------------------------------------------------------


def zeros(local: Local) -> np.ndarray:
    """Return zeros, one for each prediction."""
    return local.samples.table()


def predict(local: Local, w: Any) -> np.ndarray:
    """Return the predictions of some weights; those of zero without reading a row."""
    z = local.samples.table()
    if isinstance(w, np.ndarray) and not w.any():
        return z

    def fill(block: Block) -> tuple:
        z[block.part] = block.samples.rows.dot_all(w)
        return ()

    local.each(fill)
    return z


def gradient(local: Local, alpha: np.ndarray) -> tuple:
    """Return ``X' alpha``, flat."""
    alpha = alpha.reshape(local.samples.shape)

    def add(block: Block) -> tuple:
        return (np.asarray(block.samples.rows.add_all(alpha[block.part], local.size), np.float64),)

    return local.each(add)


def exact_pass(local: Local, w: Any, since: np.ndarray | None = None, more: bool = False) -> tuple:
    """Return predictions, losses and slopes at some weights; then objective, `evaluate`'s extras, and the gradient.

    With ``more`` the extras are the reach and, with predictions ``since``, the slope along the segment from there.
    """
    z, losses, alpha = local.samples.table(), np.empty(len(local.samples.weights)), local.samples.table()
    loss = local.losses
    if isinstance(w, np.ndarray) and not w.any():  # no row is needed to predict zero
        ends = None if since is None else (since, z)
        losses, alpha, *found = evaluate(local, z, None, ends, None, more)
        return z, losses, alpha, *found[:3], *gradient(local, alpha)

    def fill(block: Block) -> tuple:
        part, (rows, targets, weights, _) = block
        z[part] = rows.dot_all(w)
        value = evaluate_losses(targets, weights, loss, z[part], losses[part], alpha[part])
        return value, np.asarray(rows.add_all(alpha[part], local.size), np.float64)  # while the rows are in cache

    value, slopes = local.each(fill)
    reach = sum_of_sizes(alpha.ravel(), z.ravel()) if more else np.nan
    along = 0.0 if since is None else dot_difference(alpha.ravel(), z.ravel(), since.ravel())
    return z, losses, alpha, value, reach, along, slopes


def column_squares(local: Local, weights: np.ndarray | None = None) -> tuple:
    """Return the squares of the columns' norms, row ``i`` counted ``weights[i]`` times, by default by its weight."""
    counted = local.samples.weights if weights is None else weights

    def add(block: Block) -> tuple:
        return (block.samples.rows.column_norms(counted[block.part], local.size) ** 2,)

    with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
        return local.each(add)


def rounding_squares(local: Local, shift: np.ndarray, curvature: float) -> tuple:
    """Return the squares of the columns' norms, rows counted by the sizes of their slopes, and the sum of the sizes.

    The slopes are those of the zero model, plus what the rounding of an intercept may change them by.
    """
    samples = local.samples
    _, alpha, *_ = evaluate(local, samples.table(), None)
    sizes = np.abs(alpha.reshape(len(samples.weights), -1)).sum(axis=1)
    if samples.loss.smooth:  # elsewhere slopes do not depend on the intercept but by jumps
        sizes += samples.weights * curvature * np.abs(shift).max()
    return *column_squares(local, sizes), float(sizes.sum())


def zero_value(local: Local) -> tuple:
    """Return the objective of the zero model whose intercept is zero too. No row is read."""
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
    """Return losses and weighted slopes where predictions are ``z``, then the objective and extras.

    With ``more`` these are the reach ``sum_i |alpha_i z_i|``, the slope along the segment between two predictions if
    there are ``ends``, and, where predictions are a combination ``A u`` of active atoms, the slopes ``A' alpha``.
    """
    (_, targets, weights, _), loss = local.samples, local.losses
    losses, alpha, there = np.empty(len(weights)), np.empty(local.samples.shape), shifted_by(local, z, shift)

    def fill(part: slice) -> tuple:
        return (evaluate_losses(targets[part], weights[part], loss, there[part], losses[part], alpha[part]),)

    value, flat = local.over(fill)[0], alpha.ravel()
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
    """Return predictions times a factor."""
    return factor * z


def inner(local: Local, one: np.ndarray, other: np.ndarray) -> tuple:
    """Return the inner product of two vectors."""
    return (float(one.ravel() @ other.ravel()),)


def sizes(local: Local, one: np.ndarray, other: np.ndarray) -> tuple:
    """Return ``sum_i |a_i b_i|``."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
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

    with np.errstate(over="ignore", invalid="ignore"):  # what overflows shows in the objective
        return local.over(add)


def weighted_squares(local: Local, ahead: np.ndarray) -> tuple:
    """Return the weighted sum of the squares of a vector."""
    return (float(local.samples.weights @ (ahead.reshape(len(local.samples.weights), -1) ** 2).sum(axis=1)),)


def curvatures(
    local: Local, z: np.ndarray, shift: Any, losses: np.ndarray, alpha: np.ndarray, care: float, floor: float
) -> np.ndarray:
    """Return weighted curvatures, flat, one for each prediction; see `frankwolfe.objective.sums.fill_curvatures`."""
    (_, targets, weights, _), loss, there = local.samples, local.losses, shifted_by(local, z, shift)
    found, alpha = np.empty(local.samples.shape), alpha.reshape(local.samples.shape)

    def fill(part: slice) -> tuple:
        given = targets[part], weights[part], loss, there[part]
        if found.ndim == 1:
            fill_curvatures(*given, losses[part], alpha[part], care, floor, found[part])
        else:
            fill_output_curvatures(*given, floor, found[part])
        return ()

    local.over(fill)
    return found.ravel()


def largest_curvature(local: Local, z: np.ndarray, shift: Any, losses: np.ndarray, alpha: np.ndarray) -> tuple:
    """Return a list of one number: the largest curvature at a point."""
    found = curvatures(local, z, shift, losses, alpha, 0.0, 0.0).reshape(len(losses), -1)
    weights = local.samples.weights[:, None]
    return ([float(np.max(np.divide(found, weights, out=np.zeros_like(found), where=weights > 0.0)))],)


# --- slopes -----------------------------------------------------------------------------------------------------------


def residuals(local: Local, z: np.ndarray, shift: Any, alpha: np.ndarray) -> tuple:
    """Return the weighted sum of the Fenchel-Young residuals of some slopes."""
    (_, targets, weights, _), loss, there = local.samples, local.losses, shifted_by(local, z, shift)
    alpha = alpha.reshape(local.samples.shape)

    def add(part: slice) -> tuple:
        return (sum_residuals(targets[part], weights[part], loss, there[part], alpha[part]),)

    return local.over(add)


def conjugates(local: Local, alpha: np.ndarray) -> tuple:
    """Return ``sum_i p_i f_i*(alpha_i / p_i)``, and the sum of the sizes of its terms."""
    (_, targets, weights, _), loss = local.samples, local.losses
    return local.over(lambda part: sum_conjugates(targets[part], weights[part], loss, alpha[part]))


def nearest_slopes(local: Local, alpha: np.ndarray) -> np.ndarray:
    """Return slopes near ``alpha`` in the domains of their conjugates; the same where they are already."""
    (_, targets, weights, _), loss, nearest = local.samples, local.losses, np.empty(local.samples.shape)

    def fill(part: slice) -> tuple:
        project_slopes(targets[part], weights[part], loss, alpha[part], nearest[part])
        return ()

    local.over(fill)
    return nearest


def slope_sums(local: Local, alpha: np.ndarray) -> tuple:
    """Return how many slopes are not finite, their sums over the samples, and the sum of their sizes."""
    infinite = np.count_nonzero(~np.isfinite(alpha))
    if infinite:
        return float(infinite), np.zeros(alpha.shape[1] if alpha.ndim > 1 else 1), np.inf
    return 0.0, np.atleast_1d(alpha.sum(axis=0)), float(np.abs(alpha).sum())


def uneven_slopes(local: Local, alpha: np.ndarray) -> tuple:
    """Return how many samples have slopes that do not sum to zero over the outputs."""
    alpha = alpha.reshape(local.samples.shape)
    return (int(np.count_nonzero(~(np.abs(alpha.sum(axis=1)) <= 1e-12 * np.abs(alpha).sum(axis=1)))),)


# --- the intercept ----------------------------------------------------------------------------------------------------


def prediction_facts(local: Local, z: np.ndarray) -> tuple:
    """Return weighted sums of predictions and of their sizes; as lists of one, the root of squares and the largest."""
    weights, rows = local.samples.weights, z.reshape(len(local.samples.weights), -1)
    with np.errstate(over="ignore"):  # what overflows shows in the objective
        root = float(np.linalg.norm(np.sqrt(weights)[:, None] * rows))
    size = np.abs(rows)
    return weights @ rows, float(weights @ size.sum(axis=1)), [root], [float(size.max(initial=0.0))]


def mean_target(local: Local) -> tuple:
    """Return the weighted sum of the targets."""
    return (local.samples.weights @ local.samples.targets,)


def intercept_slope(local: Local, z: np.ndarray, shift: float) -> tuple:
    """Return first and second derivative in a shift of all predictions, of one output, and the units of rounding."""
    (_, targets, weights, _), loss = local.samples, local.losses
    z = z.reshape(local.samples.shape)
    return local.over(lambda part: slope_and_curvature(targets[part], weights[part], loss, z[part], shift))


def intercept_blur(local: Local, z: np.ndarray, shift: Any, beside: bool) -> tuple:
    """Return what the slope in a shift would change by if each prediction changed by its own size."""
    (_, targets, weights, _), loss = local.samples, local.losses
    z = z.reshape(local.samples.shape)
    return local.over(lambda part: (slope_blur(targets[part], weights[part], loss, z[part], shift, beside),))


def intercept_value(
    local: Local,
    z: np.ndarray,
    shift: Any,
    ends: tuple[np.ndarray, np.ndarray] | None = None,
    atoms: Any = None,
    more: bool = False,
) -> tuple:
    """Return losses and slopes with a shift, the sum of slopes and of their sizes; then what `evaluate` adds.

    With ``more`` the last two are those of `intercept_blur`, at the predictions and beside them.
    """
    losses, alpha, *found = evaluate(local, z, shift, ends, atoms, more)
    blurs = [intercept_blur(local, z, shift, beside)[0] for beside in (False, True)] if more else (0.0, 0.0)
    return losses, alpha, np.atleast_1d(alpha.sum(axis=0)), float(np.abs(alpha).sum()), *found, *blurs


def intercept_hessian(local: Local, z: np.ndarray, shift: np.ndarray) -> tuple:
    """Return the second derivative in a shift, of several outputs."""
    (_, targets, weights, _), loss, there = local.samples, local.losses, shifted_by(local, z, shift)

    def add(part: slice) -> tuple:
        total = np.zeros((len(shift), len(shift)))
        add_second_derivatives(targets[part], weights[part], loss, there[part], total)
        return (total,)

    return local.over(add)
