"""A quadratic model of the objective, minimised over a set by following its barrier's central path.

For a falling ``mu`` Newton's method minimises ``model + mu B``. No pass over the data is made, and every iterate is
strictly inside the set. The Frank-Wolfe gap of the model at such a minimiser is at most ``nu mu``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr

from frankwolfe.engines.corrective.hessian import MIN_PIVOT, images_of
from frankwolfe.sets.barriers import Barrier, Expansion

PATH_FACTOR, EASY_STEPS, HARD_STEPS = 0.1, 5, 12
"""What is left of ``mu`` when a point is close enough to the path to go on: at the least. More is left after over
`EASY_STEPS` Newton steps for one ``mu``; after `HARD_STEPS` a smaller change of ``mu`` is tried: a path may be bent.
Twice or half each: no difference in passes."""

NEAR_PATH, NEAR_PATH_AT_END = 0.25, 1e-2
"""Squared Newton decrement, divided by ``mu``, up to which a point counts as on the path: on the way, and at its end.
Twice or half: passes change by 1%."""

ROUNDING_DECREMENT = 1e-24
"""Squared Newton decrement, divided by ``mu``, below which steps are rounding. Twice or half: no difference."""

MAX_NEWTON_STEPS = 300
"""Most Newton steps on one model: never reached on our problems. Twice or half: no difference."""

ARMIJO = 0.1
"""Part of the decrease that the slope promises which a step must bring (Armijo's rule). Twice or half: no
difference."""

RIDGES = (0.0, 1e-15, 1e-13, 1e-11, 1e-8)
"""Added to a unit diagonal before a system is solved, the first that lets the factorisation succeed. Twice or half:
no difference."""

MIN_STEP = 1e-10
"""A Newton step cut shorter than this has met rounding. Twice or half: no difference."""


class QuadraticModel(NamedTuple):
    """The quadratic ``<slope, w - centre> + (w - centre)' H (w - centre) / 2``, with ``H`` from `hessian`."""

    centre: np.ndarray
    slope: np.ndarray
    curvature: Any

    def gradient(self, d: np.ndarray) -> np.ndarray:
        """Return its gradient at ``centre + d``."""
        return self.slope + self.curvature.times(d)


class PathPoint(NamedTuple):
    """A point close to the central path: its ``mu``, the barrier's variables, and the weights they stand for.

    The weights are carried along, not worked out from the variables: in a large set small weights would lose their
    digits. So is their distance ``d`` from the model's centre, which may be less than the last digit of the weights.
    """

    mu: float
    y: np.ndarray
    w: np.ndarray
    d: np.ndarray


def follow_path(model: QuadraticModel, barrier: Barrier, first: PathPoint, goal: float) -> list[PathPoint]:
    """Follow the central path of a model until ``mu`` is at most ``goal``; return what was met on the way.

    Parameters
    ----------
    model : QuadraticModel
        What to minimise.
    barrier : Barrier
        Of the set.
    first : PathPoint
        Where to begin: any point inside, and the first ``mu``; its ``d`` may be that of another model.
    goal : float
        The last ``mu``.
    """
    met: list[PathPoint] = []
    first = first._replace(d=first.w - model.centre)
    (mu, y, w, d), last, steps, shrink = first, np.inf, 0, PATH_FACTOR
    for _ in range(MAX_NEWTON_STEPS):
        if steps > HARD_STEPS and met:
            shrink, steps = np.sqrt(shrink), 0
            mu, (_, y, w, d) = max(goal, shrink * met[-1].mu), met[-1]
        found = _free(barrier.at(y))
        curved, slope = model.curvature.pulled(found.moves), _pulled_back(found.moves, model.gradient(d))
        while True:
            root = partial(_joint_root, model, found, mu)
            move = _newton(_plus(curved, mu, found.hessian), slope + mu * found.gradient, found.equations, root)
            fall = mu * found.rest - float((slope + mu * found.gradient) @ move)
            close = fall <= NEAR_PATH * mu
            if not close or mu <= goal:
                break
            met.append(PathPoint(mu, y, w, d))
            shrink = max(PATH_FACTOR, 0.5 * shrink) if steps <= EASY_STEPS else np.sqrt(shrink)
            mu, steps = max(goal, shrink * mu), 0
        if not np.isfinite(fall):  # closer to the boundary than numbers can say: the path ends here
            return met or [first]
        curve, change = float(move @ (curved @ move)), found.recover(move)
        step = _step_length(barrier, y, change, mu, float(slope @ move), curve, fall)
        y, d = y + step * change, d + step * _pushed(found.moves, move)
        w = model.centre + d
        if step == 0.0 or (
            mu <= goal and fall <= NEAR_PATH_AT_END * mu and not ROUNDING_DECREMENT * mu < fall < 0.1 * last
        ):
            break  # at the end of the path steps go on while each does much more than the one before
        last, steps = fall, steps + (not close)
    met.append(PathPoint(mu, y, w, d))
    return met


def _pushed(moves: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return ``moves e``."""
    return moves * e if moves.ndim == 1 else moves @ e


def _pulled_back(moves: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return ``moves' slope``."""
    return moves * slope if moves.ndim == 1 else moves.T @ slope


def _plus(H: np.ndarray, mu: float, curve: np.ndarray) -> np.ndarray:
    """Return ``H + mu curve``, where the second may be a diagonal."""
    if curve.ndim == 2:
        return H + mu * curve
    total = H.copy()
    np.einsum("jj->j", total)[:] += mu * curve
    return total


class _Followers(NamedTuple):
    """Variables that follow from the others where equations must hold: as many as there are equations.

    They are those in which the equations are largest, which is where the set is widest.
    """

    follow: np.ndarray
    free: np.ndarray
    T: np.ndarray

    @classmethod
    def of(cls, equations: np.ndarray) -> "_Followers":
        """Choose them; ``T`` maps moves of the free variables to theirs."""
        count = len(equations)
        triangle, order = qr(equations, mode="r", pivoting=True, check_finite=False)
        T = -np.linalg.solve(triangle[:, :count], triangle[:, count:])
        return cls(order[:count], order[count:], T)

    def slope(self, slope: np.ndarray) -> np.ndarray:
        """Return a slope in the free variables."""
        return slope[self.free] + self.T.T @ slope[self.follow]

    def hessian(self, H: np.ndarray) -> np.ndarray:
        """Return a Hessian in the free variables; a vector stands for a diagonal one."""
        if H.ndim == 1:
            return np.diag(H[self.free]) + (self.T.T * H[self.follow]) @ self.T
        mixed = self.T.T @ H[np.ix_(self.follow, self.free)]
        within = self.T.T @ (H[np.ix_(self.follow, self.follow)] @ self.T)
        return H[np.ix_(self.free, self.free)] + mixed + mixed.T + within

    def images(self, root: np.ndarray) -> np.ndarray:
        """Return a matrix, whose columns belong to all variables, for the free ones: a root of a Hessian, or moves."""
        return root[:, self.free] + root[:, self.follow] @ self.T

    def whole(self, free: np.ndarray) -> np.ndarray:
        """Return the move of all variables."""
        move = np.empty(len(self.follow) + len(self.free))
        move[self.free], move[self.follow] = free, self.T @ free
        return move


def _free(found: Expansion) -> Expansion:
    """Return an expansion whose variables need not keep any equations, where each moves many weights.

    Differences between their moves are taken before the data sees them: of what all vertices have in common the model
    may make numbers so large that nothing would be left of the differences.
    """
    if found.equations is None or found.moves.ndim == 1:
        return found
    chosen = _Followers.of(found.equations)
    return found._replace(
        gradient=chosen.slope(found.gradient),
        hessian=chosen.hessian(found.hessian),
        moves=chosen.images(found.moves),
        recover=lambda e: found.recover(chosen.whole(e)),
        equations=None,
    )


def _joint_root(model: QuadraticModel, found: Expansion, mu: float) -> np.ndarray:
    """Return ``root`` with ``root' root`` the Hessian of ``model + mu B``."""
    if found.hessian.ndim == 1:
        own = np.diag(np.sqrt(found.hessian))
    else:
        sizes, axes = np.linalg.eigh(found.hessian)
        own = np.sqrt(np.maximum(sizes, 0.0))[:, None] * axes.T
    return np.vstack([images_of(model.curvature.root, found.moves), np.sqrt(mu) * own])


def _newton(
    H: np.ndarray, slope: np.ndarray, equations: np.ndarray | None, root: Callable[[], np.ndarray]
) -> np.ndarray:
    """Return the move to the minimiser of ``<slope, e> + e' H e / 2`` among those that keep all equations.

    ``root`` makes a matrix with ``root' root = H``, for where ``H`` itself has lost too many digits.
    """
    if equations is None:
        return _minimiser(H, slope, root)
    chosen = _Followers.of(equations)
    return chosen.whole(_minimiser(chosen.hessian(H), chosen.slope(slope), lambda: chosen.images(root())))


def _minimiser(H: np.ndarray, slope: np.ndarray, root: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the minimiser of ``<slope, e> + e' H e / 2``, NaN if there is no telling."""
    if len(slope) == 0 or not np.isfinite(H).all():
        return np.full(len(slope), np.nan)
    diagonal = np.einsum("jj->j", H)
    scale = 1.0 / np.sqrt(np.maximum(diagonal, max(1e-30 * diagonal.max(initial=0.0), 1e-300)))
    scaled = H * scale * scale[:, None]
    np.einsum("jj->j", scaled)[:] = 1.0
    try:
        factor = cho_factor(scaled, lower=True, check_finite=False)
        if np.einsum("jj->j", factor[0]).min() > MIN_PIVOT:
            return -scale * cho_solve(factor, scale * slope, check_finite=False)
    except LinAlgError:
        pass
    rows = root()
    sizes = 1.0 / np.maximum(np.linalg.norm(rows, axis=0), 1e-150)
    triangle = qr(rows * sizes, mode="r", check_finite=False)[0][: len(sizes)]
    pivots = np.abs(np.einsum("jj->j", triangle))
    if pivots.min() > 1e-14 * pivots.max():
        return -sizes * cho_solve((triangle, False), sizes * slope, check_finite=False)
    for ridge in RIDGES:
        np.einsum("jj->j", scaled)[:] = 1.0 + ridge
        try:
            factor = cho_factor(scaled, lower=True, check_finite=False)
        except LinAlgError:
            continue
        return -scale * cho_solve(factor, scale * slope, check_finite=False)
    return np.full(len(slope), np.nan)


def _step_length(
    barrier: Barrier, y: np.ndarray, change: np.ndarray, mu: float, rise: float, curve: float, fall: float
) -> float:
    """Return how much of a Newton move to make: so much that ``model + mu B`` falls enough; 0 if nothing will do.

    ``rise`` and ``curve`` are the model's slope and curvature along the move, ``fall`` what the whole promises.
    """
    before, step, sure = barrier.value(y), 1.0, 1.0 / (1.0 + np.sqrt(max(fall, 0.0) / mu))

    def change_of(step: float) -> float:
        return step * (rise + 0.5 * step * curve) + mu * (barrier.value(y + step * change) - before)

    while step > MIN_STEP:
        total = change_of(step)
        # self-concordance: what is `sure` is inside, and lower
        if np.isfinite(total) and (total <= -ARMIJO * step * fall or step <= sure or fall <= 1e-9 * mu):
            break
        step = max(0.5 * step, sure) if step > sure else 0.5 * step
    else:
        return 0.0
    if fall <= NEAR_PATH * mu:
        return step
    # far from the path the best of steps that differ by factors of two: some end too close to the boundary, and a
    # variable far too close to zero can only double in a plain one
    ratio = 2.0 if step >= 1.0 else 0.5
    while (there := change_of(ratio * step)) < total:
        step, total = ratio * step, there
    return step
