"""Balls made of groups of coordinates. A vertex lies in one group, found by a lazy argmax over the groups."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import Weights
from frankwolfe.compile.part import Opaque
from frankwolfe.compile.verbs import leader
from frankwolfe.linalg.argmax import GroupTracker
from frankwolfe.sets.atoms import Block, oppose
from frankwolfe.sets.barriers import GroupBarrier, LargestBarrier
from frankwolfe.sets.base import BallDefaults, set_with
from frankwolfe.sets.checks import one_of, same_length, vector
from frankwolfe.sets.coordinate import Box

Groups = tuple[tuple[int, ...], ...]
"""The coordinates of each group, sorted."""


def as_lists(part: str, groups: Any) -> Groups:
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
    """Return the group of every coordinate, numbered from 0, and the number of groups.

    Takes a label for each coordinate, or the coordinates of each group, which must be disjoint and cover all.
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
    given = as_lists(part, groups)
    members, owners = np.concatenate(given), np.repeat(np.arange(len(given)), [len(group) for group in given])
    order = np.argsort(members, kind="stable")
    ordered, d = members[order], len(members)
    if (ordered[1:] == ordered[:-1]).any():
        at = int(np.argmax(ordered[1:] == ordered[:-1]))
        one, other = owners[order[at : at + 2]]
        raise ValueError(
            f"{part}: groups {one} and {other} both have coordinate {ordered[at]}: groups must not overlap "
            "(LatentGroupBall takes groups that do)"
        )
    if ordered[-1] >= d:
        missing = int(np.argmax(ordered != np.arange(d)))
        raise ValueError(
            f"{part}: group {owners[order[-1]]} has index {ordered[-1]}, but coordinate {missing} is in no group: the "
            "groups must cover every coordinate"
        )
    return owners[order], len(given)


def _labels_given(groups: Any) -> bool:
    """Return whether these are labels of coordinates rather than lists of coordinates."""
    if isinstance(groups, np.ndarray) and groups.dtype != object:
        return groups.ndim == 1 and groups.size > 0
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        return False
    entries = list(groups)
    return bool(entries) and all(isinstance(entry, str) or not isinstance(entry, Iterable) for entry in entries)


class GroupMethods(BallDefaults):
    """Methods of both balls."""

    radius: float

    def oracle(self, tracker, r):
        """Return the atom that minimises ``<r, s>``: a point of the ball of the leading group."""
        g = leader(tracker, r)
        low, high = tracker.starts[g], tracker.starts[g + 1]
        at, values = tracker.members[low:high], tracker.values[: high - low]
        size = self.radius * tracker.shares[g]
        if tracker.flat:
            for k in range(len(at)):
                values[k] = -size if r[at[k]] > 0.0 else size
            return Block(at, values)
        for k in range(len(at)):
            values[k] = r[at[k]]
        oppose(values, size, values)
        return Block(at, values)


@set_with(GroupMethods)
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
        return self._replace(groups=labels, norm=norm, weights=weights)

    def shaped(self, rows, columns):
        """Return the set for a weight matrix: groups of its rows become groups of its entries."""
        return self._replace(groups=np.repeat(self.groups, columns)) if len(self.groups) == rows else self

    def for_size(self, d):
        """Return the set, or raise ValueError if it does not have ``d`` coordinates."""
        same_length("GroupBall", "groups", len(self.groups), d)
        return self

    def for_columns(self, columns):
        """Return the ball of the parts of the groups that are among some entries, where all others are zero."""
        kept, labels = np.unique(self.groups[columns], return_inverse=True)
        return self._replace(groups=labels.astype(np.int64), weights=self.weights[kept])

    def tracker(self, d):
        """Return the lazy argmax over groups."""
        order = np.argsort(self.groups, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(self.groups))[:-1])
        return GroupTracker.over(d, groups, 1.0 / self.weights, bool(np.isinf(self.norm)))

    def _norms(self, w: Weights, power: float) -> np.ndarray:
        """Return the l_p norms of the groups of a vector, for p = 1, 2 or inf."""
        sizes = np.abs(np.asarray(w, dtype=np.float64))
        largest = np.zeros(len(self.weights))
        with np.errstate(invalid="ignore"):  # entries may be NaN
            np.maximum.at(largest, self.groups, sizes)
            if np.isinf(power):
                return largest
            parts = np.divide(sizes, largest[self.groups], where=largest[self.groups] > 0.0, out=sizes.copy())
        return largest * np.bincount(self.groups, parts**power) ** (1.0 / power)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        dual = 1.0 if np.isinf(self.norm) else 2.0
        return self.radius * float(np.max(self._norms(direction, dual) / self.weights))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius."""
        return bool(self.weights @ self._norms(w, self.norm) <= self.radius * (1.0 + tolerance))

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        lengths = (self.radius / self.weights)[self.groups]
        return LargestBarrier(self.groups, lengths) if np.isinf(self.norm) else GroupBarrier(self.groups, lengths)

    def diameter(self, d):
        """Return the Euclidean diameter in ``d`` dimensions."""
        longest = np.sqrt(np.bincount(self.groups)) if np.isinf(self.norm) else np.ones(len(self.weights))
        return 2.0 * self.radius * float(np.max(longest / self.weights))


@set_with(GroupMethods)
class LatentGroupBall(NamedTuple):
    """The hull of the l2 balls of a ``radius`` over single groups, which may overlap: the latent group lasso's ball.

    A point is a sum of vectors, each supported on one group, whose norms sum to at most ``radius``. The support of a
    point is a union of groups; for `GroupBall` the set of zeros is a union of groups.

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
    >>> fw.sets.LatentGroupBall([[0, 1], [1, 2]], 5.0).vertex([1.0, -3.0, 4.0])
    array([ 0.,  3., -4.])
    """

    groups: Any
    radius: float

    def _checked(self):
        if isinstance(self.groups, Opaque):
            return self
        return self._replace(groups=Opaque.of(as_lists("LatentGroupBall", self.groups)))

    def shaped(self, rows, columns):
        """Return the set for a weight matrix: groups of its rows, if all are, become groups of its entries."""
        groups = self.groups.value
        if len(self.groups) or max(group[-1] for group in groups) >= rows:
            return self  # shaped before, or groups of entries row after row
        entries = tuple(tuple(j * columns + c for j in group for c in range(columns)) for group in groups)
        return self._replace(groups=Opaque.of(entries, [columns]))

    def for_size(self, d):
        """Return the set, or raise ValueError if a group has a coordinate beyond ``d``."""
        for g, group in enumerate(self.groups.value):
            if group[-1] >= d:
                raise ValueError(f"LatentGroupBall: group {g} has index {group[-1]}, but there are {d} columns")
        return self

    def for_columns(self, columns):
        """Return the ball of the parts of the groups that are among some entries; zero alone if there are none."""
        place = {int(j): k for k, j in enumerate(columns)}
        parts = (tuple(place[j] for j in group if j in place) for group in self.groups.value)
        groups = tuple(part for part in parts if part)
        return self._replace(groups=Opaque.of(groups, self.groups)) if groups else Box(0.0, 0.0)

    def tracker(self, d):
        """Return the lazy argmax over groups."""
        groups = list(map(np.array, self.groups.value))
        return GroupTracker.over(d, groups, np.ones(len(groups)), False)

    def support(self, direction):
        """Return the largest ``<direction, s>`` over the set."""
        direction = np.asarray(direction, dtype=np.float64)
        largest = float(np.abs(direction).max())
        if not largest > 0.0:
            return self.radius * largest
        squares = [((direction[list(group)] / largest) ** 2).sum() for group in self.groups.value]
        return self.radius * largest * float(np.sqrt(max(squares)))

    def contains(self, w, tolerance=1e-9):
        """Return whether ``w`` is in the set, up to ``tolerance`` times the radius: a small convex program decides."""
        return _latent_norm_at_most_one(np.asarray(w, dtype=np.float64) / self.radius, self.groups.value, tolerance)

    def barrier(self, size):
        """Return a barrier of the set's interior for ``size`` weights."""
        groups = self.groups.value
        members = np.concatenate(groups)
        moves = np.zeros((size, len(members)))
        moves[members, np.arange(len(members))] = self.radius
        return GroupBarrier(np.repeat(np.arange(len(groups)), [len(group) for group in groups]), moves)


def _latent_norm_at_most_one(w: np.ndarray, groups: Groups, tolerance: float) -> bool:
    """Return whether ``w`` is a sum of vectors on the groups whose Euclidean norms sum to at most ``1 + tolerance``.

    Entries up to ``tolerance`` that are in no group are ignored. The least sum of norms is ``max <w, r>`` over all
    ``r`` with ``||r_g|| <= 1`` for every group. A barrier method bounds it from both sides: every ``r`` gives a lower
    bound, and the multipliers of the constraints give a decomposition of ``w``, which is an upper bound. It stops as
    soon as one of the bounds decides.
    """
    uncovered = np.ones(len(w), dtype=bool)
    uncovered[np.concatenate(groups)] = False
    if not (np.abs(w[uncovered]) <= tolerance).all():
        return False
    used = np.flatnonzero(np.where(uncovered, 0.0, w))
    w, most = w[used], 1.0 + tolerance
    if len(w) == 0:
        return True
    if not np.linalg.norm(w) <= most:
        return False  # the norm of a sum is at most the sum of norms; also rejects NaN
    members = np.unique([np.isin(used, group) for group in groups], axis=0).astype(np.float64)
    members = members[members.any(axis=1)]
    r, steep = np.zeros(len(w)), 1.0
    while steep < 1e14:  # beyond this, rounding errors dominate
        r = _centred(w, members, r, steep)
        least, sum_of_norms = _latent_norm_bounds(w, members, r, steep)
        if sum_of_norms <= most:
            return True
        if least > most:
            return False
        steep *= 10.0
    return bool(least <= most)


def _centred(w: np.ndarray, members: np.ndarray, r: np.ndarray, steep: float) -> np.ndarray:
    """Return the minimiser of ``-steep <w, r> - sum_g log(1 - ||r_g||^2)``, by Newton's method from ``r``."""
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
        while (members @ (r + step * move) ** 2 >= 1.0).any():  # happens only by rounding
            step *= 0.5
            if step < 1e-12:
                return r
        r = r + step * move
    return r


def _latent_norm_bounds(w: np.ndarray, members: np.ndarray, r: np.ndarray, steep: float) -> tuple[float, float]:
    """Return a lower and an upper bound on the least sum of norms."""
    room = 1.0 - members @ (r * r)
    pieces = members * r * (2.0 / (steep * room))[:, np.newaxis]
    first = members.argmax(axis=0)  # the remainder of each coordinate goes to the first group that has it
    pieces[first, np.arange(len(w))] += w - pieces.sum(axis=0)
    return float(w @ r), float(np.linalg.norm(pieces, axis=1).sum())
