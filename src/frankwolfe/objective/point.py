"""The objective as the fully corrective method sees it: through predictions, all of them at once."""

from typing import Any, NamedTuple

import numpy as np

from frankwolfe.compile.kernels import exact_kernel, kernel
from frankwolfe.compile.verbs import contract, curvature, derivative, hessian_product, row_add, value
from frankwolfe.data.rows import Samples
from frankwolfe.objective.intercept import EPSILON, NOISE, Sums, bracketed_root, is_shifted, trust_region

QUICK_ROUNDS = 60
"""Rounds after which a search for an intercept is begun anew from afar; from an ordinary start less than ten do."""


class Guess(NamedTuple):
    """Where the search for an intercept starts: what is known of another model. Attributes as those of `Point`."""

    shift: np.ndarray
    mean: np.ndarray
    curve: np.ndarray | None = None


class ZeroModel(NamedTuple):
    """The zero model: what it costs, and where the search for the intercept of other models starts.

    Attributes
    ----------
    value : float
        The objective ``F(0)``.
    shift, mean, curve
        As those of `Point`.
    """

    value: float
    shift: np.ndarray | None
    mean: np.ndarray | None
    curve: np.ndarray | None

    @classmethod
    def of(cls, samples: Samples) -> "ZeroModel":
        """Evaluate it. No row is read: all its predictions are zero."""
        at = Point.at(samples, samples.table())
        return cls(at.value, at.shift, at.mean, at.curve)


class Point(NamedTuple):
    """A point as the objective sees it.

    Attributes
    ----------
    z : array
        Predictions, without intercept; those of several outputs laid out flat, row after row.
    losses : array of shape (n,)
        Losses.
    alpha : array
        Weighted derivatives, as many as predictions.
    value : float
        The objective.
    shift : array of shape (outputs,), or None
        The best intercept, where there is one.
    stationary : bool
        Whether the slope in the intercept is zero to rounding. Where it is not, no gap proves anything.
    mean : array of shape (outputs,), or None
        Weighted mean of the predictions: as it moves, the intercept is expected to.
    curve : array of shape (outputs, outputs), or None
        An approximate second derivative in the intercept.
    """

    z: np.ndarray
    losses: np.ndarray
    alpha: np.ndarray
    value: float
    shift: np.ndarray | None = None
    stationary: bool = True
    mean: np.ndarray | None = None
    curve: np.ndarray | None = None

    @classmethod
    def at(cls, samples: Samples, z: np.ndarray, before: "Point | Guess | ZeroModel | None" = None) -> "Point":
        """Evaluate the objective where the predictions are ``z``, with the best intercept if there is one.

        ``before`` is another point, close by if possible: its intercept is where the search for the best one starts.
        """
        losses, alpha = np.empty(len(samples.weights)), np.empty(samples.shape)
        z = z.reshape(samples.shape)
        if not is_shifted(samples.loss):
            value = judge(samples.targets, samples.weights, samples.loss, z, losses, alpha)
            return cls(z.ravel(), losses, alpha.ravel(), float(value))
        search = _Intercept(samples.targets, samples.weights, samples.loss.base, z, losses, alpha)
        shift, curve = search.best(before)
        at, stationary = search.sums(shift), search.is_level(shift)
        return cls(z.ravel(), losses, alpha.ravel(), at.value, shift, stationary, search.mean, curve)

    def proven(self, gap: float) -> float:
        """Return a gap, or infinity: no set bounds the intercept, so unless its slope is zero nothing is proven."""
        return gap if self.stationary else float("inf")

    def shifted(self) -> np.ndarray:
        """Return the predictions with the intercept, flat: what the loss judges."""
        return self.z if self.shift is None else (self.z.reshape(-1, len(self.shift)) + self.shift).ravel()


class _Intercept:
    """The objective as a function of the intercept, for given predictions."""

    def __init__(self, targets: Any, weights: np.ndarray, loss: Any, z: np.ndarray, losses: Any, alpha: Any):
        self.targets, self.weights, self.loss = targets, weights, loss
        self.z, self.losses, self.alpha = z, losses, alpha
        self.mean = np.atleast_1d(self.weights @ z)
        self.size = float(self.weights @ np.abs(z).reshape(len(z), -1).sum(axis=1))
        with np.errstate(over="ignore"):  # what overflows shows in the objective
            self.spread = float(np.linalg.norm(np.sqrt(self.weights)[:, None] * z.reshape(len(z), -1)))
        self.smoothness = float(self.loss.smoothness())
        self._at: tuple[np.ndarray, Sums] | None = None

    def best(self, before: Point | Guess | ZeroModel | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the best intercept, or for a loss that is not convex a stationary one that is no worse than the start.

        Where a point close by is known, its intercept moves with the mean prediction, as it would on centred data.
        """
        if before is not None and before.shift is not None and before.mean is not None:
            start = before.shift + (before.mean - self.mean)
        else:
            start = self._first()
        curve = None if before is None else before.curve
        if self.z.ndim == 1 and getattr(self.loss, "convex", False):
            return np.array([bracketed_root(self._slope, float(start[0]))]), None
        found = trust_region(self.sums, self._hessian, start, curve, most=QUICK_ROUNDS)
        if not self.is_level(found[0]):
            found = trust_region(self.sums, self._hessian, self._from_afar(found[0]))
        return found

    def _from_afar(self, start: np.ndarray) -> np.ndarray:
        """Return about the best intercept where predictions are far apart: that of the same problem on a smaller scale.

        A multinomial loss of predictions in the millions is flat between kinks, where Newton's method is lost. With
        predictions divided by their size it is smooth; from there the scale is taken back step by step.
        """
        scale = self.spread if getattr(self.loss, "convex", False) and np.isfinite(self.spread) else 0.0
        while scale > 1.0:
            losses, alpha = np.empty_like(self.losses), np.empty_like(self.alpha)
            near = _Intercept(self.targets, self.weights, self.loss, self.z / scale, losses, alpha)
            start = scale * trust_region(near.sums, near._hessian, start / scale, most=QUICK_ROUNDS)[0]
            scale *= 0.1
        return start

    def _first(self) -> np.ndarray:
        """Return a first guess: predictions centred at zero or, for one output, at the mean target if that is lower."""
        centred = -self.mean
        if self.z.ndim > 1:
            return centred
        other = centred + self.weights @ self.targets
        return other if self.sums(other).value < self.sums(centred).value else centred

    def is_level(self, shift: np.ndarray) -> bool:
        """Whether the slope is zero but for rounding, whose terms add up as a random walk does."""
        at, factor = self.sums(shift), NOISE + len(self.losses) ** 0.5
        steepest = float(np.abs(at.slope).max())
        # where the curvature jumps next to a prediction, that of the other side counts too
        return steepest <= factor * at.rounding or steepest <= factor * self._rounding(shift, beside=True)

    def _rounding(self, shift: np.ndarray, beside: bool = False) -> float:
        """Return what one unit of rounding in each prediction and each derivative may change the slope by."""
        blur = slope_blur(self.targets, self.weights, self.loss, self.z, self._plain(shift), beside)
        return self._at_least(float(np.abs(self.alpha).sum() + blur), shift)

    def _at_least(self, units: float, shift: Any) -> float:
        """Return so many units of rounding, or so little that it changes no objective.

        Where all derivatives all but vanish, so does their rounding, and a search would never end.
        """
        least = EPSILON * self.smoothness * (self.size + float(np.abs(shift).sum()))
        units = max(units, least)
        return EPSILON * units if np.isfinite(units) else 0.0

    def _plain(self, shift: np.ndarray) -> Any:
        """Return the shift in the shape of one prediction."""
        return shift if self.z.ndim > 1 else float(shift[0])

    def _slope(self, shift: float) -> tuple[float, float, float]:
        """Slope and curvature in the intercept of one output, and the slope's rounding."""
        slope, curve, units = slope_and_curvature(self.targets, self.weights, self.loss, self.z, shift)
        return float(slope), float(curve), self._at_least(float(units), shift)

    def sums(self, shift: np.ndarray) -> Sums:
        """Value and slope; losses and derivatives are filled in."""
        if self._at is None or not np.array_equal(self._at[0], shift):
            there = self.z + self._plain(shift)
            value = judge(self.targets, self.weights, self.loss, there, self.losses, self.alpha)
            slope, noise = np.atleast_1d(self.alpha.sum(axis=0)), self._noise(abs(float(value)), shift)
            self._at = shift.copy(), Sums(float(value), slope, self._rounding(shift), noise)
        return self._at[1]

    def _noise(self, value: float, shift: Any) -> float:
        """Return what rounding may change the objective by: derivatives are at most ``sqrt(2 smoothness f)``."""
        blur = self.spread + float(np.abs(shift).max())
        found = EPSILON * (value + (2.0 * self.smoothness * value) ** 0.5 * blur)
        return found if np.isfinite(found) else 0.0

    def _hessian(self, shift: np.ndarray) -> np.ndarray:
        """Second derivative in the intercept."""
        if self.z.ndim == 1:
            return np.array([[self._slope(float(shift[0]))[1]]])
        total = np.zeros((len(shift), len(shift)))
        add_second_derivatives(self.targets, self.weights, self.loss, self.z + shift, total)
        return total


@kernel
def judge(targets, weights, loss, z, losses, alpha):
    """Fill in the losses and the weighted derivatives at the predictions ``z``; return the objective there."""
    total = 0.0
    for i in range(len(z)):
        losses[i] = value(loss, z[i], targets[i])
        total += weights[i] * losses[i]
        alpha[i] = weights[i] * derivative(loss, z[i], targets[i])
    return total


@exact_kernel
def slope_and_curvature(targets, weights, loss, z, shift):
    """First and second derivative of the objective in a shift of all predictions, and the units of their rounding."""
    slope, lost, curve, units = 0.0, 0.0, 0.0, 0.0
    for i in range(len(z)):
        pull = weights[i] * derivative(loss, z[i] + shift, targets[i])
        # Kahan's sum: the roundings of a plain one would hide where the slope is zero
        term = pull - lost
        grown = slope + term
        lost = (grown - slope) - term
        slope = grown
        curved = weights[i] * curvature(loss, z[i] + shift, targets[i])
        curve += curved
        units += abs(pull) + abs(curved) * (abs(z[i]) + abs(shift))
    return slope, curve, units


@kernel
def slope_blur(targets, weights, loss, z, shift, beside):
    """Return what the slope in a shift would change by if each prediction changed by its own size, to first order.

    ``beside`` tells to take the largest curvature next to each prediction, no farther than rounding, instead of that
    at the prediction.
    """
    total = 0.0
    for i in range(len(z)):
        size = np.abs(z[i]) + np.abs(shift)
        change = contract(np.abs(curvature(loss, z[i] + shift, targets[i])), size)
        if beside:
            step = 4.0 * EPSILON * size
            change = max(change, contract(np.abs(curvature(loss, z[i] + shift - step, targets[i])), size))
            change = max(change, contract(np.abs(curvature(loss, z[i] + shift + step, targets[i])), size))
        total += weights[i] * change
    return total


@kernel
def add_second_derivatives(targets, weights, loss, z, total):
    """Add the weighted second derivatives at the predictions ``z``, each a matrix, of a loss of several outputs."""
    unit = np.zeros(len(total))
    for i in range(len(z)):
        for c in range(len(unit)):
            unit[c] = weights[i]
            total[c] += hessian_product(loss, z[i], targets[i], unit)
            unit[c] = 0.0


def sample_curvatures(samples: Samples, point: Point, care: float, floor: float) -> np.ndarray:
    """Return weighted curvatures at a point, one for each prediction, none of them less than ``floor`` in size."""
    curvatures = np.empty(samples.shape)
    loss = samples.loss if point.shift is None else samples.loss.base
    z = point.shifted().reshape(samples.shape)
    if curvatures.ndim == 1:
        fill_curvatures(samples.targets, samples.weights, loss, z, point.losses, point.alpha, care, floor, curvatures)
    else:
        fill_output_curvatures(samples.targets, samples.weights, loss, z, floor, curvatures)
    return curvatures.ravel()


@kernel
def fill_curvatures(targets, weights, loss, z, losses, alpha, care, floor, curvatures):
    """Fill ``curvatures`` with weighted curvatures at the predictions ``z``, none of them less than ``floor`` in size.

    Far from the optimum the curvature at a point says little: a sample on the wrong side of a logistic loss pulls as
    hard as any and has none. The parabola that touches the loss and has its lowest point at zero has the curvature
    ``f'^2 / (2 f)``, which is the loss's own where that is a square. It is heeded as much as ``care`` says.
    """
    for i in range(len(z)):
        size = max(abs(curvature(loss, z[i], targets[i])), floor)
        if losses[i] > 0.0 and weights[i] > 0.0:
            pull = alpha[i] / weights[i]
            size = max(size, 0.5 * care * pull * pull / losses[i])
        curvatures[i] = weights[i] * size


@kernel
def fill_output_curvatures(targets, weights, loss, z, floor, curvatures):
    """Fill ``curvatures`` with weighted curvatures of losses of several outputs: diagonals that bound the true ones."""
    for i in range(len(z)):
        curvatures[i] = weights[i] * np.maximum(curvature(loss, z[i], targets[i]), floor)


@kernel
def combine(rows, alpha, r):
    """Fill ``r`` with the sum of all rows, each times its entry of ``alpha``."""
    r[:] = 0.0
    for i in range(len(alpha)):
        row_add(rows, i, alpha[i], r)


def gradient_of(rows: Any, alpha: np.ndarray, d: int) -> np.ndarray:
    """Return the sum of all rows, each times its entry of ``alpha``."""
    if getattr(rows[0], "dtype", None) != np.float32:
        return rows.add_all(alpha, d)
    gradient = np.empty(d)  # a library would copy narrower numbers before it multiplies them
    combine(rows, alpha, gradient)
    return gradient
