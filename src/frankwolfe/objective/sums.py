"""Sums over samples whose predictions are known: the objective, and its derivatives in a shift of all predictions.

``loss`` is a loss, or `frankwolfe.losses.loss_arrays.LossArrays` where the caller says how to evaluate it. Arrays have
an entry per sample, or a row where there are several outputs.
"""

from typing import Any

import numpy as np

from frankwolfe.losses.loss_arrays import many
from frankwolfe.objective.intercept import EPSILON


def weighted(weights: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Multiply the entry, or the row, of each sample by its weight, in place."""
    found *= weights if found.ndim == 1 else weights[:, None]
    return found


def per_weight(alpha: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Divide the entry, or the row, of each sample by its weight; zero for samples without weight."""
    divisors = weights if alpha.ndim == 1 else weights[:, None]
    return np.divide(alpha, divisors, out=np.zeros(alpha.shape), where=divisors > 0.0)


def evaluate_losses(targets, weights, loss: Any, z, losses, alpha) -> float:
    """Fill in the losses and the weighted derivatives at the predictions ``z``; return the objective there."""
    many(loss).fill_values_and_derivatives(z, targets, losses, alpha)
    weighted(weights, alpha)
    return float(weights @ losses)


def slope_and_curvature(targets, weights, loss: Any, z, shift) -> tuple[float, float, float]:
    """Return both derivatives of the objective in a shift of all predictions, and the units of their rounding.

    NumPy adds in pairs, so the rounding of the sum itself stays below that of its terms.
    """
    slopes = weighted(weights, many(loss).derivative(z + shift, targets))
    curvatures = weighted(weights, many(loss).curvature(z + shift, targets))
    units = np.abs(slopes).sum() + np.abs(curvatures) @ (np.abs(z) + abs(shift))
    return float(slopes.sum()), float(curvatures.sum()), float(units)


def slope_blur(targets, weights, loss: Any, z, shift, beside: bool) -> float:
    """Return how much the slope in a shift changes if each prediction changes by its own size, to first order.

    With ``beside``, use the largest curvature next to each prediction, no farther than rounding, instead of the
    curvature at the prediction.
    """
    size, there = np.abs(z) + np.abs(shift), z + shift
    changes = [np.abs(many(loss).curvature(there, targets)) * size]
    if beside:
        low, high = there - 4.0 * EPSILON * size, there + 4.0 * EPSILON * size
        changes += [np.abs(many(loss).curvature(end, targets)) * size for end in (low, high)]
    return float(weights @ np.max([change.reshape(len(z), -1).sum(axis=1) for change in changes], axis=0))


def second_derivatives(targets, weights, loss: Any, z) -> np.ndarray:
    """Return the weighted second derivatives of a loss of several outputs: shape ``(n, outputs, outputs)``."""
    found, unit = np.empty((*z.shape, z.shape[1])), np.zeros(z.shape)
    for c in range(z.shape[1]):
        unit[:, c] = weights
        found[:, c] = many(loss).hessian_product(z, targets, unit)
        unit[:, c] = 0.0
    return found


def add_second_derivatives(targets, weights, loss: Any, z, total) -> None:
    """Add the sum of the weighted second derivatives at the predictions ``z`` to a matrix."""
    total += second_derivatives(targets, weights, loss, z).sum(axis=0)


def fill_curvatures(targets, weights, loss: Any, z, losses, alpha, care: float, floor: float, curvatures) -> None:
    """Fill ``curvatures`` with weighted curvatures at the predictions ``z``, none of them less than ``floor`` in size.

    Far from the optimum the curvature at a point says little: a sample on the wrong side of a logistic loss has a large
    slope and hardly any curvature. The parabola that touches the loss and has its lowest point at zero has the
    curvature ``f'^2 / (2 f)``, which is the loss's own if that is a square. ``care``, between 0 and 1, scales it.
    """
    size = many(loss).curvature(z, targets)
    np.maximum(np.abs(size, out=size), floor, out=size)
    if care > 0.0:
        parabola = per_weight(alpha, weights)
        with np.errstate(over="ignore"):
            np.multiply(parabola, parabola, out=parabola)
            parabola *= 0.5 * care
            np.divide(parabola, losses, out=parabola, where=losses > 0.0)
        np.maximum(size, parabola, out=size, where=losses > 0.0)
    np.multiply(weights, size, out=curvatures)


def fill_output_curvatures(targets, weights, loss: Any, z, floor: float, curvatures) -> None:
    """Fill ``curvatures`` with weighted curvatures of losses of several outputs: diagonals that bound the true ones."""
    curvatures[:] = weighted(weights, np.maximum(many(loss).curvature(z, targets), floor))


def fill_coupled_curvatures(targets, weights, loss, z, losses, alpha, care, floor, curvatures) -> None:
    """Fill ``curvatures`` with weighted second derivatives, matrices, of losses of several outputs.

    As in `fill_curvatures`, no sample has less than ``floor``: samples with less in all directions get it added to
    their diagonal, and others keep their flat directions. The parabola of each loss counts along its slope, if it is
    steeper than the loss there.
    """
    curvatures[:] = second_derivatives(targets, weights, loss, z)
    diagonal = np.einsum("icc->ic", curvatures)
    lifted = np.where(diagonal.max(axis=1) < weights * floor, weights * floor, 0.0)
    squares = np.einsum("ic,ic->i", alpha, alpha)
    steep = (losses > 0.0) & (weights > 0.0) & (squares > 1e-250)  # below, squares have lost their digits
    if care > 0.0 and steep.any():
        squares, slopes = squares[steep], alpha[steep]
        along = np.einsum("ic,icd,id->i", slopes, curvatures[steep], slopes) / squares
        missing = 0.5 * care * squares / (weights[steep] * losses[steep]) - along
        curvatures[steep] += (np.maximum(missing, 0.0) / squares)[:, None, None] * slopes[:, :, None] * slopes[:, None]
    diagonal += lifted[:, None]


def sum_residuals(targets, weights, loss: Any, z, alpha) -> float:
    """Return the weighted sum of the Fenchel-Young residuals; infinite where a sample without weight has a slope."""
    if alpha[weights <= 0.0].any():  # slopes may come from a problem with other weights
        return np.inf
    residuals = many(loss).residual(z, targets, per_weight(alpha, weights))
    return float(weights @ np.where(weights > 0.0, residuals, 0.0))


def project_slopes(targets, weights, loss: Any, alpha, nearest) -> None:
    """Fill ``nearest`` with ``alpha``, each slope outside of the conjugate's domain moved to its nearest edge."""
    slopes = per_weight(alpha, weights)
    nearest[:] = np.where((weights > 0.0).reshape(-1, *[1] * (alpha.ndim - 1)), alpha, 0.0)
    outside = np.isinf(many(loss).conjugate(slopes, targets)) & (weights > 0.0)
    nearest[outside] = weighted(weights, many(loss).nearest_slope(slopes, targets))[outside]


def sum_conjugates(targets, weights, loss: Any, alpha) -> tuple[float, float]:
    """Return ``sum_i p_i f_i*(alpha_i / p_i)``, and the sum of the sizes of its terms; infinite outside the domain."""
    if alpha[weights <= 0.0].any():
        return np.inf, np.inf
    terms = np.where(weights > 0.0, many(loss).conjugate(per_weight(alpha, weights), targets), 0.0)
    return float(weights @ terms), float(weights @ np.abs(terms))
