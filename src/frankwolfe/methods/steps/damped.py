"""Steps for active-set directions on a stale gradient: sized by curvature, damped by how stale the table is.

The slope along a move divided by its curvature is the right step when the gradient is fresh. With a table of remembered
derivatives it is not: until the rows that would tell of a step have been refreshed, the same pair looks as steep as
before and is stepped again. A pass makes ``n / b`` steps over ``|A|`` active atoms, so each atom is stepped about
``n / (b |A|)`` times before the table has followed. Damping every step by ``c b (|A| + 1) / n`` makes those steps add
up to ``c`` full ones. How large ``c`` may be depends on how strongly the active columns pull on each other, which no
constant knows.

So ``c`` adapts, by hindsight and at no cost. Every half pass the movement made during the half pass before, ``dw``, is
measured by the gradient estimate of now, whose rows have since been refreshed: ``<r, dw> > 0`` says that the objective
rises along it, the movement went too far, and ``c`` is halved. If most of the slope is left, it did not go far enough,
and ``c`` grows by a third. The experiment is in the documentation (docs/stochastic-pairwise.md).
"""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import active_count, adapt, max_step, slope, smoothness, spread
from frankwolfe.methods.lifecycle import step_rule

SHRINK, GROW = 0.5, 1.3
"""Factors for ``c`` after a movement that went too far, and after one that did not go far enough."""

LEAST = 1e-3
"""Smallest ``c``: rounding noise near the optimum must not freeze a run that is continued later."""


@step_rule
class DampedStep(NamedTuple):
    """Short step from column norms, damped so that every batch size from one row to all of them converges.

    Parameters
    ----------
    start : float
        First value of ``c``.
    window : float
        Passes between two adaptations of ``c``.
    """

    start: float = 2.0
    window: float = 0.5

    def _checked(self):
        start, window = positive("DampedStep", "start", self.start), positive("DampedStep", "window", self.window)
        return self._replace(start=start, window=window)

    @property
    def needs_smoothness(self):
        """Whether the loss's smoothness must be finite."""
        return True

    def for_run(self, setting):
        """Take the norms of the columns, once."""
        rows, weights = setting.samples.rows, setting.samples.weights
        n, d, b = len(weights), len(setting.w), max(1, setting.batch_size)
        return DampedStepState(
            norms=rows.column_norms(weights, d),
            share=b / n,
            steps=max(1, int(self.window * n / b)),
            damping=np.array([self.start, 0.0]),
            mark=setting.w.copy(),
            moved=np.zeros(d),
        )


class DampedStepState(NamedTuple):
    """What the rule knows of the data, and of its own movements.

    Attributes
    ----------
    norms : array of shape (d,)
        Norms of the columns, weighted as the samples are.
    share : float
        Part of the rows that a step looks at.
    steps : int
        Steps between two adaptations of ``c``.
    damping : array of shape (2,)
        ``c``, and the slope of the last window's movement when the window ended.
    mark, moved : array of shape (d,)
        Where the window began; the movement of the window before it.
    """

    norms: np.ndarray
    share: float
    steps: int
    damping: np.ndarray
    mark: np.ndarray
    moved: np.ndarray

    def length(self, move, samples, gradient, iterate, t):
        """Step size along the move."""
        if t % self.steps == 0:
            adapt(self, gradient, iterate)
        fall = slope(move, gradient, iterate)
        if not fall > 0.0:
            return 0.0
        curve = smoothness(samples.loss) * spread(move, self.norms, iterate) ** 2
        fall *= min(1.0, self.damping[0] * self.share * (active_count(move) + 1.0))
        return max_step(move) if fall >= curve * max_step(move) else fall / curve

    def adapt(self, gradient, iterate):
        """Adapt ``c`` to what the refreshed rows say of the movement made in the window before this one."""
        damping, mark, moved, r, v = self.damping, self.mark, self.moved, gradient.r, iterate.v
        hindsight = 0.0
        for j in range(len(r)):
            hindsight += r[j] * moved[j]
        if hindsight > 0.0:
            damping[0] = max(LEAST, SHRINK * damping[0])
        elif hindsight < 0.5 * damping[1]:
            damping[0] = min(1.0 / self.share, GROW * damping[0])
        damping[1] = 0.0
        for j in range(len(r)):
            w = iterate.scale[0] * v[j]
            moved[j] = w - mark[j]
            mark[j] = w
            damping[1] += r[j] * moved[j]
