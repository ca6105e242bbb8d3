"""The fully corrective method: after each exact gradient, the weights of all atoms found so far are made optimal.

A round takes the exact gradient, which certifies, adds the atoms that promise most, and minimises the objective over
all combinations of the active ones by Newton steps: a quadratic model with the losses' curvatures (see
`frankwolfe.models`), solved as exactly as the gap is worth, and a line search on the objective itself.
"""

from typing import Any

import numpy as np

from frankwolfe.combinations import MANY, atoms_of
from frankwolfe.compiled import compiling
from frankwolfe.engine import Memory
from frankwolfe.gradients import FullGradient
from frankwolfe.models import ColumnModel, GramModel, minimise
from frankwolfe.objective import bend, gradient_of, judge
from frankwolfe.problem import Evaluation, Problem

NEWTON_STEPS = 20
"""Most Newton steps in a round."""

ROUND_SHARES = (0.3, 0.1)
"""Part of the exact gap that may be left on the active atoms when a round ends: at first, and once settled."""

MODEL_SHARES = {True: (0.01, 0.001), False: (0.3, 0.03)}
"""Part of the gap that may be left in a model: at first, and once settled; with a Hessian formed, and without."""

CARE, FLOOR = 10.0, 1e-4
"""How far above `CARE` times the relative gap, and at what least part of the smoothness, curvatures are kept."""

LATE = 1e-5
"""Relative gap from which on faces are solved to many digits."""

NOISE = 1e-14
"""Differences of the objective below this part of its first value are rounding."""


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
    few : int
        Most atoms for which a Hessian is formed.
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
        few: int = MANY,
    ):
        self.problem = problem
        self.clock = np.array([0 if memory is None else memory.steps])
        self.batch_size, self.evaluations, self.evaluated = 0, problem.n, 0
        self.atoms: Any = atoms_of(problem, w, few)
        self.z = np.zeros(problem.n)
        if w.any():
            self.z += problem.samples.rows.dot_all(self.atoms.w())
        self.alpha = np.zeros(problem.n)
        self.value = self.scale = np.nan
        self.caution, self.stuck = 1.0, False
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
        for few in (MANY, 0):
            CorrectiveEngine(head, None, 0, None, head.default_start(), few=few).advance(2)
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
            if np.isnan(self.scale):
                self.value = self._judge(self.z, self.alpha)
                self.scale = abs(self.value) or 1.0
            gradient = gradient_of(self.problem.samples.rows, self.alpha, self.problem.d)
            gap = self.problem.gap_for(gradient, self.w())
            self._found = Evaluation(self.value, gradient, 0.0 if gap < 0.0 else gap, self.alpha.copy())
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
        bad = np.flatnonzero(~np.isfinite(self.alpha))
        return int(bad[0]) if bad.size else None

    # --- a round ----------------------------------------------------------------------------------------------

    def _judge(self, z: np.ndarray, alpha: np.ndarray) -> float:
        """Fill in all derivatives at the predictions ``z`` and return the objective; charged as a pass."""
        self.evaluated += self.problem.n
        return float(judge(self.problem.samples, z, alpha))

    def _round(self, found: Evaluation) -> None:
        """Extend the active atoms and make Newton steps on their weights until little of the gap is left."""
        if self.stuck:
            return
        added, moved = self.atoms.extend(found), False
        if len(self.atoms.u) == 0:
            self.stuck = True  # zero, and no coordinate promises anything: there is nothing to correct
            return
        goal = ROUND_SHARES[self.atoms.settled] * found.gap
        for _ in range(NEWTON_STEPS):
            slope = self.atoms.matrix.project(self.alpha)
            gap = self.atoms.hull.gap(slope, self.atoms.u)
            if gap <= goal or not self._newton(slope, gap):
                break
            moved = True
        self.stuck = not (added or moved)  # a round that changed nothing would change nothing again
        self._found = None if moved else found

    def _newton(self, slope: np.ndarray, gap: float) -> bool:
        """Minimise a quadratic model and go there as far as the objective falls; say whether it did."""
        atoms, loss = self.atoms, self.problem.loss
        bends = np.empty(self.problem.n)
        care = min(1.0, self.caution * CARE * gap / self.scale)
        bend(self.problem.samples, self.z, self.alpha, care, max(FLOOR * care, 1e-12) * loss.smoothness(), bends)
        model: Any = GramModel(atoms, slope, bends) if atoms.few else None
        if model is None:
            model = ColumnModel(atoms, slope, bends, self.z, gap <= LATE * self.scale)
        u = minimise(model, MODEL_SHARES[atoms.few][atoms.settled] * gap)
        if not np.isfinite(u).all():
            return False  # the curvatures overflowed: there is no model to go by
        fall = -float(slope @ (u - atoms.u))
        return self._settle(u, gap) if fall <= 100.0 * NOISE * self.scale else self._search(u, fall)

    def _settle(self, u: np.ndarray, gap: float) -> bool:
        """Go to ``u``, where the objective can no longer tell which point is better, if the gap there is smaller."""
        z, alpha = self.atoms.matrix.predict(u), np.empty(self.problem.n)
        value = self._judge(z, alpha)
        slope = self.atoms.matrix.project(alpha)
        if not (value <= self.value + NOISE * self.scale and self.atoms.hull.gap(slope, u) <= 0.9 * gap):
            return False
        self.atoms.u, self.z, self.alpha, self.value = u, z, alpha, value
        return True

    def _search(self, u: np.ndarray, fall: float) -> bool:
        """Look for a point on the way to ``u`` where the objective has fallen and is about level; go there."""
        there, best = self.atoms.matrix.predict(u), None
        ahead = there - self.z
        gamma, low, high, low_slope, high_slope = 1.0, 0.0, 1.0, -fall, np.inf
        for _ in range(40):
            z, alpha = there if gamma == 1.0 else self.z + gamma * ahead, np.empty(self.problem.n)
            value = self._judge(z, alpha)
            slope = float(alpha @ ahead)
            if value <= self.value - 0.1 * gamma * fall and (best is None or value < best[1]):
                best = gamma, value, z, alpha
            if best is not None and ((best[0] == gamma and abs(slope) <= 0.5 * fall) or high - low < 0.1 * high):
                break
            if gamma == 1.0 and best is not None and slope < 0.0:
                break
            if slope < 0.0 and np.isfinite(value):
                low, low_slope = gamma, slope
            else:
                high, high_slope = gamma, slope
            share = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.5
            gamma = low + min(0.7, max(0.2, share)) * (high - low)
        if best is None:
            return False
        gamma, self.value, self.z, self.alpha = best
        self.atoms.u = u if gamma == 1.0 else (1.0 - gamma) * self.atoms.u + gamma * u
        self._adapt(gamma)
        return True

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
