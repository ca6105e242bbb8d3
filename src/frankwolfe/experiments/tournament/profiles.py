"""What it costs a method to reach an accuracy, and performance profiles of that (Dolan and More 2002).

A *case* is a problem with a seed. The ratio of a method on a case is its cost over that of the best contender there;
``rho(tau)`` of a method is the share of cases on which its ratio is at most ``tau``. At ``tau = 1`` that is how often
it comes first, to the right how often it gets there at all. A reference does not contend: it has no part in who is
best.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frankwolfe.experiments.tournament.runs import Run


class Costs(NamedTuple):
    """What every method paid for an accuracy on every case.

    Attributes
    ----------
    methods : list of str
        Names of the rows.
    contends : array of bool
        Which of them contend; the others are references.
    problems, families : list of str
        Problems, and the family of each: a family weighs as much as one problem.
    values : array of shape (methods, problems, seeds)
        Passes or seconds; infinite where the accuracy was not reached, NaN where there was no run.
    budgets : array of shape (problems,)
        The most that a run could spend.
    """

    methods: list[str]
    contends: np.ndarray
    problems: list[str]
    families: list[str]
    values: np.ndarray
    budgets: np.ndarray

    def best(self) -> np.ndarray:
        """Return the least cost of a contender on each case; infinite where none got there."""
        values = np.where(np.isnan(self.values), np.inf, self.values)[self.contends]
        return values.min(axis=0, initial=np.inf)

    def weights(self) -> np.ndarray:
        """Return what each problem weighs: families share a weight of one."""
        return np.array([1.0 / self.families.count(family) for family in self.families])

    def ratios(self) -> np.ndarray:
        """Return costs over those of the best contender; infinite where either did not get there."""
        best = self.best()
        with np.errstate(invalid="ignore"):
            found = self.values / best
        return np.where(np.isnan(self.values), np.nan, np.where(np.isfinite(best), found, np.inf))

    def of(self, method: str) -> np.ndarray:
        """Return the costs of one method, of shape (problems, seeds)."""
        return self.values[self.methods.index(method)]


class Profile(NamedTuple):
    """Performance profiles: the share of cases within ``tau`` times the best, a row of ``shares`` for each method."""

    tau: np.ndarray
    shares: dict[str, np.ndarray]


def first_time(run: Run, level: float, threshold: float, by: str) -> float:
    """Return when a run first got within ``threshold`` of ``level``, in passes or seconds; infinite if it never did.

    Between the traced point that does and the one before, the cost is interpolated on logarithmic axes.
    """
    cost, above = run.columns[by], run.columns["fun"] - level
    return first_below(cost, above, threshold)


def first_below(cost: np.ndarray, value: np.ndarray, threshold: float) -> float:
    """Return the cost at which a value first falls to a threshold; infinite if it does not.

    Examples
    --------
    >>> round(first_below(np.array([0.0, 1.0, 4.0]), np.array([1.0, 0.1, 0.001]), 0.01), 6)
    2.0
    """
    met = np.flatnonzero(value <= threshold)
    if not met.size:
        return np.inf
    k = int(met[0])
    if k == 0 or cost[k - 1] <= 0.0 or cost[k] <= cost[k - 1] or not value[k] > 0.0:
        return float(cost[k])
    part = np.log(value[k - 1] / threshold) / np.log(value[k - 1] / value[k]) if np.isfinite(value[k - 1]) else 1.0
    return float(np.exp(np.log(cost[k - 1]) + part * np.log(cost[k] / cost[k - 1])))


def performance_profile(costs: Costs, taus: Sequence[float] | np.ndarray) -> Profile:
    """Return the share of cases, by weight, on which each method is within each factor of the best."""
    ratios, taus = costs.ratios(), np.asarray(taus, dtype=float)
    weights = np.broadcast_to(costs.weights()[:, None], ratios.shape[1:])
    shares = {}
    for name, ratio in zip(costs.methods, ratios, strict=True):
        there = ~np.isnan(ratio)
        total = weights[there].sum()
        within = [weights[there][ratio[there] <= tau * (1.0 + 1e-12)].sum() for tau in taus]
        shares[name] = np.array(within) / total if total > 0.0 else np.full(len(taus), np.nan)
    return Profile(taus, shares)
