"""Search directions, the moves that represent them, and the active sets of away and pairwise steps.

An active set holds the atoms of which an iterate is a convex combination, and their weights. There are two
representations. If the vertices of a set have one non-zero entry, the support of the iterate is the active set
(`ActiveSet`). For every other set, atoms are stored with their weights (`Dictionary`).
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import coordinate, deposit, inner, oracle, prediction, routine, row_entry, shrink
from frankwolfe.methods.base import direction
from frankwolfe.sets.atoms import Hot, Iterate
from frankwolfe.sets.base import Hull

# --- active sets: the support of the iterate -------------------------------------------------------------------------

NOTHING = 1e-15
"""Weights up to this count as zero: they are rounding errors."""


class ActiveSet(NamedTuple):
    """The active set of a point ``w`` of a set whose vertices have one non-zero entry: the support of ``w``.

    Such a set is the convex hull of vertices ``+-R e_j`` (or only ``+R e_j``), and possibly of zero. The vertex with
    the sign of ``w_j`` has the weight ``|w_j| / R``. The zero atom has the weight ``1 - ||w||_1 / R``. No atoms need to
    be stored, and an atom is dropped when its coordinate becomes zero.

    Attributes
    ----------
    members : array of int
        The non-zero coordinates, unordered, in the first ``number[0]`` entries.
    place : array of int
        Position of each coordinate in ``members``; -1 for a zero coordinate.
    number : array of shape (2,)
        Number of members, and number of coordinate changes so far.
    size : array of shape (1,)
        Sum of ``|v_j|``, so that ``scale * size`` is the l1 norm of ``w``.
    """

    members: np.ndarray
    place: np.ndarray
    number: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, w: np.ndarray) -> "ActiveSet":
        """Return the active set of the point ``w``, for an iterate with scale one."""
        support = np.flatnonzero(w)
        members, place = np.zeros(len(w), dtype=np.int64), np.full(len(w), -1)
        members[: len(support)] = support
        place[support] = np.arange(len(support))
        return cls(members, place, np.array([len(support), 0]), np.array([np.abs(w).sum()]))

    def index_ranges(self) -> dict[str, Any]:
        """Return the valid ranges of the integer arrays, for the check of a restored active set."""
        d = len(self.members)
        return {"members": (0, d), "place": (-1, d), "number": ([0, 0], [d + 1, 2**62])}

    def require_sound(self, iterate: Any) -> None:
        """Raise ValueError unless the members are the support of the iterate and ``place`` is their inverse."""
        support, members = np.flatnonzero(iterate.v), self.members[: self.number[0]]
        place = np.full(len(self.place), -1)
        place[members] = np.arange(len(members))
        if not np.array_equal(np.sort(members), support) or not np.array_equal(place, self.place):
            raise ValueError("its active set is not the support of its point")


@routine
def change_coordinate(active, iterate, j, change):
    """Add ``change`` to coordinate ``j`` of ``w``."""
    v, size = iterate.v, active.size
    before = v[j]
    after = before + change / iterate.scale[0]
    v[j] = after
    size[0] += abs(after) - abs(before)
    if before == 0.0 and after != 0.0:
        active.place[j] = active.number[0]
        active.members[active.number[0]] = j
        active.number[0] += 1
    elif before != 0.0 and after == 0.0:
        _remove_coordinate(active, j)
    active.number[1] += 1
    if active.number[1] % 4096 == 0:
        _recount(active, v)


@routine
def _recount(active, v):
    """Recompute the l1 norm: rounding errors of a running sum would accumulate, and the iterate would leave the set."""
    total = 0.0
    for k in range(active.number[0]):
        total += abs(v[active.members[k]])
    active.size[0] = total


@routine
def clear_coordinate(active, iterate, j):
    """Set coordinate ``j`` of ``w`` to exactly zero."""
    v = iterate.v
    if v[j] != 0.0:
        active.size[0] -= abs(v[j])
        v[j] = 0.0
        _remove_coordinate(active, j)


@routine
def _remove_coordinate(active, j):
    """Remove a coordinate from the members and move the last member to its position."""
    members, place, number = active.members, active.place, active.number
    number[0] -= 1
    last = members[number[0]]
    members[place[j]] = last
    place[last] = place[j]
    place[j] = -1


@routine
def slack(atoms, active, iterate):
    """Return the weight of the zero atom of the hull ``atoms``; zero if the hull has no such atom."""
    if not atoms.filled:
        return 0.0
    return max(0.0, 1.0 - iterate.scale[0] * active.size[0] / atoms.radius)


@routine
def weight(atoms, active, iterate, atom):
    """Return the weight of an atom in ``w``."""
    if atom.amount == 0.0:
        return slack(atoms, active, iterate)
    return abs(iterate.v[atom.at]) * iterate.scale[0] / atoms.radius


@routine
def extreme(atoms, active, iterate, r, side):
    """Return the active atom ``a`` with the largest (``side = 1``) or smallest (``side = -1``) ``<r, a>``."""
    v, members, radius = iterate.v, active.members, atoms.radius
    at, amount, best = 0, 0.0, -np.inf
    if atoms.filled and (active.number[0] == 0 or slack(atoms, active, iterate) > NOTHING):
        best = 0.0  # the zero atom
    for k in range(active.number[0]):
        j = members[k]
        value = side * (r[j] if v[j] > 0.0 else -r[j])
        if value > best:
            at, amount, best = j, (radius if v[j] > 0.0 else -radius), value
    return Hot(at, amount)


@routine
def inner_active(active, iterate, r):
    """Return ``<r, w>``, summed over the support."""
    v, members, total = iterate.v, active.members, 0.0
    for k in range(active.number[0]):
        total += v[members[k]] * r[members[k]]
    return iterate.scale[0] * total


# --- stored atoms -----------------------------------------------------------------------------------------------------

BUDGET = 2**26
"""Maximum memory of stored atoms in bytes (64 MB). Every step reads all of them, so they should fit in a cache."""

FEWEST = 16
"""Minimum number of stored atoms, regardless of their size."""


RECOMPOSE = 64
"""Number of weight changes between two recompositions of the iterate. A recomposition costs about as much as a step."""


class Dictionary(NamedTuple):
    """The active set of a point of any set: atoms stored as dense vectors, and their weights.

    Atoms are rows of a preallocated array, so compiled code never allocates memory. When all rows are in use, the two
    atoms with the smallest weights are replaced by their weighted mean. It is a point of the set, and the iterate does
    not change.

    Attributes
    ----------
    points : array of shape (capacity + 1, d)
        The atoms, in the first ``number[0]`` rows. The next row is free for the vertex that the oracle returns.
    weights : array of shape (capacity + 1,)
        The weights of the atoms, which sum to one.
    number : array of shape (2,)
        Number of atoms, and number of weight changes since the last recomposition of the iterate.
    heading : array of shape (d,)
        The direction of the current move.
    gradient_copy : array of shape (d,)
        A contiguous copy of the gradient estimate, for vector instructions. For sparse data the original is interleaved
        with the iterate.
    unit : array of shape (1,)
        The scale 1 of an atom that is used as an `Iterate`.
    """

    points: np.ndarray
    weights: np.ndarray
    number: np.ndarray
    heading: np.ndarray
    gradient_copy: np.ndarray
    unit: np.ndarray

    @classmethod
    def of(cls, setting: Any, capacity: int | None = None) -> "Dictionary":
        """Return a dictionary with one atom, the starting point of the run.

        By Caratheodory's theorem a point is a combination of at most ``d + 1`` vertices, and its predictions of at most
        ``n + 1``. The default capacity is twice the smaller number. Rows that are never written to take no memory.
        """
        d = len(setting.w)
        if capacity is None:
            enough = 2 * min(setting.n, d) + 2
            capacity = max(FEWEST, min(enough, BUDGET // (8 * d)))
        points, weights = np.zeros((capacity + 1, d)), np.zeros(capacity + 1)
        points[0], weights[0] = setting.w, 1.0
        return cls(points, weights, np.array([1, 0]), np.zeros(d), np.zeros(d), np.ones(1))

    def index_ranges(self) -> dict[str, Any]:
        """Return the valid ranges of the integer arrays, for the check of a restored dictionary."""
        return {"number": ([1, 0], [len(self.weights) + 1, 2**62])}

    def require_sound(self, iterate: Any) -> None:
        """Raise ValueError unless the weights are those of a convex combination and the atoms are finite."""
        number = self.number[0]
        weights = self.weights[:number]
        if (
            not (weights >= 0.0).all()
            or not abs(weights.sum() - 1.0) < 1e-6
            or not np.isfinite(self.points[:number]).all()
        ):
            raise ValueError("the weights of its atoms do not sum to one")


@routine
def point_at(dictionary, k):
    """Return row ``k`` as an `Iterate`."""
    return Iterate(dictionary.points[k], dictionary.unit)


@routine
def find_atom(dictionary, atom):
    """Write an atom into the free row. Return the row of an equal stored atom if there is one, else the free row."""
    points, free = dictionary.points, dictionary.number[0]
    row, largest = points[free], 0.0
    row[:] = 0.0
    deposit(atom, point_at(dictionary, free), 1.0)
    for j in range(len(row)):
        largest = max(largest, abs(row[j]))
    for k in range(free):
        # Atoms are equal up to rounding.
        if _same(points[k], row, 1e-14 * largest):
            return k
    return free


@routine
def _same(one, other, tolerance):
    """Return whether all entries agree up to the tolerance."""
    for j in range(len(one)):  # noqa: SIM110 - numba does not compile generator expressions
        if not abs(one[j] - other[j]) <= tolerance:
            return False
    return True


@routine
def copy_gradient(dictionary, r):
    """Copy the gradient estimate for `extreme_atom` and `atom_slope`."""
    gradient_copy = dictionary.gradient_copy
    for j in range(len(gradient_copy)):
        gradient_copy[j] = r[j]


@routine
def extreme_atom(dictionary, side):
    """Return the row of the atom with the largest (``side = 1``) or smallest (``-1``) ``<r, a>``, and the product."""
    at, best = 0, -np.inf
    for k in range(dictionary.number[0]):
        value = side * atom_slope(dictionary, k)
        if value > best:
            at, best = k, value
    return at, side * best


@routine
def atom_slope(dictionary, k):
    """Return ``<r, a>`` for the atom in row ``k``."""
    row, gradient_copy, total = dictionary.points[k], dictionary.gradient_copy, 0.0
    for j in range(len(row)):
        total += row[j] * gradient_copy[j]
    return total


@routine
def set_direction(dictionary, iterate, to, away, to_part, away_part, own_part):
    """Set ``heading`` to ``to_part s - away_part a + own_part w``; ``s`` and ``a`` are in rows ``to`` and ``away``."""
    heading, points, v, own = dictionary.heading, dictionary.points, iterate.v, own_part * iterate.scale[0]
    for j in range(len(heading)):
        heading[j] = to_part * points[to, j] - away_part * points[away, j] + own * v[j]


@routine
def change_weights(dictionary, to, away, to_part, away_part, own_part, gamma):
    """Update the weights for a step ``gamma`` along the direction of `set_direction`."""
    weights, number = dictionary.weights, dictionary.number
    for k in range(number[0]):
        weights[k] *= 1.0 + gamma * own_part
    if to == number[0] and to_part > 0.0:
        weights[to] = 0.0
        number[0] += 1
    weights[to] += gamma * to_part
    weights[away] = max(0.0, weights[away] - gamma * away_part)
    number[1] += 1


@routine
def recompose(dictionary, iterate):
    """Drop atoms of weight zero, normalise the weights, and recompute the iterate from atoms and weights."""
    weights, number, unit = dictionary.weights, dictionary.number, dictionary.unit
    k, total = 0, 0.0
    while k < number[0]:
        if weights[k] > NOTHING:
            total += weights[k]
            k += 1
        else:
            _remove_row(dictionary, k)
    iterate.v[:] = 0.0
    iterate.scale[0] = unit[0]
    for k in range(number[0]):
        weights[k] /= total
        _add_row(dictionary, k, weights[k], iterate.v)
    number[1] = 0


@routine
def _add_row(dictionary, k, c, v):
    """Add ``c`` times the atom in row ``k`` to ``v``."""
    row = dictionary.points[k]
    for j in range(len(row)):
        v[j] += c * row[j]


@routine
def _remove_row(dictionary, k):
    """Remove the atom in row ``k`` and move the last atom to its row."""
    points, weights, number = dictionary.points, dictionary.weights, dictionary.number
    number[0] -= 1
    last = number[0]
    if k != last:
        points[k, :] = points[last]
        weights[k] = weights[last]


@routine
def make_room(dictionary):
    """Ensure that a row is free: if none is, merge the two atoms with the smallest weights into their weighted mean."""
    points, weights, number = dictionary.points, dictionary.weights, dictionary.number
    if number[0] < len(weights):
        return
    light, next_light = (0, 1) if weights[0] <= weights[1] else (1, 0)
    for k in range(2, number[0]):
        if weights[k] < weights[light]:
            light, next_light = k, light
        elif weights[k] < weights[next_light]:
            next_light = k
    both = weights[light] + weights[next_light]
    kept, row = points[next_light], points[light]
    share = weights[light] / both if both > 0.0 else 0.0
    for j in range(len(kept)):
        kept[j] += share * (row[j] - kept[j])
    weights[next_light] = both
    _remove_row(dictionary, light)


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
