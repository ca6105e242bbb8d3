"""Short steps that read no row: the curvature along a move is bounded by the norms of the columns."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import max_step, slope, smoothness, spread
from frankwolfe.methods.lifecycle import step_rule


@step_rule
class NormStep(NamedTuple):
    """``-<r, direction>`` over a bound on the curvature along the direction, at most as far as the move may go.

    For a direction ``s - a`` the bound is ``L (sum_j (|s_j| + |a_j|) ||X_j||)^2``, with the loss's constant ``L`` and
    the columns' norms, which are read once. It is at least ``L sum_i p_i (x_i' direction)^2``, what `ShortStep` reads
    all rows for, so the objective does not rise if ``r`` is its gradient. Between single coordinates it is well below
    the textbook's ``L lambda_max ||direction||^2`` on most data. Goes with the directions that have an active set.
    """

    @property
    def needs_smoothness(self):
        """Whether the loss's smoothness must be finite."""
        return True

    def for_run(self, setting):
        """Take the norms of the columns, once."""
        return NormStepState(setting.samples.rows.column_norms(setting.samples.weights, len(setting.w)))


class NormStepState(NamedTuple):
    """Norms of the columns, weighted as the samples are."""

    norms: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        fall = slope(move, gradient, iterate)
        if not fall > 0.0:
            return 0.0
        curve = smoothness(samples.loss) * spread(move, self.norms, iterate) ** 2
        return max_step(move) if fall >= curve * max_step(move) else fall / curve
