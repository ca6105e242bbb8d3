"""Moves: the ways that a direction may choose for the iterate. Step rules and estimates see only these.

A move knows how fast the linear model falls along it, how far one may go, what it does to a row's prediction, and how
to change the iterate.
"""

from typing import Any, NamedTuple

from frankwolfe.compile.verbs import deposit, inner, prediction, row_entry, shrink
from frankwolfe.methods.active_dictionary import RECOMPOSE, Dictionary, make_room, point_at, recompose, reweigh
from frankwolfe.methods.active_support import ActiveSet, clear, inner_active, put
from frankwolfe.rows.iterate import Iterate
from frankwolfe.sets.atoms import Hot


class Straight(NamedTuple):
    """The move from ``w`` to an atom ``s``: the direction ``s - w``, at most the whole way."""

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

    def max_step(self):
        """Return 1: the atom itself."""
        return 1.0

    def apply(self, iterate, gamma):
        """``w += gamma (s - w)``."""
        shrink(iterate, 1.0 - gamma)
        deposit(self.atom, iterate, gamma)


class Exchange(NamedTuple):
    """A move ``to_part s - away_part a + own_part w`` between atoms that are single coordinates.

    ``(1, 1, 0)`` moves weight from ``a`` to ``s``; ``(1, 0, -1)`` goes toward ``s`` from all of ``w``; ``(0, 1, 1)``
    goes away from ``a``. One class for all three, because compiled code must know the move's type beforehand.
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

    def max_step(self):
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

    def active_count(self):
        """Return the number of active atoms."""
        return self.active.number[0]

    def apply(self, iterate, gamma):
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


class Slide(NamedTuple):
    """A move along one coordinate of a box, which a whole step moves by ``way``: to the wall.

    So a step is a part of the way, as it is of every other direction, whatever the units of the weights.
    """

    at: int
    way: float
    wall: float
    sides: int

    def slope(self, gradient, iterate):
        """Return ``-<r, direction>``."""
        return -self.way * gradient.scale[0] * gradient.r[self.at]

    def shift(self, rows, i, z):
        """Return ``x_i' direction``."""
        return self.way * row_entry(rows, i, self.at)

    def target_prediction(self, rows, i):
        """Return the change of the prediction at the wall."""
        return self.way * row_entry(rows, i, self.at)

    def max_step(self):
        """Return one, all of the way to the wall, or zero at the wall."""
        return 1.0 if self.way != 0.0 else 0.0

    def spread(self, norms, iterate):
        """Upper bound on ``||X direction||``: the norm of the column, as far as it goes."""
        return norms[self.at] * abs(self.way)

    def active_count(self):
        """Return the number of coordinates: each is a segment of its own, always active."""
        return self.sides

    def apply(self, iterate, gamma):
        """Move one coordinate; at the wall, exactly there."""
        if gamma >= 1.0:
            iterate.v[self.at] = self.wall / iterate.scale[0]
        else:
            iterate.v[self.at] += self.way * gamma / iterate.scale[0]


class Transfer(NamedTuple):
    """A move like `Exchange`, between atoms that are stored: ``to`` and ``away`` are their rows.

    The direction itself is written out in the dictionary's ``heading``.
    """

    stored: Dictionary
    to: int
    away: int
    to_part: float
    away_part: float
    own_part: float
    most: float

    def slope(self, gradient, iterate):
        """Return ``-<r, direction>``."""
        return -gradient.scale[0] * inner(Iterate(self.stored.heading, self.stored.unit), gradient.r)

    def shift(self, rows, i, z):
        """Return ``x_i' direction``."""
        return prediction(Iterate(self.stored.heading, self.stored.unit), rows, i)

    def target_prediction(self, rows, i):
        """Return ``x_i' s``."""
        return prediction(point_at(self.stored, self.to), rows, i)

    def max_step(self):
        """Largest step that leaves no weight negative."""
        return self.most

    def spread(self, norms, iterate):
        """Upper bound on ``||X direction||`` from the norms of the columns (weighted as the samples are)."""
        heading, total = self.stored.heading, 0.0
        for j in range(len(heading)):
            total += norms[j] * abs(heading[j])
        return total

    def active_count(self):
        """Return the number of stored atoms."""
        return self.stored.number[0]

    def apply(self, iterate, gamma):
        """Move the iterate and the weights; an atom left with no weight is dropped for good."""
        stored = self.stored
        if gamma > 0.0:
            reweigh(stored, self.to, self.away, self.to_part, self.away_part, self.own_part, gamma)
        if gamma >= self.most and self.away_part > 0.0 and self.away != self.to:
            stored.weights[self.away] = 0.0
        if gamma >= self.most or stored.number[1] >= RECOMPOSE:  # also where the atom had no weight to begin with
            recompose(stored, iterate)
        elif gamma > 0.0:
            heading, v, share = stored.heading, iterate.v, gamma / iterate.scale[0]
            for j in range(len(heading)):
                v[j] += share * heading[j]
        make_room(stored)
