"""The corrective method for losses with a kink: it minimises ever less smoothed problems, each from the last optimum.

A problem is smoothed by the Moreau envelope of its loss (`frankwolfe.losses.kinked`), with a width ``beta`` that falls.
The smoothed problem goes to the solver that problems with a smooth loss go to. Its slopes ``alpha`` are feasible in the
dual of the problem itself, and bound the optimum of that. With the gap ``g`` of the smoothed problem,

    F(w) - F* <= g + sum_i p_i (f_i(z_i) + f_i*(alpha_i / p_i) - alpha_i z_i / p_i).

The terms of the sum are Fenchel-Young residuals of the loss itself. They are zero for samples off the parabola around
the kink and at most of the order ``beta`` for the others. So the smoothing costs little, as few samples are at a kink.

On large data over an l2 ball the first round descends in the dual instead (`dual_descent`), which needs no smoothing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frankwolfe.arguments.types import PerRow, Weights
from frankwolfe.losses.base import many
from frankwolfe.objective.intercept import balanced_slopes
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.solvers.corrective.dual_descent import Descent, DualDescent, can_descend
from frankwolfe.solvers.corrective.rounds import RoundSolver, is_new_kind
from frankwolfe.solvers.protocol import Evidence, LowerBound
from frankwolfe.solvers.state import attributes, below, set_attributes, under

GAP_LEFT = 0.3
"""A smoothed problem is solved to this part of what its smoothing costs."""

NARROWER = 0.03
"""Smallest ratio of a width to the last one. Ten times as large: up to twice as many passes, most in line searches."""

LEAST_WIDTH = 1e-13
"""Widths end at this part of the first: smaller parabolas are within the rounding of predictions."""


class SmoothedSolver(RoundSolver):
    """One run of the corrective method for a loss with a kink. A step is a round of the solver of a smoothed problem.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    w : array or Factors
        Feasible start.
    earlier : mapping, optional
        State of an earlier run. Only its number of steps is used.

    Attributes
    ----------
    inner : RoundSolver
        The solver of the smoothed problem. It has the iterate and its slopes; the value at ``at`` is the true one.
    beta : float
        The width of the smoothing.
    """

    remembered = (*RoundSolver.remembered, "beta", "smoothing", "fresh")

    def __init__(self, problem: Problem, w: Weights, earlier: Mapping[str, Any] | None = None):
        from frankwolfe.solvers.corrective import solver_for  # a late import: it chooses this class, too

        super().__init__(problem, w, earlier)
        self.first = self.beta = first_width(problem)
        smoothed = problem.smoothed(self.beta)
        self.kind = solver_for(smoothed)
        self.inner: RoundSolver = self.kind(smoothed, w, earlier)
        self.smoothing = 0.0  # the cost of the smoothing at the iterate: the sum of the residuals
        # True at a cold start. The first round may then begin with a descent in the dual.
        self.fresh = earlier is None and np.array_equal(w, problem.default_start())
        self.descent: Descent | None = None

    def warm_up(self) -> None:
        """Compile the kernels, or load them from the cache, by a round on the first eight rows."""
        self.inner.warm_up()
        if is_new_kind(type(self), self.problem):
            head = self.problem.head(8)
            type(self)(head, head.default_start()).advance(1)
            if can_descend(self.problem):
                DualDescent(head).run(1.0, np.inf, np.inf)

    def _ready(self) -> None:
        """Compute the exact gradient for the first round."""
        self.inner.budget = self.budget
        super()._ready()

    @property
    def exhausted(self) -> bool:
        """Whether the budget allows no further pass."""
        return self.inner.exhausted

    @property
    def unhindered(self) -> bool:
        """Whether the budget has not limited any round so far."""
        return self.inner.unhindered and not self.denied

    def point(self) -> Any:
        """Return a copy of the iterate, in the type that the problem uses for its weights."""
        return self.inner.point()

    def evidence(self) -> Evidence:
        """Return the exact evaluation of the iterate, and the multipliers of its gap."""
        return super().evidence()._replace(multipliers=self.proving)

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Set ``at`` to the point at the iterate. Return the gradient by the smoothed slopes and the gap they prove.

        With an intercept, the sum of steep slopes may differ from zero by the rounding of predictions, times the slope.
        Such slopes are balanced if the budget allows for it, since that takes the products with the rows again.
        """
        inner, problem = self.inner, self.problem
        if self.descent is not None:
            self.at, self.smoothing, self.rows_read = self.descent.at, self.descent.residual, inner.rows_read
            return self.descent.gradient, self.descent.gap
        found, alpha = inner._exact(), inner.at.alpha
        gradient, gap = found.gradient, found.gap
        stationary = inner.at.stationary
        if not inner.exhausted and not problem.balances(alpha):
            alpha = balanced_slopes(problem.samples, alpha)
            gradient = problem.objective.gradient(alpha)
            gap = max(inner._gap_at(gradient, inner.point()), 0.0)
            inner.rows_read += problem.n
            stationary = problem.balances(alpha)
        at = problem.objective.point(inner.at.z, linear=inner.at.linear)
        self.at = at._replace(alpha=alpha, stationary=stationary)
        self.smoothing = problem.objective.residuals(self.at, alpha)
        self.rows_read, self.proving = inner.rows_read, inner.proving
        return gradient, gap + self.smoothing

    def _gap_rounding(self, at: Point, alpha: PerRow) -> float:
        """Return a bound on the rounding error of the gap for the dual point ``alpha``."""
        return self.inner._gap_rounding(at if self.inner.at is None else self.inner.at, alpha)

    def _round(self, found: Evaluation) -> None:
        """Make a round on the smoothed problem, then narrow the smoothing if that costs more than the gap."""
        fresh, self.fresh, self.descent = self.fresh, False, None
        if fresh and can_descend(self.problem) and self._descend(found):
            return
        inner, self._found = self.inner, None
        inner.target = max(GAP_LEFT * self.smoothing, self.target - self.smoothing)
        inner.deadline = self.deadline
        exact = inner._exact()
        inner.bound = LowerBound(inner.problem)  # it depends on the iterate only, so that a resumed run has the same
        inner.bound.offer_gap(exact.value, exact.gap + exact.rounding, exact.alpha, inner.proving, exact.gradient)
        solved = exact.gap <= inner.target
        if not solved:
            inner.advance(1)
            self._exact()
            solved = inner._exact().gap <= GAP_LEFT * self.smoothing
        if solved or inner.stuck:
            self._narrow()

    def _descend(self, found: Evaluation) -> bool:
        """Move to the weights that dual coordinate descent finds if they are better. Return whether they are.

        The gap it proves sets the first smoothing width: smoothing then changes the objective by about that gap.
        """
        solver = DualDescent(self.problem)
        damping = float(np.linalg.norm(found.gradient)) / solver.radius
        best = solver.run(damping, self.target, self.budget - self.rows_read)
        self.inner.rows_read += solver.rows_read
        if best is None or not best.at.value < found.value:
            return False
        self.at = best.at
        self._offer_bound(best.at, best.gap, best.alpha, best.gradient)
        missing = best.at.value - self.bound.value
        self._start_inner(self.beta * min(1.0, missing / self.problem.zero_value), best.w)
        if missing <= self.target:
            self.descent = best._replace(at=best.at._replace(alpha=best.alpha))
        return True

    def _narrow(self) -> None:
        """Continue with a smaller width, from the same point."""
        wanted = 0.5 * self.target / self.smoothing if self.smoothing > 0.0 else 0.0
        self.stuck = self.beta <= LEAST_WIDTH * self.first or self.smoothing <= self._noise()
        # otherwise the next width would change nothing, or its first pass is too much
        if not (self.stuck or self.exhausted):
            self._start_inner(self.beta * min(0.5, max(NARROWER, wanted)), self.inner.point())

    def _start_inner(self, beta: float, w: Weights) -> None:
        """Continue from the weights ``w`` with another width."""
        before, self.beta, self._found = self.inner, beta, None
        known = {"steps": before.steps} | attributes(before, before.remembered)
        self.inner = self.kind(self.problem.smoothed(beta), w, known)
        self.inner.rows_read, self.inner.budget = before.rows_read, self.budget

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied."""
        return super().state() | under("inner", self.inner.state())

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state, first those of the solver of the smoothed problem."""
        set_attributes(self, ("beta",), state)
        self.inner = self.kind.from_state(self.problem.smoothed(self.beta), below("inner", state))
        self.proving = self.inner.proving
        super()._restore(state)


def first_width(problem: Problem) -> float:
    """Return the width of the first smoothing: parabolas about as wide as rows off their kink are from it at zero."""
    low, high = many(problem.loss).kink_slopes(problem.y)
    squares = problem.samples.weights * (high - low) ** 2
    if problem.intercept:  # the best intercept may put most rows at their kink
        squares = squares[problem.objective.point(problem.objective.zeros()).losses > 0.0]
    total = float(np.sum(squares))
    width = problem.zero_value / total if total > 0.0 else 1.0
    return width if 0.0 < width < np.inf else 1.0
