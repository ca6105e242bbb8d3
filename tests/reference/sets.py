"""The sets a second time, from their definitions: what belongs to them, and the largest inner product over them.

Every set here makes the library's (``make``); says by how much a point breaks each condition of the definition, with
the size that such an excess is measured against (``excess``); and gives the support function in extended precision,
without the library's oracles: closed forms, lists of vertices, singular values. Nothing here is meant to be fast.
"""

import itertools
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from scipy.sparse import issparse

import frankwolfe as fw
from frankwolfe.compile.part import Opaque
from tests.reference.cones import latent_norm
from tests.reference.losses import wide


def violation(known, w):
    """Largest excess of a point over the conditions of a set, each relative to its size: rounding, if inside."""
    worst = 0.0
    for amount, size in known.excess(wide(w)):
        over = float(np.max(amount))
        worst = max(worst, over / float(size) if size > 0.0 else (np.inf if over > 0.0 else 0.0))
    return worst


def reach(known, size):
    """Largest ``|s_j|`` over the set, for every coordinate: from the support function."""
    units = np.eye(size, dtype=np.longdouble)
    return np.array([max(abs(known.support(unit)), abs(known.support(-unit))) for unit in units])


def accuracy(known):
    """Relative error of the library's support function beyond rounding: where a solver finds it, the solver's."""
    inner = getattr(known, "sets", None) or [getattr(known, "set", None)]
    return getattr(known, "accuracy", 0.0) or max(accuracy(part) if part is not None else 0.0 for part in inner)


DEFINITIONS = {}
"""Every set that is no wrapper, by its name: the one place where the tests of definitions learn of a new one."""


class Known:
    """A set with the fields of the library's set of that name, which it makes.

    Beside ``excess`` and ``support`` it has ``random(rng, size)``, which returns one for so many coordinates.
    """

    lengths = ("radius",)
    """Fields that are in the units of the weights."""

    def __init_subclass__(cls):
        DEFINITIONS[cls.__name__] = cls

    def make(self):
        return getattr(fw.sets, type(self).__name__)(*(getattr(self, field.name) for field in fields(self)))

    def in_units(self, unit):
        """Return the set whose points are those of this one times ``unit``."""
        given = {name: getattr(self, name) for name in self.lengths}
        return replace(self, **{name: unit * value for name, value in given.items() if value is not None})

    @classmethod
    def of(cls, constraint):
        """Return the definition of a set of the library."""
        found = constraint._asdict()
        return cls(**{field.name: plain(found[field.name]) for field in fields(cls) if field.name in found})


def definition(constraint):
    """Return the definition of a set of the library, perhaps a wrapped one."""
    if isinstance(constraint, fw.Product):
        return Product(tuple(map(definition, constraint.sets)), constraint.sizes)
    if isinstance(constraint, fw.sets.Translated):
        return Translated(definition(constraint.set), constraint.shift)
    if isinstance(constraint, fw.sets.Scaled):
        return Scaled(definition(constraint.set), constraint.factor)
    if isinstance(constraint, fw.sets.Cached | fw.sets.Counted):
        return definition(constraint.set)
    return DEFINITIONS[type(constraint).__name__].of(constraint)


def plain(value):
    """Return what a field holds, sparse matrices as arrays."""
    value = value.value if isinstance(value, Opaque) else value
    return value.toarray() if issparse(value) else value


def random_radius(rng):
    """Return a radius: mostly of an ordinary size, now and then tiny or huge."""
    kind = rng.random()
    if kind < 0.06:
        return float(10.0 ** rng.uniform(-8.0, -4.0))
    if kind < 0.12:
        return float(10.0 ** rng.uniform(3.0, 6.0))
    return float(10.0 ** rng.uniform(-2.0, 2.0))


@dataclass(frozen=True)
class L1Ball(Known):
    radius: float

    @classmethod
    def random(cls, rng, size):
        return cls(random_radius(rng))

    def excess(self, w):
        return [(np.abs(w).sum() - self.radius, self.radius)]

    def support(self, c):
        return self.radius * np.abs(c).max()


@dataclass(frozen=True)
class Simplex(Known):
    radius: float

    @classmethod
    def random(cls, rng, size):
        return cls(random_radius(rng))

    def excess(self, w):
        return [(-w, self.radius), (abs(w.sum() - self.radius), self.radius)]

    def support(self, c):
        return self.radius * c.max()


@dataclass(frozen=True)
class NonNegativeL1Ball(Known):
    radius: float

    @classmethod
    def random(cls, rng, size):
        return cls(random_radius(rng))

    def excess(self, w):
        return [(-w, self.radius), (w.sum() - self.radius, self.radius)]

    def support(self, c):
        return self.radius * max(c.max(), 0)


@dataclass(frozen=True)
class L2Ball(Known):
    radius: float

    @classmethod
    def random(cls, rng, size):
        return cls(random_radius(rng))

    def excess(self, w):
        return [(np.sqrt((w**2).sum()) - self.radius, self.radius)]

    def support(self, c):
        return self.radius * np.sqrt((c**2).sum())


@dataclass(frozen=True)
class Box(Known):
    lower: Any
    upper: Any
    lengths = ("lower", "upper")

    @classmethod
    def random(cls, rng, size):
        scale = random_radius(rng)
        if rng.random() < 0.3:
            return cls(-scale, scale)
        middle = scale * rng.choice([0.0, 1.0]) * rng.normal(size=size)
        half = scale * rng.random(size) * (rng.random(size) < 0.9)  # some sides have no length
        return cls(middle - half, middle + half)

    def make(self):
        if np.ndim(self.lower) == 0 and self.lower == -self.upper:
            return fw.LinfBall(self.upper)
        return fw.Box(self.lower, self.upper)

    def _sides(self, size):
        return np.broadcast_to(wide(self.lower), size), np.broadcast_to(wide(self.upper), size)

    def excess(self, w):
        lower, upper = self._sides(len(w))
        sizes = np.maximum(np.abs(lower), np.abs(upper))
        return list(zip(np.maximum(lower - w, w - upper), sizes, strict=True))

    def support(self, c):
        lower, upper = self._sides(len(c))
        return np.maximum(c * lower, c * upper).sum()


def spent(gains, caps, budget):
    """Return how much of a budget each gain gets, the largest gains first, by its definition: one after the other."""
    amounts = np.zeros(len(gains), dtype=np.longdouble)
    for j in np.argsort(-gains, kind="stable"):
        amounts[j] = min(caps[j], budget - amounts.sum())
    return amounts


@dataclass(frozen=True)
class Budget(Known):
    """The largest inner product: coordinates start at their value nearest to zero, and then gain in order."""

    lower: Any
    upper: Any
    radius: float
    lengths = ("lower", "upper", "radius")

    @classmethod
    def random(cls, rng, size):
        scale = random_radius(rng)
        if rng.random() < 0.3:
            return cls(-scale, 2.0 * scale, scale * rng.uniform(0.5, 2.0 * size))
        middle = scale * rng.choice([0.0, 0.0, 1.0], size) * rng.normal(size=size)
        half = scale * rng.random(size) * (rng.random(size) < 0.9)
        lower, upper = middle - half, middle + half
        lower, upper = (np.where(rng.random(size) < 0.2, sign * np.inf, b) for sign, b in ((-1, lower), (1, upper)))
        least = np.abs(np.clip(0.0, lower, upper)).sum()
        extra = scale * rng.choice([0.0, 1e-3, 1.0, 2.0 * size]) * rng.random()
        return cls(lower, upper, float(least + extra if least > 0.0 else scale * rng.uniform(0.1, 2.0 * size)))

    def _sides(self, size):
        lower, upper = np.broadcast_to(wide(self.lower), size), np.broadcast_to(wide(self.upper), size)
        near = np.clip(0, lower, upper)
        return lower, upper, near, max(self.radius - np.abs(near).sum(), 0)

    def excess(self, w):
        lower, upper, near, rest = self._sides(len(w))
        sizes = np.minimum(np.maximum(np.abs(lower), np.abs(upper)), np.abs(near) + rest)
        bounds = list(zip(np.maximum(lower - w, w - upper), sizes, strict=True))
        return [*bounds, (np.abs(w).sum() - self.radius, self.radius)]

    def support(self, c):
        lower, upper, near, rest = self._sides(len(c))
        caps = np.where(c > 0, upper - near, near - lower)
        return c @ near + np.abs(c) @ spent(np.abs(c), caps, rest)


@dataclass(frozen=True)
class CappedSimplex(Known):
    cap: Any
    radius: float
    lengths = ("cap", "radius")

    @classmethod
    def random(cls, rng, size):
        radius = random_radius(rng)
        if rng.random() < 0.4:
            return cls(radius / size * float(rng.choice([1.0, 1.5, 4.0, 2.0 * size])), radius)
        caps = rng.random(size) * (rng.random(size) < 0.9)
        caps[rng.integers(size)] = 0.5
        caps *= radius / caps.sum() * float(rng.choice([1.0, 1.001, 2.0, 10.0]))
        caps[0] = np.inf if rng.random() < 0.1 else caps[0]
        return cls(caps, radius)

    def excess(self, w):
        caps = np.minimum(np.broadcast_to(wide(self.cap), len(w)), self.radius)
        bounds = list(zip(np.maximum(-w, w - caps), caps, strict=True))
        return [*bounds, (abs(w.sum() - self.radius), self.radius)]

    def support(self, c):
        return c @ spent(c, np.broadcast_to(wide(self.cap), len(c)), self.radius)


@dataclass(frozen=True)
class MonotoneBox(Known):
    lower: float
    upper: float
    increasing: bool
    lengths = ("lower", "upper")

    @classmethod
    def random(cls, rng, size):
        scale, middle = random_radius(rng), float(rng.choice([0.0, 0.0, 3.0, -1.0]))
        return cls(scale * (middle - 1.0), scale * (middle + 1.0), bool(rng.random() < 0.5))

    def make(self):
        return fw.MonotoneBox(self.lower, self.upper, increasing=self.increasing)

    def excess(self, w):
        size = max(abs(self.lower), abs(self.upper))
        falls = np.diff(w) if not self.increasing else -np.diff(w)
        return [(self.lower - w, size), (w - self.upper, size), (np.append(falls, 0), size)]

    def support(self, c):
        high = np.tril(np.ones((len(c) + 1, len(c))), -1)  # row k: the first k entries are at the upper bound
        high = high[:, ::-1] if self.increasing else high
        return (np.where(high == 1, wide(self.upper), wide(self.lower)) @ c).max()


@dataclass(frozen=True)
class LpBall(Known):
    p: float
    radius: float

    @classmethod
    def random(cls, rng, size):
        return cls(float(rng.choice([1.1, 1.5, 2.0, 3.0, 8.0])), random_radius(rng))

    def excess(self, w):
        return [(_power_norm(w, wide(self.p)) - self.radius, self.radius)]

    def support(self, c):
        p = wide(self.p)
        return self.radius * _power_norm(c, p / (p - 1))


def _power_norm(values, p):
    largest = np.abs(values).max()
    return largest * ((np.abs(values) / largest) ** p).sum() ** (1 / p) if largest > 0 else largest


@dataclass(frozen=True)
class Ellipsoid(Known):
    """``shape`` as the library takes it; a matrix must not be too ill-conditioned for float64."""

    shape: Any
    radius: float
    centre: Any
    lengths = ("radius", "centre")

    @classmethod
    def random(cls, rng, size):
        centre = random_radius(rng) * rng.normal(size=size) if rng.random() < 0.4 else 0.0
        if rng.random() < 0.5:
            return cls(10.0 ** rng.uniform(-1.5, 1.5, size), random_radius(rng), centre)
        root = rng.normal(size=(size, size))
        return cls(root @ root.T + 0.1 * np.eye(size), random_radius(rng), centre)

    @cached_property
    def _matrix(self):
        return np.diag(np.square(self.shape)) if self.shape.ndim == 1 else self.shape

    def excess(self, w):
        offset = w - wide(self.centre)
        if self.shape.ndim == 1:
            length = np.sqrt(((offset / wide(self.shape)) ** 2).sum())
        else:
            values, axes = np.linalg.eigh(self._matrix)
            length = np.sqrt(((wide(axes).T @ offset) ** 2 / wide(values)).sum())
        blur = np.abs(w).max() / np.sqrt(np.linalg.eigvalsh(self._matrix)[0])  # far from zero, entries are coarse
        return [(length - self.radius, self.radius + 1e-6 * float(blur))]

    def support(self, c):
        spread = wide(self._matrix)
        return c @ np.broadcast_to(wide(self.centre), len(c)) + self.radius * np.sqrt(max(c @ spread @ c, wide(0)))


@dataclass(frozen=True)
class GroupBall(Known):
    groups: Any
    radius: float
    norm: float
    weights: Any

    @classmethod
    def random(cls, rng, size):
        count = int(rng.integers(1, size + 1))
        labels = np.concatenate([np.arange(count), rng.integers(0, count, size - count)])
        weights = np.ones(count) if rng.random() < 0.5 else 10.0 ** rng.uniform(-1.0, 1.0, count)
        return cls(rng.permutation(labels), random_radius(rng), float(rng.choice([2.0, np.inf])), weights)

    def _norms(self, values, norm):
        parts = [np.abs(values[self.groups == g]) for g in range(len(self.weights))]
        if norm == 2:
            return np.array([np.sqrt((part**2).sum()) for part in parts])
        return np.array([part.max() if np.isinf(norm) else part.sum() for part in parts])

    def excess(self, w):
        return [((wide(self.weights) * self._norms(w, self.norm)).sum() - self.radius, self.radius)]

    def support(self, c):
        return self.radius * (self._norms(c, 2 if self.norm == 2 else 1) / wide(self.weights)).max()


@dataclass(frozen=True)
class LatentGroupBall(Known):
    groups: Any
    radius: float

    @classmethod
    def random(cls, rng, size):
        groups = [rng.choice(size, int(rng.integers(1, size + 1)), replace=False) for _ in range(rng.integers(1, 5))]
        groups[0] = np.union1d(groups[0], [size - 1])  # groups within the first entries would be groups of columns
        return cls(tuple(tuple(sorted(map(int, group))) for group in groups), random_radius(rng))

    def make(self):
        return fw.LatentGroupBall([list(group) for group in self.groups], self.radius)

    def excess(self, w):
        nowhere = np.ones(len(w), dtype=bool)
        nowhere[sorted(set().union(*self.groups))] = False
        outside = (np.append(np.abs(w[nowhere]), 0), self.radius)
        inside = np.where(nowhere, 0.0, np.asarray(w, dtype=np.float64)) / self.radius
        # a single group that holds all of the point bounds the norm to the last digit, which a solver does not
        whole = [np.sqrt((inside**2).sum()) for group in self.groups if not np.delete(inside, list(group)).any()]
        return [outside, (min([latent_norm(inside, self.groups), *whole]) - 1.0, 1.0)]

    def support(self, c):
        return self.radius * max(np.sqrt((c[list(group)] ** 2).sum()) for group in self.groups)


@dataclass(frozen=True)
class KSupportBall(Known):
    k: int
    radius: float
    norm: float

    @classmethod
    def random(cls, rng, size):
        return cls(int(rng.integers(1, size + 1)), random_radius(rng), float(rng.choice([2.0, np.inf])))

    def excess(self, w):
        sizes = np.abs(w)
        if np.isinf(self.norm):
            return [(sizes - self.radius, self.radius), (sizes.sum() - self.k * self.radius, self.k * self.radius)]
        return [(_k_support_norm(sizes, self.k) - self.radius, self.radius)]

    def support(self, c):
        top = np.sort(np.abs(c))[-self.k :]
        return self.radius * (top.sum() if np.isinf(self.norm) else np.sqrt((top**2).sum()))


def _k_support_norm(sizes, k):
    """Square root of the least ``sum sizes^2 / theta`` with ``0 <= theta <= 1`` summing to ``k``, by bisection."""
    sizes = sizes[sizes > 0]
    if len(sizes) <= k:
        return np.sqrt((sizes**2).sum())
    low, high = wide(0), sizes.sum() / k  # theta = min(1, sizes / level) sums to k at the right level
    for _ in range(200):
        level = (low + high) / 2
        if np.minimum(1, sizes / level).sum() > k:
            low = level
        else:
            high = level
    return np.sqrt((sizes**2 / np.minimum(1, sizes / high)).sum())


@dataclass(frozen=True)
class OWLBall(Known):
    weights: Any
    radius: float

    @classmethod
    def random(cls, rng, size):
        weights = np.sort(rng.random(size))[::-1] + 0.1
        if rng.random() < 0.3:
            weights[rng.integers(1, size + 1) :] = 0.0
        return cls(weights, random_radius(rng))

    def excess(self, w):
        return [((wide(self.weights) * np.sort(np.abs(w))[::-1]).sum() - self.radius, self.radius)]

    def support(self, c):
        sizes = np.sort(np.abs(c))[::-1]  # a vertex has equal entries on the largest so many
        return self.radius * max(sizes[: k + 1].sum() / wide(self.weights)[: k + 1].sum() for k in range(len(c)))


@dataclass(frozen=True)
class Birkhoff(Known):
    size: int

    @classmethod
    def random(cls, rng, size):
        return cls(isqrt(size))

    def in_units(self, unit):
        return Scaled(self, unit)

    def excess(self, w):
        square = w.reshape(self.size, self.size)
        return [(-w, 1.0), (np.abs(square.sum(axis=0) - 1), 1.0), (np.abs(square.sum(axis=1) - 1), 1.0)]

    def support(self, c):
        square, rows = c.reshape(self.size, self.size), np.arange(self.size)
        return max(square[rows, list(order)].sum() for order in itertools.permutations(range(self.size)))


@dataclass(frozen=True)
class ConvexHull(Known):
    points: Any
    lengths = ("points",)

    @classmethod
    def random(cls, rng, size):
        points = random_radius(rng) * rng.normal(size=(int(rng.integers(1, 3 * size + 2)), size))
        if rng.random() < 0.3:  # points that lie on others
            points = points[rng.integers(0, len(points), len(points))]
        return cls(points + rng.choice([0.0, 0.0, 1.0]))

    def excess(self, w):
        from scipy.optimize import linprog

        # the largest <r, w> - max_k <r, p_k> with |r| <= 1: positive for a point outside
        middle = self.points.mean(axis=0)
        scale = np.abs(self.points - middle).max() or 1.0
        points, point = (self.points - middle) / scale, (np.asarray(w, dtype=np.float64) - middle) / scale
        limits = [(-1.0, 1.0)] * len(w) + [(None, None)]
        system = np.hstack([points, -np.ones((len(points), 1))])
        found = linprog(np.append(-point, 1.0), A_ub=system, b_ub=np.zeros(len(points)), bounds=limits, method="highs")
        r = wide(found.x[:-1])
        return [((r @ wide(point) - (wide(points) @ r).max()) * scale, np.abs(self.points).max() or 1.0)]

    def support(self, c):
        return (wide(self.points) @ c).max()


@dataclass(frozen=True)
class Polytope(Known):
    """Vertices are listed: every choice of as many constraints as there are coordinates that meets in a point."""

    A: Any
    b: Any
    E: Any = None
    e: Any = None
    sparse: bool = False
    accuracy = 1e-10  # of the library's linear programs
    lengths = ("b", "e")

    @classmethod
    def random(cls, rng, size):
        scale, m = random_radius(rng), int(rng.integers(0, 5))
        A = np.vstack([rng.normal(size=(m, size)) * (rng.random((m, size)) < 0.7), np.eye(size), -np.eye(size)])
        b = scale * np.concatenate([rng.uniform(0.3, 1.0, m), rng.uniform(0.5, 1.5, 2 * size)])
        fixed = size > 1 and rng.random() < 0.4
        E, e = (np.ones((1, size)), np.zeros(1)) if fixed else (None, None)
        return cls(A, b, E, e, sparse=bool(rng.random() < 0.5))

    def make(self):
        from scipy.sparse import csr_array

        return fw.Polytope(csr_array(self.A) if self.sparse else self.A, self.b, self.E, self.e)

    @cached_property
    def vertices(self):
        d = self.A.shape[1]
        fixed = 0 if self.E is None else len(self.E)
        chosen = np.array(list(itertools.combinations(range(len(self.A)), d - fixed)), dtype=np.int64)
        systems, sides = self.A[chosen], self.b[chosen]
        if fixed:
            systems = np.concatenate([systems, np.broadcast_to(self.E, (len(chosen), fixed, d))], axis=1)
            sides = np.concatenate([sides, np.broadcast_to(self.e, (len(chosen), fixed))], axis=1)
        apart = np.abs(np.linalg.det(systems)) > 1e-10 * np.prod(np.linalg.norm(systems, axis=2), axis=1)
        found = np.linalg.solve(systems[apart], sides[apart][..., np.newaxis])[..., 0]
        size = np.abs(self.b).max()
        inside = ((found @ self.A.T - self.b) <= 1e-9 * (size + np.abs(found) @ np.abs(self.A).T)).all(axis=1)
        return wide(found[inside])

    def excess(self, w):
        most = np.abs(self.vertices).max(axis=0)
        over = wide(self.A) @ w - self.b
        found = list(zip(over, np.abs(self.A) @ most + np.abs(self.b), strict=True))
        if self.E is not None:
            off = np.abs(wide(self.E) @ w - self.e)
            found += list(zip(off, np.abs(self.E) @ most + np.abs(self.e), strict=True))
        return found

    def support(self, c):
        return (self.vertices @ c).max()


@dataclass(frozen=True)
class TraceBall(Known):
    """``told``: whether the library's set is told the shape; it finds it where a loss has several outputs."""

    radius: float
    shape: tuple[int, int]
    told: bool = True

    @classmethod
    def random(cls, rng, size):
        sides = [side for side in range(1, size + 1) if size % side == 0]
        rows = int(rng.choice(sides))
        return cls(random_radius(rng), (rows, size // rows))

    def make(self):
        return fw.TraceBall(self.radius, self.shape if self.told else None)

    def _sizes(self, values):
        return np.linalg.svd(np.asarray(values, dtype=np.float64).reshape(self.shape), compute_uv=False)

    def excess(self, w):
        return [(self._sizes(w).sum() - self.radius, self.radius)]

    def support(self, c):
        return self.radius * wide(self._sizes(c)[0])


@dataclass(frozen=True)
class Spectrahedron(Known):
    trace: float
    lengths = ("trace",)

    @classmethod
    def random(cls, rng, size):
        return cls(random_radius(rng))

    def excess(self, w):
        side = int(np.sqrt(len(w)))
        matrix = np.asarray(w, dtype=np.float64).reshape(side, side)
        lowest = np.linalg.eigvalsh((matrix + matrix.T) / 2)[0]
        return [
            (np.abs(matrix - matrix.T), self.trace),
            (-lowest, self.trace),
            (abs(np.trace(matrix) - self.trace), self.trace),
        ]

    def support(self, c):
        side = int(np.sqrt(len(c)))
        matrix = np.asarray(c, dtype=np.float64).reshape(side, side)
        return self.trace * wide(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])


@dataclass(frozen=True)
class Product:
    sets: tuple
    sizes: tuple[int, ...]

    def make(self):
        return fw.Product([known.make() for known in self.sets], list(self.sizes))

    def in_units(self, unit):
        return Product(tuple(known.in_units(unit) for known in self.sets), self.sizes)

    def _pieces(self, values):
        return zip(self.sets, np.split(values, np.cumsum(self.sizes)[:-1]), strict=True)

    def excess(self, w):
        return [pair for known, piece in self._pieces(w) for pair in known.excess(piece)]

    def support(self, c):
        return sum(known.support(piece) for known, piece in self._pieces(c))


@dataclass(frozen=True)
class Translated:
    set: Any
    shift: Any

    def make(self):
        return fw.sets.Translated(self.set.make(), self.shift)

    def in_units(self, unit):
        return Translated(self.set.in_units(unit), unit * self.shift)

    def excess(self, w):
        shift = np.broadcast_to(wide(self.shift), len(w))
        blur = 1e-5 * float(np.abs(shift).max())  # far from zero, entries are coarse, and hundreds of steps round them
        return [(amount, float(size) + blur) for amount, size in self.set.excess(w - shift)]

    def support(self, c):
        return self.set.support(c) + (c * wide(self.shift)).sum()


@dataclass(frozen=True)
class Scaled:
    set: Any
    factor: float

    def make(self):
        return fw.sets.Scaled(self.set.make(), self.factor)

    def in_units(self, unit):
        return Scaled(self.set, unit * self.factor)

    def excess(self, w):
        return self.set.excess(w / wide(self.factor))

    def support(self, c):
        return self.factor * self.set.support(c)


@dataclass(frozen=True)
class Wrapped:
    """Another set behind a wrapper that must not matter."""

    set: Any
    wrapper: Any

    def make(self):
        return self.wrapper(self.set.make())

    def in_units(self, unit):
        return Wrapped(self.set.in_units(unit), self.wrapper)

    def excess(self, w):
        return self.set.excess(w)

    def support(self, c):
        return self.set.support(c)
