"""What every set can be asked, and what it answers where it does not say otherwise.

A set is a NamedTuple, which can inherit nothing. So `constraint_set`, the decorator of the package's sets, gives a
class the methods below that it does not have, and `completed` does the same for a user's class when a set of it is
first handed in. The rest of the package then asks, and never looks whether a method is there.

What a set has to bring along: ``tracker``, ``oracle``, ``support`` and ``contains``.
"""

from typing import Any

from frankwolfe.compile.part import Part, lent, part
from frankwolfe.sets.structure import Structure


class Defaults:
    """Answers of a set that says nothing else. The set's own class has what is declared here without a value."""

    _fields: Any
    _replace: Any
    _asdict: Any
    radius: Any
    hull: Any

    def structure(self):
        """Say how the points are made up: nothing is known but the oracle."""
        return Structure()

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


class CoordinateDefaults(Defaults):
    """Answers of a set whose method ``hull`` says that vertices are single coordinates."""

    def structure(self):
        """Say how the points are made up: of single coordinates."""
        return Structure(self.hull())


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


def completed(kind: type, defaults: type | None = None) -> None:
    """Give a class of sets the methods of `Defaults` that it does not have, or those of another class of defaults."""
    if defaults is None:
        defaults = CoordinateDefaults if hasattr(kind, "hull") else Defaults
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
