"""The quantities that the convergence theory speaks of."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from frankwolfe.matrices import row_norms, spectral_norm

if TYPE_CHECKING:
    from frankwolfe.problem import Problem


class Diameters(NamedTuple):
    """``D_p = max over u, v in the set of ||X (u - v)||_p``, for p = 1, 2 and infinity.

    Attributes
    ----------
    one, two, inf : float
        The diameters, or upper bounds of them.
    exact : tuple of bool
        Which of the three are exact.
    """

    one: float
    two: float
    inf: float
    exact: tuple[bool, bool, bool]


def diameters(problem: "Problem") -> Diameters:
    """Diameters of the image of the problem's set under its data.

    Sets that know a closed form (or a bound of their own) say so in ``image_diameters``; for the others, bounds
    follow from the Euclidean diameter of the set, if it has one.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[1.0, 0.0], [1.0, 3.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> problem.diameters()
    Diameters(one=6.0, two=6.0, inf=6.0, exact=(True, True, True))
    """
    own = getattr(problem.constraint, "image_diameters", None)
    found = own(problem.X) if own is not None else _bounds_from_euclidean(problem)
    (one, one_exact), (two, two_exact), (inf, inf_exact) = found[1], found[2], found[np.inf]
    return Diameters(one, two, inf, (one_exact, two_exact, inf_exact))


def _bounds_from_euclidean(problem: "Problem") -> dict[float, tuple[float, bool]]:
    """Bound ``||X (u - v)||_p`` by the Euclidean length of ``u - v``."""
    diameter = getattr(problem.constraint, "diameter", None)
    if diameter is None:
        name = type(problem.constraint).__name__
        raise TypeError(f"{name} has neither image_diameters(X) nor diameter(d): nothing to bound its image by")
    length = float(diameter(problem.d))
    lengths = row_norms(problem.X, 2)
    two = length * spectral_norm(problem.X)
    one = min(float(np.sqrt(problem.n)) * two, length * float(lengths.sum()))
    return {1: (one, False), 2: (two, False), np.inf: (length * float(lengths.max()), False)}
