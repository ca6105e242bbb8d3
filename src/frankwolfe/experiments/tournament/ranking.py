"""A ranking with its uncertainty: the mean logarithm of cost over the best, with bootstrap intervals over problems."""

from typing import NamedTuple

import numpy as np

from frankwolfe.experiments.tournament.profiles import Costs

PENALTY = 2.0
"""A run that did not get there counts as if it had taken this many times the budget (PAR2, as in solver contests)."""

RESAMPLES = 2000
LEVEL = 0.95


class Standing(NamedTuple):
    """Where a method stands.

    Attributes
    ----------
    method : str
        Its name.
    contends : bool
        False for a reference, which has no rank.
    rank : int or None
        1 is best.
    ratio : float
        Geometric mean over cases of its cost over that of the best contender.
    low, high : float
        Bootstrap interval of the ratio over problems; NaN where there is but one.
    rank_low, rank_high : int or None
        The same of the rank.
    reached : float
        Share of the cases on which it got there.
    first : float
        Share of the cases on which no contender was faster.
    """

    method: str
    contends: bool
    rank: int | None
    ratio: float
    low: float
    high: float
    rank_low: int | None
    rank_high: int | None
    reached: float
    first: float


def log_ratios(costs: Costs) -> np.ndarray:
    """Return the mean log-ratio to the best of every method on every family of problems: (methods, families).

    Runs that did not get there are penalised. Cases on which no contender got there say nothing and are left out; NaN
    stands where nothing is left.
    """
    best = costs.best()
    penalised = np.where(np.isinf(costs.values), PENALTY * costs.budgets[:, None], costs.values)
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(penalised / best)
    logs[:, ~np.isfinite(best)] = np.nan
    families = list(dict.fromkeys(costs.families))
    members = [[k for k, family in enumerate(costs.families) if family == wanted] for wanted in families]
    per_problem = _mean(logs, axis=2)
    return np.stack([_mean(per_problem[:, rows], axis=1) for rows in members], axis=1)


def rank(costs: Costs, seed: int = 0) -> list[Standing]:
    """Rank the methods, the best first; references stand where their ratio puts them."""
    logs = log_ratios(costs)
    means = _mean(logs, axis=1)
    draws = np.random.default_rng(seed).integers(logs.shape[1], size=(RESAMPLES, logs.shape[1]))
    resampled = _mean(logs[:, draws], axis=2)  # methods, resamples
    edges = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
    certain = logs.shape[1] > 1
    ranks = _ranks(means[:, None], costs.contends)[:, 0]
    seen = _ranks(resampled, costs.contends)
    weights = np.broadcast_to(costs.weights()[:, None], costs.values.shape[1:])
    ratios = costs.ratios()
    standings = []
    for k, name in enumerate(costs.methods):
        there = ~np.isnan(costs.values[k])
        share = weights[there] / weights[there].sum() if there.any() else weights[there]
        low, high = np.quantile(resampled[k], edges) if certain and np.isfinite(resampled[k]).all() else (np.nan,) * 2
        bounds = np.quantile(seen[k], edges, method="nearest") if certain else (0, 0)
        contends = bool(costs.contends[k]) and bool(np.isfinite(means[k]))
        standings.append(
            Standing(
                name,
                bool(costs.contends[k]),
                int(ranks[k]) if contends else None,
                float(np.exp(means[k])),
                float(np.exp(low)),
                float(np.exp(high)),
                int(bounds[0]) if contends and certain else None,
                int(bounds[1]) if contends and certain else None,
                float(share[np.isfinite(costs.values[k][there])].sum()),
                float(share[ratios[k][there] <= 1.0 + 1e-12].sum()),
            )
        )
    return sorted(standings, key=lambda standing: np.nan_to_num(standing.ratio, nan=np.inf))


def _ranks(means: np.ndarray, contends: np.ndarray) -> np.ndarray:
    """Return the rank of each row among the contenders, column by column: 1 and how many contenders are better."""
    values = np.where(np.isnan(means), np.inf, means)
    return 1 + np.stack([(values[contends] < row).sum(axis=0) for row in values])


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Return means over what is not NaN; NaN where nothing is left."""
    there = ~np.isnan(values)
    count = there.sum(axis=axis)
    total = np.where(there, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


class Comparison(NamedTuple):
    """One method against another: the geometric mean of the ratios of their costs, with a bootstrap interval."""

    other: str
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether the interval leaves 1 out."""
        if self.low > 1.0:
            return "slower"
        return "faster" if self.high < 1.0 else "undecided"


def against(costs: Costs, method: str, seed: int = 0) -> list[Comparison]:
    """Compare a method with each of the others, problem by problem: the ratios are those of the same cases.

    A case that neither of the two got to the end of counts as even.
    """
    logs = log_ratios(costs)
    mine = logs[costs.methods.index(method)]
    draws = np.random.default_rng(seed).integers(logs.shape[1], size=(RESAMPLES, logs.shape[1]))
    found = []
    for name, theirs in zip(costs.methods, logs, strict=True):
        if name == method:
            continue
        difference = mine - theirs
        resampled = _mean(difference[draws], axis=1)
        certain = (~np.isnan(difference)).sum() > 1
        low, high = np.nanquantile(resampled, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0]) if certain else (np.nan,) * 2
        mean = float(_mean(difference, axis=0))
        found.append(Comparison(name, float(np.exp(mean)), float(np.exp(low)), float(np.exp(high))))
    return sorted(found, key=lambda comparison: np.nan_to_num(comparison.ratio, nan=np.inf))


def typical_costs(costs: Costs) -> np.ndarray:
    """Return the geometric mean over seeds of every method's cost on every problem; infinite where no seed got there.

    Where only some did, the others count as `PENALTY` times the budget.
    """
    penalised = np.where(np.isinf(costs.values), PENALTY * costs.budgets[:, None], costs.values)
    with np.errstate(divide="ignore", invalid="ignore"):
        typical = np.exp(_mean(np.log(penalised), axis=2))
    nowhere = (np.isinf(costs.values) | np.isnan(costs.values)).all(axis=2)
    return np.where(nowhere & np.isinf(costs.values).any(axis=2), np.inf, typical)
