"""Base class of solvers that work in rounds. A round starts and ends with an exact gradient, which yields the gap."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Self

import numpy as np

from frankwolfe.arguments.types import PerRow, Weights
from frankwolfe.compile.kernels import compiling, waiting
from frankwolfe.losses import has_dual
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status
from frankwolfe.solvers.dual_bound import LowerBound, dual_gap
from frankwolfe.solvers.protocol import Evidence
from frankwolfe.solvers.state import ESTIMATE, attributes, built, copied, flat, require_entries, set_attributes

VALUE_ROUNDING = 1e-14
"""Relative rounding error of the objective. Changes below this fraction of its value are treated as zero. Twice or
half: no difference."""


class RoundSolver(ABC):
    """A solver (`frankwolfe.solvers.protocol`) whose steps are rounds.

    Parameters
    ----------
    problem : Problem
        The problem to minimise.
    w : array or Factors
        Feasible start, which each solver stores in its own form.
    earlier : mapping, optional
        State of an earlier run. Only its number of steps is used.
    """

    batch_size = 0  # every round reads all rows
    proving: np.ndarray | None = None  # multipliers of the gap, if there are side constraints
    rows_a_step: int | None = None  # a round makes as many inner passes as it needs

    remembered: tuple[str, ...] = ("rows_read", "stuck", "scale")
    """Names of the attributes, numbers or arrays, that `state` saves."""

    def __init__(self, problem: Problem, w: Weights, earlier: Mapping[str, Any] | None = None):
        self.problem = problem
        self.steps = 0 if earlier is None else earlier["steps"]  # rounds, including those of the earlier run
        self.rows_read = 0
        self.stuck, self.budget, self.target, self.scale = False, np.inf, 0.0, np.nan
        self.denied = False  # whether the budget or the time was too small for a start from a sample, or for a round
        self.deadline = np.inf
        self.at: Any = None
        self.bound = LowerBound(problem)
        self._found: Evaluation | None = None

    @abstractmethod
    def warm_up(self) -> None:
        """Compile, or load from the cache, without a round."""

    @abstractmethod
    def point(self) -> Any:
        """Return a copy of the iterate, in the type that the problem uses for its weights."""

    @abstractmethod
    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Set ``at`` to the point at the iterate. Return the gradient and the exact gap there."""

    def _gap_at(self, gradient: np.ndarray, w: np.ndarray) -> float:
        """Return the exact gap at the weights ``w`` with this gradient."""
        return self.problem.gap_for(gradient, w)

    @abstractmethod
    def _round(self, found: Evaluation) -> None:
        """Make a round, starting from the evaluation ``found``. Set ``_found`` to None if the iterate moved."""

    @property
    def exhausted(self) -> bool:
        """Whether the budget allows no further pass."""
        return self.rows_read + self.problem.n > self.budget

    def _ends_early(self) -> bool:
        """Return whether a round must end: the budget allows no further pass, or the time is over."""
        late = perf_counter() > self.deadline
        self.denied = self.denied or late
        return late or self.exhausted

    @property
    def unhindered(self) -> bool:
        """Whether the budget has not limited any round so far."""
        return not (self.exhausted or self.denied)

    def begin(self, budget: float, target: float, bound: LowerBound | None = None) -> None:
        """Compile the kernels, and set the budget, in rows read, the target gap and the lower bound of the run."""
        with waiting().counted():
            self.warm_up()
        self.budget, self.target, self.bound = budget, target, self.bound if bound is None else bound
        self._ready()

    def _ready(self) -> None:
        """Compute the exact gradient for the first round."""
        self._exact()

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` rounds and return their number. If it is smaller, `finished` returns the reason.

        The exact gradient at the end of a round is reused by the next round, so the gap between rounds is free.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # an overflow is detected in the objective
            for made in range(steps):
                found = self._exact()
                if not self._is_finite(found):
                    return made
                if self.at.stationary:
                    self._round(found)
                else:
                    self.stuck = True  # the loss has a kink in the intercept: no step makes its slope zero
                self.steps += 1
                self._exact()
        return steps

    def _is_finite(self, found: Evaluation) -> bool:
        """Whether a round can start from an evaluation: value and gap are finite.

        An infinite gap is also accepted if the optimal intercept was not found, which makes the gap infinite.
        """
        if np.isinf(found.gap):
            return bool(np.isfinite(found.value)) and not self.at.stationary
        return bool(np.isfinite(found.value) and np.isfinite(found.gap))

    def finished(self) -> Status | None:
        """Return the reason why no further round can be made, or None."""
        if self.stuck:
            return Status.STALLED
        if self.exhausted:
            return Status.MAX_PASSES
        return None if self._is_finite(self._exact()) else Status.NON_FINITE

    def evidence(self) -> Evidence:
        """Return the exact evaluation of the iterate."""
        found = self._exact()
        return Evidence(found.gap, found, 1.0, gradient=found.gradient)

    def _exact(self) -> Evaluation:
        """Return the exact evaluation at the iterate. It takes one pass over the data and is cached until a move."""
        if self._found is None:
            gradient, gap = self._evaluate()
            alpha = self.at.alpha.reshape(self.problem.samples.shape)
            gap = self.at.proven(0.0 if gap < 0.0 else gap)
            rounding = self._gap_rounding(self.at, self.at.alpha)
            self.bound.offer_gap(self.at.value, gap + rounding, alpha, self.proving, gradient)
            if self.at.value <= 2.0 * self.target < gap and has_dual(self.problem.loss):
                # The objective is almost zero. The dual point alpha = 0 proves F >= sum_i p_i min_z f(z, y_i).
                nothing = self.problem.objective.zeros()
                self._offer_bound(self.at, dual_gap(self.problem, self.at, self.point(), nothing), nothing)
            shift = self.problem.shift_of(self.at, self.point())
            self._found = Evaluation(self.at.value, gradient, gap, alpha, shift, rounding)
        return self._found

    def _gap_rounding(self, at: Point, alpha: PerRow) -> float:
        """Return a bound on the rounding error of the gap for the dual point ``alpha``."""
        return self.problem.objective.gap_rounding(at, alpha)

    def _offer_bound(
        self,
        at: Point,
        gap: float,
        slopes: PerRow,
        gradient: np.ndarray | None = None,
        multipliers: np.ndarray | None = None,
    ) -> None:
        """Offer the lower bound ``value - gap`` that a dual point proves, less its rounding error.

        ``gradient`` is ``X' slopes``, if it is known.
        """
        if at.value - gap > self.bound.value:  # otherwise the rounding error, a sum over all rows, is not needed
            gap += self._gap_rounding(at, slopes)
            self.bound.offer_gap(at.value, gap, slopes.reshape(self.problem.samples.shape), multipliers, gradient)

    def _evaluate_predictions(self, z: PerRow, linear: float = 0.0, segment: Any = None) -> Any:
        """Return the point with predictions ``z``, which may lie on a line segment. It counts as a pass.

        ``linear`` is the linear term there.
        """
        return self._charged(self.problem.objective.point(z, self.at or self.problem.guess, segment, linear))

    def _evaluate_weights(self, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the point at the weights ``w`` and the gradient there, computed in a single pass over the rows."""
        at, gradient = self.problem.objective.at(w, self.at or self.problem.guess)
        return self._charged(at), gradient

    def _charged(self, at: Any) -> Any:
        """Count an evaluation as a pass. The first non-zero value sets the scale of the objective."""
        self.rows_read += self.problem.n
        self.scale = self.scale if self.scale > 0.0 else abs(at.value) + self.problem.linear_reach or 1.0
        return at

    def _noise(self) -> float:
        """Return the rounding error of the objective, from its sum over samples and from the predictions."""
        return VALUE_ROUNDING * (abs(self.at.value) + self.at.reach())

    def _increase(self, there: Point) -> float:
        """Return the increase of the objective from ``at`` to ``there``.

        It sums the differences of the losses: the difference of two sums would lose small changes to rounding.
        """
        return self.problem.objective.increase(there, self.at)

    def _search_toward(
        self,
        images: np.ndarray,
        fall: float,
        end: Point | None = None,
        predict: Callable[[float], np.ndarray] | None = None,
        linear: float = 0.0,
    ) -> tuple[float, Point] | None:
        """Line search along the segment from ``at`` to the predictions ``images``.

        It looks for a step with sufficient decrease (Armijo, 0.1) and a slope of at most half the initial slope, by
        bracketing a zero of the slope.

        Parameters
        ----------
        images : array
            Predictions at the end of the segment.
        fall : float
            Minus the slope of the objective at the start of the segment.
        end : Point, optional
            The end of the segment, if it has been evaluated already.
        predict : function, optional
            From a step size to predictions, computed from the weights. It avoids the cancellation error of combining
            the two ends where predictions become much smaller.
        linear : float
            The linear term at the end of the segment.

        Returns
        -------
        tuple or None
            The step size in (0, 1] and the point there; None if the objective decreases nowhere.
        """
        segment, best, lower = self.problem.objective.segment(self.at, images, linear), None, None
        gamma, low, high, low_slope, high_slope = 1.0, 0.0, 1.0, -fall, np.inf
        for _ in range(40):
            if end is None:
                z = segment.predictions(gamma, predict)
                there = self._evaluate_predictions(z, segment.linear(gamma), segment)
            else:
                there, end = end, None
            slope = segment.slope(there)
            if there.value <= self.at.value - 0.1 * gamma * fall and (best is None or there.value < best[1].value):
                best = gamma, there
            if there.value < (self.at if lower is None else lower[1]).value:
                lower = gamma, there
            if self._ends_early() or (best is not None and _level_enough(gamma, best[0], slope, fall, low, high)):
                break
            if slope < 0.0 and np.isfinite(there.value):
                low, low_slope = gamma, slope
            else:
                high, high_slope = gamma, slope
            share = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.5
            gamma = low + min(0.7, max(0.2, share)) * (high - low)
        if best is None and lower is not None and self._increase(lower[1]) < -self._noise():
            return lower  # a kink: a decrease beyond rounding, though less than the initial slope predicts
        return best

    # --- state --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state from which `from_state` continues. Arrays are not copied."""
        found = self._exact()
        state: dict[str, Any] = {"steps": self.steps, "rows": self.problem.n, "gradient": found.gradient}
        state |= flat(f"{ESTIMATE}.alpha", found.alpha) | {"found.gap": found.gap, "found.intercept": found.intercept}
        return state | attributes(self, self.remembered) | flat("at", self.at._replace(alpha=None, along=None))

    @classmethod
    def from_state(cls, problem: Problem, state: Mapping[str, Any]) -> Self:
        """Return a solver that continues from a saved state."""
        solver = cls(problem, problem.default_start(), state)
        solver._restore(state)
        return solver

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Set all attributes from a saved state."""
        if "at.z" in state:
            require_entries(self.problem, state)
        set_attributes(self, self.remembered, state)
        self._restore_point(state)
        if "found.gap" not in state:
            return
        alpha = self.at.alpha.reshape(self.problem.samples.shape)
        gradient, gap, intercept = (copied(state[name]) for name in ("gradient", "found.gap", "found.intercept"))
        rounding = self._gap_rounding(self.at, alpha)
        self._found = Evaluation(self.at.value, gradient, gap, alpha, intercept, rounding)

    def _restore_point(self, state: Mapping[str, Any]) -> None:
        """Set the point from a saved state. If the state has no predictions, compute them from the weights."""
        if "at.z" in state:
            alpha = state[f"{ESTIMATE}.alpha"].copy()
            self.at = built(Point, "at", state)._replace(alpha=alpha.ravel())
            return
        z, losses, alpha = self.problem.objective.vectors_at(self.point(), copied(state.get("at.shift")))
        self.at = built(Point, "at", {**state, "at.z": z, "at.losses": losses})._replace(alpha=alpha)


def _level_enough(gamma: float, best: float, slope: float, fall: float, low: float, high: float) -> bool:
    """Whether the line search can stop at the step ``gamma``, where the objective has the given slope.

    At the end of the segment, a negative slope suffices: no longer step is possible. Inside, the slope must be at most
    half the initial one in magnitude, or the bracket ``[low, high]`` must be narrow.
    """
    if gamma == 1.0:
        return best == 1.0 and slope <= 0.5 * fall
    return (best == gamma and abs(slope) <= 0.5 * fall) or high - low < 0.1 * high


# --- compiled kinds ---------------------------------------------------------------------------------------------------

_warm: set[Any] = set()
"""Pairs of a solver and the types of data, loss and set that it has been compiled for in this process."""


def is_new_kind(solver: type, problem: Problem) -> bool:
    """Return whether a solver must be compiled for the types of this problem, and record that it has been."""
    if not (problem.objective.compiled and compiling()):
        return False
    kind = solver, _kind((problem.samples, problem.constraint))
    if kind in _warm:
        return False
    _warm.add(kind)
    return True


def _kind(value: Any) -> Any:
    """Return the signature that kernels are compiled for: classes, and the types and layouts of arrays."""
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
    return (value.dtype.str, value.ndim, value.flags.c_contiguous) if isinstance(value, np.ndarray) else type(value)
