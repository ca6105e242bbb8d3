"""What the measurements say, in sentences: every one is computed from the runs, and says what it rests on."""

from collections.abc import Sequence

import numpy as np

from frankwolfe.experiments.tournament.kappa_effect import Correlation, KappaEffect, rank_correlation
from frankwolfe.experiments.tournament.outcome import Tournament
from frankwolfe.experiments.tournament.profiles import Costs
from frankwolfe.experiments.tournament.ranking import LEVEL, Comparison, against, typical_costs

CLOSE = 2.0
"""Within this factor of the best a method counts as a good choice."""


SURVEY_METHODS = ("sfw", "momentum", "one-sample", "svrf", "storc", "spider")
"""Methods that the code of the book Conditional Gradient Methods compares, as they are called here."""

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
    said = [_in_short(found, method)]
    said += [_firsts(found, method, by) for by in ("passes", "seconds")]
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


def _in_short(found: Tournament, method: str) -> str:
    """Say on how many problems a method is near the best, at the loosest and the finest accuracy."""
    parts = []
    for by in ("passes", "seconds"):
        counts = []
        for accuracy in dict.fromkeys((found.accuracies[0], found.accuracies[-1])):
            costs = found.costs(accuracy, by, _own_keys(found))
            names, typical = contender_costs(costs)
            typical = np.where(np.isnan(typical), np.inf, typical)
            best, mine = typical.min(axis=0), typical[names.index(method)]
            near = int((np.isfinite(mine) & (mine <= CLOSE * best)).sum())
            counts.append(f"{near} of {len(costs.problems)} at {accuracy:g}")
        parts.append(f"by {by} {listed(counts)}")
    return (
        f"In short: the problems on which {method} takes at most {CLOSE:g} times what the best contender takes are, "
        f"{'; '.join(parts)}."
    )


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
    told = ", ".join(
        f"{short(ratio)} at {accuracy:g}" for ratio, accuracy in zip(ratios, found.accuracies, strict=True)
    )
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
        return listed([f"{each.other} ({short(each.ratio)})" for each in groups[verdict]])

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
                behind = f"{short(mine / cost[best])} times {names[best]}" if np.isfinite(mine) else "not reached"
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


def _goes(correlation: Correlation, ending: str = "") -> str:
    if not correlation.clear:
        return f"show{ending} no clear connexion"
    return f"rise{ending}" if correlation.value > 0.0 else f"fall{ending}"


def short(value: float) -> str:
    """Return a number with two digits, or all that it has before the point.

    Examples
    --------
    >>> short(0.1234), short(123.4)
    ('0.12', '123')
    """
    return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.2g}"


def kappa_words(effect: KappaEffect, accuracy: float) -> list[str]:
    """Say whether kappa / n predicts anything over the family."""
    own = rank_correlation(effect.share, effect.own)
    relative = rank_correlation(effect.share, effect.typical(effect.ratio))
    ends = rank_correlation(effect.share, effect.typical(effect.end_ratio))
    product = rank_correlation(effect.product, effect.own)
    if not own.clear:
        answer = f"No: the passes of {effect.method} to {accuracy:g} show no clear connexion with kappa / n"
    else:
        change = f"the {'fewer' if own.value > 0.0 else 'more'} passes {effect.method} takes to {accuracy:g}"
        answer = f"Yes, where all else is equal: the smaller kappa / n, {change}"
    there = effect.own[effect.reached]
    spread = f"; they go from {short(there.min())} to {short(there.max())} where it gets there" if there.size else ""
    said = [f"{answer} ({own.words()}{spread})."]
    for correlation, words in (
        (relative, f"Its passes relative to its rivals', geometric mean over all of them, {_goes(relative)}"),
        (ends, f"The F - F* that it is left with at the end of the budget, relative to theirs, {_goes(ends, 's')}"),
    ):
        if not np.isnan(correlation.value):
            said.append(f"{words} with kappa / n ({correlation.words()}).")
    if not np.isnan(product.value):
        said.append(f"Its passes {_goes(product)} with D_1 D_inf / D_2^2, the theory's constant ({product.words()}).")
    return said


def order_words(found: Tournament, key: str, accuracy: float, by: str = "passes") -> str:
    """Say in which order the contenders reach an accuracy on a problem."""
    costs = found.costs(accuracy, by, [key])
    names, typical = contender_costs(costs)
    order = np.argsort(np.nan_to_num(typical[:, 0], nan=np.inf), kind="stable")
    there = [f"{names[k]} {typical[k, 0]:.3g}" for k in order if np.isfinite(typical[k, 0])]
    never = [names[k] for k in order if np.isinf(typical[k, 0])]
    rest = f"; not within the budget: {listed(never)}" if never else ""
    said = f"{found.entries[key].title}, {by} to {accuracy:g}: {', '.join(there) or 'nobody'}{rest}."
    compared = [names[k] for k in order if names[k] in SURVEY_METHODS and np.isfinite(typical[k, 0])]
    return said + (f" Of the methods that the book compares: {', then '.join(compared)}." if len(compared) > 1 else "")
