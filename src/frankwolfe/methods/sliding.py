"""Conditional gradient sliding: move toward the minimiser of a quadratic model, from a momentum sequence."""

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.part import positive
from frankwolfe.compile.verbs import deposit, inner, oracle, rebuild, routine
from frankwolfe.methods.base import FOREVER, Epochs, direction, place_in_epoch
from frankwolfe.methods.directions import Straight
from frankwolfe.methods.gradient import FAILED
from frankwolfe.problem.requirements import BOUNDED_CURVATURE, ONE_PROCESS, WHOLE_ATOMS
from frankwolfe.sets.atoms import Full, Iterate

SMALL = 32
"""Largest number of weights for which ``X' P X`` is formed."""


def objective_smoothness(samples: Any, size: int) -> float:
    """Return the Lipschitz constant of the objective's gradient, in the Euclidean norm, for ``size`` weights.

    It is at most ``L lambda_max(X' P X)``: ``L`` is the loss's constant, ``P`` has the samples' weights.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> problem = fw.Problem([[3.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
    >>> objective_smoothness(problem.samples, 2)  # mean of 3^2 and 0
    4.5
    """
    rows, weights = samples.rows, samples.weights.reshape(-1, *[1] * (len(samples.shape) - 1))

    def product(w):
        return rows.add_all(weights * rows.dot_all(np.ascontiguousarray(w.ravel())), size).ravel()

    if size <= SMALL:
        found = np.linalg.eigvalsh(np.array([product(e) for e in np.eye(size)]))[-1]
    else:
        from scipy.sparse.linalg import LinearOperator, eigsh  # heavy, and only wanted here

        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        start = np.random.default_rng(0).normal(size=size)  # fixed: the same data gives the same digits
        found = eigsh(operator, k=1, which="LM", v0=start, tol=1e-3, return_eigenvectors=False)[0]
    return float(samples.loss.smoothness() * max(0.0, found))


ENOUGH = 27.0 * 3.0 / 8.0
"""Times ``N``: steps of Frank-Wolfe that are enough for a model. The gap is then at most
``27 beta D^2 / (4 (steps + 2))`` (Jaggi 2013, Theorem 2); ``beta = 3 L / k``, and wanted is ``2 L D^2 / (N k)``. Only
rounding, or an oracle that errs, can ask for more."""


@direction()
class Sliding(NamedTuple):
    """Lan and Zhou's (2016) direction with the constants of Hazan and Luo's (2016) STORC.

    Three sequences: the iterate ``y``, ``x``, and ``z = (1 - gamma) y + gamma x``, where the gradient is wanted, with
    ``gamma = 2 / (k + 1)``. Step ``k`` of an epoch of ``N`` steps leads toward the new ``x``: a minimiser over the set
    of ``<r, u> + beta / 2 ||u - x||^2``, with ``beta = 3 L / k``, that Frank-Wolfe finds up to a gap of
    ``2 L D^2 / (N k)``. At the start of an epoch ``x = z = y``. An epoch of a single step leads to the oracle's vertex.

    In an epoch that does not end, which is what an estimate without epochs has, ``N = k``, as in Lan and Zhou.

    A step costs O(d) for each of the oracle's answers, of which there are at most ``11 N``, and mostly
    few: the gap that is wanted is large.

    Parameters
    ----------
    smoothness : float, optional
        The Lipschitz constant ``L`` of the objective's gradient. By default that of the loss times the largest
        eigenvalue of ``X' P X``, for which the data is read a few dozen times when a run starts. No derivative is
        taken, so it is not charged.
    diameter : float, optional
        The Euclidean diameter ``D`` of the set. By default the set's own.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> from frankwolfe import methods
    >>> problem = fw.Problem([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss="logistic", constraint=fw.L2Ball(1.0))
    >>> method = methods.Method(methods.FullGradient(), methods.Sliding(), methods.EpochStep(), name="sliding")
    >>> fw.minimize(problem, method, max_passes=20).method
    'sliding'
    """

    smoothness: float | None = None
    diameter: float | None = None

    def _checked(self):
        given = {name: value for name, value in self._asdict().items() if value is not None}
        return self._replace(**{name: positive("Sliding", name, value) for name, value in given.items()})

    @property
    def needs(self):
        """Return what it needs of a problem: bounded curvature, unless ``smoothness`` is given."""
        return (WHOLE_ATOMS, ONE_PROCESS) if self.smoothness else (WHOLE_ATOMS, ONE_PROCESS, BOUNDED_CURVATURE)

    def for_run(self, setting):
        """Work out the constants; ``x`` starts at the iterate."""
        size = len(setting.w)
        known = objective_smoothness(setting.samples, size) if self.smoothness is None else self.smoothness
        own = float(setting.constraint.diameter(size))
        across = own if self.diameter is None else self.diameter
        patience = ENOUGH * max(1.0, own / across) ** 2 if across > 0.0 else ENOUGH
        x = np.array(setting.w, dtype=np.float64)
        u, slopes, vertex = np.zeros((3, size))
        return SlidingState(
            x, x.copy(), u, slopes, vertex, np.ones(1), np.ones(2), setting.epochs, known, across, patience
        )


class SlidingState(NamedTuple):
    """The momentum sequence, and room for the model.

    Attributes
    ----------
    x : array of shape (d,)
        Where the last step led to.
    z : array of shape (d,)
        Where the gradient is wanted.
    u, slopes, vertex : array of shape (d,)
        A point of the set, the model's gradient there, and the vertex that the oracle names for it.
    unit : array of shape (1,)
        The scale of these.
    place : array of shape (2,)
        Which step of its epoch the present one is, and how many it has.
    epochs : Epochs
        Those of the estimate.
    smoothness, diameter : float
        ``L`` and ``D``.
    patience : float
        Times ``N``: most steps of Frank-Wolfe on a model.
    """

    x: np.ndarray
    z: np.ndarray
    u: np.ndarray
    slopes: np.ndarray
    vertex: np.ndarray
    unit: np.ndarray
    place: np.ndarray
    epochs: Epochs
    smoothness: float
    diameter: float
    patience: float

    def gradient_point(self, iterate, t):
        """Return ``z``; at the start of an epoch all three sequences meet in the iterate."""
        x, z, v, scale, place = self.x, self.z, iterate.v, iterate.scale[0], self.place
        k, length = place_in_epoch(self.epochs.starts, self.epochs.period, t)
        place[0], place[1] = k, length if length < FOREVER else k
        gamma = 2.0 / (k + 1.0)
        for j in range(len(z)):
            y = scale * v[j]
            if k == 1:
                x[j] = y
            z[j] = (1.0 - gamma) * y + gamma * x[j]
        return Iterate(z, self.unit)

    def choose(self, constraint, gradient, iterate):
        """Minimise the model, by Frank-Wolfe with exact line searches from ``x``."""
        u, slopes, vertex, unit, r, tracker = self.u, self.slopes, self.vertex, self.unit, gradient.r, gradient.tracker
        k, length = self.place
        alone = length == 1.0  # an epoch to itself
        beta = 0.0 if alone else 3.0 * self.smoothness / k
        wanted = 0.0 if alone else 2.0 * self.smoothness * self.diameter * self.diameter / (length * k)
        for j in range(len(u)):
            u[j] = self.x[j]
            slopes[j] = gradient.scale[0] * r[j]
        for _ in range(ceil(self.patience * length)):
            rebuild(tracker, slopes)
            atom = oracle(constraint, tracker, slopes)
            gap = inner(Iterate(u, unit), slopes) - inner(atom, slopes)
            if not gap > wanted or gradient.counters[FAILED] != 0.0:
                break
            vertex[:] = 0.0
            deposit(atom, Iterate(vertex, unit), 1.0)
            slide(u, slopes, vertex, beta, gap)
        rebuild(tracker, r)
        self.x[:] = u
        return Straight(Full(self.x))


@routine
def slide(u, slopes, vertex, beta, gap):
    """Go from ``u`` toward a vertex as far as the model falls; keep its gradient."""
    square = 0.0
    for j in range(len(u)):
        square += (vertex[j] - u[j]) * (vertex[j] - u[j])
    length = gap / (beta * square) if gap < beta * square else 1.0
    for j in range(len(u)):
        change = length * (vertex[j] - u[j])
        u[j] += change
        slopes[j] += beta * change
