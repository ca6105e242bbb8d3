"""The interface between driver and solver: `Solver`, `Evidence` about its iterate, and the `LowerBound` of a run."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from frankwolfe.objective.tasks import EPSILON
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status


class Evidence(NamedTuple):
    """Estimates and exact quantities that a solver has for its iterate. Unknown ones are None, NaN or infinite.

    They cost no pass over the data, except one that the next step would make anyway. The next step may overwrite the
    arrays.

    Attributes
    ----------
    gap_estimate : float
        The estimated Frank-Wolfe gap, ``max_s <r, w - s>``.
    exact : Evaluation or None
        The exact evaluation at the iterate.
    steps_to_exact : float
        Number of steps until the next exact evaluation; infinity if none is planned.
    slopes : array or None
        The dual point of ``conjugates``.
    table : array or None
        One remembered derivative per sample, refreshed by the batches. It is a dual point.
    table_follows : bool
        Whether the table approximates the derivatives at the iterate, and so proves about as much as they do.
    gradient : array or None
        The ``r`` of ``gap_estimate``; ``X' table`` if there is a table.
    multipliers : array or None
        Multipliers of the side constraints, which together with the table or ``exact`` form a dual point.
    residual, residual_error : float
        An online estimate of the table's mean residual, and its standard error.
    table_change : float or None
        The sum of all changes of the table so far, if it can be used to estimate the table's error.
    conjugates : (float, float) or None
        The sum of the weighted conjugates at ``slopes``, and the sum of their absolute values, if a step has read all
        rows.
    part_left : callable or None
        Function from a step number ``s`` to the coefficient of the iterate ``w_s`` in the current iterate, if the
        current one is a convex combination of ``w_s`` and later vertices; else None.
    """

    gap_estimate: float
    exact: Evaluation | None = None
    steps_to_exact: float = float("inf")
    slopes: Any = None
    table: Any = None
    table_follows: bool = False
    gradient: np.ndarray | None = None
    multipliers: np.ndarray | None = None
    residual: float = float("nan")
    residual_error: float = float("nan")
    table_change: float | None = None
    conjugates: tuple[float, float] | None = None
    part_left: Callable[[int], float] | None = None


def sum_rounding(problem: Problem, value: float) -> float:
    """Return a bound on the rounding error of a value of the objective, which is a sum over all rows.

    A linear term may cancel the losses, so that the value is small and its rounding error is not.
    """
    return 4.0 * EPSILON * problem.n**0.5 * (abs(value) + 2.0 * problem.linear_reach)


FEASIBLE = 1e-14
"""Violation of a side constraint that may be the rounding error of its sum."""


class LowerBound:
    """The best proven lower bound on the optimum of a convex problem, and its dual point.

    A lower bound concerns the problem, not a point, so the best bound of a run is valid for all its iterates. A run has
    one: solver and certifier offer it the bounds that they prove. Without a convex loss it stays minus infinity.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.value = -np.inf
        self.slopes: np.ndarray | None = None
        self.multipliers: np.ndarray | None = None
        self.gradient: np.ndarray | None = None  # X' slopes, if it is known

    def offer(
        self, bound: float, slopes: Any, multipliers: np.ndarray | None = None, gradient: np.ndarray | None = None
    ) -> None:
        """Store a bound and copies of its dual point, with ``X' slopes`` if known, if it is the best so far.

        Slopes on a cluster are not stored.
        """
        if bound > self.value and self.problem.loss.convex:
            self.value, self.slopes = bound, slopes.copy() if isinstance(slopes, np.ndarray) else None
            self.multipliers = None if multipliers is None else multipliers.copy()
            if gradient is not None or self.slopes is not None:  # else that of an earlier bound is close to it
                self.gradient = gradient

    def offer_gap(
        self,
        value: float,
        gap: float,
        slopes: Any,
        multipliers: np.ndarray | None = None,
        gradient: np.ndarray | None = None,
    ) -> None:
        """Store the bound ``value - gap``, lowered by the rounding error of the value, if it is the best so far.

        A maximum over many bounds favours upward rounding errors, so ``gap`` should include its own rounding error.
        """
        self.offer(value - gap - sum_rounding(self.problem, value), slopes, multipliers, gradient)

    def gap(self, value: float, violation: float = 0.0) -> float:
        """Return ``value - bound``: how far an objective is above the optimum at most.

        Value and bound may agree to the last digit, so the rounding error of their difference is added. The gap may be
        negative where side constraints are violated: an infeasible point can have an objective below the optimum.
        """
        above = value - self.value + sum_rounding(self.problem, value)
        return max(above, 0.0) if violation <= FEASIBLE else above

    def prices(self, w: Any) -> dict[str, Any]:
        """Return by how much the optimum falls as a constraint is relaxed (`Result.prices`); ``w`` is the answer."""
        problem, gradient = self.problem, self.gradient
        if gradient is None and self.slopes is not None:
            gradient = problem.objective.gradient(self.slopes)
        if gradient is None:
            return {}
        found, side = dict[str, Any](), problem.side
        if side is not None:
            multipliers = np.zeros(side.m) if self.multipliers is None else self.multipliers
            gradient, found = gradient + side.combined(multipliers), {"side": np.abs(multipliers)}
        constraint, structure, level = problem.constraint, problem.constraint.structure(), 0.0
        if constraint.own_radius() is not None:
            level = float(constraint.radius_price(-gradient))
            found = {"radius": self._binding(level, w)} | found
        ends = structure.ends()
        if ends is not None and isinstance(w, np.ndarray):
            hull, knapsack = structure.hull, structure.knapsack
            level = 0.0 if structure.bounds is not None else level
            fixed = (hull is not None and not hull.filled) or (knapsack is not None and knapsack.exhausted)
            found |= bound_prices(ends, gradient, w, level, fixed, problem.zero_value)
        return found

    def _binding(self, price: float, w: Any) -> float:
        """Return the price of the radius, zero if ``w`` is farther from the edge than the price is from zero.

        Such a price is rounding. Distances are relative to the radius, prices to what the whole objective is worth.
        """
        constraint, value = self.problem.constraint, self.problem.zero_value
        by_columns = constraint.structure().hull is not None or constraint.structure().knapsack is not None
        if not (by_columns and isinstance(w, np.ndarray) and value > 0.0):
            return price
        return 0.0 if constraint.contains((1.0 + abs(price) * constraint.own_radius() / value) * w, 0.0) else abs(price)


def bound_prices(
    ends: tuple[Any, Any], gradient: np.ndarray, w: np.ndarray, level: float, fixed: bool, value: float
) -> dict[str, np.ndarray]:
    """Return by how much the optimum falls as bounds on single weights are relaxed.

    With the price ``level`` of the budget, weights minimise ``<gradient, w> + level |w|_1`` within their bounds, or,
    where their sum is ``fixed``, ``<gradient, w> + level sum(w)``. The price of a bound is the slope of that across it.
    A bound counts as binding if the weight is closer to it, in units of the largest weight, than the price is to zero,
    in those of the objective ``value``.
    """
    lower, upper = ends
    below = gradient + np.where((lower > 0.0) | fixed, level, -level)
    above = -gradient - np.where((upper >= 0.0) | fixed, level, -level)
    unit = float(np.abs(w).max(initial=0.0)) or 1.0
    size = value / unit if value > 0.0 else 1.0
    return {
        name: np.where((price > 0.0) & (np.abs(w - end) / unit < price / size), price, 0.0)
        for name, price, end in (("lower", below, lower), ("upper", above, upper))
    }


@runtime_checkable
class Solver(Protocol):
    """One run of a method, advanced in place.

    Only `begin` and `advance` change a solver. Calls of the other methods do not change the rest of the run in any bit.

    Attributes
    ----------
    problem : Problem
        The problem to minimise.
    batch_size : int
        Number of rows that a step draws; zero if it reads all rows.
    rows_a_step : int or None
        Number of rows that a step costs; None if that is known only after the step.
    deadline : float
        Time by `time.perf_counter` at which a step that may take long should end early.
    """

    problem: Problem
    batch_size: int
    rows_a_step: int | None
    deadline: float

    @property
    def steps(self) -> int:
        """Number of steps made, including those of the run that this one continues."""

    @property
    def rows_read(self) -> int:
        """Cost so far: gradient evaluations of single rows."""

    @property
    def unhindered(self) -> bool:
        """Whether the budget has not changed the run so far, and nothing has failed.

        A run with a larger budget then passes through the same `state`. That is not so if a step or a pass was
        shortened or skipped because the budget was almost exhausted.
        """

    def begin(self, budget: float, target: float, bound: LowerBound | None = None) -> None:
        """Compile the kernels, and start or continue with a budget, in rows read.

        ``target`` is the gap that ends the run; zero if none does. ``bound`` is the lower bound of the run, to which
        the solver offers what it proves.
        """

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` steps and return their number. If it is smaller, `finished` returns the reason."""

    def finished(self) -> Status | None:
        """Return the reason why no further step can be made, or None."""

    def point(self) -> Any:
        """Return a copy of the iterate, in the type that the problem uses for its weights."""

    def evidence(self) -> Evidence:
        """Return the evidence about the iterate."""

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues: arrays, numbers and strings by name.

        Arrays are not copied, and the next step may overwrite them. Runs of other methods or on other data can use some
        of the entries, too (`frankwolfe.solvers.state.handed_over`).
        """

    @classmethod
    def from_state(cls, problem: Problem, state: Mapping[str, Any], *args: Any, **how: Any) -> Self:
        """Return a solver that continues from a saved state, bitwise as the original would.

        The other arguments are those of the class that a state does not hold, such as the method.
        """
