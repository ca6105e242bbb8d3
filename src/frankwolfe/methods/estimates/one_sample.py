"""One-sample Frank-Wolfe: an average of batch gradients that is carried along as the iterate moves."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.averaging import checked_averaging, newest_weight
from frankwolfe.methods.gradient import amend, fade, pick
from frankwolfe.methods.lifecycle import Abilities, estimate
from frankwolfe.methods.look_ahead import look_ahead


@estimate
class OneSample(NamedTuple):
    """1-SFW (Zhang et al. 2020): ``r = (1 - rho) (r - g_S(w_{t-1})) + g_S(w_t)``, for the same rows at both points.

    A step reads ``2 b`` rows and nothing is remembered of the others: data may have any number of rows.

    Parameters
    ----------
    numerator, offset, power : float
        ``rho_t = numerator / (t + offset)^power``, at most 1, and 1 at the first step; ``t`` counts the steps since the
        average began. The default ``1 / t`` is for convex losses, with steps of ``1 / t``; for others the paper has
        ``t^(-2/3)`` (``power=2/3``) and constant steps of ``T^(-2/3)``, ``T`` the number of steps.
    """

    numerator: float = 1.0
    offset: float = 0.0
    power: float = 1.0

    def _checked(self):
        return checked_averaging(self)

    @property
    def abilities(self):
        """It looks at the batch of the next step as well."""
        return Abilities(reads_upcoming=True)

    def for_run(self, setting):
        """Go on with the average of the run that is continued, if it was one of these; else begin one."""
        kept = np.zeros((setting.batch_size, *setting.samples.shape[1:]))
        begun = setting.remembered.get("begun")
        begun = np.array([setting.steps]) if begun is None else begun.copy()
        return OneSampleState(kept, begun, np.array([-1]), self)


class OneSampleState(NamedTuple):
    """The batch's derivatives before the last step, the step after which the average began, and the last step."""

    kept: np.ndarray
    begun: np.ndarray
    last: np.ndarray
    weights: OneSample

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Carry the average along by what the batch knows of the last step, and add the batch's mean gradient."""
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        kept, number = self.kept, t - self.begun[0]
        rho = newest_weight(self.weights, number) if number > 1 else 1.0
        scale = fade(gradient, 1.0 - rho)
        share, moved = len(targets) / (len(batch) * scale), self.last[0] == t - 1
        for k in range(len(batch)):
            i = pick(rows, batch, k)
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            if not moved:  # the first step of a run: where it starts, nothing is known of another point
                kept[k] = fresh
            amend(gradient, rows, i, share * (fresh - (1.0 - rho) * kept[k]))

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Look at the next batch before the iterate moves."""
        look_ahead(samples, iterate, gradient, upcoming, self.kept)
        self.last[0] = t
