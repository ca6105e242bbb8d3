"""Sums over samples whose predictions are at hand: the objective, and its derivatives in a shift of all predictions."""

import numpy as np

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.twofold import contract, magnitude
from frankwolfe.compile.verbs import conjugate, curvature, derivative, hessian_product, nearest_slope, residual, value
from frankwolfe.objective.intercept import EPSILON


@kernel
def evaluate_losses(targets, weights, loss, z, losses, alpha):
    """Fill in the losses and the weighted derivatives at the predictions ``z``; return the objective there."""
    total = 0.0
    for i in range(len(z)):
        losses[i] = value(loss, z[i], targets[i])
        total += weights[i] * losses[i]
        alpha[i] = weights[i] * derivative(loss, z[i], targets[i])
    return total


@kernel
def slope_and_curvature(targets, weights, loss, z, shift):
    """First and second derivative of the objective in a shift of all predictions, and the units of their rounding."""
    slope, lost, curve, units = 0.0, 0.0, 0.0, 0.0
    for i in range(len(z)):
        pull = weights[i] * derivative(loss, z[i] + shift, targets[i])
        # Kahan's sum: the roundings of a plain one would hide where the slope is zero
        term = pull - lost
        grown = slope + term
        lost = (grown - slope) - term
        slope = grown
        curved = weights[i] * curvature(loss, z[i] + shift, targets[i])
        curve += curved
        units += abs(pull) + abs(curved) * (abs(z[i]) + abs(shift))
    return slope, curve, units


@kernel
def slope_blur(targets, weights, loss, z, shift, beside):
    """Return what the slope in a shift would change by if each prediction changed by its own size, to first order.

    ``beside`` tells to take the largest curvature next to each prediction, no farther than rounding, instead of that
    at the prediction.
    """
    total = 0.0
    for i in range(len(z)):
        size = np.abs(z[i]) + np.abs(shift)
        change = contract(np.abs(curvature(loss, z[i] + shift, targets[i])), size)
        if beside:
            step = 4.0 * EPSILON * size
            change = max(change, contract(np.abs(curvature(loss, z[i] + shift - step, targets[i])), size))
            change = max(change, contract(np.abs(curvature(loss, z[i] + shift + step, targets[i])), size))
            # a bend narrower than rounding, as of a Huber loss with a tiny delta, lies between the three
            low, high = z[i] + shift - step, z[i] + shift + step
            jump = magnitude(derivative(loss, high, targets[i]) - derivative(loss, low, targets[i]))
            change = max(change, jump / (8.0 * EPSILON))
        total += weights[i] * change
    return total


@kernel
def add_second_derivatives(targets, weights, loss, z, total):
    """Add the weighted second derivatives at the predictions ``z``, each a matrix, of a loss of several outputs."""
    unit = np.zeros(len(total))
    for i in range(len(z)):
        for c in range(len(unit)):
            unit[c] = weights[i]
            total[c] += hessian_product(loss, z[i], targets[i], unit)
            unit[c] = 0.0


@kernel
def fill_curvatures(targets, weights, loss, z, losses, alpha, care, floor, curvatures):
    """Fill ``curvatures`` with weighted curvatures at the predictions ``z``, none of them less than ``floor`` in size.

    Far from the optimum the curvature at a point says little: a sample on the wrong side of a logistic loss pulls as
    hard as any and has none. The parabola that touches the loss and has its lowest point at zero has the curvature
    ``f'^2 / (2 f)``, which is the loss's own where that is a square. It is heeded as much as ``care`` says.
    """
    for i in range(len(z)):
        size = max(abs(curvature(loss, z[i], targets[i])), floor)
        if losses[i] > 0.0 and weights[i] > 0.0:
            pull = alpha[i] / weights[i]
            size = max(size, 0.5 * care * pull * pull / losses[i])
        curvatures[i] = weights[i] * size


@kernel
def fill_output_curvatures(targets, weights, loss, z, floor, curvatures):
    """Fill ``curvatures`` with weighted curvatures of losses of several outputs: diagonals that bound the true ones."""
    for i in range(len(z)):
        curvatures[i] = weights[i] * np.maximum(curvature(loss, z[i], targets[i]), floor)


@kernel
def sum_residuals(targets, weights, loss, z, alpha):
    """Return the weighted sum of the Fenchel-Young residuals; infinite where a sample without weight has a slope."""
    total = 0.0
    for i in range(len(z)):
        if weights[i] > 0.0:
            total += weights[i] * residual(loss, z[i], targets[i], alpha[i] / weights[i])
        elif magnitude(alpha[i]) > 0.0:  # slopes may come from a problem with other weights
            return np.inf
    return total


@kernel
def project_slopes(targets, weights, loss, alpha, nearest):
    """Fill ``nearest`` with ``alpha``, each slope outside of the conjugate's domain moved to its nearest edge."""
    for i in range(len(alpha)):
        nearest[i] = alpha[i]
        if not weights[i] > 0.0:
            nearest[i] = 0.0
        elif np.isinf(conjugate(loss, alpha[i] / weights[i], targets[i])):
            nearest[i] = weights[i] * nearest_slope(loss, alpha[i] / weights[i], targets[i])


@kernel
def sum_conjugates(targets, weights, loss, alpha):
    """Return ``sum_i p_i f_i*(alpha_i / p_i)``, and the sum of the sizes of its terms; infinite outside the domain."""
    total, size = 0.0, 0.0
    for i in range(len(alpha)):
        if weights[i] > 0.0:
            term = weights[i] * conjugate(loss, alpha[i] / weights[i], targets[i])
            total += term
            size += abs(term)
        elif magnitude(alpha[i]) > 0.0:
            return np.inf, np.inf
    return total, size
