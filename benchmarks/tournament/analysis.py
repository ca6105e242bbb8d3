"""What methods pay for an accuracy: performance profiles, a ranking with bootstrap intervals, rank correlations.

A *case* is a problem with a seed. The ratio of a method on a case is its cost over that of the best contender there.
Arrays of costs have the shape (methods, problems, seeds): infinite where a run did not reach the accuracy.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from .runs import REFERENCES, Budget, Facts, Run

PENALTY = 2.0
"""A run that does not reach the accuracy counts as this many times the budget (PAR2, as in solver contests)."""

RESAMPLES, LEVEL = 2000, 0.95
EDGES = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)


class Standing(NamedTuple):
    """A method's place: geometric mean ratio to the best with its interval, share of cases reached and won."""

    method: str
    ratio: float
    low: float
    high: float
    reached: float
    first: float


def first_below(cost: np.ndarray, value: np.ndarray, threshold: float) -> float:
    """Return the cost at which a value first falls to a threshold; infinite if it never does.

    The cost is interpolated between two traced points on logarithmic axes.

    Examples
    --------
    >>> round(first_below(np.array([0.0, 1.0, 4.0]), np.array([1.0, 0.1, 0.001]), 0.01), 6)
    2.0
    """
    met = np.flatnonzero(value <= threshold)
    if not met.size:
        return np.inf
    k = int(met[0])
    if k == 0 or cost[k - 1] <= 0.0 or value[k] <= 0.0 or not np.isfinite(value[k - 1]):
        return float(cost[k])
    share = np.log(value[k - 1] / threshold) / np.log(value[k - 1] / value[k])
    return float(cost[k - 1] * (cost[k] / cost[k - 1]) ** share)


class Tournament:
    """All runs with what follows from them.

    Parameters
    ----------
    facts : sequence of Facts
        The problems.
    methods : sequence of str
        Rows of every array of costs.
    runs : sequence of Run
        All runs, failed ones included.
    budget : Budget
        Of each run.
    accuracies : sequence of float
        A run reaches an accuracy once ``F - F* <= accuracy * F(0)``.
    """

    def __init__(
        self,
        facts: Sequence[Facts],
        methods: Sequence[str],
        runs: Sequence[Run],
        budget: Budget,
        accuracies: Sequence[float],
    ):
        self.facts = {each.name: each for each in facts}
        self.methods, self.runs, self.budget = list(methods), list(runs), budget
        self.accuracies = sorted(accuracies, reverse=True)
        self.seeds = 1 + max(run.seed for run in runs)
        self.contends = np.array([name not in REFERENCES for name in methods])
        if not self.contends.any():
            self.contends[:] = True

    @property
    def middle(self) -> float:
        """The middle one of the accuracies."""
        return self.accuracies[len(self.accuracies) // 2]

    def names(self, *groups: str) -> list[str]:
        """Return the problems of some groups."""
        return [name for name, facts in self.facts.items() if facts.group in groups]

    def of(self, problem: str, method: str) -> list[Run]:
        """Return the runs of a method on a problem that did not fail."""
        return [run for run in self.runs if (run.problem, run.method, run.error) == (problem, method, "")]

    def suboptimality(self, run: Run) -> np.ndarray:
        """Return ``(F - F*) / F(0)`` along a run, measured from the proven lower bound on ``F*``."""
        facts = self.facts[run.problem]
        return (run.trace["fun"] - facts.lower_bound) / facts.zero_value

    def cost(self, run: Run, accuracy: float, by: str) -> float:
        """Return the passes or seconds until a run reached an accuracy; NaN for a non-convex loss."""
        facts = self.facts[run.problem]
        if facts.group == "non-convex":
            return np.nan
        least = 1e-6 if by == "seconds" else 1.0 / facts.n
        return max(first_below(run.trace[by], self.suboptimality(run), accuracy), least)

    def costs(self, accuracy: float, by: str, problems: Sequence[str]) -> np.ndarray:
        """Return the passes or seconds of each method, problem and seed. Deterministic runs stand for all seeds."""
        costs = np.full((len(self.methods), len(problems), self.seeds), np.inf)
        for row, method in enumerate(self.methods):
            for column, problem in enumerate(problems):
                found = [self.cost(run, accuracy, by) for run in self.of(problem, method)]
                costs[row, column, : len(found)] = found
                if len(found) == 1:
                    costs[row, column] = found[0]
        return costs

    def ratios(self, costs: np.ndarray) -> np.ndarray:
        """Return costs over those of the best contender; infinite where either did not reach the accuracy."""
        best = costs[self.contends].min(axis=0)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(best), costs / best, np.inf)

    def weights(self, problems: Sequence[str]) -> np.ndarray:
        """Return the weight of each problem: the kappa family counts as one problem."""
        family = [self.facts[name].group == "kappa" for name in problems]
        return np.where(family, 1.0 / max(sum(family), 1), 1.0)

    def penalised(self, costs: np.ndarray, by: str, problems: Sequence[str]) -> np.ndarray:
        """Replace infinite costs by `PENALTY` times the budget: the largest cost of any contender's whole run."""
        spent = {
            name: max(run.trace[by][-1] for run in self.runs if run.problem == name and not run.error)
            for name in problems
        }
        budgets = np.array([self.budget.max_passes if by == "passes" else spent[name] for name in problems])
        return np.where(np.isinf(costs), PENALTY * budgets[:, None], costs)

    def ranking(self, accuracy: float, by: str) -> list[Standing]:
        """Rank the methods by their geometric mean ratio to the best contender, with bootstrap intervals over problems.

        Cases in which no contender reached the accuracy are left out.
        """
        names = [
            name
            for name in self.names("real", "kappa")
            if np.isfinite(self.costs(accuracy, by, [name])[self.contends]).any()
        ]
        if not names:
            return []
        costs = self.costs(accuracy, by, names)
        weights, ratios = self.weights(names), self.ratios(costs)
        best = costs[self.contends].min(axis=0)
        logs = np.log(self.penalised(costs, by, names) / np.where(np.isfinite(best), best, np.nan))
        per_problem = np.nanmean(logs, axis=2)
        draws = np.random.default_rng(0).integers(len(names), size=(RESAMPLES, len(names)))
        samples = np.exp((per_problem[:, draws] * weights[draws]).sum(axis=2) / weights[draws].sum(axis=1))
        intervals = np.quantile(samples, EDGES, axis=1).T if len(names) > 1 else np.full((len(self.methods), 2), np.nan)
        means = np.exp(np.average(per_problem, axis=1, weights=weights))
        reached = np.average(np.isfinite(costs).mean(axis=2), axis=1, weights=weights)
        first = np.average((ratios <= 1.0 + 1e-12).mean(axis=2), axis=1, weights=weights)
        rows = zip(self.methods, means, *intervals.T, reached, first, strict=True)
        return sorted((Standing(name, *map(float, row)) for name, *row in rows), key=lambda each: each.ratio)

    def profile(self, accuracy: float, by: str, taus: np.ndarray) -> np.ndarray:
        """Return the share of cases on which each method is within a factor of the best (Dolan and More 2002)."""
        names = self.names("real", "kappa")
        within = self.ratios(self.costs(accuracy, by, names))[..., None] <= taus * (1.0 + 1e-12)
        return np.average(within.mean(axis=2), axis=1, weights=self.weights(names))

    def typical(self, accuracy: float, by: str, problems: Sequence[str]) -> np.ndarray:
        """Return geometric mean costs over seeds, of shape (methods, problems); infinite if no seed reached it."""
        costs = self.costs(accuracy, by, problems)
        means = np.exp(np.log(self.penalised(costs, by, problems)).mean(axis=2))
        return np.where(np.isinf(costs).all(axis=2), np.inf, means)

    def correlation(self, x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
        """Return Spearman's rank correlation with a bootstrap interval; NaN for fewer than six problems."""
        if len(x) < 6 or np.ptp(y) == 0.0:
            return np.nan, np.nan, np.nan
        draws = np.random.default_rng(0).integers(len(x), size=(RESAMPLES, len(x)))
        found = [spearmanr(x[draw], y[draw])[0] for draw in draws if np.ptp(x[draw]) > 0.0 and np.ptp(y[draw]) > 0.0]
        return float(spearmanr(x, y)[0]), *map(float, np.quantile(found, EDGES))
