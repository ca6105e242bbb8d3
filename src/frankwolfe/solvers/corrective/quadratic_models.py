"""Quadratic models of the objective over the weights of the active atoms, and their minimisation over a `Hull`.

A model is ``q(u) = b'u + u'Hu / 2`` over the weights ``u``, constrained to a `frankwolfe.sets.base.Hull`. The columns
of ``A`` in ``H = A' D A`` are the atoms' predictions, and ``D`` holds the curvatures of the losses. `minimise`
alternates first-order steps and steps to the minimiser on a face. For few atoms `HessianModel` forms the Hessian:
pairwise steps alternate with exact solutions on faces. For many atoms `ColumnModel` never forms it: compiled loops over
the columns make a Frank-Wolfe or away step for one atom after the other, and faces are solved by conjugate gradients.
Notation of `ColumnModel`: ``bent = D A u``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyr2

from frankwolfe.arguments.types import PerRow
from frankwolfe.compile.kernels import kernel
from frankwolfe.compile.verbs import routine, verb
from frankwolfe.linalg.matrices import eliminated
from frankwolfe.rows.csr import ONE, TWO
from frankwolfe.rows.dense import dot_row
from frankwolfe.sets.base import EXHAUSTED, Hull

if TYPE_CHECKING:
    from frankwolfe.solvers.corrective.active_atoms import ActiveMatrix, RowBlocks

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
        on_boundary = not self.hull.filled or np.abs(self.u).sum() >= self.hull.radius * (1.0 - EXHAUSTED)
        return face, np.sign(self.u[face]), on_boundary

    def _go(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray, on_boundary: bool) -> bool:
        """Move along ``move``, projecting sign changes to zero if that reduces the model. Return whether u changed.

        The move is halved up to five times. If the model is never lower, make the longest feasible part of the move.
        """
        for halvings in range(6):
            goal = self.u.copy()  # set weights whose sign would change to zero
            goal[face] = np.maximum(signs * (self.u[face] + 0.5**halvings * move), 0.0) * signs
            if self._jump(self.hull.fit(goal)):
                self.blocked = False
                return True
        step, blocking = self._longest(face, signs, move, on_boundary)
        self.blocked = blocking >= 0
        goal = self.u.copy()
        goal[face] += step * move
        if blocking >= 0:
            goal[face[blocking]] = 0.0
        self._put(goal)
        return step > 0.0

    def _longest(self, face: np.ndarray, signs: np.ndarray, move: np.ndarray, on_boundary: bool) -> tuple[float, int]:
        """Return the largest feasible step size, at most 1, and the index of the weight that becomes zero, or -1."""
        size, change = np.abs(self.u[face]), signs * move
        shrinking = change < 0.0
        ratios = np.where(shrinking, size / np.where(shrinking, -change, 1.0), np.inf)
        first = int(ratios.argmin())
        room = np.inf if on_boundary or change.sum() <= 0.0 else (self.hull.radius - size.sum()) / change.sum()
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

    def __init__(self, matrix: "ActiveMatrix"):
        self.matrix, self.chosen = matrix, np.empty(0, np.intp)
        self.sums: tuple[np.ndarray, ...] = ()  # blocks: atoms; intercept and atoms; intercept
        self.curvatures: Any = None

    def at(self, curvatures: PerRow, chosen: np.ndarray, shifts: int = 0, reuse: bool = False) -> np.ndarray:
        """Return the Hessian of the atoms ``chosen`` (ascending), for curvatures close to the given ones.

        An intercept of ``shifts`` entries is eliminated by a Schur complement. ``reuse`` permits the reuse of the
        last Hessian where calls are costly.
        """
        place = np.searchsorted(self.chosen, chosen)
        known = 0 < len(chosen) <= len(self.chosen) and bool((self.chosen.take(place, mode="clip") == chosen).all())
        if known and len(chosen) < len(self.chosen):
            H, *rest = self.sums
            self.sums = H[np.ix_(place, place)], *([rest[0][:, place], rest[1]] if rest else [])
        self.chosen = chosen
        if not known or (self.matrix.costly and not reuse):
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
            face, signs, on_boundary = self._face()
            slope = self.slope()[face]
            move = _face_move(self.H, face, slope, signs, on_boundary)
            if not (slope @ move < 0.0):
                break
            moved = self._go(face, signs, move, on_boundary) or moved
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


def _face_move(H: np.ndarray, face: np.ndarray, slope: np.ndarray, signs: np.ndarray, on_boundary: bool) -> np.ndarray:
    """Return the Newton step to the minimiser of the model on a face.

    ``on_boundary`` adds the constraint that the l1 norm of the weights is constant, ``signs' move = 0``. It is
    eliminated by the atom with the smallest ``H_jj``, whose weight compensates the changes of all others. Iterative
    refinement removes the errors of the factorisation: rounding, and the ridge that linearly dependent columns need.
    """
    if on_boundary and len(face) == 1:
        return np.zeros(1)
    giver = int(np.diagonal(H)[face].argmin()) if on_boundary else -1
    kept = np.flatnonzero(np.arange(len(face)) != giver)
    opposite = signs[kept] * signs[giver] if on_boundary else np.zeros(len(kept))

    def whole(move):
        moves = np.zeros(len(face))
        moves[kept] = move
        if on_boundary:
            moves[giver] = -(opposite @ move)
        return moves

    def reduced(slopes):
        return slopes[kept] - opposite * slopes[giver]

    across = H[face[kept], face[giver]] if on_boundary else None
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
        decrease = np.maximum(lead, 0.0) ** 2 / np.maximum(curve, 1e-300)
        leave = int(decrease.argmax())
        if slack > 0.0 and best < 0.0 and best * best / max(own, 1e-300) >= decrease[leave]:
            return ZERO
        return leave if decrease[leave] > 0.0 else NONE

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
        leave, largest, own = NONE, 0.0, 0.0
        if enter != ZERO:
            own = H[enter, enter]
        if slack > 0.0 and best < 0.0:
            leave, largest = ZERO, best * best / max(own, 1e-300)
        for j in range(len(u)):
            if u[j] == 0.0 or j == enter:
                continue
            other = 1.0 if u[j] > 0.0 else -1.0
            lead = other * slope[j] - best
            if lead > 0.0:
                across = sign * other * H[enter, j] if enter != ZERO else 0.0
                decrease = lead * lead / max(own + H[j, j] - 2.0 * across, 1e-300)
                if decrease > largest:
                    leave, largest = j, decrease
        return leave

    def shift_slope(self, slope, amount, row):
        """Add ``amount`` times a row of the Hessian to the gradient of the model, without a temporary array."""
        for k in range(len(slope)):
            slope[k] += amount * row[k]


# --- the model for many atoms ----------------------------------------------------------------------------------------


class ColumnModel(Model):
    """Quadratic model for many atoms, minimised by cyclic descent, and on faces by conjugate gradients.

    Parameters
    ----------
    atoms : Coordinates
        The active set.
    slope : array
        Slopes of the objective in the atoms' weights, where the model begins.
    curvatures : array
        The diagonal of ``D``.
    z : array
        Predictions ``A u`` where the model begins.
    shifts : int
        Number of intercepts, 0 if there is none. They are eliminated from the model.
    """

    def __init__(self, atoms: Any, slope: np.ndarray, curvatures: np.ndarray, z: np.ndarray, shifts: int = 0):
        super().__init__(atoms.hull, atoms.u)
        self.matrix: RowBlocks = atoms.matrix.blocks
        self.columns, self.curvatures, self.bent = atoms.columns, curvatures, curvatures * z
        self.free, outputs, m = shifts > 0, max(1, shifts), len(slope)
        totals, homes, pulls = np.ones(outputs), atoms.active % outputs, np.zeros(m)
        if self.free:
            totals, pulls = self._sums(curvatures, outputs), self.matrix.project(curvatures)
            totals = np.where(totals > 0.0, totals, 1.0)
        self.intercept = FollowingIntercept(totals, homes, pulls, np.zeros(outputs))
        self._follow()
        self.square = np.maximum(self.matrix.squares(curvatures) - pulls * pulls / totals[homes], 0.0)
        self.linear = slope - self._along(self.bent, self.intercept.sums)

    @staticmethod
    def _sums(bent: np.ndarray, outputs: int) -> np.ndarray:
        """Return the sums over all samples, one per output."""
        return bent.reshape(-1, outputs).sum(axis=0)

    def _follow(self) -> None:
        """Recompute the intercept's sums from ``bent``."""
        if self.free:
            self.intercept.sums[:] = self._sums(self.bent, len(self.intercept.sums))

    def _along(self, bent: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Return ``A' bent``, corrected for the eliminated intercept: minus ``pulls * sums / totals``."""
        totals, homes, pulls, _ = self.intercept
        return self.matrix.project(bent) - pulls * (sums / totals)[homes] if self.free else self.matrix.project(bent)

    def descend(self, tolerance: float) -> float:
        """Cycle once over all atoms, three times over those with weight, and once over all. Return the model's gap."""
        everyone = np.arange(len(self.u))
        gap = self._cycle(everyone, 1, tolerance)
        if gap > tolerance:
            self._cycle(np.flatnonzero(self.u), 3, 0.3 * tolerance)
            gap = self._cycle(everyone, 1, tolerance)
        return gap

    def _cycle(self, visit: np.ndarray, turns: int, tolerance: float) -> float:
        arguments = self.hull, self.curvatures, self.linear, self.square, self.u, self.bent, self.intercept
        return float(cycle(self.columns, *arguments, visit, turns, tolerance))

    def leap(self, failures: int) -> bool:
        """Move toward the minimiser on the face by conjugate gradients. Return whether the weights changed."""
        face, signs, on_boundary = self._face()
        slope = (self.linear + self._along(self.bent, self.intercept.sums))[face]
        square = np.maximum(self.square[face], max(1e-30 * self.square.max(), 1e-300))

        def product(move):
            whole = np.zeros(len(self.u))
            whole[face] = move
            bent = self.curvatures * self.matrix.predict(whole)
            return self._along(bent, self._sums(bent, len(self.intercept.sums)))[face]

        move = conjugate_gradients(product, slope, square, signs if on_boundary else None, 0.1, 12 * 2**failures)
        if not (slope @ move < 0.0):
            return False
        return self._go(face, signs, move, on_boundary)

    def _jump(self, goal: np.ndarray) -> bool:
        """Move to the weights ``goal`` if the model is lower there. Return whether it is."""
        images = self.matrix.predict(goal)
        bent, totals = images * self.curvatures, self.intercept.totals
        saved = (self._sums(bent, len(totals)) ** 2 / totals).sum() if self.free else 0.0
        if not self.linear @ goal + 0.5 * (bent @ images - saved) < self._value():
            return False
        self.u, self.bent = goal, bent
        self._follow()
        return True

    def _put(self, u: np.ndarray) -> None:
        """Set the weights and recompute ``bent`` and the intercept."""
        self.u, self.bent = u, self.curvatures * self.matrix.predict(u)
        self._follow()

    def _value(self) -> float:
        """Return the value of the model, up to a constant."""
        weighted = self.curvatures > 0.0
        saved = (self.intercept.sums**2 / self.intercept.totals).sum()
        curve = (self.bent[weighted] ** 2 / self.curvatures[weighted]).sum()
        return float(self.linear @ self.u + 0.5 * (curve - saved))


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    slope: np.ndarray,
    square: np.ndarray,
    signs: np.ndarray | None,
    accuracy: float,
    most: int,
) -> np.ndarray:
    """Minimise ``slope' x + x' H x / 2`` by preconditioned conjugate gradients.

    Parameters
    ----------
    product : function
        Hessian-vector product ``x -> H x``.
    slope : array
        Gradient at ``x = 0``.
    square : array
        Diagonal of ``H``, used as the preconditioner.
    signs : array or None
        If given, the constraint ``signs' x = 0``.
    accuracy : float
        Relative norm of the residual to stop at.
    most : int
        Maximum number of iterations.

    Returns
    -------
    array
        The approximate minimiser ``x``.
    """

    def balanced(residual):
        if signs is not None:
            residual = residual - (signs @ (residual / square)) / (1.0 / square).sum() * signs
        return residual / square

    move, residual = np.zeros(len(slope)), slope.copy()
    ahead = balanced(residual)
    search, size = -ahead, residual @ ahead
    goal = accuracy * accuracy * size
    for _ in range(most):
        if not size > goal:
            break
        bent = product(search)
        curve = bent @ search
        if not curve > 0.0:
            break
        move += size / curve * search
        residual += size / curve * bent
        ahead = balanced(residual)
        before, size = size, residual @ ahead
        search = size / before * search - ahead
    return move


# --- operations on a column -------------------------------------------------------------------------------------------


# (columns, j, v): the inner product of column `j` with `v`
column_dot = verb("column_dot")


# (columns, j, c, curvatures, v): add `c D a_j` to `v` in place, where `a_j` is column `j` and `D` the diagonal of
# curvatures
column_add_bent = verb("column_add_bent")


class SparseColumns(NamedTuple):
    """Columns in compressed sparse column format."""

    data: np.ndarray
    samples: np.ndarray
    starts: np.ndarray

    def column_dot(self, j, v):
        """Return the inner product of column ``j`` with ``v``."""
        data, samples, even, odd = self.data, self.samples, 0.0, 0.0
        k, stop = np.uint64(self.starts[j]), np.uint64(self.starts[j + 1])
        while k + ONE < stop:  # unrolled by two: a plain loop is compiled to gather instructions, four times slower
            even += data[k] * v[samples[k]]
            odd += data[k + ONE] * v[samples[k + ONE]]
            k += TWO
        return even + odd if k == stop else even + odd + data[k] * v[samples[k]]

    def column_add_bent(self, j, c, curvatures, v):
        """Add ``c D a_j`` to ``v``."""
        data, samples = self.data, self.samples
        for k in range(np.uint64(self.starts[j]), np.uint64(self.starts[j + 1])):
            i = samples[k]
            v[i] += c * data[k] * curvatures[i]


class DenseColumns(NamedTuple):
    """Dense columns: row ``j`` of ``values`` is column ``j``."""

    values: np.ndarray

    def column_dot(self, j, v):
        """Return the inner product of column ``j`` with ``v``."""
        return dot_row(self.values, j, v)

    def column_add_bent(self, j, c, curvatures, v):
        """Add ``c D a_j`` to ``v``."""
        values = self.values
        for i in range(len(v)):
            v[i] += c * values[j, i] * curvatures[i]


def by_columns(matrix: "RowBlocks") -> SparseColumns | DenseColumns:
    """Return a column-major copy of a matrix."""
    if not matrix.sparse:
        return DenseColumns(np.ascontiguousarray(np.concatenate([block.columns() for block in matrix.blocks]).T))
    free = np.zeros(matrix.blocks[0].width + 1, np.uint64)  # where the next entry of each column goes
    for block in matrix.blocks:
        free[1:] += np.bincount(block.rows.indices, minlength=len(free) - 1).astype(np.uint64)
    starts = np.cumsum(free)
    free = starts.copy()
    data, samples = np.empty(matrix.stored), np.empty(matrix.stored, np.uint32)
    for block in matrix.blocks:
        sort_by_columns(*block.rows, np.uint32(block.part.start), free, data, samples)
    return SparseColumns(data, samples, starts)


@kernel
def sort_by_columns(data, columns, starts, first, free, to_data, to_samples):
    """Copy a block of rows, whose first sample is ``first``, from row-major to column-major order.

    ``free[j]`` is the position of the next entry of column ``j``. It is advanced in place.
    """
    for i in range(len(starts) - 1):
        sample = first + np.uint32(i)
        for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
            at = free[columns[k]]
            to_data[at] = data[k]
            to_samples[at] = sample
            free[columns[k]] = at + ONE


# --- cyclic descent ---------------------------------------------------------------------------------------------------


@routine
def moved(hull, u, slope, bent, square, total, curve):
    """Return the sign of an atom and the exact step size ``gamma`` along ``a - u``; negative for an away step.

    ``a`` is the vertex ``sign * radius * e_j``. The model's decrease rate along ``a - u`` is
    ``lead = total - radius * sign * slope``, where ``total`` is its slope along ``u``. Its curvature is ``bow``.
    An away step is at most ``size / (radius - size)`` long, which makes the weight zero.
    """
    sign = 1.0
    if u < 0.0 or (u == 0.0 and hull.signed and slope > 0.0):
        sign = -1.0
    radius, size = hull.radius, abs(u)
    lead = total - radius * sign * slope
    least = -size / (radius - size) if size < radius else 0.0
    bow = radius * radius * square - 2.0 * radius * sign * bent + curve
    if lead > 0.0:
        return sign, (1.0 if lead >= bow else lead / bow)
    return sign, (least if lead <= least * bow else lead / bow)


@routine
def multiply(scale, u, bent, sums):
    """Multiply weights, ``bent`` and the intercept's sums by ``scale``, in place."""
    for k in range(len(u)):
        u[k] *= scale
    for i in range(len(bent)):
        bent[i] *= scale
    for c in range(len(sums)):
        sums[c] *= scale


class FollowingIntercept(NamedTuple):
    """An intercept that is eliminated from the model: for all weights it has its optimal value.

    Attributes
    ----------
    totals : array of shape (outputs,)
        Sums of the curvatures. Without an intercept a single 1, which has no effect.
    homes : array of shape (m,)
        The output that each column contributes to.
    pulls : array of shape (m,)
        Sums of the columns of ``D A``; zeros without an intercept.
    sums : array of shape (outputs,)
        Sums of ``D A u`` over the samples. The optimal change of the intercept is ``-sums / totals``.
    """

    totals: np.ndarray
    homes: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray


@kernel
def cycle(columns, hull, curvatures, linear, square, u, bent, intercept, visit, turns, tolerance):
    """Minimise the model by ``turns`` cycles over the atoms ``visit``. Return the gap estimate of the last cycle.

    On the boundary of the hull a step goes toward or away from the vertex ``a`` of an atom, along ``a - u``, which
    preserves the sum of the weights. It costs one column: shrinking ``u`` and ``bent = D A u`` is a multiplication of
    ``scale``. In the interior of a filled hull the step is ordinary coordinate descent. The intercept is eliminated.

    The scalars ``size = |u|_1``, ``pull = linear' u`` and ``curve = u' H u`` are updated with each step, so that the
    slope along ``u``, ``pull + curve``, is always known.
    """
    totals, homes, pulls, sums = intercept.totals, intercept.homes, intercept.pulls, intercept.sums
    radius, scale, gap = hull.radius, 1.0, 0.0
    for _ in range(turns):
        size, pull, curve = 0.0, 0.0, 0.0
        for i in range(len(curvatures)):
            curve += bent[i] * bent[i] / curvatures[i] if curvatures[i] > 0.0 else 0.0
        for c in range(len(sums)):
            curve -= sums[c] * sums[c] / totals[c]
        for j in range(len(u)):
            size += abs(u[j])
            pull += linear[j] * u[j]
        gap = pull + curve if hull.filled else 0.0
        for j in visit:
            home = homes[j]
            weight, along = scale * u[j], scale * (column_dot(columns, j, bent) - pulls[j] * sums[home] / totals[home])
            slope = linear[j] + along
            key = -abs(slope) if hull.signed else slope
            gap = max(gap, pull + curve - radius * key)
            slack = radius - size
            if hull.filled and slack > EXHAUSTED * radius:
                goal = weight - slope / square[j] if square[j] > 0.0 else weight
                goal = min(max(goal, -abs(weight) - slack), abs(weight) + slack)
                if not hull.signed:
                    goal = max(goal, 0.0)
                change = goal - weight
                size += abs(goal) - abs(weight)
                pull += change * linear[j]
                curve += change * (2.0 * along + change * square[j])
            else:
                if weight == 0.0 and pull + curve <= radius * key:
                    continue
                sign, gamma = moved(hull, weight, slope, along, square[j], pull + curve, curve)
                if gamma == 0.0:
                    continue
                change, left = gamma * radius * sign, 1.0 - gamma
                goal = left * weight + change
                if sign * goal <= 0.0:
                    goal = 0.0
                pull = left * pull + change * linear[j]
                curve = left * left * curve + change * (2.0 * left * along + change * square[j])
                size = left * size + gamma * radius
                scale *= left
                if scale < 1e-6:
                    multiply(scale, u, bent, sums)
                    scale = 1.0
            if change != 0.0:
                u[j] = goal / scale
                column_add_bent(columns, j, change / scale, curvatures, bent)
                sums[home] += change / scale * pulls[j]
        if hull.filled and radius - size <= EXHAUSTED * radius and pull + curve > 0.0:  # step toward zero
            scale *= max(0.0, -pull / curve) if curve > 0.0 else 0.0
        multiply(scale, u, bent, sums)
        scale = 1.0
        if gap <= tolerance:
            break
    return gap
