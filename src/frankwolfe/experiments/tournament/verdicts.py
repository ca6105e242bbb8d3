"""What the measurements say, in sentences: every one is computed from the runs, and says what it rests on."""

from collections.abc import Sequence

import numpy as np

from frankwolfe.experiments.tournament.kappa_effect import Correlation, KappaEffect, rank_correlation
from frankwolfe.experiments.tournament.outcome import Tournament
from frankwolfe.experiments.tournament.profiles import Costs
from frankwolfe.experiments.tournament.ranking import LEVEL, Comparison, against, typical_costs

CLOSE = 2.0
"""Within this factor of the best a method counts as a good choice."""


BRACKETS = (
    " In brackets: its cost over theirs, on the same cases; clearly means that the "
    f"{LEVEL:.0%} bootstrap interval over problems leaves 1 out."
)


def listed(names: Sequence[str], nothing: str = "none") -> str:
    """Return names as a sentence has them.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed([])
    ('a, b and c', 'none')
    """
    if not names:
        return nothing
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def when_right(found: Tournament, method: str = "sfw") -> list[str]:
    """Say when a method is the right choice, and when not."""
    keys = [key for key in found.names() if not found.entries[key].facts.failed]
    if method not in found.contenders or len(found.contenders) < 2 or not keys:
        return [f"{method} was not played against others: nothing can be said of it."]
    said = [_firsts(found, method, by) for by in ("passes", "seconds")]
    said += [_digits(found, method, by) for by in ("passes", "seconds")]
    said += [_rivals(found, method, by) for by in ("passes", "seconds")]
    said += _good_choice(found, method)
    said += _reference(found, method)
    said += _sizes(found, method)
    return said


def _own_keys(found: Tournament) -> list[str]:
    """Problems but for the generated family, which is spoken of apart."""
    return [key for key in found.names() if found.entries[key].group != "kappa"] or found.names()


def contender_costs(costs: Costs) -> tuple[list[str], np.ndarray]:
    """Return the contenders' names and their typical costs, of shape (contenders, problems)."""
    names = [name for name, contends in zip(costs.methods, costs.contends, strict=True) if contends]
    return names, typical_costs(costs)[costs.contends]


def _firsts(found: Tournament, method: str, by: str) -> str:
    parts = []
    for accuracy in found.accuracies:
        costs = found.costs(accuracy, by, _own_keys(found))
        names, typical = contender_costs(costs)
        with np.errstate(invalid="ignore"):
            best = np.nanmin(np.where(np.isnan(typical), np.inf, typical), axis=0)
        mine = typical[names.index(method)]
        won = [key for key, cost, least in zip(costs.problems, mine, best, strict=True) if cost <= least < np.inf]
        titles = f" ({listed(won)})" if won else ""
        parts.append(f"on {len(won)} of {len(costs.problems)} problems at {accuracy:g}{titles}")
    return f"By {by}, {method} is the fastest contender {listed(parts)}."


def _digits(found: Tournament, method: str, by: str) -> str:
    ratios = [
        next(standing.ratio for standing in found.ranking(accuracy, by) if standing.method == method)
        for accuracy in found.accuracies
    ]
    told = ", ".join(f"{ratio:.2g} at {accuracy:g}" for ratio, accuracy in zip(ratios, found.accuracies, strict=True))
    steps = np.diff(np.log(ratios))
    if not len(steps) or not np.isfinite(ratios).all():
        trend = ""
    elif (steps > np.log(1.2)).all():
        trend = ": the more digits are asked for, the farther it falls behind"
    elif (steps < -np.log(1.2)).all():
        trend = ": the more digits are asked for, the nearer it comes to the best"
    else:
        trend = ": no steady trend with the accuracy"
    return f"Its {by} over those of the best contender, geometric mean over the problems: {told}{trend}."


def _rivals(found: Tournament, method: str, by: str) -> str:
    comparisons = [
        comparison
        for comparison in against(found.costs(found.middle, by), method)
        if comparison.other not in found.references
    ]
    groups: dict[str, list[Comparison]] = {verdict: [] for verdict in ("slower", "faster", "undecided")}
    for comparison in comparisons:
        groups[comparison.verdict].append(comparison)

    def names(verdict: str) -> str:
        return listed([f"{found.other} ({found.ratio:.2g})" for found in groups[verdict]])

    return (
        f"By {by} to {found.middle:g}, {method} is clearly faster than {names('faster')}; clearly slower than "
        f"{names('slower')}; undecided against {names('undecided')}." + (BRACKETS if by == "passes" else "")
    )


def _good_choice(found: Tournament, method: str) -> list[str]:
    said = []
    for accuracy in dict.fromkeys((found.accuracies[0], found.accuracies[-1])):
        costs = found.costs(accuracy, "passes", _own_keys(found))
        names, typical = contender_costs(costs)
        near, far = [], []
        for column, key in enumerate(costs.problems):
            cost = np.where(np.isnan(typical[:, column]), np.inf, typical[:, column])
            best, mine = int(np.argmin(cost)), cost[names.index(method)]
            if not np.isfinite(cost[best]):
                continue
            if mine <= CLOSE * cost[best]:
                near.append(key)
            else:
                behind = f"{mine / cost[best]:.2g} times {names[best]}" if np.isfinite(mine) else "not reached"
                far.append(f"{key} ({behind})")
        said.append(
            f"At {accuracy:g} it is a good choice, within a factor {CLOSE:g} of the passes of the best contender, on "
            f"{listed(near)}" + (f"; it is not on {listed(far)}." if far else ": all of them.")
        )
    return said


def _reference(found: Tournament, method: str) -> list[str]:
    said = []
    for name in sorted(found.references):
        parts = []
        for accuracy in found.accuracies:
            costs = found.costs(accuracy, "seconds", _own_keys(found))
            typical = typical_costs(costs)
            mine, theirs = (typical[costs.methods.index(each)] for each in (method, name))
            parts.append(f"{int((theirs < mine).sum())} of {len(mine)} problems at {accuracy:g}")
        said.append(f"{name}, the reference, takes less time than {method} on {listed(parts)}.")
    return said


def _sizes(found: Tournament, method: str) -> list[str]:
    """Say what the ratio to the best goes with, over the problems that were not generated."""
    costs = found.costs(found.middle, "passes", _own_keys(found))
    names, typical = contender_costs(costs)
    with np.errstate(invalid="ignore"):
        ratio = typical[names.index(method)] / np.min(np.where(np.isnan(typical), np.inf, typical), axis=0)
    facts = [found.entries[key].facts for key in costs.problems]
    said = []
    for words, column in (
        ("the number of rows", [fact.n for fact in facts]),
        ("kappa / n", [fact.kappa_share for fact in facts]),
    ):
        correlation = rank_correlation(np.array(column, dtype=float), ratio)
        if not np.isnan(correlation.value):
            said.append(
                f"Over these problems its passes to {found.middle:g}, relative to the best, "
                f"{_goes(correlation)} with {words} ({correlation.words()})."
            )
    return said


def _goes(correlation: Correlation) -> str:
    if not correlation.clear:
        return "show no clear connexion"
    return "rise" if correlation.value > 0.0 else "fall"


def kappa_words(found: Tournament, effects: Sequence[KappaEffect]) -> list[str]:
    """Say whether kappa / n predicts anything over the family, for effects at several accuracies."""
    said = []
    for accuracy, effect in zip(found.accuracies, effects, strict=True):
        own = rank_correlation(effect.share, effect.own)
        relative = rank_correlation(effect.share, effect.typical(effect.ratio))
        product = rank_correlation(effect.product, effect.own)
        spread = effect.own[effect.reached]
        range_told = f", from {spread.min():.2g} to {spread.max():.2g} where it gets there," if spread.size else ""
        said.append(
            f"At {accuracy:g}: the passes of {effect.method} itself{range_told} {_goes(own)} with kappa / n "
            f"({own.words()}); relative to its rivals, geometric mean over all of them, they {_goes(relative)} "
            f"({relative.words()}); with D_1 D_inf / D_2^2, what the theory's rate grows with where D_2 is given, "
            f"they {_goes(product)} ({product.words()})."
        )
    if effects:
        ends = rank_correlation(effects[0].share, effects[0].typical(effects[0].end_ratio))
        said.append(
            f"What {effects[0].method} is left with at the end of the budget, F - F* relative to its rivals: "
            f"they {_goes(ends)} with kappa / n ({ends.words()})."
        )
    return said


def order_words(found: Tournament, key: str, accuracy: float, by: str = "passes") -> str:
    """Say in which order the contenders reach an accuracy on a problem."""
    costs = found.costs(accuracy, by, [key])
    names, typical = contender_costs(costs)
    order = np.argsort(np.nan_to_num(typical[:, 0], nan=np.inf), kind="stable")
    there = [f"{names[k]} {typical[k, 0]:.3g}" for k in order if np.isfinite(typical[k, 0])]
    never = [names[k] for k in order if np.isinf(typical[k, 0])]
    rest = f"; not within the budget: {listed(never)}" if never else ""
    return f"{found.entries[key].title}, {by} to {accuracy:g}: {', '.join(there) or 'nobody'}{rest}."
