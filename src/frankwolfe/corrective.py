"""The fully corrective method: after each exact gradient, the weights of all atoms found so far are made optimal.

A round takes the exact gradient, which certifies, adds the atoms that promise most, and minimises the objective over
all combinations of the active ones by Newton steps: a quadratic model with the losses' curvatures (see
`frankwolfe.models`), solved as exactly as the gap is worth, and a line search on the objective itself.
"""

from typing import Any

import numpy as np

from frankwolfe.combinations import MOST, Most, atoms_of
from frankwolfe.compiled import compiling
from frankwolfe.engine import Memory
from frankwolfe.gradients import FullGradient
from frankwolfe.models import ColumnModel, GramModel, minimise
from frankwolfe.objective import Point, curvatures, gradient_of
from frankwolfe.problem import Evaluation, Problem

NEWTON_STEPS = 20
"""Most Newton steps in a round."""

ROUND_SHARES = (0.3, 0.1)
"""Part of the exact gap that may be left on the active atoms when a round ends: at first, and once settled."""

MODEL_SHARES = {True: (0.01, 0.001), False: (0.3, 0.1)}
"""Part of the gap that may be left in a model: at first, and once settled; with a Hessian formed, and without."""

CARE, FLOOR = 10.0, 1e-4
"""How far above `CARE` times the relative gap, and at what least part of the smoothness, curvatures are kept."""

LATE = 1e-3
"""Relative gap from which on many digits are wanted, and the Hessian of more atoms is worth forming."""

NOISE = 1e-14
"""Differences of the objective below this part of its first value are rounding."""

PATIENCE = 50
"""Rounds without a lower gap or objective after which a run is said to have stalled."""


class CorrectiveEngine:
    """One run of the fully corrective method, with the face of `frankwolfe.engine.Engine`; a step is a round.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    method, batch_size, generator
        Not used: there is nothing to sample.
    w : array of shape (d,)
        Feasible start.
    memory : Memory, optional
        Of the run that is continued.
    most : Most
        Up to how many atoms a Hessian is formed.
    """

    steady = False  # a round makes as many inner passes as it needs
    certifies = True  # the exact gradient that ends a round also begins the next

    def __init__(
        self,
        problem: Problem,
        method: Any,
        batch_size: int,
        generator: Any,
        w: np.ndarray,
        memory: Memory | None = None,
        most: Most = MOST,
    ):
        self.problem = problem
        self.clock = np.array([0 if memory is None else memory.steps])
        self.batch_size, self.evaluations, self.evaluated = 0, problem.n, 0
        self.atoms: Any = atoms_of(problem, w, most)
        self.at: Any = None
        self.scale = np.nan
        self.caution, self.stuck, self.budget = 1.0, False, np.inf
        self.lowest, self.vain = (np.inf, np.inf), 0
        self._found: Evaluation | None = None

    @property
    def steps(self) -> int:
        """Rounds made, those of the run that is continued included."""
        return int(self.clock[0])

    def warm_up(self) -> None:
        """Compile, or load from the cache, by rounds on the first few rows; once for each kind of data and parts."""
        kind = _kind((self.problem.samples, self.problem.constraint))
        if not compiling() or kind in _warm:
            return
        head = self.problem.head(8)
        for most in (MOST, Most(0, 0, 0)):
            CorrectiveEngine(head, None, 0, None, head.default_start(), most=most).advance(2)
        _warm.add(kind)

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` rounds; return how many were made (fewer only if something was not finite)."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what overflows shows in the objective
            for made in range(steps):
                found = self.evaluate()
                if not np.isfinite(found.value) or not np.isfinite(found.gap):
                    return made
                self._round(found)
                self.clock[0] += 1
        return steps

    def w(self) -> np.ndarray:
        """Return the iterate as a new array."""
        return self.atoms.w()

    def evaluate(self) -> Evaluation:
        """Return the exact evaluation at the iterate: one pass over the data, remembered until the next round."""
        if self._found is None:
            w, samples = self.w(), self.problem.samples
            rows = samples.rows
            if self.at is None or self.atoms.indirect:
                self.at = self._judge(np.asarray(rows.dot_all(w), np.float64) if w.any() else samples.table())
                self.scale = self.scale if self.scale > 0.0 else abs(self.at.value) or 1.0
            alpha = self.at.alpha.reshape(samples.shape)
            gradient = gradient_of(rows, alpha, self.problem.size)
            gap = self.problem.gap_for(gradient, w)
            self._found = Evaluation(
                self.at.value, gradient, 0.0 if gap < 0.0 else gap, alpha, self.problem.shift_of(self.at)
            )
        return self._found

    def gap_estimate(self) -> float:
        """Return the exact gap, which the next round needs anyway."""
        return self.evaluate().gap

    def meter(self) -> None:
        """Return None: there is no table whose error could be metered."""

    def table_error(self, since: Any) -> float:
        """Return NaN: there is no table."""
        return float("nan")

    def memory(self) -> Memory:
        """Return what a later run can continue from."""
        found = self.evaluate()
        return Memory(self.steps, self.problem.n, FullGradient(found.alpha), found.gradient)

    def first_bad_row(self) -> int | None:
        """Row whose derivative is not finite, if there is one."""
        bad = np.argwhere(~np.isfinite(self.evaluate().alpha))
        return int(bad[0, 0]) if bad.size else None

    # --- a round ----------------------------------------------------------------------------------------------

    def _judge(self, z: np.ndarray) -> Point:
        """Evaluate the objective where the predictions are ``z``; charged as a pass."""
        self.evaluated += self.problem.n
        return Point.at(self.problem.samples, z)

    @property
    def _spent(self) -> bool:
        """Whether the budget allows no further pass."""
        return self.evaluated + self.problem.n > self.budget

    def _round(self, found: Evaluation) -> None:
        """Extend the active atoms and make Newton steps on their weights until little of the gap is left."""
        self._look_back(found)
        if self.stuck or self._spent:
            return
        added, moved = self.atoms.extend(found), False
        if len(self.atoms.u) == 0:
            self.stuck = True  # zero, and no coordinate promises anything: there is nothing to correct
            return
        goal, slope = ROUND_SHARES[self.atoms.settled] * found.gap, self.atoms.slope(found)
        for _ in range(NEWTON_STEPS):
            gap = self.atoms.hull.gap(slope, self.atoms.u)
            if gap <= goal or self._spent or not self._newton(slope, gap):
                break
            moved, slope = True, self.atoms.matrix.project(self.at.alpha)
        self.stuck = not (added or moved)  # a round that changed nothing would change nothing again
        self._found = None if moved else found

    def _look_back(self, found: Evaluation) -> None:
        """Notice when neither gap nor objective has fallen for long: rounding moves the point to and fro."""
        gap, value = self.lowest
        self.vain = 0 if found.gap < gap or found.value < value - NOISE * self.scale else self.vain + 1
        self.lowest = min(gap, found.gap), min(value, found.value)
        self.stuck = self.stuck or self.vain >= PATIENCE

    def _newton(self, slope: np.ndarray, gap: float) -> bool:
        """Minimise a quadratic model and go there as far as the objective falls; say whether it did."""
        atoms, samples = self.atoms, self.problem.samples
        care = min(1.0, self.caution * CARE * gap / self.scale)
        bends = curvatures(samples, self.at, care, max(FLOOR * care, 1e-12) * self.problem.loss.smoothness())
        few = atoms.few(gap <= LATE * self.scale)
        shifts = 0 if self.at.shift is None else len(self.at.shift)
        model: Any = GramModel(atoms, slope, bends, shifts) if few else ColumnModel(atoms, slope, bends, self.at.z)
        u = minimise(model, MODEL_SHARES[few][atoms.settled] * gap)
        if not np.isfinite(u).all():
            return False  # the curvatures overflowed: there is no model to go by
        fall = -float(slope @ (u - atoms.u))
        return self._settle(u, gap) if fall <= 100.0 * NOISE * self.scale else self._search(u, fall)

    def _settle(self, u: np.ndarray, gap: float) -> bool:
        """Go to ``u``, where the objective can no longer tell which point is better, if the gap there is smaller."""
        there = self._judge(self.atoms.matrix.predict(u))
        left = self.atoms.hull.gap(self.atoms.matrix.project(there.alpha), u)
        if not (there.value <= self.at.value + NOISE * self.scale and left <= 0.9 * gap):
            return False
        self.atoms.u, self.at = u, there
        return True

    def _search(self, u: np.ndarray, fall: float) -> bool:
        """Look for a point on the way to ``u`` where the objective has fallen and is about level; go there."""
        z, best = self.at.z, None
        ahead = self.atoms.matrix.predict(u) - z
        gamma, low, high, low_slope, high_slope = 1.0, 0.0, 1.0, -fall, np.inf
        for _ in range(40):
            there = self._judge(z + gamma * ahead)
            slope = float(there.alpha @ ahead)
            if there.value <= self.at.value - 0.1 * gamma * fall and (best is None or there.value < best[1].value):
                best = gamma, there
            if self._spent or (best is not None and self._level_enough(gamma, best[0], slope, fall, low, high)):
                break
            if slope < 0.0 and np.isfinite(there.value):
                low, low_slope = gamma, slope
            else:
                high, high_slope = gamma, slope
            share = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.5
            gamma = low + min(0.7, max(0.2, share)) * (high - low)
        if best is None:
            return False
        gamma, self.at = best
        self.atoms.u = u if gamma == 1.0 else (1.0 - gamma) * self.atoms.u + gamma * u
        self._adapt(gamma)
        return True

    @staticmethod
    def _level_enough(gamma: float, best: float, slope: float, fall: float, low: float, high: float) -> bool:
        """Whether to end the search: the best point is about level, or the objective still falls at the far end."""
        if gamma == 1.0:
            return best == 1.0 and slope <= 0.5 * fall
        return (best == gamma and abs(slope) <= 0.5 * fall) or high - low < 0.1 * high

    def _adapt(self, gamma: float) -> None:
        """Trust curvatures less where a step had to be cut short, more where it had not."""
        if gamma < 0.5:
            self.caution = min(1e12, 10.0 * self.caution)
        elif gamma == 1.0:
            self.caution = max(1.0, 0.3 * self.caution)


_warm: set[Any] = set()
"""Kinds of data and parts that have been compiled for in this process."""


def _kind(value: Any) -> Any:
    """Return what code is compiled for: classes, and the types of arrays."""
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
    return (value.dtype.str, value.ndim, value.flags.c_contiguous) if isinstance(value, np.ndarray) else type(value)
