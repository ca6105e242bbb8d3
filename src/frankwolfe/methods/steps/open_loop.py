"""Open-loop steps: the length depends on the step's number alone, so they suit every estimate."""

from math import exp, lgamma, log
from sys import float_info
from typing import Any, NamedTuple

from frankwolfe.compile.part import finite, positive
from frankwolfe.methods.lifecycle import step_rule

EPSILON = float_info.epsilon


def checked_steps(rule: Any) -> Any:
    """Return a rule of steps ``numerator / (k + offset)``, ``k`` from 1 on, with its numbers checked."""
    name = type(rule).__name__
    numerator, offset = positive(name, "numerator", rule.numerator), finite(name, "offset", rule.offset)
    if numerator > 1.0 + offset:
        raise ValueError(
            f"{name}: numerator must be at most 1 + offset = {1.0 + offset:g}, got {numerator:g}: "
            "the first step would overshoot the vertex"
        )
    return rule._replace(numerator=numerator, offset=offset)


@step_rule
class OpenLoop(NamedTuple):
    """``gamma_t = numerator / (t + offset)``; the default is the paper's ``2 / (t + 2)``.

    Parameters
    ----------
    numerator, offset : float
        Positive, with ``numerator <= 1 + offset`` so that no step overshoots the vertex.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.OpenLoop().length(None, None, None, None, 2)
    0.5
    """

    numerator: float = 2.0
    offset: float = 2.0

    def _checked(self):
        return checked_steps(self)

    @property
    def open_loop(self):
        """The number of a step is all that its length depends on."""
        return True

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        return self.numerator / (t + self.offset)

    def part_left(self, first, last):
        """Return the product of ``1 - gamma_t`` over the steps after ``first`` up to ``last``, less its rounding."""
        after = self.offset + 1.0
        before = after - self.numerator
        if first + before <= 0.0:
            return 0.0  # the first step of all goes the whole way
        largest = lgamma(last + after)
        left = lgamma(last + before) - lgamma(first + before) - largest + lgamma(first + after)
        return exp(left - 8.0 * EPSILON * largest)


@step_rule
class LogAdaptive(NamedTuple):
    """``gamma_t = g / (t + g)`` with ``g = 2 + log(t + 1)``: open loop, with the faster rates of larger numerators.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> round(fw.LogAdaptive().length(None, None, None, None, 1), 4)
    0.7292
    """

    @property
    def open_loop(self):
        """The number of a step is all that its length depends on."""
        return True

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        g = 2.0 + log(t + 1.0)
        return g / (t + g)


@step_rule
class LuFreundStep(NamedTuple):
    """Lu and Freund's ``gamma_t = 2 (2 n_b + t) / ((t + 1) (4 n_b + t + 1))``, ``n_b`` the number of batches."""

    def for_run(self, setting):
        """Count the batches."""
        return LuFreundStepState(float(len(setting.samples.targets) // setting.batch_size))


class LuFreundStepState(NamedTuple):
    """How many batches make a pass."""

    batches: float

    def length(self, move, samples, gradient, iterate, t):
        """Step size at step ``t``, counted from 1."""
        twice = 2.0 * self.batches
        return 2.0 * (twice + t) / ((t + 1.0) * (2.0 * twice + t + 1.0))
