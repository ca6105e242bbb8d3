"""Problems without a budget, such as non-negative least squares: the budget grows until it does not matter."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from frankwolfe.arguments.types import TableLike
from frankwolfe.best_subset import best_subset
from frankwolfe.certificates.ranges import Ranges, functionals, ranges
from frankwolfe.problem import Problem
from frankwolfe.result import Result, Status
from frankwolfe.run import minimize
from frankwolfe.sets import Box
from frankwolfe.sets.named import carried

ROOM = 10.0
"""The last budget is at least this many times the size of the weights, so it does not shape them."""

GROWTH = 10.0
"""A budget that binds is multiplied by this."""

MOST_BUDGETS = 40
"""Largest number of budgets. Together they span forty orders of magnitude."""

PROOF = ("slopes", "multipliers", "budget")
"""What a result's state has, besides the gradient, that proves its gap. None of it depends on the units of columns."""

ROUGH = 1e-3
"""Tolerance of runs whose budget may still bind."""


def minimize_without_budget(
    problem: Problem, *, least: float = 0.0, max_features: int | None = None, tol: float = 1e-4, **options: Any
) -> Result:
    """Minimise over a set whose radius grows until it does not bind.

    A convex objective that has a minimum within a budget, and not at its edge, has no lower value outside. The gap is
    proven for all weights within the last budget, which has at least `ROOM` times the size of the solution.

    Parameters
    ----------
    problem : Problem
        A problem over a set with a radius that bounds ``||w||_1``. The radius is only a start. A set without a radius,
        such as a box, is solved as it is.
    least : float
        A lower bound on ``||w||_1`` that side conditions require.
    max_features : int, optional
        Most features with a weight that is not zero (`best_subset`). The budget is that of all features, or larger.
    tol : float
        As for `minimize`.
    **options : dict
        Other settings of every run, as for `minimize`.

    Returns
    -------
    Result
        The result of the last run. Its message states the budget for which the gap is proven.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -2.0, 3.0]
    >>> problem = fw.Problem(X, y, loss="squared", constraint=fw.NonNegativeL1Ball(1.0))
    >>> minimize_without_budget(problem, tol=1e-9).x.round(6)
    array([2., 0.])
    """
    of_runs = {name: options[name] for name in ("method", "max_passes", "random_state", "n_threads") if name in options}
    if problem.constraint.own_radius() is None or isinstance(problem.constraint, Box):
        if max_features is not None:
            return best_subset(problem, max_features, tol=tol, **of_runs)
        return minimize(problem, tol=tol, **options)
    wanted = tol if max_features is None else max(tol, ROUGH)
    lowest = max(least, problem.constraint.radius_range(problem.size)[0])
    budget, found = max(first_budget(problem), 2.0 * lowest), None
    last = problem.constraint
    for _ in range(MOST_BUDGETS):
        here = problem.over(problem.constraint.with_radius(budget))
        start = None if found is None else carried(found.x, last, here.constraint)
        found = minimize(here, tol=max(tol, ROUGH), x0=start, **options)
        last = here.constraint
        if found.status is Status.INTERRUPTED or not found.success or 0.0 <= found.fun <= tol * problem.zero_value:
            break
        if ROOM * size(found.x) <= budget:
            if wanted >= ROUGH:
                break
            found = minimize(here, tol=tol, x0=found, **options)
            if not found.success or ROOM * size(found.x) <= budget:
                break
        budget = max(GROWTH * budget, ROOM * size(found.x))
    assert found is not None
    if max_features is None:
        found = _smallest(found, here, 1.01 * lowest, tol=tol, **options)
        state = {**found.state, "budget": np.array(budget)}
        return replace(found, message=f"{found.message} {scope(found, budget)}", state=state)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # there is no model with few features yet
    few, largest = None, budget
    for _ in range(MOST_BUDGETS):
        budget, here = largest, problem.over(problem.constraint.with_radius(largest))
        few = best_subset(here, max_features, x0=found.x, tol=tol, **of_runs)
        largest = max(GROWTH * budget, ROOM * size(few.x))
        done = ROOM * size(few.x) <= budget or 0.0 <= few.fun <= few.tolerance
        if done or few.status is Status.INTERRUPTED:
            break
    assert few is not None
    return replace(few, message=f"{few.message} {scope(few, budget)}")


def _smallest(found: Result, problem: Problem, least: float, **options: Any) -> Result:
    """Return a solution whose weights are not far larger than need be.

    Where columns depend on each other, as those of all categories do with an intercept, solutions of any size have the
    same objective. Half the size is tried as long as the gap, proven for the large budget, meets the tolerance.
    """
    while found.success and 0.5 * size(found.x) > least:
        half = problem.over(problem.constraint.with_radius(0.5 * size(found.x)))
        trial = minimize(half, x0=carried(found.x, problem.constraint, half.constraint), **options)
        gap = trial.fun - found.lower_bound
        if not (trial.success and gap <= found.tolerance):
            break
        kept = {name: getattr(trial, name) for name in ("x", "intercept", "fun", "violation")}
        state = found.state if "slopes" in found.state else {**found.state, "slopes": problem.evaluate(found.x).alpha}
        found = replace(found, **kept, gap=max(gap, 0.0), fw_gap=np.nan, state=state)
    return found


def first_budget(problem: Problem) -> float:
    """Return the budget at which the tangent of the objective at zero reaches zero; 1 if the gradient is zero."""
    begin = problem.evaluate(problem.zero())
    steepest = float(np.abs(begin.gradient).max(initial=0.0))
    budget = ROOM * begin.value / steepest if steepest > 0.0 else 1.0
    return budget if 0.0 < budget < np.inf else 1.0


def size(w: np.ndarray) -> float:
    """Return the sum of the absolute weights."""
    return float(np.abs(w).sum())


def scope(found: Result, budget: float) -> str:
    """Return a sentence that says among which weights the gap is proven."""
    if 0.0 <= found.fun <= found.tolerance:
        return "No weights at all are better by more than the gap, since no objective is below zero."
    total = size(found.x)
    times = f", {budget / total:.0f} times that of this model" if total > 0.0 else ""
    return f"The gap is proven among all weights whose absolute values sum to at most {budget:.3g}{times}."


def in_units(found: Result, scale: np.ndarray) -> Result:
    """Return a result over columns that were divided by ``scale`` with the weights of the columns themselves.

    Its state has the gradient in these units and what proves the gap, or nothing. There is no advice: no radius was
    chosen.
    """
    x, state = (found.x.T / scale).T + 0.0, {}
    if found.max_features is None:
        state = {name: found.state[name] for name in PROOF if name in found.state}
        gradient = found.state["gradient"]
        state["gradient"] = gradient * np.repeat(scale, np.size(gradient) // len(scale)).reshape(np.shape(gradient))
    message = found.message
    if (scale != 1.0).any():
        message = message.replace("absolute values sum", "absolute values, for columns of norm one, sum")
    return replace(found, x=x, state=state, known_advice=[], message=message)


def with_budget(problem: Problem, found: Result, scale: np.ndarray) -> tuple[Problem, Result]:
    """Return a problem with the last budget of its solution, and the solution, both over columns divided by ``scale``.

    It is what `in_units` has made of the solution that is given.
    """
    budget, state = found.state.get("budget"), {name: found.state[name] for name in PROOF if name in found.state}
    if budget is not None:
        problem = problem.over(problem.constraint.with_radius(float(budget)))
    return problem, replace(found, x=(found.x.T * scale).T, state=state)


def ranges_without_budget(
    problem: Problem, result: Result, scale: np.ndarray, of: Any, *, predict: Any = None, **options: Any
) -> Ranges:
    """Return the ranges of functionals over good models of a fit without a budget, in the units of its columns.

    The bounds are proven for all weights within the last budget. If they show that all weights of a good model sum to
    less, no good model is beyond the budget: the good models are a convex set, and the line to one beyond it would
    have good models just within.

    Parameters
    ----------
    problem, result : Problem, Result
        What `with_budget` returns.
    scale : array of shape (d,)
        What columns were divided by.
    of, predict, options
        As for `frankwolfe.ranges`, for weights of the columns as they were.
    """
    each, every = np.repeat(scale, max(1, problem.outputs)), predict is None and isinstance(of, str)
    if predict is not None:
        predict = predict @ sparse.diags_array(1.0 / scale)
    else:
        rows, names = functionals(problem, of)
        of, options["names"] = rows / each, options.get("names") or names
    found = ranges(problem, result, of, predict=predict, **options)
    if "budget" in result.state:
        budget = float(result.state["budget"])
        largest = np.maximum(np.abs(found.low_proven), np.abs(found.high_proven))
        if not (every and float(largest @ np.abs(each)) * (1.0 + 1e-9) < budget):
            found.scope = f"absolute weights that, for columns of norm one, sum to at most {budget:.3g}"
    found.low_models, found.high_models = found.low_models / each, found.high_models / each
    return found


def unit_columns(X: TableLike, centre: bool, sample_weight: np.ndarray | None = None) -> tuple[Any, np.ndarray]:
    """Return a copy of the data with columns of norm one, and the norms. A column of zeros has the norm one.

    A budget that the user did not set should not depend on the units of the columns. With ``centre`` the norms are
    those of the centred columns, as an intercept leaves them. A row of weight two counts as two rows.
    """
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if sparse.issparse(X):
        X = sparse.csc_array(X)
        largest = np.abs(X).max(axis=0).toarray().ravel()
        scaled = X @ sparse.diags_array(1.0 / np.where(largest > 0.0, largest, 1.0))
        squares = (scaled**2).T @ weights
    else:
        X = np.asarray(X)
        largest = np.abs(X).max(axis=0).astype(np.float64)
        scaled = X / np.where(largest > 0.0, largest, 1.0)
        squares = np.einsum("ij,ij,i->j", scaled, scaled, weights)
    if centre:
        sums, total = scaled.T @ weights, max(float(weights.sum()), 1e-300)
        squares = np.maximum(squares - sums**2 / total, 1e-16 * squares)
    norms = np.sqrt(squares)
    norms[norms == 0.0] = 1.0
    scales = np.where(largest > 0.0, largest, 1.0) * norms
    if sparse.issparse(X):
        return sparse.csr_array(scaled @ sparse.diags_array(1.0 / norms)), scales
    return scaled / norms, scales
