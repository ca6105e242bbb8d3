"""The quadratic model for few atoms: the Hessian is formed. Pairwise steps alternate with exact solutions on faces.

A model is ``q(u) = b'u + u'Hu / 2`` over the weights ``u`` of the active atoms, constrained to a
`frankwolfe.sets.base.Hull`. ``H = A' D A``, where the columns of ``A`` are the atoms' predictions and ``D`` holds the
curvatures of the losses. `Model` and `minimise` are shared with `frankwolfe.solvers.corrective.column_model`, for too
many atoms to form ``H``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyr2

from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import verb
from frankwolfe.linalg.matrices import eliminated
from frankwolfe.sets.base import EXHAUSTED, Hull
from frankwolfe.solvers.corrective.active_matrix import ActiveMatrix

STALE_CURVATURE = 0.1
"""Relative error of a curvature above which its contribution to the Hessian is updated. Doubled: 2% more passes.
Halved: 1% fewer, and more work on Hessians."""

ZERO, NONE = -1, -2
"""Special indices of atoms: the zero atom (of a filled hull), and no atom."""


def minimise(model: "Model", tolerance: float) -> np.ndarray:
    """Minimise a model until its gap is within ``tolerance`` or has stalled. Return the weights of all atoms."""
    last, failures = np.inf, 0
    for _ in range(50):
        gap = model.descend(tolerance)
        failures = failures + 1 if gap > 0.5 * last else 0
        if gap <= tolerance or failures >= 3:  # stalled by rounding, or by an ill-conditioned face
            break
        last = min(gap, last)
        if not model.u.any() or not model.leap(failures):  # without weights there is no face
            break
    return model.whole(model.hull.fit(model.u))


class Model(ABC):
    """Base class of quadratic models. `minimise` alternates `descend` (first-order steps) and `leap` (on a face).

    A face is the set of weights with the support and signs of the current ones.

    Parameters
    ----------
    hull : Hull
        Feasible set of the weights.
    u : array
        Weights at which the minimisation begins.
    """

    def __init__(self, hull: Hull, u: np.ndarray):
        self.hull, self.u = hull, u.copy()
        self.blocked = False  # whether a weight that became zero cut the last move short

    @abstractmethod
    def descend(self, tolerance: float) -> float:
        """Reduce the model by steps on single atoms or pairs. Return its Frank-Wolfe gap."""

    @abstractmethod
    def leap(self, failures: int) -> bool:
        """Move toward the minimiser on the face, as far as is feasible. Return whether the weights changed.

        ``failures`` is the number of successive iterations that did not halve the gap.
        """

    @abstractmethod
    def _jump(self, goal: np.ndarray) -> bool:
        """Move to the weights ``goal`` if the model is lower there. Return whether it is."""

    def _put(self, u: np.ndarray) -> None:
        """Set the weights."""
        self.u = u

    def whole(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all atoms, from the weights of the atoms in the model."""
        return u

    def _face(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return the atoms with weight, their signs, and whether the l1 norm of the weights equals the radius."""
        face = np.flatnonzero(self.u)
        spent = not self.hull.filled or np.abs(self.u).sum() >= self.hull.radius * (1.0 - EXHAUSTED)
        return face, np.sign(self.u[face]), spent

    def _go(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray, spent: bool) -> bool:
        """Move along ``move``, projecting sign changes to zero if that reduces the model. Return whether u changed.

        The move is halved up to five times. If the model is never lower, make the longest feasible part of the move.
        """
        for halvings in range(6):
            goal = self.u.copy()  # set weights whose sign would change to zero
            goal[face] = np.maximum(signs * (self.u[face] + 0.5**halvings * move), 0.0) * signs
            if self._jump(self.hull.fit(goal)):
                self.blocked = False
                return True
        step, blocking = self._longest(face, signs, move, spent)
        self.blocked = blocking >= 0
        goal = self.u.copy()
        goal[face] += step * move
        if blocking >= 0:
            goal[face[blocking]] = 0.0
        self._put(goal)
        return step > 0.0

    def _longest(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray, spent: bool) -> tuple[float, int]:
        """Return the largest feasible step size, at most 1, and the index of the weight that becomes zero, or -1."""
        size, change = np.abs(self.u[face]), signs * move
        shrinking = change < 0.0
        ratios = np.where(shrinking, size / np.where(shrinking, -change, 1.0), np.inf)
        first = int(ratios.argmin())
        room = np.inf if spent or change.sum() <= 0.0 else (self.hull.radius - size.sum()) / change.sum()
        step = min(1.0, ratios[first], max(room, 0.0))
        return step, first if ratios[first] <= step else -1


class Hessian:
    """The Hessian ``A' D A`` of chosen atoms and, with an intercept, its blocks for the intercept.

    It is reused from one Newton step to the next. It is linear in the curvatures ``D``, so only the change is added,
    for the samples whose curvature has changed by more than a fraction `STALE_CURVATURE`. Every curvature, and so the
    curvature of the model along every direction, is then within that fraction of the true one. Where calls are costly,
    the Hessian is either recomputed or reused unchanged.

    Parameters
    ----------
    matrix : ActiveMatrix
        The predictions ``A`` of the atoms.
    """

    def __init__(self, matrix: ActiveMatrix):
        self.matrix, self.chosen = matrix, np.empty(0, np.intp)
        self.sums: tuple[np.ndarray, ...] = ()  # blocks: atoms; intercept and atoms; intercept
        self.curvatures: Any = None

    def at(self, curvatures: Any, chosen: np.ndarray, shifts: int = 0, as_it_is: bool = False) -> np.ndarray:
        """Return the Hessian of the atoms ``chosen`` (ascending), for curvatures close to the given ones.

        An intercept of ``shifts`` entries is eliminated by a Schur complement. ``as_it_is`` permits the reuse of the
        last Hessian where calls are costly.
        """
        place = np.searchsorted(self.chosen, chosen)
        known = 0 < len(chosen) <= len(self.chosen) and bool((self.chosen.take(place, mode="clip") == chosen).all())
        if known and len(chosen) < len(self.chosen):
            H, *rest = self.sums
            self.sums = H[np.ix_(place, place)], *([rest[0][:, place], rest[1]] if rest else [])
        self.chosen = chosen
        if not known or (self.matrix.costly and not as_it_is):
            self.sums, self.curvatures = self.matrix.hessian_sums(curvatures, chosen, shifts), curvatures
        elif not self.matrix.costly:
            self._renew(curvatures, shifts)
        return eliminated(*self.sums) if shifts else self.sums[0]

    def _renew(self, curvatures: np.ndarray, shifts: int) -> None:
        """Update the Hessian for the samples whose curvature has changed by more than `STALE_CURVATURE`."""
        stale = np.abs(curvatures - self.curvatures) > STALE_CURVATURE * np.abs(curvatures)
        if curvatures.ndim == 3:  # a matrix per sample is stale if any of its entries is
            stale = np.broadcast_to(stale.any(axis=(1, 2), keepdims=True), curvatures.shape)
        if stale.any():
            change = np.where(stale, curvatures - self.curvatures, 0.0)
            more = self.matrix.hessian_sums(change, self.chosen, shifts)
            self.sums = tuple(mine + other for mine, other in zip(self.sums, more, strict=True))
            self.curvatures = np.where(stale, curvatures, self.curvatures)

    def state(self) -> dict[str, Any]:
        """Return the Hessian, its atoms and its curvatures as state entries. Curvatures on a cluster are not saved."""
        found = {f"hessian.{name}": value for name, value in zip(("H", "cross", "total"), self.sums, strict=False)}
        if isinstance(self.curvatures, np.ndarray):
            found["hessian.curvatures"] = self.curvatures
        return found | {"hessian.chosen": self.chosen}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        names = [name for name in ("H", "cross", "total") if f"hessian.{name}" in state]
        self.sums = tuple(state[f"hessian.{name}"].copy(order="K") for name in names)
        self.chosen = state["hessian.chosen"].copy()
        if "hessian.curvatures" in state:
            self.curvatures = state["hessian.curvatures"].copy()


class HessianModel(Model):
    """The quadratic model for few atoms, with a formed Hessian.

    It is written in the change of the weights, ``slope'(u - u0) + (u - u0)' H (u - u0) / 2``. Near an optimum both
    terms are small, while ``H u`` may be large and would lose digits.

    Parameters
    ----------
    hull : Hull
        Feasible set of the weights.
    H : array
        The Hessian of the atoms ``chosen``.
    u, slope : arrays
        Weights of all atoms, and the slopes of the objective in them.
    chosen : array
        Atoms of the model; all other atoms have weight zero.
    compiled : bool
        Whether pairwise steps run in a compiled kernel.
    """

    def __init__(self, hull: Hull, H: np.ndarray, u: np.ndarray, slope: np.ndarray, chosen: np.ndarray, compiled: bool):
        super().__init__(hull, u[chosen])
        self.H, self.chosen, self.size, self.compiled = H, chosen, len(slope), compiled
        self.start, self.first_slope = self.u.copy(), slope[chosen]

    def whole(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all atoms, from the weights of the atoms in the model."""
        whole = np.zeros(self.size)
        whole[self.chosen] = u
        return whole

    def slope(self) -> np.ndarray:
        """Return the gradient of the model at its weights."""
        return self.first_slope + self.H @ (self.u - self.start)

    def descend(self, tolerance: float) -> float:
        """Make pairwise steps. Return the gap of the model."""
        # With fewer steps, `leap` would solve faces with linearly dependent columns, where rounding picks the solution.
        most = 20 + 2 * len(self.u)
        run, pairs = (exchange, PairsByLoops) if self.compiled else (exchange.interpreted, PairsByArrays)
        return float(run(pairs(self.hull), self.H, self.u, self.slope(), tolerance, most))

    def leap(self, failures: int) -> bool:
        """Move toward the minimiser on the face, as far as is feasible. Return whether the weights changed.

        An atom whose weight becomes zero is dropped. After failures, moves are repeated on the smaller faces until the
        minimiser of a face is reached (the minor cycles of Wolfe 1976). Pairwise steps in between would bring the
        dropped atom back.
        """
        moved = False
        for _ in range(len(self.u) if failures else 1):
            face, signs, spent = self._face()
            slope = self.slope()[face]
            move = _face_move(self.H, face, slope, signs, spent)
            if not (slope @ move < 0.0):
                break
            moved = self._go(face, signs, move, spent) or moved
            if not (self.blocked and self.u.any()):
                break
        return moved

    def _jump(self, goal: np.ndarray) -> bool:
        """Move to the weights ``goal`` if the model is lower there. Return whether it is."""
        step = goal - self.u
        if not self.hull.along(self.slope(), self.u, goal) + 0.5 * (step @ (self.H @ step)) < 0.0:
            return False
        self.u = goal
        return True


def _face_move(H: np.ndarray, face: np.ndarray, slope: np.ndarray, signs: np.ndarray, spent: bool) -> np.ndarray:
    """Return the Newton step to the minimiser of the model on a face.

    ``spent`` adds the constraint that the l1 norm of the weights is constant, ``signs' move = 0``. It is eliminated by
    the atom with the smallest ``H_jj``, whose weight compensates the changes of all others. Iterative refinement
    removes the errors of the factorisation: rounding, and the ridge that linearly dependent columns need.
    """
    if spent and len(face) == 1:
        return np.zeros(1)
    giver = int(np.diagonal(H)[face].argmin()) if spent else -1
    kept = np.flatnonzero(np.arange(len(face)) != giver)
    opposite = signs[kept] * signs[giver] if spent else np.zeros(len(kept))

    def whole(move):
        moves = np.zeros(len(face))
        moves[kept] = move
        if spent:
            moves[giver] = -(opposite @ move)
        return moves

    def reduced(slopes):
        return slopes[kept] - opposite * slopes[giver]

    across = H[face[kept], face[giver]] if spent else None
    solve = _face_solver(H, face[kept], across, H[face[giver], face[giver]], opposite)
    best, least, moves = np.zeros(len(face)), np.inf, np.zeros(len(H))
    first = reduced(slope)
    move = -solve(first)
    for _ in range(3):
        moves[face] = whole(move)
        residual = reduced(slope + (H @ moves)[face])
        left = float(np.abs(residual).max())
        if not left < 0.5 * least:
            break
        best, least = moves[face], left
        if (np.abs(residual) <= 1e-9 * np.abs(first)).all():
            break
        move = move - solve(residual)
    return best


def _face_solver(
    H: np.ndarray, others: np.ndarray, across: np.ndarray | None, own: float, opposite: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves linear systems with the reduced Hessian of a face.

    Without ``across`` this is ``H`` restricted to ``others``. With it, one more atom ``k`` has been eliminated, and the
    matrix is ``H - s c' - c s' + h s s'``, with ``s = opposite`` (relative signs), ``c = across`` (the column of ``k``)
    and ``h = own`` (``H_kk``). The factorisation is Cholesky on a unit diagonal, with the smallest ridge that succeeds.
    """
    diagonal = np.diagonal(H)[others]
    lengths = diagonal if across is None else diagonal - 2.0 * opposite * across + own
    floor = max(1e-30 * diagonal.max(), 1e-300) if across is None else 1e-15 * (diagonal + own) + 1e-300
    scale = 1.0 / np.sqrt(np.maximum(lengths, floor))
    for ridge in (1e-13, 1e-10, 1e-7):  # on a unit diagonal, until the factorisation succeeds
        square = H[np.ix_(others, others)].T  # symmetric; the transpose is in Fortran order, which BLAS overwrites
        if across is not None:
            square = dsyr2(-1.0, opposite, across - 0.5 * own * opposite, a=square, overwrite_a=True)
        square *= scale[:, None]
        square *= scale
        np.einsum("jj->j", square)[:] += ridge
        try:
            factor = cho_factor(square, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return lambda slope: scale * cho_solve(factor, scale * slope, check_finite=False)
    return np.zeros_like


# --- pairwise Frank-Wolfe steps: weight moves from one atom to another, or to or from the zero atom -------------------


# (pairs, u, slope): the gap of the model, and the index, sign and slope of the atom with the smallest slope. The
# opposite `-s` of an atom `s` with weight counts for the gap but cannot enter: `s` must leave first
entering = verb("entering")


# (pairs, H, u, slope, slack, enter, sign, best): the atom that loses weight: the one for which the unconstrained step
# reduces the model most. That decrease is half of `lead^2 / curvature` along the pair. `slack` is the weight of the
# zero atom
leaving = verb("leaving")
# (pairs, slope, amount, row): add `amount` times a row of the Hessian to the gradient of the model
shift_slope = verb("shift_slope")


@kernel
def exchange(pairs, H, u, slope, tolerance, most):
    """Make at most ``most`` pairwise steps, until the gap of the model is within ``tolerance``. Return the gap.

    The weights ``u`` and the gradient ``slope`` are updated in place.
    """
    radius, gap = pairs.hull.radius, np.inf
    for _ in range(most):
        gap, enter, sign, best = entering(pairs, u, slope)
        if gap <= tolerance:
            break
        slack = radius - np.abs(u).sum()
        if not pairs.hull.filled or slack <= EXHAUSTED * radius:
            slack = 0.0
        leave = leaving(pairs, H, u, slope, slack, enter, sign, best)
        if leave == NONE:
            break
        # along the pair, the model decreases at the rate `lead` and has the curvature `square`
        bound, lead, square, other = slack, -best, 0.0, 0.0
        if enter != ZERO:
            square = H[enter, enter]
        if leave != ZERO:
            other = 1.0 if u[leave] > 0.0 else -1.0
            bound, lead = abs(u[leave]), other * slope[leave] - best
            square += H[leave, leave]
            if enter != ZERO:
                square -= 2.0 * sign * other * H[enter, leave]
        amount = bound if lead >= bound * square else lead / square
        if enter != ZERO:
            u[enter] += sign * amount
            shift_slope(pairs, slope, sign * amount, H[enter])
        if leave != ZERO:
            u[leave] = 0.0 if amount == bound else u[leave] - other * amount
            shift_slope(pairs, slope, -other * amount, H[leave])
    return gap


class PairsByArrays(NamedTuple):
    """Selection of pairs in NumPy: a step takes some ten microseconds."""

    hull: Hull

    def entering(self, u: np.ndarray, slope: np.ndarray) -> tuple[float, int, float, float]:
        """Return the gap of the model, and the index, sign and slope of the atom with the smallest slope."""
        hull, signs, sign = self.hull, np.sign(u), 1.0
        keys = np.where(signs != 0.0, signs * slope, -np.abs(slope)) if hull.signed else slope
        enter = int(keys.argmin())
        best = float(keys[enter])
        if hull.signed and (signs[enter] < 0.0 or (signs[enter] == 0.0 and slope[enter] > 0.0)):
            sign = -1.0
        least = -float(np.abs(slope).max()) if hull.signed else best
        if hull.filled and not best < 0.0:
            enter, best = ZERO, 0.0
        least = min(least, 0.0) if hull.filled else least
        return float(slope @ u) - hull.radius * least, enter, sign, best

    def leaving(
        self, H: np.ndarray, u: np.ndarray, slope: np.ndarray, slack: float, enter: int, sign: float, best: float
    ) -> int:
        """Return the atom that loses weight: the one for which the unconstrained step reduces the model most."""
        signs, curve = np.sign(u), np.diagonal(H)
        lead, own = np.where(signs != 0.0, signs * slope - best, 0.0), 0.0
        if enter != ZERO:
            own, lead[enter] = float(H[enter, enter]), 0.0
            curve = curve + own - (2.0 * sign) * (signs * H[enter])
        promised = np.maximum(lead, 0.0) ** 2 / np.maximum(curve, 1e-300)
        leave = int(promised.argmax())
        if slack > 0.0 and best < 0.0 and best * best / max(own, 1e-300) >= promised[leave]:
            return ZERO
        return leave if promised[leave] > 0.0 else NONE

    def shift_slope(self, slope: np.ndarray, amount: float, row: np.ndarray) -> None:
        """Add ``amount`` times a row of the Hessian to the gradient of the model."""
        slope += amount * row


class PairsByLoops(NamedTuple):
    """Selection of pairs in compiled loops: a step takes a microsecond."""

    hull: Hull

    def entering(self, u, slope):
        """Return the gap of the model, and the index, sign and slope of the atom with the smallest slope."""
        hull, best, enter, total = self.hull, np.inf, ZERO, 0.0
        if hull.filled:
            best = 0.0
        least, sign = best, 1.0
        for j in range(len(u)):
            total += slope[j] * u[j]
            turned = hull.signed and (u[j] < 0.0 or (u[j] == 0.0 and slope[j] > 0.0))
            key = -slope[j] if turned else slope[j]
            least = min(least, -abs(slope[j]) if hull.signed else slope[j])
            if key < best:
                best, enter, sign = key, j, -1.0 if turned else 1.0
        return total - hull.radius * least, enter, sign, best

    def leaving(self, H, u, slope, slack, enter, sign, best):
        """Return the atom that loses weight: the one for which the unconstrained step reduces the model most."""
        leave, promise, own = NONE, 0.0, 0.0
        if enter != ZERO:
            own = H[enter, enter]
        if slack > 0.0 and best < 0.0:
            leave, promise = ZERO, best * best / max(own, 1e-300)
        for j in range(len(u)):
            if u[j] == 0.0 or j == enter:
                continue
            other = 1.0 if u[j] > 0.0 else -1.0
            lead = other * slope[j] - best
            if lead > 0.0:
                across = sign * other * H[enter, j] if enter != ZERO else 0.0
                promised = lead * lead / max(own + H[j, j] - 2.0 * across, 1e-300)
                if promised > promise:
                    leave, promise = j, promised
        return leave

    def shift_slope(self, slope, amount, row):
        """Add ``amount`` times a row of the Hessian to the gradient of the model, without a temporary array."""
        for k in range(len(slope)):
            slope[k] += amount * row[k]
