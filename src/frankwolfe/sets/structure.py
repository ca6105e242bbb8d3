"""What a set says of the shape of its points, beyond its oracle: engines and directions choose by it.

A set's method ``structure`` returns a `Structure`. Wrappers forward that of the set they wrap, or translate it, so that
whatever works on a set works on the wrapped one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.linalg.singular import Triplets
from frankwolfe.sets.coordinate_hull import Hull


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
