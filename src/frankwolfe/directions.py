"""Directions: where to go from the iterate, given the gradient estimate.

A direction chooses a *leg*: it knows how fast the linear model falls along it, how far one may go, what it does to a
row's prediction, and how to move the iterate. Step rules see only the leg.
"""

from typing import Any, NamedTuple

from frankwolfe.active import (
    ActiveSet,
    clear,
    extreme,
    inner_active,
    put,
    require_coordinates,
    weight,
)
from frankwolfe.parts import part
from frankwolfe.sets.atoms import Hot
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


class Exchange(NamedTuple):
    """A leg ``to_part s - away_part a + own_part w`` between atoms that are single coordinates.

    ``(1, 1, 0)`` moves weight from ``a`` to ``s``; ``(1, 0, -1)`` goes toward ``s`` from all of ``w``; ``(0, 1, 1)``
    goes away from ``a``. One class for all three, because compiled code must know the leg's type beforehand.
    """

    active: ActiveSet
    to: Hot
    away: Hot
    to_part: float
    away_part: float
    own_part: float
    most: float

    def slope(self, gradient, iterate):
        """Return ``-<r, direction>``."""
        r = gradient.r
        fall = self.away_part * inner(self.away, r) - self.to_part * inner(self.to, r)
        if self.own_part != 0.0:
            fall -= self.own_part * inner_active(self.active, iterate, r)
        return gradient.scale[0] * fall

    def shift(self, rows, i, z):
        """Return ``x_i' direction``."""
        moved = self.to_part * prediction(self.to, rows, i) - self.away_part * prediction(self.away, rows, i)
        return moved + self.own_part * z

    def target_prediction(self, rows, i):
        """Return ``x_i' s``."""
        return prediction(self.to, rows, i)

    def longest(self):
        """Largest step that leaves no weight negative."""
        return self.most

    def spread(self, norms, iterate):
        """Upper bound on ``||X direction||`` from the norms of the columns (weighted as the samples are)."""
        total = self.to_part * abs(self.to.amount) * norms[self.to.at]
        total += self.away_part * abs(self.away.amount) * norms[self.away.at]
        if self.own_part != 0.0:
            v, members = iterate.v, self.active.members
            for k in range(self.active.number[0]):
                total += iterate.scale[0] * abs(v[members[k]]) * norms[members[k]]
        return total

    def crowd(self):
        """Return the number of active atoms."""
        return self.active.number[0]

    def travel(self, iterate, gamma):
        """Move the iterate; an atom left with no weight is dropped for good."""
        active = self.active
        if gamma <= 0.0:
            return
        if self.own_part != 0.0:
            shrink(iterate, 1.0 + gamma * self.own_part)
        if self.own_part < 0.0 and gamma >= 1.0:  # all the way to s: shrinking has set the rest to zero
            for k in range(active.number[0]):
                active.place[active.members[k]] = -1
            active.number[0] = 0
            active.size[0] = 0.0
        if self.away_part > 0.0 and self.away.amount != 0.0:
            if gamma >= self.most:
                clear(active, iterate, self.away.at)
            else:
                put(active, iterate, self.away.at, -gamma * self.away.amount)
        if self.to_part > 0.0 and self.to.amount != 0.0:
            put(active, iterate, self.to.at, gamma * self.to.amount)


@part
class Pairwise(NamedTuple):
    """Move weight from the worst active atom to the best vertex.

    The active atom ``a`` has the largest ``<r, a>``, the vertex ``s`` the smallest ``<r, s>`` of all.
    """

    active: Any = None

    def begin(self, setting):
        """Take stock of the active atoms."""
        require_coordinates("Pairwise", setting.constraint)
        return Pairwise(ActiveSet.of(setting.w))

    def choose(self, constraint, gradient, iterate):
        """Pick both atoms."""
        to = oracle(constraint, gradient.scout, gradient.r)
        away = extreme(constraint, self.active, iterate, gradient.r, 1.0)
        return Exchange(self.active, to, away, 1.0, 1.0, 0.0, weight(constraint, self.active, iterate, away))


@part
class Away(NamedTuple):
    """Toward the best vertex or away from the worst active atom, whichever promises more (Guelat and Marcotte 1986)."""

    active: Any = None

    def begin(self, setting):
        """Take stock of the active atoms."""
        require_coordinates("Away", setting.constraint)
        return Away(ActiveSet.of(setting.w))

    def choose(self, constraint, gradient, iterate):
        """Compare the two slopes."""
        active, r = self.active, gradient.r
        to = oracle(constraint, gradient.scout, r)
        away = extreme(constraint, active, iterate, r, 1.0)
        here = inner_active(active, iterate, r)
        share = weight(constraint, active, iterate, away)
        if here - inner(to, r) >= inner(away, r) - here or share >= 1.0:
            return Exchange(active, to, away, 1.0, 0.0, -1.0, 1.0)
        return Exchange(active, to, away, 0.0, 1.0, 1.0, share / (1.0 - share))


@part
class BlendedPairwise(NamedTuple):
    """Exchange weight among the active atoms while that promises as much as a new vertex does (Tsuji et al. 2022)."""

    active: Any = None

    def begin(self, setting):
        """Take stock of the active atoms."""
        require_coordinates("BlendedPairwise", setting.constraint)
        return BlendedPairwise(ActiveSet.of(setting.w))

    def choose(self, constraint, gradient, iterate):
        """Compare the best exchange with the Frank-Wolfe gap."""
        active, r = self.active, gradient.r
        to = oracle(constraint, gradient.scout, r)
        away = extreme(constraint, active, iterate, r, 1.0)
        near = extreme(constraint, active, iterate, r, -1.0)
        if inner(away, r) - inner(near, r) >= inner_active(active, iterate, r) - inner(to, r):
            return Exchange(active, near, away, 1.0, 1.0, 0.0, weight(constraint, active, iterate, away))
        return Exchange(active, to, away, 1.0, 0.0, -1.0, 1.0)
