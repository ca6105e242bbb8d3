"""Directions: where to go from the iterate, given the gradient estimate. Each chooses a move (`methods/moves.py`).

The directions with an active set ask `take_apart` what a point of the set is made of. Where vertices are single
coordinates the point itself tells (`frankwolfe.methods.active_support`). A box is a product of segments: there the
coordinate whose segment holds most of the gap is moved, and the three directions are one. Everywhere else the atoms are
stored (`frankwolfe.methods.active_dictionary`).
"""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.verbs import blend, coordinate, inner, oracle, pair, routine, turn
from frankwolfe.methods.active_dictionary import Dictionary, consult, head_for, level, look_up, utmost
from frankwolfe.methods.active_support import ActiveSet, extreme, inner_active, weight
from frankwolfe.methods.lifecycle import direction
from frankwolfe.methods.moves import Exchange, Slide, Straight, Transfer
from frankwolfe.sets.base import Hull

NEARLY_ALL = 1.0 - 1e-7
"""Weight from which on no step goes away from an atom. It could grow up to ``weight / (1 - weight)``, where the digits
of the difference are those of rounding, and the step would lead out of the set. Toward a vertex is as good there."""


@direction
class Toward(NamedTuple):
    """Frank and Wolfe's direction: toward the vertex that the oracle names."""

    @property
    def keeps_atoms(self):
        """Whether a run may keep atoms: a vertex is forgotten once the iterate has moved."""
        return False

    @property
    def mixes_vertices(self):
        """Whether every step is a mixture of the iterate and a vertex."""
        return True

    def choose(self, constraint, gradient, iterate):
        """Ask the oracle."""
        return Straight(oracle(constraint, gradient.tracker, gradient.r))


class Corners(NamedTuple):
    """Takes apart a set whose vertices are single coordinates."""

    active: ActiveSet
    atoms: Hull

    def pair(self, constraint, gradient, iterate):
        """Move weight from the worst active atom to the best vertex."""
        to = coordinate(oracle(constraint, gradient.tracker, gradient.r))
        away = extreme(self.atoms, self.active, iterate, gradient.r, 1.0)
        return Exchange(self.active, to, away, 1.0, 1.0, 0.0, weight(self.atoms, self.active, iterate, away))

    def turn(self, constraint, gradient, iterate):
        """Go toward the best vertex or away from the worst active atom, whichever slope is larger."""
        active, atoms, r = self.active, self.atoms, gradient.r
        to = coordinate(oracle(constraint, gradient.tracker, r))
        away = extreme(atoms, active, iterate, r, 1.0)
        here = inner_active(active, iterate, r)
        share = weight(atoms, active, iterate, away)
        if here - inner(to, r) >= inner(away, r) - here or share >= NEARLY_ALL:
            return Exchange(active, to, away, 1.0, 0.0, -1.0, 1.0)
        return Exchange(active, to, away, 0.0, 1.0, 1.0, share / (1.0 - share))

    def blend(self, constraint, gradient, iterate):
        """Exchange weight between active atoms, unless going toward a vertex promises more."""
        active, atoms, r = self.active, self.atoms, gradient.r
        to = coordinate(oracle(constraint, gradient.tracker, r))
        away = extreme(atoms, active, iterate, r, 1.0)
        near = extreme(atoms, active, iterate, r, -1.0)
        if inner(away, r) - inner(near, r) >= inner_active(active, iterate, r) - inner(to, r):
            return Exchange(active, near, away, 1.0, 1.0, 0.0, weight(atoms, active, iterate, away))
        return Exchange(active, to, away, 1.0, 0.0, -1.0, 1.0)


class Segments(NamedTuple):
    """Takes a box apart into one segment for each coordinate."""

    lower: np.ndarray
    upper: np.ndarray

    def pair(self, constraint, gradient, iterate):
        """Slide along the coordinate whose segment holds most of the gap."""
        lower, upper, r, v, scale = self.lower, self.upper, gradient.r, iterate.v, iterate.scale[0]
        at, room, most = 0, 0.0, -1.0
        for j in range(len(r)):
            free = scale * v[j] - lower[j] if r[j] > 0.0 else upper[j] - scale * v[j]
            if abs(r[j]) * free > most:
                at, room, most = j, free, abs(r[j]) * free
        down, room = r[at] > 0.0, max(0.0, room)
        return Slide(at, -room if down else room, lower[at] if down else upper[at], len(r))

    def turn(self, constraint, gradient, iterate):
        """Slide: within a segment, away from one end is toward the other."""
        return pair(self, constraint, gradient, iterate)

    def blend(self, constraint, gradient, iterate):
        """Slide: both ends of a segment are always active."""
        return pair(self, constraint, gradient, iterate)


class Stored(NamedTuple):
    """Takes apart any set: into the atoms that its oracle has named so far."""

    dictionary: Dictionary

    def pair(self, constraint, gradient, iterate):
        """Move weight from the worst stored atom to the best vertex."""
        stored = self.dictionary
        to = _best_vertex(stored, constraint, gradient)
        away, _ = utmost(stored, 1.0)
        return _swap(stored, iterate, to, away)

    def turn(self, constraint, gradient, iterate):
        """Go toward the best vertex or away from the worst stored atom, whichever slope is larger."""
        stored = self.dictionary
        to = _best_vertex(stored, constraint, gradient)
        away, highest = utmost(stored, 1.0)
        here, share = inner(iterate, gradient.r), stored.weights[away]
        if here - level(stored, to) >= highest - here or share >= NEARLY_ALL:
            return _approach(stored, iterate, to)
        head_for(stored, iterate, to, away, 0.0, 1.0, 1.0)
        return Transfer(stored, to, away, 0.0, 1.0, 1.0, share / (1.0 - share))

    def blend(self, constraint, gradient, iterate):
        """Exchange weight between stored atoms, unless going toward a vertex promises more."""
        stored = self.dictionary
        to = _best_vertex(stored, constraint, gradient)
        away, highest = utmost(stored, 1.0)
        near, lowest = utmost(stored, -1.0)
        if highest - lowest >= inner(iterate, gradient.r) - level(stored, to):
            return _swap(stored, iterate, near, away)
        return _approach(stored, iterate, to)


@routine
def _best_vertex(stored, constraint, gradient):
    """Row of the vertex that the oracle names."""
    consult(stored, gradient.r)
    return look_up(stored, oracle(constraint, gradient.tracker, gradient.r))


@routine
def _swap(stored, iterate, to, away):
    """Move that moves weight from one row to another."""
    head_for(stored, iterate, to, away, 1.0, 1.0, 0.0)
    return Transfer(stored, to, away, 1.0, 1.0, 0.0, stored.weights[away])


@routine
def _approach(stored, iterate, to):
    """Move that leads from all of the iterate to one row."""
    head_for(stored, iterate, to, to, 1.0, 0.0, -1.0)
    return Transfer(stored, to, to, 1.0, 0.0, -1.0, 1.0)


def take_apart(setting: Any) -> Any:
    """Return what an active-set direction needs to know of the set and the starting point."""
    structure, w = setting.constraint.structure(), setting.w
    if structure.coordinates is not None:
        return Corners(ActiveSet.of(w), structure.coordinates)
    if structure.bounds is not None:
        return Segments(*(np.array(np.broadcast_to(bound, len(w)), dtype=np.float64) for bound in structure.bounds))
    return Stored(Dictionary.of(setting))


@direction
class Pairwise(NamedTuple):
    """Move weight from the worst active atom to the best vertex (Lacoste-Julien and Jaggi 2015)."""

    def for_run(self, setting):
        """Take stock of the active atoms."""
        return PairwiseState(take_apart(setting))


class PairwiseState(NamedTuple):
    """The active atoms of a pairwise run."""

    pieces: Any

    def choose(self, constraint, gradient, iterate):
        """Pick both atoms."""
        return pair(self.pieces, constraint, gradient, iterate)


@direction
class Away(NamedTuple):
    """Toward the best vertex or away from the worst active atom, whichever promises more (Guelat and Marcotte 1986)."""

    def for_run(self, setting):
        """Take stock of the active atoms."""
        return AwayState(take_apart(setting))


class AwayState(NamedTuple):
    """The active atoms of an away-step run."""

    pieces: Any

    def choose(self, constraint, gradient, iterate):
        """Compare the two slopes."""
        return turn(self.pieces, constraint, gradient, iterate)


@direction
class BlendedPairwise(NamedTuple):
    """Exchange weight among the active atoms while that promises as much as a new vertex does (Tsuji et al. 2022)."""

    def for_run(self, setting):
        """Take stock of the active atoms."""
        return BlendedPairwiseState(take_apart(setting))


class BlendedPairwiseState(NamedTuple):
    """The active atoms of a blended pairwise run."""

    pieces: Any

    def choose(self, constraint, gradient, iterate):
        """Compare the best exchange with the Frank-Wolfe gap."""
        return blend(self.pieces, constraint, gradient, iterate)
