"""The optimum by an interior-point solver, for convex problems whose numbers it can handle."""

import os
import warnings

import cvxpy as cp
import numpy as np

import frankwolfe as fw
from frankwolfe.solvers.dual_bound import balanced
from tests.programs import described, has_program

SHARE = float(os.environ.get("FUZZ_OPTIMA", "0.1"))
"""Part of the cases that a solver can be told for which it is asked: some half of all."""

STALE = 5
"""Tables of unlike slopes that are tried on each problem, from hardly stale to hopelessly so."""

ACCURACY = 1e-6
"""What the solver's answer is trusted to, relative to the objective of the zero model without an intercept."""

SOLVER_ROUNDING = 1e-9
"""The solver's tolerance, relative to the terms that make up its objective."""


def wanted(case, run):
    """Whether to ask the solver: for a share of the problems it can be told, with data of ordinary size."""
    told = type(case.loss) in PROGRAMS and has_program(run.problem.constraint)
    if not told or case.rng().random() > SHARE:
        return False
    sizes = np.abs(run.recomputed.X).astype(np.float64)
    sizes = sizes[sizes > 0.0]
    even = not sizes.size or (sizes.max() < 1e3 and sizes.min() > 1e-3)
    return even and 1e-3 < float(run.recomputed.reach.max()) < 1e3


def against_solver(run, facts):
    """The solver's optimum lies between the certified bound and the objective."""
    scale = float(run.recomputed.zero) or 1.0
    try:
        best = solve(run, scale)
    except cp.SolverError:
        best = None
    if best is None:
        facts.append("solver gave no optimum")
        return
    facts.append("optimum compared")
    result = run.result
    room = ACCURACY * max(scale, result.fun, run.recomputed.linear_reach)
    if run.recomputed.loss.log_link:  # to the solver a deviance is the difference of terms of this size
        y = run.recomputed.y.astype(np.float64)
        room += SOLVER_ROUNDING * float(np.max(1.0 + np.abs(y) + np.abs(np.log(np.where(y > 0.0, y, 1.0)))))
    # a point of the set that is lower tells of the solver, not of us: that it is in the set, and its value, are checked
    if best > result.fun + 10.0 * room and not run.side:  # a point that violates side constraints may be lower
        yield f"a solver's optimum {best!r} is above fun {result.fun!r}"
    if result.fun - result.gap > best + room:
        yield f"the certified bound {result.fun - result.gap!r} is above a solver's optimum {best!r}"
    for bound in () if run.side else bounds_of_stale_tables(run):
        facts.append("table that proves something" if np.isfinite(bound) else "table that proves nothing")
        if bound > best + room:
            yield f"the dual value {bound!r} of a table is above a solver's optimum {best!r}"


def bounds_of_stale_tables(run):
    """Lower bounds by slopes that the loss has at predictions drawn around those of the result, row by row."""
    problem, rng = run.problem, run.case.rng()
    flat = problem.flat("x", run.result.x)
    at = problem.objective.point(problem.objective.predict(flat), problem.guess)
    z, samples = at.shifted().reshape(problem.samples.shape), problem.samples
    for spread in 10.0 ** rng.uniform(-4.0, 1.0, size=STALE):
        moved = z + spread * (1.0 + np.abs(z).max()) * rng.normal(size=z.shape)
        slopes = [problem.objective.base_loss.derivative(moved[i], samples.targets[i]) for i in range(problem.n)]
        table = balanced(problem, at, (samples.weights * np.array(slopes).T).T)
        yield -np.inf if table is None else problem.dual_value(table)


def solve(run, scale):
    """Least objective, or None where the solver does not say that it is optimal; it sees the objective over a scale."""
    known, problem = run.recomputed, run.problem
    X, y, p = (np.asarray(values, dtype=np.float64) for values in (known.X, known.y, known.p))
    w = cp.Variable(known.size)
    if known.outputs:
        b = cp.Variable((1, known.outputs)) if known.intercept else np.zeros((1, known.outputs))
        z = X @ cp.reshape(w, (X.shape[1], known.outputs), order="C") + np.ones((len(X), 1)) @ b
    else:
        z = X @ w + (cp.Variable() if known.intercept else 0.0) + known.offset.astype(np.float64)
    conditions = described(problem.constraint, w)
    if run.side:
        for row, low, high in zip(run.side.A, run.side.lower, run.side.upper, strict=True):
            conditions += [row @ w >= low] * bool(np.isfinite(low)) + [row @ w <= high] * bool(np.isfinite(high))
    objective = PROGRAMS[type(known.loss)](known.loss, z, y, p / scale)
    objective += (known.linear.astype(np.float64) / scale) @ w
    program = cp.Problem(cp.Minimize(objective), conditions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an answer that may be inaccurate is no answer: see below
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return scale * float(program.value) if program.status == cp.OPTIMAL else None


def _multinomial(loss, z, y, p):
    true = cp.sum(cp.multiply(np.eye(loss.outputs)[y.astype(np.int64)], z), axis=1)
    return p @ (cp.log_sum_exp(z, axis=1) - true)


def _modified_huber(loss, z, y, p):
    return p @ cp.huber(cp.pos(1 - cp.multiply(y, z)), 2)  # a square up to 2, then a line of slope 4


def _poisson(loss, z, y, p):
    return p @ (cp.exp(z) - cp.multiply(y, z) + y * np.log(np.where(y > 0.0, y, 1.0)) - y)


def _tweedie(loss, z, y, p):
    s, u = 2.0 - loss.power, loss.power - 1.0
    return p @ (cp.exp(s * z) / s + cp.multiply(y, cp.exp(-u * z)) / u - y**s / (s * u))


PROGRAMS = {
    fw.Logistic: lambda loss, z, y, p: p @ cp.logistic(-cp.multiply(y, z)),
    fw.Squared: lambda loss, z, y, p: p @ cp.square(z - y) / 2,
    fw.Huber: lambda loss, z, y, p: p @ cp.huber(z - y, loss.delta) / 2,
    fw.SquaredHinge: lambda loss, z, y, p: p @ cp.square(cp.pos(1 - cp.multiply(y, z))),
    fw.ModifiedHuber: _modified_huber,
    fw.Hinge: lambda loss, z, y, p: p @ cp.pos(1 - cp.multiply(y, z)),
    fw.Pinball: lambda loss, z, y, p: p @ cp.maximum(loss.quantile * (y - z), (1 - loss.quantile) * (z - y)),
    fw.Poisson: _poisson,
    fw.Gamma: lambda loss, z, y, p: p @ (z + cp.multiply(y, cp.exp(-z)) - np.log(y) - 1.0),
    fw.losses.Tweedie: _tweedie,
    fw.Multinomial: _multinomial,
    fw.MultitaskSquared: lambda loss, z, y, p: p @ cp.sum(cp.square(z - y), axis=1) / 2,
}
"""Weighted losses as convex programs take them. A convex loss that is not here is left to the other checks."""
