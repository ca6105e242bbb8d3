"""Sections with the curves of every problem, convex and not."""

from collections.abc import Mapping, Sequence

import numpy as np

from frankwolfe.experiments.report import Cell, Chart, DataTable, Section
from frankwolfe.experiments.tournament.outcome import Tournament
from frankwolfe.experiments.tournament.page_style import Style
from frankwolfe.experiments.tournament.runs import Run

POINTS = 40
HORIZONTAL = [("passes", "passes over the data"), ("seconds", "seconds"), ("oracle_calls", "oracle calls")]


# --- problem by problem ---------------------------------------------------------------------------------------


def band_of(runs: Sequence[Run], columns: Mapping[str, Sequence[np.ndarray]]) -> tuple[dict, dict, dict]:
    """Return median, least and largest over runs of some columns, on a common grid of passes.

    Between traced points, columns are interpolated on logarithmic axes where they are positive.
    """
    start = min(float(run.columns["passes"][run.columns["passes"] > 0.0].min(initial=1.0)) for run in runs)
    end = min(float(run.columns["passes"][-1]) for run in runs)
    grid = np.geomspace(min(start, end), end, POINTS) if end > 0.0 else np.array([0.0])
    values: dict[str, np.ndarray] = {"passes": grid}
    low, high = {}, {}
    for name, several in columns.items():
        rows = np.array(
            [_interpolated(grid, run.columns["passes"], each) for run, each in zip(runs, several, strict=True)]
        )
        values[name] = np.median(rows, axis=0)
        if len(runs) > 1 and name not in ("seconds", "oracle_calls"):
            low[name], high[name] = rows.min(axis=0), rows.max(axis=0)
    return values, low, high


def _interpolated(grid: np.ndarray, passes: np.ndarray, column: np.ndarray) -> np.ndarray:
    there = np.isfinite(column) & (passes > 0.0)
    if not there.any() or (column[there] <= 0.0).any():
        return np.interp(grid, passes, column)
    return np.exp(np.interp(np.log(grid), np.log(passes[there]), np.log(column[there])))


def _problem_chart(found: Tournament, style: Style, key: str) -> Chart | None:
    entry, series = found.entries[key], []
    facts = entry.facts
    for name in found.methods:
        runs = [run for run in found.of(key, name) if run.columns["passes"][-1] > 0.0]
        if not runs:
            continue
        columns = {by: [run.columns[by] for run in runs] for by in ("seconds", "oracle_calls")}
        if facts.convex:
            columns["suboptimality"] = [found.suboptimality(run) / facts.zero_value for run in runs]
            columns["gap"] = [run.columns["gap"] / facts.zero_value for run in runs]
        else:
            columns["fw_gap"] = [run.columns["fw_gap"] / run.columns["fw_gap"][0] for run in runs]
        values, low, high = band_of(runs, columns)
        series.append(style.series(name, values, low=low, high=high))
    if not series:
        return None
    quantities = [("fw_gap", "exact gap / gap at the start")]
    note = ""
    if facts.convex:
        quantities = [("suboptimality", "(F - F*) / F(0)"), ("gap", "proven gap / F(0)")]
        note = f"F* = {facts.best:.9g}, proven to {max(facts.best - facts.lower_bound, 0.0):.1g}."
    size = f"{facts.n:,} rows, {facts.d:,} columns" + (
        "" if np.isnan(facts.kappa_share) else f", kappa / n = {facts.kappa_share:.2g}"
    )
    return Chart(f"problem-{key}", entry.title, HORIZONTAL, quantities, series, note=f"{size}. {note}".strip())


def curves_section(found: Tournament, style: Style) -> Section:
    """Show the curves of the convex problems, and what these are."""
    family = found.names("kappa")
    few = {family[k] for k in (0, len(family) // 2 - 1, len(family) - 1)} if len(family) > 3 else set(family)
    keys = [key for key in found.names() if key not in family or key in few]
    charts = [chart for key in keys if (chart := _problem_chart(found, style, key)) is not None]
    rows: list[list[Cell]] = [
        [entry.key, f"{entry.title}: {entry.origin}", facts.n, facts.d, facts.kappa_share, facts.norm_product]
        for entry in found.entries.values()
        for facts in (entry.facts,)
        if not facts.failed
    ]
    heads = ["problem", "what it is", "rows", "columns", "kappa / n", "D_1 D_inf / D_2^2"]
    return Section(
        "Problem by problem",
        [
            "Lines are medians over seeds, bands run from the lowest seed to the highest. The proven gap is what the "
            "points of a run prove of themselves, by the best lower bound so far."
            + (" Of the generated family three members are drawn; all count above." if len(few) < len(family) else ""),
        ],
        charts=charts,
        tables=[DataTable("The problems", heads, rows)],
    )


# --- non-convex -----------------------------------------------------------------------------------------------


def nonconvex_sections(found: Tournament, style: Style) -> list[Section]:
    """Show how the exact gap falls where the loss is not convex; nothing where no such problem was played."""
    keys = found.names("non-convex")
    charts = [chart for key in keys if (chart := _problem_chart(found, style, key)) is not None]
    if not charts:
        return []
    rows: list[list[Cell]] = []
    for name in found.methods:
        cells: list[Cell] = [name]
        for key in keys:
            falls = [run.columns["fw_gap"].min() / run.columns["fw_gap"][0] for run in found.of(key, name)]
            cells.append(float(np.exp(np.mean(np.log(np.maximum(falls, 1e-300))))) if falls else None)
        rows.append(cells)
    rows.sort(key=lambda row: float(np.mean([np.log(cell) if isinstance(cell, float) else 0.0 for cell in row[1:]])))
    return [
        Section(
            "Non-convex losses",
            [
                "Without convexity nothing bounds F - F*. The exact Frank-Wolfe gap measures how far a point is from "
                "being stationary: the curves, and the smallest value met along a run, are relative to the gap at the "
                "start.",
            ],
            charts=charts,
            tables=[
                DataTable(
                    "Smallest exact gap within the budget, over that at the start",
                    ["method", *(found.entries[key].title for key in keys)],
                    rows,
                    note="Geometric means over seeds; sorted by the mean logarithm.",
                )
            ],
        )
    ]
