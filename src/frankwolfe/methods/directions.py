"""Search directions, chosen from the gradient estimate, and the moves that represent them."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import (
    coordinate,
    deposit,
    inner,
    oracle,
    prediction,
    routine,
    row_entry,
    shrink,
)
from frankwolfe.methods.active_set import (
    RECOMPOSE,
    ActiveSet,
    Dictionary,
    atom_slope,
    change_coordinate,
    change_weights,
    clear_coordinate,
    copy_gradient,
    extreme,
    extreme_atom,
    find_atom,
    inner_active,
    make_room,
    point_at,
    recompose,
    set_direction,
    weight,
)
from frankwolfe.methods.base import direction
from frankwolfe.sets.atoms import Hot, Iterate
from frankwolfe.sets.base import Hull

# --- moves ------------------------------------------------------------------------------------------------------------
#
# A direction returns a move. Step rules and gradient estimates use only the move: its slope, its largest feasible step,
# the change of a row's prediction, and the update of the iterate. Below, ``s`` is the atom that a move leads to, ``a``
# the atom that it leads away from, and ``r`` the gradient estimate.


class Straight(NamedTuple):
    """The move from ``w`` to an atom ``s``: the direction ``s - w``, with steps up to 1."""

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
        """Return 1, the step to the atom."""
        return 1.0

    def apply(self, iterate, gamma):
        """Update ``w += gamma (s - w)``."""
        shrink(iterate, 1.0 - gamma)
        deposit(self.atom, iterate, gamma)


class Exchange(NamedTuple):
    """The move ``to_part s - away_part a + own_part w`` between atoms with one non-zero entry.

    The parts ``(1, 1, 0)`` give the pairwise direction ``s - a``; ``(1, 0, -1)`` the Frank-Wolfe direction ``s - w``;
    ``(0, 1, 1)`` the away direction ``w - a``. One class serves all three because compiled code needs a fixed type.
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
        """Return the largest step for which no atom's weight becomes negative."""
        return self.most

    def spread(self, norms, iterate):
        """Return an upper bound on ``||X direction||`` from the weighted norms of the columns."""
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
        """Move the iterate, and drop an atom whose weight becomes zero."""
        active = self.active
        if gamma <= 0.0:
            return
        if self.own_part != 0.0:
            shrink(iterate, 1.0 + gamma * self.own_part)
        if self.own_part < 0.0 and gamma >= 1.0:  # a full step to s: `shrink` has set all coordinates to zero
            for k in range(active.number[0]):
                active.place[active.members[k]] = -1
            active.number[0] = 0
            active.size[0] = 0.0
        if self.away_part > 0.0 and self.away.amount != 0.0:
            if gamma >= self.most:
                clear_coordinate(active, iterate, self.away.at)
            else:
                change_coordinate(active, iterate, self.away.at, -gamma * self.away.amount)
        if self.to_part > 0.0 and self.to.amount != 0.0:
            change_coordinate(active, iterate, self.to.at, gamma * self.to.amount)


class Slide(NamedTuple):
    """A move along one coordinate of a box. A step of 1 changes the coordinate by ``change`` and reaches its bound.

    Steps are thus fractions between 0 and 1, as for every other move.

    Attributes
    ----------
    at : int
        The coordinate.
    change : float
        Distance to the bound, with sign.
    wall : float
        The bound.
    sides : int
        Number of coordinates of the box.
    """

    at: int
    change: float
    wall: float
    sides: int

    def slope(self, gradient, iterate):
        """Return ``-<r, direction>``."""
        return -self.change * gradient.scale[0] * gradient.r[self.at]

    def shift(self, rows, i, z):
        """Return ``x_i' direction``."""
        return self.change * row_entry(rows, i, self.at)

    def target_prediction(self, rows, i):
        """Return the change of the prediction for a step of 1."""
        return self.change * row_entry(rows, i, self.at)

    def max_step(self):
        """Return 1, or 0 if the coordinate is at its bound."""
        return 1.0 if self.change != 0.0 else 0.0

    def spread(self, norms, iterate):
        """Return ``||X direction||``: the norm of the column times the change."""
        return norms[self.at] * abs(self.change)

    def active_count(self):
        """Return the number of coordinates: every coordinate of a box is an active segment."""
        return self.sides

    def apply(self, iterate, gamma):
        """Move one coordinate; a full step sets it exactly to the bound."""
        if gamma >= 1.0:
            iterate.v[self.at] = self.wall / iterate.scale[0]
        else:
            iterate.v[self.at] += self.change * gamma / iterate.scale[0]


class Transfer(NamedTuple):
    """A move like `Exchange` between stored atoms: ``to`` and ``away`` are their rows in the dictionary.

    The dictionary's ``heading`` holds the direction as a dense vector.
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
        """Return the largest step for which no atom's weight becomes negative."""
        return self.most

    def spread(self, norms, iterate):
        """Return an upper bound on ``||X direction||`` from the weighted norms of the columns."""
        heading, total = self.stored.heading, 0.0
        for j in range(len(heading)):
            total += norms[j] * abs(heading[j])
        return total

    def active_count(self):
        """Return the number of stored atoms."""
        return self.stored.number[0]

    def apply(self, iterate, gamma):
        """Move the iterate, update the weights, and drop an atom whose weight becomes zero."""
        stored = self.stored
        if gamma > 0.0:
            change_weights(stored, self.to, self.away, self.to_part, self.away_part, self.own_part, gamma)
        if gamma >= self.most and self.away_part > 0.0 and self.away != self.to:
            stored.weights[self.away] = 0.0
        if gamma >= self.most or stored.number[1] >= RECOMPOSE:  # also drops an away atom that had no weight
            recompose(stored, iterate)
        elif gamma > 0.0:
            heading, v, share = stored.heading, iterate.v, gamma / iterate.scale[0]
            for j in range(len(heading)):
                v[j] += share * heading[j]
        make_room(stored)


# --- directions -------------------------------------------------------------------------------------------------------
#
# Directions with an active set decompose a point into atoms (`decomposed`), in one of three ways. If the vertices have
# one non-zero entry, the support of the point is its active set (`ActiveSet`). A box is a product of segments: a step
# moves the coordinate with the largest share of the gap, and the three directions coincide. For every other set the
# atoms are stored (`Dictionary`).

PAIRWISE, AWAY, BLENDED = 0, 1, 2
"""Rules of directions with an active set. They are numbers, so that all three compile to one kernel."""

NEARLY_ALL = 1.0 - 1e-7
"""Largest weight of an atom for which an away step is taken; otherwise the step goes toward a vertex.

An away step may be as long as ``weight / (1 - weight)``. Near weight 1 the difference is all rounding error, and the
step would leave the set.
"""


@direction(needs=(), mixes_vertices=True)
class Toward(NamedTuple):
    """The Frank-Wolfe direction: from the iterate to the vertex that the oracle returns.

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["fw"].direction == methods.Toward()
    True
    """

    def choose(self, constraint, gradient, iterate):
        """Return the move toward the oracle's vertex."""
        return Straight(oracle(constraint, gradient.tracker, gradient.r))


class Corners(NamedTuple):
    """State of a direction over a set whose vertices have one non-zero entry."""

    active: ActiveSet
    atoms: Hull
    rule: int

    def choose(self, constraint, gradient, iterate):
        """Return the move by the rule: `PAIRWISE`, `AWAY` or `BLENDED`."""
        active, atoms, r = self.active, self.atoms, gradient.r
        to = coordinate(oracle(constraint, gradient.tracker, r))
        away = extreme(atoms, active, iterate, r, 1.0)
        share = weight(atoms, active, iterate, away)
        if self.rule == PAIRWISE:
            return Exchange(active, to, away, 1.0, 1.0, 0.0, share)
        here = inner_active(active, iterate, r)
        if self.rule == BLENDED:
            near = extreme(atoms, active, iterate, r, -1.0)
            if inner(away, r) - inner(near, r) >= here - inner(to, r):
                return Exchange(active, near, away, 1.0, 1.0, 0.0, share)
        elif here - inner(to, r) < inner(away, r) - here and share < NEARLY_ALL:
            return Exchange(active, to, away, 0.0, 1.0, 1.0, share / (1.0 - share))
        return Exchange(active, to, away, 1.0, 0.0, -1.0, 1.0)


class Segments(NamedTuple):
    """State of a direction over a box, which is a product of segments, one for each coordinate.

    On a segment, away from one end is toward the other, and both ends are active: all three directions coincide.
    """

    lower: np.ndarray
    upper: np.ndarray

    def choose(self, constraint, gradient, iterate):
        """Move the coordinate with the largest share of the Frank-Wolfe gap toward its bound."""
        lower, upper, r, v, scale = self.lower, self.upper, gradient.r, iterate.v, iterate.scale[0]
        at, room, most = 0, 0.0, -1.0
        for j in range(len(r)):
            free = scale * v[j] - lower[j] if r[j] > 0.0 else upper[j] - scale * v[j]
            if abs(r[j]) * free > most:
                at, room, most = j, free, abs(r[j]) * free
        down, room = r[at] > 0.0, max(0.0, room)
        return Slide(at, -room if down else room, lower[at] if down else upper[at], len(r))


class Stored(NamedTuple):
    """State of a direction over any set: atoms that its oracle has returned are stored."""

    dictionary: Dictionary
    rule: int

    def choose(self, constraint, gradient, iterate):
        """Return the move by the rule: `PAIRWISE`, `AWAY` or `BLENDED`."""
        stored = self.dictionary
        copy_gradient(stored, gradient.r)
        to = find_atom(stored, oracle(constraint, gradient.tracker, gradient.r))
        away, highest = extreme_atom(stored, 1.0)
        share = stored.weights[away]
        if self.rule == PAIRWISE:
            return _transfer(stored, iterate, to, away, 1.0, 1.0, 0.0, share)
        here = inner(iterate, gradient.r)
        if self.rule == BLENDED:
            near, lowest = extreme_atom(stored, -1.0)
            if highest - lowest >= here - atom_slope(stored, to):
                return _transfer(stored, iterate, near, away, 1.0, 1.0, 0.0, share)
        elif here - atom_slope(stored, to) < highest - here and share < NEARLY_ALL:
            return _transfer(stored, iterate, to, away, 0.0, 1.0, 1.0, share / (1.0 - share))
        return _transfer(stored, iterate, to, to, 1.0, 0.0, -1.0, 1.0)


@routine
def _transfer(stored, iterate, to, away, to_part, away_part, own_part, most):
    """Return the move between stored atoms, with its direction in the dictionary's ``heading``."""
    set_direction(stored, iterate, to, away, to_part, away_part, own_part)
    return Transfer(stored, to, away, to_part, away_part, own_part, most)


def decomposed(rule: int, setting: Any) -> Any:
    """Return the state of a direction, with the atoms of the starting point."""
    structure, w = setting.constraint.structure(), setting.w
    if structure.coordinates is not None:
        return Corners(ActiveSet.of(w), structure.coordinates, rule)
    if structure.bounds is not None:
        return Segments(*(np.array(np.broadcast_to(bound, len(w)), dtype=np.float64) for bound in structure.bounds))
    return Stored(Dictionary.of(setting), rule)


@direction()
class Pairwise(NamedTuple):
    """Move weight from the worst active atom to the best vertex (Lacoste-Julien and Jaggi 2015).

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["pairwise"].direction == methods.Pairwise()
    True
    """

    def for_run(self, setting):
        """Return the state: the active atoms of the starting point."""
        return decomposed(PAIRWISE, setting)


@direction()
class Away(NamedTuple):
    """Toward the best vertex or away from the worst active atom, by the larger slope (Guelat and Marcotte 1986).

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["away"].direction == methods.Away()
    True
    """

    def for_run(self, setting):
        """Return the state: the active atoms of the starting point."""
        return decomposed(AWAY, setting)


@direction()
class BlendedPairwise(NamedTuple):
    """Exchange weight among active atoms while that slope is at least that toward a vertex (Tsuji et al. 2022).

    Examples
    --------
    >>> from frankwolfe import methods
    >>> methods.METHODS["blended-pairwise"].direction == methods.BlendedPairwise()
    True
    """

    def for_run(self, setting):
        """Return the state: the active atoms of the starting point."""
        return decomposed(BLENDED, setting)
