"""Sets made from another one: moved, scaled."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import oracle
from frankwolfe.sets.atoms import Shifted, Stretched, vertex_of
from frankwolfe.sets.base import wrapper
from frankwolfe.sets.checks import a_set, number_or_vector, one_for_each, rounding


@wrapper
class Translated(NamedTuple):
    """All ``w + shift`` with ``w`` in another set.

    Parameters
    ----------
    set : set
        Any constraint set.
    shift : float or array of shape (d,)
        A number moves every coordinate. Of a weight matrix, its entries row after row.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Translated(fw.L1Ball(1.0), [0.0, 5.0]).vertex([0.0, 1.0])
    array([0., 4.])
    """

    set: Any
    shift: Any

    def _checked(self):
        shift = number_or_vector("Translated", "shift", self.shift)
        return self._replace(set=a_set("Translated: set", self.set), shift=shift)

    def for_size(self, d):
        """Return the set fit for ``d`` weights."""
        return self._replace(set=self.set.for_size(d), shift=one_for_each("Translated", "shift", self.shift, d))

    def structure(self):
        """Say how the points are made up: as those of the set, moved."""
        return self.set.structure().moved(self.shift)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        return Shifted(oracle(self.set, tracker, r), self.shift)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.set.support(direction) + self._level(direction)

    def proven_support(self, direction):
        """Largest ``<direction, s>`` over the set, proven where that is affordable."""
        return self.set.proven_support(direction) + self._level(direction)

    def _level(self, direction: Any) -> float:
        """Return ``<direction, shift>``."""
        return float(np.sum(np.multiply(direction, self.shift)))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to what ``tolerance`` means to the set that is moved."""
        moved = np.subtract(w, self.shift)
        if self.set.contains(moved, tolerance):
            return True
        from frankwolfe.sets.products import Product  # which is made of sets like this one

        if isinstance(self.set, Product):  # each part is as wide as it is
            w = np.ravel(w)
            shift = np.broadcast_to(self.shift, w.shape)
            blocks = self.set.blocks()
            return all(Translated(inner, shift[block]).contains(w[block], tolerance) for inner, block in blocks)
        # far from zero a small set is blurred: points are rounded where they are, also where the set has no width
        blurs = rounding(self.shift)
        moved = np.where(np.abs(moved) <= 2.0 * blurs, 0.0, moved)
        bounds = self.set.structure().bounds
        if bounds is not None:  # a side without width has no room for rounding
            inside = np.clip(moved, bounds.lower, bounds.upper)
            moved = np.where(np.abs(moved - inside) <= 2.0 * blurs, inside, moved)
        blur, width = np.sqrt(moved.size) * float(np.max(blurs)), float(self.set.diameter(moved.size))
        if not width > 0.0:
            only = vertex_of(self.set, np.zeros(moved.size))
            return bool(np.all(np.abs(np.ravel(moved) - only) <= 2.0 * rounding(self.shift, only)))
        return bool(blur > 0.0 and self.set.contains(moved, tolerance + blur / width))

    def barrier(self, size):
        """Return the barrier of the set that is moved, moved; None if it has none."""
        inner = self.set.barrier(size)
        return None if inner is None else inner.translated(self.shift)

    def is_ball(self):
        """Whether the set is a ball around zero: not once it is moved."""
        return False


@wrapper
class Scaled(NamedTuple):
    """All ``factor * w`` with ``w`` in another set.

    Parameters
    ----------
    set : set
        Any constraint set.
    factor : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Scaled(fw.Birkhoff(2), 3.0).vertex([1.0, 0.0, 0.0, 3.0])
    array([0., 3., 3., 0.])
    """

    set: Any
    factor: float

    def _checked(self):
        factor = positive("Scaled", "factor", self.factor)
        return self._replace(set=a_set("Scaled: set", self.set), factor=factor)

    def structure(self):
        """Say how the points are made up: as those of the set, scaled."""
        return self.set.structure().scaled(self.factor)

    def own_radius(self):
        """Return the radius, the factor in it, or None if the set has none."""
        inner = self.set.own_radius()
        return None if inner is None else self.factor * inner

    def with_radius(self, radius):
        """Return the same of another radius: the factor stays, the set that is scaled has another one."""
        return self._replace(set=self.set.with_radius(positive("Scaled", "radius", radius) / self.factor))

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        return Stretched(oracle(self.set, tracker, r), self.factor)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.factor * self.set.support(direction)

    def proven_support(self, direction):
        """Largest ``<direction, s>`` over the set, proven where that is affordable."""
        return self.factor * self.set.proven_support(direction)

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to what ``tolerance`` means to the set that is scaled."""
        return self.set.contains(np.divide(w, self.factor), tolerance)

    def barrier(self, size):
        """Return the barrier of the set that is scaled, scaled; None if it has none."""
        inner = self.set.barrier(size)
        return None if inner is None else inner.scaled(self.factor)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return self.factor * float(self.set.diameter(d))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the scaled set's, times the factor."""
        return {p: (self.factor * value, exact) for p, (value, exact) in self.set.image_diameters(X).items()}
