"""What solvers that go in rounds share: an exact gradient, which certifies, then as much correction as it is worth."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from frankwolfe.losses import has_dual
from frankwolfe.objective.point import Point
from frankwolfe.problem import Evaluation, Problem
from frankwolfe.result import Status
from frankwolfe.shards.interface import Kept
from frankwolfe.solvers.dual_bound import dual_gap, sum_rounding
from frankwolfe.solvers.protocol import Evidence
from frankwolfe.solvers.state import ESTIMATE, PLAIN, built, copied, flat, require_entries, require_like

VALUE_ROUNDING = 1e-14
"""Part of the objective, and of what predictions contribute to it, below which differences are rounding. Twice or half:
no difference."""


class RoundSolver(ABC):
    """A solver (`frankwolfe.solvers.protocol`) whose steps are rounds.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    earlier : mapping, optional
        What the result of another run hands over: here only the number of its steps is used.
    """

    batch_size = 0  # every round reads all rows
    certifies_itself = True
    rows_a_step = None  # a round makes as many inner passes as it needs

    remembered: tuple[str, ...] = ("rows_read", "stuck", "scale", "lower_bound", "slopes")
    """Attributes that are numbers or arrays, and part of the state."""

    def __init__(self, problem: Problem, earlier: Mapping[str, Any] | None):
        self.problem = problem
        self.steps = 0 if earlier is None else earlier["steps"]  # rounds, those of the earlier run included
        self.rows_read = 0
        self.stuck, self.budget, self.target, self.scale = False, np.inf, 0.0, np.nan
        self.denied = False  # whether a sample of the rows was left out for the budget
        self.at: Any = None
        self._forget_bounds()
        self._found: Evaluation | None = None

    def _forget_bounds(self) -> None:
        """Begin anew with what is known of the optimum."""
        self.lower_bound = -np.inf
        self.slopes: np.ndarray | None = None  # that prove it, unless they are those at a point of the run

    @abstractmethod
    def warm_up(self) -> None:
        """Compile, or load from the cache, without a round."""

    @abstractmethod
    def point(self) -> Any:
        """Return the iterate as a new object, as the problem keeps its weights."""

    @abstractmethod
    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""

    @abstractmethod
    def _round(self, found: Evaluation) -> None:
        """Make a round; ``_found`` is what is known of the iterate afterwards, if anything."""

    @property
    def spent(self) -> bool:
        """Whether the budget allows no further pass."""
        return self.rows_read + self.problem.n > self.budget

    @property
    def unhindered(self) -> bool:
        """Whether no round was cut short by the budget: then there is still some left."""
        return not (self.spent or self.denied)

    def begin(self, budget: float, target: float) -> None:
        """Go on within a budget of rows, toward a gap. The exact gradient that begins a round is taken now."""
        self.budget, self.target = budget, target
        self._exact()

    def advance(self, steps: int) -> int:
        """Make up to ``steps`` rounds; return how many were made. If fewer, `finished` says why.

        The exact gradient that ends a round also begins the next, so whoever asks for the gap in between pays nothing.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what overflows shows in the objective
            for made in range(steps):
                found = self._exact()
                if not self._is_finite(found):
                    return made
                if self.at.stationary:
                    self._round(found)
                else:
                    self.stuck = True  # no best intercept was found: its slope jumps, and no step would mend that
                self.steps += 1
                self._exact()
        return steps

    def _is_finite(self, found: Evaluation) -> bool:
        """Whether a round can begin with what was found. A gap without a best intercept is infinite, and no error."""
        if np.isinf(found.gap):
            return bool(np.isfinite(found.value)) and not self.at.stationary
        return bool(np.isfinite(found.value) and np.isfinite(found.gap))

    def finished(self) -> Status | None:
        """Why no further round can be made, or None."""
        if self.stuck:
            return Status.STALLED
        if self.spent:
            return Status.MAX_PASSES
        return None if self._is_finite(self._exact()) else Status.NON_FINITE

    def evidence(self) -> Evidence:
        """Return what is known about the iterate: all of it, for every round ends with an exact pass."""
        found = self._exact()
        return Evidence(found.gap, found, 1.0, self.lower_bound, self.slopes, gradient=found.gradient)

    def _exact(self) -> Evaluation:
        """Return the exact evaluation at the iterate: one pass over the data, remembered until the next round."""
        if self._found is None:
            gradient, gap = self._evaluate()
            alpha = self.at.alpha.reshape(self.problem.samples.shape)
            gap, rounding = self.at.proven(0.0 if gap < 0.0 else gap), self._gap_rounding(self.at, alpha)
            self._raise_bound(self.at, gap, rounding=rounding)
            if self.at.value <= 2.0 * self.target < gap and has_dual(self.problem.loss):
                # nearly nothing is left: no slopes at all prove that the objective falls no lower than its losses can
                nothing = self.problem.objective.zeros()
                self._raise_bound(self.at, dual_gap(self.problem, self.at, self.point(), nothing), nothing)
            shift = self.problem.shift_of(self.at, self.point())
            self._found = Evaluation(self.at.value, gradient, gap, alpha, shift, rounding)
        return self._found

    def _raise_bound(
        self, at: Point, gap: float, slopes: np.ndarray | None = None, rounding: float | None = None
    ) -> None:
        """Take note that the optimum of a convex problem is no lower than a value less its gap, by some slopes.

        The largest of many bounds is kept, so each is lowered by what rounding may have added to it.
        """
        bound = at.value - gap - sum_rounding(self.problem, at.value)
        if not self.problem.loss.convex or not bound > self.lower_bound:
            return
        bound -= self._gap_rounding(at, at.alpha) if rounding is None else rounding
        if bound > self.lower_bound:
            self.lower_bound, self.slopes = bound, slopes

    def _gap_rounding(self, at: Point, alpha: Any) -> float:
        """Return what rounding may do to a gap by some slopes."""
        return self.problem.objective.gap_rounding(at, alpha)

    def _evaluate_predictions(self, z: Any, segment: Any = None) -> Any:
        """Evaluate the objective where the predictions are ``z``, maybe on a segment; charged as a pass."""
        return self._charged(self.problem.objective.point(z, self.at or self.problem.guess, segment))

    def _evaluate_weights(self, w: np.ndarray) -> tuple[Any, np.ndarray]:
        """Evaluate the objective and its gradient at some weights, while rows are in cache; charged as a pass."""
        at, gradient = self.problem.objective.at(w, self.at or self.problem.guess)
        return self._charged(at), gradient

    def _charged(self, at: Any) -> Any:
        """Charge a point as a pass; the first one tells the scale of the objective."""
        self.rows_read += self.problem.n
        self.scale = self.scale if self.scale > 0.0 else abs(at.value) or 1.0
        return at

    def _noise(self) -> float:
        """Return what rounding may do to the objective: to its sum, and to the predictions."""
        return VALUE_ROUNDING * (abs(self.at.value) + self.at.reach())

    def _rise(self, there: Point) -> float:
        """Return how much the objective is higher elsewhere, summed sample by sample: sums lose small differences."""
        return self.problem.objective.increase(there, self.at)

    def _search_toward(
        self,
        images: np.ndarray,
        fall: float,
        end: Point | None = None,
        predict: Callable[[float], np.ndarray] | None = None,
    ) -> tuple[float, Point] | None:
        """Look for a point where the objective has fallen and is about level, on the way to where predictions are told.

        Returns how much of the way that is, and the point; None if there is none. ``fall`` is minus the slope here,
        ``end`` the end of the way, where that is known already. ``predict`` predicts anew for a part of the way:
        where predictions become much smaller, sums on the way would keep the rounding of the large ones.
        """
        segment, best, lower = self.problem.objective.segment(self.at, images), None, None
        gamma, low, high, low_slope, high_slope = 1.0, 0.0, 1.0, -fall, np.inf
        for _ in range(40):
            there = self._evaluate_predictions(segment.predictions(gamma, predict), segment) if end is None else end
            end = None
            slope = segment.slope(there)
            if there.value <= self.at.value - 0.1 * gamma * fall and (best is None or there.value < best[1].value):
                best = gamma, there
            if there.value < (self.at if lower is None else lower[1]).value:
                lower = gamma, there
            if self.spent or (best is not None and _level_enough(gamma, best[0], slope, fall, low, high)):
                break
            if slope < 0.0 and np.isfinite(there.value):
                low, low_slope = gamma, slope
            else:
                high, high_slope = gamma, slope
            share = low_slope / (low_slope - high_slope) if np.isfinite(high_slope) else 0.5
            gamma = low + min(0.7, max(0.2, share)) * (high - low)
        if best is None and lower is not None and self._rise(lower[1]) < -self._noise():
            return lower  # round a sharp bend less is to be had than the slope before it promised
        return best

    # --- what a later run can go on from ------------------------------------------------------------------------

    def _slopes_handed_over(self, found: Evaluation) -> dict[str, Any]:
        """Return the derivatives at the iterate, by the name that they have in a state; none of those on a cluster."""
        return {} if isinstance(found.alpha, Kept) else {f"{ESTIMATE}.alpha": found.alpha}

    def state(self) -> dict[str, Any]:
        """Return all that a later run needs to go on; the arrays are the solver's own."""
        found = self._exact()
        state: dict[str, Any] = {"steps": self.steps, "rows": self.problem.n, "gradient": found.gradient}
        state |= self._slopes_handed_over(found) | {"found.gap": found.gap, "found.intercept": found.intercept}
        for name in self.remembered:
            state |= flat(name, getattr(self, name))
        return state | self._point_state()

    def _point_state(self) -> dict[str, Any]:
        """Return what is known of the iterate, but for the derivatives, and for what stays on a cluster."""
        at = self.at._replace(alpha=None, along=None)
        return flat("at", at._replace(z=None, losses=None) if isinstance(at.z, Kept) else at)

    @classmethod
    def from_state(cls, problem: Problem, state: Mapping[str, Any], **how: Any) -> Self:
        """Return a solver that goes on where the one with this state was."""
        solver = cls(problem, problem.default_start(), state, **how)  # type: ignore[call-arg]
        solver._restore(state)
        return solver

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take over all that a state holds."""
        if "at.z" in state:
            require_entries(self.problem, state)
        plain = {name: getattr(self, name) for name in self.remembered}
        require_like({name: value for name, value in plain.items() if isinstance(value, PLAIN)}, state)
        for name in self.remembered:
            setattr(self, name, copied(state.get(name)))
        self._restore_point(state)
        alpha = self.at.alpha.reshape(self.problem.samples.shape)
        gradient, gap, intercept = (copied(state[name]) for name in ("gradient", "found.gap", "found.intercept"))
        self._found = Evaluation(self.at.value, gradient, gap, alpha, intercept, self._gap_rounding(self.at, alpha))

    def _restore_point(self, state: Mapping[str, Any]) -> None:
        """Take over what is known of the iterate. Without predictions in the state, they are made from the weights."""
        if "at.z" in state:
            alpha = state[f"{ESTIMATE}.alpha"].copy()
            self.at = built(Point, "at", state)._replace(alpha=alpha.ravel())
            return
        z, losses, alpha = self.problem.objective.vectors_at(self.point(), copied(state.get("at.shift")))
        self.at = built(Point, "at", {**state, "at.z": z, "at.losses": losses})._replace(alpha=alpha)


def _level_enough(gamma: float, best: float, slope: float, fall: float, low: float, high: float) -> bool:
    """Whether to end a search: the best point is about level, or the objective still falls at the far end."""
    if gamma == 1.0:
        return best == 1.0 and slope <= 0.5 * fall
    return (best == gamma and abs(slope) <= 0.5 * fall) or high - low < 0.1 * high
