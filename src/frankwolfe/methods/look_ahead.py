"""The batch of the next step, seen before the iterate moves: what estimates by differences need."""

from frankwolfe.compile.verbs import derivative, prediction, routine
from frankwolfe.methods.gradient import count_rows, pick


@routine
def look_ahead(samples, iterate, gradient, upcoming, kept):
    """Write the weighted derivatives of the next step's batch at the present iterate into ``kept``."""
    rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
    for k in range(len(upcoming)):
        i = pick(rows, upcoming, k)
        kept[k] = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
    count_rows(gradient, len(upcoming))
