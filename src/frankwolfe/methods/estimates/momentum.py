"""Averaged batch gradients: Mokhtari et al., the original."""

from typing import NamedTuple

from frankwolfe.compile.verbs import derivative, prediction, rebuild
from frankwolfe.methods.gradient import ALL_ROWS, amend, pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class Momentum(NamedTuple):
    """Mokhtari et al. (2018), the original: ``r = (1 - rho) r + rho mean_{i in batch} f_i'(x_i' w) x_i``.

    ``rho = (t + 1)^(-2/3)``. Fading all of ``r`` is one multiplication: the factor is kept apart. Beside ``r`` it
    remembers nothing, and is its own state.
    """

    @property
    def abilities(self):
        """Nothing but to follow the gradient."""
        return Abilities(row_arrays=())

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Fade the estimate and add the batch's mean gradient."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        rho = (t + 1.0) ** (-2.0 / 3.0)
        scale = gradient.scale[0] * (1.0 - rho)
        if scale < 1e-100:  # fold the factor into r long before it underflows
            r = gradient.r
            for j in range(len(r)):
                r[j] *= scale
            rebuild(gradient.tracker, r)
            scale = 1.0
        gradient.scale[0] = scale
        share = rho * gradient.counters[ALL_ROWS] / (len(batch) * scale)
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend(gradient, rows, i, share * fresh)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""
