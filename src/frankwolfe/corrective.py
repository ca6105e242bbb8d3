"""The fully corrective method: after each exact gradient, the weights of all atoms found so far are made optimal.

A round takes the exact gradient, which certifies, adds the atoms that promise most, and minimises the objective over
all combinations of the active ones by Newton steps: a quadratic model with the losses' curvatures (see
`frankwolfe.models`), solved as exactly as the gap is worth, and a line search on the objective itself.
"""

from typing import Any

import numpy as np

from frankwolfe.columns import DenseColumns, active_columns, column_counts, predict, project
from frankwolfe.compiled import kernel
from frankwolfe.engine import Memory
from frankwolfe.gradients import FullGradient
from frankwolfe.inner import Hull, bend, combine, judge
from frankwolfe.iterate import Iterate
from frankwolfe.models import ColumnModel, Curves, GramModel, fit, minimise
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.rows import CSR
from frankwolfe.sets.norm_balls import L1Ball
from frankwolfe.sets.polytopes import NonNegativeL1Ball, Simplex
from frankwolfe.verbs import deposit, oracle, rebuild

LEAST_NEW = 50
"""Coordinates that a round may always add."""

GROWTH, FAST_GROWTH = 1, 4
"""How many coordinates a round may add for each with weight; the second where nearly all that were added got some."""

FEW, MANY, CROWD = 100, 512, 40
"""Up to `FEW` atoms the Hessian is formed; up to `MANY` if a row has no more than `CROWD` active entries on average."""

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

PATIENCE = 50
"""Rounds without a lower gap or objective after which a run is said to have stalled."""


@kernel
def name_vertex(constraint, scout, r, iterate):
    """Deposit the vertex that the set's oracle names for ``r`` in an iterate that is zero."""
    rebuild(scout, r)
    deposit(oracle(constraint, scout, r), iterate, 1.0)


def hull_of(constraint: Any) -> Hull | None:
    """Which combinations of coordinates a set is made of; None if its vertices are not single coordinates."""
    if isinstance(constraint, L1Ball):
        return Hull(constraint.radius, True, True)
    if isinstance(constraint, NonNegativeL1Ball):
        return Hull(constraint.radius, False, True)
    return Hull(constraint.radius, False, False) if isinstance(constraint, Simplex) else None


class Coordinates:
    """Active atoms of a set whose vertices are single coordinates: the columns in use and their weights."""

    indirect = False  # predictions are sums over the columns, as they are at the point itself

    def __init__(self, problem: Problem, hull: Hull, w: np.ndarray, few: int):
        self.hull, self.rows, self.n, self.d = hull, problem.samples.rows, problem.n, problem.d
        self.most_few = few
        self.counts = column_counts(self.rows, self.d)
        self.active = np.flatnonzero(w)
        self.u = fit(hull, w[self.active] if hull.signed else np.maximum(w[self.active], 0.0))
        self.columns: Any = None
        self.copied, self.settled = 0, False

    def w(self) -> np.ndarray:
        """Return the combination as a new array."""
        w = np.zeros(self.d)
        w[self.active] = self.u
        return w

    @property
    def few(self) -> bool:
        """Whether forming the Hessian is worth it."""
        m = len(self.active)
        crowded = isinstance(self.rows, CSR) and self.counts[self.active].sum() > CROWD * self.n
        return bool(m <= self.most_few and (m <= FEW or not crowded))

    def extend(self, found: Evaluation) -> bool:
        """Add the coordinates that promise most, drop those without weight, copy the columns; say if any was added."""
        keys = np.abs(found.gradient) if self.hull.signed else -found.gradient
        level = -(found.gradient[self.active] @ self.u) / self.hull.radius
        keys[self.active] = -np.inf
        new, kept = np.flatnonzero(keys > level), self.u != 0.0
        self.settled = bool(len(new) <= 0.1 * np.count_nonzero(kept))
        if len(new) == 0 and self.columns is not None:
            return False  # what has been copied serves on
        self.active, self.u = self.active[kept], self.u[kept]
        growth = FAST_GROWTH if len(self.u) >= 0.9 * self.copied else GROWTH
        most = max(LEAST_NEW, growth * len(self.u))
        if len(new) > most:
            new = np.sort(new[np.argpartition(keys[new], -most)[-most:]])
        self.active = np.concatenate([self.active, new])
        self.u = np.concatenate([self.u, np.zeros(len(new))])
        self.copied, self.columns = len(self.u), None  # the old copy goes before the new one comes
        self.columns = active_columns(self.rows, self.active, self.counts, self.few)
        return True


class Vertices:
    """Active atoms of any other set: the vertices its oracle named, and their predictions."""

    few = settled = True
    indirect = True  # predictions are sums over those of vertices: large ones may cancel, and leave their rounding

    def __init__(self, problem: Problem, w: np.ndarray):
        self.hull, self.problem = Hull(1.0, False, False), problem
        self.points, self.u = w[None, :].copy(), np.ones(1)
        self.columns = DenseColumns(self._images(w))
        self.scout = problem.constraint.scout(problem.d)

    def w(self) -> np.ndarray:
        """Return the combination as a new array."""
        return self.u @ self.points

    def _images(self, point: np.ndarray) -> np.ndarray:
        """Return the predictions of a point, as a row."""
        return np.asarray(self.problem.samples.rows.dot_all(point), dtype=np.float64)[None, :]

    def extend(self, found: Evaluation) -> bool:
        """Drop what has no weight and add the vertex that the oracle names; say that one was added."""
        kept = self.u != 0.0
        vertex = Iterate(np.zeros(self.problem.d), np.ones(1))
        name_vertex(self.problem.constraint, self.scout, found.gradient, vertex)
        self.points = np.vstack([self.points[kept], vertex.v])
        self.columns = DenseColumns(np.vstack([self.columns.values[kept], self._images(vertex.v)]))
        self.u = np.append(self.u[kept], 0.0)
        return True


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
        hull = hull_of(problem.constraint)
        self.atoms: Any = Vertices(problem, w) if hull is None else Coordinates(problem, hull, w, few)
        self.z = np.empty(problem.n)
        self.alpha = np.zeros(problem.n)
        self.value = self.scale = np.nan
        self.caution, self.stuck = 1.0, False
        self.lowest, self.vain = (np.inf, np.inf), 0
        self._found: Evaluation | None = None

    @property
    def steps(self) -> int:
        """Rounds made, those of the run that is continued included."""
        return int(self.clock[0])

    def warm_up(self) -> None:
        """Compile, or load from the cache, by rounds on the first few rows."""
        head = _head(self.problem)
        for few in (MANY, 0):
            CorrectiveEngine(head, None, 0, None, head.default_start(), few=few).advance(2)

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
            w = self.w()
            if self.atoms.indirect or np.isnan(self.scale):
                self.z = np.asarray(self.problem.samples.rows.dot_all(w), dtype=np.float64)
                self.value = self._judge(self.z, self.alpha)
                self.scale = self.scale if self.scale > 0.0 else abs(self.value) or 1.0
            gradient = np.empty(self.problem.d)
            combine(self.problem.samples.rows, self.alpha, gradient)
            gap = self.problem.gap_for(gradient, w)
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
        self._look_back(found)
        if self.stuck:
            return
        added, moved = self.atoms.extend(found), False
        if len(self.atoms.u) == 0:
            self.stuck = True  # zero, and no coordinate promises anything: there is nothing to correct
            return
        goal = ROUND_SHARES[self.atoms.settled] * found.gap
        slope = np.empty(len(self.atoms.u))
        for _ in range(NEWTON_STEPS):
            project(self.atoms.columns, self.alpha, slope)
            gap = self.atoms.hull.gap(slope, self.atoms.u)
            if gap <= goal or not self._newton(slope, gap):
                break
            moved = True
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
        atoms, loss = self.atoms, self.problem.loss
        bends = np.empty(self.problem.n)
        care = min(1.0, self.caution * CARE * gap / self.scale)
        bend(self.problem.samples, self.z, care, max(FLOOR * care, 1e-12) * loss.smoothness(), bends)
        start = atoms.hull, atoms.columns, slope, atoms.u, Curves(bends, self.z)
        model = GramModel(*start) if atoms.few else ColumnModel(*start, gap <= LATE * self.scale)
        u = minimise(model, MODEL_SHARES[atoms.few][atoms.settled] * gap)
        if not np.isfinite(u).all():
            return False  # the curvatures overflowed: there is no model to go by
        fall = -float(slope @ (u - atoms.u))
        return self._settle(u, gap) if fall <= 100.0 * NOISE * self.scale else self._search(u, fall)

    def _settle(self, u: np.ndarray, gap: float) -> bool:
        """Go to ``u``, where the objective can no longer tell which point is better, if the gap there is smaller."""
        z, alpha, slope = np.empty(self.problem.n), np.empty(self.problem.n), np.empty(len(u))
        predict(self.atoms.columns, u, z)
        value = self._judge(z, alpha)
        project(self.atoms.columns, alpha, slope)
        if not (value <= self.value + NOISE * self.scale and self.atoms.hull.gap(slope, u) <= 0.9 * gap):
            return False
        self.atoms.u, self.z, self.alpha, self.value = u, z, alpha, value
        return True

    def _search(self, u: np.ndarray, fall: float) -> bool:
        """Look for a point on the way to ``u`` where the objective has fallen and is about level; go there."""
        there, best = np.empty(self.problem.n), None
        predict(self.atoms.columns, u, there)
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


def _head(problem: Problem, rows: int = 8) -> Problem:
    """Return the problem of the first few rows, stored as all are."""
    matrix = problem.X[:rows]
    head = Problem(matrix, problem.y[:rows], problem.loss, problem.constraint)
    if isinstance(problem.samples.rows, CSR):  # slicing may have chosen narrower column numbers
        wide = problem.samples.rows
        whole = head.samples.rows
        whole = CSR(whole.data, whole.indices.astype(wide.indices.dtype), whole.indptr.astype(wide.indptr.dtype))
        head._samples = head.samples._replace(rows=whole)
    return head
