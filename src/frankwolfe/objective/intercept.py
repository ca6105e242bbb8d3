"""The unconstrained intercept ``b``: a number, or a number for each output, added to all predictions.

The objective is ``min_b F(w, b)``. It is as convex and as smooth as ``F``. By the envelope theorem its gradient in
``w`` is the gradient of ``F`` at the optimal ``b``. `InterceptSearch` computes the optimal intercept to rounding error
whenever all predictions are known. Each of its rounds sums value, slope and curvature over the samples. Stepwise
methods use a loss that adds the intercept to the predictions (`frankwolfe.objective.offset.ShiftedLoss`).

Newton's method finds the intercept: safeguarded by a bracket for one variable, by a trust region for several. Both
converge from any starting point and stop when the derivative is zero up to rounding.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from frankwolfe.arguments.types import PerRow
from frankwolfe.linalg.matrices import FLAT
from frankwolfe.losses.base import many
from frankwolfe.objective import tasks
from frankwolfe.objective.offset import centres
from frankwolfe.objective.point import Guess, Point, Segment
from frankwolfe.objective.tasks import EPSILON
from frankwolfe.rows import Samples

if TYPE_CHECKING:
    from frankwolfe.objective.objective import Objective

# --- Newton's method --------------------------------------------------------------------------------------------------

MOST_ROUNDS = 500
"""Maximum number of evaluations in a search. A few are usual, a few dozen from very distant starts."""

EXPANSION = 8.0
"""Factor by which the step limit, or the trust region, may grow in an iteration."""


FRESH = 0.1
"""Fraction of the gradient norm that may remain after a step before the Hessian is recomputed."""

NOISE = 16.0
"""Differences of a slope or an objective up to this many units of rounding count as noise."""


class Sums(NamedTuple):
    """Objective and gradient at an intercept, with their rounding errors.

    Attributes
    ----------
    value : float
        The objective.
    slope : array of shape (outputs,)
        Derivative in the intercept: the sum of all ``alpha_i``.
    rounding : float
        Change of the slope if each prediction, and each term of the sum, is off by one unit of rounding.
    noise : float
        Change of the objective for the same perturbation.
    """

    value: float
    slope: np.ndarray
    rounding: float
    noise: float = 0.0


def bracketed_root(
    slope: Callable[[float], tuple[float, float, float]],
    start: float,
    smoothness: float = 0.0,
    most: int = MOST_ROUNDS,
) -> float:
    """Return the root of an increasing function, by Newton's method safeguarded by a bracket.

    Parameters
    ----------
    slope : function
        Maps a point to the function value, its derivative, and the rounding error of the value.
    start : float
        Starting point. Steps grow geometrically until the root is bracketed.
    smoothness : float
        Largest derivative of the function, zero if unknown. It limits the first step.
    most : int
        Maximum number of evaluations.

    Examples
    --------
    >>> float(round(bracketed_root(lambda b: (b**3 - 8.0, 3.0 * b * b, 1e-15), start=-1e6), 12))
    2.0
    """
    low, high, here, last, before = -np.inf, np.inf, start, 0.0, np.inf
    best, least, limit = start, np.inf, 0.0
    for _ in range(most):
        value, curve, rounding = slope(here)
        limit = limit or first_reach(abs(start), abs(value), smoothness or curve)
        if abs(value) <= least:  # <=: at a jump, the latest point is the closest to it
            best, least = here, abs(value)
        if not abs(value) > 2.0 * rounding or not np.isfinite(value):
            return best
        low, high = (low, here) if value > 0.0 else (here, high)
        newton = -value / curve if curve > 0.0 else -np.copysign(np.inf, value)
        if low == -np.inf or high == np.inf:
            slow = last != 0.0 and (last > 0.0) == (newton > 0.0) and abs(value) > FRESH * before
            step = np.copysign(min(max(abs(newton), 2.0 * abs(last) if slow else 0.0), limit), newton)
            limit = max(limit, abs(step)) * EXPANSION
        else:
            short = low < here + newton < high and abs(newton) <= 0.5 * abs(last)
            step = newton if short else 0.5 * (low + high) - here
        there = here + step
        if there == here or there in (low, high) or not np.isfinite(there):
            return best
        last, before, here = there - here, abs(value), there
    return best


def first_reach(size: float, slope: float, curvature: float) -> float:
    """Return the limit of the first step. It scales with the predictions, so the search is invariant to their units."""
    step = EXPANSION * slope / curvature if curvature > 0.0 else np.inf
    return max(size, step) if np.isfinite(step) else max(size, 1.0)


def trust_region(
    sums: Callable[[np.ndarray], Sums],
    hessian: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    curvature: np.ndarray | None = None,
    most: int = MOST_ROUNDS,
    resolution: float = 0.0,
    smoothness: float = 0.0,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Minimise a smooth function of few variables by a trust-region Newton method, until the gradient is rounding.

    A Hessian costs more than a gradient. It is reused until a step leaves more than `FRESH` of the gradient norm.

    Parameters
    ----------
    sums, hessian : functions
        Map a point to its `Sums`, and to its Hessian.
    start : array
        Starting point. The trust region grows geometrically.
    curvature : array, optional
        Approximate Hessian at the start.
    most : int
        Maximum number of evaluations.
    resolution : float
        Steps up to this length (in the maximum norm) change nothing in floating point.
    smoothness : float
        Upper bound on the curvature, zero if unknown. It limits the first step.

    Returns
    -------
    tuple of arrays
        The minimiser and, if one was computed, an approximate Hessian there (else None).
    """
    here, at = start.copy(), sums(start)
    H, recomputed = curvature, curvature is None
    radius = EXPANSION * first_reach(float(np.linalg.norm(start)), float(np.linalg.norm(at.slope)), smoothness)
    for _ in range(most):
        if not np.abs(at.slope).max() > 2.0 * at.rounding or not np.isfinite(at.value):
            break
        if H is None or not np.isfinite(H).all():
            H, recomputed = hessian(here), True
        step = restricted_step(H, at.slope, radius, at.rounding)
        if not (here + step != here).any() or np.abs(step).max() <= resolution:
            if recomputed:
                break
            H = None  # the reused Hessian predicts no decrease: recompute it
            continue
        there = sums(here + step)
        predicted, fall = -float(at.slope @ step) - 0.5 * float(step @ H @ step), at.value - there.value
        # Compute small decreases, and those within the rounding of the predictions, from gradients: values would
        # cancel.
        if abs(fall) <= max(1e-8 * max(abs(at.value), abs(there.value)), NOISE * at.noise):
            fall = -0.5 * float((at.slope + there.slope) @ step)
        length, left = float(np.linalg.norm(step)), np.linalg.norm(there.slope) / np.linalg.norm(at.slope)
        good = bool(np.isfinite(there.value)) and fall > 1e-4 * predicted
        if good:
            radius = EXPANSION * max(radius, length) if fall > 0.75 * predicted else radius
            H = H if left <= FRESH else None
            here, at, recomputed = here + step, there, False
        elif recomputed:
            radius = max(0.25 * length, 1e-300)  # at the smallest radius, steps change nothing and the search ends
        else:
            H = None  # the reused Hessian failed: recompute it before shrinking the region
    return here, H


def restricted_step(H: np.ndarray, slope: np.ndarray, radius: float, rounding: float) -> np.ndarray:
    """Return the minimiser of ``slope's + s'Hs / 2`` over ``||s|| <= radius``, with negative eigenvalues made positive.

    The step is ``s = -(|H| + ridge I)^-1 slope``. Bisection finds the ridge at which the step is as long as the radius.
    Every such step is a descent direction. It is zero where the slope is rounding error.
    """
    curvatures, axes = np.linalg.eigh(H)
    curvatures, slopes = np.abs(curvatures), slope @ axes
    # drop flat directions whose slope is noise: a quotient of noise and a tiny eigenvalue would be a huge step
    kept = np.abs(slopes) > np.where(curvatures > FLAT * curvatures.max(), 2.0, NOISE) * rounding
    curvatures, axes, slopes = curvatures[kept], axes[:, kept], slopes[kept]
    if not np.isfinite(slopes).all() or not len(slopes):
        return np.zeros(len(slope))

    steep = float(np.linalg.norm(slopes))

    def move(ridge: float) -> np.ndarray:
        return slopes / np.maximum(curvatures + ridge, 1e-100 * steep)

    low, high, ridge = 0.0, steep / radius, 0.0
    if np.linalg.norm(move(0.0)) > radius:
        for _ in range(60):
            ridge = 0.5 * (low + high)
            size = np.linalg.norm(move(ridge))
            low, high = (ridge, high) if size > radius else (low, ridge)
            if 0.9 * radius <= size <= radius:
                break
    return -axes @ move(ridge)


# --- the optimal intercept --------------------------------------------------------------------------------------------

QUICK_ROUNDS = 60
"""Rounds after which the search for the intercept restarts on a smaller scale. Ten are enough in most cases."""


class InterceptSearch:
    """Minimise the objective over the intercept, at fixed predictions. It reads no row.

    Parameters
    ----------
    objective : Objective
        The objective.
    z : array or Kept
        Predictions without intercept.
    segment : Segment, optional
        Line segment along which the caller needs the directional derivative.

    Attributes
    ----------
    last : tuple
        Losses, weighted derivatives, ``sum_i |alpha_i z_i|`` and the directional derivative along the segment, at the
        intercept evaluated last.
    """

    def __init__(self, objective: "Objective", z: PerRow, segment: Segment | None = None):
        self.objective, self.z, self.segment = objective, z, segment
        self.loss, self.outputs = objective.base_loss, objective.outputs
        smoothness = float(self.loss.smoothness())
        self.smoothness = smoothness if np.isfinite(smoothness) else 0.0  # zero means: no bound known
        self.last: tuple = ()
        self._at: tuple[np.ndarray, Sums] | None = None
        self._slope_sizes = 0.0
        self._blurs: dict[tuple[bytes, bool], float] = {}

    def _run(self, task: Any, *args: Any, **how: Any) -> tuple:
        return self.objective.shards.run(task, self.z, *args, **how)

    @cached_property
    def _facts(self) -> tuple[np.ndarray, float, float, float]:
        """Weighted mean of the predictions and of their absolute values, root mean square, largest absolute value."""
        mean, size, roots, largest = self._run(tasks.prediction_facts)
        with np.errstate(over="ignore"):
            return mean, float(size), float(np.linalg.norm(roots)), max(largest)

    @property
    def mean(self) -> np.ndarray:
        """Weighted mean of the predictions, one number for each output."""
        return self._facts[0]

    def best(self, before: Point | Guess | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the optimal intercept and, if one was computed, the approximate second derivative there.

        For a non-convex loss the result is a stationary intercept, no worse than the start. The search starts from the
        intercept of ``before``, corrected for the change of the mean prediction, as if the data were centred.
        """
        if before is not None and before.shift is not None and before.mean is not None:
            start = before.shift + (before.mean - self.mean)
        else:
            start = self._first()
        if not self.outputs and self.loss.convex:
            return np.array([bracketed_root(self._slope, float(start[0]), self.smoothness)]), None
        curve, largest = None if before is None else before.curve, self._facts[3]
        least = EPSILON**2 * largest  # a shorter step changes no prediction in floating point
        found = trust_region(self.sums, self._hessian, start, curve, QUICK_ROUNDS, least, self.smoothness)
        if not self.is_level(found[0]):
            start = self._from_afar(found[0])
            found = trust_region(self.sums, self._hessian, start, resolution=least, smoothness=self.smoothness)
        return found

    def _from_afar(self, start: np.ndarray) -> np.ndarray:
        """Return an approximately optimal intercept for very large predictions, by continuation in their scale.

        At predictions in the millions a multinomial loss is nearly piecewise linear, and Newton's method fails. The
        same problem with predictions divided by their size is smooth. Its solution, scaled back, starts the search on a
        ten times larger scale, and so on up to the original scale.
        """
        spread = self._facts[2]
        scale = spread if self.loss.convex and np.isfinite(spread) else 0.0
        while scale > 1.0:
            z = self.objective.shards.keep(tasks.scale, self.z, 1.0 / scale)
            near, there = InterceptSearch(self.objective, z), start / scale
            there, _ = trust_region(near.sums, near._hessian, there, most=QUICK_ROUNDS, smoothness=self.smoothness)
            start, scale = scale * there, 0.1 * scale
        return start

    def _first(self) -> np.ndarray:
        """Return the intercept that centres predictions at zero or, if better (one output only), at the mean target."""
        centred = -self.mean
        if self.outputs:
            return centred
        other = centred + self.objective.shards.run(tasks.mean_target)[0]
        return other if self.sums(other).value < self.sums(centred).value else centred

    def is_level(self, shift: np.ndarray) -> bool:
        """Return whether the derivative in the intercept is zero up to rounding.

        Rounding errors of ``n`` terms add up like a random walk, hence the tolerance of ``16 + sqrt(n)`` units.
        """
        at, factor = self.sums(shift), NOISE + self.objective.samples.shape[0] ** 0.5
        steepest = float(np.abs(at.slope).max())
        # where the curvature jumps close to a prediction, use the larger of both sides
        return steepest <= factor * at.rounding or steepest <= factor * self._rounding(shift, beside=True)

    def sums(self, shift: np.ndarray) -> Sums:
        """Return the objective and its derivative at an intercept, and set `last`."""
        if self._at is None or not np.array_equal(self._at[0], shift):
            costly, plain = self.objective.shards.calls_are_costly, self._plain(shift)
            atoms, also = self.objective.extras_for(self.z, self.segment)
            losses, alpha, slope, *found, atom_slopes, blur, beside = self._run(
                tasks.intercept_value, plain, keep=2, also=also
            )
            self._slope_sizes, objective, reach, along = map(float, found)
            if costly:  # the same call has returned all that later steps need at this intercept
                key = shift.tobytes()
                self._blurs[key, False], self._blurs[key, True] = float(blur), float(beside)
                self.objective.note_slopes(atoms, alpha, atom_slopes)
            self.last = losses, alpha, reach, along
            noise = self._noise(abs(objective), shift)
            self._at = shift.copy(), Sums(objective, slope, self._rounding(shift), noise)
        return self._at[1]

    def _rounding(self, shift: np.ndarray, beside: bool = False) -> float:
        """Return the change of the slope if each prediction and each derivative is off by one unit of rounding."""
        if (shift.tobytes(), beside) in self._blurs:
            blur = self._blurs[shift.tobytes(), beside]
        else:
            blur = float(self._run(tasks.intercept_blur, self._plain(shift), beside)[0])
        return self._at_least(self._slope_sizes + blur, shift)

    def _at_least(self, units: float, shift: Any) -> float:
        """Return ``units`` times the machine precision, bounded below.

        The lower bound is the change of the slope when predictions change by their rounding. Without it a search would
        not end where all derivatives nearly vanish, because their rounding vanishes with them.
        """
        _, size, _, largest = self._facts  # no step is shorter than the rounding of the largest prediction
        least = EPSILON * self.smoothness * (max(size, largest) + float(np.abs(shift).sum()))
        units = max(units, least)
        return EPSILON * units if np.isfinite(units) else 0.0

    def _noise(self, value: float, shift: np.ndarray) -> float:
        """Return the rounding error of the objective, using ``|f'| <= sqrt(2 L f)`` for ``L``-smooth ``f >= 0``."""
        blur = self._facts[2] + float(np.abs(shift).max())
        found = EPSILON * (value + (2.0 * self.smoothness * value) ** 0.5 * blur)
        return found if np.isfinite(found) else 0.0

    def _plain(self, shift: np.ndarray) -> Any:
        """Return the intercept as a float for one output, as an array for several."""
        return shift if self.outputs else float(shift[0])

    def _slope(self, shift: float) -> tuple[float, float, float]:
        """Return first and second derivative in a scalar intercept, and the rounding error of the first."""
        slope, curve, units = map(float, self._run(tasks.intercept_slope, shift))
        return slope, curve, self._at_least(units, shift)

    def _hessian(self, shift: np.ndarray) -> np.ndarray:
        """Return the second derivative in the intercept."""
        return self.objective.shift_curvature(self.z, shift)


# --- losses with a kink -----------------------------------------------------------------------------------------------
#
# The objective is then piecewise linear in the intercept ``b``, with a kink at ``b = y_i - z_i`` for each sample. From
# left to right its slope grows by ``p_i (high_i - low_i)`` at that kink. The minimum is where the slope changes sign: a
# weighted quantile, found by sorting. For a sample whose kink is at the minimum, any slope in ``[low_i, high_i]`` is a
# subgradient. These samples get the subgradients that make the sum of all slopes zero, as certificates require.


def slope_ranges(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest weighted subgradient of each sample, for a loss with an intercept."""
    low, high = many(samples.loss.base).kink_slopes(samples.targets)
    return samples.weights * low, samples.weights * high


def kinked_point(samples: Samples, z: np.ndarray) -> Point:
    """Evaluate the objective at predictions ``z`` (without intercept) and the optimal intercept, for a kinked loss."""
    low, high = slope_ranges(samples)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow shows in the objective
        kinks = centres(samples.targets)
        places, at_kinks = kinks - z, many(samples.loss.base).value(kinks, samples.targets)
        order = np.argsort(places, kind="stable")
        after = low.sum() + np.cumsum((high - low)[order])  # slopes to the right of each kink
        shift = places[order[min(int(np.searchsorted(after, 0.0)), len(order) - 1)]]
        alpha = np.where(places < shift, high, low)
        losses = alpha * (shift - places)
        ties = places == shift
        alpha[ties] = 0.0
        room = (high - low)[ties].sum()
        if room > 0.0:
            share = np.clip((-alpha.sum() - low[ties].sum()) / room, 0.0, 1.0)
            alpha[ties] = low[ties] + share * (high - low)[ties]
        value = float(losses.sum())
        losses = np.divide(losses, samples.weights, out=np.zeros(len(losses)), where=samples.weights > 0.0)
        if at_kinks.any():  # a tilted loss is not zero there
            losses, value = losses + at_kinks, value + float(samples.weights @ at_kinks)
    mean = np.atleast_1d(samples.weights @ z)
    return Point(z, losses, alpha, value, np.array([shift]), bool(np.isfinite(value)), mean)


def balanced_slopes(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """Return subgradients near ``alpha`` that sum to zero.

    All entries move in the same direction, each by the same fraction of its distance to the end of its interval.
    """
    low, high = slope_ranges(samples)
    excess = alpha.sum()
    room = alpha - low if excess > 0.0 else high - alpha
    return alpha - excess * room / room.sum() if room.sum() > 0.0 else alpha
