"""Directions: where to go from the iterate, given the gradient estimate.

A direction chooses a *leg*: it knows how fast the linear model falls along it, how far one may go, what it does to a
row's prediction, and how to move the iterate. Step rules see only the leg.
"""

from typing import Any, NamedTuple

from frankwolfe.parts import part
from frankwolfe.verbs import deposit, inner, oracle, prediction, shrink


class Straight(NamedTuple):
    """The leg from ``w`` to an atom ``s``: the direction ``s - w``, at most the whole way."""

    atom: Any

    def slope(self, gradient, iterate):
        """Return ``<r, w - s>``, the estimated Frank-Wolfe gap."""
        r = gradient.r
        return gradient.scale[0] * (inner(iterate, r) - inner(self.atom, r))

    def shift(self, rows, i, z):
        """Return ``x_i' (s - w)``."""
        return prediction(self.atom, rows, i) - z

    def target_prediction(self, rows, i):
        """Return ``x_i' s``."""
        return prediction(self.atom, rows, i)

    def longest(self):
        """Return 1: the atom itself."""
        return 1.0

    def travel(self, iterate, gamma):
        """``w += gamma (s - w)``."""
        shrink(iterate, 1.0 - gamma)
        deposit(self.atom, iterate, gamma)


@part
class Toward(NamedTuple):
    """Frank and Wolfe's direction: toward the vertex that the oracle names."""

    def choose(self, constraint, gradient, iterate):
        """Ask the oracle."""
        return Straight(oracle(constraint, gradient.scout, gradient.r))
