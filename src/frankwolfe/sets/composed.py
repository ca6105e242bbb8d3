"""Sets made from others: products, translated and scaled sets."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import ConstraintSet, MethodPart
from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import deposit, fill, oracle, rebuild
from frankwolfe.sets.atoms import Full, Iterate, Shifted, Stretched
from frankwolfe.sets.barriers import ProductBarrier
from frankwolfe.sets.base import (
    Bounds,
    Defaults,
    Structure,
    a_set,
    constraint_set,
    no_radius,
    tracker,
    tracker_of,
    unknown_columns,
    vertex_of,
    wrapper,
)
from frankwolfe.sets.checks import number_or_vector, one_for_each, rounding, sequence, whole


class Link(NamedTuple):
    """One set of a product with its tracker and its range of coordinates, followed by the rest of the chain."""

    set: ConstraintSet
    tracker: Any
    low: int
    high: int
    rest: Any

    def fill(self, r, room):
        """Write this set's vertex into its part of ``room``, then the vertices of the rest."""
        own, piece = r[self.low : self.high], room[self.low : self.high]
        rebuild(self.tracker, own)
        piece[:] = 0.0
        deposit(oracle(self.set, self.tracker, own), Iterate(piece, np.ones(1)), 1.0)
        fill(self.rest, r, room)


class End(NamedTuple):
    """The end of the chain."""

    def fill(self, r, room):
        """Do nothing."""


@tracker
class ProductTracker(NamedTuple):
    """The chain of a product's sets, and memory for a vertex."""

    chain: Any
    room: np.ndarray


@constraint_set
class Product(NamedTuple):
    """All ``w`` whose consecutive blocks each lie in a set. An oracle call costs O(d) plus the sets' oracles.

    Parameters
    ----------
    sets : sequence of sets
        One set for each block. Every combination of set types is compiled anew: use a few sets, not thousands.
    sizes : sequence of int
        Number of coordinates of each block. With a loss of several outputs they may be numbers of columns of ``X``: a
        block then holds the rows of the weight matrix that belong to its columns.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.Product([fw.L1Ball(1.0), fw.Box(0.0, 2.0)], [2, 1]).vertex([1.0, -3.0, -1.0])
    array([0., 1., 2.])
    """

    sets: Any
    sizes: Any

    def _checked(self):
        given = sequence("Product", "sets", self.sets), sequence("Product", "sizes", self.sizes)
        sets = tuple(a_set(f"Product: set {k}", inner) for k, inner in enumerate(given[0]))
        sizes = tuple(whole("Product", f"size {k}", size) for k, size in enumerate(given[1]))
        if not sets or len(sets) != len(sizes):
            raise ValueError(
                f"Product: one size for each set, at least one set: got {len(sets)} sets, {len(sizes)} sizes"
            )
        return self._replace(sets=sets, sizes=sizes)

    def blocks(self) -> list[tuple[Any, slice]]:
        """Return the sets, each with its range of coordinates."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        return [(inner, slice(low, high)) for inner, low, high in zip(self.sets, ends[:-1], ends[1:], strict=True)]

    def shaped(self, rows, columns):
        """Return the product for a weight matrix: blocks of its rows, if the sizes sum to their number."""
        if self.sizes == (rows * columns,):  # a single block of all entries: the matrix itself
            return self._replace(sets=self._each("shaped", [(rows, columns)]))
        if sum(self.sizes) != rows:
            return self  # blocks of entries, row after row
        sets = self._each("shaped", ((size, columns) for size in self.sizes))
        return self._replace(sets=sets, sizes=tuple(size * columns for size in self.sizes))

    def for_size(self, d):
        """Return the product with every set prepared for its block."""
        if sum(self.sizes) != d:
            raise ValueError(f"Product: the sizes sum to {sum(self.sizes)}, but there are {d} columns")
        return self._replace(sets=self._each("for_size", ((size,) for size in self.sizes)))

    def _each(self, method: str, arguments: Iterable[tuple[int, ...]]) -> tuple[Any, ...]:
        """Return the results of a method of every set; errors name the set."""
        found = []
        for k, (inner, given) in enumerate(zip(self.sets, arguments, strict=True)):
            try:
                found.append(getattr(inner, method)(*given))
            except ValueError as error:
                raise ValueError(f"Product: set {k}, for a block of size {self.sizes[k]}: {error}") from error
        return tuple(found)

    def for_columns(self, columns):
        """Return the product of what the sets return for their blocks; None if one of them returns None."""
        sets, sizes = [], []
        for inner, block in self.blocks():
            own = columns[(columns >= block.start) & (columns < block.stop)] - block.start
            if own.size == 0 and inner.contains(np.zeros(block.stop - block.start)):
                continue
            found = inner.for_columns(own) if own.size else None
            if found is None:
                return None
            sets.append(found)
            sizes.append(own.size)
        return self._replace(sets=tuple(sets), sizes=tuple(sizes))

    def for_run(self):
        """Return the product for one run."""
        return self._replace(sets=tuple(inner.for_run() for inner in self.sets))

    def structure(self):
        """Return the structure of the only set; of several, bounds if all are boxes."""
        inner = [each.structure() for each in self.sets]
        if len(inner) == 1:
            return inner[0]
        if any(each.bounds is None for each in inner):
            return Structure()
        sides = zip(*(each.bounds for each in inner), strict=True)
        return Structure(Bounds(*(np.concatenate(list(map(np.broadcast_to, side, self.sizes))) for side in sides)))

    def attains_support(self):
        """Return whether the vertices of all sets attain their support functions."""
        return all(inner.attains_support() for inner in self.sets)

    def is_ball(self):
        """Return whether there is one set and it is a ball around zero."""
        return len(self.sets) == 1 and self.sets[0].is_ball()

    def own_radius(self):
        """Return the radius of the only set, None if there are several."""
        return self.sets[0].own_radius() if len(self.sets) == 1 else None

    def radius_price(self, direction):
        """Return by how much the support function of the only set rises per unit of its radius."""
        return self.sets[0].radius_price(direction)

    def radius_range(self, d):
        """Return the smallest and the largest radius with which the only set is not empty."""
        return self.sets[0].radius_range(d)

    def with_radius(self, radius):
        """Return the product with another radius of its only set."""
        if len(self.sets) > 1:
            raise no_radius(self, ", for each of its sets may have one")
        return self._replace(sets=(self.sets[0].with_radius(radius),))

    def tracker(self, d):
        """Return the chain of the sets' trackers, and memory for a vertex."""
        chain: Any = End()
        for inner, block in reversed(self.blocks()):
            chain = Link(inner, tracker_of(inner, block.stop - block.start), block.start, block.stop, chain)
        return ProductTracker(chain, np.zeros(d))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        fill(tracker.chain, r, tracker.room)
        return Full(tracker.room)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        return float(sum(inner.support(direction[block]) for inner, block in self.blocks()))

    def proven_support(self, direction):
        """Return an upper bound on ``<direction, s>`` over the set, proven if the proof is affordable."""
        direction = np.asarray(direction, dtype=np.float64)
        return float(sum(inner.proven_support(direction[block]) for inner, block in self.blocks()))

    def contains(self, w, tolerance=1e-9):
        """Return whether every block of ``w`` is in its set, up to that set's meaning of ``tolerance``."""
        w = np.asarray(w, dtype=np.float64)
        return all(inner.contains(w[block], tolerance) for inner, block in self.blocks())

    def barrier(self, size):
        """Return the sum of the sets' barriers; None if one of them has none."""
        parts = [inner.barrier(block.stop - block.start) for inner, block in self.blocks()]
        return None if any(part is None for part in parts) else ProductBarrier(parts)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return float(np.linalg.norm([inner.diameter(block.stop - block.start) for inner, block in self.blocks()]))

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact; for several sets two upper bounds."""
        return self.sets[0].image_diameters(X) if len(self.sets) == 1 else Defaults.image_diameters(self, X)  # type: ignore[arg-type]


@wrapper
class Translated(NamedTuple):
    """All ``w + shift`` with ``w`` in another set.

    Parameters
    ----------
    set : set
        Any constraint set.
    shift : float or array of shape (d,)
        A number is added to every coordinate. For a weight matrix, the entries are in row-major order.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.Translated(fw.L1Ball(1.0), [0.0, 5.0]).vertex([0.0, 1.0])
    array([0., 4.])
    """

    set: ConstraintSet
    shift: Any

    def _checked(self):
        return self._replace(shift=number_or_vector("Translated", "shift", self.shift))

    def for_size(self, d):
        """Return the set prepared for ``d`` weights."""
        return self._replace(set=self.set.for_size(d), shift=one_for_each("Translated", "shift", self.shift, d))

    def for_columns(self, columns):
        """Return the set of some entries where all others are zero, if these are not moved."""
        if np.delete(self.shift, columns).any():
            raise unknown_columns(self)
        inner = self.set.for_columns(columns)
        return None if inner is None else self._replace(set=inner, shift=self.shift[columns])

    def sparse_hulls(self, k):
        """Return the set itself: the non-zeros of its points are not those of the set that is translated."""
        return [(self, None)]

    def structure(self):
        """Return the structure of the set, translated."""
        return self.set.structure().moved(self.shift)

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        return Shifted(oracle(self.set, tracker, r), self.shift)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return self.set.support(direction) + self._level(direction)

    def proven_support(self, direction):
        """Return an upper bound on ``<direction, s>`` over the set, proven if the proof is affordable."""
        return self.set.proven_support(direction) + self._level(direction)

    def _level(self, direction: MethodPart) -> float:
        """Return ``<direction, shift>``."""
        return float(np.sum(np.multiply(direction, self.shift)))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w - shift`` is in the set, up to its ``tolerance`` and the rounding of the shift."""
        moved = np.subtract(w, self.shift)
        if self.set.contains(moved, tolerance):
            return True
        if isinstance(self.set, Product):  # the blocks may differ in width: check each on its own
            w = np.ravel(w)
            shift = np.broadcast_to(self.shift, w.shape)
            blocks = self.set.blocks()
            return all(Translated(inner, shift[block]).contains(w[block], tolerance) for inner, block in blocks)
        # The rounding error of points far from zero may be large compared with a small set. Entries within rounding of
        # zero, or of a bound, are moved onto it; then the tolerance is increased by the rounding over the diameter.
        blurs = rounding(self.shift)
        moved = np.where(np.abs(moved) <= 2.0 * blurs, 0.0, moved)
        bounds = self.set.structure().bounds
        if bounds is not None:
            inside = np.clip(moved, bounds.lower, bounds.upper)
            moved = np.where(np.abs(moved - inside) <= 2.0 * blurs, inside, moved)
        blur, width = np.sqrt(moved.size) * float(np.max(blurs)), float(self.set.diameter(moved.size))
        one = vertex_of(self.set, np.zeros(moved.size))
        apart = np.maximum(np.abs(np.ravel(moved) - one) - 2.0 * rounding(self.shift, one), 0.0)
        if not np.linalg.norm(apart) <= width * (1.0 + tolerance):
            return False  # farther from a point of the set than any other point of it
        return width == 0.0 or bool(blur > 0.0 and self.set.contains(moved, tolerance + blur / width))

    def barrier(self, size):
        """Return the set's barrier, translated; None if it has none."""
        inner = self.set.barrier(size)
        return None if inner is None else inner.translated(self.shift)

    def is_ball(self):
        """Return False: a translated ball is not centred at zero."""
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
    >>> fw.sets.Scaled(fw.sets.Birkhoff(2), 3.0).vertex([1.0, 0.0, 0.0, 3.0])
    array([0., 3., 3., 0.])
    """

    set: ConstraintSet
    factor: float

    def structure(self):
        """Return the structure of the set, scaled."""
        return self.set.structure().scaled(self.factor)

    def own_radius(self):
        """Return the radius of the scaled set, or None if it has none."""
        inner = self.set.own_radius()
        return None if inner is None else self.factor * inner

    def radius_range(self, d):
        """Return the smallest and the largest radius with which the scaled set is not empty."""
        low, high = self.set.radius_range(d)
        return self.factor * low, self.factor * high

    def with_radius(self, radius):
        """Return the scaled set with another radius; the factor stays."""
        return self._replace(set=self.set.with_radius(positive("Scaled", "radius", radius) / self.factor))

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``."""
        return Stretched(oracle(self.set, tracker, r), self.factor)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        return self.factor * self.set.support(direction)

    def proven_support(self, direction):
        """Return an upper bound on ``<direction, s>`` over the set, proven if the proof is affordable."""
        return self.factor * self.set.proven_support(direction)

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w / factor`` is in the set, up to its meaning of ``tolerance``."""
        return self.set.contains(np.divide(w, self.factor), tolerance)

    def barrier(self, size):
        """Return the set's barrier, scaled; None if it has none."""
        inner = self.set.barrier(size)
        return None if inner is None else inner.scaled(self.factor)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        return self.factor * float(self.set.diameter(d))

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact."""
        return {p: (self.factor * value, exact) for p, (value, exact) in self.set.image_diameters(X).items()}
