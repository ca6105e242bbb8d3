"""Sections on who comes first: the ranking, the paper's method, profiles, the survey's problems."""

import numpy as np

from frankwolfe.experiments.report import Cell, Chart, DataTable, Section
from frankwolfe.experiments.tournament.outcome import Tournament
from frankwolfe.experiments.tournament.page_style import Style, standings
from frankwolfe.experiments.tournament.ranking import LEVEL, PENALTY
from frankwolfe.experiments.tournament.verdicts import contender_costs, order_words, when_right

# --- ranking --------------------------------------------------------------------------------------------------


def ranking_section(found: Tournament) -> Section:
    """Show the ranking by passes and by seconds."""
    if not found.names():
        return Section("Ranking", ["No convex problem was played."])
    tables = [_standings_table(found, by) for by in ("passes", "seconds")]
    tables.append(_accuracy_table(found))
    leaders = {by: [each.method for each in standings(found, by) if each.contends][:3] for by in ("passes", "seconds")}
    return Section(
        "Ranking",
        [
            f"By passes to {found.middle:g} the ranking begins with {', '.join(leaders['passes'])}; by seconds with "
            f"{', '.join(leaders['seconds'])}.",
            "Ratio: cost over that of the best contender on the same problem with the same seed, geometric mean over "
            f"cases. A run that does not get there counts as {PENALTY:g} times the budget; cases in which no contender "
            "does are left out. The generated problems weigh as much as one together. Intervals are bootstrapped over "
            f"problems, at {LEVEL:.0%}.",
        ],
        tables=tables,
    )


def _standings_table(found: Tournament, by: str) -> DataTable:
    rows: list[list[Cell]] = []
    for each in standings(found, by):
        place: Cell = "reference" if not each.contends else each.rank
        span: Cell = f"{each.rank_low} to {each.rank_high}" if each.rank_low is not None else None
        interval: Cell = None if np.isnan(each.low) else f"{each.low:.3g} to {each.high:.3g}"
        cells: list[Cell] = [each.method, place if place is None else str(place), span, each.ratio, interval]
        rows.append([*cells, f"{each.reached:.0%}", f"{each.first:.0%}"])
    heads = ["method", "rank", "interval of the rank", "ratio to the best", "interval", "cases reached", "cases first"]
    return DataTable(f"By {by} to F - F* <= {found.middle:g} F(0)", heads, rows)


def _accuracy_table(found: Tournament) -> DataTable:
    columns, heads = {}, ["method"]
    for by in ("passes", "seconds"):
        for accuracy in found.accuracies:
            heads.append(f"{by} to {accuracy:g}")
            columns[by, accuracy] = {each.method: each.ratio for each in found.ranking(accuracy, by)}
    first = columns["passes", found.accuracies[-1]]
    order = sorted(found.methods, key=lambda name: np.nan_to_num(first[name], nan=np.inf))
    rows: list[list[Cell]] = [[name, *(column[name] for column in columns.values())] for name in order]
    return DataTable("Ratio to the best at every accuracy", heads, rows)


# --- when the paper's method is the right choice --------------------------------------------------------------


def choice_section(found: Tournament) -> Section:
    """Say when the paper's method is the right choice, and show who is the fastest on each problem."""
    tables = []
    if "sfw" in found.contenders and found.names():
        tables.append(_winners(found))
    return Section("When is the paper's method the right choice?", when_right(found), tables=tables)


def _winners(found: Tournament) -> DataTable:
    """Who comes first on each problem, and what the paper's method costs beside it."""
    heads = ["problem"]
    for accuracy in found.accuracies:
        heads += [f"fewest passes to {accuracy:g}", "sfw over that"]
    keys = found.names()
    rows: list[list[Cell]] = [[key] for key in keys]
    for accuracy in found.accuracies:
        names, typical = contender_costs(found.costs(accuracy, "passes", keys))
        for row, cost in zip(rows, np.where(np.isnan(typical), np.inf, typical).T, strict=True):
            best = int(np.argmin(cost))
            if not np.isfinite(cost[best]):
                row += ["nobody", None]
                continue
            mine = float(cost[names.index("sfw")] / cost[best])
            row += [f"{names[best]}, {cost[best]:.3g}", mine if np.isfinite(mine) else "not reached"]
    return DataTable("The fastest contender by passes, and sfw", heads, rows, note="Geometric means over seeds.")


# --- profiles -------------------------------------------------------------------------------------------------


def profiles_section(found: Tournament, style: Style) -> Section:
    """Show performance profiles at every accuracy."""
    if not found.names():
        return Section("Performance profiles", ["No convex problem was played."])
    charts = []
    for number, accuracy in enumerate(found.accuracies):
        profiles = {by: found.profile(accuracy, by) for by in ("passes", "seconds")}
        series = [
            style.series(
                name,
                {"tau": profiles["passes"].tau, **{by: profile.shares[name] for by, profile in profiles.items()}},
            )
            for name in found.methods
        ]
        charts.append(
            Chart(
                f"profile-{number}",
                f"F - F* <= {accuracy:g} F(0)",
                [("tau", "tau: factor above the best contender")],
                [("passes", "share of cases within tau, by passes"), ("seconds", "share of cases, by seconds")],
                series,
                log_y=False,
            )
        )
    return Section(
        "Performance profiles",
        [
            "How to read them: at tau = 1 a curve shows on what share of the cases the method is the fastest; at "
            "tau = 10, on what share it needs at most ten times what the fastest needs; at the right edge, how often "
            "it gets there at all. Higher is better (Dolan and More 2002). Choose passes or seconds below each chart; "
            "a click on a name shows or hides a method, and names that are struck out have a curve too.",
        ],
        charts=charts,
    )


# --- the survey's problems ------------------------------------------------------------------------------------


def survey_sections(found: Tournament) -> list[Section]:
    """Show the order of the methods on the survey's problems; nothing where these were not played."""
    keys = [key for key in found.names("survey") if not found.entries[key].facts.failed]
    if not keys:
        return []
    return [
        Section(
            "The survey's problems",
            [
                "The book Conditional Gradient Methods (Braun et al.) compares stochastic methods on standardised "
                "breast cancer data. Here is the order in which the methods reach an accuracy, geometric means over "
                "seeds.",
                *(order_words(found, key, found.middle) for key in keys),
            ],
            tables=[_order_table(found, key) for key in keys],
        )
    ]


def _order_table(found: Tournament, key: str) -> DataTable:
    """Show what every contender pays for every accuracy on a problem, in order of the middle one."""
    columns = {}
    for accuracy in found.accuracies:
        names, typical = contender_costs(found.costs(accuracy, "passes", [key]))
        columns[accuracy] = dict(zip(names, typical[:, 0].tolist(), strict=True))
    order = sorted(found.contenders, key=lambda name: np.nan_to_num(columns[found.middle][name], nan=np.inf))
    rows: list[list[Cell]] = [[name, *(column[name] for column in columns.values())] for name in order]
    heads = ["method", *(f"passes to {accuracy:g}" for accuracy in columns)]
    note = f"∞: no seed within the budget; where some are, the others count as {PENALTY:g} times the budget."
    return DataTable(found.entries[key].title, heads, rows, note)
