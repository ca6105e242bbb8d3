"""The iterate ``w``, kept as ``scale * v`` so that shrinking it costs one multiplication."""

from typing import NamedTuple

import numpy as np

from frankwolfe.compile.verbs import row_dot

SMALLEST_SCALE = 1e-100
"""Below this the scale is folded into ``v``: long before it could underflow."""


class Iterate(NamedTuple):
    """A point ``w = scale[0] * v`` of the set."""

    v: np.ndarray
    scale: np.ndarray

    @classmethod
    def at(cls, w: np.ndarray) -> "Iterate":
        """Iterate that starts at ``w``."""
        return cls(np.array(w, dtype=np.float64), np.ones(1))

    def prediction(self, rows, i):
        """Inner product of row ``i`` with ``w``."""
        return self.scale[0] * row_dot(rows, i, self.v)

    def inner(self, r):
        """Inner product of ``w`` with ``r``."""
        v, total = self.v, 0.0
        for j in range(len(v)):
            total += v[j] * r[j]
        return self.scale[0] * total

    def shrink(self, c):
        """Multiply ``w`` by ``c``."""
        scale = self.scale[0] * c
        if scale < SMALLEST_SCALE:
            v = self.v
            for j in range(len(v)):
                v[j] *= scale
            scale = 1.0
        self.scale[0] = scale

    def accept(self, left, right, c):
        """Add ``c left right'`` to ``w``, a matrix laid out flat."""
        v, share, columns = self.v, c / self.scale[0], np.uint64(len(right))
        for j in range(len(left)):
            first, part = np.uint64(j) * columns, share * left[j]
            for k in range(columns):
                v[first + k] += part * right[k]

    def dense(self) -> np.ndarray:
        """Return ``w`` as a new array."""
        return self.v * self.scale[0]
