"""What must hold of every answer. A check yields a sentence for each way in which it does not."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from scipy import sparse

import frankwolfe as fw
from frankwolfe.certificates.verifier import LOSSES, SETS
from frankwolfe.methods.steps import STEPS
from tests.fuzz.cases import LENGTHS
from tests.fuzz.exact import EPS, Exact, Recomputed
from tests.fuzz.rational import mean_of_halved_squares
from tests.reference.losses import derivatives, wide
from tests.reference.sets import violation

FEASIBLE = 1e-9
"""Excess over a condition of a set, relative to its size, that counts as rounding."""

LEAST = 1e-12
"""Part of the numbers that a gap is made of that counts as their rounding, where an intercept alone may fit."""

ROOM = 4.0
"""How many times the bound on rounding two ways to compute the same may differ by."""

NEVER_RISES = (fw.methods.LineSearch, fw.methods.Secant, fw.methods.Monotone)
"""Step rules that look at the objective itself: it never rises, whatever the gradient estimate."""

NEVER_RISES_WITH_THE_GRADIENT = (fw.methods.ShortStep, fw.methods.Backtracking)


@dataclass
class Run:
    """A case, what `minimize` made of it, and the same from scratch."""

    case: Any
    problem: Any
    result: Any
    start: Any
    again: Any
    recomputed: Recomputed
    exact: Exact
    seen: list = field(default_factory=list)

    @property
    def method(self):
        """The composition that ran, where the name of one was given."""
        given = self.case.method
        return fw.methods.METHODS[given] if isinstance(given, str) else given

    @property
    def side(self):
        """The side constraints, if any: with them a point may be below the optimum, and its gap negative."""
        return self.case.side

    @cached_property
    def best(self):
        """What another run from the result finds, and the same from scratch."""
        found = fw.minimize(self.problem, "auto", tol=1e-10, max_passes=60.0, x0=self.result.x, trace=0)
        return found, self.recomputed.at(found.x, found.intercept)


def finite(run):
    """Every number of a result is finite, and counts count."""
    result = run.result
    numbers = ("fun", "gap", "gap_estimate", "tolerance", "nit", "passes", "checks", "seconds", "certificate_seconds")
    unproven = run.case.intercept and (run.problem.needs_smoothing or _bends_sharply(run))
    for name in numbers:
        if name in ("gap", "gap_estimate") and unproven:
            continue  # slopes cannot always be made to sum to zero: then nothing is proven
        if not np.isfinite(getattr(result, name)):
            yield f"{name} is {getattr(result, name)}"
    if not (np.isfinite(result.x).all() and np.isfinite(result.intercept).all()):
        yield "x or the intercept is not finite"
    if result.x.shape != run.problem.shape:
        yield f"x has shape {result.x.shape}, the problem {run.problem.shape}"
    if min(0.0 if run.side else result.gap, result.tolerance, result.nit, result.passes, result.checks) < 0:
        yield f"negative: gap {result.gap}, tolerance {result.tolerance}, nit {result.nit}, passes {result.passes}"


def feasible(run):
    """The point lies in the set, by the set's definition; so do all points that a callback sees."""
    points = [("x", run.result.x), *((f"x at step {state.nit}", state.x) for state in run.seen)]
    for name, point in points:
        over = violation(run.case.constraint, np.ravel(point))
        if not over <= FEASIBLE:
            yield f"{name} is outside by {over:.2g} of the set's size"
            return


def objective(run):
    """``fun`` is the objective."""
    result, exact = run.result, run.exact
    if not abs(result.fun - exact.fun) <= ROOM * exact.fun_error + 1e-300:  # what underflows
        off = float(result.fun - exact.fun)
        yield f"fun {result.fun!r} is off by {off:.3g}, rounding {exact.fun_error:.2g}"


def _bends_sharply(run):
    """Whether a loss bends within less than the rounding of predictions: no intercept may make slopes sum to zero."""
    widths = [getattr(run.case.loss, name) for name in LENGTHS if hasattr(run.case.loss, name)]
    predictions = np.abs(run.case.X @ np.asarray(run.result.x)) + np.abs(run.result.intercept)
    return bool(widths) and min(widths) < 64.0 * np.finfo(float).eps * predictions.max()


def gap(run):
    """``fw_gap`` is the Frank-Wolfe gap, or zero where a point on the boundary, by rounding outside, makes it negative.

    ``gap`` is no larger; where the loss is not convex, it is the same.
    """
    result, exact = run.result, run.exact
    if result.fw_gap == np.inf and run.case.intercept and _bends_sharply(run):
        return
    room = ROOM * exact.gap_error + 1e-30 * float(
        run.recomputed.zero
    )  # where rows with a weight are zero, so is the gap
    if not np.isnan(result.fw_gap) and not abs(result.fw_gap - max(exact.gap, 0)) <= room:
        off = float(result.fw_gap - exact.gap)
        yield f"fw_gap {result.fw_gap!r} is off by {off:.3g}, rounding {exact.gap_error:.2g}"
    if result.gap > result.fw_gap or (not result.convex and result.gap != result.fw_gap):
        yield f"gap {result.gap!r}, fw_gap {result.fw_gap!r}"


def lower_bound(run):
    """No bound is above the objective, computed from the definitions, of any point that keeps to all constraints."""
    result = run.result
    if not result.convex:
        return
    if run.side:
        others = [run.recomputed.at(run.side.point, result.intercept)]
    else:
        others = [run.best[1], run.recomputed.at(run.again.x, run.again.intercept)]
    for exact in others:
        room = ROOM * (exact.fun_error + _rounding(run, max(exact.fun, result.fun)) + run.exact.gap_error)
        if not result.lower_bound <= exact.fun + room:
            yield f"the bound {result.lower_bound!r} is above {float(exact.fun)!r}, rounding {float(room):.2g}"
            return


def intercept(run):
    """The objective has no slope in the intercept; without one it is zero."""
    result, exact = run.result, run.exact
    if not run.case.intercept:
        if np.any(result.intercept):
            yield f"the intercept is {result.intercept}, but there is none"
        return
    if not run.case.loss.smooth:  # a minimum at a kink: no other intercept is better
        for step in run.case.units[1] * np.array([1e-6, 1e-3, 1.0]):
            for b in (result.intercept - step, result.intercept + step):
                other = run.recomputed.at(result.x, b)
                if other.fun < exact.fun - ROOM * (exact.fun_error + other.fun_error):
                    yield f"the intercept {b!r} is better than {result.intercept!r}"
        return
    steepest = float(np.abs(exact.slope).max())
    if not steepest <= ROOM * exact.slope_error:
        yield f"the slope in the intercept is {steepest:.3g}, rounding {exact.slope_error:.2g}"


def tolerance(run):
    """The tolerance is ``tol`` times the objective of the zero model; with an intercept, rounding at least."""
    tol, zero, plain = run.case.options["tol"], run.problem.zero_value, run.recomputed.zero
    found = run.result.tolerance
    least = max(LEAST * _size_of_gaps(run), 8.0 * EPS * _norm_of_gaps(run)) if run.case.intercept and tol > 0.0 else 0.0
    if abs(found - tol * zero) > 8.0 * EPS * found and not tol * zero < found <= least:
        yield f"tolerance {found!r} is not {tol:g} times F(0) = {zero!r}, nor rounding, {least:.2g}"
    room = 1e-12 * plain
    if run.recomputed.loss.log_link:  # a deviance is a difference of terms of this size
        y = np.asarray(run.recomputed.y, dtype=np.float64)
        room += 8.0 * EPS * float(np.max(1.0 + np.abs(y) + np.abs(np.log(np.where(y > 0.0, y, 1.0)))))
    if not (zero <= plain + room if run.case.intercept else abs(zero - plain) <= room):
        yield f"F(0) is {zero!r}, but {float(plain)!r} from scratch (an intercept may lower it)"


def success(run):
    """Success says that the recomputed gap, or a bound that is checked elsewhere, is within the tolerance."""
    result, exact = run.result, run.exact
    room = ROOM * exact.gap_error
    if result.success != (result.status is fw.Status.CONVERGED) or bool(result.success) != ("within" in result.message):
        yield f"success {result.success}, status {result.status}, message {result.message!r}"
    if run.side:
        yield from _success_beside(run)
        return
    least = min(exact.gap, result.gap) if result.convex else exact.gap
    if result.success and not (run.case.options["tol"] > 0.0 and least <= result.tolerance + room):
        yield f"success with a gap of {float(exact.gap):.3g}, tolerance {result.tolerance:.3g}"
    if not result.success and run.case.options["tol"] > 0.0 and exact.gap < result.tolerance - room:
        yield f"no success ({result.status}) with a gap of {float(exact.gap):.3g}, tolerance {result.tolerance:.3g}"
    if not result.success and result.gap <= result.tolerance and run.case.options["tol"] > 0.0:
        yield f"no success ({result.status}) with a reported gap {result.gap!r} within {result.tolerance!r}"


def _success_beside(run):
    """Success says that gap and violation are within their tolerances, where there are side constraints."""
    result, options = run.result, run.case.options
    within = result.gap <= result.tolerance and _worst_violation(run)[0] <= options["side_tol"] * (1.0 + 1e-9)
    if result.success and not within:
        yield f"success with a gap of {result.gap:.3g}, a violation of {_worst_violation(run)[0]:.3g}"
    if not result.success and within and result.violation <= options["side_tol"] and options["tol"] > 0.0:
        yield f"no success with a gap of {result.gap:.3g} within {result.tolerance:.3g}"


def side(run):
    """``violation`` is the worst side constraint's, relative to the size of its terms."""
    found = run.result.violation
    if run.side is None:
        if found is not None:
            yield f"violation {found!r} without side constraints"
        return
    worst, rounding = _worst_violation(run)
    if not abs(found - worst) <= rounding:
        yield f"violation {found!r} is {worst!r} from scratch"


def _worst_violation(run):
    """Return the largest part of a constraint's size by which it is broken, constraint by constraint, and rounding."""
    A, x = wide(run.side.A), wide(run.result.x).ravel()
    worst = 0.0
    for row, low, high in zip(A, wide(run.side.lower), wide(run.side.upper), strict=True):
        product, size = row @ x, np.abs(row) @ np.abs(x)
        if product > high:
            worst = max(worst, float((product - high) / (size + abs(high))))
        if product < low:
            worst = max(worst, float((low - product) / (size + abs(low))))
    return worst, ROOM * EPS * (len(x) + 4)


def edges(run):
    """Slopes at the edges of their domains, or beyond, prove no more than the optimum."""
    loss, problem = run.case.loss, run.problem
    if run.side or not (loss.convex and loss.has_conjugate):
        return
    found, exact = run.best
    z = run.recomputed.predictions(found.x, found.intercept)
    slopes = np.asarray(derivatives(loss, z, run.recomputed.y), dtype=np.float64)
    alpha = (np.asarray(run.recomputed.p, dtype=np.float64) * slopes.T).T
    reached = 0.0 if np.isinf(exact.gap_error) else exact.gap_error  # the point may be outside by rounding
    room = ROOM * (exact.fun_error + _rounding(run, exact.fun) + reached)
    for beyond in EDGES:
        for moved in (alpha * (1.0 + beyond), alpha + (beyond * np.asarray(run.recomputed.p) * np.sign(slopes).T).T):
            bound = problem.dual_value(np.asarray(moved, dtype=np.float64))
            if not bound <= exact.fun + room:
                yield f"slopes {beyond:g} beyond those of the optimum prove {bound!r}, above {float(exact.fun)!r}"
                return


EDGES = (0.0, 4e-16, 9e-15, 1e-13, 1e-9, 1e-3, 1.0)
"""How far slopes are put beyond those of the optimum, many of which are at the edge of their domain."""


def known_optimum(run):
    """Objective and bounds keep to an optimum that is known exactly, as a fraction."""
    case, result = run.case, run.result
    if case.optimum is None:
        return
    fun = mean_of_halved_squares(case.X, case.y, result.x)
    room = ROOM * (run.exact.fun_error + run.exact.gap_error)
    if not abs(float(fun - Fraction(result.fun))) <= ROOM * run.exact.fun_error:
        yield f"fun {result.fun!r} is {float(fun)!r} in fractions"
    if not float(Fraction(result.lower_bound) - case.optimum) <= room:
        yield f"the bound {result.lower_bound!r} is above the optimum {float(case.optimum)!r}, rounding {room:.2g}"
    if result.success and not float(fun - case.optimum) <= result.tolerance + room:
        yield f"success at {float(fun - case.optimum):.3g} above the optimum, tolerance {result.tolerance:.3g}"


def units(run):
    """Other units, powers of two, change nothing but exponents."""
    case, result = run.case, run.result
    if case.base is None or case.base.constraint_has_spectrum:
        return  # LAPACK scales matrices by their size before it decomposes them
    from tests.fuzz.examine import started

    problem = case.base.problem()
    if not problem.zero_value > 0.0:
        return  # nothing is left to be fitted, and so nothing has units
    plain = fw.minimize(problem, case.method, x0=started(case.base, problem), **case.options)
    flat = not problem.loss.convex and plain.gap < 1e-250 * problem.zero_value
    if flat or not plain.fun > 1e-250 * problem.zero_value:
        return  # derivatives may be subnormal, and lose digits whatever the units
    of_columns, of_targets = case.units
    of_targets = 1.0 if case.loss.targets != "real" else of_targets
    scale = case.objective_unit(of_targets)
    pairs = {
        "x": (plain.x * (of_targets / of_columns), result.x),
        "intercept": (np.multiply(plain.intercept, of_targets), result.intercept),
        "fun": (plain.fun * scale, result.fun),
        "gap": (plain.gap * scale, result.gap),
        "nit": (plain.nit, result.nit),
        "status": (plain.status, result.status),
    }
    for name, (one, other) in pairs.items():
        subnormal = name in ("fun", "gap") and max(abs(one), abs(other)) < 1e-290  # such numbers have lost digits
        if not (subnormal or np.array_equal(one, other)):
            yield f"{name} is {_short(other)} in units {case.units}, {_short(one)} in plain ones"
            return


def stalls(run):
    """A run that says it can get no further is at the end of what rounding allows."""
    result, exact = run.result, run.exact
    # over a barrier no point is quite on the boundary, and with tol=0 its rounding hides the last errors along it: runs
    # end at some 1e-12 of the objective, in two cases of 26,000 (both k-support balls) at 1e-10 and 1e-9
    end = 100.0 * (exact.gap_error + exact.fun_error) + 5e-9 * max(float(exact.fun), run.problem.zero_value)
    if result.status is fw.Status.STALLED and result.convex and not run.side and not exact.gap <= end:
        yield f"stalled with a gap of {float(exact.gap):.3g}, rounding {exact.gap_error + exact.fun_error:.2g}"
    if result.status not in (fw.Status.STALLED, fw.Status.CONVERGED, fw.Status.MAX_PASSES):
        yield f"ended with {result.status}: {result.message}"


def trace(run):
    """Traced gaps are not negative, counts go up, and no bound on the optimum is above a value that was reached."""
    result, found = run.result, run.result.trace
    # points may be outside of the set by rounding, and the objective lower there by as much
    room = ROOM * _rounding(run, max(found.fun.max(), result.fun)) + 1e-13 * _size_of_gaps(run)
    if (found.gap < 0.0).any() and not run.side:
        yield f"traced gaps go down to {found.gap.min():.3g}"
    if (np.diff(found.nit) <= 0).any() or (np.diff(found.passes) < 0.0).any() or found.nit[-1] != result.nit:
        yield f"traced steps {found.nit}, passes {found.passes}, the result's {result.nit}"
    best = min(found.fun.min(), result.fun)
    bound = max((found.fun - found.gap).max(), result.fun - result.gap)
    if result.convex and not run.side and not bound <= best + room:
        yield f"a bound on the optimum, {bound!r}, is above an objective that was reached, {best!r}"
    if not result.success and not run.side and result.fun > found.fun[-1] + room:
        yield f"fun {result.fun!r} is worse than that of the last iterate, {found.fun[-1]!r}"


def monotone(run):
    """The objective never rises where a step rule promises that."""
    step = run.method.step if "step" not in run.case.options else STEPS[run.case.options["step"]]
    full = isinstance(run.method.estimate, fw.methods.FullGradient)
    promised = isinstance(step, NEVER_RISES) or (full and isinstance(step, NEVER_RISES_WITH_THE_GRADIENT))
    if run.method.solver != "loop" or not promised or run.case.intercept:
        return  # rounds may go where the gap is much smaller instead
    fun = run.result.trace.fun
    rise = np.diff(fun)
    if len(rise) and rise.max() > ROOM * _rounding(run, fun.max()):
        k = int(np.argmax(rise))
        yield f"the objective rises from {fun[k]!r} to {fun[k + 1]!r} at step {run.result.trace.nit[k + 1]}"


def budget(run):
    """The passes stay within their budget; a corrective round needs one for its gradient."""
    result, most = run.result, run.case.options["max_passes"]
    if result.passes > max(most, 1.0 if run.method.solver != "loop" else 0.0) + 1e-9:
        yield f"{result.passes:g} passes of {most:g}"
    state, loop = run.method.estimate.state, run.method.solver == "loop"
    grows, snapshots = state.batch_sizes is not None, state.next_snapshot is not None
    rows = run.method._replace(**_step(run)).evaluations(run.problem.n, result.batch_size) if loop else run.problem.n
    steady = loop and not (run.case.intercept or snapshots or grows)
    if steady and abs(result.passes - result.nit * rows / run.problem.n) > 1e-9:
        yield f"{result.passes:g} passes for {result.nit} steps of {rows} rows"
    # the next step may cost an intercept, a snapshot and its batches; where these grow, all rows twice
    spare = 4.0 if grows else 2.0
    if result.status is fw.Status.MAX_PASSES and result.passes < most - spare - rows / run.problem.n:
        yield f"the budget of {most:g} passes is said to have ended after {result.passes:g}"


def same_bits(run):
    """Trace, callback and the number of the run change nothing."""
    one, other = run.result, run.again
    for name in ("x", "intercept", "fun", "gap", "status", "nit", "passes", "tolerance", "message"):
        if not np.array_equal(getattr(one, name), getattr(other, name)):
            yield f"{name} differs in the second run: {_short(getattr(one, name))}, {_short(getattr(other, name))}"
            return


def kept(run):
    """What a result has certified is not lost by going on from it."""
    if isinstance(run.start, fw.Result) and run.start.success and not run.result.success:
        same = run.start.tolerance == run.result.tolerance
        # a gap that is all rounding may grow where it is summed in another order, or the intercept starts elsewhere
        over = run.result.gap - run.result.tolerance
        grown = 0.0 < over <= ROOM * run.exact.gap_error
        # with labels of one class all slopes may be rounding, which another run cannot balance
        slopes = run.start.state.get("slopes")
        lost = slopes is not None and np.shape(slopes) == run.problem.samples.shape and not run.problem.balances(slopes)
        if same and not (grown or lost) and run.case.options["tol"] > 0.0:
            yield f"started from a certified result, ended {run.result.status} with a gap of {run.result.gap:.3g}"


def certificate(run):
    """What a certificate claims is proven from the data alone, and is true; claims beyond that are refused."""
    case, result, problem = run.case, run.result, run.problem
    known = type(problem.loss).__name__ in LOSSES and type(problem.constraint).__name__ in SETS
    if not (known and result.convex and np.isfinite(result.gap)) or (case.side and result.violation > FEASIBLE):
        return
    try:
        found = fw.certificate(problem, result)
    except ValueError:  # a gap far below the rounding of the slopes' sum
        rounding = 100.0 * (run.exact.gap_error + run.exact.fun_error)
        if result.gap > 1e-12 * problem.objective.value_without_intercept() + rounding:
            yield f"no certificate for a gap of {result.gap!r}"
        return
    given = (case.X if sparse.issparse(case.X) else np.asarray(case.X), np.asarray(case.y), case.sample_weight)
    report = fw.verify(found, *given, offset=case.offset)
    exact, (objective, optimum) = run.exact, (found.facts["objective"], found.facts["optimum"])
    if not report.proven:
        yield f"a true certificate: {report.message}"
    elif not exact.fun - exact.fun_error <= objective:
        yield f"an objective of {float(exact.fun)!r} is proven to be at most {objective!r}"
    elif not case.side and not optimum <= run.best[1].fun + ROOM * (run.best[1].fun_error + run.best[1].gap_error):
        yield f"{optimum!r} is proven to be no more than {float(run.best[1].fun)!r}"
    for claim, better in (("objective", -1.0), ("optimum", 1.0)):
        exact = getattr(report, claim)
        beyond = found.facts[claim] + better * (1e-6 * abs(found.facts[claim]) + 20.0 * (exact.high - exact.low))
        if fw.verify(replace(found, facts={**found.facts, claim: beyond}), *given, offset=case.offset).proven:
            yield f"{claim} {found.facts[claim]!r} can be claimed to be {beyond!r}"
    heaviest = int(np.argmax(np.abs(found.arrays["weights"])))
    weights = found.arrays["weights"].copy()
    weights[heaviest] *= 1.0 + 1e-6
    moved = run.recomputed.at(weights, result.intercept)
    if moved.fun - moved.fun_error > objective:
        other = replace(found, arrays={**found.arrays, "weights": weights})
        if fw.verify(other, *given, offset=case.offset).proven:
            yield f"a model with an objective of {float(moved.fun)!r} is proven to have {objective!r}"


CHECKS = {
    check.__name__: check
    for check in (
        finite,
        feasible,
        objective,
        gap,
        lower_bound,
        intercept,
        tolerance,
        success,
        side,
        edges,
        known_optimum,
        units,
        stalls,
        trace,
        monotone,
        budget,
        same_bits,
        kept,
        certificate,
    )
}


def _step(run):
    return {"step": STEPS[run.case.options["step"]]} if "step" in run.case.options else {}


def _rounding(run, value):
    """What rounding may do to an objective of that value, anywhere in the set: derivatives are at most sqrt(2 L f)."""
    known = run.recomputed
    n, d = known.X.shape
    most = known.reach.reshape(d, -1).sum(axis=1)
    blur = EPS * (d + 4) * (np.abs(known.X) @ most + np.abs(run.result.intercept).max())
    smooth = known.smoothness
    squares = float((known.p * blur**2).sum())
    terms = known.linear_reach
    value = max(float(value) + terms, 0.0)  # of the losses
    found = (n + d + 12) * EPS * terms
    found += sqrt(2.0 * smooth * value * squares) + smooth * squares + 2.0 * (n + 12) * EPS * float(value)
    found += 0.0 if known.loss.smooth else float(known.p @ blur)  # no slope is above 1
    # an intercept may be at infinity: its slope is zero to rounding, and so are objective and bound
    return found + run.case.intercept * (LEAST * _size_of_gaps(run) + 1e-11 * float(known.zero))


def _size_of_gaps(run):
    """Sum of the sizes of the terms of a gap, at the zero model without an intercept or at one of the size of ours."""
    known = run.recomputed
    reached = np.abs(known.X) @ known.reach.reshape(known.X.shape[1], -1).sum(axis=1)
    return float((_pulls(run) * reached).sum()) + known.linear_reach


def _norm_of_gaps(run):
    """Return the bound of Cauchy and Schwarz on that sum, as `Problem.tolerance` has it: more where few rows matter."""
    known, pulls = run.recomputed, _pulls(run)
    columns = np.sqrt(pulls @ (np.abs(known.X) + known.means) ** 2 * pulls.sum())
    return float(columns @ known.reach.reshape(known.X.shape[1], -1).sum(axis=1))


def _pulls(run):
    """Weighted sizes of the derivatives at the zero model, and of what an intercept of our size changes them by."""
    known = run.recomputed
    least = 40.0 if known.loss.targets != "real" else 0.0
    shift = max(float(np.abs(run.result.intercept).max()), float(np.abs(known.y).max()), least)
    return known.p * (np.abs(known.pulls).reshape(len(known.p), -1).sum(axis=1) + known.smoothness * shift)


def _short(value):
    return np.array2string(value, threshold=4) if isinstance(value, np.ndarray) else repr(value)
