"""Directions: where to go from the iterate, given the gradient estimate. Each chooses a leg (see `frankwolfe.legs`).

The directions with an active set need a set that they can take apart: one whose vertices are single coordinates
(`frankwolfe.active`), or a box, which is a product of segments: there the coordinate whose segment holds most of the
gap is moved, and the three of them are one.
"""

from typing import Any, NamedTuple

from frankwolfe.active import ActiveSet, extreme, inner_active, weight
from frankwolfe.legs import Exchange, Slide, Straight
from frankwolfe.parts import part
from frankwolfe.sets.polytopes import Box
from frankwolfe.verbs import blend, inner, oracle, pair, turn


@part
class Toward(NamedTuple):
    """Frank and Wolfe's direction: toward the vertex that the oracle names."""

    def choose(self, constraint, gradient, iterate):
        """Ask the oracle."""
        return Straight(oracle(constraint, gradient.scout, gradient.r))


class Corners(NamedTuple):
    """Takes apart a set whose vertices are single coordinates."""

    active: ActiveSet

    def pair(self, constraint, gradient, iterate):
        """Move weight from the worst active atom to the best vertex."""
        to = oracle(constraint, gradient.scout, gradient.r)
        away = extreme(constraint, self.active, iterate, gradient.r, 1.0)
        return Exchange(self.active, to, away, 1.0, 1.0, 0.0, weight(constraint, self.active, iterate, away))

    def turn(self, constraint, gradient, iterate):
        """Go toward the best vertex or away from the worst active atom, whichever slope is larger."""
        active, r = self.active, gradient.r
        to = oracle(constraint, gradient.scout, r)
        away = extreme(constraint, active, iterate, r, 1.0)
        here = inner_active(active, iterate, r)
        share = weight(constraint, active, iterate, away)
        if here - inner(to, r) >= inner(away, r) - here or share >= 1.0:
            return Exchange(active, to, away, 1.0, 0.0, -1.0, 1.0)
        return Exchange(active, to, away, 0.0, 1.0, 1.0, share / (1.0 - share))

    def blend(self, constraint, gradient, iterate):
        """Exchange weight between active atoms, unless going toward a vertex promises more."""
        active, r = self.active, gradient.r
        to = oracle(constraint, gradient.scout, r)
        away = extreme(constraint, active, iterate, r, 1.0)
        near = extreme(constraint, active, iterate, r, -1.0)
        if inner(away, r) - inner(near, r) >= inner_active(active, iterate, r) - inner(to, r):
            return Exchange(active, near, away, 1.0, 1.0, 0.0, weight(constraint, active, iterate, away))
        return Exchange(active, to, away, 1.0, 0.0, -1.0, 1.0)


class Segments(NamedTuple):
    """Takes a box apart into one segment for each coordinate."""

    sides: int

    def pair(self, constraint, gradient, iterate):
        """Slide along the coordinate whose segment holds most of the gap."""
        lower, upper, r, v, scale = constraint.lower, constraint.upper, gradient.r, iterate.v, iterate.scale[0]
        at, room, most = 0, 0.0, -1.0
        for j in range(len(r)):
            free = scale * v[j] - lower[j] if r[j] > 0.0 else upper[j] - scale * v[j]
            if abs(r[j]) * free > most:
                at, room, most = j, free, abs(r[j]) * free
        down = r[at] > 0.0
        return Slide(at, -1.0 if down else 1.0, max(0.0, room), lower[at] if down else upper[at], self.sides)

    def turn(self, constraint, gradient, iterate):
        """Slide: within a segment, away from one end is toward the other."""
        return pair(self, constraint, gradient, iterate)

    def blend(self, constraint, gradient, iterate):
        """Slide: both ends of a segment are always active."""
        return pair(self, constraint, gradient, iterate)


def take_apart(direction: str, setting: Any) -> Any:
    """Return what an active-set direction needs to know of the set and the starting point, or refuse the set."""
    constraint = setting.constraint
    if hasattr(constraint, "hull"):
        return Corners(ActiveSet.of(setting.w))
    if isinstance(constraint, Box):
        return Segments(len(setting.w))
    raise ValueError(
        f"{direction} needs a set whose vertices are single coordinates (L1Ball, Simplex, NonNegativeL1Ball) or a Box, "
        f"not {type(constraint).__name__}: use 'sfw' or 'fw' there"
    )


@part
class Pairwise(NamedTuple):
    """Move weight from the worst active atom to the best vertex (Lacoste-Julien and Jaggi 2015)."""

    pieces: Any = None

    def begin(self, setting):
        """Take stock of the active atoms."""
        return Pairwise(take_apart("Pairwise", setting))

    def choose(self, constraint, gradient, iterate):
        """Pick both atoms."""
        return pair(self.pieces, constraint, gradient, iterate)


@part
class Away(NamedTuple):
    """Toward the best vertex or away from the worst active atom, whichever promises more (Guelat and Marcotte 1986)."""

    pieces: Any = None

    def begin(self, setting):
        """Take stock of the active atoms."""
        return Away(take_apart("Away", setting))

    def choose(self, constraint, gradient, iterate):
        """Compare the two slopes."""
        return turn(self.pieces, constraint, gradient, iterate)


@part
class BlendedPairwise(NamedTuple):
    """Exchange weight among the active atoms while that promises as much as a new vertex does (Tsuji et al. 2022)."""

    pieces: Any = None

    def begin(self, setting):
        """Take stock of the active atoms."""
        return BlendedPairwise(take_apart("BlendedPairwise", setting))

    def choose(self, constraint, gradient, iterate):
        """Compare the best exchange with the Frank-Wolfe gap."""
        return blend(self.pieces, constraint, gradient, iterate)
