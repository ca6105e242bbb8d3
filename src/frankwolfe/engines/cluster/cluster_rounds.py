"""The corrective engines on a cluster: a round's vectors stay with the rows, and exact passes begin from the weights.

Every round begins with one exact pass at its weights. So all that the workers keep follows from what the client knows,
and a run that goes on from a checkpoint, or after a worker was lost, comes to the same numbers.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from frankwolfe.cluster.cluster_error import ClusterError
from frankwolfe.cluster.dask_shards import entry
from frankwolfe.engines.cluster.worker_samples import mean_sample_optimum
from frankwolfe.engines.corrective.active_atoms import HessianLimits
from frankwolfe.engines.corrective.engine import CorrectiveEngine
from frankwolfe.engines.corrective.interior import InteriorEngine
from frankwolfe.engines.state import copied, flat
from frankwolfe.objective.point import Point
from frankwolfe.objective.tasks import evaluate
from frankwolfe.problem import Evaluation, Problem

CLUSTER_LIMITS = HessianLimits(4096, 4096, 4096)
"""Up to how many atoms a Hessian is formed on a cluster, where columns cannot be visited one after the other."""

SAME_HESSIAN = 3.0
"""A step with the Hessian of the one before is expected to leave at most so many times the part of the gap that that
one left. Were it more, the next step would have a Hessian of its own."""

KNOWN = ("value", "size", "shift", "stationary", "mean", "curve")
"""What a state keeps of a point: the workers make the rest again."""


class Passed(NamedTuple):
    """An exact pass: at which weights, the point there, and the gradient."""

    w: np.ndarray
    at: Point
    gradient: np.ndarray


class OnCluster:
    """What engines that go in rounds do otherwise where the data is on a cluster."""

    problem: Problem
    at: Any
    rows_read: int
    scale: float

    def warm_up(self) -> None:
        """Do nothing: the workers compile when they are first asked."""

    def _slopes_handed_over(self, found: Evaluation) -> dict[str, Any]:
        """Return nothing: derivatives stay on the workers."""
        return {}

    def _point_state(self) -> dict[str, Any]:
        """Return the numbers that are known of the iterate."""
        found: dict[str, Any] = {}
        for name in KNOWN:
            found |= flat(f"at.{name}", getattr(self.at, name))
        return found

    def _restore_point(self, state: Mapping[str, Any]) -> None:
        """Name the point again from the weights; nothing is computed."""
        objective, known = self.problem.objective, {name: copied(state.get(f"at.{name}")) for name in KNOWN}
        z = objective.predict(self._weights(state))
        found = objective.shards.keep(evaluate, z, known["shift"])
        losses, alpha = (objective.shards.keep(entry, found, k) for k in range(2))
        self.at = Point(z, losses, alpha, **known)

    def _weights(self, state: Mapping[str, Any]) -> np.ndarray:
        """Return the weights of a state."""
        raise AssertionError("unreachable: every engine says what its weights are")


class ClusterCorrective(OnCluster, CorrectiveEngine):
    """One run of the fully corrective method on a cluster."""

    def __init__(
        self,
        problem: Problem,
        w: np.ndarray,
        earlier: Mapping[str, Any] | None = None,
        limits: HessianLimits | None = None,
    ):
        super().__init__(problem, w, earlier, limits or CLUSTER_LIMITS)
        self._last_pass: Passed | None = None

    def _evaluate(self) -> tuple[np.ndarray, float]:
        """Bring ``at`` up to date; return the gradient there and the exact gap."""
        w, known = self.point(), self._last_pass
        if known is None or known.at is not self.at or not np.array_equal(known.w, w):
            known = self._pass(w)
        self.at, self._last_pass = known.at, None
        return known.gradient, self.problem.gap_for(known.gradient, w)

    def _pass(self, w: np.ndarray, since: Any = None) -> "Passed":
        """Take an exact pass at some weights, maybe with the slope on the way from other predictions."""
        at, gradient = self.problem.objective.at(w, self.at or self.problem.guess, since)
        return Passed(w, self._charged(at), gradient)

    def _sample_optimum(self) -> tuple[np.ndarray, int]:
        """Return the average of weights that are optimal for samples of the workers' rows, and how many were read."""
        return mean_sample_optimum(self.problem)

    def _evaluate_start(self, w: np.ndarray) -> Point:
        """Return the point with some weights: by an exact pass, for the next round begins there."""
        self._last_pass = self._pass(w)
        return self._last_pass.at

    def _goal(self, u: np.ndarray) -> tuple[Any, Any]:
        """Return the predictions at the end of a step, and the point there.

        An exact pass tells the gradient too: where the step is made in full, as most are, no other call is needed.
        With an intercept that takes calls of its own to find.
        """
        if self.problem.intercept:
            return super()._goal(u)
        passed = self._last_pass = self._pass(self.atoms.w(u), self.at.z)
        slopes = self.atoms.slope(passed.gradient)
        self.problem.objective.note_slopes(self.atoms.matrix.matrix, passed.at.alpha, slopes)
        return passed.at.z, passed.at

    def _newton(self, slope: np.ndarray, gap: float) -> bool:
        """Minimise a quadratic model and go there as far as the objective falls; say whether it did."""
        # where a step like the last one, with the same Hessian, should meet the tolerance, no other is summed up
        self.atoms.hessian.serves_on = self.promised < np.inf and SAME_HESSIAN * self.left * gap <= self.target
        count = len(self.atoms.choose(slope))
        if not self.atoms.hessian_is_affordable(count):
            most = (self.limits or CLUSTER_LIMITS).usual
            raise ClusterError(
                f"{count:,} atoms are active, and on a cluster Hessians are formed of {most:,} at most: use a smaller "
                "radius, a larger tol, or data in memory"
            )
        return super()._newton(slope, gap)

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take over all that a state holds; the atoms first, for they say where the point is."""
        self.atoms.restore(state)
        super()._restore(state)

    def _weights(self, state: Mapping[str, Any]) -> np.ndarray:
        return self.point()

    def move_to(self, problem: Problem) -> bool:
        """Go on over a set of another radius, with the same columns; say whether that can be done."""
        hull = problem.constraint.structure().hull
        if hull is None or self.atoms.indirect or problem.X is not self.problem.X:
            return False
        self.problem, self.rows_read, self.stuck = problem, 0, False
        self._forget_bounds()
        self.atoms.hull = hull
        self.atoms.u = hull.fit(self.atoms.u)
        self.lowest_gap = self.lowest_value = np.inf
        self.caution, self.vain, self.left = 1.0, 0, 0.0
        self.unseen, self.promised, self._found = 0, np.inf, None
        return True


class ClusterInterior(OnCluster, InteriorEngine):
    """One run of the corrective method on a set with a barrier, on a cluster."""

    def _weights(self, state: Mapping[str, Any]) -> np.ndarray:
        return self.w
