"""Averaged batch gradients: Mokhtari et al., the original."""

from typing import NamedTuple

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.gradient import amend, fade, pick
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
        return Abilities()

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Fade the estimate and add the batch's mean gradient."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        rho = (t + 1.0) ** (-2.0 / 3.0)
        fade(gradient, 1.0 - rho)
        share = rho * len(targets) / (len(batch) * gradient.scale[0])
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend(gradient, rows, i, share * fresh)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""
