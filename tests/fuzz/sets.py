"""Random constraint sets, as the reference describes them, for a number of coordinates."""

from dataclasses import replace
from math import isqrt

import numpy as np

import frankwolfe as fw
from tests.reference import sets as known

MOST_LISTED = 5
"""Most coordinates of a polytope whose vertices are listed."""


def radius(rng):
    """Return a radius: mostly of an ordinary size, now and then tiny or huge."""
    kind = rng.random()
    if kind < 0.06:
        return float(10.0 ** rng.uniform(-8.0, -4.0))
    if kind < 0.12:
        return float(10.0 ** rng.uniform(3.0, 6.0))
    return float(10.0 ** rng.uniform(-2.0, 2.0))


def _box(rng, size):
    scale = radius(rng)
    if rng.random() < 0.3:
        return known.Box(-scale, scale)
    middle = scale * rng.choice([0.0, 1.0]) * rng.normal(size=size)
    half = scale * rng.random(size) * (rng.random(size) < 0.9)  # some sides have no length
    return known.Box(middle - half, middle + half)


def _monotone(rng, size):
    scale, middle = radius(rng), float(rng.choice([0.0, 0.0, 3.0, -1.0]))
    return known.MonotoneBox(scale * (middle - 1.0), scale * (middle + 1.0), bool(rng.random() < 0.5))


def _ellipsoid(rng, size):
    centre = radius(rng) * rng.normal(size=size) if rng.random() < 0.4 else 0.0
    if rng.random() < 0.5:
        return known.Ellipsoid(10.0 ** rng.uniform(-1.5, 1.5, size), radius(rng), centre)
    root = rng.normal(size=(size, size))
    return known.Ellipsoid(root @ root.T + 0.1 * np.eye(size), radius(rng), centre)


def _groups(rng, size):
    count = int(rng.integers(1, size + 1))
    labels = np.concatenate([np.arange(count), rng.integers(0, count, size - count)])
    weights = np.ones(count) if rng.random() < 0.5 else 10.0 ** rng.uniform(-1.0, 1.0, count)
    return known.GroupBall(rng.permutation(labels), radius(rng), float(rng.choice([2.0, np.inf])), weights)


def _latent(rng, size):
    groups = [rng.choice(size, int(rng.integers(1, size + 1)), replace=False) for _ in range(rng.integers(1, 5))]
    groups[0] = np.union1d(groups[0], [size - 1])  # groups within the first entries would be groups of columns
    return known.LatentGroupBall(tuple(tuple(sorted(map(int, group))) for group in groups), radius(rng))


def _owl(rng, size):
    weights = np.sort(rng.random(size))[::-1] + 0.1
    if rng.random() < 0.3:
        weights[rng.integers(1, size + 1) :] = 0.0
    return known.OWLBall(weights, radius(rng))


def _hull(rng, size):
    points = radius(rng) * rng.normal(size=(int(rng.integers(1, 3 * size + 2)), size))
    if rng.random() < 0.3:  # points that lie on others
        points = points[rng.integers(0, len(points), len(points))]
    return known.ConvexHull(points + rng.choice([0.0, 0.0, 1.0]))


def _polytope(rng, size):
    scale, m = radius(rng), int(rng.integers(0, 5))
    A = np.vstack([rng.normal(size=(m, size)) * (rng.random((m, size)) < 0.7), np.eye(size), -np.eye(size)])
    b = scale * np.concatenate([rng.uniform(0.3, 1.0, m), rng.uniform(0.5, 1.5, 2 * size)])
    fixed = size > 1 and rng.random() < 0.4
    E, e = (np.ones((1, size)), np.zeros(1)) if fixed else (None, None)
    return known.Polytope(A, b, E, e, sparse=bool(rng.random() < 0.5))


def _trace_ball(rng, size):
    sides = [side for side in range(1, size + 1) if size % side == 0]
    rows = int(rng.choice(sides))
    return known.TraceBall(radius(rng), (rows, size // rows))


def _square(size):
    return isqrt(size) ** 2 == size


SETS = {
    "L1Ball": lambda rng, size: known.L1Ball(radius(rng)),
    "Simplex": lambda rng, size: known.Simplex(radius(rng)),
    "NonNegativeL1Ball": lambda rng, size: known.NonNegativeL1Ball(radius(rng)),
    "L2Ball": lambda rng, size: known.L2Ball(radius(rng)),
    "Box": _box,
    "MonotoneBox": _monotone,
    "LpBall": lambda rng, size: known.LpBall(float(rng.choice([1.1, 1.5, 2.0, 3.0, 8.0])), radius(rng)),
    "Ellipsoid": _ellipsoid,
    "GroupBall": _groups,
    "LatentGroupBall": _latent,
    "KSupportBall": lambda rng, size: known.KSupportBall(
        int(rng.integers(1, size + 1)), radius(rng), float(rng.choice([2.0, np.inf]))
    ),
    "OWLBall": _owl,
    "Birkhoff": lambda rng, size: known.Birkhoff(isqrt(size)),
    "ConvexHull": _hull,
    "Polytope": _polytope,
    "TraceBall": _trace_ball,
    "Spectrahedron": lambda rng, size: known.Spectrahedron(radius(rng)),
}

SQUARE = ("Birkhoff", "Spectrahedron")
"""Sets of square matrices: a matrix of weights, with several outputs, must be square itself."""

WRAPPERS = ("Product", "Translated", "Scaled", "Counted", "Cached")
NAMES = (*SETS, *WRAPPERS)


def fits(name, shape):
    """Whether there is a set of that name for weights of a shape: ``(d,)``, or ``(d, outputs)``."""
    size = int(np.prod(shape))
    if name in SQUARE and not (shape[0] == shape[1] if len(shape) == 2 else _square(size)):
        return False
    return size <= {"Birkhoff": 16, "Polytope": MOST_LISTED}.get(name, size)


def plain(rng, shape, vectors=False):
    """Return a random set that is no wrapper; one of vectors on request."""
    names = [name for name in SETS if fits(name, shape) and not (vectors and name in (*SQUARE, "TraceBall"))]
    found = SETS[str(rng.choice(names))](rng, int(np.prod(shape)))
    return replace(found, shape=tuple(shape)) if isinstance(found, known.TraceBall) and len(shape) == 2 else found


def make(name, rng, shape):
    """Return a random set of that name for weights of a shape."""
    size = int(np.prod(shape))
    if name in SETS:
        return SETS[name](rng, size)
    if name == "Product":
        return _product(rng, shape)
    inner = make("Product", rng, shape) if rng.random() < 0.1 else plain(rng, shape)
    if name == "Translated":
        # far beyond its size a set is lost in rounding
        sizes = [float(most) for most in known.reach(inner, size) if most > 0.0] or [1.0]
        return known.Translated(inner, 10.0 ** rng.uniform(-3.0, 4.0) * min(sizes) * rng.normal(size=size))
    if name == "Scaled":
        return known.Scaled(inner, float(10.0 ** rng.uniform(-3.0, 3.0)))
    return known.Wrapped(inner, fw.Counted if name == "Counted" else fw.Cached)


def _product(rng, shape):
    """Return a product over blocks of the weights; of a matrix, of its rows, or of its entries row after row.

    A block of rows is a matrix itself. A block of entries is a vector: there sets of matrices would not fit.
    """
    whole_rows = len(shape) == 2 and rng.random() < 0.5
    length = shape[0] if whole_rows else int(np.prod(shape))
    cuts = np.sort(rng.choice(np.arange(1, length), min(length - 1, int(rng.integers(0, 3))), replace=False))
    blocks = [(int(rows), *shape[1:]) if whole_rows else (int(rows),) for rows in np.diff([0, *cuts, length])]
    pieces = tuple(plain(rng, block, vectors=len(shape) == 2 and not whole_rows) for block in blocks)
    return known.Product(pieces, tuple(int(np.prod(block)) for block in blocks))


def needs_programs(constraint):
    """Whether an oracle call of the set is a linear program, which takes milliseconds."""
    inner = getattr(constraint, "sets", None) or [getattr(constraint, "set", None)]
    return isinstance(constraint, known.Polytope) or any(needs_programs(part) for part in inner if part is not None)
