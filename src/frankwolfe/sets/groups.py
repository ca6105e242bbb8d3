"""Balls made of groups of coordinates. A vertex lies in one group."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from frankwolfe.compile.opaque import Opaque
from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import leader, routine
from frankwolfe.linalg.argmax import GroupTracker
from frankwolfe.sets.atoms import Block, oppose
from frankwolfe.sets.barriers import GroupBarrier, LargestBarrier
from frankwolfe.sets.base import ball, image_diameters, vertex_of
from frankwolfe.sets.checks import one_of, same_length, vector


def as_lists(part: str, groups: Any) -> tuple[tuple[int, ...], ...]:
    """Return the coordinates of each group, sorted, from a sequence of sequences of ints."""
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"{part}: groups must be a list of lists of coordinates, got {type(groups).__name__}")
    found = tuple(_group(part, g, group) for g, group in enumerate(groups))
    if not found:
        raise ValueError(f"{part}: groups is empty: at least one group is needed")
    return found


def _group(part: str, g: int, group: Any) -> tuple[int, ...]:
    try:
        indices = np.array(list(group))
    except TypeError:
        raise TypeError(f"{part}: group {g} must be a list of coordinates, got {type(group).__name__}") from None
    if indices.size == 0:
        raise ValueError(f"{part}: group {g} is empty")
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise TypeError(f"{part}: group {g} must hold the numbers of coordinates, got {indices.ravel()[0]!r}")
    ordered = np.sort(indices)
    if ordered[0] < 0:
        raise ValueError(f"{part}: group {g} has index {ordered[0]}: coordinates are counted from 0")
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if twice.size:
        raise ValueError(f"{part}: group {g} names coordinate {twice[0]} twice")
    return tuple(ordered.tolist())


def as_labels(part: str, groups: Any) -> tuple[np.ndarray, int]:
    """Return the number of its group for every coordinate, and how many groups there are.

    Takes a label for each coordinate, or the coordinates of each group, disjoint and leaving none out.
    """
    if _labels_given(groups):
        labels = np.asarray(groups)
        kinds = {isinstance(label, str) for label in groups}
        labels = np.array(labels.tolist()) if labels.dtype == object else labels
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError(f"{part}: groups holds NaN or infinity; labels must be ints or strings")
        if len(kinds) > 1 or labels.dtype.kind not in "iufbUS":
            raise TypeError(
                f"{part}: groups must hold labels that are all ints or all strings, got {list(groups)[:5]!r}"
            )
        names, numbers = np.unique(labels, return_inverse=True)
        return numbers.astype(np.int64), len(names)
    owner: dict[int, int] = {}
    for g, group in enumerate(as_lists(part, groups)):
        for j in group:
            if j in owner:
                raise ValueError(
                    f"{part}: groups {owner[j]} and {g} both have coordinate {j}: groups must not overlap "
                    "(LatentGroupBall takes groups that do)"
                )
            owner[j] = g
    d, last = len(owner), max(owner)
    if last >= d:
        missing = min(set(range(d)) - set(owner))
        raise ValueError(
            f"{part}: group {owner[last]} has index {last}, but coordinate {missing} is in no group: the groups "
            "must cover every coordinate"
        )
    return np.array([owner[j] for j in range(d)]), max(owner.values()) + 1


def _labels_given(groups: Any) -> bool:
    """Whether these are labels of coordinates, and not lists of them."""
    if isinstance(groups, np.ndarray) and groups.dtype != object:
        return groups.ndim == 1 and groups.size > 0
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        return False
    entries = list(groups)
    return bool(entries) and all(isinstance(entry, str) or not isinstance(entry, Iterable) for entry in entries)


STEEPEST = 1e14
"""Where the barrier ends: beyond, rounding is all that is left."""


def within(w: np.ndarray, groups: tuple[tuple[int, ...], ...], tolerance: float) -> bool:
    """Whether the norms can sum to at most ``1 + tolerance``, but for entries up to ``tolerance`` that no group has."""
    nowhere = np.ones(len(w), dtype=bool)
    nowhere[sorted({j for group in groups for j in group})] = False
    if not (np.abs(w[nowhere]) <= tolerance).all():
        return False
    used = np.flatnonzero(np.where(nowhere, 0.0, w))
    w, most = w[used], 1.0 + tolerance
    if len(w) == 0:
        return True
    members = _incidence(used, groups)
    if not np.linalg.norm(w) <= most:
        return False  # no sum of norms is less than the norm of the sum; NaN is nowhere
    r, steep = np.zeros(len(w)), 1.0
    while steep < STEEPEST:
        r = _centred(w, members, r, steep)
        least, sum_of_norms = _bounds(w, members, r, steep)
        if sum_of_norms <= most:
            return True
        if least > most:
            return False
        steep *= 10.0
    return bool(least <= most)


def _incidence(used: np.ndarray, groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """One row for each group that has coordinates in use, each set of them once: which ones."""
    place = {int(j): k for k, j in enumerate(used)}
    kept = {tuple(place[j] for j in group if j in place) for group in groups} - {()}
    rows = sorted(kept)
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([k for row in rows for k in row], dtype=np.int64)
    return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(rows), len(used))).toarray()


def _centred(w: np.ndarray, members: np.ndarray, r: np.ndarray, steep: float) -> np.ndarray:
    """Newton's method for the minimiser of ``-steep <w, r> - sum_g log(1 - ||r_g||^2)``."""
    for _ in range(50):
        room = 1.0 - members @ (r * r)
        slope = 2.0 * r * (members.T @ (1.0 / room)) - steep * w
        inside = members * r
        hessian = np.diag(2.0 * (members.T @ (1.0 / room))) + inside.T @ (inside * (4.0 / room**2)[:, np.newaxis])
        move = -np.linalg.solve(hessian, slope)
        decrement = float(np.sqrt(max(0.0, -(slope @ move))))
        if decrement < 1e-6:
            break
        step = 1.0 if decrement < 0.25 else 1.0 / (1.0 + decrement)  # the barrier is self-concordant
        while (members @ (r + step * move) ** 2 >= 1.0).any():  # only rounding can ask for this
            step *= 0.5
            if step < 1e-12:
                return r
        r = r + step * move
    return r


def _bounds(w: np.ndarray, members: np.ndarray, r: np.ndarray, steep: float) -> tuple[float, float]:
    """Return a lower and an upper bound of the least sum of norms."""
    room = 1.0 - members @ (r * r)
    pieces = members * r * (2.0 / (steep * room))[:, np.newaxis]
    first = members.argmax(axis=0)  # what is missing goes to any group that has the coordinate
    pieces[first, np.arange(len(w))] += w - pieces.sum(axis=0)
    return float(w @ r), float(np.linalg.norm(pieces, axis=1).sum())


@routine
def block(tracker, r, radius):
    """Return the atom of the leading group: the point of its ball that goes against ``r``."""
    g = leader(tracker, r)
    low, high = tracker.starts[g], tracker.starts[g + 1]
    at, values = tracker.members[low:high], tracker.values[: high - low]
    size = radius * tracker.shares[g]
    if tracker.flat:
        for k in range(len(at)):
            values[k] = -size if r[at[k]] > 0.0 else size
        return Block(at, values)
    for k in range(len(at)):
        values[k] = r[at[k]]
    oppose(values, size, values)
    return Block(at, values)


@ball
class GroupBall(NamedTuple):
    """All ``w`` with ``sum_g weight_g ||w_g|| <= radius``: the ball of the group lasso. Vertices lie in one group.

    Parameters
    ----------
    groups : list of lists of int, or array of shape (d,)
        The coordinates of each group, every coordinate in exactly one; or a label for each coordinate, groups then
        being in the order of their sorted labels. With a loss of several outputs they may be groups of the columns of
        ``X``: each then holds the rows of the weight matrix that belong to its columns.
    radius : float
        Positive.
    norm : 2 or inf
        Norm within a group: l2 gives the l1/l2 ball, l-infinity the l1/l-infinity ball.
    weights : array, one entry for each group, optional
        Positive; ones by default. The square roots of the groups' sizes are a common choice.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.GroupBall([[0, 1], [2]], 5.0).vertex([3.0, -4.0, 2.0])
    array([-3.,  4.,  0.])
    """

    groups: Any
    radius: float
    norm: float = 2.0
    weights: Any = None

    def _checked(self):
        labels, number = as_labels("GroupBall", self.groups)
        weights = np.ones(number) if self.weights is None else vector("GroupBall", "weights", self.weights)
        if len(weights) != number:
            raise ValueError(f"GroupBall: weights has {len(weights)} entries, but there are {number} groups")
        if (weights <= 0.0).any():
            g = int(np.argmin(weights))
            raise ValueError(f"GroupBall: weights must be positive, got {weights[g]:g} for group {g}")
        norm = one_of("GroupBall", "norm", self.norm, (2.0, np.inf))
        radius = positive("GroupBall", "radius", self.radius)
        return self._replace(groups=labels, radius=radius, norm=norm, weights=weights)

    def shaped(self, rows, columns):
        """Return the set for a weight matrix: groups of its rows become groups of its entries."""
        return self._replace(groups=np.repeat(self.groups, columns)) if len(self.groups) == rows else self

    def for_size(self, d):
        """Return the set itself, if it has ``d`` coordinates."""
        same_length("GroupBall", "groups", len(self.groups), d)
        return self

    def tracker(self, d):
        """Return the lazy argmax over groups."""
        order = np.argsort(self.groups, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(self.groups))[:-1])
        return GroupTracker.over(d, groups, 1.0 / self.weights, bool(np.isinf(self.norm)))

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        return block(tracker, r, self.radius)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def _norms(self, w: Any, power: float) -> np.ndarray:
        """l_p norms of the groups of a vector, for p = 1, 2 or inf."""
        sizes = np.abs(np.asarray(w, dtype=np.float64))
        largest = np.zeros(len(self.weights))
        with np.errstate(invalid="ignore"):  # a NaN may be looked for
            np.maximum.at(largest, self.groups, sizes)
            if np.isinf(power):
                return largest
            parts = np.divide(sizes, largest[self.groups], where=largest[self.groups] > 0.0, out=sizes.copy())
        return largest * np.bincount(self.groups, parts**power) ** (1.0 / power)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        dual = 1.0 if np.isinf(self.norm) else 2.0
        return self.radius * float(np.max(self._norms(direction, dual) / self.weights))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(self.weights @ self._norms(w, self.norm) <= self.radius * (1.0 + tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        lengths = (self.radius / self.weights)[self.groups]
        return LargestBarrier(self.groups, lengths) if np.isinf(self.norm) else GroupBarrier(self.groups, lengths)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        longest = np.sqrt(np.bincount(self.groups)) if np.isinf(self.norm) else np.ones(len(self.weights))
        return 2.0 * self.radius * float(np.max(longest / self.weights))

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 and 2 upper bounds."""
        return image_diameters(self, X)


@ball
class LatentGroupBall(NamedTuple):
    """The hull of the l2 balls of a ``radius`` over single groups, which may overlap: the latent group lasso's ball.

    A point is a sum of vectors, each within one group, whose norms sum to at most ``radius``. Its non-zeros are a union
    of groups, where those of a `GroupBall` are what whole groups leave over.

    Parameters
    ----------
    groups : list of lists of int
        The coordinates of each group. A coordinate in none of them is zero in the whole set. With a loss of several
        outputs they are groups of the columns of ``X``, if none is beyond them: each then holds the rows of the weight
        matrix that belong to its columns.
    radius : float
        Positive.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> fw.LatentGroupBall([[0, 1], [1, 2]], 5.0).vertex([1.0, -3.0, 4.0])
    array([ 0.,  3., -4.])
    """

    groups: Any
    radius: float

    def _checked(self):
        checked = isinstance(self.groups, Opaque)
        groups = self.groups if checked else Opaque.of(as_lists("LatentGroupBall", self.groups))
        return self._replace(groups=groups, radius=positive("LatentGroupBall", "radius", self.radius))

    def shaped(self, rows, columns):
        """Return the set for a weight matrix: groups of its rows, if all are, become groups of its entries."""
        groups = self.groups.value
        if len(self.groups) or max(group[-1] for group in groups) >= rows:
            return self  # they have become that already, or they are groups of entries, row after row
        entries = tuple(tuple(j * columns + c for j in group for c in range(columns)) for group in groups)
        return self._replace(groups=Opaque.of(entries, [columns]))

    def for_size(self, d):
        """Return the set itself, if its groups lie within ``d`` coordinates."""
        for g, group in enumerate(self.groups.value):
            if group[-1] >= d:
                raise ValueError(f"LatentGroupBall: group {g} has index {group[-1]}, but there are {d} columns")
        return self

    def tracker(self, d):
        """Return the lazy argmax over groups."""
        groups = list(map(np.array, self.groups.value))
        return GroupTracker.over(d, groups, np.ones(len(groups)), False)

    def oracle(self, tracker, r):
        """Atom that minimises ``<r, s>``."""
        return block(tracker, r, self.radius)

    def vertex(self, r):
        """Vertex that minimises ``<r, s>``, as an array."""
        return vertex_of(self, r)

    def support(self, direction):
        """Largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        largest = float(np.abs(direction).max())
        if not largest > 0.0:
            return self.radius * largest
        tracker = self.tracker(len(direction))
        squares = np.add.reduceat((direction / largest)[tracker.members] ** 2, tracker.starts[:-1])
        return self.radius * largest * float(np.sqrt(squares.max()))

    def contains(self, w, tolerance=1e-9):
        """Whether ``w`` is in the set, up to ``tolerance`` times the radius: a small convex program decides."""
        return within(np.asarray(w, dtype=np.float64) / self.radius, self.groups.value, tolerance)

    def barrier(self, size):
        """Return a barrier of the set's interior, for so many weights."""
        groups = self.groups.value
        members = np.concatenate([np.array(group) for group in groups])
        moves = np.zeros((size, len(members)))
        moves[members, np.arange(len(members))] = self.radius
        return GroupBarrier(np.repeat(np.arange(len(groups)), [len(group) for group in groups]), moves)

    def diameter(self, d):
        """Euclidean diameter in ``d`` dimensions."""
        return 2.0 * self.radius

    def image_diameters(self, X):
        """``D_p`` for p = 1, 2, inf, each with whether it is exact; for p = 1 and 2 upper bounds."""
        return image_diameters(self, X)
