"""A pass over the data inside of compiled code: what an estimate by full gradients does in each step."""

from frankwolfe.compile.twofold import contract
from frankwolfe.compile.verbs import derivative, prediction, routine, row_add, value


@routine
def sweep(samples, point, alpha, r):
    """One pass over the data: fill ``alpha`` and ``r`` with the exact gradient at a point.

    Return the objective, the sum of ``<alpha_i, z_i>``, and the sum of the sizes of its terms.
    """
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    total, pairing, size = 0.0, 0.0, 0.0
    r[:] = 0.0
    for i in range(len(targets)):
        z = prediction(point, rows, i)
        total += weights[i] * value(loss, z, targets[i])
        fresh = weights[i] * derivative(loss, z, targets[i])
        alpha[i] = fresh
        row_add(rows, i, fresh, r)
        term = contract(fresh, z)
        pairing += term
        size += abs(term)
    return total, pairing, size
