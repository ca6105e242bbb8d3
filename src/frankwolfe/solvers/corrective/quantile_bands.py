"""Several quantiles that do not cross on the rows: one linear program, solved by an interior-point method.

For quantiles ``t_1 < ... < t_q``, with predictions ``z_ik = x_i' w_k + b_k`` and pinball losses ``f_k``,

    minimise    1/q sum_k sum_i p_i f_k(z_ik, y_i)
    subject to  w_k in C,  z_ik <= z_i,k+1  for all rows i and neighbours k, k+1,

where ``C`` is a polyhedron: bounds, a budget, linear conditions. The dual has a slope ``a_ik`` for each loss, between
``(-t_k) p_i`` and ``(1 - t_k) p_i``, and a multiplier for each condition. The primal-dual method of Mehrotra keeps both
points inside, as Portnoy and Koenker (1997) do for a single quantile. A step solves a system in all weights, whose
matrix has a block for each quantile, and blocks between neighbours:

    sum_i D_ik x_i x_i'  +  sum_i E_ik x_i x_i'   (and minus the latter beside the diagonal).

The gap is not that of the method, which holds only once its dual equations do. Each slope is feasible by itself, the
slopes are shifted so that they sum to zero with an intercept, and the oracle of the set pays for what the equations
miss: the bound on the optimum is proven for any slopes and any multipliers of the right sign.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from frankwolfe.arguments.types import ConstraintSet, TableLike
from frankwolfe.linalg.threads import single_threaded
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status, Trace
from frankwolfe.sets import Budget
from frankwolfe.sets.base import Bounds, Hull, Knapsack

STEP_SHARE = 0.995
"""Part of the way to the boundary that a step goes."""

MOST_STEPS = 200
"""Steps after which the run ends. Fifteen to forty are usual."""

PASSES = 3.0
"""Products with all rows, for all quantiles, that a step takes: for the certificate, the prediction, the correction."""

ROUNDING = 16.0 * np.finfo(float).eps
"""Part of the sum of the sizes of all terms by which rounding may change a bound."""

BUDGET_ROOM = 10.0
"""Without a budget, the gap is proven among weights that sum to at most this many times those of the model."""

LEAST_ROOM = 1e-9
"""Two models that differ by less, for rows of largest entry one, count as equal."""

REFINEMENTS = 2
"""Iterative refinements of a solution of the system."""

RIDGE = 1e-14
"""Added to the diagonal of the system, scaled to ones: columns may depend on each other."""


class Polyhedron(NamedTuple):
    """The weights of one quantile: ``G v <= h``, ``E v = e`` for ``v = (w, t)``, where ``t`` bounds sizes of weights.

    The first rows of ``G`` and ``E`` that belong to conditions are known by ``sides``, pairs of a row of the side
    conditions and its sign: their multipliers prove the gap together with the oracle of the set, which stands for all
    other rows. Weights are between ``lower`` and ``upper``, and typically of the size ``unit``; zero if none is known.
    """

    G: sparse.csr_array
    h: np.ndarray
    E: sparse.csr_array
    e: np.ndarray
    upper_sides: list[tuple[int, float]]
    equal_sides: list[int]
    lower: np.ndarray
    upper: np.ndarray
    unit: float

    @classmethod
    def of(cls, problem: Problem, bounded: bool) -> "Polyhedron":
        """Return the polyhedron of a problem; without `bounded` its radius is ignored.

        Raises ValueError if the set is not known to be one.
        """
        d, structure = problem.d, problem.constraint.structure()
        shape = structure.shape if structure.shift is None else None
        if not isinstance(shape, Hull | Bounds | Knapsack):
            kind = type(problem.constraint).__name__
            raise ValueError(
                "crossing=False needs a set of bounds and budgets, such as 'l1', 'nonnegative-l1', 'simplex' or "
                f"'linf', not {kind}: choose one, or pass crossing=True"
            )
        lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
        if isinstance(shape, Hull):
            lower[:] = -np.inf if shape.signed else 0.0
            radius, exact = shape.radius, not shape.filled
        elif isinstance(shape, Bounds):
            lower[:], upper[:], radius, exact = shape.lower, shape.upper, np.inf, False
        else:
            lower[:], upper[:], radius, exact = shape.lower, shape.upper, shape.radius, shape.exhausted
        if not bounded:
            radius = radius if exact else np.inf
            if isinstance(problem.constraint, Budget):  # the structure cuts its bounds by the radius
                lower[:], upper[:] = problem.constraint.lower, problem.constraint.upper
        rows, most, equal, goals = list[Any](), list[Any](), list[Any](), list[Any]()
        upper_sides, equal_sides = list[tuple[int, float]](), list[int]()
        signed, one = bool(np.isfinite(radius) and (lower < 0.0).any()), sparse.eye_array(d, format="csr")
        width = 2 * d if signed else d

        def wide(A: Any, at: int = 0) -> sparse.csr_array:
            A = sparse.csr_array(A)
            parts = [sparse.csr_array((A.shape[0], at)), A, sparse.csr_array((A.shape[0], width - at - A.shape[1]))]
            return sparse.hstack(parts, format="csr")

        if problem.side is not None:
            A, low, high = sparse.csr_array(problem.side.A), problem.side.lower, problem.side.upper
            same = low == high
            for sign, ends in ((1.0, high), (-1.0, low)):
                at = np.flatnonzero(np.isfinite(ends) & ~same)
                rows.append(sign * wide(A[at]))
                most.append(sign * ends[at])
                upper_sides += [(int(j), sign) for j in at]
            equal.append(wide(A[same]))
            goals.append(low[same])
            equal_sides = np.flatnonzero(same).tolist()
        fixed = lower == upper
        equal.append(wide(one[fixed]))
        goals.append(lower[fixed])
        for sign, ends in ((1.0, upper), (-1.0, lower)):
            at = np.isfinite(ends) & ~fixed
            rows.append(sign * wide(one[at]))
            most.append(sign * ends[at])
        if signed:
            rows += [wide(one) - wide(one, d), -wide(one) - wide(one, d)]
            most += [np.zeros(d), np.zeros(d)]
        if np.isfinite(radius):
            total = wide(np.ones((1, d)), d if signed else 0)
            (equal if exact else rows).append(total)
            (goals if exact else most).append(np.array([radius]))
        empty = sparse.csr_array((0, width))
        G, E = sparse.vstack([*rows, empty], format="csr"), sparse.vstack([*equal, empty], format="csr")
        h, e = np.concatenate([*most, []]), np.concatenate([*goals, []])
        return cls(G, h, E, e, upper_sides, equal_sides, lower, upper, radius / d if np.isfinite(radius) else 0.0)


class CentredRows:
    """The rows of the data with a column of ones for the intercept, centred if they are dense.

    Centring does not change the model: the intercept takes the means up. It keeps the digits of the systems.
    """

    def __init__(self, problem: Problem):
        X, n = problem.X, problem.n
        self.intercept, self.d = bool(problem.intercept), problem.d
        self.means = np.zeros(self.d)
        if sparse.issparse(X):
            ones = [sparse.csr_array(np.ones((n, 1)))] if self.intercept else []
            self.Z: Any = sparse.hstack([sparse.csr_array(X, dtype=np.float64), *ones], format="csr")
        else:
            X = np.asarray(X, dtype=np.float64)
            if self.intercept:
                self.means = problem.samples.weights @ X
                X = np.hstack([X - self.means, np.ones((n, 1))])
            self.Z = X

    def products(self, V: np.ndarray) -> np.ndarray:
        """Return the predictions of all quantiles, one in each row of the result."""
        return np.ascontiguousarray((self.Z @ V[:, : self.Z.shape[1]].T).T)

    def sums(self, a: np.ndarray) -> np.ndarray:
        """Return ``Z' a_k`` for each row of ``a``."""
        return np.ascontiguousarray((self.Z.T @ a.T).T)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return ``Z' diag(weights) Z``."""
        if sparse.issparse(self.Z):
            return (self.Z.T @ (sparse.diags_array(weights) @ self.Z)).toarray()
        return self.Z.T @ (weights[:, None] * self.Z)


class Slacks(NamedTuple):
    """Conditions ``value <= limit``: slacks and multipliers, all positive."""

    s: np.ndarray
    m: np.ndarray

    def moved(self, ds: np.ndarray, dm: np.ndarray, primal: float, dual: float) -> "Slacks":
        """Return the slacks after a step."""
        return Slacks(self.s + primal * ds, self.m + dual * dm)


class Move(NamedTuple):
    """A step: changes of the variables, the slopes, the parts of the residuals, slacks and multipliers."""

    v: np.ndarray
    b: np.ndarray
    free: np.ndarray
    a: np.ndarray
    above: np.ndarray
    below: np.ndarray
    own_s: np.ndarray
    own_m: np.ndarray
    cross_s: np.ndarray
    cross_m: np.ndarray


class System(NamedTuple):
    """What the two moves of a step share: the rooms of the slopes, the factors of the system, what equations miss."""

    room_high: np.ndarray
    room_low: np.ndarray
    curvature: np.ndarray
    solve: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
    misses: tuple[np.ndarray, ...]
    dual_miss: np.ndarray


class Bands:
    """One run of the interior-point method. All objectives are multiplied by the number of rows and of quantiles."""

    def __init__(self, problems: Sequence[Problem], quantiles: np.ndarray, bounded: bool):
        problem = problems[0]
        self.problem, self.q, self.n, self.d = problem, len(quantiles), problem.n, problem.d
        self.rows, self.body = CentredRows(problem), Polyhedron.of(problem, bounded)
        self.width = self.body.G.shape[1] + self.rows.intercept
        offset = 0.0 if problem.offset is None else problem.offset
        self.y = np.asarray(problem.y.real - offset, dtype=np.float64)
        weights = problem.n * problem.samples.weights
        used = weights > 0.0
        self.p, self.used = weights, used
        self.low, self.high = -quantiles[:, None] * weights, (1.0 - quantiles[:, None]) * weights
        # a row of zeros without an intercept has the same prediction for all quantiles
        sizes = abs(self.rows.Z).sum(axis=1)
        self.crossed = np.flatnonzero(np.asarray(sizes).ravel() > 0.0)
        if self.q > 1 and not self.rows.intercept and not _has_room(self.rows.Z[self.crossed], self.body):
            raise ValueError(
                "crossing=False without an intercept: there are no two models of which one predicts more than the "
                "other for all rows, so quantiles cannot be apart. Fit an intercept, or pass crossing=True"
            )
        self._begin(quantiles)

    def _begin(self, quantiles: np.ndarray) -> None:
        """Set the first point: constant predictions, slopes of zero, and slacks of the size of the residuals."""
        body, d, q = self.body, self.d, self.q
        self.v = np.zeros((q, body.G.shape[1]))
        self.b = np.zeros(q)
        y, used = self.y[self.used], self.p[self.used]
        if self.rows.intercept:
            order = np.argsort(y)
            places = np.searchsorted(np.cumsum(used[order]), quantiles * used.sum()).clip(max=len(y) - 1)
            self.b = y[order][places]
        off = np.abs(y - self.b[:, None])
        self.scale = float(off.mean()) or float(np.abs(y).max(initial=0.0)) or 1.0
        if body.G.shape[1] > d:
            self.v[:, d:] = body.h[-1] / (2.0 * d)
        errors = self.errors()
        # predictions less targets are ``above - below``; their multipliers are the rooms that slopes have
        self.above, self.below = np.maximum(errors, 0.0) + self.scale, np.maximum(-errors, 0.0) + self.scale
        self.a = np.zeros_like(errors)
        own = np.maximum(body.h - self.v @ body.G.T, 0.0)
        self.own = Slacks(own + 0.1 * (body.unit or self.scale) * (own == 0.0), np.full(own.shape, 0.1))
        gaps = np.maximum(-self.steps(self.predictions()), 0.1 * self.scale)
        self.cross = Slacks(gaps, np.full(gaps.shape, 0.1))
        self.free = np.zeros((q, body.E.shape[0]))

    # --- the problem ---

    def predictions(self, v: np.ndarray | None = None, b: np.ndarray | None = None) -> np.ndarray:
        """Return the predictions, one row for each quantile."""
        v, b = (self.v, self.b) if v is None or b is None else (v, b)
        return self.rows.products(self._joined(v, b))

    def _joined(self, v: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the coefficients of the columns of ``Z``."""
        return np.hstack([v[:, : self.d], b[:, None]]) if self.rows.intercept else v[:, : self.d]

    def errors(self) -> np.ndarray:
        """Return predictions less targets, of the rows with a weight."""
        return (self.predictions() - self.y)[:, self.used]

    def steps(self, z: np.ndarray) -> np.ndarray:
        """Return ``z_ik - z_i,k+1``, which must not be positive."""
        return (z[:-1] - z[1:])[:, self.crossed]

    def value(self, w: np.ndarray) -> float:
        """Return the objective of weights with the present intercepts."""
        off = self.predictions(w, self.b) - self.y
        return float(np.maximum(self.high * off, self.low * off).sum())

    def spread(self, m: np.ndarray) -> np.ndarray:
        """Return for each quantile and row what multipliers of the crossings add to the slopes."""
        found = np.zeros((self.q, self.n))
        found[:-1, self.crossed] += m
        found[1:, self.crossed] -= m
        return found

    def slopes(self) -> np.ndarray:
        """Return the slopes of all rows; those of rows without a weight are zero."""
        found = np.zeros((self.q, self.n))
        found[:, self.used] = self.a
        return found

    # --- the bound ---

    def bound(self, constraint: ConstraintSet) -> float:
        """Return a lower bound on the optimum, over a set that has the oracle of the constraint."""
        a, m = np.clip(self.slopes(), self.low, self.high), np.maximum(self.cross.m, 0.0)
        spread = self.spread(m)
        if self.rows.intercept:  # slopes must sum to zero: use the room that they have
            for _ in range(2):
                off = a.sum(axis=1) + spread.sum(axis=1)
                room = np.where(off[:, None] > 0.0, a - self.low, self.high - a)
                total = room.sum(axis=1)
                if (total < np.abs(off)).any():
                    return -np.inf
                a = np.clip(a - room * (off / np.where(total > 0.0, total, 1.0))[:, None], self.low, self.high)
        r = self.rows.sums(a + spread)[:, : self.d]
        terms = -(a @ self.y)
        sizes = np.abs(a) @ np.abs(self.y)
        side = self.problem.side
        if side is not None:
            prices = np.zeros((self.q, side.m))
            for k, (j, sign) in enumerate(self.body.upper_sides):
                prices[:, j] += sign * np.maximum(self.own.m[:, k], 0.0)
            for k, j in enumerate(self.body.equal_sides):
                prices[:, j] = self.free[:, k]
            r = r + (side.A.T @ prices.T).T
            ends = np.where(prices > 0.0, side.upper, side.lower)
            paid = np.where(prices == 0.0, 0.0, prices * np.where(np.isfinite(ends), ends, 0.0))
            terms, sizes = terms - paid.sum(axis=1), sizes + np.abs(paid).sum(axis=1)
        least = np.array([-float(constraint.proven_support(-row)) for row in r])
        sizes = sizes + np.abs(least)
        return float((terms + least).sum()) - ROUNDING * float(sizes.sum())

    def best(self, before: "BandModel | None") -> "BandModel | None":
        """Return the better of a model and the present one, if that keeps all conditions."""
        if self.violation() > ROUNDING:
            return before
        w = np.clip(self.v[:, : self.d], self.body.lower, self.body.upper)  # no rounding beyond a bound
        value = self.value(w)
        if before is not None and not value < before.value:
            return before
        return BandModel(value, w, self.b.copy())

    def violation(self) -> float:
        """Return by how much the worst condition of the problem is violated, relative to the size of its terms."""
        z, v = self.predictions(), self.v
        size = float(np.abs(z).max(initial=0.0)) + self.scale
        crossing = float(self.steps(z).max(initial=0.0)) / size
        body, found = self.body, [crossing]
        for A, ends, equal in ((body.G, body.h, False), (body.E, body.e, True)):
            if A.shape[0]:
                miss = v @ A.T - ends
                terms = np.abs(v).max(axis=1)[:, None] * abs(A).sum(axis=1) + np.abs(ends) + 1e-300
                found.append(float(((np.abs(miss) if equal else miss) / terms).max()))
        return max(found)

    # --- a step ---

    def step(self) -> bool:
        """Make a step of Mehrotra's method. Return whether the system could be solved."""
        room_high, room_low = self.high[:, self.used] - self.a, self.a - self.low[:, self.used]
        curvature = 1.0 / (self.above / room_high + self.below / room_low)
        solve = self._factor(curvature)
        if solve is None:
            return False
        system = System(room_high, room_low, curvature, solve, self._misses(), self._dual_miss())
        products = self._products(system)
        count = sum(part.size for part in products)
        now = sum(float(part.sum()) for part in products) / count
        first = self._move(system, [-part for part in products])
        after = self._product_after(system, first, *self._lengths(system, first, 1.0)) / count
        goal = now * min(1.0, max(after / now, 1e-6)) ** 3
        ignored = [first.above * first.a, -first.below * first.a]  # the first move is exact up to these products
        ignored += [-first.own_s * first.own_m, -first.cross_s * first.cross_m]
        second = self._move(system, [goal - part + extra for part, extra in zip(products, ignored, strict=True)])
        if not all(np.isfinite(part).all() for part in second):
            return False
        primal, dual = self._lengths(system, second, STEP_SHARE)
        self.v, self.b, self.free = (
            self.v + primal * second.v,
            self.b + primal * second.b,
            self.free + dual * second.free,
        )
        self.above, self.below = self.above + primal * second.above, self.below + primal * second.below
        self.a = self.a + dual * second.a
        self.own = self.own.moved(second.own_s, second.own_m, primal, dual)
        self.cross = self.cross.moved(second.cross_s, second.cross_m, primal, dual)
        return True

    def _misses(self) -> tuple[np.ndarray, ...]:
        """Return what the primal equations miss: of residuals, crossings, rows of ``G`` and rows of ``E``."""
        z, body = self.predictions(), self.body
        residuals = (self.y - z)[:, self.used] + self.above - self.below
        own = body.h - self.v @ body.G.T - self.own.s
        return residuals, -self.steps(z) - self.cross.s, own, body.e - self.v @ body.E.T

    def _dual_miss(self) -> np.ndarray:
        """Return what the dual equations miss: the negative gradient of the Lagrangian in all variables."""
        found = -self._among(self.rows.sums(self.slopes() + self.spread(self.cross.m)))
        found[:, : self.v.shape[1]] -= self.own.m @ self.body.G + self.free @ self.body.E
        return found

    def _among(self, sums: np.ndarray) -> np.ndarray:
        """Return sums over the columns of ``Z`` at their places among all variables ``(w, t, b)``."""
        found = np.zeros((self.q, self.width))
        found[:, : self.d] = sums[:, : self.d]
        if self.rows.intercept:
            found[:, -1] = sums[:, self.d]
        return found

    def _products(self, system: "System") -> tuple[np.ndarray, ...]:
        """Return the products of all slacks with their multipliers, which go to zero."""
        own, cross = self.own.s * self.own.m, self.cross.s * self.cross.m
        return self.above * system.room_high, self.below * system.room_low, own, cross

    def _move(self, system: "System", goals: Sequence[np.ndarray]) -> "Move":
        """Return the Newton step by which the products change by `goals`, to first order."""
        above, below, own, cross = goals
        miss, miss_cross, miss_own, miss_equal = system.misses
        shift = miss + above / system.room_high - below / system.room_low
        part = np.zeros((self.q, self.n))
        part[:, self.used] = system.curvature * shift
        part += self.spread(self.cross.m / self.cross.s * (miss_cross - cross / self.cross.m))
        right = system.dual_miss + self._among(self.rows.sums(part))
        right[:, : self.v.shape[1]] += (self.own.m / self.own.s * (miss_own - own / self.own.m)) @ self.body.G
        v, b, free = system.solve(right, miss_equal)
        z = self.predictions(v, b)
        a = system.curvature * (z[:, self.used] - shift)
        own_s, cross_s = miss_own - v @ self.body.G.T, miss_cross - self.steps(z)
        return Move(
            v,
            b,
            free,
            a,
            (above + self.above * a) / system.room_high,
            (below - self.below * a) / system.room_low,
            own_s,
            (own - self.own.m * own_s) / self.own.s,
            cross_s,
            (cross - self.cross.m * cross_s) / self.cross.s,
        )

    def _product_after(self, system: "System", move: "Move", primal: float, dual: float) -> float:
        """Return the sum of the products after a step."""
        above = (self.above + primal * move.above) * (system.room_high - dual * move.a)
        below = (self.below + primal * move.below) * (system.room_low + dual * move.a)
        own = self.own.moved(move.own_s, move.own_m, primal, dual)
        cross = self.cross.moved(move.cross_s, move.cross_m, primal, dual)
        return float(above.sum() + below.sum() + (own.s * own.m).sum() + (cross.s * cross.m).sum())

    def _lengths(self, system: "System", move: "Move", share: float) -> tuple[float, float]:
        """Return the steps, at most 1, that keep slacks, and multipliers and slopes, within their bounds."""
        primal = ((self.above, move.above), (self.below, move.below), (self.own.s, move.own_s))
        dual = ((system.room_high, -move.a), (system.room_low, move.a), (self.own.m, move.own_m))
        return (
            _longest((*primal, (self.cross.s, move.cross_s)), share),
            _longest((*dual, (self.cross.m, move.cross_m)), share),
        )

    def _factor(self, curvature: np.ndarray) -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None:
        """Return a function that solves the system for a right side, None if it has no factors."""
        body, q, width = self.body, self.q, self.width
        own, cross = self.own.m / self.own.s, self.cross.m / self.cross.s
        at = np.arange(self.d)  # places of the columns of Z among the variables
        if self.rows.intercept:
            at = np.append(at, width - 1)
        H = np.zeros((q, width, q, width))
        between = np.zeros((q + 1, self.n))
        between[1:-1, self.crossed] = cross
        for k in range(q):
            whole = between[k] + between[k + 1]
            whole[self.used] += curvature[k]
            H[k, at[:, None], k, at] = self.rows.gram(whole)
            if k + 1 < q:
                block = -self.rows.gram(between[k + 1])
                H[k, at[:, None], k + 1, at] = block
                H[k + 1, at[:, None], k, at] = block
            m = body.G.shape[1]
            H[k, :m, k, :m] += (body.G.T @ (sparse.diags_array(own[k]) @ body.G)).toarray()
        K = H.reshape(q * width, q * width)
        scale = 1.0 / np.sqrt(np.maximum(K.diagonal(), 1e-300))
        K *= scale[:, None]
        K *= scale
        ridged = K.copy()
        ridged[np.diag_indices_from(K)] += RIDGE
        try:
            factor = cho_factor(ridged, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        if not np.isfinite(factor[0].diagonal()).all():
            return None
        m = body.E.shape[0]
        E = sparse.kron(sparse.eye_array(q), sparse.hstack([body.E, sparse.csr_array((m, width - body.E.shape[1]))]))
        E = sparse.csr_array(E)

        def alone(right: np.ndarray) -> np.ndarray:
            goal = (right.T * scale).T
            found = cho_solve(factor, goal, check_finite=False)
            for _ in range(REFINEMENTS):  # takes the ridge back, and most of the rounding
                found += cho_solve(factor, goal - K @ found, check_finite=False)
            return (found.T * scale).T

        inner = alone(E.T.toarray()) if m else None

        def solve(right: np.ndarray, miss: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            x, price = alone(right.ravel()), np.zeros((q, m))
            if inner is not None:
                price = np.linalg.lstsq(E @ inner, E @ x - miss.ravel(), rcond=1e-15)[0]
                x, price = x - inner @ price, price.reshape(q, m)
            x = x.reshape(q, width)
            b = x[:, -1] if self.rows.intercept else np.zeros(q)
            return x[:, : body.G.shape[1]], b, price

        return solve


def _has_room(X: TableLike, body: Polyhedron) -> bool:
    """Return whether ``X (u - v)`` can be positive in all rows for ``u``, ``v`` in a polyhedron."""
    from scipy.optimize import linprog  # slow to import

    n, width = X.shape[0], body.G.shape[1]
    X = sparse.csr_array(X)
    X = sparse.diags_array(1.0 / np.abs(X).max(axis=1).toarray().ravel()) @ X
    wide = sparse.hstack([X, sparse.csr_array((n, width - X.shape[1]))])
    G, E = (
        sparse.hstack([sparse.kron(sparse.eye_array(2), A), sparse.csr_array((2 * len(A.indptr) - 2, 1))])
        for A in (body.G, body.E)
    )
    rows = sparse.vstack([sparse.hstack([-wide, wide, sparse.csr_array(np.ones((n, 1)))]), G], format="csr")
    ends, goals = np.concatenate([np.zeros(n), body.h, body.h]), np.concatenate([body.e, body.e])
    cost = np.append(np.zeros(2 * width), -1.0)
    limits = [(None, None)] * (2 * width) + [(0.0, 1.0)]
    found = linprog(cost, rows, ends, sparse.csr_array(E), goals, limits, method="highs")
    return found.status != 0 or found.x[-1] > LEAST_ROOM


def _longest(pairs: Sequence[tuple[np.ndarray, np.ndarray]], share: float) -> float:
    """Return the longest step, at most 1, that leaves all numbers positive, times `share` if it is shorter."""
    longest = np.inf
    for values, changes in pairs:
        falling = changes < 0.0
        if falling.any():
            longest = min(longest, float((values[falling] / -changes[falling]).min()))
    return min(1.0, share * longest)


class BandModel(NamedTuple):
    """A model that keeps all conditions: its objective, its weights and its (centred) intercepts."""

    value: float
    w: np.ndarray
    b: np.ndarray


class Proof:
    """The best lower bound so far. Without a budget it is proven for ten times the largest weights of the run."""

    def __init__(self, constraint: ConstraintSet, bounded: bool):
        self.constraint, self.budget = constraint, None if bounded or constraint.own_radius() is None else 0.0
        self.lower = 0.0  # no loss is negative

    def look(self, run: Bands) -> None:
        """Improve the bound by the slopes and multipliers of a run."""
        if self.budget is not None:
            needed = BUDGET_ROOM * float(np.abs(run.v[:, : run.d]).sum(axis=1).max()) or run.scale
            if needed > self.budget:
                self.budget, self.lower = needed, 0.0
                self.constraint = self.constraint.with_radius(needed)
        self.lower = max(self.lower, run.bound(self.constraint))


@single_threaded
def minimize_bands(
    problems: Sequence[Problem], quantiles: np.ndarray, tol: float, max_passes: float | None, bounded: bool = True
) -> tuple[Result, float | None]:
    """Return the certified result of the joint problem, and the budget within which it is proven if it has none.

    Parameters
    ----------
    problems : sequence of Problem
        The problem of each quantile alone. They differ in their losses only.
    quantiles : array of shape (q,)
        The quantiles, increasing.
    tol : float
        The gap must be at most ``tol`` times the objective of constant predictions (of zero without an intercept).
    max_passes : float or None
        Budget, in passes over the data.
    bounded : bool
        Whether the radius of the set counts.

    Returns
    -------
    result : Result
        Its ``x`` has a column for each quantile.
    budget : float or None
        Without `bounded`: the sum of the absolute weights of a quantile for which the gap is proven.
    """
    begun, problem = perf_counter(), problems[0]
    run = Bands(problems, quantiles, bounded)
    unit = 1.0 / (run.q * run.n)
    zero_value = float(np.mean([one.zero_value for one in problems]))
    tolerance = float(np.mean([one.tolerance(tol) for one in problems]))
    most = MOST_STEPS if max_passes is None else min(MOST_STEPS, max(1, int(max_passes / PASSES)))
    status, nit, best, proof = Status.MAX_PASSES, 0, run.best(None), Proof(problem.constraint, bounded)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        while best is None or unit * (best.value - proof.lower) > tolerance:
            if nit == most or not run.step():
                status = Status.MAX_PASSES if nit == most else Status.STALLED
                break
            nit += 1
            best = run.best(best)
            proof.look(run)
        else:
            status = Status.CONVERGED
    if best is None:  # no point kept all conditions
        best = BandModel(np.inf, run.v[:, : run.d], run.b)
    fun, gap = unit * best.value, max(unit * (best.value - proof.lower), 0.0)
    trace, passes = Trace(problems[run.q // 2]), PASSES * nit
    seconds = perf_counter() - begun
    trace.note(nit=nit, passes=passes, seconds=seconds, fun=fun, gap=gap, fw_gap=gap, lower_bound=fun - gap)
    met = "is within" if status is Status.CONVERGED else "is above"
    return Result(
        x=np.ascontiguousarray(best.w.T),
        intercept=best.b - best.w @ run.rows.means,
        fun=fun,
        gap=gap,
        fw_gap=gap,
        gap_estimate=gap,
        status=status,
        message=f"The exact gap {gap:.3g} {met} the tolerance {tolerance:.3g}.",
        tolerance=tolerance,
        nit=nit,
        passes=passes,
        checks=0,
        certificate_passes=0.0,
        seconds=seconds,
        certificate_seconds=0.0,
        compile_seconds=0.0,
        convex=True,
        method="auto: quantile bands",
        batch_size=problem.n,
        trace=trace,
        state={},
        known_advice=[],
        prices={},
        zero_value=zero_value,
    ), proof.budget
