"""The active set of any set at all: a dictionary of atoms, each stored whole, and their weights.

Where vertices are single coordinates the iterate tells its own weights (`frankwolfe.methods.active_support`). Elsewhere
the atoms that the oracle has named must be remembered. They stand in the rows of one array, so that compiled code never
has to grow anything. When all rows are taken, the two lightest atoms become one: their weighted mean is a point of the
set like any other, and the iterate does not move. All that is lost is the freedom to move weight between these two.
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import deposit, routine
from frankwolfe.methods.active_support import NOTHING
from frankwolfe.rows.iterate import Iterate

BUDGET = 2**26
"""Most bytes that stored atoms may take (64 MB): every step reads all of those in use, which should fit in a cache."""

FEWEST = 16
"""Fewest rows for atoms, whatever their size."""

SAME = 1e-14
"""Two atoms whose entries differ by no more than this part of the largest one are one atom: the rest is rounding."""

RECOMPOSE = 64
"""Changes between two recompositions of the iterate, which cost about as much as a step."""


class Dictionary(NamedTuple):
    """Stored atoms, their weights and what a move between them needs.

    Attributes
    ----------
    points : array of shape (capacity + 1, d)
        The atoms, in its first ``number[0]`` rows. The row after them is free, for the vertex that the oracle names.
    weights : array of shape (capacity + 1,)
        Their weights, which sum to one.
    number : array of shape (2,)
        How many atoms there are, and how many changes were made since the iterate was last recomposed.
    heading : array of shape (d,)
        The direction of the move that is being made.
    compass : array of shape (d,)
        The gradient estimate in one piece, as vector instructions want it: that of sparse data is interleaved.
    unit : array of shape (1,)
        One: the scale of every row, where it is to be seen as a point.
    """

    points: np.ndarray
    weights: np.ndarray
    number: np.ndarray
    heading: np.ndarray
    compass: np.ndarray
    unit: np.ndarray

    @classmethod
    def of(cls, setting: Any, capacity: int | None = None) -> "Dictionary":
        """Return a dictionary with one atom, the point that the run starts from.

        A point of the set needs ``d + 1`` vertices at most, and its predictions ``n + 1`` (Caratheodory). Twice as many
        leave room for those that come and go. Rows never written to take no memory.
        """
        d = len(setting.w)
        if capacity is None:
            enough = 2 * min(len(setting.samples.targets), d) + 2
            capacity = max(FEWEST, min(enough, BUDGET // (8 * d)))
        points, weights = np.zeros((capacity + 1, d)), np.zeros(capacity + 1)
        points[0], weights[0] = setting.w, 1.0
        return cls(points, weights, np.array([1, 0]), np.zeros(d), np.zeros(d), np.ones(1))

    def index_ranges(self) -> dict[str, Any]:
        """Return what the index arrays of a restored dictionary must be like."""
        return {"number": ([1, 0], [len(self.weights) + 1, 2**62])}

    def require_sound(self, iterate: Any) -> None:
        """Raise ValueError unless the weights are those of a mixture, and the atoms finite."""
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
    """Return row ``k`` as a point."""
    return Iterate(dictionary.points[k], dictionary.unit)


@routine
def look_up(dictionary, atom):
    """Write an atom into the free row; return the row of the stored atom that equals it, else the free one."""
    points, free = dictionary.points, dictionary.number[0]
    row, largest = points[free], 0.0
    row[:] = 0.0
    deposit(atom, point_at(dictionary, free), 1.0)
    for j in range(len(row)):
        largest = max(largest, abs(row[j]))
    for k in range(free):
        if _same(points[k], row, SAME * largest):
            return k
    return free


@routine
def _same(one, other, tolerance):
    """Whether no entry differs by more than the tolerance."""
    for j in range(len(one)):  # noqa: SIM110 - compiled code knows no generators
        if not abs(one[j] - other[j]) <= tolerance:
            return False
    return True


@routine
def consult(dictionary, r):
    """Copy the gradient estimate, which `utmost` and `level` go by."""
    compass = dictionary.compass
    for j in range(len(compass)):
        compass[j] = r[j]


@routine
def utmost(dictionary, side):
    """Row of the atom with the largest (``side = 1``) or smallest (``side = -1``) ``<r, a>``, and that product."""
    at, best = 0, -np.inf
    for k in range(dictionary.number[0]):
        value = side * level(dictionary, k)
        if value > best:
            at, best = k, value
    return at, side * best


@routine
def level(dictionary, k):
    """Return ``<r, a>`` for the atom in row ``k``."""
    row, compass, total = dictionary.points[k], dictionary.compass, 0.0
    for j in range(len(row)):
        total += row[j] * compass[j]
    return total


@routine
def head_for(dictionary, iterate, to, away, to_part, away_part, own_part):
    """Set the heading to ``to_part s - away_part a + own_part w``."""
    heading, points, v, own = dictionary.heading, dictionary.points, iterate.v, own_part * iterate.scale[0]
    for j in range(len(heading)):
        heading[j] = to_part * points[to, j] - away_part * points[away, j] + own * v[j]


@routine
def reweigh(dictionary, to, away, to_part, away_part, own_part, gamma):
    """Change the weights as ``gamma`` times that heading changes the iterate."""
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
    """Drop atoms without weight, make the weights sum to one again and the iterate their combination."""
    weights, number, unit = dictionary.weights, dictionary.number, dictionary.unit
    k, total = 0, 0.0
    while k < number[0]:
        if weights[k] > NOTHING:
            total += weights[k]
            k += 1
        else:
            _forget(dictionary, k)
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
def _forget(dictionary, k):
    """Strike off the atom in row ``k``: the last one takes its place."""
    points, weights, number = dictionary.points, dictionary.weights, dictionary.number
    number[0] -= 1
    last = number[0]
    if k != last:
        points[k, :] = points[last]
        weights[k] = weights[last]


@routine
def make_room(dictionary):
    """See to it that a row is free: if none is, the two lightest atoms become their weighted mean."""
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
    _forget(dictionary, light)
