"""Open-loop steps that begin anew with every epoch."""

from typing import NamedTuple

from frankwolfe.methods.epochs import Epochs, place_in_epoch
from frankwolfe.methods.lifecycle import step_rule
from frankwolfe.methods.steps.open_loop import checked_steps


@step_rule
class EpochStep(NamedTuple):
    """``numerator / (k + offset)`` in step ``k`` of the estimate's epoch, counted from 1: by default ``2 / (k + 1)``.

    With an estimate that has no epochs the run is one, and this is `OpenLoop`.

    Parameters
    ----------
    numerator, offset : float
        Positive, with ``numerator <= 1 + offset`` so that no step overshoots the vertex.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L1Ball(1.0))
    >>> fw.minimize(problem, "svrf", step=fw.EpochStep(1.0, 1.0), tol=0, max_passes=20).method
    'svrf, EpochStep'
    """

    numerator: float = 2.0
    offset: float = 1.0

    def _checked(self):
        return checked_steps(self)

    def for_run(self, setting):
        """Learn when epochs begin."""
        return EpochStepState(self.numerator, self.offset, setting.epochs)


class EpochStepState(NamedTuple):
    """The settings, and the epochs of the estimate."""

    numerator: float
    offset: float
    epochs: Epochs

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t`` of the run."""
        k, _ = place_in_epoch(self.epochs.starts, self.epochs.period, t)
        return self.numerator / (k + self.offset)
