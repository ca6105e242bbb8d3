"""Random constraint sets, as the reference describes them, for a number of coordinates."""

from dataclasses import replace
from math import isqrt

import numpy as np

import frankwolfe as fw
from tests.reference import sets as known

MOST_LISTED = 5
"""Most coordinates of a polytope whose vertices are listed."""


def _square(size):
    return isqrt(size) ** 2 == size


SQUARE = ("Birkhoff", "Spectrahedron")
"""Sets of square matrices: a matrix of weights, with several outputs, must be square itself."""

WRAPPERS = ("Product", "Translated", "Scaled", "Counted", "Cached")
NAMES = (*known.DEFINITIONS, *WRAPPERS)


def fits(name, shape):
    """Whether there is a set of that name for weights of a shape: ``(d,)``, or ``(d, outputs)``."""
    size = int(np.prod(shape))
    if name in SQUARE and not (shape[0] == shape[1] if len(shape) == 2 else _square(size)):
        return False
    return size <= {"Birkhoff": 16, "Polytope": MOST_LISTED}.get(name, size)


def plain(rng, shape, vectors=False):
    """Return a random set that is no wrapper; one of vectors on request."""
    left_out = (*SQUARE, "TraceBall") if vectors else ()
    names = [name for name in known.DEFINITIONS if fits(name, shape) and name not in left_out]
    found = known.DEFINITIONS[str(rng.choice(names))].random(rng, int(np.prod(shape)))
    return replace(found, shape=tuple(shape)) if isinstance(found, known.TraceBall) and len(shape) == 2 else found


def make(name, rng, shape):
    """Return a random set of that name for weights of a shape."""
    size = int(np.prod(shape))
    if name in known.DEFINITIONS:
        return known.DEFINITIONS[name].random(rng, size)
    if name == "Product":
        return _product(rng, shape)
    inner = make("Product", rng, shape) if rng.random() < 0.1 else plain(rng, shape)
    if name == "Translated":
        # far beyond its size a set is lost in rounding
        sizes = [float(most) for most in known.reach(inner, size) if most > 0.0] or [1.0]
        return known.Translated(inner, 10.0 ** rng.uniform(-3.0, 4.0) * min(sizes) * rng.normal(size=size))
    if name == "Scaled":
        return known.Scaled(inner, float(10.0 ** rng.uniform(-3.0, 3.0)))
    return known.Wrapped(inner, fw.sets.Counted if name == "Counted" else fw.sets.Cached)


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


def has_spectrum(constraint):
    """Whether the set, or one that it is made of, is one of matrices whose oracle decomposes them."""
    inner = getattr(constraint, "sets", None) or [getattr(constraint, "set", None)]
    named = isinstance(constraint, known.TraceBall | known.Spectrahedron)
    return named or any(has_spectrum(part) for part in inner if part is not None)
