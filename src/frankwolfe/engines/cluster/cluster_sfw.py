"""Stochastic Frank-Wolfe on a cluster: every part keeps the table of its rows and refreshes its share of a batch."""

from collections import deque
from typing import Any

import numpy as np

from frankwolfe.engines.cluster.cluster_stepwise import ClusterFrankWolfe, ClusterStepwise
from frankwolfe.engines.cluster.remote_table import Stale, refresh, table_at, table_slopes
from frankwolfe.losses import has_dual
from frankwolfe.methods.gradient import TABLE_CHANGE
from frankwolfe.methods.table import Method
from frankwolfe.shards.local import Local


class ClusterSFW(ClusterStepwise):
    """Stochastic Frank-Wolfe: every part refreshes its share of the batch and sends the change of ``r``."""

    certifies_itself = False
    table_follows = True

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        objective = self.problem.objective
        self._rows = dict(objective.shards.run(numbered_rows)[0])
        self._version = self.steps
        self._table: Any = objective.shards.keep(table_at, objective.zeros(), self._version)
        # of the batches of the last quarter of a pass: what the table was wrong by before they were refreshed
        self._residuals: deque[float] = deque(maxlen=max(4, self.problem.n // (4 * self.batch_size)))

    def _learn(self) -> None:
        objective, rng = self.problem.objective, self.generator
        share = rng.multivariate_hypergeometric([*self._rows.values()], self.batch_size, method="marginals")
        seed = int(rng.integers(2**62))
        self.rows_read += self.batch_size
        rows = dict(zip(self._rows, share.tolist(), strict=True))
        (answers,) = objective.shards.run(refresh, self._table, self._version, self.point(), rows, seed)
        if any(isinstance(answer, Stale) for answer in answers):
            self._make_exact()
            return
        self._version += 1
        r, counters = self.gradient.r, self.gradient.counters
        for places, values, size, _ in answers:
            r[places] += values
            counters[TABLE_CHANGE] += size
        self._residuals.append(sum(answer.residuals for answer in answers) * self.problem.n / self.batch_size)
        self._take_over(r.copy())

    def _make_exact(self) -> None:
        """Replace a table of which a part was lost by the derivatives at the iterate, by a pass."""
        self._version += 1
        objective = self.problem.objective
        at, gradient = objective.at(self.point())
        self.rows_read += self.problem.n
        self._table = objective.shards.keep(table_at, at.alpha, self._version)
        self._residuals.clear()
        self._take_over(gradient)

    def _resume(self) -> None:
        self._make_exact()

    def mean_residual(self) -> tuple[float, float]:
        """Return the mean residual of the rows that batches refreshed of late, and its standard error."""
        if len(self._residuals) < 2:
            return np.nan, np.nan
        return float(np.mean(self._residuals)), float(np.std(self._residuals, ddof=1) / len(self._residuals) ** 0.5)

    def table(self) -> Any:
        """Return the table as it is now, if the loss knows its conjugate."""
        if not has_dual(self.problem.loss):
            return None
        return self.problem.objective.shards.keep(table_slopes, self._table)


def numbered_rows(local: Local) -> tuple:
    """Return a list of one pair: which shard it is, and how many rows it has."""
    return ([(local.number, len(local.samples.weights))],)


def cluster_engine(method: Method) -> type[ClusterStepwise]:
    """Return the engine that makes the steps of a method on a cluster."""
    return ClusterFrankWolfe if method.estimate.abilities.reads_all_rows else ClusterSFW
