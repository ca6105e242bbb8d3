"""The interface of constraint sets, and its default methods.

A set is a NamedTuple. It must have three methods:

- ``oracle(tracker, r)`` returns the atom that minimises ``<r, s>`` (compiled);
- ``support(direction)`` returns the largest ``<direction, s>`` over the set;
- ``contains(w, tolerance)`` returns whether ``w`` is in the set, with a tolerance relative to the size of the set.

All other methods have a default in `Defaults`. The most important is ``tracker(d)``: it returns the state about ``r``,
of ``d`` entries, that makes the oracle cheap. By default the tracker is memory for one dense vertex.

A NamedTuple cannot inherit, so the decorator `constraint_set` copies the defaults into the package's classes, and
`a_set` into a user's class when a set of it is first passed in. Internal code therefore never checks for optional
methods.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import ConstraintSet, Matrix
from frankwolfe.compile.kernels import raise_stored
from frankwolfe.compile.part import Part, defaults_from, part, positive, require
from frankwolfe.compile.verbs import row_add
from frankwolfe.linalg.matrices import column_norms, farthest_columns, row_norms, row_ranges, spectral_norm
from frankwolfe.linalg.singular import Triplets
from frankwolfe.sets.atoms import dense
from frankwolfe.sets.checks import whole

EXHAUSTED = 1e-12
"""A budget counts as exhausted if at most this fraction of it is left."""

# --- structure: descriptions of sets that solvers can exploit beyond the oracle ------------------------------------


class Hull(NamedTuple):
    """Combinations of single-coordinate atoms whose absolute weights sum to at most, or exactly, ``radius``.

    A set whose vertices are ``radius`` (or plus and minus ``radius``) on one coordinate returns a `Hull` from its
    method ``hull``. Active-set directions and the corrective method then enumerate its atoms by coordinate.

    Parameters
    ----------
    radius : float
        Bound on the sum of the absolute weights.
    signed : bool
        Whether the negative of every atom is an atom too.
    filled : bool
        Whether zero is an atom, so that the sum may be smaller than ``radius``.

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
        """Return ``max <slope, u - v>`` over all ``v`` in the hull."""
        best = -np.abs(slope).max() if self.signed else slope.min()
        best = min(best, 0.0) if self.filled else best
        gap = float(slope @ u - self.radius * best)
        if gap > 1e-8 * self.radius * abs(best):
            return gap
        # Near an optimum the two terms cancel and half the digits are lost. This form is a sum of non-negative terms.
        sizes = np.abs(u)
        return float((slope * u - best * sizes).sum() - best * (self.radius - sizes.sum()))

    def along(self, slope: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
        """Return ``<slope, end - start>`` without the rounding error of sums that should both equal the radius.

        If both points exhaust the budget, the entries of ``slope`` on the support have a common level that is large
        compared with their differences. The rounding error of the sums is multiplied by that level, so this term is
        subtracted.
        """
        total = float(slope @ (end - start))
        sizes = np.abs(start).sum(), np.abs(end).sum()
        if min(sizes) < self.radius * (1.0 - EXHAUSTED):
            return total
        return total - float(slope @ start) / self.radius * float((np.abs(end) - np.abs(start)).sum())

    def fit(self, u: np.ndarray) -> np.ndarray:
        """Return weights rescaled so that their sum is feasible."""
        size = np.abs(u).sum()
        return u * (self.radius / size) if size > self.radius or (not self.filled and size > 0.0) else u


class Bounds(NamedTuple):
    """A box: each coordinate has its own range.

    Attributes
    ----------
    lower, upper : float or array of shape (d,)
        A number applies to every coordinate.
    """

    lower: Any
    upper: Any

    def scaled(self, factor: float) -> "Bounds":
        """Return the bounds of ``factor`` times the box."""
        return Bounds(np.multiply(factor, self.lower), np.multiply(factor, self.upper))


class Knapsack(NamedTuple):
    """Bounds on the weights, and a budget that their absolute values share.

    Attributes
    ----------
    lower, upper : arrays of shape (d,)
        Finite bounds.
    radius : float
        Bound on the sum of the absolute values.
    exhausted : bool
        Whether the sum equals ``radius``. Then ``lower`` is zero.
    """

    lower: np.ndarray
    upper: np.ndarray
    radius: float
    exhausted: bool

    def scaled(self, factor: float) -> "Knapsack":
        """Return the bounds and the budget of ``factor`` times the set."""
        lower, upper, radius = factor * self.lower, factor * self.upper, factor * self.radius
        return Knapsack(lower, upper, radius, self.exhausted)

    def gains(self, r: np.ndarray) -> np.ndarray:
        """Return the decrease of ``<r, w>`` per unit of budget that each weight can use, starting from zero."""
        if self.exhausted:
            return np.where(self.upper > 0.0, -r, -np.inf)  # also a loss must be taken
        return np.where(r > 0.0, np.where(self.lower < 0.0, r, 0.0), np.where(self.upper > 0.0, -r, 0.0))

    def price(self, r: np.ndarray, among: np.ndarray) -> float:
        """Return the gain of the last unit of budget, if only the weights ``among`` use it.

        A vertex that minimises ``<r, s>`` over all weights does not use one with a smaller gain.
        """
        gains, caps = self.gains(r)[among], np.where((r > 0.0) & (self.lower < 0.0), -self.lower, self.upper)[among]
        order = np.argsort(-gains)
        last = int(np.searchsorted(np.cumsum(caps[order]), self.radius))
        if last == len(order):
            return -np.inf if self.exhausted else 0.0
        return float(gains[order[last]])


class TraceNorm(NamedTuple):
    """Matrices whose singular values sum to at most ``radius``. Vertices have rank one.

    Attributes
    ----------
    radius : float
    matrix : function
        From a flat vector to the matrix it represents.
    triplets : function
        From a flat vector and a count to the leading singular triplets of that matrix; see
        `frankwolfe.linalg.singular.leading_triplets`.
    """

    radius: float
    matrix: Callable[[Any], Any]
    triplets: Callable[..., Triplets]

    def scaled(self, factor: float) -> "TraceNorm":
        """Return the ball of ``factor`` times the radius."""
        return self._replace(radius=factor * self.radius)


class Structure(NamedTuple):
    """The structure of a set's points. Solvers and directions choose their algorithm by it.

    Attributes
    ----------
    shape : Hull, Bounds, Knapsack, TraceNorm or None
        None if only the oracle is known.
    shift : array or None
        Vector that is added to every point of such a set. A box has none: its bounds include it.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.sets.Scaled(fw.L1Ball(2.0), 3.0).structure()
    Structure(shape=Hull(radius=6.0, signed=True, filled=True), shift=None)
    """

    shape: Hull | Bounds | Knapsack | TraceNorm | None = None
    shift: Any = None

    @property
    def hull(self) -> Hull | None:
        """The hull, if vertices have one non-zero coordinate up to the shift."""
        return self.shape if isinstance(self.shape, Hull) else None

    @property
    def bounds(self) -> Bounds | None:
        """The bounds, if the set is a box."""
        return self.shape if isinstance(self.shape, Bounds) else None

    @property
    def knapsack(self) -> Knapsack | None:
        """The bounds and the budget, up to the shift."""
        return self.shape if isinstance(self.shape, Knapsack) else None

    @property
    def trace_norm(self) -> TraceNorm | None:
        """The trace-norm ball, up to the shift."""
        return self.shape if isinstance(self.shape, TraceNorm) else None

    @property
    def coordinates(self) -> Hull | None:
        """The hull, if vertices have one non-zero coordinate and there is no shift."""
        return self.hull if self.shift is None else None

    def ends(self) -> tuple[Any, Any] | None:
        """Return the bounds that the set puts on each weight, perhaps infinite; None if it puts none."""
        shift = 0.0 if self.shift is None else self.shift
        if isinstance(self.shape, Hull):
            return None if self.shape.signed else (shift, np.inf)
        if isinstance(self.shape, Bounds | Knapsack):
            return self.shape.lower + shift, self.shape.upper + shift
        return None

    def scaled(self, factor: float) -> "Structure":
        """Return the structure of ``factor`` times the set."""
        shape = None if self.shape is None else self.shape.scaled(factor)
        return Structure(shape, None if self.shift is None else factor * self.shift)

    def moved(self, shift: np.ndarray) -> "Structure":
        """Return the structure of the set translated by ``shift``."""
        if self.bounds is not None:
            return Structure(Bounds(np.add(self.bounds.lower, shift), np.add(self.bounds.upper, shift)))
        return self._replace(shift=shift if self.shift is None else self.shift + shift)


# --- diameters of the image of a set under the data ----------------------------------------------------------------

Diameters = dict[float, tuple[float, bool]]
"""``max ||X (u - v)||_p`` over a set, or an upper bound, by ``p`` (1, 2, inf), each with whether it is exact."""


def reaches(constraint: ConstraintSet, X: Matrix) -> np.ndarray:
    """Return the range of every row's prediction over a set, from two values of its support function."""
    support = constraint.support
    rows = (X[[i]].toarray().ravel() if sparse.issparse(X) else X[i] for i in range(X.shape[0]))
    return np.array([support(row) + support(-row) for row in map(np.float64, rows)])


def prediction_ends(constraint: ConstraintSet, X: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest prediction of every row over a set, or bounds on them.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> prediction_ends(fw.NonNegativeL1Ball(2.0), np.array([[1.0, -3.0], [2.0, 1.0]]))
    (array([-6.,  0.]), array([2., 4.]))
    """
    structure = constraint.structure()
    if structure.coordinates is not None:
        hull = structure.coordinates
        low, high = (end.toarray().ravel() if sparse.issparse(end) else end for end in (X.min(axis=1), X.max(axis=1)))
        low, high = hull.radius * low.astype(np.float64), hull.radius * high.astype(np.float64)
        if hull.signed:
            low, high = np.minimum(low, -high), np.maximum(high, -low)
        return (np.minimum(low, 0.0), np.maximum(high, 0.0)) if hull.filled else (low, high)
    if structure.bounds is not None:
        lower, upper = (np.broadcast_to(end, X.shape[1]) for end in structure.bounds)
        middle, half = X @ (0.5 * (lower + upper)), abs(X) @ (0.5 * (upper - lower))
        return middle - half, middle + half
    rows = (X[[i]].toarray().ravel() if sparse.issparse(X) else X[i] for i in range(X.shape[0]))
    support = constraint.proven_support
    ends = np.array([(-support(-row), support(row)) for row in map(np.float64, rows)])
    return ends[:, 0], ends[:, 1]


def from_reaches(X: Matrix, reach: np.ndarray, diameter: float, exact: bool = True) -> Diameters:
    """Return diameters of an image from the ranges of all predictions and the Euclidean diameter of the set.

    The largest range is ``D_inf``. For p = 1 and 2 different rows may attain their ranges at different points, so the
    results are upper bounds unless there is one row, or one column.
    """
    one, two, largest = float(reach.sum()), float(np.linalg.norm(reach)), float(reach.max())
    single = exact and 1 in X.shape
    if not single:
        two = min(two, spectral_norm(X) * diameter)
        one = min(one, float(np.sqrt(len(reach))) * two)
    return {1: (max(one, largest), single), 2: (max(two, largest), single), np.inf: (largest, exact)}


def widths(constraint: ConstraintSet, d: int) -> np.ndarray:
    """Return the range of every coordinate over a set."""
    return reaches(constraint, np.eye(d))


def from_diameter(length: float, X: Matrix) -> Diameters:
    """Return bounds on ``||X (u - v)||_p`` from the Euclidean length of ``u - v``."""
    return from_reaches(X, length * row_norms(X, 2), length, exact=False)


def of_columns(radius: float, images: Any, with_zero: bool) -> Diameters:
    """Return diameters of the hull of ``radius`` times the columns of ``images``, and of zero on request.

    No row can vary by more than its range, which bounds every ``D_p`` and equals ``D_inf``.
    """
    ranges = row_ranges(images, with_zero)
    found: Diameters = {np.inf: (float(ranges.max()), True)}
    for p in (1, 2):
        distance, exact = farthest_columns(images, p)
        if with_zero:
            distance = max(distance, float(column_norms(images, p).max()))
        found[p] = (distance if exact else min(distance, float(np.linalg.norm(ranges, p))), exact)
    return {p: (radius * distance, exact) for p, (distance, exact) in found.items()}


# --- trackers: state about r that makes the oracle of a set cheap --------------------------------------------------


class TrackerDefaults:
    """Defaults of a tracker without state: the oracle of the set reads all of ``r``."""

    @property
    def lazy(self) -> bool:
        """Whether an oracle call costs less than a pass over ``r``."""
        return False

    def add_row(self, rows, i, c, r):
        """Add ``c`` times row ``i`` to ``r``."""
        row_add(rows, i, c, r)

    def rebuild(self, r):
        """Do nothing: there is no state to recompute."""


tracker = defaults_from(TrackerDefaults)
"""Class decorator of trackers: adds the defaults that a class does not define."""


@tracker
class Workspace(NamedTuple):
    """Scratch memory for a `Full` atom, for oracles that read all of ``r``."""

    room: np.ndarray

    @classmethod
    def over(cls, d: int) -> "Workspace":
        """Return memory for a vertex of ``d`` entries."""
        return cls(np.zeros(d))


def tracker_of(constraint: ConstraintSet, d: int) -> Any:
    """Return the tracker of a set for ``d`` weights, with default methods added to its class."""
    made = constraint.tracker(d)
    tracker(type(made))
    return made


# --- sets ----------------------------------------------------------------------------------------------------------


class Defaults:
    """Default methods of a set. The set's own class provides the members declared here without a value."""

    _fields: Any
    _replace: Any
    _asdict: Any
    radius: Any
    support: Callable[[Any], float]

    def tracker(self, d):
        """Return the tracker for ``d`` weights: by default memory for a vertex."""
        return Workspace.over(d)

    def hull(self):
        """Return the `Hull` of a set whose vertices have one non-zero coordinate, None for other sets."""
        return

    def structure(self):
        """Return the `Structure` of the set's points."""
        return Structure(self.hull())

    def shaped(self, rows, columns):
        """Return the set for a weight matrix of this shape, by default for its entries row after row."""
        return self

    def for_size(self, d):
        """Return the set for ``d`` weights, or raise ValueError if it is defined for another number of weights."""
        return self

    def for_run(self):
        """Return the set for one run. State must not be shared: other runs may use the set at the same time."""
        return self

    def for_columns(self, columns):
        """Return the set of the entries ``columns`` (ascending) of the points that are zero elsewhere.

        The set has been through `for_size`. None if there is no such point. By default raise ValueError.
        """
        raise unknown_columns(self)

    def sparse_hulls(self, k):
        """Return convex sets that contain every point with at most ``k`` non-zeros: pairs of a set and its units.

        The points of a set are such weights divided by its units, one for each entry; units of None are ones. The
        set has been through `for_size`. The default is the set itself, which is valid, but does not use ``k``.
        """
        return [(self, None)]

    def vertex(self, r):
        """Return the vertex that minimises ``<r, s>`` as an array."""
        return vertex_of(self, r)

    def proven_support(self, direction):
        """Return an upper bound on ``<direction, s>`` over the set, proven if the proof is affordable."""
        return self.support(direction)

    def attains_support(self):
        """Return whether the oracle's vertices attain the support function up to rounding."""
        return True

    def barrier(self, size):
        """Return a self-concordant barrier of the set's interior for ``size`` weights, None if none is known."""
        return

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions, or an upper bound: here that of the bounding box."""
        return float(np.linalg.norm(widths(self, d)))

    def image_diameters(self, X):
        """Return ``D_p`` for p = 1, 2, inf, each with whether it is exact; here upper bounds for p = 1 and 2."""
        return from_reaches(X, reaches(self, X), float(self.diameter(X.shape[1])))

    def is_ball(self):
        """Return whether the set is a ball around zero, or the non-negative part of one.

        The radius of a ball bounds all weights equally, so warnings about the scales of columns apply to it.
        """
        return False

    def own_radius(self):
        """Return the radius, or None if the set has none."""
        return self.radius if "radius" in self._fields else None

    def radius_price(self, direction):
        """Return by how much the support function rises per unit of the radius; here of a set proportional to it."""
        return float(self.with_radius(1.0).support(direction))

    def radius_range(self, d):
        """Return the smallest and the largest radius with which the set for ``d`` weights is not empty."""
        return 0.0, np.inf

    def with_radius(self, radius):
        """Return the set with another radius."""
        if "radius" not in self._fields:
            raise no_radius(self)
        return type(self)(**{**self._asdict(), "radius": radius})


class BallDefaults(Defaults):
    """Defaults of a ball around zero."""

    def is_ball(self):
        """Return True."""
        return True

    def for_columns(self, columns):
        """Return the ball itself: that of fewer entries has the same radius."""
        return self

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions, of a ball that reaches ``radius`` in some direction."""
        return 2.0 * self.radius


class WrapperDefaults(Defaults):
    """Defaults of a set made from another one, in its field ``set``: every method forwards to that set."""

    set: ConstraintSet

    def for_columns(self, columns):
        """Return the wrapped set of some entries, wrapped; None if there is none."""
        inner = self.set.for_columns(columns)
        return None if inner is None else self._replace(set=inner)

    def sparse_hulls(self, k):
        """Return the sets that the wrapped set returns, wrapped."""
        return [(self._replace(set=hull), units) for hull, units in self.set.sparse_hulls(k)]


def _forward(name: str, wrapped: bool) -> Callable:
    """Return a method that calls the wrapped set's; ``wrapped`` if the result is a set to be wrapped again."""

    def method(self, *args, **kwargs):
        found = getattr(self.set, name)(*args, **kwargs)
        return self._replace(set=found) if wrapped else found

    method.__name__, method.__doc__ = name, f"Return what ``{name}`` of the wrapped set returns."
    return method


_PLAIN = "tracker structure support proven_support attains_support barrier contains diameter image_diameters"
for _name in [*_PLAIN.split(), "is_ball", "own_radius", "radius_price", "radius_range"]:
    setattr(WrapperDefaults, _name, _forward(_name, wrapped=False))
for _name in ["shaped", "for_size", "for_run", "with_radius"]:
    setattr(WrapperDefaults, _name, _forward(_name, wrapped=True))


def _set_field(kind: str, name: str, inner: Any) -> Any:
    return a_set(f"{kind}: {name}", inner)


FIELDS: dict[str, Callable] = {
    "radius": positive,
    "factor": positive,
    "trace": positive,
    "k": whole,
    "size": whole,
    "set": _set_field,
}
"""Checks of the fields that have these names in the package's sets."""


def set_with(defaults: type) -> Callable[[type[Part]], type[Part]]:
    """Return a class decorator of the package's sets, which checks `FIELDS` and adds the methods of ``defaults``.

    A method ``_checked`` of the class checks all other fields, and returns the set in normal form.
    """

    def decorate(kind: Any) -> Any:
        rest: Any = vars(kind).get("_checked", lambda checked: checked)

        def _checked(self):
            values = {name: FIELDS[name](type(self).__name__, name, getattr(self, name)) for name in own}
            return rest(self._replace(**values))

        own = [name for name in kind._fields if name in FIELDS]
        kind._checked = _checked
        return part(defaults_from(defaults)(kind))

    return decorate


constraint_set, ball, wrapper = set_with(Defaults), set_with(BallDefaults), set_with(WrapperDefaults)
"""Class decorators of sets, of balls around zero, and of sets that wrap another one."""


def unknown_columns(constraint: ConstraintSet) -> ValueError:
    """Return the error for a set whose points with zeros elsewhere are not known as a set."""
    return ValueError(
        f"a limit on the number of features does not go with the set {type(constraint).__name__}: it is not known "
        "which of its points use some features only; use a ball such as fw.L2Ball, or bounds such as fw.Box, or define "
        "the method for_columns(columns) (docs/best-subset.md)"
    )


def no_radius(constraint: ConstraintSet, why: str = "") -> ValueError:
    """Return the error for a set that has no radius to change."""
    return ValueError(
        f"{type(constraint).__name__} has no radius to change{why}: leave radius out, or use a set that has one, "
        "such as fw.L1Ball; fw.sets.Scaled(set, factor) scales any other"
    )


def a_set(name: str, inner: Any) -> Any:
    """Return ``inner`` with defaults added to its class, or raise TypeError if it is not a constraint set."""
    require(name, inner, ("oracle", "support", "contains"), "a constraint set")
    defaults_from(Defaults)(type(inner))
    return inner


def for_shape(constraint: ConstraintSet, d: int, outputs: int = 0) -> Any:
    """Return the set for the weights of ``d`` columns, times a number of outputs if there are several."""
    defaults_from(Defaults)(type(constraint))
    return (constraint.shaped(d, outputs) if outputs else constraint).for_size(d * max(1, outputs))


def vertex_of(constraint: ConstraintSet, r: Any) -> np.ndarray:
    """Return the vertex of a set that minimises ``<r, s>`` as an array.

    Parameters
    ----------
    r : array of shape (d,)
        The direction; finite.

    Returns
    -------
    array of shape (d,)
    """
    r = np.asarray(r, dtype=np.float64)
    if r.ndim != 1 or r.size == 0:
        raise ValueError(f"r must be a vector with at least one entry, got shape {r.shape}")
    if not np.isfinite(r).all():
        raise ValueError("r holds NaN or infinity")
    ready = for_shape(constraint, r.size)
    tracker = tracker_of(ready, r.size)
    tracker.rebuild(r)
    atom = ready.oracle(tracker, r)
    raise_stored()
    return dense(atom, r.size)
