"""The low-rank engine on a cluster: small matrices between two subspaces travel, predictions do not.

Weights are ``left S right'`` with small ``S``. A model of the objective in ``S`` is a quadratic whose Hessian the
workers sum up, if it is small enough to be formed; else they multiply with it, a call for each product.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.engines.cluster.cluster_rounds import OnCluster
from frankwolfe.engines.corrective.low_rank import (
    ARMIJO,
    CURVATURE_FLOOR,
    MAX_HALVINGS,
    MAX_NEWTON_STEPS,
    MAX_PROJECTIONS,
    VALUE_ROUNDING,
    LowRankEngine,
    hessian_products,
)
from frankwolfe.engines.corrective.trace_model import TraceModel, gap_within
from frankwolfe.linalg.matrices import pseudo_inverse
from frankwolfe.objective.tasks import curvatures, shifted_by
from frankwolfe.shards.interface import Kept
from frankwolfe.shards.local import Local

MOST_FORMED = 1500
"""Most entries of ``S`` for which the Hessian is formed: it has the square of their number."""


def view(local: Local, left: np.ndarray, right: np.ndarray) -> Any:
    """Return the data as matrices ``left S right'`` see it: with several outputs ``X left``."""
    return local.samples.rows.sandwich(left, right)


def seen(local: Local, view: Any, S: np.ndarray) -> np.ndarray:
    """Return the predictions of ``left S right'``, in the shape of the targets."""
    return view.predict(S).reshape(local.samples.shape)


def pull(local: Local, view: Any, alpha: np.ndarray) -> tuple:
    """Return the gradient in ``S``."""
    return (view.pull(alpha.reshape(local.samples.shape)),)


class Curved(NamedTuple):
    """Second derivatives of the losses at a point."""

    local: Local
    point: tuple
    floor: float

    def times(self, change: np.ndarray) -> np.ndarray:
        """Return the second derivatives times a change of the predictions."""
        samples, (z, shift, losses, alpha) = self.local.samples, self.point
        if len(samples.shape) == 1:
            return curvatures(self.local, z, shift, losses, alpha, 1.0, self.floor) * change
        out = np.empty(samples.shape)
        there = shifted_by(self.local, z, shift)
        hessian_products(samples.targets, samples.weights, samples.loss, there, np.ascontiguousarray(change), out)
        return out

    def in_intercept(self) -> np.ndarray:
        """Return the second derivative in the intercept."""
        shape = self.local.samples.shape
        if len(shape) == 1:
            return np.array([[self.times(np.ones(shape)).sum()]])
        return np.array([self.times(np.broadcast_to(row, shape)).sum(axis=0) for row in np.eye(shape[1])])


def product(local: Local, view: Any, point: tuple, floor: float, S: np.ndarray) -> tuple:
    """Return the Hessian in ``S`` times a matrix, and the sums over samples that an intercept needs."""
    out = Curved(local, point, floor).times(seen(local, view, S))
    return view.pull(out), np.atleast_1d(out.sum(axis=0))


def small_hessian(local: Local, view: Any, point: tuple, floor: float, shape: tuple) -> tuple:
    """Return the Hessian in the entries of ``S``, that in intercept and entries, and that in the intercept."""
    curved, columns, sums = Curved(local, point, floor), [], []
    S = np.zeros(shape)
    for k in range(S.size):
        S.flat[k] = 1.0
        out = curved.times(seen(local, view, S))
        columns.append(view.pull(out).ravel())
        sums.append(np.atleast_1d(out.sum(axis=0)))
        S.flat[k] = 0.0
    return np.array(columns), np.array(sums).T, curved.in_intercept()


def intercept_pulls(local: Local, view: Any, point: tuple, floor: float) -> tuple:
    """Return the second derivative in intercept and ``S``, a matrix for each output, and that in the intercept."""
    curved, shape = Curved(local, point, floor), local.samples.shape
    units = np.eye(shape[1]) if len(shape) > 1 else np.ones(1)
    pulls = [view.pull(curved.times(np.broadcast_to(unit, shape))) for unit in units]
    return np.array(pulls), curved.in_intercept()


class SmallMatrices(NamedTuple):
    """The view of a model whose variable, image and gradient are all ``S`` itself."""

    def predict(self, S: np.ndarray) -> np.ndarray:
        """Return ``S``."""
        return S

    def pull(self, slope: np.ndarray) -> np.ndarray:
        """Return the slope in ``S``."""
        return slope


class ClusterLowRank(OnCluster, LowRankEngine):
    """One run of the corrective method on a trace-norm ball, on a cluster."""

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""
        w = self.point()
        self.at, gradient = self._evaluate_weights(w)
        self.found = self._triplets(-gradient)
        gap = float(gradient @ (w if self.shift is None else w - self.shift)) + self.radius * self.found.bound
        self.last_gap = max(gap, 0.0)
        return gradient, gap

    def _weights(self, state: Mapping[str, Any]) -> np.ndarray:
        return self.point()

    def _view(self, left: np.ndarray, right: np.ndarray) -> Kept:
        """Return the data as the subspaces see it."""
        return self.problem.objective.shards.keep(view, left, right)

    def _minimise(self, view: Kept, S: np.ndarray, goal: float) -> np.ndarray:
        """Make Newton steps on the small matrix until its gap is at most ``goal``."""
        at, objective = self.at, self.problem.objective
        for _ in range(MAX_NEWTON_STEPS):
            slope = objective.shards.run(pull, view, at.alpha)[0]
            if gap_within(slope, S, self.radius) <= goal or self.spent:
                break
            model = TraceModel(SmallMatrices(), self._products(view, at, S.shape), S, slope, self.radius)
            self.bound = 0.7 * self.bound or model.first_bound() or float(np.linalg.norm(slope)) / self.radius
            there, change, self.bound = model.minimum(self.bound, MAX_PROJECTIONS, 0.5 * goal)
            if not np.isfinite(self.bound):
                self.bound = 0.0
                break
            found = self._shorter(view, at, S, change, float(np.vdot(slope, there - S)))
            if found is None:
                break
            S, at = found
        return S

    def _predictions(self, view: Kept, S: np.ndarray) -> Kept:
        """Return the predictions of ``left S right'``, with what the set adds to every point."""
        objective = self.problem.objective
        z = objective.shards.keep(seen, view, S)
        return z if self.shift is None else objective.sum_of(z, objective.predict(self.shift))

    def _shorter(
        self, view: Kept, at: Any, S: np.ndarray, change: np.ndarray, fall: float
    ) -> tuple[np.ndarray, Any] | None:
        """Go along a change of ``S``: all the way, or half as far and so on; return where, or None."""
        gamma = 1.0
        for _ in range(MAX_HALVINGS):
            there = S + gamma * change
            reached = self._evaluate_predictions(self._predictions(view, there))
            rounding = abs(fall) + abs(reached.value - at.value) <= VALUE_ROUNDING * self.scale
            if reached.value < at.value + ARMIJO * gamma * fall or rounding:
                return there, reached
            gamma *= 0.5
        return None

    def _products(self, view: Kept, at: Any, shape: tuple[int, int]) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that multiplies with the Hessian in ``S``; an intercept follows."""
        objective, floor = self.problem.objective, CURVATURE_FLOOR * self.problem.objective.curvature_scale
        run, given = objective.shards.run, (view, (at.z, at.shift, at.losses, at.alpha), floor)
        free = self.problem.intercept
        if shape[0] * shape[1] <= MOST_FORMED:
            H, cross, total = run(small_hessian, *given, shape)
            if free:
                H = H - cross.T @ pseudo_inverse(0.5 * (total + total.T)) @ cross
            return lambda S: (H @ S.ravel()).reshape(shape)
        inverse, pulls = None, np.zeros(0)
        if free:
            pulls, total = run(intercept_pulls, *given)
            inverse = pseudo_inverse(0.5 * (total + total.T))

        def multiplied(S: np.ndarray) -> np.ndarray:
            bent, sums = run(product, *given, S)
            return bent if inverse is None else bent - np.tensordot(inverse @ sums, pulls, axes=1)

        return multiplied
