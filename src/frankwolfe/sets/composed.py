"""Sets made from others: moved, scaled, side by side."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.iterate import Iterate
from frankwolfe.parts import part, positive
from frankwolfe.sets.atoms import Full, Shifted, Stretched, fitted, vertex_of, wired
from frankwolfe.sets.checks import a_set, number_or_vector, one_for_each, whole
from frankwolfe.sets.images import diameter_of, diameters_of, image_diameters
from frankwolfe.verbs import deposit, fill, oracle, rebuild, row_add


@part
class Translated(NamedTuple):
    """All ``w + shift`` with ``w`` in another set.

    Parameters
    ----------
    set : set
        Any constraint set.
    shift : float or array of shape (d,)
        A number moves every coordinate.

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

    def fitted(self, d):
        """Return the set fit for ``d`` columns."""
        return self._replace(set=fitted(self.set, d), shift=one_for_each("Translated", "shift", self.shift, d))

    def scout(self, d):
        """Return the scout of the set that is moved."""
        return self.set.scout(d)

    def oracle(self, scout, r):
        """Atom that minimises ``<r, s>``."""
        return Shifted(oracle(self.set, scout, r), self.shift)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.set.support(direction) + float(np.sum(np.multiply(direction, self.shift)))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to what ``tolerance`` means to the set that is moved."""
        return self.set.contains(np.subtract(w, self.shift), tolerance)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return diameter_of(self.set, d)

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: those of the set that is moved."""
        return diameters_of(self.set, X)


@part
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

    def fitted(self, d):
        """Return the set fit for ``d`` columns."""
        return self._replace(set=fitted(self.set, d))

    def scout(self, d):
        """Return the scout of the set that is scaled."""
        return self.set.scout(d)

    def oracle(self, scout, r):
        """Atom that minimises ``<r, s>``."""
        return Stretched(oracle(self.set, scout, r), self.factor)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        return self.factor * self.set.support(direction)

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to what ``tolerance`` means to the set that is scaled."""
        return self.set.contains(np.divide(w, self.factor), tolerance)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return self.factor * diameter_of(self.set, d)

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact: the scaled set's, times the factor."""
        return {p: (self.factor * value, exact) for p, (value, exact) in diameters_of(self.set, X).items()}


class Link(NamedTuple):
    """One set of a product, with its scout and its coordinates, and the rest of them."""

    set: Any
    scout: Any
    low: int
    high: int
    rest: Any

    def fill(self, r, room):
        """Write this set's vertex into its part of ``room``, then the rest's."""
        own, piece = r[self.low : self.high], room[self.low : self.high]
        rebuild(self.scout, own)
        piece[:] = 0.0
        deposit(oracle(self.set, self.scout, own), Iterate(piece, np.ones(1)), 1.0)
        fill(self.rest, r, room)

    def wired(self, meter):
        """Return the chain with scouts that spoil the meter when they fail."""
        return self._replace(scout=wired(self.scout, meter), rest=self.rest.wired(meter))


class End(NamedTuple):
    """The end of a product."""

    def fill(self, r, room):
        """Nothing left."""

    def wired(self, meter):
        """Nothing to wire."""
        return self


class ProductScout(NamedTuple):
    """Scout of a product: the chain of its sets, and room for a vertex."""

    chain: Any
    room: np.ndarray

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        row_add(rows, i, c, r)

    def rebuild(self, r):
        """Do nothing: every set is shown its part of ``r`` when it is asked."""

    def wired(self, meter):
        """Return the scout with scouts that spoil the meter when they fail."""
        return self._replace(chain=self.chain.wired(meter))


@part
class Product(NamedTuple):
    """All ``w`` whose consecutive blocks lie in one set each. An oracle call costs O(d), and whatever the sets take.

    Parameters
    ----------
    sets : sequence of sets
        One for each block. Every combination of kinds is compiled anew: a few sets, not thousands.
    sizes : sequence of int
        Number of coordinates of each block.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Product([fw.L1Ball(1.0), fw.Box(0.0, 2.0)], [2, 1]).vertex([1.0, -3.0, -1.0])
    array([0., 1., 2.])
    """

    sets: Any
    sizes: Any

    def _checked(self):
        sets = tuple(a_set(f"Product: set {k}", inner) for k, inner in enumerate(self.sets))
        sizes = tuple(whole("Product", f"size {k}", size) for k, size in enumerate(self.sizes))
        if not sets or len(sets) != len(sizes):
            raise ValueError(
                f"Product: one size for each set, at least one set: got {len(sets)} sets, {len(sizes)} sizes"
            )
        return self._replace(sets=sets, sizes=sizes)

    def _blocks(self) -> list[tuple[Any, slice]]:
        ends = np.cumsum([0, *self.sizes]).tolist()
        return [(inner, slice(low, high)) for inner, low, high in zip(self.sets, ends[:-1], ends[1:], strict=True)]

    def fitted(self, d):
        """Return the product with every set fit for its block."""
        if sum(self.sizes) != d:
            raise ValueError(f"Product: the sizes sum to {sum(self.sizes)}, but there are {d} columns")
        return self._replace(sets=tuple(map(fitted, self.sets, self.sizes)))

    def scout(self, d):
        """Return the chain of the sets' scouts, and room for a vertex."""
        chain: Any = End()
        for inner, block in reversed(self._blocks()):
            chain = Link(inner, inner.scout(block.stop - block.start), block.start, block.stop, chain)
        return ProductScout(chain, np.zeros(d))

    def oracle(self, scout, r):
        """Atom that minimises ``<r, s>``."""
        fill(scout.chain, r, scout.room)
        return Full(scout.room)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        return float(sum(inner.support(direction[block]) for inner, block in self._blocks()))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to what ``tolerance`` means to each set."""
        w = np.asarray(w, dtype=np.float64)
        return all(inner.contains(w[block], tolerance) for inner, block in self._blocks())

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return float(np.linalg.norm([diameter_of(inner, block.stop - block.start) for inner, block in self._blocks()]))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 and 2 upper bounds."""
        return image_diameters(self, X)
