"""What every set states: an oracle, the structure of its points, diameters; and defaults for what it leaves out."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.compile.callback_errors import reraise
from frankwolfe.compile.part import Part, lent, part, require
from frankwolfe.compile.verbs import row_add
from frankwolfe.linalg.matrices import column_norms, farthest_columns, row_norms, row_ranges, spectral_norm
from frankwolfe.linalg.singular import Triplets

SPENT = 1e-12
"""A budget of which no more than this part is left counts as spent."""

CANCELLED = 1e-8
"""A difference of which no more than this part is left has lost half its digits."""


class Hull(NamedTuple):
    """Combinations of atoms in which the sum of the weights' sizes is at most, or just, ``radius``.

    A set whose vertices are ``radius`` (or plus and minus ``radius``) on one coordinate each, any of them, returns one
    from its method ``hull``. Active-set directions and the corrective method then know its atoms without a list.

    Parameters
    ----------
    radius : float
        The sum.
    signed : bool
        Whether the opposite of every atom is an atom too.
    filled : bool
        Whether zero is an atom, so that the sum may be less.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Simplex(2.0).hull()
    Hull(radius=2.0, signed=False, filled=False)
    """

    radius: float
    signed: bool
    filled: bool

    def scaled(self, factor: float) -> "Hull":
        """Return the hull of ``factor`` times the atoms."""
        return self._replace(radius=factor * self.radius)

    def gap(self, slope: np.ndarray, u: np.ndarray) -> float:
        """Return ``max <slope, u - v>`` over the hull.

        Near an optimum two large numbers all but cancel: then it is a sum of terms none of which is negative.
        """
        best = -np.abs(slope).max() if self.signed else slope.min()
        best = min(best, 0.0) if self.filled else best
        gap = float(slope @ u - self.radius * best)
        if gap > CANCELLED * self.radius * abs(best):
            return gap
        sizes = np.abs(u)
        return float((slope * u - best * sizes).sum() - best * (self.radius - sizes.sum()))

    def along(self, slope: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
        """Return ``<slope, end - start>``; where both spend the whole budget, without what their rounded sums add.

        On such a face slopes share a level, which is large beside their differences near an optimum.
        """
        total = float(slope @ (end - start))
        sizes = np.abs(start).sum(), np.abs(end).sum()
        if min(sizes) < self.radius * (1.0 - SPENT):
            return total
        return total - float(slope @ start) / self.radius * float((np.abs(end) - np.abs(start)).sum())

    def fit(self, u: np.ndarray) -> np.ndarray:
        """Scale weights whose sum is not what it should be."""
        size = np.abs(u).sum()
        return u * (self.radius / size) if size > self.radius or (not self.filled and size > 0.0) else u


class Bounds(NamedTuple):
    """A box: every coordinate has a range of its own, whatever the others are.

    Attributes
    ----------
    lower, upper : float or array of shape (d,)
        A number holds for every coordinate.
    """

    lower: Any
    upper: Any

    def scaled(self, factor: float) -> "Bounds":
        """Return the bounds of ``factor`` times the box."""
        return Bounds(np.multiply(factor, self.lower), np.multiply(factor, self.upper))

    def moved(self, shift: np.ndarray) -> "Bounds":
        """Return the bounds of the box moved by ``shift``."""
        return Bounds(np.add(self.lower, shift), np.add(self.upper, shift))


class TraceNorm(NamedTuple):
    """Matrices whose singular values sum to at most ``radius``; vertices have rank one.

    Attributes
    ----------
    radius : float
        The sum.
    matrix : function
        From a flat vector to the matrix that it stands for.
    triplets : function
        From a flat vector, and how many, to leading singular triplets of that matrix; see
        `frankwolfe.linalg.singular.leading_triplets`.
    """

    radius: float
    matrix: Callable[[Any], Any]
    triplets: Callable[..., Triplets]

    def scaled(self, factor: float) -> "TraceNorm":
        """Return the ball of ``factor`` times the radius."""
        return self._replace(radius=factor * self.radius)


class Structure(NamedTuple):
    """How the points of a set are made up.

    Attributes
    ----------
    shape : Hull, Bounds, TraceNorm or None
        Vertices are single coordinates; or there is a range for each coordinate; or the set is a trace-norm ball. None:
        nothing is known but the oracle.
    shift : array or None
        What is added to every point of such a set, one of unknown shape included; a box has none, for its bounds move
        along.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.Scaled(fw.L1Ball(2.0), 3.0).structure()
    Structure(shape=Hull(radius=6.0, signed=True, filled=True), shift=None)
    """

    shape: Any = None
    shift: Any = None

    @property
    def hull(self) -> Hull | None:
        """The hull, where vertices are single coordinates, up to the shift."""
        return self.shape if isinstance(self.shape, Hull) else None

    @property
    def coordinates(self) -> Hull | None:
        """The hull, where vertices are single coordinates and nothing is added to them."""
        return self.hull if self.shift is None else None

    @property
    def bounds(self) -> Bounds | None:
        """The bounds, where the set is a box."""
        return self.shape if isinstance(self.shape, Bounds) else None

    @property
    def trace_norm(self) -> TraceNorm | None:
        """The trace-norm ball, up to the shift."""
        return self.shape if isinstance(self.shape, TraceNorm) else None

    def scaled(self, factor: float) -> "Structure":
        """Return the structure of ``factor`` times the set."""
        shape = None if self.shape is None else self.shape.scaled(factor)
        return Structure(shape, None if self.shift is None else factor * self.shift)

    def moved(self, shift: np.ndarray) -> "Structure":
        """Return the structure of the set moved by ``shift``."""
        if self.bounds is not None:
            return Structure(self.bounds.moved(shift))
        return self._replace(shift=shift if self.shift is None else self.shift + shift)

    def noted(self, note: Callable[[], None]) -> "Structure":
        """Return the same, with ``note`` called whenever singular triplets are asked for."""
        norm = self.trace_norm
        if norm is None:
            return self

        def triplets(*args: Any, **how: Any) -> Triplets:
            note()
            return norm.triplets(*args, **how)

        return self._replace(shape=norm._replace(triplets=triplets))


Diameters = dict[float, tuple[float, bool]]


def reaches(constraint: Any, X: Any) -> np.ndarray:
    """How far apart a row's predictions can lie, for every row: its support function both ways."""
    support = constraint.support
    rows = (X[[i]].toarray().ravel() if sparse.issparse(X) else X[i] for i in range(X.shape[0]))
    return np.array([support(row) + support(-row) for row in map(np.float64, rows)])


def from_reaches(X: Any, reach: np.ndarray, diameter: float, exact: bool = True) -> Diameters:
    """``D_p`` for p = 1, 2, inf, each with whether it is exact, from the rows' reaches and the Euclidean diameter.

    The largest reach is ``D_inf``. For p = 1 and 2 the rows may pull different ways, and the answers are upper bounds,
    unless there is one row only.
    """
    two = min(float(np.linalg.norm(reach)), spectral_norm(X) * diameter)
    one = min(float(reach.sum()), float(np.sqrt(len(reach))) * two)
    largest, single = float(reach.max()), exact and len(reach) == 1
    if single:
        one = two = largest
    return {1: (max(one, largest), single), 2: (max(two, largest), single), np.inf: (largest, exact)}


def widths(constraint: Any, d: int) -> np.ndarray:
    """Range of every coordinate over a set."""
    return reaches(constraint, np.eye(d))


def image_diameters(constraint: Any, X: Any) -> Diameters:
    """``D_p`` for p = 1, 2, inf of a set that has nothing better to go by than its support function."""
    return from_reaches(X, reaches(constraint, X), float(constraint.diameter(X.shape[1])))


def from_diameter(length: float, X: Any) -> Diameters:
    """Bound ``||X (u - v)||_p`` by the Euclidean length of ``u - v``."""
    lengths = row_norms(X, 2)
    two = length * spectral_norm(X)
    one = min(float(np.sqrt(X.shape[0])) * two, length * float(lengths.sum()))
    return {1: (one, False), 2: (two, False), np.inf: (length * float(lengths.max()), False)}


def of_columns(radius: float, images: Any, with_zero: bool) -> Diameters:
    """Return ``D_p`` of the hull of ``radius`` times the columns of ``images``, and zero on request.

    No row can differ by more than its range, which bounds every ``D_p`` and is ``D_inf`` itself.
    """
    ranges = row_ranges(images, with_zero)
    found: Diameters = {np.inf: (float(ranges.max()), True)}
    for p in (1, 2):
        distance, exact = farthest_columns(images, p)
        if with_zero:
            distance = max(distance, float(column_norms(images, p).max()))
        found[p] = (distance if exact else min(distance, float(np.linalg.norm(ranges, p))), exact)
    return {p: (radius * distance, exact) for p, (distance, exact) in found.items()}


class TrackerDefaults:
    """Answers of a tracker that keeps track of nothing: the set's oracle looks at all of ``r``."""

    @property
    def lazy(self) -> bool:
        """Whether an answer costs less than a look at all of ``r``."""
        return False

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        row_add(rows, i, c, r)

    def rebuild(self, r):
        """Do nothing: the oracle looks at everything anyway."""

    def connected(self, failed: np.ndarray) -> Any:
        """Return the tracker with the flag that it raises when its oracle fails: here that cannot happen."""
        return self


def tracker(kind: type[Part]) -> type[Part]:
    """Class decorator of the package's trackers: what they do not say has a default."""
    return lent(TrackerDefaults)(kind)


def tracker_of(constraint: Any, d: int) -> Any:
    """Return a set's tracker for ``d`` weights, which answers all that trackers are asked."""
    made = constraint.tracker(d)
    tracker(type(made))
    return made


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


def for_shape(constraint: Any, d: int, outputs: int = 0) -> Any:
    """Return the set made fit for the weights of ``d`` columns and so many outputs, if it depends on their number.

    With several outputs it is told both, through ``shaped``, then how many weights that makes, through ``for_size``.
    """
    completed(type(constraint))
    return (constraint.shaped(d, outputs) if outputs else constraint).for_size(d * max(1, outputs))


def checked_direction(r: Any) -> np.ndarray:
    """Return a direction to ask an oracle about as a float64 vector, or say what is wrong with it."""
    r = np.asarray(r, dtype=np.float64)
    if r.ndim != 1 or r.size == 0:
        raise ValueError(f"r must be a vector with at least one entry, got shape {r.shape}")
    if not np.isfinite(r).all():
        raise ValueError("r holds NaN or infinity")
    return r


def vertex_of(constraint: Any, r: Any) -> np.ndarray:
    """Vertex of the set that minimises ``<r, s>``, as an array.

    Parameters
    ----------
    r : array of shape (d,)
        The direction; finite.

    Returns
    -------
    array of shape (d,)
    """
    r = checked_direction(r)
    ready = for_shape(constraint, r.size)
    own = tracker_of(ready, r.size)
    own.rebuild(r)
    atom = ready.oracle(own, r)
    reraise()
    return atom.dense(r.size)


SET_METHODS = ("tracker", "oracle", "support", "contains")


def a_set(name: str, inner: Any) -> Any:
    """Return ``inner`` if it is a constraint set; its class then answers all that sets are asked."""
    require(name, inner, SET_METHODS, "a constraint set")
    completed(type(inner))
    return inner
