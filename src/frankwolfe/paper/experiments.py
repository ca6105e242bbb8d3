"""The experiments: methods compared, the gap as a stopping rule, the theory's bounds, non-convex losses.

Arrays of traced values have shape (seeds, points). ``F*`` is the optimum, bounded by a certified run of the default
method. With the same seed, all stochastic methods see the same rows in the same order.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from frankwolfe.datasets import Dataset
from frankwolfe.losses import Cauchy, Sigmoid
from frankwolfe.methods.registry import as_method
from frankwolfe.problem import Problem
from frankwolfe.result import Result
from frankwolfe.run import minimize
from frankwolfe.sets import L1Ball
from frankwolfe.solvers.stepwise import StepwiseSolver
from frankwolfe.theory import RateBounds

PAPER_METHODS = ("sfw", "mokhtari", "lu-freund")
EXTRA_METHODS = ("momentum", "fw")

TAIL = 0.1
"""Slopes are fitted to the last factor of ten in passes."""

TOLERANCES = (3e-1, 1e-1, 3e-2, 1e-2, 3e-3)
"""Relative tolerances tried as stopping rules."""

Notify = Callable[[str], object]


def optimum(problem: Problem, tol: float = 1e-9) -> Result:
    """Minimise a convex problem to a certified gap of ``tol * F(0)``."""
    return minimize(problem, tol=tol, max_passes=10_000, trace=0)


class Curve(NamedTuple):
    """The runs of one method, traced at the same steps for every seed; `seconds` is the mean over seeds."""

    method: str
    nit: np.ndarray
    passes: np.ndarray
    seconds: np.ndarray
    fun: np.ndarray
    gap: np.ndarray
    gap_estimate: np.ndarray


def run_methods(
    problem: Problem, methods: Sequence[str], seeds: Sequence[int], passes: float, notify: Notify
) -> dict[str, Curve]:
    """Run each method with each seed on batches of ``n / 100`` rows. ``"fw"`` is deterministic and runs once."""
    curves = {}
    for method in methods:
        traces = []
        for seed in seeds if method != "fw" else seeds[:1]:
            notify(f"{method}, seed {seed}")
            batch_size = problem.n // 100 or 1
            run = minimize(problem, method, batch_size=batch_size, tol=0.0, max_passes=passes, random_state=seed)
            traces.append(run.trace)
        columns = (np.array([trace[name] for trace in traces]) for name in ("fun", "fw_gap", "gap_estimate"))
        seconds = np.mean([trace.seconds for trace in traces], axis=0)
        curves[method] = Curve(method, traces[0].nit, traces[0].passes, seconds, *columns)
    return curves


# --- Figure 1, Tables 1 and 2 ---------------------------------------------------------------------------------


class Race(NamedTuple):
    """All methods on one of the paper's problems, with its certified optimum."""

    table: Dataset
    problem: Problem
    optimum: Result
    curves: dict[str, Curve]

    def relative(self, curve: Curve) -> np.ndarray:
        """Return the paper's relative suboptimality: ``(F - f_min) / (f_max - f_min)`` over all compared runs."""
        seen = np.concatenate([each.fun.ravel() for each in self.curves.values()])
        return (curve.fun - seen.min()) / (seen.max() - seen.min())

    def suboptimality(self, curve: Curve) -> np.ndarray:
        """Return ``F - F*``."""
        return curve.fun - self.optimum.fun

    def slope(self, curve: Curve) -> float:
        """Return the slope of log(mean F - F*) against log(passes), fitted to the tail."""
        mean = self.suboptimality(curve).mean(axis=0)
        tail = (curve.passes >= TAIL * curve.passes[-1]) & (mean > 0.0)
        return float(np.polyfit(np.log(curve.passes[tail]), np.log(mean[tail]), 1)[0]) if tail.sum() > 1 else np.nan

    def ends(self) -> dict[str, float]:
        """Return the mean relative suboptimality at the end of the runs by method, the lowest first."""
        last = {name: float(self.relative(curve)[:, -1].mean()) for name, curve in self.curves.items()}
        return dict(sorted(last.items(), key=lambda item: item[1]))

    def winner(self) -> str:
        """Return the paper's method that ends lowest."""
        return next(name for name in self.ends() if name in PAPER_METHODS)


def race(
    table: Dataset,
    methods: Sequence[str] = PAPER_METHODS + EXTRA_METHODS,
    seeds: Sequence[int] = (0, 1, 2),
    passes: float = 50.0,
    notify: Notify = lambda text: None,
) -> Race:
    """Compare methods on one of the paper's problems; `notify` receives a line before each piece of work."""
    problem = table.problem()
    notify(f"{table.title}: optimum")
    best = optimum(problem)
    curves = run_methods(problem, methods, seeds, passes, lambda text: notify(f"{table.title}: {text}"))
    return Race(table, problem, best, curves)


# --- The gap as a stopping rule -------------------------------------------------------------------------------


class Stopping(NamedTuple):
    """A run of ``"sfw"`` with everything that could stop it.

    Attributes
    ----------
    table : Dataset
        The data.
    passes : array
        Passes over the data, along the run.
    curves : dict of array
        Along the run: the estimated gap without and with its free error bar ``D_inf H``, the exact Frank-Wolfe gap, the
        distance to the best lower bound that the table of derivatives proves, and ``F - F*``.
    covered : float
        Share of the points at which the error bar covers the error of the estimate.
    early : float
        Share of the tolerances at which the estimated gap alone would stop before ``F - F*`` meets the tolerance.
    overshoot : float
        Median of proven gap over tolerance at the point where the online estimate of the bound meets the tolerance.
    certified : Result
        A run with an unreachable tolerance, which takes all the certificates it is allowed.
    """

    table: Dataset
    passes: np.ndarray
    curves: dict[str, np.ndarray]
    covered: float
    early: float
    overshoot: float
    certified: Result


def observe(table: Dataset, best: float, passes: float = 50.0, seed: int = 0) -> Stopping:
    """Trace the estimated gap, its error bar and the proven gaps along a run, given the optimal value."""
    problem = table.problem()
    run = partial(minimize, problem, "sfw", batch_size=problem.n // 100 or 1, max_passes=passes, random_state=seed)
    trace = run(tol=0.0, trace=40).trace
    bar = problem.diameters().inf * trace.table_error
    seen = np.isfinite(bar) & (trace.passes > 0)
    bar, estimate = bar[seen], trace.gap_estimate[seen]
    exact, proven, online = trace.fw_gap[seen], trace.gap[seen], trace.bound_estimate[seen]
    above = trace.fun[seen] - best
    early, ratios = [], []
    for wanted in np.array(TOLERANCES) * problem.zero_value:
        early += [above[k] > wanted for k in np.flatnonzero(estimate <= wanted)[:1]]
        ratios += [proven[k] / wanted for k in np.flatnonzero(online <= wanted)[:1]]
    return Stopping(
        table,
        trace.passes[seen],
        {
            "estimate + error bar": estimate + bar,
            "estimated gap": estimate,
            "Frank-Wolfe gap": exact,
            "proven by the table": proven,
            "F - F*": above,
        },
        covered=float((np.abs(exact - estimate) <= bar).mean()),
        early=float(np.mean(early)) if early else np.nan,
        overshoot=float(np.median(ratios)) if ratios else np.nan,
        certified=run(tol=1e-9, trace=0),
    )


# --- Lemma 3, Proposition 1 and Theorem 1: measured against bound ---------------------------------------------


class Measured(NamedTuple):
    """Measured values at the steps `t`, and the bounds on their expectations.

    ``table_error`` is ``H_t``, ``gap_error`` is ``|g_t - g^_t|``, ``suboptimality`` is ``F(w_t) - F*``, and
    ``gap_slack`` is ``D_inf H_t - |g_t - g^_t|``, which is never negative.
    """

    t: np.ndarray
    table_error: np.ndarray
    gap_error: np.ndarray
    suboptimality: np.ndarray
    gap_slack: np.ndarray
    bounds: RateBounds


def small_problem(n: int = 40, d: int = 8, seed: int = 0) -> Problem:
    """Return a logistic regression on an l1 ball, small enough to run hundreds of times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return Problem(X, y, loss="logistic", constraint=L1Ball(3.0))


def measure(problem: Problem, batch_size: int, steps: Sequence[int], seeds: int) -> Measured:
    """Run ``"sfw"`` once per seed and measure what the theory bounds, at the given steps.

    The paper's ``H_t`` and gaps compare the table after the refresh of step ``t`` with the gradient at ``w_{t-1}``. So
    each measured step is made on its own, from a point that is kept.
    """
    best = optimum(problem, tol=1e-12)
    bounds = RateBounds(problem, batch_size, optimum=best.lower_bound)
    found = np.empty((4, seeds, len(steps)))
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        solver = StepwiseSolver(problem, as_method("sfw"), batch_size, generator, problem.default_start())
        for k, t in enumerate(steps):
            solver.advance(t - 1 - solver.steps)
            before = solver.point()
            solver.advance(1)
            exact, r = problem.evaluate(before), solver.gradient.dense()
            table_error = np.abs(solver.parts[0].alpha - exact.alpha).sum()
            gap_error = abs(exact.gap - (r @ before + problem.constraint.support(-r)))
            suboptimality = problem.value(solver.point()) - best.fun
            slack = bounds.diameters.inf * table_error - gap_error
            found[:, seed, k] = table_error, gap_error, suboptimality, slack
    return Measured(np.asarray(steps), found[0], found[1], found[2], found[3], bounds)


# --- Theorem 2: non-convex losses -----------------------------------------------------------------------------


class NonConvexRuns(NamedTuple):
    """``"sfw"`` and ``"fw"`` on a non-convex problem."""

    title: str
    curves: dict[str, Curve]

    def least_gap(self, method: str) -> float:
        """Return the mean over seeds of the smallest exact gap along a run, which Theorem 2 is about."""
        return float(self.curves[method].gap.min(axis=1).mean())


def descend(table: Dataset, seeds: Sequence[int] = (0, 1, 2), passes: float = 50.0) -> NonConvexRuns:
    """Run both methods with the sigmoid loss on labels, or with the Cauchy loss on targets with 5% outliers."""
    if table.loss == "logistic":
        title, problem = f"{table.label}, sigmoid loss", table.problem(Sigmoid())
    else:
        rng, y = np.random.default_rng(0), table.y.copy()
        outliers = rng.choice(len(y), size=len(y) // 20, replace=False)
        y[outliers] += rng.choice([-1.0, 1.0], size=outliers.size) * rng.uniform(20.0, 60.0, size=outliers.size)
        title, problem = f"{table.label}, 5% outliers, Cauchy loss", table._replace(y=y).problem(Cauchy(1.0))
    return NonConvexRuns(title, run_methods(problem, ("sfw", "fw"), seeds, passes, lambda text: None))
