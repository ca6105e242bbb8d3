"""Does kappa matter? Rank correlations of a method's cost, and of its ratio to rivals, with kappa / n."""

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from frankwolfe.experiments.tournament.profiles import Costs
from frankwolfe.experiments.tournament.ranking import LEVEL, PENALTY, RESAMPLES

FEWEST = 6
"""Problems that a rank correlation needs: with fewer, resamples are mostly ties and the interval means nothing."""


class Correlation(NamedTuple):
    """A rank correlation (Spearman's) with a bootstrap interval over problems.

    Attributes
    ----------
    value, low, high : float
        The correlation and its interval; NaN where fewer than six problems, or no differences, are left.
    problems : int
        Problems it is computed from.
    """

    value: float
    low: float
    high: float
    problems: int

    def words(self) -> str:
        """Return the numbers."""
        if np.isnan(self.value):
            return "nothing to correlate"
        told = f"rank correlation {self.value:+.2f}, {LEVEL:.0%} interval {self.low:+.2f} to {self.high:+.2f}"
        return f"{told}, {self.problems} problems"

    @property
    def clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return bool(self.low > 0.0 or self.high < 0.0)


def rank_correlation(x: np.ndarray, y: np.ndarray, seed: int = 0) -> Correlation:
    """Return Spearman's correlation of two columns; pairs with a NaN are left out.

    Examples
    --------
    >>> rank_correlation(np.arange(6.0), np.arange(6.0) ** 3).value
    1.0
    """
    there = ~(np.isnan(x) | np.isnan(y))
    x, y = x[there], y[there]
    value = _spearman(x, y) if len(x) >= FEWEST else np.nan
    if np.isnan(value):
        return Correlation(np.nan, np.nan, np.nan, len(x))
    draws = np.random.default_rng(seed).integers(len(x), size=(RESAMPLES, len(x)))
    found = np.array([_spearman(x[draw], y[draw]) for draw in draws])
    low, high = np.nanquantile(found, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return Correlation(value, float(low), float(high), len(x))


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    a, b = rankdata(x) - (len(x) + 1) / 2.0, rankdata(y) - (len(y) + 1) / 2.0
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip(a @ b / size, -1.0, 1.0)) if size > 0.0 else np.nan


class KappaEffect(NamedTuple):
    """Costs of a method over the problems of the kappa family, sorted by kappa / n.

    Attributes
    ----------
    method : str
        Whose.
    problems : list of str
        Names of the problems.
    share : array
        Their ``kappa / n``.
    product : array
        Their ``D_1 D_inf / D_2^2``.
    own : array
        Cost of the method, geometric mean over seeds; a run that did not get there counts as a penalty.
    reached : array of bool
        Where a run of it got there.
    ratio : dict of arrays
        Cost of the method over that of each rival; NaN where neither got there.
    end_ratio : dict of arrays
        The same of the least ``F - F*`` within the budget, which is always there.
    """

    method: str
    problems: list[str]
    share: np.ndarray
    product: np.ndarray
    own: np.ndarray
    reached: np.ndarray
    ratio: dict[str, np.ndarray]
    end_ratio: dict[str, np.ndarray]

    def typical(self, ratios: dict[str, np.ndarray]) -> np.ndarray:
        """Return the geometric mean of ratios to all rivals."""
        with np.errstate(invalid="ignore"):
            logs = np.log(np.array(list(ratios.values())).reshape(len(ratios), -1))
        there = ~np.isnan(logs)
        total = np.where(there, logs, 0.0).sum(axis=0)
        return np.exp(np.where(there.any(axis=0), total / np.maximum(there.sum(axis=0), 1), np.nan))


def kappa_effect(
    costs: Costs, ends: np.ndarray, method: str, share: dict[str, float], product: dict[str, float]
) -> KappaEffect:
    """Return a method's costs and its ratios to the other contenders, sorted by kappa / n.

    ``ends`` has the least ``F - F*`` of every method on every problem.

    A run that did not get there counts as `ranking.PENALTY` times the budget, unless neither of the two got there.
    """
    order = np.argsort([share[key] for key in costs.problems], kind="stable")
    penalised = np.where(np.isinf(costs.values), PENALTY * costs.budgets[:, None], costs.values)
    with np.errstate(invalid="ignore"):
        typical = np.exp(np.log(penalised).mean(axis=2))[:, order]
    nowhere = np.isinf(costs.values).all(axis=2)[:, order]
    mine = costs.methods.index(method)
    ratio = {
        name: np.where(nowhere[mine] & nowhere[k], np.nan, typical[mine] / typical[k])
        for k, name in enumerate(costs.methods)
        if name != method and costs.contends[k]
    }
    end_ratio = {name: (ends[mine] / ends[costs.methods.index(name)])[order] for name in ratio}
    return KappaEffect(
        method,
        [costs.problems[k] for k in order],
        np.array([share[costs.problems[k]] for k in order]),
        np.array([product[costs.problems[k]] for k in order]),
        typical[mine],
        ~nowhere[mine],
        ratio,
        end_ratio,
    )
