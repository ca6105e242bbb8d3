"""The fully corrective method under linear conditions ``lower <= A w <= upper`` that hold exactly.

This is column generation. The active atoms are columns of the data, where vertices have one non-zero entry or the set
is a box, and vertices of the oracle elsewhere. A round minimises quadratic models of the objective over the active
atoms subject to all conditions (`quadratic_program`). The multipliers ``lambda`` of the conditions price all other
atoms by ``r + A' lambda``; those with a negative reduced cost join. Every iterate is in the set and satisfies the
conditions.

By weak duality, any derivatives ``alpha`` and multipliers ``lambda`` prove a lower bound on the optimum
(`frankwolfe.problem.Problem.dual_value`). For those at an iterate ``w`` it is ``F(w)`` minus these non-negative terms:

    max_s <r + A' lambda, w - s>  +  sum_k |lambda_k| (distance of a_k w to the bound that lambda_k belongs to).

No error of the quadratic programs can make it wrong.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import PerRow
from frankwolfe.linalg.matrices import products_without_rounding
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.problem.linear_bounds import LinearBounds
from frankwolfe.sets.base import Hull, Knapsack, Structure, tracker_of
from frankwolfe.sets.coordinate import allocated
from frankwolfe.solvers.corrective.active_atoms import ActiveAtoms, ActiveMatrix, Vertices
from frankwolfe.solvers.corrective.feasible_point import FeasiblePoint, feasible_point, rounding_of, without_rounding
from frankwolfe.solvers.corrective.fully_corrective import CorrectiveSolver
from frankwolfe.solvers.corrective.hessian import loss_curvatures, objective_hessian
from frankwolfe.solvers.corrective.interior_conditions import MOST_WEIGHTS, Conditioned
from frankwolfe.solvers.corrective.quadratic_program import Face, Program, minimise
from frankwolfe.solvers.corrective.rounds import VALUE_ROUNDING, RoundSolver, is_new_kind
from frankwolfe.solvers.dual_bound import LowerBound
from frankwolfe.solvers.state import copied, flat


class Domain(NamedTuple):
    """Where the weights of active atoms may be: within bounds and perhaps a budget.

    The budget bounds the sum of ``signs`` times the weights from both sides by ``total``.
    """

    lower: np.ndarray
    upper: np.ndarray
    total: tuple[float, float] | None = None
    signs: Any = 1.0


class ConditionColumns(ActiveAtoms):
    """Active columns of a set with bounds and a budget: a `Knapsack`, or a `Hull`, which has no bounds of its own.

    An atom is a column with a sign. Its weight is between zero and the bound of that sign, so that the budget is linear
    in the weights. A column of which both signs are active has two weights. They may cancel, so a quadratic model has a
    small term that keeps one of them at zero.

    Attributes
    ----------
    codes : array of int
        Active atoms, ascending: the column, or for a negative weight ``d`` plus the column.
    active, sign : array
        Their columns and signs.
    u : array
        Their weights, without the shift of the set.
    columns, place : array of int
        The different columns, ascending, and the place of each atom's column among them.
    near : array of shape (d,)
        The point at which least of the budget is used. Columns that are not active are there.
    zero, rest : array of shape (d,)
        The shift of the set, and the weights without shift and without the part ``u``.
    """

    indirect = False
    stable = True

    def __init__(self, problem: Problem, w: np.ndarray):
        structure = problem.constraint.structure()
        self.objective, self.problem, self.d = problem.objective, problem, problem.size
        self.zero = np.zeros(self.d) if structure.shift is None else structure.shift
        self.use_set(structure)
        # clipped, since a weight below its bound by a rounding would be an atom with an empty range
        w = np.clip(w - self.zero, self.low[-self.d :], self.high[: self.d])
        self._activate(w, self._inside(w))

    def use_set(self, structure: Structure) -> None:
        """Set the bounds of the atoms and the budget."""
        hull, knapsack = structure.hull, structure.knapsack
        if hull is not None:
            most = np.full(self.d, np.inf)
            knapsack = Knapsack(-most if hull.signed else 0.0 * self.zero, most, hull.radius, not hull.filled)
        assert knapsack is not None
        low, high, self.radius, self.exhausted = knapsack
        self.near = np.clip(0.0, low, high)
        self.low = np.concatenate([np.maximum(low, 0.0), low])
        self.high = np.concatenate([high, np.minimum(high, 0.0)])

    def _inside(self, w: np.ndarray) -> np.ndarray:
        """Return the atoms of columns that are not where columns without weight are."""
        return np.concatenate([np.flatnonzero(w > self.near), self.d + np.flatnonzero(w < self.near)])

    def _activate(self, w: np.ndarray, codes: np.ndarray) -> None:
        """Set the active atoms at the weights ``w``, without the shift, and copy their columns."""
        self.codes, self.active, self.rest = codes, codes % self.d, w.copy()
        self.sign = np.where(codes < self.d, 1.0, -1.0)
        self.u = np.clip(w[self.active], self.low[codes], self.high[codes])
        self.rest[self.active] = 0.0
        fixed = self.zero + self.rest
        self.base = self.objective.predict(fixed).ravel() if fixed.any() else None
        self.columns, self.place = np.unique(self.active, return_inverse=True)
        self._use(ActiveMatrix.of_columns(self.objective, self.columns))

    def w(self, u: np.ndarray | None = None) -> np.ndarray:
        """Return the weights of all columns, for the weights ``u`` of the active atoms."""
        return self.zero + self._own(self.u if u is None else u)

    def _own(self, u: np.ndarray) -> np.ndarray:
        """Return the weights of all columns without the shift."""
        w = self.rest.copy()
        np.add.at(w, self.active, u)
        return w

    def predict(self, u: np.ndarray) -> Any:
        """Return the predictions for the weights ``u`` of the atoms."""
        return super().predict(np.bincount(self.place, u, len(self.columns)))

    def slope(self, gradient: np.ndarray) -> np.ndarray:
        """Return the slopes of the objective in the weights of the atoms."""
        return gradient[self.active]

    def _products(self, alpha: PerRow) -> np.ndarray:
        """Return the products of the atoms' columns with the derivatives ``alpha``."""
        return super()._products(alpha)[self.place]

    def note_slopes(self, alpha: PerRow, gradient: np.ndarray) -> None:
        """Remember the slopes for derivatives whose gradient is known."""
        linear = self.objective.coefficients
        gradient = gradient if linear is None else gradient - linear
        self.objective.note_slopes(self.matrix.blocks, alpha, gradient[self.columns])

    def hessian_at(self, curvatures: PerRow, shifts: int) -> np.ndarray:
        """Return the Hessian of a quadratic model, with curvature also where two weights of a column cancel."""
        H = self.hessian.at(curvatures, np.arange(len(self.columns)), shifts)[np.ix_(self.place, self.place)]
        _, first, second = np.intersect1d(self.codes, self.codes - self.d, assume_unique=True, return_indices=True)
        part = 1e-6 * np.einsum("jj->j", H)[first]
        H[first, first] += part
        H[second, second] += part
        H[first, second] -= part
        H[second, first] -= part
        return H

    def rows_of(self, side: LinearBounds) -> tuple[np.ndarray, np.ndarray]:
        """Return the products of the conditions with the atoms, and with the rest of the weights."""
        A = side.A[:, self.active]
        return A if isinstance(A, np.ndarray) else A.toarray(), side.A @ (self.zero + self.rest)

    def sizes(self) -> np.ndarray:
        """Return the sums of the sizes of all terms of the weights."""
        return np.abs(self.zero + self.rest) + np.bincount(self.active, np.abs(self.u), self.d)

    def widths(self) -> np.ndarray:
        """Return the largest changes that the weights of the atoms may make."""
        return np.minimum(self.high[self.codes] - self.low[self.codes], self.radius)

    def _left(self) -> float:
        """Return the part of the budget that the atoms share."""
        return self.radius - float(np.abs(self.rest).sum())

    def domain(self) -> Domain:
        """Return where the weights may be."""
        total = (self._left() if self.exhausted else -np.inf, self._left())
        return Domain(self.low[self.codes], self.high[self.codes], total, self.sign)

    def gap(self, priced: np.ndarray, u: np.ndarray) -> float:
        """Return ``max <priced, u - v>`` over all weights ``v`` within the limits.

        The price of the budget is taken out of the sum, so that large terms do not cancel.
        """
        low, high, sign, left = self.low[self.codes], self.high[self.codes], self.sign, self._left()
        near = np.where(sign > 0.0, low, high)
        gains, rest = -sign * priced, max(left - float(np.abs(near).sum()), 0.0)
        amounts = allocated(gains, np.where((gains > 0.0) | self.exhausted, self.widths(), 0.0), rest)
        used = amounts > 0.0
        level = float(gains[used].min()) if used.any() and float(amounts.sum()) >= rest * (1.0 - 1e-12) else 0.0
        v = near + sign * amounts
        return float((priced + level * sign) @ (u - v)) + level * float(np.abs(v).sum() - sign @ u)

    def _keys(self, w: np.ndarray, priced: np.ndarray) -> np.ndarray:
        """Return the predicted decrease per unit of weight of each atom at the weights ``w``."""
        keys = np.concatenate([-priced, priced])
        outward = np.concatenate([self.near >= 0.0, self.near <= 0.0])
        keys[~outward | (self.low >= self.high)] = -np.inf
        return keys

    def join(self, priced: np.ndarray, level: float, drop: bool) -> bool:
        """Add the atoms with the steepest priced slopes. ``drop`` removes those without weight. Return if any did.

        ``level`` is the multiplier of the budget: only atoms with steeper slopes are useful.
        """
        w = self._own(self.u)
        inside, keys = self._inside(w), self._keys(w, priced)
        keys[self.codes] = -np.inf
        level = level if self.exhausted else max(level, 0.0)
        promising = np.flatnonzero(keys > (level + 1e-12 * abs(level) if np.isfinite(level) else level))
        room = max(50, (4 if drop else 1) * len(inside))
        if len(promising) > room:
            promising = promising[np.argpartition(keys[promising], -room)[-room:]]
        if len(promising):
            self._activate(w, np.union1d(inside if drop else self.codes, promising))
        return bool(len(promising))

    def state(self) -> dict[str, Any]:
        """Return the active atoms, the weights and the Hessian as state entries."""
        return {"atoms.codes": self.codes, "w": self.w()} | self.hessian.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        self._activate(state["w"] - self.zero, state["atoms.codes"].copy())
        self.hessian.restore(state)


class BoxColumns(ConditionColumns):
    """Active columns of a box. There is no budget, and columns that are not active are at a bound."""

    def use_set(self, structure: Structure) -> None:
        """Set the bounds of the atoms: each column is one, whatever its sign."""
        assert structure.bounds is not None
        self.low, self.high = (np.array(np.broadcast_to(end, self.d), float) for end in structure.bounds)
        self.radius, self.exhausted = np.inf, False

    def _inside(self, w: np.ndarray) -> np.ndarray:
        """Return the columns that are not at a bound."""
        return np.flatnonzero((w > self.low) & (w < self.high))

    def domain(self) -> Domain:
        """Return where the weights may be."""
        return Domain(self.low[self.active], self.high[self.active])

    def gap(self, priced: np.ndarray, u: np.ndarray) -> float:
        """Return ``max <priced, u - v>`` over all weights ``v`` within the limits."""
        low, high, *_ = self.domain()
        return float(priced @ (u - np.where(priced > 0.0, low, high)))

    def _keys(self, w: np.ndarray, priced: np.ndarray) -> np.ndarray:
        """Return the decrease that each column at a bound may reach by a move to the other bound."""
        return np.where(w <= self.low, -priced, np.where(w >= self.high, priced, 0.0)) * (self.high - self.low)


class ConditionVertices(Vertices):
    """Active vertices of any other set."""

    def __init__(self, problem: Problem, start: FeasiblePoint, shift: np.ndarray | None):
        super().__init__(problem, start.w, shift)
        if start.vertices is not None and start.weights is not None:
            self.points = start.vertices if shift is None else start.vertices - shift
            self.u, self.images = start.weights, [self.objective.predict(point) for point in self.points]
            self._use(ActiveMatrix.of_images(self.objective, self.images))

    def sizes(self) -> np.ndarray:
        """Return the sums of the sizes of all terms of the weights."""
        sizes = np.abs(self.u) @ np.abs(self.points)
        return sizes if self.shift is None else sizes + np.abs(self.shift)

    def rows_of(self, side: LinearBounds) -> tuple[np.ndarray, np.ndarray]:
        """Return the products of the conditions with the atoms, and with the shift of the set."""
        rest = np.zeros(side.m) if self.shift is None else side.A @ self.shift
        return products_without_rounding(side.A, self.points.T), rest

    def domain(self) -> Domain:
        """Return where the weights may be: convex combinations."""
        return Domain(np.zeros(len(self.u)), np.full(len(self.u), np.inf), (1.0, 1.0))

    def gap(self, priced: np.ndarray, u: np.ndarray) -> float:
        """Return ``max <priced, u - v>`` over all weights ``v`` within the limits."""
        return self.hull.gap(priced, u)

    def hessian_at(self, curvatures: PerRow, shifts: int) -> np.ndarray:
        """Return the Hessian of a quadratic model in the weights of the atoms."""
        return self.hessian.at(curvatures, np.arange(len(self.u)), shifts)

    def widths(self) -> np.ndarray:
        """Return the largest weights that the atoms may have."""
        return np.ones(len(self.u))

    def join(self, priced: np.ndarray, level: float, drop: bool) -> bool:
        """Add the oracle's vertex for the priced gradient. Return if it is new.

        ``drop`` removes vertices without weight.
        """
        point = self.named(priced)
        if (self.points == point).all(axis=1).any():
            return False
        self._add(point, np.flatnonzero(self.u) if drop else np.arange(len(self.u)))
        return True


class ModelVertices(ConditionVertices):
    """Active vertices of a set for few weights, without their predictions: those of a point come from its weights.

    The Hessian in all weights is affordable, so a quadratic model is minimised over the whole set: each of its
    minimisers over the active vertices names the next vertex, and no pass over the data is made.

    Attributes
    ----------
    H : array of shape (k, k)
        The Hessian of the model in the weights of the vertices.
    """

    indirect = False

    def __init__(self, problem: Problem, start: FeasiblePoint, shift: np.ndarray | None):
        ActiveAtoms.__init__(self, problem.objective, None)
        self.problem, self.hull, self.shift = problem, Hull(1.0, False, False), shift
        self.points, self.u = start.w[None, :], np.ones(1)
        if start.vertices is not None and start.weights is not None:
            self.points, self.u = start.vertices, start.weights
        self.points = self.points if shift is None else self.points - shift
        self.tracker = tracker_of(problem.constraint, problem.size)

    def predict(self, u: np.ndarray) -> Any:
        """Return the predictions for the weights ``u`` of the vertices."""
        return self.objective.predict(self.w(u)).ravel()

    def use(self, hessian: np.ndarray) -> None:
        """Set the model for the Hessian in all weights."""
        self._images = self.points @ hessian
        self.H, self._hessian = self._images @ self.points.T, hessian

    def add(self, priced: np.ndarray) -> bool:
        """Add the oracle's vertex for a priced gradient of the model. Return if it is new."""
        point = self.named(priced)
        if (self.points == point).all(axis=1).any():
            return False
        image = self._hessian @ point
        across = self.points @ image
        self.H = np.block([[self.H, across[:, None]], [across[None, :], point @ image]])
        self.points, self.u = np.vstack([self.points, point]), np.append(self.u, 0.0)
        return True

    def drop(self) -> None:
        """Drop the vertices without weight."""
        kept = self.u != 0.0
        self.points, self.u = self.points[kept], self.u[kept]

    def state(self) -> dict[str, Any]:
        """Return vertices and weights as state entries."""
        return {"atoms.u": self.u, "atoms.points": self.points}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        self.u, self.points = (copied(state[f"atoms.{name}"]) for name in ("u", "points"))


class ConditionedSolver(Conditioned, CorrectiveSolver):
    """One run of the fully corrective method under linear conditions; a step is a round.

    Parameters
    ----------
    problem : Problem
        The problem, with side conditions.
    w : array of shape (d,)
        Start in the set. If it does not satisfy the conditions, the run starts at another point that does.
    earlier : mapping, optional
        State of an earlier run. Only its number of steps is used.

    Attributes
    ----------
    level : float
        Multiplier of the budget of the set.
    slack : array of shape (m,)
        How far inequalities are tightened, in units of their rounding error.
    """

    remembered = (
        *RoundSolver.remembered,
        *(
            "left",
            "damping_factor",
            "lowest_gap",
            "lowest_value",
            "idle_rounds",
            "predicted",
            "tiny_steps",
        ),
        *("multipliers", "proving", "level", "slack", "last_value"),
    )

    def __init__(self, problem: Problem, w: np.ndarray, earlier: Mapping[str, Any] | None = None):
        assert problem.side is not None
        self.side = problem.side
        self.multipliers = self.proving = np.zeros(self.side.m)
        self.level, self.last_value, self.slack = -np.inf, np.inf, np.ones(self.side.m)
        self.face: Face | None = None
        self._start = feasible_point(problem, self.side, w)
        super().__init__(problem, self._start.w, earlier)
        self.cold_start = False  # the optimum of a row subsample does not satisfy the conditions

    def _atoms_at(self, w: np.ndarray) -> Any:
        """Return the active set at the point ``w``."""
        structure = self.problem.constraint.structure()
        if structure.hull is None and structure.bounds is None and structure.knapsack is None:
            kind = ModelVertices if self.problem.size <= MOST_WEIGHTS else ConditionVertices
            return kind(self.problem, self._start, structure.shift)
        return (ConditionColumns if structure.bounds is None else BoxColumns)(self.problem, w)

    def warm_up(self) -> None:
        """Compile the kernels, or load them from the cache, by two rounds on the first eight rows."""
        if is_new_kind(type(self), self.problem):
            ConditionedSolver(self.problem.head(8), self.point()).advance(2)

    def move_to(self, problem: Problem) -> bool:
        """Continue on the same data and conditions with a larger set. Return False if that is not supported.

        Conditions may exclude the nearest point of a smaller set.
        """
        structure, atoms = problem.constraint.structure(), self.atoms
        same = problem.samples.rows is self.problem.samples.rows and problem.side is self.side
        if not (same and type(atoms) is ConditionColumns and structure.hull and structure.shift is None):
            return False
        if float(np.abs(atoms.u).sum()) > structure.hull.radius:
            return False
        found = self._exact()
        self.problem, self.rows_read, self.stuck, self.bound = problem, 0, False, LowerBound(problem)
        atoms.problem = problem
        atoms.use_set(structure)
        self._forget_progress()
        self.last_value, self.level = np.inf, -np.inf
        gap = self.at.proven(self._gap_at(found.gradient, self.point()))
        self._found = found._replace(gap=gap)
        return True

    @classmethod
    def from_state(cls, problem: Problem, state: Mapping[str, Any]) -> Self:
        """Return a solver that continues from a saved state."""
        start = state["w"] if "w" in state else state["atoms.u"] @ state["atoms.points"]
        shift = problem.constraint.structure().shift
        solver = cls(problem, start if "w" in state or shift is None else start + shift, state)
        solver._restore(state)
        return solver

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied."""
        return super().state() | flat("face", self.face)

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        super()._restore(state)
        self.face = Face(*(copied(state[f"face.{name}"]) for name in Face._fields)) if "face.free" in state else None

    def point(self) -> np.ndarray:
        """Return a copy of the iterate."""
        return without_rounding(self.side, self.atoms.w(), float(self.atoms.sizes().max(initial=0.0)))

    def _bound_on_face(self, found: Evaluation) -> None:
        """Do nothing: the bounds come from the multipliers."""

    # --- a round ------------------------------------------------------------------------------------------------

    def _round(self, found: Evaluation) -> None:
        """Extend the active set, then make Newton steps on its weights until its gap is a fraction of the exact gap."""
        self._look_back(found)
        if self.stuck:  # rounds make no progress any more, but the multipliers may be to blame
            self._found = self._priced_by_linear_program(found)
            self.stuck = not self._found.gap < found.gap
        if self.stuck or self.exhausted or self._found is not found:
            return
        if isinstance(self.atoms, ModelVertices):
            self._model_round(found, self.atoms)
            return
        drop = self.last_value - found.value > 1e-3 * found.gap  # without progress, dropping atoms could cycle
        self.last_value, priced_by = found.value, self.multipliers
        added = self.atoms.join(found.gradient + self.side.combined(priced_by), self.level, drop)
        if added:
            self.face = self._face_at(self.face)
        slope, gap, moved = self.atoms.slope(found.gradient), found.gap, False
        for _ in range(20):
            if self._ends_early() or not self._newton(slope, gap):
                break
            moved, slope, before = True, self.atoms.project(self.at.alpha), gap
            gap = self._active_gap(slope, self.atoms.u)
            self.left = min(1.0, gap / before)
            if gap <= max(0.1 * found.gap, 0.3 * self.target):
                break
        self._found = None
        if not moved:
            self._found = self._priced_again(found)
            repriced = not np.array_equal(
                priced_by, self.multipliers
            )  # at a vertex new prices may let other atoms join
            if not (added or repriced or self._found.gap < found.gap):
                self._found = self._priced_by_linear_program(found)
                self.stuck = not (self._found.gap < found.gap or self._ends_early())

    def _model_round(self, found: Evaluation, atoms: ModelVertices) -> None:
        """Minimise a quadratic model over the whole set under all conditions, and line search toward its minimiser."""
        curvatures = loss_curvatures(self.problem, self.at, *self._damping(found.gap))
        hessian = objective_hessian(self.problem, self.at, curvatures)
        if not hessian.finite():
            self.stuck = True  # the curvatures overflowed
            return
        atoms.use(hessian.H)
        w, here = atoms.w(), atoms.u
        try:
            u = self._over_the_whole_set(found, atoms, hessian.H)
        finally:  # an interrupt leaves the iterate as it was
            atoms.u = np.concatenate([here, np.zeros(len(atoms.u) - len(here))])
        fall = -float(found.gradient @ (atoms.w(u) - w))
        if fall <= 100.0 * VALUE_ROUNDING * self.scale and fall <= 100.0 * self._noise():
            moved = self._step_by_gap(u, atoms.slope(found.gradient), found.gap)
        else:
            moved = self._search(u, fall, True)
        atoms.drop()
        self.face, self._found = self._face_at(self.face), None
        if not moved:
            self._found = self._priced_again(found)
            if not self._found.gap < found.gap:
                self._found = self._priced_by_linear_program(found)
            self.stuck = not (self._found.gap < found.gap or self._ends_early())

    def _over_the_whole_set(self, found: Evaluation, atoms: ModelVertices, H: np.ndarray) -> np.ndarray:
        """Return the weights of vertices that minimise the quadratic model. Vertices join as long as they help."""
        w, gradient, lowest, failures = atoms.w(), found.gradient, np.inf, 0
        for _ in range(500):
            # between vertices a miss by rounding does no harm; the last answer is corrected below
            atoms.u = self._model_minimiser(atoms.H, atoms.slope(gradient), tries=1)
            there = atoms.w()
            gradient = found.gradient + H @ (there - w)
            goal = max(0.1 * self.target, 0.01 * found.gap, self._noise())
            gap = self._gap_by(self.multipliers, gradient, there)
            lowest, failures = (gap, 0) if gap < 0.9 * lowest else (lowest, failures + 1)
            # Stop after fifty vertices that have not reduced the gap of the model by a tenth.
            if gap <= goal or failures == 50 or self._ends_early():
                break
            if not atoms.add(gradient + self.side.combined(self.multipliers)):
                break
            assert self.face is not None
            self.face = self.face._replace(free=np.append(self.face.free, False), side=np.append(self.face.side, -1))
        if self.side.excess(atoms.w()).any():
            atoms.u = self._model_minimiser(atoms.H, atoms.slope(gradient))
        return atoms.u

    def _goal(self, u: np.ndarray) -> tuple[Any, Any]:
        """Return the predictions at the end ``u`` of a step, and the point there if it has been evaluated."""
        return (self.atoms.predict(u), None) if isinstance(self.atoms, ModelVertices) else super()._goal(u)

    def _priced_again(self, found: Evaluation) -> Evaluation:
        """Return the evaluation of a point that was not left, with the gap that new multipliers prove."""
        gap = self.at.proven(self._gap_at(found.gradient, self.point()))
        if not gap < found.gap:
            return found
        rounding = self._gap_rounding(self.at, self.at.alpha)
        self.bound.offer_gap(self.at.value, gap + rounding, found.alpha, self.proving, found.gradient)
        return found._replace(gap=gap)

    def _priced_by_linear_program(self, found: Evaluation) -> Evaluation:
        """Return the evaluation with the smallest gap that any multipliers prove by its gradient.

        They solve the dual of ``min <r, s>`` over the set under all conditions. Where conditions leave the iterate
        hardly any room, the last model has few free weights, and its multipliers price the others wrongly.
        """
        multipliers = best_multipliers(self.problem, self.side, found.gradient)
        if multipliers is None:
            return found
        self.multipliers = multipliers
        return self._priced_again(found)

    def _active_gap(self, slope: np.ndarray, u: np.ndarray) -> float:
        """Return the gap over the active atoms."""
        rows, rest = self.atoms.rows_of(self.side)
        ends = np.where(self.multipliers > 0.0, self.side.upper, self.side.lower)
        on = self.multipliers != 0.0
        unused = self.multipliers[on] * (ends - rest - rows @ u)[on]
        return max(self.atoms.gap(slope + rows.T @ self.multipliers, u), 0.0) + float(np.maximum(unused, 0.0).sum())

    def _newton(self, slope: np.ndarray, gap: float) -> bool:
        """Minimise a quadratic model under all conditions, and line search toward it. Return if the iterate moved."""
        atoms = self.atoms
        if len(atoms.u) == 0:
            return False
        shifts = 0 if self.at.shift is None else len(self.at.shift)
        H = atoms.hessian_at(self._curvatures(gap, True), shifts)
        if not np.isfinite(H).all():
            return False  # the curvatures overflowed
        u = self._model_minimiser(H, slope)
        if not np.isfinite(u).all() or np.array_equal(u, atoms.u):
            return False
        fall = -float(slope @ (u - atoms.u))
        if fall <= 100.0 * VALUE_ROUNDING * self.scale and fall <= 100.0 * self._noise():
            return self._step_by_gap(u, slope, gap)
        return self._search(u, fall, True)

    def _model_minimiser(self, H: np.ndarray, slope: np.ndarray, tries: int = 4) -> np.ndarray:
        """Return the weights that minimise the quadratic model under all conditions, and set the multipliers.

        Inequalities that rounding breaks are tightened, and the model is minimised again: ``tries`` times at most.
        """
        atoms, (rows, rest), domain = self.atoms, self.atoms.rows_of(self.side), self.atoms.domain()
        value = max(self.scale, 1e-300)
        unit = np.minimum(atoms.widths(), np.sqrt(value / np.maximum(np.einsum("jj->j", H), 1e-300)))
        for left in reversed(range(tries)):
            lower, upper = (ends - rest for ends in self._tightened())
            given = rows, lower, upper
            if domain.total is not None:
                least, most = domain.total
                budget = np.broadcast_to(domain.signs, (1, len(slope)))
                given = np.vstack([rows, budget]), np.append(lower, least), np.append(upper, most)
            found = minimise(Program(H, slope, atoms.u, *given, domain.lower, domain.upper), unit, value, self.face)
            self.face = found.face
            # scaling may have put a weight beyond its bound by a rounding
            found = found._replace(x=np.clip(found.x, domain.lower, domain.upper))
            missed = (self.side.excess(atoms.w(found.x)) != 0.0) & (lower < upper) & (self.slack > 0.0)
            if left == 0 or not missed.any():
                break
            if left > 1:  # rounding was larger than expected
                self.slack = np.where(missed, np.minimum(4.0 * self.slack, 64.0), self.slack)
            else:  # nothing satisfies these conditions strictly
                products = rows @ found.x
                held = (found.face.tight[: self.side.m] == 0) & (products >= lower) & (products <= upper)
                self.slack = np.where(held, self.slack, 0.0)
        self.multipliers = found.multipliers[: self.side.m]
        self.level = 0.0 if domain.total is None else float(found.multipliers[-1])
        return found.x

    def _face_at(self, before: Face | None) -> Face:
        """Return the face of the iterate, with the tight rows of an earlier face, after the active set has changed."""
        domain, u = self.atoms.domain(), self.atoms.u
        if before is None:
            before = Face(u != 0.0, u, np.zeros(self.side.m + (domain.total is not None), np.intp))
        return before._replace(free=(u > domain.lower) & (u < domain.upper), side=np.where(u >= domain.upper, 1, -1))

    def _tightened(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of the conditions, moved inward by rounding. Equations stay as they are.

        Products with the weights, in whatever order they are summed, then satisfy the inequalities.
        """
        lower, upper = self.side.lower, self.side.upper
        margin = self.slack * rounding_of(self.side, self.atoms.sizes())
        margin = np.where(lower == upper, 0.0, np.minimum(margin, 0.25 * (upper - lower)))
        return lower + margin, upper - margin

    def _step_by_gap(self, u: np.ndarray, slope: np.ndarray, gap: float) -> bool:
        """Step to ``u`` if that reduces the gap, where the change of the objective is below rounding."""
        there = self._evaluate_predictions(self.atoms.predict(u), self.atoms.linear(u))
        if isinstance(self.atoms, ModelVertices):
            slopes = self.atoms.slope(self.problem.objective.gradient(there.alpha))
        else:
            slopes = self.atoms.project(there.alpha)
        if not (self._active_gap(slopes, u) <= 0.9 * gap and self._increase(there) <= self._noise()):
            return False
        self.atoms.u, self.at, self.tiny_steps = u, there, self.tiny_steps + 1
        return True


def best_multipliers(problem: Problem, side: LinearBounds, gradient: np.ndarray) -> np.ndarray | None:
    """Return the multipliers of the conditions in ``min <gradient, s>`` over the set under all of them.

    It is a linear program in the positive and negative parts of the weights. Return None for sets that are not known to
    be bounds and budgets, and if the program is not solved.
    """
    from scipy.optimize import linprog  # slow to import

    structure, d = problem.constraint.structure(), problem.size
    hull, knapsack = structure.hull, structure.knapsack
    low: Any
    high: Any
    if hull is not None:
        low, high, radius, exact = -np.inf if hull.signed else 0.0, np.inf, hull.radius, not hull.filled
    elif knapsack is not None:
        low, high, radius, exact = knapsack.lower, knapsack.upper, knapsack.radius, knapsack.exhausted
    elif structure.bounds is not None:
        (low, high), radius, exact = structure.bounds, np.inf, False
    else:
        return None
    low, high = (np.broadcast_to(end, d) for end in (low, high))
    A = sparse.csr_array(side.A)
    fixed = 0.0 if structure.shift is None else A @ structure.shift
    lower, upper, equal = side.lower - fixed, side.upper - fixed, side.lower == side.upper
    up, down = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
    both, total = sparse.hstack([A, -A], format="csr"), sparse.csr_array(np.ones((int(np.isfinite(radius)), 2 * d)))
    budget = np.full(total.shape[0], radius)
    most, same = [both[up], -both[down]], [both[equal]]
    ends, goals = [upper[up], -lower[down]], [lower[equal]]
    (same if exact else most).append(total)
    (goals if exact else ends).append(budget)
    limits = np.column_stack(
        [
            np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)]),
            np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)]),
        ]
    )
    scale = float(np.abs(gradient).max()) or 1.0
    cost = np.concatenate([gradient, -gradient]) / scale
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    matrices = sparse.vstack(most, format="csr"), np.concatenate(ends), sparse.vstack(same), np.concatenate(goals)
    found = linprog(cost, *matrices, limits, method="highs-ds", options=options)
    if found.x is None:
        return None
    multipliers, prices = np.zeros(side.m), np.maximum(-found.ineqlin.marginals, 0.0)
    multipliers[up] += prices[: up.sum()]
    multipliers[down] -= prices[up.sum() : up.sum() + down.sum()]
    multipliers[equal] = -found.eqlin.marginals[: equal.sum()]
    return scale * multipliers
