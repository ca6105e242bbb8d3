"""The exact gradient at every step."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import rebuild
from frankwolfe.methods.full_pass import sweep
from frankwolfe.methods.gradient import TABLE_CHANGE, count_rows
from frankwolfe.methods.lifecycle import Abilities, estimate


@estimate
class FullGradient(NamedTuple):
    """The exact gradient, one pass over the data a step."""

    @property
    def abilities(self):
        """Reads all rows, and keeps their derivatives and the sum of their conjugates."""
        return Abilities(reads_all_rows=True, has_table=True, sums_conjugates=True)

    def for_run(self, setting):
        """Make room for the derivatives."""
        return FullGradientState(setting.table(), np.full(2, np.nan))


class FullGradientState(NamedTuple):
    """The derivatives of all samples at the iterate of the last step, and the sum of their conjugates."""

    alpha: np.ndarray
    conjugates: np.ndarray

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        """Take the gradient anew."""
        total, pairing, size = sweep(samples, iterate, self.alpha, gradient.r)
        self.conjugates[0] = pairing - total  # f*(f'(z)) = f'(z) z - f(z)
        self.conjugates[1] = size + abs(total)
        gradient.counters[TABLE_CHANGE] += abs(total)
        count_rows(gradient, len(samples.targets))
        rebuild(gradient.tracker, gradient.r)

    def follow(self, samples, iterate, move, gradient, batch, upcoming, t):
        """Nothing left to learn."""
