"""The quadratic model of few atoms: its Hessian is formed, weight is exchanged in pairs, and faces are solved exactly.

A model is ``q(u) = b'u + u'Hu / 2`` over the combinations ``u`` of active atoms, which live in a
`frankwolfe.sets.base.Hull`. ``H = A' D A``, where the columns of ``A`` are the atoms' predictions and ``D`` holds the
curvatures of the losses. `Model` and `minimise` also serve `frankwolfe.solvers.corrective.column_model`, where atoms
are too many to form ``H``.
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
from frankwolfe.sets.base import SPENT, Hull
from frankwolfe.solvers.corrective.active_matrix import ActiveMatrix

STALE_CURVATURE = 0.1
"""By what part a curvature may be wrong before the Hessian is brought up to date. Doubled: 2% more passes. Halved: 1%
fewer, and more work on Hessians."""

ZERO, NONE = -1, -2
"""The zero atom, in place of the number of an atom; and no atom at all."""


def minimise(model: "Model", tolerance: float) -> np.ndarray:
    """Minimise a model until its gap is within ``tolerance``, or hardly falls any more; return the weights."""
    last, failures = np.inf, 0
    for _ in range(50):
        gap = model.descend(tolerance)
        failures = failures + 1 if gap > 0.5 * last else 0
        if gap <= tolerance or failures >= 3:  # rounding, or a hard face
            break
        last = min(gap, last)
        if not model.u.any() or not model.leap(failures):  # no weight, no face
            break
    return model.whole(model.hull.fit(model.u))


class Model(ABC):
    """A quadratic model: descend, then leap to the minimiser of the face that was found, and so on.

    Parameters
    ----------
    hull : Hull
        Where the weights live.
    u : array
        Weights at which the model begins.
    """

    def __init__(self, hull: Hull, u: np.ndarray):
        self.hull, self.u = hull, u.copy()
        self.blocked = False  # whether the last move ended at a weight of zero, short of where it was to go

    @abstractmethod
    def descend(self, tolerance: float) -> float:
        """Lower the model by moves of single atoms or pairs; return its gap."""

    @abstractmethod
    def leap(self, failures: int) -> bool:
        """Move toward the minimiser of the face, as far as the hull allows; return whether the weights changed.

        ``failures`` is how often, in a row, the gap has not been halved.
        """

    @abstractmethod
    def _jump(self, goal: np.ndarray) -> bool:
        """Move to other weights, if the model is lower there; return whether it is."""

    def _put(self, u: np.ndarray) -> None:
        """Set the weights."""
        self.u = u

    def whole(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all atoms, from those of the model's."""
        return u

    def _face(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return the atoms with weight, their signs, and whether the weights sum up to the radius."""
        face = np.flatnonzero(self.u)
        spent = not self.hull.filled or np.abs(self.u).sum() >= self.hull.radius * (1.0 - SPENT)
        return face, np.sign(self.u[face]), spent

    def _go(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray, spent: bool) -> bool:
        """Make as much of a move as lowers the model; return whether the weights changed."""
        for halvings in range(6):
            goal = self.u.copy()  # weights that would change their sign are set to zero
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
        """Return the part of a move that stays in the hull, and the position of the weight that ends it, or -1."""
        size, change = np.abs(self.u[face]), signs * move
        shrinking = change < 0.0
        ratios = np.where(shrinking, size / np.where(shrinking, -change, 1.0), np.inf)
        first = int(ratios.argmin())
        room = np.inf if spent or change.sum() <= 0.0 else (self.hull.radius - size.sum()) / change.sum()
        step = min(1.0, ratios[first], max(room, 0.0))
        return step, first if ratios[first] <= step else -1


class Hessian:
    """The Hessian ``A' D A`` of some atoms and, with an intercept, the second derivatives in it.

    It is kept from one Newton step to the next. All of it is linear in the curvatures ``D``, so what those that have
    changed much contribute is added: with every curvature within a part `STALE_CURVATURE` of the true one, so is the
    model, along every direction. Where calls are costly it is summed up anew, or used again as it is.

    Parameters
    ----------
    matrix : ActiveMatrix
        The predictions of the atoms.
    """

    def __init__(self, matrix: ActiveMatrix):
        self.matrix, self.chosen = matrix, np.empty(0, np.intp)
        self.sums: tuple[np.ndarray, ...] = ()  # in the atoms; then in intercept and atoms, and in the intercept
        self.curvatures: Any = None

    def at(self, curvatures: Any, chosen: np.ndarray, shifts: int = 0, as_it_is: bool = False) -> np.ndarray:
        """Return the Hessian of the atoms ``chosen``, ascending, for these curvatures or for others close to them.

        An intercept of ``shifts`` entries follows the weights. ``as_it_is`` says that the last Hessian will do.
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
        """Bring the sums up to date where curvatures have changed much."""
        stale = np.abs(curvatures - self.curvatures) > STALE_CURVATURE * np.abs(curvatures)
        if curvatures.ndim == 3:  # a matrix for each sample: any of its entries makes it stale
            stale = np.broadcast_to(stale.any(axis=(1, 2), keepdims=True), curvatures.shape)
        if stale.any():
            change = np.where(stale, curvatures - self.curvatures, 0.0)
            more = self.matrix.hessian_sums(change, self.chosen, shifts)
            self.sums = tuple(mine + other for mine, other in zip(self.sums, more, strict=True))
            self.curvatures = np.where(stale, curvatures, self.curvatures)

    def state(self) -> dict[str, Any]:
        """Return the sums, and of which atoms and curvatures they are; on a cluster curvatures stay where they are."""
        found = {f"hessian.{name}": value for name, value in zip(("H", "cross", "total"), self.sums, strict=False)}
        if isinstance(self.curvatures, np.ndarray):
            found["hessian.curvatures"] = self.curvatures
        return found | {"hessian.chosen": self.chosen}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the sums of a state."""
        names = [name for name in ("H", "cross", "total") if f"hessian.{name}" in state]
        self.sums = tuple(state[f"hessian.{name}"].copy(order="K") for name in names)
        self.chosen = state["hessian.chosen"].copy()
        if "hessian.curvatures" in state:
            self.curvatures = state["hessian.curvatures"].copy()


class HessianModel(Model):
    """The model of few atoms, whose Hessian is formed.

    It is a function of how far the weights have moved, ``slope'(u - u0) + (u - u0)' H (u - u0) / 2``: near an optimum
    both parts are small, while ``H u`` may be large.

    Parameters
    ----------
    hull : Hull
        Where the weights live.
    H : array
        The Hessian of the atoms ``chosen``.
    u, slope : arrays
        Weights of all atoms, and the slopes of the objective along them.
    chosen : array
        Atoms of the model; the others have no weight.
    compiled : bool
        Whether to exchange weight by compiled loops.
    """

    def __init__(self, hull: Hull, H: np.ndarray, u: np.ndarray, slope: np.ndarray, chosen: np.ndarray, compiled: bool):
        super().__init__(hull, u[chosen])
        self.H, self.chosen, self.size, self.compiled = H, chosen, len(slope), compiled
        self.start, self.first_slope = self.u.copy(), slope[chosen]

    def whole(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all atoms, from those of the model's."""
        whole = np.zeros(self.size)
        whole[self.chosen] = u
        return whole

    def slope(self) -> np.ndarray:
        """Return the slopes of the model at its weights."""
        return self.first_slope + self.H @ (self.u - self.start)

    def descend(self, tolerance: float) -> float:
        """Exchange weight between pairs; return the model's gap."""
        # with few exchanges a face whose columns depend on each other would be solved too early: rounding decides there
        most = 20 + 2 * len(self.u)
        run, pairs = (exchange, PairsByLoops) if self.compiled else (exchange.interpreted, PairsByArrays)
        return float(run(pairs(self.hull), self.H, self.u, self.slope(), tolerance, most))

    def leap(self, failures: int) -> bool:
        """Move toward the minimiser of the face, as far as the hull allows; return whether the weights changed.

        An atom that ends a move is dropped, and after failures the move goes on without it until the minimiser of a
        face is reached (the minor cycles of Wolfe 1976): weight that is exchanged before would bring the atom back.
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
        """Move to other weights, if the model is lower there; return whether it is."""
        step = goal - self.u
        if not self.hull.along(self.slope(), self.u, goal) + 0.5 * (step @ (self.H @ step)) < 0.0:
            return False
        self.u = goal
        return True


def _face_move(H: np.ndarray, face: np.ndarray, slope: np.ndarray, signs: np.ndarray, spent: bool) -> np.ndarray:
    """Return the move to the minimiser of the model on a face; ``spent`` says that the signed sum stays the same.

    Then one atom, the shortest, gives what all others take: they move along their differences from it. The system is
    solved again for what the factorisation leaves: rounding, and the ridge that columns that depend on each other need.
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
    """Return what solves with the Hessian of the atoms ``others``, or of their differences from another.

    That one's entries are ``across`` and ``own``; ``opposite`` are its signs relative to the others'.
    """
    diagonal = np.diagonal(H)[others]
    lengths = diagonal if across is None else diagonal - 2.0 * opposite * across + own
    floor = max(1e-30 * diagonal.max(), 1e-300) if across is None else 1e-15 * (diagonal + own) + 1e-300
    scale = 1.0 / np.sqrt(np.maximum(lengths, floor))
    for ridge in (1e-13, 1e-10, 1e-7):  # on a unit diagonal, until the factorisation succeeds
        square = H[np.ix_(others, others)].T  # the same transposed, and in the order that is worked on in place
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


# --- pairwise descent: weight moves from one atom to another, or to or from the zero atom -----------------------------


@verb
def entering(pairs, u, slope):
    """Return the model's gap, and the atom of least slope, its sign and that slope.

    The opposite of an atom with weight counts for the gap, but is not one to enter: its weight leaves first.
    """
    return pairs.entering(u, slope)


@verb
def leaving(pairs, H, u, slope, slack, enter, sign, best):
    """Return the atom to take weight from: the one that promises the largest decrease of the model."""
    return pairs.leaving(H, u, slope, slack, enter, sign, best)


@kernel
def exchange(pairs, H, u, slope, tolerance, most):
    """Exchange weight between pairs of atoms until the model's gap is within ``tolerance``; return that gap.

    ``u`` and its ``slope`` change in place, in at most so many steps.
    """
    radius, gap = pairs.hull.radius, np.inf
    for _ in range(most):
        gap, enter, sign, best = entering(pairs, u, slope)
        if gap <= tolerance:
            break
        slack = radius - np.abs(u).sum()
        if not pairs.hull.filled or slack <= SPENT * radius:
            slack = 0.0
        leave = leaving(pairs, H, u, slope, slack, enter, sign, best)
        if leave == NONE:
            break
        # along the pair the model falls at the rate `lead`, and `square` is its curvature
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
            slope += (sign * amount) * H[enter]
        if leave != ZERO:
            u[leave] = 0.0 if amount == bound else u[leave] - other * amount
            slope -= (other * amount) * H[leave]
    return gap


class PairsByArrays(NamedTuple):
    """How pairs are chosen in NumPy: a step takes some ten microseconds."""

    hull: Hull

    def entering(self, u: np.ndarray, slope: np.ndarray) -> tuple[float, int, float, float]:
        """Return the model's gap, and the atom of least slope, its sign and that slope."""
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
        """Return the atom to take weight from: the one that promises the largest decrease of the model."""
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


class PairsByLoops(NamedTuple):
    """The same in compiled loops: a step takes a microsecond."""

    hull: Hull

    def entering(self, u, slope):
        """Return the model's gap, and the atom of least slope, its sign and that slope."""
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
        """Return the atom to take weight from: the one that promises the largest decrease of the model."""
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
