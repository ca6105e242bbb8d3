"""Random problems with linear conditions, their optima by a solver of convex programs, and a recheck of results.

One case of `tests.fuzz` in `EVERY` is such a problem; one in `CONTRADICTORY` of these has no feasible point.
"""

import os
import re
import warnings
from dataclasses import dataclass
from math import isqrt
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

import frankwolfe as fw
from frankwolfe.problem.linear_bounds import Infeasible
from frankwolfe.sets.base import Hull
from tests.fuzz.examine import Outcome
from tests.fuzz.optimum import PROGRAMS
from tests.programs import described

EVERY = int(os.environ.get("FUZZ_CONDITIONS", "36"))
"""One case in so many has conditions: 555 of 20,000."""

CONTRADICTORY = 11
"""One such case in so many has conditions that contradict each other."""

ACCURACY = 1e-6
"""How far objectives may be apart, relative to that of the zero model."""

SETS = {
    "l1": lambda d, rng: fw.L1Ball(rng.uniform(0.5, 5.0)),
    "simplex": lambda d, rng: fw.Simplex(rng.uniform(0.5, 5.0)),
    "nonnegative": lambda d, rng: fw.NonNegativeL1Ball(rng.uniform(0.5, 5.0)),
    "box": lambda d, rng: fw.Box(-rng.random(d), rng.random(d)),
    "linf": lambda d, rng: fw.LinfBall(0.3),
    "translated": lambda d, rng: fw.sets.Translated(fw.L1Ball(1.0), rng.normal(size=d)),
    "l2": lambda d, rng: fw.L2Ball(rng.uniform(0.5, 3.0)),
    "groups": lambda d, rng: fw.GroupBall(np.arange(d) // 3, 2.0),
    "hull": lambda d, rng: fw.ConvexHull(rng.normal(size=(2 * d, d))),
}


def budget(d, rng):
    """Return an l1 budget with bounds: finite, infinite, with zero between them, or not."""
    low, high = np.sort(rng.normal(size=(2, d)), axis=0)
    low, high = np.where(rng.random(d) < 0.4, 0.0, low), np.where(rng.random(d) < 0.4, np.inf, high)
    low, high = np.where(rng.random(d) < 0.3, -np.inf, np.minimum(low, high)), np.maximum(low, high)
    least = np.abs(np.clip(0.0, low, high)).sum()
    return fw.Budget(low, high, least + rng.uniform(0.5, 5.0))


BUDGETS = {
    "budget": budget,
    "caps": lambda d, rng: fw.CappedSimplex(rng.uniform(1.2, 4.0) / d * rng.uniform(0.9, 1.1, size=d), 1.0),
}
"""Sets with bounds and a budget."""

OTHERS = {
    "ellipsoid": lambda d, rng: fw.Ellipsoid(rng.uniform(0.2, 2.0, size=d), 1.5, 0.1 * rng.normal(size=d)),
    "lp": lambda d, rng: fw.LpBall(rng.choice([1.25, 1.5, 3.0]), rng.uniform(0.5, 3.0)),
    "k-support": lambda d, rng: fw.KSupportBall(min(d, 3), rng.uniform(0.5, 3.0)),
    "owl": lambda d, rng: fw.OWLBall(np.sort(rng.uniform(0.2, 1.0, size=d))[::-1], 2.0),
    "latent groups": lambda d, rng: fw.LatentGroupBall([[j, (j + 1) % d] if d > 1 else [j] for j in range(d)], 2.0),
    "monotone": lambda d, rng: fw.MonotoneBox(-1.0, 1.0),
    "product": lambda d, rng: fw.Product([fw.L2Ball(1.0), fw.Simplex(1.0)], [d // 2, d - d // 2]),
    "scaled": lambda d, rng: fw.sets.Scaled(fw.L2Ball(1.0), rng.uniform(0.1, 3.0)),
    "spectrahedron": lambda d, rng: fw.Spectrahedron(rng.uniform(0.5, 3.0)),
}
"""More sets, most of them curved."""

LOSSES = {
    "squared": fw.Squared(),
    "logistic": fw.Logistic(),
    "huber": fw.Huber(0.5),
    "squared-hinge": fw.SquaredHinge(),
}


def is_smooth_set(problem):
    """Whether the set has infinitely many vertices, so that its answers are less exact."""
    return isinstance(problem.constraint, fw.L2Ball | fw.GroupBall)


def problem(seed, sets=tuple(SETS), losses=tuple(LOSSES), most=12, contradictory=False):
    """Return a random problem with up to ``most`` conditions: they may repeat, be zero, or in other units."""
    rng = np.random.default_rng(seed)
    n, d, m = (int(rng.integers(*ends)) for ends in ((5, 120), (1, 25), (1, most)))
    name, loss = str(rng.choice(sets)), str(rng.choice(losses))
    d = {"spectrahedron": isqrt(d) ** 2, "product": max(d, 2)}.get(name, d)
    constraint, X = (SETS | BUDGETS | OTHERS)[name](d, rng), rng.normal(size=(n, d))
    z = X @ (rng.normal(size=d) * (rng.random(d) < 0.5)) + 0.5 * rng.normal(size=n)
    y = np.where(z > 0.0, 1.0, -1.0) if loss in ("logistic", "squared-hinge") else z
    sample_weight = rng.random(n) + 0.01 if rng.random() < 0.4 else None
    side = bounds(rng, constraint, d, m, contradictory)
    return fw.Problem(X, y, LOSSES[loss], constraint, sample_weight, bool(rng.random() < 0.4), side=side)


def bounds(rng, constraint, d, m, contradictory=False):
    """Return conditions that some point of a set satisfies, or that contradict each other."""
    A = rng.normal(size=(m, d)) * (rng.random((m, d)) < rng.choice([0.3, 1.0]))
    if d > 2 and rng.random() < 0.2:  # a chain: each weight at least the one before, or almost so
        A = np.eye(d)[1:] - np.eye(d)[:-1]
        A, m = A[:m], min(m, d - 1)
    # on the boundary of a curved set multipliers may not exist: a mean of more vertices is inside
    count = 3 if isinstance(constraint.structure().hull, Hull) else d + 2
    point = rng.dirichlet(np.ones(count)) @ np.array([constraint.vertex(rng.normal(size=d)) for _ in range(count)])
    at = A @ point
    wide = 0.3 * (np.abs(at).max() + 0.1) * rng.random((2, m)) * (rng.random((2, m)) < 0.8)
    equation, kind = rng.random(m) < 0.25 * (rng.random() < 0.8), rng.random(m)
    lower, upper = np.where(equation, at, at - wide[0]), np.where(equation, at, at + wide[1])
    lower = np.where(~equation & (kind < 0.3), -np.inf, lower)
    upper = np.where(~equation & (kind > 0.7), np.inf, upper)
    if m > 1 and rng.random() < 0.3:
        A[0], lower[0], upper[0] = A[1], lower[1], upper[1]
    if m > 2 and rng.random() < 0.2:
        A[2], lower[2], upper[2] = 0.0, -1.0, 0.0
    if m > 5 and rng.random() < 0.2:  # one that follows from two others
        A[3], lower[3], upper[3] = A[4] + A[5], lower[4] + lower[5], upper[4] + upper[5]
    if contradictory:  # the sum of some of them, beyond the sum of their bounds
        chosen = rng.choice(m, int(rng.integers(1, min(m, 4) + 1)), replace=False)
        upper[chosen] = np.where(np.isfinite(upper[chosen]), upper[chosen], (A @ point)[chosen])
        kept = rng.permutation(m + 1)
        A, size = np.vstack([A, A[chosen].sum(axis=0)]), np.abs(A[chosen]).sum() * np.abs(point).max() + 0.1
        lower = np.append(lower, upper[chosen].sum() + size * 10.0 ** rng.uniform(-6.0, 0.0))
        A, lower, upper, m = A[kept], lower[kept], np.append(upper, np.inf)[kept], m + 1
    units = 10.0 ** rng.uniform(-5.0, 5.0, size=m) if rng.random() < 0.3 else np.ones(m)
    return fw.LinearBounds(A * units[:, None], lower * units, upper * units)


# --- a solver of convex programs -----------------------------------------------------------------------------------


def stated(problem, w, rows=slice(None), miss=0.0):
    """Return the set and some conditions as constraints on ``w``; each may be missed by a part ``miss`` of its row."""
    A, lower, upper = problem.side.A[rows], problem.side.lower[rows], problem.side.upper[rows]
    size = np.abs(A).max(axis=1)
    size[size == 0.0] = 1.0
    A, lower, upper = A / size[:, None], lower / size, upper / size
    equation = (lower == upper) & (isinstance(miss, float))
    down, up = np.isfinite(lower) & ~equation, np.isfinite(upper) & ~equation
    conditions = described(problem.constraint, w)
    conditions += [A[equation] @ w == lower[equation]] if equation.any() else []
    conditions += [A[down] @ w >= lower[down] - miss] if down.any() else []
    return conditions + ([A[up] @ w <= upper[up] + miss] if up.any() else [])


def solve(objective, conditions):
    """Return the least objective by Clarabel, None if it does not find it."""
    program = cp.Problem(cp.Minimize(objective), conditions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an answer that may be inaccurate is no answer
        try:
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        except cp.SolverError:
            return None
    return float(program.value) if program.status == cp.OPTIMAL else None


def optimum(problem, w=None):
    """Return the least objective under all conditions by Clarabel, None if it does not find it."""
    w, b = cp.Variable(problem.size) if w is None else w, cp.Variable() if problem.intercept else 0.0
    z = problem.X @ w + b
    objective = PROGRAMS[type(problem.loss)](problem.loss, z, problem.y, problem.samples.weights)
    return solve(objective, stated(problem, w))


def least_miss(problem, rows):
    """Return by how much the worst of some conditions must be missed, in units of its largest coefficient."""
    w, t = cp.Variable(problem.size), cp.Variable()
    return solve(t, [*stated(problem, w, rows, t), t >= -1.0])


# --- checks ---------------------------------------------------------------------------------------------------------


def excesses(problem, x, least=0.0):
    """Return the violations of all conditions and the sizes of their terms, in longer numbers.

    Weights count as no smaller than a part ``least`` of the largest one.
    """
    side, w = problem.side, np.asarray(x).ravel().astype(np.longdouble)
    A = as_long(side.A)
    excess = np.maximum(np.maximum(side.lower - A @ w, A @ w - side.upper), 0.0)
    terms = np.abs(A) @ np.maximum(np.abs(w), least * np.abs(w).max())
    terms += np.where(np.isfinite(side.lower), np.abs(side.lower), 0.0)
    return excess, terms + np.where(np.isfinite(side.upper), np.abs(side.upper), 0.0)


def check(problem, result, least=0.0):
    """Recheck a result in longer numbers: the point is feasible, and its bound follows from the dual point.

    Where there may be more equations than columns, only as many hold to the rounding of their own sums; the others do
    to that of weights of a part ``least`` of the largest one.
    """
    assert problem.constraint.contains(problem.flat("x", result.x), 1e-12), "the point is not in the set"
    excess, terms = excesses(problem, result.x, least)
    rounding = 1e-13 if least else 1e-14
    worst = int(np.argmax(excess - rounding * terms))
    assert (excess <= rounding * terms).all(), f"row {worst} is violated by {excess[worst]:.2g} of {terms[worst]:.2g}"
    assert least or result.violation <= rounding, f"the violation is {result.violation:.2g}"
    assert result.gap >= 0.0, f"the gap is {result.gap:.2g}"
    if "slopes" in result.state:
        slopes, multipliers = result.state["slopes"], result.state.get("multipliers")
        proven = bound(problem, slopes, multipliers)
        known = proven is None or proven >= result.lower_bound - 1e-12 * problem.zero_value
        assert known, f"the bound is {result.lower_bound!r}, its dual point proves {proven!r}"


def as_long(A):
    """Return a matrix as a dense one of longer numbers."""
    return np.asarray(A.toarray() if sparse.issparse(A) else A, dtype=np.longdouble)


def bound(problem, slopes, multipliers):
    """Return the lower bound that slopes and multipliers prove, in longer numbers; None without a formula."""
    p, y, alpha = problem.samples.weights, problem.y, slopes.astype(np.longdouble)
    if type(problem.loss) not in CONJUGATES or problem.outputs:
        return None
    on = p > 0.0
    conjugate = p[on] @ CONJUGATES[type(problem.loss)](problem.loss, (alpha / p)[on], y[on])
    r = as_long(problem.X).T @ alpha
    ends = 0.0
    if multipliers is not None:
        r = r + as_long(problem.side.A).T @ multipliers
        on = multipliers != 0.0
        ends = np.sum(multipliers[on] * np.where(multipliers > 0.0, problem.side.upper, problem.side.lower)[on])
    return float(-conjugate - problem.constraint.support(-r.astype(np.float64)) - ends)


def _entropy(loss, a, y):
    share = np.clip(-a * y, 0.0, 1.0)
    return sum(np.where(part > 0.0, part * np.log(np.maximum(part, 1e-300)), 0.0) for part in (share, 1 - share))


CONJUGATES = {
    fw.Squared: lambda loss, a, y: 0.5 * a * a + a * y,
    fw.Huber: lambda loss, a, y: 0.5 * a * a + a * y,
    fw.Logistic: _entropy,
    fw.SquaredHinge: lambda loss, a, y: a * y + 0.25 * a * a,
}
"""Conjugates of losses, at slopes that a loss has."""


# --- cases ----------------------------------------------------------------------------------------------------------


@dataclass
class ConditionCase:
    """A case of `tests.fuzz`: a random problem, and whether its conditions contradict each other."""

    problem: Any
    contradictory: bool
    compiled: bool = False

    @property
    def names(self):
        """What to count the case by."""
        side, m = self.problem.side, self.problem.side.m
        return {
            "set": type(self.problem.constraint).__name__,
            "loss": type(self.problem.loss).__name__,
            "intercept": "yes" if self.problem.intercept else "no",
            "conditions": "contradictory" if self.contradictory else "up to 10" if m <= 10 else "more",
            "equations": "some" if (side.lower == side.upper).any() else "none",
        }

    def __str__(self):
        told = ", ".join(f"{key} {value}" for key, value in self.names.items())
        return f"{self.problem.n} x {self.problem.d}, {self.problem.side}, {told}"

    def examine(self):
        """Return what became of the case."""
        outcome = Outcome(facts=["linear conditions"])
        with warnings.catch_warnings(), fw.python_mode():
            warnings.simplefilter("error")
            if self.contradictory:
                outcome.failures += [("contradiction", sentence) for sentence in self._contradiction()]
            else:
                outcome.failures += [("conditions", sentence) for sentence in self._optimum(outcome.facts)]
        return outcome

    def _optimum(self, facts):
        """Yield what is wrong with our answer, by itself and beside a solver's."""
        problem = self.problem
        result, scale = fw.minimize(problem, tol=3e-7, max_passes=500), problem.zero_value
        # where multipliers are huge, the barriers of some sets lose the digits that would prove the last part
        facts += [] if result.success else [f"conditions: {result.status}"]
        if not result.gap <= 1e-4 * max(scale, result.fun):
            yield f"ended {result.status} with a gap of {result.gap / scale:.2g} F(0)"
        try:
            check(problem, result, least=0.1)
        except AssertionError as error:
            yield f"recheck: {error}"
        w = cp.Variable(problem.size)
        best = optimum(problem, w)
        if best is None:
            facts.append("conditions: solver gave no optimum")
            return
        facts.append("conditions: optimum compared")
        theirs = excesses(problem, w.value)
        facts += ["conditions: the solver's point violates one"] * bool((theirs[0] > 1e-14 * theirs[1]).any())
        if result.fun - best > ACCURACY * max(scale, best):
            yield f"fun {result.fun!r} is above a solver's optimum {best!r}, F(0) is {scale!r}"
        if result.lower_bound - best > ACCURACY * max(scale, best):
            yield f"the certified bound {result.lower_bound!r} is above a solver's optimum {best!r}"

    def _contradiction(self):
        """Yield what is wrong with the error: it names rows that contradict each other, and none of them too many."""
        try:
            result = fw.minimize(self.problem, tol=1e-7, max_passes=500)
        except Infeasible as error:
            said, named = str(error), [int(k) for k in re.findall(r"row (\d+)", str(error))]
        else:
            yield f"there is an answer: {result.status}, gap {result.gap:.3g}, violation {result.violation:.3g}"
            return
        if not named:
            yield f"no condition is named: {said}"
            return
        miss = least_miss(self.problem, named)
        if miss is not None and miss <= -1e-8:
            yield f"rows {named} do not contradict each other: they hold with {-miss:.3g} to spare"
        for k in named if len(named) > 1 else ():
            rest = least_miss(self.problem, [j for j in named if j != k])
            if rest is not None and rest > 1e-7:
                yield f"row {k} of {named} is not needed: the others miss by {rest:.3g}"


def make(seed, number):
    """Return case ``number`` of a seed."""
    sets, contradictory = tuple(SETS | BUDGETS | OTHERS), number % CONTRADICTORY == CONTRADICTORY - 1
    return ConditionCase(problem([seed, number, 3], sets, most=51, contradictory=contradictory), contradictory)
