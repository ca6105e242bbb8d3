"""Parts defined outside the package, as a user would: one NamedTuple each, usable wherever the package's own are.

A loss needs ``value``, ``derivative``, ``curvature`` and ``smoothness``; a set ``tracker``, ``oracle``, ``support`` and
``contains``, and ``hull`` if its vertices are single coordinates; a step rule ``length``; a gradient estimate
its ``state`` and ``for_run``, which returns one: a class with ``refresh``. A place for rows is a `ShardedRows` with
``read_shard``.
"""

from itertools import combinations
from math import exp, log, log1p, tanh
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
from scipy.optimize import nnls

from frankwolfe.compile.verbs import derivative, prediction
from frankwolfe.methods.gradient import amend
from frankwolfe.sets.atoms import Full, Hot
from frankwolfe.sets.base import Hull, Workspace
from frankwolfe.store.sharded import ShardedRows, ShardSize


class LogCosh(NamedTuple):
    """``log(cosh(z - y))``: squared near zero, absolute far away, smooth everywhere."""

    convex = True
    targets = "real"

    def value(self, z, y):
        error = abs(z - y)
        return error + log1p(exp(-2.0 * error)) - log(2.0)

    def derivative(self, z, y):
        return tanh(z - y)

    def curvature(self, z, y):
        return 1.0 - tanh(z - y) ** 2

    def smoothness(self):
        return 1.0


class WeightedL1Ball(NamedTuple):
    """All ``w`` with ``sum_j price_j |w_j| <= budget``: a vertex spends the whole budget on one coordinate."""

    budget: float
    price: np.ndarray

    def tracker(self, d):
        return Workspace.over(d)

    def oracle(self, tracker, r):
        price, best = self.price, 0
        for j in range(len(r)):
            if abs(r[j]) * price[best] > abs(r[best]) * price[j]:
                best = j
        amount = self.budget / price[best]
        return Hot(best, -amount if r[best] > 0.0 else amount)

    def support(self, direction):
        return self.budget * np.max(np.abs(direction) / self.price)

    def contains(self, w, tolerance=1e-9):
        return bool(self.price @ np.abs(w) <= self.budget * (1.0 + tolerance))


class Mixture(NamedTuple):
    """All ``w >= 0`` with sum ``total``: shares of a whole."""

    total: float

    def tracker(self, d):
        return Workspace.over(d)

    def oracle(self, tracker, r):
        return Hot(np.argmin(r), self.total)

    def hull(self):
        return Hull(radius=self.total, signed=False, filled=False)

    def support(self, direction):
        return self.total * np.max(direction)

    def contains(self, w, tolerance=1e-9):
        return bool(np.min(w) >= -tolerance and abs(np.sum(w) - self.total) <= tolerance * self.total)


class CappedSimplex(NamedTuple):
    """All ``w`` with ``0 <= w_j <= cap`` and sum 1: no coordinate may take more than its share."""

    cap: float

    def tracker(self, d):
        return Workspace.over(d)

    def oracle(self, tracker, r):
        room, left = tracker.room, 1.0
        for j in np.argsort(r):
            room[j] = min(self.cap, left)
            left -= room[j]
        return Full(room)

    def support(self, direction):
        tracker = Workspace.over(len(direction))
        return self.oracle(tracker, -direction).inner(direction)

    def contains(self, w, tolerance=1e-9):
        return bool(np.min(w) >= -tolerance and np.max(w) <= self.cap + tolerance and abs(np.sum(w) - 1) <= tolerance)


class HullOf(NamedTuple):
    """The hull of the given points, one a row."""

    points: np.ndarray

    def tracker(self, d):
        return Workspace.over(d)

    def oracle(self, tracker, r):
        points, room, best, least = self.points, tracker.room, 0, np.inf
        for k in range(len(points)):
            value = 0.0
            for j in range(len(r)):
                value += points[k, j] * r[j]
            if value < least:
                best, least = k, value
        room[:] = points[best]
        return Full(room)

    def support(self, direction):
        return np.max(self.points @ direction)

    def contains(self, w, tolerance=1e-9):
        _, distance = nnls(np.vstack([self.points.T, np.ones(len(self.points))]), np.append(w, 1.0))
        return bool(distance <= tolerance * max(1.0, np.abs(self.points).max()))


class SmoothedTableState(NamedTuple):
    """What a run remembers: one derivative a sample."""

    alpha: np.ndarray
    rate: float

    def refresh(self, samples, iterate, gradient, batch, upcoming, t):
        rows, targets, weights, loss = samples.rows, samples.targets, samples.weights, samples.loss
        alpha, rate = self.alpha, self.rate
        for i in batch:
            fresh = weights[i] * derivative(loss, prediction(iterate, rows, i), targets[i])
            change = rate * (fresh - alpha[i])
            alpha[i] += change
            amend(gradient, rows, i, change)


class SmoothedTable(NamedTuple):
    """The paper's table, but a remembered derivative only moves a part ``rate`` of the way to the fresh one."""

    rate: float = 0.5

    state = SmoothedTableState

    def for_run(self, setting):
        return SmoothedTableState(setting.table(), self.rate)


class ConstantThenDecay(NamedTuple):
    """``gamma`` for the first ``hold`` steps, then ``gamma hold / t``."""

    gamma: float = 0.2
    hold: float = 10.0

    def length(self, move, samples, gradient, iterate, t):
        return self.gamma * min(1.0, self.hold / t)


class SpanningTrees:
    """Weights of a graph's edges, in the hull of its spanning trees: any Python may find the best tree."""

    def __init__(self, edges):
        self.edges, self.nodes = edges, 1 + max(map(max, edges))

    def vertex(self, r):
        tree, root = np.zeros(len(r)), list(range(self.nodes))
        for j in np.argsort(r, kind="stable"):  # Kruskal: the cheapest edge that joins two pieces
            one, other = (root[node] for node in self.edges[j])
            if one != other:
                tree[j] = 1.0
                root = [one if piece == other else piece for piece in root]
        return tree

    def contains(self, w, tolerance):
        whole = abs(np.sum(w) - (self.nodes - 1)) <= tolerance * self.nodes
        return bool(whole and np.min(w) >= -tolerance and all(map(self._sparse_enough(w, tolerance), self._parts())))

    def _sparse_enough(self, w, tolerance):
        def holds(part):
            inside = sum(w[j] for j, edge in enumerate(self.edges) if part.issuperset(edge))
            return inside <= len(part) - 1 + tolerance * self.nodes

        return holds

    def _parts(self):
        return (set(part) for size in range(2, self.nodes) for part in combinations(range(self.nodes), size))


class ZippedRows(ShardedRows):
    """Rows in a zip file of blocks ``rows-000.npy``, ``rows-001.npy``, ..., with their targets in ``y.npy``."""

    def __init__(self, path, memory):
        self.path = path
        with ZipFile(path) as archive:
            self.y = np.load(archive.open("y.npy"))
            self.blocks = sorted(name for name in archive.namelist() if name.startswith("rows-"))
            shapes = [self._header(archive, name) for name in self.blocks]
        shards = [ShardSize.of(*shape, np.float64) for shape in shapes]
        super().__init__(str(path), shapes[0][1], np.float64, shards, memory)

    @staticmethod
    def _header(archive, name):
        with archive.open(name) as stream:
            np.lib.format.read_magic(stream)
            return np.lib.format.read_array_header_1_0(stream)[0]

    def read_shard(self, number):
        with ZipFile(self.path) as archive:
            return np.load(archive.open(self.blocks[number]))
