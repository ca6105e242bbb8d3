"""The section on kappa."""

from collections.abc import Sequence

import numpy as np

from frankwolfe.experiments.report import Cell, Chart, DataTable, Section, Series
from frankwolfe.experiments.tournament.kappa_effect import Correlation, KappaEffect, rank_correlation
from frankwolfe.experiments.tournament.outcome import Tournament
from frankwolfe.experiments.tournament.page_style import Style
from frankwolfe.experiments.tournament.ranking import LEVEL, PENALTY
from frankwolfe.experiments.tournament.verdicts import kappa_words, short

# --- kappa ----------------------------------------------------------------------------------------------------


def kappa_sections(found: Tournament, style: Style) -> list[Section]:
    """Show how the paper's method and its ratio to rivals go with kappa / n; nothing where that was not played."""
    effects = [effect for accuracy in found.accuracies if (effect := found.kappa_effect(accuracy=accuracy)) is not None]
    if len(effects) < len(found.accuracies):
        return []
    effect = effects[len(found.accuracies) // 2]
    return [
        Section(
            "Does kappa matter?",
            [
                *kappa_words(effect, found.middle),
                "The paper's rate is O(kappa / t), kappa = D_1 / D_inf, and it leaves the analysis of kappa / n to "
                "future work. These problems differ in the tails of their columns alone: every column holds the same "
                "magnitudes in another order, all have the same 2-norm, and size, true weights, noise and how much the "
                f"ball binds are the same for all. kappa / n goes from {effect.share.min():.2g} to "
                f"{effect.share.max():.2g}.",
                "What the theory lets one expect: its constant is D_1 D_inf = kappa D_inf^2, which is never less than "
                "D_2^2. With D_2 given, as here, a small kappa comes with a large D_inf: while kappa / n changes by a "
                f"factor of {effect.share.max() / effect.share.min():.0f}, D_1 D_inf / D_2^2 stays between "
                f"{effect.product.min():.2g} and {effect.product.max():.2g}.",
            ],
            charts=[*_kappa_charts(found, effect, style), _own_chart(found, effects)],
            tables=[_accuracy_table(found, effects), _kappa_table(found, effect)],
        )
    ]


def _kinds(effect: KappaEffect) -> dict[str, np.ndarray]:
    """Return which problems have which kind of tails."""
    kinds = [key.split("-")[1] for key in effect.problems]
    return {kind: np.array([each == kind for each in kinds]) for kind in dict.fromkeys(kinds)}


def _kappa_charts(found: Tournament, effect: KappaEffect, style: Style) -> list[Chart]:
    return [
        Chart(
            f"kappa-{kind}",
            f"{kind.capitalize()} tails",
            [("share", "kappa / n")],
            [
                ("ratio", f"passes of sfw to {found.middle:g} over those of a rival"),
                ("end", "F - F* of sfw within the budget over that of a rival"),
            ],
            [
                style.series(
                    name,
                    {"share": effect.share[rows], "ratio": ratio[rows], "end": effect.end_ratio[name][rows]},
                    points=True,
                )
                for name, ratio in effect.ratio.items()
            ],
            note="Below 1, sfw is the better one. A run that does not get there counts as "
            f"{PENALTY:g} times the budget; no point where neither does.",
        )
        for kind, rows in _kinds(effect).items()
    ]


def _own_chart(found: Tournament, effects: Sequence[KappaEffect]) -> Chart:
    colours = ("#56b4e9", "#0072b2", "#003a5d", "#7f3c8d", "#d55e00")
    series = [
        Series(
            f"to {accuracy:g}, {kind}",
            {"share": effect.share[rows], "own": np.where(effect.reached, effect.own, np.nan)[rows]},
            colours[number % len(colours)],
            dashed=kind != "power",
            points=True,
        )
        for number, (accuracy, effect) in enumerate(zip(found.accuracies, effects, strict=True))
        for kind, rows in _kinds(effect).items()
        if effect.reached[rows].any()
    ]
    note = "No point where it does not get there within the budget."
    return Chart("kappa-own", "sfw itself", [("share", "kappa / n")], [("own", "passes of sfw")], series, note=note)


def _accuracy_table(found: Tournament, effects: Sequence[KappaEffect]) -> DataTable:
    """Show the correlations at every accuracy."""
    rows: list[list[Cell]] = []
    for accuracy, effect in zip(found.accuracies, effects, strict=True):
        there = effect.own[effect.reached]
        cells: list[Cell] = [f"{accuracy:g}", f"{short(there.min())} to {short(there.max())}" if there.size else None]
        cells.append(f"{effect.reached.sum()} of {len(effect.problems)}")
        for x, y in (
            (effect.share, effect.own),
            (effect.share, effect.typical(effect.ratio)),
            (effect.product, effect.own),
        ):
            cells.append(_told(rank_correlation(x, y)))
        rows.append(cells)
    heads = [
        "accuracy",
        "passes of sfw",
        "problems reached",
        "its passes and kappa / n",
        "relative to rivals and kappa / n",
        "its passes and D_1 D_inf / D_2^2",
    ]
    return DataTable("Rank correlations, with intervals", heads, rows)


def _told(found: Correlation) -> str | None:
    return None if np.isnan(found.value) else f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def _kappa_table(found: Tournament, effect: KappaEffect) -> DataTable:
    rows: list[list[Cell]] = []
    alone = {"(sfw alone)": effect.own, "(all rivals)": effect.typical(effect.ratio)}
    for name, ratio in {**alone, **effect.ratio}.items():
        correlation = rank_correlation(effect.share, ratio)
        finite = ratio[np.isfinite(ratio)]
        spread = None if not finite.size else f"{short(finite.min())} to {short(finite.max())}"
        rows.append([name, spread, _told(correlation), "yes" if correlation.clear else "no"])
    heads = ["rival", "passes of sfw over the rival's", "rank correlation with kappa / n", "clear"]
    note = f"Intervals at {LEVEL:.0%}, for each row by itself: of twenty rows without a connexion one would look clear."
    return DataTable(f"Passes to {found.middle:g}, and kappa / n", heads, rows, note)
