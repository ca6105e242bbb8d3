"""What every set can be asked, and what it answers where it does not say otherwise.

A set is a NamedTuple, which can inherit nothing. So `constraint_set`, the decorator of the package's sets, gives a
class the methods below that it does not have, and `completed` does the same for a user's class when a set of it is
first handed in. The rest of the package then asks, and never looks whether a method is there.

What a set has to bring along: ``tracker``, ``oracle``, ``support`` and ``contains``.
"""

from typing import Any

import numpy as np

from frankwolfe.compile.part import Part, lent, part
from frankwolfe.sets.image_diameters import from_diameter, image_diameters, widths
from frankwolfe.sets.structure import Structure


class Defaults:
    """Answers of a set that says nothing else. The set's own class has what is declared here without a value."""

    _fields: Any
    _replace: Any
    _asdict: Any
    radius: Any

    def hull(self):
        """Return the `Hull` of a set whose vertices are single coordinates, None for others."""
        return

    def structure(self):
        """Say how the points are made up: of single coordinates, or nothing is known but the oracle."""
        return Structure(self.hull())

    def shaped(self, rows, columns):
        """Return the set for a weight matrix: here a vector like any other, row after row."""
        return self

    def for_size(self, d):
        """Return the set for ``d`` weights: here any number will do."""
        return self

    def for_run(self):
        """Return the set for one run: what it remembers must be that run's own, for others may go on beside it."""
        return self

    def proven_support(self, direction):
        """Largest ``<direction, s>`` over the set, surely not less: here ``support`` is as sure as can be."""
        return self.support(direction)  # type: ignore[attr-defined]

    def attains_support(self):
        """Whether the vertices that the oracle names attain the support function, up to rounding."""
        return True

    def barrier(self, size):
        """Return a self-concordant barrier of the set's interior, for so many weights: here none is known."""
        return

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions, or an upper bound: here that of the box around the set."""
        return float(np.linalg.norm(widths(self, d)))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: bounds from the diameter, if the set brings it.

        Else from its support function, asked about every row.
        """
        own = type(self).diameter is not Defaults.diameter
        return from_diameter(float(self.diameter(X.shape[1])), X) if own else image_diameters(self, X)

    def knows_diameters(self):
        """Whether the set brings a diameter of its own, or those of images."""
        kind = type(self)
        return kind.diameter is not Defaults.diameter or kind.image_diameters is not Defaults.image_diameters

    def is_ball(self):
        """Whether the set is a ball around zero, or the part of one without negative entries: here it is not.

        The radius of a ball limits the size of all weights alike, whatever the units of the data. Simplexes, hulls and
        most boxes mean the units that they are given in.
        """
        return False

    def own_radius(self):
        """Return the radius, or None if the set has none."""
        return self.radius if "radius" in self._fields else None

    def with_radius(self, radius):
        """Return the set with another radius."""
        if "radius" not in self._fields:
            raise no_radius(self)
        return type(self)(**{**self._asdict(), "radius": radius})


class Ball:
    """Answers of a ball around zero."""

    def is_ball(self):
        """Whether the set is a ball around zero, or the part of one without negative entries: it is."""
        return True


class Forwarded(Defaults):
    """Answers of a wrapper: those of the set in its field ``set``."""

    set: Any

    def tracker(self, d):
        """Return the tracker of the set."""
        return self.set.tracker(d)

    def hull(self):
        """Return the `Hull` where vertices are single coordinates, None elsewhere."""
        return self.structure().coordinates

    def structure(self):
        """Say how the points are made up: as those of the set."""
        return self.set.structure()

    def shaped(self, rows, columns):
        """Return the set for a weight matrix of that shape."""
        return self._replace(set=self.set.shaped(rows, columns))

    def for_size(self, d):
        """Return the set fit for ``d`` weights."""
        return self._replace(set=self.set.for_size(d))

    def for_run(self):
        """Return the set for one run."""
        return self._replace(set=self.set.for_run())

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.set.support(direction)

    def proven_support(self, direction):
        """Largest ``<direction, s>`` over the set, proven where that is affordable."""
        return self.set.proven_support(direction)

    def attains_support(self):
        """Whether the vertices that the oracle names attain the support function, up to rounding."""
        return self.set.attains_support()

    def barrier(self, size):
        """Return the barrier of the set, None if it has none."""
        return self.set.barrier(size)

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set."""
        return self.set.contains(w, tolerance)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions, or an upper bound: that of the set."""
        return float(self.set.diameter(d))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: those of the set."""
        return self.set.image_diameters(X)

    def is_ball(self):
        """Whether the set is a ball around zero."""
        return self.set.is_ball()

    def own_radius(self):
        """Return the radius, or None if the set has none."""
        return self.set.own_radius()

    def with_radius(self, radius):
        """Return the same with the set of another radius."""
        return self._replace(set=self.set.with_radius(radius))


def no_radius(constraint: Any, why: str = "") -> ValueError:
    """Return the error for a set that has no radius to change."""
    return ValueError(
        f"{type(constraint).__name__} has no radius to change{why}: leave radius out, or use a set that has one, "
        "such as fw.L1Ball; fw.Scaled(set, factor) scales any other"
    )


def completed(kind: type, defaults: type = Defaults) -> None:
    """Give a class of sets the methods of `Defaults` that it does not have, or those of another class of defaults."""
    lent(defaults)(kind)


def constraint_set(kind: type[Part]) -> type[Part]:
    """Class decorator of the package's sets: a part that can be asked all that a set can be asked."""
    completed(kind)
    return part(kind)


def ball(kind: type[Part]) -> type[Part]:
    """Class decorator of the package's balls around zero: a set that says that it is one."""
    return constraint_set(lent(Ball)(kind))


def wrapper(kind: type[Part]) -> type[Part]:
    """Class decorator of sets made from another one, in their field ``set``: what they do not say, that one says."""
    completed(kind, Forwarded)
    return part(kind)
