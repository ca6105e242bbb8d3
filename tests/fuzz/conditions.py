"""Random problems with linear conditions, their optima by a solver of convex programs, and a recheck of results."""

import warnings

import cvxpy as cp
import numpy as np
from scipy import sparse

import frankwolfe as fw
from tests.fuzz.optimum import PROGRAMS
from tests.programs import described

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
LOSSES = {
    "squared": fw.Squared(),
    "logistic": fw.Logistic(),
    "huber": fw.Huber(0.5),
    "squared-hinge": fw.SquaredHinge(),
}


def is_smooth_set(problem):
    """Whether the set has infinitely many vertices, so that its answers are less exact."""
    return isinstance(problem.constraint, fw.L2Ball | fw.GroupBall)


def problem(number, sets=tuple(SETS), losses=tuple(LOSSES)):
    """Return a random problem: rows may repeat, be zero, equations, or in other units."""
    rng = np.random.default_rng(number)
    n, d, m = (int(rng.integers(*ends)) for ends in ((5, 120), (1, 25), (1, 12)))
    name, loss = str(rng.choice(sets)), str(rng.choice(losses))
    constraint, X = (SETS | BUDGETS)[name](d, rng), rng.normal(size=(n, d))
    z = X @ (rng.normal(size=d) * (rng.random(d) < 0.5)) + 0.5 * rng.normal(size=n)
    y = np.where(z > 0.0, 1.0, -1.0) if loss in ("logistic", "squared-hinge") else z
    sample_weight = rng.random(n) + 0.01 if rng.random() < 0.4 else None
    side = bounds(rng, constraint, d, m)
    return fw.Problem(X, y, LOSSES[loss], constraint, sample_weight, bool(rng.random() < 0.4), side=side)


def bounds(rng, constraint, d, m):
    """Return conditions that some point of a set satisfies."""
    A = rng.normal(size=(m, d)) * (rng.random((m, d)) < rng.choice([0.3, 1.0]))
    point = rng.dirichlet(np.ones(3)) @ np.array([constraint.vertex(rng.normal(size=d)) for _ in range(3)])
    at = A @ point
    wide = 0.3 * (np.abs(at).max() + 0.1) * rng.random((2, m)) * (rng.random((2, m)) < 0.8)
    equation, kind = rng.random(m) < 0.25, rng.random(m)
    lower, upper = np.where(equation, at, at - wide[0]), np.where(equation, at, at + wide[1])
    lower = np.where(~equation & (kind < 0.3), -np.inf, lower)
    upper = np.where(~equation & (kind > 0.7), np.inf, upper)
    if m > 1 and rng.random() < 0.3:
        A[0], lower[0], upper[0] = A[1], lower[1], upper[1]
    if m > 2 and rng.random() < 0.2:
        A[2], lower[2], upper[2] = 0.0, -1.0, 0.0
    units = 10.0 ** rng.uniform(-5.0, 5.0, size=m) if rng.random() < 0.3 else np.ones(m)
    return fw.LinearBounds(A * units[:, None], lower * units, upper * units)


def optimum(problem):
    """Return the least objective under all conditions by Clarabel, None if it does not find it."""
    size = np.abs(problem.side.A).max(axis=1)
    size[size == 0.0] = 1.0
    A, lower, upper = problem.side.A / size[:, None], problem.side.lower / size, problem.side.upper / size
    w, b = cp.Variable(problem.size), cp.Variable() if problem.intercept else 0.0
    equation, down, up = lower == upper, np.isfinite(lower), np.isfinite(upper)
    conditions = described(problem.constraint, w)
    for rows, build in (
        (equation, lambda on: A[on] @ w == lower[on]),
        (down & ~equation, lambda on: A[on] @ w >= lower[on]),
        (up & ~equation, lambda on: A[on] @ w <= upper[on]),
    ):
        conditions += [build(rows)] if rows.any() else []
    z = problem.X @ w + b
    objective = PROGRAMS[type(problem.loss)](problem.loss, z, problem.y, problem.samples.weights)
    program = cp.Problem(cp.Minimize(objective), conditions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an answer that may be inaccurate is no answer
        try:
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        except cp.SolverError:
            return None
    return float(program.value) if program.status == cp.OPTIMAL else None


def check(problem, result):
    """Recheck a result in longer numbers: the point is feasible, and its bound follows from the dual point."""
    side, x = problem.side, problem.flat("x", result.x)
    assert problem.constraint.contains(x, 1e-12)
    A, w = as_long(side.A), x.astype(np.longdouble)
    excess = np.maximum(np.maximum(side.lower - A @ w, A @ w - side.upper), 0.0)
    terms = np.abs(A) @ np.abs(w) + np.where(np.isfinite(side.lower), np.abs(side.lower), 0.0)
    terms += np.where(np.isfinite(side.upper), np.abs(side.upper), 0.0)
    assert (excess <= 1e-14 * terms).all()
    assert result.violation <= 1e-14
    assert result.gap >= 0.0
    if "slopes" in result.state:
        slopes, multipliers = result.state["slopes"], result.state.get("multipliers")
        proven = bound(problem, slopes, multipliers)
        assert proven is None or proven >= result.lower_bound - 1e-12 * problem.zero_value


def as_long(A):
    """Return a matrix as a dense one of longer numbers."""
    return np.asarray(A.toarray() if sparse.issparse(A) else A, dtype=np.longdouble)


def bound(problem, slopes, multipliers):
    """Return the lower bound that slopes and multipliers prove, in longer numbers; None without a formula."""
    p, y, alpha = problem.samples.weights, problem.y, slopes.astype(np.longdouble)
    if not isinstance(problem.loss, fw.Squared | fw.Logistic) or problem.outputs:
        return None
    a = alpha / p
    if isinstance(problem.loss, fw.Squared):
        conjugate = p @ (0.5 * a * a + a * y)
    else:
        share = np.clip(-a * y, 0.0, 1.0)
        conjugate = p @ sum(
            np.where(part > 0.0, part * np.log(np.maximum(part, 1e-300)), 0.0) for part in (share, 1 - share)
        )
    r = as_long(problem.X).T @ alpha
    ends = 0.0
    if multipliers is not None:
        r = r + as_long(problem.side.A).T @ multipliers
        on = multipliers != 0.0
        ends = np.sum(multipliers[on] * np.where(multipliers > 0.0, problem.side.upper, problem.side.lower)[on])
    return float(-conjugate - problem.constraint.support(-r.astype(np.float64)) - ends)
