"""Averaged batch gradients: Mokhtari et al., the original."""

from typing import NamedTuple

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.averaging import checked_averaging, newest_weight
from frankwolfe.methods.gradient import ALL_ROWS, amend, fade, pick
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class Momentum(NamedTuple):
    """Mokhtari et al. (2018), the original: ``r = (1 - rho) r + rho mean_{i in batch} f_i'(x_i' w) x_i``.

    Fading all of ``r`` is one multiplication: the factor is kept apart. Beside ``r`` it remembers nothing, and is its
    own state.

    Parameters
    ----------
    numerator, offset, power : float
        ``rho_t = numerator / (t + offset)^power``, at most 1. The default is the ``(t + 1)^(-2/3)`` of the paper's
        appendix, which goes with steps of ``1 / (t + 1)``.

    Examples
    --------
    Another choice in use: ``4 / (t + 8)^(2/3)``, with steps of ``2 / (t + 8)``.

    >>> import frankwolfe as fw
    >>> method = fw.Method(fw.Momentum(4.0, 8.0), step=fw.OpenLoop(2.0, 8.0), batch_size=0.01, name="momentum, 4")
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, method, batch_size=1, max_passes=20, random_state=0).method
    'momentum, 4'
    """

    numerator: float = 1.0
    offset: float = 1.0
    power: float = 2.0 / 3.0

    def _checked(self):
        return checked_averaging(self)

    @property
    def abilities(self):
        """Nothing but to follow the gradient."""
        return Abilities(row_arrays=())

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Fade the estimate and add the batch's mean gradient."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        rho = newest_weight(self, t)
        share = rho * gradient.counters[ALL_ROWS] / (len(batch) * fade(gradient, 1.0 - rho))
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            amend(gradient, rows, i, share * fresh)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""
